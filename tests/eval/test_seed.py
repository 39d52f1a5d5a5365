"""The documented examples of evaluation run as they stand, but for the name of the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import shortlist
from tests.test_import import HEAVY, modules_after

ROOT = Path(__file__).parents[2]

EXAMPLE = """
import shortlist as ir

source = ir.CorpusSource.from_skills()
corpus = ir.build(source, embedder="light")
query = "how do I deploy the app to the server"

from shortlist import eval as ev

cases = ev.load_cases("skills_eval.jsonl")
discovery = ev.evaluate_discovery(corpus, cases, mode="hybrid")
selection = ev.evaluate_selection(corpus, cases, strategy="conservative")
sweep = ev.sweep_selector(corpus, cases)
probes = [case for case in cases if case.gold]
curve = ev.distractor_robustness_curve(source.scope, probes)
calibration = ev.calibrate_min_score(corpus, cases, mode="dense", persist=True)
result = ir.discover(corpus, query, mode="dense", min_score="auto")
"""
CASES = """
{"query": "release the new version to production", "gold": "deploy-to-production"}
{"query": "write up what went wrong in the outage", "gold": ["incident-postmortem"]}
{"query": "the customer disputes a refund", "gold": ["refund-dispute"]}
{"query": "water the plants", "gold": []}
{"query": "xyzzy plugh", "gold": []}
"""


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "data" / "skills", tmp_path / ".claude" / "skills")
    (tmp_path / "skills_eval.jsonl").write_text(CASES, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    names: dict[str, object] = {}
    exec(compile(EXAMPLE, "example", "exec"), names)
    discovery, selection, sweep, curve, calibration, result = (
        names[name] for name in ("discovery", "selection", "sweep", "curve", "calibration", "result")
    )
    assert {"recall@10", "ndcg@10", "mrr", "map"} <= set(discovery.metrics)  # type: ignore[attr-defined]
    assert discovery.taxonomy["gold_missing"] == 0  # type: ignore[attr-defined]
    assert 0 <= selection.conditional_commit_rate <= 1  # type: ignore[attr-defined]
    assert sweep.best() in sweep.points  # type: ignore[attr-defined]
    assert sweep.best("recall") in sweep.frontier()  # type: ignore[attr-defined]
    assert len(sweep.table()) == len(sweep.points)  # type: ignore[attr-defined]
    assert [point.size for point in curve.points] == [6]  # type: ignore[attr-defined]
    assert calibration.floor == shortlist.open_corpus("skills").floor("dense").value  # type: ignore[attr-defined]
    assert "floor" not in result.signals  # type: ignore[attr-defined]


def test_evaluation_loads_when_it_is_used() -> None:
    loaded = modules_after("import shortlist\nassert shortlist.eval.__name__ == 'shortlist.eval'")
    assert loaded.isdisjoint(HEAVY)
    assert "shortlist.eval.cases" not in loaded
    assert "shortlist.eval" not in modules_after("import shortlist")
    after = modules_after("from shortlist.eval import load_cases, Case\nimport shortlist\nshortlist.eval_gen.plan")
    assert "shortlist.eval.generate" in after


def test_every_public_name_is_there_and_an_unknown_one_is_an_attribute_error() -> None:
    for name in shortlist.eval.__all__:
        assert getattr(shortlist.eval, name) is not None
    assert set(shortlist.eval.__all__) <= set(dir(shortlist.eval))
    with pytest.raises(AttributeError, match="no attribute 'laod_cases'"):
        _ = shortlist.eval.laod_cases

"""Parity with the seed document on capability discovery (E1 to E9): its examples as written, and what it promises."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist import (
    CorpusMismatch,
    CorpusSource,
    Document,
    Hits,
    InputError,
    build,
    disclose,
    discover,
    search,
    select,
)
from shortlist import eval as ev
from shortlist.cli import run
from shortlist.compat.retriever_service import create_app
from shortlist.compat.retriever_settings import load_compat_settings
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.retrieval import agent_actions
from shortlist.retrieval.corpus_tool import as_tool
from shortlist.retrieval.select import STRATEGIES
from tests.answer.server import completion, serving
from tests.parity import ir_selections

ROOT = Path(__file__).parents[2]

CASES = """
{"__meta__": {"corpus": "skills"}}
{"query": "release the new version to production", "gold": "deploy-to-production"}
{"query": "write up what went wrong in the outage", "gold": ["incident-postmortem"]}
{"query": "the customer disputes a refund", "gold": ["refund-dispute"]}
{"query": "water the plants", "gold": []}
{"query": "xyzzy plugh", "gold": []}
"""
TOOLS: dict[str, dict[str, Any]] = {
    "deploy": {"text": "Deploy the app to a server.", "owner": "ops", "year": 2021},
    "rollback": {"text": "Roll back the app on a server after a bad deploy.", "owner": "ops", "year": 2023},
    "refund": {"text": "Give a customer the money back.", "owner": "shop", "year": 2022},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with skills, in a home of its own; the package goes by the seed's name, too."""
    folder = tmp_path / "home" / "project"
    shutil.copytree(ROOT / "examples" / "data" / "skills", folder / ".claude" / "skills")
    (folder / "skills_eval.jsonl").write_text(CASES, "utf-8")
    (tmp_path / "home" / "notes").mkdir(parents=True)
    (tmp_path / "home" / "notes" / "tea.md").write_text("# Tea\n\nSteep it.", "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, module in (("ir", shortlist), ("ir.eval", shortlist.eval), ("ir.eval_gen", shortlist.eval_gen)):
        monkeypatch.setitem(sys.modules, name, module)
    return folder


# The examples of the document, as they are written there.

PIPELINE = """
import ir

# Define a corpus, build the index (incremental), then discover:
source = ir.CorpusSource.from_skills()       # or from_packages(), from_md_reports(), from_files(...)
corpus = ir.build(source)                     # embed + persist under XDG dirs
result = ir.discover(corpus, "how do I deploy the app to the server")

for item in result.results:
    print(item.score, item.name)              # the committed few (or result.abstained)
print(result.to_dict())                       # JSON-serializable (qh / HTTP ready)

hits = ir.search(corpus, "deploy app", mode="hybrid")   # dense | lexical | hybrid (RRF)

sel = ir.select(hits)                      # conservative default: stay within rel of top, cap at max_k
sel = ir.select(hits, min_score=0.4)       # opt in to abstention ("nothing applies")
sel = ir.select(hits, strategy="score_gap")  # elbow cut, or "top_k" / "rel_threshold" / a callable

payloads = ir.disclose(sel, level="body")  # "metadata" (no I/O) | "body" | "bundled"
"""
EVALUATION = """
from ir import eval as ev

cases = ev.load_cases("skills_eval.jsonl")               # query + gold artifact_id(s)
discovery = ev.evaluate_discovery(corpus, cases, mode="hybrid")      # recall@k / NDCG@k / MRR / MAP + failure taxonomy
selection = ev.evaluate_selection(corpus, cases, strategy="conservative")  # conditional commit rate + selection P/R/F1
sweep = ev.sweep_selector(corpus, cases)                         # tune max_k x rel; .best() / .frontier() / .table()
probes = [case for case in cases if case.gold]
curve = ev.distractor_robustness_curve(source.scope, probes)     # accuracy vs catalog size

calibration = ev.calibrate_min_score(corpus, cases, mode="dense", persist=True)  # learn + store the floor
query = "how do I deploy the app to the server"
calibrated = ir.discover(corpus, query, mode="dense", min_score="auto")         # abstain by the calibrated floor
"""


@pytest.mark.usefixtures("project")
def test_e6_the_first_example_runs_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(PIPELINE, "seed", "exec"), names)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith("deploy-to-production")
    assert last == str(names["result"].to_dict())
    json.dumps(names["result"].to_dict(), allow_nan=False)
    assert [item.id for item in names["payloads"]] == [hit.id for hit in names["sel"].selected]
    assert all(item.body for item in names["payloads"])


@pytest.mark.usefixtures("project")
@pytest.mark.filterwarnings("ignore:min_score is deprecated")
def test_e7_the_examples_of_evaluation_run_as_they_are_written() -> None:
    names: dict[str, Any] = {"ir": shortlist, "source": CorpusSource.from_skills()}
    names["corpus"] = build(names["source"], embedder="light")
    exec(compile(EVALUATION, "seed", "exec"), names)
    discovery, sweep = names["discovery"], names["sweep"]
    assert {"recall@10", "ndcg@10", "mrr", "map"} <= set(discovery.metrics)
    assert {"hit_rank_1", "surfaced_low_rank", "retrieval_miss", "abstention_ok", "false_action"} <= set(
        discovery.taxonomy
    )
    assert sum(discovery.taxonomy.values()) == 5
    assert 0 <= names["selection"].conditional_commit_rate <= 1
    assert 0 <= names["selection"].selection_f1 <= 1
    assert sweep.best() in sweep.points
    assert sweep.best("recall") in sweep.frontier()
    assert len(sweep.table()) == len(sweep.points)
    assert [point.size for point in names["curve"].points] == [6]
    assert names["calibration"].floor == shortlist.open_corpus("skills").threshold("dense").value
    assert names["calibrated"].signals.get("min_score") == names["calibration"].floor


COMMANDS = r"""
ir build skills                          # build/update a preset corpus
ir search skills "deploy the app"        # rank candidates (retrieval only)
ir discover skills "deploy the app"      # retrieve -> select
ir discover skills "deploy the app" --disclose       # + load bodies
ir discover skills "deploy the app" --min-score auto # + calibrated abstention
ir ls                                    # list corpora + record counts
ir info skills                           # config, stats, calibrated floors
ir register notes files --root ~/notes --pattern '.*\.md$'  # register a custom corpus
ir rm notes                              # unregister (keeps built data)
ir eval skills skills_eval.jsonl         # score retrieval on a case file
ir eval-select skills skills_eval.jsonl  # score the selection stage
ir sweep-select skills skills_eval.jsonl # tune the selector (max_k x rel) on your corpus
ir calibrate-min-score skills skills_eval.jsonl --persist  # calibrate the abstention floor
"""


@pytest.mark.usefixtures("project")
def test_e8_every_command_of_the_document_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for line in COMMANDS.strip().splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "ir"
        for more in ([], ["--json"]):
            if arguments[0] == "rm" and more:  # it is gone already
                assert run(["register", "notes", "files", "--root", "~/notes"]) == 0
                capsys.readouterr()
            code = run([*arguments, *more])
            shown = capsys.readouterr()
            assert code == 0, f"{line}: {shown}"
            assert shown.out
            if more:
                json.loads(shown.out)


def test_e8_eval_gen_writes_a_case_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["build", "skills"]) == 0
    with serving(*[completion('["could somebody help me out with something"]')] * 40) as server:
        monkeypatch.setenv("SHORTLIST_LLM_URL", server.url)
        monkeypatch.setenv("SHORTLIST_LLM_MODEL", "some-model")
        assert run(["eval-gen", "skills", "skills_eval.jsonl"]) == 0
    assert [len(case.gold) for case in ev.load_cases(project / "skills_eval.jsonl")] == [1]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["search", "nowhere", "x"], 1), (["search"], 2), (["discover", "skills", "zxqv wvut"], 3)],
)
def test_e8_exit_codes_tell_errors_usage_and_abstention_apart(arguments: list[str], code: int) -> None:
    assert run(arguments) == code


# source


def ids(source: CorpusSource) -> set[str]:
    return set(source.scope)


@pytest.mark.parametrize(
    ("place", "given"),
    [(".claude/skills", False), (".agents/skills", False), ("../.claude/skills", False), ("anywhere", True)],
)
def test_e1_skills_are_found_in_the_usual_folders_and_in_given_ones(project: Path, place: str, given: bool) -> None:
    shutil.rmtree(project / ".claude")
    (project / place / "brew").mkdir(parents=True)
    (project / place / "brew" / "SKILL.md").write_text("---\nname: brew\ndescription: Brew tea.\n---\nSteep.", "utf-8")
    assert ids(CorpusSource.from_skills(*([project / place] if given else []))) == {"brew"}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda folder: CorpusSource.from_files(folder), {"a.md", "b.txt"}),
        (lambda folder: CorpusSource.from_files(folder, pattern=r".*\.md$"), {"a.md"}),
        (lambda folder: CorpusSource.from_md_reports(folder), {"a.md"}),
        (lambda folder: CorpusSource.from_mapping({"x": "one", "y": {"text": "two"}}), {"x", "y"}),
    ],
    ids=["files", "pattern", "md_reports", "mapping"],
)
def test_e1_files_reports_and_mappings_are_sources(
    tmp_path: Path, make: Callable[[Path], CorpusSource], expected: set[str]
) -> None:
    (tmp_path / "a.md").write_text("# A\n\nReport.", "utf-8")
    (tmp_path / "b.txt").write_text("Plain.", "utf-8")
    assert ids(make(tmp_path)) == expected


def write_skill(folder: Path, name: str, description: str) -> None:
    file = folder / ".claude/skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{description}\n", "utf-8")


def test_e1_skills_belong_to_the_project(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_skill(Path.home(), "brew-coffee", "Brew coffee with a press.")  # of the user
    for name, skill, description in (
        ("A", "deploy-app", "Deploy the app to the server."),
        ("B", "bake", "Bake bread."),
    ):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "sub").mkdir()
        write_skill(tmp_path / name, skill, description)

    def run_in(folder: str, *arguments: str, code: int = 0) -> str:
        monkeypatch.chdir(tmp_path / folder)
        capsys.readouterr()
        assert run(list(arguments)) == code
        return capsys.readouterr().out

    run_in("A", "build", "skills")
    assert run_in("B", "discover", "skills", "bake bread", "--quiet").split() == ["bake"]
    run_in("B", "read", "skills", "deploy-app", "--quiet", code=1)
    run_in("B", "build", "skills")
    assert run_in("A/sub", "discover", "skills", "deploy the app", "--quiet").split() == ["deploy-app"]
    assert run_in("A", "status", "skills", "--quiet").split() == ["skills", "fresh"]
    for folder, names in (("A", {"deploy-app", "brew-coffee"}), ("B", {"bake", "brew-coffee"})):
        monkeypatch.chdir(tmp_path / folder)
        assert {document.id for document in shortlist.open_corpus("skills")} == names
        with Collection(Gateway(GatewayConfig()), StoredCorpora()).skills() as served:
            assert {document.id for document in served} == names
    (tmp_path / "cases.jsonl").write_text(
        '{"query": "deploy the app", "gold": "deploy-app"}\n{"query": "moon", "gold": []}'
    )
    run_in("A", "calibrate-min-score", "skills", "../cases.jsonl", "--mode", "lexical", "--persist")
    assert json.loads(run_in("A", "info", "skills", "--json"))["floors"]
    assert not json.loads(run_in("B", "info", "skills", "--json"))["floors"]
    rows = {row["name"]: row for row in json.loads(run_in("A", "ls", "--json"))["corpora"]}
    assert (rows["skills"]["built"], rows["skills"]["kind"], rows["skills"]["documents"]) == (True, "skills", 2)
    assert sum(name.startswith("skills@B-") for name in rows) == 1
    run_in("A", "forget", "skills", "--all", "--yes")
    run_in("A", "rm", "skills", "--data")
    assert run_in("B", "discover", "skills", "bake bread", "--quiet").split() == ["bake"]


def test_e1_packages_are_those_that_are_installed_here() -> None:
    assert {"numpy", "pytest"} <= {id.lower() for id in ids(CorpusSource.from_packages())}


# index


def test_e2_build_is_incremental_idempotent_and_prunes(tmp_path: Path) -> None:
    def changes(texts: dict[str, str]) -> tuple[int, int, int, int]:
        with build(texts, "texts", path=tmp_path / "corpus", embedder="light") as corpus:
            done = corpus.changes
            return done.added, done.changed, done.unchanged, done.removed

    assert changes({"a": "one", "b": "two"}) == (2, 0, 0, 0)
    assert changes({"a": "one", "b": "two"}) == (0, 0, 2, 0)
    assert changes({"a": "one more", "c": "three"}) == (1, 1, 0, 1)


def test_e2_the_light_embedder_needs_numpy_alone_and_a_corpus_remembers_its_embedder(tmp_path: Path) -> None:
    code = (
        "import sys, shortlist\n"
        f"corpus = shortlist.build({{'a': 'deploy the app'}}, path={str(tmp_path / 'c')!r}, embedder='light')\n"
        "assert shortlist.search(corpus, 'deploy', mode='dense')\n"
        "assert not {'onnxruntime', 'sentence_transformers', 'torch', 'httpx2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    with pytest.raises(CorpusMismatch, match="rebuild"):
        build({"a": "deploy the app"}, path=tmp_path / "c", embedder="none")


# retrieve


@pytest.fixture(scope="module")
def tools() -> Any:
    with build(TOOLS, "tools", in_memory=True, embedder="light") as corpus:
        yield corpus


def test_e3_dense_is_the_exact_cosine() -> None:
    texts = [tool["text"] for tool in TOOLS.values()]
    embedder = shortlist.load_embedder("light")
    assert embedder is not None
    query, vectors = embedder.encode_query("deploy app"), embedder.encode_documents(texts)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    with build(texts, in_memory=True, embedder="light") as corpus:
        found = search(corpus, "deploy app", mode="dense")
    order = np.argsort(-cosines)
    assert [hit.text for hit in found] == [texts[at] for at in order]
    assert [hit.score for hit in found] == pytest.approx(cosines[order].tolist(), abs=1e-6)


def test_e3_hybrid_is_the_sum_of_reciprocal_ranks(tools: Any) -> None:
    ranks = [
        {hit.id: rank for rank, hit in enumerate(search(tools, "deploy the app", mode=mode), 1)}
        for mode in ("dense", "lexical")
    ]
    for hit in search(tools, "deploy the app", mode="hybrid"):
        assert hit.score == pytest.approx(sum(1 / (60 + of[hit.id]) for of in ranks if hit.id in of))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"owner": "ops"}, {"deploy", "rollback"}),
        ({"owner": {"$eq": "shop"}}, {"refund"}),
        ({"owner": {"$ne": "ops"}}, {"refund"}),
        ({"year": {"$gt": 2021, "$lt": 2023}}, {"refund"}),
        ({"year": {"$gte": 2022, "$lte": 2022}}, {"refund"}),
        ({"owner": {"$in": ["ops"]}}, {"deploy", "rollback"}),
        ({"owner": {"$nin": ["ops"]}}, {"refund"}),
        ({"owner": {"$exists": False}}, set()),
        ({"$and": [{"owner": "ops"}, {"year": 2023}]}, {"rollback"}),
        ({"$or": [{"owner": "shop"}, {"year": 2023}]}, {"refund", "rollback"}),
        ({"$not": {"owner": "ops"}}, {"refund"}),
    ],
    ids=lambda value: str(sorted(value)),
)
def test_e3_filters_are_hard_conditions_on_metadata(tools: Any, condition: dict[str, Any], expected: set[str]) -> None:
    assert {hit.id for hit in search(tools, "app money", mode="dense", filter=condition)} == expected


def test_e3_an_unknown_operator_is_an_error(tools: Any) -> None:
    with pytest.raises(InputError, match=r"\$near"):
        search(tools, "app", filter={"year": {"$near": 2020}})


@pytest.mark.parametrize("corpus", [["deploy the app"], {"0": "deploy the app"}, [Document("0", "", "deploy the app")]])
def test_e3_an_ephemeral_list_or_mapping_is_searched_like_a_corpus(corpus: Any) -> None:
    (hit,) = search(corpus, "deploy", mode="lexical")
    assert (hit.id, hit.text, hit.score > 0) == ("0", "deploy the app", True)
    assert {"id", "name", "score", "text", "kind", "locator", "metadata"} <= set(hit.to_dict())


# select


@pytest.fixture
def hits(tools: Any) -> Hits:
    return search(tools, "deploy the app", mode="lexical")


def test_e4_the_defaults_are_those_of_the_document(hits: Hits) -> None:
    assert select(hits) == select(hits, strategy="conservative", max_k=3, rel=0.9, gap_ratio=0.5, min_score=None)


@pytest.mark.parametrize("strategy", ["conservative", "top_k", "rel_threshold", "score_gap", lambda hits: hits[:1]])
def test_e4_selection_is_relative_so_that_any_scale_gives_the_same_choice(hits: Hits, strategy: Any) -> None:
    scaled = [shortlist.Hit(hit.passage, hit.score / 100) for hit in hits]
    chosen = select(hits, strategy=strategy)
    assert [hit.id for hit in chosen.selected] == [hit.id for hit in select(scaled, strategy=strategy).selected]
    assert chosen.selected[0].id == "deploy"
    assert chosen.reason
    assert chosen.signals["top_score"] == hits[0].score


@pytest.mark.parametrize("strategy", [*STRATEGIES, lambda hits: hits])
def test_e4_max_k_caps_every_strategy_and_function(strategy: Any) -> None:
    hits = search({str(at): "kettle water " * (at + 1) for at in range(6)}, "kettle", mode="lexical")
    options = {"strategy": strategy, "gap_ratio": 0.1, "cutoff": 1.0, "min_score": 0.01}
    options |= {} if strategy == "adaptive" else {"rel": 0.1}
    assert len(select(hits, max_k=1, **options).selected) == 1
    assert len(select(hits, max_k=4, **options).selected) == 4
    assert len(select(hits, **options).selected) == (5 if strategy == "adaptive" else 3)


def test_e4_400_random_lists_are_selected_from_as_ir_does() -> None:
    for (scores, options), size in zip(ir_selections.lists(), ir_selections.SIZES, strict=True):
        hits = [
            shortlist.Hit(shortlist.Passage(str(at), str(at), f"text {at}"), score) for at, score in enumerate(scores)
        ]
        expected = int(size)
        if scores and (scores[0] <= 0 or scores[0] < options.get("min_score", -1)):
            expected = 0  # decided otherwise: a best score that is not above zero or below min_score selects nothing
        assert [hit.score for hit in select(hits, **options).selected] == scores[:expected], (scores, options)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("strategy", ["score_gap", "rel_threshold", "softmax", "adaptive"])
def test_e4_a_cap_holds_on_the_command_line_and_over_http(strategy: str, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = ROOT / "examples/data/tools.yaml"
    query = "refund a payment to the customer"
    arguments = ["--strategy", strategy, "--max-k", "1", "--min-score", "none", "--quiet"]
    assert run(["discover", f"tools:{catalog}", query, *arguments]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    build(CorpusSource.from_tools(catalog), "shop")
    with TestClient(create_app(load_compat_settings()), base_url="http://127.0.0.1") as web:
        body = {"query": query, "strategy": strategy, "max_k": 1, "min_score": None}
        assert len(web.post("/v1/corpora/shop/discover", json=body).json()["results"]) == 1
    assert len(agent_actions.find("shop", query, limit=1)["results"]) == 1


def test_e4_abstention_is_opt_in(hits: Hits) -> None:
    assert not select(hits).abstained
    assert select(hits, min_score=hits[0].score * 2).abstained
    assert select([]).abstained


def test_e4_the_llm_selector_is_injectable_and_falls_back(hits: Hits) -> None:
    second = select(hits, strategy=shortlist.make_llm_selector(lambda prompt: "[2]"))
    assert second.selected == hits[1:2]
    fallen = select(hits, strategy=shortlist.make_llm_selector(lambda prompt: "no idea"))
    assert fallen.selected == select(hits).selected
    assert "fallback" in fallen.reason


@pytest.mark.parametrize("reply", ['["{1}", "{0}"]', "- {1}\n- {0}", "[2, 1]"])
def test_e4_the_model_of_a_selector_may_reply_with_ids(hits: Hits, reply: str) -> None:
    written = reply.format(hits[0].id, hits[1].id)
    assert select(hits, strategy=shortlist.make_llm_selector(lambda prompt: written)).selected == [hits[1], hits[0]]


def test_e4_an_id_that_is_not_a_candidate_is_named_in_the_reason(hits: Hits) -> None:
    assert "'zeppelin'" in select(hits, strategy=shortlist.make_llm_selector(lambda prompt: '["zeppelin"]')).reason


def test_e4_a_cap_of_the_selector_holds_unless_select_has_one() -> None:
    hits = search({str(at): "kettle water " * (at + 1) for at in range(6)}, "kettle", mode="lexical")

    def all_of(prompt: str) -> str:
        return "[1, 2, 3, 4]"

    assert len(select(hits, strategy=shortlist.make_llm_selector(all_of, max_k=4)).selected) == 4
    assert len(select(hits, strategy=shortlist.make_llm_selector(all_of, max_k=4), max_k=2).selected) == 2


# disclose


@pytest.mark.usefixtures("project")
def test_e5_disclosure_follows_the_pointer_at_each_level_and_changes_no_hit() -> None:
    chosen = select(search(build(CorpusSource.from_skills(), embedder="none"), "deploy-to-production"))
    before = json.dumps(chosen.to_dict())
    (pointer,) = (hit.metadata["skill_path"] for hit in chosen.selected)
    shown = {level: disclose(chosen, level=level)[0] for level in ("metadata", "body", "bundled")}
    assert shown["metadata"].body is None
    assert shown["body"].body == shown["bundled"].body == Path(pointer).read_text("utf-8")
    assert shown["bundled"].files == ("checklist.md", "scripts/rollback.sh")
    assert json.dumps(chosen.to_dict()) == before
    Path(pointer).unlink()
    (stale,) = disclose(chosen, level="body")
    assert (bool(stale.body), stale.stale, bool(stale.note)) == (True, True, True)


def test_e5_a_path_in_the_metadata_of_any_source_is_followed_or_the_note_says_why_not(project: Path) -> None:
    file = project / "guide.md"
    file.write_text("The whole guide.", "utf-8")
    texts = {"a": {"text": "A summary.", "path": str(file)}}
    (shown,) = discover(texts, "summary", mode="lexical", level="body").results
    assert (shown.body, shown.note) == ("The whole guide.", "")
    (shown,) = discover(
        {"a": {"text": "A summary.", "path": "/etc/passwd"}}, "summary", mode="lexical", level="body"
    ).results
    assert (shown.body, "/etc/passwd" in shown.note) == ("A summary.", True)


# discover


def test_e6_discover_is_search_then_select_then_disclose(tools: Any) -> None:
    how: dict[str, Any] = {"strategy": "conservative", "max_k": 2, "rel": 0.1}
    found = discover(tools, "deploy the app", mode="lexical", level="body", **how)
    chosen = select(search(tools, "deploy the app", mode="lexical"), **how)
    assert found.results == disclose(chosen, level="body")
    assert [(item.name, item.score) for item in found.results] == [(hit.name, hit.score) for hit in chosen.selected]
    assert found.to_dict()["abstained"] is False


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("query", ["deploy the app to the server", "who painted the chapel", "customer", "zxqv wvut"])
def test_e6_discover_has_one_default_everywhere(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    build("skills").close()
    found = discover("skills", query)
    expected = (found.abstained, [item.id for item in found.results])
    explicit = discover("skills", query, strategy="adaptive", min_score="auto", max_k=None)  # type: ignore[call-arg]
    assert (explicit.abstained, [item.id for item in explicit.results]) == expected
    capsys.readouterr()
    run(["discover", "skills", query, "--json"])
    answers = [json.loads(capsys.readouterr().out), as_tool("skills")(query), agent_actions.find("skills", query)]
    settings = load_compat_settings(
        given={"documents.auto_reload": False, "documents.embedder": "none"}, environment={}
    )
    with TestClient(create_app(settings), base_url="http://localhost:9200") as client:
        answers.append(client.post("/v1/corpora/skills/discover", json={"query": query}).json())
    assert [(one["abstained"], [item["id"] for item in one["results"]]) for one in answers] == [expected] * 4
    (outcome,) = ev.evaluate_discovery("skills", [ev.Case(query)]).outcomes
    (choice,) = ev.evaluate_selection("skills", [ev.Case(query)]).choices
    assert list(outcome.selected) == list(choice.selected) == expected[1]


def test_e6_without_a_threshold_discover_never_abstains_while_there_is_a_match() -> None:
    with build(TOOLS, in_memory=True, embedder="none") as corpus:
        corpus.set_threshold("auto", 1.0)
        assert discover(corpus, "deploy zxqv").abstained
        assert discover(corpus, "deploy zxqv", min_score=None).results[0].id == "deploy"  # type: ignore[call-arg]
        assert discover(corpus, "zxqv", min_score=None).abstained  # type: ignore[call-arg]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("kind", ["skills", "packages"])
def test_e6_with_the_static_table_a_refusal_suggests_our_model(kind: str) -> None:
    documents = [one for one in CorpusSource.of_kind(kind) if isinstance(one, Document)][:3]
    with build(CorpusSource("some", kind, lambda: documents)) as corpus:
        assert corpus.info()["embedder"].startswith("wordllama")
        found = discover(corpus, "xyzzy plugh frobnicate")
        assert found.abstained
        (advice,) = (text for text in found.signals["try"] if "embedder" in text)
        assert "'tools'" in advice
        assert "Build the corpus again" in advice


@pytest.mark.extras
@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("kind", ["skills", "packages"])
def test_e6_skills_and_packages_use_the_best_installed_embedder(kind: str) -> None:
    documents = [one for one in CorpusSource.of_kind(kind) if isinstance(one, Document)][:3]
    documents = [replace(one, content=one.content[:1_000]) for one in documents]  # a readme may be long
    with build(CorpusSource("some", kind, lambda: documents)) as corpus:
        assert corpus.info()["embedder"].startswith("tools")
        assert not any("embedder" in advice for advice in discover(corpus, "xyzzy plugh").signals.get("try", ()))


@pytest.mark.extras
def test_e6_put_the_new_version_live_finds_the_skill(tmp_path: Path) -> None:
    write_skill(tmp_path, "deploy-app", "Deploy the application to the production server")
    write_skill(tmp_path, "bake-bread", "Bake sourdough bread at home")
    with build(CorpusSource.from_skills(tmp_path / ".claude/skills"), in_memory=True) as corpus:
        assert discover(corpus, "put the new version live").results[0].artifact_id == "deploy-app"


def test_e6_names_of_the_seed_are_accepted(tools: Any) -> None:
    hits = search(tools, "deploy the app", mode="lexical")
    assert [hit.artifact_id for hit in hits] == [hit.id for hit in hits]
    assert select(hits).selected_ids == [hit.id for hit in select(hits).selected]
    (shown,) = discover(tools, "deploy the app", mode="lexical", max_k=1, disclose_level="body").results
    assert (shown.level, shown.artifact_id) == ("body", shown.id)
    with pytest.raises(TypeError, match=r"discover\(\) got an unexpected keyword argument 'surfaces'"):
        discover(tools, "deploy the app", surfaces=["name"])  # type: ignore[call-arg]


def test_e6_a_score_that_is_not_above_zero_is_never_selected() -> None:
    hits = [
        shortlist.Hit(shortlist.Passage(str(at), str(at), f"text {at}"), score)
        for at, score in enumerate((0.2, -0.013))
    ]
    assert select(hits, strategy="adaptive").selected == hits[:1]


@pytest.mark.parametrize(("given", "value"), [(None, "0"), ("1", "1")])
def test_importing_the_package_keeps_tensorflow_out(given: str | None, value: str) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "USE_TF"} | (
        {"USE_TF": given} if given else {}
    )
    code = "import os, shortlist; print(os.environ['USE_TF'])"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == value


@pytest.mark.parametrize("query", ["", "   ", "zxqv wvut"])
@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_e6_an_empty_or_unknown_query_never_commits(tools: Any, query: str, mode: Any) -> None:
    assert discover(tools, query, mode=mode).abstained


# directories


def test_e9_directories_follow_xdg_and_each_has_an_override(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("DATA", "CONFIG", "CACHE"):
        monkeypatch.delenv(f"SHORTLIST_{kind}_DIR")
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    build({"a": "one"}, "texts", embedder="none").close()
    shortlist.register("notes", "files", tmp_path)
    assert [path.name for path in (tmp_path / "data" / "shortlist").rglob("corpus.db")] == ["corpus.db"]
    assert (tmp_path / "config" / "shortlist" / "corpora.json").is_file()
    monkeypatch.setenv("SHORTLIST_CONFIG_DIR", str(tmp_path / "other"))
    assert shortlist.registered() == {}

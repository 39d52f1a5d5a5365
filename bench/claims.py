"""Verification of labeled claims by rules, by the model, by both, and without each rule.

`python -m bench claims [FEVER_SYMMETRIC_DEV] [CLAIMS.jsonl.xz]` measures our own claims (`tests/answer/claims.toml`),
those that were written to train the model (`training/judge/written.jsonl.xz`) and those of the given sets; of a set
with more than `MOST_CLAIMS`, as many are drawn. The shipped model was trained on all of them but our own, so its
figures on the others are too high. The rules were made with our own claims and with fever_symmetric_dev. Figures
"before" are those of rules that have been removed since.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any
from unittest import mock

import shortlist
from bench import report
from shortlist import Document, ScriptedLLM
from shortlist.answer.claims import claim_comparison, claim_findings, claim_names, claim_numbers
from shortlist.answer.claims.assessment import Statement, assess
from shortlist.answer.judge import load_judge
from shortlist.answer.verification import verify
from shortlist.results import Claim, Evidence
from tests.answer.claim_cases import SECTIONS, read_section

FOLDS = 5
QUESTION = "What does the evidence say?"
COMPARED = 20  # claims that are also verified through `ask`
MOST_CLAIMS = 600  # of one set whose ablations are measured
MODEL_ALONE = 0.5  # probability from which the model alone supports a claim
WRITTEN = Path(__file__).parent.parent / "training" / "judge" / "written.jsonl.xz"

# A rule that is left out: the module that calls it, its name there, and what replaces it.
_RULES: dict[str, tuple[ModuleType, str, Callable[..., Any]]] = {
    "numbers": (claim_findings, "find_missing_numbers", lambda *_: ()),
    "numbers: other unit or limit": (claim_numbers, "_is_other_amount", lambda *_: False),
    "numbers: of something else": (claim_numbers, "_is_elsewhere", lambda *_: False),
    "names": (claim_findings, "find_missing_names", lambda *_: ()),
    "names: untitled passages lack their topic": (claim_names, "_may_lack_topic", lambda *_: False),
    "negation": (claim_findings, "find_negation", lambda *_: ""),
    "quantifier": (claim_findings, "find_quantifier", lambda *_: ""),
    "opposite": (claim_findings, "find_opposite", lambda *_: ""),
    "replaced word": (claim_findings, "find_replaced", lambda *_: ""),
    "missing words": (claim_findings, "lacks_words", lambda *_: False),
    "synonyms": (claim_comparison, "load_synonyms", dict),
}


@dataclass(frozen=True)
class Labeled:
    """A claim, its evidence, whether that supports it, and the fold that its model must not have seen."""

    claim: str
    evidence: str
    is_supported: bool
    fold: int | None = None
    item: Evidence | None = None  # in place of the evidence
    question: str = QUESTION

    @property
    def statement(self) -> Statement:
        item = self.item or Evidence(1, "evidence", "evidence", "whole", self.evidence, 1.0)
        return Statement(self.claim, (item,), self.question)


def fold_of(group: str) -> int:
    """The fold of all rows of a group: an article of selqa_dev, the claims that share evidence."""
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) % FOLDS


def load_folds(path: Path) -> list[Labeled]:
    """The claims of fever_symmetric_dev; those that share a claim or evidence are in the same fold."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    group = {text: text for row in rows for text in (row["claim"], row["evidence"])}

    def find(text: str) -> str:
        while group[text] != text:
            text = group[text]
        return text

    for row in rows:
        first, second = sorted((find(row["claim"]), find(row["evidence"])))
        group[second] = first
    return [Labeled(row["claim"], row["evidence"], row["supported"], fold_of(find(row["claim"]))) for row in rows]


def load_sources(path: Path) -> dict[str, list[Labeled]]:
    """The claims of a file of several sources, by source, without those that are partly supported."""
    sources: dict[str, list[Labeled]] = {}
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["label"] != "partly":
                one = Labeled(row["claim"], row["evidence"], row["label"] == "supported")
                sources.setdefault(row["source"], []).append(one)
    return sources


def load_own() -> list[Labeled]:
    """Our own claims about the example documents."""
    return [
        Labeled(claim, "", kind == "supported", item=read_section(section["document"], section["heading"]),
                question=section["question"])
        for section in SECTIONS for kind in ("supported", "unsupported") for claim in section[kind]
    ]  # fmt: skip


def load_written() -> list[Labeled]:
    """The claims that were written to train the model, each with its whole passage."""
    claims = []
    with lzma.open(WRITTEN, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            text = "\n\n".join(row["units"])
            item = Evidence(1, "evidence", "evidence", "whole", text, 1.0, name=row["title"])
            claims += [Labeled(one["c"], "", one["label"] == "supported", item=item) for one in row["claims"]]
    return claims


def is_kept(one: Labeled) -> bool:
    item = Evidence(1, "evidence", "evidence", "whole", one.evidence, 1.0)
    return _has_support(verify(f"{one.claim} {item.marker}", [item], QUESTION).claims)


def is_kept_by_ask(one: Labeled) -> bool:
    """As `is_kept`, through the public function: a model replies with the claim and cites the only document."""
    corpus = shortlist.build([Document("evidence", "", one.evidence)], in_memory=True)
    answer = shortlist.ask(corpus, QUESTION, ScriptedLLM(f"{one.claim} [evidence:whole]"), min_relevance=None)
    if not answer.evidence:
        raise ValueError(f"The evidence was not found: {one.evidence!r}")
    return _has_support(answer.sentences)


def _has_support(claims: Sequence[Claim]) -> bool:
    return any(claim.support != "unsupported" for claim in claims)


def measure(kept: Sequence[tuple[Labeled, bool]]) -> dict[str, float]:
    """Balanced accuracy, and the shares of supported and of refuted claims that are kept."""
    supported = fmean(is_kept for one, is_kept in kept if one.is_supported)
    refuted = fmean(is_kept for one, is_kept in kept if not one.is_supported)
    return {
        "claims": len(kept),
        "balanced_accuracy": (supported + 1 - refuted) / 2,
        "supported_kept": supported,
        "refuted_kept": refuted,
    }


def run(paths: list[Path]) -> None:
    """Measure rules, model and both, and both ways without each rule, on every set."""
    sets = {"own": load_own(), "written": load_written()}
    for path in paths:
        sets |= {path.name: load_folds(path / "claims.jsonl")} if path.is_dir() else load_sources(path)
    figures = {}
    for name, rows in sets.items():
        balanced = _draw(rows)
        figures[name] = _measure_set(balanced)
        _show(name, figures[name])
        report.save("claims", figures, beside_others=True)


def _draw(rows: Sequence[Labeled]) -> list[Labeled]:
    """At most `MOST_CLAIMS`, half of them supported if there are as many."""
    if len(rows) <= MOST_CLAIMS:
        return list(rows)
    draw = random.Random(0)
    supported, refuted = ([one for one in rows if one.is_supported is kind] for kind in (True, False))
    half = min(MOST_CLAIMS // 2, len(supported))
    return draw.sample(supported, half) + draw.sample(refuted, min(MOST_CLAIMS - half, len(refuted)))


def _measure_set(rows: Sequence[Labeled]) -> dict[str, Any]:
    judge = load_judge()
    rate = judge.rate_claim if judge else None
    rated = [rate(one.claim, one.statement.cited) for one in rows] if rate else []
    figures: dict[str, Any] = {"rules": _round(_keep_by(rows, []))}
    if rated:
        by_model = [probability >= MODEL_ALONE for probability in rated]
        figures["model"] = _round(measure(list(zip(rows, by_model, strict=True))))
        figures["rules and model"] = _round(_keep_by(rows, rated))
    for rule, (module, name, nothing) in _RULES.items():
        with mock.patch.object(module, name, nothing):
            figures[f"rules without {rule}"] = _round(_keep_by(rows, []))
            if rated:
                figures[f"rules and model without {rule}"] = _round(_keep_by(rows, rated))
    return figures


def _keep_by(rows: Sequence[Labeled], rated: Sequence[float]) -> dict[str, float]:
    probabilities = iter(rated)
    kept = []
    for one in rows:
        probability = next(probabilities, None)
        found = assess(one.statement, None if probability is None else partial(_repeat, probability))
        kept.append((one, found.support != "unsupported"))
    return measure(kept)


def _repeat(probability: float, *_: Any) -> float:
    return probability


def _round(row: Mapping[str, float]) -> dict[str, float]:
    return {
        "claims": int(row["claims"]),
        "balanced_accuracy": round(row["balanced_accuracy"], 4),
        "right_removed": round(1 - row["supported_kept"], 4),
        "wrong_kept": round(row["refuted_kept"], 4),
    }


def _show(name: str, figures: Mapping[str, Mapping[str, float]]) -> None:
    print(f"\n{name}")
    for variant, row in figures.items():
        print(
            f"  {variant:60} balanced accuracy {row['balanced_accuracy']:.3f}  "
            f"right removed {row['right_removed']:.3f}  wrong kept {row['wrong_kept']:.3f}",
            flush=True,
        )

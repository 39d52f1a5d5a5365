"""The benchmark of answers: its own questions, how an answer is rated, and the folds of claims."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import shortlist
from bench import claims, debian_docs
from bench.answers import Asked, outcome, plain_text, questions, use_model
from shortlist import Document


@pytest.fixture(scope="module")
def corpus() -> shortlist.Corpus:
    text = "The moat of the castle is 12 meters wide (see [note]). It was dug in 1341."
    return shortlist.build([Document("castle", "Castle", text)], in_memory=True)


def test_own_questions_name_their_file_and_their_patterns_compile() -> None:
    cases = debian_docs.load_cases()
    assert len({case.question for case in cases}) == len(cases)
    for half in ("dev", "test"):
        assert sum(bool(case.answers) for case in cases if case.half == half) >= 40
        assert sum(not case.answers for case in cases if case.half == half) >= 15
    for case in cases:
        assert bool(case.answers) == bool(case.file)
        assert not case.file or case.file.split("/")[0] in debian_docs.FILES
        assert all(re.compile(pattern) for pattern in case.answers)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Asked("How wide is the moat of the castle?", frozenset(["castle"]), ("12 meters",), ""), "right"),
        (Asked("How wide is the moat of the castle?", frozenset(["castle"]), ("30 feet",), ""), "wrong"),
        (Asked("How wide is the moat of the castle?", frozenset(["castle"]), (r"\b1\d m",), "", True), "right"),
        (Asked("How wide is the moat of the castle?", frozenset(), (), ""), "wrongly_answered"),
        (Asked("Who painted the ceiling of the chapel?", frozenset(["castle"]), ("12",), ""), "wrongly_refused"),
        (Asked("Who painted the ceiling of the chapel?", frozenset(), (), ""), "rightly_refused"),
    ],
)
def test_an_answer_is_rated_by_what_it_contains(corpus: shortlist.Corpus, asked: Asked, expected: str) -> None:
    assert outcome(asked, shortlist.ask(corpus, asked.text)) == expected


def test_the_text_of_an_answer_has_no_citations(corpus: shortlist.Corpus) -> None:
    answer = shortlist.ask(corpus, "How wide is the moat of the castle?")
    assert "[castle:whole]" in answer.text
    assert "castle:whole" not in plain_text(answer)


def test_every_other_title_was_fitted_to(tmp_path: Path) -> None:
    rows = [{"_id": name, "title": name, "text": name} for name in "abc"]
    about = {"answerable": False, "paragraph": ""}
    queries = [{"_id": name, "text": f"What is {name}?", "metadata": about | {"paragraph": name}} for name in "abc"]
    for name, lines in (("corpus", rows), ("queries", queries)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    _, asked = questions(tmp_path)
    assert [one.is_fitted for one in asked] == [True, False, True]


def test_claims_that_share_a_text_are_in_one_fold(tmp_path: Path) -> None:
    links = [(f"claim {at // 2}", f"evidence {(at + 1) // 2}") for at in range(20)]  # a chain
    lines = [json.dumps({"claim": one, "evidence": two, "supported": True}) for one, two in links]
    (tmp_path / "claims.jsonl").write_text("\n".join(lines), "utf-8")
    assert len({one.fold for one in claims.load_folds(tmp_path / "claims.jsonl")}) == 1


@pytest.mark.parametrize("claim", ["The castle has 4 towers.", "The castle has 7 towers."])
def test_a_claim_is_kept_as_ask_keeps_it(claim: str) -> None:
    one = claims.Labeled(claim, "Built by a duke, the castle has 4 towers.", "4" in claim)
    assert claims.is_kept(one) == claims.is_kept_by_ask(one) == one.is_supported


def test_a_model_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="fold0"):
        use_model(tmp_path / "fold0.onnx")

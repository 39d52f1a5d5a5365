"""The benchmark of answers: its own questions, how an answer is rated, and the folds of claims."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import shortlist
from bench import answers, claims, debian_docs
from bench.answers import Asked, outcome, plain_text, questions, use_model
from shortlist import Document


@pytest.fixture(scope="module")
def corpus() -> shortlist.Corpus:
    text = "The moat of the castle is 12 meters wide (see [note]). It was dug in 1341."
    return shortlist.build([Document("castle", "Castle", text)], in_memory=True)


@pytest.mark.parametrize(
    ("name", "half", "answerable", "unanswerable"),
    [("debian_docs", "dev", 40, 15), ("debian_docs", "test", 40, 15), ("new_docs", "test", 84, 42)],
)
def test_own_questions_are_enough(name: str, half: str, answerable: int, unanswerable: int) -> None:
    cases = [case for case in debian_docs.load_cases(name) if case.half == half]
    assert sum(bool(case.answers) for case in cases) >= answerable
    assert sum(not case.answers for case in cases) >= unanswerable


@pytest.mark.parametrize("name", debian_docs.SETS)
def test_own_questions_name_their_file_and_their_patterns_compile(name: str) -> None:
    cases = debian_docs.load_cases(name)
    assert len({case.question for case in cases}) == len(cases)
    for case in cases:
        assert bool(case.answers) == bool(case.file)
        assert not case.file or case.file.split("/")[0] in debian_docs.SETS[name]
        assert all(re.compile(pattern) for pattern in case.answers)


def test_the_questions_of_new_docs_are_all_for_testing() -> None:
    assert {case.half for case in debian_docs.load_cases(debian_docs.NEW)} == {"test"}


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


def test_titles_are_fitted_to_by_the_rules_or_the_reader_or_unseen(tmp_path: Path) -> None:
    rows = [{"_id": name, "title": name, "text": name} for name in "abcd"]
    about = {"answerable": False, "paragraph": ""}
    queries = [{"_id": name, "text": f"What is {name}?", "metadata": about | {"paragraph": name}} for name in "abcd"]
    for name, lines in (("corpus", rows), ("queries", queries)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    _, asked = questions(tmp_path)
    assert [one.group for one in asked] == ["fitted", answers.READER_GROUP, "fitted", "unseen"]
    assert [one.is_fitted for one in asked] == [True, True, True, False]


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


def test_one_folder_of_documents_is_for_one_set(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        answers.run([Path("debian_docs"), Path("new_docs"), Path("--docs"), tmp_path])
    assert "one set" in capsys.readouterr().err


def test_reliability_compares_confidence_with_the_share_that_is_right(corpus: shortlist.Corpus) -> None:
    answer = shortlist.ask(corpus, "How wide is the moat of the castle?")
    right, wrong = (Asked(answer.question, frozenset(["castle"]), (part,), "") for part in ("12 meters", "30 feet"))
    sure, unsure = replace(answer, confidence=0.92), replace(answer, confidence=0.42)
    rows = answers.measure_reliability([(right, sure), (wrong, sure), (wrong, unsure)])
    assert rows == [[0.42, 0.0, 1], [0.92, 0.5, 2]]

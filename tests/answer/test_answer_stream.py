"""An answer while it is written: what is passed on was verified."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import REFUSAL, Answer, Evidence, ScriptedLLM, agent_ask, ask
from shortlist.answer import verification
from shortlist.answer.answer_stream import AnswerStream
from shortlist.answer.claims.assessment import Assessment, Statement, assess
from shortlist.answer.verification import Verifier, verify
from tests.answer.claims.test_assessment import PASSAGE
from tests.answer.test_citations import EVIDENCE, REPLIES


@given(REPLIES, st.integers(1, 9))
def test_what_is_streamed_is_the_answer(reply: str, size: int) -> None:
    streamed: list[str] = []
    stream = AnswerStream(Verifier(EVIDENCE), streamed.append)
    for at in range(0, len(reply), size):
        stream.add(reply[at : at + size])
    text = verify(reply, EVIDENCE).text
    stream.finish(text)
    assert "".join(streamed).endswith(text)


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Two [moons.txt:whole] and 9999 more [moons.txt:whole]. Yes.", REFUSAL),
        ("It has two moons. [moons.txt:whole] 9999 more [moons.txt:whole]. No.", "It has two moons. [moons.txt:whole]"),
        ("1. Two [moons.txt:whole].\n2. Two moons [moons.txt:whole]\n\nYes.",
         "1. Two [moons.txt:whole].\n2. Two moons [moons.txt:whole]"),
    ],
)  # fmt: skip
def test_no_part_of_a_sentence_is_streamed_before_all_of_it_is_verified(reply: str, text: str, size: int) -> None:
    streamed: list[str] = []
    stream = AnswerStream(Verifier(EVIDENCE), streamed.append)
    for at in range(0, len(reply), size):
        stream.add(reply[at : at + size])
    stream.finish(verify(reply, EVIDENCE).text)
    assert "".join(streamed) == text


def test_half_of_a_sentence_is_not_what_was_said() -> None:
    stream = AnswerStream(Verifier(EVIDENCE))
    stream.add("They were discovered [moons.txt:whole] by nob")
    assert stream.complete_sentences() == ""
    stream.add("ody. It")
    assert stream.complete_sentences() == ""
    stream.add(" has two moons [moons.txt:whole]. They")
    assert stream.complete_sentences().endswith("It has two moons [moons.txt:whole].")


@pytest.mark.parametrize(("keep", "expected"), [(False, 2), (True, 3)])
def test_a_sentence_is_streamed_once_it_is_verified(keep: bool, expected: int) -> None:
    item = Evidence(1, "leave.md", "leave.md", "whole", PASSAGE, 1.0, name="Leave")
    streamed: list[str] = []
    stream = AnswerStream(Verifier([item], keep_unsupported=keep), streamed.append)
    reply = "Ada Byron founded it [leave.md]. It is 7 [leave.md]. She leads it [leave.md]. "
    for at in range(0, len(reply), 5):
        stream.add(reply[at : at + 5])
    stream.finish(verify(reply, [item], keep_unsupported=keep).text)
    assert len(streamed) == expected
    assert "".join(streamed) == verify(reply, [item], keep_unsupported=keep).text


@pytest.mark.parametrize("asking", [ask, agent_ask])
def test_a_streamed_sentence_is_assessed_once(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assessed: list[str] = []

    def count(statement: Statement, rate: Any = None) -> Assessment:
        assessed.append(statement.text.strip())
        return assess(statement, rate)

    monkeypatch.setattr(verification, "assess", count)
    sentences = ["Ada Byron founded it [a.md:whole].", "It is 7 [a.md:whole].", "She leads it [a.md:whole]."]
    streamed: list[str] = []
    llm = ScriptedLLM(" ".join(sentences))
    question = "Who founded the company?"
    answer: Answer = asking({"a.md": PASSAGE}, question, llm, min_relevance=0.0, on_text=streamed.append)
    assert len(streamed) == len(answer.sentences) == 2
    assert sorted(assessed) == sorted(one.replace("[a.md:whole]", "") for one in sentences)


def test_a_table_is_passed_on_once_all_of_it_is_verified() -> None:
    rows = "| Moons | Number |\n|---|---|\n| Mars | two [moons.txt:whole] |\n| Found | 1877 [moons.txt:whole] |"
    for reply, expected in ((f"{rows}\n\nYes.", [rows]), (rows.replace("1877", "1878") + "\n\nYes.", [])):
        streamed: list[str] = []
        stream = AnswerStream(Verifier(EVIDENCE), streamed.append)
        for at in range(0, len(reply), 3):
            stream.add(reply[at : at + 3])
        assert streamed == expected

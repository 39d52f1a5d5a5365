"""Questions to a scripted model, to an agent and in a chat: the prompts, and what is left of the replies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import shortlist
from shortlist import (
    REFUSAL,
    InputError,
    LLMError,
    Reply,
    ScriptedLLM,
    agent_ask,
    ask,
)
from shortlist.answer import verification
from shortlist.answer.extractive.extract import Extract, Quote
from shortlist.protocols import Messages

MOONS = {
    "mars.txt": "Mars has two moons, Phobos and Deimos. They were discovered in 1877 by Asaph Hall.",
    "venus.txt": "Venus has no moons. A day on Venus is longer than its year.",
}


LAMPS = {
    "hall": "The green lamp in the hall was made by Anna Berg.",
    "shop": "A lamp is sold here. It may be green. Other things are in the hall. Anna Berg made a chair.",
    "long": "The shop sells chairs. The green lamp that is in the hall of the old house by the river was, as far as "
    "the papers of the family say, made by Anna Berg.",
    "attic": "The lamp in the attic is white.",
}


@pytest.mark.parametrize("question", ["", "  \n"])
def test_nothing_asked_is_refused(question: str) -> None:
    assert ask(MOONS, question, ScriptedLLM()).text == REFUSAL


def test_a_question_is_a_string() -> None:
    with pytest.raises(InputError, match="A question must be a string, not int"):
        ask(MOONS, 5)  # type: ignore[arg-type]


def test_an_answer_is_streamed_sentence_by_sentence_once_verified() -> None:
    streamed: list[str] = []
    reply = "Mars has two moons [mars.txt:whole]. It is red. Hall discovered them in 1877 [mars.txt:whole]."
    answer = ask(MOONS, "How many moons does Mars have?", ScriptedLLM(reply), on_text=streamed.append)
    assert streamed == ["Mars has two moons [mars.txt:whole].", " Hall discovered them in 1877 [mars.txt:whole]."]
    assert "".join(streamed) == answer.text
    streamed.clear()
    ask(MOONS, "How many moons does Mars have?", ScriptedLLM("No idea."), on_text=streamed.append)
    assert streamed == [REFUSAL]


def test_a_model_that_cannot_stream_is_asked_all_the_same() -> None:
    class Plain:
        def complete(self, messages: Any, tools: Any = ()) -> Reply:
            return Reply("Two [mars.txt:whole].")

    streamed: list[str] = []
    ask(MOONS, "How many moons does Mars have?", Plain(), on_text=streamed.append)
    assert streamed == ["Two [mars.txt:whole]."]


def test_what_goes_wrong_with_the_model_is_raised() -> None:
    with pytest.raises(LLMError, match="down"):
        ask(MOONS, "How many moons does Mars have?", ScriptedLLM(LLMError("down")))


class BreakingLLM(ScriptedLLM):
    """Streams the text of its reply, then fails."""

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        super().stream(messages, on_text, tools)
        raise LLMError("The connection was lost.")


@pytest.mark.parametrize("asking", [ask, agent_ask])
@pytest.mark.parametrize(
    ("heard", "kept"),
    [
        ("Mars has two moons [mars.txt:whole]. They were found", "Mars has two moons [mars.txt:whole]."),
        ("Mars has two moons [mars.txt:whole].", "Mars has two moons [mars.txt:whole]."),
        ("Mars has two moons [mars.txt:whole]. They are [mars.txt:whole]", "Mars has two moons [mars.txt:whole]."),
    ],
)
def test_b11_of_an_answer_that_breaks_off_the_verified_sentences_are_kept(asking: Any, heard: str, kept: str) -> None:
    streamed: list[str] = []
    answer = asking(MOONS, "How many moons does Mars have?", BreakingLLM(heard), on_text=streamed.append)
    assert answer.text == kept == "".join(streamed)
    assert (answer.refused, answer.broke_off) == (False, "The connection was lost.")
    assert answer.to_dict()["broke_off"] == answer.broke_off


@pytest.mark.parametrize("heard", ["", "Mars has two", "Galileo saw them. "])
def test_b11_an_answer_that_breaks_off_with_nothing_verified_is_an_error(heard: str) -> None:
    with pytest.raises(LLMError, match="connection was lost"):
        ask(MOONS, "How many moons does Mars have?", BreakingLLM(heard), on_text=lambda text: None)


def test_several_corpora_can_be_asked_together() -> None:
    corpora = [shortlist.build({name: text}, name=name, in_memory=True) for name, text in MOONS.items()]
    answer = ask(corpora, "Who discovered the moons of Mars?", min_relevance=0.0)
    assert "Asaph Hall. [mars.txt:whole]" in answer.text
    assert {item.corpus for item in answer.evidence} == set(MOONS)


# Memory and chat


# The agent


def test_the_confidence_in_an_answer_of_a_model_is_that_in_its_least_certain_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rate(claim: str, cited: Any) -> float:
        return 0.9 if "Hall" in claim else 0.4

    monkeypatch.setattr(verification, "load_judge", lambda: SimpleNamespace(rate_claim=rate))
    reply = "Two moons orbit Mars [mars.txt]. Asaph Hall found them in 1877 [mars.txt]. Mars has two moons [mars.txt]."
    answer = ask(MOONS, "How many moons does Mars have?", ScriptedLLM(reply))
    assert [claim.confidence for claim in answer.sentences] == [0.4, 0.9, 1.0]
    assert answer.confidence == 0.4
    assert ask(MOONS, "How many moons does Mars have?", ScriptedLLM(REFUSAL)).confidence == 0.0


def test_what_was_asked_for_is_marked_in_the_text_of_an_extracted_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def extract(question: Any, evidence: Any, *_: Any, **__: Any) -> Extract:
        text = evidence[0].text
        first, second = text.split(". ")
        at = second.index("1877")
        quotes = [
            Quote(evidence[0], f"{first}.", (0, len(first) + 1)),
            Quote(evidence[0], second, (len(first) + 2, len(text)), (at, at + 4)),
        ]
        return Extract(quotes, "Because.", 0.8)

    monkeypatch.setattr(sys.modules["shortlist.answer.ask"], "extract", extract)
    answer = ask({"mars.txt": MOONS["mars.txt"]}, "When were the moons of Mars discovered?")
    assert answer.span is not None
    assert answer.text[slice(*answer.span)] == "1877"
    assert [answer.confidence, *(claim.confidence for claim in answer.sentences)] == [0.8, 0.8, 0.8]


@pytest.mark.parametrize("answer", [shortlist.ask, shortlist.agent_ask])
def test_the_name_of_a_model_is_no_language_model(answer: Any) -> None:
    with pytest.raises(InputError, match=r"such as shortlist\.OpenAIChat\(url, model\), not 'gpt-4'"):
        answer(["Ada founded the company."], "Who founded the company?", "gpt-4")

"""The passages that an answer may use: those that are relevant enough to the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shortlist
from shortlist import (
    REFUSAL,
    Corpus,
    Document,
    ScriptedLLM,
    ask,
)
from shortlist.errors import InputError
from shortlist.results import MinRelevance
from shortlist.retrieval.relevance import EVIDENCE_THRESHOLD, KEYWORD_EVIDENCE_THRESHOLD
from tests.answer.test_ask import LAMPS, MOONS


class Angles:
    """An embedder whose cosines are known: the query lies at 0, each text at the angle that it says."""

    name, dim = "angles", 2

    def encode_query(self, text: str) -> Any:
        return np.array([1.0, 0.0], np.float32)

    def encode_documents(self, texts: Sequence[str]) -> Any:
        cosines = np.array([float(text.split()[-1]) for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)


@pytest.fixture
def angles() -> Corpus:
    documents = [Document(f"{at}.txt", "", f"cosine {cosine}") for at, cosine in enumerate((0.9, 0.5, 0.31, 0.29, 0.1))]
    return shortlist.build(documents, in_memory=True, embedder=Angles())


def far(texts: Sequence[str]) -> NDArray[np.float32]:
    """A model that takes questions for something else than their answers."""
    return np.array([[1.0, 0.0] if "?" in text else [0.1, 0.99] for text in texts], dtype=np.float32)


def read_relevances(corpus: Corpus, question: str) -> dict[str, float]:
    """The relevance of each document of one passage, the most relevant first."""
    return {hit.id: hit.relevance or 0.0 for hit in shortlist.search(corpus, question, k=9)}


def test_b5_passages_are_shown_by_relevance_from_the_threshold_on_four_at_most(angles: Corpus) -> None:
    relevances = read_relevances(angles, "something")
    assert list(relevances) == ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt"]
    llm = ScriptedLLM(*[REFUSAL] * 4)
    least = relevances["2.txt"]
    shown = {item.source: item.score for item in ask(angles, "something", llm, min_relevance=least).evidence}
    assert "0.txt" in shown
    assert "4.txt" not in shown
    assert shown.items() <= relevances.items()
    assert list(shown) == list(relevances)[: len(shown)]
    assert min(shown.values()) >= least
    assert len(ask(angles, "something", llm, min_relevance=0.0).evidence) == 4
    assert len(ask(angles, "something", llm, min_relevance=0.0, k=2).evidence) == 2
    assert len(ask(angles, "something", llm, min_relevance=relevances["2.txt"]).evidence) == 3


@pytest.mark.parametrize("embedder", ["default", "light", far])
def test_a_passage_with_the_words_of_a_question_is_evidence_with_every_embedder(embedder: Any) -> None:
    corpus = shortlist.build({"hall.txt": "The lamp in the hall is green."}, in_memory=True, embedder=embedder)
    assert not ask(corpus, "Is the lamp in the hall green?").refused


@pytest.mark.parametrize("embedder", ["default", "none"])
def test_passages_with_all_words_of_a_question_differ_in_relevance_and_are_listed_by_it(embedder: str) -> None:
    corpus = shortlist.build(LAMPS, in_memory=True, embedder=embedder)
    evidence = ask(corpus, "Did Anna Berg make the green lamp in the hall?").evidence
    scores = [item.score for item in evidence]
    assert scores == sorted(scores, reverse=True)
    assert len({round(score, 3) for score in scores}) == len(scores) >= 3
    assert evidence[0].source == "hall"
    assert EVIDENCE_THRESHOLD <= scores[-1] < scores[0] < 1


def test_with_keywords_alone_one_passage_needs_more_than_a_word_of_the_question() -> None:
    texts = {
        "hall": "The lamp in the hall is green, and Anna Berg made it in the spring of that year.",
        "attic": "The chair in the attic is old. Nobody knows who made it.",
        "barn": "The plough in the barn was sold to a farmer.",
    }
    few = shortlist.build(texts, in_memory=True, embedder="none")
    texts |= {f"shelf {number}": f"Book number {number} is on the shelf with other books." for number in range(100)}
    corpus = shortlist.build(texts, in_memory=True, embedder="none")
    unrelated = "Which vitamins of green vegetables protect the liver from cancer?"
    answer = ask(corpus, unrelated)
    assert (answer.by, answer.evidence) == ("gate", [])
    assert answer.reason.startswith("No passage is relevant enough: the best is hall with 0.")
    assert [item.source for item in ask(corpus, unrelated, min_relevance=EVIDENCE_THRESHOLD).evidence] == ["hall"]
    shown = ask(corpus, "Who made the green lamp in the hall?").evidence
    assert shown[0].source == "hall"
    assert shown[0].score >= KEYWORD_EVIDENCE_THRESHOLD
    corpus.set_threshold("auto", 0.2)
    assert ask(corpus, unrelated).evidence
    assert ask(few, unrelated).evidence  # in a few passages it is not known which words are rare


def test_when_nothing_clears_the_threshold_the_model_is_not_asked(angles: Corpus) -> None:
    llm = ScriptedLLM()
    answer = ask(angles, "something", llm, min_relevance=0.95)
    assert (answer.text, answer.refused, answer.by, answer.evidence, llm.heard) == (REFUSAL, True, "gate", [], [])
    best = read_relevances(angles, "something")["0.txt"]
    assert answer.reason == f"No passage is relevant enough: the best is 0.txt with {best:.3f}."


def test_min_relevance_is_a_number_from_0_to_1_auto_or_none(angles: Corpus) -> None:
    relevances = read_relevances(angles, "something")
    llm = ScriptedLLM(*[REFUSAL] * 4)
    shown = ask(angles, "something", llm, k=9).evidence
    assert ask(angles, "something", llm, k=9, min_relevance="auto").evidence == shown
    assert len(shown) == sum(value >= EVIDENCE_THRESHOLD for value in relevances.values()) < 5
    assert len(ask(angles, "something", llm, k=9, min_relevance=None).evidence) == 5
    with pytest.raises(InputError, match=r"from 0 to 1, 'auto' or None, not 1\.5"):
        ask(angles, "something", llm, min_relevance=1.5)


def test_the_former_name_of_min_relevance_warns_and_means_the_same(angles: Corpus) -> None:
    old: Any = ask
    pairs: list[tuple[float | None, MinRelevance]] = [(0.0, 0.0), (None, "auto"), (2.0, 1.0), (-1.0, 0.0)]
    for former, now in pairs:
        with pytest.deprecated_call(match="threshold is deprecated. Use min_relevance."):
            answer = old(angles, "something", ScriptedLLM(REFUSAL), k=9, threshold=former)
        assert answer.evidence == ask(angles, "something", ScriptedLLM(REFUSAL), k=9, min_relevance=now).evidence


def test_a_calibrated_threshold_takes_the_place_of_the_built_in_one(angles: Corpus) -> None:
    best, second, *_ = read_relevances(angles, "something").values()
    angles.set_threshold("auto", best)
    assert [item.source for item in ask(angles, "something", ScriptedLLM(REFUSAL)).evidence] == ["0.txt"]
    assert len(ask(angles, "something", ScriptedLLM(REFUSAL), min_relevance=second).evidence) == 2


@pytest.mark.parametrize("embedder", ["default", "light", "none"])
def test_a_question_of_something_else_is_refused_by_every_embedder_and_one_of_this_is_not(embedder: str) -> None:
    corpus = shortlist.build(MOONS, in_memory=True, embedder=embedder)
    assert ask(corpus, "Which enzyme splits lactose?", ScriptedLLM()).by == "gate"
    found = ask(corpus, "Who discovered the moons of Mars?")
    assert "Asaph Hall. [mars.txt:whole]" in found.text


def test_a_long_text_is_shown_where_the_words_of_the_question_stand() -> None:
    text = "Filler about nothing at all. " * 400 + "The keeper of the lighthouse was Mrs Dunn. " + "More filler. " * 400
    answer = ask([text], "Who was the keeper of the lighthouse?", min_relevance=0.0)
    (item,) = answer.evidence
    assert item.locator.startswith("whole;offset=")
    assert text.startswith(item.text, int(item.locator.rpartition("=")[2]))
    assert answer.text == f"The keeper of the lighthouse was Mrs Dunn. {item.marker}"

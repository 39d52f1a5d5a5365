"""A new question is answered as if it was the first one, and a follow-up with the turn before it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from shortlist import Chat, Corpus, CorpusSource, Memory, ScriptedLLM, ask, build
from shortlist.answer.follow_ups import find_reference

PAIRS = tomllib.loads(Path(__file__).with_name("conversations.toml").read_text("utf-8"))
FOLLOW_UPS = [(*one["turns"], one["text"]) for one in PAIRS["follow_ups"]]
FRESH = [tuple(one["turns"]) for one in PAIRS["fresh"]]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    folder = Path(__file__).parents[2] / "examples" / "data" / "docs"
    return build(CorpusSource.from_files(folder), in_memory=True)


@pytest.mark.parametrize(("first", "second", "text"), FOLLOW_UPS)
def test_a_follow_up_finds_what_it_is_about(corpus: Corpus, first: str, second: str, text: str) -> None:
    chat = Chat(corpus)
    chat.ask(first)
    assert any(text in item.text for item in chat.ask(second).evidence)


@pytest.mark.parametrize(("first", "second"), FRESH)
def test_a_new_question_has_the_passages_and_the_answer_that_it_has_alone(
    corpus: Corpus, first: str, second: str
) -> None:
    chat = Chat(corpus)
    chat.ask(first)
    assert chat.ask(second) == ask(corpus, second)


@pytest.mark.parametrize("agent", [False, True])
@pytest.mark.parametrize(("first", "second"), FRESH[:3])
def test_a_model_sees_the_history_and_only_the_passages_of_a_new_question(
    corpus: Corpus, first: str, second: str, agent: bool
) -> None:
    llm = ScriptedLLM("Yes.", "Yes.")
    chat = Chat(corpus, llm, agent=agent)
    chat.ask(first)
    answer = chat.ask(second)
    assert answer.evidence == ask(corpus, second).evidence
    assert [message["role"] for message in llm.heard[1]] == ["system", "user", "assistant", "user"]
    assert llm.heard[1][1]["content"] == first


def test_a_question_that_may_be_a_follow_up_prefers_what_it_finds_alone() -> None:
    memory = Memory()
    memory.add("How long is a gift card valid?", "Five years.")
    texts = {"cards": "A gift card is valid for five years.", "hooks": "Webhooks are signed."}
    found = {k: [item.source for item in ask(texts, "Webhooks", memory=memory, k=k).evidence] for k in (1, 2)}
    assert memory.find_reference("Webhooks") == "unclear"
    assert found == {1: ["hooks"], 2: ["hooks", "cards"]}


@pytest.mark.parametrize(
    "question",
    [
        "Why?", "How much?", "And in Norway?", "What about returns?", "How about plants?", "Which of them is cheaper?",
        "Who discovered them?", "When was it opened?", "What is its capacity?", "Who works there?", "Tell me more.",
        "Does the company pay for it?", "Is that one free?", "For Norway?", "What does that mean?",
        "Can you elaborate?", "Where did he live?", "How does this work?", "Is it free for Gold members?",
    ],
)  # fmt: skip
def test_a_question_that_needs_the_turn_before_it_refers_to_it(question: str) -> None:
    assert find_reference(question) == "clear"


@pytest.mark.parametrize(
    "question",
    [
        "What is phishing?", "Who founded Larkspur Goods?", "Why was the shop offline in March?",
        "How much does it cost to return a parcel?", "Is it true that plants cannot be returned?",
        "Are there warehouses in Spain?", "What happens to parcels that are lost?", "Does Venus keep its heat?",
        "If a parcel is lost, when is it refunded?", "Which sales are planned this year?",
        "Do customers in Norway pay for returns when they are late?", "In which year was the company founded?",
        "For how long are security logs kept?", "Wie lange ist eine Geschenkkarte gültig?",
    ],
)  # fmt: skip
def test_a_complete_question_does_not(question: str) -> None:
    assert find_reference(question) == "none"


@pytest.mark.parametrize(
    "question", ["Who approved that policy?", "What other carriers are used?", "Webhooks", "Und in Norwegen?",
                 "And what is the rate limit of the API?"],
)  # fmt: skip
def test_a_question_that_may_be_complete_is_unclear(question: str) -> None:
    assert find_reference(question) == "unclear"


def test_without_a_turn_before_it_no_question_refers_to_one() -> None:
    assert Memory().find_reference("Why?") == "none"


def test_letters_that_become_two_in_lower_case_are_read_as_one() -> None:
    assert find_reference("Where are İİİ, İzmir and İ?") == "none"


@pytest.mark.parametrize(
    ("question", "reference"),
    [
        ("为什么？", "clear"),
        ("Und in Berlin?", "unclear"),
        ("那么价格呢？", "unclear"),
        ("А в Москве?", "unclear"),
        ("Wann wurde die Firma gegründet?", "none"),
        ("¿Cuánto cuesta el envío a Francia?", "none"),
        ("公司什么时候成立？", "none"),
        ("Когда была основана компания?", "none"),
    ],
)
def test_openers_and_short_questions_refer_back_in_other_languages(question: str, reference: str) -> None:
    assert find_reference(question) == reference

"""A model that is scripted writes cases: what it is shown, what is taken of what it says, and what is dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, Document, InputError, ShortlistError
from shortlist.eval import generate_cases
from shortlist.eval.generate import CHECK_PROMPT, MASK, copied_run, leaked_name, masked, plan
from shortlist.types import Reply


class Scripted:
    """Answers by what a prompt speaks of, and remembers what it was asked."""

    def __init__(self, replies: Mapping[str, Any], otherwise: Any = ()) -> None:
        self.replies = replies
        self.otherwise = otherwise
        self.asked: list[str] = []

    def complete(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> Reply:
        prompt = str(messages[-1]["content"])
        self.asked.append(prompt)
        found = next((reply for key, reply in self.replies.items() if key in prompt), self.otherwise)
        if isinstance(found, Exception):
            raise found
        return Reply(found if isinstance(found, str) else json.dumps(list(found)))


MONEY, PARCEL, NOTHING = "give the money", "tell where a parcel", "and only these"


def made(shop: Corpus, replies: Mapping[str, Any], **options: Any) -> Any:
    """Cases about all five documents."""
    n = 5 * options.get("per_document", 1)
    return generate_cases(shop, Scripted(replies), n, **{"out_of_scope": 0.0, **options})


def dropped(found: Any) -> list[tuple[str, str, str]]:
    return [(one.reason, one.gold, one.query) for one in found.dropped if one.reason != "unreadable"]


def test_a_case_has_the_document_as_gold_that_the_model_was_shown(shop: Corpus) -> None:
    replies = {MONEY: ["she paid twice, reimburse her"], PARCEL: ["my order has not come, look it up"]}
    found = made(shop, replies)
    assert {case.query: case.gold for case in found.cases} == {
        "she paid twice, reimburse her": ("refund",),
        "my order has not come, look it up": ("track",),
    }


def test_the_model_is_never_shown_the_name_of_what_it_writes_about(shop: Corpus) -> None:
    model = Scripted({})
    generate_cases(shop, model, 5, out_of_scope=0.0)
    assert len(model.asked) == 5
    for document in shop:
        assert not any(document.title in prompt for prompt in model.asked)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("call refund_payment to refund", f"call {MASK} to refund"),
        ("RefundPayment, Refund payment and refund-payments", f"{MASK}, {MASK} and refund-payments"),
        ("the id is tools/refund.payment", f"the id is tools/{MASK}"),
    ],
)
def test_a_name_is_hidden_however_it_is_spelled(content: str, shown: str) -> None:
    assert masked(Document("refundPayment", "refund_payment", content)) == shown


def test_a_question_that_holds_the_name_is_dropped(shop: Corpus) -> None:
    queries = ["please Refund the Payment", "use refund payment now", "run refundPayment", "reimburse her"]
    found = made(shop, {MONEY: queries}, per_document=4)
    assert [case.query for case in found.cases] == ["reimburse her"]
    assert dropped(found) == [("leak", "refund", query) for query in queries[:3]]


def test_a_name_of_one_common_word_is_no_leak() -> None:
    assert leaked_name("translate this letter", Document("translate", "translate", "Translate a text.")) == ""
    assert leaked_name("ask deepl for it", Document("deepl", "deepl", "Turn a text into another language.")) == "deepl"


def test_a_question_that_copies_the_description_is_dropped(shop: Corpus) -> None:
    query = "please give the money of a payment back soon"
    found = made(shop, {MONEY: [query]})
    assert dropped(found) == [("copied", "refund", query)]
    assert copied_run("one two three four five", "one two three four five") == ""  # five are not yet copied


def test_a_question_that_says_what_another_says_is_dropped(shop: Corpus) -> None:
    found = made(shop, {MONEY: ["reimburse her card", "Reimburse her cards!"]}, per_document=2)
    assert [case.query for case in found.cases] == ["reimburse her card"]
    assert dropped(found) == [("duplicate", "refund", "Reimburse her cards!")]


def test_questions_that_nothing_serves_are_checked_by_the_model(shop: Corpus) -> None:
    served, unserved = "look for the lost parcel", "book a parcel ride to the moon"
    check = CHECK_PROMPT.split("{query}")[0]
    replies = {f"{check}{served}": "Yes.", f"{check}{unserved}": "no", NOTHING: [served, unserved]}
    found = made(shop, replies, out_of_scope=0.4)
    assert [(case.query, case.gold) for case in found.cases] == [(unserved, ())]
    assert dropped(found) == [("served", "", served)]
    unchecked = made(shop, replies, out_of_scope=0.4, verify=False)
    assert [case.query for case in unchecked.cases] == [served, unserved]
    assert unchecked.to_dict()["out_of_scope"] == 2


@pytest.mark.parametrize("reply", ["I cannot do that.", "[broken", '{"queries": "none"}', "[1, 2]"])
def test_a_reply_that_cannot_be_read_loses_only_itself(shop: Corpus, reply: str) -> None:
    found = made(shop, {MONEY: reply, PARCEL: 'Sure:\n```json\n["my order has not come"]\n```'})
    assert [case.gold for case in found.cases] == [("track",)]


def test_a_model_may_think_in_brackets_before_it_answers(shop: Corpus) -> None:
    reply = '<think>[THIS] gives money back [1], or [so it seems</think>\n["reimburse her"] [the end]'
    assert [case.query for case in made(shop, {MONEY: reply}).cases] == ["reimburse her"]


def test_a_call_that_fails_loses_only_itself_unless_all_do(shop: Corpus) -> None:
    found = made(shop, {MONEY: RuntimeError("busy"), PARCEL: ["my order has not come"]})
    assert [case.gold for case in found.cases] == [("track",)]
    assert dropped(found) == [("failed", "refund", "")]
    with pytest.raises(ShortlistError, match="The model wrote nothing: RuntimeError: busy"):
        generate_cases(shop, Scripted({}, RuntimeError("busy")), 5)


def test_documents_are_drawn_by_the_seed(shop: Corpus) -> None:
    def drawn(seed: int) -> list[str]:
        requests = plan(shop, 2, out_of_scope=0.0, seed=seed)
        return [request.document.id for request in requests if request.document]

    assert drawn(3) == drawn(3)
    assert len(drawn(3)) == 2
    assert len({tuple(drawn(seed)) for seed in range(8)}) > 1


def test_a_plain_function_will_do_and_progress_is_told(shop: Corpus) -> None:
    told: list[tuple[int, int | None]] = []
    found = generate_cases(
        shop,
        lambda prompt: '["where did it go"]' if PARCEL in prompt else "[]",
        5,
        out_of_scope=0.0,
        progress=lambda done, total: told.append((done, total)),
    )
    assert [case.query for case in found.cases] == ["where did it go"]
    assert told == [(done, 5) for done in range(1, 6)]
    assert shortlist.eval_gen.generate_cases is generate_cases


def test_what_makes_no_sense_is_a_sentence(shop: Corpus) -> None:
    with pytest.raises(InputError, match="n and per_document are at least 1"):
        plan(shop, 0)
    with pytest.raises(InputError, match="has no document with a description"):
        plan([Document("a", "name", "")], 1)
    with pytest.raises(InputError, match="llm is an LLM or a function"):
        generate_cases(shop, 7, 1)  # type: ignore[arg-type]

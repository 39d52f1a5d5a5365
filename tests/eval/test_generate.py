"""A model that is scripted writes cases: what it is shown, what is taken of what it says, and what is dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, Document, InputError, ShortlistError
from shortlist.eval import build_eval_set, generate_abstention_cases, generate_cases
from shortlist.eval.generate import MASK, PROMPTS, find_copied_run, find_leaked_name, mask_name, plan
from shortlist.protocols import Reply
from tests.test_import import modules_after


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
    return [(one.reason, one.gold, one.query) for one in found.dropped if one.reason != "it contains"]


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
    assert mask_name(Document("refundPayment", "refund_payment", content)) == shown


def test_a_question_that_holds_the_name_is_dropped(shop: Corpus) -> None:
    queries = ["please Refund the Payment", "use refund payment now", "run refundPayment", "reimburse her"]
    found = made(shop, {MONEY: queries}, per_document=4)
    assert [case.query for case in found.cases] == ["reimburse her"]
    assert dropped(found) == [("leak", "refund", query) for query in queries[:3]]


def test_a_name_of_one_common_word_is_no_leak() -> None:
    assert find_leaked_name("translate this letter", Document("translate", "translate", "Translate a text.")) == ""
    assert (
        find_leaked_name("ask deepl for it", Document("deepl", "deepl", "Turn a text into another language."))
        == "deepl"
    )


def test_a_question_that_copies_the_description_is_dropped(shop: Corpus) -> None:
    query = "please give the money of a payment back soon"
    found = made(shop, {MONEY: [query]})
    assert dropped(found) == [("copied", "refund", query)]
    assert find_copied_run("one two three four five", "one two three four five") == ""  # five are not yet copied


def test_a_question_that_says_what_another_says_is_dropped(shop: Corpus) -> None:
    found = made(shop, {MONEY: ["reimburse her card", "Reimburse her cards!"]}, per_document=2)
    assert [case.query for case in found.cases] == ["reimburse her card"]
    assert dropped(found) == [("duplicate", "refund", "Reimburse her cards!")]


def test_questions_that_nothing_serves_are_checked_by_the_model(shop: Corpus) -> None:
    served, unserved = "look for the lost parcel", "book a parcel ride to the moon"
    check = PROMPTS["check"].split("{query}")[0]
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


def test_a_plain_function_will_do_and_progress_is_reported(shop: Corpus) -> None:
    reported: list[tuple[int, int | None]] = []
    found = generate_cases(
        shop,
        lambda prompt: '["where did it go"]' if PARCEL in prompt else "[]",
        5,
        out_of_scope=0.0,
        progress=lambda done, total: reported.append((done, total)),
    )
    assert [case.query for case in found.cases] == ["where did it go"]
    assert reported == [(done, 5) for done in range(1, 6)]
    assert shortlist.eval_gen.generate_cases is generate_cases


def test_what_makes_no_sense_is_a_sentence(shop: Corpus) -> None:
    with pytest.raises(InputError, match="n and per_document must be 1 or more, and out_of_scope from 0 to 10, not 0"):
        plan(shop, 0)
    with pytest.raises(InputError, match="has no document with a description"):
        plan([Document("a", "name", "")], 1)
    with pytest.raises(InputError, match="llm must be an LLM or a function"):
        generate_cases(shop, 7, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "query", "leaks"),
    [
        ("data-sync", "sync my data", True),
        ("data-sync", "syncing all of my data again", True),
        ("dataSync", "SYNC the DATA", True),
        ("data-sync", "keep my data the same everywhere", False),
        ("b", "what about plan b", False),
    ],
)
def test_e7_a_name_is_a_leak_in_any_order_and_form_but_a_letter_is_none(name: str, query: str, leaks: bool) -> None:
    assert bool(find_leaked_name(query, Document(name, name, "Copy what changed."))) is leaks


@pytest.mark.parametrize("name", ["x", "R"])
def test_e7_a_name_of_one_letter_is_not_masked_everywhere(name: str) -> None:
    text = "Turn the x axis of an R plot, as in plan x or R."
    assert mask_name(Document(name, name, text)) == text
    assert mask_name(Document("x", "xor", "xor is not x")) == f"{MASK} is not x"


def test_e7_names_need_not_be_masked(shop: Corpus) -> None:
    documents = [Document("sync", "data-sync", "The tool data-sync copies what changed.")]
    model = Scripted({"data-sync": ["sync my data"]})
    found = generate_cases(documents, model, 1, out_of_scope=0.0, mask_names=False)
    assert [(case.query, case.gold) for case in found.cases] == [("sync my data", ("sync",))]
    assert "hidden" not in model.asked[0]
    assert generate_cases(documents, Scripted({MASK: ["sync my data"]}), 1, out_of_scope=0.0).cases == []


def test_e7_abstention_cases_are_those_to_which_nothing_applies(shop: Corpus) -> None:
    queries = [f"book flight {number}" for number in range(5)]
    model = Scripted({NOTHING: queries})
    found = generate_abstention_cases(shop, model, 5, verify=False)
    assert [(case.query, case.gold) for case in found.cases] == [(query, ()) for query in queries]
    assert len(model.asked) == 1
    with pytest.raises(InputError, match="n must be 1 or more, not 0"):
        generate_abstention_cases(shop, model, 0)


def test_e7_an_eval_set_is_about_every_document_and_has_its_share_of_abstentions(shop: Corpus) -> None:
    requests: list[str] = []

    def model(prompt: str) -> str:
        requests.append(prompt)
        return json.dumps([f"word{len(requests)}x{number}" for number in range(5)])

    cases = build_eval_set(shop, model, k=4, abstention_frac=0.2, verify=False, workers=1)
    assert len(requests) == 5 + 1
    assert {case.gold for case in cases} == {(document.id,) for document in shop} | {()}
    # 5 documents with 4 cases each; 5 more are a fifth of the 25
    assert (len(cases), sum(not case.gold for case in cases)) == (25, 5)
    for wrong in ({"k": 0}, {"abstention_frac": 1.0}):
        with pytest.raises(InputError, match="k must be 1 or more"):
            build_eval_set(shop, model, **wrong)


def test_e7_the_public_path_of_case_generation_can_be_imported() -> None:
    import shortlist.eval_gen as module

    assert module.build_eval_set is build_eval_set
    assert all(getattr(module, name) is not None for name in module.__all__)
    assert "shortlist.eval_gen" in modules_after("import shortlist.eval_gen")

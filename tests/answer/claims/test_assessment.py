"""Claims and the passages that they cite: what is supported stays, what is not is dropped with the missing part."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist import REFUSAL, Answer, CorpusSource, Evidence, ScriptedLLM, agent_ask, ask, build
from shortlist.answer.claims.assessment import Assessment, Statement, assess
from tests.answer.claim_cases import DOCUMENTS, SECTIONS, read_section

# What the rules do not find: these take words from the right passage and put them together wrongly.
BEYOND_RULES = {
    "New colleagues work from home for the first two weeks.",
    "Parents receive 20 weeks on half pay.",
    "A sabbatical is paid in full.",
    "Overtime is paid at 1.5 times the hourly rate in the office.",
    "Sick employees are dismissed after four weeks.",
    "Lunch is free every day in Leeds.",
    "Free breakfast is offered in Leeds.",
    "Ines Halloran leads technology.",
    "Tobias Okafor is chief executive.",
    "Ines Halloran was founded by the company.",
    "The company was founded in Leeds in 2014.",
    "Working from another country is possible for 20 working days a month.",
    "Large items are carried by Swiftline.",
}

# What the rules wrongly find: a number that counts names, and a name that is shortened to its initials.
WRONGLY_REMOVED = {
    "Larkspur Goods was started in 2014 by two founders, Ines Halloran and Tobias Okafor.": "two",
    "Standard delivery to the EU costs €6.90.": "Eu",
}


def claims(kind: str) -> list[Any]:
    return [
        pytest.param(claim, section["document"], section["heading"], section["question"], id=claim)
        for section in SECTIONS
        for claim in section[kind]
    ]


@pytest.mark.parametrize(("claim", "document", "heading", "question"), claims("supported"))
def test_a_paraphrase_is_supported(claim: str, document: str, heading: str, question: str) -> None:
    found = assess(Statement(claim, (read_section(document, heading),), question))
    assert found.missing == WRONGLY_REMOVED.get(claim, "")
    assert (found.support == "unsupported", bool(found.reason)) == (claim in WRONGLY_REMOVED,) * 2


@pytest.mark.parametrize(("claim", "document", "heading", "question"), claims("unsupported"))
def test_an_invention_is_unsupported_and_the_reason_says_why(
    claim: str, document: str, heading: str, question: str
) -> None:
    found = assess(Statement(claim, (read_section(document, heading),), question))
    assert (found.support == "unsupported", bool(found.reason)) == (claim not in BEYOND_RULES,) * 2


INVENTIONS = [
    "The company was founded by Elon Musk on Mars",
    "Ines Halloran was fired for fraud",
    "Express delivery is free for everybody",
    "Twelve founders",
    "It was not founded by Ines Halloran",
]


@pytest.mark.parametrize("asking", [ask, agent_ask])
def test_inventions_of_a_model_are_dropped_and_facts_stay(asking: Any) -> None:
    corpus = build(CorpusSource.from_files(DOCUMENTS), in_memory=True)
    question = "Who founded the company?"
    item = ask(corpus, question, ScriptedLLM(REFUSAL)).evidence[0]
    assert item.label == "employee-handbook.md"
    fact = f"It was founded by Ines Halloran and Tobias Okafor {item.marker}."
    reply = " ".join(f"{invention} {item.marker}." for invention in INVENTIONS)
    answer: Answer = asking(corpus, question, ScriptedLLM(f"{reply} {fact}"))
    assert answer.text == fact
    assert [one.text.partition(" [")[0] for one in answer.dropped] == INVENTIONS
    assert {one.before for one in answer.dropped} == {0}
    kept: Answer = asking(corpus, question, ScriptedLLM(f"{reply} {fact}"), keep_unsupported=True)
    assert [one.support for one in kept.sentences] == ["unsupported"] * len(INVENTIONS) + ["supported"]
    assert (kept.dropped, kept.text) == ([], f"{reply} {fact}")
    assert "5 sentences" in kept.reason


PASSAGE = """# Leave

The company was founded by Ada Byron on 3 May 1998. She leads it. No leave is granted in December, except for family
reasons. Staff have 25 days of leave a year, at least 10 of them in a row. The rate is 5 per cent of £1,200, over 20 km.
Of twelve rooms, one is closed.

| Room | Size (m) | Seats |
|------|----------|-------|
| Oak  | 30       | 8     |
| Elm  | 45       | 12    |
"""


def assess_text(text: str, question: str = "", probability: float | None = None) -> Assessment:
    item = Evidence(1, "leave.md", "leave.md", "whole", PASSAGE, 1.0, name="Leave", context="Leave")
    return assess(Statement(text, (item,), question), None if probability is None else lambda *_: probability)


@pytest.mark.parametrize(
    "text",
    [
        "Staff have 25 days of leave a year.",
        "staff  have 25 days of leave",
        "The text says: “No leave is granted in December”.",
        "The company was founded by Ada Byron",
        "Oak 30 8",
    ],
)
def test_words_in_a_row_and_quotations_in_a_small_frame_are_quoted(text: str) -> None:
    assert assess_text(text).support == "quoted"


@pytest.mark.parametrize(
    "text",
    [
        "Ada Byron founded the company.",
        "Twenty-five days of leave are granted to staff each year.",
        "The rate is 5 % of 1200 pounds.",
        "The rate is 5 percent, over 20 kilometers.",
        "There are 12 rooms.",
        "There are a dozen rooms.",
        "One room is closed.",
        "Elm has 12 seats.",
        "In December no leave is granted.",
        "Leave in a row is at least ten days.",
    ],
)
def test_the_same_in_other_words_is_supported(text: str) -> None:
    assert assess_text(text) == assess_text(text)._replace(support="supported", reason="", missing="")


@pytest.mark.parametrize(
    ("text", "missing", "reason"),
    [
        ("Leave is granted in December.", "no", "disagree"),
        ("The rate is 6 per cent.", "6", "number 6"),
        ("The rate is 5 km.", "5", "something else"),
        ("The company was founded on 4 May 1998.", "4", "number 4"),
        ("The company was founded on 3 June 1998.", "June", "name June"),
        ("Staff have at most 10 days in a row.", "10", "something else"),
        ("Oak has 12 seats.", "12", "something else"),
        ("Grace Hopper founded the company.", "Grace Hopper", "name Grace Hopper"),
        ("The company was not founded by Ada Byron.", "not", "disagree"),
        ("Only Ada Byron founded the company.", "only", "does not say"),
        ("All rooms are closed.", "all", "does not say"),
        ("The company was dissolved by a court.", "dissolved, court", "'dissolved', 'court'"),
        ("It says “No leave is granted in May”.", "No leave is granted in May", "quotes"),
        ("Yes.", "", "no word"),
    ],
)
def test_what_is_missing_is_told(text: str, missing: str, reason: str) -> None:
    found = assess_text(text)
    assert (found.support, found.missing) == ("unsupported", missing)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("Asaph Hall discovered the moons of Mars in 1877.", ""),
        ("Galileo Galilei discovered the moons of Mars.", "Galileo Galilei"),
        ("Asaph Johnson discovered the moons.", "Johnson"),
        ("Mars has no moons.", "no"),
    ],
)
def test_a_file_name_is_no_title(claim: str, missing: str) -> None:
    text = "Mars has two moons, Phobos and Deimos. They were discovered in 1877 by Asaph Hall."
    item = Evidence(1, "mars.txt", "/docs/mars.txt", "whole", text, 1.0, id="mars.txt", name="mars.txt")
    assert assess(Statement(claim, (item,))).missing == missing


@pytest.mark.parametrize(
    ("question", "text", "support"),
    [
        ("Is it 31 days?", "Staff have 31 days of leave a year.", "unsupported"),
        ("Why do staff have 31 days?", "Staff have 31 days of leave a year.", "unsupported"),
        ("Is it 31 days?", "It is not 31 days, but 25 days.", "supported"),
        ("What applies to leave in 2031?", "In 2031 staff have 25 days of leave.", "supported"),
        ("Who founded Acme?", "Acme was founded by Ada Byron.", "supported"),
        ("Was Acme founded by Bob?", "Acme was founded by Bob.", "unsupported"),
    ],
)
def test_numbers_and_names_of_a_question_count_if_it_takes_them_for_granted(
    question: str, text: str, support: str
) -> None:
    assert assess_text(text, question).support == support


def test_a_model_may_outweigh_missing_words_but_no_contradiction() -> None:
    reworded, denied = "They enjoy generous breaks.", "The company was not founded by Ada Byron."
    assert [assess_text(reworded, probability=chance).support for chance in (None, 0.9, 0.1)] == [
        "unsupported",
        "supported",
        "unsupported",
    ]
    assert assess_text(denied, probability=0.99).findings.negation == "not"
    assert assess_text(denied, probability=0.99).missing == "not"
    assert assess_text("The rate is 6 per cent.", probability=0.99).missing == "6"
    assert assess_text("“Never said” is in it.", probability=0.99).missing == "Never said"
    assert assess_text("Staff have 25 days of leave a year.", probability=0.01).support == "quoted"
    unlikely = assess_text("Staff have 25 days off a year.", probability=0.01)
    assert (unlikely.support, "0.01" in unlikely.reason) == ("unsupported", True)


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (
            "Die Firma zahlt den Angestellten jedes Jahr einen Bonus von 500 Euro.",
            "Jedes Jahr zahlt die Firma einen Bonus von 500 Euro an die Angestellten.",
        ),
        ("東京は日本の首都です。人口は約1400万人です。", "日本の首都は東京です。"),
    ],
)
def test_other_languages_are_compared_by_their_words(passage: str, claim: str) -> None:
    item = Evidence(1, "a.txt", "a.txt", "whole", passage, 1.0, name="a.txt")
    assert assess(Statement(claim, (item,))).support == "supported"


def test_a_claim_may_begin_with_a_word_for_its_source() -> None:
    item = Evidence(1, "a.txt", "a.txt", "whole", "The numbers are printed at the bottom.", 1.0, name="Layout")
    assert assess(Statement("Page numbers are printed at the bottom.", (item,))).support == "supported"


def test_without_a_title_a_passage_may_not_name_its_subject() -> None:
    item = Evidence(1, "", "", "", "He was born in London and wrote twelve plays.", 1.0)
    claim = "William Smith was born in London."
    assert assess(Statement(claim, (item,))).support == "supported"
    titled = Evidence(1, "", "", "", item.text, 1.0, name="John Miller")
    assert assess(Statement(claim, (titled,))).missing == "William Smith"
    assert assess(Statement(claim, (titled,)), lambda *_: 0.9).support == "unsupported"
    named = Evidence(1, "", "", "", "Jane Doe was born in London.", 1.0)
    assert assess(Statement(claim, (named,))).support == "unsupported"
    assert assess(Statement(claim, (named,)), lambda *_: 0.9).support == "supported"

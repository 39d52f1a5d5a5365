"""Whatever a model says: what is left of its reply is verified, or is the refusal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from shortlist import REFUSAL, Evidence
from shortlist.answer.reply_sentences import LONGEST_REPLY
from shortlist.answer.verification import verify
from tests.answer.claims.test_assessment import PASSAGE
from tests.answer.test_citations import EVIDENCE, REPLIES, read_without_citations, shown


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Mars has two moons [moons.txt:whole].", "Mars has two moons [moons.txt:whole]."),
        ("Mars has two moons. [moons.txt:whole]", "Mars has two moons. [moons.txt:whole]"),
        ("Two [docs/moons.txt:whole]. Three, or more.", "Two [moons.txt:whole]."),
        ("Two [moons.txt:whole]. Lies [gone.pdf:page=1]. Yes [notes.md:whole;offset=40].",
         "Two [moons.txt:whole]. Yes [notes.md:whole;offset=40]."),
        ("Both [moons.txt:whole; gone.pdf:page=2].", "Both [moons.txt:whole]."),
        ("Both [moons.txt:whole][gone.pdf:page=2].", "Both [moons.txt:whole]."),
        ("- Two [moons.txt:whole]\n- Three\n- Yes [notes.md:whole;offset=40]",
         "- Two [moons.txt:whole]\n- Yes [notes.md:whole;offset=40]"),
        ("1. Two [moons.txt:whole].\n2. Three\n**3.** Yes. [notes.md:whole;offset=40]",
         "1. Two [moons.txt:whole].\n**3.** Yes. [notes.md:whole;offset=40]"),
        ("a. According to the documents, two [moons.txt:whole]. Hm.\n\n2) Two [moons.txt:whole].",
         "a. Two [moons.txt:whole].\n\n2) Two [moons.txt:whole]."),
        ("1. Two [moons.txt:whole]. 2. Yes [moons.txt:whole].", "1. Two [moons.txt:whole]. 2. Yes [moons.txt:whole]."),
        ("9. They were discovered [moons.txt:whole].", "They were discovered [moons.txt:whole]."),
        ("How many? 1. They were discovered [moons.txt:whole].", "They were discovered [moons.txt:whole]."),
        ("It was Dr. Hall [moons.txt:whole].", "It was Dr. Hall [moons.txt:whole]."),
        ("Based on the provided documents, there are two [moons.txt:whole].", "There are two [moons.txt:whole]."),
        ("According to the documents, two [moons.txt:whole].", "Two [moons.txt:whole]."),
        ("<think>Is it [x:y]? Hm.</think>Two [moons.txt:whole].", "Two [moons.txt:whole]."),
        ("It said 'discovered in 1877' [[moons.txt:whole]].", "It said 'discovered in 1877' [moons.txt:whole]."),
        ("Use list[int] [moons.txt:whole].", "Use list[int] [moons.txt:whole]."),
        ("A slice a[i:j] [moons.txt:whole].", "A slice a[i:j] [moons.txt:whole]."),
        ("Both [moons.txt:whole][12].", "Both [moons.txt:whole]."),
        ("See [1] there [moons.txt:whole].", "See there [moons.txt:whole]."),
        ("[moons.txt:whole]", REFUSAL),
        ("", REFUSAL),
        ("I don’t know based on the  provided documents", REFUSAL),
        (f"{REFUSAL} Mars has two moons.", REFUSAL),
        (f"Two [moons.txt:whole]. {REFUSAL}", "Two [moons.txt:whole]."),
        ("<think>never ended [moons.txt:whole].", REFUSAL),
    ],
)  # fmt: skip
def test_what_is_left_of_a_reply(reply: str, text: str) -> None:
    assert verify(reply, EVIDENCE, keep_unsupported=True).text == text


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Mars has moons.", "cites nothing"),
        ("It has [gone.pdf:page=1].", r"\[gone.pdf:page=1\], which was not shown"),
        ("They “were found in 1877” [moons.txt:whole].", "quotes .*were found in 1877"),
        ('It "rose to £1,250" [moons.txt:whole].', "quotes"),
        ("Found in 1878 [moons.txt:whole].", "number 1878"),
        ("Costs fell by 35 percent [report (v2).pdf:page=3].", "number 35"),
        ("Costs (of 35) fell [report (v2).pdf:page=3].", "number 35"),
        ("Moons, " * 400 + "moons [moons.txt:whole].", "2,000 characters"),
    ],
)
def test_what_cannot_be_verified_is_dropped_with_the_reason(sentence: str, reason: str) -> None:
    checked = verify(f"Two [moons.txt:whole]. {sentence}", EVIDENCE)
    assert checked.text == "Two [moons.txt:whole]."
    assert [item.text for item in checked.dropped] == [sentence]
    assert re.search(reason, checked.dropped[0].reason)
    alone = verify(sentence, EVIDENCE)
    assert (alone.text, alone.claims) == (REFUSAL, [])
    assert re.search(reason, alone.reason)


@pytest.mark.parametrize(
    "sentence",
    [
        "They were \"discovered in 1877 by 'Asaph' Hall\" [moons.txt:whole].".replace("'", "“", 1).replace("'", "”", 1),
        "They were “Discovered  in\n1877” [moons.txt:whole].".replace("\n", " "),
        "«were discovered … by “Asaph”» [moons.txt:whole].",
        'It was "the year\'s last quarter." [report (v2).pdf:page=3;offset=0]',
        "Revenue was £1250 or 1,250 or 1\u202f250 [report (v2).pdf:page=3;offset=0].",
        "Costs fell by 3,5 percent [report (v2).pdf:page=3].",
        "1. Two [moons.txt:whole].",
    ],
)
def test_space_the_shape_of_quotation_marks_and_the_writing_of_numbers_do_not_matter(sentence: str) -> None:
    assert len(verify(sentence, EVIDENCE).claims) == 1


def test_a_number_of_the_question_may_be_said_again() -> None:
    reply = "In 1999 Mars had two moons [moons.txt:whole]."
    assert verify(reply, EVIDENCE).text == REFUSAL
    assert verify(reply, EVIDENCE, "What did Mars have in 1999?").text == reply


def test_what_comes_after_more_than_can_be_looked_at_is_dropped() -> None:
    reply = "Two [moons.txt:whole].\n" + "x" * LONGEST_REPLY + " Two [moons.txt:whole]."
    checked = verify(reply, EVIDENCE)
    assert checked.text == "Two [moons.txt:whole]."
    assert f"{LONGEST_REPLY:,} characters" in checked.dropped[-1].reason


@given(REPLIES)
def test_every_citation_in_an_answer_was_shown_and_a_refusal_is_the_refusal(reply: str) -> None:
    checked = verify(reply, EVIDENCE)
    if not checked.claims:
        assert checked.text == "I don't know based on the provided documents."
        return
    assert REFUSAL not in checked.text
    for claim in checked.claims:
        assert claim.citations
        words = re.findall(r"[\w\[\]]+", read_without_citations(claim))
        assert all(word.casefold() in reply.casefold() for word in words)
        assert claim.text in checked.text
        for citation in claim.citations:
            item = EVIDENCE[citation.number - 1]
            assert (citation.source, citation.locator, citation.marker) == (item.source, item.locator, item.marker)
            assert citation.places
            assert {claim.text[start:end] for start, end in citation.places} == {citation.marker}
            assert all(0 <= start < end <= len(item.text) for start, end in citation.spans)


@pytest.mark.parametrize("piece", ["[", "[[", "[]", "[a:", "]", "[moons.txt:", "“", '"', ". A", "a\n", "a" + " " * 999])
def test_hostile_lengths_end_soon(piece: str) -> None:
    assert verify(piece * 60_000, EVIDENCE).text == REFUSAL


@pytest.mark.parametrize("is_cited_once", [False, True])
def test_a_table_stays_or_goes_as_a_whole_with_its_header(is_cited_once: bool) -> None:
    evidence = shown([("/d/prices.md", "whole", "| Plan | Price |\n|---|---|\n| Basic | $5 |\n| Pro | $9 |")])
    first = "" if is_cited_once else " [prices.md:whole]"
    table = f"| Subscription | Price |\n|:---|---|\n| Basic | $5{first} |\n| Pro | $9 [prices.md:whole] |"
    checked = verify(f"They are:\n\n{table}\n\nThat is all.", evidence)
    assert (checked.text, [one.text for one in checked.dropped]) == (table, ["They are:", "That is all."])
    assert len(checked.claims) == (1 if is_cited_once else 2)
    for right, wrong in (("$5", "$6"), ("$9", "$8"), ("Price", "Price in 2031")):
        other = verify(table.replace(right, wrong), evidence)
        assert (other.text, [one.text for one in other.dropped]) == (REFUSAL, [table.replace(right, wrong)])
        assert wrong.removeprefix("Price in ").lstrip("$") in other.dropped[0].missing


def test_a_list_whose_items_are_cited_one_by_one_goes_as_a_whole() -> None:
    item = Evidence(1, "leave.md", "leave.md", "whole", PASSAGE, 1.0, name="Leave")
    right = "- Ada Byron founded it [leave.md]."
    found = verify(f"{right}\n- Bob did [leave.md].\n\nAda Byron founded it [leave.md].", [item])
    assert found.text == "Ada Byron founded it [leave.md:whole]."
    assert [one.text for one in found.dropped] == [f"{right}\n- Bob did [leave.md]."]
    assert found.dropped[0].missing == "bob"
    assert len(verify(f"{right}\n- Bob did [leave.md].", [item], keep_unsupported=True).claims) == 2


def test_dropped_sentences_say_what_is_missing_and_where_they_stood() -> None:
    item = Evidence(1, "leave.md", "leave.md", "whole", PASSAGE, 1.0, name="Leave")
    supported = "Ada Byron founded it [leave.md]."
    reply = f"Bob did [leave.md]. {supported} It is 7 [leave.md]. It is closed. She leads it [leave.md]."
    found = verify(reply, [item])
    assert [(one.missing, one.before) for one in found.dropped] == [("bob", 0), ("7", 1), ("", 1)]
    assert [one.support for one in found.claims] == ["supported", "quoted"]
    kept = verify(reply, [item], keep_unsupported=True)
    assert [(one.support, one.missing) for one in kept.claims] == [
        ("unsupported", "bob"), ("supported", ""), ("unsupported", "7"), ("quoted", "")
    ]  # fmt: skip
    assert [(one.text, one.before) for one in kept.dropped] == [("It is closed.", 3)]

"""Whatever a model says: what comes out cites what was shown, or is the refusal."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import REFUSAL, Evidence
from shortlist.answer.answer_stream import AnswerStream
from shortlist.answer.citations import CitationCatalog
from shortlist.answer.evidence import EvidenceList
from shortlist.answer.reply_sentences import LONGEST_REPLY
from shortlist.answer.verification import Verifier, verify
from shortlist.results import Claim

PASSAGES = [
    ("/home/ann/docs/moons.txt", "whole", "Mars has two moons. They were discovered in 1877 by “Asaph” Hall."),
    ("/home/ann/docs/report [v2].pdf", "page=3;offset=0", "Revenue rose to £1,250 in the year's last quarter."),
    ("/home/ann/docs/report [v2].pdf", "page=3;offset=680", "Costs fell by 3.5 percent."),
    ("C:\\Users\\Bob\\my files\\a:b.csv", "row=12", "name: Ada | born: 1815"),
    ("/srv/one/notes.md", "whole;offset=40", "The first notes say yes."),
    ("/srv/two/notes.md", "whole;offset=40", "The second notes say no."),
]


def shown(passages: list[tuple[str, str, str]] = PASSAGES) -> list[Evidence]:
    shelf = EvidenceList()
    for source, locator, text in passages:
        shelf.add(source, locator, text, 0.5)
    return shelf.items


EVIDENCE = shown()


def cited(inside: str) -> list[int]:
    return [item.number for item in CitationCatalog(EVIDENCE).resolve(inside)]


@pytest.mark.parametrize(
    ("inside", "numbers"),
    [
        ("moons.txt:whole", [1]),
        ("docs/moons.txt:whole", [1]),
        ("/home/ann/docs/moons.txt:whole", [1]),
        ("Moons.TXT: whole", [1]),
        ("moons.txt", [1]),
        ("report [v2].pdf:page=3;offset=0", [2]),
        ("report (v2).pdf:page=3;offset=680", [3]),
        ("/home/ann/docs/report [v2].pdf:page=3", [2, 3]),
        ("report [v2].pdf, page 3", [2, 3]),
        ("report [v2].pdf:page=3;offset=0; moons.txt:whole", [2, 1]),
        ("moons.txt:whole, report [v2].pdf:page=3;offset=680 and notes.md:whole;offset=40", [1, 3, 5]),
        ("report [v2].pdf:page=3;offset=0, page=3;offset=680", [2, 3]),
        ("C:\\Users\\Bob\\my files\\a:b.csv:row=12", [4]),
        ("a:b.csv:row=12", [4]),
        ("my files/a:b.csv:row 12", [4]),
        ("notes.md:whole;offset=40", [5]),
        ("two/notes.md:whole;offset=40", [6]),
        ("moons.txt:whole; gone.pdf:page=1", [1]),
        ("moons.txt:page=1", []),
        ("moons.txt:wholesale", []),
        ("report [v2].pdf:page=33", []),
        ("report [v2].pdf", []),
        ("oons.txt:whole", []),
        ("gone.pdf:page=1", []),
        ("", []),
        (":", []),
    ],
)
def test_a_citation_is_looked_up_in_what_was_shown(inside: str, numbers: list[int]) -> None:
    assert cited(inside) == numbers


def test_labels_are_as_short_as_they_can_be_and_hold_no_brackets() -> None:
    assert [item.marker for item in EVIDENCE] == [
        "[moons.txt:whole]",
        "[report (v2).pdf:page=3;offset=0]",
        "[report (v2).pdf:page=3;offset=680]",
        "[a:b.csv:row=12]",
        "[notes.md:whole;offset=40]",
        "[two/notes.md:whole;offset=40]",
    ]


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


def test_citations_say_where_what_was_taken_stands() -> None:
    reply = 'They were discovered in 1877 by "Asaph" Hall [moons.txt:whole].'
    ((citation,),) = [claim.citations for claim in verify(reply, EVIDENCE).claims]
    assert (citation.number, citation.source, citation.locator) == (1, "/home/ann/docs/moons.txt", "whole")
    text = EVIDENCE[0].text
    assert [text[start:end] for start, end in citation.spans] == ["They were discovered in 1877 by “Asaph” Hall"]


@pytest.mark.parametrize(
    "sentence",
    [
        "The smallest item is heap[0] of the list.",
        "Its rest is f(x)[1:] or d['a'][0] as a list.",
        "Start with [] or an open [ in it.",
    ],
)
def test_no_bracket_of_a_sentence_is_changed(sentence: str) -> None:
    (item,) = shown([("/d/0", "whole", sentence)])
    (claim,) = verify(f"{sentence[:-1]} [0:whole].", [item]).claims
    assert claim.text == f"{sentence[:-1]} [0:whole]."
    assert claim.citations[0].places == ((len(sentence), len(sentence) + len("[0:whole]")),)


def test_brackets_of_a_passage_are_told_from_citations_by_their_place() -> None:
    text = "An aware object is a moment in time [1], see also [a:b]."
    (item,) = shown([("/d/0", "whole", text)])
    (claim,) = verify("It is a moment in time [1], also [a:b] and a[0], not [c:d] [0:whole]; [0:whole].", [item]).claims
    assert claim.text == "It is a moment in time [1], also [a:b] and a[0], not [0:whole]; [0:whole]."
    assert [claim.text[:start] for start, _ in claim.citations[0].places] == [
        "It is a moment in time [1], also [a:b] and a[0], not ",
        "It is a moment in time [1], also [a:b] and a[0], not [0:whole]; ",
    ]


def test_what_comes_after_more_than_can_be_looked_at_is_dropped() -> None:
    reply = "Two [moons.txt:whole].\n" + "x" * LONGEST_REPLY + " Two [moons.txt:whole]."
    checked = verify(reply, EVIDENCE)
    assert checked.text == "Two [moons.txt:whole]."
    assert f"{LONGEST_REPLY:,} characters" in checked.dropped[-1].reason


PIECES = st.one_of(
    st.sampled_from(
        [
            "[moons.txt:whole]", "[report [v2].pdf:page=3]", "[report (v2).pdf:page=3;offset=680]",
            "[two/notes.md:whole;offset=40]", "[gone.pdf:page=1]", "[moons.txt:page=9]", "[[moons.txt:whole]]", "[",
            "]", "[]", "[:]", "[a:b]", "[[a:b]]", "[12]", "[moons.txt:whole; gone.pdf:page=1]", "[a [b:c] d]",
            "[x [moons.txt:whole] y]", "[page=3]", "[sic]", "](http://x:1)", REFUSAL, "I don’t know",
            "Mars has two moons", "1877", "9999", "“discovered in 1877”", '"never said"', "<think>", "</think>",
            ". ", ".", "\n", "\n\n- ", " ", ": ", "; ", "\r\n", "…", "。", "\ue0000\ue001", "\x00", "Dr. ",
            "According to the documents, ",
        ]
    ),
    st.text(max_size=12),
    st.text(alphabet="[]:;= .a1\n", max_size=12),
)  # fmt: skip
REPLIES = st.lists(PIECES, max_size=25).map("".join)


def read_without_citations(claim: Claim) -> str:
    places = sorted(place for citation in claim.citations for place in citation.places)
    parts = [claim.text[start:end] for (_, start), (end, _) in pairwise([(0, 0), *places, (len(claim.text), 0)])]
    return "".join(parts)


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


@given(REPLIES, st.integers(1, 9))
def test_what_is_streamed_is_the_answer(reply: str, size: int) -> None:
    streamed: list[str] = []
    stream = AnswerStream(Verifier(EVIDENCE), streamed.append)
    for at in range(0, len(reply), size):
        stream.add(reply[at : at + size])
    text = verify(reply, EVIDENCE).text
    stream.finish(text)
    assert "".join(streamed).endswith(text)


def test_the_case_of_a_name_tells_two_sources_apart() -> None:
    both = shown([("A.txt", "whole", "Upper."), ("a.txt", "whole", "Lower.")])
    catalog = CitationCatalog(both)
    assert [catalog.resolve(f"{name}:whole")[0].number for name in ("A.txt", "a.txt")] == [1, 2]


@given(st.text(max_size=40).filter(str.strip), st.text(max_size=20).filter(str.strip))
def test_any_name_and_locator_that_is_shown_can_be_cited(source: str, locator: str) -> None:
    (item,) = shown([(source, locator, "Water is wet.")])
    checked = verify(f"Water is wet {item.marker}.", [item])
    assert [citation.number for claim in checked.claims for citation in claim.citations] == [1]


@pytest.mark.parametrize("piece", ["[", "[[", "[]", "[a:", "]", "[moons.txt:", "“", '"', ". A", "a\n", "a" + " " * 999])
def test_hostile_lengths_end_soon(piece: str) -> None:
    assert verify(piece * 60_000, EVIDENCE).text == REFUSAL


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


def test_the_headers_of_a_table_stay_with_its_first_row_if_they_are_in_what_it_cites() -> None:
    evidence = shown([("/d/prices.md", "whole", "| Plan | Price |\n|---|---|\n| Basic | $5 |\n| Pro | $9 |")])
    rows = "| Basic | $5 [prices.md] |\n| Pro | $9 [prices.md] |".replace(".md]", ".md:whole]")
    head = "| Plan | Price |\n|:---|---|\n"
    checked = verify(f"{head}{rows}", evidence)
    assert (checked.text, checked.dropped, len(checked.claims)) == (f"{head}{rows}", [], 2)
    other = verify(f"| Plan | Price in 2031 |\n|---|---|\n{rows}", evidence)
    assert other.text == rows
    assert [one.text for one in other.dropped] == ["| Plan | Price in 2031 |\n|---|---|"]

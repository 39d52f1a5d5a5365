"""Whatever a model says: what comes out cites what was shown, or is the refusal."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import REFUSAL, Answer, Evidence
from shortlist.answer.citations import CitationCatalog, CitationNumbers, number_citations
from shortlist.answer.evidence import EvidenceList
from shortlist.answer.verification import verify
from shortlist.results import Citation, Claim

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


def test_the_case_of_a_name_tells_two_sources_apart() -> None:
    both = shown([("A.txt", "whole", "Upper."), ("a.txt", "whole", "Lower.")])
    catalog = CitationCatalog(both)
    assert [catalog.resolve(f"{name}:whole")[0].number for name in ("A.txt", "a.txt")] == [1, 2]


@given(st.text(max_size=40).filter(str.strip), st.text(max_size=20).filter(str.strip))
def test_any_name_and_locator_that_is_shown_can_be_cited(source: str, locator: str) -> None:
    (item,) = shown([(source, locator, "Water is wet.")])
    checked = verify(f"Water is wet {item.marker}.", [item])
    assert [citation.number for claim in checked.claims for citation in claim.citations] == [1]


def test_short_citations_are_numbered_by_what_is_cited_first_also_while_the_text_is_written() -> None:
    def cite(number: int, name: str, *places: tuple[int, int]) -> Citation:
        return Citation(number, f"[{name}]", name, "whole", (), places)

    first = Claim("It is 5 [b:whole] and [a:whole].", (cite(1, "a", (22, 31)), cite(3, "b", (8, 17))))
    second = Claim("It cites [a:whole] and the list [list:whole].", (cite(1, "a", (9, 18)), cite(0, "list", (32, 44))))
    text = f"{first.text}\n{second.text}"
    answer = Answer("?", text, [first, second], [], refused=False, reason="", by="llm", span=(6, 7))
    short = number_citations(answer)
    assert answer.cited == [3, 1, 0]
    assert short.text == "It is 5 [1] and [2].\nIt cites [2] and the list [list:whole]."
    assert short.span == (6, 7)
    for claim in short.sentences:
        assert all(claim.text[slice(*one.places[0])] == one.marker for one in claim.citations if one.number)
    numbers = CitationNumbers()
    for name in ("a", "b"):
        numbers.add(Evidence(1, name, name, "whole", "", 0.5))
    assert "".join(map(numbers.shorten, (f"{first.text}\n", second.text))) == short.text


def test_the_part_that_was_asked_for_moves_with_the_citations_before_it() -> None:
    cited = (Citation(1, "[a:whole]", "a", "whole", (), ((3, 12),)),)
    claims = [Claim(f"{text} [a:whole]", cited) for text in ("He", "41")]
    text = " ".join(claim.text for claim in claims)
    at = text.index("41")
    short = number_citations(Answer("?", text, claims, [], refused=False, reason="", by="extract", span=(at, at + 2)))
    assert short.text == "He [1] 41 [1]"
    assert short.span is not None
    assert short.text[slice(*short.span)] == "41"

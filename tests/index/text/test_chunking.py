from __future__ import annotations

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from shortlist import create_corpus, search
from shortlist.documents import Document
from shortlist.index.text.chunking import Piece, split, windows
from shortlist.index.text.entries import find_entries


def test_tools_and_texts_stay_whole() -> None:
    for kind in ("text", "tool"):
        assert split(Document("a", "", "word " * 1000, kind=kind)) == [Piece("whole")]


def test_a_long_file_falls_into_windows_with_offsets() -> None:
    content = "".join(f"Sentence number {number:03d} is here. " for number in range(60))
    pieces = split(Document("a", "", content, kind="file"))
    assert [piece.locator for piece in pieces] == [
        "whole;offset=0",
        f"whole;offset={23 * 29}",
        f"whole;offset={46 * 29}",
    ]
    for piece in pieces:
        assert piece.text is not None
        start = int(piece.locator.removeprefix("whole;offset="))
        assert content[start:].startswith(piece.text)
        assert piece.text.endswith(".")


def test_a_page_keeps_its_own_locator() -> None:
    pieces = split(Document("a", "", "word " * 300, kind="page", locator="page=3"))
    assert pieces[0].locator == "page=3;offset=0"


def test_b3_a_long_row_is_chunked_and_a_short_one_keeps_its_locator() -> None:
    pieces = split(Document("a", "", "word " * 300, kind="row", locator="row=3"))
    assert pieces[0].locator == "row=3;offset=0"
    assert len(pieces) == 3
    assert split(Document("a", "", "name: Ada", kind="row", locator="row=3")) == [Piece("row=3")]


def test_a_skill_shows_its_description_first() -> None:
    content = "What it is for.\n\n" + "Step by step. " * 10
    assert [piece.text for piece in split(Document("a", "", content, kind="skill"))] == [
        "What it is for.",
        ("Step by step. " * 10).strip(),
    ]


def test_a_short_or_empty_file_is_one_piece() -> None:
    assert split(Document("a", "", "short", kind="file")) == [Piece("whole")]
    assert split(Document("a", "", "", kind="file")) == [Piece("whole")]
    assert split(Document("a", "", " \n " * 2000, kind="file")) == [Piece("whole")]


@example("aaaaaaaaaaa ", 11, 1)
@example("aaaaaaaa a" + " " * 20 + "b", 10, 1)
@given(st.text(alphabet="ab. \n", max_size=600), st.integers(10, 60), st.integers(0, 4))
def test_windows_cover_all_text_and_none_lies_in_another(text: str, size: int, overlap: int) -> None:
    spans = windows(text, size, overlap)
    covered = {at for start, end in spans for at in range(start, end)}
    assert {at for at, character in enumerate(text) if not character.isspace()} <= covered
    for (start, end), (next_start, next_end) in itertools.pairwise(spans):
        assert start < next_start
        assert end < next_end
    assert all(0 < end - start <= size for start, end in spans)


def test_a_text_without_any_space_is_cut_all_the_same() -> None:
    assert windows("x" * 2000, 800, 120) == [(0, 800), (680, 1480), (1360, 2000)]


# Headings


GUIDE = (
    "Before any heading. " + "filler " * 120 + "\n\n# Guide #\n\n" + "general " * 120 + "\n\n## Install\n\n"
    "```sh\n# not a heading\n```\n\n" + "install " * 220 + "\n\n### On Windows\n\n" + "windows " * 120 + "\n\n"
    "## Use\n\n" + "using " * 150
)  # fmt: skip


def test_a_window_carries_the_headings_that_it_stands_under() -> None:
    pieces = split(Document("a", "", GUIDE, kind="file", source="/docs/guide.md"))
    paths = dict.fromkeys(piece.context for piece in pieces)
    assert list(paths) == ["", "Guide", "Guide > Install", "Guide > Install > On Windows", "Guide > Use"]
    for piece in pieces:
        start = int(piece.locator.removeprefix("whole;offset="))
        assert piece.text
        assert GUIDE[start:].startswith(piece.text)


def test_only_texts_with_headings_carry_them() -> None:
    for source in ("/src/a.py", "/docs/a.txt", ""):
        assert {piece.context for piece in split(Document("a", "", GUIDE, kind="file", source=source))} == {""}
    for source in ("/docs/a.MD", "/docs/a.docx", "a.html"):
        assert "Guide > Use" in {piece.context for piece in split(Document("a", "", GUIDE, kind="page", source=source))}


def test_windows_are_the_same_with_and_without_headings() -> None:
    with_them, without = (split(Document("a", "", GUIDE, kind="file", source=source)) for source in ("a.md", "a.txt"))
    assert [(piece.locator, piece.text) for piece in with_them] == [(piece.locator, piece.text) for piece in without]


def test_a_passage_is_found_by_the_heading_that_it_stands_under() -> None:
    document = Document("a", "", GUIDE, kind="file", source="/docs/guide.md")
    with create_corpus(in_memory=True, embedder="none") as corpus:
        corpus.add([document])
        (hit,) = search(corpus, "on windows using")
        assert hit.text in GUIDE
        (hit,) = search(corpus, "general guide")
        assert (hit.context, hit.to_dict()["context"]) == ("Guide", "Guide")


# Entries


OPTIONS = "".join(
    f"       -{letter}, --{letter * 6}\n              " + f"Set {letter} for all that follows.  " * 8 + "\n\n"
    for letter in "abcdefghij"
)  # fmt: skip
MANUAL = f"FETCH(1)      User Commands      FETCH(1)\n\nOPTIONS\n{OPTIONS}EXIT STATUS\n       0      Success.\n"


def split_file(content: str, source: str) -> list[Piece]:
    pieces = split(Document("a", "", content, kind="file", source=source))
    for piece in pieces:
        assert piece.text
        assert content[int(piece.locator.removeprefix("whole;offset=")) :].startswith(piece.text)
    return pieces


def test_a_passage_of_a_manual_page_begins_with_an_option_or_names_it() -> None:
    pieces = split_file(MANUAL, "fetch.1.txt")
    assert len(pieces) > 3
    for piece in pieces[1:]:
        assert (piece.text or "").startswith("       -")
        assert piece.context == "FETCH(1) > OPTIONS"


def test_a_passage_inside_of_a_long_description_carries_its_term() -> None:
    long = "Limit the time.  " * 120
    content = f"FETCH(1)      User Commands      FETCH(1)\n\nOPTIONS\n       -t, --time N\n              {long}\n"
    _, *others = split_file(content, "fetch.1.txt")
    assert {piece.context for piece in others} == {"FETCH(1) > OPTIONS > -t, --time N …"}


def test_a_passage_inside_of_a_table_carries_its_header() -> None:
    rows = "".join(f"| Region {number} | Manager of region {number} |\n" for number in range(60))
    first, *others = split_file(f"# Offices\n\n| Region | Manager |\n|---|---|\n{rows}", "offices.md")
    assert first.context == "Offices"
    assert {piece.context for piece in others} == {"Offices > Region | Manager …"}
    for piece in (first, *others):
        assert (piece.text or "").endswith("|")
    assert all((piece.text or "").startswith("| Region") for piece in others)


def test_prose_is_cut_as_without_entries() -> None:
    prose = "".join(f"Sentence number {number:03d} is here. " for number in range(60))
    spans = [piece.locator for piece in split_file(prose, "a.txt")]
    assert spans == [f"whole;offset={start}" for start, _ in windows(prose, 800, 120)]


@given(
    st.lists(
        st.sampled_from(["-a  one", "    two words.", "", "| a | b |", "|---|---|", "Term", "word " * 9]), max_size=60
    )
)
def test_windows_with_entries_cover_all_text_too(lines: list[str]) -> None:
    text = "\n".join(lines)
    spans = windows(text, 60, 10, find_entries(text, "a.txt"))
    covered = {at for start, end in spans for at in range(start, end)}
    assert {at for at, character in enumerate(text) if not character.isspace()} <= covered
    for (start, end), (next_start, next_end) in itertools.pairwise(spans):
        assert start < next_start
        assert end < next_end
    assert all(0 < end - start <= 60 for start, end in spans)

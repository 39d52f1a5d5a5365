"""Terms with their descriptions, on one line or below."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.definition_units import read_definition
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.answer.extractive.units.unit_reader import UnitReader


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("       -v, --verbose\n              Explain what is done.", "definition"),
        ("-q     Be quiet.  Print nothing.\n\n-v     Be loud.", "definition sentence definition"),
    ],
)
def test_options_and_their_descriptions_are_definitions(text: str, kinds: str) -> None:
    assert [unit.kind for unit in split_units(text)] == kinds.split()


def test_the_term_is_the_key_and_the_context_of_further_sentences() -> None:
    first, more, other = split_units("-q     Be quiet.  Print nothing.\n\n-v     Be loud.")
    assert (first.key, first.text) == ("-q", "-q Be quiet.")
    assert (more.text, more.context, more.subjects) == ("Print nothing.", "-q", frozenset({"-q"}))
    assert other.subjects == {"-v"}


def test_what_introduces_a_definition_is_its_context() -> None:
    units = split_units("The options are:\n\n-q     Be quiet.")
    assert [(unit.kind, unit.context) for unit in units] == [("introduction", ""), ("definition", "The options are:")]


@pytest.mark.parametrize("text", ["A sentence.\n    It goes on.", "Term\nnot indented", "x" * 81 + "\n    Too long."])
def test_what_is_no_term_is_left_to_others(text: str) -> None:
    assert read_definition(UnitReader(text), 0) == 0


@pytest.mark.parametrize(
    ("text", "key", "shown"),
    [
        ("       -o FILE\n       --output FILE\n              Write to it.", "-o FILE, --output FILE", "Write to it."),
        ("       -a\n\n       --all\n              Show all.", "-a, --all", "Show all."),
        ("  -s, --silent  Print nothing.", "-s, --silent", "Print nothing."),
        ("     -p port\n\n             The port.", "-p port", "The port."),
        ("       0      if all is well,", "0", "if all is well,"),
        ("       ~/.fetchrc\n           Settings of a user.", "~/.fetchrc", "Settings of a user."),
        ("term one\n   It has a meaning.", "term one", "It has a meaning."),
        (":returns: The folder\n   of the store.", "returns", "The folder of the store."),
        ("-v::\n--verbose::\n  Print more.", "-v, --verbose", "Print more."),
        ("port:: The port to listen on.", "port", "The port to listen on."),
        ("-v, --verbose\nPrint more.", "-v, --verbose", "Print more."),
        ("size ( path ) → integer Counts the bytes.", "size ( path ) → integer", "Counts the bytes."),
        ("Time limit\nThe job ends after it.", "Time limit", "The job ends after it."),
    ],
)
def test_a_term_is_the_key_of_its_description_in_every_layout(text: str, key: str, shown: str) -> None:
    (unit,) = split_units(text)
    assert (unit.kind, unit.key) == ("definition", key)
    assert unit.text.endswith(shown)
    assert unit.text == " ".join(text[unit.start : unit.end].split())


def test_each_option_of_a_compact_list_is_a_definition() -> None:
    units = split_units(
        "options:\n  -h, --help   show this help\n  --size SIZE  the size. In characters.\n  -q           be quiet"
    )
    assert [(unit.kind, unit.key) for unit in units] == [
        ("introduction", ""),
        ("definition", "-h, --help"),
        ("definition", "--size SIZE"),
        ("sentence", ""),
        ("definition", "-q"),
    ]


def test_options_above_a_paragraph_that_is_not_indented_are_its_context_until_the_next_ones() -> None:
    units = split_units("-a\n--all\n\nStage everything.\n\n-n\n\nOnly show it.")
    assert [(unit.text, unit.context) for unit in units if unit.kind == "sentence"] == [
        ("Stage everything.", "-a, --all"),
        ("Only show it.", "-n"),
    ]


def test_a_passage_that_begins_inside_of_a_description_belongs_to_its_term_until_the_next_one() -> None:
    text = "              and stops.  It is set at start.\n\n       -b     Be bold."
    context = "FETCH(1) > OPTIONS > -a, --all …"
    half, sentence, other = split_units(text, begins_inside=True, context=context)
    assert (half.kind, sentence.headings) == ("half", ("FETCH(1)", "OPTIONS"))
    assert sentence.subjects == {"-a", "--all"}
    assert (other.kind, other.key, other.context) == ("definition", "-b", "")


def test_a_passage_that_begins_with_the_line_of_a_term_is_not_cut() -> None:
    assert split_units("     Port\n             The port. It is 22.", begins_inside=True)[0].kind == "definition"
    assert split_units("the port\n   and more.", begins_inside=True)[0].kind == "half"


@pytest.mark.parametrize(
    ("text", "units"),
    [
        (
            "Codes\n  F3   fuse, drawer E\n  T1   too hot. Wait\nOther text.",
            [
                ("", "", "Codes"),
                ("F3", "Codes", "F3 fuse, drawer E"),
                ("T1", "Codes", "T1 too hot."),
                ("", "Codes T1", "Wait"),
                ("", "Codes", "Other text."),
            ],
        ),
        (
            "3 to 8 mm ..... 10 x thickness\n9 to 12 mm ........ 8 x\n",
            [("3 to 8 mm", "", "3 to 8 mm ..... 10 x thickness"), ("9 to 12 mm", "", "9 to 12 mm ........ 8 x")],
        ),
        (
            "  green light  all fine\n  orange       battery low",
            [("green light", "", "green light all fine"), ("orange", "", "orange battery low")],
        ),
        (
            "It is red.  It is old.\nIt is new.  It is here.",
            [("", "", "It is red."), ("", "", "It is old."), ("", "", "It is new."), ("", "", "It is here.")],
        ),
    ],
)
def test_each_line_with_columns_is_a_definition(text: str, units: list[tuple[str, str, str]]) -> None:
    assert [(unit.key, unit.context, unit.text) for unit in split_units(text)] == units

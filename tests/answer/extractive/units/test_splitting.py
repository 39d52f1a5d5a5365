"""Passages are split into units of every kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.answer.extractive.units.splitting import split_units


@given(st.text(alphabet=st.sampled_from(list("ab A.!?\n#-| 1。é:`>$()")), max_size=200), st.booleans(), st.booleans())
def test_units_are_parts_of_the_text_in_order(text: str, begins_inside: bool, ends_inside: bool) -> None:
    units = [
        unit for unit in split_units(text, begins_inside=begins_inside, ends_inside=ends_inside) if unit.kind != "list"
    ]
    last = 0
    for unit in units:
        assert last <= unit.start < unit.end
        if not unit.cells and "\n" not in unit.text:
            assert unit.text == " ".join(text[unit.start : unit.end].split())
        last = unit.end


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("# Title\nText of it.\n\n- one\n- two", "heading sentence list label label"),
        (".. data:: NSIG\n\n   One more.\n\n.. code-block:: c\n\n   int x;", "signature sentence code"),
    ],
)
def test_a_passage_is_split_into_units(text: str, kinds: str) -> None:
    assert [unit.kind for unit in split_units(text)] == kinds.split()


def test_halves_of_sentences_at_the_ends_of_a_window_are_no_answers() -> None:
    units = split_units("of the pump. It is red. It may be", begins_inside=True, ends_inside=True)
    assert [(unit.text, unit.is_answer) for unit in units] == [
        ("of the pump.", False),
        ("It is red.", True),
        ("It may be", False),
    ]

"""Lists: the whole, the items, and the sentence that introduces them."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.list_units import begins_item
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.answer.extractive.units.unit_reader import UnitReader


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("It is free\n\n1. for members,\n2. if it is faulty.", "introduction list label item"),
        ("Take these:\n\n1. One.\n\n2. Two.\n   More.\n\nDone.", "introduction list item item sentence"),
        ("- only one.", "item"),
        ("- Is it so?\n- It is.", "list question item"),
    ],
)
def test_a_list_comes_before_its_items(text: str, kinds: str) -> None:
    assert [unit.kind for unit in split_units(text)] == kinds.split()


def test_items_have_their_introduction_as_context_and_the_position_of_their_list() -> None:
    text = "It is free\n\n1. for members,\n2. if it is faulty."
    introduction, whole, *items = split_units(text)
    assert whole.text == "It is free\n1. for members,\n2. if it is faulty."
    assert {item.context for item in items} == {introduction.text}
    assert {item.group for item in items} == {whole.group} == {text.index("1.")}


def test_nested_items_belong_to_the_item_above_and_wrapped_lines_are_joined() -> None:
    _, first, second = split_units("- Color: red\n  and blue\n- Size:\n  - large")
    assert (first.text, first.key) == ("- Color: red and blue", "Color:")
    assert second.text == "- Size:\n- large"


def test_a_number_in_the_middle_of_a_sentence_begins_no_item() -> None:
    assert not begins_item(UnitReader("It was built in\n1894. It is old."), 1)
    assert begins_item(UnitReader("These are:\n1. One"), 1)
    assert begins_item(UnitReader("Text\n- one"), 1)


def test_the_term_of_an_item_is_its_key() -> None:
    _, first, second = split_units("- lemon :: a sour fruit\n- orange :: a sweet one")
    assert [(item.kind, item.key) for item in (first, second)] == [("item", "lemon"), ("item", "orange")]

"""Signatures of functions, classes and constants."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.signature_units import read_signature
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.answer.extractive.units.unit_reader import UnitReader


@pytest.mark.parametrize(
    "text",
    [
        "os.path.join(path, *paths)\n\nJoin paths.",
        "int PyList_Append(PyObject *list, PyObject *item)\n\nAppend an item.",
        "class datetime.date(year, month,\n                    day)\n\nA date.",
        "exception ValueError\n\nA value is wrong.",
        ".. data:: NSIG\n\n   One more.",
        "length ( text ) → integer\n\nCounts the characters.",
    ],
)
def test_a_signature_is_the_context_of_its_description(text: str) -> None:
    signature, sentence = split_units(text)
    assert (signature.kind, signature.is_answer, sentence.kind) == ("signature", False, "sentence")
    assert sentence.context == signature.text.removeprefix(".. data:: ")


def test_the_description_has_the_name_as_its_subject() -> None:
    assert split_units("os.path.join(path, *paths)\n\n   Join paths.")[1].subjects == {"os.path.join"}


def test_a_signature_may_be_wrapped() -> None:
    assert read_signature(UnitReader("class datetime.date(year, month,\n   day)\n\nA date."), 0) == 2


@pytest.mark.parametrize("text", ["print(x)\nreturn x", "The function print(x) prints."])
def test_code_and_prose_are_no_signatures(text: str) -> None:
    assert read_signature(UnitReader(text), 0) == 0

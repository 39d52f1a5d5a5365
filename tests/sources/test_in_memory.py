"""Documents out of a program's own module."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlist import Changes, CorpusSource, Document, InputError, Problem, SourceError, build

PROGRAM = """
from shortlist import Document

TEXTS = ["apple", "pear"]
BY_ID = {"a": "apple"}
ONCE = iter(TEXTS)
NUMBER = 5
TEXT = "apple"


class Store:
    @staticmethod
    def documents():
        yield Document("a", "A", "apple")
        yield {"id": "b", "title": "B", "content": "pear", "metadata": {"n": 1}, "kind": "row"}
        yield {"text": "plum", "n": 2}
        yield {"content": "fig", "colour": "green"}
        yield 5


def many():
    return [f"text {number}" for number in range(12)]


def fails():
    raise OSError("no database")


def fails_later():
    yield "apple"
    raise OSError("no database")


def takes(argument):
    return []
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "program_of_records.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "broken_records.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "needy_records.py").write_text("import no_such_package_at_all\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("program_of_records", "broken_records", "needy_records"):
        sys.modules.pop(name, None)


def read(attribute: str) -> list[Document | Problem]:
    return list(CorpusSource.from_records(f"program_of_records:{attribute}"))


@pytest.mark.usefixtures("program")
def test_texts_in_a_list_or_mapping_are_read() -> None:
    assert read("TEXTS") == [Document("0", "", "apple"), Document("1", "", "pear")]
    assert read("BY_ID") == [Document("a", "a", "apple")]


@pytest.mark.usefixtures("program")
def test_a_function_is_called_and_its_records_may_be_of_any_form() -> None:
    assert read("Store.documents") == [
        Document("a", "A", "apple"),
        Document("b", "B", "pear", metadata={"n": 1}, kind="row"),
        Document("2", "", "plum", metadata={"n": 2}),
        Problem("3", "A document has no field colour. Put additional fields into its metadata."),
        Problem("4", "An entry is a string, a Document or a mapping with a 'text', not int."),
    ]


@pytest.mark.usefixtures("program")
def test_a_source_of_records_is_read_again_each_time() -> None:
    source = CorpusSource.from_records("program_of_records:many")
    assert (source.name, source.kind) == ("program_of_records.many", "records")
    documents = list(source)
    assert len(documents) == 12
    assert [documents[number].id for number in (0, 9, -1)] == ["0", "9", "11"]
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.sync(source) == Changes(unchanged=12)


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("no_such_module:x", "No module named 'no_such_module'"),
        ("program_of_records.sub:x", "No module named 'program_of_records.sub'"),
        ("needy_records:x", "No module named 'no_such_package_at_all'"),
        ("broken_records:x", "ZeroDivisionError: division by zero"),
        ("program_of_records:missing", "'program_of_records' has no attribute 'missing'"),
        ("program_of_records:Store.missing", "'Store' has no attribute 'missing'"),
        ("program_of_records:NUMBER", "of type int"),
        ("program_of_records:TEXT", "of type str"),
        ("program_of_records:ONCE", "can be read only once"),
        ("program_of_records:fails", "OSError: no database"),
        ("program_of_records:fails_later", "OSError: no database"),
        ("program_of_records:takes", "TypeError"),
    ],
)
def test_each_way_to_fail_is_a_source_error_that_says_what_is_wrong(address: str, reason: str) -> None:
    corpus = build(["kept"], in_memory=True, embedder="none")
    with pytest.raises(SourceError, match=f"{address}.*{reason}"):
        corpus.sync(CorpusSource.from_records(address))
    assert corpus.ids() == ["0"]


@pytest.mark.parametrize("address", ["module", "module:", ":attribute", "", 5], ids=str)
def test_an_address_of_another_form_is_an_input_error_at_once(address: Any) -> None:
    with pytest.raises(InputError, match="Write it as 'module:attribute'"):
        CorpusSource.from_records(address)


def test_a_module_in_the_current_folder_is_found(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = program / "elsewhere"
    folder.mkdir()
    (folder / "records_right_here.py").write_text("RECORDS = ['apple']\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    try:
        assert len(list(CorpusSource.from_records("records_right_here:RECORDS"))) == 1
    finally:
        sys.modules.pop("records_right_here", None)

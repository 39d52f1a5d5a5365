"""Documents out of CSV, JSON, JSON lines and spreadsheets, as people and programs write them."""

from __future__ import annotations

import datetime
import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from shortlist import CorpusSource, Document, Problem, build, search
from shortlist.sources import tables
from tests.sources.samples import read, reason, write, xlsx


def texts(tmp_path: Path, name: str, data: str | bytes) -> list[str]:
    found = read(tmp_path, name, data)
    assert all(isinstance(item, Document) for item in found), found
    return [item.content for item in found if isinstance(item, Document)]


# CSV


def test_each_row_of_a_csv_is_a_document(tmp_path: Path) -> None:
    lines = ["name,city,note"] + [f"Person {number},City {number}," for number in range(1, 1001)]
    found = read(tmp_path, "people.csv", "\n".join(lines))
    assert len(found) == 1000
    source = str(tmp_path / "people.csv")
    for number in (1, 10, 1000):
        assert found[number - 1] == Document(
            f"people.csv#row={number}",
            "",
            f"name: Person {number} | city: City {number}",
            ["people"],
            {"path": source, "row": number},
            kind="row",
            source=source,
            locator=f"row={number}",
        )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('a,b\n"x, y","say ""hi"""\n', ['a: x, y | b: say "hi"']),
        ('a,b\n"two\nlines",2\n3,4\n', ["a: two\nlines | b: 2", "a: 3 | b: 4"]),
        ("a,b\r\n1,2\r\n", ["a: 1 | b: 2"]),
        ("a,b\r1,2\r", ["a: 1 | b: 2"]),
        ("\ufeffa,b\n1,2\n", ["a: 1 | b: 2"]),
        ("a;b\n1,5;2\n", ["a: 1,5 | b: 2"]),
        ("a\tb\n1\t2\n", ["a: 1 | b: 2"]),
        ("a|b\n1|2\n", ["a: 1 | b: 2"]),
        ("sep=;\na;b\n1;2\n", ["a: 1 | b: 2"]),
        ("a,b,c\n1\n1,2,3,4,5\n", ["a: 1", "a: 1 | b: 2 | c: 3 | column 4: 4 | column 5: 5"]),
        ("a,a,\n1,2,3\n", ["a: 1 | a: 2 | column 3: 3"]),
        ("a,b\n", []),
        ("a,b", []),
        ("", []),
        ("\n\na,b\n\n1,2\n\n", ["a: 1 | b: 2"]),
        ("a,b\n, \n1,\n", ["a: 1"]),
        ("a\nx\ny\n", ["a: x", "a: y"]),
        ("a,b\n1\0,2\n", ["a: 1 | b: 2"]),
        ("a,b\n1,2\n".encode("utf-16"), ["a: 1 | b: 2"]),
        ("naïve;ça\nété;où\n".encode("latin-1"), ["naïve: été | ça: où"]),
        ("имя,город\nИван,Москва\n".encode("cp1251"), ["имя: Иван | город: Москва"]),
    ],
    ids=str,
)
def test_a_csv_is_read_as_it_was_meant(tmp_path: Path, data: str | bytes, expected: list[str]) -> None:
    assert texts(tmp_path, "a.csv", data) == expected


def test_an_empty_row_has_a_number_but_no_document(tmp_path: Path) -> None:
    assert [item.id for item in read(tmp_path, "a.tsv", "a\tb\n1\t2\n\t\n3\t4\n")] == ["a.tsv#row=1", "a.tsv#row=3"]


def test_binary_that_is_called_csv_is_a_problem(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.csv", bytes(1000)) == "It is binary, not a table in text."
    assert reason(tmp_path, "a.csv", xlsx({"S": [["a"], ["b"]]})) == "It is binary, not a table in text."


def test_a_quote_that_swallows_the_rest_is_named_and_the_rows_before_go_in(tmp_path: Path) -> None:
    found = read(tmp_path, "a.csv", 'a,b\n1,2\n3,"open\n' + "4,5\n" * 50_000)
    assert found[0].id == "a.csv#row=1"
    assert isinstance(found[1], Problem)
    assert found[1].reason.startswith("From line ")
    assert found[1].reason.endswith("a quote that is not closed.")


@pytest.mark.parametrize(
    ("rows", "lines", "ids"),
    [
        ('1,"never closed\n2,3\n', "2 to 3", ["a.csv#row=1", "a.csv#row=1"]),
        ('1,2\n\n3,"open\n4,5\n6,"7"\n8,9\n', "4 to 6", ["a.csv#row=1", "a.csv#row=2", "a.csv#row=2", "a.csv#row=3"]),
    ],
)
def test_b4_an_open_quote_in_a_csv_is_reported_with_the_lines_it_merged(
    tmp_path: Path, rows: str, lines: str, ids: list[str]
) -> None:
    found = read(tmp_path, "a.csv", f"a,b\n{rows}")
    assert [item.id for item in found] == ids
    (problem,) = [item for item in found if isinstance(item, Problem)]
    assert f"lines {lines} were indexed as one row" in problem.reason


@pytest.mark.parametrize(("name", "line"), [("a.csv", "1,2,3\n"), ("a.jsonl", '{"a": 1}\n')])
def test_a_large_table_is_never_held_in_memory(tmp_path: Path, name: str, line: str) -> None:
    path = write(tmp_path, {name: line * 200_000}) / name
    stream = iter(CorpusSource.from_files(path))
    tracemalloc.start()
    for _ in range(1000):
        next(stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 << 20  # the lines alone would take twice as much


# JSON lines


def test_each_line_is_a_document_and_a_broken_one_is_named(tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, "text": f"Line {number}"}) for number in range(1, 51)]
    lines[6], lines[7] = '{"id": 7, "text"', ""
    found = read(tmp_path, "a.jsonl", "\n".join(lines))
    assert len(found) == 49
    assert found[6] == Problem("a.jsonl#row=7", "Line 7 is not JSON: Expecting ':' delimiter at column 17.")
    for at, number in ((0, 1), (9, 11), (48, 50)):
        item = found[at]
        assert isinstance(item, Document)
        assert (item.id, item.locator) == (f"a.jsonl#row={number}", f"row={number}")
        assert item.content == f"id: {number} | text: Line {number}"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"a": null, "b": "", "c": [], "d": {}, "e": 0, "f": false}', "e: 0 | f: false"),
        ('{"tags": ["x", "é"], "in": {"deep": 1.0}}', 'tags: ["x", "é"] | in: {"deep": 1.0}'),
        ('{"n": 3.0, "big": 12345678901234567890, "x": 0.1}', "n: 3 | big: 12345678901234567890 | x: 0.1"),
        ('"just text"', "value: just text"),
        ("[1, 2]", "value: [1, 2]"),
        ('{"line": "two\\nlines"}', "line: two\nlines"),
        ('{"odd": NaN}', "odd: nan"),
    ],
)
def test_a_row_shows_what_has_a_value(tmp_path: Path, line: str, text: str) -> None:
    assert texts(tmp_path, "a.ndjson", line) == [text]


@pytest.mark.parametrize("line", ["[" * 100_000, "9" * 5000, "{'a': 1}", "\x00\x01", '{"a": 1} {"b": 2}'], ids=len)
def test_a_line_that_is_no_json_never_stops_the_others(tmp_path: Path, line: str) -> None:
    found = read(tmp_path, "a.jsonl", f'{{"a": 1}}\n{line}\n{{"a": 2}}\n')
    assert [(item.id, type(item)) for item in found] == [
        ("a.jsonl#row=1", Document),
        ("a.jsonl#row=2", Problem),
        ("a.jsonl#row=3", Document),
    ]


def test_a_table_that_lost_rows_loses_their_documents_even_with_a_broken_line(tmp_path: Path) -> None:
    source = CorpusSource.from_files(write(tmp_path, {"a.jsonl": '{"a": 1}\n{"a": 2}\n{"a": 3}\n'}))
    corpus = build(source, in_memory=True, embedder="none")
    write(tmp_path, {"a.jsonl": '{"a": 1}\n{"a": \n'})
    changes = corpus.sync(source)
    assert (changes.removed, len(changes.failed)) == (1, 1)
    assert corpus.ids() == ["a.jsonl#row=1", "a.jsonl#row=2"]  # the broken line stays as it was


# JSON


def test_a_list_of_objects_is_rows(tmp_path: Path) -> None:
    found = read(tmp_path, "a.json", json.dumps([{"n": number} for number in range(1, 21)]))
    assert len(found) == 20
    for number in (1, 10, 20):
        item = found[number - 1]
        assert isinstance(item, Document)
        assert (item.id, item.locator, item.content) == (f"a.json#row={number}", f"row={number}", f"n: {number}")


@pytest.mark.parametrize("data", ['{"name": "x"}', "[]", "[1, 2]", '[{"a": 1}, 2]', "true"])
def test_any_other_json_is_one_document_as_it_stands(tmp_path: Path, data: str) -> None:
    (found,) = read(tmp_path, "a.json", data)
    assert isinstance(found, Document)
    assert (found.id, found.content, found.kind, found.locator) == ("a.json", data, "file", "whole")


@pytest.mark.parametrize("data", ['[{"a": 1},\n{"a": ', '{"cut": ', "// a comment\n{}", "[" * 100_000], ids=len)
def test_b4_json_that_is_not_valid_is_indexed_as_text_and_reported(tmp_path: Path, data: str) -> None:
    document, problem = read(tmp_path, "a.json", data)
    assert isinstance(document, Document)
    assert isinstance(problem, Problem)
    assert (document.id, document.content, problem.id) == ("a.json", data, "a.json#whole")
    assert problem.reason.startswith("It is not valid JSON (")


# Spreadsheets


def test_each_row_of_each_sheet_is_a_document(tmp_path: Path) -> None:
    people: list[list[Any]] = [["name", "age"], *([f"Person {number}", number] for number in range(1, 31))]
    found = read(tmp_path, "a.xlsx", xlsx({"People": people, "Empty": [], "Fruit & co": [["fruit"], ["apple"]]}))
    assert len(found) == 31
    source = str(tmp_path / "a.xlsx")
    for number in (1, 10, 30):
        assert found[number - 1] == Document(
            f"a.xlsx#sheet=People;row={number}",
            "",
            f"name: Person {number} | age: {number}",
            ["a", "People"],
            {"path": source, "sheet": "People", "row": number},
            kind="row",
            source=source,
            locator=f"sheet=People;row={number}",
        )
    assert found[30].id == "a.xlsx#sheet=Fruit & co;row=1"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3, "3"),
        (3.0, "3"),
        (2.5, "2.5"),
        (True, "true"),
        ("  text ", "text"),
        (datetime.datetime(2024, 5, 1), "2024-05-01"),
        (datetime.date(2024, 5, 1), "2024-05-01"),
        (datetime.datetime(2024, 5, 1, 12, 30), "2024-05-01 12:30:00"),
        (datetime.time(12, 30), "12:30:00"),
    ],
    ids=str,
)
def test_a_cell_is_shown_as_a_person_would_write_it(tmp_path: Path, value: Any, shown: str) -> None:
    assert texts(tmp_path, "a.xlsx", xlsx({"S": [["v"], [value]]})) == [f"v: {shown}"]


def test_rows_above_the_header_and_empty_rows_are_passed_over(tmp_path: Path) -> None:
    rows: list[list[Any]] = [[], [None, None], ["a", None, 2024], ["x", "y", "z"], [None, None, None], ["last"]]
    found = read(tmp_path, "a.xlsx", xlsx({"S": rows}))
    assert [(item.id, getattr(item, "content", "")) for item in found] == [
        ("a.xlsx#sheet=S;row=1", "a: x | column 2: y | 2024: z"),
        ("a.xlsx#sheet=S;row=3", "a: last"),
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "It is empty."),
        (b"text", "It is damaged, protected by a password"),
        (xlsx({"S": [["a"], ["b"]]})[:3000], "It is damaged, protected by a password"),
        (b"PK\5\6" + bytes(18), "It is damaged or not a spreadsheet"),
    ],
)
def test_a_damaged_spreadsheet_is_a_problem(tmp_path: Path, data: bytes, said: str) -> None:
    assert reason(tmp_path, "a.xlsx", data).startswith(said)


def test_a_cell_far_from_the_others_does_not_fill_the_memory(tmp_path: Path) -> None:
    far = xlsx({"S": [["a"], ["b"]]}, {"XFD1048576": "far"})
    assert "sheet1.xml span 1048576 rows and 16384 columns" in reason(tmp_path, "a.xlsx", far)
    near = xlsx({"S": [["a"], ["b"]]}, {"C100000": "near"})
    assert [item.id for item in read(tmp_path, "a.xlsx", near)] == ["a.xlsx#sheet=S;row=1", "a.xlsx#sheet=S;row=99999"]


def test_a_sheet_that_is_a_chart_is_passed_over(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["a"])
    workbook.active.append(["b"])
    workbook.create_chartsheet("Chart")
    workbook.save(tmp_path / "a.xlsx")
    assert [item.id for item in CorpusSource.from_files(tmp_path)] == ["a.xlsx#sheet=Sheet;row=1"]


def test_a_large_json_text_is_a_problem_and_a_large_list_is_not(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.json", '{"a": "' + "x" * (10 << 20) + '"}') == "It is larger than 10 MB."
    assert len(texts(tmp_path, "a.json", '[{"a": "' + "x" * (10 << 20) + '"}]')) == 1


def test_a_sheet_that_is_damaged_is_named_and_the_others_go_in(tmp_path: Path) -> None:
    out = io.BytesIO()
    whole = xlsx({"One": [["a"], ["b"]], "Two": [["a"], ["b"]]})
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"<worksheet><sheetData><row" if name.endswith("sheet1.xml") else old.read(name))
    found = read(tmp_path, "a.xlsx", out.getvalue())
    assert [(item.id, type(item)) for item in found] == [
        ("a.xlsx#sheet=One", Problem),
        ("a.xlsx#sheet=Two;row=1", Document),
    ]


def test_a_row_is_found_and_cited_by_its_number(tmp_path: Path) -> None:
    write(tmp_path, {"fruit.csv": "name,colour\napple,red\npear,green\n"})
    corpus = build(CorpusSource.from_files(tmp_path), in_memory=True, embedder="none")
    (hit,) = search(corpus, "green")
    assert (hit.source, hit.locator, hit.text) == (str(tmp_path / "fruit.csv"), "row=2", "name: pear | colour: green")
    assert search(corpus, "which fruit is green")[0].locator == "row=2"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", "a\n1\n2\n3\n"),
        ("a.jsonl", '{"a": 1}\n{"a": 2}\n{"a": 3}\n'),
        ("a.json", '[{"a": 1}, {"a": 2}, {"a": 3}]'),
        ("a.xlsx", xlsx({"S": [["a"], [1], [2], [3]]})),
    ],
    ids=["csv", "jsonl", "json", "xlsx"],
)
@pytest.mark.parametrize(("most", "rows"), [(3, 3), (2, 2)])
def test_a_file_with_too_many_rows_is_reported_and_the_first_ones_go_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: str | bytes, most: int, rows: int
) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", most)
    monkeypatch.setattr("sys.executable", "")  # spreadsheets are then read in this process
    found = read(tmp_path, name, data)
    problems = [item.reason for item in found if isinstance(item, Problem)]
    assert len(found) - len(problems) == rows
    assert [f"more than {most} rows" in problem for problem in problems] == [True] * (rows < 3)


def test_the_field_access_of_a_row_is_who_may_see_it(tmp_path: Path) -> None:
    lines = [{"a": 1, "access": ["hr"]}, {"a": 2, "access": None}, {"a": 3}]
    for name, data in (("a.jsonl", "\n".join(map(json.dumps, lines))), ("a.json", json.dumps(lines))):
        rows = [item.metadata for item in read(tmp_path, name, data) if isinstance(item, Document)]
        assert [row.get("access", "everyone") for row in rows] == [["hr"], None, "everyone"]
    rows = [item.metadata for item in read(tmp_path, "a.csv", "a,access\n1,hr\n2,\n3\n") if isinstance(item, Document)]
    assert [row.get("access", "everyone") for row in rows] == ["hr", "everyone", "everyone"]

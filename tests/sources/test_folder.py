"""Documents out of folders: which files are read, which are left out, and what is said of those that cannot be."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlist import Changes, CorpusSource, Document, InputError, Problem, SourceError, build, ingest, search
from shortlist.documents import Skipped
from shortlist.safety.untrusted_files import read_regular_file
from shortlist.sources import decoding, document_formats
from shortlist.sources import folder as files_module
from tests.sources.samples import docx, parsers_at, pdf, write, xlsx

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"


def read(root: Path, **options: Any) -> dict[str, Document | Problem]:
    return {item.id: item for item in CorpusSource.from_files(root, **options)}


def names(root: Path, **options: Any) -> list[str]:
    return [item.id for item in CorpusSource.from_files(root, **options)]


# What a file becomes


def test_a_file_becomes_a_document_with_its_path_below_the_folder_as_id(tmp_path: Path) -> None:
    write(tmp_path, {"sub/a.txt": "The text."})
    source = str((tmp_path / "sub/a.txt").resolve())
    assert list(CorpusSource.from_files(tmp_path)) == [
        Document("sub/a.txt", "a.txt", "The text.", metadata={"path": source}, kind="file", source=source)
    ]


def test_files_come_in_a_stable_order(tmp_path: Path) -> None:
    write(tmp_path, {"b.txt": "x", "a/z.txt": "x", "a.txt": "x", "c/d/e.txt": "x"})
    assert names(tmp_path) == ["a/z.txt", "a.txt", "b.txt", "c/d/e.txt"]


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "# The heading\n\nText.", "The heading"),
        ("a.md", "Some text first.\n\n# The heading #\n", "The heading"),
        ("a.markdown", "#   Spaced   \nText", "Spaced"),
        ("a.MD", "# Loud\r\nText\r\n", "Loud"),
        ("a.md", "## Second level only\n", "a.md"),
        ("a.md", "#no-space is a tag\n", "a.md"),
        ("a.md", "No heading at all.", "a.md"),
        ("a.md", "#\nA line after an empty heading.\n", "a.md"),
        ("a.txt", "# Not a heading here\n", "a.txt"),
        ("a.py", "# A comment\n", "a.py"),
        ("a.md", "\ufeff# After a byte order mark\n", "After a byte order mark"),
        ("a.md", "# Many" + " " * 1000 + "spaces\n", "Many" + " " * 1000 + "spaces"),
    ],
)
def test_a_markdown_file_is_titled_by_its_first_heading_and_others_by_their_name(
    tmp_path: Path, name: str, text: str, title: str
) -> None:
    (document,) = read(write(tmp_path, {name: text})).values()
    assert isinstance(document, Document)
    assert document.title == title


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, {"a.txt": b"\xef\xbb\xbfapple"})).values()
    assert isinstance(document, Document)
    assert document.content == "apple"


def test_b2_an_empty_file_is_no_document(tmp_path: Path) -> None:
    files = {"a.txt": "", "b.md": " \n\t\n", "c.json": "\n", "d.html": "<html></html>", "e.txt": "text"}
    assert names(write(tmp_path, files)) == ["e.txt"]
    _, done = ingest(tmp_path, path=tmp_path.parent / "index")
    assert (done.read, done.skipped, done.failed) == (1, 4, [])


def test_files_without_text_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"a.png": b"\x89PNG\r\n\0\0", "b.bin": b"\0", "c.txt": "text", "late.txt": b"x" * 8192 + b"\0"})
    assert names(tmp_path) == ["c.txt", "late.txt"]


def test_names_of_any_characters_are_names(tmp_path: Path) -> None:
    write(tmp_path, {"日本語.txt": "x", "with space.txt": "x", "🚀.txt": "x", "new\nline.txt": "x"})
    assert sorted(names(tmp_path)) == sorted(["日本語.txt", "with space.txt", "🚀.txt", "new\nline.txt"])


def test_names_that_are_no_text_are_taken_too(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    with open(folder + b"/\xfe.txt", "wb") as file:
        file.write(b"apple")
    source = CorpusSource.from_files(os.fsdecode(folder))
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=1)
    assert [hit.id for hit in search(corpus, "apple")] == ["?.txt"]
    assert corpus.sync(source) == Changes(unchanged=1)


# Patterns


TREE: dict[str, str | bytes] = {"a.md": "x", "b.txt": "x", "docs/c.md": "x", "docs/old/d.md": "x", "docs/e.mdx": "x"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"pattern": r".*\.md$"}, ["a.md", "docs/c.md", "docs/old/d.md"]),
        ({"pattern": r"\.md"}, ["a.md", "docs/c.md", "docs/e.mdx", "docs/old/d.md"]),
        ({"pattern": r"^docs/"}, ["docs/c.md", "docs/e.mdx", "docs/old/d.md"]),
        ({"exclude": r"(^|/)old/"}, ["a.md", "b.txt", "docs/c.md", "docs/e.mdx"]),
        ({"pattern": r"\.md$", "exclude": "docs"}, ["a.md"]),
        ({"pattern": "nothing like it"}, []),
        ({"pattern": "", "exclude": ""}, ["a.md", "b.txt", "docs/c.md", "docs/e.mdx", "docs/old/d.md"]),
    ],
)
def test_pattern_and_exclude_are_searched_in_the_path_below_the_folder(
    tmp_path: Path, options: dict[str, Any], expected: list[str]
) -> None:
    assert sorted(names(write(tmp_path / "docs-root", TREE), **options)) == expected


@pytest.mark.parametrize("option", ["pattern", "exclude"])
@pytest.mark.parametrize("expression", ["(", "*.md", "[a"])
def test_a_bad_regular_expression_is_an_error_at_once(tmp_path: Path, option: str, expression: str) -> None:
    options: dict[str, Any] = {option: expression}
    with pytest.raises(InputError, match="is not a regular expression") as caught:
        CorpusSource.from_files(tmp_path, **options)
    assert repr(expression) in str(caught.value)


# .gitignore


def test_what_gitignore_names_is_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "# comment\n*.log\n/top.txt\nbuild/\ncache\n\n",
            "a.txt": "x",
            "a.log": "x",
            "sub/b.log": "x",
            "top.txt": "x",
            "sub/top.txt": "x",
            "build/out.txt": "x",
            "sub/build/out.txt": "x",
            "cache": "x",
            "sub/cache/c.txt": "x",
        },
    )
    assert names(tmp_path) == [".gitignore", "a.txt", "sub/top.txt"]


def test_an_invalid_rule_of_gitignore_matches_nothing(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "[z-a]\n[[a-b]\n*.log\n!\n", "a.log": "x", "b.txt": "x"})
    assert names(tmp_path) == [".gitignore", "b.txt"]


def test_a_rule_of_gitignore_that_would_take_forever_has_no_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, {".gitignore": f"{'*a' * 12}\n*.log\n**/x/**/*.y*\n", "a" * 99: "x", "b.log": "x", "x/a.yy": "x"})
    assert names(tmp_path) == [".gitignore", "a" * 99]
    assert "too many asterisks" in caplog.text


def test_folders_that_are_nested_too_deeply_are_a_source_error(tmp_path: Path) -> None:
    write(tmp_path, {"a/" * 100 + "b.txt": "x"})
    assert names(tmp_path) == ["a/" * 100 + "b.txt"]
    write(tmp_path, {"a/" * 101 + "b.txt": "x"})
    with pytest.raises(SourceError, match="nested more than 100 deep"):
        names(tmp_path)


def test_what_gitignore_takes_back_is_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*.log\n!keep.log\nout/\n!out/kept.txt\n",
            "a.log": "x",
            "keep.log": "x",
            "sub/keep.log": "x",
            "out/kept.txt": "x",  # git never looks into a folder that is ignored
        },
    )
    assert names(tmp_path) == [".gitignore", "keep.log", "sub/keep.log"]


def test_a_gitignore_further_down_speaks_of_its_own_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"sub/.gitignore": "/a.txt\n*.tmp\n", "a.txt": "x", "b.tmp": "x", "sub/a.txt": "x", "sub/deep/a.txt": "x"},
    )
    write(tmp_path, {"sub/deep/c.tmp": "x"})
    assert names(tmp_path) == ["a.txt", "b.tmp", "sub/.gitignore", "sub/deep/a.txt"]


def test_a_gitignore_further_down_takes_back_what_one_above_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        {".gitignore": "*.log\n", "sub/.gitignore": "!keep.log\n", "sub/keep.log": "x", "sub/drop.log": "x"},
    )
    write(tmp_path, {"keep.log": "x", "sub/deep/keep.log": "x"})
    assert names(tmp_path) == [".gitignore", "sub/.gitignore", "sub/deep/keep.log", "sub/keep.log"]


def test_a_gitignore_that_cannot_be_read_ignores_nothing(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": b"\xff\xfe*.txt", "a.txt": "x"})
    assert "a.txt" in names(tmp_path)


def test_what_every_project_ignores_is_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".git/config": "x",
            "sub/.git/config": "x",
            "node_modules/m/a.js": "x",
            "__pycache__/a.txt": "x",
            ".venv/a.py": "x",
            ".DS_Store": "x",
            ".hidden/a.txt": "x",
        },
    )
    assert names(tmp_path) == [".hidden/a.txt"]


# What cannot be read


def test_a_file_that_is_too_large_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x", "b.txt": "x" * 10})
    os.truncate(tmp_path / "a.txt", decoding.MAX_BYTES + 1)
    found = read(tmp_path)
    assert isinstance(found["a.txt"], Problem)
    assert found["a.txt"].reason.startswith("It is larger than ")
    assert isinstance(found["b.txt"], Document)


def test_a_file_that_cannot_be_opened_is_a_problem_and_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": "apple", "b.txt": "pear"})
    source = CorpusSource.from_files(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")

    def refuse(path: Path, **options: Any) -> bytes:
        if path.name == "a.txt":
            raise PermissionError(13, "Permission denied")
        return read_regular_file(path, **options)

    monkeypatch.setattr(decoding, "read_regular_file", refuse)
    changes = corpus.sync(source)
    where = str((tmp_path / "a.txt").resolve())
    assert changes == Changes(unchanged=1, failed=(Problem("a.txt", "It cannot be read: Permission denied.", where),))
    assert [hit.id for hit in search(corpus, "apple")] == ["a.txt"]


def test_a_file_that_vanishes_meanwhile_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.txt": "apple", "b.txt": "pear"})
    walk = files_module.walk

    def slow(root: Path) -> Iterator[Path | Skipped]:
        for path in walk(root):
            if isinstance(path, Path) and path.name == "a.txt":
                path.unlink()
            yield path

    monkeypatch.setattr(files_module, "walk", slow)
    found = read(tmp_path)
    assert found["a.txt"] == Problem("a.txt", "It cannot be read: No such file or directory.", str(tmp_path / "a.txt"))
    assert isinstance(found["b.txt"], Document)


def test_a_folder_below_that_cannot_be_read_is_a_source_error_and_nothing_is_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": "apple", "locked/b.txt": "pear"})
    source = CorpusSource.from_files(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceError, match="locked"):
        corpus.sync(source)
    assert corpus.ids() == ["a.txt", "locked/b.txt"]


def test_a_place_that_is_not_there_is_a_source_error_and_nothing_is_pruned(tmp_path: Path) -> None:
    write(tmp_path, {"folder/a.txt": "apple"})
    corpus = build(CorpusSource.from_files(tmp_path / "folder"), in_memory=True, embedder="none")
    with pytest.raises(SourceError, match="missing is not a readable file or folder"):
        corpus.sync(CorpusSource.from_files(tmp_path / "missing"))
    assert corpus.ids() == ["a.txt"]


def test_one_file_can_be_given_in_place_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "apple", "b.csv": "fruit\npear\nplum\n", ".gitignore": "*"})
    assert names(tmp_path / "a.txt") == ["a.txt"]
    assert names(tmp_path / "b.csv") == ["b.csv#row=1", "b.csv#row=2"]


# Every kind of file


def test_one_folder_may_hold_files_of_every_kind(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "code.py": "print('hello')",
            "data.csv": "fruit,colour\napple,red\n",
            "export.jsonl": '{"fruit": "pear"}\n',
            "guide.docx": docx(["# Guide", "Install it."]),
            "IMAGE.PNG": b"\x89PNG\0\0",
            "list.json": '[{"fruit": "plum"}]',
            "page.html": "<title>Page</title><p>Hello",
            "report.PDF": pdf(["First page.", "Second page."]),
            "sheet.xlsx": xlsx({"Prices": [["fruit", "price"], ["fig", 2]]}),
        },
    )
    documents = [item for item in CorpusSource.from_files(tmp_path) if isinstance(item, Document)]
    assert [(item.id, item.kind, item.locator) for item in documents] == [
        ("code.py", "file", "whole"),
        ("data.csv#row=1", "row", "row=1"),
        ("export.jsonl#row=1", "row", "row=1"),
        ("guide.docx", "page", "whole"),
        ("list.json#row=1", "row", "row=1"),
        ("page.html", "page", "whole"),
        ("report.PDF#page=1", "page", "page=1"),
        ("report.PDF#page=2", "page", "page=2"),
        ("sheet.xlsx#sheet=Prices;row=1", "row", "sheet=Prices;row=1"),
    ]
    assert {item.source for item in documents[-3:-1]} == {str(tmp_path / "report.PDF")}


def test_files_that_hold_nothing_to_search_are_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "apple", "b.png": b"\x89PNG\0", "c.bin": b"\0", "header-only.csv": "a,b\n"})
    corpus = build(CorpusSource.from_files(tmp_path), in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=1, skipped=3)


def test_what_needs_a_package_that_is_missing_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "files", {"a.pdf": pdf(["x"]), "b.docx": docx(["x"]), "c.xlsx": xlsx({"S": [["x"]]})})
    write(tmp_path / "files", {"d.html": "x", "e.txt": b"caf\xe9", "f.csv": "fruit\napple\n"})
    for package in ("pypdfium2", "docx", "python_calamine", "selectolax"):
        write(tmp_path / "none", {f"{package}.py": "raise ImportError"})
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    with parsers_at(tmp_path / "none"):
        found = read(tmp_path / "files")
    for id in ("a.pdf", "c.xlsx", "d.html"):
        problem = found[id]
        assert isinstance(problem, Problem)
        assert problem.reason.endswith('pip install "shortlist[documents]"')
    text = found["e.txt"]
    assert isinstance(text, Document)
    assert text.content == "café"
    assert "f.csv#row=1" in found


def test_whatever_a_loader_raises_is_a_problem_of_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: decoding.File) -> Iterator[Document | Problem]:
        yield file.make_document("row", "", "before", "row=1")
        raise RecursionError("too deep")

    monkeypatch.setitem(document_formats.LOADERS, ".csv", fail)
    found = list(CorpusSource.from_files(write(tmp_path, {"a.csv": "x", "b.txt": "x"})))
    assert [item.id for item in found] == ["a.csv#row=1", "a.csv", "b.txt"]
    assert found[1] == Problem("a.csv", "It cannot be read: RecursionError: too deep.", str(tmp_path / "a.csv"))


# Links


def test_links_to_folders_are_not_followed_so_loops_end(tmp_path: Path) -> None:
    write(tmp_path, {"sub/a.txt": "x"})
    (tmp_path / "sub" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "again").symlink_to(tmp_path / "sub", target_is_directory=True)
    assert names(tmp_path) == ["sub/a.txt"]


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    write(tmp_path, {"real/a.txt": "apple"})
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "a.txt")
    found = read(tmp_path)["link.txt"]
    assert isinstance(found, Document)
    assert (found.content, found.source) == ("apple", str((tmp_path / "real/a.txt").resolve()))


def test_links_that_lead_nowhere_or_to_themselves_do_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x"})
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    documents = [item.id for item in CorpusSource.from_files(tmp_path) if isinstance(item, Document)]
    assert documents == ["a.txt"]


# Building


def test_a_folder_is_kept_up_to_date(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "apple", "b.txt": "pear", "c.txt": "plum"})
    source = CorpusSource.from_files(tmp_path)
    with build(source, embedder="none") as corpus:
        assert corpus.changes == Changes(added=3)
    (tmp_path / "a.txt").unlink()
    write(tmp_path, {"b.txt": "quince", "d.txt": "fig"})
    with build(source, embedder="none") as corpus:
        assert corpus.changes == Changes(added=1, changed=1, unchanged=1, removed=1)
        assert [hit.id for hit in search(corpus, "quince")] == ["b.txt"]
        assert search(corpus, "apple") == []
    with build(source, embedder="none") as corpus:
        assert corpus.changes == Changes(unchanged=3)


def test_folders_of_one_name_have_corpora_of_their_own(tmp_path: Path) -> None:
    one, other = (CorpusSource.from_files(tmp_path / place / "notes") for place in ("x", "y"))
    assert one.name != other.name
    assert one.name.startswith("notes-")
    assert one.name == CorpusSource.from_files(tmp_path / "x" / "." / "notes").name
    assert CorpusSource.from_files(tmp_path, name="mine").name == "mine"


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"notes/a.txt": "x"})
    monkeypatch.setenv("HOME", str(tmp_path))
    assert names(Path("~/notes")) == ["a.txt"]


def test_the_example_documents_are_as_they_were() -> None:
    documents = list(CorpusSource.from_files(EXAMPLES / "docs"))
    assert len(documents) == 7
    titles = {document.id: document.title for document in documents if isinstance(document, Document)}
    assert list(titles.items()) == [
        ("api-guide.md", "Partner API guide"),
        ("employee-handbook.md", "Employee handbook"),
        ("faq.txt", "faq.txt"),
        ("incident-2025-03-checkout-outage.md", "Incident: checkout outage of 14 March 2025"),
        ("returns-policy.md", "Returns and refunds policy"),
        ("security-policy.md", "Information security policy"),
        ("shipping-guide.md", "Shipping guide"),
    ]

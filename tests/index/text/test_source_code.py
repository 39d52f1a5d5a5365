"""Source code that is cut at functions and classes."""

from __future__ import annotations

import itertools

import pytest

from shortlist import Document
from shortlist.index.text import source_code
from shortlist.index.text.chunking import split
from shortlist.index.text.source_code import find_sections


@pytest.mark.parametrize(
    ("suffix", "code", "names"),
    [
        (".py", "import x\n\n\n@deco\nclass A:\n    y = 1\n\n    def b(self): ...\n", ["", "A", "A.b"]),
        (".js", "class A { b() {} }\nconst f = () => 1;\nconst n = 2;", ["A", "A.b", "f", ""]),
        (".ts", "export class A { b(): void {} }", ["A", "A.b"]),
        (".go", "package a\n// Close it.\nfunc (c *Client) Close() {}\n", ["", "Client.Close"]),
        (".rs", "impl A {\n  fn b(&self) {}\n}\nfn c() {}", ["A", "A.b", "c"]),
        (".java", "class A { void b() {} }", ["A", "A.b"]),
        (".cpp", "namespace a { class B { void c() {} }; }\nint C::d() { return 1; }", ["a", "a.B", "a.B.c", "C.d"]),
        (".c", "#ifdef X\nstatic int *b(int a) { return 0; }\n#endif", ["", "b", ""]),
        (".cs", "namespace N { class A { void B() {} } }", ["N", "N.A", "N.A.B"]),
        (".rb", "module M\n class A\n  def b\n  end\n end\nend", ["M", "M.A", "M.A.b"]),
        (".php", "<?php\nclass A { function b() {} }", ["", "A", "A.b"]),
        (".sh", "f() { echo 1; }", ["f"]),
    ],
)
def test_definitions_are_named_by_what_contains_them(suffix: str, code: str, names: list[str]) -> None:
    sections = find_sections(code, suffix, 1)
    assert [section.name for section in sections] == names
    assert all(first.end <= second.start for first, second in itertools.pairwise(sections))


def test_a_small_class_is_one_part_and_a_comment_belongs_to_what_it_is_above() -> None:
    code = "x = 'ä€😀'\n\n# About A.\nclass A:\n    def b(self): ...\n"
    assert [code[part.start : part.end].strip() for part in find_sections(code, ".py", 100)] == [
        "x = 'ä€😀'",
        "# About A.\nclass A:\n    def b(self): ...",
    ]


def test_passages_of_code_are_cited_by_line_and_named() -> None:
    body = "".join(f"    total += {number}\n" for number in range(40))
    code = f"import x\n\n\nclass Client:\n    def open(self):\n{body}\n    def close(self):\n{body}"
    lines = code.splitlines()
    pieces = split(Document("a.py", "a.py", code, kind="file", source="/a.py"), size=800, overlap=100)
    assert (pieces[0].locator, pieces[0].context) == ("line=1-1;offset=0", "")
    close = [piece for piece in pieces if piece.context == "Client.close"]
    assert close[0].locator.startswith(f"line={lines.index('    def close(self):') + 1}-")
    for piece in pieces:
        first, _, last = piece.locator.partition(";")[0].removeprefix("line=").partition("-")
        assert "\n".join(lines[int(first) - 1 : int(last)]).strip().endswith((piece.text or "").splitlines()[-1])


@pytest.mark.parametrize(("suffix", "code"), [(".txt", "def a(): ..."), (".py", "x" * (source_code.MAX_BYTES + 1))])
def test_other_and_huge_files_are_text(suffix: str, code: str) -> None:
    assert find_sections(code, suffix, 1) == []


def test_code_is_text_without_its_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(source_code.GRAMMARS, ".zz", ("tree_sitter_missing", "language"))
    assert find_sections("def a(): ...", ".zz", 1) == []


def test_broken_code_is_cut_where_it_can_be() -> None:
    assert find_sections("def a(:\n  ((((\n\x00 class", ".py", 1)


def test_each_definition_has_the_comments_right_above_it() -> None:
    code = "# Far.\n\n# One.\n# Two.\ndef a(): ...\ndef b(): ...\n# Of c.\ndef c(): ..."
    parts = [code[part.start : part.end].strip() for part in find_sections(code, ".py", 1)]
    assert parts == ["# Far.", "# One.\n# Two.\ndef a(): ...", "def b(): ...", "# Of c.\ndef c(): ..."]

"""Manual pages with the macros of man and mdoc."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shortlist import Document, SourceError
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.sources.formats import roff
from shortlist.sources.formats.manual import render_manual
from tests.sources.samples import read, reason

PAGE = r""".\" A comment
.TH PACK 1 "May 2026" "pack 2.1" "User Commands"
.SH NAME
pack \- put files into a box
.SH OPTIONS
.TP
\fB\-q\fR, \fB\-\-quiet\fR
Print nothing but
errors.
.TP
.BI \-\-size= N
The size of a box in MB.
The default is 40.
.SH "EXIT STATUS"
.IP 0 4
All went well.
.SH SEE ALSO
.BR tar (1)
"""
SHOWN = """PACK(1)  User Commands  PACK(1)

NAME
       pack - put files into a box

OPTIONS
       -q, --quiet
              Print nothing but errors.

       --size=N
              The size of a box in MB. The default is 40.

EXIT STATUS
       0
              All went well.

SEE ALSO
       tar(1)"""


def render(body: str) -> str:
    """What a page with the macros of man shows below its first heading."""
    return render_manual(f".TH A 1\n.SH B\n{body}").partition("\nB\n")[2]


def render_mdoc(body: str) -> str:
    return render_manual(f".Dd May 1, 2026\n.Dt A 1\n.Os\n.Sh B\n{body}").partition("\nB\n")[2]


@pytest.mark.parametrize(("name", "data"), [("pack.1", PAGE.encode()), ("pack.1.gz", gzip.compress(PAGE.encode()))])
def test_a_manual_page_is_a_document_titled_by_its_name_and_purpose(tmp_path: Path, name: str, data: bytes) -> None:
    (found,) = read(tmp_path, name, data)
    assert isinstance(found, Document)
    assert (found.id, found.title, found.content) == (name, "pack - put files into a box", SHOWN)


def test_options_are_definitions() -> None:
    definitions = {unit.key: unit.text for unit in split_units(SHOWN) if unit.kind == "definition"}
    assert definitions["-q, --quiet"] == "-q, --quiet Print nothing but errors."
    assert definitions["--size=N"] == "--size=N The size of a box in MB."


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (r"caf\('e \(em \[u20AC] \*(lqx\*(rq \e \N'65'", r"       café — € “x” \ A"),
        (".nf\na  b\n  c\n.fi\nd\ne", "       a  b\n         c\n       d e"),
        (".RS 4\n.IP \\(bu 2\none\n.RE\ntwo", "           • one\n       two"),
        (".TP\n.B \\-a\n.TQ\n.B \\-b\nBoth.", "       -a\n       -b\n              Both."),
        (".SS C\nText.", "   C\n       Text."),
        (".UR http://a.example\na page\n.UE .", "       a page <http://a.example>."),
        (".EQ\nx over y\n.EN\nText.", "       Text."),
        (".B bold\\c\n.I italic", "       bolditalic"),
        (".TS\ntab(|);\ncb cb\nl l.\nA|B\n1|T{\ntwo\nlines\nT}\n.TE",
         "       | A | B |\n       |---|---|\n       | 1 | two lines |"),
        (".TS\nl l.\nA\tB\n1\t2\n.TE", "       A    B\n       1    2"),
    ],
)  # fmt: skip
def test_macros_of_man_are_shown_as_text(body: str, shown: str) -> None:
    assert render(body) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (".if n yes\n.if t no", "       yes"),
        (".ie t \\{\\\nno\n.\\}\n.el \\{\\\nyes\n.\\}", "       yes"),
        (".if !\\n(.g no\n.if \\n(.g>0 yes", "       yes"),
        (".if 'a'a' yes", "       yes"),
        (".de Say\nSaid \\\\$1.\n..\n.Say it", "       Said it."),
        (".ds x value\n\\*x of \\*[x]", "       value of value"),
        (".ig\nno\n..\nyes", "       yes"),
    ],
)
def test_conditions_and_macros_of_a_page_are_followed(body: str, shown: str) -> None:
    assert render(body) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (".Fl a , Fl -all", "       -a, --all"),
        (".Op Fl f Ar file", "       [-f file]"),
        (".Oo Fl v Oc Ns Ar x", "       [-v]x"),
        ("See\n.Xr tar 1 .", "       See tar(1)."),
        (".Pq Dq a b ,", "       (“a b”),"),
        (".Sm off\n.Ar user No @ Ar host\n.Sm on", "       user@host"),
        (".Bl -tag -width x\n.It Fl a\nAll.\n.It Fl b\nBoth.\n.El\nEnd.",
         "       -a\n              All.\n\n       -b\n              Both.\n       End."),
        (".Bl -enum -compact\n.It\none\n.It\ntwo\n.El", "       1. one\n       2. two"),
        (".Bl -column a b\n.It a Ta b\n.El", "       a   b"),
        (".Bd -literal -offset indent\na  b\n.Ed\nc", "           a  b\n       c"),
        (".Dl a b\n.Ex -std x", "           a b\n       The x utility exits 0 on success, and >0 if an error occurs."),
        (".Fo open\n.Fa path\n.Fc\n.Fn close fd", "       open(path) close(fd)"),
    ],
)  # fmt: skip
def test_macros_of_mdoc_are_shown_as_text(body: str, shown: str) -> None:
    assert render_mdoc(body) == shown


def test_a_file_that_is_only_named_like_a_page_is_text_or_skipped(tmp_path: Path) -> None:
    (log,) = read(tmp_path, "syslog.1", "Nov 3 10:00 started\n")
    assert isinstance(log, Document)
    assert (log.kind, log.content) == ("file", "Nov 3 10:00 started\n")
    assert not [found for found in read(tmp_path, "syslog.2.gz", gzip.compress(b"text")) if isinstance(found, Document)]
    assert reason(tmp_path, "a.1.gz", b"\x1f\x8bbroken").startswith("It is damaged: ")


@pytest.mark.parametrize(
    "text",
    [
        "Chapter one.\n'so he said\nand left\n",
        ".SH NAME\nfoo - bar\n",
        ".if t .TH A 1\n",
        "'so it goes on\n" + "line\n" * 200_001,
    ],
)
def test_text_without_the_title_of_a_page_is_indexed_as_it_is(tmp_path: Path, text: str) -> None:
    (found,) = read(tmp_path, "chapter.1", text)
    assert isinstance(found, Document)
    assert found.content == text


def test_a_file_that_only_names_another_page_is_skipped(tmp_path: Path) -> None:
    assert not read(tmp_path, "link.3", '.\\" Moved\n.so man3/printf.3\n')


def test_text_above_the_title_of_a_page_is_shown_first() -> None:
    assert render_manual("Free to\ncopy.\n.nh\n.TH A 1\n.SH B\nText.").startswith("Free to copy.\n\nA(1)    A(1)\n")
    assert render_manual("Free to\ncopy.\n.Dd May 1, 2026\n.Dt A 1\n").startswith("Free to copy.\n\nA(1)    A(1)")


@pytest.mark.parametrize("page", [".de a\n.a\n.a\n..\n.a", ".de a\nx\n.a\n..\n.a"])
def test_a_macro_that_calls_itself_ends(tmp_path: Path, page: str) -> None:
    assert "lines" in reason(tmp_path, "a.1", f".TH A 1\n.SH B\n{page}")


@pytest.mark.parametrize(
    "page",
    [
        ".de a\n.a \\$1\\$1\n..\n.a word",
        ".de a\n.a \\$* \\$*\n..\n.a word",
        ".ds x " + "y" * 1000 + "\n" + "\\*x" * 200,
        ".de a\n" + ("b" * 1000 + "\n") * 200 + "..\n.a",
        ".if n " * 1000,
    ],
)
def test_a_page_that_expands_to_too_many_characters_is_refused(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roff, "MAX_EXPANDED", 100_000)
    with pytest.raises(SourceError, match="100,000 characters"):
        render(page)


@pytest.mark.parametrize("opening", ["\\[", "\\*[", "\\f[", "\\h'", "\\o'a", "\\s'"])
def test_an_escape_without_a_near_end_leaves_the_text(opening: str) -> None:
    assert len(render(f"{opening}{'a ' * 300}]'").split()) >= 299


def test_lines_are_glued_up_to_a_length() -> None:
    assert [len(word) for word in render(("a" * 6000 + "\\c\n") * 3).split()] == [12_000, 6000]

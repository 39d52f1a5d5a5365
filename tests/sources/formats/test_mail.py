"""Messages of EML, MBOX and MSG files, and what is attached to them."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path
from types import SimpleNamespace

import pytest

from shortlist import Document, Problem
from shortlist.sources.decoding import File
from shortlist.sources.document_formats import read_attachment
from shortlist.sources.formats import mail
from tests.sources.samples import docx, pdf, read, reason


def message(subject: str = "Überfällig", text: str = "Grüße\n") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Lars <lars@example.org>", "astrid@example.org", subject
    made["Date"] = "Tue, 3 Nov 2026 10:00:00 +0100"
    made.set_content(text, cte="base64")
    return made


HEAD = "From: Lars <lars@example.org>\nTo: astrid@example.org\nDate: Tue, 03 Nov 2026 10:00:00 +0100\n"


def test_a_message_has_its_headers_and_its_decoded_text(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "a.eml", message().as_bytes())
    assert isinstance(found, Document)
    assert (found.title, found.content) == ("Überfällig", f"{HEAD}Subject: Überfällig\n\nGrüße")
    assert found.metadata["from"] == "Lars <lars@example.org>"


def test_a_message_in_html_is_read_as_a_reader_sees_it(tmp_path: Path) -> None:
    made = message()
    made.set_content("<style>p{}</style><p>One <b>two</b>", subtype="html")
    (found,) = read(tmp_path, "a.eml", made.as_bytes())
    assert isinstance(found, Document)
    assert found.content.endswith("\n\nOne two")


def test_attachments_are_documents_below_the_message(tmp_path: Path) -> None:
    made, inner = message("Offer"), message("Inner")
    made.add_attachment(docx(["# Prices"]), "application", "x", filename="..\\prices;1.docx")
    made.add_attachment(pdf(["One.", "Two."]), "application", "pdf", filename="b.pdf")
    made.add_attachment(b"broken", "application", "pdf", filename="b.pdf")
    made.add_attachment(b"\x89PNG\0\0", "image", "png", filename="logo.png")
    made.add_attachment("Notes.", filename="n.txt")
    inner.add_attachment("Only once.", filename="inner.txt")
    made.add_attachment(inner)
    found = read(tmp_path, "a.eml", made.as_bytes())
    assert [item.id for item in found] == [
        "a.eml",
        "a.eml#attachment=prices,1.docx",
        "a.eml#attachment=b.pdf;page=1",
        "a.eml#attachment=b.pdf;page=2",
        "a.eml#attachment=b.pdf (2)",
        "a.eml#attachment=n.txt",
        "a.eml#attachment=Inner.eml",
        "a.eml#attachment=Inner.eml;attachment=inner.txt",
    ]
    assert isinstance(found[0], Document)
    assert "Attachments: prices;1.docx, b.pdf, b.pdf, logo.png, n.txt, Inner.eml" in found[0].content
    assert isinstance(found[1], Document)
    assert (found[1].title, found[1].locator) == ("Offer > Prices", "attachment=prices,1.docx")
    assert isinstance(found[4], Problem)
    assert "b.pdf: It is damaged" in found[4].reason


def test_each_message_of_a_mailbox_is_a_document(tmp_path: Path) -> None:
    box = b"".join(b"From x\n" + message(name, ">From here on\n").as_bytes() + b"\n" for name in ("One", "Two"))
    quoted = b"From x\nSubject: Three\n\n>From here on\n"
    found = read(tmp_path, "a.mbox", box + quoted)
    assert [(item.id, item.title) for item in found if isinstance(item, Document)] == [
        ("a.mbox#message=1", "One"),
        ("a.mbox#message=2", "Two"),
        ("a.mbox#message=3", "Three"),
    ]
    assert isinstance(found[2], Document)
    assert found[2].content == "Subject: Three\n\nFrom here on"


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.eml", b"no headers", "It is not a message"),
        ("a.eml", b"\0\1", "It is binary"),
        ("a.mbox", b"no box", "It is damaged or not an mbox"),
        ("a.msg", b"no msg", "It is damaged or not a message of Outlook"),
    ],
)
def test_what_is_not_mail_is_a_problem(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    assert reason(tmp_path, name, data).startswith(said)


def test_a_message_of_outlook_is_like_one_of_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import oxmsg

    person = SimpleNamespace(name="Astrid", email_address="astrid@example.org")
    attachment = SimpleNamespace(file_name="n.txt", file_bytes=b"Notes.")
    opened = SimpleNamespace(
        sender="lars@example.org",
        recipients=[person],
        sent_date=None,
        subject="Offer",
        body="Hello.\r\n",
        html_body=None,
    )
    opened.attachments = [attachment]
    monkeypatch.setattr(oxmsg.Message, "load", lambda _: opened)
    path = tmp_path / "a.msg"
    path.write_bytes(b"x")
    first, second = mail.read_msg(read_attachment, File(path, "a.msg", str(path)))
    assert isinstance(first, Document)
    head = "From: lars@example.org\nTo: Astrid <astrid@example.org>\nSubject: Offer\nAttachments: n.txt"
    assert first.content == f"{head}\n\nHello."
    assert second.id == "a.msg#attachment=n.txt"


def test_headers_and_names_of_attachments_have_no_control_characters(tmp_path: Path) -> None:
    data = (
        b"From: =?utf-8?q?a=1b]0;b=07?= <a@b.c>\r\nSubject: =?utf-8?q?c=1b[31m=E2=80=AEd?=\r\n"
        b"Content-Type: multipart/mixed; boundary=z\r\n\r\n--z\r\nContent-Type: text/plain\r\n\r\nText.\r\n"
        b'--z\r\nContent-Type: text/plain; name="=?utf-8?q?e=1b[2J=0af.md?="\r\n\r\nAttached.\r\n--z--\r\n'
    )
    found = read(tmp_path, "a.eml", data)
    shown = [str(value) for one in found if isinstance(one, Document) for value in (one.id, one.title, one.metadata)]
    shown += [line for one in found if isinstance(one, Document) for line in one.content.splitlines()]
    assert len(found) == 2
    assert all(map(str.isprintable, shown))

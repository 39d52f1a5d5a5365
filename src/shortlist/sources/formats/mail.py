"""Documents from mail: one for each message of EML, MSG and MBOX files, and those of its attachments."""

from __future__ import annotations

import email
import email.policy
import io
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from shortlist._text import printable
from shortlist.documents import Document, Problem
from shortlist.errors import MissingExtra, SourceError, import_extra
from shortlist.sources.decoding import MAX_BYTES, File, decode, explain_error, is_binary
from shortlist.sources.formats.html import render_html

MAX_MESSAGE = 100 << 20
MAX_ATTACHMENTS = 1000  # of a message
MAX_NESTED = 5  # messages that are attached to messages

Reader = Callable[[File], Iterator[Document | Problem]]


class _Message(NamedTuple):
    headers: dict[str, str]
    text: str
    page: str | bytes  # HTML, which is read if there is no text
    attachments: list[tuple[str, bytes]]  # name and content


def read_eml(read_attachment: Reader, file: File) -> Iterator[Document | Problem]:
    data = file.read(MAX_MESSAGE)
    if is_binary(data):
        raise SourceError("It is binary, not a message.")
    message = _parse(data)
    if not message.headers:
        raise SourceError("It is not a message: it has none of the headers From, To, Date and Subject.")
    yield from _read(message, file, "whole", read_attachment)


def read_mbox(read_attachment: Reader, file: File) -> Iterator[Document | Problem]:
    with file.open() as lines:
        for number, data in enumerate(_split_mbox(lines), 1):
            place = f"message={number}"
            if len(data) > MAX_MESSAGE:
                yield file.make_problem(place, f"Message {number} is larger than {MAX_MESSAGE >> 20} MB.")
                continue
            try:
                yield from _read(_parse(data), file, place, read_attachment, message=number)
            except Exception as error:  # the other messages are still read
                yield file.make_problem(place, f"Message {number}: {explain_error(error)}")


def read_msg(read_attachment: Reader, file: File) -> Iterator[Document | Problem]:
    oxmsg = import_extra("oxmsg", "documents", "Reading MSG")
    try:
        found = oxmsg.Message.load(io.BytesIO(file.read(MAX_MESSAGE)))
        people = [f"{one.name} <{one.email_address}>" for one in found.recipients]
        fields = {
            "From": found.sender,
            "To": ", ".join(people),
            "Date": found.sent_date.strftime("%a, %d %b %Y %H:%M") if found.sent_date else "",
            "Subject": found.subject,
        }
        attachments = [(one.file_name or "unnamed", one.file_bytes or b"") for one in found.attachments]
        headers = {name: str(value).strip("\0 ") for name, value in fields.items() if value}
        message = _Message(headers, found.body or "", found.html_body or "", attachments)
    except Exception as error:
        raise SourceError(f"It is damaged or not a message of Outlook: {error}.") from None
    yield from _read(message, file, "whole", read_attachment)


def _split_mbox(lines: Any) -> Iterator[bytes]:
    """The messages, each of which follows a line that begins with "From " and an empty one."""
    message: list[bytes] | None = None
    was_empty, size = True, 0
    for line in lines:
        if was_empty and line.startswith(b"From "):
            if message is not None:
                yield b"".join(message)
            message, size = [], 0
        elif message is None and line.strip():
            raise SourceError('It is damaged or not an mbox: its first line does not start with "From ".')
        elif message is not None and size <= MAX_MESSAGE:
            message.append(line[1:] if line.lstrip(b">").startswith(b"From ") and line.startswith(b">") else line)
            size += len(line)
        was_empty = not line.strip()
    if message is not None:
        yield b"".join(message)


def _parse(data: bytes) -> _Message:
    parsed = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(parsed, EmailMessage)
    names = ("From", "To", "Cc", "Date", "Subject")
    headers = {name: " ".join(str(parsed[name]).split()) for name in names if parsed[name]}
    plain, page = parsed.get_body(("plain",)), parsed.get_body(("html",))
    attachments: list[tuple[str, bytes]] = []
    inside: set[int] = set()  # parts of messages that are attached
    for part in parsed.walk():
        name = part.get_filename()
        if id(part) in inside:
            continue
        if part.get_content_type() == "message/rfc822" and isinstance(part.get_payload(), list):
            inner: Any = part.get_payload(0)
            inside |= {id(one) for one in inner.walk()}
            attachments.append((name or f"{inner['Subject'] or 'message'}.eml", inner.as_bytes()))
        elif name and not part.is_multipart():
            content: Any = part.get_payload(decode=True)
            attachments.append((name, content or b""))
    return _Message(headers, _content_of(plain), _content_of(page), attachments[:MAX_ATTACHMENTS])


def _content_of(part: Any) -> str:
    return "" if part is None else decode(part.get_payload(decode=True) or b"", part.get_content_charset() or "")


def _read(
    message: _Message, file: File, place: str, read_attachment: Reader, /, **facts: int
) -> Iterator[Document | Problem]:
    """A message, and the documents of its attachments."""
    text, problem = message.text, ""
    if not text.strip() and message.page:
        try:
            _, text = render_html(message.page)
        except MissingExtra as error:
            problem = str(error)
    text = "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").splitlines()).strip()
    headers = {name: printable(value) for name, value in message.headers.items()}
    names = [PurePosixPath(PureWindowsPath(printable(name)).name).name or "unnamed" for name, _ in message.attachments]
    shown = [f"{name}: {value}" for name, value in headers.items()]
    shown += [f"Attachments: {', '.join(names)}"] if names else []
    subject = headers.get("Subject") or file.path.name
    facts_of_headers = {name.lower(): headers[name] for name in ("From", "Date") if name in headers}
    content = "\n".join(shown) + "\n\n" + text
    yield file.make_document("page", subject, content, place, **facts_of_headers, **facts)
    if problem:
        yield file.make_problem(place, problem)
    if file.within.count("attachment=") >= MAX_NESTED:
        return
    seen: dict[str, int] = {}
    for name, (_, data) in zip(names, message.attachments, strict=True):
        seen[name] = seen.get(name, 0) + 1
        number = f" ({seen[name]})" if seen[name] > 1 else ""
        within = file.locate(place if place != "whole" else "")
        within = "" if within == "whole" else f"{within};"
        part = file._replace(path=Path(name), data=data, within=f"{within}attachment={_escape(name)}{number}")
        yield from _read_part(part, subject, read_attachment)


def _escape(name: str) -> str:
    return name.replace(";", ",").replace("#", "_")


def _read_part(file: File, subject: str, read_attachment: Reader) -> Iterator[Document | Problem]:
    """The documents of an attachment, whose titles begin with the subject."""
    try:
        if file.size > MAX_BYTES * 10:
            raise SourceError(f"It is larger than {MAX_BYTES * 10 >> 20} MB.")
        for item in read_attachment(file):
            if isinstance(item, Document):
                if not item.content.strip():
                    continue
                values = {name: getattr(item, name) for name in Document.__slots__}
                item = Document(**{**values, "title": f"{subject} > {item.title or file.path.name}"})
            yield item
    except Exception as error:  # the message and the other attachments are still read
        yield file.make_problem("whole", f"The attachment {file.path.name}: {explain_error(error)}")

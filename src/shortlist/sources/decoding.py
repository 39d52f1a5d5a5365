"""Bytes of a file as text in any encoding, with limits on size."""

from __future__ import annotations

import codecs
import importlib
import re
import zipfile
from pathlib import Path
from typing import IO, Any, NamedTuple

from shortlist.documents import Document
from shortlist.errors import MissingExtra, SourceError

MAX_BYTES = 10 << 20  # of a file that is read as one text
MAX_UNPACKED = 1 << 30  # of an office file, which is a zip archive

_CHUNK = 1 << 20
_SAMPLE = 1 << 16
_HEAD = 8192

_BYTE_ORDER_MARKS: dict[str, tuple[bytes, ...]] = {
    "utf-8-sig": (codecs.BOM_UTF8,),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_WESTERN = "cp1252"
_LATIN = (_WESTERN, "cp1250")
_LEGACY = [
    *_LATIN, "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874",
    "shift_jis", "euc_jp", "euc_kr", "gb18030", "big5",
]  # fmt: skip
_FOREIGN = re.compile(r"[^\x00-\x7f\ufffd]")
_LETTERS = re.compile(rb"[A-Za-z\x80-\xff]")
_HIGH = re.compile(rb"[\x80-\xff]")
_WESTERN_SHARE = 0.3  # of letters outside ASCII; a text that has more is in another script


class File(NamedTuple):
    """A file to be read: its path, its id, which is the path below its folder, and where it lies in full."""

    path: Path
    id: str
    source: str

    def document(self, text: str, title: str, kind: str) -> Document:
        """The whole of it as one document."""
        return Document(self.id, title, text, metadata={"path": self.source}, kind=kind, source=self.source)

    def part(
        self, locator: str, text: str, title: str, kind: str, keywords: list[str] | None = None, **facts: Any
    ) -> Document:
        """A page or row of it, whose id begins with that of the file."""
        metadata = {"path": self.source, **facts}
        id = f"{self.id}#{locator}"
        return Document(id, title, text, keywords, metadata, kind=kind, source=self.source, locator=locator)


def optional(module: str, package: str, purpose: str) -> Any:
    """A module of the extra `documents`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(package, "documents", purpose) from error


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    check_size(path.stat().st_size, limit)
    return path.read_bytes()


def check_size(size: int, limit: int = MAX_BYTES) -> None:
    if size > limit:
        raise SourceError(f"It is larger than {limit >> 20} MB.")


def read_text(path: Path) -> str:
    return decode(path.read_bytes())


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_HEAD] and not _marked(data)


def decode(data: bytes, declared: str = "") -> str:
    """The text of bytes in UTF-8, as their byte order mark says, as they declare, or in the likeliest old encoding."""
    encoding = _marked(data)
    if encoding:
        return data.decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
    try:
        return data.decode(declared)
    except (LookupError, UnicodeError):
        return data.decode(_guess(data, at), errors="replace")


def open_text(path: Path, newline: str | None = None) -> IO[str]:
    """Open a file that may be too large to hold in memory; the first bytes that are not UTF-8 decide its encoding."""
    return path.open(encoding=_encoding_of(path), errors="replace", newline=newline)


def _encoding_of(path: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        encoding = _marked(file.read(4))
        if encoding:
            return encoding
        file.seek(0)
        while chunk := file.read(_CHUNK):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                return _guess(chunk, error.start)
    return "utf-8"


def _marked(data: bytes) -> str:
    return next((encoding for encoding, marks in _BYTE_ORDER_MARKS.items() if data.startswith(marks)), "")


def _guess(data: bytes, at: int) -> str:
    """The encoding of text that is not UTF-8 at a place: a damaged UTF-8, else an old encoding, Western if in doubt."""
    sample = data[data.rfind(b"\n", 0, at) + 1 :][:_SAMPLE]
    sample = sample[: sample.rfind(b"\n") + 1] or sample  # whole lines, as a cut inside a character would mislead
    text = sample.decode("utf-8", errors="replace")
    if len(_FOREIGN.findall(text)) > text.count("\ufffd"):
        return "utf-8"
    try:
        normalizer = optional("charset_normalizer", "charset-normalizer", "Guessing an encoding")
    except MissingExtra:
        return _WESTERN
    found = normalizer.from_bytes(sample, cp_isolation=_LEGACY)
    other_script = len(_HIGH.findall(sample)) > _WESTERN_SHARE * len(_LETTERS.findall(sample))
    likely = [match for match in found if match.coherence > 0 or (other_script and match.encoding not in _LATIN)]
    if not likely:
        return _WESTERN
    best = min(likely, key=lambda match: (match.chaos, -match.coherence, match.encoding != _WESTERN))
    return _WESTERN if _WESTERN in best.could_be_from_charset else str(best.encoding)


def check_zip(path: Path) -> None:
    """Refuse what is no zip archive, or would fill the memory when unpacked."""
    if not path.stat().st_size:
        raise SourceError("It is empty.")
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        reasons = "damaged, protected by a password, or not of the format that its name says"
        raise SourceError(f"It is {reasons}: it is no zip archive.") from None
    if unpacked > MAX_UNPACKED:
        raise SourceError(f"It holds more than {MAX_UNPACKED >> 20} MB when unpacked.")

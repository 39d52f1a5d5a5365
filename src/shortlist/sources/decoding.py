"""Bytes of a file as text in any encoding, with limits on size."""

from __future__ import annotations

import codecs
import io
import mimetypes
import re
import zipfile
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from shortlist.documents import Document, Problem
from shortlist.errors import MissingExtra, ShortlistError, SourceError, import_extra
from shortlist.safety.untrusted_files import read_regular_file

MAX_BYTES = 10 << 20  # of a file that is read as one text
MAX_UNPACKED = 1 << 30  # of an office file, which is a zip archive

OCR_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")

_SAMPLE = 1 << 16
_CONTROL = bytes({*range(32)} - set(b"\a\b\t\n\v\f\r\x1b"))  # text has none of them, random bytes a tenth
_TEXT_SHARE = 0.97
_BYTE_ORDER_MARKS: dict[str, tuple[bytes, ...]] = {
    "utf-8-sig": (codecs.BOM_UTF8,),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_WESTERN = "cp1252"
_LATIN = (_WESTERN, "cp1250")
_LEGACY = [*_LATIN, "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874"]
_LEGACY += ["shift_jis", "euc_jp", "euc_kr", "gb18030", "big5"]
_WESTERN_SHARE = 0.3  # of letters outside ASCII; a text that has more is in another script


class File(NamedTuple):
    """A file to read: its path, its id (the path below its folder), and its full path.

    An attachment of a message has its data here, and a locator that precedes those of its parts.
    """

    path: Path
    id: str
    source: str
    data: bytes | None = None
    within: str = ""
    ocr: bool = False

    def open(self) -> BinaryIO:
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    def read(self, limit: int = MAX_BYTES) -> bytes:
        return read_bytes(self.path, limit) if self.data is None else self.data

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.data is None else len(self.data)

    def locate(self, locator: str) -> str:
        """The locator of a part of the file, or "whole"."""
        return ";".join(part for part in (self.within, locator) if part not in ("", "whole")) or "whole"

    def id_of(self, locator: str) -> str:
        place = self.locate(locator)
        return self.id if place == "whole" else f"{self.id}#{place}"

    def make_document(
        self, kind: str, title: str, text: str, locator: str = "whole", *keywords: str, **facts: Any
    ) -> Document:
        """A document for the file, or for one page or row, whose id starts with the id of the file."""
        return Document(
            self.id_of(locator),
            title,
            text,
            list(keywords),
            {"path": self.source, **facts},
            kind=kind,
            source=self.source,
            locator=self.locate(locator),
        )

    def make_problem(self, locator: str, reason: str) -> Problem:
        """A part of the file that cannot be read. It has no source, as the other parts are up to date."""
        return Problem(self.id_of(locator), reason)


def explain_error(error: Exception) -> str:
    """Why a file cannot be read."""
    if isinstance(error, ShortlistError):
        return str(error)
    reason = error.strerror or error if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return f"It cannot be read: {reason}."


def describe_skipped(file: File) -> str:
    """Why nothing of a file is indexed, though it can be read."""
    try:
        if not file.size:
            return "It is empty."
    except OSError:  # it was deleted
        pass
    suffix = file.path.suffix.lower()
    kind = (mimetypes.guess_type(f"x{suffix}", strict=False)[0] or "").partition("/")[0]
    shown = {"image": "a picture", "audio": "audio", "video": "a video", "font": "a font"}.get(kind, "binary")
    if kind == "image" and suffix in OCR_SUFFIXES and not file.ocr:
        return f"It is a picture ({suffix}). To read its text, build the corpus with ocr=True (--ocr)."
    return f"It is {shown} ({suffix}) or has no text." if suffix else "It is binary or has no text."


def check_size(path: Path, limit: int = MAX_BYTES) -> None:
    if path.stat().st_size > limit:
        raise SourceError(f"It is larger than {limit >> 20} MB.")


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    check_size(path, limit)
    return read_regular_file(path, limit=limit)


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """The text of a file; empty if it is binary."""
    data = read_bytes(path, limit)
    return "" if is_binary(data) else decode(data)


def is_binary(data: bytes) -> bool:
    start = data[:8192]
    is_text = b"\0" not in start and len(start.translate(None, _CONTROL)) >= _TEXT_SHARE * len(start)
    return not is_text and not _marked_encoding(data)


def decode(data: bytes, declared: str = "") -> str:
    """Decode by byte order mark, as UTF-8, in the declared encoding, or in the most likely legacy encoding."""
    if encoding := _marked_encoding(data):
        return data.decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
    try:
        return data.decode(declared)
    except (LookupError, UnicodeError):
        return data.decode(_guess_encoding(data, at), errors="replace")


def open_text(path: Path, newline: str | None = None) -> IO[str]:
    """Open a file that may not fit into memory. The first bytes that are not UTF-8 decide its encoding."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        encoding = _marked_encoding(file.read(4))
        file.seek(0)
        while not encoding and (chunk := file.read(1 << 20)):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                encoding = _guess_encoding(chunk, error.start)
    return path.open(encoding=encoding or "utf-8", errors="replace", newline=newline)


def _marked_encoding(data: bytes) -> str:
    return next((encoding for encoding, marks in _BYTE_ORDER_MARKS.items() if data.startswith(marks)), "")


def _guess_encoding(data: bytes, at: int) -> str:
    """The encoding of text that is not UTF-8 at a position: damaged UTF-8, or a legacy encoding (else Western)."""
    sample = data[data.rfind(b"\n", 0, at) + 1 :][:_SAMPLE]
    sample = sample[: sample.rfind(b"\n") + 1] or sample  # whole lines, so that no character is cut
    text = sample.decode("utf-8", errors="replace")
    if len(re.findall(r"[^\x00-\x7f\ufffd]", text)) > text.count("\ufffd"):
        return "utf-8"
    try:
        normalizer = import_extra("charset_normalizer", "documents", "Guessing an encoding")
    except MissingExtra:
        return _WESTERN
    matches = normalizer.from_bytes(sample, cp_isolation=_LEGACY)
    letters, high = re.findall(rb"[A-Za-z\x80-\xff]", sample), re.findall(rb"[\x80-\xff]", sample)
    is_other_script = len(high) > _WESTERN_SHARE * len(letters)
    likely = [match for match in matches if match.coherence > 0 or (is_other_script and match.encoding not in _LATIN)]
    if not likely:
        return _WESTERN
    best = min(likely, key=lambda match: (match.chaos, -match.coherence, match.encoding != _WESTERN))
    return _WESTERN if _WESTERN in best.could_be_from_charset else str(best.encoding)


def open_zip(file: File) -> zipfile.ZipFile:
    """Open an office file. Refuse one that is not a zip archive, or that would fill the memory when unpacked."""
    if not file.size:
        raise SourceError("It is empty.")
    try:
        archive = zipfile.ZipFile(file.path if file.data is None else io.BytesIO(file.data))
    except zipfile.BadZipFile:
        reason = "It is damaged, protected by a password, or not in the format of its extension: not a zip archive."
        raise SourceError(reason) from None
    if sum(member.file_size for member in archive.infolist()) > MAX_UNPACKED:
        archive.close()
        raise SourceError(f"It unpacks to more than {MAX_UNPACKED >> 20} MB.")
    return archive

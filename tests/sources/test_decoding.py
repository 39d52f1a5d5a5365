"""Bytes to text: byte order marks, UTF-8, what a page declares, and old encodings."""

from __future__ import annotations

import codecs
import random
from pathlib import Path

import pytest

from shortlist.sources.decoding import decode, is_binary, open_text

POLISH = "Zażółć gęślą jaźń i wszystkie inne słowa po polsku"
RUSSIAN = "Привет, мир. Это русский текст."
JAPANESE = "名前,都市\n田中,東京\n鈴木,大阪\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("plain", "ascii"),
        ("naïve 日本語 🚀", "utf-8"),
        ("naïve 日本語 🚀", "utf-8-sig"),
        ("naïve 日本語 🚀", "utf-16"),
        ("naïve 日本語 🚀", "utf-32"),
        ("café noir", "latin-1"),
        ("© 2020 Firma", "latin-1"),
        ("Ñandú – “quoted” €5", "cp1252"),
        ("name;city\nMüller;Köln\n", "cp1252"),
        ("naïve;ça\nété;où\n", "cp1252"),
        ("año,niño\nmañana,sí\n", "cp1252"),
        ("Die Straße ist schön. Überall Bäume und Vögel.", "cp1252"),
        (POLISH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift-jis"),
        ("这是中文文本，用于搜索测试。", "gb18030"),
        ("이것은 한국어 텍스트입니다. 검색 시험.", "euc-kr"),
        ("", "utf-8"),
    ],
)
def test_text_is_read_whatever_its_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert decode(data) == text
    file = tmp_path / "a.txt"
    file.write_bytes(data)
    with open_text(file, newline="") as lines:
        assert lines.read() == text


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_is_known_by_its_mark_in_either_order(order: str) -> None:
    mark = {"le": codecs.BOM_UTF16_LE, "be": codecs.BOM_UTF16_BE}[order]
    data = mark + "naïve".encode(f"utf-16-{order}")
    assert decode(data) == "naïve"
    assert not is_binary(data)


def test_a_damaged_utf8_text_loses_only_the_damaged_bytes() -> None:
    assert decode("日本語 ".encode() * 10 + b"\xff" + "日本語".encode()) == "日本語 " * 10 + "\ufffd日本語"
    assert decode("日本語".encode()[:-1]) == "日本\ufffd"
    assert decode(codecs.BOM_UTF8 + b"caf\xe9") == "caf\ufffd"


def test_a_declared_encoding_is_believed_unless_the_bytes_are_utf8_or_it_is_unknown() -> None:
    assert decode("Łódź".encode("cp1250"), "windows-1250") == "Łódź"
    assert decode("Łódź".encode(), "iso-8859-1") == "Łódź"
    assert decode(b"caf\xe9", "no-such-encoding") == "café"
    assert decode(b"caf\xe9", "utf-8") == "café"


def test_one_old_character_far_into_a_large_file_decides(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"plain,text\n" * 200_000 + b"Se\xf1or,x\n" + b"plain,text\n" * 10)
    with open_text(file) as lines:
        assert "Señor" in lines.read()
    assert "Señor" in decode(file.read_bytes())


def test_bytes_with_a_nul_near_the_beginning_are_no_text() -> None:
    assert is_binary(b"a\0b")
    assert is_binary(random.Random(1).randbytes(600).replace(b"\0", b"\1"))  # a small encrypted file
    assert not is_binary(b"\x1b[32mok\x1b[0m\r\n\f")
    assert not is_binary(b"")
    assert not is_binary(b"x" * 8192 + b"\0")

"""Inputs that no one would write: valid ones with changed bytes, changed structure and odd values."""

from __future__ import annotations

import contextlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import yaml

ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308, float("inf"), float("nan"),
    "", " ", "\0", "\ud800", "a\udfffb", "\u202e\u2066", "\ufeff", "\u2028", "İ", "ß" * 40,
    "👩‍👩‍👧‍👦" * 9, "e\u0301" * 300,
    "A" * 5000, "../../etc/passwd", "${HOME}", "%s%n", "#/a~1b/~0", "#", "#/$defs/a", "null", "2024-02-30", "9" * 30,
    "(a+)+$", "[", "$and", "*", "<a>", "-" * 80, "`" * 9, [], {}, [[]], [{}], {"": None}, {"$ref": "#"},
    {"$ref": "#/paths"}, {"$or": []}, {"$in": 3}, {"$gt": None}, ["a", 1, None], {"a": {"b": {"c": {}}}},
]  # fmt: skip
TOKENS: dict[str, list[bytes]] = {
    "any": [b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b"\t", b" ",
            b"\x1b[2J"],
    "json": [b"{", b"}", b"[", b"]", b",", b":", b'"', b'"\\ud800"', b"\\u0000", b"1e999", b"NaN", b"-", b"//", b"/*",
             b"*/", b"null", b'"a":', b"9" * 5000, b"[" * 2000, b'{"a":' * 1000],
    "yaml": [b"&a ", b"*a", b"<<: *a\n", b"- ", b"? ", b": ", b"---\n", b"...\n", b"!!binary x", b"!!set {a}", b"!x ",
             b"!!timestamp 2024-13-45", b"!!python/object:os.system ", b"|\n", b">-\n", b"%YAML 9.9\n", b"{", b"[",
             b".inf", b"0o777", b"1:2:3", b"2024-01-01", b"@", b"`", b"\t", b"[" * 500, b"- " * 500, b"{a: " * 300,
             b"&b [*b, *b]", b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"],
    "toml": [b"[", b"]", b"[[a]]\n", b"[a.b]\n", b"a.b.c = 1\n", b'"""', b"'''", b"{", b"}", b"=", b"1979-13-27", b"#",
             b"0x", b"inf", b"\\u", b'"\\U0010ffff"', b"x = [\n", b"[" * 1000, b"a." * 1000, b"a = {b = " * 200],
    "xml": [b"<", b">", b"</", b"/>", b"&amp;", b"&#x110000;", b"<!--", b"<![CDATA[",
            b"<!DOCTYPE a [<!ENTITY b 'cc'>]>",
            b"<a>" * 500, b"<table>", b"<select><option>", b"<svg><math>", b"<template>", b'r="XFD1048576"', b't="s"',
            b"<w:tbl>" * 50, b"<w:p>", b"<plaintext>", b"<frameset>", b"<td>" * 99, b"<h1>", b'xmlns="', b"<?xml"],
    "pdf": [b"<<", b">>", b"[", b"]", b"/Kids[2 0 R]", b"/Length 999999999", b"/Filter/FlateDecode", b"/Parent 2 0 R",
            b"/Count 2147483647", b"/Count -1", b"obj", b"endobj", b"stream\n", b"endstream", b"xref",
            b"1 0 R", b"6 0 R",
            b"/Filter[/ASCII85Decode/LZWDecode]", b"/Encrypt 1 0 R", b"/Type/ObjStm", b"<<" * 400, b"[" * 999, b"BT",
            b" Tj", b"q " * 200, b"/Im Do", b"99999999999999999999", b"-0.0000001", b"(\\)"],
    "csv": [b'"', b'""', b",", b";", b"\t", b"|", b"sep=,\n", b"\0\0\0", b'"a\n', b"," * 500],
    "md": [b"---\n", b"# ", b"name: ", b"description: ", b"```", b"- ", b"*a", b"&a "],
    "http": [b"%00", b"%2e%2e/", b"?", b"&", b"=", b"/", b"//", b"%ff", b"%",
             b"Content-Type: text/plain\n", b"Accept: */*\n",
             b"Host: \n", b"Authorization: Bearer x\n", b"\n\n", b"Content-Encoding: gzip\n", b"Range: bytes=-9\n",
             b"Origin: null\n", b"Mcp-Session-Id: x\n", b"Last-Event-ID: 1\n", b"limit=-1", b"offset=1e9"],
    "gitignore": [b"**", b"/", b"!", b"*", b"[", b"]", b"[!a-", b"\\", b"?", b"**/" * 12, b"*a" * 12, b"[z-a]", b"#"],
}  # fmt: skip


def change_bytes(rng: random.Random, data: bytes, kinds: Sequence[str], others: Sequence[bytes]) -> bytes:
    """Some bytes flipped, removed, repeated, replaced by tokens of the format, or taken from another input."""
    tokens = [token for kind in ("any", *kinds) for token in TOKENS[kind]]
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5, 9))):
        at = rng.randrange(len(changed) + 1)
        end = min(len(changed), at + rng.choice((1, 1, 2, 4, 16, 100)))
        way = rng.randrange(8)
        if way == 0 and changed:
            changed[at % len(changed)] ^= 1 << rng.randrange(8)
        elif way == 1:
            del changed[at:end]
        elif way == 2:
            changed[at:at] = bytes(changed[at:end]) * rng.choice((1, 2, 9, 50))
        elif way in (3, 4):
            changed[at:at] = rng.choice(tokens)
        elif way == 5:
            changed[at:end] = rng.choice(tokens)
        elif way == 6:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            changed[at:end] = other[start : start + rng.choice((4, 30, 300))]
        elif rng.random() < 0.2:
            del changed[at:]
    return bytes(changed)


def change_structure(rng: random.Random, data: Any) -> Any:
    """Plain data with some of its values replaced, removed, repeated, renamed or nested."""
    places: list[tuple[Any, Any]] = []

    def collect(inside: Any) -> None:
        for key in list(inside) if isinstance(inside, dict) else range(len(inside)):
            places.append((inside, key))
            if isinstance(inside[key], dict | list):
                collect(inside[key])

    data = {"": json.loads(json.dumps(data))}
    collect(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        inside, key = rng.choice(places)
        if (key not in inside) if isinstance(inside, dict) else key >= len(inside):
            continue  # it is gone already
        way = rng.randrange(7)
        if way <= 2:
            inside[key] = rng.choice(ODD)
        elif way == 3 and key != "":
            del inside[key]
        elif way == 4:
            inside[key] = nest(rng.choice((1, 5, 60, 200, rng.choice((200, 900)))), inside[key], rng.random() < 0.5)
        elif way == 5 and isinstance(inside, dict) and key != "":
            inside[rng.choice([odd for odd in ODD if isinstance(odd, str)])] = inside.pop(key)
        else:
            other, its_key = rng.choice(places)
            if (its_key in other) if isinstance(other, dict) else its_key < len(other):
                with contextlib.suppress(RecursionError):  # too deep to be copied
                    inside[key] = json.loads(json.dumps(other[its_key]))
    return data[""]


def depth_of(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth < 60:
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
        depth += 1
    return depth


def nest(depth: int, value: Any, in_lists: bool) -> Any:
    for _ in range(depth):
        value = [value] if in_lists else {"a": value}
    return value


def write_json(rng: random.Random, data: Any) -> bytes:
    try:
        indent = rng.choice((None, 2)) if depth_of(data) < 50 else None
        text = json.dumps(data, ensure_ascii=rng.random() < 0.5, indent=indent)
    except (RecursionError, ValueError):
        return b"[" * 100_000
    if rng.random() < 0.1 and '"' in text:  # a key twice
        at = text.index('"')
        text = f'{text[:at]}"id": 1, "id": 2, "name": [], {text[at:]}'
    return text.encode("utf-8", "surrogatepass")


def write_yaml(rng: random.Random, data: Any) -> bytes:
    try:
        is_flow = depth_of(data) > 50 or rng.choice((None, True))
        text = yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=is_flow)
    except Exception:  # not everything can be written as YAML
        return write_json(rng, data)
    return str(text).encode("utf-8", "surrogatepass")


def change_archive(rng: random.Random, data: bytes) -> bytes:
    """A ZIP archive with a changed member, or with changed bytes of its own."""
    if rng.random() < 0.25:
        return change_bytes(rng, data, ("xml",), [data])
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = [name for name in old.namelist() if name.endswith((".xml", ".rels"))]
        chosen = rng.choices(names, k=rng.choice((1, 1, 2)))
        for name in old.namelist():
            content = old.read(name)
            if name in chosen:
                if rng.random() < 0.1:
                    continue
                content = change_bytes(rng, content, ("xml",), [content])
            new.writestr(name, content, zipfile.ZIP_STORED)
    changed = out.getvalue()
    return changed[: rng.randrange(len(changed))] if rng.random() < 0.05 else changed


Make = Callable[[random.Random], bytes]


def from_bytes(seeds: Sequence[bytes], *kinds: str) -> Make:
    return lambda rng: change_bytes(rng, rng.choice(seeds), kinds, seeds)


def from_data(seeds: Sequence[Any], kind: str, *texts: bytes) -> Make:
    """Half of the inputs have changed structure, the others changed bytes."""
    write = write_yaml if kind == "yaml" else write_json
    written = [*texts, *(write(random.Random(0), seed) for seed in seeds)]
    by_bytes = from_bytes(written, kind)
    return lambda rng: write(rng, change_structure(rng, rng.choice(seeds))) if rng.random() < 0.5 else by_bytes(rng)

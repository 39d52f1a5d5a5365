"""Pairs from the translated help of LibreOffice: the same paragraph has the same id in every language.

The folder holds its Debian packages, unpacked: usr/share/libreoffice/help/LANGUAGE/text. They are read for training and
never committed.
"""

from __future__ import annotations

import html
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_PART = re.compile(r'<(h[1-6]|p) id="(\w+)"[^>]*>(.*?)</\1>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
SHORTEST, LONGEST = 60, 700  # characters of a paragraph; a third of that in Chinese, Japanese and Korean
DENSE = {"zh", "ja", "ko"}


def pairs(folder: Path, most: int, random_: random.Random) -> list[tuple[str, str, str]]:
    """(query, passage, page): a heading or a sentence, and the paragraph that it belongs to in any language."""
    parts: dict[str, dict[str, dict[str, tuple[str, str]]]] = defaultdict(dict)
    for text in sorted(folder.glob("**/libreoffice/help/*/text")):
        language = text.parent.name.split("-")[0]
        for file in sorted(text.rglob("*.html")):
            parts[str(file.relative_to(text))][language] = dict(_read(file))
    found: list[tuple[str, str, str]] = []
    pages = sorted(page for page, languages in parts.items() if len(languages) > 4)
    while len(found) < most:
        page = random_.choice(pages)
        asked, said = random_.choices(sorted(parts[page]), k=2)
        said = random_.choices((asked, "en", said), (5, 3, 2))[0]
        known = {id: row for id, row in parts[page].get(said, {}).items() if id in parts[page][asked]}
        long = [id for id, (_, passage) in known.items() if _is_passage(passage, said)]
        if not long:
            continue
        id = random_.choice(long)
        heading, passage = known[id]
        asked_heading, asked_passage = parts[page][asked][id]
        query, title = asked_heading, ""
        if not query or random_.random() < 0.5:
            title = f"{heading}\n"
            sentences = re.split(r"(?<=[.!?。।])\s*", asked_passage)
            query = random_.choice(sentences).strip()
            passage = passage.replace(query, "").strip() if asked == said else passage
        if len(query) >= (4 if asked in DENSE else 12) and _is_passage(passage, said):
            found.append((query[:300], (title + passage)[:LONGEST].strip(), page))
    return found


def _is_passage(text: str, language: str) -> bool:
    return len(text) * (3 if language in DENSE else 1) >= SHORTEST


def _read(file: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """The id of each paragraph, with its heading and its text."""
    heading = ""
    for kind, id, inner in _PART.findall(file.read_text("utf-8", "replace")):
        text = " ".join(html.unescape(_TAG.sub("", inner)).split())
        if kind == "p":
            yield id, (heading, text)
        else:
            heading = text

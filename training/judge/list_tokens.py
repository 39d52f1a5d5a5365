"""The lists that the reader learns from, as texts and as token numbers.

`python -m training.judge.list_tokens LISTS OUT [--tokenizer pieces] [--measured CORPUS]` makes of LISTS, texts that
`unit_lists`, `tool_lists` and `passage_lists` wrote, joined by commas, the file for `training.judge.listwise`. It has
token numbers alone, so that a machine with an accelerator needs nothing else. `words` are for the reader of English,
`pieces`, those of the embedder `tools`, for a reader of all languages, which has no claims. CORPUS is a set in BEIR
layout, such as xquad in English: lists of squad2 with a sentence of it are left out, as translations of it are
measured.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import beir
from shortlist.index.embedders.cross_encoder import ANSWER, CLAIM, MOST_TOKENS
from shortlist.index.embedders.models import CHARS_PER_TOKEN
from shortlist.index.embedders.tokenization import TransformerTokenizer, UnigramTokenizer, WordPieceTokenizer
from shortlist.index.embedders.tools_model import PIECES

SHORTEST_SENTENCE = 40  # characters of one that shows which passage it is from
OTHER = " other"  # ends the source of a question in another language than English

Row = tuple[str, str]  # a unit and its context, as the model reads them
Claim = tuple[Sequence[str], float]  # the texts that are read together, and the label


class UnitList(NamedTuple):
    """A question, the units of its list, the places of those that answer, where it is from, and its use."""

    question: str
    rows: list[Row]
    right: frozenset[int]
    source: str
    is_held: bool = False


def write_texts(lists: Sequence[UnitList], claims: Sequence[Claim], out: Path) -> None:
    """Each different row once, and the lists as numbers of rows."""
    rows = {row: number for number, row in enumerate(dict.fromkeys(row for one in lists for row in one.rows))}
    with lzma.open(out, "wt", preset=6, encoding="utf-8") as file:
        file.write(json.dumps({"rows": list(rows), "claims": claims}, ensure_ascii=False) + "\n")
        for one in lists:
            row = [one.question, [rows[own] for own in one.rows], sorted(one.right), one.source, one.is_held]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_texts(path: Path) -> tuple[list[UnitList], list[Claim]]:
    """What `write_texts` wrote."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        shared = json.loads(next(file))
        rows = [(text, context) for text, context in shared["rows"]]
        lists = [
            UnitList(question, [rows[at] for at in places], frozenset(right), source, is_held)
            for question, places, right, source, is_held in map(json.loads, file)
        ]
    return lists, [(parts, label) for parts, label in shared["claims"]]


def write_tokens(
    lists: Sequence[UnitList], claims: Sequence[Claim], tokenizer: TransformerTokenizer, out: Path
) -> None:
    """Token numbers: of each different row of a unit and of each question, and the lists as numbers of rows."""

    def encode(parts: Sequence[str], most: Sequence[int]) -> list[int]:
        found: list[int] = []
        for part, limit in zip(parts, most, strict=True):
            found += [*tokenizer.encode(part[: limit * CHARS_PER_TOKEN], limit), tokenizer.separator]
        return found

    rows = {row: number for number, row in enumerate(dict.fromkeys(row for one in lists for row in one.rows))}
    questions = {text: number for number, text in enumerate(dict.fromkeys(one.question for one in lists))}
    sources = sorted({one.source for one in lists})
    arrays: dict[str, Any] = {
        **_pack("rows", [encode(row, MOST_TOKENS[ANSWER][1:]) for row in rows]),
        **_pack("questions", [encode([text], MOST_TOKENS[ANSWER][:1]) for text in questions]),
        **_pack("claims", [encode(parts, MOST_TOKENS[CLAIM]) for parts, _ in claims]),
        "claim_labels": np.array([label for _, label in claims], np.float16),
        "lengths": np.array([len(one.rows) for one in lists], np.uint8),
        "list_rows": np.array([rows[row] for one in lists for row in one.rows], np.uint32),
        "list_questions": np.array([questions[one.question] for one in lists], np.uint32),
        "right": np.array([at in one.right for one in lists for at in range(len(one.rows))]),
        "is_held": np.array([one.is_held for one in lists]),
        "source": np.array([sources.index(one.source) for one in lists], np.uint16),
        "sources": np.array(sources),
        "first_token": np.array(tokenizer.first),
    }
    raw = io.BytesIO()
    np.savez(raw, **arrays)
    out.write_bytes(lzma.compress(raw.getvalue(), preset=6))


def _pack(name: str, texts: Sequence[Sequence[int]]) -> dict[str, np.ndarray[Any, Any]]:
    flat = np.fromiter((one for text in texts for one in text), np.uint32)
    kind = np.min_scalar_type(flat.max(initial=0))
    return {name: flat.astype(kind), f"{name}_lengths": np.array([len(text) for text in texts], np.uint16)}


def leave_out_measured(lists: Sequence[UnitList], measured: str) -> list[UnitList]:
    """The lists but those of squad2 with a sentence of texts that are measured."""
    return [
        one
        for one in lists
        if not one.source.startswith("squad2")
        or not any(len(text) > SHORTEST_SENTENCE and text in measured for text, _ in one.rows)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.list_tokens", description=__doc__)
    parser.add_argument("lists")
    parser.add_argument("out", type=Path)
    parser.add_argument("--tokenizer", choices=("words", "pieces"), default="words")
    parser.add_argument("--measured", type=Path)
    given = parser.parse_args()
    found = [read_texts(Path(one)) for one in given.lists.split(",")]
    lists, claims = ([one for part in parts for one in part] for parts in zip(*found, strict=True))
    if given.measured:
        lists = leave_out_measured(lists, "\n".join(one.content for one in beir.load(given.measured).documents))
    if given.tokenizer == "words":
        english = [one for one in lists if not one.source.partition(",")[0].endswith(OTHER)]
        write_tokens(english, claims, WordPieceTokenizer(), given.out)
    else:
        write_tokens(lists, [], UnigramTokenizer(PIECES), given.out)
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

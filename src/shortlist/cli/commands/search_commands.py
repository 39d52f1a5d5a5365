"""The commands that search corpora and read their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

import shortlist
from shortlist.cli.corpora import open_corpora
from shortlist.cli.output import ABSTAINED, OK, Output
from shortlist.cli.parameters import split_names
from shortlist.retrieval.disclose import read_hit


def search(out: Output, words: Sequence[str], corpus: list[str], **how: Any) -> int:
    names, query = _split_query(words, corpus)
    hits = shortlist.search(open_corpora(out, names), query, **how)
    out.show(hits.to_dict(), lambda screen: screen.show_hits(hits), [hit.id for hit in hits])
    if hits.note:
        out.note(f"shortlist: {hits.note} The results are probably unrelated.")
    return OK if hits else ABSTAINED


def discover(out: Output, words: Sequence[str], corpus: list[str], disclose: bool, level: Any, **how: Any) -> int:
    names, query = _split_query(words, corpus)
    level = level or ("body" if disclose else "metadata")
    found = shortlist.discover(open_corpora(out, names), query, level=level, **how)
    out.show(found.to_dict(), lambda screen: screen.show_discovery(found), [item.id for item in found.results])
    if "floor" in found.signals and "min_relevance" not in found.signals:  # a calibrated one that may be out of date
        out.note(f"shortlist: threshold: {found.signals['floor']}")
    return ABSTAINED if found.abstained else OK


def read(out: Output, corpus: str, ids: Sequence[str], level: Any) -> None:
    (opened,) = open_corpora(out, [corpus])
    shown = shortlist.disclose([read_hit(opened, id) for id in ids], level)
    data = [{key: value for key, value in item.to_dict().items() if key != "score"} for item in shown]
    texts = [item.body or "" for item in shown]
    out.show({"documents": data}, lambda screen: screen.show_documents(shown), texts, is_text=True)


def _split_query(words: Sequence[str], names: list[str]) -> tuple[list[str], str]:
    """The corpora and the query."""
    if not names:
        names, words = split_names(words[:1]), words[1:]
    if not names or not words:
        raise click.UsageError("The corpus or the query is missing. Example: shortlist search skills 'deploy the app'")
    return names, " ".join(words)

"""The commands that search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

import shortlist
from shortlist.cli import options
from shortlist.cli.output import ABSTAINED, OK, Output, command
from shortlist.search.disclose import read_hit

query_options = options.combine(
    click.argument("words", nargs=-1, required=True, metavar="CORPUS QUERY", shell_complete=options.complete),
    options.repeatable("--corpus", "-c", metavar="NAME", help="Corpus to search, or several separated by commas."),
    options.retrieval_options,
)


@command
@query_options
def search(out: Output, words: Sequence[str], corpus: Sequence[str], **how: Any) -> int:
    names, query = _split_query(words, corpus)
    hits = shortlist.search(options.open_corpora(out, names), query, **how)
    out.show(hits.to_dict(), lambda screen: screen.show_hits(hits), [hit.id for hit in hits])
    return OK if hits else ABSTAINED


@command
@query_options
@options.flag("--disclose", help="Show the bodies of the results.")
@click.option("--level", type=options.LEVELS, help="How much to show of each result.")
@options.min_score_option("auto")
@options.max_k_option
@options.strategy_option
def discover(out: Output, words: Sequence[str], corpus: Sequence[str], disclose: bool, level: Any, **how: Any) -> int:
    names, query = _split_query(words, corpus)
    level = level or ("body" if disclose else "metadata")
    found = shortlist.discover(options.open_corpora(out, names), query, level=level, **how)
    out.show(found.to_dict(), lambda screen: screen.show_discovery(found), [item.id for item in found.results])
    if "floor" in found.signals and "min_relevance" not in found.signals:  # a calibrated one that may be out of date
        out.note(f"shortlist: the floor: {found.signals['floor']}")
    return ABSTAINED if found.abstained else OK


@command
@options.corpus_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--level", type=options.LEVELS, default="body", show_default=True, help="How much to show.")
def read(out: Output, corpus: str, ids: Sequence[str], level: Any) -> None:
    (opened,) = options.open_corpora(out, [corpus])
    shown = shortlist.disclose([read_hit(opened, id) for id in ids], level)
    data = [{key: value for key, value in item.to_dict().items() if key != "score"} for item in shown]
    out.show({"documents": data}, lambda screen: screen.show_documents(shown), [item.body or "" for item in shown])


def _split_query(words: Sequence[str], corpora: Sequence[str]) -> tuple[list[str], str]:
    """The corpora and the query."""
    names = options.split_names(corpora)
    if not names:
        names, words = options.split_names(words[:1]), words[1:]
    if not names or not words:
        raise click.UsageError("Say where and what to search, such as: shortlist search skills 'deploy the app'.")
    return names, " ".join(words)

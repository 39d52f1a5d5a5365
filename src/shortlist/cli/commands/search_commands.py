"""The commands that search corpora and read their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

import shortlist
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import (
    WholeNumber,
    join_conditions,
    parse_condition,
    parse_relevance,
    parse_score,
    split_corpora,
)
from shortlist.cli.output import ABSTAINED, OK, Output
from shortlist.cli.shared_options import complete_corpus, corpus_argument, corpus_option, relevance_option

with lazy_imports():
    from shortlist import results
    from shortlist.cli import corpora
    from shortlist.cli.terminal import hits
    from shortlist.retrieval import disclose as disclosure

if TYPE_CHECKING:
    from shortlist.results import Level, MinRelevance, Mode
    from shortlist.retrieval.filters import Filter

# As in the library, which is loaded when a command runs.
MODES: tuple[Mode, ...] = ("auto", "lexical", "dense", "hybrid")
LEVELS: tuple[Level, ...] = ("metadata", "body", "bundled")
STRATEGIES = ("adaptive", "conservative", "top_k", "rel_threshold", "abs_threshold", "score_gap", "softmax")

query_argument = click.argument(
    "words", nargs=-1, required=True, metavar="CORPUS QUERY...", shell_complete=complete_corpus
)
search_corpus_option = corpus_option("Corpus to search; separate several with commas.")
k_option = click.option(
    "-k",
    metavar="N",
    type=WholeNumber(min=1),
    default=10,
    show_default=True,
    help="Number of candidates to retrieve.",
)
mode_option = click.option("--mode", type=click.Choice(MODES), default="auto", show_default=True, help="Ranking mode.")
exact_option = click.option("--exact", is_flag=True, help="Compare all vectors, even if there are 100,000 or more.")
filter_option = click.option(
    "--filter",
    metavar="CONDITION",
    type=parse_condition,
    multiple=True,
    callback=join_conditions,
    help='Condition on metadata: key=value, or JSON such as {"year": {"$gte": 2020}}. Repeatable.',
)
strategy_option = click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="adaptive", show_default=True, help="Selection strategy."
)
max_k_option = click.option(
    "--max-k",
    metavar="N",
    type=WholeNumber(min=1),
    help="Maximum number of results to select (default: 3; adaptive: 1 to 5, those that are nearly as relevant as the "
    "best).",
)
min_relevance_option = relevance_option(
    "--min-score",
    lambda text: results.to_raw_score(parse_score(text)),
    type=parse_relevance,
    default="auto",
    show_default=True,
    help="Relevance threshold: a number from 0 to 1, auto (the calibrated or built-in threshold) or none (abstain only "
    "if nothing matches).",
)


@command(
    examples=[
        "shortlist search tools.yaml where is the parcel",
        'shortlist search docs "return a mattress" --json',
    ]
)
@query_argument
@search_corpus_option
@k_option
@mode_option
@exact_option
@filter_option
def search(
    out: Output, words: Sequence[str], corpus: tuple[str, ...], k: int, mode: Mode, exact: bool, filter: Filter | None
) -> int:
    """Rank candidates, best first. The first word is the corpus (separate several with commas), unless --corpus is
    given."""
    names, query = _split_query(words, corpus)
    opened = corpora.open_corpora(out, names)
    found = shortlist.search(opened, query, mode, k, filter, exact=exact)
    out.show(found.to_dict(), lambda screen: hits.show_hits(screen, found), [hit.id for hit in found])
    if found.note:
        out.note(f"shortlist: {found.note} The results are probably unrelated.")
    if not found and not query.strip():
        out.note("shortlist: The query is empty.")
    elif not found and all(one.is_empty for one in opened):
        out.note(f"shortlist: {', '.join(names)} {'has' if len(names) == 1 else 'have'} no documents.")
    elif filter and not found and (others := shortlist.search(opened, query, mode, 1, exact=exact)):
        keys = ", ".join(others[0].metadata) or "no metadata"
        out.note(f"shortlist: No match meets the filter. Without it, the best is {others[0].id}, which has {keys}.")
    return OK if found else ABSTAINED


@command(
    examples=[
        'shortlist discover tools.yaml "refund a payment to the customer\'s card"',
        'shortlist discover tools.yaml,./skills "roll back a bad release" --max-k 2 --strategy top_k --level bundled',
    ]
)
@query_argument
@search_corpus_option
@click.option("--disclose", is_flag=True, help="Show the bodies of the results.")
@click.option("--level", type=click.Choice(LEVELS), help="Amount of detail to show of each result.")
@min_relevance_option
@k_option
@mode_option
@exact_option
@filter_option
@max_k_option
@strategy_option
def discover(
    out: Output,
    words: Sequence[str],
    corpus: tuple[str, ...],
    disclose: bool,
    level: Level | None,
    min_relevance: MinRelevance,
    k: int,
    mode: Mode,
    exact: bool,
    filter: Filter | None,
    max_k: int | None,
    strategy: str,
) -> int:
    """Choose the few candidates that fit, or none. The first word is the corpus (separate several with commas), unless
    --corpus is given."""
    names, query = _split_query(words, corpus)
    found = shortlist.discover(
        corpora.open_corpora(out, names),
        query,
        mode,
        k,
        filter,
        exact=exact,
        strategy=strategy,
        max_k=max_k,
        min_relevance=min_relevance,
        level=level or ("body" if disclose else "metadata"),
    )
    out.show(found.to_dict(), lambda screen: hits.show_discovery(screen, found), [item.id for item in found.results])
    if "floor" in found.signals and "min_relevance" not in found.signals:  # a calibrated one that may be out of date
        out.note(f"shortlist: threshold: {found.signals['floor']}")
    return ABSTAINED if found.abstained else OK


@command(
    examples=[
        "shortlist read docs returns-policy.md",
        "shortlist read tools.yaml refund_payment track_shipment --quiet",
    ]
)
@corpus_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="body",
    show_default=True,
    help="Amount of detail to show.",
)
def read(out: Output, corpus: str, ids: Sequence[str], level: Level) -> None:
    """Show documents of a corpus by id."""
    opened = corpora.open_corpus(out, corpus)
    shown = shortlist.disclose([disclosure.read_hit(opened, id) for id in ids], level)
    data = [{key: value for key, value in item.to_dict().items() if key != "score"} for item in shown]
    texts = [item.body or "" for item in shown]
    out.show({"documents": data}, lambda screen: hits.show_documents(screen, shown), texts, is_text=True)


def _split_query(words: Sequence[str], names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The corpora and the query."""
    if not names:
        names, words = split_corpora(words[:1]), words[1:]
    if not names or not words:
        raise click.UsageError("The corpus or the query is missing. Example: shortlist search skills 'deploy the app'")
    return names, " ".join(words)

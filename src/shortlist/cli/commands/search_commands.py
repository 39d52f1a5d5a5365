"""What fits? The commands that search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import shortlist
from shortlist.cli.corpus_arguments import complete, names_in, opened
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import ABSTAINED, OK, Output, WrongUsage
from shortlist.results import Level, Mode

Asked = Annotated[list[str], Argument(metavar="CORPUS QUERY", complete=complete)]
Corpora = Annotated[
    list[str] | None,
    option("--corpus", "-c", help="A corpus to search; repeat it or separate names by commas.", metavar="NAME"),
]
Most = Annotated[int, option("-k", help="How many candidates to find.", least=1)]
HowToSearch = Annotated[Mode, option("--mode", help="How to rank.")]
Conditions = Annotated[
    list[str] | None,
    option("--filter", help="A condition on metadata: key=value or JSON; repeat it.", metavar="IF"),
]
# The names of search.select, which brings numpy.
Strategy = Annotated[
    Literal["conservative", "top_k", "rel_threshold", "abs_threshold", "score_gap", "softmax"],
    option("--strategy", help="How to choose."),
]


def search(
    out: Output,
    asked: Asked,
    corpus: Corpora = None,
    k: Most = 10,
    mode: HowToSearch = "auto",
    filter: Conditions = None,
) -> int:
    """Rank candidates, best first."""
    names, query = _asked(asked, corpus)
    hits = shortlist.search(opened(out, names), query, mode=mode, k=k, filter=conditions(filter))
    out.show(hits.to_dict(), lambda screen: screen.hits(hits), [hit.id for hit in hits])
    return OK if hits else ABSTAINED


def discover(
    out: Output,
    asked: Asked,
    corpus: Corpora = None,
    k: Most = 10,
    mode: HowToSearch = "auto",
    filter: Conditions = None,
    disclose: Annotated[bool, option("--disclose", help="Show the bodies of what was chosen.")] = False,
    level: Annotated[Level | None, option("--level", help="How much to show of what was chosen.")] = None,
    min_score: Annotated[
        str | None,
        option(
            "--min-score",
            help="Below this best score nothing fits; auto: as calibrated, else as is known of most; none: no floor.",
            metavar="X|auto|none",
        ),
    ] = "auto",
    max_k: Annotated[int, option("--max-k", help="Choose at most so many.", least=1)] = 3,
    strategy: Strategy = "conservative",
) -> int:
    """Choose the few that fit, or say that nothing does."""
    names, query = _asked(asked, corpus)
    found = shortlist.discover(
        opened(out, names),
        query,
        mode=mode,
        k=k,
        filter=conditions(filter),
        strategy=strategy,
        min_score=floor_given(min_score),
        level=level or ("body" if disclose else "metadata"),
        max_k=max_k,
    )
    out.show(found.to_dict(), lambda screen: screen.discovery(found), [item.id for item in found.results])
    if "floor" in found.signals and "min_relevance" not in found.signals:  # a calibrated one that may be out of date
        out.note(f"shortlist: the floor: {found.signals['floor']}")
    return ABSTAINED if found.abstained else OK


def read(
    out: Output,
    corpus: Annotated[str, Argument(metavar="CORPUS", complete=complete)],
    ids: Annotated[list[str], Argument(metavar="ID...")],
    level: Annotated[Level, option("--level", help="How much to show.")] = "body",
) -> int:
    """Show documents of a corpus by their ids."""
    from shortlist.search.disclose import read_hit

    (found,) = opened(out, [corpus])
    hits = [read_hit(found, id) for id in ids]
    shown = shortlist.disclose(hits, level)
    data = [{key: value for key, value in item.to_dict().items() if key != "score"} for item in shown]
    out.show({"documents": data}, lambda screen: screen.documents(shown), [item.body or "" for item in shown])
    return OK


def _asked(arguments: Sequence[str], corpora: Sequence[str] | None) -> tuple[list[str], str]:
    """The corpora and the query: without --corpus the first argument is the corpus, the rest is the query."""
    names = names_in(corpora or ())
    if not names:
        names, arguments = names_in(arguments[:1]), arguments[1:]
    if not names or not arguments:
        raise WrongUsage("Say where and what to search, such as: shortlist search skills 'deploy the app'.")
    return names, " ".join(arguments)


def conditions(given: Sequence[str] | None) -> dict[str, Any] | None:
    """The filter that key=value pairs and JSON conditions make together."""
    parts = [_condition(text) for text in given or ()]
    return parts[0] if len(parts) == 1 else {"$and": parts} if parts else None


def _condition(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise WrongUsage(f"The filter {text!r} is not valid JSON: {error}.") from None
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise WrongUsage(f"""A filter is key=value or JSON such as '{{"year": {{"$gte": 2020}}}}', not {text!r}.""")
    try:
        meant = json.loads(value)
    except ValueError:
        return {key.strip(): value}
    return {key.strip(): {"$in": [meant, value]}}  # a number in the text of a metadata value is a text there


def floor_given(given: str | None) -> Any:
    """What --min-score means."""
    if given is None or given == "auto":
        return given
    if given == "none":
        return None
    try:
        return float(given)
    except ValueError:
        raise WrongUsage(f"--min-score is a number, auto or none, not {given!r}.") from None

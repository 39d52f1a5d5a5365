"""The commands that show what was learned from use, forget it, and export it as cases."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.filesize import decimal

from shortlist._settings import load_learning
from shortlist._text import count_of, did_you_mean, printable
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output
from shortlist.cli.usage_logs import find_log, find_logs, open_logged
from shortlist.errors import CorpusError, InputError
from shortlist.eval.cases import save_cases
from shortlist.eval.usage_cases import make_cases
from shortlist.index.corpus import Corpus
from shortlist.index.storage.usage_log import UsageLog
from shortlist.library.opening import open_states
from shortlist.retrieval.learning.examples import collect_examples, fit_threshold
from shortlist.retrieval.relevance import THRESHOLD

if TYPE_CHECKING:
    from shortlist.cli.terminal import Screen

SHOWN_QUERIES, SHOWN_SEARCHES = 3, 20
MEANINGS = {
    "on": "searches and what is used after them are stored and change the ranking",
    "log": "searches and what is used after them are stored, but do not change the ranking",
    "off": "nothing is stored, and what was stored does not change the ranking",
}

Row = Mapping[str, Any]


def learned(out: Output, corpus: str | None, searches: bool) -> None:
    if corpus is None:
        if searches:
            raise click.UsageError("--searches needs a corpus. Example: shortlist learned skills --searches")
        _list_logs(out)
    elif searches:
        _list_searches(out, corpus)
    else:
        log, corpora = open_logged(out, corpus)
        rows, threshold = _describe_documents(log, corpora), fit_threshold(list(log))
        fitted = threshold._asdict() if threshold else None
        data = {"corpus": corpus, "learn": load_learning(), "documents": rows, "threshold": fitted}
        out.show(data, lambda screen: _draw_documents(screen, data), [row["id"] for row in rows])


def _list_logs(out: Output) -> None:
    rows: list[dict[str, Any]] = []
    for name, log in find_logs().items():
        try:
            rows.append({"name": name, **log.facts()})
        except CorpusError as error:
            out.note(f"shortlist: {error}")
    data = {"learn": load_learning(), "corpora": rows}
    out.show(data, lambda screen: _draw_logs(screen, data), [row["name"] for row in rows])


def _draw_logs(screen: Screen, data: Row) -> None:
    cells = [
        [row["name"], f"{row['searches']:,}", f"{row['uses']:,}", _format_day(row["since"]), decimal(row["bytes"])]
        for row in data["corpora"]
    ]
    if cells:
        screen.draw_table(("name", "searches", "uses", "since", "size"), cells, ("bold", ">", ">", "", ">"))
    else:
        screen.say("No use is stored yet.", "yellow")
    screen.say(f"Learning is {data['learn']}: {MEANINGS[data['learn']]}.", "dim")


def _describe_documents(log: UsageLog, corpora: Sequence[Corpus]) -> list[dict[str, Any]]:
    """The documents with examples, as they are ranked by them; those with the largest weight first."""
    searches = list(log)
    examples = collect_examples(searches, time.time())
    last_use = {(use.id, use.hash): search.at for search in searches for use in search.uses}
    hashes: dict[str, bytes] = {}
    with open_states(corpora) as states:
        for _, state in states:
            found = state.find_documents(list({id for id, _ in examples}))
            hashes |= {id: document.hash for id, document in found.items()}
    rows = [
        {
            "id": id,
            "state": "removed" if id not in hashes else "used" if hashes[id] == hash else "changed",
            "examples": len(listed),
            "weight": round(sum(example.weight for example in listed), 3),
            "last_use": last_use[id, hash],
            "queries": [{"query": example.query, "weight": round(example.weight, 3)} for example in listed],
        }
        for (id, hash), listed in examples.items()
    ]
    return sorted(rows, key=lambda row: (row["state"] != "used", -row["weight"]))


def _draw_documents(screen: Screen, data: Row) -> None:
    table = []
    for row in data["documents"]:
        note = "" if row["state"] == "used" else f"\n{row['state']}, no longer used"
        queries = "\n".join(printable(one["query"]) for one in row["queries"][:SHOWN_QUERIES])
        left = len(row["queries"]) - SHOWN_QUERIES
        more = f"\nand {left} more" if left > 0 else ""
        facts = (str(row["examples"]), f"{row['weight']:.2f}", _format_day(row["last_use"]))
        table.append([printable(row["id"]) + note, *facts, queries + more])
    if table:
        titles = ("document", "examples", "weight", "last use", "queries")
        screen.draw_table(titles, table, ("bold", ">", ">", "", "dim"))
    else:
        screen.say(f"Nothing was learned from the use of {data['corpus']} yet.", "yellow")
    if fitted := data["threshold"]:
        evidence = f"fitted to {count_of(fitted['used'], 'search')} with a use and {fitted['unused']:,} without"
        screen.say(f"Relevance threshold: {fitted['value']:g}, {evidence} (built-in: {THRESHOLD:g}).", "dim")
    if data["learn"] != "on":
        screen.say(f"Learning is {data['learn']}: {MEANINGS[data['learn']]}.", "yellow")


def _list_searches(out: Output, corpus: str) -> None:
    rows: list[Row] = [
        {
            "at": search.at,
            "session": search.session,
            "query": search.query,
            "shown": search.shown,
            "uses": [{"id": use.id, "outcome": use.outcome} for use in search.uses],
        }
        for search in reversed(list(find_log(corpus)))
    ]

    def draw(screen: Screen) -> None:
        for row in rows[:SHOWN_SEARCHES]:
            screen.say(f"{_format_day(row['at'], ' %H:%M')}  {printable(row['query'])}")
            shown = (id if relevance is None else f"{id} {relevance:.2f}" for id, relevance in row["shown"].items())
            uses = (f"{use['id']} ({use['outcome']})" for use in row["uses"])
            for title, texts in (("shown", shown), ("used", uses)):
                screen.say(f"{title}: {printable(', '.join(texts)) or 'nothing'}", "dim", indent=2)
        if len(rows) > SHOWN_SEARCHES:
            latest = f"The latest {SHOWN_SEARCHES} of {len(rows):,} searches are shown."
            screen.say(f"{latest} Show all with --json.", "dim")
        if not rows:
            screen.say(f"No search of {corpus} is stored yet.", "yellow")

    out.show({"corpus": corpus, "searches": rows}, draw, [row["query"] for row in rows])


def forget(out: Output, corpus: str, id: str | None, query: str | None, everything: bool, yes: bool) -> int:
    if not (id or query or everything):
        raise click.UsageError("What to forget is missing. Give --id ID, --query TEXT or --all.")
    log = find_log(corpus)
    if everything and not yes:
        if not out.can_ask():
            raise click.UsageError(f"--all deletes the whole log of {corpus}. Confirm it with --yes.")
        if not out.confirm(f"Delete {count_of(log.facts()['searches'], 'search')} of {corpus}?"):
            return ERROR
    searches = list(log) if id or query else []
    count = log.forget(id or None, query or None)
    if not count and not everything:
        ids, queries = {use.id for search in searches for use in search.uses}, {one.query for one in searches}
        missing = f"search{f' {query!r}' if query else ''}{f' after which {id!r} was used' if id else ''}"
        near = did_you_mean(id, ids) if id and id not in ids else did_you_mean(query or "", queries)
        raise InputError(f"The log of {corpus!r} has no {missing}.{near}")
    out.show({"corpus": corpus, "deleted": count}, f"{count_of(count, 'search', 'is deleted')}.", [str(count)])
    return OK


def export(out: Output, corpus: str, file: str | None) -> int:
    log, corpora = open_logged(out, corpus)
    cases = make_cases(log, {id for one in corpora for id in one.ids()})
    answered = sum(case.in_scope for case in cases)
    rows = [case.to_dict() for case in cases]
    data = {
        "cases": rows,
        "in_scope": answered,
        "out_of_scope": len(cases) - answered,
        "file": file if cases else None,
    }
    if not cases:
        out.show(data, f"The log of {corpus} makes no case yet, and no file was written.")
        return ABSTAINED
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    if file:
        save_cases(cases, file)
        lines = [f"Wrote {count_of(answered, 'case')} with an answer and {len(cases) - answered} without to {file}."]
    out.show(data, "\n".join(lines), [file] if file else lines)
    out.note('No one has reviewed these cases. Check each one and set "reviewed" to true.')
    return OK


def _format_day(at: float | None, more: str = "") -> str:
    return "-" if at is None else time.strftime(f"%Y-%m-%d{more}", time.localtime(at))

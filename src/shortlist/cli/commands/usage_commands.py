"""The commands that show what was learned from use, forget it, and export it as cases."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from shortlist._text import count_of, did_you_mean
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output
from shortlist.cli.shared_options import complete_corpus, corpus_argument, yes_option
from shortlist.errors import CorpusError, InputError

with lazy_imports():
    from shortlist import _settings
    from shortlist.cli import corpora, usage_logs
    from shortlist.cli.terminal import usage_tables
    from shortlist.eval import cases as case_files
    from shortlist.eval import usage_cases
    from shortlist.library import opening
    from shortlist.retrieval.learning import examples as learned_examples

SESSION = "command line"

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus
    from shortlist.index.storage.usage_log import UsageLog


@command(examples=["shortlist learned", "shortlist learned tools.yaml"])
@click.argument("corpus", required=False, metavar="[CORPUS]", shell_complete=complete_corpus)
@click.option("--searches", is_flag=True, help="Show the latest searches, with what was shown and used.")
def learned(out: Output, corpus: str | None, searches: bool) -> None:
    """Show what was learned from use: the documents that were used, and the queries that led to them. Without CORPUS,
    list the corpora with a log of use; mcp means the tools and skills behind `shortlist mcp`."""
    if corpus is None:
        if searches:
            raise click.UsageError("--searches needs a corpus. Example: shortlist learned skills --searches")
        _list_logs(out)
    elif searches:
        _list_searches(out, corpus)
    else:
        log, corpora = usage_logs.open_logged(out, corpus)
        rows, threshold = _describe_documents(log, corpora), learned_examples.fit_threshold(list(log))
        fitted = threshold._asdict() if threshold else None
        data = {"corpus": corpus, "learn": _settings.load_learning(), "documents": rows, "threshold": fitted}
        out.show(data, lambda screen: usage_tables.show_learned(screen, data), [row["id"] for row in rows])


def _list_logs(out: Output) -> None:
    rows: list[dict[str, Any]] = []
    for name, log in usage_logs.find_logs().items():
        try:
            rows.append({"name": name, **log.facts()})
        except CorpusError as error:
            out.note(f"shortlist: {error}")
    data = {"learn": _settings.load_learning(), "corpora": rows}
    out.show(data, lambda screen: usage_tables.show_logs(screen, data), [row["name"] for row in rows])


def _describe_documents(log: UsageLog, corpora: Sequence[Corpus]) -> list[dict[str, Any]]:
    """The documents with examples, as they are ranked by them; those with the largest weight first."""
    searches = list(log)
    examples = learned_examples.collect_examples(searches, time.time()).by_document
    last_use = {(use.id, use.hash): search.at for search in searches for use in search.uses}
    hashes: dict[str, bytes] = {}
    with opening.open_states(corpora) as states:
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


def _list_searches(out: Output, corpus: str) -> None:
    rows: list[dict[str, Any]] = [
        {
            "at": search.at,
            "session": search.session,
            "query": search.query,
            "shown": search.shown,
            "uses": [{"id": use.id, "outcome": use.outcome} for use in search.uses],
        }
        for search in reversed(list(usage_logs.find_log(corpus)))
    ]

    data = {"corpus": corpus, "searches": rows}
    out.show(data, lambda screen: usage_tables.show_searches(screen, data), [row["query"] for row in rows])


@command(examples=['shortlist feedback tools.yaml "give the money back" refund_payment'])
@corpus_argument
@click.argument("query")
@click.argument("id")
@click.option("--wrong", is_flag=True, help="Report that the document is not what the query asks for.")
@click.option("--undo", is_flag=True, help="Delete what was reported with this command about the query and document.")
def feedback(out: Output, corpus: str, query: str, id: str, wrong: bool, undo: bool) -> int:
    """Report that a query led to a document, so that similar queries find it, or that it was wrong."""
    opened = corpora.open_corpus(out, corpus)
    opened.learning = _settings.load_learning()
    stored = opened.learn(query, id, "wrong" if wrong else "called", session=SESSION, undo=undo)
    if undo and not stored:
        raise InputError(
            f"The log of {corpus!r} has no report that was sent with this command about {query!r} and {id!r}."
        )
    text = "The report is deleted." if undo else "Stored." if stored else "Nothing is stored: learning is off."
    out.show({"corpus": corpus, "stored": stored and not undo, "learn": opened.learning}, text)
    return OK


@command(
    examples=[
        'shortlist forget tools.yaml --query "where is the parcel"',
        "shortlist forget tools.yaml --all --yes",
    ],
    exclusive=[("--all", "--id"), ("--all", "--query")],
)
@corpus_argument
@click.option("--id", metavar="ID", help="Document: delete the searches after which it was used.")
@click.option("--query", metavar="TEXT", help="Query: delete the searches for exactly this text.")
@click.option("--all", "everything", is_flag=True, help="Delete all searches.")
@yes_option
def forget(out: Output, corpus: str, id: str | None, query: str | None, everything: bool, yes: bool) -> int:
    """Delete searches from the log of use of a corpus, so that they no longer change the ranking."""
    if not (id or query or everything):
        raise click.UsageError("What to forget is missing. Give --id ID, --query TEXT or --all.")
    log = usage_logs.find_log(corpus)
    if everything and not yes:
        if not out.can_ask():
            raise click.UsageError(f"--all deletes the whole log of {corpus}. Confirm it with --yes.")
        if not out.confirm(f"Delete {count_of(log.facts()['searches'], 'search')} of {corpus}?"):
            return ERROR
    searches = list(log) if id or query else []
    count = log.forget(id or None, query or None)
    if not count and not everything:
        ids = {use.id for search in searches for use in search.uses}
        queries = {search.query for search in searches}
        missing = f"search{f' {query!r}' if query else ''}{f' after which {id!r} was used' if id else ''}"
        near = did_you_mean(id, ids) if id and id not in ids else did_you_mean(query or "", queries)
        raise InputError(f"The log of {corpus!r} has no {missing}.{near}")
    out.show({"corpus": corpus, "deleted": count}, f"{count_of(count, 'search', 'is deleted')}.", [str(count)])
    return OK


@command(examples=["shortlist cases export tools.yaml --out used.jsonl"])
@corpus_argument
@click.option("--out", "file", metavar="PATH", help="File to write, instead of stdout.")
def export(out: Output, corpus: str, file: str | None) -> int:
    """Write cases from the log of use as JSONL: the queries that led to documents, and those after which nothing was
    used in two sessions. No one has reviewed them, so eval skips them until you do."""
    log, corpora = usage_logs.open_logged(out, corpus)
    cases = usage_cases.make_cases(log, {id for opened in corpora for id in opened.ids()})
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
        case_files.save_cases(cases, file)
        lines = [f"Wrote {count_of(answered, 'case')} with an answer and {len(cases) - answered} without to {file}."]
    out.show(data, "\n".join(lines), [file] if file else lines)
    out.note('No one has reviewed these cases. Check each one and set "reviewed" to true.')
    return OK

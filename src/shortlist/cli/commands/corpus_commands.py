"""The commands that build, list, compare, register, move and remove corpora."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import shortlist
from shortlist._paths import data_dir
from shortlist._text import count_of, did_you_mean
from shortlist.cli import options
from shortlist.cli.output import ERROR, OK, Output, command
from shortlist.documents import Changes
from shortlist.errors import CorpusError, CorpusNotFound, InputError, ShortlistError
from shortlist.index.corpus_paths import corpus_folder
from shortlist.index.embedders.models import import_extra
from shortlist.index.location import find_corpus_file
from shortlist.library import registry
from shortlist.library.opening import describe_corpora, is_known, size_of
from shortlist.sources.projects import project_index, project_root
from shortlist.sources.skills import usual_roots

# A burst of changes has ended when none came for the first time, and is not waited for longer than the second.
QUIET_MS = 200
LONGEST_MS = 2000

source_options = options.combine(
    options.repeatable("--root", metavar="PATH", help="Place to read."),
    click.option("--pattern", help="Only files whose path matches this regular expression."),
    click.option("--exclude", help="No files whose path matches this regular expression."),
    options.repeatable("--option", "others", metavar="KEY=VALUE", help="Option of the kind."),
    click.option("--embedder", metavar="MODEL", help="default, tools, light, minilm, none, or any other model."),
    click.option("--engine", metavar="URL", help="Cluster to store it in, such as opensearch+http://HOST:9200/PREFIX."),
)


@command
@click.argument("name", metavar="NAME|PATH", shell_complete=options.complete)
@click.option("--kind", help="Register it as this kind of source first.")
@source_options
@options.flag("--rebuild", help="Index everything again.")
@options.flag("--watch", "follow", help="Keep running and rebuild on changes (Ctrl-C to stop).")
def build(
    out: Output, name: str, kind: str | None, embedder: Any, engine: Any, rebuild: bool, follow: bool, **source: Any
) -> int:
    if follow and out.as_json:
        raise click.UsageError("--watch has no end, and --json prints one document: leave one of them out.")
    if kind or source["root"]:
        _register(name, kind or "files", embedder=embedder, engine=engine, **source)
    elif any(source.values()):
        raise click.UsageError("--pattern, --exclude and --option say how to read a --root: name that too.")
    entry = registry.find(name) or options.find_path_source(name)
    if entry is None:
        raise CorpusNotFound(
            f"{name!r} is no name that is registered and no path.{_suggest(name)} "
            f"To register it: shortlist register {name} KIND --root PATH."
        )
    changes = _sync(out, entry.name, rebuild=rebuild, embedder=embedder, engine=engine)
    if follow:
        _watch(out, entry)
    elif changes.failed and not (changes.added or changes.changed or changes.unchanged):
        out.warn(f"Nothing of {name} could be read.")
        return ERROR
    return OK


def _sync(out: Output, name: str, *, only_changes: bool = False, **options: Any) -> Changes:
    began = time.perf_counter()
    try:
        with shortlist.open_corpus(name) as corpus:
            before = len(corpus)
    except CorpusError:
        before = 0
    with out.progress(f"building {name}", about=before) as progress:
        corpus = shortlist.build(name, progress=progress, **options)
    changes, seconds = corpus.changes, time.perf_counter() - began
    data = {"corpus": corpus.name, "documents": len(corpus), "seconds": round(seconds, 3), **changes.to_dict()}
    corpus.close()
    if not only_changes or changes.added or changes.changed or changes.removed:
        out.show(data, lambda screen: screen.show_built(data))
    out.report_problems(changes.failed)
    return changes


def _watch(out: Output, entry: registry.Registration) -> None:
    """Sync after each burst of changes in the folders of a source, until Ctrl-C."""
    roots = [Path(root) for root in entry.roots] or (usual_roots() if entry.kind == "skills" else [])
    places = [root for root in roots if root.exists()]
    if not places:
        raise InputError(f"{entry.name!r} has no folder here to watch: build it again when it has changed.")
    watchfiles = import_extra("watchfiles", "watchfiles", "watch", "Watching")
    own = data_dir().resolve()
    files = {place.resolve() for place in places if place.is_file()}
    folders = {place.resolve() for place in places if place.is_dir()}

    def is_ours(change: object, path: str) -> bool:
        place = Path(path)
        return not place.is_relative_to(own) and (place in files or not folders.isdisjoint(place.parents))

    out.note(f"Watching {', '.join(map(str, places))}. Ctrl-C ends it.")
    try:
        # a file is watched by its folder, since most editors put another in its place
        watched = folders | {file.parent for file in files}
        for _ in watchfiles.watch(*watched, watch_filter=is_ours, debounce=LONGEST_MS, step=QUIET_MS):
            try:
                _sync(out, entry.name, only_changes=True)
            except ShortlistError as error:  # a file half written; the next change comes soon
                out.note(f"shortlist: {error}")
    except KeyboardInterrupt:
        out.note("Stopped watching.")


def _suggest(name: str) -> str:
    return did_you_mean(name, registry.names())


def _register(name: str, kind: str, root: Sequence[str], others: Sequence[str], **more: Any) -> registry.Registration:
    """Register a source; `others` are options of its kind, as key=value."""
    for text in others:
        key, equals, value = text.partition("=")
        if not key.isidentifier() or not equals or key in ("root", "embedder", "replace", "name", "kind"):
            raise InputError(f"--option takes key=value, where key is an option of the kind, not {text!r}.")
        more[key] = value
    return registry.register(name, kind, list(root) or None, **more)


@command
def ls(out: Output) -> None:
    rows = describe_corpora()
    out.show({"corpora": rows}, lambda screen: screen.show_corpora(rows), [row["name"] for row in rows])


@command
@options.name_argument
def info(out: Output, name: str) -> None:
    (corpus,) = options.open_corpora(out, [name])
    entry = registry.find(name)
    data = {"bytes": size_of(corpus.path)} | corpus.info() | {"source": entry.to_dict() if entry else None}
    out.show(data, lambda screen: screen.show_facts(corpus.name, data), [str(corpus.path)])


@command
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete)
def status(out: Output, names: Sequence[str]) -> None:
    for name in names:
        if not is_known(name):
            raise CorpusNotFound(f"There is no corpus {name!r}.{_suggest(name)}")
    rows = [_compare(out, name) for name in names or registry.names()]
    index = project_index()
    is_stored = find_corpus_file(index) is not None
    place = {"project": str(project_root()), "path": str(corpus_folder(index)), "ingested": is_stored}
    data = {"corpora": rows, "index": {"name": index, **place}}
    out.show(data, lambda screen: screen.show_states(data), [f"{row['name']}\t{row['state']}" for row in rows])


def _compare(out: Output, name: str) -> dict[str, Any]:
    """The state of a corpus (not built, fresh, stale, no source or broken), and what a build would change."""
    row: dict[str, Any] = {"name": name, "state": "fresh", "changes": None, "problem": None}
    entry = registry.find(name)
    try:
        with shortlist.open_corpus(name) as corpus, out.progress(f"comparing {name}") as progress:
            if entry is None:
                return row | {"state": "no source"}
            changes = corpus.compare(entry.source(), progress)
    except CorpusNotFound:
        return row | {"state": "not built"}
    except ShortlistError as error:
        return row | {"state": "broken", "problem": str(error)}
    is_stale = changes.added or changes.changed or changes.removed
    return row | {"state": "stale" if is_stale else "fresh", "changes": changes.to_dict()}


@command
@click.argument("name")
@click.argument("kind")
@source_options
@options.flag("--replace", help="Replace what the name means now.")
def register(out: Output, name: str, kind: str, **source: Any) -> None:
    entry = _register(name, kind, **source)
    text = f"{entry.name} is registered. Build it now: shortlist build {entry.name}"
    out.show({"name": entry.name, **entry.to_dict()}, text)
    for place in entry.roots:
        if "://" not in place and not Path(place).exists():
            out.note(f"shortlist: there is nothing at {place} yet.")


@command
@options.name_argument
@click.option("--to", required=True, metavar="URL", help="The cluster, or embedded for this machine.")
@options.flag("--delete-old", help="Delete what the old engine stores.")
def migrate(out: Output, name: str, to: str, delete_old: bool) -> None:
    with out.progress(f"migrating {name}") as progress:
        moved = shortlist.migrate(name, to, delete_old=delete_old, progress=progress)
    size = f"{count_of(moved.documents, 'document')}, {count_of(moved.passages, 'passage')}"
    text = f"{name} is now kept by {moved.target}: {size}."
    if moved.source == moved.target:
        text = f"{name} is already kept there."
    out.show(moved.to_dict(), text, [moved.target])


@command
@options.name_argument
@options.flag("--data", "delete", help="Delete what was built, too.")
def rm(out: Output, name: str, delete: bool) -> None:
    is_stored = find_corpus_file(name) is not None
    if delete and is_stored:
        shortlist.delete_corpus(name)
    is_forgotten, is_deleted = shortlist.unregister(name), delete and is_stored
    if not is_forgotten and not is_stored:
        raise CorpusNotFound(f"There is no corpus {name!r} to remove.{_suggest(name)}")
    if not is_forgotten and not delete:
        raise InputError(f"{name!r} is not registered, only built. To delete that: shortlist rm {name} --data.")
    done = " and ".join(word for word, is_done in (("forgotten", is_forgotten), ("deleted", is_deleted)) if is_done)
    out.show({"name": name, "unregistered": is_forgotten, "deleted": is_deleted}, f"{name} is {done}.")

"""The commands that build, list, compare, register, move and remove corpora."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

import shortlist
from shortlist._paths import data_dir
from shortlist._projects import project_index, project_root
from shortlist._text import count_of
from shortlist.cli.commands.tool_commands import tool_index_file
from shortlist.cli.corpora import find_path_source, make_not_found, open_corpora
from shortlist.cli.imports import import_file, usual_file
from shortlist.cli.output import ERROR, OK, Output
from shortlist.documents import Changes
from shortlist.errors import CorpusError, CorpusNotFound, InputError, ShortlistError
from shortlist.index.corpus_paths import DATABASE, corpus_folder, stored_corpora
from shortlist.index.location import find_corpus_file
from shortlist.library import registry
from shortlist.library.opening import describe_corpora, is_known, size_of
from shortlist.sources.skills import usual_roots

# A burst of changes ends after the first time without a change, and at the latest after the second.
QUIET_MS, LONGEST_MS = 200, 2000


def build(
    out: Output, name: str, kind: str | None, embedder: Any, engine: Any, rebuild: bool, follow: bool, **source: Any
) -> int:
    if kind or source["root"]:
        _register(name, kind or "files", embedder=embedder, engine=engine, **source)
    elif any(source.values()):
        raise click.UsageError("--pattern, --exclude and --option need --root PATH.")
    entry = registry.find(name) or find_path_source(name)
    if entry is None:
        raise make_not_found(name)
    changes = _sync(out, entry.name, rebuild=rebuild, embedder=embedder, engine=engine)
    if follow:
        _watch(out, entry)
    elif changes.failed and not (changes.added or changes.changed or changes.unchanged):
        out.warn(f"No document of {name} could be read.")
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
    places = [root.resolve() for root in roots if root.exists()]
    if not places:
        raise InputError(f"{entry.name!r} has no folder to watch. Build it without --watch after each change.")
    import watchfiles  # noqa: PLC0415  # only needed here

    own = data_dir().resolve()

    def is_ours(change: object, path: str) -> bool:
        return not Path(path).is_relative_to(own) and any(Path(path).is_relative_to(place) for place in places)

    out.note(f"Watching {', '.join(map(str, places))}. Press Ctrl-C to stop.")
    try:
        # a file is watched through its folder, since most editors replace the file
        folders = {place if place.is_dir() else place.parent for place in places}
        for _ in watchfiles.watch(*folders, watch_filter=is_ours, debounce=LONGEST_MS, step=QUIET_MS):
            try:
                _sync(out, entry.name, only_changes=True)
            except ShortlistError as error:  # such as a file that is half written; the next change comes soon
                out.note(f"shortlist: {error}")
    except KeyboardInterrupt:
        out.note("Stopped watching.")


def _register(name: str, kind: str, root: Sequence[str], others: Sequence[str], **more: Any) -> registry.Registration:
    """Register a source; `others` are options of its kind, as key=value."""
    for text in others:
        key, equals, value = text.partition("=")
        if not key.isidentifier() or not equals or key in ("root", "embedder", "replace", "name", "kind"):
            raise InputError(f"--option must be KEY=VALUE, where KEY is an option of the kind, not {text!r}.")
        more[key] = value
    return registry.register(name, kind, list(root) or None, **more)


def ls(out: Output) -> None:
    rows = describe_corpora()
    out.show({"corpora": rows}, lambda screen: screen.show_corpora(rows), [row["name"] for row in rows])


def info(out: Output, name: str) -> None:
    (corpus,) = open_corpora(out, [name])
    entry = registry.find(name)
    data = {"bytes": size_of(corpus.path)} | corpus.info() | {"source": entry.to_dict() if entry else None}
    shown = dict(data)
    if usage := data.get("usage"):
        shown["usage"] = usage | {"since": date.fromtimestamp(usage["since"]) if usage.get("since") else None}
    out.show(data, lambda screen: screen.show_facts(corpus.name, shown), [str(corpus.path)])


def status(out: Output, names: Sequence[str]) -> None:
    for name in names:
        if not is_known(name):
            raise make_not_found(name)
    rows = [_compare(out, name) for name in names or registry.names()]
    index = project_index()
    place = {
        "project": str(project_root()),
        "path": str(corpus_folder(index)),
        "ingested": find_corpus_file(index) is not None,
    }
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


def verify(out: Output, name: str | None) -> int:
    if name is not None and find_corpus_file(name) is None:
        raise make_not_found(name)
    rows = [
        _verify(out, one, file) for one in ([name] if name else stored_corpora()) if (file := find_corpus_file(one))
    ]
    brief = [f"{row['name']}\t{row['status']}" for row in rows]
    out.show({"corpora": rows}, lambda screen: screen.show_verified(rows), brief)
    return ERROR if any(row["status"] == "damaged" for row in rows) else OK


def _verify(out: Output, name: str, file: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "path": str(file.parent), "repaired": [], "problems": []}
    if file.name != DATABASE:
        return row | {"status": "not applicable"}  # a cluster has checksums of its own
    try:
        with shortlist.open_corpus(name) as corpus, out.progress(f"verifying {name}"):
            return corpus.verify()
    except ShortlistError as error:  # its database cannot be opened
        return row | {"status": "damaged", "problems": [str(error)]}


def register(out: Output, name: str, kind: str, **source: Any) -> None:
    entry = _register(name, kind, **source)
    text = f"{entry.name} is registered. Build it now: shortlist build {entry.name}"
    out.show({"name": entry.name, **entry.to_dict()}, text)
    for place in entry.roots:
        if "://" not in place and not Path(place).exists():
            out.note(f"shortlist: {place} does not exist yet.")


def import_from(out: Output, system: str, replace: bool, index_file: str | None) -> int:
    rows = import_file(usual_file(system), tool_index_file(index_file), replace=replace)
    data = {"imported": [row._asdict() for row in rows]}
    lines = [f"{row.name} ({row.kind}) is {row.action}. {row.note}" for row in rows]
    out.show(data, "\n".join(lines), [row.name for row in rows if row.action != "skipped"])
    return ERROR if all(row.action == "skipped" for row in rows) else OK


def migrate(out: Output, name: str, to: str, delete_old: bool) -> None:
    if find_corpus_file(name) is None:
        raise make_not_found(name)
    with out.progress(f"migrating {name}") as progress:
        moved = shortlist.migrate(name, to, delete_old=delete_old, progress=progress)
    size = f"{count_of(moved.documents, 'document')}, {count_of(moved.passages, 'passage')}"
    text = f"{name} is now stored in {moved.target}: {size}."
    if moved.source == moved.target:
        text = f"{name} is already stored in {moved.target}."
    out.show(moved.to_dict(), text, [moved.target])


def rm(out: Output, name: str, delete: bool) -> None:
    is_stored = find_corpus_file(name) is not None
    if delete and is_stored:
        shortlist.delete_corpus(name)
    is_unregistered, is_deleted = shortlist.unregister(name), delete and is_stored
    if not is_unregistered and not is_stored:
        raise make_not_found(name)
    if not is_unregistered and not delete:
        raise InputError(f"{name!r} is not registered, only built. To delete it, run: shortlist rm {name} --data")
    done = " and ".join(["unregistered"] * is_unregistered + ["deleted"] * is_deleted)
    out.show({"name": name, "unregistered": is_unregistered, "deleted": is_deleted}, f"{name} is {done}.")

"""The commands that build, list, compare, register, move and remove corpora."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import click

import shortlist
from shortlist._paths import data_dir
from shortlist._projects import project_index, project_root
from shortlist._text import count_of
from shortlist.cli.command import command
from shortlist.cli.commands.tool_commands import find_index_file
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import ERROR, OK, Output
from shortlist.cli.shared_options import combine, complete_corpus, resolve_corpus, stored_argument
from shortlist.errors import CorpusNotFound, InputError, ShortlistError

with lazy_imports():
    from shortlist import documents
    from shortlist.cli import corpora, imports, usage_logs
    from shortlist.cli.terminal import corpus_tables
    from shortlist.index import corpus_paths, location
    from shortlist.index import engine as engines
    from shortlist.library import corpus_names, opening, registry, uploads
    from shortlist.sources import folder

if TYPE_CHECKING:
    from shortlist.documents import Changes

PUSH_SECONDS = 300.0  # to wait for each part of an answer
# A burst of changes ends after the first time without a change, and at the latest after the second.
QUIET_MS, LONGEST_MS = 200, 2000

source_options = combine(
    click.option("--root", metavar="PATH", multiple=True, help="File or folder to read. Repeatable."),
    click.option("--pattern", metavar="TEXT", help="Regular expression that paths must match."),
    click.option("--exclude", metavar="TEXT", help="Regular expression that paths must not match."),
    click.option("--ocr", is_flag=True, help="Read pictures and scanned pages with Tesseract."),
    click.option(
        "--option",
        "others",
        metavar="KEY=VALUE",
        multiple=True,
        help="Option of the kind of source: timeout=SECONDS of mcp. Repeatable.",
    ),
    click.option("--embedder", metavar="MODEL", help="Embedding model."),
    click.option("--engine", metavar="URL", help="Cluster to store it in, such as opensearch+http://HOST:9200/PREFIX."),
)


@command(
    examples=[
        "shortlist build tools.yaml",
        "shortlist build notes --kind files --root docs --embedder none",
    ],
    exclusive=[
        ("--watch", "--json"),
        *(("--push", option) for option in ("--watch", "--rebuild", "--language", "--ocr", "--embedder", "--engine")),
    ],
    writes=True,
)
@click.argument("name", metavar="CORPUS", shell_complete=complete_corpus)
@click.option("--kind", metavar="KIND", help="Kind of source to register it as first.")
@click.option("--rebuild", is_flag=True, help="Index everything again.")
@click.option("--watch", "follow", is_flag=True, help="Keep running and rebuild on changes (Ctrl-C to stop).")
@click.option("--language", metavar="NAME", help="Language of the documents as a code such as de (default: detected).")
@click.option(
    "--push", "address", metavar="URL", help="Send the files to a service, such as https://HOST/NAME, and build there."
)
@source_options
def build(
    out: Output,
    name: str,
    kind: str | None,
    rebuild: bool,
    follow: bool,
    language: str | None,
    address: str | None,
    root: tuple[str, ...],
    pattern: str | None,
    exclude: str | None,
    ocr: bool,
    others: tuple[str, ...],
    embedder: str | None,
    engine: str | None,
) -> int:
    """Sync a corpus with its source. Add --kind or --root to register the name first. With --push, the corpus of a
    service gets the files instead."""
    is_new = bool(kind or root) and name not in registry.registered()
    if kind or root:
        options = {"pattern": pattern, "exclude": exclude, "ocr": ocr, "embedder": embedder, "engine": engine}
        _register(name, kind or "files", root, others, **options)
    elif pattern or exclude or ocr or others:
        example = f"shortlist build NAME --root {shlex.quote(name) if Path(name).exists() else 'PATH'}"
        raise click.UsageError(f"--pattern, --exclude, --ocr and --option need a name and --root PATH: {example} ...")
    entry = registry.find(name) if kind or root else corpus_names.find_source(name)
    if entry is None:
        advice = f" Register it: shortlist register {shlex.quote(name)} KIND --root PATH"
        raise corpus_names.make_no_source(name, advice)
    if address:
        return _push(out, entry, address)
    try:
        changes = _sync(out, entry.name, rebuild=rebuild, embedder=embedder, engine=engine, language=language)
    except ShortlistError:
        if is_new and location.find_corpus_file(name) is None:  # such as a root that does not exist
            registry.unregister(name)
        raise
    if not any((changes.added, changes.changed, changes.unchanged, changes.removed, changes.failed)):
        roots = ", ".join(map(shlex.quote, map(corpora.shorten_name, entry.roots)))
        out.note(f"shortlist: Nothing of the kind {entry.kind!r} was found{f' in {roots}' if roots else ''}.")
    if follow:
        _watch(out, entry)
    elif changes.failed and not (changes.added or changes.changed or changes.unchanged):
        out.warn(f"No document of {name} could be read.")
        return ERROR
    return OK


def _sync(out: Output, name: str, *, only_changes: bool = False, **options: Any) -> Changes:
    began = time.perf_counter()
    with out.progress(f"building {corpora.shorten_name(name)}") as progress:
        corpus = shortlist.build(name, progress=progress, **options)
    changes, seconds = corpus.changes, time.perf_counter() - began
    data = {"corpus": corpus.name, "documents": len(corpus), "seconds": round(seconds, 3), **changes.to_dict()}
    corpus.close()
    if not only_changes or changes.added or changes.changed or changes.removed:
        out.show(data, lambda screen: corpus_tables.show_built(screen, data))
    out.report_problems((*changes.failed, *changes.skipped_files))
    return changes


def _push(out: Output, entry: registry.Registration, address: str) -> int:
    """Make the corpus at an address have the files of a source."""
    if entry.kind != "files":
        raise InputError(f"--push sends files, and {entry.name!r} has a source of the kind {entry.kind!r}.")
    if len(entry.roots) > 1:
        raise InputError(
            f"--push sends one folder, and {entry.name!r} has {len(entry.roots)}. Push each to its own corpus."
        )
    base, _, name = address.rstrip("/").rpartition("/")
    if not base or base.endswith("/"):
        raise click.UsageError("--push needs the address of a service and the name of a corpus: https://HOST/NAME")
    options = {key: entry.options[key] for key in ("pattern", "exclude") if key in entry.options}
    files = folder.find_files(Path(entry.roots[0]), **options)
    with shortlist.Client(base) as client, out.progress(f"sending to {address}", "files") as progress:
        data = client.push(unquote(name), files, on_progress=progress, timeout=PUSH_SECONDS)
    text = f"{count_of(data['sent'], 'file')} sent, {data['deleted']} deleted. {data['message']}"
    out.show({"url": address, **data}, f"{text} {name} has {count_of(data['count'], 'document')}.", [address])
    out.report_problems([documents.Problem(row["id"], row["reason"]) for row in data["skipped"]])
    return OK if data["count"] else ERROR


def _watch(out: Output, entry: registry.Registration) -> None:
    """Sync after each burst of changes in the folders of a source, until Ctrl-C."""
    places = corpora.find_roots(entry)
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


def _register(
    name: str, kind: str, root: Sequence[str], others: Sequence[str], **options: Any
) -> registry.Registration:
    """Register a source; `others` are options of its kind, as KEY=VALUE."""
    for text in others:
        key, _, value = text.partition("=")
        if key != "timeout":
            raise InputError(f"--option must be timeout=SECONDS, an option of the kind 'mcp', not {text!r}.")
        try:
            options[key] = float(value)
        except ValueError:
            raise InputError(f"--option timeout must be a number of seconds, not {value!r}.") from None
    return registry.register(name, kind, list(root) or None, **options)


@command(examples=["shortlist ls"])
def ls(out: Output) -> None:
    """List all corpora: stored, registered and built in."""
    rows = opening.describe_corpora()
    out.show({"corpora": rows}, lambda screen: corpus_tables.show_corpora(screen, rows), [row["name"] for row in rows])


@command(examples=["shortlist info tools.yaml"])
@stored_argument
def info(out: Output, name: str) -> None:
    """Show the counts, configuration, thresholds and folder of a corpus."""
    corpus = corpora.open_corpus(out, name)
    entry = registry.find(name)
    data = {"bytes": opening.size_of(corpus.path)} | corpus.info() | {"source": entry.to_dict() if entry else None}
    if name == "mcp":  # agents search with the gateway, which has a log of its own
        data["usage"] |= usage_logs.find_log(name).facts()
    shown = dict(data)
    if usage := data.get("usage"):
        shown["usage"] = usage | {"since": date.fromtimestamp(usage["since"]) if usage.get("since") else None}
    out.show(data, lambda screen: corpus_tables.show_facts(screen, corpus.name, shown), [str(corpus.path)])


@command(examples=["shortlist status", "shortlist status tools.yaml skills --json"])
@click.argument(
    "names",
    nargs=-1,
    metavar="[CORPUS]...",
    callback=lambda ctx, param, names: tuple(resolve_corpus(ctx, param, name) for name in names),
    shell_complete=complete_corpus,
)
def status(out: Output, names: tuple[str, ...]) -> None:
    """Compare corpora with their sources. Show what a build would change, and where the index of this project is
    stored."""
    for name in names:
        if not opening.is_known(name):
            raise corpora.make_not_found(name)
    rows = [_compare(out, name) for name in names or registry.names()]
    index = project_index()
    place = {
        "project": str(project_root()),
        "path": str(corpus_paths.corpus_folder(index)),
        "ingested": location.find_corpus_file(index) is not None,
    }
    data = {"corpora": rows, "index": {"name": index, **place}}
    brief = [f"{row['name']}\t{row['state']}" for row in rows]
    out.show(data, lambda screen: corpus_tables.show_states(screen, data), brief)


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
        is_gone = entry is not None and entry.roots and not corpora.find_roots(entry)
        advice = f" To delete its corpus, run: {corpora.removal_command(name)}" if is_gone else ""
        return row | {"state": "broken", "problem": f"{error}{advice}"}
    is_stale = changes.added or changes.changed or changes.removed
    return row | {"state": "stale" if is_stale else "fresh", "changes": changes.to_dict()}


@command(examples=["shortlist verify", "shortlist verify tools.yaml --json"])
@click.argument("name", required=False, metavar="[CORPUS]", callback=resolve_corpus, shell_complete=complete_corpus)
def verify(out: Output, name: str | None) -> int:
    """Check every file of a stored corpus, or of all of them. Damaged index files are rebuilt from the documents. Exits
    with 1 if something cannot be repaired."""
    if name is not None and location.find_corpus_file(name) is None:
        raise corpora.make_not_found(name)
    names = [name] if name else corpus_paths.stored_corpora()
    rows = [_verify(out, stored, file) for stored in names if (file := location.find_corpus_file(stored))]
    brief = [f"{row['name']}\t{row['status']}" for row in rows]
    out.show({"corpora": rows}, lambda screen: corpus_tables.show_verified(screen, rows), brief)
    return ERROR if any(row["status"] == "damaged" for row in rows) else OK


def _verify(out: Output, name: str, file: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "path": str(file.parent), "repaired": [], "problems": []}
    if file.name != corpus_paths.DATABASE:
        return row | {"status": "not applicable"}  # a cluster has checksums of its own
    try:
        with shortlist.open_corpus(name) as corpus, out.progress(f"verifying {name}"):
            return corpus.verify()
    except ShortlistError as error:  # its database cannot be opened
        return row | {"status": "damaged", "problems": [str(error)]}


@command(
    examples=[
        "shortlist register larkspur catalog --root tools.yaml",
        "shortlist register playbooks skills --root skills --embedder light",
    ]
)
@click.argument("name", metavar="NAME")
@click.argument("kind", metavar="KIND")
@click.option("--replace", is_flag=True, help="Replace the source of a registered name, or of a stored corpus.")
@source_options
def register(
    out: Output,
    name: str,
    kind: str,
    replace: bool,
    root: tuple[str, ...],
    pattern: str | None,
    exclude: str | None,
    ocr: bool,
    others: tuple[str, ...],
    embedder: str | None,
    engine: str | None,
) -> None:
    """Give a source a name. The corpus is built on first use."""
    options = {"pattern": pattern, "exclude": exclude, "ocr": ocr, "embedder": embedder, "engine": engine}
    entry = _register(name, kind, root, others, replace=replace, **options)
    text = f"{entry.name} is registered. Build it now: shortlist build {entry.name}"
    out.show({"name": entry.name, **entry.to_dict()}, text)
    for place in entry.roots:
        if "://" not in place and not Path(place).exists():
            out.note(f"shortlist: {place} does not exist yet.")


@command(examples=["shortlist import-from cases.jsonl"])
@click.argument("system", metavar="SYSTEM")
@click.option("--replace", is_flag=True, help="Replace registrations and the tool index that exist.")
@click.option("--index-file", metavar="PATH", help="Tool index to write (default: the one of shortlist tools).")
def import_from(out: Output, system: str, replace: bool, index_file: str | None) -> int:
    """Take over what another system stored: the corpora of ir, the tool index of aumai-toolretrieval, or a case
    file."""
    rows = imports.import_file(imports.usual_file(system), find_index_file(index_file), replace=replace)
    data = {"imported": [row._asdict() for row in rows]}
    lines = [f"{row.name} ({row.kind}) is {row.action}. {row.note}" for row in rows]
    out.show(data, "\n".join(lines), [row.name for row in rows if row.action != "skipped"])
    return ERROR if all(row.action == "skipped" for row in rows) else OK


@command(examples=["shortlist migrate notes --to embedded"], writes=True)
@stored_argument
@click.option("--to", metavar="URL", required=True, help="Cluster to move it to, or embedded for this machine.")
@click.option("--delete-old", is_flag=True, help="Delete the copy in the old engine.")
def migrate(out: Output, name: str, to: str, delete_old: bool) -> None:
    """Move a corpus to another engine. Use the copy there only after all of it was compared."""
    if location.find_corpus_file(name) is None:
        raise corpora.make_not_found(name)
    with out.progress(f"migrating {name}") as progress:
        moved = shortlist.migrate(name, to, delete_old=delete_old, progress=progress)
    size = f"{count_of(moved.documents, 'document')}, {count_of(moved.passages, 'passage')}"
    place = "on this machine" if moved.target == engines.EMBEDDED else f"in {moved.target}"
    is_moved = moved.source != moved.target
    text = f"{name} is now stored {place}: {size}." if is_moved else f"{name} is already stored {place}."
    out.show(moved.to_dict(), text, [moved.target])


@command(examples=["shortlist rm notes", "shortlist rm notes --data"])
@stored_argument
@click.option("--data", "delete", is_flag=True, help="Delete the built corpus, too.")
def rm(out: Output, name: str, delete: bool) -> None:
    """Remove a registered name. Add --data to delete the built corpus, too."""
    is_stored = location.find_corpus_file(name) is not None
    if delete and is_stored:
        shortlist.delete_corpus(name)
        uploads.remove_uploads(name)
    is_unregistered, is_deleted = shortlist.unregister(name), delete and is_stored
    if not is_unregistered and not is_stored:
        if opening.is_known(name):
            raise InputError(f"{name!r} is not built, so there is nothing to remove.")
        raise corpora.make_not_found(name)
    if not is_unregistered and not delete:
        raise InputError(f"{name!r} is not registered, only built. To delete it, run: {corpora.removal_command(name)}")
    done = " and ".join(["unregistered"] * is_unregistered + ["deleted"] * is_deleted)
    out.show({"name": name, "unregistered": is_unregistered, "deleted": is_deleted}, f"{name} is {done}.")

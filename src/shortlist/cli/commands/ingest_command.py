"""The command that adds files to the index of a project."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

import shortlist
from shortlist._projects import GLOBAL_INDEX
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import WholeNumber
from shortlist.cli.output import ERROR, OK, Output
from shortlist.cli.shared_options import combine
from shortlist.errors import InputError

with lazy_imports():
    from shortlist.cli.terminal import corpus_tables
    from shortlist.server import service_settings

if TYPE_CHECKING:
    from shortlist._settings import Answers
    from shortlist.library.ingest import Ingested

index_options = combine(
    click.option("--index-dir", metavar="PATH", help="Folder of the index, instead of that of this project."),
    click.option(
        "--global",
        "shared",
        is_flag=True,
        help="Use the index that all projects share, not that of this project.",
    ),
)


@command(
    examples=[
        "shortlist ingest docs",
        "shortlist ingest docs/faq.txt tools.yaml --index-dir .index --embedder light",
    ],
    exclusive=[("--index-dir", "--global")],
    writes=True,
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--embedder", metavar="MODEL", help="Embedding model of a new index.")
@click.option("--engine", metavar="URL", help="Cluster to store a new index in.")
@click.option(
    "--chunk-size",
    metavar="N",
    type=WholeNumber(min=1),
    help="Characters per chunk (default: 800); a new value chunks the whole index again.",
)
@click.option(
    "--chunk-overlap",
    metavar="N",
    type=WholeNumber(min=0),
    help="Characters that a chunk shares with the one before it (default: 120).",
)
@click.option("--language", metavar="NAME", help="Language of the files as a code such as de (default: detected).")
@index_options
def ingest(
    out: Output,
    paths: Sequence[str],
    embedder: str | None,
    engine: str | None,
    chunk_size: int | None,
    chunk_overlap: int | None,
    language: str | None,
    index_dir: str | None,
    shared: bool,
) -> int:
    """Add files and folders to the index of this project. Read new and changed files, and remove deleted ones."""
    settings = load_settings(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    index_dir = index_dir or (None if shared else settings.index_dir)
    options = settings.model_dump(include={"chunk_size", "chunk_overlap"}, exclude_unset=True)
    began = time.perf_counter()
    with out.progress("ingesting files", "files") as bar:

        def report(done: Ingested) -> None:
            if bar:
                bar.meter.note = f"{done.chunks:,} chunks"

        options |= {"path": index_dir, "embedder": embedder, "engine": engine, "progress": bar, "on_counts": report}
        options |= {"language": language}
        options |= {"default_embedder": settings.embedder} if settings.embedder else {}
        corpus, done = shortlist.ingest(paths, GLOBAL_INDEX if shared else None, **options)
    seconds = round(time.perf_counter() - began, 3)
    data = {"corpus": corpus.name, "index": str(corpus.path), "seconds": seconds, **done.to_dict()}
    data |= {key: corpus.info()[key] for key in ("documents", "passages")}
    corpus.close()
    out.show(data, lambda screen: corpus_tables.show_ingested(screen, data), [str(data["index"])])
    out.report_problems((*done.failed, *done.skipped_files))
    if not any((done.read, done.unchanged, done.removed, done.skipped, done.failed)):
        out.note(f"shortlist: No file was found in {', '.join(paths)}.")
    return ERROR if done.failed and not data["documents"] else OK


def load_settings(**given: float | str | None) -> Answers:
    """The settings of answers in force; the given values of options come first."""
    try:
        return service_settings.load_answer_settings(given)
    except InputError as error:
        raise (click.UsageError(str(error)) if str(error).startswith("--") else error) from None

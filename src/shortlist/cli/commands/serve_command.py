"""The command that starts the HTTP service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import WholeNumber, split_corpora
from shortlist.cli.output import Output
from shortlist.cli.shared_options import complete_corpus, corpus_option, learn_option, settings_option
from shortlist.errors import InputError, needs_extra

with lazy_imports():
    from shortlist.cli import confirming, corpora
    from shortlist.client import addresses
    from shortlist.compat import retriever_settings
    from shortlist.server import service_settings
    from shortlist.sources import structured


@command(examples=["shortlist serve docs", "shortlist serve --documents tools.yaml --port 8000"])
@click.argument("names", nargs=-1, metavar="[CORPUS]...", shell_complete=complete_corpus)
@click.option("--host", metavar="TEXT", help="Address to listen on (default: 127.0.0.1).")
@click.option(
    "--port",
    metavar="N",
    type=WholeNumber(min=0),
    help="Port to listen on (default: 9200); 0 picks a free one.",
)
@click.option(
    "--workers",
    metavar="N",
    type=WholeNumber(min=0),
    help="Processes that search; 0: threads of the service (default: one for each of up to 4 cores, once searches "
    "overlap).",
)
@click.option(
    "--documents",
    metavar="PATH",
    help="Catalog to serve, YAML or JSON; another file or a folder is served as a corpus, as with --corpus.",
)
@corpus_option("Corpus to serve beside the catalog, instead of all; separate several with commas.")
@click.option("--token", metavar="TEXT", help="Token that callers must send. Prefer to set SHORTLIST_TOKEN.")
@click.option("--allow-anonymous", is_flag=True, help="Allow unauthenticated access.")
@learn_option
@settings_option
def serve(
    out: Output,
    names: Sequence[str],
    host: str | None,
    port: int | None,
    workers: int | None,
    documents: str | None,
    corpus: tuple[str, ...],
    token: str | None,
    allow_anonymous: bool,
    learn: str | None,
    settings: str | None,
) -> None:
    """Serve corpora over HTTP, with a web page: all of them, or those that are named. Press Ctrl-C to stop."""
    with needs_extra("server", "shortlist serve"):
        from shortlist.compat.retriever_service import create_app  # noqa: PLC0415  # needs an extra
        from shortlist.server import run  # noqa: PLC0415
    corpus = (*split_corpora(names), *corpus)
    if documents is not None and _is_corpus(Path(documents).expanduser()):
        corpus, documents = (*corpus, documents), None
    given = {
        "server.host": host,
        "server.port": port,
        "server.workers": workers,
        "server.token": token,
        "server.corpora": corpus or None,
        "server.allow_anonymous": allow_anonymous or None,
        "documents.source": documents,
        "usage.learn": learn,
    }
    if settings is None:
        confirming.ask_to_confirm(out, service_settings.find_requests_in(Path()))
    values = {key: value for key, value in given.items() if value is not None}
    loaded = retriever_settings.load_compat_settings(settings, values)
    for sentence in retriever_settings.unknown_variables():
        out.note(f"shortlist: {sentence}")
    for name in filter(addresses.is_service_address, loaded.server.corpora or ()):  # the file may come with a project
        raise InputError(f"server.corpora has {name!r}, the address of another service. Serve corpora of this machine.")
    corpora.open_corpora(out, loaded.server.corpora or ())
    run.serve(loaded, create_app)


def _is_corpus(place: Path) -> bool:
    """Whether a path is not that of a catalog, which is the only file in these formats that can be served as one."""
    return place.is_dir() or (place.is_file() and place.suffix.lower() not in structured.SUFFIXES)

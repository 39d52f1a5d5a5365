"""The command that starts the HTTP service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from shortlist.cli import options
from shortlist.cli.output import Output, command
from shortlist.server import run
from shortlist.server.service_settings import load_settings, unknown_variables


@command
@click.option("--host", metavar="ADDRESS", help="Address to listen on.")
@options.count("--port", least=0, help="Port to listen on; 0 takes a free one.")
@click.option("--settings", metavar="FILE", help="Settings file, instead of settings.yaml.")
@click.option("--documents", metavar="FILE", help="Catalog to serve, YAML or JSON.")
@options.repeatable("--corpus", "-c", metavar="NAME", help="Serve only these corpora beside the catalog.")
@click.option("--token", metavar="TOKEN", help="Token that callers must send; better set SHORTLIST_TOKEN.")
@options.flag("--allow-anonymous", help="Allow unauthenticated access.")
def serve(
    out: Output, settings: str | None, documents: str | None, corpus: Sequence[str], allow_anonymous: bool, **given: Any
) -> None:
    values = {f"server.{name}": value for name, value in given.items()} | {
        "documents.source": documents,
        "server.corpora": options.split_names(corpus) if corpus else None,
        "server.allow_anonymous": allow_anonymous or None,
    }
    loaded = load_settings(settings, {key: value for key, value in values.items() if value is not None})
    for sentence in unknown_variables():
        out.note(f"shortlist: {sentence}")
    options.open_corpora(out, loaded.server.corpora or ())
    run.serve(loaded)

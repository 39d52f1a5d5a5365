"""The command that starts the HTTP service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shortlist.cli.confirming import ask_to_confirm
from shortlist.cli.corpora import open_corpora
from shortlist.cli.output import Output
from shortlist.client.addresses import is_service_address
from shortlist.compat.retriever_settings import load_compat_settings, unknown_variables
from shortlist.errors import InputError, needs_extra
from shortlist.server.service_settings import find_requests_in

with needs_extra("server", "shortlist serve"):
    from shortlist.compat.retriever_service import create_app
    from shortlist.server import run


def serve(
    out: Output, settings: str | None, documents: str | None, corpus: Sequence[str], allow_anonymous: bool,
    learn: str | None, **given: Any,
) -> None:  # fmt: skip
    values = {f"server.{name}": value for name, value in given.items()} | {
        "documents.source": documents,
        "server.corpora": corpus or None,
        "server.allow_anonymous": allow_anonymous or None,
        "usage.learn": learn,
    }
    if settings is None:
        ask_to_confirm(out, find_requests_in(Path()))
    loaded = load_compat_settings(settings, {key: value for key, value in values.items() if value is not None})
    for sentence in unknown_variables():
        out.note(f"shortlist: {sentence}")
    for name in filter(is_service_address, loaded.server.corpora or ()):  # a settings file may come with a project
        raise InputError(f"server.corpora has {name!r}, the address of another service. Serve corpora of this machine.")
    open_corpora(out, loaded.server.corpora or ())
    run.serve(loaded, create_app)

"""How is the service started?"""

from __future__ import annotations

from typing import Annotated, Any

from shortlist.cli.corpus_arguments import names_in, opened
from shortlist.cli.declare import option
from shortlist.cli.output import OK, Output


def serve(
    out: Output,
    host: Annotated[str | None, option("--host", help="The address to listen on.", metavar="ADDRESS")] = None,
    port: Annotated[int | None, option("--port", help="The port to listen on; 0 takes a free one.", least=0)] = None,
    settings: Annotated[
        str | None, option("--settings", help="Another file than settings.yaml.", metavar="FILE")
    ] = None,
    documents: Annotated[
        str | None, option("--documents", help="The catalog to serve, YAML or JSON.", metavar="FILE")
    ] = None,
    corpus: Annotated[
        list[str] | None,
        option("--corpus", "-c", help="Serve only these corpora beside the catalog; repeat it.", metavar="NAME"),
    ] = None,
    token: Annotated[
        str | None, option("--token", help="What callers must know; better set SHORTLIST_TOKEN.", metavar="TOKEN")
    ] = None,
    allow_anonymous: Annotated[
        bool, option("--allow-anonymous", help="Need no token, whoever can reach the address.")
    ] = False,
) -> int:
    """Serve the catalog and the corpora over HTTP, with a web page, until Ctrl-C."""
    from shortlist.server.service_settings import load_settings, unknown_variables

    names = names_in(corpus) if corpus else None
    given: dict[str, Any] = {
        "server.host": host,
        "server.port": port,
        "documents.source": documents,
        "server.corpora": names,
        "server.token": token,
        "server.allow_anonymous": allow_anonymous or None,
    }
    loaded = load_settings(settings, {key: value for key, value in given.items() if value is not None})
    for sentence in unknown_variables():
        out.note(f"shortlist: {sentence}")
    opened(out, loaded.server.corpora or ())

    from shortlist.server import run

    run.serve(loaded)
    return OK

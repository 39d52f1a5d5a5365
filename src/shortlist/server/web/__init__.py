"""The web page: plain files beside this one, sent as they are. `router` has GET / and GET /page/{file}."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

# Nothing from elsewhere, no inline script or style, and no text that the browser could take for HTML.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # kept, but asked for again each time: a new version is seen at once
}

router = APIRouter(include_in_schema=False)


@cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """What may be sent: name -> content, type, ETag."""
    paths = (path for path in Path(__file__).parent.iterdir() if path.suffix in TYPES)
    contents = {path.name: path.read_bytes() for path in paths}
    return {
        name: (content, TYPES[Path(name).suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')
        for name, content in contents.items()
    }


@router.api_route("/", methods=["GET", "HEAD"])
def page(request: Request) -> Response:
    """The web page."""
    return page_file("index.html", request)


@router.api_route("/page/{file}", methods=["GET", "HEAD"])
def page_file(file: str, request: Request) -> Response:
    """One file of the web page."""
    if file not in _files():
        raise HTTPException(404, f"The page has no file {file!r}.")
    content, kind, etag = _files()[file]
    headers = HEADERS | {"ETag": etag}
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")}
    if known & {etag, "*"}:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)

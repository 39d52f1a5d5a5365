"""Finds what files that may come from someone else ask for, and asks the user to confirm it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from shortlist._text import printable
from shortlist.cli.output import Output
from shortlist.errors import ShortlistError
from shortlist.index.location import requests_of
from shortlist.mcp_client.config_files import PROJECT_FILES, ConfigurationFile
from shortlist.safety.confirmations import Confirmation, confirm
from shortlist.server.llm_settings import choose_llm
from shortlist.server.service_settings import find_requests_in
from shortlist.sources.skills import USUAL_PLACES


def ask_to_confirm(out: Output, requests: Iterable[Confirmation | None]) -> None:
    """In a terminal, show the requests that are not confirmed yet, and confirm them if the user agrees."""
    pending = [request for request in requests if request and not request.is_confirmed]
    if pending and out.can_ask():
        out.note(render_requests(pending))
        if out.confirm("Allow this?"):
            confirm_all(pending)


def confirm_all(requests: Sequence[Confirmation]) -> None:
    for request in requests:
        confirm(*request)


def render_requests(requests: Sequence[Confirmation]) -> str:
    """What each request asks for, where, and what happens if it is allowed."""
    rows = [request.to_dict() for request in requests]
    return "\n".join(
        f"{row['kind']}: {printable(row['value'] or row['place'])}\n"
        + (f"  set in {printable(row['place'])}\n" if row["value"] else "")
        + f"  if allowed, {row['effect']}"
        for row in rows
    )


def _find_llm(folder: Path) -> list[Confirmation]:
    request = choose_llm(folder).request
    return [request] if request else []


def _find_skills(folder: Path) -> list[Confirmation]:
    is_own = folder.resolve() == Path.home().resolve()
    has_skills = any((folder / place).is_dir() for place in USUAL_PLACES)
    return [Confirmation("project", folder)] if has_skills and not is_own else []


# Each lists what a folder asks for that takes effect once it is confirmed.
FINDERS: tuple[Callable[[Path], list[Confirmation]], ...] = (_find_llm, find_requests_in, _find_skills, requests_of)


def find_pending(out: Output, folders: list[Path]) -> list[Confirmation]:
    """What the folders ask for that is not confirmed; MCP files are only mentioned, as another command reviews them."""
    found: dict[str, Confirmation] = {}
    for folder in folders:
        for find in FINDERS:
            try:
                found |= {request.key: request for request in find(folder.resolve())}
            except ShortlistError as error:
                out.warn(str(error))
        for name in PROJECT_FILES:
            with suppress(ShortlistError):
                if (folder / name).is_file() and (pending := ConfigurationFile(folder / name).pending()):
                    out.note(f"shortlist: {pending.reason}")
    return [request for request in found.values() if not request.is_confirmed]

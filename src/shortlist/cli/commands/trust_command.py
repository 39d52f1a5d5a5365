"""The command that confirms what the files of a project ask for, lists what is confirmed, and withdraws it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from shortlist._projects import project_folders, project_root
from shortlist._text import count_of, printable
from shortlist.cli.confirming import confirm_all, render_requests
from shortlist.cli.output import ERROR, OK, Output
from shortlist.client.addresses import confirmation_of, is_service_address, parse_address
from shortlist.errors import InputError, ShortlistError
from shortlist.index.location import requests_of
from shortlist.mcp_client.config_files import PROJECT_FILES, ConfigurationFile
from shortlist.safety import confirmations
from shortlist.safety.confirmations import Confirmation
from shortlist.server.llm_settings import choose_llm
from shortlist.server.service_settings import find_requests_in
from shortlist.sources.skills import USUAL_PLACES


def _find_llm(folder: Path) -> list[Confirmation]:
    request = choose_llm(folder).request
    return [request] if request else []


def _find_skills(folder: Path) -> list[Confirmation]:
    is_own = folder.resolve() == Path.home().resolve()
    has_skills = any((folder / place).is_dir() for place in USUAL_PLACES)
    return [Confirmation("project", folder)] if has_skills and not is_own else []


# Each lists what a folder asks for that takes effect once it is confirmed.
FINDERS: tuple[Callable[[Path], list[Confirmation]], ...] = (_find_llm, find_requests_in, _find_skills, requests_of)


def trust(out: Output, path: str | None, listed: bool, revoke: bool, yes: bool) -> int:
    service = confirmation_of(parse_address(path, allow_http=True)) if path and is_service_address(path) else None
    place = Path(path).expanduser() if path else None
    if listed or revoke:
        _list_confirmed(out) if listed else _revoke(out, place or project_root(), service)
        return OK
    if place and not service and not place.is_dir():
        raise InputError(f"{path} is not a folder. Give the folder of a project or of an index.")
    if service:
        pending = [] if service.is_confirmed else [service]
    else:
        pending = _find_pending(out, [place] if place else project_folders())
    data: dict[str, Any] = {"pending": [request.to_dict() for request in pending], "confirmed": []}
    text = render_requests(pending) or "Nothing here needs your confirmation."
    is_agreed, can_ask = yes, out.can_ask()
    if can_ask:
        out.show(data, text)
        is_agreed = yes or not pending or out.confirm(f"Allow {count_of(len(pending), 'request')} as shown?")
    if pending and is_agreed:
        confirm_all(pending)
        data = {"pending": [], "confirmed": data["pending"]}
    if not can_ask:
        out.show(data, text, [row["value"] or row["place"] for row in data["confirmed"]])
    if pending and is_agreed:
        out.note("Allowed. A running service must be started again.")
    elif pending and not can_ask:
        out.warn("Nothing was allowed. Review the requests, then run this in a terminal, or add --yes.")
    return OK if is_agreed or not pending else ERROR


def _find_pending(out: Output, folders: list[Path]) -> list[Confirmation]:
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


def _list_confirmed(out: Output) -> None:
    rows = [request.to_dict() for request in sorted(confirmations.confirmed(), key=lambda one: (one.place, one.kind))]
    lines = [printable(f"{row['kind']:8} {row['place']}  {row['value']}".rstrip()) for row in rows]
    out.show({"confirmed": rows}, "\n".join(lines) or "Nothing is confirmed.", lines)


def _revoke(out: Output, place: Path, service: Confirmation | None) -> None:
    count = confirmations.revoke(place) if service is None else confirmations.revoke_value(service)
    shown = service.value if service else str(place)
    text = f"{count_of(count, 'confirmation')} withdrawn for {printable(shown)}."
    out.show({"place": shown, "revoked": count}, text, [str(count)])

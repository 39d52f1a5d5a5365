"""The command that confirms what the files of a project ask for, lists what is confirmed, and withdraws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shortlist._projects import project_folders, project_root
from shortlist._text import count_of, printable
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import ERROR, OK, Output
from shortlist.cli.shared_options import yes_option
from shortlist.errors import InputError
from shortlist.safety import confirmations
from shortlist.safety.confirmations import Confirmation

with lazy_imports():
    from shortlist.cli import confirming
    from shortlist.client import addresses


@command(examples=["shortlist trust", "shortlist trust --list"], exclusive=[("--list", "--revoke", "--yes")])
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--list", "listed", is_flag=True, help="List everything that is confirmed.")
@click.option("--revoke", is_flag=True, help="Withdraw what is confirmed for PATH and the files in it.")
@yes_option
def trust(out: Output, path: str | None, listed: bool, revoke: bool, yes: bool) -> int:
    """Confirm what the files of a project ask for. Show the addresses that they would send data to, embedders, settings
    that open the service to other machines, and skills; ask, and remember the answer. PATH is a folder; the default is
    the current project. PATH can also be the address of a service, which SHORTLIST_TOKEN is then sent to. The MCP
    servers of a project are reviewed with shortlist mcp trust."""
    service = None
    if path and addresses.is_service_address(path):
        service = addresses.confirmation_of(addresses.parse_address(path, allow_http=True))
    place = Path(path).expanduser() if path else None
    if listed or revoke:
        _list_confirmed(out) if listed else _revoke(out, place or project_root(), service)
        return OK
    if place and not service and not place.is_dir():
        raise InputError(f"{path} is not a folder. Give the folder of a project or of an index.")
    if service:
        pending = [] if service.is_confirmed else [service]
    else:
        pending = confirming.find_pending(out, [place] if place else project_folders())
    data: dict[str, Any] = {"pending": [request.to_dict() for request in pending], "confirmed": []}
    text = confirming.render_requests(pending) or "Nothing here needs your confirmation."
    is_agreed, can_ask = yes, out.can_ask()
    if can_ask:
        out.show(data, text)
        is_agreed = yes or not pending or out.confirm(f"Allow {count_of(len(pending), 'request')} as shown?")
    if pending and is_agreed:
        confirming.confirm_all(pending)
        data = {"pending": [], "confirmed": data["pending"]}
    if not can_ask:
        out.show(data, text, [row["value"] or row["place"] for row in data["confirmed"]])
    if pending and is_agreed:
        out.note("Allowed. A running service must be started again.")
    elif pending and not can_ask:
        out.warn("Nothing was allowed. Review the requests, then run this in a terminal, or add --yes.")
    return OK if is_agreed or not pending else ERROR


def _list_confirmed(out: Output) -> None:
    known = sorted(confirmations.confirmed(), key=lambda request: (request.place, request.kind))
    rows = [request.to_dict() for request in known]
    lines = [printable(f"{row['kind']:8} {row['place']}  {row['value']}".rstrip()) for row in rows]
    out.show({"confirmed": rows}, "\n".join(lines) or "Nothing is confirmed.", lines)


def _revoke(out: Output, place: Path, service: Confirmation | None) -> None:
    count = confirmations.revoke(place) if service is None else confirmations.revoke_value(service)
    shown = service.value if service else str(place)
    text = f"{count_of(count, 'confirmation')} withdrawn for {printable(shown)}."
    out.show({"place": shown, "revoked": count}, text, [str(count)])

"""Asks the user to confirm what files that may come from someone else ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shortlist._text import printable
from shortlist.cli.output import Output
from shortlist.safety.confirmations import Confirmation, confirm


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

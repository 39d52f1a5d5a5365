"""The commands that create, list and revoke the named tokens of the service."""

from __future__ import annotations

import click

from shortlist._text import count_of, printable
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import Output
from shortlist.errors import InputError

with lazy_imports():
    from shortlist.server.access import named_tokens


@command(examples=["shortlist token create ci --groups editors --expires 90d"])
@click.argument("name")
@click.option("--groups", metavar="TEXT", default="", help="Groups of the caller, separated by commas.")
@click.option("--expires", metavar="TEXT", help="Days for which it is valid, such as 90d (default: until revoked).")
def create(out: Output, name: str, groups: str, expires: str | None) -> None:
    """Create a token for a user or a program, and show it once. Only its hash is stored. A running service accepts it
    at once, if access.grants of its settings permit its groups anything."""
    listed = [group for part in groups.split(",") if (group := part.strip())]
    token = named_tokens.create_token(name, listed, _parse_days(expires))
    out.show({"name": name, "groups": listed, "token": token}, token)
    out.note("Store it now: it is not shown again.")


@command(examples=["shortlist token ls"])
def ls(out: Output) -> None:
    """List the tokens with their groups. The tokens themselves are not stored."""
    rows = named_tokens.list_tokens()
    lines = [
        printable(f"{row['name']}  {', '.join(row['groups']) or 'no groups'}  ")
        + ("expired" if row["expired"] else f"until {row['expires']}" if row["expires"] else "no expiry")
        for row in rows
    ]
    out.show({"tokens": rows}, "\n".join(lines) or "There are no tokens.", lines)


@command(examples=["shortlist token revoke ci"])
@click.argument("name")
def revoke(out: Output, name: str) -> None:
    """Revoke a token. A running service refuses it at once."""
    named_tokens.revoke_token(name)
    out.show({"revoked": name}, f"{count_of(1, 'token')} revoked: {printable(name)}.", [name])


def _parse_days(expires: str | None) -> float | None:
    if expires is None:
        return None
    number = expires.removesuffix("d")
    if not number.isdecimal() or not 0 < int(number) <= 36_500:
        raise InputError(f"--expires must be a number of days such as 90d, not {expires!r}.")
    return float(number)

"""Named tokens of the service: who may send them, until when. Only their hashes are stored."""

from __future__ import annotations

import hashlib
import secrets
import time
from datetime import UTC, datetime
from typing import Any

from shortlist._files import JsonFile, stamp_of
from shortlist._paths import config_dir
from shortlist._text import did_you_mean
from shortlist.errors import InputError, SourceError

PREFIX = "shortlist_"  # by which scanners for secrets find them
DAY = 86_400.0
LAST_TIME = 253_402_300_800  # the end of the year 9999, the last of `datetime`

Row = dict[str, Any]


def create_token(name: str, groups: list[str], days: float | None) -> str:
    """Store a new token, which is returned once; `days` is how long it is valid."""
    if not name or not name.isprintable() or len(name) > 100:
        raise InputError(f"The name of a token must be 1 to 100 printable characters, not {name!r}.")
    token = PREFIX + secrets.token_urlsafe(32)
    now = time.time()
    with _file().changing() as known:
        if name in known:
            raise InputError(f"A token named {name!r} exists. Revoke it first: shortlist token revoke {name}")
        expires = None if days is None else now + days * DAY
        known[name] = {"hash": hash_token(token), "groups": sorted(set(groups)), "created": now, "expires": expires}
    return token


def revoke_token(name: str) -> None:
    with _file().changing() as known:
        if known.pop(name, None) is None:
            raise InputError(f"There is no token named {name!r}.{did_you_mean(name, known)}")


def list_tokens() -> list[Row]:
    """The tokens by name, without their hashes."""
    known = _file().read()
    for name, row in known.items():
        if not _is_valid(row):
            raise SourceError(
                f"The token {name!r} in {_file().path} is damaged. Revoke it: shortlist token revoke {name}"
            )
    return [
        {
            "name": name,
            "groups": row["groups"],
            "created": _to_text(row["created"]),
            "expires": _to_text(row["expires"]),
            "expired": _has_expired(row),
        }
        for name, row in sorted(known.items())
    ]


class NamedTokens:
    """The stored tokens, read again when the file has changed."""

    def __init__(self) -> None:
        self._stamp: tuple[int, ...] | None = None
        self._known: dict[str, tuple[str, Row]] = {}

    def find(self, token: str) -> tuple[str, frozenset[str]] | None:
        """The name and the groups of a valid token. What cannot be read permits nothing."""
        if (stamp := stamp_of(_file().path)) != self._stamp:
            try:
                self._known = {row["hash"]: (name, row) for name, row in _file().read().items() if _is_valid(row)}
            except SourceError:
                self._known = {}
            self._stamp = stamp
        name, row = self._known.get(hash_token(token), ("", None))
        return None if row is None or _has_expired(row) else (name, frozenset(row["groups"]))


def _is_valid(row: Row) -> bool:
    """Whether a row, which someone may have edited, is as `create_token` writes it."""
    groups, expires = row.get("groups"), row.get("expires", "")
    return (
        isinstance(row.get("hash"), str)
        and isinstance(groups, list)
        and all(isinstance(group, str) for group in groups)
        and _is_time(row.get("created"))
        and (expires is None or _is_time(expires))
    )


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < LAST_TIME


def _has_expired(row: Row) -> bool:
    return row["expires"] is not None and time.time() >= row["expires"]


def _to_text(seconds: float | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def hash_token(token: str) -> str:
    """A token is random and long, so a fast hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def _file() -> JsonFile:
    repair = ". Repair it, or move it away and create the tokens again with: shortlist token create"
    return JsonFile(config_dir() / "service-tokens.json", 1, "tokens", repair, private=True)

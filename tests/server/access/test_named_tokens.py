"""Named tokens: stored hashed, found until they expire or are revoked."""

from __future__ import annotations

import json
import time

import pytest

from shortlist import InputError, SourceError
from shortlist._paths import config_dir
from shortlist.server.access.named_tokens import NamedTokens, create_token, list_tokens, revoke_token


def test_a_token_is_found_by_its_value_and_only_its_hash_is_stored() -> None:
    known = NamedTokens()
    assert known.find("shortlist_nothing") is None
    token = create_token("ci", ["editors", "staff"], None)
    assert known.find(token) == ("ci", frozenset({"editors", "staff"}))
    assert known.find(f"{token}x") is None
    file = config_dir() / "service-tokens.json"
    assert token not in file.read_text("utf-8")
    assert file.stat().st_mode & 0o077 == 0
    assert [row["name"] for row in list_tokens()] == ["ci"]
    assert "hash" not in list_tokens()[0]


def test_a_revoked_or_expired_token_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known, token, other = NamedTokens(), create_token("robot", [], 1), create_token("cd", [], None)
    assert known.find(token)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 86_401)
    assert known.find(token) is None
    assert [row["expired"] for row in list_tokens()] == [False, True]
    assert known.find(other)
    revoke_token("cd")
    assert known.find(other) is None
    with pytest.raises(InputError, match="Did you mean 'robot'"):
        revoke_token("robbot")


def test_a_name_is_used_once_and_a_damaged_file_permits_nothing() -> None:
    token = create_token("ci", ["staff"], None)
    with pytest.raises(InputError, match="exists"):
        create_token("ci", [], None)
    with pytest.raises(InputError, match="printable"):
        create_token("a\nb", [], None)
    file = config_dir() / "service-tokens.json"
    file.write_text(json.dumps({"format": 1, "tokens": 3}))
    assert NamedTokens().find(token) is None


@pytest.mark.parametrize(
    "change", [{"groups": "staff"}, {"groups": [3]}, {"groups": None}, {"expires": "soon"}, {"expires": float("nan")}]
)
def test_a_row_that_was_edited_wrongly_permits_nothing_and_is_named(change: dict[str, object]) -> None:
    damaged, token = create_token("ci", ["staff"], None), create_token("cd", ["staff"], None)
    file = config_dir() / "service-tokens.json"
    data = json.loads(file.read_text("utf-8"))
    data["tokens"]["ci"] |= change
    file.write_text(json.dumps(data), "utf-8")
    assert NamedTokens().find(damaged) is None
    assert NamedTokens().find(token) == ("cd", frozenset({"staff"}))
    with pytest.raises(SourceError, match="'ci'"):
        list_tokens()
    revoke_token("ci")
    assert len(list_tokens()) == 1

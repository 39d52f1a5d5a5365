"""The commands token create, ls and revoke."""

from __future__ import annotations

from shortlist.server.access.named_tokens import NamedTokens
from tests.cli.conftest import Shell


def test_a_token_is_shown_once_listed_and_revoked(lamp: Shell) -> None:
    created = lamp("token", "create", "ci", "--groups", "editors, staff", "--expires", "90d")
    token = created.out.strip()
    assert NamedTokens().find(token) == ("ci", frozenset({"editors", "staff"}))
    listed = lamp("token", "ls")
    assert "ci  editors, staff  until 20" in listed.out
    assert token not in listed.out
    assert lamp("token", "revoke", "ci").code == 0
    assert NamedTokens().find(token) is None
    assert lamp("token", "ls").out.strip() == "There are no tokens."


def test_a_wrong_expiry_is_an_error_that_names_it(lamp: Shell) -> None:
    done = lamp("token", "create", "ci", "--expires", "soon")
    assert (done.code, "'soon'" in done.err) == (1, True)

"""Who sends a request: tokens of an issuer with keys that rotate, and what is refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import jwt
import pytest

from shortlist import InputError
from shortlist._settings import AccessSettings
from shortlist.server.access import identity
from shortlist.server.access.identity import InvalidToken, IssuedTokens
from tests.server.access.issuer import AUDIENCE, Issuer


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    one = Issuer()
    yield one
    one.close()


def settings(issuer: Issuer, **changes: object) -> AccessSettings:
    return AccessSettings.model_validate({"issuer": issuer.url, "audience": AUDIENCE, **changes})


def check(tokens: IssuedTokens, token: str) -> tuple[str, frozenset[str]]:
    return asyncio.run(tokens.check(token))


def test_a_token_of_the_issuer_has_its_user_and_groups(issuer: Issuer) -> None:
    tokens = IssuedTokens(settings(issuer))
    assert check(tokens, issuer.token("ada", ("staff", "hr"))) == ("ada", frozenset({"staff", "hr"}))
    assert check(tokens, issuer.token("bob", "staff")) == ("bob", frozenset({"staff"}))
    assert check(tokens, issuer.token("bob", None)) == ("bob", frozenset())
    assert issuer.requests == ["/.well-known/openid-configuration", "/keys"]
    named = IssuedTokens(settings(issuer, keys_url=f"{issuer.url}/keys", user_claim="email", groups_claim="roles"))
    assert check(named, issuer.token(email="a@x", roles=["r"])) == ("a@x", frozenset({"r"}))


def test_a_token_that_is_not_valid_is_refused_with_the_reason(issuer: Issuer) -> None:
    tokens = IssuedTokens(settings(issuer, leeway_seconds=10))
    now = time.time()
    assert check(tokens, issuer.token(exp=now - 5))
    wrong = {
        "expired": issuer.token(exp=now - 20),
        "not yet valid": issuer.token(nbf=now + 60),
        "Audience": issuer.token(aud="https://other.example"),
        "issuer": issuer.token(iss="https://other.example"),
        "exp": issuer.token(exp=None),
        "sub": issuer.token(sub=None),
        "aud": issuer.token(aud=None),
        "groups": issuer.token("ada", {"staff": True}),
        "unknown key": jwt.encode({"sub": "ada"}, "s" * 64, "HS256", {"kid": "shared"}),
        "Signature": issuer.token()[:-8] + "AAAAAAAA",
        "Not enough segments": "token",
    }
    for reason, token in wrong.items():
        with pytest.raises(InvalidToken, match=reason):
            check(tokens, token)
    first = issuer.token().split(".")
    unsigned = jwt.encode({"sub": "ada"}, "", "none", {"kid": "first"}).split(".")[0]
    with pytest.raises(InvalidToken):
        check(tokens, ".".join([unsigned, first[1], ""]))


def test_keys_are_read_again_when_they_rotate_but_not_for_every_unknown_key(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = IssuedTokens(settings(issuer, keys_url=f"{issuer.url}/keys"))
    before = issuer.token()
    check(tokens, before)
    issuer.rotate("second")
    for _ in range(3):
        with pytest.raises(InvalidToken, match="unknown key"):
            check(tokens, issuer.token())
    assert len(issuer.requests) == 1
    monkeypatch.setattr(identity, "RETRY_SECONDS", 0.0)
    assert check(tokens, issuer.token())
    with pytest.raises(InvalidToken, match="unknown key"):  # it was withdrawn
        check(tokens, before)


def test_known_keys_stay_while_the_issuer_cannot_be_reached(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = IssuedTokens(settings(issuer))
    check(tokens, issuer.token())
    issuer.close()
    monkeypatch.setattr(identity, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(identity, "FRESH_SECONDS", 0.0)
    assert check(tokens, issuer.token())[0] == "ada"


def test_valid_tokens_wait_while_another_request_reads_the_keys(issuer: Issuer) -> None:
    tokens, token = IssuedTokens(settings(issuer)), issuer.token()

    async def check_many() -> list[tuple[str, frozenset[str]]]:
        issuer.can_answer.clear()
        first = [asyncio.create_task(tokens.check(token)) for _ in range(3)]
        while not issuer.requests:
            await asyncio.sleep(0.01)
        later = asyncio.create_task(tokens.check(token))
        await asyncio.sleep(0)
        issuer.can_answer.set()
        return await asyncio.gather(*first, later)

    assert [user for user, _ in asyncio.run(check_many())] == ["ada"] * 4
    assert len(issuer.requests) == 2


@pytest.mark.parametrize("wrong", [{"issuer": "https://other.example"}, {"jwks_uri": "http://other.example/keys"}])
def test_a_discovery_document_of_another_issuer_or_without_encryption_is_not_believed(
    issuer: Issuer, wrong: dict[str, str]
) -> None:
    issuer.discovery = wrong
    with pytest.raises(InvalidToken, match="unknown key"):
        check(IssuedTokens(settings(issuer)), issuer.token())
    assert issuer.requests == ["/.well-known/openid-configuration"]


def test_an_issuer_needs_an_audience_and_an_encrypted_address() -> None:
    with pytest.raises(InputError, match=r"access\.audience"):
        IssuedTokens(AccessSettings(issuer="https://login.example"))
    with pytest.raises(InputError, match="https"):
        IssuedTokens(AccessSettings(issuer="http://login.example", audience="x"))

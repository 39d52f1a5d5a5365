"""Who sends a request: the token of the settings, a named token, or a JSON Web Token of an identity provider."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import time
from typing import Any

import httpx2

from shortlist._http import is_loopback
from shortlist._settings import AccessSettings, Settings
from shortlist.errors import InputError, needs_extra
from shortlist.safety.principals import EVERYONE, Grants, Principal
from shortlist.server.access.named_tokens import NamedTokens

log = logging.getLogger("shortlist.serve")

# Signatures only: with a shared secret, a service that checks tokens could also make them.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
FETCH_SECONDS = 10.0
FRESH_SECONDS = 3600.0  # after which keys are read again, so that withdrawn ones no longer count
RETRY_SECONDS = 30.0  # between reads because of unknown keys, which anyone can name
MOST_BYTES = 1 << 20
ANONYMOUS = "anonymous"  # a caller without a token


class InvalidToken(Exception):
    """Why a token is not accepted, in a sentence that may be shown to its sender."""


class Identity:
    """Finds the caller of a request, if the settings have grants."""

    def __init__(self, settings: Settings) -> None:
        server, access = settings.server, settings.access
        self._token = server.token.get_secret_value().encode() if server.token else None
        self._allows_anonymous = server.allow_anonymous
        self._grants = Grants(access.grants, access.profiles, access.documents)
        self._named = NamedTokens()
        self._issued = IssuedTokens(access) if access.issuer else None

    async def find_caller(self, token: str) -> Principal:
        """The caller who sends a token, "" if there is none."""
        if self._token is not None and hmac.compare_digest(token.encode(), self._token):
            return Principal("operator", is_operator=True)
        if not token:
            if self._allows_anonymous:
                return Principal(ANONYMOUS, frozenset({EVERYONE}), self._grants)
            raise InvalidToken("The token is missing. Send it in the header: Authorization: Bearer TOKEN.")
        if found := self._named.find(token):
            name, groups = found
            return Principal(f"token:{name}", groups | {EVERYONE}, self._grants)
        if self._issued is None or token.count(".") != 2:
            raise InvalidToken("The token is wrong, expired or revoked.")
        user, groups = await self._issued.check(token)
        return Principal(f"user:{user}", groups | {EVERYONE}, self._grants)


class IssuedTokens:
    """Checks the JSON Web Tokens of one issuer against its keys, which are read again when they rotate."""

    def __init__(self, access: AccessSettings) -> None:
        with needs_extra("auth", "access.issuer"):
            import jwt  # noqa: PLC0415  # an extra
            from cryptography.hazmat.primitives import asymmetric  # noqa: F401, PLC0415
        if not access.audience:
            raise InputError("access.issuer needs access.audience, so that no token for another service is accepted.")
        for address in filter(None, (access.issuer, access.keys_url)):
            _check_encrypted(address)
        self._jwt: Any = jwt
        self._access = access
        self._keys: dict[str, Any] = {}
        self._read_at, self._tried_at = -FRESH_SECONDS, -RETRY_SECONDS
        self._reading: asyncio.Task[None] | None = None  # which all requests share

    async def check(self, token: str) -> tuple[str, frozenset[str]]:
        """The user and the groups of a valid token."""
        jwt, access = self._jwt, self._access
        try:
            header = jwt.get_unverified_header(token)
            key = await self._find_key(str(header.get("kid", "")))
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=access.audience,
                issuer=access.issuer,
                leeway=access.leeway_seconds,
                options={"require": ["exp", "iss", "aud", access.user_claim]},
            )
        except jwt.PyJWTError as error:
            raise InvalidToken(f"The token is not valid: {error}.") from None
        user, groups = claims[access.user_claim], claims.get(access.groups_claim, [])
        groups = [groups] if isinstance(groups, str) else groups
        if not isinstance(user, str) or not user or not isinstance(groups, list):
            raise InvalidToken(f"The claims {access.user_claim} and {access.groups_claim} of the token cannot be read.")
        return user, frozenset(group for group in groups if isinstance(group, str))

    async def _find_key(self, id: str) -> Any:
        now = time.monotonic()
        is_due = now - self._read_at >= FRESH_SECONDS or id not in self._keys
        reading = self._reading if self._reading and not self._reading.done() and id not in self._keys else None
        if is_due and now - self._tried_at >= RETRY_SECONDS and (self._reading is None or self._reading.done()):
            self._tried_at = now
            self._reading = reading = asyncio.create_task(asyncio.to_thread(self._read_keys))
        if reading is not None:
            await asyncio.shield(reading)
        if id not in self._keys:
            raise InvalidToken("The token is signed with an unknown key.")
        return self._keys[id]

    def _read_keys(self) -> None:
        """Read the keys of the issuer. If that fails, the known ones stay."""
        access = self._access
        try:
            with httpx2.Client(timeout=FETCH_SECONDS, follow_redirects=False) as client:
                rows = _read_json(client, access.keys_url or self._discover(client))["keys"]
            loaded = [(row, self._load_key(row)) for row in rows if isinstance(row, dict)]
            self._keys = {str(row.get("kid", "")): key for row, key in loaded if key}
            self._read_at = self._tried_at
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("The keys of %s cannot be read: %s", access.issuer, error)

    def _discover(self, client: httpx2.Client) -> str:
        """The address of the keys, as the issuer says."""
        issuer = self._access.issuer
        about = _read_json(client, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if about["issuer"] != issuer:
            raise ValueError(f"its discovery document is of {str(about['issuer'])[:200]!r}")
        address = str(about["jwks_uri"])
        _check_encrypted(address)
        return address

    def _load_key(self, row: dict[str, Any]) -> Any:
        """A key for signatures; None for any other."""
        with contextlib.suppress(self._jwt.PyJWTError, ValueError, TypeError, AttributeError):
            key = self._jwt.PyJWK(row)
            return key if row.get("use", "sig") == "sig" and key.algorithm_name in ALGORITHMS else None
        return None


def _check_encrypted(address: str) -> None:
    url = httpx2.URL(address)
    if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.host)):
        raise InputError(f"access: {address} must be an https address.")


def _read_json(client: httpx2.Client, address: str) -> Any:
    with client.stream("GET", address) as response:
        response.raise_for_status()
        data = b""
        for piece in response.iter_bytes():
            data += piece
            if len(data) > MOST_BYTES:
                raise ValueError("the answer is too large")
    return httpx2.Response(200, content=data).json()

"""The stored sign-ins to remote MCP servers: in the system keyring if there is one, else in a file of the user.

A sign-in belongs to the name and the URL of a server, and to the project whose file configures it: a server that has
another URL, or that another project configures, never gets its token.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._files import JsonFile
from shortlist._paths import config_dir
from shortlist._redact import hide
from shortlist.mcp_client.server_config import ServerConfig

NEEDS_SIGN_IN = 401_000  # the code of an error that only a sign-in fixes; no server and no part of the SDK uses it

SERVICE = "shortlist"  # the name of our entries in the keyring
SECRETS = ("tokens", "client")  # the parts of a sign-in that a keyring stores

# The access and refresh token (`tokens`), when the access token expires (`expires_at`), the registered client
# (`client`), the metadata of the authorization server (`issuer`) and of the server (`resource`), each as the SDK writes
# it, and a random `id` that stays the same when the tokens are refreshed.
SignIn = dict[str, Any]


def token_file() -> Path:
    return config_dir() / "tokens.json"


def key_of_sign_in(server: ServerConfig) -> str:
    text = json.dumps([server.name, server.url, str(server.project or "")])
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def lock_file(key: str) -> Path:
    """The file to lock while the tokens of a sign-in are exchanged for others."""
    return token_file().with_name(f"tokens-{key}.lock")


def read_sign_ins() -> dict[str, SignIn]:
    """All sign-ins by key, without what is in the keyring."""
    return _file().read()


def read_sign_in(key: str) -> SignIn | None:
    found = read_sign_ins().get(key)
    if found is not None and "tokens" not in found:
        secrets = _read_keyring(key)
        found = found | secrets if secrets else None
    if found is not None:
        _hide(found)
    return found


def write_sign_in(server: ServerConfig, sign_in: SignIn) -> None:
    key = key_of_sign_in(server)
    _hide(sign_in)
    sign_in = {"name": server.name, "url": server.url, **sign_in}
    if _write_keyring(key, json.dumps({part: sign_in[part] for part in SECRETS})):
        sign_in = {part: value for part, value in sign_in.items() if part not in SECRETS}
    with _file().changing() as known:
        known[key] = sign_in


def delete_sign_in(key: str) -> None:
    with _file().changing() as known:
        known.pop(key, None)
    with contextlib.suppress(Exception):  # it is not there
        _keyring().delete_password(SERVICE, key)


def _file() -> JsonFile:
    repair = ". Repair it, or move it away and sign in again with: shortlist mcp login NAME"
    return JsonFile(token_file(), 1, "servers", repair, private=True)


def _hide(sign_in: Mapping[str, Any]) -> None:
    hide(*(sign_in["tokens"].get(name) for name in ("access_token", "refresh_token")))
    hide(sign_in["client"].get("client_secret"))


def _keyring() -> Any:
    """The keyring of the system; an ImportError if the package is not installed."""
    import keyring  # noqa: PLC0415  # optional, and asks the system

    return keyring


def _read_keyring(key: str) -> SignIn | None:
    with contextlib.suppress(Exception):  # locked, or not available in this session
        return dict(json.loads(_keyring().get_password(SERVICE, key)))
    return None


def _write_keyring(key: str, text: str) -> bool:
    """Store a text in the keyring, and return whether that worked."""
    with contextlib.suppress(Exception):  # it is locked, the text is too long for it, or there is none
        keyring = _keyring()
        if keyring.get_keyring().priority >= 1:  # one with less, such as a plain file, is no better than ours
            keyring.set_password(SERVICE, key, text)
            return bool(keyring.get_password(SERVICE, key) == text)
    return False

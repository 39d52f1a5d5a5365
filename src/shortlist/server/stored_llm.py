"""The language model that the user set up with `shortlist config llm`, for all projects.

It applies where neither the environment nor a file of the project configures one. Its file names where the key is: in
an environment variable, in the keyring of the system, or, if the user wants that, in the file itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shortlist._files import JsonFile
from shortlist._paths import config_dir
from shortlist._redact import hide
from shortlist.errors import InputError

KeySource = Literal["", "variable", "keyring", "file"]

SERVICE, ENTRY = "shortlist", "llm"  # of the keyring and of the file

log = logging.getLogger("shortlist.answer")


class StoredLlm(NamedTuple):
    """The settings of a language model; `key` is a variable or, with the source "file", the key itself."""

    url: str
    model: str
    fallback: str = ""
    key_source: KeySource = ""
    key: str = ""

    def read_key(self) -> str:
        """The key; empty if there is none, with a warning if there should be one."""
        if self.key_source == "variable":
            key = os.environ.get(self.key, "").strip()
            if not key:
                log.warning("The key of the language model %s is in %s, which is not set.", self.model, self.key)
        elif self.key_source == "keyring":
            key = _read_keyring()
            if not key:
                log.warning("The key of the language model %s cannot be read from the keyring.", self.model)
        else:
            key = self.key
        hide(key)
        return key

    def list_values(self) -> dict[str, str]:
        """The values by the keys of settings."""
        values = {"llm.url": self.url, "llm.model": self.model, "llm.fallback": self.fallback}
        return {key: value for key, value in (values | {"llm.key": self.read_key()}).items() if value}


def stored_file() -> Path:
    return config_dir() / "llm.json"


def read_stored_llm() -> StoredLlm | None:
    found = _file().read().get(ENTRY)
    return StoredLlm(**{name: str(found.get(name, "")) for name in StoredLlm._fields}) if found else None  # type: ignore[arg-type]


def store_llm(llm: StoredLlm, key: str = "") -> None:
    """Store the settings, and with the source "keyring" the key."""
    if llm.key_source == "keyring" and key:
        _write_keyring(key)
    with _file().changing() as known:
        known[ENTRY] = {name: value for name, value in llm._asdict().items() if value}


def delete_stored_llm() -> bool:
    """Delete the settings and the key in the keyring; return whether there were any."""
    found = read_stored_llm()
    if found and found.key_source == "keyring":
        with contextlib.suppress(Exception):  # it is not there
            _import_keyring().delete_password(SERVICE, ENTRY)
    stored_file().unlink(missing_ok=True)
    return found is not None


def _file() -> JsonFile:
    repair = ". Delete it and configure the model again with: shortlist config llm"
    return JsonFile(stored_file(), 1, "models", repair, private=True)


def _import_keyring() -> Any:
    import keyring  # noqa: PLC0415  # optional, and asks the system

    return keyring


def _read_keyring() -> str:
    with contextlib.suppress(Exception):  # locked, or not available in this session
        return str(_import_keyring().get_password(SERVICE, ENTRY) or "")
    return ""


def _write_keyring(key: str) -> None:
    advice = "Use --key-variable NAME, or --key-in-file to store it in a file that only you can read."
    try:
        keyring = _import_keyring()
        if keyring.get_keyring().priority < 1:
            raise InputError(f"This system has no keyring. {advice}")
        keyring.set_password(SERVICE, ENTRY, key)
    except ImportError:
        raise InputError(f'The keyring needs the extra keyring: pip install "shortlist[keyring]". {advice}') from None
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"The key cannot be stored in the keyring: {error}. {advice}") from None

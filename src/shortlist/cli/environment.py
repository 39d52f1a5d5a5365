"""The environment variables of the package that are no settings, and those that are read before the settings.

It loads nothing else: `_settings`, which reads the others, takes as long to load as a search.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

# The meaning of the variables that are no settings.
OTHER_VARIABLES = {
    "SHORTLIST_CONFIG_DIR": "folder of the registry",
    "SHORTLIST_DATA_DIR": "folder of the corpora",
    "SHORTLIST_CACHE_DIR": "folder of files that can be made again",
    "SHORTLIST_DEBUG": "1 shows the traceback of an error",
    "NO_COLOR": "any value turns colors off",
    "OPENAI_API_KEY": "key of an OpenAI-compatible endpoint",
}


class EngineCredentials(NamedTuple):
    """User, password and certificate authority file for clusters; each may be empty."""

    user: str
    password: str
    certificate: str


def read_engine_credentials() -> EngineCredentials:
    """The credentials in SHORTLIST_ENGINE_USER, SHORTLIST_ENGINE_PASSWORD and SHORTLIST_ENGINE_CERTIFICATE."""
    return EngineCredentials(*(_read(f"SHORTLIST_ENGINE_{name.upper()}") for name in EngineCredentials._fields))


def has_learning() -> bool:
    """Whether SHORTLIST_LEARN is set. `_settings.load_learning` reads what it means."""
    return bool(_read("SHORTLIST_LEARN"))


def is_debugging() -> bool:
    """Whether SHORTLIST_DEBUG asks for the traceback of an error."""
    return os.environ.get("SHORTLIST_DEBUG", "0") not in ("", "0")


def read_variables(names: Iterable[str]) -> dict[str, str | None]:
    """The values of variables as they are; None for those that are not set."""
    return {name: os.environ.get(name) for name in names}


def _read(name: str) -> str:
    return os.environ.get(name, "").strip()

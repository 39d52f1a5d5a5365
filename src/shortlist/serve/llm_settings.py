"""Which language model is meant? The environment first, then `.env` of this folder, then the settings file.

SHORTLIST_LLM_URL, _MODEL, _KEY and _FALLBACK, or the usual OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY. The
settings file is settings.toml in the configuration folder, with a table [llm] of url, model, key and fallback.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.answer.llm import OpenAIChat
from shortlist.errors import InputError
from shortlist.index.places import config_dir

FILE = "settings.toml"
OPENAI = "https://api.openai.com/v1"
VARIABLES = {
    "url": ("SHORTLIST_LLM_URL", "OPENAI_BASE_URL"),
    "model": ("SHORTLIST_LLM_MODEL", "OPENAI_MODEL"),
    "key": ("SHORTLIST_LLM_KEY", "OPENAI_API_KEY"),
    "fallback": ("SHORTLIST_LLM_FALLBACK",),
}


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """Where a model is and what it is called; all empty where none is meant."""

    url: str = ""
    model: str = ""
    key: str = ""
    fallback: str = ""

    def connect(self) -> OpenAIChat | None:
        """The model, or None where there is neither an address nor a key."""
        if not self.url and not self.key:
            return None
        if not self.model:
            raise InputError(
                "A language model is set up, but not which one: set SHORTLIST_LLM_MODEL (or OPENAI_MODEL), or answer "
                "without one (--extractive)."
            )
        return OpenAIChat(self.url or OPENAI, self.model, self.key, self.fallback)


def llm_settings(folder: Path | None = None) -> LLMSettings:
    """What is set, value by value: the environment, then `.env` in the folder, then the settings file."""
    places = (os.environ, _dotenv((folder or Path.cwd()) / ".env"))
    found = dict(_settings_file(config_dir() / FILE))
    for name, variables in VARIABLES.items():
        values = [str(place[variable]) for place in places for variable in variables if place.get(variable)]
        if values:
            found[name] = values[0]
    return LLMSettings(**{name: value.strip() for name, value in found.items()})


def _dotenv(path: Path) -> Mapping[str, str | None]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # noqa: PLC0415  # only where there is such a file

    return dotenv_values(path, interpolate=False)


def _settings_file(path: Path) -> dict[str, str]:
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    table = data.get("llm", {})
    unknown = [name for name in table if name not in VARIABLES]
    if unknown:
        raise InputError(f"{path} has [llm] {unknown[0]}, which means nothing; known are {', '.join(VARIABLES)}.")
    return {name: str(value) for name, value in table.items()}

"""Which language model is meant? The environment first, then `.env` of this folder, then `llm` in its settings.yaml.

SHORTLIST_LLM_URL, _MODEL, _KEY and _FALLBACK, or the usual OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY. Those
count only where a model is named: an address or a key may be there for another program.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shortlist.answer.llm import OpenAIChat
from shortlist.errors import InputError
from shortlist.serve.settings import FILE, Llm, read_file

OPENAI = "https://api.openai.com/v1"
OURS = {f"SHORTLIST_LLM_{name.upper()}": name for name in Llm.model_fields}
USUAL = {"OPENAI_BASE_URL": "url", "OPENAI_MODEL": "model", "OPENAI_API_KEY": "key"}


def llm_settings(folder: Path | None = None) -> Llm:
    """What is set, value by value; `folder` is where `.env` and settings.yaml are looked for."""
    place = folder or Path.cwd()
    found: dict[str, Any] = {}
    if (place / FILE).is_file():
        values = read_file(place / FILE)
        found = {key.removeprefix("llm."): value for key, value in values.items() if key.startswith("llm.")}
    environment = _environment(place)
    usual, ours = (_said(environment, variables) for variables in (USUAL, OURS))
    if (found | usual | ours).get("model"):
        found |= usual
    found |= ours
    try:
        return Llm.model_validate(found)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]["loc"][0]
        known = ", ".join(Llm.model_fields)
        raise InputError(f"{place / FILE}: llm.{wrong} is not understood; known are the texts {known}.") from None


def unnamed_model(llm: Llm, folder: Path | None = None) -> str:
    """Which of the usual variables does not count, since no model is named; empty if all that are set do."""
    if llm.model:
        return ""
    environment = _environment(folder or Path.cwd())
    return next((variable for variable in USUAL if variable in environment), "")


def connect(llm: Llm) -> OpenAIChat | None:
    """The model, or None where there is neither an address nor a key."""
    key = llm.key.get_secret_value() if llm.key else ""
    if not llm.url and not key:
        return None
    if not llm.model:
        raise InputError(
            "A language model is set up, but not which one: set SHORTLIST_LLM_MODEL (or OPENAI_MODEL), or answer "
            "without one (--extractive)."
        )
    return OpenAIChat(llm.url or OPENAI, llm.model, key, llm.fallback)


def _environment(place: Path) -> dict[str, str]:
    """The variables of `.env`, and those that are set over them; empty ones are not set."""
    both = ({**_dotenv(place / ".env")}, os.environ)
    return {name: text.strip() for variables in both for name, text in variables.items() if text and text.strip()}


def _said(environment: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[variable] for variable, name in variables.items() if variable in environment}


def _dotenv(path: Path) -> Mapping[str, str | None]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # noqa: PLC0415  # only where there is such a file

    return dotenv_values(path, interpolate=False)

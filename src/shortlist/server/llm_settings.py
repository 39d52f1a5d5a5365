"""The language model that is set up: in the environment, in `.env` of this folder, or in `llm` of its settings.yaml.

SHORTLIST_LLM_URL, _MODEL, _KEY and _FALLBACK, or the usual OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY. Those
count only where a model is named: an address or a key may be there for another program.

The environment is trusted more than `.env`, and that more than settings.yaml: both files may come with a cloned
repository. A key goes only to an address from where it comes from itself or from a more trusted place.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from shortlist._settings import read_sections
from shortlist.answer.llm import OpenAIChat
from shortlist.errors import InputError
from shortlist.server.service_settings import FILE, OPENAI, Llm, key_withheld

OURS = {f"SHORTLIST_LLM_{name.upper()}": name for name in Llm.model_fields}
USUAL = {"OPENAI_BASE_URL": "url", "OPENAI_MODEL": "model", "OPENAI_API_KEY": "key"}

log = logging.getLogger("shortlist.serve")


class _Value(NamedTuple):
    """A value, what sets it, and how far that is trusted."""

    value: Any
    origin: str
    trust: int


def llm_settings(folder: Path | None = None, *, files: bool = True) -> Llm:
    """What is set, value by value. `folder` is where `.env` and settings.yaml are; without `files` neither is read."""
    place = folder or Path.cwd()
    in_file: dict[str, Any] = {}
    if files and (place / FILE).is_file():
        values = read_sections(place / FILE, {"llm": Llm}, ignore_others=True)
        in_file = {key.removeprefix("llm."): value for key, value in values.items() if key.startswith("llm.")}
    environments = [("the environment", 2, os.environ), *([(".env", 1, _dotenv(place / ".env"))] if files else [])]
    ours, usual = _values(environments, OURS), _values(environments, USUAL)
    if not (in_file.get("model") or "model" in ours or "model" in usual):
        usual = {}
    candidates = {
        name: [
            *ours.get(name, ()),
            *usual.get(name, ()),
            *([_Value(in_file[name], f"llm.{name} in {FILE}", 0)] if in_file.get(name) else ()),
        ]
        for name in Llm.model_fields
    }
    found = in_file | {name: values[0].value for name, values in candidates.items() if values}
    url, keys = next(iter(candidates["url"]), None), candidates["key"]
    if url and keys and url.value != OPENAI:
        allowed = [key.value for key in keys if key.trust <= url.trust]
        found["key"] = allowed[0] if allowed else None
        if not allowed:
            log.warning("%s", key_withheld(keys[0].origin, url.value, url.origin))
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
    both = (os.environ, _dotenv((folder or Path.cwd()) / ".env"))
    return next((name for name in USUAL if any((one.get(name) or "").strip() for one in both)), "")


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


def _values(
    environments: list[tuple[str, int, Mapping[str, str | None]]], variables: Mapping[str, str]
) -> dict[str, list[_Value]]:
    """What some variables set, by field, the most trusted first; empty ones are not set."""
    found: dict[str, list[_Value]] = {}
    for place, trust, environment in environments:
        for variable, name in variables.items():
            if text := (environment.get(variable) or "").strip():
                found.setdefault(name, []).append(_Value(text, f"{variable} in {place}", trust))
    return found


def _dotenv(path: Path) -> Mapping[str, str | None]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # noqa: PLC0415  # only where there is such a file

    return dotenv_values(path, interpolate=False)

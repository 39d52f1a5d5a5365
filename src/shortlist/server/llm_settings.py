"""The configured language model: from the environment, `.env` of this folder, or `llm` of its settings.yaml.

SHORTLIST_LLM_URL, _MODEL, _KEY and _FALLBACK, or the usual OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY. Those
count only where a model is named: an address or a key may be there for another program.

The environment is trusted more than `.env`, and that more than settings.yaml: both files may come with a cloned
repository. A key goes only to an address whose origin is at least as trusted as its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from dotenv import dotenv_values

from shortlist._settings import FILE, USUAL, VARIABLES, Llm, Values, read_file
from shortlist.answer.llm import OpenAIChat
from shortlist.errors import InputError
from shortlist.server.service_settings import OPENAI, Candidate, choose_key

OURS = {variable: key for variable, key in VARIABLES.items() if key.startswith("llm.")}


def llm_settings(folder: Path | None = None, *, files: bool = True) -> Llm:
    """What is set, value by value. `folder` is where `.env` and settings.yaml are; without `files` neither is read."""
    place = folder or Path.cwd()
    file = place / FILE
    in_file = read_file(file, ("llm",)) if files and file.is_file() else {}
    environments = [("the environment", 2, os.environ), *([(".env", 1, _read_dotenv(place))] if files else [])]
    ours, usual = list(_candidates(environments, OURS)), list(_candidates(environments, USUAL))
    if not in_file.get("llm.model") and all(key != "llm.model" for key, _ in ours + usual):
        usual = []
    stored = [(key, Candidate(value, f"{key} in {FILE}", 0)) for key, value in in_file.items() if value]
    candidates: dict[str, list[Candidate]] = {}
    for key, candidate in ours + usual + stored:
        candidates.setdefault(key, []).append(candidate)
    values = in_file | {key: choices[0].value for key, choices in candidates.items()}
    values["llm.key"] = choose_key(next(iter(candidates.get("llm.url", ())), None), candidates.get("llm.key", ()))
    llm: Llm = Values(values, dict.fromkeys(values, str(file))).validate(("llm",))["llm"]
    return llm


def unnamed_model(llm: Llm, folder: Path | None = None) -> str:
    """The usual variable that is ignored because no model is named; empty if there is none."""
    if llm.model:
        return ""
    both = (os.environ, _read_dotenv(folder or Path.cwd()))
    return next((name for name in USUAL if any((one.get(name) or "").strip() for one in both)), "")


def connect(llm: Llm) -> OpenAIChat | None:
    """The model, or None without an address and a key."""
    key = llm.key.get_secret_value() if llm.key else ""
    if not llm.url and not key:
        return None
    if not llm.model:
        raise InputError(
            "A language model is set up, but not which one: set SHORTLIST_LLM_MODEL (or OPENAI_MODEL), or answer "
            "without one (--extractive)."
        )
    return OpenAIChat(llm.url or OPENAI, llm.model, key, llm.fallback)


def _candidates(
    environments: list[tuple[str, int, Mapping[str, str | None]]], variables: Mapping[str, str]
) -> Iterator[tuple[str, Candidate]]:
    """What some variables set, by key, the most trusted first; empty ones are not set."""
    for place, trust, environment in environments:
        for variable, key in variables.items():
            if text := (environment.get(variable) or "").strip():
                yield key, Candidate(text, f"{variable} in {place}", trust)


def _read_dotenv(folder: Path) -> Mapping[str, str | None]:
    return dotenv_values(folder / ".env", interpolate=False) if (folder / ".env").is_file() else {}

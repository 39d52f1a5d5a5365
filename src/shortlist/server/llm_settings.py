"""The configured language model: from the environment, the nearest `.env` of the project, or `llm` in settings.yaml.

SHORTLIST_LLM_URL, _MODEL, _KEY and _FALLBACK, or the usual OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY. The usual
ones count only if a model is configured: an address or a key may be there for another program.

The environment is trusted more than `.env`, and `.env` more than settings.yaml: both files may come with a cloned
repository. A key is sent only to an address whose origin is at least as trusted as its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from dotenv import dotenv_values

from shortlist._projects import find_in_project
from shortlist._settings import FILE, USUAL, VARIABLES, Llm, Values, read_file
from shortlist.answer.llm import OpenAIChat
from shortlist.errors import InputError
from shortlist.server.service_settings import OPENAI, Candidate, choose_key

OWN = {variable: key for variable, key in VARIABLES.items() if key.startswith("llm.")}


def load_llm_settings(*, files: bool = True) -> Llm:
    """The values in force, each from its most trusted origin; without `files`, from the environment alone."""
    file = find_in_project(FILE)
    in_file = read_file(file, ("llm",)) if files and file.is_file() else {}
    environments = [("the environment", 2, os.environ), *([(".env", 1, _read_dotenv())] if files else [])]

    def candidates_from(variables: Mapping[str, str]) -> list[tuple[str, Candidate]]:
        return [
            (key, Candidate(text, f"{variable} in {place}", trust))
            for place, trust, environment in environments
            for variable, key in variables.items()
            if (text := (environment.get(variable) or "").strip())
        ]

    own, usual = candidates_from(OWN), candidates_from(USUAL)
    if not in_file.get("llm.model") and all(key != "llm.model" for key, _ in own + usual):
        usual = []
    stored = [(key, Candidate(value, f"{key} in {FILE}", 0)) for key, value in in_file.items() if value]
    candidates: dict[str, list[Candidate]] = {}
    for key, candidate in own + usual + stored:
        candidates.setdefault(key, []).append(candidate)
    values = in_file | {key: choices[0].value for key, choices in candidates.items()}
    values["llm.key"] = choose_key(next(iter(candidates.get("llm.url", ())), None), candidates.get("llm.key", ()))
    return Values(values, dict.fromkeys(values, FILE)).validate().llm


def find_ignored_variable(llm: Llm) -> str:
    """The usual variable that is ignored because no model is configured; empty if there is none."""
    places = () if llm.model else (os.environ, _read_dotenv())
    return next((name for name in USUAL if any((place.get(name) or "").strip() for place in places)), "")


def connect(llm: Llm) -> OpenAIChat | None:
    """The model, or None without an address and a key."""
    key = llm.key.get_secret_value() if llm.key else ""
    if not llm.url and not key:
        return None
    if not llm.model:
        raise InputError(
            "A language model is configured without its name. Set SHORTLIST_LLM_MODEL (or OPENAI_MODEL), or answer "
            "without one (--extractive)."
        )
    return OpenAIChat(llm.url or OPENAI, llm.model, key, llm.fallback)


def _read_dotenv() -> Mapping[str, str | None]:
    file = find_in_project(".env")
    return dotenv_values(file, interpolate=False) if file.is_file() else {}

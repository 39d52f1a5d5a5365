"""The configured language model: from the environment, the nearest `.env` of the project, or `llm` in settings.yaml.

If none of them configures a model, the one that the user set up for all projects counts (`stored_llm.py`).

SHORTLIST_LLM_URL, _MODEL, _KEY and _FALLBACK, or the usual OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY. The usual
ones count only if a model is configured: an address or a key may be there for another program.

The environment is trusted more than `.env`, and `.env` more than settings.yaml: both files may come with a cloned
repository. A key is sent only to an address whose origin is at least as trusted as its own, and nothing is sent to an
address that only a file names before the user has confirmed it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dotenv import dotenv_values

from shortlist._projects import find_in_project
from shortlist._settings import FILE, USUAL, VARIABLES, Llm, Values, read_file
from shortlist.answer.llm import OpenAIChat
from shortlist.errors import InputError
from shortlist.safety.confirmations import Confirmation
from shortlist.safety.untrusted_files import read_text
from shortlist.server.service_settings import OPENAI, SourcedValue, choose_key
from shortlist.server.stored_llm import read_stored_llm, stored_file

DOTENV = ".env"
OWN = {variable: key for variable, key in VARIABLES.items() if key.startswith("llm.")}


class ChosenLlm(NamedTuple):
    """The language model of a folder: its settings, where its address is set, and what the user must confirm first."""

    llm: Llm
    origin: str = ""
    request: Confirmation | None = None


def load_llm_settings(*, files: bool = True) -> ChosenLlm:
    """The model to use in this folder: none while its address needs confirmation."""
    chosen = choose_llm(files=files)
    return chosen._replace(llm=Llm()) if chosen.request and not chosen.request.is_confirmed else chosen


def choose_llm(folder: Path | None = None, *, files: bool = True) -> ChosenLlm:
    """The values in force, each from its most trusted origin; without `files`, from the environment alone.

    The files are those of a folder, or the nearest ones of the current project.
    """
    file, dotenv = (find_in_project(name) if folder is None else folder / name for name in (FILE, DOTENV))
    in_file = read_file(file, ("llm",)) if files and file.exists() and not file.is_dir() else {}
    environments = [("the environment", 2, os.environ), *([(DOTENV, 1, _read_dotenv(dotenv))] if files else [])]

    def candidates_from(variables: Mapping[str, str]) -> list[tuple[str, SourcedValue]]:
        return [
            (key, SourcedValue(text, f"{variable} in {place}", trust))
            for place, trust, environment in environments
            for variable, key in variables.items()
            if (text := (environment.get(variable) or "").strip())
        ]

    own, usual = candidates_from(OWN), candidates_from(USUAL)
    if not in_file.get("llm.model") and all(key != "llm.model" for key, _ in own + usual):
        usual = []
    stored = [(key, SourcedValue(value, f"{key} in {FILE}", 0)) for key, value in in_file.items() if value]
    candidates: dict[str, list[SourcedValue]] = {}
    for key, candidate in own + usual + stored:
        candidates.setdefault(key, []).append(candidate)
    if not candidates and folder is None and (own_model := read_stored_llm()):
        values = own_model.list_values()
        return ChosenLlm(Values(values, dict.fromkeys(values, FILE)).validate().llm, str(stored_file()))
    values = in_file | {key: choices[0].value for key, choices in candidates.items()}
    settings = Values(values, dict.fromkeys(values, FILE)).validate()

    url = next(iter(candidates.get("llm.url", ())), None)
    chosen_by = url or next(iter(candidates.get("llm.key", ())), None)
    if chosen_by is None:
        return ChosenLlm(settings.llm)
    model = next(iter(candidates.get("llm.model", ())), chosen_by)
    if chosen_by in [candidate for _, candidate in usual] and model.trust < chosen_by.trust:
        chosen_by = model  # the usual variables are for other programs, too; this file makes them count
    place = {0: file, 1: dotenv}.get(chosen_by.trust)
    request = Confirmation("llm", place, settings.llm.url or OPENAI) if place else None
    if request is None or request.is_confirmed:
        values["llm.key"] = choose_key(url, candidates.get("llm.key", ()))
        settings = Values(values, dict.fromkeys(values, FILE)).validate()
    return ChosenLlm(settings.llm, chosen_by.origin, request)


def find_ignored_variable(llm: Llm) -> str:
    """The usual variable that is ignored because no model is configured; empty if there is none."""
    places = () if llm.model else (os.environ, _read_dotenv(find_in_project(DOTENV)))
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


def _read_dotenv(path: Path) -> Mapping[str, str | None]:
    if not path.exists() or path.is_dir():
        return {}
    try:
        return dotenv_values(stream=io.StringIO(read_text(path)), interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.absolute()} cannot be read: {getattr(error, 'strerror', None) or error}.") from None

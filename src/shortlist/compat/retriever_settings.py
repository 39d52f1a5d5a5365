"""The settings of the retriever, and the changes made to them over HTTP.

The section `bm25s` of settings.yaml with its variables BM25S_*; `CompatSettings` are those of the service with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from shortlist._environment import list_variables
from shortlist._files import locked, replace_text
from shortlist._settings import Section, Settings, collect_values, describe_error, keys_of, setting
from shortlist._text import did_you_mean
from shortlist.errors import InputError
from shortlist.server.catalog_store import FORMAT, get_folder, read_json
from shortlist.server.service_settings import load_settings

STATE = "state.json"


class Bm25s(Section):
    """The cutoff of /retrieve and `BM25SRetriever`."""

    temperature: float = setting(0.5, "Softmax temperature.", "BM25S_TEMPERATURE", ge=0.1, le=10)
    ignore_zero: bool = setting(True, "Leave out documents that share no word with the query.", "BM25S_IGNORE_ZERO")
    llm_tools_cutoff: float = setting(10.0, "Minimum percentage of the softmax.", "BM25S_CUTOFF", ge=0, le=100)


DEFAULTS = Bm25s()


class CompatSettings(Settings):
    """The settings of the service with those of the retriever."""

    bm25s: Bm25s = DEFAULTS


KEYS = keys_of(CompatSettings)


def load_compat_settings(
    file: str | Path | None = None,
    given: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> CompatSettings:
    """As `load_settings`, with the section of the retriever."""
    settings = load_settings(file, given, environment, CompatSettings)
    assert isinstance(settings, CompatSettings)
    return settings


def unknown_variables() -> list[str]:
    """A warning for each variable that starts like one of ours and is not one."""
    known = KEYS.variables
    unknown = [name for name in list_variables("BM25S_") if name not in known]
    return [f"The variable {name} has no effect.{did_you_mean(name, known, most=1)}" for name in unknown]


@dataclass
class BM25SSettings:
    """The softmax temperature (0.1 to 10), whether documents without a word of the query are left out, and the
    percentage of the softmax that a document needs to be returned (0 to 100)."""

    temperature: float = DEFAULTS.temperature
    ignore_zero: bool = DEFAULTS.ignore_zero
    llm_tools_cutoff: float = DEFAULTS.llm_tools_cutoff

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            section = Bm25s.model_validate({name: value}, strict=True)
        except ValidationError as error:
            message = describe_error(KEYS, f"bm25s.{name}", error.errors()[0], value)
            raise InputError(f"BM25SSettings: {message.replace('bm25s.', '')}") from None
        super().__setattr__(name, getattr(section, name))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BM25SSettings:
        """Settings with these values, and defaults for the rest. The inverse of `to_dict`."""
        settings = cls()
        for name, value in values.items():
            setattr(settings, name, value)
        return settings

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


class RetrieverDefaults(NamedTuple):
    """The defaults of `BM25SRetriever()`."""

    bm25s: BM25SSettings
    source: str
    encoding: str
    source_must_exist: bool


def load_retriever_defaults() -> RetrieverDefaults:
    """The defaults of a retriever in the current folder."""
    settings = collect_values(("bm25s", "documents"), schema=CompatSettings).validate()
    assert isinstance(settings, CompatSettings)
    bm25s, documents = BM25SSettings(**settings.bm25s.model_dump()), settings.documents
    return RetrieverDefaults(bm25s, documents.source, documents.encoding, settings.source_must_exist)


class RetrieverState:
    """The settings of the retriever and its document file, with the changes made over HTTP, which are stored on disk.

    A change is in force until the configured value changes, which is newer then.
    """

    def __init__(self, configured: CompatSettings) -> None:
        self._configured = configured
        self._folder = get_folder(Path(configured.documents.source))
        self._read()

    def _read(self) -> None:
        state = read_json(self._folder / STATE)
        self._changed: dict[str, dict[str, Any]] = state.get("settings", {})
        self._switched: str | None = state.get("document_file")

    @property
    def document_file(self) -> Path:
        return Path(self._switched or Path(self._configured.documents.source).expanduser().resolve())

    def settings(self) -> BM25SSettings:
        return BM25SSettings(**self._configured.bm25s.model_dump() | self._changes())

    def rows(self) -> dict[str, tuple[Any, str]]:
        """The values that were changed over HTTP by their keys, each with the request that changed it."""
        changed = {f"bm25s.{key}": (value, "POST /settings") for key, value in self._changes().items()}
        if self._switched:
            changed["documents.source"] = self._switched, "POST /switch-document-file"
        return changed

    def save(self, settings: Mapping[str, Any] | None = None, document_file: Path | None = None) -> None:
        """Store a change on disk."""
        configured = self._configured.bm25s.model_dump()
        with locked(self._folder / "state.lock"):
            self._read()
            for key, value in (settings or {}).items():
                self._changed[key] = {"value": value, "instead_of": configured[key]}
            self._switched = str(document_file) if document_file else self._switched
            state = {"format": FORMAT, "settings": self._changed, "document_file": self._switched}
            replace_text(self._folder / STATE, json.dumps(state, indent=2) + "\n")

    def _changes(self) -> dict[str, Any]:
        now = self._configured.bm25s.model_dump()
        return {key: item["value"] for key, item in self._changed.items() if now.get(key) == item["instead_of"]}

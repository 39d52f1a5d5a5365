"""What was changed over HTTP, beside documents, and must survive? Settings, and which file is served."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._files import locked, replace_text
from shortlist._paths import data_dir
from shortlist.errors import SourceError
from shortlist.server.service_settings import Settings

FORMAT = 1
FILE = "state.json"


class State:
    """What is in force: what was configured, but for what was changed over HTTP since.

    A setting that was changed stays so as long as the configuration says what it said then; a value that is newly
    configured is newer than the change.
    """

    def __init__(self, configured: Settings) -> None:
        self._configured = configured
        self._home = folder_of(Path(configured.documents.source))
        self._read()

    def _read(self) -> None:
        state = read_json(self._home / FILE)
        self._changed: dict[str, dict[str, Any]] = state.get("settings", {})
        self._switched: str | None = state.get("document_file")

    @property
    def document_file(self) -> Path:
        return Path(self._switched or Path(self._configured.documents.source).expanduser().resolve())

    def settings(self) -> dict[str, Any]:
        """The settings of /retrieve."""
        return self._configured.bm25s.model_dump() | self._kept()

    def rows(self) -> list[dict[str, Any]]:
        """As `Settings.rows`, with what was changed over HTTP."""
        changed = {f"bm25s.{key}": (value, "POST /settings") for key, value in self._kept().items()}
        if self._switched:
            changed["documents.source"] = self._switched, "POST /switch-document-file"
        rows = []
        for row in self._configured.rows():
            value, origin = changed.get(row["key"], (row["value"], row["origin"]))
            rows.append({"key": row["key"], "value": value, "origin": origin})
        return rows

    def keep(self, settings: Mapping[str, Any] | None = None, document_file: Path | None = None) -> None:
        """Write down what was changed; it is on the disk then."""
        configured = self._configured.bm25s.model_dump()
        with locked(self._home / "state.lock"):
            self._read()
            for key, value in (settings or {}).items():
                self._changed[key] = {"value": value, "instead_of": configured[key]}
            self._switched = str(document_file) if document_file else self._switched
            state = {"format": FORMAT, "settings": self._changed, "document_file": self._switched}
            replace_text(self._home / FILE, json.dumps(state, indent=2) + "\n")

    def _kept(self) -> dict[str, Any]:
        now = self._configured.bm25s.model_dump()
        return {key: item["value"] for key, item in self._changed.items() if now.get(key) == item["instead_of"]}


def folder_of(file: Path) -> Path:
    """Where all that belongs to a document file is kept."""
    place = str(file.expanduser().resolve()).encode(errors="replace")
    return data_dir() / "served" / f"{file.stem[:40]}-{blake2b(place, digest_size=8).hexdigest()}"


def read_json(path: Path) -> dict[str, Any]:
    """What a file of ours holds; nothing if it is not there."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, and this version of shortlist reads {FORMAT}")
        return dict(data)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path} cannot be read ({error}). Mend it, or move it away and start again.") from None

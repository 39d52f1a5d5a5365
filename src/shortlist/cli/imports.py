"""Reads what other systems stored: the tool index of aumai-toolretrieval, the corpora of ir, and case files of ir."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shortlist._text import count_of
from shortlist.compat.tool_index import ToolIndex
from shortlist.errors import InputError, ShortlistError, SourceError
from shortlist.eval import load_cases
from shortlist.library import registry
from shortlist.safety.untrusted_files import read_regular_file

LARGEST = 256 << 20  # bytes
IR_PATTERN = r".*\.md$"  # what ir reads of a folder if no pattern is given
IR_KINDS = {"skills": "skills", "packages": "packages", "reports": "md_reports", "files": "files"}
OPTIONS = ("root", "pattern", "exclude")  # of a source, that both have


class Imported(NamedTuple):
    """What became of one entry: `action` is "registered", "saved", "ready" or "skipped"; `note` says more."""

    name: str
    kind: str
    action: str
    note: str


def usual_file(system: str) -> Path:
    """The file in which a system stores its data by default; any other word is a path."""
    home = Path.home()
    if system == "aumai":
        return home / ".aumai" / "toolretrieval" / "index.json"
    if system == "ir":
        folder, base = os.environ.get("IR_CONFIG_DIR"), os.environ.get("XDG_CONFIG_HOME")
        return (Path(folder) if folder else Path(base or home / ".config") / "ir").expanduser() / "corpora.json"
    return Path(system).expanduser()


def import_file(file: Path, index_file: Path, *, replace: bool) -> list[Imported]:
    """Import a file of another system, which is left as it is. What it contains is detected from its content."""
    try:
        content = read_regular_file(file, limit=LARGEST)
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror}. Give ir, aumai, or the path of a file.") from None
    try:
        data = json.loads(content)
    except ValueError:
        data = None
    if isinstance(data, list) and data and all(isinstance(item, Mapping) and "tool_id" in item for item in data):
        return [_import_tools(file, index_file, replace)]
    entries = list(data.values()) if isinstance(data, Mapping) else []
    if entries and all(isinstance(entry, Mapping) and "kind" in entry for entry in entries):
        return [_import_corpus(str(name), entry, replace) for name, entry in data.items()]
    if data is None or (isinstance(data, Mapping) and "query" in data):
        return [_check_cases(file)]
    raise InputError(
        f"{file} is not a file that can be imported. Pass aumai-toolretrieval's index.json, ir's corpora.json, or a "
        f"case file (JSONL) of ir."
    )


def _import_tools(file: Path, index_file: Path, replace: bool) -> Imported:
    if index_file.exists() and not replace:
        raise InputError(f"{index_file} exists already. Pass --replace, or another file with --index-file.")
    index = ToolIndex.load(file)
    index.save(index_file)
    count = len(index.get_all_tools())
    return Imported(
        str(index_file), "tools", "saved", f"{count_of(count, 'tool')}. Search: shortlist tools search --query TEXT"
    )


def _import_corpus(name: str, entry: Mapping[str, Any], replace: bool) -> Imported:
    kind = IR_KINDS.get(str(entry["kind"]), "")
    given = entry.get("params")
    params = dict(given) if isinstance(given, Mapping) else {}
    embedder = None if entry.get("embedder") in (None, "default") else str(entry["embedder"])
    if not kind:
        return Imported(name, str(entry["kind"]), "skipped", f"ir's kind {entry['kind']!r} is not known.")
    if name == kind and name in registry.BUILT_IN:
        return Imported(name, kind, "ready", f"It is built in. Build it: shortlist build {name}")
    if kind == "files":
        params = {"pattern": IR_PATTERN} | params
    elif kind == "md_reports":
        params.setdefault("root", os.environ.get("PP"))
        if not params["root"]:
            return Imported(name, kind, "skipped", f"Set PP to the folder of your projects, as for ir, or register it: "
                            f"shortlist register {name} md_reports --root FOLDER")  # fmt: skip
    if unknown := [key for key in params if key not in OPTIONS]:
        return Imported(name, kind, "skipped", f"Its option {unknown[0]!r} is not known. Register it without: "
                        f"shortlist register {name} {kind} --root PATH")  # fmt: skip
    try:
        registry.register(name, kind, params.pop("root", None), embedder=embedder, replace=replace, **params)
    except (ShortlistError, TypeError) as error:  # the others are imported all the same
        return Imported(name, kind, "skipped", str(error))
    return Imported(name, kind, "registered", f"Build it: shortlist build {name}")


def _check_cases(file: Path) -> Imported:
    count = len(load_cases(file))
    note = f"{count_of(count, 'case')}, used without a change: shortlist eval CORPUS {file}"
    return Imported(file.name, "cases", "ready", note)

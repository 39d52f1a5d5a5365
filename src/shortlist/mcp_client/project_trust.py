"""Which MCP configuration files of projects the user has approved, by path and content.

A project's file comes with the project, so it can name any command. Nothing in it is started, contacted or expanded
until the user has approved exactly this content; any change needs a new approval.
"""

from __future__ import annotations

import difflib
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from shortlist._files import JsonFile
from shortlist._paths import config_dir
from shortlist._redact import redact
from shortlist.errors import SourceError


def trust_file() -> Path:
    return config_dir() / "trusted.json"


def key_of(path: Path) -> str:
    """The key of a file in the list. A link is a file of its own, as its target can change."""
    path = path.expanduser()
    return str(path.parent.resolve() / path.name)


def approvals() -> dict[str, dict[str, Any]]:
    """The approved files by path: `sha256` and `text` of the approved content, and the time of approval (`at`)."""
    return _file().read()


def is_trusted(path: Path, content: bytes) -> bool:
    """Whether the user approved this content of this file."""
    try:
        approved = approvals().get(key_of(path))
    except SourceError:
        return False
    return approved is not None and approved.get("sha256") == sha256(content).hexdigest()


def trust(path: Path, content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    with _file().changing() as known:
        known[key_of(path)] = {"sha256": sha256(content).hexdigest(), "text": text, "at": time.time()}


def revoke(path: Path) -> bool:
    """Withdraw the approval of a file, and return whether there was one."""
    with _file().changing() as known:
        return known.pop(key_of(path), None) is not None


def diff_since_approval(path: Path, content: bytes) -> list[str]:
    """The lines that changed since the file was approved, without secrets; none if it never was."""
    approved = approvals().get(key_of(path))
    if approved is None:
        return []
    before, after = str(approved.get("text")).splitlines(), content.decode("utf-8", "replace").splitlines()
    return [redact(line) for line in difflib.unified_diff(before, after, "approved", "now", lineterm="", n=2)]


def _file() -> JsonFile:
    repair = ", so no project file is trusted. Repair it, or move it away and approve again with: shortlist mcp trust"
    return JsonFile(trust_file(), 1, "files", repair, private=True)

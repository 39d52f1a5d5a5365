"""Which MCP configuration files of projects the user has approved, by path and content.

A project's file comes with the project, so it can name any command. Nothing in it is started, contacted or expanded
until the user has approved exactly this content; any change needs a new approval.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from shortlist._files import locked, replace_text
from shortlist._paths import config_dir
from shortlist._redact import redact
from shortlist.errors import SourceError

FILE = "trusted.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Approval:
    """The content of a file as the user approved it, and when."""

    sha256: str
    text: str
    at: float


def trust_file() -> Path:
    return config_dir() / FILE


def key_of(path: Path) -> str:
    """The name of a file in the list. A link is its own file: what it points to can change."""
    path = path.expanduser()
    return str(path.parent.resolve() / path.name)


def approvals() -> dict[str, Approval]:
    """The approved files by path."""
    path = trust_file()
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}")
        return {str(key): Approval(**values) for key, values in data["files"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(
            f"{path} cannot be read ({error}), so no project file is trusted. Repair it, or move it away and approve "
            f"again with: shortlist mcp trust"
        ) from None


def is_trusted(path: Path, content: bytes) -> bool:
    """Whether the user approved this content of this file."""
    try:
        approved = approvals().get(key_of(path))
    except SourceError:
        return False
    return approved is not None and approved.sha256 == _hash(content)


def trust(path: Path, content: bytes) -> None:
    with _changed() as known:
        known[key_of(path)] = Approval(_hash(content), content.decode("utf-8", "replace"), time.time())


def revoke(path: Path) -> bool:
    """Whether the file was approved before."""
    with _changed() as known:
        return known.pop(key_of(path), None) is not None


def diff_since_approval(path: Path, content: bytes) -> list[str]:
    """The lines that changed since the file was approved, without secrets; none if it never was."""
    approved = approvals().get(key_of(path))
    if approved is None:
        return []
    before, after = approved.text.splitlines(), content.decode("utf-8", "replace").splitlines()
    lines = difflib.unified_diff(before, after, "approved", "now", lineterm="", n=2)
    return [redact(line) for line in lines]


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()


@contextmanager
def _changed() -> Iterator[dict[str, Approval]]:
    path = trust_file()
    with locked(path.with_suffix(".lock")):
        known = approvals()
        before = dict(known)
        yield known
        if known != before:
            _write(path, known)


def _write(path: Path, known: Mapping[str, Approval]) -> None:
    data = {"format": FORMAT, "files": {key: asdict(approval) for key, approval in sorted(known.items())}}
    replace_text(path, f"{json.dumps(data, indent=1)}\n", private=True)

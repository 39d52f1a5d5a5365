"""The approved tools of a server, each with its definition at that time.

A tool is approved at first sight unless a check finds something: adding a server means trusting what it offers then.
A later change waits for the user unless it is harmless (see `tool_changes.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._files import locked, replace_text
from shortlist.errors import SourceError

FORMAT = 2

Entry = dict[str, Any]


def hash_of(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def read_approved(path: Path) -> dict[str, Entry]:
    """The approved definitions of a server, by tool."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}")
        return {tool: dict(entry) for tool, entry in data["tools"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(
            f"{path} cannot be read ({error}), so no tool of this server is approved. Repair it, or move it away "
            f"and approve the tools again."
        ) from None


@contextmanager
def changing_approved(path: Path, server: str) -> Iterator[dict[str, Entry]]:
    """The approved definitions, to be changed by no other process meanwhile and written at the end."""
    with locked(path.with_suffix(".lock")):
        known = read_approved(path)
        before = dict(known)
        yield known
        if known != before:
            data = {"format": FORMAT, "server": server, "tools": known}
            replace_text(path, f"{json.dumps(data, indent=1, sort_keys=True)}\n")

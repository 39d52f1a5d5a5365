"""Which tools were approved, and as what? A file for each server: by tool, a hash of each part of it.

A tool is approved at first sight, unless something speaks against it: whoever configures a server trusts what it is
that day. From then on the tool must stay what it was; if not, somebody has to look at it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._files import locked, replace_text
from shortlist.errors import SourceError

FORMAT = 1

Parts = dict[str, str]


def hash_of(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def parts_of(entry: Mapping[str, Any]) -> Parts:
    """What is compared: a hash of each part of what a server says of a tool."""
    return {key: hash_of(value) for key, value in entry.items()}


def changed_parts(now: Parts, approved: Parts) -> list[str]:
    """The parts of a tool that are not as they were approved."""
    return sorted(key for key in now.keys() | approved.keys() if now.get(key) != approved.get(key))


def read_approved(path: Path) -> dict[str, Parts]:
    """What is approved of a server, by tool."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}")
        return {tool: dict(parts) for tool, parts in data["tools"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(
            f"{path} cannot be read ({error}), so that nobody knows what was approved. Mend it, or move it away and "
            f"approve again."
        ) from None


def add_approved(path: Path, server: str, new: Mapping[str, Parts], *, only_new: bool) -> None:
    """Approve tools as they are; with `only_new` not those that were approved as something else."""
    if not new:
        return
    with locked(path.with_suffix(".lock")):
        before = read_approved(path)
        known = {**new, **before} if only_new else {**before, **new}
        if known != before:
            data = {"format": FORMAT, "server": server, "tools": known}
            replace_text(path, f"{json.dumps(data, indent=1, sort_keys=True)}\n")

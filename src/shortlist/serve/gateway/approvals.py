"""Which tools were approved, and as what? A file of the user's: by server, by tool, a hash of each part of it.

A tool is approved at first sight, unless something speaks against it: whoever configures a server trusts what it is
that day. From then on the tool must stay what it was; if not, somebody has to look at it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist.errors import SourceError
from shortlist.index.atomic import locked, replace_text
from shortlist.index.places import data_dir

FORMAT = 1

Parts = dict[str, str]


def parts_of(entry: Mapping[str, Any]) -> Parts:
    """What is compared: a hash of each part of what a server says of a tool."""
    return {key: _hash(value) for key, value in sorted(entry.items())}


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=12).hexdigest()


class Approvals:
    """What was approved, in a file that several processes may read and change."""

    def __init__(self) -> None:
        self._path = approvals_file()

    def read(self) -> dict[str, dict[str, Parts]]:
        """By server, by tool."""
        try:
            data = json.loads(self._path.read_bytes())
            if data["format"] != FORMAT:
                raise ValueError(f"its format is {data['format']!r}")
            return {
                server: {tool: dict(parts) for tool, parts in tools.items()}
                for server, tools in data["servers"].items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SourceError(
                f"{self._path} cannot be read ({error}), so that nobody knows what was approved. Mend it, or move it "
                f"away and approve again."
            ) from None

    def add(self, server: str, new: Mapping[str, Parts], *, only_new: bool) -> None:
        """Approve tools as they are; with `only_new` not those that were approved as something else."""
        if not new:
            return
        with locked(self._path.with_suffix(".lock")):
            known = self.read()
            before = known.get(server, {})
            known[server] = {**new, **before} if only_new else {**before, **new}
            if known[server] != before:
                text = json.dumps({"format": FORMAT, "servers": known}, indent=1, sort_keys=True)
                replace_text(self._path, f"{text}\n")


def approvals_file() -> Path:
    return data_dir() / "mcp" / "approvals.json"


def changed_parts(now: Parts, approved: Parts) -> list[str]:
    """The parts of a tool that are not as they were approved."""
    return sorted(key for key in now.keys() | approved.keys() if now.get(key) != approved.get(key))

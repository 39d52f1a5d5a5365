"""The approved tools of a server, each with its definition at that time.

A tool is approved at first sight unless a check finds something: adding a server means trusting what it offers then.
A later change waits for the user unless it is harmless (see `tool_changes.py`).
"""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._files import JsonFile

FORMAT = 2

Entry = dict[str, Any]


def hash_of(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def approved_file(path: Path, server: str) -> JsonFile:
    """The approved definitions of a server, by tool."""
    repair = ", so no tool of this server is approved. Repair it, or move it away and approve the tools again."
    return JsonFile(path, FORMAT, "tools", repair, server=server)

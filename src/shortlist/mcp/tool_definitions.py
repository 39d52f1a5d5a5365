"""The definitions of the six tools of the MCP server for agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# Always the same to the byte. Every word costs tokens in each conversation: `python -m bench context` counts them.
DEFINITIONS: list[dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
SCHEMAS: dict[str, dict[str, Any]] = {definition["name"]: definition["inputSchema"] for definition in DEFINITIONS}

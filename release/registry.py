"""The entry of a release in the MCP registry: server.json. See https://modelcontextprotocol.io/registry."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from hatch_build import ROOT, name_server, read_version

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def write_server(file: Path, repository: str, site: str = "") -> None:
    """Write the entry for the repository at an address."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(describe_server(repository, site), indent=2) + "\n", "utf-8")


def describe_server(repository: str, site: str = "") -> dict[str, Any]:
    """How clients install and start the MCP server: `uvx --from "shortlist[mcp]==VERSION" shortlist mcp`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = read_version()
    package = {
        "registryType": "pypi",
        "identifier": project["name"],
        "version": version,
        "runtimeHint": "uvx",
        "runtimeArguments": [{"type": "named", "name": "--from", "value": f"{project['name']}[mcp]=={version}"}],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    entry = {
        "$schema": SCHEMA,
        "name": name_server(repository),
        "title": project["name"],
        "description": project["description"],
        "repository": {"url": repository, "source": "github"},
        "version": version,
        "packages": [package],
    }
    return entry | ({"websiteUrl": site} if site else {})

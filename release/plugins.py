"""The manifests of the plugins for Claude Code, Codex, Cursor and Gemini CLI, and of the marketplaces that list them.

`python -m release plugins` writes those of the repository. In a release, which knows the addresses of the
repository and the site, it writes a copy of `plugins/` with them into build/plugins.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

from hatch_build import ROOT, read_version

FOLDER = "plugins"
MAIN, HINTS = "shortlist", "shortlist-hints"
AUTHOR = {"name": "The shortlist maintainers"}
HINTS_DESCRIPTION = "Names the skills and tools that fit each prompt, if any do. Needs the plugin shortlist."
SECONDS = 10  # after which an agent goes on without a hint


def write_plugins(root: Path = ROOT, repository: str = "", site: str = "") -> None:
    """Write all manifests below a folder; with the address of the repository, into a copy of the plugins."""
    if repository:
        root = root / "build" / FOLDER
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(ROOT / FOLDER, root / FOLDER)
    for path, content in describe_plugins(repository, site).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def describe_plugins(repository: str = "", site: str = "") -> dict[str, dict[str, Any]]:
    """The content of each manifest, by its path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = read_version()
    addresses = {
        key: value for key, value in {"repository": repository, "homepage": site or repository}.items() if value
    }
    facts = {"version": version, "author": AUTHOR, "license": "Apache-2.0", **addresses}
    main = {"name": MAIN, "description": project["description"], **facts, "keywords": project["keywords"]}
    hints = {"name": HINTS, "description": HINTS_DESCRIPTION, **facts}
    uvx = ["--from", f"{project['name']}[mcp]=={version}", "shortlist"]
    servers = {"mcpServers": {MAIN: {"command": "uvx", "args": [*uvx, "mcp"]}}}
    line = f'uvx --from "{uvx[1]}" shortlist hook'
    hook = {"hooks": [{"type": "command", "command": line, "timeout": SECONDS}]}
    listed = [{"name": one["name"], "description": one["description"]} for one in (main, hints)]
    sources = [{**one, "source": f"./{FOLDER}/{one['name']}"} for one in listed]
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    codex = [
        {
            "name": one["name"],
            "source": {"source": "local", "path": one["source"]},
            "policy": policy,
            "category": "Productivity",
        }
        for one in sources
    ]
    marketplace = {"name": MAIN, "owner": AUTHOR, "metadata": {"description": project["description"]}}
    parts = {"skills": "./skills/", "mcpServers": "./.mcp.json"}
    extension = {"name": MAIN, "version": version, "description": project["description"], **servers}
    return {
        ".claude-plugin/marketplace.json": {**marketplace, "plugins": sources},
        ".cursor-plugin/marketplace.json": {**marketplace, "plugins": sources[:1]},
        ".agents/plugins/marketplace.json": {"name": MAIN, "interface": {"displayName": MAIN}, "plugins": codex},
        f"{FOLDER}/{MAIN}/.claude-plugin/plugin.json": main,
        f"{FOLDER}/{MAIN}/.codex-plugin/plugin.json": {**main, **parts},
        f"{FOLDER}/{MAIN}/.cursor-plugin/plugin.json": {**main, **parts},
        f"{FOLDER}/{MAIN}/.mcp.json": servers,
        f"{FOLDER}/{MAIN}/gemini-extension.json": extension,
        f"{FOLDER}/{HINTS}/.claude-plugin/plugin.json": hints,
        f"{FOLDER}/{HINTS}/.codex-plugin/plugin.json": {**hints, "hooks": "./hooks/hooks.json"},
        f"{FOLDER}/{HINTS}/hooks/hooks.json": {"hooks": {"UserPromptSubmit": [hook]}},
    }

"""The commands that add our entry to the configuration of agents and remove it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from importlib import util
from pathlib import Path
from typing import Any

import click

from shortlist._paths import config_dir
from shortlist.cli.output import Output, write
from shortlist.errors import MissingExtra
from shortlist.install import Plan, Relocation, find_agents, plan_install, plan_uninstall
from shortlist.install.agent_config import Change
from shortlist.install.agents import AGENTS, Agent, Places, Scope
from shortlist.mcp_client.project_trust import is_trusted, trust

RESULTS = {
    "added": "{} now starts shortlist",
    "updated": "{} is up to date again",
    "removed": "{} no longer starts shortlist",
    "unchanged": "Nothing to do: {} starts shortlist already",
    "absent": "Nothing to do: {} does not start shortlist",
    "manual": "{} has no file that could be changed",
}
IDLE = ("unchanged", "absent")
LEFT = "  not moved"


def install(out: Output, agent: Sequence[str], project: bool, command: str | None, only: bool, **how: Any) -> None:
    scope, agents = _choose(agent, project)
    moves = Relocation(config_dir(), Places().home) if only else None
    plans = [plan_install(one, scope, Places(), name=how["name"], command=command, relocation=moves) for one in agents]
    _apply(out, [*(moves.changes() if moves else ()), *plans], how["name"], how["dry_run"])
    if command is None and util.find_spec("mcp") is None:
        out.warn(str(MissingExtra("mcp", "shortlist mcp")))


def uninstall(out: Output, agent: Sequence[str], project: bool, **how: Any) -> None:
    scope, agents = _choose(agent, project)
    moves = Relocation(config_dir(), Places().home)
    plans = [plan_uninstall(one, scope, Places(), name=how["name"], relocation=moves) for one in agents]
    _apply(out, [*plans, *moves.changes()], how["name"], how["dry_run"])


def _choose(given: Sequence[str], project: bool) -> tuple[Scope, list[Agent]]:
    if not given:
        here = ", ".join(name for name, agent in AGENTS.items() if agent.is_installed(Places()))
        raise click.UsageError(f"--agent is missing. Give {', '.join(AGENTS)} or all. Installed: {here or 'none'}.")
    scope: Scope = "project" if project else "user"
    return scope, find_agents(given, scope, Places())


def _apply(out: Output, steps: Sequence[Plan | Change], name: str, dry_run: bool) -> None:
    """Take the steps. All were planned before, so that nothing is written if any file is broken.

    In the order of the steps a server that is moved is written to its new place before it leaves the old one.
    """
    rows: list[dict[str, Any]] = []
    diffs = ""
    try:
        for step in steps:
            change = step.change if isinstance(step, Plan) else step
            backup = None
            if change:
                diffs += change.diff() if dry_run else ""
                was_trusted = change.before is not None and is_trusted(change.path, change.before.encode())
                backup = change.apply() if change.is_needed and not dry_run else None
                if was_trusted and not dry_run:  # the user asked for this change, so the approval covers it
                    trust(change.path, change.after.encode())
            if isinstance(step, Plan):
                agent = {"agent": step.agent.name, "title": step.agent.title, "scope": step.scope}
                result = {"file": change and str(change.path), "action": step.action, "backup": backup and str(backup)}
                manual = {"paste_into": step.agent.hint, "snippet": step.snippet} if not change else {}
                others = {"moved": step.moved, "left": step.left, "sign_in": step.sign_in}
                rows.append({**agent, **result, **others, **manual})
    except Exception:
        for row in rows:
            out.note("\n".join(_explain(row)))
        raise
    lines = [(row, line) for row in rows for line in _explain(row)]
    if dry_run and not out.as_json:
        write(diffs)
        for row, line in lines:
            if row["action"] in (*IDLE, "manual") or line.startswith(LEFT):
                out.note(line)
        return
    data = {"name": name, "dry_run": dry_run, "agents": rows} | ({"diff": diffs} if dry_run else {})
    restart = ["Restart running agents to apply the change."] if any(row["backup"] for row in rows) else []
    changed = [row["file"] for row in rows if row["file"] and (row["action"] not in IDLE or row["moved"])]
    out.show(data, "\n".join([*(line for _, line in lines), *restart]), changed)


def _explain(row: dict[str, Any]) -> Iterator[str]:
    result = RESULTS[row["action"]].format(row["title"])
    if row["action"] == "manual":
        place, snippet = row["paste_into"], row["snippet"].rstrip()
        yield f"{result}. Add this in {place}:\n{snippet}" if snippet else f"{result}. Remove shortlist in {place}."
        return
    yield f"{result} ({_shorten(row['file'])})"
    if row["moved"]:
        yield f"  moved {'back' if row['action'] in ('removed', 'absent') else 'behind it'}: {', '.join(row['moved'])}"
    yield from (f"  may need a sign-in: shortlist mcp login {shlex.quote(name)}" for name in row["sign_in"])
    yield from (f"{LEFT}: {name}, because {reason.rstrip('.')}" for name, reason in row["left"].items())
    if row["backup"]:
        yield f"  backup: {_shorten(row['backup'])}"


def _shorten(file: str) -> str:
    home = f"{Path.home()}{os.sep}"
    return f"~{os.sep}{file.removeprefix(home)}" if file.startswith(home) else file

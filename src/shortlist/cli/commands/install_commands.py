"""The commands that write and remove our entry in the configuration of agents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import util
from pathlib import Path
from typing import Any

import click

from shortlist._paths import config_dir
from shortlist.cli import options
from shortlist.cli.output import Output, command, write
from shortlist.install import Plan, Relocation, find_agents, plan_install, plan_uninstall
from shortlist.install.agent_config import Change
from shortlist.install.agents import AGENTS, Places, Scope
from shortlist.sources.mcp_servers.mcp_trust import is_trusted, trust

DONE = {
    "added": "{} now starts shortlist",
    "updated": "{} is up to date again",
    "removed": "{} no longer starts shortlist",
    "unchanged": "Nothing to do: {} starts shortlist already",
    "absent": "Nothing to do: {} does not start shortlist",
}
IDLE = ("unchanged", "absent")
LEFT = "  left there"

agent_options = options.combine(
    options.repeatable(
        "--agent", metavar="AGENT", help="claude-code, claude-desktop, cursor, vscode, codex, or all found here."
    ),
    options.flag("--project", help="Use the configuration of this project."),
    options.flag("--user", help="Use the configuration of the user, for all projects; the default."),
    click.option("--name", default="shortlist", show_default=True, metavar="NAME", help="Name of the server there."),
    options.flag("--dry-run", help="Show what would change, and change nothing."),
)


@command
@agent_options
@click.option(
    "--command", metavar="TEXT", help="Command to start instead of this installation, such as 'uvx shortlist'."
)
@options.flag("--only", help="Move the other servers of the user behind this one; uninstall moves them back.")
def install(
    out: Output,
    agent: Sequence[str],
    project: bool,
    user: bool,
    name: str,
    command: str | None,
    only: bool,
    dry_run: bool,
) -> None:
    places, scope = Places(), _choose_scope(project, user)
    if only and project:
        raise click.UsageError("--only moves the servers of the user; those of a project are shared with others.")
    agents = find_agents(_name_agents(agent), scope, places)
    moves = Relocation(config_dir(), places.home) if only else None
    plans = [plan_install(one, scope, places, name=name, command=command, relocation=moves) for one in agents]
    _carry_out(out, [*(moves.changes() if moves else ()), *plans], name, dry_run)
    if command is None and util.find_spec("mcp") is None:
        out.warn('shortlist mcp needs the package mcp: pip install "shortlist[mcp]"')


@command
@agent_options
def uninstall(out: Output, agent: Sequence[str], project: bool, user: bool, name: str, dry_run: bool) -> None:
    places, scope = Places(), _choose_scope(project, user)
    agents = find_agents(_name_agents(agent), scope, places)
    moves = Relocation(config_dir(), places.home)
    plans = [plan_uninstall(one, scope, places, name=name, relocation=moves) for one in agents]
    _carry_out(out, [*plans, *moves.changes()], name, dry_run)


def _name_agents(given: Sequence[str]) -> list[str]:
    if given:
        return options.split_names(given)
    here = [name for name, agent in AGENTS.items() if agent.is_installed(Places())]
    raise click.UsageError(f"Which agent? --agent {' | '.join(AGENTS)} | all. Found here: {', '.join(here) or 'none'}.")


def _choose_scope(project: bool, user: bool) -> Scope:
    if project and user:
        raise click.UsageError("Either --project or --user.")
    return "project" if project else "user"


def _carry_out(out: Output, steps: Sequence[Plan | Change], name: str, dry_run: bool) -> None:
    """Take the steps. All were planned before, so a broken file keeps any from being written.

    In the order of the steps a server that is moved is written to its new place before it leaves the old one.
    """
    rows: list[dict[str, Any]] = []
    diffs = ""
    try:
        for step in steps:
            change = step.change if isinstance(step, Plan) else step
            diffs += change.diff() if dry_run else ""
            was_trusted = change.before is not None and is_trusted(change.path, change.before.encode())
            backup = change.apply() if change.is_needed and not dry_run else None
            if was_trusted and not dry_run:  # the user asked for this change, so the approval covers it
                trust(change.path, change.after.encode())
            if isinstance(step, Plan):
                rows.append(_describe(step, backup))
    except Exception:
        for row in rows:
            out.note("\n".join(_explain(row)))
        raise
    if dry_run and not out.as_json:
        write(diffs)
        for row in rows:
            for line in _explain(row):
                if row["action"] in IDLE or line.startswith(LEFT):
                    out.note(line)
        return
    data = {"name": name, "dry_run": dry_run, "agents": rows} | ({"diff": diffs} if dry_run else {})
    lines = [line for row in rows for line in _explain(row)]
    lines += ["Restart what is running, so that it sees the change."] if any(row["backup"] for row in rows) else []
    changed = [row["file"] for row in rows if row["action"] not in IDLE or row["moved"]]
    out.show(data, "\n".join(lines), changed)


def _describe(plan: Plan, backup: Path | None) -> dict[str, Any]:
    return {
        "agent": plan.agent.name,
        "title": plan.agent.title,
        "scope": plan.scope,
        "file": str(plan.change.path),
        "action": plan.action,
        "backup": str(backup) if backup else None,
        "moved": plan.moved,
        "left": plan.left,
    }


def _explain(row: dict[str, Any]) -> Iterator[str]:
    home = str(Path.home())
    file = f"~{row['file'].removeprefix(home)}" if row["file"].startswith(f"{home}{os.sep}") else row["file"]
    yield f"{DONE[row['action']].format(row['title'])} ({file})"
    if row["moved"]:
        yield f"  {'back there' if row['action'] in ('removed', 'absent') else 'behind it'}: {', '.join(row['moved'])}"
    yield from (f"{LEFT}: {name}, because {reason.rstrip('.')}" for name, reason in row["left"].items())
    if row["backup"]:
        yield f"  as it was: {Path(row['backup']).name}"

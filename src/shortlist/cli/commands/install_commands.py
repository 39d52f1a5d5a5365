"""How do agents come to use us? The commands that write their configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shortlist.cli.corpus_arguments import names_in
from shortlist.cli.declare import option
from shortlist.cli.output import OK, Output, WrongUsage, write

if TYPE_CHECKING:
    from shortlist.install import Plan, Scope
    from shortlist.install.agent_config import Change

Names = Annotated[
    list[str] | None,
    option(
        "--agent",
        help="claude-code, claude-desktop, cursor, vscode, codex, or all that are here; repeat it.",
        metavar="AGENT",
    ),
]
Project = Annotated[bool, option("--project", help="In the configuration of this project.")]
User = Annotated[bool, option("--user", help="In that of the user, for all projects; the default.")]
Name = Annotated[str, option("--name", help="What the server is called there.", metavar="NAME")]
DryRun = Annotated[bool, option("--dry-run", help="Show what would change, and change nothing.")]

DONE = {
    "added": "{} now starts shortlist",
    "updated": "{} is up to date again",
    "removed": "{} no longer starts shortlist",
    "unchanged": "Nothing to do: {} starts shortlist already",
    "absent": "Nothing to do: {} does not start shortlist",
}
IDLE = ("unchanged", "absent")
LEFT = "  left there"


def install(
    out: Output,
    agent: Names = None,
    project: Project = False,
    user: User = False,
    name: Name = "shortlist",
    command: Annotated[
        str | None,
        option(
            "--command", help="What to start in place of this installation, such as 'uvx shortlist'.", metavar="TEXT"
        ),
    ] = None,
    only: Annotated[
        bool, option("--only", help="Move the other servers of the user behind this one; uninstall brings them back.")
    ] = False,
    dry_run: DryRun = False,
) -> int:
    """Let an agent start `shortlist mcp`: write that into its configuration, and leave all else there as it is."""
    from importlib.util import find_spec

    from shortlist._paths import config_dir
    from shortlist.install import Places, Relocation, agents_named, plan_install

    places, scope = Places(), _scope(project, user)
    if only and project:
        raise WrongUsage("--only moves the servers of the user; those of a project are shared with others.")
    agents = agents_named(_agents(agent), scope, places)
    moves = Relocation(config_dir(), places.home) if only else None
    plans = [plan_install(one, scope, places, name=name, command=command, relocation=moves) for one in agents]
    _carry_out(out, [*(moves.changes() if moves else ()), *plans], name, dry_run)
    if command is None and find_spec("mcp") is None:
        out.warn('shortlist mcp needs the package mcp: pip install "shortlist[mcp]"')
    return OK


def uninstall(
    out: Output,
    agent: Names = None,
    project: Project = False,
    user: User = False,
    name: Name = "shortlist",
    dry_run: DryRun = False,
) -> int:
    """Take what `install` wrote out of an agent's configuration again, and nothing else."""
    from shortlist._paths import config_dir
    from shortlist.install import Places, Relocation, agents_named, plan_uninstall

    places, scope = Places(), _scope(project, user)
    agents = agents_named(_agents(agent), scope, places)
    moves = Relocation(config_dir(), places.home)
    plans = [plan_uninstall(one, scope, places, name=name, relocation=moves) for one in agents]
    _carry_out(out, [*plans, *moves.changes()], name, dry_run)
    return OK


def _agents(given: Sequence[str] | None) -> list[str]:
    from shortlist.install import AGENTS, Places

    if given:
        return names_in(given)
    here = [name for name, agent in AGENTS.items() if agent.is_here(Places())]
    raise WrongUsage(f"Which agent? --agent {' | '.join(AGENTS)} | all. Found here: {', '.join(here) or 'none'}.")


def _scope(project: bool, user: bool) -> Scope:
    if project and user:
        raise WrongUsage("Either --project or --user.")
    return "project" if project else "user"


def _carry_out(out: Output, steps: Sequence[Plan | Change], name: str, dry_run: bool) -> None:
    """All was planned before the first step is taken, so a broken file keeps any from being written.

    In the order of the steps a server that is moved is written to its new place before it leaves the old one.
    """
    from shortlist.install import Plan
    from shortlist.sources.mcp_servers.mcp_trust import is_trusted, trust

    rows: list[dict[str, Any]] = []
    try:
        for step in steps:
            change = step.change if isinstance(step, Plan) else step
            was_trusted = change.before is not None and is_trusted(change.path, change.before.encode())
            kept = change.apply() if change.is_one and not dry_run else None
            if was_trusted and not dry_run:  # the user asked for this change, so the approval covers it
                trust(change.path, change.after.encode())
            if isinstance(step, Plan):
                rows.append(_row(step, kept))
    except Exception:
        for row in rows:
            out.note("\n".join(_lines(row)))
        raise
    diffs = "".join((step.change if isinstance(step, Plan) else step).diff() for step in steps) if dry_run else ""
    data = {"name": name, "dry_run": dry_run, "agents": rows} | ({"diff": diffs} if dry_run else {})
    if dry_run and not out.as_json:
        write(diffs)
        for row in rows:
            for line in _lines(row):
                if row["action"] in IDLE or line.startswith(LEFT):
                    out.note(line)
        return
    lines = [line for row in rows for line in _lines(row)]
    lines += ["Restart what is running, so that it sees the change."] if any(row["backup"] for row in rows) else []
    changed = [row["file"] for row in rows if row["action"] not in IDLE or row["moved"]]
    out.show(data, lambda screen: screen.say("\n".join(lines)), changed)


def _row(plan: Plan, kept: Path | None) -> dict[str, Any]:
    return {
        "agent": plan.agent.name,
        "title": plan.agent.title,
        "scope": plan.scope,
        "file": str(plan.change.path),
        "action": plan.action,
        "backup": str(kept) if kept else None,
        "moved": plan.moved,
        "left": plan.left,
    }


def _lines(row: dict[str, Any]) -> Iterator[str]:
    home = str(Path.home())
    file = f"~{row['file'].removeprefix(home)}" if row["file"].startswith(f"{home}{os.sep}") else row["file"]
    yield f"{DONE[row['action']].format(row['title'])} ({file})"
    if row["moved"]:
        yield f"  {'back there' if row['action'] in ('removed', 'absent') else 'behind it'}: {', '.join(row['moved'])}"
    yield from (f"{LEFT}: {name}, because {reason.rstrip('.')}" for name, reason in row["left"].items())
    if row["backup"]:
        yield f"  as it was: {Path(row['backup']).name}"

"""How do agents come to use us? The commands that write their configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shortlist.serve.cli.declare import option
from shortlist.serve.cli.names import names_in
from shortlist.serve.cli.output import OK, Output, WrongUsage, write

if TYPE_CHECKING:
    from shortlist.serve.install import Plan, Scope

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
    "added": "now starts shortlist",
    "updated": "starts shortlist as it is installed now",
    "removed": "no longer starts shortlist",
    "unchanged": "nothing to do, it starts shortlist already",
    "absent": "nothing to do, it does not start shortlist",
}


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
    dry_run: DryRun = False,
) -> int:
    """Let an agent start `shortlist mcp`: write that into its configuration, and leave all else there as it is."""
    from importlib.util import find_spec

    from shortlist.serve.install import Places, agents_named, installing

    places, scope = Places(), _scope(project, user)
    agents = agents_named(_agents(agent), scope, places)
    plans = [installing(one, scope, places, name=name, command=command) for one in agents]
    _carry_out(out, plans, name, dry_run)
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
    from shortlist.serve.install import Places, agents_named, uninstalling

    places, scope = Places(), _scope(project, user)
    agents = agents_named(_agents(agent), scope, places)
    _carry_out(out, [uninstalling(one, scope, places, name=name) for one in agents], name, dry_run)
    return OK


def _agents(given: Sequence[str] | None) -> list[str]:
    from shortlist.serve.install import AGENTS, Places

    if given:
        return names_in(given)
    here = [name for name, agent in AGENTS.items() if agent.is_here(Places())]
    raise WrongUsage(f"Which agent? --agent {' | '.join(AGENTS)} | all. Found here: {', '.join(here) or 'none'}.")


def _scope(project: bool, user: bool) -> Scope:
    if project and user:
        raise WrongUsage("Either --project or --user.")
    return "project" if project else "user"


def _carry_out(out: Output, plans: Sequence[Plan], name: str, dry_run: bool) -> None:
    """All plans were made before the first is carried out, so a broken file keeps any from being written."""
    rows = []
    for plan in plans:
        kept = plan.change.apply() if plan.change.is_one and not dry_run else None
        rows.append(_row(plan, kept, dry_run))
    if dry_run and not out.as_json:
        write("".join(row["diff"] for row in rows))
        for row in rows:
            if not row["diff"]:
                out.note(f"{row['title']}: {DONE[row['action']]} ({row['file']}).")
        return
    data = {"name": name, "dry_run": dry_run, "agents": rows}
    changed = [row["file"] for row in rows if row["action"] not in ("unchanged", "absent")]
    out.show(data, lambda screen: screen.say("\n".join(map(_sentence, rows))), changed)


def _row(plan: Plan, kept: Path | None, dry_run: bool) -> dict[str, Any]:
    row = {
        "agent": plan.agent.name,
        "title": plan.agent.title,
        "scope": plan.scope,
        "file": str(plan.change.path),
        "action": plan.action,
        "backup": str(kept) if kept else None,
    }
    return row | ({"diff": plan.change.diff()} if dry_run else {})


def _sentence(row: dict[str, Any]) -> str:
    told = f"{row['title']}: {DONE[row['action']]} ({row['file']})."
    if row["backup"]:
        told += f" The file as it was: {Path(row['backup']).name}."
    if row["action"] in ("added", "updated", "removed"):
        told += " Restart it if it is running."
    return told

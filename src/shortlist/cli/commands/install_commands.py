"""The commands that add our entry to the configuration of agents and remove it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shortlist._paths import config_dir
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import split_given_names
from shortlist.cli.output import ERROR, OK, Output, write
from shortlist.cli.shared_options import combine
from shortlist.errors import MissingExtra, ShortlistError

with lazy_imports():
    from shortlist.install import agents, hooks, originals, plans, relocation
    from shortlist.mcp_client import project_trust

if TYPE_CHECKING:
    from shortlist.install.agent_config import FileChange

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

agent_options = combine(
    click.option(
        "--agent",
        metavar="AGENT",
        multiple=True,
        callback=split_given_names,
        help="Agent, such as claude-code, cursor, vscode, codex, gemini-cli or opencode; all means all installed ones. "
        "Repeatable.",
    ),
    click.option("--project", is_flag=True, help="Use the configuration of this project."),
    click.option("--user", is_flag=True, help="Use the configuration of the user, for all projects (the default)."),
    click.option("--name", metavar="NAME", default="shortlist", show_default=True, help="Name of the server there."),
    click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
)


@command(
    examples=["shortlist install --agent cursor --dry-run", "shortlist install --agent cursor --agent codex"],
    exclusive=[("--project", "--user"), ("--project", "--only"), ("--project", "--hook")],
)
@click.option(
    "--command", metavar="TEXT", help="Command to start instead of this installation, such as 'python -P -m shortlist'."
)
@click.option(
    "--only", is_flag=True, help="Move the other servers of the user behind this one; uninstall moves them back."
)
@click.option(
    "--hook", is_flag=True, help="Also let the agent run a hook that names the skills and tools that fit each prompt."
)
@agent_options
def install(
    out: Output,
    command: str | None,
    only: bool,
    hook: bool,
    agent: tuple[str, ...],
    project: bool,
    user: bool,
    name: str,
    dry_run: bool,
) -> None:
    """Add `shortlist mcp` to the configuration of an agent. Nothing else in it changes."""
    places, scope = agents.Places(), _choose_scope(project)
    chosen = _find_agents(agent, scope)
    moves = relocation.Relocation(config_dir(), places.home) if only else None
    steps = [plans.plan_install(each, scope, places, name=name, command=command, relocation=moves) for each in chosen]
    if hook:
        words = [*plans.make_command(places, command), "hook"]
        steps = [step.with_hook(hooks.plan_hook(step.agent, places, words, step.change)) for step in steps]
    _apply(out, [*(moves.changes() if moves else ()), *steps], name, dry_run)
    if command is None and util.find_spec("mcp") is None:
        out.warn(str(MissingExtra("mcp", "shortlist mcp")))


@command(examples=["shortlist uninstall --agent cursor,codex"], exclusive=[("--project", "--user")])
@agent_options
def uninstall(out: Output, agent: tuple[str, ...], project: bool, user: bool, name: str, dry_run: bool) -> int:
    """Remove what `install` wrote. Nothing else in the configuration of the agent changes."""
    places, scope = agents.Places(), _choose_scope(project)
    chosen, errors = [], []
    for each in _find_agents(agent, scope):  # one broken file does not keep the others
        try:
            plans.plan_uninstall(each, scope, places, name=name)
            if not project:
                hooks.plan_unhook(each, places)
            chosen.append(each)
        except (ShortlistError, OSError) as error:
            errors.append(error)
    moves = relocation.Relocation(config_dir(), places.home)
    steps = [plans.plan_uninstall(each, scope, places, name=name, relocation=moves) for each in chosen]
    if not project:
        steps = [step.with_hook(hooks.plan_unhook(step.agent, places, step.change)) for step in steps]
    if not steps:
        raise errors[0]
    _apply(out, [*map(_give_back, steps), *map(originals.give_back, moves.changes())], name, dry_run)
    for problem in errors:
        out.warn(str(problem))
    return ERROR if errors else OK


def _give_back(step: plans.Plan) -> plans.Plan:
    """A step that removes our entry; where nothing else has changed, it gives back the files as they were."""
    change = step.change and originals.give_back(step.change)
    return replace(step, change=change, hook_change=step.hook_change and originals.give_back(step.hook_change))


def _choose_scope(project: bool) -> agents.Scope:
    return "project" if project else "user"


def _find_agents(given: Sequence[str], scope: agents.Scope) -> list[agents.Agent]:
    if not given:
        known = agents.AGENTS
        here = ", ".join(name for name, agent in known.items() if agent.is_installed(agents.Places()))
        raise click.UsageError(f"--agent is missing. Give {', '.join(known)} or all. Installed: {here or 'none'}.")
    return plans.find_agents(given, scope, agents.Places())


def _apply(out: Output, steps: Sequence[plans.Plan | FileChange], name: str, dry_run: bool) -> None:
    """Take the steps. All were planned before, so that nothing is written if any file is broken.

    In the order of the steps a server that is moved is written to its new place before it leaves the old one.
    """
    rows: list[dict[str, Any]] = []
    diffs = ""
    for needed in [] if dry_run else _list_changes(steps):
        needed.check()
    try:
        for step in steps:
            change = step.change if isinstance(step, plans.Plan) else step
            diffs += change.diff() if change and dry_run else ""
            backup = _write(change) if change and not dry_run else None
            if isinstance(step, plans.Plan):
                agent = {"agent": step.agent.name, "title": step.agent.title, "scope": step.scope}
                result = {"file": change and str(change.path), "action": step.action, "backup": backup and str(backup)}
                manual = {"paste_into": step.agent.hint, "snippet": step.snippet} if not change else {}
                others = {"moved": step.moved, "left": step.left, "sign_in": step.sign_in}
                rows.append({**agent, **result, **others, **manual})
                if step.hook and step.hook != "absent":
                    place = step.hook_change or change
                    diffs += step.hook_change.diff() if step.hook_change and dry_run else ""
                    copy = _write(step.hook_change) if step.hook_change and not dry_run else None
                    file = None if step.hook == "none" else place and str(place.path)
                    rows[-1]["hook"] = {"action": step.hook, "file": file, "backup": copy and str(copy)}
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
    changed += [one["file"] for row in rows if (one := row.get("hook")) and one["action"] not in (*IDLE, "none")]
    out.show(data, "\n".join([*(line for _, line in lines), *restart]), changed)


def _list_changes(steps: Sequence[plans.Plan | FileChange]) -> list[FileChange]:
    """The changes of files that are needed."""
    found = [
        each
        for step in steps
        for each in ((step.change, step.hook_change) if isinstance(step, plans.Plan) else (step,))
    ]
    return [change for change in found if change and change.is_needed]


def _write(change: FileChange) -> Path | None:
    """Write a file if it changes, and return its backup. If it was trusted, it still is: the user asked for this."""
    was_trusted = change.before is not None and project_trust.is_trusted(change.path, change.before.encode())
    backup = originals.write(change) if change.is_needed else None
    if was_trusted and change.after is not None:
        project_trust.trust(change.path, change.after.encode())
    return backup


def _explain(row: dict[str, Any]) -> Iterator[str]:
    result = RESULTS[row["action"]].format(row["title"])
    if row["action"] == "manual":
        place, snippet = row["paste_into"], row["snippet"].rstrip()
        yield f"{result}. Add this in {place}:\n{snippet}" if snippet else f"{result}. Remove shortlist in {place}."
        return
    yield f"{result} ({_shorten(row['file'])})"
    if row["moved"]:
        yield f"  moved {'back' if row['action'] in ('removed', 'absent') else 'behind it'}: {', '.join(row['moved'])}"
    yield from (f"  may need a sign-in: {command}" for command in row["sign_in"])
    yield from (f"{LEFT}: {name}, because {reason.rstrip('.')}" for name, reason in row["left"].items())
    if row["backup"]:
        yield f"  backup: {_shorten(row['backup'])}"
    if about := row.get("hook"):
        yield from _explain_hook(about, row)


def _explain_hook(about: dict[str, Any], row: dict[str, Any]) -> Iterator[str]:
    if about["action"] == "none":
        yield f"  no hook: {row['title']} has none that can add to a prompt"
        return
    yield f"  hook {about['action']} ({_shorten(about['file'])})"
    if about["backup"]:
        yield f"  backup: {_shorten(about['backup'])}"
    if about["action"] in ("added", "updated") and (note := hooks.NOTES.get(row["agent"])):
        yield f"  {note}"


def _shorten(file: str) -> str:
    home = f"{Path.home()}{os.sep}"
    return f"~{os.sep}{file.removeprefix(home)}" if file.startswith(home) else file

"""Which commands are there? Each lives in the module of its concern; here they are gathered, in the order of use."""

from __future__ import annotations

from collections.abc import Callable

from shortlist.serve.cli import answers, care, find, install, judge, keep, mcp, serve, tools, tune
from shortlist.serve.cli.declare import command, command_name

PANELS: dict[str, tuple[Callable[..., int], ...]] = {
    "Find": (find.search, find.discover, find.read),
    "Answers": (answers.ingest, answers.query, answers.chat),
    "Corpora": (keep.build, keep.ls, keep.info, keep.status, keep.register, keep.migrate, keep.rm),
    "Judge": (
        judge.eval,
        judge.eval_gen,
        tune.eval_select,
        tune.sweep_select,
        tune.calibrate_min_score,
        tune.distractors,
        judge.lint,
    ),
    "Serve": (serve.serve, install.install, install.uninstall),
    "Care": (care.doctor, care.warm, care.download),
}
COMMANDS = {command_name(function): command(function) for functions in PANELS.values() for function in functions}

# Groups of commands: their help, their panel, and what is in them.
GROUPS: dict[str, tuple[str, str, tuple[Callable[..., int], ...]]] = {
    "tools": ("A registry of tools, each described by a JSON file.", "Find", (tools.index, tools.search)),
    "mcp": (
        "One MCP server for an agent, in place of all others.",
        "Serve",
        (mcp.run, mcp.status, mcp.trust, mcp.approve, mcp.allow, mcp.deny),
    ),
    "config": ("Where settings come from.", "Care", (care.show,)),
}
GROUPED = {
    f"{group} {command_name(function)}": command(function)
    for group, (_, _, functions) in GROUPS.items()
    for function in functions
}

# What a group does that is not told what to do.
UNTOLD = {"mcp": "run"}

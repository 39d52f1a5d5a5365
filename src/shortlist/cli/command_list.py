"""Which commands are there? Each lives in the module of its concern; here they are gathered, in the order of use."""

from __future__ import annotations

from collections.abc import Callable

from shortlist.cli.commands import (
    ask_commands,
    corpus_commands,
    eval_commands,
    install_commands,
    maintenance_commands,
    mcp_commands,
    search_commands,
    serve_command,
    tool_commands,
    tuning_commands,
)
from shortlist.cli.declare import command, command_name

PANELS: dict[str, tuple[Callable[..., int], ...]] = {
    "Find": (search_commands.search, search_commands.discover, search_commands.read),
    "Answers": (ask_commands.ingest, ask_commands.query, ask_commands.chat),
    "Corpora": (
        corpus_commands.build,
        corpus_commands.ls,
        corpus_commands.info,
        corpus_commands.status,
        corpus_commands.register,
        corpus_commands.migrate,
        corpus_commands.rm,
    ),
    "Judge": (
        eval_commands.eval,
        eval_commands.eval_gen,
        tuning_commands.eval_select,
        tuning_commands.sweep_select,
        tuning_commands.calibrate_min_score,
        tuning_commands.distractors,
        eval_commands.lint,
    ),
    "Serve": (serve_command.serve, install_commands.install, install_commands.uninstall),
    "Care": (maintenance_commands.doctor, maintenance_commands.warm, maintenance_commands.download),
}
COMMANDS = {command_name(function): command(function) for functions in PANELS.values() for function in functions}

# Groups of commands: their help, their panel, and what is in them.
GROUPS: dict[str, tuple[str, str, tuple[Callable[..., int], ...]]] = {
    "tools": (
        "A registry of tools, each described by a JSON file.",
        "Find",
        (tool_commands.index, tool_commands.search),
    ),
    "mcp": (
        "One MCP server for an agent, in place of all others.",
        "Serve",
        (
            mcp_commands.run,
            mcp_commands.status,
            mcp_commands.trust,
            mcp_commands.approve,
            mcp_commands.allow,
            mcp_commands.deny,
        ),
    ),
    "config": ("Where settings come from.", "Care", (maintenance_commands.show,)),
}
GROUPED = {
    f"{group} {command_name(function)}": command(function)
    for group, (_, _, functions) in GROUPS.items()
    for function in functions
}

# What a group does that is not told what to do.
UNTOLD = {"mcp": "run"}

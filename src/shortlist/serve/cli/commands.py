"""Which commands are there? Each lives in the module of its concern; here they are gathered, in the order of use."""

from __future__ import annotations

from collections.abc import Callable

from shortlist.serve.cli import answers, care, find, keep, serve, tools
from shortlist.serve.cli.declare import command

PANELS: dict[str, tuple[Callable[..., int], ...]] = {
    "Find": (find.search, find.discover, find.read),
    "Answers": (answers.ingest, answers.query, answers.chat),
    "Corpora": (keep.build, keep.ls, keep.info, keep.status, keep.register, keep.rm),
    "Serve": (serve.serve,),
    "Care": (care.doctor, care.warm, care.download),
}
COMMANDS = {function.__name__: command(function) for functions in PANELS.values() for function in functions}

# Groups of commands: their help, their panel, and what is in them.
GROUPS: dict[str, tuple[str, str, tuple[Callable[..., int], ...]]] = {
    "tools": ("A registry of tools, each described by a JSON file.", "Find", (tools.index, tools.search)),
    "config": ("Where settings come from.", "Care", (care.show,)),
}

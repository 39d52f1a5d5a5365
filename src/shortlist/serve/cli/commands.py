"""Which commands are there? Each lives in the module of its concern; here they are gathered, in the order of use."""

from __future__ import annotations

from shortlist.serve.cli import care, find, keep, serve
from shortlist.serve.cli.declare import command

PANELS = {
    "Find": (find.search, find.discover, find.read),
    "Corpora": (keep.build, keep.ls, keep.info, keep.status, keep.register, keep.rm),
    "Serve": (serve.serve,),
    "Care": (care.doctor, care.warm, care.download),
}
COMMANDS = {function.__name__: command(function) for functions in PANELS.values() for function in functions}
CONFIG_COMMANDS = {"show": command(care.show)}

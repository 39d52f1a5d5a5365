"""Which commands are there? Each lives in the module of its concern; here they are gathered, in the order of use."""

from __future__ import annotations

from shortlist.serve.cli import care, find, judge, keep, tune
from shortlist.serve.cli.declare import command, command_name

PANELS = {
    "Find": (find.search, find.discover, find.read),
    "Corpora": (keep.build, keep.ls, keep.info, keep.status, keep.register, keep.rm),
    "Judge": (
        judge.eval,
        judge.eval_gen,
        tune.eval_select,
        tune.sweep_select,
        tune.calibrate_min_score,
        tune.distractors,
        judge.lint,
    ),
    "Care": (care.doctor, care.warm, care.download),
}
COMMANDS = {command_name(function): command(function) for functions in PANELS.values() for function in functions}
CONFIG_COMMANDS = {"show": command(care.show)}

"""Commands as functions that return what they print."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from shortlist.cli import run

from . import registry
from .base import use_ir_folders

register = registry.register


def _run(*arguments: str, **options: Any) -> str:
    use_ir_folders()
    flags = [f"{'-' if len(name) == 1 else '--'}{name.replace('_', '-')}" for name in options]
    values = [str(value) for value in options.values()]
    words = [word for pair in zip(flags, values, strict=True) for word in pair if word != "True"]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        run([*arguments, *words])
    return (out.buffer.getvalue() + err.buffer.getvalue()).decode()


def build(name: str, **options: Any) -> str:
    return _run("build", name, **options)


def ls() -> str:
    return _run("ls")


def search(name: str, query: str, **options: Any) -> str:
    return _run("search", name, query, **options)


def info(name: str) -> str:
    return _run("info", name).replace("Passages", "records:")


def discover(name: str, query: str, **options: Any) -> str:
    return _run("discover", name, query, **{"min_score": "none", **options})


def eval(name: str, cases: str, **options: Any) -> str:
    return f"DiscoveryReport {_run('eval', name, cases, **options)}"


def eval_select(name: str, cases: str, **options: Any) -> str:
    words = _run("eval-select", name, cases, **{"strategy": "conservative", **options})
    return f"SelectionReport {words}".replace("conditional_commit_rate", "conditional commit rate")


def sweep_select(name: str, cases: str, **options: Any) -> str:
    return f"SelectionSweep {_run('sweep-select', name, cases, **options)}".replace("Best", "best (selection_f1)")


def calibrate_min_score(name: str, cases: str, **options: Any) -> str:
    options.pop("k", None)
    return f"MinScoreCalibration {_run('calibrate-min-score', name, cases, **options)}"

"""Runs the code blocks of documentation pages and compares their output with the `text` blocks below them."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from shortlist import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNNABLE = ("python", "sh")


class Block(NamedTuple):
    language: str
    text: str


def read_page(path: str) -> str:
    """The text of a page below `docs/`."""
    return (DOCS / path).read_text("utf-8")


def read_blocks(text: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(text)]


def run_blocks(
    text: str, names: dict[str, Any] | None = None, *, prepare: Callable[[str], str] = lambda code: code
) -> int:
    """Run the Python and shell blocks of a page in order, and return how many there are.

    A `text` block below a runnable block is its exact output; a Python block that prints must have one. `names` are the
    variables of the Python blocks, and `prepare` may adapt their code. Blocks in other languages are skipped.
    """
    names = {} if names is None else names
    blocks = read_blocks(text)
    for number, block in enumerate(blocks):
        if block.language not in RUNNABLE:
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            if block.language == "python":
                exec(compile(prepare(block.text), "page", "exec"), names)
            else:
                run_commands(block.text)
        shown = blocks[number + 1] if number + 1 < len(blocks) else None
        if shown and shown.language == "text":
            assert output.getvalue() == shown.text, output.getvalue()
        elif block.language == "python":
            assert output.getvalue() == ""
    return sum(block.language in RUNNABLE for block in blocks)


def run_commands(block: str) -> None:
    """Run each `shortlist` line in this process; `pip`, `uv`, `make` and the like are not run here."""
    for line in block.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or ["#"]
        if program == "shortlist":
            code = cli.run(arguments)
            assert code in (cli.OK, cli.ABSTAINED), f"{line} ended with {code}"
        else:
            assert program in ("#", "pip", "pipx", "uv", "uvx", "make", "git", "python"), f"{program} cannot be run"

"""Makes a command from a function: its docstring is the help, its first parameter an Output.

Every command has --json, --quiet and --debug, explains the terms in its usage line, and ends its help with examples.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from shortlist.cli.output import OK, Output

# What the metavars of arguments and options mean.
TERMS = {
    "CORPUS": "CORPUS is a name (list them with shortlist ls), or the path of a file, a folder, a catalog of tools or "
    "an index. A name comes before a path of the same spelling; write ./PATH for the path. docs:PATH, tools:PATH and "
    "skills:PATH set what a path contains, which is detected otherwise.",
    "CASES": "CASES is a JSONL file with a query and the expected ids per line, a folder in BEIR layout, or TREC "
    "topics with --qrels. Leave it out if CORPUS is a folder in BEIR layout, which has both.",
    "SYSTEM": "SYSTEM is ir, aumai, or the path of a file that one of them stored.",
    "KIND": "KIND is files, skills, md_reports, catalog, tools, openapi, mcp, packages or records.",
    "MODEL": "MODEL is default, tools or multilingual (the same model), light, minilm, none, or the name, folder or "
    "address of another embedding model.",
    "TOOL": "TOOL is SERVER/NAME, or SERVER for all of its tools.",
}
COMMON_OPTIONS = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."),
    click.Option(["--quiet"], is_flag=True, help="Print only what a script needs."),
    click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."),
)
CONTEXT = {"help_option_names": ["-h", "--help"]}  # of every command and group


class Command(click.Command):
    """A command of which each group of `exclusive` options allows one; `writes` if it commits changes."""

    exclusive: Sequence[Sequence[str]] = ()
    writes = False

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The same for every context: click creates the help option once, for the context that it first sees."""
        return [*CONTEXT["help_option_names"]]

    def invoke(self, ctx: click.Context) -> Any:
        for group in self.exclusive:
            used = [param.opts[0] for param in self.params if param.opts[0] in group and ctx.params[str(param.name)]]
            if len(used) > 1:
                raise click.UsageError(f"{used[0]} cannot be combined with {used[1]}.")
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Committed changes are kept." if self.writes else "") from None


def command(
    *, examples: Sequence[str], exclusive: Sequence[Sequence[str]] = (), writes: bool = False
) -> Callable[[Callable[..., int | None]], Command]:
    """Make a command from a function below its click.argument and click.option decorators.

    It is called with an Output and the values of its parameters, and returns an exit code or None for success.
    """

    def make(function: Callable[..., int | None]) -> Command:
        @functools.wraps(function)
        def call(as_json: bool, quiet: bool, debug: bool, **values: Any) -> int:
            return function(Output(as_json, quiet), **values) or OK

        params = [*reversed(getattr(function, "__click_params__", ())), *COMMON_OPTIONS]
        metavars = " ".join(str(param.metavar) for param in params)
        terms = [text for term, text in TERMS.items() if re.search(rf"\b{term}\b", metavars)]
        help = " ".join((inspect.getdoc(function) or "").split())
        name = function.__name__.replace("_", "-")
        made = Command(name, CONTEXT, call, params, "\n\n".join([help, *terms]), make_epilog(examples))
        made.exclusive, made.writes = exclusive, writes
        return made

    return make


def make_epilog(examples: Sequence[str], notes: Sequence[str] = ()) -> str:
    """The end of a help text. Click keeps the lines of a paragraph that begins with \\b."""
    blocks = (notes, ["Examples:", *(f"  {example}" for example in examples)])
    return "\n\n".join("\n".join(["\b", *block]) for block in blocks if block)

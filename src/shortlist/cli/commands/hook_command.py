"""The command that agents run at every prompt."""

from __future__ import annotations

import click

from shortlist.cli.command import command
from shortlist.cli.output import Output
from shortlist.mcp import hook as hooks


@command(examples=["shortlist hook --debug"])
def hook(out: Output) -> int:
    """Read the event of an agent's hook on standard input, and print the skills and tools that fit its prompt.

    Prints nothing if none fits, and always exits with 0; --debug says why on standard error.
    """
    return hooks.run(is_debug=click.get_current_context().params["debug"])

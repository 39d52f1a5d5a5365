"""The root command and its groups. A command's module is imported when the command runs, so that starting is fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

import click

import shortlist
from shortlist.cli.output import write

COMPLETE_VARIABLE = "_SHORTLIST_COMPLETE"

Table = Mapping[str, Mapping[str, "tuple[str, str] | Group"]]


class Group(click.Group):
    """A group that knows each command by a table: heading, name, module and one line of help.

    `default` is the command that runs if the group is called without one.
    """

    def __init__(self, name: str, help: str, table: Table, default: str = "") -> None:
        super().__init__(name, help=help, no_args_is_help=not default)
        self._table = table
        self._default = default
        self._modules: dict[str, str] = {}
        for heading in table.values():
            for command, entry in heading.items():
                if isinstance(entry, Group):
                    self.commands[command] = entry
                else:
                    self._modules[command], text = entry
                    self.commands[command] = click.Command(command, help=text)  # known by its name, not yet imported

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self._modules:
            return self.commands.get(name)
        module = import_module(f"shortlist.cli.commands.{self._modules[name]}")
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._default and (not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, entries in self._table.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].help or "") for name in entries])


TOOLS: Table = {
    "Commands": {
        "index": ("tool_commands", "Index the tools of folders, replacing those indexed before."),
        "search": ("tool_commands", "Search the indexed tools."),
    }
}
MCP: Table = {
    "Commands": {
        "run": ("mcp_commands", "Serve an agent over stdio: search, and a gateway to its MCP servers."),
        "status": ("mcp_commands", "Show the configured servers, their tools, and what is pending approval."),
        "trust": ("mcp_commands", "Approve the MCP servers that a project's own files name."),
        "approve": ("mcp_commands", "Show the tools that are pending approval, and approve the named ones."),
        "allow": ("mcp_commands", "Permit servers or tools to be called; without a name, show all rules."),
        "deny": ("mcp_commands", "Hide servers or tools from agents."),
    }
}
CONFIG: Table = {"Commands": {"show": ("maintenance_commands", "Show folders, environment variables and settings.")}}
COMMANDS: Table = {
    "Find": {
        "search": ("search_commands", "Rank candidates, best first."),
        "discover": ("search_commands", "Choose the few that fit, or report that nothing does."),
        "read": ("search_commands", "Show documents of a corpus by id."),
        "tools": Group("tools", "A registry of tools, each described by a JSON file.", TOOLS),
    },
    "Answers": {
        "ingest": ("ask_commands", "Add files and folders to the index."),
        "query": ("ask_commands", "Answer one question from the documents, with citations."),
        "chat": ("ask_commands", "Answer one question after another."),
    },
    "Corpora": {
        "build": ("corpus_commands", "Sync a corpus with its source."),
        "ls": ("corpus_commands", "List corpora: stored, registered and built in."),
        "info": ("corpus_commands", "Show counts, configuration, thresholds and folder of a corpus."),
        "status": ("corpus_commands", "Compare corpora with their sources."),
        "register": ("corpus_commands", "Give a source a name."),
        "migrate": ("corpus_commands", "Move a corpus to another engine."),
        "rm": ("corpus_commands", "Forget a corpus name, and with --data delete what was built."),
    },
    "Evaluate": {
        "eval": ("eval_commands", "Measure how well a corpus answers the queries of a case file."),
        "eval-gen": ("eval_commands", "Generate cases about a corpus with a language model."),
        "eval-select": ("eval_commands", "Measure how well results are selected."),
        "sweep-select": ("eval_commands", "Try every combination of selection settings, and show the best."),
        "calibrate-min-score": ("eval_commands", "Find the score threshold below which nothing fits."),
        "distractors": ("eval_commands", "Measure accuracy as the catalog grows."),
        "lint": ("eval_commands", "Find documents that are ambiguous, unfindable, empty or hostile."),
    },
    "Serve": {
        "serve": ("serve_command", "Serve the catalog and the corpora over HTTP, with a web page."),
        "install": ("install_commands", "Add `shortlist mcp` to the configuration of an agent."),
        "uninstall": ("install_commands", "Remove what `install` wrote."),
        "mcp": Group("mcp", "One MCP server for an agent, in place of all others.", MCP, default="run"),
    },
    "Maintain": {
        "doctor": ("maintenance_commands", "Check the installation, the folders and every corpus."),
        "warm": ("maintenance_commands", "Compile the loops for large corpora ahead of their first use."),
        "download": ("maintenance_commands", "Fetch a model and try it once."),
        "config": Group("config", "Show where settings come from.", CONFIG),
    },
}


def _print_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        write(f"shortlist {shortlist.__version__}\n")
        ctx.exit()


def _complete(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from shortlist.cli import completion  # noqa: PLC0415  # rarely needed

        completion.install() if param.name == "install_completion" else completion.show()
        ctx.exit()


def _flag(name: str, callback: Callable[..., None], help: str) -> click.Option:
    return click.Option([name], is_flag=True, is_eager=True, expose_value=False, callback=callback, help=help)


app = Group("shortlist", "Find the right few tools, skills and documents for an AI agent.", COMMANDS)
app.context_settings = {"help_option_names": ["-h", "--help"]}
app.params = [
    _flag("--version", _print_version, "Print the version."),
    _flag("--install-completion", _complete, "Install completion for the current shell."),
    _flag("--show-completion", _complete, "Print the completion script of the current shell."),
]

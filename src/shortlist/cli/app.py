"""The root command and its groups: which module has which command. The commands are in `shortlist.cli.commands`."""

from __future__ import annotations

import click

import shortlist
from shortlist.cli.command import CONTEXT
from shortlist.cli.completion import install_completion_option, show_completion_option
from shortlist.cli.lazy_group import LazyCommand, LazyGroup
from shortlist.cli.output import ABSTAINED, ERROR, INTERRUPTED, OK, USAGE

WELCOME = """\
shortlist finds the right few tools, skills and documents for an AI agent.

Search the files of this folder:
  shortlist search . "how long do refunds take"
Choose the few tools of a catalog that fit, or none:
  shortlist discover tools.yaml "refund a payment"
Give your agent one search over its tools, skills and documents:
  shortlist install --agent cursor

List all commands: shortlist --help. Explain one: shortlist search --help.
"""
EXIT_CODES = {
    OK: "Success.",
    ERROR: "Error. The message says how to fix it.",
    USAGE: "Usage error.",
    ABSTAINED: "No match.",
    INTERRUPTED: "Interrupted with Ctrl-C. Committed changes are kept.",
}

tools = LazyGroup(
    "tools",
    "Index and search a registry of tools, each described by a JSON file.",
    {
        "Commands": {
            "index": LazyCommand("tool_commands", "Index the tools of folders, replacing those indexed before."),
            "search": LazyCommand("tool_commands", "Search the indexed tools."),
        }
    },
    examples=["shortlist tools index registry", 'shortlist tools search --query "write to a customer"'],
)
cases = LazyGroup(
    "cases",
    "Make cases from the log of use.",
    {
        "Commands": {
            "export": LazyCommand(
                "usage_commands",
                "Write cases from the log of use as JSONL: the queries that led to documents, and those after which "
                "nothing was used in two sessions.",
            ),
        }
    },
    examples=["shortlist cases export tools.yaml"],
)
mcp = LazyGroup(
    "mcp",
    "Run one MCP server for an agent in place of all others, and control it. Without a command, run the server.",
    {
        "Commands": {
            "run": LazyCommand(
                "mcp_commands",
                "Serve an agent over stdio: one search over tools, skills and documents, and a gateway to its MCP "
                "servers.",
            ),
            "status": LazyCommand(
                "mcp_commands", "Show the configured servers, their tools, and what is pending approval."
            ),
            "login": LazyCommand("mcp_commands", "Sign in to a remote server with OAuth, in the browser."),
            "logout": LazyCommand(
                "mcp_commands",
                "Delete the stored sign-in to a server, and revoke it if its authorization server supports that.",
            ),
            "trust": LazyCommand("mcp_commands", "Approve the MCP servers of a project's own files."),
            "approve": LazyCommand(
                "mcp_commands", "Show what is pending approval, and approve the given tools as they are now."
            ),
            "allow": LazyCommand(
                "mcp_commands", "Permit calls of tools, even if denied before; without TOOL, show all rules."
            ),
            "deny": LazyCommand("mcp_commands", "Hide tools from agents: they are neither found nor called."),
            "pin": LazyCommand(
                "mcp_commands",
                "Offer tools to agents under their own names, beside the six; without NAME, list them.",
            ),
            "unpin": LazyCommand("mcp_commands", "Stop offering pinned tools under their own names."),
        }
    },
    examples=["shortlist mcp", "shortlist mcp status"],
    default="run",
)
token = LazyGroup(
    "token",
    "Manage the named tokens of the service.",
    {
        "Commands": {
            "create": LazyCommand("token_commands", "Create a token for a user or a program, and show it once."),
            "ls": LazyCommand("token_commands", "List the tokens with their groups."),
            "revoke": LazyCommand("token_commands", "Revoke a token."),
        }
    },
    examples=["shortlist token create ci --groups editors --expires 90d", "shortlist token ls"],
)
config = LazyGroup(
    "config",
    "Show where settings come from, and set the language model.",
    {
        "Commands": {
            "llm": LazyCommand(
                "llm_command",
                "Set the language model that answers questions in all projects, and test it with one short request.",
            ),
            "show": LazyCommand(
                "maintenance_commands",
                "Show folders, environment variables and settings, each setting with its origin.",
            ),
        }
    },
    examples=["shortlist config show", "shortlist config llm --show"],
)
app = LazyGroup(
    "shortlist",
    "Find the right few tools, skills and documents for an AI agent.",
    {
        "Search": {
            "search": LazyCommand("search_commands", "Rank candidates, best first."),
            "discover": LazyCommand("search_commands", "Choose the few candidates that fit, or none."),
            "read": LazyCommand("search_commands", "Show documents of a corpus by id."),
            "tools": tools,
        },
        "Answer": {
            "ingest": LazyCommand("ingest_command", "Add files and folders to the index of this project."),
            "ask": LazyCommand(
                "ask_commands",
                "Answer one question from the documents, with citations, or refuse if they do not contain the answer.",
            ),
            "chat": LazyCommand("ask_commands", "Answer one question after another."),
        },
        "Corpora": {
            "build": LazyCommand("corpus_commands", "Sync a corpus with its source."),
            "ls": LazyCommand("corpus_commands", "List all corpora: stored, registered and built in."),
            "info": LazyCommand(
                "corpus_commands", "Show the counts, configuration, thresholds and folder of a corpus."
            ),
            "status": LazyCommand("corpus_commands", "Compare corpora with their sources."),
            "verify": LazyCommand("corpus_commands", "Check every file of a stored corpus, or of all of them."),
            "register": LazyCommand("corpus_commands", "Give a source a name."),
            "import-from": LazyCommand(
                "corpus_commands",
                "Take over what another system stored: the corpora of ir, the tool index of aumai-toolretrieval, or a "
                "case file.",
            ),
            "migrate": LazyCommand("corpus_commands", "Move a corpus to another engine."),
            "rm": LazyCommand("corpus_commands", "Remove a registered name."),
        },
        "Learn": {
            "learned": LazyCommand(
                "usage_commands",
                "Show what was learned from use: the documents that were used, and the queries that led to them.",
            ),
            "feedback": LazyCommand(
                "usage_commands",
                "Report that a query led to a document, so that similar queries find it, or that it was wrong.",
            ),
            "forget": LazyCommand(
                "usage_commands",
                "Delete searches from the log of use of a corpus, so that they no longer change the ranking.",
            ),
        },
        "Evaluate": {
            "eval": LazyCommand("eval_commands", "Measure how well a corpus answers the queries of a case file."),
            "cases": cases,
            "eval-gen": LazyCommand(
                "eval_commands",
                "Generate cases about a corpus with a language model, and write them to PATH as JSONL.",
            ),
            "eval-select": LazyCommand("selection_commands", "Measure how well results are selected."),
            "sweep-select": LazyCommand(
                "selection_commands", "Try every combination of selection settings, and show the best."
            ),
            "calibrate-min-score": LazyCommand(
                "selection_commands",
                "Find the score threshold that best separates queries with an answer from those without.",
            ),
            "distractors": LazyCommand("eval_commands", "Measure accuracy as the catalog grows."),
            "lint": LazyCommand("eval_commands", "Find documents that are ambiguous, unfindable, empty or hostile."),
        },
        "Serve": {
            "serve": LazyCommand(
                "serve_command", "Serve corpora over HTTP, with a web page: all of them, or those that are named."
            ),
            "install": LazyCommand("install_commands", "Add `shortlist mcp` to the configuration of an agent."),
            "uninstall": LazyCommand("install_commands", "Remove what `install` wrote."),
            "mcp": mcp,
            "hook": LazyCommand(
                "hook_command",
                "Read the event of an agent's hook on standard input, and print the skills and tools that fit its "
                "prompt.",
            ),
            "token": token,
        },
        "Maintain": {
            "doctor": LazyCommand(
                "maintenance_commands",
                "Check the installation, the folders, every corpus, and whether agents start `shortlist mcp`.",
            ),
            "backup": LazyCommand(
                "maintenance_commands",
                "Write all corpora, their logs of use, uploaded files and the configuration into a new file, and "
                "check it.",
            ),
            "restore": LazyCommand("maintenance_commands", "Restore a backup, or only these corpora of it."),
            "trust": LazyCommand("trust_command", "Confirm what the files of a project ask for."),
            "download": LazyCommand("maintenance_commands", "Fetch a model and try it once."),
            "config": config,
        },
        "": {"query": LazyCommand("ask_commands", "The former name of ask.")},
    },
    examples=['shortlist search docs "return a mattress" --json', "shortlist ls"],
    notes=["Exit codes:", *(f"  {code:<3}  {meaning}" for code, meaning in EXIT_CODES.items())],
    welcome=WELCOME,
)
app.context_settings = CONTEXT
for add_option in (
    install_completion_option,
    show_completion_option,
    click.version_option(shortlist.__version__, message="%(prog)s %(version)s", help="Print the version."),
):
    add_option(app)

"""Reference pages generated from the code: commands, HTTP routes, MCP tools and settings.

`python -m website.reference_pages` writes them to docs/reference; MkDocs uses this module for the pages of the root.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from shortlist.cli.app import EXIT_CODES, app
from shortlist.compat.retriever_service import create_app
from shortlist.compat.retriever_settings import KEYS
from shortlist.mcp.tool_definitions import DEFINITIONS

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
LOGO = ROOT / "src" / "shortlist" / "server" / "web" / "icon.svg"
ROOT_PAGES = {
    "explanation/security.md": "SECURITY.md",
    "explanation/architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
# What the definitions of the MCP tools leave to the names of arguments, since every word of theirs costs tokens.
ARGUMENTS = {
    "kind": "Kind of the results. Default: all kinds",
    "limit": "Number of results, 1 to 10. Default: 1 to 5, those that are nearly as relevant as the best",
    "id": "Id of a result of `discover`, or of a stored result of a call",
    "corpus": "Corpus to use instead of all",
    "locator": "Place of a passage in the document",
    "query": "What to look for in a stored result",
    "read.offset": "Character to start at: `next_offset` of the part before",
    "read.path": "Part of a stored result, such as `items[0:9].name`, `rows 1-9` or `lines 1-9`",
    "arguments": "Arguments of the tool, as its input schema describes them",
    "question": "Question to answer",
}
LINK = re.compile(r"\]\(docs/([^)]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root and the logo to the site. MkDocs calls this before it renders."""
    generate: Any = File.generated  # which is not typed
    files.append(generate(config, "assets/logo.svg", content=LOGO.read_text("utf-8")))
    for path, source in ROOT_PAGES.items():
        files.append(generate(config, path, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, **options: Any) -> str:
    return link_pages(markdown, page.file.src_uri)


def link_pages(markdown: str, path: str) -> str:
    """Replace links of a page to files of the repository's root, such as ../../SECURITY.md, by links to their pages."""
    up = "../" * path.count("/")
    for page, source in ROOT_PAGES.items():
        markdown = re.sub(rf"\]\((?:\.\./)*{source}", f"]({up}{page}", markdown)
    return LINK.sub(rf"]({up}\1)", markdown) if path in ROOT_PAGES else markdown


def write_commands() -> str:
    lines = ["# Command line", "", f"{app.help} Every command takes `--json`, `--quiet`, `--debug` and `--help`."]
    lines += ["", "## Exit codes", "", *table(("Code", "Meaning"), EXIT_CODES.items())]
    for path, command in walk_commands(app):
        context = click.Context(command, info_name=path, **app.context_settings)
        usage = " ".join(command.collect_usage_pieces(context))
        lines += ["", f"## {path}", "", (command.help or "").strip(), "", "```text", f"{path} {usage}", "```", ""]
        records = [record for item in command.get_params(context) if (record := item.get_help_record(context))]
        lines += table(("Option", "Meaning"), ((write_code(option), text) for option, text in records))
        if command.epilog:
            examples = command.epilog.split("Examples:\n", 1)[1]
            lines += ["", "```sh", *(line.strip() for line in examples.splitlines()), "```"]
    return "\n".join(lines) + "\n"


def write_code(text: str) -> str:
    """Code for a cell of a table. MkDocs shows the backslash of an escaped | between backticks."""
    return f"<code>{html.escape(text)}</code>".replace("|", "&#124;") if "|" in text else f"`{text}`"


def walk_commands(group: click.Group, path: str = "shortlist") -> Iterator[tuple[str, click.Command]]:
    """All commands with their full names, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from walk_commands(command, f"{path} {name}")
        elif command:
            yield f"{path} {name}", command


def write_routes() -> str:
    """Every route of the OpenAPI document with its parameters and body, and the answers that not every route has."""
    document = create_app().openapi()
    paths = sorted(document["paths"].items(), key=lambda item: not item[0].startswith("/v1/"))
    answers = [route["responses"].items() for _, methods in paths for route in methods.values()]
    common = {
        code: item["description"] for code, item in answers[0] if all(code in dict(others) for others in answers[1:])
    }
    lines = ["# HTTP API", "", "Generated from the OpenAPI document that the service returns at `/openapi.json`."]
    lines += [
        'It is on this site, too: <a href="../openapi.json">openapi.json</a>. The routes that are neither below `/v1`'
    ]
    lines += ["nor about the state of the service are [retriever routes](../guides/retriever.md).", ""]
    lines += ["Every route can answer with one of these. The body of an error is a [Problem](#problem), and"]
    lines += ["[Errors](../guides/service.md#errors) has the causes.", ""]
    lines += table(("Status", "Answer"), [*common.items()])
    for path, methods in paths:
        for method, route in methods.items():
            lines += ["", f"## {method.upper()} {path}", "", route.get("description") or route.get("summary", "")]
            rows = [
                (f"`{item['name']}`", f"{item['in']}, {describe_schema(item['schema'])}", item.get("description", ""))
                for item in route.get("parameters", ())
            ]
            lines += ["", *table(("Parameter", "Type", "Meaning"), rows)] if rows else []
            schemas = document["components"]["schemas"]
            for kind, media in route.get("requestBody", {}).get("content", {}).items():
                lines += ["", f"Body: {describe_schema(media['schema']) if 'schema' in media else f'`{kind}`'}"]
                lines += write_example(media.get("schema", {}), schemas)
            lines += ["", f"Returns: {describe_answer(route['responses']['200']['content'])}"]
            more = {code: item["description"] for code, item in route["responses"].items() if code not in common}
            lines += ["", *table(("Status", "Answer"), [*more.items()])] if more else []
    lines += ["", "## Types"]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += ["", f"### {name}", "", schema.get("description", ""), ""]
        rows = [
            (f"`{key}`", describe_schema(value) + describe_default(key, schema), value.get("description", ""))
            for key, value in schema.get("properties", {}).items()
        ]
        lines += table(("Field", "Type", "Meaning"), rows)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def write_example(schema: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """The example of the body of a request as a block of JSON, if it has one."""
    name = next((part["$ref"] for part in (schema, *schema.get("anyOf", ())) if "$ref" in part), "").rpartition("/")[2]
    examples = schemas.get(name, {}).get("examples", ())
    return ["", "```json", json.dumps(examples[0], ensure_ascii=False), "```"] if examples else []


def describe_answer(content: dict[str, Any]) -> str:
    """What a route returns: a named type or plain text, and whether it can be streamed."""
    kind, media = next(iter(content.items()))
    answer = describe_schema(media["schema"]) if "schema" in media else f"`{kind}`"
    is_streamed = "text/event-stream" in content
    return f"{answer}, or server-sent events that end with it" if is_streamed else answer


def describe_default(key: str, schema: dict[str, Any]) -> str:
    """Whether a field of the body of a request is required or, if not, its default."""
    if schema.get("additionalProperties") is not False:  # an answer
        return ""
    if key in schema.get("required", ()):
        return ", required"
    default = schema["properties"][key].get("default")
    return "" if default in (None, "", []) else f", default `{json.dumps(default)}`"


def describe_schema(schema: dict[str, Any]) -> str:
    """A JSON Schema in a few words, with links to the named types."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(describe_schema(part) for part in schema[key])
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    kind = schema.get("type", "any")
    if kind == "array" and "items" in schema:
        return f"list of {describe_schema(schema['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def write_mcp_tools() -> str:
    lines = [
        "# MCP tools",
        "",
        "The tools that `shortlist mcp` offers to an agent. [The guide](../guides/gateway.md) shows them in use.",
        "`call` and `call_read` return the result of the server, unchanged. Prompts, resources, questions of servers",
        "to the client, progress and more are relayed, too: see [Beyond tools](../guides/gateway.md#beyond-tools).",
    ]
    for tool in DEFINITIONS:
        lines += ["", f"## {tool['name']}", "", tool["description"], ""]
        required = tool["inputSchema"].get("required", ())
        rows = [
            (
                f"`{key}`",
                describe_schema(value) + (", required" if key in required else ""),
                ARGUMENTS.get(f"{tool['name']}.{key}") or value.get("description") or ARGUMENTS[key],
            )
            for key, value in tool["inputSchema"]["properties"].items()
        ]
        lines += table(("Argument", "Type", "Meaning"), rows)
    return "\n".join(lines) + "\n"


def write_settings() -> str:
    lines = [
        "# Settings",
        "",
        "Values come from command-line options, then environment variables, then the nearest `settings.yaml`, from",
        "the working directory to the root of its repository, then the defaults. `shortlist config show` prints the",
        "values in force and where each comes from. [Settings file](../guides/service.md#settings-file) has an",
        "example.",
    ]
    for section, kind in KEYS.sections.items():
        rows = []
        for key, info in kind.model_fields.items():
            about: Any = info.json_schema_extra
            sources = [about[source] for source in ("variable", "former", "usual", "option")]
            names = " ".join(f"`{name}`" for name in sources if name)
            default = "" if info.default is None else f"`{json.dumps(info.default)}`"
            rows.append((f"`{section}.{key}`", info.description or "", default, names))
        lines += ["", f"## {section}", "", kind.__doc__ or "", ""]
        lines += table(("Key", "Meaning", "Default", "Variable or option"), rows)
    return "\n".join(lines) + "\n"


def table(head: tuple[str, ...], rows: Any) -> list[str]:
    cells = [[" ".join(str(cell).split()).replace("|", r"\|") for cell in row] for row in rows]
    if not cells:
        return []
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *cells)]


PAGES = {"cli": write_commands, "http": write_routes, "mcp": write_mcp_tools, "settings": write_settings}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (REFERENCE / f"{name}.md").write_text(write(), "utf-8")

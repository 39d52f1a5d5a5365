"""The commands of the tool registry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from shortlist._paths import data_dir
from shortlist._text import count_of
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import WholeNumber
from shortlist.cli.output import ABSTAINED, OK, Output
from shortlist.errors import SourceError

with lazy_imports():
    from shortlist.cli.terminal import hits
    from shortlist.compat import tool_index

index_file_option = click.option("--index-file", metavar="PATH", help="Index file, instead of that in the data folder.")


@command(
    examples=[
        "shortlist tools index registry",
        "shortlist tools index registry --index-file registry.index.json",
    ]
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--tools-dir", metavar="PATH", multiple=True, help="Another way to give a folder. Repeatable.")
@index_file_option
def index(out: Output, paths: Sequence[str], tools_dir: Sequence[str], index_file: str | None) -> None:
    """Index the tools of folders, replacing those indexed before. PATH is a folder of JSON files with one tool each."""
    folders = [*paths, *tools_dir]
    if not folders:
        raise click.UsageError("No folder is given. Run: shortlist tools index PATH")
    tools, wrong = tool_index.read_tools(*folders)
    if not tools:
        raise SourceError(" ".join([f"No tool was found in {', '.join(folders)}, and the index is unchanged.", *wrong]))
    made = tool_index.ToolIndex()
    for tool in tools:
        made.add_tool(tool)
    file = find_index_file(index_file)
    made.save(file)
    data = {"tools": len(tools), "index_file": str(file), "failed": wrong}
    out.show(data, f"{count_of(len(tools), 'tool', 'is indexed')}.", [tool.tool_id for tool in tools])
    for sentence in wrong:
        out.note(f"shortlist: {sentence}")


@command(
    examples=[
        'shortlist tools search --query "write to a customer"',
        'shortlist tools search --query "find facts" --top-k 3 --tag web --tag reporting --output-format json',
    ]
)
@click.option("--query", metavar="TEXT", required=True, help="Description of the tool to find.")
@click.option(
    "--top-k",
    metavar="N",
    type=WholeNumber(min=1),
    default=5,
    show_default=True,
    help="Maximum number of tools to show.",
)
@click.option(
    "--tag", metavar="TEXT", multiple=True, help="Tag that a tool must have; one of several is enough. Repeatable."
)
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Same as --json if json.",
)
@index_file_option
def search(out: Output, query: str, top_k: int, tag: Sequence[str], output_format: str, index_file: str | None) -> int:
    """Search the indexed tools."""
    file = find_index_file(index_file)
    if not file.exists():
        raise SourceError(f"There is no tool index at {file}. Run: shortlist tools index PATH")
    asked = tool_index.SearchQuery(query_text=query, tags_filter=list(tag) or None, top_k=top_k)
    results = tool_index.ToolIndex.load(file).search(asked)
    out.as_json = out.as_json or output_format == "json"
    rows = [
        {"rank": hit.rank, "score": hit.score, **hit.tool.model_dump(mode="json", exclude={"embedding"})}
        for hit in results
    ]
    data = {"query": query, "results": rows}
    out.show(data, lambda screen: hits.show_tools(screen, rows), [row["tool_id"] for row in rows])
    return OK if results else ABSTAINED


def find_index_file(file: str | None) -> Path:
    """The tool index of the commands, or the given one."""
    return Path(file).expanduser() if file else data_dir() / "tool-index.json"

"""The commands of the tool registry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from shortlist._paths import data_dir
from shortlist._text import count_of
from shortlist.cli import options
from shortlist.cli.output import ABSTAINED, OK, Output, command
from shortlist.errors import SourceError
from shortlist.kits.tool_index import SearchQuery, ToolIndex, read_tools

index_file_option = click.option(
    "--index-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Index file, instead of that in the data folder.",
)


@command
@click.argument("paths", nargs=-1, metavar="PATH...")
@options.repeatable("--tools-dir", metavar="PATH", help="Another way to name a folder.")
@index_file_option
def index(out: Output, paths: Sequence[str], tools_dir: Sequence[str], index_file: Path | None) -> None:
    folders = [*paths, *tools_dir]
    if not folders:
        raise click.UsageError("No folder is given. Run: shortlist tools index PATH.")
    tools, wrong = read_tools(*folders)
    if not tools:
        raise SourceError(" ".join([f"There is no tool in {', '.join(folders)}; the index is as it was.", *wrong]))
    made = ToolIndex()
    for tool in tools:
        made.add_tool(tool)
    file = _place(index_file)
    made.save(file)
    data = {"tools": len(tools), "index_file": str(file), "failed": wrong}
    out.show(data, f"{count_of(len(tools), 'tool', 'is indexed')}.", [tool.tool_id for tool in tools])
    for sentence in wrong:
        out.note(f"shortlist: {sentence}")


@command
@click.option("--query", required=True, metavar="TEXT", help="What is needed, in words.")
@options.count("--top-k", default=5, help="Maximum number of tools to show.")
@options.repeatable("--tag", metavar="TAG", help="Only tools with this tag, or any of several.")
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", help="json is the same as --json."
)
@index_file_option
def search(out: Output, query: str, top_k: int, tag: Sequence[str], output_format: str, index_file: Path | None) -> int:
    file = _place(index_file)
    if not file.exists():
        raise SourceError(f"No tools are indexed yet (looked for {file}): shortlist tools index PATH.")
    found = ToolIndex.load(file).search(SearchQuery(query_text=query, tags_filter=list(tag) or None, top_k=top_k))
    out.as_json = out.as_json or output_format == "json"
    rows = [
        {"rank": one.rank, "score": one.score, **one.tool.model_dump(mode="json", exclude={"embedding"})}
        for one in found
    ]
    out.show(
        {"query": query, "results": rows}, lambda screen: screen.show_tools(rows), [row["tool_id"] for row in rows]
    )
    return OK if found else ABSTAINED


def _place(file: Path | None) -> Path:
    return file.expanduser() if file else data_dir() / "tool-index.json"

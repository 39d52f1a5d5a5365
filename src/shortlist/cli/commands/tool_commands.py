"""The commands of the tool registry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from shortlist._paths import data_dir
from shortlist._text import count_of
from shortlist.cli.output import ABSTAINED, OK, Output
from shortlist.compat.tool_index import SearchQuery, ToolIndex, read_tools
from shortlist.errors import SourceError


def index(out: Output, paths: Sequence[str], tools_dir: Sequence[str], index_file: str | None) -> None:
    folders = [*paths, *tools_dir]
    if not folders:
        raise click.UsageError("No folder is given. Run: shortlist tools index PATH")
    tools, wrong = read_tools(*folders)
    if not tools:
        raise SourceError(" ".join([f"No tool was found in {', '.join(folders)}, and the index is unchanged.", *wrong]))
    made = ToolIndex()
    for tool in tools:
        made.add_tool(tool)
    file = tool_index_file(index_file)
    made.save(file)
    data = {"tools": len(tools), "index_file": str(file), "failed": wrong}
    out.show(data, f"{count_of(len(tools), 'tool', 'is indexed')}.", [tool.tool_id for tool in tools])
    for sentence in wrong:
        out.note(f"shortlist: {sentence}")


def search(out: Output, query: str, top_k: int, tag: Sequence[str], output_format: str, index_file: str | None) -> int:
    file = tool_index_file(index_file)
    if not file.exists():
        raise SourceError(f"There is no tool index at {file}. Run: shortlist tools index PATH")
    results = ToolIndex.load(file).search(SearchQuery(query_text=query, tags_filter=list(tag) or None, top_k=top_k))
    out.as_json = out.as_json or output_format == "json"
    rows = [
        {"rank": one.rank, "score": one.score, **one.tool.model_dump(mode="json", exclude={"embedding"})}
        for one in results
    ]
    data = {"query": query, "results": rows}
    out.show(data, lambda screen: screen.show_tools(rows), [row["tool_id"] for row in rows])
    return OK if results else ABSTAINED


def tool_index_file(file: str | None) -> Path:
    """The tool index of the commands, or the given one."""
    return Path(file).expanduser() if file else data_dir() / "tool-index.json"

"""Which tool of a folder of descriptions is meant? The commands of the tool registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shortlist._text import count_of
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import ABSTAINED, OK, Output, WrongUsage
from shortlist.errors import SourceError

if TYPE_CHECKING:
    from shortlist.kits.tool_index import SearchResult

IndexFile = Annotated[
    str | None, option("--index-file", help="Where the index is kept, if not in the data folder.", metavar="FILE")
]


def index(
    out: Output,
    paths: Annotated[
        list[str] | None, Argument(metavar="PATH...", help="Folders of JSON files with one tool each.")
    ] = None,
    tools_dir: Annotated[
        list[str] | None, option("--tools-dir", help="Another way to name a folder; repeat it.", metavar="PATH")
    ] = None,
    index_file: IndexFile = None,
) -> int:
    """Index the tools of folders, in place of those indexed before."""
    from shortlist.kits.tool_index import ToolIndex, read_tools

    folders = [*(paths or ()), *(tools_dir or ())]
    if not folders:
        raise WrongUsage("No folder is given. Run: shortlist tools index PATH.")
    tools, wrong = read_tools(*folders)
    if not tools:
        raise SourceError(" ".join([f"There is no tool in {', '.join(folders)}; the index is as it was.", *wrong]))
    made = ToolIndex()
    for tool in tools:
        made.add_tool(tool)
    file = _file(index_file)
    made.save(file)
    data = {"tools": len(tools), "index_file": str(file), "failed": wrong}
    words = f"{count_of(len(tools), 'tool', 'is indexed')}."
    out.show(data, lambda screen: screen.say(words), [tool.tool_id for tool in tools])
    for sentence in wrong:
        out.note(f"shortlist: {sentence}")
    return OK


def search(
    out: Output,
    query: Annotated[str, option("--query", help="What is needed, in words.", metavar="TEXT")],
    top_k: Annotated[int, option("--top-k", help="How many tools to show at most.", least=1)] = 5,
    tag: Annotated[
        list[str] | None, option("--tag", help="Only tools with this tag; repeat it for any of several.", metavar="TAG")
    ] = None,
    output_format: Annotated[
        Literal["text", "json"], option("--output-format", help="json is the same as --json.")
    ] = "text",
    index_file: IndexFile = None,
) -> int:
    """Find tools that were indexed."""
    from shortlist.kits.tool_index import SearchQuery, ToolIndex

    file = _file(index_file)
    if not file.exists():
        raise SourceError(f"No tools are indexed yet (looked for {file}): shortlist tools index PATH.")
    found = ToolIndex.load(file).search(SearchQuery(query_text=query, tags_filter=tag or None, top_k=top_k))
    out.as_json = out.as_json or output_format == "json"
    rows = [_row(result) for result in found]
    out.show(
        {"query": query, "results": rows}, lambda screen: screen.tools(rows), [result.tool.tool_id for result in found]
    )
    return OK if found else ABSTAINED


def _row(result: SearchResult) -> dict[str, Any]:
    tool = result.tool.model_dump(mode="json", exclude={"embedding"})
    return {"rank": result.rank, "score": result.score, **tool}


def _file(given: str | None) -> Path:
    from shortlist._paths import data_dir

    return Path(given).expanduser() if given else data_dir() / "tool-index.json"

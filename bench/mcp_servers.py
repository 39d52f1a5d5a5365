"""The tool lists of MCP servers, one file of `tools/list` per server, with the questions of bench/cases."""

from __future__ import annotations

import json
from pathlib import Path

from bench.scope import Question, Scope
from shortlist import Document
from shortlist.eval import load_cases
from shortlist.sources.mcp_tools import document_of

NAME = "mcp_servers"
CASES = Path(__file__).parent / "cases" / f"{NAME}.jsonl"


def load(folder: Path) -> Scope:
    """All tools as the gateway indexes them, and all questions."""
    documents = [
        document
        for file in sorted(folder.glob("*.json"))
        for tool in json.loads(file.read_bytes())["tools"]
        if isinstance(document := document_of(file.stem, "tool", tool), Document)
    ]
    if not documents:
        raise FileNotFoundError(f"{folder} has no tool lists (*.json).")
    return Scope(NAME, documents, [Question(case.query, frozenset(case.gold)) for case in load_cases(CASES)])

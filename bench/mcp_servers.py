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
LANGUAGES = sorted(path.suffixes[0][1:] for path in CASES.parent.glob(f"{NAME}.??.jsonl"))


def load(folder: Path, language: str = "") -> Scope:
    """All tools as the gateway indexes them, and all questions, in English or in one of LANGUAGES."""
    documents = [
        document
        for file in sorted(folder.glob("*.json"))
        for tool in json.loads(file.read_bytes())["tools"]
        if isinstance(document := document_of(file.stem, "tool", tool), Document)
    ]
    if not documents:
        raise FileNotFoundError(f"{folder} has no tool lists (*.json).")
    name = f"{NAME}.{language}" if language else NAME
    cases = load_cases(CASES.with_name(f"{name}.jsonl"))
    return Scope(name, documents, [Question(case.query, frozenset(case.gold)) for case in cases])

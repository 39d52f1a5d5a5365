"""LlamaIndex with shortlist as its retriever."""

from __future__ import annotations

from pathlib import Path

from shortlist.integrations.llamaindex import ShortlistRetriever

DOCS = Path(__file__).parent / "data" / "docs"


def main() -> None:
    retriever = ShortlistRetriever(f"docs:{DOCS}", passages=True)
    for found in retriever.retrieve("how long do customers have to return a mattress?"):
        print(f"{found.score:.2f}  {found.node.node_id}")


if __name__ == "__main__":
    main()

"""LangChain with shortlist: a retriever, a search tool for an agent, and a selection of tools."""

from __future__ import annotations

from pathlib import Path

from langchain_core.tools import tool

from shortlist.integrations.langchain import ShortlistRetriever, ShortlistTool, ToolChooser

DOCS = Path(__file__).parent / "data" / "docs"


def track_shipment(order_id: str) -> str:
    """Tell where the parcel of an order is now."""
    return f"{order_id} is in Leeds"


def refund_payment(payment_id: str) -> str:
    """Send money back to the customer's card."""
    return f"{payment_id} was paid back"


def main() -> None:
    retriever = ShortlistRetriever(f"docs:{DOCS}", passages=True)
    for document in retriever.invoke("how long do customers have to return a mattress?"):
        print(f"{document.metadata['score']:.2f}  {document.id}")

    search = ShortlistTool(f"docs:{DOCS}", name="search_handbook", k=1)
    message = search.invoke({"type": "tool_call", "id": "1", "name": search.name, "args": {"query": "days of leave"}})
    print(message.artifact["results"][0]["id"])

    chooser = ToolChooser([tool(track_shipment), tool(refund_payment)])
    print([chosen.name for chosen in chooser.choose("where is the parcel?")])  # for model.bind_tools(...)


if __name__ == "__main__":
    main()

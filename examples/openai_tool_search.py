"""An OpenAI model that loads functions through tool search. Needs the package openai and a key."""

from __future__ import annotations

from typing import Any

from shortlist.integrations.openai import ToolSearch


def refund_payment(payment_id: str, amount: float) -> str:
    """Send money back to the customer's card."""
    return f"{amount:.2f} of {payment_id} are on their way back"


def track_shipment(order_id: str) -> dict[str, str]:
    """Tell where the parcel of an order is now."""
    return {"order": order_id, "place": "Leeds"}


def book_courier(order_id: str, day: str) -> str:
    """Order a courier who collects a parcel."""
    return f"A courier comes for {order_id} on {day}"


def ask(client: Any, question: str, model: str = "gpt-5.6") -> str:
    search = ToolSearch([refund_payment, track_shipment, book_courier])
    context: list[Any] = [{"role": "user", "content": question}]
    while True:
        response = client.responses.create(model=model, input=[*context], tools=search.tools())
        answers = search.outputs(response.output)
        if not answers:
            return str(response.output_text)
        context += [*response.output, *answers]


def main() -> None:
    import openai  # noqa: PLC0415  # needed only here

    print(ask(openai.OpenAI(), "Where is the parcel of order 4711?"))


if __name__ == "__main__":
    main()

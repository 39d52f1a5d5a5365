"""Two tools, and: does a dict have the shape that a package declares? As TypedDicts do, every key and value known."""

from __future__ import annotations

from typing import Any, get_type_hints

from pydantic import TypeAdapter


def check(declared: Any, value: dict[str, Any]) -> None:
    unknown = value.keys() - get_type_hints(declared).keys()
    assert not unknown, f"{declared.__name__} has no {unknown}"
    TypeAdapter(declared).validate_python(value, strict=False)


def track_shipment(order_id: str) -> dict[str, str]:
    """Where is the parcel now"""
    return {"order": order_id}


def refund_payment(payment_id: str) -> str:
    """Give a customer the money back"""
    raise RuntimeError("the bank is closed")

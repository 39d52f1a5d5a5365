"""A small shop whose answers can be worked out by hand: every word of a query is known to be in one place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import shortlist
from shortlist import Corpus, Document
from shortlist.eval import Case

SHOP = [
    Document("refund", "refund_payment", "give the money of a payment back to the customer", kind="tool"),
    Document("track", "track_parcel", "tell where a parcel is right now", kind="tool"),
    Document("cancel", "cancel_order", "stop an order before the warehouse sends it", kind="tool"),
    Document("stock", "count_stock", "tell how many pieces are left in a warehouse", kind="tool"),
    Document("invoice", "send_invoice", "send an invoice by mail", kind="tool"),
]
CASES = [
    Case("where is the parcel", ("track",)),  # first
    Case("the warehouse sends pieces of an order", ("stock",)),  # behind cancel_order, which holds more of it
    Case("zebra giraffe", ("invoice",)),  # found nowhere
    Case("an invoice for a thing that is gone", ("receipt",)),  # not in the corpus
    Case("play quiet jazz"),  # nothing applies, no word is known
    Case("left luggage"),  # nothing applies, but a word is known
]


@pytest.fixture
def shop() -> Iterator[Corpus]:
    with shortlist.build(SHOP, "shop", in_memory=True, embedder="none") as corpus:
        yield corpus

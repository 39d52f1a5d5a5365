"""A corpus of tools and a long document, and an event loop of each test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from shortlist import Corpus, Document, create_corpus

LONG = " ".join(f"Sentence {at} of the handbook tells about topic{at}." for at in range(60))


@pytest.fixture(autouse=True)
def own_event_loop() -> Iterator[None]:
    """PydanticAI's `run_sync` makes an event loop where there is none, and never closes it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def corpus() -> Corpus:
    corpus = create_corpus("shop", in_memory=True, embedder="light")
    corpus.sync(
        [
            Document("track", "track_shipment", "Where is the parcel", metadata={"access": "read"}, kind="tool"),
            Document("send", "send_parcel", "Send the parcel", metadata={"access": "write"}, kind="tool"),
            Document("book", "Handbook", LONG, kind="file", locator="whole"),
        ]
    )
    return corpus

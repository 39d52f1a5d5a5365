"""Asynchronous search: the results of the synchronous functions, in another thread."""

from __future__ import annotations

import asyncio
import threading

from shortlist import Hit, SearchOptions, adiscover, asearch, discover, search

TEXTS = {"refund": "Send money back to a card.", "track": "Where a parcel is now."}


def test_results_are_those_of_search_and_discover() -> None:
    async def run() -> None:
        hits, found = await asyncio.gather(
            asearch(TEXTS, "parcel", "lexical", k=1), adiscover(TEXTS, "parcel", "lexical", level="body", max_k=1)
        )
        assert hits == search(TEXTS, "parcel", "lexical", k=1)
        assert found.to_dict() == discover(TEXTS, "parcel", "lexical", level="body", max_k=1).to_dict()
        assert await asearch(TEXTS, "parcel", options=SearchOptions(mode="lexical", k=1)) == hits

    asyncio.run(run())


def test_the_event_loop_goes_on_while_a_search_runs() -> None:
    is_searching, may_end = threading.Event(), threading.Event()

    def wait(query: str, hits: list[Hit]) -> list[Hit]:
        is_searching.set()
        assert may_end.wait(60)
        return hits

    async def run() -> None:
        searching = asyncio.create_task(asearch(TEXTS, "parcel", "lexical", rerank=wait))
        while not is_searching.is_set():
            await asyncio.sleep(0.01)
        may_end.set()  # only a loop that is not blocked gets here
        assert (await searching)[0].id == "track"

    asyncio.run(run())

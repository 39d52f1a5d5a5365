"""What reading the best tools with the query changes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import shortlist
from shortlist import Document
from shortlist.eval.explain import explain
from shortlist.index.corpus import Corpus
from shortlist.index.embedders import cross_encoder
from shortlist.retrieval import tool_reading
from shortlist.retrieval.relevance import log_odds

pytestmark = pytest.mark.extras

TOOLS = {
    "create_invoice": "Creates an invoice for a customer with items and a due date.",
    "send_invoice": "Sends an invoice to the customer by mail.",
    "list_invoices": "Lists invoices, with filters for customer, state and date.",
    "refund_payment": "Pays back a payment, in whole or in part.",
    "track_parcel": "Where a parcel is, by its number.",
}
VAGUE = "who has not paid us yet"


@pytest.fixture(scope="module")
def tools() -> Corpus:
    pytest.importorskip("onnxruntime")
    listed = [Document(name, name, text, kind="tool") for name, text in TOOLS.items()]
    return shortlist.build(listed, in_memory=True, embedder="tools")


def test_a_need_is_told_from_one_that_only_sounds_like_a_tool(tools: Corpus) -> None:
    served = shortlist.search(tools, "which customers have not settled their bills", k=1)[0]
    near = shortlist.search(tools, "how do I write a good invoice?", k=1)[0]
    assert served.id == "list_invoices"
    assert near.signals["read"] < 0 < 0.5 < served.signals["read"]


@pytest.mark.parametrize("query", [VAGUE, "wer hat noch nicht bezahlt?", "まだ払っていない人は誰ですか"])
def test_the_first_hits_are_the_same_for_any_number(tools: Corpus, query: str) -> None:
    every = shortlist.search(tools, query, k=5)
    assert every[0].signals["read"]
    assert [hit.score for hit in every] == sorted((hit.relevance or 0.0 for hit in every), reverse=True)
    for k in range(1, 5):
        found = shortlist.search(tools, query, k=k)
        assert [(hit.id, hit.relevance) for hit in found] == [(hit.id, hit.relevance) for hit in every[:k]]


def test_many_queries_are_read_as_one_is(tools: Corpus) -> None:
    queries = [VAGUE, "send_invoice", "the parcel of Mrs. Olsen", "book a flight"]
    alone = [shortlist.search(tools, query) for query in queries]
    together = shortlist.search_many(tools, queries)
    assert [hits.to_dict() for hits in together] == [hits.to_dict() for hits in alone]


def test_what_it_changes_is_explained(tools: Corpus) -> None:
    hit = shortlist.search(tools, VAGUE)[0]
    explained = explain(tools, hit.id, VAGUE)
    assert explained.odds["read"] == hit.signals["read"]
    assert sum(explained.odds.values()) == pytest.approx(log_odds(hit.relevance or 0.0))
    assert "what reading it says" in explained.says


def test_no_hit_falls_far_behind_and_unread_ones_keep_their_order(
    tools: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = shortlist.search(tools, VAGUE)
    changes = [hit.signals["read"] for hit in read]
    assert max(changes) - min(changes) <= tool_reading.MOST_BEHIND + 1e-9
    monkeypatch.setattr(cross_encoder, "READER", Path("missing.onnx"))
    before = shortlist.search(tools, VAGUE)
    assert not any("read" in hit.signals for hit in before)
    odds = {hit.id: log_odds(hit.relevance or 0.0) for hit in before}
    assert all(math.isclose(odds[hit.id] + hit.signals["read"], log_odds(hit.relevance or 0.0)) for hit in read)
    kept = [hit.id for hit in before[tool_reading.READ :]]
    assert [hit.id for hit in read if hit.id in kept] == kept


def test_only_an_unclear_query_of_tools_is_read(tools: Corpus) -> None:
    for query, mode in (("send_invoice", "auto"), ("zebra stripes", "auto"), (VAGUE, "dense"), (VAGUE, "lexical")):
        assert not any("read" in hit.signals for hit in shortlist.search(tools, query, mode))  # type: ignore[arg-type]
    texts = shortlist.build(list(TOOLS.values()), in_memory=True, embedder="tools")
    assert not any("read" in hit.signals for hit in shortlist.search(texts, VAGUE))


def test_it_takes_nothing_away_from_what_was_learned(tools: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = shortlist.search(tools, VAGUE)
    learned = [replace(hit, signals={**hit.signals, "learned": 0.05}) for hit in hits]
    monkeypatch.setattr(tool_reading, "IN_ENGLISH", -5.0)
    for some, is_less in ((hits, True), (learned, False)):
        (rated,) = tool_reading.rate_best([some], [tools.get], VAGUE) or [[]]
        assert len(rated) == len(hits)
        assert [one < 0 for one in rated] == [is_less] * len(hits)


def test_tools_of_several_corpora_are_read_together(tools: Corpus) -> None:
    other = shortlist.build([Document("paid", "paid", "Marks a bill as paid.", kind="tool")], in_memory=True)
    hits = shortlist.search((tools, other), VAGUE)
    alone = {hit.id: hit for hit in shortlist.search(tools, VAGUE)}
    assert {hit.corpus for hit in hits if "read" in hit.signals} == {tools.name, other.name}
    assert len({round(hit.signals["read"], 9) for hit in hits}) <= tool_reading.READ
    assert len(hits) == len(alone) + 1

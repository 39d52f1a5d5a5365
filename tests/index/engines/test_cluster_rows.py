"""Rows of documents and passages: what is stored comes back, and limits are reported."""

from __future__ import annotations

import json

import numpy as np

from shortlist import Document, Scoring
from shortlist.index.config import Config
from shortlist.index.engines.cluster_rows import (
    RowCounts,
    document_key,
    document_row,
    passage_rows,
    term_token,
    to_document,
)
from shortlist.index.storage.records import Record, to_record
from shortlist.index.text.analyzers import get_analyzer, term_key
from tests.index.engines.conftest import Make, on_servers


@on_servers
def test_a_document_with_an_id_too_long_for_an_engine_is_reported_by_name(make: Make) -> None:
    corpus = make()
    changes = corpus.sync([Document("a", "", "tea"), Document("x" * 9000, "", "tea")])
    assert changes.added == 1
    assert [(len(problem.id), problem.reason[:6]) for problem in changes.failed] == [(9000, "Its id")]
    assert corpus.ids() == ["a"]


def test_packed_counts_and_vectors_are_unpacked_as_they_were() -> None:
    terms, gains = np.array([3, 2**63], np.uint64), np.array([1, 2 << 24], np.uint32)
    counts = RowCounts(terms, gains, np.array([2, 0, 9], np.int32))
    packed = counts.pack()
    for text in (packed, packed.rstrip("=")):  # a server returns them without the padding
        assert [part.tolist() for part in RowCounts.unpack(text)] == [part.tolist() for part in counts]


def test_a_document_comes_back_from_its_row() -> None:
    document = Document("a", "Größe", "text", ["k"], {"n": [1, None]}, kind="tool", locator="row=1", payload="{}")
    record = to_record(document)
    assert isinstance(record, Record)
    row = document_row(record, 5, 2)
    assert to_document(json.loads(json.dumps(row))) == document
    assert (row["place"], row["added"], row["passages"], row["hash"]) == ("a", 5, 2, record.hash.hex())


def test_each_passage_has_its_terms_as_often_as_its_fields_weigh() -> None:
    record = to_record(Document("a", "tea", "tea cup"))
    assert isinstance(record, Record)
    ((data,),) = passage_rows([(record, 1)], 2, Config(scoring=Scoring(weights=(2.0, 1.0, 1.0))), None, None)
    row = json.loads(data)
    tea, cup = (term_token(term_key(term)) for term in ("tea", "cup"))
    assert sorted(row["body"].split()) == sorted([tea, tea, tea, cup])
    assert (row["document"], row["text"], row["length_title"], row["length_content"]) == ("a", "tea cup", 1, 2)
    assert RowCounts.unpack(row["counts"]).lengths.tolist() == [1, 0, 2]


def test_passages_of_many_documents_have_only_their_own_terms() -> None:
    texts = ["tea cup", "", "leaf", "tea tea"]
    records = [to_record(Document(str(at), "", text)) for at, text in enumerate(texts)]
    assert all(isinstance(record, Record) for record in records)
    config = Config(scoring=Scoring(weights=(1.0, 1.0, 1.0)))
    rows = passage_rows([(record, 1) for record in records], 2, config, None, None)  # type: ignore[misc]
    bodies = [json.loads(data)["body"].split() for (data,) in rows]
    assert [sorted(body) for body in bodies] == [sorted(map(token_of, text.split())) for text in texts]


def token_of(word: str) -> str:
    (term,) = get_analyzer(Config().analyzer).terms(word)
    return term_token(term_key(term))


def test_keys_are_short_and_differ() -> None:
    keys = {document_key(id) for id in ("a", "a#", "x" * 9000, "x" * 9001, "\ud800")}
    assert len(keys) == 5
    assert {len(key) for key in keys} == {32}

"""Search: scores that are computed a second time here, order, names, and what a corpus may be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from shortlist import (
    CorpusNotFound,
    Document,
    Hit,
    InputError,
    Passage,
    create_corpus,
    search,
    select,
)
from shortlist.results import Mode
from tests.retrieval.samples import (
    MODES,
    PLAIN,
    SHOP,
    corpus_of,
    gain,
    idf,
    letters,
    scored,
    texts,
)


def test_words_are_stemmed_stop_words_left_out_and_case_ignored() -> None:
    corpus = corpus_of(texts(a="The runners are running", b="a walk"), scoring=PLAIN)
    # runner and run are two terms; "the" and "are" are none
    assert scored(search(corpus, "RUNS", mode="lexical")) == pytest.approx(
        {"a": idf(2, 1) * gain(1, 2, 1.5)}, rel=1e-12
    )


def test_ids_and_metadata_are_not_searched() -> None:
    corpus = corpus_of([Document("zebra", "Title", "content", metadata={"animal": "giraffe"})])
    assert search(corpus, "giraffe", mode="lexical") == []
    assert search(corpus, "zebra", mode="lexical") == []
    assert [hit.signals["blend"] for hit in search(corpus, "zebra")] == [0.0]  # found as a name alone


def test_a_query_without_any_known_meaning_finds_nothing_by_meaning() -> None:
    assert search(corpus_of(texts(x="aab"), letters), "zzz", mode="dense") == []


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_corpus_without_vectors_says_how_to_search_it(mode: Mode) -> None:
    with pytest.raises(InputError, match="mode='lexical'"):
        search(corpus_of(SHOP), "parcel", mode=mode)


def test_auto_in_a_corpus_without_vectors_is_lexical() -> None:
    corpus = corpus_of(SHOP)
    auto, lexical = (search(corpus, "order parcel", mode=mode) for mode in ("auto", "lexical"))
    assert [(hit.id, hit.relevance, hit.signals) for hit in auto] == [
        (hit.id, hit.relevance, hit.signals) for hit in lexical
    ]


@pytest.mark.parametrize("mode", MODES)
def test_k_zero_finds_nothing(mode: Mode) -> None:
    assert search(corpus_of(SHOP, "light"), "order refund_payment", mode=mode, k=0) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [10**6, 10**30])
def test_a_huge_k_finds_each_document_once(mode: Mode, k: int) -> None:
    corpus = corpus_of([Document(f"d{at}", "", "apple") for at in range(25)], "light")
    assert [hit.id for hit in search(corpus, "apple", mode=mode, k=k)] == [f"d{at}" for at in range(25)]


@pytest.mark.parametrize("k", [-1, True, False, 2.0, "3", None])
def test_a_k_that_is_no_count_is_an_input_error(k: Any) -> None:
    with pytest.raises(InputError, match="k must be an integer"):
        search(corpus_of(SHOP), "order", k=k)


@pytest.mark.parametrize("mode", ["bm25", "", "Lexical", None])
def test_an_unknown_mode_is_an_input_error_that_names_the_known_ones(mode: Any) -> None:
    with pytest.raises(InputError, match="auto, lexical, dense, hybrid"):
        search(corpus_of(SHOP), "order", mode=mode)


@pytest.mark.parametrize("query", [None, 5, b"order", ["order"]])
def test_a_query_that_is_no_string_is_an_input_error(query: Any) -> None:
    with pytest.raises(InputError, match="A query must be a string"):
        search(corpus_of(SHOP), query)


def test_a_corpus_can_be_given_by_object_name_and_path(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    with create_corpus("shop", embedder="none") as by_name, create_corpus(path=folder, embedder="none") as by_path:
        by_name.add(SHOP)
        by_path.add(SHOP)
        for corpus in (by_name, "shop", by_path, folder, str(folder)):
            assert [hit.id for hit in search(corpus, "parcel")] == ["track"]


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        (["a red apple", "a green pear"], [("1", "1")]),
        ({"x": "a red apple", "y": "a green pear"}, [("y", "y")]),
        ([Document("p", "The pear", "green"), "apple"], [("p", "The pear")]),
        ({"any": Document("p", "The pear", "green"), "a": "apple"}, [("p", "The pear")]),
        ({"y": {"text": "a green pear", "colour": "green"}, "a": {"text": "apple"}}, [("y", "y")]),
        ([{"id": "y", "title": "Fruit", "text": "a green pear"}, {"text": "apple"}], [("y", "Fruit")]),
        ([{"text": "fruit", "keywords": ["pear"]}, {"text": "apple"}], [("0", "0")]),
        ([], []),
        ({}, []),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_corpus_can_be_a_handful_of_texts(corpus: Any, expected: list[tuple[str, str]], mode: Mode) -> None:
    assert [(hit.id, hit.name) for hit in search(corpus, "pear", mode=mode, k=1)] == expected


def test_a_corpus_can_be_a_stream_of_texts() -> None:
    assert [hit.id for hit in search((text for text in ["apple", "pear"]), "pear", mode="lexical")] == ["1"]


def test_further_keys_of_an_entry_are_its_metadata() -> None:
    corpus = {"y": {"text": "pear", "colour": "green"}, "z": {"text": "pear", "colour": "red"}}
    (hit,) = search(corpus, "pear", mode="lexical", filter={"colour": "red"})
    assert (hit.id, hit.metadata) == ("z", {"colour": "red"})


def test_a_corpus_of_a_handful_of_texts_needs_no_embedder_for_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(spec: object) -> None:
        assert spec == "none"

    monkeypatch.setattr("shortlist.index.corpus.load_embedder", refuse)
    assert [hit.id for hit in search(["pear"], "pear", mode="lexical")] == ["0"]


@pytest.mark.parametrize("corpus", [5, None, 2.5])
def test_what_is_no_corpus_at_all_is_an_input_error(corpus: Any) -> None:
    with pytest.raises(InputError, match="A corpus must be"):
        search(corpus, "pear")


def test_an_entry_that_cannot_be_searched_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match=r"y cannot be searched: .*not int"):
        search(cast(Any, {"x": "apple", "y": 5}), "apple", mode="lexical")


@pytest.mark.parametrize(
    ("name", "advice"),
    [("no-such-corpus", r"Build it first: shortlist\.build"), (Path("no/such/folder"), "Check the path")],
)
def test_a_corpus_that_is_not_there_is_an_error_that_says_what_to_do(name: str | Path, advice: str) -> None:
    with pytest.raises(CorpusNotFound, match=advice):
        search(name, "pear")


def test_hits_remember_the_query_and_the_mode() -> None:
    hits = search(["pear"], "pear", mode="lexical")
    assert (hits.query, hits.mode) == ("pear", "lexical")


@pytest.mark.parametrize("mode", MODES)
def test_hits_become_plain_json(mode: Mode) -> None:
    document = Document("a", "Apple", "red apple", ["fruit"], {"n": [1, {"deep": None}]}, kind="tool", source="/x")
    hits = search(corpus_of([document], "light"), "apple", mode=mode)
    written = json.loads(json.dumps(hits.to_dict(), allow_nan=False))
    assert (written["query"], written["mode"], len(written["hits"])) == ("apple", mode, 1)
    (first,) = written["hits"]
    assert first.pop("score") == hits[0].score
    assert first.pop("signals") == hits[0].signals
    assert first.pop("relevance") == hits[0].relevance
    assert first == {
        "id": "a",
        "name": "Apple",
        "text": "red apple",
        "kind": "tool",
        "source": "/x",
        "locator": "whole",
        "context": "",
        "metadata": {"n": [1, {"deep": None}]},
        "corpus": "in memory",
    }
    assert hits[0].to_dict() == hits.to_dict()["hits"][0]


def test_a_hit_loads_its_whole_document_while_that_is_there() -> None:
    document = Document("a", "Apple", "red apple", ["fruit"], {"n": 1}, kind="tool", payload="the payload")
    corpus = corpus_of([document])
    (hit,) = search(corpus, "apple")
    assert hit.load is not None
    assert hit.load() == document
    assert json.loads(json.dumps(document.to_dict(), allow_nan=False))["payload"] == "the payload"
    corpus.remove("a")
    assert hit.load() is None


def test_changing_a_hits_metadata_does_not_change_the_corpus() -> None:
    corpus = corpus_of([Document("a", "", "apple", metadata={"n": 1})])
    cast(dict[str, Any], search(corpus, "apple")[0].metadata)["n"] = 2
    assert search(corpus, "apple")[0].metadata == {"n": 1}


def test_e3_a_reranker_sees_more_than_k_and_its_scores_order_the_hits() -> None:
    corpus = corpus_of(Document(f"d{at}", "", "tea " * (at + 1)) for at in range(60))
    seen: list[int] = []

    def by_number(query: str, hits: list[Hit]) -> list[Hit]:
        seen.append(len(hits))
        scored = [replace(hit, score=float(hit.id[1:])) for hit in hits]
        return sorted(scored, key=lambda hit: -hit.score)

    found = search(corpus, "tea", "lexical", k=2, rerank=by_number)
    plain = {hit.id: hit.score for hit in search(corpus, "tea", "lexical", k=50)}
    assert seen == [50]
    best = sorted(plain, key=lambda id: -int(id[1:]))[:2]
    assert [(hit.id, hit.score) for hit in found] == [(id, float(id[1:])) for id in best]
    assert [hit.signals["retrieved"] for hit in found] == [plain[id] for id in best]
    assert (found.query, found.mode) == ("tea", "lexical")


def test_e3_a_reranker_that_only_reorders_scores_by_rank_so_that_selection_follows_it() -> None:
    texts = {"a": "tea tea", "b": "tea and cups", "c": "tea in a pot of tea"}
    plain = search(texts, "tea", "lexical")
    found = search(texts, "tea", "lexical", rerank=lambda query, hits: hits[::-1])
    assert [hit.id for hit in found] == [hit.id for hit in plain][::-1]
    assert [hit.score for hit in found] == [1, 1 / 2, 1 / 3]
    assert select(found).selected[0].id == plain[-1].id


@pytest.mark.parametrize("returned", [["a"], [None], [Hit(Passage("x", "x", "x"), 1.0)]], ids=str)
def test_e3_a_reranker_that_returns_something_else_is_an_input_error(returned: Any) -> None:
    with pytest.raises(InputError, match="rerank must return hits from the list"):
        search({"a": "tea"}, "tea", "lexical", rerank=lambda query, hits: returned)


def test_e3_a_reranker_may_drop_hits_and_k_may_be_zero() -> None:
    assert search({"a": "tea"}, "tea", "lexical", rerank=lambda query, hits: []) == []
    assert search({"a": "tea"}, "tea", "lexical", k=0, rerank=lambda query, hits: hits) == []
    with pytest.raises(InputError, match="not -1"):
        search({"a": "tea"}, "tea", "lexical", k=-1, rerank=lambda query, hits: hits)

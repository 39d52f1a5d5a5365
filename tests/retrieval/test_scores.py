from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist import (
    Document,
    load_embedder,
    search,
)
from shortlist.retrieval import scores
from shortlist.retrieval.relevance import weights_for
from tests.retrieval.samples import (
    MEANING,
    MIXED,
    MODES,
    PLAIN,
    SHOP,
    blends,
    corpus_of,
    gain,
    idf,
    letters,
    scored,
    table_embedder,
    texts,
)


def test_lexical_is_bm25_in_the_form_of_lucene() -> None:
    corpus = corpus_of(texts(a="red apple red", b="red pear", c="green plum pie"), scoring=PLAIN)
    hits = search(corpus, "red", mode="lexical")
    average = (3 + 2 + 3) / 3
    a = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)) * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / average))
    b = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)) * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / average))
    assert scored(hits) == pytest.approx({"a": a, "b": b}, rel=1e-12)
    assert [hit.id for hit in hits] == ["a", "b"]


def test_each_word_of_the_query_adds_its_share_as_often_as_it_is_asked() -> None:
    corpus = corpus_of(texts(a="red apple", b="red pear", c="green plum"), scoring=PLAIN)
    hits = search(corpus, "red apple apple quince", mode="lexical")
    assert scored(hits) == pytest.approx(
        {"a": (idf(3, 2) + 2 * idf(3, 1)) * gain(1, 2, 2), "b": idf(3, 2) * gain(1, 2, 2)}, rel=1e-12
    )


def test_a_corpus_weighs_title_two_keywords_one_and_a_half_and_content_one() -> None:
    corpus = corpus_of([Document("a", "apple", "apple pie", ["apple"]), Document("b", "pear", "pear tart", ["cake"])])
    # both documents: 2 * 1 word of title + 1.5 * 1 keyword + 2 words of content
    assert scored(search(corpus, "apple", mode="lexical")) == pytest.approx(
        {"a": idf(2, 1) * gain(2 * 1 + 1.5 * 1 + 1 * 1, 5.5, 5.5)}, rel=1e-12
    )
    assert scored(search(corpus, "cake", mode="lexical")) == pytest.approx(
        {"b": idf(2, 1) * gain(1.5, 5.5, 5.5)}, rel=1e-12
    )


WORDS = ("red", "plum", "fig", "kiwi", "oak", "elm", "fir", "yew")


words = st.lists(st.sampled_from(WORDS), max_size=6)


fielded = st.tuples(words, words, words)


def naive_scores(
    documents: Sequence[tuple[list[str], list[str], list[str]]], query: list[str], weights: tuple[float, float, float]
) -> list[float]:
    """BM25 document by document; a field counts, in tf and in length, as many times as it weighs."""
    lengths = [sum(w * len(field) for w, field in zip(weights, doc, strict=True)) for doc in documents]
    average = sum(lengths) / len(lengths)
    scores = []
    for doc, length in zip(documents, lengths, strict=True):
        score = 0.0
        for word, asked in Counter(query).items():
            df = sum(any(word in field for field in other) for other in documents)
            tf = sum(w * field.count(word) for w, field in zip(weights, doc, strict=True))
            if tf:
                score += asked * idf(len(documents), df) * gain(tf, length, average)
        scores.append(score)
    return scores


@settings(max_examples=60, deadline=None)
@given(st.lists(fielded, min_size=1, max_size=8), words, st.integers(0, 8), st.booleans())
def test_lexical_scores_equal_a_naive_computation(
    fields: list[tuple[list[str], list[str], list[str]]], query: list[str], gone: int, plain: bool
) -> None:
    documents = [Document(f"d{at}", " ".join(t), " ".join(c), k) for at, (t, k, c) in enumerate(fields)]
    corpus = corpus_of(documents, **({"scoring": PLAIN} if plain else {}))
    corpus.remove(f"d{at}" for at in range(gone))  # what is removed counts no more, in df and average too
    left = fields[gone:]
    weights = (1.0, 1.0, 1.0) if plain else (2.0, 1.5, 1.0)
    scores = naive_scores(left, query, weights) if left else []
    expected = {f"d{at}": score for at, score in enumerate(scores, gone) if score > 0}
    found = {hit.id: hit.score for hit in search(corpus, " ".join(query), mode="lexical") if "lexical" in hit.signals}
    assert found == pytest.approx(expected, rel=1e-9)


def as_embedded(document: Document) -> str:
    return "\n".join(part for part in (document.title, ", ".join(document.keywords), document.content) if part)


@pytest.mark.parametrize("embedder", ["light", "default"])
def test_dense_equals_the_cosine_of_every_document(embedder: str) -> None:
    model = load_embedder(embedder)
    assert model is not None
    query = "where is the parcel of this order"
    matrix = model.encode_documents([as_embedded(document) for document in SHOP]).astype(np.float64)
    vector = model.encode_query(query).astype(np.float64)
    cosines = matrix @ vector / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector))
    hits = search(corpus_of(SHOP, embedder), query, mode="dense")
    expected = {document.id: cosine for document, cosine in zip(SHOP, cosines.tolist(), strict=True)}
    assert scored(hits) == pytest.approx(expected, abs=1e-6)
    assert [hit.id for hit in hits] == sorted(expected, key=lambda id: -expected[id])


def test_dense_takes_a_plain_function_as_its_embedder() -> None:
    corpus = corpus_of(texts(x="aab", y="ab", z="ccc", w="zzz"), letters)
    hits = search(corpus, "aab", mode="dense")
    # query and x are (2, 1), y is (1, 1), z is orthogonal, w has no known letter
    expected = {"x": 1.0, "y": 3 / math.sqrt(5 * 2), "w": 0.0, "z": 0.0}
    assert scored(hits) == pytest.approx(expected, abs=1e-6)
    assert [hit.id for hit in hits] == ["x", "y", "w", "z"]


def test_dense_scores_below_zero_come_last_and_are_kept() -> None:
    table = {"probe": [1.0, 0.0], "east": [1.0, 0.0], "north": [0.0, 1.0], "west": [-1.0, 0.0]}
    corpus = corpus_of(texts(a="west", b="north", c="east"), lambda batch: [table[text] for text in batch])
    assert [(hit.id, hit.score) for hit in search(corpus, "east", mode="dense")] == [("c", 1), ("b", 0), ("a", -1)]


def test_hybrid_is_the_sum_of_reciprocal_ranks_and_ties_share_the_better_rank() -> None:
    hits = search(corpus_of(MIXED, table_embedder(MEANING)), "red", mode="hybrid")
    # by words: a, b. By meaning: b, then c and d alike, then a, then e.
    expected = {"a": 1 / 61 + 1 / 64, "b": 1 / 62 + 1 / 61, "c": 1 / 62, "d": 1 / 62, "e": 1 / 65}
    assert scored(hits) == pytest.approx(expected, abs=1e-12)
    assert [hit.id for hit in hits] == ["b", "a", "c", "d", "e"]


def test_auto_weighs_the_share_of_a_perfect_match_and_the_cosine_by_the_number_of_terms() -> None:
    hits = search(corpus_of(MIXED, table_embedder(MEANING), scoring=PLAIN), "red", mode="auto")
    average = (3 + 5 + 2 + 2 + 2) / 5  # and a perfect match of "red" scores idf(5, 2) * 1
    expected = {
        "a": 0.63 * gain(2, 3, average) + 0.37 * 0.3,
        "b": 0.63 * gain(1, 5, average) + 0.37 * 0.9,
        "c": 0.37 * 0.6,
        "d": 0.37 * 0.6,
        "e": 0.37 * 0.1,
    }
    assert blends(hits) == pytest.approx(expected, abs=1e-7)
    assert [hit.id for hit in hits] == ["b", "a", "c", "d", "e"]


def test_auto_counts_words_that_no_document_holds_in_the_perfect_match() -> None:
    vectors = MEANING | {"red quince": [1.0, 0.0]}
    hits = search(corpus_of(MIXED, table_embedder(vectors), scoring=PLAIN), "red quince", mode="auto")
    share = idf(5, 2) * gain(2, 3, 14 / 5) / (idf(5, 2) + idf(5, 0))
    assert blends(hits)["a"] == pytest.approx(0.64 * share + 0.36 * 0.3, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.lists(words, min_size=1, max_size=8), words)
def test_hybrid_and_auto_equal_a_naive_fusion_of_the_two_rankings(contents: list[list[str]], query: list[str]) -> None:
    corpus = corpus_of([Document(f"d{at}", "", " ".join(held)) for at, held in enumerate(contents)], "light")
    asked = " ".join(query)
    by_words, by_meaning = (scored(search(corpus, asked, mode=mode)) for mode in ("lexical", "dense"))
    once = dict.fromkeys(query)
    by_words_once = scored(search(corpus, " ".join(once), mode="lexical"))
    total = sum(idf(len(contents), sum(word in held for held in contents)) for word in once)
    expected: dict[str, dict[str, float]] = {"hybrid": {}, "auto": {}}
    for id in by_words.keys() | by_meaning.keys():
        expected["hybrid"][id] = sum(
            1 / (61 + sum(other > ranking[id] for other in ranking.values()))
            for ranking in (by_words, by_meaning)
            if id in ranking
        )
        share = by_words_once.get(id, 0.0) / total if total else 0.0
        weight = weights_for("light").lexical_share.of(len(once))
        expected["auto"][id] = weight * share + (1 - weight) * by_meaning.get(id, 0.0)
    assert scored(search(corpus, asked, mode="hybrid")) == pytest.approx(expected["hybrid"], abs=1e-12)
    assert blends(search(corpus, asked, mode="auto")) == pytest.approx(expected["auto"], abs=1e-9)


@pytest.mark.parametrize("filter", [None, {"even": True}])
def test_a_large_corpus_is_ranked_by_words_as_a_small_one(
    monkeypatch: pytest.MonkeyPatch, filter: dict[str, Any] | None
) -> None:
    files = [
        Document(
            f"f{at}",
            f"name{at}",
            f"zanzibar ferry w{at % 7} " * (at % 5 * 40 + 1),
            [],
            {"even": at % 2 == 0},
            kind="file",
        )
        for at in range(60)
    ]
    corpus = corpus_of(files)
    queries = ["zanzibar", "ferry w3", "name7 w1", "w5 w6 name9 zanzibar", "nothing", ""]

    def found() -> list[Any]:
        return [
            search(corpus, query, mode="lexical", k=k, filter=filter).to_dict() for query in queries for k in (1, 5)
        ]

    small = found()
    monkeypatch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", 0)
    assert found() == small


@settings(max_examples=60, deadline=None)
@given(st.lists(words, min_size=1, max_size=30), words, st.integers(1, 6), st.integers(1, 5), st.booleans())
def test_the_best_of_words_and_meaning_are_found_without_scoring_everything(
    contents: list[list[str]], query: list[str], k: int, depth: int, filtered: bool
) -> None:
    documents = [
        Document(f"d{at}", "", " ".join(content), metadata={"even": at % 2 == 0}) for at, content in enumerate(contents)
    ]
    corpus = corpus_of(documents, embedder="light")
    for mode in MODES:
        found = []
        for below, one_pass_below in ((1 << 60, 0), (0, 1 << 60), (0, 0)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", below)
                patch.setattr("shortlist.index.snapshot.ONE_PASS_BELOW", one_pass_below)
                patch.setattr(scores, "BLENDED_DEPTH", depth)
                hits = search(corpus, " ".join(query), mode, k=k, filter={"even": True} if filtered else None)
            found.append([(round(hit.score, 5), sorted(hit.signals)) for hit in hits])
        assert found[0] == found[1] == found[2]

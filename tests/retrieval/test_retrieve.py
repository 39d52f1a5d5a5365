"""Search: scores that are computed a second time here, order, names, and what a corpus may be."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shortlist import (
    Corpus,
    CorpusNotFound,
    Document,
    Hit,
    Hits,
    InputError,
    Passage,
    Scoring,
    create_corpus,
    discover,
    load_embedder,
    search,
    select,
)
from shortlist.results import Mode
from shortlist.retrieval import scores
from shortlist.retrieval.relevance import weights_for

MODES = get_args(Mode)
PLAIN = Scoring(k1=1.2)  # every field weighs 1
K1, B = 1.2, 0.75


def corpus_of(documents: Iterable[Document], embedder: Any = "none", **options: Any) -> Corpus:
    corpus = create_corpus(in_memory=True, embedder=embedder, **options)
    assert not corpus.add(documents).failed
    return corpus


def texts(**contents: str) -> list[Document]:
    return [Document(id, "", content) for id, content in contents.items()]


def scored(hits: Hits) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}


def idf(documents: int, df: int) -> float:
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))


def gain(tf: float, length: float, average: float) -> float:
    return tf / (tf + K1 * (1 - B + B * length / average))


# Lexical


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
    assert [hit.score for hit in search(corpus, "zebra")] == [0.0]  # found as a name alone


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


# Dense


def as_embedded(document: Document) -> str:
    return "\n".join(part for part in (document.title, ", ".join(document.keywords), document.content) if part)


SHOP = [
    Document("refund", "refund_payment", "Give money back to the card it came from.", ["reimburse"]),
    Document("track", "track_shipment", "Where is my parcel now?", ["delivery", "courier"]),
    Document("cancel", "cancel_order", "Stop an order before it is sent."),
    Document("mail", "", "Write an email to a customer about an order."),
]


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


def letters(batch: list[str]) -> NDArray[np.float64]:
    """A text as the counts of the letters a to e."""
    return np.array([[text.count(letter) for letter in "abcde"] for text in batch], dtype=np.float64)


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


def test_a_query_without_any_known_meaning_finds_nothing_by_meaning() -> None:
    assert search(corpus_of(texts(x="aab"), letters), "zzz", mode="dense") == []


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_corpus_without_vectors_says_how_to_search_it(mode: Mode) -> None:
    with pytest.raises(InputError, match="mode='lexical'"):
        search(corpus_of(SHOP), "parcel", mode=mode)


def test_auto_in_a_corpus_without_vectors_is_lexical() -> None:
    corpus = corpus_of(SHOP)
    assert scored(search(corpus, "order parcel")) == scored(search(corpus, "order parcel", mode="lexical"))


# Both


def table_embedder(vectors: dict[str, list[float]]) -> Callable[[list[str]], list[list[float]]]:
    return lambda batch: [vectors.get(text, [0.0, 1.0]) for text in batch]


def direction(cosine: float) -> list[float]:
    return [cosine, math.sqrt(1 - cosine * cosine)]


MIXED = texts(a="red red plum", b="red plum fig kiwi oak", c="blue sky", d="green sea", e="old tin")
MEANING = {
    "red": [1.0, 0.0],
    "red red plum": direction(0.3),
    "red plum fig kiwi oak": direction(0.9),
    "blue sky": direction(0.6),
    "green sea": direction(0.6),
    "old tin": direction(0.1),
}


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
    assert scored(hits) == pytest.approx(expected, abs=1e-7)
    assert [hit.id for hit in hits] == ["b", "a", "c", "d", "e"]


def test_auto_counts_words_that_no_document_holds_in_the_perfect_match() -> None:
    vectors = MEANING | {"red quince": [1.0, 0.0]}
    hits = search(corpus_of(MIXED, table_embedder(vectors), scoring=PLAIN), "red quince", mode="auto")
    share = idf(5, 2) * gain(2, 3, 14 / 5) / (idf(5, 2) + idf(5, 0))
    assert scored(hits)["a"] == pytest.approx(0.64 * share + 0.36 * 0.3, abs=1e-7)


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
    assert scored(search(corpus, asked, mode="auto")) == pytest.approx(expected["auto"], abs=1e-9)


def test_a_hit_tells_the_parts_that_its_score_was_made_of() -> None:
    corpus = corpus_of(MIXED, table_embedder(MEANING))
    by_words = scored(search(corpus, "red", mode="lexical"))
    for mode in ("hybrid", "auto"):
        signals = {hit.id: hit.signals for hit in search(corpus, "red", mode=mode)}
        assert signals["a"] == pytest.approx(
            {"lexical": by_words["a"], "dense": 0.3, "covered": 1.0, "named": 0.0}, abs=1e-6
        )
        assert signals["c"] == pytest.approx({"dense": 0.6, "covered": 0.0, "named": 0.0}, abs=1e-6)


# One hit per document

FILLER = "The quick brown fox jumps over the lazy dog near the river bank. "
LONG = FILLER * 30 + "The zanzibar ferry leaves at noon. " + FILLER * 30


@pytest.mark.parametrize("mode", MODES)
def test_a_long_file_is_one_hit_at_its_best_passage(mode: Mode) -> None:
    files = [Document("long.txt", "", LONG, kind="file"), Document("short.txt", "", "A dog barks.", kind="file")]
    corpus = corpus_of(files, "light")
    assert corpus.info()["passages"] > 3
    hits = search(corpus, "zanzibar ferry", mode=mode)
    assert len({hit.id for hit in hits}) == len(hits)
    best = hits[0]
    assert best.id == "long.txt"
    assert "zanzibar ferry" in best.text
    offset = int(best.locator.removeprefix("whole;offset="))
    assert LONG[offset : offset + len(best.text)] == best.text
    assert len(best.text) <= 800


def test_a_short_file_is_whole() -> None:
    (hit,) = search(corpus_of([Document("f", "", "zanzibar", kind="file")]), "zanzibar")
    assert (hit.locator, hit.text) == ("whole", "zanzibar")


@pytest.mark.parametrize("kind", ["text", "tool"])
def test_a_long_text_or_tool_is_never_cut(kind: str) -> None:
    (hit,) = search(corpus_of([Document("f", "", LONG, kind=kind)]), "zanzibar")
    assert (hit.locator, hit.text) == ("whole", LONG)


def test_a_locator_of_ones_own_is_kept_in_front_of_the_offset() -> None:
    page = Document("p", "", LONG, kind="page", locator="page=3")
    (hit,) = search(corpus_of([page]), "zanzibar")
    assert hit.locator.startswith("page=3;offset=")


def test_many_long_files_fill_the_k_hits_with_as_many_documents() -> None:
    files = [Document(f"f{at}", "", "zanzibar " * 1000, kind="file") for at in range(12)]
    hits = search(corpus_of(files), "zanzibar", mode="lexical", k=10)
    assert [hit.id for hit in hits] == [f"f{at}" for at in range(10)]


def test_a_long_file_found_by_its_name_still_shows_its_best_passage() -> None:
    named = Document("harbour-guide", "harbour-guide", LONG, kind="file")
    louder = [Document(f"d{at}", "", "zanzibar ferry harbour guide") for at in range(50)]
    (hit,) = search(corpus_of([*louder, named], "light"), "zanzibar ferry in harbour-guide", k=1)
    assert hit.id == "harbour-guide"
    assert "zanzibar ferry" in hit.text


def test_only_auto_adds_documents_that_the_query_names() -> None:
    corpus = corpus_of(crowd(BY_ID), "light")
    found = {mode: search(corpus, "get_customer_profile", mode=mode, k=1)[0].id for mode in MODES}
    assert found["auto"] == BY_ID.id
    assert BY_ID.id not in (found["lexical"], found["dense"], found["hybrid"])


# Order and number


@pytest.mark.parametrize("mode", MODES)
def test_equal_scores_come_in_the_order_of_ids_with_natural_numbers(mode: Mode) -> None:
    ids = ["item10", "item9", "item1", "item2", "item100", "box"]
    corpus = corpus_of([Document(id, "", "apple") for id in ids], "light")
    hits = search(corpus, "apple", mode=mode)
    assert [hit.id for hit in hits] == ["box", "item1", "item2", "item9", "item10", "item100"]


@pytest.mark.parametrize("mode", MODES)
def test_which_of_the_equal_ones_are_among_the_k_does_not_depend_on_when_they_came(mode: Mode) -> None:
    corpus = corpus_of([Document(f"item{at}", "", "apple") for at in range(30, 0, -1)], "light")
    assert [hit.id for hit in search(corpus, "apple", mode=mode, k=3)] == ["item1", "item2", "item3"]
    corpus.add([Document("item2", "", "apple", metadata={"new": True})])
    assert [hit.id for hit in search(corpus, "apple", mode=mode, k=3)] == ["item1", "item2", "item3"]


@pytest.mark.parametrize("ids", [("a01", "a1", "a001"), ("a1", "a001", "a01")])
def test_ids_that_differ_only_in_leading_zeros_have_an_order_too(ids: tuple[str, ...]) -> None:
    hits = search(corpus_of([Document(id, "", "apple") for id in ids]), "apple")
    assert [hit.id for hit in hits] == ["a001", "a01", "a1"]


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


# Names

SPELLINGS = ["get_customer_profile", "getCustomerProfile", "get customer profile", "Get-Customer-Profile"]


def crowd(target: Document) -> list[Document]:
    """One tool, and fifty other texts that hold the words of its name more often than it does."""
    others = [Document(f"other{at}", "", "get the customer profile, customer profile, get it") for at in range(50)]
    return [*others[:25], target, *others[25:]]


BY_ID = Document("get_customer_profile", "Fetch a record", "Something else altogether.", kind="tool")
BY_TITLE = Document("t7", "getCustomerProfile", "Something else altogether.", kind="tool")


@pytest.mark.parametrize("embedder", ["light", "none"])
@pytest.mark.parametrize("spelled", SPELLINGS)
@pytest.mark.parametrize("target", [BY_ID, BY_TITLE], ids=["by id", "by title"])
def test_a_tool_named_in_the_query_is_always_found(target: Document, spelled: str, embedder: str) -> None:
    corpus = corpus_of(crowd(target), embedder)
    query = f"please call {spelled} for this customer"
    assert [hit.id for hit in search(corpus, query, k=1)] == [target.id]
    found = [hit.id for hit in search(corpus, query, k=10)]
    assert (found.count(target.id), len(found)) == (1, 10)


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_still_excludes_a_tool_that_is_named(mode: Mode) -> None:
    hits = search(corpus_of(crowd(BY_ID), "light"), "get_customer_profile", mode=mode, filter={"kind": "text"})
    assert [hit.id for hit in hits] == [f"other{at}" for at in range(10)]


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_was_removed_is_not_found_by_its_name(mode: Mode) -> None:
    corpus = corpus_of(crowd(BY_ID), "light")
    corpus.remove("get_customer_profile")
    assert "get_customer_profile" not in {hit.id for hit in search(corpus, "get_customer_profile", mode=mode, k=100)}


def test_part_of_a_name_is_not_the_name() -> None:
    found = search(corpus_of(crowd(BY_ID)), "customer profile", k=10)
    assert [hit.id for hit in found] == [f"other{at}" for at in range(10)]


def test_a_long_tool_name_is_always_found() -> None:
    name = "mcp__shop__list_all_open_orders_of_one_customer_by_email"
    others = [Document(f"other{at}", "", "list all open orders of one customer by email") for at in range(50)]
    target = Document(name, "Fetch a record", "Something else altogether.", kind="tool")
    assert [hit.id for hit in search(corpus_of([*others, target], "light"), f"use {name}", k=1)] == [name]


def test_a_name_that_is_a_stop_word_must_be_all_of_the_query() -> None:
    corpus = corpus_of([Document("t1", "it", "Information technology."), Document("t2", "other", "apple")])
    assert [hit.id for hit in search(corpus, "it")] == ["t1"]
    assert [hit.id for hit in search(corpus, "is it an apple")] == ["t2"]


def test_two_named_tools_are_both_found_and_ordered_by_their_score() -> None:
    tools = [Document("send_mail", "", "Send."), Document("read_mail", "", "Read mail, mail, mail.")]
    hits = search(corpus_of([*crowd(BY_ID), *tools]), "read_mail, then send_mail, get customer profile", k=3)
    assert sorted(hit.id for hit in hits) == ["get_customer_profile", "read_mail", "send_mail"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


# What a corpus may be


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
        (("a red apple", "a green pear"), [("1", "1")]),
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


@pytest.mark.parametrize("name", ["no-such-corpus", Path("no/such/folder")])
def test_a_corpus_that_is_not_there_is_an_error_that_says_how_to_build_it(name: str | Path) -> None:
    with pytest.raises(CorpusNotFound, match=r"Build it first: shortlist\.build"):
        search(name, "pear")


# What a hit holds


def test_hits_remember_the_query_and_the_mode() -> None:
    hits = search(["pear"], "pear", mode="lexical")
    assert (hits.query, hits.mode) == ("pear", "lexical")


def test_hits_for_a_query_of_which_nothing_is_known_say_so() -> None:
    query = "xyzzy plugh"
    fruit = corpus_of([Document("a", "Apple", "red apple"), Document("b", "Pear", "green pear")], "light")
    tea = corpus_of([Document("c", "Tea", "green tea")], "light")
    unknown = search(fruit, query, mode="dense")
    assert unknown
    assert unknown.note == unknown.to_dict()["note"] == discover(fruit, query, mode="dense").reason
    assert search([fruit, tea], query, mode="dense").note == unknown.note
    assert search([fruit, tea], f"{query} tea", mode="dense").note == ""


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
        for below, first in ((1 << 60, depth), (0, depth)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", below)
                patch.setattr(scores, "BLENDED_DEPTH", first)
                hits = search(corpus, " ".join(query), mode, k=k, filter={"even": True} if filtered else None)
            found.append([(round(hit.score, 5), sorted(hit.signals)) for hit in hits])
        assert found[0] == found[1]


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

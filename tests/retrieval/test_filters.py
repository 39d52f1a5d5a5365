"""Filters: every operator, and a naive evaluation that they must agree with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist import Corpus, Document, InputError, create_corpus, search
from shortlist.results import Mode
from shortlist.retrieval.filters import allowed

MODES = get_args(Mode)

SHELF: dict[str, dict[str, Any]] = {
    "atlas": {"year": 1998, "price": 30.0, "tags": ["map", "large"], "size": {"height": 40}, "sold": True},
    "bible": {"year": 2001, "price": 10, "tags": ["old"], "size": {"height": 25}, "sold": False},
    "comic": {"year": 2010, "price": 7.5, "tags": [], "sold": 1, "author": None},
    "diary": {"year": "2010", "owner": "Ada"},
    "empty": {},
}


def corpus_of(metadata: Mapping[str, dict[str, Any]], embedder: str = "none") -> Corpus:
    corpus = create_corpus(in_memory=True, embedder=embedder)
    changes = corpus.add(Document(id, "", "book", metadata=held) for id, held in metadata.items())
    assert changes.added == len(metadata)
    return corpus


def met(corpus: Corpus, condition: Any) -> list[str]:
    with corpus.snapshot() as snapshot:
        return snapshot.ids(np.flatnonzero(allowed(snapshot, condition)))


@pytest.fixture(scope="module")
def shelf() -> Corpus:
    return corpus_of(SHELF)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({}, ["atlas", "bible", "comic", "diary", "empty"]),
        ({"year": 2010}, ["comic"]),
        ({"year": "2010"}, ["diary"]),
        ({"year": {"$eq": 2010}}, ["comic"]),
        ({"year": 2010.0}, ["comic"]),
        ({"price": 10.0}, ["bible"]),
        ({"year": {"$ne": 2010}}, ["atlas", "bible", "diary", "empty"]),
        ({"year": {"$gt": 2001}}, ["comic"]),
        ({"year": {"$gte": 2001}}, ["bible", "comic"]),
        ({"year": {"$lt": 2001}}, ["atlas"]),
        ({"year": {"$lte": 2001}}, ["atlas", "bible"]),
        ({"year": {"$gte": "2"}}, ["diary"]),
        ({"year": {"$gt": 1998, "$lt": 2010}}, ["bible"]),
        ({"year": {"$in": [1998, "2010", 1234]}}, ["atlas", "diary"]),
        ({"year": {"$in": []}}, []),
        ({"year": {"$in": (1998,)}}, ["atlas"]),
        ({"year": {"$in": {1998, 2001}}}, ["atlas", "bible"]),
        ({"year": {"$nin": [1998, 2001]}}, ["comic", "diary", "empty"]),
        ({"year": {"$nin": []}}, ["atlas", "bible", "comic", "diary", "empty"]),
        ({"owner": {"$exists": True}}, ["diary"]),
        ({"owner": {"$exists": False}}, ["atlas", "bible", "comic", "empty"]),
        ({"author": {"$exists": True}}, ["comic"]),
        ({"author": None}, ["comic"]),
        ({"author": {"$ne": None}}, ["atlas", "bible", "diary", "empty"]),
        ({"nobody": 1}, []),
        ({"nobody": {"$gt": 0}}, []),
    ],
)
def test_each_comparison_keeps_what_meets_it(shelf: Corpus, condition: dict[str, Any], expected: list[str]) -> None:
    assert met(shelf, condition) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"$and": [{"year": {"$gt": 1990}}, {"price": {"$lt": 20}}]}, ["bible", "comic"]),
        ({"$or": [{"year": 1998}, {"owner": "Ada"}]}, ["atlas", "diary"]),
        ({"$not": {"year": 1998}}, ["bible", "comic", "diary", "empty"]),
        ({"year": {"$not": 1998}}, ["bible", "comic", "diary", "empty"]),
        ({"year": {"$not": {"$gt": 2000}}}, ["atlas", "diary", "empty"]),
        ({"year": {"$gt": 1990, "$not": {"$gt": 2000}}}, ["atlas"]),
        ({"$not": {"$or": [{"year": 1998}, {"$not": {"price": {"$exists": True}}}]}}, ["bible", "comic"]),
        ({"$or": [{"$and": [{"year": 1998}, {"price": 10}]}, {"$and": [{"year": 2001}, {"price": 10}]}]}, ["bible"]),
        ({"$and": [{"$or": [{"year": 1998}, {"year": 2001}]}, {"$not": {"sold": True}}], "price": 10}, ["bible"]),
        ({"year": 1998, "price": 10}, []),
    ],
)
def test_conditions_are_joined_and_nested(shelf: Corpus, condition: dict[str, Any], expected: list[str]) -> None:
    assert met(shelf, condition) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"tags": "map"}, ["atlas"]),
        ({"tags": ["map", "large"]}, ["atlas"]),
        ({"tags": ("map", "large")}, ["atlas"]),
        ({"tags": ["large", "map"]}, []),
        ({"tags": []}, ["comic"]),
        ({"tags": {"$ne": "map"}}, ["bible", "comic", "diary", "empty"]),
        ({"tags": {"$in": ["old", "large"]}}, ["atlas", "bible"]),
        ({"tags": {"$nin": ["old", "large"]}}, ["comic", "diary", "empty"]),
        ({"tags": {"$gte": "n"}}, ["bible"]),
        ({"tags": {"$exists": True}}, ["atlas", "bible", "comic"]),
    ],
)
def test_a_list_in_the_metadata_matches_by_any_of_its_items_or_as_a_whole(
    shelf: Corpus, condition: dict[str, Any], expected: list[str]
) -> None:
    assert met(shelf, condition) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"size.height": 40}, ["atlas"]),
        ({"size.height": {"$lt": 30}}, ["bible"]),
        ({"size.width": {"$exists": False}}, ["atlas", "bible", "comic", "diary", "empty"]),
        ({"year.height": {"$exists": True}}, []),
        ({"size": {"height": 40}}, ["atlas"]),
        ({"size": {}}, []),
    ],
)
def test_dotted_paths_reach_into_nested_mappings(shelf: Corpus, condition: dict[str, Any], expected: list[str]) -> None:
    assert met(shelf, condition) == expected


def test_a_key_that_holds_a_dot_itself_goes_before_the_path() -> None:
    corpus = corpus_of({"plain": {"a.b": 1}, "nested": {"a": {"b": 1}}, "both": {"a.b": 2, "a": {"b": 1}}})
    assert met(corpus, {"a.b": 1}) == ["plain", "nested"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"sold": True}, ["atlas"]),
        ({"sold": 1}, ["comic"]),
        ({"sold": False}, ["bible"]),
        ({"sold": 0}, []),
        ({"sold": {"$in": [1]}}, ["comic"]),
        ({"sold": {"$gte": 0}}, ["comic"]),
    ],
)
def test_true_is_not_one(shelf: Corpus, condition: dict[str, Any], expected: list[str]) -> None:
    assert met(shelf, condition) == expected


def test_true_is_not_one_inside_lists_and_mappings_either() -> None:
    corpus = corpus_of({"list": {"x": [True]}, "mapping": {"x": {"y": True}}})
    assert met(corpus, {"x": [1]}) == []
    assert met(corpus, {"x": {"y": 1}}) == []
    assert met(corpus, {"x": [True]}) == ["list"]
    assert met(corpus, {"x": {"y": True}}) == ["mapping"]


def test_values_of_other_types_do_not_compare() -> None:
    mixed: list[Any] = [1, 2.5, "1", "b", None, True, [3], ["c"], {"k": 9}]
    corpus = corpus_of({f"d{at}": {"x": value} for at, value in enumerate(mixed)})
    assert met(corpus, {"x": {"$gt": 0}}) == ["d0", "d1", "d6"]
    assert met(corpus, {"x": {"$gt": ""}}) == ["d2", "d3", "d7"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"id": "doc"}, ["doc"]),
        ({"id": {"$in": ["doc", "own"]}}, ["doc", "own"]),
        ({"title": "The title"}, ["doc"]),
        ({"kind": "tool"}, ["doc"]),
        ({"kind": {"$ne": "tool"}}, ["own", "bare"]),
        ({"source": "/here"}, ["doc"]),
        ({"source": ""}, ["own", "bare"]),
        ({"kind": "a metadata key"}, ["own"]),
    ],
)
def test_id_title_kind_and_source_are_known_unless_the_metadata_names_them(
    condition: dict[str, Any], expected: list[str]
) -> None:
    corpus = create_corpus(in_memory=True, embedder="none")
    corpus.add(
        [
            Document("doc", "The title", "text", kind="tool", source="/here"),
            Document("own", "", "text", metadata={"kind": "a metadata key"}),
            Document("bare", "", "text"),
        ]
    )
    assert met(corpus, condition) == expected


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ({"year": {"$regex": "1.*"}}, "$regex"),
        ({"year": {"$gt": 1, "$near": 2}}, "$near"),
        ({"year": {"$gt": 1, "plain": 2}}, "plain"),
        ({"$nor": [{"year": 1}]}, "$nor"),
        ({"$eq": 1}, "$eq"),
        ({"$and": [{"$or": [{"$where": "1"}]}]}, "$where"),
        ({"year": {"$not": {"$like": "x"}}}, "$like"),
    ],
)
def test_an_unknown_operator_is_an_error_that_names_it(shelf: Corpus, condition: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=f"'{named}'".replace("$", r"\$")):
        met(shelf, condition)


@pytest.mark.parametrize(
    "condition",
    [
        [("year", 1)],
        "year",
        5,
        {"$and": {"year": 1}},
        {"$and": []},
        {"$or": "year"},
        {"$and": ["year"]},
        {"$not": 5},
        {"year": {"$in": "1998"}},
        {"year": {"$in": 1998}},
        {"year": {"$nin": {"a": 1}}},
        {"year": {"$exists": 1}},
        {"year": {"$gt": None}},
        {"year": {"$lt": True}},
        {"year": {"$gte": [1]}},
        {1: 2},
        {None: 2},
    ],
)
def test_a_condition_that_means_nothing_is_an_input_error(shelf: Corpus, condition: Any) -> None:
    with pytest.raises(InputError):
        met(shelf, condition)


def test_a_condition_is_checked_even_where_no_document_could_meet_it() -> None:
    with pytest.raises(InputError, match=r"\$bad"):
        search([], "anything", mode="lexical", filter={"x": {"$bad": 1}})


# A naive evaluation, document by document.

ABSENT: Any = object()


def value_at(metadata: Mapping[str, Any], path: str) -> Any:
    value: Any = metadata
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return ABSENT
        value = value[step]
    return value


def is_same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def holds(value: Any, name: str, operand: Any) -> bool:
    items = value if isinstance(value, list) else []
    equal = value is not ABSENT and (is_same(value, operand) or any(is_same(item, operand) for item in items))
    if name in ("$eq", "$ne"):
        return equal == (name == "$eq")
    if name in ("$in", "$nin"):
        return any(holds(value, "$eq", each) for each in operand) == (name == "$in")
    if name == "$exists":
        return bool((value is not ABSENT) == operand)
    if name == "$not":
        return not holds_all(value, operand)
    for item in items or [value]:
        if isinstance(item, bool) or not isinstance(item, int | float | str):
            continue
        if isinstance(item, str) != isinstance(operand, str):
            continue
        if {"$gt": item > operand, "$gte": item >= operand, "$lt": item < operand, "$lte": item <= operand}[name]:
            return True
    return False


def holds_all(value: Any, condition: Any) -> bool:
    if isinstance(condition, dict) and any(name.startswith("$") for name in condition):
        return all(holds(value, name, operand) for name, operand in condition.items())
    return holds(value, "$eq", condition)


def meets(metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    for key, value in condition.items():
        if key == "$and":
            fits = all(meets(metadata, part) for part in value)
        elif key == "$or":
            fits = any(meets(metadata, part) for part in value)
        elif key == "$not":
            fits = not meets(metadata, value)
        else:
            fits = holds_all(value_at(metadata, key), value)
        if not fits:
            return False
    return True


numbers = st.sampled_from([-1, 0, 1, 2, 0.5, 1.0, 2.5])
strings = st.sampled_from(["", "a", "b", "ab", "é", "1"])
scalars = st.none() | st.booleans() | numbers | strings
values = scalars | st.lists(st.none() | numbers | strings, max_size=3) | st.dictionaries(strings, numbers, max_size=2)
metadata = st.fixed_dictionaries(
    {}, optional={"x": values, "y": scalars, "n": st.fixed_dictionaries({}, optional={"z": values})}
)
keys = st.sampled_from(["x", "y", "n.z", "n", "gone"])
comparisons = st.fixed_dictionaries(
    {},
    optional={
        "$eq": values,
        "$ne": values,
        "$gt": numbers | strings,
        "$gte": numbers | strings,
        "$lt": numbers | strings,
        "$lte": numbers | strings,
        "$in": st.lists(values, max_size=3),
        "$nin": st.lists(values, max_size=3),
        "$exists": st.booleans(),
    },
).filter(bool)
tests = values | comparisons | st.fixed_dictionaries({"$not": values | comparisons})
simple: st.SearchStrategy[dict[str, Any]] = st.dictionaries(keys, tests, max_size=2)
conditions = st.recursive(
    simple,
    lambda inner: (
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"$not": inner})
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(metadata, min_size=1, max_size=6), st.lists(conditions, min_size=1, max_size=5))
def test_a_mask_agrees_with_a_naive_evaluation(held: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    corpus = corpus_of({f"d{at}": item for at, item in enumerate(held)})
    for condition in wanted:
        assert met(corpus, condition) == [f"d{at}" for at, item in enumerate(held) if meets(item, condition)]


# Filters in a search.


@pytest.mark.parametrize("mode", MODES)
def test_a_search_finds_only_what_the_filter_allows(mode: Mode) -> None:
    corpus = corpus_of(SHELF, embedder="light")
    hits = search(corpus, "book", mode=mode, filter={"year": {"$gte": 1998}})
    assert sorted(hit.id for hit in hits) == ["atlas", "bible", "comic"]


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_that_nothing_meets_finds_nothing(mode: Mode) -> None:
    assert search(corpus_of(SHELF, embedder="light"), "book", mode=mode, filter={"year": 1}) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_is_applied_before_the_best_k_are_taken(mode: Mode) -> None:
    corpus = create_corpus(in_memory=True, embedder="light")
    corpus.add(Document(f"d{at}", "", "apple " * (20 - at), metadata={"odd": bool(at % 2)}) for at in range(20))
    hits = search(corpus, "apple", mode=mode, k=10, filter={"odd": True})
    assert {hit.id for hit in hits} == {f"d{at}" for at in range(1, 20, 2)}


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_a_filter_sees_a_change_of_metadata_alone(mode: Mode, in_memory: bool) -> None:
    with create_corpus("shelf", embedder="light", in_memory=in_memory) as corpus:
        corpus.add(Document(id, "", "book", metadata={"shelf": 1}) for id in ("a", "b", "c"))
        assert [hit.id for hit in search(corpus, "book", mode=mode, filter={"shelf": 1})] == ["a", "b", "c"]
        changes = corpus.add([Document("b", "", "book", metadata={"shelf": 2})])
        assert (changes.changed, changes.added) == (1, 0)
        assert [hit.id for hit in search(corpus, "book", mode=mode, filter={"shelf": 1})] == ["a", "c"]
        found = search(corpus, "book", mode=mode, filter={"shelf": 2})
        assert [(hit.id, hit.metadata) for hit in found] == [("b", {"shelf": 2})]
        corpus.remove("b")
        assert search(corpus, "book", mode=mode, filter={"shelf": 2}) == []
        assert [hit.id for hit in search(corpus, "book", mode=mode, filter={"shelf": {"$ne": 2}})] == ["a", "c"]


def test_another_process_handle_sees_the_change_through_its_filter(tmp_path: Path) -> None:
    with create_corpus(path=tmp_path / "c", embedder="none") as writer:
        writer.add([Document("a", "", "book", metadata={"shelf": 1})])
        with create_corpus(path=tmp_path / "c") as reader:
            assert [hit.id for hit in search(reader, "book", filter={"shelf": 1})] == ["a"]
            writer.add([Document("a", "", "book", metadata={"shelf": 2})])
            assert search(reader, "book", filter={"shelf": 1}) == []
            assert [hit.id for hit in search(reader, "book", filter={"shelf": 2})] == ["a"]


def test_all_parts_of_a_long_document_meet_a_filter_together() -> None:
    corpus = create_corpus(in_memory=True, embedder="none")
    text = "Apples grow on trees. " * 200
    corpus.add([Document("long", "", text, kind="file", metadata={"shelf": 1}), Document("short", "", "apples")])
    assert corpus.info()["passages"] > 2
    assert [hit.id for hit in search(corpus, "apples", filter={"shelf": 1})] == ["long"]
    assert [hit.id for hit in search(corpus, "apples", filter={"shelf": {"$exists": False}})] == ["short"]


@pytest.mark.parametrize("name", ["gt", "gte", "lt", "lte", "in", "nin", "ne", "eq", "exists", "not"])
def test_an_operator_without_its_dollar_sign_is_an_error_that_suggests_it(shelf: Corpus, name: str) -> None:
    with pytest.raises(InputError, match=rf"'{name}' is not a filter operator. Did you mean '\${name}'\?"):
        met(shelf, {"year": {name: 1}})


def test_a_mapping_with_such_keys_is_compared_with_eq() -> None:
    corpus = corpus_of({"path": {"place": {"in": "path"}}, "query": {"place": {"in": "query"}}})
    assert met(corpus, {"place": {"$eq": {"in": "path"}}}) == ["path"]
    assert met(corpus, {"place.in": "query"}) == ["query"]

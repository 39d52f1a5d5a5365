"""Several corpora in one call: one list of hits, each with its corpus, and thresholds of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortlist import Corpus, CorpusNotFound, InputError, build, create_corpus, discover, register, search
from tests.library.shelf import build_shelf


@pytest.fixture
def shelf() -> tuple[Corpus, Corpus]:
    return build_shelf()


def test_filters_hold_in_every_corpus() -> None:
    one = build({"a": {"text": "tea", "hot": True}, "b": {"text": "tea", "hot": False}}, name="one", embedder="none")
    other = build({"c": {"text": "tea", "hot": True}}, name="other", embedder="none")
    assert {hit.id for hit in search([one, other], "tea", filter={"hot": True})} == {"a", "c"}


# What a list means


def test_a_tuple_means_corpora_and_the_strings_of_a_list_are_texts(shelf: Any, tmp_path: Path) -> None:
    register("notes", "files", root=tmp_path)
    assert {hit.corpus for hit in search(("tea", "coffee"), "green")} == {"tea", "coffee"}
    assert {hit.corpus for hit in search(("tea", shelf[1].path), "green")} == {"tea", "coffee"}
    assert {hit.corpus for hit in search([shelf[0], shelf[1].path], "green")} == {"tea", "coffee"}
    assert search(("notes",), "green") == []
    with pytest.raises(CorpusNotFound, match="'cofee' is not a registered"):
        search(("tea", "cofee"), "green")
    texts = search(["tea", "coffee", "green water"], "green", mode="lexical")
    assert [(hit.corpus, hit.id) for hit in texts] == [("in memory", "2")]
    assert search([], "green") == []
    assert search(["docs: how to make green tea"], "green")[0].id == "0"


def test_a_list_of_names_of_corpora_is_texts_with_a_warning(shelf: Any) -> None:
    with pytest.warns(UserWarning, match=r"pass a tuple: \('tea', 'coffee'\)"):
        hits = search(["tea", "coffee"], "coffee", mode="lexical")
    assert [(hit.corpus, hit.id) for hit in hits] == [("in memory", "1")]


def test_one_corpus_twice_is_one(shelf: Any) -> None:
    assert len(search([shelf[0], shelf[0]], "green tea", k=100)) == len(search(shelf[0], "green tea", k=100))


def test_corpora_among_texts_are_an_input_error(shelf: Any) -> None:
    with pytest.raises(InputError, match="cannot be searched"):
        search([shelf[0], "some text"], "green")


# Discover


def test_discover_commits_across_corpora_and_says_where_each_came_from(shelf: Any) -> None:
    found = discover(("tea", "coffee"), "cold coffee for the night")
    assert [(item.corpus, item.id) for item in found.results] == [("coffee", "cold")]
    assert found.to_dict()["results"][0]["corpus"] == "coffee"
    assert {row["corpus"] for row in found.to_dict()["candidates"]} == {"tea", "coffee"}


def test_each_corpus_has_its_own_floor(shelf: tuple[Corpus, Corpus]) -> None:
    tea, coffee = shelf
    best = search(tea, "green")[0].score
    tea.set_threshold("auto", best + 0.001)
    coffee.set_threshold("auto", 0.01)
    found = discover(shelf, "green", min_relevance="auto")
    assert {item.corpus for item in found.results} == {"coffee"}
    assert found.signals["left_out"] == {
        "tea": f"The highest relevance, {best:.2g} (green), is below the threshold of {best + 0.001:.4g}."
    }
    coffee.set_threshold("auto", 1.0)
    found = discover(shelf, "green", min_relevance="auto")
    assert found.abstained
    assert found.reason.startswith("No match in any of 2 corpora. tea: The highest relevance")
    assert len(found.candidates) > 0


def test_a_floor_given_as_a_number_is_that_of_all(shelf: Any) -> None:
    assert "is below the threshold of 0.999" in discover(shelf, "green", min_relevance=0.999).reason


def test_a_corpus_that_knows_nothing_of_the_query_is_left_out(shelf: Any) -> None:
    found = discover(shelf, "Peru")
    assert [item.corpus for item in found.results] == ["coffee"]
    assert list(found.signals["left_out"]) == ["tea"]
    nothing = discover(shelf, "xqzvw wvzqx")
    assert nothing.abstained
    assert nothing.reason.startswith("No match in any of 2 corpora. tea: None of the query terms are in the index")


def test_a_corpus_that_is_empty_does_not_hide_why_the_others_have_nothing(shelf: tuple[Corpus, Corpus]) -> None:
    empty = create_corpus("empty", in_memory=True, embedder="light")
    alone = discover(shelf[0], "qwzkx vbnm")
    assert alone.abstained
    assert alone.reason.startswith("None of the query terms are in the index")
    assert discover([shelf[0], empty], "qwzkx vbnm").reason == alone.reason
    together = discover([*shelf, empty], "qwzkx vbnm")
    assert together.abstained
    assert together.reason.startswith("No match in any of 2 corpora. tea: None of")

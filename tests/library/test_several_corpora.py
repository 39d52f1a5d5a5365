"""Several corpora in one call: one list of hits, each with its corpus, and floors of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

import shortlist
from shortlist import Corpus, CorpusNotFound, InputError, build, create_corpus, discover, register, search
from shortlist.results import Mode

TEA = {"green": "Green tea from Japan.", "black": "Black tea from India.", "mint": "Mint leaves in hot water."}
COFFEE = {"filter": "Filter coffee from Peru.", "cold": "Cold coffee steeped for a night.", "green": "Green beans."}


@pytest.fixture
def shelf() -> tuple[Corpus, Corpus]:
    return build(TEA, name="tea", embedder="light"), build(COFFEE, name="coffee", embedder="light")


@pytest.mark.parametrize("mode", get_args(Mode))
def test_hits_of_several_corpora_come_in_one_list_and_name_their_corpus(
    shelf: tuple[Corpus, Corpus], mode: Mode
) -> None:
    hits = search(("tea", "coffee"), "green", mode=mode)
    assert {(hit.corpus, hit.id) for hit in hits[:2]} == {("tea", "green"), ("coffee", "green")}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [hit.to_dict()["corpus"] for hit in hits] == [hit.corpus for hit in hits]
    assert len(search(("tea", "coffee"), "green", mode=mode, k=1)) == 1


@pytest.mark.parametrize("mode", ["auto", "dense", "hybrid"])
def test_scores_are_those_of_each_corpus_by_itself(shelf: tuple[Corpus, Corpus], mode: Mode) -> None:
    together = {(hit.corpus, hit.id): hit.score for hit in search(shelf, "green tea", mode=mode)}
    alone = {(one.name, hit.id): hit.score for one in shelf for hit in search(one, "green tea", mode=mode)}
    assert together == alone


@pytest.mark.parametrize("mode", ["lexical", "auto"])
def test_scores_by_words_alone_are_shares_of_a_perfect_match(mode: Mode) -> None:
    small = create_corpus("small", in_memory=True, embedder="none")
    small.add([shortlist.Document("a", "", "red apple")])
    large = create_corpus("large", in_memory=True, embedder="none")
    large.add([shortlist.Document(str(at), "", f"number {at}") for at in range(500)])
    large.add([shortlist.Document("a", "", "red apple pie with cream and sugar")])
    first, second = search([large, small], "red apple", mode=mode)
    # BM25 gives the large corpus ten times as much, since the words are rare there
    assert search(large, "red apple", mode=mode)[0].score > 10 * search(small, "red apple", mode=mode)[0].score
    assert (first.corpus, second.corpus) == ("small", "large")
    assert 0 < second.score < first.score < 1
    with small.snapshot() as snapshot:
        ideal = snapshot.lexical.ideal(snapshot.lexical.analyzer.terms("red apple"))
    assert first.score == pytest.approx(search(small, "red apple", mode=mode)[0].score / ideal)


def test_a_document_that_the_query_names_is_among_the_hits_of_all() -> None:
    many = build({f"d{at}": "please run the job now, run the job" for at in range(5)}, in_memory=True, embedder="none")
    named = build([shortlist.Document("x", "job", "Nothing of that kind." * 50)], in_memory=True, embedder="none")
    assert "x" in [hit.id for hit in search([many, named], "please run the job", k=2)]


def test_cosines_of_different_embedders_are_not_compared() -> None:
    one, other = build(TEA, in_memory=True, embedder="light"), build(TEA, in_memory=True)
    with pytest.raises(InputError, match=r"different embedders \(light, wordllama-256\)"):
        search([one, other], "tea", mode="dense")
    assert search([one, other], "tea")


def test_corpora_with_different_embedders_are_ordered_by_relevance() -> None:
    by_words = build({"a": "Many apples of this world become a pie."}, "words", in_memory=True, embedder="none")
    by_meaning = build({"b": "Apple, apple.", "c": "A green pear."}, "meaning", in_memory=True)
    alone = {hit.id: hit for one in (by_words, by_meaning) for hit in search(one, "apple pie")}
    hits = search([by_words, by_meaning], "apple pie")
    assert [hit.id for hit in hits] == ["a", "b", "c"]
    assert [hit.score for hit in hits] == [hit.relevance for hit in hits] == [alone[hit.id].relevance for hit in hits]
    assert alone["a"].score < alone["b"].score  # which cannot be compared


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
    with pytest.raises(CorpusNotFound, match="'cofee' does not exist"):
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
    tea.set_threshold("auto", best + 0.01)
    coffee.set_threshold("auto", 0.01)
    found = discover(shelf, "green", min_score="auto")
    assert {item.corpus for item in found.results} == {"coffee"}
    assert found.signals["left_out"] == {
        "tea": f"The best score, {best:.4g} (green), is below the threshold of {best + 0.01:.4g}."
    }
    coffee.set_threshold("auto", 1.0)
    found = discover(shelf, "green", min_score="auto")
    assert found.abstained
    assert found.reason.startswith("No match in any of 2 corpora. tea: The best score")
    assert len(found.candidates) > 0


def test_a_floor_given_as_a_number_is_that_of_all(shelf: Any) -> None:
    assert "is below the threshold of 0.99" in discover(shelf, "green", min_score=0.99).reason


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

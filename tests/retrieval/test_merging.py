"""Hits of several corpora in one list: whose scores are compared, and how."""

from __future__ import annotations

from typing import get_args

import pytest

import shortlist
from shortlist import Corpus, InputError, build, create_corpus, search
from shortlist.results import Mode
from tests.library.shelf import TEA, build_shelf


@pytest.fixture
def shelf() -> tuple[Corpus, Corpus]:
    return build_shelf()


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


def test_lexical_scores_are_shares_of_a_perfect_match() -> None:
    mode: Mode = "lexical"
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


def test_a_document_that_the_query_identifies_is_the_first_of_all() -> None:
    many = build({f"d{at}": "please run the job now, run the job" for at in range(5)}, in_memory=True, embedder="none")
    named = build([shortlist.Document("x", "run_job", "Nothing of that kind." * 50)], in_memory=True, embedder="none")
    assert search([many, named], "please run_job the job", k=2)[0].id == "x"


def test_cosines_of_different_embedders_are_not_compared() -> None:
    one, other = build(TEA, in_memory=True, embedder="light"), build(TEA, in_memory=True)
    with pytest.raises(InputError, match=r"different embedders \(light, wordllama-256\)"):
        search([one, other], "tea", mode="dense")
    assert search([one, other], "tea")


@pytest.mark.parametrize("embedder", ["default", "light", "none"])
def test_corpora_are_ordered_by_relevance_whatever_their_embedders(embedder: str) -> None:
    by_words = build({"a": "Many apples of this world become a pie."}, "words", in_memory=True, embedder="none")
    others = {"b": "Apple, apple.", "c": "A green pear pie."}
    by_meaning = build(others, "meaning", in_memory=True, embedder=embedder)
    alone = {hit.id: hit for one in (by_words, by_meaning) for hit in search(one, "apple pie")}
    hits = search([by_words, by_meaning], "apple pie")
    assert {hit.id for hit in hits} == {"a", "b", "c"}
    assert [hit.score for hit in hits] == [hit.relevance for hit in hits] == [alone[hit.id].relevance for hit in hits]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert search([by_words, by_meaning], "apple pie", k=2) == hits[:2]


def test_hits_of_one_corpus_are_cut_and_otherwise_as_they_are(shelf: tuple[Corpus, Corpus]) -> None:
    alone = search(shelf[0], "green tea", k=10)
    assert search([shelf[0]], "green tea", k=2) == alone[:2]

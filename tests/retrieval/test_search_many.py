"""Many queries at once find what each finds alone."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shortlist import Corpus, CorpusNotFound, Document, InputError, create_corpus, open_corpus, search, search_many
from shortlist.library.opening import Searchable
from shortlist.results import Mode
from shortlist.retrieval import corpus_hits
from shortlist.retrieval import search as search_module

TEAS = [
    Document(f"tea-{at}", f"Tea {at}", f"{color} tea from {place}", metadata={"color": color})
    for at, (color, place) in enumerate(
        [("green", "Japan"), ("black", "India"), ("green", "China"), ("white", "China"), ("black", "Kenya")] * 8
    )
]
QUERIES = ["green tea", "tea 7", "from China", "the", "", "zebra", "black tea from Kenya", "green tea"] * 4


@pytest.fixture(params=["memory", "folder"])
def teas(request: pytest.FixtureRequest, tmp_path: Path) -> Corpus:
    path = tmp_path / "teas" if request.param == "folder" else None
    corpus = create_corpus("teas", path=path, in_memory=path is None, embedder="light")
    corpus.add(TEAS[:30])
    corpus.add(TEAS[30:])
    corpus.remove(["tea-3"])
    return corpus


@pytest.mark.parametrize("mode", ["auto", "lexical", "dense", "hybrid"])
@pytest.mark.parametrize("filter", [None, {"color": "green"}])
def test_each_query_finds_what_search_finds(
    teas: Corpus, mode: Any, filter: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [search(teas, one, mode, 3, filter).to_dict() for one in QUERIES]
    monkeypatch.setattr(corpus_hits, "AT_ONCE", 9)
    for threads_from in (1_000, 0):  # together, and each in a thread
        monkeypatch.setattr(search_module, "PARALLEL_FROM", threads_from)
        many = search_many(teas, QUERIES, mode, k=3, filter=filter)
        assert [hits.query for hits in many] == QUERIES
        assert [hits.to_dict() for hits in many] == alone


def test_several_corpora_and_texts_are_searched_together(teas: Corpus) -> None:
    other = create_corpus("other", in_memory=True, embedder="none")
    other.add([Document("coffee", "Coffee", "black coffee from Kenya")])
    for corpora in ([teas, other], ["green tea", "black coffee"], {"a": "green tea"}):
        many = search_many(corpora, iter(QUERIES[:8]), k=2)
        assert [hits.to_dict() for hits in many] == [search(corpora, one, k=2).to_dict() for one in QUERIES[:8]]


def test_no_queries_have_no_results_but_need_a_corpus(teas: Corpus) -> None:
    assert search_many(teas, []) == []
    with pytest.raises(CorpusNotFound, match="nowhere"):
        search_many("nowhere", [])


@pytest.mark.parametrize(
    ("queries", "options", "value"),
    [
        ("tea", {}, "'tea'"),
        (["tea", 7], {}, "int"),
        (["tea"], {"k": -1}, "-1"),
        (["tea"], {"mode": "fast"}, "'fast'"),
        ([], {"mode": "fast"}, "'fast'"),
        (["tea", "green"], {"filter": {"color": {"$near": 1}}}, r"'\$near'"),
    ],
)
def test_a_wrong_argument_is_an_error(teas: Corpus, queries: Any, options: dict[str, Any], value: str) -> None:
    with pytest.raises(InputError, match=value):
        search_many(teas, queries, **options)


def test_all_queries_read_one_state_while_another_writer_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teas = create_corpus("teas", path=tmp_path / "teas", embedder="none")
    teas.add(TEAS)
    expected = [hits.to_dict() for hits in search_many(teas, QUERIES)]
    rank = corpus_hits._rank

    def disturb(corpus: Corpus, state: Any, terms: Any, *values: Any, **options: Any) -> Any:
        if terms.text == "zebra":
            with open_corpus(tmp_path / "teas") as writer:
                writer.remove(["tea-0", "tea-6", "tea-7"])
        return rank(corpus, state, terms, *values, **options)

    monkeypatch.setattr(corpus_hits, "_rank", disturb)
    assert [hits.to_dict() for hits in search_many(teas, QUERIES)] == expected
    assert len(teas) == len(TEAS) - 3


def test_an_error_of_one_query_is_raised(teas: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = corpus_hits._rank

    def fail(corpus: Corpus, state: Any, terms: Any, *values: Any, **options: Any) -> Any:
        if terms.text == "zebra":
            raise InputError("no zebra")
        return rank(corpus, state, terms, *values, **options)

    monkeypatch.setattr(corpus_hits, "_rank", fail)
    with pytest.raises(InputError, match="no zebra"):
        search_many(teas, QUERIES)
    assert search(teas, "green tea")[0].metadata == {"color": "green"}


PHRASES = {
    "": "send_mail list open orders green black tea kettle the of and 2024 getUser order of tea invoice",
    "de": "der rote Teekessel und die grüne Tür sind nicht im Garten, wo das Wasser für den Tee kocht",
    "ja": "緑茶 と 紅茶 を 売る 店 は 京都 に あります",
}


def make_random_corpus(draw: random.Random, name: str, path: Path | None) -> Corpus:
    """Documents of one or several passages in three languages, in several segments, some of them changed or deleted."""
    corpus = create_corpus(name, path=path, in_memory=path is None, embedder="none")
    documents = []
    for number in range(draw.randint(20, 60)):
        words = PHRASES[draw.choice(["", "", "de", "ja"])].split()
        content = "\n\n".join(" ".join(draw.choices(words, k=12)) for _ in range(draw.choice([1, 1, 2, 20])))
        title = " ".join(draw.choices(words, k=draw.randint(1, 4)))
        documents.append(Document(f"{name}-{number}", title, content, metadata={"group": draw.randint(0, 2)}))
    half = len(documents) // 2
    for some in (documents[:half], documents[half:], [replace(one, title="order of tea") for one in documents[::9]]):
        corpus.add(some)
    corpus.remove([one.id for one in documents[1::7]])
    return corpus


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("filter", [None, {"group": {"$in": [0, 2]}}])
def test_queries_of_random_corpora_find_together_what_each_finds(
    seed: int, filter: dict[str, Any] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    corpora = tuple(make_random_corpus(draw, name, path) for name, path in (("a", None), ("b", tmp_path / "b")))
    words = " ".join(PHRASES.values()).split()
    queries = [" ".join(draw.choices(words, k=draw.randint(0, 9))) for _ in range(45)]
    queries += [hit.name for hit in search(corpora, "tea", "lexical", k=5)]
    monkeypatch.setattr(os, "cpu_count", lambda: 3)  # threads that rank beside this one
    monkeypatch.setattr(corpus_hits, "AT_ONCE", 36)
    searchable: list[Searchable] = [*corpora, corpora]
    modes: list[tuple[Mode, int]] = [("lexical", 4), ("lexical", 0), ("auto", 4)]
    for searched in searchable:
        for mode, k in modes:
            many = search_many(searched, queries, mode, k, filter)
            alone = [search(searched, query, mode, k, filter) for query in queries]
            assert [hits.to_dict() for hits in many] == [hits.to_dict() for hits in alone]

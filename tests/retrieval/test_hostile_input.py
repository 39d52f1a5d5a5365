"""What no one should send, and someone will: each has a defined result, in memory and on disk."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shortlist import Changes, Corpus, CorpusError, Document, Problem, create_corpus, disclose, discover, search, select
from shortlist.results import Mode

pytestmark = pytest.mark.process

MODES = get_args(Mode)
Make = Callable[..., Corpus]


@pytest.fixture(params=["in memory", "on disk"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes a corpus of the documents given, which must all be taken."""
    opened: list[Corpus] = []

    def make(*documents: Document, embedder: str = "light") -> Corpus:
        in_memory = request.param == "in memory"
        corpus = create_corpus(path=tmp_path / f"c{len(opened)}", embedder=embedder, in_memory=in_memory)
        opened.append(corpus)
        assert corpus.add(documents).failed == ()
        return corpus

    yield make
    for corpus in opened:
        corpus.close()


def ids(corpus: Corpus, query: str, mode: Mode = "lexical", **options: Any) -> list[str]:
    return [hit.id for hit in search(corpus, query, mode=mode, **options)]


def checked(corpus: Corpus, query: str) -> None:
    """Every mode answers, in order, each document once, as JSON."""
    for mode in MODES:
        hits = search(corpus, query, mode=mode)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert len({hit.id for hit in hits}) == len(hits)
        json.dumps(hits.to_dict(), allow_nan=False).encode()
        json.dumps(discover(corpus, query, mode=mode, level="bundled").to_dict(), allow_nan=False).encode()


# Empty things


def test_an_empty_corpus_finds_nothing(make: Make) -> None:
    corpus = make()
    for mode, query in product(MODES, ["apple", "", "the", "\ud800"]):
        assert ids(corpus, query, mode) == []
        assert ids(corpus, query, mode, filter={"x": 1}, k=10**9) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_corpus_that_has_become_empty_finds_nothing(make: Make, mode: Mode) -> None:
    corpus = make(Document("a", "apple", "apple"))
    corpus.remove("a")
    assert ids(corpus, "apple", mode) == []
    corpus.add([Document("b", "", "apple")])
    assert ids(corpus, "apple", mode) == ["b"]


def test_a_query_with_nothing_in_it_finds_nothing(make: Make) -> None:
    corpus = make(Document("a", "Apple", "A red apple."), Document("b", "", "pear"))
    queries = ["", " ", "\n", "the of and", "...", "_", "__", "'", "\u200d", "\ufe0f", "\0"]
    for mode, query in product(MODES, queries):
        assert ids(corpus, query, mode) == [], (mode, query)


@pytest.mark.parametrize("mode", ["lexical", "auto"])
def test_a_query_of_unknown_words_finds_no_words(make: Make, mode: Mode) -> None:
    corpus = make(Document("a", "Apple", "A red apple."), embedder="none")
    assert ids(corpus, "xylophone quark", mode) == []


def test_documents_without_any_text_are_kept_and_found_by_their_name_alone(make: Make) -> None:
    corpus = make(Document("blank", "", ""), Document("spaces", " \n", "\t"), Document("a", "", "apple"))
    assert len(corpus) == 3
    assert "blank" in ids(corpus, "blank", "auto")
    for mode in MODES:
        assert ids(corpus, "apple", mode, k=1) == ["a"]


@pytest.mark.parametrize("words", ["The Who", "to be or not to be", "it"])
def test_a_title_of_stop_words_alone_is_found(make: Make, words: str) -> None:
    corpus = make(Document("a", words, "apple"), Document("b", "", "pear"))
    assert ids(corpus, words) == ["a"]


def test_k_at_its_ends(make: Make) -> None:
    corpus = make(*(Document(f"d{at}", "", "apple") for at in range(12)))
    for mode in MODES:
        assert ids(corpus, "apple", mode, k=0) == []
        assert ids(corpus, "apple", mode, k=1) == ["d0"]
        assert len(ids(corpus, "apple", mode, k=2**63)) == 12


# Characters


def test_lone_surrogates_are_replaced_in_every_field(make: Make) -> None:
    bad = "\ud800"
    corpus = make(
        Document(
            f"id{bad}", f"Title{bad}", f"red{bad}apple", [f"key{bad}"], {f"k{bad}": [f"v{bad}"]},
            kind=f"kind{bad}", source=f"/s{bad}", locator=f"l{bad}", payload=f"p{bad}",
        )
    )  # fmt: skip
    stored = corpus.get(f"id{bad}")
    assert stored == Document(
        "id?", "Title?", "red?apple", ["key?"], {"k?": ["v?"]},
        kind="kind?", source="/s?", locator="l?", payload="p?",
    )  # fmt: skip
    assert f"id{bad}" in corpus
    assert ids(corpus, "apple") == ["id?"]
    checked(corpus, "apple")
    assert disclose(search(corpus, "apple"), "body")[0].body == "p?"
    assert corpus.add([stored]) == Changes(unchanged=1)
    assert corpus.remove(f"id{bad}") == 1


@pytest.mark.parametrize("query", ["\ud800", "apple\udfff", "\udc00apple pear", "ap\ud800ple"], ids=ascii)
def test_lone_surrogates_in_a_query_part_its_words(make: Make, query: str) -> None:
    corpus = make(Document("a", "", "apple"), Document("p", "", "ple"))
    expected = {"\ud800": [], "ap\ud800ple": ["p"]}.get(query, ["a"])
    assert ids(corpus, query) == expected
    checked(corpus, query)


def test_a_filter_with_lone_surrogates_means_what_was_stored(make: Make) -> None:
    corpus = make(Document("a\ud800", "", "apple", metadata={"x": "v\ud800"}))
    assert ids(corpus, "apple", filter={"id": "a\ud800"}) == ["a?"]
    assert ids(corpus, "apple", filter={"x": "v\ud800"}) == ["a?"]


def test_nul_bytes_are_kept_and_part_words(make: Make) -> None:
    document = Document("a\0b", "Ti\0tle", "red\0apple", ["k\0w"], {"m\0": "v\0"})
    corpus = make(document)
    assert corpus.get("a\0b") == document
    assert corpus.get("a") is None
    assert ids(corpus, "apple") == ["a\0b"]
    assert ids(corpus, "red\0apple") == ["a\0b"]
    assert ids(corpus, "apple", filter={"m\0": "v\0"}) == ["a\0b"]
    checked(corpus, "\0apple\0")


@pytest.mark.parametrize("emoji", ["🚀", "❤️", "✅", "🇩🇪", "👩‍💻", "⭐", "⏰", "⌛", "⬆️", "🫠"])
def test_emoji_are_searched_as_words(make: Make, emoji: str) -> None:
    corpus = make(Document("a", "", f"launch{emoji}day"), Document("b", "", "launch 🍕 day"))
    assert ids(corpus, emoji) == ["a"]
    assert ids(corpus, f"{emoji}{emoji}") == ["a"]
    checked(corpus, emoji)


@pytest.mark.parametrize(
    ("text", "query", "other"),
    [
        ("مرحبا بالعالم", "بالعالم", "كتاب"),
        ("שלום עולם", "עולם", "ספר"),
        ("हिन्दी भाषा में खोज", "हिन्दी", "किताब"),
        ("தமிழ் மொழி", "தமிழ்", "நூல்"),
        ("ภาษาไทย ง่าย", "ภาษาไทย", "หนังสือ"),
        ("Ελληνική γλώσσα", "ΓΛΏΣΣΑ", "βιβλίο"),
        ("Привет мир", "МИР", "книга"),
        ("Straße nach Köln", "STRASSE", "buch"),
        ("cafe\u0301 noir", "café", "livre"),
        ("全文検索エンジン", "検索", "本"),
        ("我们提供全文搜索服务", "搜索", "书"),
        ("한국어 검색 엔진", "검색", "책"),
        ("東", "東", "西"),
        ("l’été en ville", "l'été", "hiver"),
    ],
)
def test_words_of_any_script_are_found(make: Make, text: str, query: str, other: str) -> None:
    corpus = make(Document("a", "", text), Document("b", "", other))
    assert ids(corpus, query) == ["a"]
    assert ids(corpus, other) == ["b"]
    checked(corpus, query)


def test_text_from_right_to_left_with_its_marks_comes_back_as_it_was(make: Make) -> None:
    text = "\u202b\u05e9\u05dc\u05d5\u05dd\u202c \u200f(abc)\u200e"
    corpus = make(Document("a", "", text))
    for mode in MODES:
        (hit,) = search(corpus, "abc", mode=mode)
        assert hit.text == text


# Sizes


def test_a_word_of_a_megabyte_is_a_word(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_QUERY_CHARACTERS", "1048576")
    word = "x" * 1_000_000
    corpus = make(Document("a", "", word), Document("b", "", "apple"), embedder="none")
    assert ids(corpus, word) == ["a"]
    assert ids(corpus, word[:-1]) == []
    assert ids(corpus, "apple " + word) == ["a", "b"]


@pytest.mark.parametrize("embedder", ["light", "default"])
def test_a_word_of_a_megabyte_has_a_meaning_or_none_but_no_error(make: Make, embedder: str) -> None:
    corpus = make(Document("a", "", "x" * 1_000_000), Document("b", "", "apple"), embedder=embedder)
    assert ids(corpus, "apple", "dense", k=1) == ["b"]
    assert ids(corpus, "apple", "auto", k=1) == ["b"]


def test_a_query_of_ten_thousand_words_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_QUERY_CHARACTERS", "100000")
    corpus = create_corpus(in_memory=True, embedder="light")
    corpus.add([Document("a", "", "apple"), Document("b", "", "pear")])
    query = " ".join(f"word{at}" for at in range(9_999)) + " apple"
    for mode in MODES:
        assert ids(corpus, query, mode)[0] == "a"


@pytest.mark.parametrize("unit", ["x", "9", "a1", "日", "_"])
def test_ids_of_ten_thousand_characters_are_ids(make: Make, unit: str) -> None:
    one, other = unit * 10_000, unit * 9_999 + "z"
    corpus = make(Document(one, "", "apple"), Document(other, "", "apple"))
    for mode in MODES:
        assert sorted(ids(corpus, "apple", mode)) == sorted([one, other])
    assert corpus.get(one) == Document(one, "", "apple")


def test_ten_thousand_keywords_are_searched(make: Make) -> None:
    corpus = make(Document("a", "", "", [f"key{at}" for at in range(10_000)]), Document("b", "", "pear"))
    for mode in MODES:
        assert ids(corpus, "key9999", mode)[0] == "a"


def test_a_word_more_often_than_any_counter_holds_is_counted_as_often_as_it_holds(make: Make) -> None:
    corpus = make(Document("many", "", "apple " * 70_000), Document("few", "", "apple pear"), embedder="none")
    assert sorted(ids(corpus, "apple")) == ["few", "many"]
    assert all(0 < hit.score < 1 for hit in search(corpus, "apple"))


# Metadata


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"bottom": True}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [10, 50, 300, 500, 900, 100_000])
def test_deep_metadata_are_taken_and_shown_or_refused_with_a_reason(make: Make, depth: int) -> None:
    corpus = make(Document("b", "", "pear"))
    changes = corpus.add([Document("a", "", "apple", metadata=nested(depth))])
    if changes.failed:
        assert depth > 50
        assert changes.failed[0].id == "a"
        assert "metadata" in changes.failed[0].reason
        assert ids(corpus, "apple pear") == ["b"]
        return
    assert ids(corpus, "apple", filter={".".join(["a"] * depth + ["bottom"]): True}) == ["a"]
    hits = search(corpus, "apple")
    document = corpus.get("a")
    assert document is not None
    found = discover(corpus, "apple")
    for shown in (hits, document, select(hits), disclose(hits)[0], found):
        json.dumps(shown.to_dict(), allow_nan=False)


def test_dates_paths_sets_and_tuples_in_metadata_become_plain(make: Make) -> None:
    held = {
        "date": datetime.date(2025, 3, 14),
        "time": datetime.datetime(2025, 3, 14, 9, 26, tzinfo=datetime.UTC),
        "path": PurePosixPath("/a/b"),
        "set": {3, 1, 2},
        "frozen": frozenset(["b", "a"]),
        "tuple": (1, 2),
        "keys": {1: "one", None: "none", 2.5: "half"},
    }
    corpus = make(Document("a", "", "apple", metadata=held))
    assert search(corpus, "apple")[0].metadata == {
        "date": "2025-03-14",
        "time": "2025-03-14 09:26:00+00:00",
        "path": "/a/b",
        "set": [1, 2, 3],
        "frozen": ["a", "b"],
        "tuple": [1, 2],
        "keys": {"1": "one", "null": "none", "2.5": "half"},
    }
    assert corpus.add([Document("a", "", "apple", metadata=held)]) == Changes(unchanged=1)
    checked(corpus, "apple")


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -float("inf"), b"bytes", object(), {1, "a"}, {(1, 2): 3}, cyclic(), 1j, 10**5000],
    ids=lambda value: type(value).__name__,
)
def test_metadata_that_json_cannot_hold_are_refused_with_a_reason(make: Make, value: Any) -> None:
    corpus = make(Document("b", "", "pear"))
    changes = corpus.add([Document("a", "", "apple", metadata={"x": value}), Document("c", "", "apple")])
    assert (changes.added, [problem.id for problem in changes.failed]) == (1, ["a"])
    assert changes.failed[0].reason.startswith("Its metadata ")
    json.dumps(changes.to_dict(), allow_nan=False)
    assert ids(corpus, "apple") == ["c"]


@pytest.mark.parametrize("number", [10**400, -(2**200), 1e308, 5e-324, 0.1 + 0.2])
def test_any_finite_number_in_metadata_comes_back_the_same(make: Make, number: float) -> None:
    corpus = make(Document("a", "", "apple", metadata={"n": number}))
    assert search(corpus, "apple", mode="lexical")[0].metadata == {"n": number}
    assert ids(corpus, "apple", filter={"n": number}) == ["a"]


# What is no document


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("id", 5, "Its id must be a string, not int."),
        ("id", None, "Its id must be a string, not NoneType."),
        ("id", "", "Its id is empty."),
        ("id", " \n", "Its id is empty."),
        ("title", None, "Its title must be a string, not NoneType."),
        ("content", b"bytes", "Its content must be a string, not bytes."),
        ("content", ["a"], "Its content must be a string, not list."),
        ("keywords", "apple", "Its keywords must be a list of strings."),
        ("keywords", [1, 2], "Its keywords must be a list of strings."),
        ("keywords", {"a"}, "Its keywords must be a list of strings."),
        ("metadata", ["a"], "Its metadata must be a mapping, not list."),
        ("metadata", "a", "Its metadata must be a mapping, not str."),
        ("kind", 1, "Its kind must be a string, not int."),
        ("source", Path("/a"), f"Its source must be a string, not {type(Path()).__name__}."),
        ("locator", 3, "Its locator must be a string, not int."),
        ("payload", {"a": 1}, "Its payload must be a string, not dict."),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_with_a_reason(make: Make, field: str, value: Any, reason: str) -> None:
    corpus = make(Document("b", "", "pear"))
    given = {"id": "a", "title": "", "content": "apple", field: value}
    changes = corpus.add([Document(**given), Document("c", "", "apple")])
    assert [(problem.id, problem.reason) for problem in changes.failed] == [(str(given["id"]), reason)]
    assert ids(corpus, "apple pear plum") == ["b", "c"]


@pytest.mark.parametrize(
    "thing", [5, None, "text", ("a", "b", "c"), {"id": "a"}, object()], ids=lambda t: type(t).__name__
)
def test_what_is_no_document_is_refused_and_the_others_taken(make: Make, thing: Any) -> None:
    corpus = make()
    changes = corpus.add([thing, Document("c", "", "apple"), thing])
    assert (changes.added, len(changes.failed)) == (1, 2)
    assert changes.failed[0].reason == f"{type(thing).__name__} is not a Document."
    assert ids(corpus, "apple") == ["c"]


def test_of_two_documents_with_one_id_the_first_is_kept(make: Make) -> None:
    corpus = make()
    changes = corpus.add([Document("a", "", "apple"), Document("b", "", "fig"), Document("a", "", "pear")])
    assert (changes.added, changes.failed) == (2, (Problem("a", "Its id came twice; the first one was kept."),))
    assert (ids(corpus, "apple"), ids(corpus, "pear")) == (["a"], [])


def test_ids_that_become_one_when_cleaned_are_one_id(make: Make) -> None:
    corpus = make()
    changes = corpus.add([Document("a\ud800", "", "apple"), Document("a\udfff", "", "pear")])
    assert (changes.added, [problem.id for problem in changes.failed]) == (1, ["a?"])


@pytest.mark.parametrize("before", [0, 10, 1200])
def test_a_stream_that_breaks_changes_nothing(make: Make, before: int) -> None:
    corpus = make(Document("old", "", "apple"))
    known = corpus.info()

    def broken() -> Iterator[Document]:
        yield from (Document(f"d{at}", "", "pear") for at in range(before))
        raise KeyError("gone")

    for act in (corpus.sync, corpus.add):
        with pytest.raises(KeyError, match="gone"):
            act(broken())
        assert corpus.ids() == ["old"]
        assert (ids(corpus, "apple"), ids(corpus, "pear")) == (["old"], [])
        assert corpus.info() == known
    assert corpus.sync([Document("new", "", "pear")]) == Changes(added=1, removed=1)


def test_a_problem_in_the_stream_keeps_what_is_stored_by_id_and_by_source(make: Make) -> None:
    corpus = make(
        Document("by id", "", "apple"),
        Document("by source", "", "apple", source="/shelf"),
        Document("neither", "", "apple", source="/floor"),
    )
    changes = corpus.sync([Problem("by id", "unreadable"), Problem("other name", "unreadable", "/shelf")])
    assert (changes.removed, len(changes.failed)) == (1, 2)
    assert ids(corpus, "apple") == ["by id", "by source"]


def test_a_problem_without_a_source_does_not_keep_all_that_have_none(make: Make) -> None:
    corpus = make(Document("a", "", "apple"))
    assert corpus.sync([Problem("b", "unreadable")]).removed == 1


@pytest.mark.parametrize("problem", [Problem(5, "unreadable"), Problem("a", "unreadable", Path("/a"))], ids=str)  # type: ignore[arg-type]
def test_a_problem_with_a_field_of_the_wrong_type_is_a_problem_still(make: Make, problem: Problem) -> None:
    changes = make().sync([problem, Document("c", "", "apple")])
    assert (changes.added, changes.failed[0].reason) == (1, "unreadable")
    json.dumps(changes.to_dict(), allow_nan=False)


def test_a_corpus_in_memory_is_gone_when_it_is_closed() -> None:
    corpus = create_corpus(in_memory=True, embedder="none")
    corpus.add([Document("a", "", "apple")])
    corpus.close()
    for act in (lambda: search(corpus, "apple"), lambda: corpus.add([]), lambda: corpus.get("a")):
        with pytest.raises(CorpusError):
            act()


def test_what_a_caller_changes_afterwards_does_not_reach_the_corpus(make: Make) -> None:
    keywords, metadata = ["fruit"], {"n": [1]}
    corpus = make(Document("a", "", "apple", keywords, metadata))
    keywords.append("stone")
    metadata["n"].append(2)
    stored = corpus.get("a")
    assert stored == Document("a", "", "apple", ["fruit"], {"n": [1]})


# Anything at all

anything = st.text(st.characters(), max_size=40)
surrogates = st.text(st.characters(categories=["Cs", "L", "M", "N", "P", "S", "Z", "C"]), max_size=40)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(surrogates, surrogates, st.lists(surrogates, max_size=3)), max_size=6),
    surrogates,
    st.sampled_from(MODES),
    st.integers(0, 8),
)
@example([("", "\ud800", [])], "\ud800", "auto", 1)
@example([("İ", "ß", ["ﬁ"])], "i̇ ss fi", "hybrid", 8)
@example([("a_", "_a", ["'s"])], "a's _ __", "lexical", 8)
def test_any_texts_can_be_indexed_and_searched_with_any_query(
    texts: list[tuple[str, str, list[str]]], query: str, mode: Mode, k: int
) -> None:
    corpus = create_corpus(in_memory=True, embedder="light")
    documents = [Document(f"d{at}", title, text, words) for at, (title, text, words) in enumerate(texts)]
    assert corpus.sync(documents) == Changes(added=len(documents))
    assert corpus.sync(documents) == Changes(unchanged=len(documents))
    hits = search(corpus, query, mode=mode, k=k)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.id for hit in hits}) == len(hits) <= k
    json.dumps(hits.to_dict(), allow_nan=False).encode()
    discover(corpus, query, mode=mode, k=k).to_dict()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(min_size=1).filter(str.strip), unique=True, max_size=6))
def test_any_id_that_is_not_blank_is_an_id(names: list[str]) -> None:
    corpus = create_corpus(in_memory=True, embedder="none")
    assert corpus.sync(Document(name, "", "apple") for name in names) == Changes(added=len(names))
    assert corpus.ids() == names
    assert sorted(hit.id for hit in search(corpus, "apple", mode="lexical")) == sorted(names)
    assert corpus.remove(names) == len(names)
    assert search(corpus, "apple", mode="lexical") == []


@settings(max_examples=40, deadline=None)
@given(anything)
def test_any_text_finds_itself(text: str) -> None:
    corpus = create_corpus(in_memory=True, embedder="none")
    corpus.add([Document("a", "", text), Document("b", "", "apple")])
    with corpus.snapshot() as snapshot:
        has_words = bool(snapshot.lexical.analyzer.terms(text))
    assert ("a" in [hit.id for hit in search(corpus, text, mode="lexical")]) == has_words

from __future__ import annotations

import pytest

from shortlist import (
    Document,
    discover,
    search,
)
from shortlist.results import Mode
from tests.retrieval.samples import (
    MEANING,
    MIXED,
    MODES,
    corpus_of,
    scored,
    table_embedder,
)


def test_a_hit_tells_the_parts_that_its_score_was_made_of() -> None:
    corpus = corpus_of(MIXED, table_embedder(MEANING))
    by_words = scored(search(corpus, "red", mode="lexical"))
    for mode in ("hybrid", "auto"):
        signals = {hit.id: hit.signals for hit in search(corpus, "red", mode=mode)}
        blended = {id: signals[id].pop("blend") for id in ("a", "c")}  # type: ignore[attr-defined]
        assert blended["c"] == pytest.approx(0.37 * 0.6)
        assert blended["a"] > 0.37 * 0.3
        assert signals["a"] == pytest.approx(
            {"lexical": by_words["a"], "dense": 0.3, "covered": 1.0, "named": 0.0}, abs=1e-6
        )
        assert signals["c"] == pytest.approx({"dense": 0.6, "covered": 0.0, "named": 0.0}, abs=1e-6)


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


@pytest.mark.parametrize("query", ["run the job now", "please run the job", "green tea"])
def test_fewer_hits_are_the_first_of_more(query: str) -> None:
    tools = [Document(f"run_{at}", f"run_job_{at % 7}", f"Run job number {at}, now or later.") for at in range(40)]
    corpus = corpus_of([*tools, *crowd(BY_ID)], "light")
    for asked in (query, f"{query} run_job_3", "getCustomerProfile"):
        ids = [hit.id for hit in search(corpus, asked, k=20)]
        assert all([hit.id for hit in search(corpus, asked, k=k)] == ids[:k] for k in (1, 2, 5, 10))


def test_two_named_tools_are_both_found_and_ordered_by_their_score() -> None:
    tools = [Document("send_mail", "", "Send."), Document("read_mail", "", "Read mail, mail, mail.")]
    hits = search(corpus_of([*crowd(BY_ID), *tools]), "read_mail, then send_mail, get customer profile", k=3)
    assert sorted(hit.id for hit in hits) == ["get_customer_profile", "read_mail", "send_mail"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_hits_for_a_query_of_which_nothing_is_known_say_so() -> None:
    query = "xyzzy plugh"
    fruit = corpus_of([Document("a", "Apple", "red apple"), Document("b", "Pear", "green pear")], "light")
    tea = corpus_of([Document("c", "Tea", "green tea")], "light")
    unknown = search(fruit, query, mode="dense")
    assert unknown
    assert unknown.note == unknown.to_dict()["note"] == discover(fruit, query, mode="dense").reason
    assert search([fruit, tea], query, mode="dense").note == unknown.note
    assert search([fruit, tea], f"{query} tea", mode="dense").note == ""

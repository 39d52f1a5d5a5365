"""Documents out of mappings and lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from shortlist import CorpusSource, Document, InputError, Problem, build
from shortlist.sources import SOURCES, documents_of

WANTED = "An entry is a string, a Document or a mapping with a 'text', not"


def documents(items: Mapping[str, Any] | Iterable[Any]) -> list[Document | Problem]:
    return list(documents_of(items))


def test_a_mapping_of_strings_gives_documents_titled_by_their_id() -> None:
    assert documents({"a": "red apple", "b": ""}) == [Document("a", "a", "red apple"), Document("b", "b", "")]


def test_a_list_of_strings_is_numbered_from_zero_and_has_no_titles() -> None:
    assert documents(["red", "green"]) == [Document("0", "", "red"), Document("1", "", "green")]


def test_ids_of_other_types_become_strings() -> None:
    assert documents({1: "one", None: "none"}) == [Document("1", "1", "one"), Document("None", "None", "none")]


def test_a_mapping_with_a_text_gives_a_document_and_the_rest_is_its_metadata() -> None:
    entry = {"text": "red apple", "colour": "red", "n": 1}
    assert documents({"a": entry}) == [Document("a", "a", "red apple", metadata={"colour": "red", "n": 1})]
    assert documents([entry]) == [Document("0", "", "red apple", metadata={"colour": "red", "n": 1})]
    assert entry == {"text": "red apple", "colour": "red", "n": 1}


def test_an_entry_may_say_its_id_title_and_keywords() -> None:
    entry = {"text": "red apple", "id": "x", "title": "Apple", "keywords": ("fruit", "red")}
    expected = Document("x", "Apple", "red apple", ["fruit", "red"])
    assert documents([entry]) == [expected]
    assert documents({"a": entry}) == [expected]


@pytest.mark.parametrize("key", ["id", "title", "keywords"])
def test_an_entry_that_says_none_says_nothing(key: str) -> None:
    assert documents({"a": {"text": "red apple", key: None}}) == [Document("a", "a", "red apple")]


@pytest.mark.parametrize("keywords", ["fruit", 5, [1]], ids=str)
def test_keywords_that_are_no_list_of_strings_are_a_problem_and_the_others_are_taken(keywords: Any) -> None:
    source = CorpusSource.from_mapping({"a": {"text": "apple", "keywords": keywords}, "b": "pear"})
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.ids() == ["b"]
    assert [problem.id for problem in corpus.changes.failed] == ["a"]
    assert "keywords" in corpus.changes.failed[0].reason


def test_keywords_in_a_set_come_in_a_fixed_order() -> None:
    """Else every new process would find the document changed."""
    words = {"pear", "apple", "fig", "plum", "kiwi"}
    (document,) = documents([{"text": "fruit", "keywords": words}])
    assert isinstance(document, Document)
    assert document.keywords == ["apple", "fig", "kiwi", "pear", "plum"]


def test_documents_and_problems_pass_as_they_are() -> None:
    document, problem = Document("x", "Apple", "red", ["k"], {"n": 1}, kind="tool", payload="p"), Problem("y", "no")
    assert documents([document, problem]) == [document, problem]
    assert documents({"any": document}) == [document]


@pytest.mark.parametrize("entry", [5, None, b"bytes", ["text"], {"body": "x"}, {"text": 5}, {}], ids=str)
def test_any_other_entry_is_a_problem_that_names_it_and_the_others_are_taken(entry: Any) -> None:
    problem = Problem("a", f"{WANTED} {type(entry).__name__}.")
    assert documents({"a": entry, "b": "pear"}) == [problem, Document("b", "b", "pear")]
    assert documents([entry]) == [Problem("0", problem.reason)]


@pytest.mark.parametrize(
    "tool", [len, {"name": "mail", "description": "Send it."}, {"type": "function", "function": {}}]
)
def test_a_tool_among_documents_is_a_problem_that_names_the_source_for_tools(tool: object) -> None:
    (problem,) = documents([tool])
    assert isinstance(problem, Problem)
    assert "CorpusSource.from_tools" in problem.reason


def test_a_mapping_read_twice_is_read_as_it_then_is() -> None:
    texts = {"a": "apple"}
    source = CorpusSource.from_mapping(texts)
    assert list(source) == [Document("a", "a", "apple")]
    texts["b"] = "pear"
    assert list(source) == [Document("a", "a", "apple"), Document("b", "b", "pear")]
    assert (source.name, source.kind) == ("mapping", "mapping")


def test_a_stream_can_be_read_twice_once_it_is_a_source() -> None:
    source = CorpusSource.from_list(text for text in ["apple", "pear"])
    assert list(source) == list(source) == [Document("0", "", "apple"), Document("1", "", "pear")]
    assert (source.name, source.kind) == ("list", "list")


def test_a_source_takes_a_name() -> None:
    assert CorpusSource.from_mapping({}, name="fruit").name == "fruit"
    assert CorpusSource.from_list([], name="fruit").name == "fruit"


def test_every_kind_of_source_is_known_by_its_name() -> None:
    assert list(CorpusSource.of_kind("mapping", {"a": "apple"})) == [Document("a", "a", "apple")]
    assert list(CorpusSource.of_kind("list", ["apple"], name="x")) == [Document("0", "", "apple")]
    assert set(SOURCES) >= {"mapping", "list", "files", "skills", "catalog"}


def test_an_unknown_kind_of_source_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'web'.*mapping, list, files, .*skills, catalog"):
        CorpusSource.of_kind("web", "https://example.org")


@pytest.mark.parametrize("texts", ["apple", 5, None], ids=str)
def test_what_holds_no_texts_is_an_input_error(texts: Any) -> None:
    with pytest.raises(InputError):
        list(CorpusSource.from_list(texts))


@pytest.mark.parametrize("texts", ["apple", 5], ids=str)
def test_what_is_no_mapping_is_an_input_error(texts: Any) -> None:
    with pytest.raises(InputError):
        list(CorpusSource.from_mapping(texts))

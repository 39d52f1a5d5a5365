"""The length of a query is limited everywhere, and work ends when its caller no longer waits."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist._environment import MAX_QUERY_CHARACTERS as VARIABLE
from shortlist._limits import MAX_QUERY_CHARACTERS, Canceled, cancelable, check_canceled, check_length, run_in_thread
from shortlist._limits import max_query_characters as limit_of_service
from shortlist.cli import USAGE, run
from shortlist.compat.in_memory_docs import InMemoryDocs
from shortlist.compat.retriever import retrieve_documents
from shortlist.compat.tool_index import SearchQuery, ToolIndex
from shortlist.errors import InputError, QueryTooLong
from shortlist.eval.cases import Case, load_cases
from shortlist.eval.explain import explain
from shortlist.eval.retrieval import evaluate_discovery

TEXTS = {"refund": "Send money back to a card.", "track": "Where a parcel is now."}
LONGEST = "money " * (MAX_QUERY_CHARACTERS // 6)
TOO_LONG = "x" * (MAX_QUERY_CHARACTERS + 1)

Ask = Callable[[str], Any]


def search_tool(query: str) -> Any:
    return shortlist.as_tool(TEXTS).run(query=query)


ASKED: dict[str, Ask] = {
    "search": lambda query: shortlist.search(TEXTS, query),
    "search_many": lambda query: shortlist.search_many(TEXTS, ["money", query]),
    "discover": lambda query: shortlist.discover(TEXTS, query),
    "ask": lambda query: shortlist.ask(TEXTS, query),
    "as_tool": search_tool,
    "evaluation": lambda query: evaluate_discovery(TEXTS, [Case("money", ("refund",)), Case(query, ("refund",))]),
    "explain": lambda query: explain(TEXTS, "refund", query, "lexical", 10, None, "adaptive", "auto"),
    "InMemoryDocs": lambda query: InMemoryDocs(name="n", description="d", docs=list(TEXTS.values())).run(query=query),
    "ToolIndex": lambda query: ToolIndex().search(SearchQuery(query_text=query)),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_query_of_the_maximum_length_is_answered_and_a_longer_one_refused(ask: Ask) -> None:
    ask(LONGEST)
    with pytest.raises(QueryTooLong, match=f"{MAX_QUERY_CHARACTERS + 1:,} characters.*{MAX_QUERY_CHARACTERS:,}"):
        ask(TOO_LONG)


def test_the_retriever_reports_it_in_its_own_format() -> None:
    documents = [shortlist.Document("a", "Refund", "money")]
    assert retrieve_documents(LONGEST, documents)["success"]
    answer = retrieve_documents(TOO_LONG, documents)
    assert (answer["success"], answer["documents"]) == (False, [])
    assert f"{MAX_QUERY_CHARACTERS:,}" in answer["message"]


def test_a_case_with_a_query_that_is_too_long_is_named(tmp_path: Path) -> None:
    rows = [{"query": "money", "gold": ["refund"]}, {"query": TOO_LONG, "gold": ["refund"]}]
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(QueryTooLong, match="line 2"):
        load_cases(file)


def test_on_the_command_line_it_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    shortlist.build(TEXTS, "shop").close()
    for command in (["search", "shop"], ["discover", "shop"], ["query", "--corpus", "shop"]):
        assert run([*command, LONGEST]) != USAGE
        assert run([*command, TOO_LONG]) == USAGE
        assert "limits.max_query_characters" in capsys.readouterr().err


def test_the_variable_and_then_the_service_set_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "5")
    assert check_length("12345") == "12345"
    with pytest.raises(QueryTooLong, match="the limit is 5"):
        shortlist.search(TEXTS, "123456")
    token = limit_of_service.set(6)
    try:
        assert check_length("123456") == "123456"
    finally:
        limit_of_service.reset(token)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_a_limit_that_is_no_limit_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=f"{VARIABLE}: limits.max_query_characters"):
        check_length("")


def test_a_search_ends_at_its_next_check_once_it_is_canceled() -> None:
    canceled = threading.Event()
    with cancelable(canceled):
        shortlist.search(TEXTS, "money")
        canceled.set()
        for work in (
            lambda: shortlist.search(TEXTS, "money"),
            lambda: shortlist.discover(TEXTS, "money"),
            lambda: evaluate_discovery(TEXTS, [Case("money", ("refund",))]),
        ):
            with pytest.raises(Canceled):
                work()
    check_canceled()
    assert shortlist.search(TEXTS, "money")


def test_a_search_of_many_corpora_ends_between_them() -> None:
    canceled = threading.Event()
    read: list[str] = []

    class Embedder:
        name, dim = "canceling", 2

        def encode_query(self, text: str) -> Any:
            if text == "money":  # not one of the texts by which its cosines are measured
                read.append(text)
                canceled.set()
            return np.array([1.0, 0.0], np.float32)

        def encode_documents(self, texts: Any) -> Any:
            return np.array([[1.0, 0.0] for _ in texts], np.float32)

    corpora = []
    for _ in range(2):
        corpora.append(shortlist.create_corpus(in_memory=True, embedder=Embedder()))
        corpora[-1].add([shortlist.Document("a", "A", "money")])
    with cancelable(canceled), pytest.raises(Canceled):
        shortlist.search(corpora, "money")
    assert read == ["money"]


def test_a_canceled_build_changes_nothing_and_can_be_done_again() -> None:
    canceled = threading.Event()

    def documents() -> Any:
        for number in range(5_000):
            if number == 4_000:
                canceled.set()
            yield shortlist.Document(f"d{number}", "", f"money {number}")

    with shortlist.create_corpus("canceled", embedder="none") as corpus:
        with cancelable(canceled), pytest.raises(Canceled):
            corpus.sync(documents())
        assert len(corpus) == 0
        canceled.clear()
        corpus.sync(documents())
        assert len(corpus) == 5_000


def test_work_in_a_thread_ends_when_its_asynchronous_caller_is_canceled() -> None:
    is_running, has_ended = threading.Event(), threading.Event()

    def work() -> None:
        try:
            while True:
                is_running.set()
                check_canceled()
        finally:
            has_ended.set()

    async def cancel_it() -> None:
        task = asyncio.create_task(run_in_thread(work))
        while not is_running.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_it())
    assert has_ended.wait(60)


def test_work_in_a_thread_has_the_context_of_its_caller() -> None:
    def work() -> int | None:
        with pytest.raises(Canceled):
            check_canceled()  # as the caller is canceled, too
        return limit_of_service.get()

    async def run_limited() -> int | None:
        limit_of_service.set(7)
        is_canceled = threading.Event()
        is_canceled.set()
        with cancelable(is_canceled):
            return await run_in_thread(work)

    assert contextvars.copy_context().run(asyncio.run, run_limited()) == 7

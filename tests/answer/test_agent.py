"""The agent: what its tools return, and the limits of its steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import (
    REFUSAL,
    Chat,
    CorpusSource,
    Document,
    InputError,
    ScriptedLLM,
    agent_ask,
    build,
)
from shortlist.answer.agent import LONGEST_RESULT, MAX_CALLS
from shortlist.answer.evidence import gather
from shortlist.library.opening import open_states
from shortlist.retrieval.corpus_hits import retrieve
from shortlist.retrieval.relevance import EVIDENCE_THRESHOLD
from tests.answer.test_ask import MOONS


def test_an_agent_looks_further_and_cites_what_its_tools_have_shown() -> None:
    llm = ScriptedLLM(
        [("list_sources", {}), ("retrieve", {"query": "moons", "source": "venus.txt"})],
        "Venus has no moons [venus.txt:whole]. There are mars.txt and venus.txt [list_sources:whole].",
    )
    answer = agent_ask(MOONS, "What is the radius of Jupiter?", llm)
    assert answer.text.startswith("Venus has no moons [venus.txt:whole].")
    assert "[list_sources:whole]" in answer.text
    assert [item.source for item in answer.evidence] == ["venus.txt"]
    assert [(step["tool"], step["arguments"]) for step in answer.steps] == [
        ("list_sources", {}), ("retrieve", {"query": "moons", "source": "venus.txt"})
    ]  # fmt: skip
    assert [tool["function"]["name"] for tool in llm.offered[0]] == [
        "list_sources", "retrieve", "keyword_search", "get_neighbors"
    ]  # fmt: skip
    called, first, second = llm.heard[1][-3:]
    assert called["tool_calls"][0]["function"]["name"] == "list_sources"
    assert (first["role"], first["tool_call_id"]) == ("tool", "call_0")
    assert second["content"] == f'<passage cite="[venus.txt:whole]">\n{MOONS["venus.txt"]}\n</passage>'
    assert answer.usage["calls"] == 2


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (("find", {}), "'find' is not a tool"),
        (("retrieve", "{broken"), "not valid JSON"),
        (("retrieve", "[1]"), "must be an object"),
        (("retrieve", {}), "needs 'query'"),
        (("retrieve", {"query": "x", "top": 5}), "does not take 'top'"),
        (("retrieve", {"query": "x", "source": "gone.txt"}), "No source 'gone.txt'"),
        (("keyword_search", {"pattern": "  "}), "needs a non-empty"),
        (("keyword_search", {"pattern": 7}), "needs a non-empty"),
        (("get_neighbors", {"source": "mars.txt", "locator": "page=2"}), "No passage 'page=2'"),
        (("get_neighbors", {"source": "mars.txt", "locator": "whole", "before": -1}), "before must be"),
    ],
)
def test_a_tool_that_fails_says_so_to_the_model_and_the_loop_goes_on(call: Any, sentence: str) -> None:
    llm = ScriptedLLM([call], "Mars has two moons [mars.txt:whole].")
    answer = agent_ask(MOONS, "How many moons does Mars have?", llm)
    assert not answer.refused
    assert llm.heard[1][-1]["content"].startswith("Error: ")
    assert sentence in llm.heard[1][-1]["content"]
    assert sentence in answer.steps[0]["error"]


def test_at_the_limit_one_last_answer_is_asked_for_without_tools() -> None:
    llm = ScriptedLLM(*[[("retrieve", {"query": "moons of Mars"})]] * 5, "Two [mars.txt:whole].")
    answer = agent_ask(MOONS, "Tell me.", llm)
    assert answer.text == "Two [mars.txt:whole]."
    assert len(llm.heard) == 6
    assert [bool(tools) for tools in llm.offered] == [True] * 5 + [False]
    assert llm.heard[-1][-1]["role"] == "user"


def test_at_the_limit_with_nothing_gathered_the_answer_is_the_refusal() -> None:
    llm = ScriptedLLM(*[[("retrieve", {"query": "lactose"})]] * 3)
    answer = agent_ask(MOONS, "Which enzyme splits lactose?", llm, max_steps=3)
    assert (answer.text, answer.refused, answer.usage["calls"]) == (REFUSAL, True, 3)
    assert "3 steps" in answer.reason


def test_an_agent_that_answers_at_once_is_believed_only_with_citations() -> None:
    assert agent_ask(MOONS, "How many moons?", ScriptedLLM("Two.")).text == REFUSAL


def test_calls_in_one_step_and_what_they_return_are_bounded() -> None:
    texts = {f"{at}.txt": f"word {at} " * 300 for at in range(20)}
    llm = ScriptedLLM([("keyword_search", {"pattern": "word"})] * (MAX_CALLS + 1), REFUSAL)
    answer = agent_ask(texts, "What is the word?", llm)
    results = [message["content"] for message in llm.heard[1] if message["role"] == "tool"]
    assert len(results) == MAX_CALLS + 1
    assert all(len(result) < LONGEST_RESULT + 1_000 for result in results)
    assert "more were found" in results[0]
    assert results[-1] == f"Error: At most {MAX_CALLS} tools can be called at once."
    assert sum(f'cite="{item.marker}"' in "".join(results) for item in answer.evidence) >= 3


def test_a_long_list_of_sources_says_how_many_it_leaves_out() -> None:
    texts = {f"{at:04}-{'x' * 90}.txt": "word" for at in range(100)}
    llm = ScriptedLLM([("list_sources", {})], REFUSAL)
    agent_ask(texts, "Which documents are there?", llm)
    lines = llm.heard[1][-1]["content"].splitlines()
    assert lines[1] == "100 sources:"
    assert lines[-2] == f"(and {100 - (len(lines) - 4)} more)"
    assert lines[-1] == "</passage>"


def test_the_tools_of_an_agent_apply_its_filter() -> None:
    documents = [
        Document(name, "", f"The {name} code is 7.", metadata={"who": name}, source=f"/d/{name}.txt")
        for name in ("open", "secret")
    ]
    corpus = shortlist.build(documents, in_memory=True)
    calls = [("list_sources", {}), ("keyword_search", {"pattern": "code"}), ("retrieve", {"query": "secret code"})]
    llm = ScriptedLLM(calls, "It is 7 [open.txt:whole]. It is 7 [secret.txt:whole].")
    answer = agent_ask(corpus, "What is the secret code?", llm, filter={"who": "open"})
    assert "secret" not in "".join(message["content"] for message in llm.heard[1] if message["role"] == "tool")
    assert answer.text == "It is 7 [open.txt:whole]."


def test_b8_neighbors_are_shown_with_their_own_relevance_to_the_question(tmp_path: Path) -> None:
    parts = ["The lamp in the hall is green. " * 24, "The lamp in the attic was made in 1950. " * 18, "Doors. " * 60]
    (tmp_path / "house.txt").write_text("".join(parts))
    corpus = build(CorpusSource.from_files(tmp_path), in_memory=True)
    with open_states([corpus]) as states:
        (found,) = retrieve(states, "lamp doors", "auto", 9, None, whole=False)
    offsets = [one.locator for one in found.hits]
    question = "When was the lamp in the attic made?"
    llm = ScriptedLLM(
        [("get_neighbors", {"source": "house.txt", "locator": "whole", "after": 3})],
        "In 1950 [house.txt:whole;offset=0].",
    )
    shown = agent_ask(corpus, question, llm, k=1, min_relevance=1.0).evidence
    assert sorted(item.locator for item in shown) == sorted(offsets)
    with open_states([corpus]) as states:
        expected = {hit.locator: hit.score for hit in gather(states, question, k=9, min_relevance=None).hits}
    assert {item.locator: item.score for item in shown} == expected
    assert max(expected.values()) > EVIDENCE_THRESHOLD


def test_an_agent_needs_a_model() -> None:
    for call in (lambda: agent_ask(MOONS, "What?", None), lambda: Chat(MOONS, agent=True)):  # type: ignore[arg-type]
        with pytest.raises(InputError, match="needs a language model"):
            call()

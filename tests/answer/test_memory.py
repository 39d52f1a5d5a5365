"""The memory of a conversation: its last turns, and the hint for retrieval."""

from __future__ import annotations

import pytest

from shortlist import (
    REFUSAL,
    InputError,
    Memory,
)


def test_memory_keeps_the_last_turns_and_hints_at_the_last_one() -> None:
    memory = Memory(window_turns=2)
    assert (memory.history_messages(), memory.retrieval_hint()) == ([], "")
    for at in range(3):
        memory.add(f"question {at}", f"answer {at}")
    assert [message["content"] for message in memory.history_messages()] == [
        "question 1", "answer 1", "question 2", "answer 2"
    ]  # fmt: skip
    assert [message["role"] for message in memory.history_messages()] == ["user", "assistant"] * 2
    assert memory.retrieval_hint() == "question 2 answer 2"
    memory.add("question 3", REFUSAL)
    assert memory.retrieval_hint() == "question 3"
    memory.add("question 4", "x" * 500)
    assert memory.retrieval_hint() == f"question 4 {'x' * 200}"
    memory.clear()
    assert len(memory) == 0


def test_a_window_of_no_turns_remembers_nothing_and_of_fewer_means_nothing() -> None:
    memory = Memory(0)
    memory.add("question", "answer")
    assert memory.history_messages() == []
    with pytest.raises(InputError, match="window_turns"):
        Memory(-1)

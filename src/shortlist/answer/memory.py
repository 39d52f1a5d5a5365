"""The last turns of a conversation, as messages for a model and as a hint for retrieval."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from shortlist.answer.complete_questions import complete_question, find_people
from shortlist.answer.follow_ups import Reference, find_reference
from shortlist.answer.prompts import REFUSAL
from shortlist.errors import InputError

WINDOW_TURNS = 5
SNIPPET = 200  # characters of the last answer that are part of the hint
LONGEST_TURN = 4_000  # characters of one message


class FollowUp(NamedTuple):
    """Whether a question refers to the turn before it, the question of that turn, a hint for retrieval, and the
    complete questions that it may stand for."""

    reference: Reference = "none"
    last_question: str = ""
    hint: str = ""
    complete: tuple[str, ...] = ()


NO_FOLLOW_UP = FollowUp()


class Memory:
    """A rolling window of turns."""

    def __init__(self, window_turns: int = WINDOW_TURNS) -> None:
        if isinstance(window_turns, bool) or not isinstance(window_turns, int) or window_turns < 0:
            raise InputError(f"window_turns must be 0 or more, not {window_turns!r}.")
        self._turns: deque[tuple[str, str]] = deque(maxlen=window_turns)

    def add(self, question: str, answer: str) -> None:
        self._turns.append((question[:LONGEST_TURN], answer[:LONGEST_TURN]))

    def clear(self) -> None:
        self._turns.clear()

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def last_question(self) -> str:
        return self._turns[-1][0] if self._turns else ""

    def history_messages(self) -> list[dict[str, str]]:
        """The turns as messages, oldest first, for between the system message and that of the user."""
        return [
            {"role": role, "content": text}
            for turn in self._turns
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]

    def find_reference(self, question: str) -> Reference:
        """Whether a question refers to the last turn; "none" without turns."""
        return find_reference(question) if self._turns else "none"

    def read_follow_up(self, question: str) -> FollowUp:
        """How a question refers to the last turn, and that turn."""
        reference = self.find_reference(question)
        complete = self._complete(question) if reference != "none" else []
        return FollowUp(reference, self.last_question, self.retrieval_hint(), tuple(complete))

    def _complete(self, question: str) -> list[str]:
        """The complete questions that a follow-up may stand for: earlier follow-ups are completed first."""
        last_question = people = ""
        for earlier, answer in self._turns:
            refers = last_question and find_reference(earlier) == "clear"
            found = complete_question(earlier, last_question, people) if refers else []
            people = find_people(earlier, answer) or (people if refers else "")
            last_question = found[0] if found else earlier
        return complete_question(question, last_question, people)

    def retrieval_hint(self) -> str:
        """The last question and the beginning of its answer unless it is the refusal; empty without turns."""
        if not self._turns:
            return ""
        question, answer = self._turns[-1]
        return question if answer == REFUSAL else f"{question} {answer[:SNIPPET]}"

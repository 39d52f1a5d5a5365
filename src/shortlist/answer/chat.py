"""A conversation over corpora that are opened once."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from shortlist.answer.agent import OnStep, agent_ask
from shortlist.answer.ask import OnEvidence, OnText, ask
from shortlist.answer.memory import WINDOW_TURNS, Memory
from shortlist.errors import InputError
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import LLM
from shortlist.results import Answer, Filter, MinRelevance


class ChatKeywords(TypedDict, total=False):
    """The options of `ask` and, with `agent`, of `agent_ask`; each takes its own."""

    k: int
    min_relevance: MinRelevance
    filter: Filter | None
    on_evidence: OnEvidence | None
    on_step: OnStep | None
    answer_from: float | None
    keep_unsupported: bool
    max_steps: int


class Chat:
    """Questions that may refer to earlier ones; options are those of `ask` or, with `agent`, of `agent_ask`."""

    def __init__(
        self,
        corpus: Searchable,
        llm: LLM | None = None,
        *,
        agent: bool = False,
        window_turns: int = WINDOW_TURNS,
        **options: Unpack[ChatKeywords],
    ) -> None:
        if agent and llm is None:
            raise InputError("An agent needs a language model: pass llm=..., or chat without one.")
        self.corpora = open_corpora(corpus, needs_vectors=True)
        self.llm = llm
        self.memory = Memory(window_turns)
        self._ask: Any = agent_ask if agent else ask
        self._options = options

    def ask(self, question: str, on_text: OnText | None = None, on_evidence: OnEvidence | None = None) -> Answer:
        """Answer a question and remember both."""
        options = {"memory": self.memory, "on_text": on_text, **self._options}
        options |= {"on_evidence": on_evidence} if on_evidence else {}
        answer: Answer = self._ask(self.corpora, question, self.llm, **options)
        self.memory.add(question, answer.text)
        return answer

    def reset(self) -> None:
        """Forget the conversation."""
        self.memory.clear()

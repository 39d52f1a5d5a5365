"""An agent that looks further with tools before it answers, for a limited number of steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shortlist.answer.ask import OnEvidence, OnText, answered, hint_of, opened, refusal, say, tell
from shortlist.answer.citations import Stream
from shortlist.answer.evidence import LONGEST_PASSAGE, K, Shown, as_shown, gather, nearness_in
from shortlist.answer.llm import add_usage
from shortlist.answer.memory import Memory
from shortlist.answer.prompts import FORCED, messages, passages
from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.library.opening import Searchable, open_states
from shortlist.protocols import LLM, Reply
from shortlist.results import Answer
from shortlist.search import agent_actions
from shortlist.search.filters import Filter
from shortlist.search.retrieve import open_query

MAX_STEPS = 5
MAX_CALLS = 4  # tools in one step; further ones are answered with an error
LONGEST_LIST = LONGEST_PASSAGE - 100  # characters of sources
LONGEST_RESULT = 8_000  # characters that a tool may return

OnStep = Callable[[Mapping[str, Any]], None]

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0, "maximum": agent_actions.MOST_NEIGHBORS, "default": 1}


def _tool(name: str, description: str, required: Sequence[str] = (), **parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters, "required": list(required), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    _tool("list_sources", "List the sources in the index."),
    _tool(
        "retrieve",
        "Find the passages that fit a query best, in all sources or in one.",
        ["query"],
        query=_TEXT,
        source={**_TEXT, "description": "A source as list_sources gives it."},
    ),
    _tool(
        "keyword_search",
        "Find passages that contain a text, character for character, ignoring case.",
        ["pattern"],
        pattern=_TEXT,
        source=_TEXT,
    ),
    _tool(
        "get_neighbors",
        "Show the passages just before and after one, within the same page, row or file.",
        ["source", "locator"],
        source=_TEXT,
        locator=_TEXT,
        before=_COUNT,
        after=_COUNT,
    ),
]


def agent_ask(
    corpus: Searchable,
    question: str,
    llm: LLM,
    *,
    k: int = K,
    threshold: float | None = None,
    filter: Filter | None = None,
    memory: Memory | None = None,
    on_text: OnText | None = None,
    on_evidence: OnEvidence | None = None,
    on_step: OnStep | None = None,
    max_steps: int = MAX_STEPS,
) -> Answer:
    """As `ask`, but the model may look further with four tools, for at most `max_steps` replies.

    The first reply without tool calls is the answer. At the limit one answer over all that was gathered is asked for;
    if nothing was, the refusal is returned. `on_step` is called with each tool call.
    """
    if llm is None:
        raise InputError("An agent needs a language model: pass llm=..., or use ask without one.")
    corpora = opened(corpus, question)
    toolbox = _Toolbox(corpora, question, k, threshold, filter, Shown(on_evidence), on_step)
    if question.strip():
        with open_query(corpora, question, "auto", k) as states:
            gathered = gather(states, question, k, threshold, filter, hint_of(memory))
        toolbox.shown.add_hits(gathered.hits)
    history = memory.history_messages() if memory else ()
    talk = messages(question, toolbox.shown.items, history, agent=True)
    stream = Stream(toolbox.shown.items, on_text, question)
    usage: dict[str, int] = {}
    for _ in range(max_steps):
        reply = say(llm, talk, TOOLS, stream)
        usage = add_usage(usage, reply)
        if not reply.tool_calls:
            return _finished(question, reply, toolbox, usage, stream)
        stream.forget()
        talk.append({"role": "assistant", "content": reply.text or None, "tool_calls": list(reply.tool_calls)})
        talk += toolbox.answer(reply.tool_calls)
    if not toolbox.shown.items:
        answer = refusal(question, toolbox.shown, "Nothing was found in as many steps as are allowed.", "agent")
        return tell(replace(answer, usage=usage, steps=toolbox.steps), on_text)
    reply = say(llm, [*talk, {"role": "user", "content": FORCED}], (), stream)
    return _finished(question, reply, toolbox, add_usage(usage, reply), stream)


def _finished(question: str, reply: Reply, toolbox: _Toolbox, usage: dict[str, int], stream: Stream) -> Answer:
    answer = answered(question, reply, toolbox.shown, "agent", usage)
    stream.finish(answer.text)
    return replace(answer, steps=toolbox.steps)


class _Toolbox:
    """The tools over some corpora, and what they have shown."""

    def __init__(
        self,
        corpora: list[Corpus],
        question: str,
        k: int,
        threshold: float | None,
        filter: Filter | None,
        shown: Shown,
        on_step: OnStep | None,
    ) -> None:
        self._corpora, self._question = corpora, question
        self._k, self._threshold, self._filter = k, threshold, filter
        self.shown = shown
        self._on_step = on_step
        self.steps: list[Mapping[str, Any]] = []
        self._tools: dict[str, Callable[..., str]] = {
            "list_sources": self._list_sources,
            "retrieve": self._retrieve,
            "keyword_search": self._keyword_search,
            "get_neighbors": self._get_neighbors,
        }

    def answer(self, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """A message for each call; whatever goes wrong with one is a text in it."""
        found = []
        for at, call in enumerate(calls):
            function = call.get("function")
            function = function if isinstance(function, Mapping) else {}
            name, arguments = str(function.get("name") or ""), function.get("arguments")
            step: dict[str, Any] = {"tool": name, "arguments": arguments}
            try:
                if at >= MAX_CALLS:
                    raise InputError(f"At most {MAX_CALLS} tools can be called at once.")
                text = self._call(name, arguments, step)
            except Exception as error:  # a model can act on it, and the loop goes on
                text = step["error"] = f"Error: {str(error) or type(error).__name__}"
            self.steps.append(step)
            if self._on_step:
                self._on_step(step)
            found.append({"role": "tool", "tool_call_id": str(call.get("id") or ""), "content": text})
        return found

    def _call(self, name: str, written: Any, step: dict[str, Any]) -> str:
        tool = self._tools.get(name)
        if tool is None:
            raise InputError(f"There is no tool {name!r}; the known ones are {', '.join(self._tools)}.")
        try:
            arguments = written if isinstance(written, Mapping) else json.loads(written or "{}")
        except (TypeError, ValueError):
            raise InputError(f"The arguments of {name} are not valid JSON.") from None
        if not isinstance(arguments, Mapping):
            raise InputError(f"The arguments of {name} are an object, not {type(arguments).__name__}.")
        step["arguments"] = dict(arguments)
        schema = next(tool["function"]["parameters"] for tool in TOOLS if tool["function"]["name"] == name)
        unknown = [key for key in arguments if key not in schema["properties"]]
        missing = [key for key in schema["required"] if arguments.get(key) in (None, "")]
        if unknown or missing:
            wrong = f"does not take {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"
            raise InputError(f"{name} {wrong}.")
        return tool(**{key: value for key, value in arguments.items() if value is not None})

    def _list_sources(self) -> str:
        found = agent_actions.list_sources(self._corpora, filter=self._filter)
        lines: list[str] = []
        for source in found["sources"]:
            if sum(map(len, lines)) + len(lines) + len(source) > LONGEST_LIST:
                break
            lines.append(source)
        if found["total"] > len(lines):
            lines.append(f"(and {found['total'] - len(lines)} more)")
        return self._show([{"source": "list_sources", "locator": "whole", "text": "\n".join(lines), "score": 1.0}], "")

    def _retrieve(self, query: str, source: str | None = None) -> str:
        with open_query(self._corpora, str(query), "auto", self._k) as states:
            chosen = agent_actions.only(source, self._filter, states)
            gathered = gather(states, str(query), self._k, self._threshold, chosen)
        return self._show([as_shown(hit, score) for hit, score in gathered.hits], gathered.reason)

    def _keyword_search(self, pattern: str, source: str | None = None) -> str:
        found = agent_actions.keyword_search(self._corpora, pattern, source, filter=self._filter)
        return self._show(found["passages"], "No passage holds it.")

    def _get_neighbors(self, source: str, locator: str, before: int = 1, after: int = 1) -> str:
        known = next((one for one in self.shown.items if source in (one.label, one.source)), None)
        name = known.source if known else source
        with open_states(self._corpora) as states:
            found = agent_actions.get_neighbors(states, name, locator, before, after, self._filter)
            scores = nearness_in(states, self._question, found["passages"][0]["id"])
        near = [one | {"score": scores.get(one["locator"], 0.0)} for one in found["passages"]]
        return self._show(near, "It has no neighbours.")

    def _show(self, found: Sequence[Mapping[str, Any]], otherwise: str) -> str:
        """As many passages as a result may hold; only these count as shown."""
        texts: list[str] = []
        for one in found:
            if sum(map(len, texts)) + len(one["text"]) > LONGEST_RESULT and texts:
                texts.append(f"({len(found) - len(texts)} more were found. Ask for something narrower to see them.)")
                break
            texts.append(passages([self.shown.add(**one)]))
        return "\n".join(texts) or otherwise

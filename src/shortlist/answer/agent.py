"""An agent that may search with tools before it answers, for a limited number of steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shortlist._telemetry import traced
from shortlist._text import count_of
from shortlist.answer.ask import (
    OnEvidence,
    OnText,
    open_for_question,
    open_stream,
    prepare_question,
    refuse,
    request_reply,
    verify_answer,
)
from shortlist.answer.evidence import EvidenceList, K, describe_hit, gather, rate_passages
from shortlist.answer.extractive.units.unit import LONGEST_PASSAGE
from shortlist.answer.llm import add_usage
from shortlist.answer.memory import Memory
from shortlist.answer.prompts import FORCED, render_passages
from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.library.opening import Searchable, open_states
from shortlist.protocols import LLM
from shortlist.results import Answer, MinRelevance, accept_threshold
from shortlist.retrieval import agent_actions
from shortlist.retrieval.filters import Filter
from shortlist.retrieval.search import open_query
from shortlist.safety.principals import show_source

MAX_STEPS = 5
MAX_CALLS = 4  # tool calls in one step; more get an error
LONGEST_LIST = LONGEST_PASSAGE - 100  # characters of a list of sources
LONGEST_RESULT = 8_000  # characters of what a tool returns
TOOLS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("agent_tools.json").read_text("utf-8"))
_SCHEMAS: dict[str, Any] = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}

OnStep = Callable[[Mapping[str, Any]], None]


@accept_threshold
@traced("agent_ask", lambda answer: {"refused": answer.refused, "by": answer.by})
def agent_ask(
    corpus: Searchable,
    question: str,
    llm: LLM,
    *,
    k: int = K,
    min_relevance: MinRelevance = "auto",
    filter: Filter | None = None,
    memory: Memory | None = None,
    on_text: OnText | None = None,
    on_evidence: OnEvidence | None = None,
    on_step: OnStep | None = None,
    max_steps: int = MAX_STEPS,
    keep_unsupported: bool = False,
) -> Answer:
    """As `ask`, but the model may search further with four tools, for at most `max_steps` replies.

    The first reply without tool calls is the answer. At the limit, one last reply is requested from all that was found;
    if nothing was, the answer is the refusal. `on_step` is called with each tool call.
    """
    if llm is None:
        raise InputError("An agent needs a language model: pass llm=..., or use ask without one.")
    corpora = open_for_question(corpus, question, llm)
    prepared = prepare_question(corpora, question, k=k, min_relevance=min_relevance, filter=filter, memory=memory)
    prepared.evidence.announce(on_evidence)
    tools = _Tools(prepared.corpora, question, k, min_relevance, filter, prepared.evidence, on_step)
    messages = prepared.build_messages(agent=True)
    stream = open_stream(prepared, on_text, keep_unsupported=keep_unsupported)
    usage: dict[str, int] = {}
    for _ in range(max_steps):
        reply = request_reply(llm, messages, TOOLS, stream)
        usage = add_usage(usage, reply)
        if not reply.tool_calls:
            break
        stream.reset()
        messages.append({"role": "assistant", "content": reply.text or None, "tool_calls": list(reply.tool_calls)})
        messages += tools.call_all(reply.tool_calls)
    else:
        if not prepared.evidence.citable:
            answer = refuse(prepared, f"No passage was found in {max_steps} steps, the limit.", "agent")
            stream.finish(answer.text)
            return replace(answer, usage=usage, steps=tools.steps)
        reply = request_reply(llm, [*messages, {"role": "user", "content": FORCED}], (), stream)
        usage = add_usage(usage, reply)
    answer = verify_answer(prepared, reply, stream, "agent", usage)
    stream.finish(answer.text)
    return replace(answer, steps=tools.steps)


@dataclass
class _Tools:
    """The tools of an agent; each returns passages, which count as shown."""

    corpora: list[Corpus]
    question: str
    k: int
    min_relevance: MinRelevance
    filter: Filter | None
    shown: EvidenceList
    on_step: OnStep | None
    steps: list[Mapping[str, Any]] = field(default_factory=list)

    def call_all(self, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """A message for each call; an error is the text of its message."""
        results = []
        for at, call in enumerate(calls):
            function = call.get("function")
            function = function if isinstance(function, Mapping) else {}
            name, arguments = str(function.get("name") or ""), function.get("arguments")
            step: dict[str, Any] = {"tool": name, "arguments": arguments}
            try:
                if at >= MAX_CALLS:
                    raise InputError(f"At most {MAX_CALLS} tools can be called at once.")
                step["arguments"] = _parse_arguments(name, arguments)
                text = self._call(name, step["arguments"])
            except Exception as error:  # the model can react to it, and the loop continues
                text = step["error"] = f"Error: {str(error) or type(error).__name__}"
            self.steps.append(step)
            if self.on_step:
                self.on_step(step)
            results.append({"role": "tool", "tool_call_id": str(call.get("id") or ""), "content": text})
        return results

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        schema = _SCHEMAS[name]
        unknown = [key for key in arguments if key not in schema["properties"]]
        missing = [key for key in schema["required"] if arguments.get(key) in (None, "")]
        if unknown or missing:
            wrong = f"does not take {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"
            raise InputError(f"{name} {wrong}.")
        run: Callable[..., str] = getattr(self, f"_{name}")
        return run(**{key: value for key, value in arguments.items() if value is not None})

    def _list_sources(self) -> str:
        found = agent_actions.list_sources(self.corpora, filter=self.filter)
        lines = [f"{count_of(found['total'], 'source')}:"]
        for source in map(show_source, found["sources"]):
            if sum(map(len, lines)) + len(lines) + len(source) > LONGEST_LIST:
                break
            lines.append(source)
        if rest := found["total"] - len(lines) + 1:
            lines.append(f"(and {rest} more)")
        return render_passages([self.shown.add_list("list_sources", "\n".join(lines))])

    def _retrieve(self, query: str, source: str | None = None) -> str:
        with open_query(self.corpora, str(query), "auto", self.k) as states:
            filter = agent_actions.only(source, self.filter, states)
            gathered = gather(states, str(query), self.k, self.min_relevance, filter)
        return self._show([describe_hit(hit) for hit in gathered.hits], gathered.reason)

    def _keyword_search(self, pattern: str, source: str | None = None) -> str:
        found = agent_actions.keyword_search(self.corpora, pattern, source, filter=self.filter)
        with open_states(self.corpora) as states:
            passages = rate_passages(states, self.question, found["passages"])
        return self._show(passages, "No passage contains it.")

    def _get_neighbors(self, source: str, locator: str, before: int = 1, after: int = 1) -> str:
        names = [one.source for one in self.shown.items if source in (one.label, one.source)]
        with open_states(self.corpora) as states:
            found = agent_actions.get_neighbors(states, [*names, source][0], locator, before, after, self.filter)
            passages = rate_passages(states, self.question, found["passages"])
        return self._show(passages, "It has no neighbors.")

    def _show(self, found: Sequence[Mapping[str, Any]], otherwise: str) -> str:
        """The passages that fit into a result; only these count as shown."""
        texts: list[str] = []
        for one in found:
            if sum(map(len, texts)) + len(one["text"]) > LONGEST_RESULT and texts:
                texts.append(f"({len(found) - len(texts)} more were found. Ask for something narrower to see them.)")
                break
            texts.append(render_passages([self.shown.add(**one)]))
        return "\n".join(texts) or otherwise


def _parse_arguments(name: str, written: Any) -> dict[str, Any]:
    if name not in _SCHEMAS:
        raise InputError(f"{name!r} is not a tool. Use one of {', '.join(_SCHEMAS)}.")
    try:
        arguments = written if isinstance(written, Mapping) else json.loads(written or "{}")
    except (TypeError, ValueError):
        raise InputError(f"The arguments of {name} are not valid JSON.") from None
    if not isinstance(arguments, Mapping):
        raise InputError(f"The arguments of {name} must be an object, not {type(arguments).__name__}.")
    return dict(arguments)

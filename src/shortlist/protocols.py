"""Protocols of rankers, embedders and language models, and the tool for agents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, runtime_checkable

from shortlist._limits import check_canceled
from shortlist.errors import InputError

if TYPE_CHECKING:
    from shortlist.results import Filter, Loader, MinRelevance, Mode, Selector, Vectors


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a language model. `tool_calls` are in the chat-completions format; `model` is the one that replied.

    `broke_off` is why the reply ended early, or empty.
    """

    text: str
    tool_calls: Sequence[Mapping[str, Any]] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    broke_off: str = ""


@dataclass(frozen=True, eq=False)
class AgentTool:
    """A tool for an agent: a description for the model and a function to call.

    `parameters` is a JSON Schema; `run` takes the arguments by name and returns JSON-compatible data.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[..., Any] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _TOOL_NAME.fullmatch(self.name):
            raise InputError(f"A tool name must have 1 to 64 letters, digits, _ or -, not {self.name!r}.")

    @property
    def parameters_schema(self) -> dict[str, Any]:
        return self.parameters

    def __call__(self, *values: Any, **arguments: Any) -> Any:
        """Call the tool. Unknown, missing or wrong arguments raise an InputError that a model can act on."""
        known = list(self.parameters["properties"])
        wrong = [*(name for name in arguments if name not in known), *values[len(known) :]]
        if wrong:
            raise InputError(f"{self.name} takes {', '.join(known)}, not {wrong[0]!r}.")
        arguments |= dict(zip(known, values, strict=False))
        for name in self.parameters.get("required", ()):
            if arguments.get(name) is None:
                raise InputError(f"{self.name} needs the argument {name!r}.")
        return self.run(**arguments)

    def invoke(self, arguments: str | Mapping[str, Any]) -> Any:
        """Call the tool with the arguments of a model: a mapping, or JSON text."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError as error:
                raise InputError(f"The arguments for {self.name} are not valid JSON: {error}.") from None
        if not isinstance(arguments, Mapping):
            raise InputError(f"The arguments for {self.name} must be an object, not {arguments!r}.")
        return self(**arguments)

    def to_openai(self) -> dict[str, Any]:
        """The tool in OpenAI's format (an entry of `tools`)."""
        function = {"name": self.name, "description": self.description, "parameters": deepcopy(self.parameters)}
        return {"type": "function", "function": function}

    def to_anthropic(self) -> dict[str, Any]:
        """The tool in Anthropic's format (an entry of `tools`)."""
        return {"name": self.name, "description": self.description, "input_schema": deepcopy(self.parameters)}

    def to_mcp(self) -> dict[str, Any]:
        """The tool in MCP's format (an entry of the `tools/list` result)."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": deepcopy(self.parameters),
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }


class RuleKeywords(TypedDict, total=False):
    """The numbers that the rules of a selection use, as keyword arguments."""

    rel: float
    gap_ratio: float
    temperature: float
    cutoff: float


class ToolKeywords(RuleKeywords, total=False):
    """The keyword arguments of a search that becomes a tool, besides those that describe the tool."""

    mode: Mode
    filter: Filter | None
    strategy: str | Selector
    min_relevance: MinRelevance
    loader: Loader | None
    roots: Sequence[str | Path] | None


_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # valid for OpenAI, Anthropic and MCP


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. A zero vector means that nothing in the text is known."""

    @property
    def name(self) -> str:
        """The name that a corpus stores. The same name must always give the same vectors."""
        ...

    @property
    def dim(self) -> int: ...

    def encode_query(self, text: str) -> Vectors: ...

    def encode_documents(self, texts: Sequence[str]) -> Vectors: ...


Messages = Sequence[Mapping[str, Any]]


class LLM(Protocol):
    """A chat model."""

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply: ...


@runtime_checkable
class StreamingLLM(Protocol):
    """A chat model that can stream its reply."""

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply: ...

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        """Like `complete`, and calls `on_text` with each new piece of text."""
        ...


@runtime_checkable
class AsyncLLM(Protocol):
    """A chat model for asynchronous programs."""

    async def acomplete(self, messages: Messages, tools: Messages = ()) -> Reply: ...


@runtime_checkable
class AsyncStreamingLLM(Protocol):
    """A chat model for asynchronous programs that can stream its reply."""

    async def acomplete(self, messages: Messages, tools: Messages = ()) -> Reply: ...

    async def astream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        """Like `acomplete`, and calls `on_text` with each new piece of text."""
        ...


Progress = Callable[[int, int | None], None]
"""Called with the number of items that are done, and of all items if it is known. See also `report_phase`."""
ProgressOption = Progress | bool | None
"""A callback; or whether to show a bar if someone is watching, which is the default (None)."""
Item = TypeVar("Item")


@runtime_checkable
class Countable(Protocol):
    """A `Progress` that shows a bar: it takes a unit, such as files, and is called as often as possible."""

    def __call__(self, done: int, total: int | None) -> None: ...
    def count(self, done: float, total: int | None, unit: str = "") -> None: ...
    def phase(self, name: str, done: int = 0, total: int | None = None) -> None: ...


def track(items: Iterable[Item], progress: Progress | None, total: int | None = None, every: int = 1) -> Iterator[Item]:
    """Yield the items, and report progress after every n-th and the last one, to a bar after each."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    if isinstance(progress, Countable):
        every = 1
        progress.count(0, total)
    for done, item in enumerate(items, 1):
        check_canceled()
        yield item
        if progress and (not done % every or done == total):
            progress(done, total)


def report_phase(progress: Progress | None, phase: str, done: int = 0, total: int | None = None) -> None:
    """Report a part of the work that counts other items, such as embedding, which counts passages.

    It is reported only to a `progress` that has a method `phase(name, done, total)`.
    """
    show = getattr(progress, "phase", None)
    if show is not None:
        show(phase, done, total)

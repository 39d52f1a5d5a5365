"""What the pipeline asks of a ranker, an embedder and a language model, and the tool it gives to an agent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from shortlist.errors import InputError
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.results import Mask, Vectors


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model answered; `tool_calls` as in the chat-completions format, `model` the one that answered.

    `broke_off` is why it ended early, or empty.
    """

    text: str
    tool_calls: Sequence[Mapping[str, Any]] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    broke_off: str = ""


@dataclass(frozen=True, eq=False)
class AgentTool:
    """Something that an agent may call: it is described to a model, and called with the arguments that come back.

    `parameters` is a JSON Schema; `run` takes them by name and returns plain data, as JSON has it.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[..., Any] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _TOOL_NAME.fullmatch(self.name):
            raise InputError(f"The name of a tool is 1 to 64 letters, digits, _ or -, not {self.name!r}.")

    @property
    def parameters_schema(self) -> dict[str, Any]:
        return self.parameters

    def __call__(self, *values: Any, **arguments: Any) -> Any:
        """Call it; an argument that is unknown, missing or wrong is an InputError whose sentence a model can heed."""
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
        """Call it with arguments as a model gives them: a mapping, or its JSON text."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError as error:
                raise InputError(f"The arguments for {self.name} are not valid JSON: {error}.") from None
        if not isinstance(arguments, Mapping):
            raise InputError(f"The arguments for {self.name} are an object, not {arguments!r}.")
        return self(**arguments)

    def to_openai(self) -> dict[str, Any]:
        """As an entry of `tools` in a chat completion."""
        function = {"name": self.name, "description": self.description, "parameters": deepcopy(self.parameters)}
        return {"type": "function", "function": function}

    def to_anthropic(self) -> dict[str, Any]:
        """As an entry of `tools` in a message."""
        return {"name": self.name, "description": self.description, "input_schema": deepcopy(self.parameters)}

    def to_mcp(self) -> dict[str, Any]:
        """As an entry of the answer to `tools/list`."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": deepcopy(self.parameters),
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }


_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what OpenAI, Anthropic and MCP all take


class Ranker(Protocol):
    """Orders a snapshot's passages for a query."""

    def rank(self, query: str, k: int, allowed: Mask | None = None) -> Ranking:
        """The k best allowed passages, and every other that ties with the last of them."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors; a zero vector says that nothing in the text is known."""

    @property
    def name(self) -> str:
        """What the corpus writes down: the same name must always mean the same vectors."""
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
    """A chat model that can tell what it says while it says it."""

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply: ...

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        """As `complete`; `on_text` is called with each further piece of the text."""
        ...


Progress = Callable[[int, int | None], None]
Item = TypeVar("Item")


def track(items: Iterable[Item], progress: Progress | None, total: int | None = None, every: int = 1) -> Iterator[Item]:
    """The items; after each n-th and the last one, report how many are done, of how many if that is known."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    for done, item in enumerate(items, 1):
        yield item
        if progress and (not done % every or done == total):
            progress(done, total)

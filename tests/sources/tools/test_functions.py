"""Python functions as tools: what their signatures, hints and docstrings become."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import functools
import heapq
import json
import textwrap
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict, Union

import pydantic
import pytest

from shortlist import CorpusSource, Document, InputError, Problem, build, search
from shortlist.sources.tools.functions import describe_function, read_docstring

if TYPE_CHECKING:
    from decimal import Decimal


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Address:
    """A place.

    Args:
        street: With the number.
    """

    street: str
    zip: int = 0
    other: Address | None = None


class Size(TypedDict):
    width: int
    height: NotRequired[int]


class Point(pydantic.BaseModel):
    x: int = pydantic.Field(description="To the right")


class Line(pydantic.BaseModel):
    ends: list[Point]


UserId = NewType("UserId", str)


def schema_of(hint: Any) -> dict[str, Any]:
    def function(value) -> None: ...  # type: ignore[no-untyped-def]

    function.__annotations__ = {"value": hint}
    schema: dict[str, Any] = describe_function(function)[0]["parameters"]
    assert schema.pop("type") == "object"
    assert schema.pop("required") == ["value"]
    properties = schema.pop("properties")
    return {**properties["value"], **schema}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (Path, {"type": "string", "format": "path"}),
        (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045
        (Union[int, str], {"type": ["integer", "string"]}),  # noqa: UP007
        (int | None, {"type": ["integer", "null"]}),
        (list[int] | None, {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Colour, {"enum": ["red", "blue"], "type": "string"}),
        (Level, {"enum": [1, 2], "type": "integer"}),
        (list, {"type": "array", "items": {}}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (typing.List[str], {"type": "array", "items": {"type": "string"}}),  # noqa: UP006
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (Iterable[int], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}],
                           "minItems": 2, "maxItems": 2}),
        (dict, {"type": "object", "additionalProperties": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
        (Callable[[int], str], {}),
        (UserId, {"type": "string"}),
        (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
        (Annotated[int, {"no": "text"}], {"type": "integer"}),
        (type("Name", (str,), {}), {"type": "string"}),
        (Annotated[int, pydantic.Field(description="How many", ge=1)],
         {"type": "integer", "description": "How many", "minimum": 1}),
        (Size, {"type": "object", "properties": {"width": {"type": "integer"}, "height": {"type": "integer"}},
                "required": ["width"]}),
        (list[Size], {"type": "array", "items": {"type": "object", "required": ["width"], "properties": {
            "width": {"type": "integer"}, "height": {"type": "integer"}}}}),
        (Size | None, {"anyOf": [{"type": "object", "required": ["width"], "properties": {
            "width": {"type": "integer"}, "height": {"type": "integer"}}}, {"type": "null"}]}),
    ],
    ids=str,
)  # fmt: skip
def test_a_hint_becomes_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_a_dataclass_brings_its_docstring_and_what_contains_itself_stays_a_reference() -> None:
    schema = schema_of(Address)
    definition = schema.pop("$defs")["Address"]
    assert schema == definition
    assert (schema["type"], schema["description"], schema["required"]) == ("object", "A place.", ["street"])
    assert schema["properties"] == {
        "street": {"type": "string", "description": "With the number."},
        "zip": {"type": "integer", "default": 0},
        "other": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
    }


def test_a_pydantic_model_brings_its_own_schema() -> None:
    point = {"type": "object", "properties": {"x": {"type": "integer", "description": "To the right"}}}
    assert schema_of(Line) == {
        "type": "object",
        "properties": {"ends": {"type": "array", "items": {**point, "required": ["x"]}}},
        "required": ["ends"],
    }


GOOGLE = """Book a table.

    Waits for the answer.

    Args:
        place (str): Name of the
            restaurant: as on its sign.
        guests: How many come.
        **rest: Whatever.

    Returns:
        guests: no parameter.
    """
NUMPY = """Book a table.

    Waits for the answer.

    Parameters
    ----------
    place : str
        Name of the restaurant: as on its sign.
    guests, others : int, optional
        How many come.

    Returns
    -------
    place : str
        No parameter.
    """
SPHINX = """Book a table.

    Waits for the answer.

    :param place: Name of the
        restaurant: as on its sign.
    :type place: str
    :param int guests: How many come.
    :returns: No parameter.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["Google", "NumPy", "Sphinx"])
def test_docstrings_of_three_styles_say_the_same(docstring: str) -> None:
    prose, said = read_docstring(docstring)
    assert prose == "Book a table.\n\nWaits for the answer."
    assert said["place"] == "Name of the restaurant: as on its sign."
    assert said["guests"] == "How many come."


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (None, ("", {})),
        ("", ("", {})),
        ("One line.", ("One line.", {})),
        ("Args:", ("Args:", {})),
        ("Text.\n\nArgs:\n", ("Text.\n\nArgs:", {})),
        ("Text.\n\nArgs:\n    no entry here\n", ("Text.\n\nArgs:\n    no entry here", {})),
        ("Text.\n\nParameters\n----------", ("Text.\n\nParameters\n----------", {})),
        ("Parameters of the model are kept.", ("Parameters of the model are kept.", {})),
        ("Parameters\nwithout a rule", ("Parameters\nwithout a rule", {})),
        ("Text.\n\n:param:", ("Text.\n\n:param:", {})),
        ("Text.\n\nArgs:\n  a (dict[str, (int)]): A.\n\n  b:\n    B.\n", ("Text.", {"a": "A.", "b": "B."})),
    ],
    ids=repr,
)
def test_a_docstring_may_be_missing_or_odd(docstring: str | None, expected: tuple[str, dict[str, str]]) -> None:
    assert read_docstring(docstring) == expected


def book(
    place: str,
    guests: Annotated[int, "How many come."] = 2,
    *args: Any,
    seat: Literal["inside", "outside"] = "inside",
    price: Decimal | None = None,
    **kwargs: Any,
) -> str:
    """Book a table.

    Args:
        place: Name of the restaurant.
    """
    return f"{place}{guests}{args}{seat}{price}{kwargs}"


def test_a_function_becomes_a_tool() -> None:
    """The name Decimal is known to type checkers only: nothing is said of that parameter, the others are."""
    parameters = {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "Name of the restaurant."},
            "guests": {"type": "integer", "description": "How many come.", "default": 2},
            "seat": {"enum": ["inside", "outside"], "type": "string", "default": "inside"},
            "price": {"default": None},
        },
        "required": ["place"],
    }
    (tool,) = CorpusSource.from_functions([book])
    assert isinstance(tool, Document)
    assert (tool.id, tool.title, tool.kind, tool.source) == ("book", "book", "tool", f"{__name__}:book")
    assert tool.content == (
        "Book a table.\n\nplace: Name of the restaurant.\nguests: How many come.\nseat (inside, outside)\nprice"
    )
    assert json.loads(tool.payload or "") == {"name": "book", "description": "Book a table.", "parameters": parameters}


class Desk:
    """A desk.

    Args:
        owner: Whose it is.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def open(self, drawer: int = 1) -> None:
        """Open a drawer."""

    @classmethod
    def make(cls, wood: str) -> None:
        """Make one."""

    @staticmethod
    def price(wood: str) -> None:
        """Say what it costs."""

    def __call__(self, letter: str) -> None:
        """Write a letter."""


async def wait(seconds: float) -> None:
    """Wait a while."""
    await asyncio.sleep(seconds)


def field(n: int = pydantic.Field(description="How many"), m: int = pydantic.Field(3)) -> None:
    """Take fields."""


DESK = Desk("me")
BUILTIN_WITHOUT_SIGNATURE: Any = dict


@pytest.mark.parametrize(
    ("function", "name", "description", "parameters"),
    [
        (DESK.open, "open", "Open a drawer.", {"drawer": {"type": "integer", "default": 1}}),
        (Desk.open, "open", "Open a drawer.", {"drawer": {"type": "integer", "default": 1}}),
        (Desk.make, "make", "Make one.", {"wood": {"type": "string"}}),
        (Desk.price, "price", "Say what it costs.", {"wood": {"type": "string"}}),
        (Desk, "Desk", "A desk.", {"owner": {"type": "string", "description": "Whose it is."}}),
        (DESK, "Desk", "A desk.", {"letter": {"type": "string"}}),
        (wait, "wait", "Wait a while.", {"seconds": {"type": "number"}}),
        (functools.partial(wait, 5), "wait", "Wait a while.", {}),
        (functools.partial(DESK.open, drawer=3), "open", "Open a drawer.",
         {"drawer": {"type": "integer", "default": 3}}),
        (functools.lru_cache(wait), "wait", "Wait a while.", {"seconds": {"type": "number"}}),
        (len, "len", "Return the number of items in a container.", {"obj": {}}),
        (str.upper, "upper", "Return a copy of the string converted to uppercase.", {}),
        (field, "field", "Take fields.", {"n": {"type": "integer", "description": "How many"},
                                          "m": {"type": "integer", "default": 3}}),
        (lambda x: x, "<lambda>", "", {"x": {}}),
    ],
)  # fmt: skip
def test_whatever_can_be_called_is_described(
    function: Callable[..., Any], name: str, description: str, parameters: dict[str, Any]
) -> None:
    found, _ = describe_function(function)
    assert (found["name"], found["description"]) == (name, description)
    assert found["parameters"]["properties"] == parameters


def test_of_a_builtin_without_a_signature_nothing_is_said() -> None:
    assert describe_function(BUILTIN_WITHOUT_SIGNATURE)[0]["parameters"] == {"type": "object"}


def test_a_default_that_json_cannot_hold_is_left_out() -> None:
    def function(a: object = object(), b: float = float("nan"), c: Colour = Colour.RED) -> None: ...

    found = describe_function(function)[0]["parameters"]
    assert found["properties"] == {
        "a": {},
        "b": {"type": "number"},
        "c": {"enum": ["red", "blue"], "type": "string", "default": "red"},
    }
    assert "required" not in found


def test_functions_of_one_name_are_kept_apart() -> None:
    def other() -> None: ...

    other.__name__ = "book"
    assert [tool.id for tool in CorpusSource.from_functions([book, other])] == [
        "book",
        f"{__name__}:{other.__qualname__}",
    ]


class Broken:
    def __call__(self) -> None: ...

    @property
    def __name__(self) -> str:
        raise OSError("no name")


def test_a_function_that_cannot_be_described_is_a_problem_and_the_others_are_taken() -> None:
    document = Document("x", "X", "text")
    first, second, third, fourth = CorpusSource.from_tools([Broken(), book, {"name": "y"}, document])
    assert first == Problem("entry 1 of the list", "In entry 1 of the list, Broken cannot be described: no name.")
    assert [second.id, third.id, fourth] == ["book", "y", document]


@pytest.mark.parametrize("functions", [book, 5, ["text"], [book, {"name": "x"}]])
def test_what_is_no_list_of_functions_is_an_input_error(functions: Any) -> None:
    with pytest.raises(InputError, match="from_functions takes"):
        CorpusSource.from_functions(functions)


def test_the_functions_of_a_module_are_as_they_were() -> None:
    heaps = ["heapify", "heappop", "heappush", "heappushpop", "heapreplace", "merge", "nlargest", "nsmallest"]
    texts = ["wrap", "fill", "shorten", "dedent", "indent"]
    functions = [getattr(heapq, name) for name in heaps] + [getattr(textwrap, name) for name in texts]
    source = CorpusSource.from_functions(functions)
    tools = [tool for tool in source if isinstance(tool, Document)]
    assert len(tools) == len(list(source)) == 13
    assert (tools[0].id, tools[0].source) == ("heapify", "_heapq:heapify")
    assert tools[9].id == "fill"
    assert tools[9].content.startswith("Fill a single paragraph of text, returning a new string.")
    assert json.loads(tools[9].payload or "")["parameters"]["properties"]["width"] == {"default": 70}
    assert (tools[-1].id, tools[-1].source) == ("indent", "textwrap:indent")
    corpus = build(source, in_memory=True, embedder="none")
    assert [hit.id for hit in search(corpus, "remove leading whitespace", k=1)] == ["dedent"]

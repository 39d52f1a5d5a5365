"""What does a Python function take? Its signature, hints and docstring, as the JSON Schema of a tool."""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import datetime
import enum
import functools
import inspect
import json
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from shortlist.sources.tools.docstrings import read_docstring

Schema = dict[str, Any]

_PLAIN: dict[type, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string", "format": "binary"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    pathlib.Path: {"type": "string", "format": "path"},
}
_TYPES_OF_VALUES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """What is known of a function; `address` is module:name."""

    name: str
    description: str
    parameters: Schema
    address: str


def describe_function(function: Callable[..., Any]) -> Function:
    """A function, method, partial, class or object that can be called. Of *args and **kwargs nothing can be said."""
    inner = _unwrap(function)
    own = inner if hasattr(inner, "__name__") else type(inner)
    called = inner if inspect.isroutine(inner) or inspect.isclass(inner) else type(inner).__call__
    description, said = read_docstring(inspect.getdoc(inner) or inspect.getdoc(called))
    if inspect.isclass(inner):
        said = {**said, **read_docstring(inspect.getdoc(inner.__init__))[1]}
    parameters = _parameters(function, inner.__init__ if inspect.isclass(inner) else called, said)
    address = f"{getattr(own, '__module__', None) or 'builtins'}:{getattr(own, '__qualname__', own.__name__)}"
    return Function(own.__name__, description, parameters, address)


def _unwrap(function: Any) -> Any:
    while isinstance(function, functools.partial | functools.partialmethod):
        function = function.func
    return function


def _parameters(function: Callable[..., Any], hinted: Any, said: Mapping[str, str]) -> Schema:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none
        return {"type": "object"}
    hints = _hints(hinted)
    builder = _Builder()
    properties: Schema = {}
    required: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name in ("self", "cls"):
            continue
        schema = builder.schema(hints.get(name, parameter.annotation))
        if name in said:
            schema.setdefault("description", said[name])
        if _add_default(schema, parameter.default):
            required.append(name)
        properties[name] = schema
    whole: Schema = {"type": "object", "properties": properties, "required": required, "$defs": builder.definitions}
    return {key: value for key, value in whole.items() if value or key == "properties"}


def _hints(function: Any) -> dict[str, Any]:
    """Annotations with the names in them looked up, but those that cannot be."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # an annotation may raise anything; perhaps only one of them does
        return _hints_one_by_one(inspect.unwrap(function))


def _hints_one_by_one(function: Any) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        alone = types.SimpleNamespace(__annotations__={name: hint})
        with contextlib.suppress(Exception):
            hints |= typing.get_type_hints(alone, getattr(function, "__globals__", {}), include_extras=True)
    return hints


def _add_default(schema: Schema, default: Any) -> bool:
    """Note the default of a parameter, and what a pydantic Field in its place says; True if it is required."""
    if default is inspect.Parameter.empty:
        return True
    if hasattr(default, "is_required") and hasattr(default, "description"):
        if default.description:
            schema["description"] = default.description
        return bool(default.is_required()) or _add_default(schema, default.default)
    plain = default.value if isinstance(default, enum.Enum) else default
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        schema["default"] = json.loads(json.dumps(plain, allow_nan=False))
    return False


class _Builder:
    """JSON Schemas of annotations. `definitions` gathers what they refer to."""

    def __init__(self) -> None:
        self.definitions: Schema = {}
        self._inside: list[Any] = []

    def schema(self, hint: Any) -> Schema:
        """The schema of an annotation; an empty one, which allows anything, where nothing is known."""
        if hint is None:
            return {"type": "null"}
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(arguments[0], arguments[1:])
        if origin is typing.Literal:
            return _choice(arguments)
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments)
        if origin in (typing.Required, typing.NotRequired):
            return self.schema(arguments[0])
        if isinstance(hint, typing.NewType):
            return self.schema(hint.__supertype__)
        if hasattr(hint, "__value__"):  # type Name = ...
            return self.schema(hint.__value__)
        return self._class(origin or hint, arguments)

    def _annotated(self, hint: Any, notes: tuple[Any, ...]) -> Schema:
        schema = self.schema(hint)
        for note in notes:
            text = note if isinstance(note, str) else getattr(note, "description", getattr(note, "documentation", None))
            if isinstance(text, str) and text:
                schema["description"] = text
        return schema

    def _union(self, hints: tuple[Any, ...]) -> Schema:
        schemas = [self.schema(hint) for hint in hints]
        kinds = [schema["type"] for schema in schemas if set(schema) == {"type"} and isinstance(schema["type"], str)]
        if len(kinds) == len(schemas):
            return {"type": kinds if len(kinds) > 1 else kinds[0]}
        return {"anyOf": schemas}

    def _class(self, hint: Any, arguments: tuple[Any, ...]) -> Schema:
        if not isinstance(hint, type):
            return {}
        if hasattr(hint, "model_json_schema"):  # a pydantic model
            return self._model(hint)
        if issubclass(hint, enum.Enum):
            return _choice(tuple(member.value for member in hint))
        if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
            return self._fields(hint)
        if issubclass(hint, collections.abc.Mapping):
            return self._mapping(arguments)
        if issubclass(hint, tuple) and arguments and ... not in arguments:
            return {"type": "array", "prefixItems": [self.schema(argument) for argument in arguments]}
        if issubclass(hint, collections.abc.Iterable) and not issubclass(hint, str | bytes):
            return self._array(arguments)
        base = next((base for base in hint.__mro__ if base in _PLAIN), None)
        return dict(_PLAIN[base]) if base else {}

    def _mapping(self, arguments: tuple[Any, ...]) -> Schema:
        values = self.schema(arguments[1]) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}

    def _array(self, arguments: tuple[Any, ...]) -> Schema:
        items = self.schema(arguments[0]) if arguments else {}
        return {"type": "array", "items": items} if items else {"type": "array"}

    def _model(self, model: Any) -> Schema:
        schema: Schema = model.model_json_schema()
        self.definitions.update(schema.pop("$defs", {}))
        return schema

    def _fields(self, hint: Any) -> Schema:
        """A dataclass or TypedDict; inside itself only an object."""
        if hint in self._inside:
            return {"type": "object"}
        self._inside.append(hint)
        hints = _hints(hint)
        if dataclasses.is_dataclass(hint):
            fields = {field.name: _is_needed(field) for field in dataclasses.fields(hint)}
        else:
            fields = {name: typing.get_origin(inner) is not typing.NotRequired for name, inner in hints.items()}
            fields = {name: needed and name in hint.__required_keys__ for name, needed in fields.items()}
        properties = {name: self.schema(hints.get(name, Any)) for name in fields}
        for name, text in read_docstring(hint.__doc__)[1].items():
            properties.get(name, {}).setdefault("description", text)
        self._inside.pop()
        required = [name for name, needed in fields.items() if needed]
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _choice(values: tuple[Any, ...]) -> Schema:
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    kinds = list(dict.fromkeys(_TYPES_OF_VALUES.get(type(value)) for value in plain))
    if None in kinds:
        return {"enum": [str(value) for value in plain], "type": "string"}
    return {"enum": plain, "type": kinds[0] if len(kinds) == 1 else kinds}

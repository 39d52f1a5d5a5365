"""JSON Schemas of Python functions, from signature, hints and docstring. Imports pydantic: import it on first use."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import operator
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import docstring_parser
import typing_extensions
from pydantic import ConfigDict, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, core_schema

from shortlist.sources.tools.json_schema import make_resolver

Schema = dict[str, Any]

_PLAIN: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def describe_function(function: Callable[..., Any]) -> tuple[Schema, str]:
    """The schema (name, description, parameters) of a function, method, partial, class or callable object, without
    *args and **kwargs, and its address (module:name)."""
    inner: Any = function
    while isinstance(inner, functools.partial | functools.partialmethod):
        inner = inner.func
    own = inner if hasattr(inner, "__name__") else type(inner)
    called = inner if inspect.isroutine(inner) or inspect.isclass(inner) else type(inner).__call__
    description, documented = read_docstring(inspect.getdoc(inner) or inspect.getdoc(called))
    if inspect.isclass(inner):
        called = inner.__init__
        documented |= read_docstring(inspect.getdoc(called))[1]
    address = f"{getattr(own, '__module__', None) or 'builtins'}:{getattr(own, '__qualname__', own.__name__)}"
    parameters = _describe_parameters(function, _read_hints(called), documented)
    return {"name": own.__name__, "description": description, "parameters": parameters}, address


def read_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The prose of a docstring in Google, NumPy or Sphinx style, and the descriptions of the parameters by name."""
    try:
        parsed = docstring_parser.parse(docstring or "")
    except docstring_parser.ParseError:
        return inspect.cleandoc(docstring or ""), {}
    documented = {
        name.strip().lstrip("*"): " ".join((parameter.description or "").split())
        for parameter in parsed.params
        for name in parameter.arg_name.split(",")
    }
    return (parsed.description or "").strip(), documented


def _describe_parameters(function: Callable[..., Any], hints: dict[str, Any], documented: dict[str, str]) -> Schema:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none
        return {"type": "object"}
    properties: Schema = {}
    definitions: Schema = {}
    required: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name in ("self", "cls"):
            continue
        hint = hints.get(name, parameter.annotation)
        try:
            whole = _schema(hint, parameter.default)
        except Exception:  # a hint may be anything
            whole = _schema(Any, parameter.default)
        schema = whole["properties"]["value"]
        notes = (getattr(note, "documentation", note) for note in getattr(hint, "__metadata__", ()))
        texts = [*(note for note in notes if isinstance(note, str)), documented.get(name)]
        if description := next(filter(None, texts), None):
            schema.setdefault("description", description)
        properties[name] = make_resolver(whole)(schema)
        if "#/$defs/" in json.dumps(properties[name]):  # of a recursive type
            definitions |= whole["$defs"]
        required += [name] if "required" in whole else []
    optional = {"required": required, "$defs": definitions}
    return {"type": "object", "properties": properties} | {key: value for key, value in optional.items() if value}


def _read_hints(function: Any) -> dict[str, Any]:
    """The resolved annotations of a function, without those that cannot be resolved."""
    inner = inspect.unwrap(function)
    hints: dict[str, Any] = {}
    for name, hint in getattr(inner, "__annotations__", {}).items():
        alone = types.SimpleNamespace(__annotations__={name: hint})
        with contextlib.suppress(Exception):  # an annotation may raise anything
            hints |= typing.get_type_hints(alone, getattr(inner, "__globals__", {}), include_extras=True)
    return hints


def _schema(hint: Any, default: Any) -> Schema:
    """The schema of an object whose `value` has this hint and default."""
    empty = inspect.Parameter.empty
    field = (Any if hint is empty else _portable(hint), ... if default is empty else default)
    model = create_model("Parameters", __config__=ConfigDict(arbitrary_types_allowed=True), value=field)
    schema = model.model_json_schema(schema_generator=_Schemas, union_format="primitive_type_array")
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)  # the name of a class
    return schema


class _Schemas(GenerateJsonSchema):
    """Schemas without generated titles, and without an error for types and defaults that JSON cannot express."""

    def emit_warning(self, kind: Any, detail: str) -> None:
        pass

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        """The type of the plain value that the class inherits from, if any; else an empty schema."""
        bases = getattr(schema.get("cls"), "__mro__", ())
        return next(({"type": _PLAIN[base]} for base in bases if base in _PLAIN), {})

    def encode_default(self, dft: Any) -> Any:
        try:
            return json.loads(json.dumps(super().encode_default(dft), allow_nan=False))
        except ValueError as error:
            raise PydanticSerializationError(str(error)) from None

    def get_union_of_schemas(self, schemas: list[Schema]) -> Schema:
        is_same = all(schema == schemas[0] for schema in schemas)  # otherwise its type would be a list of one
        return schemas[0] if is_same else super().get_union_of_schemas(schemas)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        result = super().dataclass_schema(schema)
        prose, documented = read_docstring(result.pop("description", ""))
        for name, text in documented.items():
            result["properties"].get(name, {}).setdefault("description", text)
        return result | ({"description": prose} if prose else {})


def _portable(hint: Any, inside: tuple[Any, ...] = ()) -> Any:
    """A hint with each typing.TypedDict as one of typing_extensions, which pydantic requires before Python 3.12."""
    if sys.version_info >= (3, 12):
        return hint
    if typing.is_typeddict(hint):
        if hint in inside:
            return dict[str, Any]
        fields: Schema = {}
        for name, one in typing.get_type_hints(hint, include_extras=True).items():
            is_optional = name in hint.__optional_keys__ or typing.get_origin(one) is typing.NotRequired
            inner = _portable(one, (*inside, hint))
            fields[name] = typing.NotRequired[inner] if is_optional else inner
        return typing_extensions.TypedDict(hint.__name__, fields)  # type: ignore[operator]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    changed = tuple(_portable(argument, inside) for argument in arguments)
    if origin in (typing.Required, typing.NotRequired):
        return changed[0]
    if changed == arguments:
        return hint
    return functools.reduce(operator.or_, changed) if origin is types.UnionType else origin[changed]

"""The schemas of the OpenAPI document, generated from the dataclasses of results and the declared answers.

Descriptions are the docstrings of classes, fields and properties. Answers are plain dicts that are not validated.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import is_dataclass
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from shortlist.server.routes import answer_types, evaluation_answers, status_answers
from shortlist.server.routes.answer_types import AnswerType

OWN_MODULES = {module.__name__ for module in (answer_types, evaluation_answers, status_answers)}

REFERENCE = "#/components/schemas/{model}"


def add_schemas(components: dict[str, Any], more: Iterable[Any] = ()) -> None:
    """Add the schemas of answers to those of an OpenAPI document.

    `more` are answers of an extension, and bodies that no route names by type.
    """
    own = (kind for kind in AnswerType.__subclasses__() if kind.__module__ in OWN_MODULES)
    bodies: list[Any] = []
    kinds: list[Any] = [*own]
    for model in more:
        (bodies if issubclass(model, BaseModel) else kinds).append(model)
    components |= {body.__name__: body.model_json_schema() for body in bodies}
    models = AnswerModels(kinds)
    for kind in kinds:
        models.find(kind)
    for model, examples in models.made.values():
        schema = model.model_json_schema(ref_template=REFERENCE)
        schema.pop("$defs", None)
        components[model.__name__] = schema | ({"examples": examples} if examples else {})


def summarize_operations(paths: dict[str, Any]) -> None:
    """Make the first sentence of each operation's description its summary, in place of the name of its function."""
    for operation in (one for operations in paths.values() for one in operations.values()):
        if description := operation.get("description"):
            operation["summary"] = re.split(r"[.;:](?:\s|$)", description, maxsplit=1)[0]


class AnswerModels:
    """A model of each declared answer and dataclass, whose schema has the keys of its JSON."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        self.made: dict[Any, tuple[Any, list[Any]]] = {}
        self._declared = {kind.base: kind for kind in kinds if kind.base and kind.schema_name == kind.base.__name__}

    def find(self, kind: Any) -> Any:
        """The model of a class; one that is declared stands for its dataclass."""
        kind = self._declared.get(kind, kind)
        if kind not in self.made:
            name = getattr(kind, "schema_name", kind.__name__)
            model: Any = create_model(name, __doc__=inspect.cleandoc(kind.__doc__ or ""), **self._fields_of(kind))
            self.made[kind] = model, getattr(kind, "examples", [])
        return self.made[kind][0]

    def _fields_of(self, kind: Any) -> dict[str, Any]:
        """The type and description of each key."""
        if not issubclass(kind, AnswerType):
            return self._shown_by(kind, "")
        docs = read_field_docs(kind.__module__)[kind.__name__]
        return (self._shown_by(kind.base, kind.keys) if kind.base else {}) | {
            name: (self._in_json(hint), Field(default=vars(kind).get(name, ...), description=docs.get(name)))
            for name, hint in _hints_of(kind).items()
        }

    def _shown_by(self, kind: Any, keys: str) -> dict[str, Any]:
        """The keys that the `to_dict` of a class shows, or the given ones."""
        hints, own = _hints_of(kind), [*_hints_of(kind)]
        docs = dict(read_field_docs(kind.__module__).get(kind.__name__, {}))
        for name, value in vars(kind).items():
            if isinstance(value, property):
                hints[name] = get_type_hints(value.fget)["return"]
                docs[name] = inspect.getdoc(value) or ""
        shown = (keys or getattr(kind, "_shown", "")).split() or own
        return {name: (self._in_json(hints[name]), Field(description=docs.get(name) or None)) for name in shown}

    def _in_json(self, hint: Any) -> Any:
        """A type hint with models in place of classes that have one."""
        if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, AnswerType) or hint in self._declared):
            return self.find(hint)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (None, Literal, Annotated):
            return hint
        replaced = tuple(argument if argument is ... else self._in_json(argument) for argument in arguments)
        return reduce(or_, replaced) if origin is UnionType else origin[replaced]


def _hints_of(kind: Any) -> dict[str, Any]:
    """The types of the fields."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


@cache
def read_field_docs(module: str) -> dict[str, dict[str, str]]:
    """The docstrings below the fields of each class of a module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    found: dict[str, dict[str, str]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        docs = found.setdefault(node.name, {})
        for field, after in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = after.value if isinstance(after, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    docs[field.target.id] = " ".join(text.value.split())
    return found

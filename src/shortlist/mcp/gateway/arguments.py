"""Validation of a tool's arguments, with messages that let a model correct them.

The schema is untrusted: it may refer to the network, to itself without end, or contain a pattern that takes hours. What
cannot be checked safely is left to the server, which validates too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shortlist._text import closest, did_you_mean
from shortlist.errors import InputError

MOST_REFERENCES = 2_000  # that are followed
MOST_PROBLEMS = 5  # that are reported
SHOWN = 1_500  # characters of the schema that are shown with them

# Patterns that cannot take long: no repeated group, no reference back, and few repetitions, on short texts.
_RISKY = re.compile(r"\)[*+{?]|\\\d|\(\?")
_REPEATED = re.compile(r"[*+]|\{\d*,\d*\}")
MOST_REPEATED = 3
LONGEST_MATCHED = 256


class _TooManyReferences(Exception):
    pass


def parse(tool: str, arguments: Any) -> dict[str, Any]:
    """Arguments as a model gives them: an object, its JSON text, or nothing."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            raise InputError(f"The arguments for {tool} are not valid JSON: {error}.") from None
    if arguments in (None, ""):
        return {}
    if not isinstance(arguments, dict):
        raise InputError(f"The arguments for {tool} are an object, not {json.dumps(arguments)[:80]}.")
    return arguments


def check(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise an InputError with what does not fit."""
    problems = list(dict.fromkeys(_problems(schema, arguments)))[:MOST_PROBLEMS]
    if problems:
        written = json.dumps(schema, ensure_ascii=False)
        shown = f" Its schema: {written}" if len(written) <= SHOWN else " read shows its schema."
        raise InputError(f"The arguments do not fit {tool}. {' '.join(problems)}{shown}")


def _problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
    from jsonschema import SchemaError, validators  # type: ignore[import-untyped]  # noqa: PLC0415  # slow to load
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # noqa: PLC0415  # offline
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    base = validators.validator_for(schema, default=validators.Draft202012Validator)
    follow, count = base.VALIDATORS["$ref"], 0

    def reference(*given: Any) -> Iterator[Any]:
        nonlocal count
        count += 1
        if count > MOST_REFERENCES:
            raise _TooManyReferences
        yield from follow(*given) or ()

    kind = validators.extend(base, {"$ref": reference, "pattern": _pattern, "patternProperties": lambda *_: ()})
    try:
        base.check_schema(schema)
        for error in kind(schema, registry=REGISTRY).iter_errors(arguments):
            yield _sentence(error, schema)
    except (SchemaError, Unresolvable, _TooManyReferences, RecursionError, re.error):
        return


def _pattern(validator: Any, pattern: Any, text: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    if not isinstance(text, str) or not isinstance(pattern, str) or len(text) > LONGEST_MATCHED:
        return
    if _RISKY.search(pattern) or len(_REPEATED.findall(pattern)) > MOST_REPEATED:
        return
    if not re.search(pattern, text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


def _sentence(error: Any, schema: Mapping[str, Any]) -> str:
    place = ".".join(map(str, error.absolute_path))
    shown = json.dumps(error.instance, ensure_ascii=False, default=str)[:80]
    where = f" in {place!r}" if place else ""
    inner = error.schema if isinstance(error.schema, Mapping) else schema
    known = list(inner["properties"]) if isinstance(inner.get("properties"), Mapping) else []
    strange = [name for name in error.instance if name not in known] if isinstance(error.instance, Mapping) else []
    if error.validator == "required":
        missing = [(name, closest(name, strange, 1)) for name in error.validator_value if name not in error.instance]
        written = [(name, f" You wrote {near[0]!r}." if near else "") for name, near in missing]
        return " ".join(f"{name!r} is missing{where}.{near}" for name, near in written)
    if error.validator == "additionalProperties" and known:
        listed = f" Known are {', '.join(known[:12])}."
        near = [(name, did_you_mean(name, known, most=1) or listed) for name in strange[:MOST_PROBLEMS]]
        return " ".join(f"{name!r} is not known{where}.{meant}" for name, meant in near)
    if error.validator == "enum":
        choices = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in error.validator_value[:12])
        return f"{place!r} is one of {choices}, not {shown}."
    if error.validator == "type":
        kinds = error.validator_value
        kind = kinds if isinstance(kinds, str) else " or ".join(map(str, kinds))
        return f"{place or 'The whole'!r} is of type {kind}, not {shown}."
    return f"{place!r}: {error.message[:200]}." if place else f"{error.message[:200]}."

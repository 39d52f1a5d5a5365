"""Validation of a tool's arguments, with messages that let a model correct them.

The schema is untrusted: it may refer to the network or to itself, or contain a pattern that takes hours to match. What
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

# A pattern that could take long has a repeated group, a back reference or many repetitions, or meets a long text.
_RISKY = re.compile(r"\)[*+{?]|\\\d|\(\?")
_REPEATED = re.compile(r"[*+]|\{\d*,\d*\}")
MOST_REPEATED = 3
LONGEST_MATCHED = 256


class _TooManyReferences(Exception):
    pass


def check_arguments(tool: str, schema: Mapping[str, Any], arguments: Any) -> dict[str, Any]:
    """The arguments, given as an object, as its JSON text or not at all; an InputError explains what is wrong."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            raise InputError(f"The arguments for {tool} are not valid JSON: {error}.") from None
    if arguments in (None, ""):
        arguments = {}
    if not isinstance(arguments, dict):
        raise InputError(f"The arguments for {tool} must be an object, not {json.dumps(arguments)[:80]}.")
    if problems := list(dict.fromkeys(_find_problems(schema, arguments)))[:MOST_PROBLEMS]:
        written = json.dumps(schema, ensure_ascii=False)
        shown = f"Schema: {written}" if len(written) <= SHOWN else "Get its schema with read."
        raise InputError(f"Invalid arguments for {tool}. {' '.join(problems)} {shown}")
    return arguments


def _find_problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
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

    kind = validators.extend(base, {"$ref": reference, "pattern": _match_pattern, "patternProperties": lambda *_: ()})
    try:
        base.check_schema(schema)
        for error in kind(schema, registry=REGISTRY).iter_errors(arguments):
            yield _describe(error, schema)
    except (SchemaError, Unresolvable, _TooManyReferences, RecursionError, re.error):
        return


def _match_pattern(validator: Any, pattern: Any, text: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    if not isinstance(text, str) or not isinstance(pattern, str) or len(text) > LONGEST_MATCHED:
        return
    if _RISKY.search(pattern) or len(_REPEATED.findall(pattern)) > MOST_REPEATED:
        return
    if not re.search(pattern, text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


def _describe(error: Any, schema: Mapping[str, Any]) -> str:
    path, rule = ".".join(map(str, error.absolute_path)), error.validator_value
    where = f" in {path!r}" if path else ""
    shown = json.dumps(error.instance, ensure_ascii=False, default=str)[:80]
    inner = error.schema if isinstance(error.schema, Mapping) else schema
    known = list(inner["properties"]) if isinstance(inner.get("properties"), Mapping) else []
    unknown = [name for name in error.instance if name not in known] if isinstance(error.instance, Mapping) else []
    if error.validator == "required":
        missing = {name: closest(name, unknown, 1) for name in rule if name not in error.instance}
        written = {name: f" You wrote {near[0]!r}." if near else "" for name, near in missing.items()}
        return " ".join(f"{name!r} is missing{where}.{hint}" for name, hint in written.items())
    if error.validator == "additionalProperties" and known:
        valid = f" Valid names: {', '.join(known[:12])}."
        hints = {name: did_you_mean(name, known, most=1) or valid for name in unknown[:MOST_PROBLEMS]}
        return " ".join(f"{name!r} is unknown{where}.{hint}" for name, hint in hints.items())
    if error.validator == "enum":
        choices = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in rule[:12])
        return f"{path!r} must be one of {choices}, not {shown}."
    if error.validator == "type":
        kinds = " or ".join([rule] if isinstance(rule, str) else map(str, rule))
        return f"{path or 'arguments'!r} must be of type {kinds}, not {shown}."
    return f"{path!r}: {error.message[:200]}." if path else f"{error.message[:200]}."

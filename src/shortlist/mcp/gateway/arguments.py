"""Do these arguments fit the schema of a tool? What does not is said so that a model can mend it.

The schema is a stranger's: it may refer to the network, to itself without end, or hold a pattern that takes hours. What
cannot be checked safely here is left to the server, which checks for itself.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shortlist.errors import InputError

MOST_REFERENCES = 2_000  # that are followed
MOST_PROBLEMS = 5  # that are told
SHOWN = 1_500  # characters of the schema that are shown with them

# Patterns that cannot take long: no repeated group, no reference back, and few repetitions, on short texts.
_RISKY = re.compile(r"\)[*+{?]|\\\d|\(\?")
_REPEATED = re.compile(r"[*+]|\{\d*,\d*\}")
MOST_REPEATED = 3
LONGEST_MATCHED = 256


class _TooMuch(Exception):
    """The schema leads on and on."""


def parsed(tool: str, arguments: Any) -> dict[str, Any]:
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
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # noqa: PLC0415  # asks nobody
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    base = validators.validator_for(schema, default=validators.Draft202012Validator)
    kind = validators.extend(base, {"$ref": _counted(base), "pattern": _pattern, "patternProperties": _left})
    try:
        base.check_schema(schema)
        for error in kind(schema, registry=REGISTRY).iter_errors(arguments):
            yield _sentence(error, schema)
    except (SchemaError, Unresolvable, _TooMuch, RecursionError, re.error):
        return


def _counted(base: Any) -> Any:
    follow, count = base.VALIDATORS["$ref"], 0

    def reference(*given: Any) -> Iterator[Any]:
        nonlocal count
        count += 1
        if count > MOST_REFERENCES:
            raise _TooMuch
        yield from follow(*given) or ()

    return reference


def _pattern(validator: Any, pattern: Any, text: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    if not isinstance(text, str) or not isinstance(pattern, str) or len(text) > LONGEST_MATCHED:
        return
    if _RISKY.search(pattern) or len(_REPEATED.findall(pattern)) > MOST_REPEATED:
        return
    if not re.search(pattern, text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


def _left(*_: Any) -> Iterator[Any]:
    """Left to the server."""
    yield from ()


def _sentence(error: Any, schema: Mapping[str, Any]) -> str:
    place = ".".join(str(step) for step in error.absolute_path)
    where = f" in {place!r}" if place else ""
    inner = error.schema if isinstance(error.schema, Mapping) else schema
    known = list(inner["properties"]) if isinstance(inner.get("properties"), Mapping) else []
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        strange = [name for name in error.instance if name not in known]
        return " ".join(f"{name!r} is missing{where}.{_written_as(name, strange)}" for name in missing)
    if error.validator == "additionalProperties" and known:
        strange = [name for name in error.instance if name not in known]
        return " ".join(f"{name!r} is not known{where}.{_meant(name, known)}" for name in strange[:MOST_PROBLEMS])
    if error.validator == "enum":
        choices = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in error.validator_value[:12])
        return f"{place!r} is one of {choices}, not {_shown(error.instance)}."
    if error.validator == "type":
        kinds = error.validator_value
        kind = kinds if isinstance(kinds, str) else " or ".join(map(str, kinds))
        return f"{place or 'The whole'!r} is of type {kind}, not {_shown(error.instance)}."
    return f"{place!r}: {error.message[:200]}." if place else f"{error.message[:200]}."


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:80]


def _meant(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else f" Known are {', '.join(known[:12])}."


def _written_as(name: str, given: list[str]) -> str:
    near = difflib.get_close_matches(name, given, n=1)
    return f" You wrote {near[0]!r}." if near else ""

"""The arguments of a tool: parsed before a call and, if its server rejects them, explained so that a model can fix it.

The server decides what it accepts. The schema is untrusted: it may refer to the network or to itself, or contain a
pattern that takes hours to match. What cannot be checked safely is not explained.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shortlist._text import did_you_mean
from shortlist.errors import InputError

MOST_REFERENCES = 2_000  # that are followed
MOST_PROBLEMS = 5  # that are reported
SHOWN = 1_500  # characters of the schema that are shown with them

# A pattern that could take long has a repeated group, a back reference or many repetitions, or meets a long text.
_RISKY = re.compile(r"\)[*+{?]|\\\d|\(\?")
_REPEATED = re.compile(r"[*+]|\{\d*,\d*\}")
MOST_REPEATED = 3
LONGEST_MATCHED = 256


def parse_arguments(tool: str, arguments: Any) -> dict[str, Any]:
    """The arguments, given as an object, as its JSON text or not at all; anything else is an InputError."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            raise InputError(f"The arguments for {tool} are not valid JSON: {error}.") from None
    if arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, dict):
        raise InputError(f"The arguments for {tool} must be an object, not {json.dumps(arguments)[:80]}.")
    return arguments


def explain_problems(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments by the schema of the tool; empty if nothing is."""
    problems = list(dict.fromkeys(_find_problems(schema, arguments)))[:MOST_PROBLEMS]
    if not problems:
        return ""
    written = json.dumps(schema, ensure_ascii=False)
    shown = f"Schema: {written}" if len(written) <= SHOWN else "Get its schema with read."
    return f"Invalid arguments for {tool}. {' '.join(problems)} {shown}"


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
            raise RecursionError
        yield from follow(*given) or ()

    checks = {
        "$ref": reference,
        "required": _find_missing,
        "pattern": _match_pattern,
        "patternProperties": lambda *_: (),
    }
    kind = validators.extend(base, checks)
    try:
        base.check_schema(schema)
        for error in kind(schema, registry=REGISTRY).iter_errors(arguments):
            yield _describe(error)
    except (SchemaError, Unresolvable, RecursionError, re.error):
        return


def _find_missing(validator: Any, required: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Required properties that are missing; one with a default is not, since its server fills it in."""
    from jsonschema import ValidationError  # noqa: PLC0415

    known = schema.get("properties")
    for name in required if isinstance(instance, dict) else ():
        about = known.get(name) if isinstance(known, Mapping) else None
        if name not in instance and not (isinstance(about, Mapping) and "default" in about):
            yield ValidationError(f"{name!r} is a required property")


def _match_pattern(validator: Any, pattern: Any, text: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    is_short = isinstance(text, str) and isinstance(pattern, str) and len(text) <= LONGEST_MATCHED
    is_safe = is_short and not _RISKY.search(pattern) and len(_REPEATED.findall(pattern)) <= MOST_REPEATED
    if is_safe and not re.search(pattern, text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


def _describe(error: Any) -> str:
    """The message of the validator, with suggestions for unknown names."""
    path = ".".join(map(str, error.absolute_path))
    sentence = f"{path}: {error.message[:200]}." if path else f"{error.message[:200]}."
    known = error.schema.get("properties") if isinstance(error.schema, Mapping) else None
    if error.validator in ("required", "additionalProperties") and isinstance(known, Mapping):
        hints = {name: did_you_mean(name, known, most=1) for name in error.instance if name not in known}
        sentence += "".join(f" {name!r} is unknown.{hint}" for name, hint in hints.items() if hint)
    return sentence

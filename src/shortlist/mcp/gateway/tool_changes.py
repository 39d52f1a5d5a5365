"""Changes of a tool's definition since it was approved, and which of them need approval.

Need approval: new or rewritten texts, defaults, parameters that are required, free text, of another type or gone, and
other claims about side effects. Pass: texts that are only removed, new optional parameters that are no free text, new
values of one word, titles in words of the approved definition, limits of values, and the same schema in another draft.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST_VALUE = 40  # characters of a new value, such as one of an enumeration
LONGEST_PATTERN = 200  # characters of a new pattern, dialect or identifier
LONGEST_DESCRIPTION = 300  # characters of the description of a new parameter
MOST_TITLE_WORDS = 8

# Keywords of JSON Schema by what they contain, keywords that only limit values, formats that are no free text, the
# defaults of missing hints, and words of sentences that say how to read the others.
_DATA = json.loads(Path(__file__).with_name("tool_changes.json").read_bytes())
_BY_NAME, _INNER, _LISTS = (frozenset(_DATA[key]) for key in ("by_name", "inner", "lists"))
_LIMITS, _FORMATS, _FRAMING = (frozenset(_DATA[key]) for key in ("limits", "formats", "framing"))
HINTS: dict[str, bool] = _DATA["hints"]
_ASKED_FOR = ("readOnlyHint", "destructiveHint")  # claims that clients ask less for

_LINE = re.compile(r"(?<=[.!?])\s+|\n+")
# Between sentences: not after an abbreviation such as "e.g.", nor before a lower-case letter.
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b\w\.)\s+(?=[^a-z\s])|\s*\n\s*\n\s*")
_COMPLETE = re.compile(r"[.!?][\"'`)\]*_]*$")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FIRST_STRANGE = "\u0250"  # letters from here on are not Latin

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One part of a definition that changed; None is a part that is missing."""

    part: str
    before: Any
    after: Any
    waits: bool  # for approval
    is_extra: bool = False  # without it, the tool can still be used as it was approved

    @property
    def top(self) -> str:
        """The top-level part of the definition, without names that the server chose."""
        return re.split(r"[.\[]", self.part, maxsplit=1)[0]

    @property
    def kind(self) -> str:
        """The kind of change, in words that are ours."""
        last = self.part.rpartition(".")[2]
        if self.top == "annotations" and last != "title":
            hints = {"readOnlyHint": "marked read-only", "destructiveHint": "marked destructive"}
            marked = hints.get(last, "annotations changed")
            return marked if last not in hints or self.after else f"no longer {marked}"
        place = "" if self.part == last else " of the output" if self.top == "output" else " of a parameter"
        if last in ("description", "title", "default", "enum", "type"):
            noun = {"enum": "values"}.get(last, last)
            is_shorter = isinstance(self.after, str | None) and set(_split_lines(self.after)) < set(
                _split_lines(self.before)
            )
            verb = "added" if self.before is None else "shortened" if is_shorter else "rewritten"
            return f"{noun}{place} {verb if last in ('description', 'title') else 'changed'}"
        if last == "required":
            return "parameter now required"
        if self.top == "input" and None in (self.before, self.after):
            return "new parameter" if self.before is None else "parameter removed"
        return f"{self.top} schema changed"

    def diff(self) -> list[str]:
        """The change in lines: - before, + after, and context."""
        lines = difflib.unified_diff(_split_lines(self.before), _split_lines(self.after), lineterm="", n=1)
        return [line for line in list(lines)[2:] if not line.startswith("@@")]  # without the two header lines

    def to_dict(self) -> dict[str, Any]:
        return {"part": self.part, "waits": self.waits, "diff": self.diff()}


def find_changes(approved: Entry, now: Entry) -> Iterator[DefinitionChange]:
    """What changed in a tool since it was approved."""
    known = set(_read_words(" ".join(collect_texts(approved))))
    for key, before, after in _find_differences(approved, now):
        if key == "annotations" and isinstance(before or {}, Mapping) and isinstance(after or {}, Mapping):
            yield from _find_annotation_changes(before or {}, after or {}, known)
        elif key in ("inputSchema", "outputSchema"):
            compared = _SchemaComparison(key.removesuffix("Schema"), normalize_schema(after), known)
            yield from compared.find(normalize_schema(before or {}), compared.root or {}, compared.top)
        else:
            yield _compare_texts(key, key, before, after, known)


def _compare_texts(key: str, part: str, before: Any, after: Any, known: set[str]) -> DefinitionChange:
    if key == "title":
        return DefinitionChange(part, before, after, not _is_label(after, known), is_extra=True)
    return DefinitionChange(part, before, after, waits=key != "description" or not is_only_removed(before, after))


def _find_annotation_changes(before: Entry, after: Entry, known: set[str]) -> Iterator[DefinitionChange]:
    old_hints, new_hints = _complete_hints(before), _complete_hints(after)
    if True in (old_hints["readOnlyHint"], new_hints["readOnlyHint"]):  # beside it, these have no meaning
        for key in ("destructiveHint", "idempotentHint"):
            new_hints[key] = old_hints[key]
    for key, old, new in _find_differences(old_hints, new_hints):
        part = f"annotations.{key}"
        if key not in HINTS:
            yield _compare_texts(key, part, old, new, known)
        else:
            is_claim = new != HINTS[key]  # that the tool does less
            yield DefinitionChange(part, old, new, waits=not is_claim or key in _ASKED_FOR, is_extra=is_claim)


def _complete_hints(given: Entry) -> dict[str, Any]:
    """Annotations with the defaults of the specification."""
    return HINTS | {key: value for key, value in given.items() if key not in HINTS or isinstance(value, bool)}


class _SchemaComparison:
    """The differences of an input or output schema, `root` as it is now."""

    def __init__(self, top: str, root: Any, known: set[str]) -> None:
        self.top, self.root, self._known = top, root, known
        self._is_input = top == "input"

    def find(self, before: Any, after: Any, where: str) -> Iterator[DefinitionChange]:
        if not isinstance(before, Mapping) or not isinstance(after, Mapping):
            if before != after:
                yield DefinitionChange(where, before, after, waits=True)
            return
        if not after and not self._is_input:
            yield DefinitionChange(where, before, after, waits=False)
            return
        for key, old, new in _find_differences(before, after):
            kinds = {type(value) for value in (old, new) if value}
            part = f"{where}.{key}"
            if key in _BY_NAME and kinds <= {dict}:
                yield from self._find_named(old or {}, new or {}, where)
            elif key in _INNER and isinstance(old, Mapping) and isinstance(new, Mapping):
                yield from self.find(old, new, f"{where}[]")
            elif key in _LISTS and kinds <= {list}:
                yield from self._find_listed(key, old or [], new or [], where)
            elif key in ("description", "title"):
                yield _compare_texts(key, part, old, new, self._known | set(_read_words(where)))
            elif key in _LIMITS:
                yield DefinitionChange(part, old, new, not self._is_limit(key, old, new, after), is_extra=True)
            elif key == "required":
                added = _select_names(new) - _select_names(old)
                yield DefinitionChange(part, old, new, waits=bool(added) and self._is_input)
            elif key == "type":
                yield DefinitionChange(
                    part, old, new, old is not None and (new is None or not _read_types(new) <= _read_types(old))
                )
            else:
                yield DefinitionChange(
                    part, old, new, key != "additionalProperties" or not isinstance(new, bool | None)
                )

    def _find_named(self, old: Entry, new: Entry, where: str) -> Iterator[DefinitionChange]:
        for name in dict.fromkeys((*old, *new)):
            part = f"{where}.{name}"
            if name in old and name in new:
                yield from self.find(old[name], new[name], part)
            elif name in old:
                yield DefinitionChange(part, old[name], None, waits=self._is_input)
            else:  # a new parameter is optional, unless `required` names it
                yield DefinitionChange(
                    part, None, new[name], not (_is_value(name) and self._is_plain(new[name], part)), True
                )

    def _find_listed(self, key: str, old: list[Any], new: list[Any], where: str) -> Iterator[DefinitionChange]:
        """Alternatives that are only in one of the lists; in a tuple, the order counts."""
        gone, added = old, list(enumerate(new))
        if key != "prefixItems":
            gone, added = [one for one in old if one not in new], [pair for pair in added if pair[1] not in old]
        if len(gone) == len(added):
            for one, (number, other) in zip(gone, added, strict=True):
                yield from self.find(one, other, f"{where}[{number}]")
        else:
            is_extra = not gone or not added
            is_plain = all(self._is_plain(one, where) for _, one in added)
            yield DefinitionChange(f"{where}.{key}", old, new, waits=not (is_extra and is_plain), is_extra=is_extra)

    def _is_limit(self, key: str, old: Any, new: Any, schema: Entry) -> bool:
        """Whether a changed limit has no text in it, and leaves no free text where there was none."""
        if self._is_input and old is not None and key in ("enum", "format") and not self._is_bounded(schema):
            return False
        if isinstance(new, list):
            return all(_is_value(value) for value in new if not isinstance(old, list) or value not in old)
        return _is_value(new, LONGEST_PATTERN if key in ("pattern", "$id", "$schema") else LONGEST_VALUE)

    def _is_plain(self, new: Any, where: str) -> bool:
        """Whether a new part of a schema has little text, and asks for no free text."""
        return (
            isinstance(new, Mapping)
            and self._has_little_text(new, where)
            and (not self._is_input or self._is_bounded(new))
        )

    def _has_little_text(self, new: Any, where: str) -> bool:
        if not isinstance(new, Mapping):
            return all(map(_is_value, collect_texts(new)))
        for key, value in new.items():
            if key == "description":
                is_fine = isinstance(value, str) and len(value) <= LONGEST_DESCRIPTION
            elif key == "title":
                is_fine = _is_label(value, self._known | set(_read_words(where)))
            elif key in _BY_NAME and isinstance(value, Mapping):
                is_fine = all(
                    _is_value(name) and self._has_little_text(value[name], f"{where}.{name}") for name in value
                )
            elif key in _LISTS and isinstance(value, list):
                is_fine = all(self._has_little_text(one, where) for one in value)
            elif key in _INNER:
                is_fine = self._has_little_text(value, where)
            else:
                is_fine = all(_is_value(text) for text in collect_texts(value))
            if not is_fine:
                return False
        return True

    def _is_bounded(self, schema: Any, seen: tuple[str, ...] = ()) -> bool:
        """Whether a schema permits no free text."""
        if not isinstance(schema, Mapping):
            return schema is False
        if "enum" in schema:
            return True
        if isinstance(name := schema.get("$ref"), str):
            named = self.root.get("$defs") if isinstance(self.root, Mapping) else None
            target = named.get(name.removeprefix("#/$defs/")) if isinstance(named, Mapping) else None
            return name not in seen and self._is_bounded(target, (*seen, name))
        choices = [one for key in ("anyOf", "oneOf", "allOf") for one in _list_of(schema.get(key))]
        if choices:
            return all(self._is_bounded(one, seen) for one in choices)
        types = _read_types(schema.get("type"))
        if not types or ("string" in types and str(schema.get("format")) not in _FORMATS):
            return False
        if "object" in types:
            inner = schema.get("properties")
            others = [*inner.values(), schema.get("additionalProperties", False)] if isinstance(inner, Mapping) else []
            if not inner or "patternProperties" in schema or not all(self._is_bounded(one, seen) for one in others):
                return False
        items = [*_list_of(schema.get("prefixItems")), schema.get("items", True)]
        return "array" not in types or all(self._is_bounded(one, seen) for one in items)


def is_only_removed(before: Any, after: Any) -> bool:
    """Whether a text was removed, or lost whole sentences in a way that leaves the meaning of the others.

    That is not known if a sentence says how to read others ("never", "the following", "an example"), is not in Latin
    letters, or if the sentence before or the removed one is not complete.
    """
    if not isinstance(before, str) or not isinstance(after, str | None):
        return False
    new = iter([*_split_sentences(after or ""), None])
    expected, is_kept, is_complete = next(new), True, True
    if expected is None:
        return True
    for sentence in _split_sentences(before):
        if sentence == expected:
            if not is_kept and not is_complete:
                return False
            expected, is_kept, is_complete = next(new), True, bool(_COMPLETE.search(sentence))
        else:
            is_kept, is_complete = False, is_complete and bool(_COMPLETE.search(sentence))
            if not _FRAMING.isdisjoint(_read_words(sentence)) or any(
                letter >= _FIRST_STRANGE and letter.isalpha() for letter in sentence
            ):
                return False
    return expected is None


def normalize_schema(schema: Any) -> Any:
    """A schema as the draft 2020-12 writes it, whichever draft it was written in."""
    if not isinstance(schema, Mapping):
        return schema
    found = dict(schema)
    for old, new in (("definitions", "$defs"), ("id", "$id")):
        if isinstance(found.get(old), Mapping if old == "definitions" else str):
            value = found.pop(old)
            found[new] = {**value, **found.get(new, {})} if isinstance(found.get(new, value), Mapping) else value
    rest = found.pop("additionalItems", None)
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        found |= {} if rest is None else {"items": rest}
    for limit in ("Minimum", "Maximum"):
        if isinstance(is_exclusive := found.get(f"exclusive{limit}"), bool):
            del found[f"exclusive{limit}"]
            if is_exclusive and limit.lower() in found:
                found[f"exclusive{limit}"] = found.pop(limit.lower())
    if "const" in found:
        found["enum"] = [found.pop("const")]
    if isinstance(found.get("dependencies"), Mapping):
        for name, needed in found.pop("dependencies").items():
            key = "dependentRequired" if isinstance(needed, list) else "dependentSchemas"
            found[key] = {**(found[key] if isinstance(found.get(key), Mapping) else {}), name: needed}
    if isinstance(found.get("$ref"), str):
        found["$ref"] = re.sub(r"/items/(?=\d)", "/prefixItems/", found["$ref"].replace("#/definitions/", "#/$defs/"))
    for key, value in found.items():
        if key in _BY_NAME and isinstance(value, Mapping):
            found[key] = {name: normalize_schema(inner) for name, inner in value.items()}
        elif key in _LISTS and isinstance(value, list):
            found[key] = [normalize_schema(inner) for inner in value]
        elif key in _INNER:
            found[key] = normalize_schema(value)
    return found


def collect_texts(value: Any) -> Iterator[str]:
    """All strings in a value, keys included."""
    if isinstance(value, str):
        yield value
    for key in value if isinstance(value, Mapping) else ():
        yield str(key)
        yield from collect_texts(value[key])
    for inner in value if isinstance(value, list) else ():
        yield from collect_texts(inner)


def _find_differences(before: Entry, after: Entry) -> Iterator[tuple[str, Any, Any]]:
    """The keys whose values differ in more than white space, with both values."""
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new and not (isinstance(old, str) and isinstance(new, str) and old.split() == new.split()):
            yield key, old, new


def _is_label(title: Any, known: Iterable[str]) -> bool:
    """Whether a title has only known words, and few."""
    words = list(_read_words(title)) if isinstance(title, str) else []
    return title is None or (isinstance(title, str) and len(words) <= MOST_TITLE_WORDS and set(words) <= set(known))


def _is_value(value: Any, most: int = LONGEST_VALUE) -> bool:
    """Whether a value is a number or the like, or one word in ASCII."""
    if isinstance(value, str):
        return len(value) <= most and all("!" <= letter <= "~" for letter in value)
    return value is None or isinstance(value, bool | int | float)


def _read_words(text: str) -> Iterator[str]:
    """The words of a text or name, without case and plural."""
    for word in _WORD.findall(_CAMEL.sub(" ", text)):
        yield word.casefold().removesuffix("s")


def _read_types(value: Any) -> set[str]:
    """The types that the keyword `type` names."""
    types = _select_names(value if isinstance(value, list) else [value])
    return types | {"integer"} if "number" in types else types


def _select_names(value: Any) -> set[str]:
    return {name for name in _list_of(value) if isinstance(name, str)}


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _split_sentences(text: str) -> list[str]:
    return [" ".join(sentence.split()) for sentence in _SENTENCE.split(text.strip()) if sentence.strip()]


def _split_lines(value: Any) -> list[str]:
    """A value as lines that can be compared: a text by sentences, anything else as JSON."""
    if value is None:
        return []
    if isinstance(value, str):
        return [line for line in _LINE.split(value) if line]
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).splitlines()

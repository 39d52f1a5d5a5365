"""Small helpers for messages: suggestions for typos, counts with their noun."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], *, most: int = 2) -> str:
    """A sentence that suggests the closest known words, or an empty string. Upper and lower case are the same."""
    import difflib  # noqa: PLC0415  # only for error messages

    names = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), names, n=most)
    return f" Did you mean {' or '.join(repr(names[each]) for each in close)}?" if close else ""


def count_of(number: int, noun: str, verb: str = "") -> str:
    """`1 tool`, `2 tools`; with the verb "is indexed": `1 tool is indexed`, `2 tools are indexed`."""
    if number != 1:
        noun, verb = f"{noun}s", verb.replace("is ", "are ", 1)
    return f"{number:,} {noun} {verb}".rstrip()

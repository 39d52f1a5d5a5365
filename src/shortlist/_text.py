"""Small helpers for messages: suggestions for typos, counts with their noun, untrusted text made printable."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import islice, pairwise

MOST_KNOWN, MOST_COMPARED = 100_000, 200  # words that are considered for a suggestion

MOST_KEYS = 20_000  # that are remembered: where many texts are alike, each search sorts thousands of equal scores

_DIGITS = re.compile(r"(\d+)")
# Line breaks, tabs, spaces of any width, and joiners between letters of other scripts than ASCII, which need them.
_SEEN = re.compile("([\n\t]|[\u00a0\u2000-\u200a\u202f\u205f\u3000]|(?<=[^\0-\x7f])[\u200c\u200d](?=[^\0-\x7f]))")


def closest(word: str, known: Iterable[str], most: int) -> list[str]:
    """The known words that look most like this one, case-insensitively."""
    import difflib  # noqa: PLC0415  # only for error messages

    folded = word.casefold()
    names = {name.casefold(): name for name in islice(known, MOST_KNOWN)}
    candidates: Iterable[str] = names
    if len(names) > MOST_COMPARED:  # the slow comparison is only for those that share most letter pairs
        pairs = set(map("".join, pairwise(folded)))
        candidates = nlargest(MOST_COMPARED, names, key=lambda name: sum(pair in name for pair in pairs))
    return [names[each] for each in difflib.get_close_matches(folded, candidates, n=most)]


@lru_cache(MOST_KEYS)
def natural_key(name: str) -> str:
    """A text that sorts item 9 before item 10, and names that differ in leading zeros by themselves."""
    parts = _DIGITS.split(name)
    parts[1::2] = [f"{chr(len(number) + 1)}{number}" for number in (part.lstrip("0") for part in parts[1::2])]
    return "\0".join([*parts, "", name])


def did_you_mean(word: str, known: Iterable[str], *, most: int = 2) -> str:
    """A sentence that suggests the closest known words, or an empty string."""
    close = closest(word, known, most)
    return suggest(close)


def suggest(names: Sequence[str]) -> str:
    """A sentence that suggests these names, or an empty string."""
    *others, last = map(repr, names or [""])
    return f" Did you mean {' or '.join(filter(None, (', '.join(others), last)))}?" if names else ""


def count_of(number: int, noun: str, verb: str = "") -> str:
    """`1 tool`, `2 tools`; with the verb "is indexed": `1 tool is indexed`, `2 tools are indexed`."""
    if number != 1:
        noun, verb = f"{noun}{'es' if noun.endswith('ch') else 's'}", verb.replace("is ", "are ", 1)
    return f"{number:,} {noun} {verb}".rstrip()


def printable(text: str, instead: str = "·") -> str:
    """Untrusted text without characters that could move the cursor or hide something."""
    return "".join(letter if letter.isprintable() else instead for letter in text)


def terminal_safe(text: str) -> str:
    """Untrusted text of several lines for a terminal: without control characters and what changes its direction."""
    return _replace_unseen(text, printable)


def escape_json(text: str) -> str:
    """A JSON document with the same characters escaped, so that every value stays as it is."""
    return _replace_unseen(
        text, lambda part: "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in part)
    )


def _replace_unseen(text: str, replace: Callable[[str], str]) -> str:
    return "".join(part if at % 2 else replace(part) for at, part in enumerate(_SEEN.split(text)))


def clean(text: str) -> str:
    """The text with a replacement for lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text

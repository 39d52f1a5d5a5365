"""Orders to a model in 14 languages, found by concepts that occur together in one sentence.

order_concepts.toml has the words of each concept by language. The order of words does not matter.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# The concepts of an order, what it makes the model do, and whether a document may not say it either: documentation asks
# its readers to download a file and follow the steps in it.
_ORDERS = (
    (("ignore", "earlier", "instructions"), "tells the model to ignore its instructions", True),
    (("hide", "user"), "tells the model to hide something from the user", True),
    (("your_secret", "give", "mail"), "asks readers for their secrets", True),
    (("before",), "asks to be called before or instead of others", False),
    (("other_tool", "replaced", "always"), "asks to be called before or instead of others", False),
    (("other_tool", "avoid", "this_tool"), "asks to be called before or instead of others", False),
    (("private_file", "contents", "not_forbidden"), "points to files with secrets", False),
    (("secret_file", "take", "give"), "asks to hand over secrets", False),
    (("secret_file", "contents", "give"), "asks to hand over secrets", False),
    (("whole", "chat", "give", "place"), "asks to send the conversation somewhere", False),
    (("regardless", "report", "user", "success"), "tells the model to report a result that it did not get", False),
    (("link", "fetch", "follow", "steps"), "tells the model to follow instructions from elsewhere", False),
    (("leaking_link",), "puts what the model knows into a link", True),
    (("open_link", "reply"), "puts what the model knows into a link", True),
    (("number", "account", "swap"), "sends payments or messages to someone else", False),
    (("number", "account", "regardless"), "sends payments or messages to someone else", False),
)
_VERBS = frozenset({"take", "give", "fetch", "follow"})  # which a negation next to them forbids
_NEAR = 25  # characters in which a negation precedes a verb
_NO_SPACES = frozenset({"zh", "ja", "ko"})  # languages in which a word starts anywhere
_ANYWHERE = frozenset(
    {"secret_file", "private_file", "other_tool", "link", "mail", "number", "open_link", "leaking_link"}
)  # the same in all languages
_CASED = frozenset({"number", "other_tool"})
_EXAMPLE = re.compile(r"\be\.g\.|\b(?:for )?example|such as|format", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_ROW_END = re.compile(r"\|\s+\|")


class _Language(NamedTuple):
    typical_words: frozenset[str]  # none for a language that is recognized by its alphabet
    is_ascii: bool
    patterns: dict[str, str]

    def find(self, concept: str) -> re.Pattern[str] | None:
        """The pattern of a concept, compiled on first use: most sentences need few of them."""
        pattern = self.patterns.get(concept)
        return _compile(concept, pattern) if pattern is not None else None


@functools.cache
def _data() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("order_concepts.toml").read_text("utf-8"))


@functools.cache
def _languages() -> list[_Language]:
    languages = []
    for code, words in _data().items():
        if code != "any":
            start = "" if code in _NO_SPACES else r"(?<!\w)"
            typical_words = frozenset(words.get("typical_words", "").split())
            patterns = {concept: f"{start}(?:{stems})" for concept, stems in words.items()}
            if "instead" in words:
                tool, instead = f"(?-i:{_data()['any']['other_tool']})", f"{start}(?:{words['instead']})"
                preferred = f"(?!`?(?:{words['preferred']}))" if "preferred" in words else ""
                patterns["replaced"] = f"{instead}.{{0,30}}?{tool}|{tool}{preferred}.{{0,30}}?{instead}"
            languages.append(_Language(typical_words, code == "en", patterns))
    return languages


@functools.cache
def _everywhere() -> dict[str, re.Pattern[str]]:
    """The concepts that are the same in all languages."""
    return {concept: _compile(concept, pattern) for concept, pattern in _data()["any"].items()}


@functools.cache
def _compile(concept: str, pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("\n", ""), 0 if concept in _CASED else re.IGNORECASE)


def find_concepts(sentence: str, kind: str) -> Iterator[tuple[str, str]]:
    """The effects of the orders in a sentence of a text of this kind, "tools" or "passages", and the sentence.

    Each row of a table is a sentence of its own.
    """
    for row in _ROW_END.split(sentence):
        yield from _find_in_row(row, kind)


def _find_in_row(sentence: str, kind: str) -> Iterator[tuple[str, str]]:
    words, is_ascii = _WORD.findall(sentence.lower()), sentence.isascii()
    shared = {concept for concept, pattern in _everywhere().items() if pattern.search(sentence)}
    if "number" in shared and _EXAMPLE.search(sentence):
        shared.remove("number")
    absent = _ANYWHERE - shared
    for language in _languages():
        if language.typical_words:
            if language.typical_words.isdisjoint(words):
                continue
        elif is_ascii and not language.is_ascii:
            continue
        found = dict.fromkeys(shared, True)
        for concepts, effect, is_for_passages in _ORDERS:
            if absent.isdisjoint(concepts) and (kind == "tools" or is_for_passages):
                for concept in concepts:
                    if concept not in found:
                        found[concept] = _has(language, concept, sentence)
                    if not found[concept]:
                        break
                else:
                    yield effect, sentence


def has_concept(text: str, concept: str) -> bool:
    """Whether a text has a concept that is the same in all languages."""
    return _everywhere()[concept].search(text) is not None


def _has(language: _Language, concept: str, sentence: str) -> bool:
    """Whether a sentence has a concept; a verb that a negation forbids does not count."""
    if concept == "not_forbidden":
        negation = language.find("not")
        return negation is None or negation.search(sentence) is None
    pattern = language.find(concept)
    if pattern is None or concept not in _VERBS:
        return pattern is not None and pattern.search(sentence) is not None
    before, after = language.find("not"), language.find("not_after")
    return any(
        not (before and before.search(sentence, max(0, match.start() - _NEAR), match.start()))
        and not (after and after.match(sentence, match.end()))
        for match in pattern.finditer(sentence)
    )

"""Checks for descriptions of tools and passages of documents that give orders to the model that reads them.

A text is reduced to what a model reads, split into sentences, and each is compared with the rules in
injection_rules.toml. In a passage, a quotation within a line is not an order: documentation writes about attacks.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import functools
import itertools
import re
import string
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shortlist.safety.order_concepts import find_concepts, has_concept

RULES = Path(__file__).with_name("injection_rules.toml")
NEARBY = 100  # characters around a match in which an `unless` counts

_LOOKALIKES = str.maketrans("аеорсухіјѕοαειІЕОАСԁӏһԛԝ", "aeopcyxijsoaeiIEOACdlhqw")
# Latin letters and their lookalikes; all other ASCII characters are dropped.
_LETTERS = dict.fromkeys(range(128)) | _LOOKALIKES | {ord(char): char for char in string.ascii_lowercase}
_LETTERS |= str.maketrans(string.ascii_uppercase + "013457@$", string.ascii_lowercase + "oieastas")
_SIMILAR = str.maketrans("01i|", "olll")
_JOINERS = "\u200c\u200d"
_UNUSUAL = re.compile(r"[^\x20-\x7e\t\n\r]")
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
_TAGS = range(0xE0000, 0xE0080)
_DEPTHS = {"(": 1, ")": -1, "|": 0}  # by which each changes how deep a place in a pattern is


class _Rule(NamedTuple):
    effect: str
    steps: tuple[str, ...]  # patterns that follow each other
    gaps: tuple[int, ...]  # words that may be between them, at most
    unless: str
    only: str  # "tools", "passages" or empty
    hints: list[set[str]]  # the first letters of a word of each step; three times faster than to try every rule


@functools.cache
def _data() -> dict[str, Any]:
    return tomllib.loads(RULES.read_text("utf-8"))


@functools.cache
def _rules() -> list[_Rule]:
    rules = []
    for effect, entries in _data()["rules"].items():
        always = "tools" if effect in _data()["only_for_tools"] else ""
        for entry in entries:
            steps, gaps = tuple(map(_join, entry["find"][::2])), tuple(entry["find"][1::2])
            letters = [_first_letters(_expand(step)) for step in steps if not step.endswith("|$")]
            hints = sorted(({hint[:5] for hint in step} for step in letters if "" not in step), key=len)
            unless = _expand(_join(entry.get("unless", "")))
            rules.append(_Rule(effect, steps, gaps, unless, entry.get("only", always), hints))
    return rules


def _join(pattern: str | list[str]) -> str:
    """A pattern, or several of which one has to match, as one."""
    return pattern if isinstance(pattern, str) else "|".join(pattern)


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_expand(_join(_data()["patterns"][name])), re.IGNORECASE | re.DOTALL)


@functools.cache
def _expand(pattern: str) -> str:
    """A pattern with every `<concept>` replaced by its words."""
    concepts = _data()["concepts"]
    while (expanded := re.sub(r"<(\w+)>", lambda found: f"(?:{_join(concepts[found[1]])})", pattern)) != pattern:
        pattern = expanded
    return pattern


@functools.cache
def _compile(steps: tuple[str, ...], gaps: tuple[int, ...]) -> re.Pattern[str]:
    """The steps of a rule as a regular expression. Gaps count words, so a match never looks far ahead.

    Compiled on first use: all of them together take longer than the check of a server's tools.
    """
    parts = [_step(steps[0])]
    for gap, step in zip(gaps, steps[1:], strict=True):
        words, end = step.removesuffix("|$"), r"|\W*$" if step.endswith("|$") else ""
        parts.append(rf"(?:(?:\W+\w+){{0,{gap}}}?\W+{_step(words)}{end})")
    return re.compile("".join(parts), re.IGNORECASE)


def _step(words: str) -> str:
    return words if words.startswith("^") else rf"(?<!\w)(?:{_expand(words)})(?!\w)"


@functools.cache
def _first_letters(pattern: str) -> frozenset[str]:
    """The letters that a match of a pattern can start with; an empty string if it can start with something else."""
    starts: set[str] = set()
    bars: list[int] = []
    ends: list[int] = []  # of groups that are in no other
    depth = 0
    for mark in re.finditer(r"[()|]", pattern):
        depth += _DEPTHS[mark.group()]
        if not depth:
            (bars if mark.group() == "|" else ends).append(mark.start())
    for start, stop in itertools.pairwise([-1, *bars, len(pattern)]):
        choice = pattern[start + 1 : stop]
        if choice.startswith("(?:"):
            end = next(end for end in ends if end > start) - start - 1
            starts |= _first_letters(choice[3:end])
            if choice[end + 1 : end + 2] in ("?", "*", "{"):
                starts |= _first_letters(choice[end + 2 :])
        else:
            rest = choice.lstrip(string.ascii_lowercase)
            letters = choice[: len(choice) - len(rest) - rest.startswith(("?", "*", "{"))]
            starts.add(letters if len(letters) >= 3 or not rest or rest[0] in " -" else "")
    return frozenset(starts)


def find_orders(text: str, kind: str = "tools") -> Iterator[tuple[str, str]]:
    """Orders to the model in a text of this kind, "tools" or "passages": the effect of each, once, and its words."""
    orders: dict[str, str] = {}
    plain = _without_disguise(text)
    if kind == "passages":
        orders.update(_find_hidden_text(text))
        plain = _pattern("quoted").sub('""', plain)
    for one in (plain, *_decoded(text)):
        for effect, words in _scan_text(one, kind):
            orders.setdefault(effect, words)
    yield from orders.items()


def find_warning(text: str) -> str:
    """How a passage tries to instruct a model or its readers; empty if it does not."""
    effect, _ = next(find_orders(text, "passages"), ("", ""))
    return f"The text {effect}." if effect else ""


def _find_hidden_text(text: str) -> Iterator[tuple[str, str]]:
    """Text in tag characters, and in comments and hidden elements if it is meant for a model."""
    hidden = "".join(chr(ord(char) - 0xE0000) for char in text if ord(char) in _TAGS)
    found = [hidden] if " " in hidden else []  # without a space it is the code of a flag
    comments = ("".join(filter(None, match.group(1, 3))) for match in _pattern("hidden_text").finditer(text))
    for words in (*found, *(one for one in comments if _pattern("for_models").search(one))):
        yield "hides orders to the model from its readers", " ".join(words.split())


def _scan_text(text: str, kind: str) -> Iterator[tuple[str, str]]:
    lowered = text.lower()
    for mark in _data()["marks"]:
        if mark["needs"] in lowered and (found := re.search(_join(mark["find"]), text, re.IGNORECASE)):
            yield "imitates the marks of a system message", " ".join(found.group().split())
    for sentence in dict.fromkeys(_split_sentences(text)):
        yield from _check_sentence(sentence, kind)
        talk = _pattern("talk")
        if (found := _pattern("transcript").match(sentence)) and len(talk.findall(text)) == len(talk.findall(sentence)):
            yield "asks to send the conversation somewhere", found.group()
    if _pattern("classic").search(text.translate(_LETTERS)):
        yield "tells the model to ignore its instructions", "ignore previous instructions"


def _split_sentences(text: str) -> Iterator[str]:
    """The sentences on one line each, without emphasis. A snake_case identifier is split into words."""
    text = _pattern("emphasis").sub("", text.replace("\u2019", "'"))
    for part in _pattern("sentence_end").split(_pattern("reminder").sub("", text)):
        words = part.split()
        if len(words) == 1 and words[0].isidentifier():
            words = _pattern("name_break").split(words[0])
        if len(words) > 1 or not part.isascii():
            yield " ".join(words)


@functools.lru_cache(maxsize=50_000)
def _check_sentence(sentence: str, kind: str) -> tuple[tuple[str, str], ...]:
    """The effects of the orders in a sentence, and their words. Catalogs repeat many sentences."""
    orders = list(find_concepts(sentence, kind))
    starts = {word[:n] for word in re.findall(r"\w+", sentence.lower()) for n in (3, 4, 5)}
    for rule in _rules():
        if rule.only not in ("", kind) or any(map(starts.isdisjoint, rule.hints)):
            continue
        for found in _compile(rule.steps, rule.gaps).finditer(sentence):
            start, end = found.span()
            before = sentence[max(0, start - 60) : start]
            negated = not _pattern("starts_negated").match(found.group()) and _pattern("negated").search(before)
            nearby = sentence[max(0, start - NEARBY) : end + NEARBY]
            if not negated and not (rule.unless and re.search(rule.unless, nearby, re.IGNORECASE)):
                orders.append((rule.effect, found.group()))
                break
    return tuple(orders)


def _without_disguise(text: str) -> str:
    """The text without hidden characters, letters of other alphabets inside a word, and spaces between letters."""
    text = reveal_text(text)
    if not text.isascii():
        text = _pattern("mixed_word").sub(lambda word: word.group().translate(_LOOKALIKES), text)
    return _pattern("spaced_out").sub(lambda letters: re.sub(r"(?<=\S) (?=\S)", "", letters.group()), text)


def _decoded(text: str) -> Iterator[str]:
    """The decoded texts in base64, hexadecimal and ROT13."""
    if len(set(_pattern("rot13").findall(text))) > 1:
        yield codecs.decode(text, "rot13")
    for blob in re.findall(r"\b[A-Za-z0-9+/_-]{24,}={0,2}", text):
        for decode in (binascii.unhexlify, lambda one: base64.b64decode(one + "=" * (-len(one) % 4), altchars="-_")):
            try:
                plain = decode(blob).decode("utf-8")
            except ValueError:
                continue
            if plain.isprintable() and " " in plain:
                yield plain


def find_invisible(text: str, *, strays: bool = True) -> list[str]:
    """The names of invisible characters in a text, and "hidden markup" for comments and hiding styles.

    Joiners in emoji and between letters of scripts that need them are allowed; without `strays`, so is a single
    zero-width space next to white space, which editors and web pages leave behind.
    """
    names = {}
    for match in _UNUSUAL.finditer(text):
        char, at = match.group(), match.start()
        around = text[max(0, at - 1) : at], text[at + 1 : at + 2]
        is_blank = char in _BLANKS or "\U000e0100" <= char <= "\U000e01ef"
        if not is_blank and unicodedata.category(char) not in ("Cf", "Cc", "Co"):
            continue
        if char in "\u200b\ufeff" and not strays and not all(map(str.strip, around)) and "".join(around).isprintable():
            continue
        if char not in _JOINERS or not at or text[at - 1].isascii():
            names[char] = unicodedata.name(char, f"U+{ord(char):04X}")
    return [*names.values(), *(["hidden markup"] if _pattern("hidden").search(text) else [])]


def reveal_text(text: str) -> str:
    """The text without invisible characters, normalized (NFKC), and with text hidden in tag characters appended."""
    if text.isascii():
        return text
    hidden = "".join(chr(ord(char) - 0xE0000) for char in text if ord(char) in _TAGS)
    shown = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Co"))
    return unicodedata.normalize("NFKC", f"{shown}\n{hidden}" if hidden else shown)


def is_secret_file(value: str, context: str) -> bool:
    """Whether a value is the path of a file with secrets, in a text that is not about such files."""
    if not has_concept(value, "secret_file"):
        return False
    return not _pattern("about_secrets").search(context.replace(value, ""))


def find_mixed_scripts(name: str) -> list[str]:
    """The scripts of the first word that mixes Latin with Cyrillic or Greek letters, which look alike, or that has only
    letters of another script that look Latin."""
    for word in re.findall(r"[^\W\d_]+", name):
        scripts = {unicodedata.name(char, "").split(" ")[0] for char in word}
        alike = scripts & {"LATIN", "CYRILLIC", "GREEK"}
        if len(alike) > 1 or ("LATIN" not in alike and len(word) > 1 and word.translate(_LOOKALIKES).isascii()):
            return sorted(script.capitalize() for script in alike | {"LATIN"})
    return []


def visual_key(name: str) -> str:
    """A key that is the same for names that look alike at a glance."""
    return re.sub("_+", "_", plain_key(name).translate(_LOOKALIKES | _SIMILAR)).replace("rn", "m").replace("vv", "w")


def plain_key(name: str) -> str:
    """A key that is the same for names that differ in case, in the kind of separator and in invisible characters."""
    return reveal_text(name).casefold().strip().replace("-", "_")

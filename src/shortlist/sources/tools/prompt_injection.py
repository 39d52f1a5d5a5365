"""Checks for descriptions that give orders to the model instead of describing a tool.

`hostile_rules.py` has the rules, this module applies them: a text is reduced to what a model reads, split into
sentences, and every sentence is compared with every rule.
"""

from __future__ import annotations

import base64
import binascii
import functools
import itertools
import re
import string
import unicodedata
from collections.abc import Iterator

from shortlist.sources.tools.injection_rules import CONCEPTS, FOREIGN_WORDS, MARKS, OTHER_LANGUAGES, RULES, Rule


@functools.cache
def _expand(pattern: str) -> str:
    """A pattern with every `<concept>` replaced by its words."""
    while (expanded := re.sub(r"<(\w+)>", lambda found: f"(?:{CONCEPTS[found[1]]})", pattern)) != pattern:
        pattern = expanded
    return pattern


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    """A rule's pattern as a regular expression. Gaps count words, so a match never looks far ahead.

    Compiled on first use: all of them together take longer than the check of a server's tools.
    """
    first, *rest = re.split(r" ~(\d+) ", pattern)
    parts = [_step(first)]
    for gap, step in zip(rest[::2], rest[1::2], strict=True):
        words, end = step.removesuffix("|$"), r"|\W*$" if step.endswith("|$") else ""
        parts.append(rf"(?:(?:\W+\w+){{0,{gap}}}?\W+{_step(words)}{end})")
    return re.compile("".join(parts), re.IGNORECASE)


def _step(words: str) -> str:
    return words if words.startswith("^") else rf"(?<!\w)(?:{_expand(words)})(?!\w)"


def _beginnings(pattern: str) -> set[str]:
    """What a match of a pattern can begin with, as far as that is plain letters; an empty text where it is not."""
    found: set[str] = set()
    depth, start, alternatives = 0, 0, []
    for at, char in enumerate(pattern):
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            alternatives.append(pattern[start:at])
            start = at + 1
    for one in [*alternatives, pattern[start:]]:
        if one.startswith("(?:"):
            depths = itertools.accumulate((char == "(") - (char == ")") for char in one)
            end = next(at for at, depth in enumerate(depths) if not depth)
            found |= _beginnings(one[3:end])
            if one[end + 1 : end + 2] in ("?", "*", "{"):
                found |= _beginnings(one[end + 2 :])
        else:
            rest = one.lstrip(string.ascii_lowercase)
            letters = one[: len(one) - len(rest) - rest.startswith(("?", "*", "{"))]
            found.add(letters if len(letters) >= 3 or not rest or rest[0] in " -" else "")
    return found


def _hints(pattern: str) -> list[set[str]]:
    """For each step of a rule the first letters of a word that a match holds; far faster to look for than a match."""
    steps = [_beginnings(_expand(step)) for step in re.split(r" ~\d+ ", pattern) if not step.endswith("|$")]
    return sorted(({hint[:5] for hint in hints} for hints in steps if "" not in hints), key=len)


@functools.cache
def _rules() -> list[tuple[str, list[set[str]], Rule]]:
    return [(what, _hints(rule.pattern), rule) for what, rules in RULES.items() for rule in rules]


@functools.cache
def _foreign() -> list[tuple[str, re.Pattern[str]]]:
    return [(what, re.compile(one, re.IGNORECASE)) for what, patterns in OTHER_LANGUAGES.items() for one in patterns]


_IMITATIONS = [(needed, re.compile(mark, re.IGNORECASE)) for needed, mark in MARKS]
_NEGATED = re.compile(_expand(r"(?<!\w)(?<!if you )(?<!if it )(?:<not>)(?: [\w'-]+){0,3} $"), re.IGNORECASE)
_STARTS_NEGATED = re.compile(_expand(r"(?!without)(?:<not>|not|no longer)\b"), re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"[.!?。！？](?<!e\.g\.)(?<!i\.e\.)[\s\"')>]+|\n(?:\s*\n|(?=\s*(?:[-*•#]|\d+[.)])\s))|(?:[:;])\n"
)
_EMPHASIS = re.compile(r"\*\*|__|(?<=\s)\*(?=\w)|(?<=\w)\*(?=\s)")
_REMINDER = re.compile(r"\b(?:do not|don't|never) (?:forget|fail|hesitate|neglect) to\b", re.IGNORECASE)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """What in a text gives orders to the model: what they would make it do, each once, and the words that say so."""
    seen: set[str] = set()
    for plain in (_without_disguise(text), *_decoded(text)):
        for what, words in _orders(plain):
            if what not in seen:
                seen.add(what)
                yield what, words


def _orders(text: str) -> Iterator[tuple[str, str]]:
    lowered = text.lower()
    for needed, mark in _IMITATIONS:
        if needed in lowered and (found := mark.search(text)):
            yield "imitates the marks of a system message", " ".join(found.group().split())
    if any(word in lowered for word in FOREIGN_WORDS):
        for what, pattern in _foreign():
            if found := pattern.search(text):
                yield what, " ".join(found.group().split())
    for sentence in dict.fromkeys(_sentences(text)):
        yield from _broken_rules(sentence)
        if (found := _TRANSCRIPT.match(sentence)) and len(_TALK.findall(text)) == len(_TALK.findall(sentence)):
            yield "asks to send the conversation somewhere", found.group()
    if _CLASSIC.search(_letters(text)):
        yield "tells the model to ignore its instructions", "ignore previous instructions"


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text on one line each, without emphasis; identifiers of several words as words."""
    text = text.replace("\u2019", "'")
    if "*" in text or "__" in text:
        text = _EMPHASIS.sub("", text)
    if " to " in text:
        text = _REMINDER.sub("", text)
    for part in _SENTENCE_END.split(text):
        words = part.split()
        if len(words) == 1 and words[0].isidentifier():
            words = words[0].split("_")
        if len(words) > 1:
            yield " ".join(words)


# A parameter that takes the whole conversation, in a tool that is otherwise not about conversations.
_TRANSCRIPT = re.compile(
    r"(?:the |a )?(?:full|entire|complete|whole|verbatim|raw|exact|current) (?:\w+ ){0,2}?(?:of (?:the|this|our"
    r"|your) )?(?:\w+ )?(?:conversation|chat|dialog(?:ue)?)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"conversation|chat|dialog|messages?\b|transcript|meeting|thread|agent|assistant|\bcalls?\b", re.IGNORECASE
)


@functools.lru_cache(maxsize=50_000)
def _broken_rules(sentence: str) -> tuple[tuple[str, str], ...]:
    """What a sentence would make the model do, and the words that say so. Catalogs repeat many sentences."""
    broken = []
    beginnings = {word[:n] for word in re.findall(r"\w+", sentence.lower()) for n in (3, 4, 5)}
    for what, hints, rule in _rules():
        if any(map(beginnings.isdisjoint, hints)):
            continue
        for found in _compile(rule.pattern).finditer(sentence):
            start, end = found.span()
            negated = not _STARTS_NEGATED.match(found.group()) and _NEGATED.search(sentence[max(0, start - 60) : start])
            nearby = sentence[max(0, start - NEARBY) : end + NEARBY]
            if not negated and not (rule.unless and re.search(_expand(rule.unless), nearby, re.IGNORECASE)):
                broken.append((what, found.group()))
                break
    return tuple(broken)


# The one attack that is known by its letters alone, whatever is between them or in their place.
_CLASSIC = re.compile(
    r"(?<!not)(?<!never)(?:ignore|disregard|forget)(?:all|any|the|your|of|my){0,3}(?:previous|prior|earlier|above|preceding|system)"
    r"(?:system)?(?:instructions?|prompts?|rules|directives|guidelines)"
)
_LOOKALIKES = str.maketrans("аеорсухіјѕοαειІЕОАС", "aeopcyxijsoaeiIEOAC")
_MIXED_WORD = re.compile(r"\b[a-zA-Z]*[аеорсухіјѕοαειІЕОАС](?=\w*[a-zA-Z])\w*|\b[a-zA-Z]+[аеорсухіјѕοαειІЕОАС]\w*")
_SPACED_OUT = re.compile(r"(?<!\S)(?:[\w'] {1,3}){7,400}\w(?!\S)")
NEARBY = 100  # characters around a match in which words count that make it harmless
_LETTERS = dict.fromkeys(range(128)) | _LOOKALIKES | {ord(char): char for char in string.ascii_lowercase}
_LETTERS |= str.maketrans(string.ascii_uppercase + "013457@$", string.ascii_lowercase + "oieastas")


def _letters(text: str) -> str:
    """The Latin letters of a text, and those that others are made to look like."""
    return text.translate(_LETTERS)


def _without_disguise(text: str) -> str:
    """What a model reads: nothing hidden, no letters of other alphabets inside a word, no spaces between letters."""
    text = visible(text)
    if not text.isascii():
        text = _MIXED_WORD.sub(lambda word: word.group().translate(_LOOKALIKES), text)
    return _SPACED_OUT.sub(lambda letters: re.sub(r"(?<=\S) (?=\S)", "", letters.group()), text)


def _decoded(text: str) -> Iterator[str]:
    """What is readable in a text only after decoding: base64 and hexadecimal."""
    for found in re.finditer(r"\b[A-Za-z0-9+/_-]{24,}={0,2}", text):
        blob = found.group()
        for decode in (binascii.unhexlify, lambda one: base64.b64decode(one + "=" * (-len(one) % 4), altchars="-_")):
            try:
                plain = decode(blob).decode("utf-8")
            except ValueError:
                continue
            if plain.isprintable() and " " in plain:
                yield plain


_HIDDEN = re.compile(
    r"<!--|\x1b\[[0-9;]*[A-Za-z]|<[a-z][^<>]{0,200}\bstyle\s{0,9}=[^<>]{0,200}(?:display\s?:\s?none"
    r"|visibility\s?:\s?hidden|font-size\s?:\s?0|opacity\s?:\s?0(?!\.)|color\s?:\s?(?:white|transparent|#fff))"
    r"|<[a-z]+[^<>]{0,200}\shidden[\s>]",
    re.IGNORECASE,
)
_JOINERS = "\u200c\u200d"
_UNUSUAL = re.compile(r"[^\x20-\x7e\t\n\r]")
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
_TAGS = range(0xE0000, 0xE0080)


def invisible(text: str, *, strays: bool = True) -> list[str]:
    """The characters of a text that cannot be seen, by name, and what is hidden in comments or behind colors.

    Joiners between letters of scripts that need them, and within emoji, are not meant; without `strays`, neither is a
    single zero-width space next to white space, which editors and web pages leave behind.
    """
    found = {}
    for match in _UNUSUAL.finditer(text):
        char, at = match.group(), match.start()
        around = text[max(0, at - 1) : at], text[at + 1 : at + 2]
        if (
            unicodedata.category(char) not in ("Cf", "Cc", "Co")
            and char not in _BLANKS
            and not "\U000e0100" <= char <= "\U000e01ef"
        ):
            continue
        if char in "\u200b\ufeff" and not strays and not all(map(str.strip, around)) and "".join(around).isprintable():
            continue
        if char not in _JOINERS or not at or text[at - 1].isascii():
            found[char] = unicodedata.name(char, f"U+{ord(char):04X}")
    return [*found.values(), *(["hidden markup"] if _HIDDEN.search(text) else [])]


def visible(text: str) -> str:
    """The text without what cannot be seen, in its compatible form: what a reader, or a model, takes it for."""
    if text.isascii():
        return text
    hidden = "".join(chr(ord(char) - 0xE0000) for char in text if ord(char) in _TAGS)
    kept = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Co"))
    return unicodedata.normalize("NFKC", f"{kept}\n{hidden}" if hidden else kept)


def mixed_scripts(name: str) -> list[str]:
    """The scripts of a word that mixes letters which look alike: Latin with Cyrillic or Greek."""
    for word in re.findall(r"\w+", name):
        scripts = {_script(char) for char in word if char.isalpha()} & {"LATIN", "CYRILLIC", "GREEK"}
        if len(scripts) > 1:
            return sorted(script.capitalize() for script in scripts)
    return []


def _script(char: str) -> str:
    return unicodedata.name(char, "").split(" ")[0]

"""Questions made from the units of a passage: what its structure says is asked for, in the words of people.

A question comes with the unit that answers it, or with a pattern that no unit about its key may match, so that nothing
answers it. `question_forms.toml` has the forms and the words that replace each other.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from shortlist.answer.extractive.units.unit import Unit

REPLACED = 0.5  # of the words that have others
DROPPED = 0.12  # of the other words of a description
MISSED = 0.3  # of what could be asked for and is not there
NAMED = 0.8  # of the questions about an option name its command
TYPED = 0.12  # of the questions are typed as keywords
LONGEST_DEED, LONGEST_KEY, LONGEST_CELL = 14, 40, 40  # words, characters

DEFAULT = re.compile(
    r"\bdefaults?\b|\bif (?:not|un)\w* ?(?:set|given|specified)|\bif omitted\b|\bunless\b", re.IGNORECASE
)
LIMIT = re.compile(
    r"\b(?:max(?:imum)?|min(?:imum)?|at most|at least|no more than|up to|cannot exceed|range|between|limit\w*)\b.*\d",
    re.IGNORECASE,
)
UNIT = re.compile(
    r"\bin (?:milli|micro|nano)?(?:seconds|minutes|hours|days|bytes|pixels|percent|kilobytes|megabytes|ms|blocks)\b"
    r"|\bnumber of (?:seconds|minutes|bytes|days)\b",
    re.IGNORECASE,
)
VERSION = re.compile(
    r"\b(?:since|added in|new in|introduced in|available (?:in|since)|as of|from)\b.{0,20}\d+\.\d", re.IGNORECASE
)
CHANGED = re.compile(r"\bchanged in\b|\bdeprecated\b|\bremoved in\b|\bobsolete\b|\bno longer\b", re.IGNORECASE)
# What a near miss asks for, and what a unit that answers would contain.
MISSES = {"default": DEFAULT, "limit": LIMIT, "unit": UNIT, "version": VERSION, "deprecated": CHANGED}

_NAME = re.compile(r"--[A-Za-z][\w-]+|(?<![\w-])-[A-Za-z]\b")
_SYMBOL = re.compile(r"\w[_.:-]\w|[a-z][A-Z]|^[A-Z\d_]{2,}$")
_PATH = re.compile(r"[~$/][\w./$~{}*-]{3,}$")
_STATUS_HEADING = re.compile(r"\b(?:exit|return|status|diagnostics|errors)\b", re.IGNORECASE)
_STATUS = re.compile(r"-?\d{1,3}|E[A-Z]{2,}")
_SENTENCE = re.compile(r"(.{8,220}?[.;:])(?:\s|$)")
_CUT = re.compile(
    r"\s*(?:[;:(]|\.\s|, (?:and|but|which|so|or|if|when|where|as|instead)\b|,? (?:because|unless|rather)\b).*$"
)
_LEAD = re.compile(
    r"(?:(?:this|the) (?:option|flag|setting|variable|parameter|function|command|directive|method|keyword) "
    r"(?:is used to|can be used to|allows you to|will|tells \S+ to)?|if (?:set|given|specified|true|enabled), ?|used to"
    r"|instructs \S+ to"
    r"|causes \S+ to|tells? \S+ to|allows? (?:you )?to|you can|it is used to) ?",
    re.IGNORECASE,
)
_THING = re.compile(
    r"(?:(?:specif(?:y|ies)|sets?|defines?|controls?|gives?|determines?|indicates?|changes?|selects?|configures?"
    r"|contains?) )?"
    r"((?:the|an?|maximum|minimum|number|list|path|name|size|time|type|amount|default)\b[^.;:,()]{6,70}?)"
    r"(?= (?:that|which|is|are|to be used|used|for use|when|if|in order|can|will|should|must|may)\b|[.;:,(]|$)",
    re.IGNORECASE,
)
_CAN = re.compile(
    r"^((?:The |An? |This |Each |Only )?[\w.`'\"-]+(?: [\w.`'\"-]+){0,5}?) "
    r"(can|cannot|can not|may|may not|must|must not|should|should not|does not|do not|is not|are not"
    r"|will not)( [^.;:()]{8,90})"
)
_NUMBER = re.compile(
    r"^((?:The |An? |Each |It )?[\w`'-]+(?: [\w`'-]+){0,4}?) "
    r"(has|have|takes?|waits?|uses?|keeps?|supports?|allows?|contains?|needs?|"
    r"requires?|accepts?|sends?|stores?|retries|runs?) (?:up to |at most |about |at least |exactly |only )?"
    r"(\d[\d,.]*|two|three|four|five|six|seven|eight|ten|twelve) ([a-z-]+(?: [a-z-]+)?)\b([^.;:()]{0,60})"
)
_FOLLOWING = re.compile(
    r"(?:the )?following ((?:[\w-]+ ){0,3}[\w-]*s)\b|([\w-]+(?: [\w-]+)?s) (?:are|can be|include)\b", re.IGNORECASE
)
_DONE = re.compile(
    r"[-*+•]?\s*(added?|fix(?:ed)?|removed?|new|support(?:ed)?)\b:? (?:an? |the |for )?(.{10,120})", re.IGNORECASE
)
_DONE_WORDS = {"a": "added", "n": "added", "s": "added", "f": "fixed", "r": "removed"}
_GERUND = re.compile(r"([A-Z][a-z]+ing)( [\w ,'-]{4,60})$")
_NO_KEYS = {
    "-h",
    "-v",
    "--help",
    "--version",
    "note",
    "new",
    "warning",
    "example",
    "see",
    "usage",
    "param",
    "def",
    "type",
}
_NO_SUBJECTS = frozenset(
    re.findall(
        r"\w+", "if when note this that it they there these those which otherwise however also then so and but as"
    )
)
_SMALL = frozenset(
    re.findall(
        r"\w+", "a an the of to in for is are be on by with and or do does i how what which if it that this my can as"
    )
)


class Made(NamedTuple):
    """A question, the unit that answers it, and its form; without a unit, what no unit about its key may match."""

    text: str
    unit: Unit | None
    form: str
    key: str = ""
    unmatched: re.Pattern[str] | None = None


@cache
def load_forms() -> dict[str, Any]:
    """The forms of questions, the words that replace each other, and verbs with their base forms."""
    data = tomllib.loads(Path(__file__).with_name("question_forms.toml").read_text("utf-8"))
    others: dict[str, list[str]] = {}
    for group in data["synonyms"]["groups"]:
        for word in group:
            others.setdefault(word, []).extend(one for one in group if one != word)
    bases: dict[str, tuple[str, str]] = {}
    for verb in data["synonyms"]["verbs"].split():
        ending = "es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s"
        third = f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}{ending}"
        bases |= {verb: (verb, third), third: (verb, third)}
        stem = verb.removesuffix("e") if not verb.endswith("ee") else verb
        bases |= {f"{stem}ing": (verb, third), f"{verb}{verb[-1]}ing": (verb, third)}
    return {"forms": data["forms"], "others": others, "bases": bases}


def ask_units(topic: str, units: Sequence[Unit], rng: random.Random, *, is_history: bool = False) -> Iterator[Made]:
    """Questions that units of a passage answer, and near misses that nothing answers.

    `is_history` is for changelogs, which only say what was changed.
    """
    for at, unit in enumerate(units):
        if not unit.is_answer or len(unit.text) < 12:
            continue
        if is_history:
            yield from _ask_change(topic, unit, rng)
        elif unit.kind == "row":
            yield from _ask_row(topic, unit, rng)
        elif unit.kind == "list":
            yield from _ask_list(topic, unit, rng)
        elif unit.key:
            yield from _ask_key(topic, unit, units[at + 1 :], rng)
        else:
            yield from _ask_sentence(topic, unit, units[at - 1] if at else None, rng)


def _ask_change(topic: str, unit: Unit, rng: random.Random) -> Iterator[Made]:
    if unit.kind != "list" and (done := _DONE.match(unit.text)):
        thing = _reword(_CUT.sub("", done[2]), rng)
        yield _make("changelog", topic, unit, rng, thing=thing, done=_DONE_WORDS[done[1][0].lower()])


def _ask_key(topic: str, unit: Unit, below: Sequence[Unit], rng: random.Random) -> Iterator[Made]:
    names = _NAME.findall(unit.key)
    key = rng.choice(names) if names else _name_key(unit.key)
    says = unit.text.removeprefix(unit.text[: len(unit.key)] if unit.text.startswith(unit.key) else "").strip(" :-—–.=")
    if not 0 < len(key) <= LONGEST_KEY or key.lower().split()[0] in _NO_KEYS or len(says) < 12:
        return
    deed, thing = _read_deed(says, rng), _read_thing(says, rng)
    if _STATUS.fullmatch(key) and any(_STATUS_HEADING.search(one) for one in unit.headings):
        yield _make("status", topic, unit, rng, key=key)
        yield _make("reason", topic, unit, rng, thing=_reword(_first(says), rng))
        return
    if _PATH.match(key):
        yield _make("path", topic, unit, rng, key=key)
        if thing:
            yield _make("where", topic, unit, rng, thing=thing)
        return
    is_symbol = bool(names) or bool(_SYMBOL.search(key))
    if rng.random() < 0.5:
        yield _make("does" if is_symbol else "term", topic, unit, rng, key=key)
    if deed:
        yield _make("which", topic, unit, rng, deed=deed[0], deeds=deed[1])
    elif thing:
        yield _make("which_thing" if is_symbol else "what_is", topic, unit, rng, thing=thing)
    elif not is_symbol:
        yield _make("what_is", topic, unit, rng, thing=_reword(_first(says), rng))
    entry = [unit, *(one for one in below[:8] if one.kind == "sentence" and one.subject and one.subject in unit.key)]
    for form, pattern in MISSES.items():
        found = [one for one in entry if pattern.search(one.text)]
        if found:
            yield _make(form, topic, found[0], rng, key=key)
            if form == "default" and thing:
                yield _make("default_thing", topic, found[0], rng, thing=thing)
        elif is_symbol and rng.random() < MISSED:
            yield _make(form, topic, None, rng, key=key, unmatched=pattern)


def _ask_sentence(topic: str, unit: Unit, before: Unit | None, rng: random.Random) -> Iterator[Made]:
    text = unit.text
    key = unit.subject.strip("`'\"* ")[:LONGEST_KEY]
    if unit.note in ("added", "changed", "deprecated", "removed") and key:
        form = {"added": "version", "changed": "changed"}.get(unit.note, "deprecated")
        yield _make(form, topic, unit, rng, key=key)
    if (can := _CAN.match(text)) and can[1].split()[0].lower() not in _NO_SUBJECTS:
        subject = {"You": "I", "We": "they"}.get(can[1], _lower(can[1]))
        yield Made(_type(f"{_invert(can[2])} {subject} {_reword(can[3], rng, 0)}?", rng), unit, "yes_no")
    if number := _NUMBER.match(text):
        does = "do" if number[2] in ("has", "have") and number[1].endswith("s") else "does"
        verb = (
            re.sub(r"ies$", "y", number[2])
            if number[2] == "retries"
            else {"has": "have"}.get(number[2], number[2].removesuffix("s"))
        )
        rest = f" {_reword(number[5], rng, 0)}".rstrip()
        yield Made(_type(f"How many {number[4]} {does} {_lower(number[1])} {verb}{rest}?", rng), unit, "how_many")
    if (
        DEFAULT.search(text)
        and re.search(r"\bdefaults?\b", text, re.IGNORECASE)
        and not key
        and (thing := _read_thing(text, rng))
    ):
        yield _make("default_thing", topic, unit, rng, thing=thing)
    gerund = _GERUND.match(unit.heading) if before and before.kind == "heading" else None
    if gerund and (base := load_forms()["bases"].get(gerund[1].lower())):
        yield _make("heading", topic, unit, rng, deed=f"{base[0]}{gerund[2]}")


def _ask_row(topic: str, unit: Unit, rng: random.Random) -> Iterator[Made]:
    cells, headers = unit.cells, unit.headers
    if not unit.key or len(cells) < 2 or len(headers) != len(cells) or not 0 < len(cells[0]) <= LONGEST_CELL:
        return
    at = rng.randrange(1, len(cells))
    column, value, key, name = headers[at], cells[at], cells[0].strip("`"), headers[0].lower() or "entry"
    if not value or not column:
        return
    if len(cells) == 2:
        yield _make("about_row", topic, unit, rng, key=key)
        if deed := _read_deed(value, rng):
            yield _make("which", topic, unit, rng, deed=deed[0], deeds=deed[1])
    else:
        yield _make("cell", topic, unit, rng, key=key, column=column.lower())
    yield _make("row", topic, unit, rng, name=name, column=column.lower(), thing=_reword(_first(value), rng))


def _ask_list(topic: str, unit: Unit, rng: random.Random) -> Iterator[Made]:
    intro = unit.text.partition("\n")[0]
    if (found := _FOLLOWING.search(intro)) and intro.endswith(":"):
        yield _make("listed", topic, unit, rng, thing=(found[1] or found[2]).lower())


def _make(
    form: str, topic: str, unit: Unit | None, rng: random.Random, *, key: str = "",
    unmatched: re.Pattern[str] | None = None, **parts: str,
) -> Made:  # fmt: skip
    text = rng.choice(load_forms()["forms"][form]).format(topic=topic, key=key, **parts)
    if key.startswith("-") and topic not in text and rng.random() < NAMED:
        text = f"{topic}: {text}"  # many commands have this option
    return Made(_type(text, rng), unit, form, key, unmatched)


def _name_key(key: str) -> str:
    """The name that a term begins with, without its arguments if it is a symbol, or the whole term."""
    bare = key.strip("`'\"*: ").partition("(")[0].partition("=")[0].partition("[")[0].strip()
    name, _, arguments = bare.partition(" ")
    return name if arguments and _SYMBOL.search(name) else bare


def _first(text: str) -> str:
    """The first sentence of a text, or what it begins with."""
    match = _SENTENCE.match(f"{text}.")
    return (match[1] if match else text[:120]).rstrip(".;:")


def _read_deed(says: str, rng: random.Random) -> tuple[str, str] | None:
    """What a description says is done, in the infinitive and in the third person."""
    text = _LEAD.sub("", _first(says), count=1).strip()
    word, _, rest = text.partition(" ")
    base = load_forms()["bases"].get(word.lower())
    if not base or not rest or word.lower().endswith("ing"):
        return None
    rest = " ".join(_CUT.sub("", rest).split()[:LONGEST_DEED])
    deed = _reword(f"{base[0]} {rest}", rng)
    third = load_forms()["bases"].get(deed.split()[0], ("", ""))[1]
    return deed, f"{third} {deed.partition(' ')[2]}" if third else f"can {deed}"


def _read_thing(says: str, rng: random.Random) -> str:
    """What a description is about, as a noun with its article."""
    match = _THING.match(_LEAD.sub("", _first(says), count=1).strip())
    return _reword(match[1], rng) if match and len(match[1].split()) > 1 else ""


def _reword(text: str, rng: random.Random, dropped: float = DROPPED) -> str:
    """A text with some words replaced, and some left out, as people do not know them all."""
    words = [
        word for at, word in enumerate(text.split()) if at < 3 or word.lower() in _SMALL or rng.random() >= dropped
    ]
    others = load_forms()["others"]
    said = [
        rng.choice(others[one]) if (one := word.lower()) in others and rng.random() < REPLACED else word
        for word in words
    ]
    made = " ".join(said)
    return _lower(made) if made else made


def _lower(text: str) -> str:
    """A text as it stands inside of a sentence."""
    return text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _type(text: str, rng: random.Random) -> str:
    """A question as it is typed: as it is, without capitals and marks, or as keywords."""
    chance = rng.random()
    if chance < TYPED and len(words := text.rstrip("?.").split()) > 4:
        return " ".join(word for word in words if word.lower() not in _SMALL)
    return _lower(text).rstrip("?") if chance < 2 * TYPED else text[0].upper() + text[1:]


def _invert(verb: str) -> str:
    """How a question begins that a statement with this verb answers."""
    return {"cannot": "Can", "can not": "Can"}.get(verb, verb.removesuffix(" not").capitalize())

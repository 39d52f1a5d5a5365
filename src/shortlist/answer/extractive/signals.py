"""Signals that a sentence answers a question, each a number between 0 and 1.

An answer holds the question's words and something more, of the kind that was asked for. What is on the topic and no
answer lacks a rare word, a name or a number of the question, says its opposite, or says nothing new.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from shortlist.answer.extractive.english import (
    ASKING,
    CAUSES,
    DATES,
    FUNCTION_WORDS,
    KINDS,
    NEGATING_PREFIXES,
    NEGATION,
    NUMBER_WORDS,
    ORDINALS,
    irregular,
    opposites,
)
from shortlist.index.text.analyzers import Analyzer

Frequency = Callable[[list[str]], Mapping[str, int]]

# As if so many further passages had been counted, of which so many hold any given word: in a handful of passages a
# word's frequency says nothing yet.
FURTHER, FURTHER_WITH = 500, 2

# A question of more words, found again, is surer to be answered; beyond these it makes no difference.
COUNTED_WORDS = (4, 9)

# "What colour" asks for red or green: the word that says what kind of thing is wanted need not be in the answer.
KIND_WEIGHT = 0.5

_WORD = re.compile(r"\w+(?:['’]\w+)*")
SAME_BEGINNING = 5  # letters that two forms of a word share at least

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for, in terms: each with its weight, and which of them are names or numbers."""

    text: str
    kind: str
    weights: Mapping[str, float]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    is_negated: bool

    @property
    def heaviest(self) -> float:
        return max(self.weights.values(), default=1.0)


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence in its surroundings, as terms: its own, those of its neighbours too, those of its passage too."""

    text: str
    own: frozenset[str]
    near: frozenset[str]
    around: frozenset[str]


def read_question(text: str, analyzer: Analyzer, frequency: Frequency, passages: int) -> Question:
    """The question taken apart; `frequency` tells how many of the passages hold each term."""
    terms: dict[str, None] = {}
    names: list[str] = []
    numbers: list[str] = []
    kinds: list[str] = []
    before = ""
    for at, word in enumerate(_WORD.findall(text)):
        own = _terms(analyzer, word)
        folded = word.lower()
        if before in ("what", "which"):
            kinds += own
        before = folded
        if not own or folded in ASKING:
            continue
        terms |= dict.fromkeys(own)
        if _DIGIT.search(word) or folded in ORDINALS or folded in NUMBER_WORDS:
            numbers.append(own[0])
        elif at and word[0].isupper():
            names.append(own[0])
    wanted = list(terms) or list(dict.fromkeys(analyzer.terms(text)))
    held = frequency(wanted)
    weights = {term: _weight(held.get(term, 0), passages) * (KIND_WEIGHT if term in kinds else 1) for term in wanted}
    return Question(text, _kind(text), weights, tuple(names), tuple(numbers), bool(NEGATION.search(text)))


def _weight(held: int, passages: int) -> float:
    return math.log(1 + (passages + FURTHER - held) / (held + FURTHER_WITH))


def _kind(text: str) -> str:
    folded = text.lower()
    return next((kind for kind, pattern in KINDS.items() if pattern.search(folded)), "")


@lru_cache(maxsize=1 << 16)
def _terms(analyzer: Analyzer, word: str) -> tuple[str, ...]:
    return tuple(analyzer.terms(word)) if analyzer.says_something(word) else ()


def coverage(question: Question, terms: frozenset[str]) -> float:
    """The share of the question's weight that these terms hold."""
    total = sum(question.weights.values())
    return sum(weight for term, weight in question.weights.items() if term in terms) / total if total else 0.0


def signals(question: Question, reading: Reading, analyzer: Analyzer) -> dict[str, float]:
    """What speaks for and against this sentence as the answer."""
    wanted = question.weights
    missing = [term for term in wanted if term not in reading.around]
    missing_here = [term for term in wanted if term not in reading.own]
    fitting = count_fitting(question, reading.text, analyzer) if question.kind else 0.0
    least, most = COUNTED_WORDS
    return {
        "covered": coverage(question, reading.own),
        "elsewhere": coverage(question, reading.around) - coverage(question, reading.near),
        "heaviest_missing": max((wanted[term] for term in missing_here), default=0.0) / question.heaviest,
        "names_missing": _share(question.names, reading.around),
        "numbers_missing": float(any(term not in reading.own for term in question.numbers)),
        "negated": float(question.is_negated),
        "negated_alone": float(question.is_negated and not NEGATION.search(reading.text)),
        "denied": float(not question.is_negated and _denies(question, reading.text, analyzer)),
        "opposite": float(_says_opposite(missing_here, reading.own)),
        "opposite_around": float(_says_opposite(missing, reading.around)),
        "fitting": min(fitting, 4.0) / 4,
        "nothing_fitting": float(bool(question.kind) and not fitting),
        "words": (min(max(len(wanted), least), most) - least) / (most - least),
    }


def _denies(question: Question, sentence: str, analyzer: Analyzer) -> bool:
    """Whether a word of the question follows a negation."""
    return any(
        not question.weights.keys().isdisjoint(_terms(analyzer, word))
        for match in NEGATION.finditer(sentence)
        for word in _WORD.findall(sentence[match.end() : match.end() + 40])[:3]
    )


def other_forms(question: Question, terms: frozenset[str]) -> dict[str, str]:
    """Terms that are another form of a term of the question: began for begin, Aristotelian for Aristotle."""
    known = irregular()
    absent = [wanted for wanted in question.weights if wanted not in terms]
    roots = {known[wanted]: wanted for wanted in absent if wanted in known}
    begins = {wanted[:SAME_BEGINNING]: wanted for wanted in absent if len(wanted) >= SAME_BEGINNING}
    found = {}
    for term in terms:
        wanted = roots.get(known.get(term, "")) or begins.get(term[:SAME_BEGINNING])
        if wanted and (term in known or _is_same_word(term, wanted)):
            found[term] = wanted
    return found


def _is_same_word(one: str, other: str) -> bool:
    least = max(SAME_BEGINNING, math.ceil(0.7 * len(other)))
    return one[:least] == other[:least] and abs(len(one) - len(other)) <= SAME_BEGINNING


def _share(terms: Iterable[str], among: frozenset[str]) -> float:
    wanted = list(terms)
    return sum(term not in among for term in wanted) / len(wanted) if wanted else 0.0


def count_fitting(question: Question, sentence: str, analyzer: Analyzer) -> float:
    """How many things of the kind that is asked for stand in a sentence and not in the question."""
    asked = question.weights.keys()
    if question.kind == "date":
        return sum(asked.isdisjoint(analyzer.terms(match.group())) for match in DATES.finditer(sentence))
    if question.kind == "why":
        return len(CAUSES.findall(sentence))
    found = 0.0
    for at, word in enumerate(_WORD.findall(sentence)):
        if question.kind == "number":
            fits = bool(_DIGIT.search(word)) or word.lower() in NUMBER_WORDS
        else:
            fits = len(word) > 1 and word[0].isupper() and word.lower() not in FUNCTION_WORDS
        if fits and asked.isdisjoint(_terms(analyzer, word)):
            found += 1 if at else 0.5
    return found


def _says_opposite(missing: Iterable[str], present: frozenset[str]) -> bool:
    known = opposites()
    return any(not known.get(term, _NONE).isdisjoint(present) or _negated_form(term, present) for term in missing)


_NONE: frozenset[str] = frozenset()


def _negated_form(term: str, present: frozenset[str]) -> bool:
    """Whether the sentence has the word with a negating prefix, or without the one that the question has."""
    for prefix in NEGATING_PREFIXES:
        if len(term) > 3 and prefix + term in present:
            return True
        if term.startswith(prefix) and len(term) - len(prefix) > 3 and term[len(prefix) :] in present:
            return True
    return False

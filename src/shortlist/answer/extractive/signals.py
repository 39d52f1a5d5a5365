"""Signals that a sentence answers a question, each a number between 0 and 1.

An answer contains the words of the question and something new, of the kind that was asked for. A sentence that is only
on the topic lacks a rare word, a name or a number of the question, says the opposite, or says nothing new.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache

from shortlist.answer.extractive import english
from shortlist.answer.extractive.lexicon import Lexicon, get_lexicon
from shortlist.index.text.analyzers import Analyzer
from shortlist.index.text.languages import ENGLISH

Frequency = Callable[[list[str]], Mapping[str, int]]

# Added to the number of passages, and to those with any given word: in a few passages frequency means nothing yet.
MORE_PASSAGES, MORE_WITH_WORD = 500, 2

COUNTED_WORDS = (4, 9)  # a question of more words that all match is more likely answered, within these limits
KIND_WEIGHT = 0.5  # of the "color" in "what color": an answer such as "red" need not contain it
SAME_BEGINNING = 5  # letters that two forms of a word share at least

_DIGIT = re.compile(r"\d")
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z0-9][\w-]*")
_SYMBOL = re.compile(
    r"(?<![\w-])(?:--?[A-Za-z0-9][\w-]*|%\w\b|[A-Za-z_]\w*(?:\.\w+)+|\w+(?=\(\))|[A-Za-z]*_\w+|[A-Z]{2,}\w*|\w*[a-z][A-Z]\w*)"
    r"|(?<=^What is )\w+(?=\?*$)|(?<=^What does )\w+(?= (?:do|mean|return)\b)"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as terms: the weight of each, and which of them are names or numbers."""

    text: str
    kind: str  # number, date, who, where, why or empty
    weights: Mapping[str, float]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    is_negated: bool
    asked: frozenset[str] = frozenset()  # the "color" of "what color"
    symbols: frozenset[str] = frozenset()  # options and names of code: --verbose, os.path.join
    language: str = ENGLISH  # of its terms, and of the passages that they are compared with
    is_foreign: bool = False  # is written in another language than that, so that words cannot be compared
    readings: Mapping[str, Question] = field(default_factory=dict)  # the question for passages in other languages

    @property
    def lexicon(self) -> Lexicon:
        return get_lexicon(self.language)

    @property
    def is_english(self) -> bool:
        """Whether it is in English, as are the passages that it is compared with."""
        return self.lexicon.is_english and not self.is_foreign

    def read_for(self, language: str) -> Question:
        """The question for passages in a language."""
        return self.readings.get(language, self)


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence and its terms: its own, with those of its neighbors, and with those of its passage."""

    text: str
    own: frozenset[str]
    near: frozenset[str]
    around: frozenset[str]


def read_question(
    text: str, analyzer: Analyzer, frequency: Frequency, passages: int, language: str = ENGLISH, asked_in: str = ""
) -> Question:
    """Analyze a question for passages in a language; `frequency` counts the passages that contain each term.

    `asked_in` is the language that the question is written in, if it is another one.
    """
    lexicon = get_lexicon(asked_in or language)
    terms: dict[str, None] = {}
    names: list[str] = []
    numbers: list[str] = []
    kind_terms: list[str] = []
    before = ""
    idle = lexicon.list_idle(text)
    for at, word in enumerate(lexicon.list_topics(text)):
        own = _find_terms(analyzer, word)
        lowered = word.lower()
        if before in ("what", "which"):
            kind_terms += own
        before = lowered
        if not own or lowered in lexicon.asking or lowered in idle:
            continue
        terms |= dict.fromkeys(own)
        if _DIGIT.search(word) or lowered in lexicon.ordinals or lowered in lexicon.number_words:
            numbers.append(own[0])
        elif (at and word[0].isupper() and lexicon.names_have_capitals) or is_latin_name(word, lexicon):
            names.append(own[0])
    if not lexicon.is_spaced and any(len(term) > 1 for term in terms):
        terms = {term: None for term in terms if len(term) > 1 or term.isdigit()}  # texts have only pairs of characters
    wanted = list(terms) or list(dict.fromkeys(analyzer.terms(text)))
    counts = frequency(wanted)
    weights = {}
    for term in wanted:
        count = counts.get(term, 0)
        rarity = math.log(1 + (passages + MORE_PASSAGES - count) / (count + MORE_WITH_WORD))
        weights[term] = rarity * (KIND_WEIGHT if term in kind_terms else 1)
    kind = lexicon.find_kind(text)
    is_negated = bool(lexicon.negation.search(lexicon.normalize(text)))
    asked, symbols = frozenset(kind_terms), frozenset(_SYMBOL.findall(text))
    return Question(
        text, kind, weights, tuple(names), tuple(numbers), is_negated, asked, symbols, language, bool(asked_in)
    )


def is_latin_name(word: str, lexicon: Lexicon) -> bool:
    """Whether a word is in Latin letters in a language that is written in others."""
    return not lexicon.is_english and lexicon.has_other_script and word[0].isascii() and word[0].isalpha()


def find_options(text: str) -> frozenset[str]:
    """The options of a command in a text: -v, --verbose."""
    return frozenset(_OPTION.findall(text))


@lru_cache(maxsize=1 << 16)
def _find_terms(analyzer: Analyzer, word: str) -> tuple[str, ...]:
    return tuple(analyzer.terms(word)) if analyzer.says_something(word) else ()


def coverage(question: Question, terms: Set[str]) -> float:
    """The share of the question's weight that these terms have."""
    total = sum(question.weights.values())
    return sum(weight for term, weight in question.weights.items() if term in terms) / total if total else 0.0


def measure_signals(question: Question, reading: Reading, analyzer: Analyzer) -> dict[str, float]:
    """The signals for and against this sentence as the answer."""
    weights = question.weights
    missing = [term for term in weights if term not in reading.around]
    missing_here = [term for term in weights if term not in reading.own]
    fitting = count_fitting(question, reading.text, analyzer) if question.kind else 0.0
    names_missing = sum(term not in reading.around for term in question.names)
    least, most = COUNTED_WORDS
    return {
        "covered": coverage(question, reading.own),
        "elsewhere": coverage(question, reading.around) - coverage(question, reading.near),
        "heaviest_missing": max((weights[term] for term in missing_here), default=0.0)
        / max(weights.values(), default=1.0),
        "names_missing": names_missing / max(len(question.names), 1),
        "numbers_missing": float(any(term not in reading.own for term in question.numbers)),
        "negated": float(question.is_negated and not _negates_alike(question, reading.text)),
        "negated_alone": float(question.is_negated and not _find_negations(question.lexicon, reading.text)),
        "denied": float(not question.is_negated and _denies(question, reading.text, analyzer)),
        "opposite": float(question.lexicon.is_english and contains_opposite(missing_here, reading.own)),
        "opposite_around": float(question.lexicon.is_english and contains_opposite(missing, reading.around)),
        "fitting": min(fitting, 4.0) / 4,
        "nothing_fitting": float(bool(question.kind) and not fitting),
        "words": (min(max(len(weights), least), most) - least) / (most - least),
    }


def _find_negations(lexicon: Lexicon, text: str) -> set[str]:
    return set(lexicon.negation.findall(lexicon.normalize(text).lower()))


def _negates_alike(question: Question, sentence: str) -> bool:
    """Whether a sentence has all the words that negate a question."""
    asked, said = (_find_negations(question.lexicon, text) for text in (question.text, sentence))
    return asked <= said if question.lexicon.is_english else bool(said)


def _denies(question: Question, sentence: str, analyzer: Analyzer) -> bool:
    """Whether a word of the question follows a negation."""
    lexicon = question.lexicon
    text = lexicon.normalize(sentence)
    return any(
        not question.weights.keys().isdisjoint(_find_terms(analyzer, word))
        for match in lexicon.negation.finditer(text)
        for word in lexicon.words(text[match.end() : match.end() + 40])[:3]
    )


def find_other_forms(question: Question, terms: Set[str]) -> dict[str, str]:
    """The terms that are another form of a term of the question: began for begin, Aristotelian for Aristotle."""
    base_forms = english.load_base_forms() if question.lexicon.is_english else {}
    absent = [wanted for wanted in question.weights if wanted not in terms]
    by_base = {base_forms[wanted]: wanted for wanted in absent if wanted in base_forms}
    by_beginning = {wanted[:SAME_BEGINNING]: wanted for wanted in absent if len(wanted) >= SAME_BEGINNING}
    forms = {}
    for term in terms:
        wanted = by_base.get(base_forms.get(term, "")) or by_beginning.get(term[:SAME_BEGINNING])
        if wanted and (term in base_forms or _is_same_word(term, wanted)):
            forms[term] = wanted
    return forms


def _is_same_word(one: str, other: str) -> bool:
    least = max(SAME_BEGINNING, math.ceil(0.7 * len(other)))
    return one[:least] == other[:least] and abs(len(one) - len(other)) <= SAME_BEGINNING


def count_fitting(question: Question, sentence: str, analyzer: Analyzer) -> float:
    """The number of things of the kind that is asked for that are in a sentence but not in the question."""
    asked, lexicon = question.weights.keys(), question.lexicon
    if question.kind == "date":
        return sum(asked.isdisjoint(analyzer.terms(found)) for found in lexicon.find_dates(sentence))
    if question.kind == "number":
        if lexicon.is_english and (measure := english.find_measure(question.text)):
            return len(measure.findall(sentence))
        if not lexicon.is_spaced:
            return sum(asked.isdisjoint(_find_terms(analyzer, found)) for found in lexicon.find_numbers(sentence))
    if question.kind == "why":
        return len(lexicon.causes.findall(lexicon.normalize(sentence)))
    count = float(len(english.PATHS.findall(sentence))) if question.kind == "where" else 0.0
    for at, word in enumerate(lexicon.words(sentence)):
        if question.kind == "number":
            fits = bool(_DIGIT.search(word)) or word.lower() in lexicon.number_words
        else:
            fits = len(word) > 1 and word[0].isupper() and word.lower() not in lexicon.function_words
        if fits and asked.isdisjoint(_find_terms(analyzer, word)):
            count += 1 if at else 0.5  # the first word is upper case anyway
    return count


def contains_opposite(missing: Iterable[str], present: Set[str]) -> bool:
    """Whether a missing word has its opposite in the sentence: another word, or itself with or without a prefix."""
    opposites = english.load_opposites()
    return any(not opposites.get(term, set()).isdisjoint(present) or _is_negated(term, present) for term in missing)


def _is_negated(term: str, present: Set[str]) -> bool:
    for prefix in english.NEGATING_PREFIXES:
        rest = term.removeprefix(prefix)
        if (len(term) > 3 and prefix + term in present) or (rest != term and len(rest) > 3 and rest in present):
            return True
    return False

"""Extractive answers without a model: what answers a question, verbatim and in reading order, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from shortlist.answer.extractive import english, signals
from shortlist.answer.extractive.candidates import (
    LEAST_IN_KEY,
    AnswerCandidate,
    find_candidates,
    refers_back,
)
from shortlist.answer.extractive.signals import Question, coverage
from shortlist.answer.extractive.spans import find_span
from shortlist.answer.extractive.unit_choice import AnswerReader
from shortlist.answer.extractive.units.list_units import without_bullet
from shortlist.answer.extractive.units.unit import Unit
from shortlist.answer.extractive.units.unit_reader import has_verb
from shortlist.index.text.analyzers import Analyzer
from shortlist.index.text.languages import detect_language, name_language
from shortlist.results import Evidence
from shortlist.retrieval.relevance import CLEAR

# Below this share of the question's weight in a sentence and its neighbors, the passage is on another topic. When the
# signals were first weighted, about 97 % of the answers that were found in squad2 had more, and 4 % of a thousand
# questions that belong to other sets.
LEAST_COVERED = 0.45

# A logistic regression over the signals, fitted to one half of squad2 by `python -m bench.fit_answers`.
WEIGHTS = english.WEIGHTS
BIAS = -0.66

# On the half of squad2 that was not fitted to, 67 % of the questions get their answer, and 54 % of those without one
# are refused; with 0.44 it is 64 % and 61 %, and errors are the fewest.
ANSWER_FROM = 0.4

AS_GOOD = 0.97  # the share of the best worth that a second sentence must have; a fourth of the answers have one

# The same in other languages, for which the weights are not fitted. On questions of xquad in six languages, about 95 %
# of the right paragraphs have this coverage, and 2 % of paragraphs of other articles.
LEAST_COVERED_OTHER, ANSWER_FROM_OTHER, AS_GOOD_OTHER = 0.28, 0.1, 0.88

# The share of a sentence without a verb that repeats the question, so that the next one answers: with a term or a
# signature above it, and without.
LEAST_REPEATED, LEAST_REPEATED_ALONE = 0.6, 0.9

FindReader = Callable[[Question], AnswerReader | None]


@dataclass(frozen=True, slots=True)
class Quote:
    """A part of a passage as shown, its span in the passage, and the part of its text that was asked for."""

    evidence: Evidence
    text: str
    span: tuple[int, int]
    marked: tuple[int, int] | None = None  # the number, date or name, as a span of `text`


@dataclass(frozen=True, slots=True)
class Extract:
    """The sentences that answer, or none, the reason, and the probability that they are right."""

    sentences: list[Quote]
    reason: str
    confidence: float = 0.0


def extract(
    question: Question,
    evidence: Sequence[Evidence],
    analyzer: Analyzer,
    *,
    answer_from: float | None = None,
    find_reader: FindReader = lambda question: None,
) -> Extract:
    """What answers a question best, if it does with a probability of `answer_from`.

    The default of that is the one of the reader, or of the rules if there is none for these languages. Rules cannot
    compare words if the question is in another language than the best sentence: only a clearly relevant passage with
    all numbers of the question is quoted.
    """
    candidates = rank_sentences(question, evidence, analyzer)
    question = candidates[0].question if candidates else question
    if not question.weights:
        return Extract([], "The question contains no word to search for.")
    if not candidates:
        return Extract([], "No passage has a sentence that may answer.")
    reader = find_reader(question)
    if reader:
        candidates = reader.read(candidates, analyzer)
    best = candidates[0]
    question = best.question
    analyzer = analyzer.bind((question.language,))
    if reader:
        probability, least = best.probability, reader.answer_from
    elif question.is_foreign:
        return _extract_foreign(best, analyzer)
    else:
        is_english = question.lexicon.is_english
        covered = coverage(question, best.reading.near)
        if covered < (LEAST_COVERED if is_english else LEAST_COVERED_OTHER):
            return Extract([], f"The best sentence covers {covered:.0%} of the question.")
        probability, least = _rate(question, best, analyzer), ANSWER_FROM if is_english else ANSWER_FROM_OTHER
    if answer_from is not None:
        least = answer_from
    if probability < least:
        return Extract([], f"The best sentence answers with a probability of {probability:.2f}, below {least:.2f}.")
    quotes = quote(question, best, analyzer)
    if not reader and len(quotes) == 1 and (second := _find_as_good(question, candidates, analyzer)):
        quotes.append(Quote(second.evidence, second.text, second.span))
        quotes.sort(key=lambda one: (one.evidence.number, one.span))
    quotes = [replace(one, marked=find_span(question, one.text, analyzer)) for one in quotes]
    return Extract(quotes, "These sentences contain what is asked for.", probability)


def _extract_foreign(best: AnswerCandidate, analyzer: Analyzer) -> Extract:
    """The best sentence of a clearly relevant passage in another language than the question."""
    question, item = best.question, best.evidence
    if item.score < CLEAR:
        language = name_language(question.language)
        return Extract([], f"The passages are in {language}, unlike the question, and none is clearly relevant.")
    if missing := [number for number in question.numbers if number not in best.reading.around]:
        return Extract([], f"The best passage does not contain {missing[0]}.")
    return Extract(quote(question, best, analyzer), "The most relevant passage is in another language.", item.score)


def answer_probability(values: Mapping[str, float]) -> float:
    """The probability that a sentence with these values of the signals answers."""
    return 1 / (1 + math.exp(-BIAS - sum(weight * values[name] for name, weight in WEIGHTS.items())))


def rank_sentences(question: Question, evidence: Sequence[Evidence], analyzer: Analyzer) -> list[AnswerCandidate]:
    """The units of all passages that may answer, by their worth."""
    candidates: list[AnswerCandidate] = []
    for item in evidence:
        reading = question.read_for(detect_language(item.text))
        candidates += find_candidates(reading, item, analyzer.bind((reading.language,)))
    return sorted(candidates, key=lambda one: -one.worth)


def _rate(question: Question, candidate: AnswerCandidate, analyzer: Analyzer) -> float:
    return answer_probability(signals.measure_signals(question, candidate.reading, analyzer))


def quote(question: Question, best: AnswerCandidate, analyzer: Analyzer) -> list[Quote]:
    """The best unit, with the sentence before it if it refers back, or after it if that holds what it announces."""
    unit, item = best.unit, best.evidence
    text, (start, end) = without_bullet(best.text) if unit.kind == "item" else best.text, best.span
    quotes = [Quote(item, text, (start + len(best.text) - len(text), end))]
    if best.entry.lead and _leans_on(question, best, analyzer):
        quotes.insert(0, Quote(item, best.entry.lead.text, (best.entry.lead.start, best.entry.lead.end)))
    elif best.before and unit.kind == "sentence" and refers_back(question, unit, best.before):
        quotes.insert(0, Quote(item, best.before.text, (best.before.start, best.before.end)))
    if best.after and best.after.kind == "sentence" and _announces(question, best, best.after, analyzer):
        quotes.append(Quote(item, best.after.text, (best.after.start, best.after.end)))
    return quotes


def _leans_on(question: Question, best: AnswerCandidate, analyzer: Analyzer) -> bool:
    """Whether the definition that a sentence belongs to has much of the question that the sentence lacks."""
    lead = frozenset(analyzer.terms(best.entry.lead.text)) if best.entry.lead else frozenset()
    return coverage(question, lead.difference(analyzer.terms(best.text))) >= LEAST_IN_KEY


def _find_as_good(
    question: Question, candidates: Sequence[AnswerCandidate], analyzer: Analyzer
) -> AnswerCandidate | None:
    """Another sentence of plain prose that answers about as well as the best one by the rules."""
    best = candidates[0]
    for one in [one for one in candidates[1:4] if one.question is best.question]:
        is_prose = all(each.unit.kind == "sentence" and not each.unit.context for each in (one, best))
        is_other = one.text != best.text and not question.weights.keys().isdisjoint(analyzer.terms(one.text))
        is_as_good = one.worth >= (AS_GOOD if question.lexicon.is_english else AS_GOOD_OTHER) * best.worth
        if is_as_good and is_prose and is_other:
            return one
    return None


def _announces(question: Question, best: AnswerCandidate, after: Unit, analyzer: Analyzer) -> bool:
    """Whether a unit has no value of the kind that is asked for, or no verb, and the sentence after it answers."""
    if best.unit.kind not in ("sentence", "definition") or after.heading != best.unit.heading:
        return False
    if best.text.endswith(":"):
        return True
    if question.kind:
        return not signals.count_fitting(question, best.text, analyzer) and bool(
            signals.count_fitting(question, after.text, analyzer)
        )
    own = frozenset(analyzer.terms(best.text))
    asked = question.weights.keys()
    if has_verb(best.text) or not own or best.unit.context.endswith("?"):
        return False
    is_only_named = own.isdisjoint(asked) and any(after.text.startswith(symbol) for symbol in question.symbols)
    least = LEAST_REPEATED if best.unit.context or best.unit.key else LEAST_REPEATED_ALONE
    return is_only_named or len(own & asked) >= least * len(own)

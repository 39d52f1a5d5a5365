"""Extractive answers without a model: the sentences that answer a question, verbatim and in reading order, or none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shortlist.answer.extractive import english, signals
from shortlist.answer.extractive.sentences import split_sentences
from shortlist.answer.extractive.signals import Frequency, Question, Reading, coverage
from shortlist.index.text.analyzers import Analyzer
from shortlist.results import Evidence

MOST_SENTENCES = 3
NEARLY_AS_GOOD = 0.85  # the share of the best worth that a further sentence must have

# Below this share of the question's weight in a sentence and its neighbors, the passage is on another topic. When the
# signals were first weighted, about 97 % of the answers that were found in squad2 had more, and 4 % of a thousand
# questions that belong to other sets.
LEAST_COVERED = 0.45

# A logistic regression over the signals, fitted to one half of squad2 by `python -m bench.fit_answers`.
WEIGHTS = english.WEIGHTS
BIAS = -0.44

# From 0.42 to 0.50 errors are about the fewest on squad2, where half of the questions have no answer.
ANSWER_FROM = 0.45

_HEADING = re.compile(r"#{1,6}\s|={3,}|-{3,}|\|[\s:|-]*$")
_RULE = re.compile(r"\|?[\s:|-]*--[\s:|-]*$")
_REFERS_BACK = re.compile(r"(?:it|he|she|they|this|these|that|those|its|his|her|their|such|here)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage, with its terms and its worth as an answer."""

    evidence: Evidence
    at: int  # among the sentences of its passage
    span: tuple[int, int]
    reading: Reading
    worth: float
    has_question_term: bool  # itself, not only in the sentence that it refers to

    @property
    def text(self) -> str:
        return self.reading.text


@dataclass(frozen=True, slots=True)
class Extract:
    """The sentences that answer, or none, and the reason."""

    sentences: list[Candidate]
    reason: str


def extract(
    text: str,
    evidence: Sequence[Evidence],
    analyzer: Analyzer,
    frequency: Frequency,
    passages: int,
    *,
    answer_from: float = ANSWER_FROM,
) -> Extract:
    """The few sentences that answer a question best, if the best one does with a probability of `answer_from`.

    `frequency` counts those of all `passages` that contain each term.
    """
    question = signals.read_question(text, analyzer, frequency, passages)
    candidates = rank_sentences(question, evidence, analyzer)
    if not question.weights:
        return Extract([], "The question contains no word to search for.")
    if not candidates:
        return Extract([], "No passage contains a sentence.")
    best = candidates[0].reading
    probability = answer_probability(signals.measure_signals(question, best, analyzer))
    covered = coverage(question, best.near)
    if covered < LEAST_COVERED:
        return Extract([], f"The best sentence covers {covered:.0%} of the question.")
    if probability < answer_from:
        return Extract(
            [], f"The best sentence answers with a probability of {probability:.2f}, below {answer_from:.2f}."
        )
    return Extract(_choose(candidates), "These sentences contain what is asked for.")


def answer_probability(values: Mapping[str, float]) -> float:
    """The probability that a sentence with these values of the signals answers."""
    return 1 / (1 + math.exp(-BIAS - sum(weight * values[name] for name, weight in WEIGHTS.items())))


def rank_sentences(question: Question, evidence: Sequence[Evidence], analyzer: Analyzer) -> list[Candidate]:
    """The sentences of all passages, best first."""
    candidates = [one for item in evidence for one in _find_candidates(question, item, analyzer)]
    return sorted(candidates, key=lambda one: -one.worth)


def _find_candidates(question: Question, item: Evidence, analyzer: Analyzer) -> Iterator[Candidate]:
    """The sentences of a passage that may answer: not headings, questions and what begins before the passage.

    A sentence after a question, or one that refers back ("They were ..."), is read with the one before it.
    """
    spans = split_sentences(item.text)
    texts = [item.text[start:end] for start, end in spans]
    groups = [frozenset(analyzer.terms(text)) for text in (*texts, f"{item.name} {item.context}")]
    if forms := signals.find_other_forms(question, frozenset().union(*groups)):
        groups = [frozenset(forms.get(term, term) for term in terms) for terms in groups]
    *terms, title = groups
    around = title.union(*terms)
    covered_around = coverage(question, around)
    for at, text in enumerate(texts):
        if len(texts) > 1 and (_is_heading(texts, at) or (at == 0 and _begins_inside(item, text))):
            continue
        near = title.union(*terms[max(0, at - 1) : at + 2])
        refers_back = at > 0 and (texts[at - 1].endswith("?") or _REFERS_BACK.match(text))
        own = terms[at] | terms[at - 1] if refers_back else terms[at]
        fits = not question.kind or signals.count_fitting(question, text, analyzer) > 0
        worth = coverage(question, own) + 0.5 * coverage(question, near) + 0.35 * covered_around
        worth += 0.15 * fits + 0.3 * item.score
        has_question_term = not terms[at].isdisjoint(question.weights)
        yield Candidate(item, at, spans[at], Reading(text, own, near, around), worth, has_question_term)


def _is_heading(texts: Sequence[str], at: int) -> bool:
    """Whether a sentence only announces what follows: a heading, a question, the head of a table."""
    following = texts[at + 1] if at + 1 < len(texts) else ""
    return bool(_HEADING.match(texts[at]) or texts[at].endswith("?") or _RULE.match(following))


def _begins_inside(item: Evidence, text: str) -> bool:
    return "offset=" in item.locator and not item.locator.endswith("offset=0") and text[:1].islower()


def _choose(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best, those nearly as good, and the sentence before the best one if that refers back."""
    best = candidates[0]
    chosen: list[Candidate] = []
    for one in candidates:
        if len(chosen) == MOST_SENTENCES or one.worth < NEARLY_AS_GOOD * best.worth:
            break
        is_repeated = any(one.text.split() == other.text.split() for other in chosen)
        if not is_repeated and (one.has_question_term or not chosen):
            chosen.append(one)
    if len(chosen) < MOST_SENTENCES and best.at and _REFERS_BACK.match(best.text):
        before = [one for one in candidates if one.evidence is best.evidence and one.at == best.at - 1]
        chosen += [one for one in before if one not in chosen]
    return sorted(chosen, key=lambda one: (one.evidence.number, one.at))

"""Extractive answers without a model: the sentences that answer a question, verbatim and in reading order, or none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortlist.answer.extractive.sentences import spans
from shortlist.answer.extractive.signals import (
    Frequency,
    Question,
    Reading,
    count_fitting,
    coverage,
    other_forms,
    read_question,
    signals,
)
from shortlist.index.text.analyzers import Analyzer
from shortlist.results import Evidence

MOST_SENTENCES = 3

# A further sentence must be worth this share of the best one.
NEARLY_AS_GOOD = 0.85

# Below this share of the question's weight in a sentence and its neighbours, the passage is on another topic.
# When the signs were first weighed, about 97 % of the answers that were found in squad2 had more, and 4 % of a
# thousand questions that belong to other sets.
LEAST_COVERED = 0.45

# What the signs weigh, fitted to one half of squad2 by `python -m bench.fit_answers`; the sum goes through a logistic.
WEIGHTS = {
    "covered": 1.35,
    "elsewhere": -2.36,
    "heaviest_missing": -0.96,
    "names_missing": -1.43,
    "numbers_missing": -1.46,
    "negated": -1.44,
    "negated_alone": -2.32,
    "denied": -0.35,
    "opposite": -0.71,
    "opposite_around": -1.27,
    "fitting": 0.03,
    "nothing_fitting": -0.52,
    "words": 1.48,
}
BIAS = -0.44

# From 0.42 to 0.50 mistakes are about the fewest there, where half of the questions have no answer.
ANSWER_FROM = 0.45

_HEADING = re.compile(r"#{1,6}\s|={3,}|-{3,}|\|[\s:|-]*$")
_RULE = re.compile(r"\|?[\s:|-]*--[\s:|-]*$")
_REFERS_BACK = re.compile(r"(?:it|he|she|they|this|these|that|those|its|his|her|their|such|here)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence: where it stands, what it is worth as an answer, and its words in their surroundings."""

    evidence: Evidence
    at: int  # among the sentences of its passage
    span: tuple[int, int]
    reading: Reading
    worth: float
    says_something: bool  # has words of the question itself, not only by the sentence that it refers to

    @property
    def text(self) -> str:
        return self.reading.text


@dataclass(frozen=True, slots=True)
class Extract:
    """The sentences that answer, or none and why; `probability` is that the best of them does."""

    sentences: list[Candidate]
    probability: float
    reason: str
    signals: Mapping[str, float]


def extract(
    text: str,
    evidence: Sequence[Evidence],
    analyzer: Analyzer,
    frequency: Frequency,
    passages: int,
    *,
    answer_from: float = ANSWER_FROM,
) -> Extract:
    """The few sentences that answer a question best.

    `frequency` tells how many of so many passages hold each term; from `answer_from` on, a probability is an answer.
    """
    question = read_question(text, analyzer, frequency, passages)
    candidates = ranked(question, evidence, analyzer)
    if not question.weights:
        return Extract([], 0.0, "There is nothing in the question to look for.", {})
    if not candidates:
        return Extract([], 0.0, "No passage holds a sentence.", {})
    best = candidates[0]
    found = signals(question, best.reading, analyzer)
    probability = likelihood(found)
    covered = coverage(question, best.reading.near)
    if covered < LEAST_COVERED:
        return Extract([], probability, f"The best sentence covers {covered:.0%} of what is asked.", found)
    if probability < answer_from:
        why = f"The best sentence answers with a probability of {probability:.2f}, below {answer_from:.2f}."
        return Extract([], probability, why, found)
    return Extract(_chosen(candidates), probability, "These sentences hold what is asked for.", found)


def likelihood(found: Mapping[str, float]) -> float:
    """The probability that a sentence with these signs answers."""
    return 1 / (1 + math.exp(-BIAS - sum(weight * found[name] for name, weight in WEIGHTS.items())))


def ranked(question: Question, evidence: Sequence[Evidence], analyzer: Analyzer) -> list[Candidate]:
    """The sentences of all passages, the best first."""
    candidates = [one for item in evidence for one in _candidates(question, item, analyzer)]
    return sorted(candidates, key=lambda one: -one.worth)


def _candidates(question: Question, item: Evidence, analyzer: Analyzer) -> list[Candidate]:
    """The sentences of a passage that may answer; headings, questions and what begins before the passage are none.

    A sentence after a question, or one that refers back ("They were ..."), is read with the one before it.
    """
    places = spans(item.text)
    texts = [item.text[start:end] for start, end in places]
    held = [frozenset(analyzer.terms(text)) for text in texts]
    above = frozenset(analyzer.terms(f"{item.name} {item.context}"))
    around = above.union(*held)
    forms = other_forms(question, around)
    if forms:
        held = [_in_the_form_asked(terms, forms) for terms in held]
        above, around = _in_the_form_asked(above, forms), _in_the_form_asked(around, forms)
    covered_around = coverage(question, around)
    found = []
    for at, text in enumerate(texts):
        if len(texts) > 1 and (_is_above_others(texts, at) or (at == 0 and _begins_inside(item, text))):
            continue
        near = above.union(*held[max(0, at - 1) : at + 2])
        is_led = at > 0 and (texts[at - 1].endswith("?") or _REFERS_BACK.match(text))
        own = held[at] | held[at - 1] if is_led else held[at]
        reading = Reading(text, own, near, around)
        fits = not question.kind or count_fitting(question, text, analyzer) > 0
        worth = coverage(question, own) + 0.5 * coverage(question, near) + 0.35 * covered_around
        worth += 0.15 * fits + 0.3 * item.score
        says_something = not held[at].isdisjoint(question.weights)
        found.append(Candidate(item, at, places[at], reading, worth, says_something))
    return found


def _in_the_form_asked(terms: frozenset[str], forms: Mapping[str, str]) -> frozenset[str]:
    return frozenset(forms.get(term, term) for term in terms)


def _is_above_others(texts: Sequence[str], at: int) -> bool:
    """Whether what stands there only says what follows: a heading, a question, the head of a table."""
    following = texts[at + 1] if at + 1 < len(texts) else ""
    return bool(_HEADING.match(texts[at]) or texts[at].endswith("?") or _RULE.match(following))


def _begins_inside(item: Evidence, text: str) -> bool:
    return "offset=" in item.locator and not item.locator.endswith("offset=0") and text[:1].islower()


def _chosen(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best, those that are nearly as good, and before a sentence that refers back the one it refers to."""
    best = candidates[0]
    kept: list[Candidate] = []
    for one in candidates:
        if len(kept) == MOST_SENTENCES or one.worth < NEARLY_AS_GOOD * best.worth:
            break
        if kept and not one.says_something:
            continue
        if all(" ".join(one.text.split()) != " ".join(other.text.split()) for other in kept):
            kept.append(one)
    if len(kept) < MOST_SENTENCES and best.at and _REFERS_BACK.match(best.text):
        kept += [
            one for one in candidates if one.evidence is best.evidence and one.at == best.at - 1 and one not in kept
        ]
    return sorted(kept, key=lambda one: (one.evidence.number, one.at))

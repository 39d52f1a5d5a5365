"""Whether the passages that a sentence cites support it: by quotations, rules and a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from shortlist.answer.claims.claim_comparison import has_title
from shortlist.answer.claims.claim_findings import Findings, find_differences
from shortlist.answer.claims.other_languages import check_claim, find_languages
from shortlist.answer.claims.quotations import QUOTES, WORD, find_places, find_quotes, is_repeated
from shortlist.answer.extractive import english
from shortlist.results import Evidence, Support

FRAME_WORDS = 6  # words that may be added to a quotation: "The handbook says: ..."
# The lowest probability of a model for a supported statement: if the rules agree, if words or an untitled subject are
# missing, and if the rules find a contradiction in untitled passages. Chosen on fever_symmetric_dev with models that
# had not seen what they judged, and on claims of our own, where rules find contradictions better than the model.
SUPPORTED_FROM, AGAINST_RULES, AGAINST_CONTRADICTION = 0.05, 0.7, 0.95

# The probability that a statement is supported if no model says it: that it is right if rules alone keep it, which keep
# 76 % of the supported claims of fever_symmetric_dev and 35 % of as many refuted ones; and if it cannot be checked.
BY_RULES, UNCHECKED = 0.76 / (0.76 + 0.35), 0.5

# The probability that passages, alone or together, support a claim.
RateClaim = Callable[[str, tuple[Evidence, ...]], float]


class Statement(NamedTuple):
    """A sentence without its citations, the passages that it cites, and the question."""

    text: str
    cited: tuple[Evidence, ...]
    question: str = ""


class Assessment(NamedTuple):
    """Whether a statement is supported, the reason and the missing part if not, all that was found, and how probable
    it is that it is supported."""

    support: Support
    reason: str = ""
    missing: str = ""
    findings: Findings = Findings()
    probability: float = 0.0


def assess(statement: Statement, rate: RateClaim | None = None) -> Assessment:
    """Compare a statement with what it cites by rules, or by them and a model, which is asked if it can decide.

    A model may outweigh words that are missing in the passages, but neither a false quotation, a number that is
    nowhere, nor a contradiction: a name that is nowhere, a negation, a quantifier, an opposite. In passages without a
    title, which may not say what they are about, it may outweigh contradictions as well if it is sure. It is not asked
    about other languages than English (`other_languages.py`).
    """
    text = statement.text
    if not WORD.search(text):
        return Assessment("unsupported", "It says nothing.")
    quotes = find_quotes(text)
    for quote in quotes:
        if not any(find_places(quote, item.text) for item in statement.cited):
            return Assessment("unsupported", f'It quotes "{quote[:80]}", which is not in what it cites.', quote)
    languages = find_languages(text, statement.cited)
    if any(is_repeated(text, item.text, languages.claim) for item in statement.cited):
        return Assessment("quoted", probability=1.0)
    if not languages.are_english:
        checked = check_claim(text, statement.cited, statement.question, languages)
        probabilities = {"supported": BY_RULES, "unchecked": UNCHECKED, "quoted": 1.0}
        return Assessment(*checked, probability=probabilities.get(checked.support, 0.0))
    findings = find_differences(text, statement.cited, statement.question)
    if not (findings.numbers or findings.names) and quotes and _is_frame(QUOTES.sub(" ", text), statement):
        return Assessment("quoted", findings=findings, probability=1.0)
    probability = BY_RULES
    least = _find_least_probability(findings, is_titled=any(map(has_title, statement.cited)))
    wrong = next(_explain(findings), None)
    if rate is not None and least <= 1:
        probability = rate(text, statement.cited)
        unlikely = f"What it cites supports it with a probability of only {probability:.2f}.", ", ".join(findings.words)
        wrong = (wrong or unlikely) if probability < least else None
    if wrong:
        return Assessment("unsupported", *wrong, findings)
    return Assessment("supported", findings=findings, probability=probability)


def _find_least_probability(found: Findings, *, is_titled: bool) -> float:
    """The probability of a model from which a statement is supported despite the findings; above 1 it never is."""
    contradicts = bool(found.misplaced or found.negation or found.quantifier or found.opposite)
    if found.numbers or (is_titled and (found.names or contradicts)):
        return math.inf
    if contradicts:
        return AGAINST_CONTRADICTION
    lacks = found.names or found.lacks_words or found.replaced or not found.has_content
    return AGAINST_RULES if lacks else SUPPORTED_FROM


def _explain(found: Findings) -> Iterator[tuple[str, str]]:
    """Yield a reason and what is missing for each finding that speaks against a statement."""
    if found.numbers:
        yield f"The number {found.numbers[0]} is not in what it cites.", ", ".join(found.numbers)
    if found.names:
        yield f"The name {found.names[0]} is not in what it cites.", ", ".join(found.names)
    if found.misplaced:
        yield f'What it cites uses "{found.misplaced}" for something else.', found.misplaced
    if found.negation:
        yield f'It and what it cites disagree on "{found.negation}".', found.negation
    if found.quantifier:
        yield f'What it cites does not say "{found.quantifier}".', found.quantifier
    if found.opposite:
        yield f'What it cites says the opposite of "{found.opposite}".', found.opposite
    if found.replaced:
        yield f'What it cites has another word for "{found.replaced}".', found.replaced
    if found.lacks_words:
        yield f"What it cites does not contain {', '.join(map(repr, found.words))}.", ", ".join(found.words)
    if not found.has_content:
        yield "It has no word that can be verified.", ""


def _is_frame(text: str, statement: Statement) -> bool:
    """Whether the words around quotations say nothing that the passages do not."""
    is_short = len(WORD.findall(text)) <= FRAME_WORDS
    if not is_short or english.NEGATION.search(text):
        return False
    return not find_differences(text, statement.cited, statement.question).words

"""Whether the passages that a sentence cites support it, and where it repeats them word for word."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from shortlist.answer.claims.claim_findings import Findings, find_differences, has_title
from shortlist.answer.claims.claim_words import ONLY
from shortlist.answer.extractive import english
from shortlist.results import Evidence, Support

SHARED_WORDS = 4  # words in a row that count as taken from a passage
FRAME_WORDS = 6  # words that may be added to a quotation: "The handbook says: ..."
LIMITING_WORDS = 4  # before a repeated sentence that may deny it: "No leave is granted"
# The lowest probability of a model for a supported statement: if the rules agree, if words or an untitled subject are
# missing, and if the rules find a contradiction in untitled passages. Chosen on fever_symmetric_dev with models that
# had not seen what they judged, and on claims of our own, where rules find contradictions better than the model.
SUPPORTED_FROM, AGAINST_RULES, AGAINST_CONTRADICTION = 0.05, 0.7, 0.95
WORD = re.compile(r"\w+")

_QUOTES = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|\"([^\"]+)\"")
_ELLIPSIS = re.compile(r"\s*(?:\[?\(?(?:\.\.\.|…)\)?\]?)\s*")
_WORD_OR_END = re.compile(r"[£$€%]|\w+(?:['’]\w+)*|[.!?](?=\s|$)")

Span = tuple[int, int]


class Statement(NamedTuple):
    """A sentence without its citations, the passages that it cites, and the question."""

    text: str
    cited: tuple[Evidence, ...]
    question: str = ""


class Assessment(NamedTuple):
    """Whether a statement is supported, the reason and the missing part if not, and all that was found."""

    support: Support
    reason: str = ""
    missing: str = ""
    findings: Findings = Findings()


# The results are kept, since a reply that is streamed is verified again with every sentence.
@lru_cache(maxsize=1024)
def assess(statement: Statement, probability: float | None = None) -> Assessment:
    """Compare a statement with what it cites by rules, or by them and by a model's probability that it is supported.

    A model may outweigh words that are missing in the passages, but neither a false quotation, a number that is
    nowhere, nor a contradiction: a name that is nowhere, a negation, a quantifier, an opposite, a role. In passages
    without a title, which may not say what they are about, it may outweigh contradictions as well if it is sure.
    """
    text = statement.text
    if not WORD.search(text):
        return Assessment("unsupported", "It says nothing.")
    quotes = _find_quotes(text)
    for quote in quotes:
        if not any(_find_places(quote, item.text) for item in statement.cited):
            return Assessment("unsupported", f'It quotes "{quote[:80]}", which is not in what it cites.', quote)
    if any(_is_repeated(text, item.text) for item in statement.cited):
        return Assessment("quoted")
    findings = find_differences(text, statement.cited, statement.question)
    if not (findings.numbers or findings.names) and quotes and _is_frame(_QUOTES.sub(" ", text), statement):
        return Assessment("quoted", findings=findings)
    wrong = next(_explain(findings), None)
    if probability is not None:
        unlikely = f"What it cites supports it with a probability of only {probability:.2f}.", ", ".join(findings.words)
        is_titled = any(map(has_title, statement.cited))
        wrong = (wrong or unlikely) if probability < _least_probability(findings, is_titled) else None
    return Assessment("unsupported", *wrong, findings) if wrong else Assessment("supported", findings=findings)


def _least_probability(found: Findings, is_titled: bool) -> float:
    """The probability of a model from which a statement is supported despite the findings; above 1 it never is."""
    contradicts = bool(found.misplaced or found.negation or found.quantifier or found.opposite or found.role)
    if found.numbers or (is_titled and (found.names or contradicts)):
        return math.inf
    if contradicts:
        return AGAINST_CONTRADICTION
    lacks = found.names or found.lacks_words or found.replaced or not found.has_content
    return AGAINST_RULES if lacks else SUPPORTED_FROM


def _explain(found: Findings) -> Iterator[tuple[str, str]]:
    """A reason and what is missing for each finding that speaks against a statement."""
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
    if found.role:
        yield f'What it cites gives "{found.role}" another role.', found.role
    if found.replaced:
        yield f'What it cites has another word for "{found.replaced}".', found.replaced
    if found.lacks_words:
        yield f"What it cites does not contain {', '.join(map(repr, found.words))}.", ", ".join(found.words)
    if not found.has_content:
        yield "It has no word that can be verified.", ""


def _is_repeated(text: str, passage: str) -> bool:
    """Whether a passage contains all words of a sentence in a row, and does not deny or limit them before that."""
    words, whole = _fold(text).rstrip(".!? "), f" {_fold(passage)} "
    at = whole.find(f" {words} ") if words else -1
    while at >= 0:
        before = re.split(r" [.!?] ", whole[: at + 1])[-1].split()[-LIMITING_WORDS:]
        if not english.NEGATION.search(" ".join(before)) and ONLY.isdisjoint(before):
            return True
        at = whole.find(f" {words} ", at + 1)
    return False


@lru_cache(maxsize=512)
def _fold(text: str) -> str:
    return " ".join(_WORD_OR_END.findall(text.casefold().replace("’", "'")))


def _is_frame(text: str, statement: Statement) -> bool:
    """Whether the words around quotations say nothing that the passages do not."""
    is_short = len(WORD.findall(text)) <= FRAME_WORDS
    if not is_short or english.NEGATION.search(text):
        return False
    return not find_differences(text, statement.cited, statement.question).words


@lru_cache(maxsize=1024)
def find_spans(statement: Statement, item: Evidence) -> tuple[Span, ...]:
    """Where a cited passage contains quotations of the sentence, or several words of it in a row."""
    quotes = _find_quotes(statement.text)
    spans = [place for quote in quotes for place in _find_places(quote, item.text)]
    merged: list[Span] = []
    for start, end in sorted([*spans, *_find_shared(statement.text, item.text)]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def _find_quotes(text: str) -> list[str]:
    quotes = ["".join(groups).strip().rstrip(".,;:!?") for groups in _QUOTES.findall(text)]
    return [quote for quote in quotes if WORD.search(quote)]


def _find_places(quote: str, text: str) -> list[Span]:
    """The places of the parts of a quotation in a text, in order; none if a part is missing."""
    places: list[Span] = []
    for part in filter(None, _ELLIPSIS.split(quote)):
        match = re.compile(_verbatim_pattern(part)).search(text, places[-1][1] if places else 0)
        if not match:
            return []
        places.append(match.span())
    return places


def _verbatim_pattern(part: str) -> str:
    """A pattern of the exact words, with any space between them and quotation marks of any shape."""
    words = part.split()
    escaped = [re.sub(r"\\?[\"“”„«»]", '["“”„«»]', re.sub(r"['’‘`]", "['’‘`]", re.escape(word))) for word in words]
    first = words[0][0]
    if first.isalpha():
        escaped[0] = f"[{first.lower()}{first.upper()}]{escaped[0][len(re.escape(first)) :]}"
    return r"\s+".join(escaped)


def _find_shared(claim: str, text: str) -> Iterator[Span]:
    """Where a text has several words in a row that the claim has, too."""
    words = list(WORD.finditer(text))
    ours, theirs = ([word.casefold() for word in WORD.findall(each)] for each in (claim, text))
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        if block.size >= SHARED_WORDS:
            yield words[block.b].start(), words[block.b + block.size - 1].end()

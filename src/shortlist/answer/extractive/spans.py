"""The part of a sentence that a question asks for: a number, a date, a name or a version."""

from __future__ import annotations

import re

from shortlist.answer.extractive import english
from shortlist.answer.extractive.signals import Question
from shortlist.index.text.analyzers import Analyzer

_VERSION = re.compile(r"\b(?:what|which) versions?\b|\bsince when\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\bv?\d+(?:\.\d+)+\b|(?<=[Vv]ersion )\d+\b")
_NUMBER = re.compile(
    rf"(?<![\w.])[$€£¥]?\d+(?:[,.:]\d+)*(?:\s?(?:%|[kKMGT]i?B?\b|[a-zµ]{{1,2}}\b))?"
    rf"|\b(?:{'|'.join(sorted(english.NUMBER_WORDS))})\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b[A-ZÀ-Þ][\w'’-]*\.?(?:\s+(?:(?:de|van|von|of|the|and)\s+)?[A-ZÀ-Þ][\w'’-]*\.?)*")
_UNIT = re.compile(r"[\s-]+(\w+)")


def find_span(question: Question, text: str, analyzer: Analyzer) -> tuple[int, int] | None:
    """Where the text has what an English question asks for, if one place is the most likely."""
    if not question.lexicon.is_english:
        return None
    if _VERSION.search(question.text):
        pattern = _NUMBERED
    else:
        patterns = {"number": _NUMBER, "date": english.DATES, "who": _PERSON}
        pattern = patterns.get(question.kind, re.compile(r"(?!)"))
    asked = question.weights.keys()
    found = [match for match in pattern.finditer(text) if asked.isdisjoint(analyzer.terms(match.group()))]
    if pattern is _PERSON:
        found = [match for match in found if match.group().lower() not in english.FUNCTION_WORDS]
    if not found:
        return None
    best = max(found, key=lambda match: _count_asked(question, text, match, analyzer))
    if len(found) > 1 and pattern is _NUMBER and not _count_asked(question, text, best, analyzer):
        return None
    return _add_unit(text, best) if pattern is _NUMBER else best.span()


def _count_asked(question: Question, text: str, match: re.Match[str], analyzer: Analyzer) -> int:
    """How many words of the question are in the three words before, and twice those in the two after it."""
    before, after = text[: match.start()].split()[-3:], text[match.end() :].split()[:2]
    asked = question.weights.keys()
    return sum(not asked.isdisjoint(analyzer.terms(word)) for word in (*before, *after, *after))


def _add_unit(text: str, match: re.Match[str]) -> tuple[int, int]:
    """A number with the noun after it: "27 days"."""
    unit = _UNIT.match(text, match.end())
    is_noun = unit and unit[1].lower() not in english.FUNCTION_WORDS and re.fullmatch(r"[a-z]+s", unit[1])
    return match.start(), unit.end() if unit and is_noun else match.end()

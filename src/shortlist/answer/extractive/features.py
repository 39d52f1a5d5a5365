"""What the reader knows about a unit and about a question, as numbers between about -1 and 1."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortlist.answer.extractive import english
from shortlist.answer.extractive.candidates import AnswerCandidate
from shortlist.answer.extractive.signals import Question, coverage, find_options, measure_signals
from shortlist.answer.extractive.units.unit_reader import has_verb
from shortlist.index.text.analyzers import Analyzer

if TYPE_CHECKING:
    from shortlist.results import Vectors

LONGEST_TEXT = 100  # words of a unit, above which length no longer counts

# How a question asks for something, and how a text says it.
_WANTED = {
    "default": (
        r"\bdefaults?\b|\bnormally\b|\bautomatic|n't\b|\b(?:if|when|unless)\b.*\b(?:not?|nothing|none)\b",
        r"\bdefault|\bif (?:not?|unset|omitted|empty)\b|\bunless\b|\bomitted\b|\bnot? (?:given|specified|set)\b",
    ),
    "limit": (
        r"\b(?:maximum|minimum|most|least|longest|shortest|largest|smallest|limits?|up to|at once|allowed)\b",
        r"\b(?:max\w*|min\w*|at most|at least|no more|up to|limit\w*|exceed\w*|longest|shortest|largest|smallest"
        r"|between|less than|more than|capped)\b",
    ),
    "exit": (
        r"\bexit\w*\b|\breturn(?:s|ed)? (?:code|value)\b|\bstatus\b",
        r"^\W*\d+\b|\bexit|\bstatus\b|\breturn(?:s|ed)?\b",
    ),
    "version": (r"\bversions?\b|\bsince when\b", r"\bversions?\b|\b\d+\.\d+\b"),
    "option": (
        r"\b(?:which|what)\b.*\b(?:option|flag|switch|setting|variable|parameter|command|directive|function|method)s?\b"
        r"|^how (?:do|can|to|could|would)\b|^can (?:I|you)\b",
        r"(?<![\w-])--?[A-Za-z]|\w\(\)|\b[a-z]+_\w+|\b[A-Z]{2,}\w*=|\b(?:use|set|with|option|run|call|add)\b",
    ),
    "purpose": (
        r"\bwhat (?:does|do|is|are)\b.*\b(?:do|for|mean|purpose|stand for|used)\b"
        r"|^what (?:is|are) (?:an? |the )?\S+\?*$",
        r"\b(?:is|are|means?|used|specif\w+|indicat\w+|stands? for|refers? to|sets?|prints?|displays?|causes?"
        r"|enables?|disables?)\b",
    ),
    "number": (r"\b(?:status|code|value|number|signal|with) \d+\b|\b\d+ mean", r"^\W*\d+\b"),
    "place": (r"\bwhere\b|\b(?:which|what) (?:file|directory|folder|path)\b", r"(?<!\w)[~.]?/[\w.]|\w+://|\bfiles?\b"),
    "condition": (
        r"\bwhen\b|\bwhat happens\b|\bif\b",
        r"\b(?:if|when|whenever|once|unless|until|after|before|in case)\b",
    ),
}
WANTED = {
    name: (re.compile(asked, re.IGNORECASE), re.compile(said, re.IGNORECASE)) for name, (asked, said) in _WANTED.items()
}
_YES_OR_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|may|must|should|shall|will|has|have|had)\b", re.IGNORECASE
)
_VERDICT = re.compile(
    r"\b(?:not?|cannot|never|only|can|may|must|should|will|does|supports?|allow\w*|possible|currently|any|all)\b|n't\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(r"(?:New|Added|Changed|Deprecated|Removed)\b.{0,20}\b(?:in|since)\b.{0,12}\d")
_HOW_MANY = re.compile(r"\bhow (?:many|much) ((?:\w+ )?\w+)", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?:\d[\d,.]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve)\b)\W+((?:[\w-]+\W+){1,3})"
)

KINDS_OF_UNIT = ("definition", "row", "item", "list")
UNIT_FEATURES = (
    *english.WEIGHTS,
    "near", "around", "text", "above", "worth", "behind", "relevance", "first_passage",
    *(f"is_{kind}" for kind in KINDS_OF_UNIT),
    "key", "has_context", "early", "length", "change", "verb",
    "symbols_key", "symbols_text", "symbols_near", "options_text",
    *(f"{name}_{state}" for name in WANTED for state in ("said", "unsaid")),
    "verdict", "no_verdict", "amount", "no_amount",
)  # fmt: skip


def describe_units(question: Question, candidates: Sequence[AnswerCandidate], analyzer: Analyzer) -> Vectors:
    """A row of `UNIT_FEATURES` for each candidate; they are sorted by worth."""
    wanted = {name for name, (asked, _) in WANTED.items() if asked.search(question.text)}
    best = max((one.evidence.score for one in candidates), default=0.0)
    most = max((one.worth for one in candidates), default=0.0)
    rows = [_describe_unit(question, one, analyzer, wanted, best, most) for one in candidates]
    return np.array([[row[name] for name in UNIT_FEATURES] for row in rows], np.float32)


def _describe_unit(
    question: Question, one: AnswerCandidate, analyzer: Analyzer, wanted: set[str], best: float, most: float
) -> dict[str, float]:
    unit, item, reading = one.unit, one.evidence, one.reading
    text = f"{unit.key} {one.text}"
    own = frozenset(analyzer.terms(text))
    above = f"{item.name} {item.context} {unit.heading} {unit.context} {one.entry.term}"
    near = f"{above} {text}"
    symbols = question.symbols
    row = measure_signals(question, reading, analyzer)
    row |= {
        "near": coverage(question, reading.near),
        "around": coverage(question, reading.around),
        "text": coverage(question, own),
        "above": coverage(question, frozenset(analyzer.terms(above))),
        "worth": one.worth / 2,
        "behind": one.worth - most,
        "relevance": item.score,
        "first_passage": float(item.score >= best),
        **{f"is_{kind}": float(unit.kind == kind) for kind in KINDS_OF_UNIT},
        "key": coverage(question, frozenset(analyzer.terms(unit.key or one.entry.term))),
        "has_context": float(bool(unit.context)),
        "early": 1 / (1 + unit.start / 200),
        "length": math.log1p(min(len(one.text.split()), LONGEST_TEXT)) / 4,
        "change": float(bool(_CHANGE.search(text)) and "version" not in wanted),
        "verb": float(has_verb(one.text)),
        "symbols_key": float(not symbols.isdisjoint(unit.subjects)),
        "symbols_text": _share(symbols, text),
        "symbols_near": _share(symbols, near),
        "options_text": float(bool(find_options(text)) and "option" in wanted),
    }
    for name, (_, said) in WANTED.items():
        is_said = bool(said.search(one.text))
        row[f"{name}_said"] = float(name in wanted and is_said)
        row[f"{name}_unsaid"] = float(name in wanted and not is_said)
    is_yes_or_no, has_verdict = bool(_YES_OR_NO.match(question.text)), bool(_VERDICT.search(one.text))
    row |= {"verdict": float(is_yes_or_no and has_verdict), "no_verdict": float(is_yes_or_no and not has_verdict)}
    counted = frozenset(analyzer.terms(found[1])) if (found := _HOW_MANY.search(question.text)) else frozenset()
    amounts = [frozenset(analyzer.terms(words)) for words in _AMOUNT.findall(f"{one.text} ")] if counted else []
    has_amount = any(not counted.isdisjoint(words) for words in amounts)
    return row | {"amount": float(has_amount), "no_amount": float(bool(counted) and not has_amount)}


def _share(symbols: frozenset[str], text: str) -> float:
    """The share of the symbols that are in a text as whole words."""
    found = sum(bool(re.search(rf"(?<![\w-]){re.escape(symbol)}(?![\w-])", text)) for symbol in symbols)
    return found / len(symbols) if symbols else 0.0

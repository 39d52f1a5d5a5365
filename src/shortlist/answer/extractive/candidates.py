"""The units of a passage that may answer a question, each with its terms, its neighbors and its worth by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath
from typing import NamedTuple

from shortlist.answer.extractive import signals
from shortlist.answer.extractive.signals import Question, Reading, coverage
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.answer.extractive.units.unit import LONGEST_PASSAGE, Unit
from shortlist.index.text.analyzers import Analyzer
from shortlist.index.text.chunking import may_be_cut
from shortlist.index.text.languages import ENGLISH
from shortlist.results import Evidence

LONGEST_LEAD = 240  # characters of the definition that a sentence belongs to
DESCRIBES = 0.4  # added to the worth of a unit that describes an option or a name of the question
ASKED_CELL = 0.2  # added to the worth of a row that has a cell that is asked for
LEAST_IN_KEY = 0.2  # the share of the question's weight in an item, a term or a row, so that it is what is asked for
LEAST_IN_ROW = 0.45  # the share in the key and the headers of a row whose cell is not clear
OPTION_WORDS = "option flag switch argument"  # what an option such as "-v, --verbose" is called
LEAST_WORDS = 2  # of a sentence that answers: not the number of a section

_WORDS = re.compile(r"[^\W\d_]{2,}|[^\x00-\u2e7f]")
_OFFSET = re.compile(r"offset=(\d+)")
_PROCEDURE = re.compile(
    r"how (?!many|much|long|far|old|often|large|big|fast)|what (?:are|is) the steps?\b", re.IGNORECASE
)
_STEP = re.compile(r"\(?\w{1,3}[.)]\s")
_PAIR = re.compile(r"\w[^:|]*:\s")
_REFERS = re.compile(r"\b(?:it|this|them|these)\b")


class UnitEntry(NamedTuple):
    """The term, label or signature that a sentence is about, and the sentence that says what it is, if another."""

    term: str = ""
    lead: Unit | None = None


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """A unit of a passage as an answer: how it is shown, its neighbors, its terms and its worth."""

    question: Question  # for passages in its language
    evidence: Evidence
    unit: Unit
    text: str
    before: Unit | None
    after: Unit | None
    entry: UnitEntry
    reading: Reading
    worth: float
    probability: float = 0.0  # that it answers

    @property
    def span(self) -> tuple[int, int]:
        return self.unit.start, self.unit.end


def text_for_judge(candidate: AnswerCandidate) -> tuple[str, str]:
    """What a judge reads of a unit: the unit after its term or signature, and its title, headings and neighbors."""
    unit, item, entry = candidate.unit, candidate.evidence, candidate.entry
    own = f"{entry.lead.text[:LONGEST_LEAD]} {candidate.text}" if entry.lead else candidate.text
    term = unit.context or ("" if entry.lead and entry.lead.key else entry.term)
    own = f"{term}: {own}" if term and unit.kind != "list" else own
    title = " > ".join(dict.fromkeys(filter(None, (item.name, item.context, unit.heading))))
    around = [one.text for one in (candidate.before, candidate.after) if one]
    return own, " | ".join([title, *around])


def find_candidates(question: Question, item: Evidence, analyzer: Analyzer) -> Iterator[AnswerCandidate]:
    """The units of a passage that may answer: not headings, code, signatures, questions and halves of sentences.

    A unit is read with its context, and a sentence that refers back ("They were ...") with the one before it. A row, an
    item or a definition whose key is in the question is read with its neighbors.
    """
    units = split_passage(item, question.language)
    title = f"{item.name} {item.context}"
    texts = {title, item.context, OPTION_WORDS}
    texts.update(part for unit in units for part in (unit.text, unit.context, unit.heading, unit.key))
    terms = {text: frozenset(analyzer.terms(text)) for text in texts}
    if forms := signals.find_other_forms(question, frozenset().union(*terms.values())):
        terms = {text: frozenset(forms.get(term, term) for term in own) for text, own in terms.items()}
    around = terms[title].union(*(terms[unit.text] for unit in units))
    covered_around = coverage(question, around)
    answers = _choose_answers(question, units, terms, terms[title])
    rows = {unit.start: _read_row(question, unit, analyzer) for unit in answers if unit.kind == "row"}
    keys = {unit.start: _weigh_key(question, unit, terms) for unit in answers if unit.key}
    keys |= {start: row.key for start, row in rows.items()}
    best_key = max(keys.values(), default=0.0)
    options = signals.find_options(question.text)
    for unit in answers:
        if unit.kind == "sentence" and _count_words(question, unit.text) < LEAST_WORDS:
            continue
        if options and options.isdisjoint(signals.find_options(f"{unit.context} {unit.text}")):
            continue
        before = next((one for one in reversed(units) if one.end <= unit.start and one.kind != "list"), None)
        after = next((one for one in units if one.start >= unit.end), None)
        heading = terms[unit.heading or item.context]
        near = terms[title].union(heading, *(terms[one.text] for one in (before, unit, after) if one))
        own = terms[unit.text] | terms[unit.context]
        text = read = unit.text
        bonus = DESCRIBES if (describes := _describes(unit, question.symbols)) else 0.0
        if unit.kind == "list":
            introduction = _introduce(unit) or unit.heading or title
            own = frozenset(analyzer.terms(introduction)) | terms[unit.context]
            own |= terms[before.text] if before and _REFERS.search(introduction) else frozenset()
            read = f"{introduction} {text}"
        elif unit.kind == "row":
            text = read = rows[unit.start].text
            bonus += rows[unit.start].bonus
            own = own.union(*(analyzer.terms(header) for header in unit.headers))
        elif unit.kind == "sentence" and before and refers_back(question, unit, before):
            own |= terms[before.text]
        entry = _find_entry(units, unit)
        own |= terms.get(entry.term, frozenset()) | (terms[entry.lead.text] if entry.lead else frozenset())
        if not own.isdisjoint(question.weights):
            own |= heading
        if describes or ((key := keys.get(unit.start, 0.0)) >= LEAST_IN_KEY and key == best_key):
            own, near = own | (around if unit.start in keys else heading), near | around
        if unit.key.startswith("-"):
            own |= terms[OPTION_WORDS]
        near |= own
        fits = not question.kind or signals.count_fitting(question, text, analyzer) > 0
        worth = coverage(question, own) + 0.5 * coverage(question, near) + 0.35 * covered_around
        worth += 0.15 * fits + 0.3 * item.score + bonus
        reading = Reading(read, own, near, around | own)
        yield AnswerCandidate(question, item, unit, text, before, after, entry, reading, worth)


def _count_words(question: Question, text: str) -> int:
    lexicon = question.lexicon
    if lexicon.is_english or not lexicon.is_spaced:
        return len(_WORDS.findall(text))
    return sum(not word.isdecimal() for word in lexicon.words(text))


def split_passage(item: Evidence, language: str = ENGLISH) -> Sequence[Unit]:
    """The units of a passage, which begins or ends inside of one if the document goes on there."""
    offsets = _OFFSET.findall(item.locator)
    is_page = item.locator.startswith("page=")
    begins_inside = any(int(offset) for offset in offsets) or (is_page and item.text[:1].islower())
    ends_inside = is_page or len(item.text) >= LONGEST_PASSAGE or (bool(offsets) and may_be_cut(item.text))
    suffix = PurePath(item.source).suffix.lower()
    return _split(item.text, begins_inside, ends_inside, language, item.context, suffix)


@lru_cache(maxsize=64)
def _split(
    text: str, begins_inside: bool, ends_inside: bool, language: str, context: str, suffix: str
) -> Sequence[Unit]:
    """The units of a text, saved as a question that refers to the one before it is read in several ways."""
    units = split_units(
        text,
        begins_inside=begins_inside,
        ends_inside=ends_inside,
        language=language,
        context=context,
        suffix=suffix,
    )
    if len(units) == 1 and units[0].kind == "label":
        return (replace(units[0], kind="sentence"),)
    return tuple(units)


def _choose_answers(
    question: Question, units: Sequence[Unit], terms: Mapping[str, frozenset[str]], title: frozenset[str]
) -> list[Unit]:
    """The units that may answer: of each list either the whole or its items.

    An item answers alone if it has much of the question that its introduction lacks.
    """
    answers = [unit for unit in units if unit.is_answer]
    total = sum(question.weights.values()) or 1.0
    is_procedure = bool(_PROCEDURE.match(question.text))
    for whole in [unit for unit in answers if unit.kind == "list"]:
        items = [unit for unit in units if unit.group == whole.group and unit is not whole]
        known = title.union(question.asked, *(terms[unit.context] | terms[unit.heading] for unit in items))
        gains = [sum(question.weights.get(term, 0.0) for term in terms[unit.text] - known) for unit in items]
        is_in_item = max(gains) / total >= LEAST_IN_KEY and not (is_procedure and _STEP.match(items[0].text))
        left_out = [whole] if is_in_item else items
        answers = [unit for unit in answers if unit not in left_out]
    return answers


def _introduce(unit: Unit) -> str:
    """The introduction of a list, if it has one."""
    first = unit.text.partition("\n")[0]
    return first if not _STEP.match(first) and not first.startswith(("-", "*", "+", "•")) else ""


def _find_entry(units: Sequence[Unit], unit: Unit) -> UnitEntry:
    """What a sentence belongs to: "The default is 3." to the option that is defined above it."""
    at = units.index(unit)
    for index in range(at - 1, -1, -1) if unit.kind == "sentence" else ():
        one = units[index]
        if one.kind == "definition":
            return UnitEntry(one.key, one)
        if one.kind in ("label", "signature"):
            return UnitEntry(one.text, units[index + 1] if index + 1 < at else None)
        if one.kind != "sentence":
            break
    return UnitEntry()


def refers_back(question: Question, unit: Unit, before: Unit) -> bool:
    return before.kind == "sentence" and question.lexicon.refers_back(unit.text)


def _describes(unit: Unit, symbols: Set[str]) -> bool:
    """Whether a unit describes an option or a name that a question contains, alone or after the name of its module."""
    names = {unit.cells[0].strip("`")} if unit.cells else unit.subjects
    return any(name == symbol or name.endswith(f".{symbol}") for symbol in symbols for name in names)


def _weigh_key(question: Question, unit: Unit, terms: Mapping[str, frozenset[str]]) -> float:
    """The share of the question that the key of an item or a definition has; the name of an option must be exact."""
    if unit.key.startswith("-") and not _describes(unit, question.symbols):
        return 0.0
    return coverage(question, terms[unit.key])


class _Row(NamedTuple):
    """A row as shown, the share of the question in its key (0 if it is not asked for), and the bonus of a cell."""

    text: str
    key: float
    bonus: float = 0.0


def _read_row(question: Question, row: Unit, analyzer: Analyzer) -> _Row:
    """The cell that is asked for, with its header and the key of the row, or all cells with their headers."""
    if not _PAIR.match(row.text):
        return _read_cells(question, row, analyzer)
    pairs = [cell.partition(": ") for cell in row.cells]  # each cell has its header already, as in a row of CSV
    split = replace(row, headers=tuple(pair[0] for pair in pairs), cells=tuple(pair[2] for pair in pairs))
    found = _read_cells(question, split, analyzer)
    return found if found.bonus else _Row(row.text, coverage(question, frozenset(analyzer.terms(row.text))))


def _read_cells(question: Question, row: Unit, analyzer: Analyzer) -> _Row:
    cells = [frozenset(analyzer.terms(cell)) for cell in row.cells]
    headers = [frozenset(analyzer.terms(header)) for header in row.headers] or [frozenset()] * len(cells)
    named = frozenset().union(*headers)
    shares = [coverage(question, cell - named - question.asked) for cell in cells]
    key = max(range(len(cells)), key=lambda at: (shares[at], -at))
    if shares[key] < LEAST_IN_KEY:
        return _Row(_show_cells(row), 0.0)
    others = [at for at in range(min(len(cells), len(headers))) if at != key and row.cells[at]]
    asked = [at for at in others if not headers[at].isdisjoint(question.weights)]
    if not asked and question.kind:
        asked = [at for at in others if signals.count_fitting(question, row.cells[at], analyzer)]
    if len(asked) > 1:
        asked = [at for at in asked if not headers[at].isdisjoint(question.asked)]
    if len(asked) == 1:
        header = row.headers[asked[0]] if row.headers else ""
        return _Row(f"{row.cells[key]}: {f'{header} {row.cells[asked[0]]}'.lstrip()}", shares[key], ASKED_CELL)
    is_asked_for = coverage(question, cells[key] | named) >= LEAST_IN_ROW
    return _Row(_show_cells(row), shares[key] if is_asked_for else 0.0)


def _show_cells(row: Unit) -> str:
    if not row.headers:
        return "; ".join(cell for cell in row.cells if cell)
    pairs = zip(row.headers, row.cells, strict=False)
    return "; ".join(f"{header}: {cell}" if header else cell for header, cell in pairs if cell)

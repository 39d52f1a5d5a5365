"""Extractive answers without a model: what answers a question, verbatim and in reading order, or nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from shortlist.answer.extractive import english, signals
from shortlist.answer.extractive.signals import Question, Reading, coverage
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.answer.extractive.units.unit import LONGEST_PASSAGE, Unit
from shortlist.answer.extractive.units.unit_reader import has_verb
from shortlist.index.text.analyzers import Analyzer
from shortlist.results import Evidence

# The probability that each of these texts, given with its context, answers a question.
RateAnswers = Callable[[str, Sequence[tuple[str, str]]], Sequence[float]]

JUDGED = 8  # units that a judge reads; more do not help
LEAST_CHANCE = 1e-6  # of a judge or the signals that counts
LONGEST_LEAD = 240  # characters of the definition that a sentence belongs to
# With a judge, the odds are its odds times those of the signals. On the half of squad2 that was not fitted to, 65 % of
# the questions then get their answer, and 66 % of those without one are refused.
JUDGED_FROM = 0.67
AS_LIKELY = 1.0  # the log odds that a second sentence may have less than the best one
LEAST_COVERED_JUDGED, UNCOVERED = 0.3, 1.5  # share of the question's weight below which the odds fall, and by how much

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

DESCRIBES = 0.4  # added to the worth of a unit that describes an option or a name of the question
ASKED_CELL = 0.2  # added to the worth of a row that has a cell that is asked for
LEAST_IN_KEY = 0.2  # the share of the question's weight in an item, a term or a row, so that it is what is asked for
OPTION_WORDS = "option flag switch argument"  # what an option such as "-v, --verbose" is called
# The share of a sentence without a verb that repeats the question, so that the next one answers: with a term or a
# signature above it, and without.
LEAST_REPEATED, LEAST_REPEATED_ALONE = 0.6, 0.9

LEAST_WORDS = 2  # of a sentence that answers: not the number of a section

_WORDS = re.compile(r"[^\W\d_]{2,}|[^\x00-\u2e7f]")
_OFFSET = re.compile(r"offset=(\d+)")
_PROCEDURE = re.compile(
    r"how (?!many|much|long|far|old|often|large|big|fast)|what (?:are|is) the steps?\b", re.IGNORECASE
)
_STEP = re.compile(r"\(?\w{1,3}[.)]\s")
_PAIR = re.compile(r"\w[^:|]*:\s")
_REFERS = re.compile(r"\b(?:it|this|them|these)\b")
_REFERS_BACK = re.compile(rf"(?:{'|'.join(english.BACKWARD)})\b", re.IGNORECASE)


class _Entry(NamedTuple):
    """The term, label or signature that a sentence is about, and the sentence that says what it is, if another."""

    term: str = ""
    lead: Unit | None = None


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """A unit of a passage as an answer: how it is shown, its neighbors, its terms and its worth."""

    evidence: Evidence
    unit: Unit
    text: str
    before: Unit | None
    after: Unit | None
    entry: _Entry
    reading: Reading
    worth: float
    probability: float = 0.0  # that it answers

    @property
    def span(self) -> tuple[int, int]:
        return self.unit.start, self.unit.end


@dataclass(frozen=True, slots=True)
class Quote:
    """A part of a passage as shown, and its span in the passage."""

    evidence: Evidence
    text: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Extract:
    """The sentences that answer, or none, and the reason."""

    sentences: list[Quote]
    reason: str


def extract(
    question: Question,
    evidence: Sequence[Evidence],
    analyzer: Analyzer,
    *,
    answer_from: float | None = None,
    rate: RateAnswers | None = None,
) -> Extract:
    """What answers a question best, if it does with a probability of `answer_from`.

    The default of that is `ANSWER_FROM`, or `JUDGED_FROM` with a model that rates sentences.
    """
    candidates = rank_sentences(question, evidence, analyzer, rate)
    if not question.weights:
        return Extract([], "The question contains no word to search for.")
    if not candidates:
        return Extract([], "No passage has a sentence that may answer.")
    best = candidates[0]
    covered = coverage(question, best.reading.near)
    if rate is None and covered < LEAST_COVERED:
        return Extract([], f"The best sentence covers {covered:.0%} of the question.")
    probability = best.probability if rate else _rate(question, best, analyzer)
    if answer_from is None:
        answer_from = ANSWER_FROM if rate is None else JUDGED_FROM
    if probability < answer_from:
        return Extract(
            [], f"The best sentence answers with a probability of {probability:.2f}, below {answer_from:.2f}."
        )
    quotes = _quote(question, best, analyzer)
    if len(quotes) == 1 and (second := _find_as_good(question, candidates, analyzer, answer_from)):
        quotes.append(Quote(second.evidence, second.text, second.span))
        quotes.sort(key=lambda one: (one.evidence.number, one.span))
    return Extract(quotes, "These sentences contain what is asked for.")


def answer_probability(values: Mapping[str, float]) -> float:
    """The probability that a sentence with these values of the signals answers."""
    return 1 / (1 + math.exp(-BIAS - sum(weight * values[name] for name, weight in WEIGHTS.items())))


def text_for_judge(candidate: AnswerCandidate) -> tuple[str, str]:
    """What a judge reads of a unit: the unit after its term or signature, and its title, headings and neighbors."""
    unit, item, entry = candidate.unit, candidate.evidence, candidate.entry
    own = f"{entry.lead.text[:LONGEST_LEAD]} {candidate.text}" if entry.lead else candidate.text
    term = unit.context or ("" if entry.lead and entry.lead.key else entry.term)
    own = f"{term}: {own}" if term and unit.kind != "list" else own
    title = " > ".join(dict.fromkeys(filter(None, (item.name, item.context, unit.heading))))
    around = [one.text for one in (candidate.before, candidate.after) if one]
    return own, " | ".join([title, *around])


def rank_sentences(
    question: Question, evidence: Sequence[Evidence], analyzer: Analyzer, rate: RateAnswers | None = None
) -> list[AnswerCandidate]:
    """The units of all passages that may answer, best first; with a judge, only those that it has read."""
    candidates = [one for item in evidence for one in _find_candidates(question, item, analyzer)]
    candidates.sort(key=lambda one: -one.worth)
    if rate is None or not candidates:
        return candidates
    judged = candidates[:JUDGED]
    rated = []
    for one, chance in zip(judged, rate(question.text, [text_for_judge(one) for one in judged]), strict=True):
        log_odds = _log_odds(chance) + _log_odds(_rate(question, one, analyzer))
        log_odds -= UNCOVERED if coverage(question, one.reading.near) < LEAST_COVERED_JUDGED else 0.0
        rated.append(replace(one, probability=1 / (1 + math.exp(-log_odds))))
    return sorted(rated, key=lambda one: -one.probability)


def _rate(question: Question, candidate: AnswerCandidate, analyzer: Analyzer) -> float:
    return answer_probability(signals.measure_signals(question, candidate.reading, analyzer))


def _log_odds(probability: float) -> float:
    return math.log(max(probability, LEAST_CHANCE) / max(1 - probability, LEAST_CHANCE))


def _find_candidates(question: Question, item: Evidence, analyzer: Analyzer) -> Iterator[AnswerCandidate]:
    """The units of a passage that may answer: not headings, code, signatures, questions and halves of sentences.

    A unit is read with its context, and a sentence that refers back ("They were ...") with the one before it. A row, an
    item or a definition whose key is in the question is read with its neighbors.
    """
    units = _split_passage(item)
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
        if unit.kind == "sentence" and len(_WORDS.findall(unit.text)) < LEAST_WORDS:
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
        elif unit.kind == "sentence" and before and _refers_back(unit, before):
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
        yield AnswerCandidate(item, unit, text, before, after, entry, Reading(read, own, near, around | own), worth)


def _split_passage(item: Evidence) -> list[Unit]:
    offsets = _OFFSET.findall(item.locator)
    is_page = item.locator.startswith("page=")
    units = split_units(
        item.text,
        begins_inside=any(int(offset) for offset in offsets) or (is_page and item.text[:1].islower()),
        ends_inside=bool(offsets) or is_page or len(item.text) >= LONGEST_PASSAGE,
    )
    if len(units) == 1 and units[0].kind == "label":
        return [replace(units[0], kind="sentence")]
    return units


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


def _find_entry(units: Sequence[Unit], unit: Unit) -> _Entry:
    """What a sentence belongs to: "The default is 3." to the option that is defined above it."""
    at = units.index(unit)
    for index in range(at - 1, -1, -1) if unit.kind == "sentence" else ():
        one = units[index]
        if one.kind == "definition":
            return _Entry(one.key, one)
        if one.kind in ("label", "signature"):
            return _Entry(one.text, units[index + 1] if index + 1 < at else None)
        if one.kind != "sentence":
            break
    return _Entry()


def _refers_back(unit: Unit, before: Unit) -> bool:
    return before.kind == "sentence" and bool(_REFERS_BACK.match(unit.text))


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
    """The cell that is asked for, with the key of the row, or all cells with their headers."""
    if _PAIR.match(row.text):  # each cell has its header already
        return _Row(row.text, coverage(question, frozenset(analyzer.terms(row.text))))
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
        return _Row(f"{row.cells[key]}: {row.cells[asked[0]]}", shares[key], ASKED_CELL)
    is_asked_for = coverage(question, cells[key] | named) >= LEAST_COVERED
    return _Row(_show_cells(row), shares[key] if is_asked_for else 0.0)


def _show_cells(row: Unit) -> str:
    if not row.headers:
        return "; ".join(cell for cell in row.cells if cell)
    pairs = zip(row.headers, row.cells, strict=False)
    return "; ".join(f"{header}: {cell}" if header else cell for header, cell in pairs if cell)


def _quote(question: Question, best: AnswerCandidate, analyzer: Analyzer) -> list[Quote]:
    """The best unit, with the sentence before it if it refers back, or after it if that holds what it announces."""
    unit, item = best.unit, best.evidence
    quotes = [Quote(item, best.text, best.span)]
    if best.entry.lead and _leans_on(question, best, analyzer):
        quotes.insert(0, Quote(item, best.entry.lead.text, (best.entry.lead.start, best.entry.lead.end)))
    elif best.before and unit.kind == "sentence" and _refers_back(unit, best.before):
        quotes.insert(0, Quote(item, best.before.text, (best.before.start, best.before.end)))
    if best.after and best.after.kind == "sentence" and _announces(question, best, best.after, analyzer):
        quotes.append(Quote(item, best.after.text, (best.after.start, best.after.end)))
    return quotes


def _leans_on(question: Question, best: AnswerCandidate, analyzer: Analyzer) -> bool:
    """Whether the definition that a sentence belongs to has much of the question that the sentence lacks."""
    lead = frozenset(analyzer.terms(best.entry.lead.text)) if best.entry.lead else frozenset()
    return coverage(question, lead.difference(analyzer.terms(best.text))) >= LEAST_IN_KEY


def _find_as_good(
    question: Question, candidates: Sequence[AnswerCandidate], analyzer: Analyzer, answer_from: float
) -> AnswerCandidate | None:
    """Another sentence of plain prose that answers about as well as the best one."""
    best = candidates[0]
    for one in candidates[1:4]:
        is_prose = all(each.unit.kind == "sentence" and not each.unit.context for each in (one, best))
        is_other = one.text != best.text and not question.weights.keys().isdisjoint(analyzer.terms(one.text))
        if best.probability:  # judged
            gap = _log_odds(best.probability) - _log_odds(one.probability)
            is_as_good = one.probability >= answer_from and gap < AS_LIKELY
        else:
            is_as_good = one.worth >= AS_GOOD * best.worth
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

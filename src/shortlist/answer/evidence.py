"""The passages that an answer may use: those close enough to the question, numbered and labeled for citation.

Closeness is on one scale, with 0.30 as the default threshold. For an embedding model it is the cosine. A static table
of vectors misses exact words, so its cosine competes with 0.75 times the share of the question's words (weighted by
rarity) that the passage contains; the higher one counts. Without vectors the share of words decides alone. A threshold
that was calibrated for the corpus replaces all this: it is compared with the score that hits are ranked by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from shortlist.answer.extractive.signals import coverage, find_other_forms, read_question
from shortlist.index.text.analyzers import fold, words
from shortlist.index.text.chunking import windows
from shortlist.library.opening import CorpusState
from shortlist.results import Evidence, Hit
from shortlist.search.agent_actions import name_of
from shortlist.search.filters import Filter
from shortlist.search.retrieve import Found, merge, retrieve

K = 4
THRESHOLD = 0.30
WORDS_SCALE = 0.75  # two fifths of the question's words are as close as a cosine of 0.30
LONGEST_PASSAGE, OVERLAP = 4_000, 400  # characters shown of a passage, and shared by its windows
LONGEST_NAME = 200
MOST_PASSAGES = 1_000  # of one document whose closeness is computed

_BRACKETS = str.maketrans("[]<>", "()‹›")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ue000-\uf8ff]+")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Hits that reach the threshold, each with its closeness, or the reason why none does."""

    hits: list[tuple[Hit, float]]
    reason: str


class _Rated(NamedTuple):
    hit: Hit
    closeness: float
    is_close: bool


def gather(
    states: Sequence[CorpusState],
    question: str,
    k: int = K,
    threshold: float | None = None,
    filter: Filter | None = None,
    hint: str = "",
) -> Gathered:
    """The k best passages that are close enough; `hint` helps to find them but need not match."""
    query = f"{question} {hint}".strip()
    found = retrieve(states, query, "auto", k, filter, whole=False)
    rated = {id(each.hit.passage): each for one in found for each in _rate(one, {question, query}, threshold)}
    best = [rated[id(hit.passage)] for hit in merge(found, query, "auto", k)]
    if close := [(_cut_window(each.hit, query), each.closeness) for each in best if each.is_close]:
        return Gathered(close, "")
    if not best:
        return Gathered([], "No passage was found.")
    closest = max(best, key=lambda each: each.closeness)
    name = name_of(closest.hit)
    return Gathered([], f"No passage is close enough: the closest is {name} with {closest.closeness:.3f}.")


def rate_document(states: Sequence[CorpusState], question: str, id: str) -> dict[str, float]:
    """The closeness of the passages of one document to the question, by locator."""
    found = retrieve(states, question, "auto", MOST_PASSAGES, {"id": id}, whole=False)
    return {each.hit.locator: each.closeness for one in found for each in _rate(one, {question}, None)}


def _rate(found: Found, queries: Set[str], threshold: float | None) -> Iterator[_Rated]:
    """Rate each hit by the question, alone and with the hint."""
    floor = found.state.config.floors.get("auto") if threshold is None else None
    least = THRESHOLD if threshold is None else threshold
    lexical, questions = found.state.lexical, []
    if found.embedder is None or getattr(found.embedder, "static", False):
        questions = [read_question(text, lexical.analyzer, lexical.frequency, lexical.live) for text in queries]
    for hit in found.hits:
        closeness = max(hit.signals.get("dense", 0.0), 0.0)
        if questions:
            terms = frozenset(lexical.analyzer.terms(f"{hit.name} {hit.context} {hit.text}"))
            shares = [coverage(one, terms.union(find_other_forms(one, terms).values())) for one in questions]
            closeness = max(closeness, WORDS_SCALE * max(shares))
        yield _Rated(hit, closeness, closeness >= least if floor is None else hit.score >= floor)


class Shown:
    """All passages that were shown, in order; a passage keeps its number however often it is added."""

    def __init__(self, on_evidence: Callable[[Evidence], None] | None = None) -> None:
        self._on_evidence = on_evidence
        self.items: list[Evidence] = []
        self._known: dict[tuple[str, ...], Evidence] = {}
        self._labels: dict[str, str] = {}

    def add(self, source: str, locator: str, text: str, score: float, **about: str) -> Evidence:
        """Add a passage; `about` is its id, name, context and corpus."""
        key = (about.get("corpus", ""), source, about.get("id", ""), locator)
        if key not in self._known:
            number, place = len(self.items) + 1, _clean_name(locator)
            if any((item.source, item.locator) == (source, place) for item in self.items):
                place = f"{place};part={number}"  # two documents of one source share a locator
            item = Evidence(number, self._label(source), source, place, text[:LONGEST_PASSAGE], score, **about)
            self.items.append(item)
            self._known[key] = item
            if self._on_evidence:
                self._on_evidence(item)
        return self._known[key]

    def add_hits(self, hits: Iterable[tuple[Hit, float]]) -> list[Evidence]:
        return [self.add(**describe_hit(hit, score)) for hit, score in hits]

    def _label(self, source: str) -> str:
        """The shortest end of a path that no other source has."""
        if source not in self._labels:
            parts = re.split(r"[/\\]+", source) if not source.endswith(("/", "\\")) else [source]
            ends = ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
            taken = set(self._labels.values())
            options = [*map(_clean_name, ends), f"{_clean_name(source)}~{len(taken) + 1}"]
            self._labels[source] = next(option for option in options if option and option not in taken)
        return self._labels[source]


def describe_hit(hit: Hit, score: float) -> dict[str, Any]:
    """The arguments of `Shown.add` for a hit."""
    fields = ("locator", "text", "id", "name", "context", "corpus")
    return {"source": name_of(hit), "score": score, **{name: getattr(hit, name) for name in fields}}


def _cut_window(hit: Hit, query: str) -> Hit:
    """The hit or, if its text is long, its window with the most words of the query."""
    text = hit.text
    if len(text) <= LONGEST_PASSAGE:
        return hit
    wanted = set(words(fold(query)))
    spans = windows(text, LONGEST_PASSAGE, OVERLAP)
    start, end = max(spans, key=lambda span: len(wanted.intersection(words(fold(text[span[0] : span[1]])))))
    return replace(hit, passage=replace(hit.passage, text=text[start:end], locator=f"{hit.locator};offset={start}"))


def _clean_name(name: str) -> str:
    """A name without characters that could end a citation, a line or a delimiter."""
    return _UNSEEN.sub(" ", name.translate(_BRACKETS)).strip()[:LONGEST_NAME]

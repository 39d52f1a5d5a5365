"""The passages that an answer may use: those close enough to the question, numbered and labeled for citation.

Closeness is on one scale, with 0.30 as the default threshold, and passages are listed by it. For an embedding model it
is the cosine. A static table of vectors misses exact words, so its cosine competes with 0.75 times the share of the
question's words (weighted by rarity) that the passage contains; the higher one counts. Without vectors the share of
words decides alone. Passages well above the threshold, where many contain all words, are compared by the mean of the
cosine, this share, and the share of the words that are in one sentence. A threshold that was calibrated for the corpus
replaces the default one: it is compared with the score that hits are ranked by.

A passage that tries to instruct a model or its readers has a warning, whichever way it was found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from shortlist.answer.extractive.signals import Question, coverage, find_other_forms, read_question
from shortlist.answer.extractive.units.splitting import split_spans
from shortlist.answer.extractive.units.unit import LONGEST_PASSAGE
from shortlist.answer.memory import NO_FOLLOW_UP, FollowUp
from shortlist.index.text.analyzers import Analyzer, fold, words
from shortlist.index.text.chunking import windows
from shortlist.library.opening import CorpusState
from shortlist.results import Evidence, Hit, Hits
from shortlist.retrieval.agent_actions import name_of
from shortlist.retrieval.corpus_hits import CorpusHits, retrieve
from shortlist.retrieval.filters import Filter
from shortlist.retrieval.merging import merge
from shortlist.safety.prompt_injection import find_warning

K = 4
THRESHOLD = 0.30
WORDS_SCALE = 0.75  # two fifths of the question's words are as close as a cosine of 0.30
MEASURED_BY_ALL = 0.50  # closeness from which passages are compared by more than their highest measure
OVERLAP = 400  # characters that the windows of a long passage share
LONGEST_NAME = 200
CLOSENESS, IS_CLOSE = "closeness", "is_close"  # signals of a hit that was rated
MOST_PASSAGES = 1_000  # of one document whose closeness is computed

_BRACKETS = str.maketrans("[]<>", "()‹›")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ue000-\uf8ff]+")


@dataclass(frozen=True, slots=True)
class GatheredHits:
    """Hits that reach the threshold, each with its closeness, the closest first, or the reason why none does."""

    hits: list[tuple[Hit, float]]
    reason: str


def gather(
    states: Sequence[CorpusState],
    question: str,
    k: int = K,
    threshold: float | None = None,
    filter: Filter | None = None,
    follow_up: FollowUp = NO_FOLLOW_UP,
) -> GatheredHits:
    """The k best passages that are close enough.

    A follow-up is searched with the turn before it. If it is not clear whether a question is one, it is searched both
    ways, and what it finds alone comes first.
    """
    is_alone = follow_up.reference != "clear"
    hits = _find_best(states, question, {question}, k, threshold, filter) if is_alone else []
    if follow_up.reference != "none":
        query = f"{question} {follow_up.hint}"
        hits += _find_best(states, query, {f"{follow_up.last_question} {question}", query}, k, threshold, filter)
    close: dict[tuple[str, str, str], Hit] = {}
    for hit in hits:
        if hit.signals[IS_CLOSE]:
            close.setdefault(_find_key(hit), hit)
    if close:
        listed = sorted(list(close.values())[:k], key=lambda hit: -hit.signals[CLOSENESS])
        return GatheredHits([(hit, hit.signals[CLOSENESS]) for hit in listed], "")
    if not hits:
        return GatheredHits([], "No passage was found.")
    closest = max(hits, key=lambda hit: hit.signals[CLOSENESS])
    closeness = closest.signals[CLOSENESS]
    return GatheredHits([], f"No passage is close enough: the closest is {name_of(closest)} with {closeness:.3f}.")


def _find_best(
    states: Sequence[CorpusState],
    query: str,
    wordings: Set[str],
    k: int,
    threshold: float | None,
    filter: Filter | None,
) -> list[Hit]:
    """The k best passages for a query, rated by the wordings of the question, and cut to what is shown of them."""
    found = _retrieve_rated(states, query, wordings, k, threshold, filter)
    return [_cut_window(hit, query) for hit in merge(found, query, "auto", k)]


def rate_passages(
    states: Sequence[CorpusState], question: str, passages: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Passages of `agent_actions` with their closeness to the question as `score`."""
    scores: dict[tuple[str, str, str], float] = {}
    if passages and question.strip():
        filter = {"id": {"$in": sorted({passage["id"] for passage in passages})}}
        found = _retrieve_rated(states, question, {question}, MOST_PASSAGES, None, filter)
        scores = {_find_key(hit): hit.signals[CLOSENESS] for one in found for hit in one.hits}
    return [dict(one) | {"score": scores.get((one["corpus"], one["id"], one["locator"]), 0.0)} for one in passages]


def _retrieve_rated(
    states: Sequence[CorpusState],
    query: str,
    wordings: Set[str],
    k: int,
    threshold: float | None,
    filter: Filter | None,
) -> list[CorpusHits]:
    """The k best passages of each corpus, each with its closeness to the question among its signals."""
    found = retrieve(states, query, "auto", k, filter, whole=False)
    return [replace(one, hits=Hits(_rate(one, wordings, threshold), query=query, mode="auto")) for one in found]


def _rate(found: CorpusHits, wordings: Set[str], threshold: float | None) -> Iterator[Hit]:
    """Rate each hit by the question, in each of its wordings; the highest closeness counts."""
    calibrated = found.state.config.floors.get("auto") if threshold is None else None
    least = THRESHOLD if threshold is None else threshold
    lexical = found.state.lexical
    questions: list[Question] = []
    if found.embedder is None or getattr(found.embedder, "static", False):
        questions = [read_question(text, lexical.analyzer, lexical.frequency, lexical.live) for text in wordings]
    for hit in found.hits:
        closeness = max(hit.signals.get("dense", 0.0), 0.0)
        if questions:
            cosine = closeness if found.embedder else None
            closeness = max(_measure_closeness(one, hit, cosine, lexical.analyzer) for one in questions)
        is_close = closeness >= least if calibrated is None else hit.score >= calibrated
        yield replace(hit, signals={**hit.signals, CLOSENESS: closeness, IS_CLOSE: float(is_close)})


def _find_key(hit: Hit) -> tuple[str, str, str]:
    return hit.corpus, hit.id, hit.locator


def _measure_closeness(question: Question, hit: Hit, cosine: float | None, analyzer: Analyzer) -> float:
    """The cosine or the share of the question's words, whichever is higher; from `MEASURED_BY_ALL` on, the mean of the
    cosine, this share and the share in one sentence; in between, from one to the other. Without vectors, the cosine is
    that of two sets of words. No passage crosses the threshold by this.
    """
    sentences = [frozenset(analyzer.terms(hit.text[start:end])) for start, end in split_spans(hit.text)]
    terms = frozenset(analyzer.terms(f"{hit.name} {hit.context}")).union(*sentences)
    forms = find_other_forms(question, terms)
    share = _cover(question, terms, forms)
    closeness = max(cosine or 0.0, WORDS_SCALE * share)
    if closeness <= THRESHOLD or not sentences:
        return closeness
    together, best = max(((_cover(question, one, forms), one) for one in sentences), key=lambda pair: pair[0])
    if cosine is None:
        cosine = len(best & question.weights.keys()) / math.sqrt(len(best) * len(question.weights) or 1)
    beyond = closeness - THRESHOLD
    mean = max((cosine + share + together) / 3, THRESHOLD + beyond / 10)
    return closeness + min(beyond / (MEASURED_BY_ALL - THRESHOLD), 1.0) * (mean - closeness)


def _cover(question: Question, terms: frozenset[str], forms: Mapping[str, str]) -> float:
    return coverage(question, terms.union(wanted for form, wanted in forms.items() if form in terms))


class EvidenceList:
    """All passages that were shown, in order; a passage keeps its number however often it is added.

    `items` are the passages of documents, `citable` also has lists of sources, which have the number 0.
    """

    def __init__(self) -> None:
        self._on_evidence: Callable[[Evidence], None] | None = None
        self.items: list[Evidence] = []
        self.citable: list[Evidence] = []
        self._known: dict[tuple[str, ...], Evidence] = {}
        self._labels: dict[str, str] = {}

    def announce(self, on_evidence: Callable[[Evidence], None] | None) -> None:
        """Call a function with each passage: with those that were added already, and with each that will be."""
        self._on_evidence = on_evidence
        if on_evidence:
            for item in self.items:
                on_evidence(item)

    def add(self, source: str, locator: str, text: str, score: float, **about: str) -> Evidence:
        """Add a passage; `about` is its id, name, context and corpus."""
        key = (about.get("corpus", ""), source, about.get("id", ""), locator)
        if key not in self._known:
            number, place = len(self.items) + 1, _clean_name(locator)
            if any((item.source, item.locator) == (source, place) for item in self.items):
                place = f"{place};part={number}"  # two documents of one source share a locator
            shown = text[:LONGEST_PASSAGE]
            warning = find_warning("\n\n".join((about.get("name", ""), about.get("context", ""), shown)))
            item = Evidence(number, self._label(source), source, place, shown, score, **about, warning=warning)
            self.items.append(item)
            self.citable.append(item)
            self._known[key] = item
            if self._on_evidence:
                self._on_evidence(item)
        return self._known[key]

    def add_list(self, name: str, text: str) -> Evidence:
        """Add a list of sources: it can be cited, but it is not a passage of a document."""
        item = Evidence(0, self._label(name), name, "whole", text, 0.0, warning=find_warning(text))
        if item not in self.citable:
            self.citable.append(item)
        return item

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
    """The arguments of `EvidenceList.add` for a hit."""
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

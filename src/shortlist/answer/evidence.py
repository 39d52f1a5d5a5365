"""The passages that an answer may use: those relevant enough to the question, numbered and labeled for citation.

A passage counts if its relevance (`retrieval/relevance.py`) reaches `min_relevance`: the given number or, with "auto",
the threshold that was calibrated for the corpus, or the built-in one. With "auto", a question whose words are all
unknown and that nothing is semantically close to has no passages, as in `discover`. Passages are listed by relevance.

A passage that tries to instruct a model or its readers has a warning, whichever way it was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shortlist.answer.extractive.units.unit import LONGEST_PASSAGE
from shortlist.answer.memory import NO_FOLLOW_UP, FollowUp
from shortlist.answer.places import make_locate
from shortlist.documents import Document
from shortlist.index.corpus import Corpus
from shortlist.index.text.analyzers import words
from shortlist.index.text.chunking import windows
from shortlist.index.text.word_parts import fold
from shortlist.library.opening import CorpusState
from shortlist.results import Evidence, Hit, Hits, MinRelevance
from shortlist.retrieval.agent_actions import name_of
from shortlist.retrieval.corpus_hits import CorpusHits, refuse_unknown, retrieve
from shortlist.retrieval.filters import Filter
from shortlist.retrieval.merging import merge
from shortlist.retrieval.relevance import (
    EVIDENCE_THRESHOLD,
    KEYWORD_EVIDENCE_THRESHOLD,
    THRESHOLD,
    log_odds,
    probability,
)
from shortlist.safety.prompt_injection import find_warning

K = 4
MANY = 100  # passages, among which a word in common is a coincidence; in fewer, it is not known which words are rare
OVERLAP = 400  # characters that the windows of a long passage share
LONGEST_NAME = 200
MOST_PASSAGES = 1_000  # of one document whose relevance is computed

_BRACKETS = str.maketrans("[]<>", "()‹›")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ue000-\uf8ff]+")


@dataclass(frozen=True, slots=True)
class GatheredHits:
    """Hits that reach the threshold, the most relevant first, or the reason why none does."""

    hits: list[Hit]
    reason: str


def gather(
    states: Sequence[CorpusState],
    question: str,
    k: int = K,
    min_relevance: MinRelevance = "auto",
    filter: Filter | None = None,
    follow_up: FollowUp = NO_FOLLOW_UP,
) -> GatheredHits:
    """The k most relevant passages that reach the threshold.

    A follow-up is searched with the turn before it. If it is not clear whether a question is one, it is searched both
    ways, and what it finds alone comes first.
    """
    queries = [question] if follow_up.reference != "clear" else [*follow_up.complete[:1]]
    if follow_up.reference != "none":
        queries.append(f"{question} {follow_up.hint}")
    relevant: dict[tuple[str, str, str], Hit] = {}
    others: list[Hit] = []
    reason = "No passage was found."
    for query in queries:
        known = []
        for part in retrieve(states, query, "auto", k, filter, whole=False):
            if min_relevance == "auto" and (refusal := refuse_unknown(part)):
                reason = refusal.reason
            else:
                known.append(_keep_relevant(part, min_relevance, is_alone=query is question))
                others += part.hits
        for hit in merge(known, query, "auto", k):
            relevant.setdefault(_find_key(hit), _cut_window(hit, query))
    if relevant:
        return GatheredHits(sorted(list(relevant.values())[:k], key=lambda hit: -hit.score), "")
    if others:
        best = max(others, key=lambda hit: hit.score)
        reason = f"No passage is relevant enough: the best is {best.name or name_of(best)} with {best.score:.3f}."
    return GatheredHits([], reason)


def rate_passages(
    states: Sequence[CorpusState], question: str, passages: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Passages of `agent_actions` with their relevance to the question as `score`."""
    scores: dict[tuple[str, str, str], float] = {}
    if passages and question.strip():
        filter = {"id": {"$in": sorted({passage["id"] for passage in passages})}}
        found = retrieve(states, question, "auto", MOST_PASSAGES, filter, whole=False)
        scores = {_find_key(hit): hit.score for part in found for hit in part.hits}
    return [dict(one) | {"score": scores.get((one["corpus"], one["id"], one["locator"]), 0.0)} for one in passages]


def _keep_relevant(found: CorpusHits, min_relevance: MinRelevance, *, is_alone: bool) -> CorpusHits:
    """The hits of a corpus that are relevant enough; None keeps all of them.

    A calibrated threshold is one of `discover`; that of passages is lower by as much as the built-in one is. Without a
    calibrated one, keywords alone must find a passage that is clearly relevant; unless the question is read with the
    turn before it, whose words the passage need not have.
    """
    least = EVIDENCE_THRESHOLD if min_relevance == "auto" else min_relevance or 0.0
    if min_relevance == "auto" and (calibrated := found.score_threshold("auto").value) is not None:
        least = probability(log_odds(calibrated) + log_odds(EVIDENCE_THRESHOLD) - log_odds(THRESHOLD))
    elif min_relevance == "auto" and is_alone and not found.state.has_vectors and found.state.lexical.live >= MANY:
        best = max((hit.score for hit in found.hits), default=0.0)
        least = least if best >= KEYWORD_EVIDENCE_THRESHOLD else KEYWORD_EVIDENCE_THRESHOLD
    hits = [hit for hit in found.hits if hit.score >= least]
    return replace(found, hits=Hits(hits, query=found.hits.query, mode=found.hits.mode))


def _find_key(hit: Hit) -> tuple[str, str, str]:
    return hit.corpus, hit.id, hit.locator


class EvidenceList:
    """All passages that were shown, in order; a passage keeps its number however often it is added.

    `items` are the passages of documents, `citable` also has lists of sources, which have the number 0. The documents
    of `corpora` are read for the places of passages in them.
    """

    def __init__(self, corpora: Sequence[Corpus] = ()) -> None:
        self._corpora = {corpus.name: corpus for corpus in corpora}
        self._documents: dict[tuple[str, str], Document | None] = {}
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
            locate = make_locate(self._read_document(**about), shown, locator, about.get("context", ""))
            item = Evidence(
                number, self._label(source), source, place, shown, score, **about, warning=warning,
                place=locate(0, len(shown)), locate=locate,
            )  # fmt: skip
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

    def add_hits(self, hits: Iterable[Hit]) -> list[Evidence]:
        return [self.add(**describe_hit(hit)) for hit in hits]

    def _read_document(self, corpus: str = "", id: str = "", **_: str) -> Document | None:
        if (corpus, id) not in self._documents:
            self._documents[corpus, id] = self._corpora[corpus].get(id) if corpus in self._corpora else None
        return self._documents[corpus, id]

    def _label(self, source: str) -> str:
        """The shortest end of a path that no other source has."""
        if source not in self._labels:
            parts = re.split(r"[/\\]+", source) if not source.endswith(("/", "\\")) else [source]
            ends = ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
            taken = set(self._labels.values())
            options = [*map(_clean_name, ends), f"{_clean_name(source)}~{len(taken) + 1}"]
            self._labels[source] = next(option for option in options if option and option not in taken)
        return self._labels[source]


def describe_hit(hit: Hit) -> dict[str, Any]:
    """The arguments of `EvidenceList.add` for a hit."""
    fields = ("locator", "text", "score", "id", "name", "context", "corpus")
    return {"source": name_of(hit), **{name: getattr(hit, name) for name in fields}}


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

"""The passages that an answer may be made of: those close enough to the question, numbered and labeled for citation.

Nearness is on one scale, on which 0.30 is the default threshold. For a model whose cosines mean something it is the
cosine. A static table misses what only words tell, so there it is the cosine or 0.75
times the share of the question's words, rare ones weighing more, that the passage holds, whichever is more; without
vectors it is the latter alone. A floor that was calibrated for the corpus takes the threshold's place: it is compared
with the score that hits are ranked by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from shortlist.answer.extractive.signals import coverage, other_forms, read_question
from shortlist.index.text.analyzers import fold, words
from shortlist.index.text.chunking import windows
from shortlist.library.opening import CorpusState
from shortlist.results import Evidence, Hit
from shortlist.search.agent_actions import name_of
from shortlist.search.filters import Filter
from shortlist.search.retrieve import Found, merge, retrieve

K = 4
THRESHOLD = 0.30

# Two fifths of the question's words are as near as a cosine of 0.30.
WORDS_SCALE = 0.75

LONGEST_PASSAGE, OVERLAP = 4_000, 400  # characters that are shown of one, and that its windows share

LONGEST_NAME = 200
MOST_PASSAGES = 1_000  # of one document whose nearness is looked at

_BRACKETS = str.maketrans("[]<>", "()‹›")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ue000-\uf8ff]+")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Hits that cleared the gate, each with its nearness, or why none did."""

    hits: list[tuple[Hit, float]]
    reason: str


def gather(
    states: Sequence[CorpusState],
    question: str,
    k: int = K,
    threshold: float | None = None,
    filter: Filter | None = None,
    hint: str = "",
) -> Gathered:
    """The k best passages, less those that are not near enough; `hint` helps to find them, and is not asked for."""
    query = f"{question} {hint}".strip()
    found = retrieve(states, query, "auto", k, filter, whole=False)
    judged = [each for one in found for each in _judged(one, {question, query}, threshold)]
    best = {id(hit.passage): (hit, near, clears) for hit, near, clears in judged}
    kept = [best[id(hit.passage)] for hit in merge(found, query, "auto", k)]
    near = [(_in_view(hit, query), nearness) for hit, nearness, clears in kept if clears]
    if near:
        return Gathered(near, "")
    if not kept:
        return Gathered([], "Nothing was found.")
    hit, nearness, _ = max(kept, key=lambda one: one[1])
    return Gathered([], f"Nothing is near enough: the nearest is {name_of(hit)} with {nearness:.3f}.")


def nearness_in(states: Sequence[CorpusState], question: str, id: str) -> dict[str, float]:
    """How near the passages of one document are to the question, by locator."""
    found = retrieve(states, question, "auto", MOST_PASSAGES, {"id": id}, whole=False)
    return {hit.locator: nearness for one in found for hit, nearness, _ in _judged(one, {question}, None)}


def _judged(found: Found, asked: Set[str], threshold: float | None) -> Iterable[tuple[Hit, float, bool]]:
    """Each hit, how near it is, and whether that is near enough; `asked` is the question, alone and with the hint."""
    floor = found.state.config.floors.get("auto") if threshold is None else None
    least = THRESHOLD if threshold is None else threshold
    embedder = found.embedder
    by_words = embedder is None or getattr(embedder, "static", False)
    shared = _shared_words(found, asked) if by_words else [0.0] * len(found.hits)
    for hit, words_shared in zip(found.hits, shared, strict=True):
        nearness = max(hit.signals.get("dense", 0.0), words_shared)
        yield hit, nearness, (nearness >= least if floor is None else hit.score >= floor)


def _shared_words(found: Found, asked: Set[str]) -> list[float]:
    """How near each hit is by the words of what is asked that it holds."""
    lexical = found.state.lexical
    questions = [read_question(text, lexical.analyzer, lexical.frequency, lexical.live) for text in asked]
    shared = []
    for hit in found.hits:
        terms = frozenset(lexical.analyzer.terms(f"{hit.name} {hit.context} {hit.text}"))
        covered = [coverage(one, terms.union(other_forms(one, terms).values())) for one in questions]
        shared.append(WORDS_SCALE * max(covered))
    return shared


class Shown:
    """All that was shown, in the order in which it was; the same passage has one number however often it comes."""

    def __init__(self, on_evidence: Callable[[Evidence], None] | None = None) -> None:
        self._on_evidence = on_evidence
        self.items: list[Evidence] = []
        self._known: dict[tuple[str, str, str, str], Evidence] = {}
        self._labels: dict[str, str] = {}

    def add(
        self,
        source: str,
        locator: str,
        text: str,
        score: float,
        *,
        id: str = "",
        name: str = "",
        context: str = "",
        corpus: str = "",
    ) -> Evidence:
        key = (corpus, source, id, locator)
        if key not in self._known:
            number, place = len(self.items) + 1, plain(locator)
            if any((item.source, item.locator) == (source, place) for item in self.items):
                place = f"{place};part={number}"  # two documents of one source share a locator
            text = text[:LONGEST_PASSAGE]
            item = Evidence(number, self._label(source), source, place, text, score, id, name, context, corpus)
            self.items.append(item)
            self._known[key] = item
            if self._on_evidence:
                self._on_evidence(item)
        return self._known[key]

    def add_hits(self, hits: Iterable[tuple[Hit, float]]) -> list[Evidence]:
        return [self.add(**as_shown(hit, score)) for hit, score in hits]

    def _label(self, source: str) -> str:
        """The end of a path, as long as no other source has it."""
        if source not in self._labels:
            parts = re.split(r"[/\\]+", source) if not source.endswith(("/", "\\")) else [source]
            ends = ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
            taken = set(self._labels.values())
            options = [plain(end) for end in ends] + [f"{plain(source)}~{len(taken) + 1}"]
            self._labels[source] = next(option for option in options if option and option not in taken)
        return self._labels[source]


def as_shown(hit: Hit, score: float) -> dict[str, Any]:
    """What is shown of a hit: of a long text the part around the words that were asked for, with its place."""
    return {
        "source": name_of(hit),
        "locator": hit.locator,
        "text": hit.text,
        "score": score,
        "id": hit.id,
        "name": hit.name,
        "context": hit.context,
        "corpus": hit.corpus,
    }


def _in_view(hit: Hit, query: str) -> Hit:
    """The hit or, of one with a long text, the window that holds the most words of the query."""
    text = hit.text
    if len(text) <= LONGEST_PASSAGE:
        return hit
    asked = set(words(fold(query)))
    spans = windows(text, LONGEST_PASSAGE, OVERLAP)
    start, end = max(spans, key=lambda span: len(asked.intersection(words(fold(text[span[0] : span[1]])))))
    passage = replace(hit.passage, text=text[start:end], locator=f"{hit.locator};offset={start}")
    return replace(hit, passage=passage)


def plain(name: str) -> str:
    """A name with nothing in it that could end a citation, a line or a delimiter."""
    return _UNSEEN.sub(" ", name.translate(_BRACKETS)).strip()[:LONGEST_NAME]

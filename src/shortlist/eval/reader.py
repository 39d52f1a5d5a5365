"""Retrieval for many queries as `discover` does it, from one snapshot per corpus, with a cache of passages.

Single-threaded: a second thread was no faster on corpora of 150 to 75,000 documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from shortlist._limits import check_length
from shortlist._text import clean
from shortlist.display.progress import show_progress
from shortlist.documents import Passage
from shortlist.errors import InputError
from shortlist.eval.cases import Case
from shortlist.index.corpus import Corpus
from shortlist.index.engine import Allowed, State
from shortlist.library.opening import Searchable, open_corpora, open_states
from shortlist.protocols import ProgressOption, track
from shortlist.results import Hits, MinRelevance, Mode, Selection
from shortlist.retrieval.corpus_hits import CorpusHits, read_best, refuse_unknown, retrieve_from_state
from shortlist.retrieval.discover import choose, describe_threshold
from shortlist.retrieval.filters import Filter, allowed
from shortlist.retrieval.merging import check_comparable, merge
from shortlist.retrieval.options import SearchOptions, check_mode

if TYPE_CHECKING:
    from shortlist.documents import Document
    from shortlist.results import Positions

    Read = Callable[[Positions], list[Passage]]

MOST_CACHED = 50_000  # passages per corpus


class Retrieved(NamedTuple):
    """What the corpora have for one query."""

    query: str
    mode: Mode
    found: list[CorpusHits]

    def rank(self, k: int) -> Hits:
        return merge(self.found, self.query, self.mode, k)

    def rank_selectable(self, k: int) -> Hits:
        """The hits of the corpora that do not refuse the query, whatever the threshold."""
        return merge([one for one in self.found if not refuse_unknown(one)], self.query, self.mode, k)

    def choose(self, options: SearchOptions) -> Selection:
        """What `discover` would return."""
        return choose(self.found, self.query, options)


class Reader:
    """Corpora, each in one state, with the passages that were read so far."""

    def __init__(
        self,
        corpora: Sequence[Corpus],
        states: Sequence[tuple[State, Allowed | None]],
        mode: Mode,
        *,
        exact: bool = False,
    ) -> None:
        self.corpora = corpora
        self._states = states
        self._mode, self._exact = mode, exact
        self._passages = [_cache_passages(state.passages) for state, _ in states]
        self._ids = [_cache_passages(partial(_read_ids, state)) for state, _ in states]

    def retrieve(self, query: str, k: int, *, ids_only: bool = False) -> Retrieved:
        """What `discover` retrieves; with `ids_only`, the hits have no text."""
        several = len(self.corpora) > 1
        reads = self._ids if ids_only else self._passages
        retrieve = partial(retrieve_from_state, query=query, mode=self._mode, k=k, exact=self._exact)
        found = [
            retrieve(corpus, state, mask=mask, beside_others=several, read=read)
            for corpus, (state, mask), read in zip(self.corpora, self._states, reads, strict=True)
        ]
        return Retrieved(query, self._mode, read_best(found, k))

    def run(self, cases: Sequence[Case], k: int, progress: ProgressOption = None) -> Iterator[tuple[Case, Retrieved]]:
        """Each case with what is retrieved for it."""
        if not cases:
            raise InputError("There are no cases to evaluate.")
        for case in cases:
            if not isinstance(case, Case):
                raise InputError(f"A case must be an eval.Case, not {case!r}. Read a case file with eval.load_cases.")
            check_length(case.query)
        with show_progress(progress, "evaluating", "cases") as report:
            for case in track(cases, report):
                yield case, self.retrieve(case.query, k)

    def describe_thresholds(self, min_relevance: MinRelevance) -> str:
        """What a hit must reach: one text if it is the same for all corpora."""
        pairs = zip(self.corpora, self._states, strict=True)
        texts = {
            corpus.name: describe_threshold(corpus, state, self._mode, min_relevance) for corpus, (state, _) in pairs
        }
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return "; ".join(f"{name}: {text}" for name, text in texts.items())

    def get(self, id: str) -> list[Document | None]:
        """The document with an id, for each corpus."""
        return [state.get(clean(id)) for state, _ in self._states]

    def has_term(self, terms: Sequence[str]) -> bool:
        """Whether any of the terms occurs in a corpus."""
        return any(state.lexical.knows(terms) for state, _ in self._states)


def open_one(corpus: Searchable, task: str, *, needs_vectors: bool) -> Corpus:
    """The corpus, for a task that is defined for one corpus."""
    corpora = open_corpora(corpus, needs_vectors=needs_vectors)
    if len(corpora) != 1:
        raise InputError(f"{task} takes one corpus at a time, not {len(corpora)}. Call it for each.")
    return corpora[0]


@contextmanager
def open_reader(
    corpus: Searchable, mode: Mode, filter: Filter | None = None, *, exact: bool = False
) -> Iterator[Reader]:
    """A reader of what the corpora contain now."""
    check_mode(mode)
    corpora = open_corpora(corpus, needs_vectors=mode != "lexical")
    with open_states(corpora) as states:
        check_comparable(states, mode)
        yield Reader(corpora, [(state, allowed(state, filter)) for _, state in states], mode, exact=exact)


def _read_ids(state: State, positions: Positions) -> list[Passage]:
    return [Passage(id, id, "") for id in state.ids(positions)]


def _cache_passages(read: Read) -> Read:
    cache: dict[int, Passage] = {}

    def read_cached(positions: Positions) -> list[Passage]:
        if len(cache) > MOST_CACHED:
            cache.clear()
        places = positions.tolist()
        missing = positions[[place not in cache for place in places]]
        if len(missing):
            cache.update(zip(missing.tolist(), read(missing), strict=True))
        return [cache[place] for place in places]

    return read_cached

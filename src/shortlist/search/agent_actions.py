"""What may an agent do with a corpus, whichever door it comes through? Plain functions with answers ready for JSON."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shortlist.documents import Passage
from shortlist.errors import CorpusNotFound, InputError
from shortlist.index.corpus import Corpus
from shortlist.index.text.analyzers import fold
from shortlist.library.opening import Searchable, resolve
from shortlist.results import Hit, Mode
from shortlist.search.disclose import disclose, pointed_at
from shortlist.search.discover import NEAR_MISSES, discover
from shortlist.search.filters import Filter, allowed
from shortlist.search.retrieve import search_passages

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State

MOST_SOURCES = 500
MOST_MATCHES = 20
MOST_NEIGHBORS = 3
LONGEST_PATTERN = 500
MOST_SECONDS = 2.0  # of looking through texts one by one
SNIPPET = 2_000  # characters of a passage that are shown around what was looked for
GLANCE = 500  # characters of one that is among a few
LONGEST_READ = 20_000  # characters of a document at once

_MEASURED_EVERY = 256  # passages


def list_sources(corpus: Searchable, limit: int = MOST_SOURCES, filter: Filter | None = None) -> dict[str, Any]:
    """The sources of the documents, sorted; a document without one stands for itself."""
    names = _sources(resolve(corpus, needs_vectors=False), filter)
    return {"sources": sorted(names)[:limit], "total": len(names)}


def find(corpus: Searchable, query: str, limit: int = 3, filter: Filter | None = None) -> dict[str, Any]:
    """The few things that fit a need, with the reason, or none of them and what came nearest.

    Nothing fits where the best is below the floor of its corpus, the calibrated one or the one that is shipped.
    """
    found = discover(corpus, query, k=max(10, limit), filter=filter, min_score="auto", max_k=limit)
    chosen = {(item.corpus, item.id) for item in found.results}
    hits = [hit for hit in found.candidates if (hit.corpus, hit.id) in chosen]
    others = [hit for hit in found.candidates if (hit.corpus, hit.id) not in chosen]
    return {
        "query": query,
        "abstained": found.abstained,
        "reason": found.reason,
        "results": [_glance(hit) | {"locator": hit.locator, "text": hit.text[:GLANCE]} for hit in hits],
        "near": [_glance(hit) for hit in others[:NEAR_MISSES]],
    }


def read(corpus: Searchable, id: str, locator: str | None = None, offset: int = 0) -> dict[str, Any]:
    """A document as it is now, of a long one a part, with where to read on; or a passage of it and its neighbours."""
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise InputError(f"offset is the character to read from, 0 or more, not {offset!r}.")
    corpora = resolve(corpus, needs_vectors=False)
    holding = [one for one in corpora if isinstance(id, str) and id in one]
    if not holding:
        raise CorpusNotFound(f"There is no item {str(id)[:200]!r}: take the id and the corpus from what was found.")
    if len(holding) > 1:
        names = ", ".join(one.name for one in holding)
        raise InputError(f"{id!r} is in several corpora: {names}. Say which with 'corpus'.")
    hit = pointed_at(holding[0], id)
    shown: dict[str, Any] = {"id": id, "corpus": hit.corpus, "kind": hit.kind, "name": hit.name, "source": hit.source}
    if locator:
        near = get_neighbors(holding[0], name_of(hit), locator)["passages"]
        return shown | {"locator": locator, "text": "\n\n".join(passage["text"] for passage in near)}
    (item,) = disclose(hit, "bundled", roots=())
    body = item.body or ""
    end = offset + LONGEST_READ
    more = {"next_offset": end} if end < len(body) else {}
    notes = {key: value for key, value in (("files", list(item.files)), ("note", item.note)) if value}
    return shown | {"locator": item.locator, "text": body[offset:end]} | more | notes


def retrieve(
    corpus: Searchable,
    query: str,
    source: str | None = None,
    k: int = 4,
    mode: Mode = "auto",
    filter: Filter | None = None,
) -> dict[str, Any]:
    """The passages that fit a query best, in all sources or in one."""
    corpora = resolve(corpus, needs_vectors=mode != "lexical")
    hits = search_passages(corpora, query, mode, k, only(source, filter, corpora))
    return {"query": query, "passages": [_of_hit(hit) for hit in hits]}


def keyword_search(
    corpus: Searchable,
    pattern: str,
    source: str | None = None,
    limit: int = MOST_MATCHES,
    filter: Filter | None = None,
) -> dict[str, Any]:
    """The passages that contain a substring, ignoring case, in the order of the corpus.

    Every character of `pattern` is literal. `complete` is false if there may be more matches beyond the limits.
    """
    if not isinstance(pattern, str) or not pattern.strip():
        raise InputError("keyword_search needs a text to look for.")
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(f"A pattern has at most {LONGEST_PATTERN} characters.")
    wanted_text = fold(pattern)
    corpora = resolve(corpus, needs_vectors=False)
    wanted = None if source is None else _resolved(corpora, source, filter)
    ends = time.monotonic() + MOST_SECONDS
    found: list[dict[str, Any]] = []
    for one in corpora:
        with one.snapshot() as snapshot:
            for count, passage in enumerate(snapshot.walk(_permitted(snapshot, filter)), 1):
                if wanted in (None, name_of(passage)):
                    at = fold(passage.text).find(wanted_text)
                    if at >= 0:
                        found.append(_of_passage(passage, one.name, at) | {"score": 1.0})
                if len(found) >= limit or (count % _MEASURED_EVERY == 0 and time.monotonic() > ends):
                    return {"pattern": pattern, "passages": found, "complete": False}
    return {"pattern": pattern, "passages": found, "complete": True}


def get_neighbors(
    corpus: Searchable, source: str, locator: str, before: int = 1, after: int = 1, filter: Filter | None = None
) -> dict[str, Any]:
    """A passage with those just before and after it, at most three each way, within its page, row or file."""
    for name, count in (("before", before), ("after", after)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InputError(f"{name} is how many passages to show, 0 to {MOST_NEIGHBORS}, not {count!r}.")
    corpora = resolve(corpus, needs_vectors=False)
    wanted = _resolved(corpora, source, filter)
    for one in corpora:
        with one.snapshot() as snapshot:
            near = snapshot.neighbors(wanted, locator, min(before, MOST_NEIGHBORS), min(after, MOST_NEIGHBORS))
            permitted = _permitted(snapshot, filter)
            if near and (permitted is None or snapshot.permits(near[0].document_id, permitted)):
                passages = [_of_passage(passage, one.name) for passage in near]
                return {"source": wanted, "locator": locator, "passages": passages}
    raise CorpusNotFound(f"There is no passage {locator!r} in {wanted!r}: see the locators of what was found.")


def only(source: str | None, condition: Filter | None, corpora: Sequence[Corpus]) -> Filter | None:
    """A filter for one source beside another condition."""
    if source is None:
        return condition
    name = _resolved(corpora, source, condition)
    chosen: Mapping[str, Any] = {"$or": [{"source": name}, {"$and": [{"source": ""}, {"id": name}]}]}
    return chosen if condition is None else {"$and": [chosen, condition]}


def _sources(corpora: Sequence[Corpus], condition: Filter | None) -> set[str]:
    """Where the documents that meet a condition come from."""
    names: set[str] = set()
    for one in corpora:
        with one.snapshot() as snapshot:
            names |= snapshot.sources(_permitted(snapshot, condition))
    return names


def _permitted(snapshot: State, condition: Filter | None) -> Allowed | None:
    return None if condition is None else allowed(snapshot, condition)


def _resolved(corpora: Sequence[Corpus], source: str, condition: Filter | None) -> str:
    """The full name of a source that may be given by the end of its path."""
    names = _sources(corpora, condition)
    if source in names:
        return source
    end = str(source).replace("\\", "/").strip("/")
    matching = sorted(name for name in names if end and f"/{name}".replace("\\", "/").endswith(f"/{end}"))
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise CorpusNotFound(f"{source!r} may be any of {', '.join(matching[:5])}: say which.")
    raise CorpusNotFound(f"There is no source {source!r}: list_sources lists them.")


def name_of(passage: Passage | Hit) -> str:
    """Where a passage comes from: its source or, for a text that has none, its id."""
    return passage.source or (passage.id if isinstance(passage, Hit) else passage.document_id)


def _glance(hit: Hit) -> dict[str, Any]:
    """What tells a hit from others, and what it takes to read it."""
    shown = {"id": hit.id, "corpus": hit.corpus, "kind": hit.kind, "name": hit.name, "score": round(hit.score, 4)}
    return shown if hit.relevance is None else shown | {"relevance": round(hit.relevance, 3)}


def _of_hit(hit: Hit) -> dict[str, Any]:
    return _of_passage(hit.passage, hit.corpus) | {"score": hit.score}


def _of_passage(passage: Passage, corpus: str, around: int = 0) -> dict[str, Any]:
    start = max(0, min(around - SNIPPET // 2, len(passage.text) - SNIPPET))
    return {
        "source": name_of(passage),
        "locator": passage.locator,
        "text": passage.text[start : start + SNIPPET],
        "id": passage.document_id,
        "name": passage.name,
        "context": passage.context,
        "corpus": corpus,
    }

"""Actions of an agent on a corpus: functions that return plain data, each reading one state."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from shortlist._text import clean
from shortlist.documents import Passage
from shortlist.errors import CorpusNotFound, InputError
from shortlist.index.text.word_parts import fold
from shortlist.library.opening import CorpusState, Searchable, open_corpora, open_states
from shortlist.results import Disclosure, Discovery, Hit
from shortlist.retrieval.disclose import as_hit, disclose
from shortlist.retrieval.discover import NEAR_MISSES, discover
from shortlist.retrieval.filters import Filter, allowed
from shortlist.safety.principals import show_source

MOST_SOURCES = 500
MOST_MATCHES = 20
MOST_NEIGHBORS = 3
LONGEST_PATTERN = 500
MOST_SECONDS = 2.0  # for a scan over all texts
SNIPPET = 2_000  # characters of a passage around a match
GLANCE = 500  # characters of a result
MOST_NEEDS = 20  # required arguments of a result
LONGEST_NEED = 100  # characters of one
LONGEST_READ = 20_000  # characters of a document per call

_MEASURED_EVERY = 256  # passages


def list_sources(corpus: Searchable, limit: int = MOST_SOURCES, filter: Filter | None = None) -> dict[str, Any]:
    """The sources of the documents, sorted; a document without a source counts as its own."""
    with _open(corpus) as states:
        names = _sources(states, filter)
    return {"sources": sorted(names)[:limit], "total": len(names)}


def find(corpus: Searchable, query: str, limit: int | None = None, filter: Filter | None = None) -> dict[str, Any]:
    """Discover: the results that reach the threshold, best first, or none, and the closest other matches."""
    found = discover(corpus, query, filter=filter, max_k=limit)
    chosen = {(item.corpus, item.id): item for item in found.results}
    threshold = found.signals.get("min_relevance") or 0.0
    results, near = [], []
    for hit in found.candidates:
        item = chosen.get((hit.corpus, hit.id))
        if item and (hit.relevance is None or hit.relevance >= threshold):
            needs = {"needs": [name[:LONGEST_NEED] for name in item.needs[:MOST_NEEDS]]} if item.needs else {}
            shown = _glance(hit) | needs | {"locator": hit.locator, "text": hit.text[:GLANCE]}
            results.append(shown | origin_of(item))
        else:
            near.append(_glance(hit) | {"text": hit.text[:GLANCE]})
    most_near = max(NEAR_MISSES, len(chosen) - len(results))
    about = {"abstained": found.abstained, "reason": found.reason} | describe_doubt(found)
    return about | {"results": results, "near": near[:most_near]}


def describe_doubt(found: Discovery) -> dict[str, str]:
    """The confidence of a discovery and, if it is low, the reason with what an agent can do about it."""
    if found.confidence == "high":
        return {"confidence": "high"}
    action = (
        "Search again in other words, or ask the user" if found.abstained else "Check that it fits, or ask the user"
    )
    return {"confidence": "low", "confidence_reason": f"{found.confidence_reason} {action}."}


def origin_of(item: Disclosure) -> dict[str, str]:
    """Origin and warning of a skill that is not approved; nothing for everything else."""
    return {key: value for key in ("origin", "warning") if (value := getattr(item, key))}


def read(corpus: Searchable, id: str, locator: str | None = None, offset: int = 0) -> dict[str, Any]:
    """A document (a long one in parts, with the next offset), or one of its passages with its neighbors."""
    with _open(corpus) as states:
        stored = [(one, isinstance(id, str) and one.state.get(clean(id))) for one in states]
        hits = [(one, as_hit(document, one.corpus)) for one, document in stored if document]
        if not hits:
            raise CorpusNotFound(f"No item {str(id)[:200]!r}. Use an id and corpus from a search result.")
        if len(hits) > 1:
            names = ", ".join(hit.corpus for _, hit in hits)
            raise InputError(f"{id!r} is in several corpora: {names}. Pass 'corpus' to choose one.")
        holder, hit = hits[0]
        shown: dict[str, Any] = {"id": id, **{key: getattr(hit, key) for key in ("corpus", "kind", "name", "source")}}
        if locator:
            near = _read_around([holder], name_of(hit), locator, 1, 1, None)
            (about,) = disclose(hit)
            text = "\n\n".join(passage["text"] for passage in near)
            return shown | {"locator": locator, "text": text} | origin_of(about)
    (item,) = disclose(hit, "bundled", roots=())
    notes = {key: value for key, value in (("files", list(item.files)), ("note", item.note)) if value}
    return shown | {"locator": item.locator} | part_of(item.body or "", offset) | notes | origin_of(item)


def part_of(text: str, offset: int = 0) -> dict[str, Any]:
    """A text from an offset, and the next offset if there is more of it."""
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise InputError(f"offset must be an integer of 0 or more, not {offset!r}.")
    end = offset + LONGEST_READ
    return {"text": text[offset:end]} | ({"next_offset": end} if end < len(text) else {})


def keyword_search(
    corpus: Searchable, pattern: str, source: str | None = None, limit: int = MOST_MATCHES, filter: Filter | None = None
) -> dict[str, Any]:
    """Find the passages that contain a substring, ignoring case, in corpus order.

    Every character of `pattern` is literal. `complete` is false if there may be more matches beyond the limits.
    """
    if not isinstance(pattern, str) or not pattern.strip():
        raise InputError("keyword_search needs a non-empty pattern.")
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(f"The pattern is too long; the limit is {LONGEST_PATTERN} characters.")
    wanted_text = fold(pattern)
    ends = time.monotonic() + MOST_SECONDS
    found: list[dict[str, Any]] = []
    with _open(corpus) as states:
        wanted = None if source is None else _full_name(states, source, filter)
        for one, state in states:
            for count, passage in enumerate(state.walk(allowed(state, filter)), 1):
                if wanted in (None, name_of(passage)):
                    at = fold(passage.text).find(wanted_text)
                    if at >= 0:
                        found.append(_of_passage(passage, one.name, at))
                if len(found) >= limit or (count % _MEASURED_EVERY == 0 and time.monotonic() > ends):
                    return {"pattern": pattern, "passages": found, "complete": False}
    return {"pattern": pattern, "passages": found, "complete": True}


def get_neighbors(
    states: Sequence[CorpusState],
    source: str,
    locator: str,
    before: int = 1,
    after: int = 1,
    filter: Filter | None = None,
) -> dict[str, Any]:
    """Up to three passages before and after one, within its page, row or file."""
    near = _read_around(states, source, locator, before, after, filter)
    return {
        "source": near[0]["source"],
        "locator": locator,
        "passages": [passage for passage in near if passage["locator"] != locator],
    }


def _read_around(
    states: Sequence[CorpusState], source: str, locator: str, before: int, after: int, filter: Filter | None
) -> list[dict[str, Any]]:
    """A passage and its neighbors; with the locator of a page, row or file, its first passages."""
    for name, count in (("before", before), ("after", after)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InputError(f"{name} must be an integer from 0 to {MOST_NEIGHBORS}, not {count!r}.")
    wanted = _full_name(states, source, filter)
    for one, state in states:
        near = state.neighbors(wanted, locator, min(before, MOST_NEIGHBORS), min(after, MOST_NEIGHBORS))
        permitted = allowed(state, filter)
        if near and (permitted is None or state.permits(near[0].document_id, permitted)):
            return [_of_passage(passage, one.name) for passage in near]
    raise CorpusNotFound(f"No passage {locator!r} in {wanted!r}. Use a locator from a search result.")


def only(source: str | None, condition: Filter | None, states: Sequence[CorpusState]) -> Filter | None:
    """Combine a condition with a filter for one source."""
    if source is None:
        return condition
    name = _full_name(states, source, condition)
    chosen: Mapping[str, Any] = {"$or": [{"source": name}, {"$and": [{"source": ""}, {"id": name}]}]}
    return chosen if condition is None else {"$and": [chosen, condition]}


def _open(corpus: Searchable) -> AbstractContextManager[list[CorpusState]]:
    return open_states(open_corpora(corpus, needs_vectors=False))


def _sources(states: Sequence[CorpusState], condition: Filter | None) -> set[str]:
    """The sources of the documents that meet a condition."""
    return {name for _, state in states for name in state.sources(allowed(state, condition))}


def _full_name(states: Sequence[CorpusState], source: str, condition: Filter | None) -> str:
    """Resolve a source that is given by the end of its path."""
    names = _sources(states, condition)
    if source in names:
        return source
    end = str(source).replace("\\", "/").strip("/")
    matching = sorted(name for name in names if end and f"/{name}".replace("\\", "/").endswith(f"/{end}"))
    if len(matching) == 1:
        return matching[0]
    if matching:
        shown = ", ".join(map(show_source, matching[:5]))
        raise CorpusNotFound(f"{source!r} is ambiguous: {shown}. Use the full name.")
    raise CorpusNotFound(f"No source {source!r}. Call list_sources to see all.")


def name_of(item: Passage | Hit) -> str:
    """The source of a passage or, without one, its id."""
    return item.source or (item.id if isinstance(item, Hit) else item.document_id)


def _glance(hit: Hit) -> dict[str, Any]:
    """What identifies a hit, and how well it matches."""
    matching = {} if hit.relevance is None else {"relevance": round(hit.relevance, 2)}
    return {"id": hit.id, "corpus": hit.corpus, "kind": hit.kind, "name": hit.name} | matching


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

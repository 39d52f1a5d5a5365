"""Which documents fit this query? One hit per document, its best passage, best first."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np

from shortlist.errors import InputError
from shortlist.index.lexical import top
from shortlist.search.corpora import Searchable, resolve
from shortlist.search.filter import Filter, allowed
from shortlist.search.fuse import blend, reciprocal_rank
from shortlist.types import Hit, Hits, Mode

if TYPE_CHECKING:
    from shortlist.index.snapshot import Snapshot
    from shortlist.types import Floats, Mask, Positions

# How deep each ranking goes into a fusion; a rank beyond adds less than a thousandth.
FUSED_DEPTH = 1000

_DIGITS = re.compile(r"(\d+)")


def search(corpus: Searchable, query: str, mode: Mode = "auto", k: int = 10, filter: Filter | None = None) -> Hits:
    """The k documents that fit the query best.

    `corpus` is a Corpus, the name of one, or just a list or mapping of texts or Documents. `mode`: "lexical" is BM25,
    "dense" exact cosine, "hybrid" their reciprocal rank fusion, "auto" what measured best for what the corpus has.
    """
    if mode not in get_args(Mode):
        raise InputError(f"There is no mode {mode!r}; the known ones are {', '.join(get_args(Mode))}.")
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise InputError(f"k is how many hits are wanted, 0 or more, not {k!r}.")
    if not isinstance(query, str):
        raise InputError(f"A query is a string, not {type(query).__name__}.")
    found = resolve(corpus, needs_vectors=mode != "lexical")
    with found.snapshot() as snapshot:
        mask = None if filter is None else allowed(snapshot, filter)
        parts, scores = _score(snapshot, query, mode, mask)
        named = snapshot.lexical.named(query)
        positions = _best(snapshot, scores, k, named if mask is None else named[mask[named]])
        passages = snapshot.passages(positions)
    hits = [
        Hit(
            passage,
            float(scores[position]) if scores[position] > -np.inf else 0.0,
            {name: float(part[position]) for name, part in parts.items() if part[position] > -np.inf},
            partial(found.get, passage.document_id),
        )
        for position, passage in zip(positions.tolist(), passages, strict=True)
    ]
    return Hits(hits, query=query, mode=mode)


def _score(snapshot: Snapshot, query: str, mode: Mode, mask: Mask | None) -> tuple[dict[str, Floats], Floats]:
    """The score of every position, and the parts that it was made of."""
    if mode == "auto" and not snapshot.has_vectors:
        mode = "lexical"
    terms = snapshot.lexical.analyzer.terms(query)
    parts: dict[str, Floats] = {}
    if mode != "dense":
        scores = snapshot.lexical.scores(terms, mask)
        parts["lexical"] = np.where(scores > 0, scores, -np.inf)
    if mode != "lexical":
        parts["dense"] = snapshot.dense.scores(query, mask)
    if mode == "hybrid":
        return parts, _fused(snapshot, parts)
    if mode == "auto":
        return parts, blend(parts["lexical"], parts["dense"], snapshot.lexical.ideal(terms))
    return parts, parts[mode]


def _fused(snapshot: Snapshot, parts: dict[str, Floats]) -> Floats:
    """Reciprocal ranks of documents, each standing at the passage that words chose or, without any, meaning."""
    scores = np.full(snapshot.size, -np.inf)
    best = {name: _best_passages(snapshot, part, FUSED_DEPTH) for name, part in parts.items()}
    place: dict[int, int] = {}
    for positions in reversed(best.values()):
        place |= zip(snapshot.documents(positions).tolist(), positions.tolist(), strict=True)
    rankings = []
    for name, positions in best.items():
        found = dict(zip(snapshot.documents(positions).tolist(), parts[name][positions].tolist(), strict=True))
        rankings.append(np.array([found.get(document, -np.inf) for document in place]))
    if place:
        scores[list(place.values())] = reciprocal_rank(rankings)
    return scores


def _best_passages(snapshot: Snapshot, scores: Floats, k: int) -> Positions:
    """The best position of each of the k best documents, and of all that tie with the last, best first."""
    wanted = k
    while True:
        positions = top(scores, wanted)
        _, first = np.unique(snapshot.documents(positions), return_index=True)
        if len(first) >= k or len(positions) < wanted:
            return positions[np.sort(first)]
        wanted *= 4


def _best(snapshot: Snapshot, scores: Floats, k: int, named: Positions) -> Positions:
    """The positions of the k hits, by score, then by id; documents that the query names are always among them."""
    if k == 0:
        return np.zeros(0, np.int64)
    best = _ordered(snapshot, scores, _best_passages(snapshot, scores, k))[:k]
    missing = named[~np.isin(snapshot.documents(named), snapshot.documents(best))]
    if not len(missing):
        return best
    missing = np.array([_best_of_document(snapshot, scores, position) for position in missing.tolist()])
    is_named = np.isin(snapshot.documents(best), snapshot.documents(named))
    wanted = _ordered(snapshot, scores, np.concatenate([best[is_named], missing]))[:k]
    return _ordered(snapshot, scores, np.concatenate([wanted, best[~is_named][: k - len(wanted)]]))


def _best_of_document(snapshot: Snapshot, scores: Floats, position: int) -> int:
    """The position of the best passage in the document that begins at a position."""
    documents = snapshot.view.documents
    end = position + 1
    while end < len(documents) and documents[end] == documents[position]:
        end += 1
    return position + int(np.argmax(scores[position:end]))


def _ordered(snapshot: Snapshot, scores: Floats, positions: Positions) -> Positions:
    """By score, best first, and by id where scores are equal."""
    values = scores[positions]
    if len(np.unique(values)) == len(values):
        return positions[np.argsort(-values)]
    ids = snapshot.ids(positions)
    order = sorted(range(len(ids)), key=lambda at: (-scores[positions[at]], _natural(ids[at])))
    return positions[order]


def _natural(id: str) -> tuple[list[tuple[int, str]], str]:
    """An id as a sort key in which item 9 comes before item 10."""
    parts = [part.lstrip("0") if part.isdecimal() else part for part in _DIGITS.split(id)]
    return [(len(part) if part.isdecimal() else -1, part) for part in parts], id

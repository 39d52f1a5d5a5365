"""The words of hits that a query matches, for a client that highlights them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache

from shortlist.index.text.analyzers import Analyzer
from shortlist.index.text.word_parts import LONG_WORD, subwords

MOST_PIECES = 1 << 15  # that are remembered


@lru_cache(maxsize=8)
def find_matcher(analyzer: Analyzer) -> WordMatcher:
    """The matcher for the words of an analyzer; there is one per process, so that it knows most of them."""
    return WordMatcher(analyzer)


class WordMatcher:
    """Remembers which pieces of text, which are what is between spaces, have a term. No word has a space."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        # The known pieces, and those of them that have a term. Threads may replace them, so they are one attribute.
        self._memory: tuple[set[str], dict[str, set[str]]] = (set(), {})

    def match(self, terms: Set[str], texts: Sequence[str]) -> list[list[str]]:
        """The words of each text, as written, that have one of the terms; of an identifier only these parts."""
        pieces = [set(text.split()) for text in texts]
        known, by_term = self._memory
        if len(known) > MOST_PIECES:
            known, by_term = self._memory = (set(), {})
        matching: set[str] = set()
        for piece in set().union(*pieces) - known:
            found = {term for word in self._analyzer.words(piece) for term in self._analyzer.terms_of(word)}
            if len(piece) <= LONG_WORD:
                for term in found:
                    by_term.setdefault(term, set()).add(piece)
                known.add(piece)
            elif not terms.isdisjoint(found):
                matching.add(piece)
        matching.update(*(by_term.get(term, ()) for term in terms))
        parts: dict[str, list[str]] = {}
        return [
            sorted({part for piece in own & matching for part in self._match_parts(terms, piece, parts)})
            for own in pieces
        ]

    def _match_parts(self, terms: Set[str], piece: str, parts: dict[str, list[str]]) -> list[str]:
        """The parts of the words of a piece that have one of the terms. `parts` are those that are known."""
        if piece not in parts:
            has_none, terms_of = terms.isdisjoint, self._analyzer.terms_of
            words = (word for word in self._analyzer.words(piece) if not has_none(terms_of(word)))
            parts[piece] = [part for word in words for part in subwords(word) if not has_none(terms_of(part))]
        return parts[piece]

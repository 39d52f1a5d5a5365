"""The few texts that fit a question: what the integrations for retrievers share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.library.opening import Searchable, open_corpora
from shortlist.results import Disclosure, Hit
from shortlist.search.discover import discover, find

K = 10


@dataclass(frozen=True, slots=True)
class Text:
    """A document or a passage that was chosen. The metadata tell where it stands, beside what its source says of it."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


class Texts:
    """The few texts that fit: whole documents or, with `passages`, the passages of them. Options as for `discover`.

    Of a tool the whole is its schema, of a skill its instructions. Where nothing fits there are none.
    """

    def __init__(self, corpus: Searchable, *, passages: bool = False, **options: Any) -> None:
        named = isinstance(corpus, str | Path)  # a name may mean a new corpus later
        self._corpus = corpus if named else open_corpora(corpus, needs_vectors=options.get("mode") != "lexical")
        self._passages = passages
        self._options = {"min_score": "auto", **options}

    def find(self, query: str) -> list[Text]:
        if self._passages:
            return self._find_passages(query, **self._options)
        found = discover(self._corpus, query, **{"level": "body", **self._options})
        return [Text(item.id, item.body or "", item.score, _metadata(item)) for item in found.results]

    def _find_passages(
        self,
        query: str,
        mode: Any = "auto",
        k: int = K,
        filter: Any = None,
        strategy: Any = "conservative",
        **rest: Any,
    ) -> list[Text]:
        chosen, _ = find(self._corpus, query, mode, k, filter, strategy, whole=False, **rest)
        return [Text(f"{hit.id}#{hit.locator}", hit.text, hit.score, _metadata(hit)) for hit in chosen.selected]


def _metadata(item: Disclosure | Hit) -> dict[str, Any]:
    shown = ("id", "name", "kind", "source", "locator", "corpus", "score")
    return {**item.metadata, **{key: getattr(item, key) for key in shown}}

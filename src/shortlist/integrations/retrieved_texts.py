"""The few texts that match a question, shared by the integrations for retrievers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from shortlist._limits import run_in_thread
from shortlist.library.opening import Searchable, open_corpora
from shortlist.results import Disclosure, Hit, Level, Loader
from shortlist.retrieval.discover import discover, find
from shortlist.retrieval.options import SearchKeywords, SearchOptions

SHOWN = ("id", "name", "kind", "source", "locator", "corpus", "score")


@dataclass(frozen=True, slots=True)
class Text:
    """A selected document or passage. Its metadata are those of the document, and where it was found."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


class Texts:
    """Finds the few texts that match: whole documents or, with `passages`, their passages. Options as for `discover`.

    The text of a tool is its schema, that of a skill its instructions. Without a match there are none.
    """

    def __init__(
        self,
        corpus: Searchable,
        *,
        passages: bool = False,
        exact: bool = False,
        level: Level = "body",
        loader: Loader | None = None,
        roots: Sequence[str | Path] | None = None,
        **options: Unpack[SearchKeywords],
    ) -> None:
        self._options = SearchOptions(level=level, exact=exact, **options)
        is_name = isinstance(corpus, str | Path)  # which may mean a new corpus later
        self._corpus = corpus if is_name else open_corpora(corpus, needs_vectors=self._options.mode != "lexical")
        self._passages, self._loader, self._roots = passages, loader, roots

    def find(self, query: str) -> list[Text]:
        if not self._passages:
            found = discover(self._corpus, query, loader=self._loader, roots=self._roots, options=self._options)
            return [Text(item.id, item.body or "", item.score, _metadata(item)) for item in found.results]
        selection, _ = find(self._corpus, query, self._options, whole=False)
        return [Text(f"{hit.id}#{hit.locator}", hit.text, hit.score, _metadata(hit)) for hit in selection.selected]

    async def afind(self, query: str) -> list[Text]:
        """As `find`, without blocking the event loop."""
        return await run_in_thread(lambda: self.find(query))


def _metadata(item: Disclosure | Hit) -> dict[str, Any]:
    return {**item.metadata, **{key: getattr(item, key) for key in SHOWN}}

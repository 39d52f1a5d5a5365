"""Answerable and unanswerable questions of the data sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench import beir
from shortlist import Document, Hits, search
from shortlist.index.corpus import Corpus
from shortlist.results import Mode

MOST_QUERIES = 1500


@dataclass(frozen=True)
class Question:
    """`gold` is empty where nothing fits; `among` the only documents that were offered with it, if not all are."""

    text: str
    gold: frozenset[str]
    among: tuple[str, ...] = ()

    def ask(self, corpus: Corpus, mode: Mode, k: int) -> Hits:
        return search(corpus, self.text, mode, k, {"id": {"$in": list(self.among)}} if self.among else None)


@dataclass(frozen=True)
class Scope:
    name: str
    documents: list[Document]
    questions: list[Question]

    @property
    def has_both(self) -> bool:
        return any(not question.gold for question in self.questions)

    @property
    def family(self) -> str:
        """Sets that share tools or questions are left out of a fit together."""
        return self.name.split("_")[0]


def scopes(sets: Sequence[beir.Set]) -> Iterator[Scope]:
    """Each set with its questions; with the documents' examples too, where it has some."""
    for one in sets:
        offered = any("candidates" in about for about in one.about.values())
        asked = list(one.about) if offered else one.asked(MOST_QUERIES)
        outside = [
            id for id, about in one.about.items() if about.get("answerable") is False and id not in one.relevance
        ]
        questions = [
            Question(one.queries[id], frozenset(one.relevance.get(id, ())), tuple(one.about[id].get("candidates", ())))
            for id in dict.fromkeys([*asked, *outside])
        ]
        yield Scope(f"{one.name}_offered" if offered else one.name, one.documents, questions)
        if any("train_examples" in document.metadata for document in one.documents):
            taught = [_with_examples(document) for document in one.documents]
            yield Scope(f"{one.name}_examples", taught, questions)


def _with_examples(document: Document) -> Document:
    examples: Any = document.metadata.get("train_examples", ())
    return replace(document, content="\n".join([document.content, *examples]))

"""Streams of use: the queries of a set, divided into those that are followed by a call and unseen ones."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

from bench import beir
from bench.scope import Question
from shortlist.index.storage.usage_log import normalize

SETS = ("clinc150", "metatool", "bfcl", "toolbench")
USES = (0, 1, 3, 10, 30)  # of each tool that is used
NEVER_USED = 0.2  # of the tools
MOST_ASKED = 1500


@dataclass(frozen=True)
class Stream:
    """Queries that lead to the tools that are used, queries that lead nowhere, and unseen queries to measure with."""

    uses: dict[str, list[str]]  # by the id of the tool, as many as are needed
    nowhere: list[str]
    asked: list[Question]
    never_used: frozenset[str]

    @property
    def texts_of_stream(self) -> list[str]:
        return list(dict.fromkeys([*(text for texts in self.uses.values() for text in texts), *self.nowhere]))

    @property
    def texts(self) -> list[str]:
        return list(dict.fromkeys([*self.texts_of_stream, *(question.text for question in self.asked)]))


def divide(one: beir.Set) -> Stream:
    """Divide the queries of a set. Where it has examples or dev queries, these are used, else half of its queries."""
    random_ = random.Random(0)
    ids = sorted(document.id for document in one.documents)
    never_used = frozenset(random_.sample(ids, int(NEVER_USED * len(ids))))
    spare = [
        (text, {document.id}) for document in one.documents for text in document.metadata.get("train_examples", ())
    ]
    spare += [(one.queries[id], set(gold)) for id, gold in one.dev.items()]
    judged = list(one.relevance)
    random_.shuffle(judged)
    if not spare:
        half = len(judged) // 2
        judged, used = judged[:half], judged[half:]
        spare = [(one.queries[id], set(one.relevance[id])) for id in used]
    random_.shuffle(spare)
    uses: dict[str, list[str]] = defaultdict(list)
    for text, gold in spare:
        for id in gold - never_used:
            if len(uses[id]) < USES[-1]:
                uses[id].append(text)
    unserved = [id for id, about in one.about.items() if about.get("answerable") is False and id not in one.relevance]
    random_.shuffle(unserved)
    nowhere = [id for id in unserved if one.about[id].get("split") == "val"] or unserved[: len(unserved) // 2]
    asked = [
        Question(one.queries[id], frozenset(one.relevance.get(id, ())), tuple(one.about[id].get("candidates", ())))
        for id in [*judged[:MOST_ASKED], *(id for id in unserved if id not in nowhere)]
    ]
    stored = {id: [text for text in texts if normalize(text) == text] for id, texts in uses.items()}  # as the log does
    return Stream(stored, [one.queries[id] for id in nowhere], asked, never_used)

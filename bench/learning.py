"""How search gets better with use: a stream of queries, each followed by the call of a tool; then unseen queries.

Takes folders in BEIR layout. A share of the calls is wrong (one of the first five instead) or missing, half of each. A
fifth of the tools is never used. Figures are those of unseen queries, for tools that were used and for those that never
were: a right tool first, nDCG@10; and for all of them the AUROC of relevance against queries that nothing serves, and
at the threshold the share of queries that are lost and of those that are wrongly answered. "skewed" is a
stream in which a tenth of the tools has 30 uses and the others have one: what is shown as used are the others. With
`--folds=OUT`, a folder of `python -m training folds`, also with models trained without the set. For clinc150, also the
time of a search with 10,000 queries in the log.
"""

from __future__ import annotations

import math
import random
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import shortlist
from bench import beir, report
from bench.folds import Kept, split_arguments
from bench.streams import USES, Stream, divide
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.retrieval.learning.learned import find_learned, find_threshold
from training import measure

NOISE = (0.0, 0.1, 0.3)  # share of wrong and missing calls
TIMED, LOGGED = "clinc150", 10_000  # the set for which searches are timed, and the queries in the log
POPULAR = 0.1  # of the tools that are used, in the skewed stream
COLUMNS = ("first", "ndcg", "never first", "never ndcg", "auroc", "lost", "answered", "threshold")


def run(arguments: list[Path]) -> None:
    folders, folds = split_arguments(arguments)
    if not folders:
        print("learning: give one or more folders in BEIR layout, such as clinc150")
        return
    print(f"{'':52}" + "".join(f"{name:>12}" for name in COLUMNS))
    for folder in folders:
        figures: dict[str, Any] = {}
        one = beir.load(folder)
        parts = divide(one)
        embedders: dict[str, EmbedderSpec] = {"none": "none", "default": "default"}
        if folds and isinstance(fold := folds.embedder(one.name), Kept):
            embedders["tools, left out"] = fold
        for embedder, spec in embedders.items():
            corpus = shortlist.build(_plain(one), in_memory=True, embedder=spec)
            offered = {text: _offer(corpus, text) for text in parts.texts_of_stream}
            longest = max(map(len, parts.uses.values()))
            for noise in NOISE:
                for uses in (count for count in USES if count <= longest or count == USES[1]):
                    counts = dict.fromkeys(parts.uses, uses)
                    name = f"{one.name}, {embedder}, noise {noise:g}, {uses} uses"
                    if uses or noise == NOISE[0]:
                        figures[name] = _measure(corpus, parts, counts, noise, offered)
                        _show(name, figures[name])
            popular = set(list(parts.uses)[: int(POPULAR * len(parts.uses))])
            counts = {id: USES[-1] if id in popular else 1 for id in parts.uses}
            name = f"{one.name}, {embedder}, noise 0.1, skewed"
            figures[name] = _measure(corpus, parts, counts, 0.1, offered, popular)
            _show(name, figures[name])
        if one.name == TIMED:
            for embedder in ("default", "tools"):
                figures[f"time, {embedder}"] = _time(
                    shortlist.build(_plain(one), in_memory=True, embedder=embedder), parts
                )
                print(f"time, {embedder}", figures[f"time, {embedder}"], flush=True)
        report.save("learning", figures, beside_others=True)


def _plain(one: beir.Set) -> list[shortlist.Document]:
    """The documents without their examples."""
    return [
        shortlist.Document(document.id, document.title, document.content, kind="tool") for document in one.documents
    ]


def _offer(corpus: Corpus, query: str) -> list[tuple[str, float | None]]:
    return [(hit.id, hit.relevance) for hit in shortlist.search(corpus, query, k=5)]


def _use(corpus: Corpus, parts: Stream, counts: dict[str, int], noise: float, offered: dict[str, Any]) -> None:
    """The stream: all uses in a random order, each in a session of its own."""
    random_ = random.Random(0)
    stream = [(text, id) for id, texts in parts.uses.items() for text in texts[: counts[id]]]
    nowhere = parts.nowhere[: len(stream) // 10]
    random_.shuffle(stream)
    for number, (text, id) in enumerate([*stream, *((text, "") for text in nowhere)]):
        chance = random_.random()
        called = "" if chance < noise / 2 else id
        if id and noise / 2 <= chance < noise:
            wrong = [other for other, _ in offered[text] if other != id and other not in parts.never_used]
            called = random_.choice(wrong or list(parts.uses))
        use = corpus.use_of(called, "called") if called else None
        corpus.usage.add(text, offered[text], [use] if use else [], f"session {number}")


def _measure(
    corpus: Corpus,
    parts: Stream,
    counts: dict[str, int],
    noise: float,
    offered: dict[str, Any],
    left_out: set[str] | frozenset[str] = frozenset(),
) -> dict[str, Any]:
    corpus.usage.forget()
    _use(corpus, parts, counts, noise, offered)
    with corpus.snapshot() as state:
        while (learned := find_learned(corpus, state)) and not learned.is_complete:
            time.sleep(0.1)
    first: dict[bool, list[float]] = {True: [], False: []}
    ndcg: dict[bool, list[float]] = {True: [], False: []}
    best: dict[bool, list[float]] = {True: [], False: []}
    for question in parts.asked:
        only = {"id": {"$in": list(question.among)}} if question.among else None
        hits = shortlist.search(corpus, question.text, k=10, filter=only)
        best[bool(question.gold)].append(max((hit.relevance or 0.0 for hit in hits), default=0.0))
        if question.gold and not question.gold <= left_out:
            is_used = not question.gold <= parts.never_used
            ids = [hit.id for hit in hits]
            first[is_used].append(bool(ids) and ids[0] in question.gold)
            ndcg[is_used].append(beir.ndcg(ids, dict.fromkeys(question.gold, 1.0)))
    served, unserved = np.array(best[True]), np.array(best[False])
    with corpus.snapshot() as state:
        threshold = find_threshold(corpus, state, "auto")
    return {
        "first": fmean(first[True]),
        "ndcg": fmean(ndcg[True]),
        "never first": fmean(first[False]),
        "never ndcg": fmean(ndcg[False]),
        "auroc": measure.auroc(served, unserved) if len(unserved) else None,
        "lost": float((served < threshold).mean()),
        "answered": float((unserved >= threshold).mean()) if len(unserved) else None,
        "threshold": threshold,
        "questions": len(first[True]),
        "questions for tools never used": len(first[False]),
        "unserved": len(unserved),
    }


def _time(corpus: Corpus, parts: Stream) -> dict[str, float]:
    """Milliseconds of a search without a log and with one of 10,000 queries, and the ratio, in alternating rounds."""
    queries = [question.text for question in parts.asked[:200]]
    uses = [(text, corpus.use_of(id, "called")) for id, texts in parts.uses.items() for text in texts]
    for number in range(LOGGED):
        text, use = uses[number % len(uses)]
        corpus.usage.add(f"{text} {number // len(uses) or ''}", [], [use] if use else [], f"session {number}")
    with corpus.snapshot() as state:  # all at once, not a few with every search
        corpus.usage.vectors([one.query for one in corpus.usage], state.config.embedder_name, state.encode, math.inf)
    shortlist.search(corpus, queries[0])
    taken: dict[str, list[float]] = {"log": [], "on": []}
    for _ in range(7):
        for corpus.learning, rounds in taken.items():  # type: ignore[assignment]
            began = time.process_time()
            for query in queries:
                shortlist.search(corpus, query)
            rounds.append(1000 * (time.process_time() - began) / len(queries))
    without, with_log = min(taken["log"]), min(taken["on"])
    return {"without": without, "with 10,000": with_log, "ratio": with_log / without}


def _show(name: str, row: dict[str, Any]) -> None:
    print(
        f"{name:52}" + "".join(f"{'' if row[key] is None else format(row[key], '.3f'):>12}" for key in COLUMNS),
        flush=True,
    )

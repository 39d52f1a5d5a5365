"""Whether the time of a search shows that hidden documents match it, and what hiding costs.

`python -m bench hidden`. Three corpora of the same visible tools: without hidden documents, with one that alone has the
words of a query, and with a thousand of them. The rounds alternate, so that a busy machine slows all alike. AUC is how
often a search of a corpus with hidden documents takes longer than one without: 0.5 tells nothing.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.update import make_tools
from shortlist import Document, create_corpus, search
from shortlist.index.corpus import Corpus

TOOLS = 2_000
SEARCHES = 300
HIDDEN = {"none": 0, "one": 1, "a thousand": 1_000}
QUERY = "merger acme dragonwell"
UNKNOWN = "kestrel ochre thimblewort"  # in no document


def run(_: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as place:
        made = {name: _make(Path(place) / name.split()[-1], count) for name, count in HIDDEN.items()}
        seen = {name: corpus.for_groups(["staff"]) for name, corpus in made.items()}
        times: dict[str, list[float]] = {name: [] for name in HIDDEN}
        other: dict[str, list[float]] = {name: [] for name in HIDDEN}
        whole: dict[str, list[float]] = {name: [] for name in HIDDEN}
        searches = [
            (found[name], corpus[name], query)
            for name in HIDDEN
            for found, corpus, query in ((times, seen, QUERY), (other, seen, UNKNOWN), (whole, made, UNKNOWN))
        ]
        for _round in range(SEARCHES):
            random.shuffle(searches)  # what was searched last is in the caches of the processor
            for found, corpus, query in searches:
                began = time.perf_counter()
                search(corpus, query, "lexical")
                found.append(1e3 * (time.perf_counter() - began))
        for name, found in times.items():
            print(f"all documents, {name} for others: {statistics.median(whole[name]):.3f} ms")
            aucs = f"AUC {_auc(times['none'], found):.3f}, beside unknown words {_auc(other[name], found):.3f}"
            print(f"groups, hidden {name}: {statistics.median(found):.3f} ms, {aucs}")
        for corpus in made.values():
            corpus.close()


def _make(folder: Path, hidden: int) -> Corpus:
    corpus = create_corpus("tools", path=folder, embedder="none")
    secret = [Document(f"h{at}", "Plan", QUERY, metadata={"access": ["board"]}) for at in range(hidden)]
    corpus.sync([*make_tools(TOOLS), *secret], progress=False)
    return corpus


def _auc(base: list[float], found: list[float]) -> float:
    return float((np.array(found)[:, None] > np.array(base)).mean())

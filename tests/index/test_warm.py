"""After warming up, real work finds every loop compiled."""

from __future__ import annotations

import pytest

import shortlist
from shortlist.index.lexical import indexing, lexical_ranker
from shortlist.index.storage import segment
from shortlist.index.warm_up import STEPS, find_loops, warm


def test_every_loop_is_compiled_and_real_work_needs_no_other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[tuple[str, int, int]] = []
    compiled = warm(lambda *step: reported.append(step))
    assert reported == [*((step, done, 4) for done, step in enumerate(STEPS)), ("done", 4, 4)]
    assert [name for name, count in compiled.items() if count == 0] == []
    assert {"scan", "count", "best", "best_of_keys", "look_at"} <= set(compiled)

    monkeypatch.setattr(indexing, "COMPILED_TEXT", 0)
    monkeypatch.setattr(lexical_ranker, "COMPILED_FROM", 0)
    monkeypatch.setattr(segment, "MAPPED_FROM", 0)
    monkeypatch.setattr(segment, "ROUNDED_FROM", 0)
    monkeypatch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", 0)
    documents = {str(at): {"text": f"words of the document {at}", "even": at % 2 == 0} for at in range(50)}
    corpus = shortlist.build(documents, name="numbers", embedder="light")
    corpus.remove("7")
    for opened in (corpus, shortlist.open_corpus("numbers")):
        with opened.snapshot() as snapshot:
            assert len(snapshot.lexical.rank("document words", 5)) >= 5
        for mode in ("lexical", "dense", "auto"):
            assert shortlist.search(opened, "document 8", mode=mode, filter={"even": True})[0].id == "8"
    assert {name: len(loop.signatures) for name, loop in find_loops().items()} == compiled


def test_warming_up_leaves_the_thresholds_as_they_were() -> None:
    before = indexing.COMPILED_TEXT, lexical_ranker.COMPILED_FROM
    warm()
    assert before == (indexing.COMPILED_TEXT, lexical_ranker.COMPILED_FROM)

"""The speed benchmarks: every engine returns ids and texts, sets can be shortened, and wrong results are noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shortlist
from bench import beir, report
from bench.engines import ENGINES, Engine, Row
from bench.lexical import count_differences

ROWS: list[Row] = [
    ("harbor", "Harbor", "The old harbor has three piers and one crane."),
    ("ferry", "Ferry", "The ferry sails twice a day, except in winter."),
    *((f"note{number}", f"Note {number}", f"Nothing happened on day {number} of the year.") for number in range(10)),
]
INSTALLED = {
    name: kind
    for name, kind in ENGINES.items()
    if kind.is_installed() and kind.has_texts and "numba" not in kind.needs  # which compiles for half a minute
}


@pytest.mark.parametrize("name", INSTALLED)
def test_every_engine_finds_the_id_and_the_text_of_a_document(name: str, tmp_path: Path) -> None:
    engine = INSTALLED[name](tmp_path)
    engine.build(ROWS)
    engine.settle()
    (id, text), *_ = engine.search("When does the ferry sail?")
    assert id == "ferry"
    assert "sails twice a day" in text
    many = engine.search_many(["crane", "winter"])
    assert many is None or [found[0][0] for found in many] == ["harbor", "ferry"]


@pytest.mark.parametrize("name", [name for name, kind in INSTALLED.items() if kind.is_stored])
def test_a_stored_index_is_opened_again_and_finds_what_is_put(name: str, tmp_path: Path) -> None:
    built = INSTALLED[name](tmp_path)
    built.build(ROWS)
    built.settle()
    engine = INSTALLED[name](tmp_path)
    engine.open()
    assert engine.search("crane")[0][0] == "harbor"
    if type(engine).put is not Engine.put:
        engine.put(("tug", "Tug", "It pulls larger vessels."))
        assert engine.search("vessels")[0][0] == "tug"


def test_a_set_can_be_shortened_to_its_first_documents(tmp_path: Path) -> None:
    folder = tmp_path / "boats"
    (folder / "qrels").mkdir(parents=True)
    lines = {
        "corpus.jsonl": [{"_id": id, "title": title, "text": text} for id, title, text in ROWS],
        "queries.jsonl": [{"_id": id, "text": id} for id in ("both", "late")],
    }
    for name, rows in lines.items():
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "qrels" / "test.tsv").write_text("query\tid\tscore\nboth\tferry\t1\nboth\tnote3\t1\nlate\tnote9\t1\n")
    data = beir.load(tmp_path / "boats:3")
    assert data.name == "boats:3"
    assert [document.id for document in data.documents] == ["harbor", "ferry", "note0"]
    assert data.relevance == {"both": {"ferry": 1.0}}


@pytest.mark.parametrize("mode", ["lexical", "dense"])
def test_hits_are_compared_with_exhaustive_scores(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [shortlist.Document(*row) for row in ROWS]
    queries = ["the crane of the harbor", "day of the ferry"]
    with shortlist.create_corpus(in_memory=True, embedder="light") as corpus:
        corpus.sync(documents)
        assert count_differences(corpus, queries, mode) == 0
        whole = shortlist.search
        monkeypatch.setattr(shortlist, "search", lambda *given, **options: whole(*given, **options)[1:])
        assert count_differences(corpus, queries, mode) == 2


def test_figures_are_shown_with_their_ratio_to_ours(capsys: pytest.CaptureFixture[str]) -> None:
    report.show({"ours": {"p50 ms": 2.0, "disk MB": 0}, "theirs": {"p50 ms": 5.0, "disk MB": 7}}, "ours")
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown == [
        *(["ours"], ["p50", "ms", "2"], ["disk", "MB", "0"]),
        *(["theirs"], ["p50", "ms", "5", "(2.50)"], ["disk", "MB", "7"]),
    ]

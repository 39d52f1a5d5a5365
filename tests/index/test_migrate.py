"""A corpus that moves to a cluster and back stays the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist
from shortlist import CorpusError, Document, search
from shortlist.cli import run
from shortlist.index import migrate as moving
from shortlist.index.migrate import migrate
from tests.index.engines.conftest import on_servers

DOCUMENTS = [
    Document(f"d{at}", f"Title {at}", f"text about {('tea', 'milk', 'bread')[at % 3]} number {at}", metadata={"n": at})
    for at in range(60)
]


def found(name: str) -> list[tuple[str, float]]:
    return [(hit.id, round(hit.score, 5)) for hit in search(name, "milk number 7", k=20)]


@on_servers
def test_there_and_back_everything_is_the_same(address: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\nSome tea.")
    with shortlist.build(DOCUMENTS, "shelf", embedder="light") as corpus:
        corpus.add(shortlist.CorpusSource.from_files(tmp_path))
        corpus.set_threshold("auto", 0.25, cases=7)
        before, stamps, documents = corpus.ids(), corpus.stamps(), list(corpus)
    hits = found("shelf")
    moved = migrate("shelf", address, delete_old=True)
    assert (moved.source, moved.target, moved.documents, moved.copied) == ("embedded", address, 61, 61)
    with shortlist.open_corpus("shelf") as corpus:
        assert corpus.info()["engine"] == address
        assert (corpus.ids(), list(corpus), corpus.stamps()) == (before, documents, stamps)
        assert corpus.threshold("auto") == (0.25, "")
        assert corpus.config.calibrations["auto"]["cases"] == 7
        assert corpus.path is not None
        assert not (corpus.path / "corpus.db").exists()
    assert found("shelf") == hits
    assert migrate("shelf", "embedded").copied == 61
    with shortlist.open_corpus("shelf") as corpus:
        assert "engine" not in corpus.info()
        assert (corpus.ids(), list(corpus), corpus.stamps()) == (before, documents, stamps)
    assert found("shelf") == hits
    assert migrate("shelf", "embedded").copied == 0


@on_servers
def test_what_an_attempt_before_has_copied_is_not_copied_again(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shortlist.build(DOCUMENTS, "shelf", embedder="none").close()

    def fail(*arguments: object) -> None:
        raise CorpusError("cut short")

    with monkeypatch.context() as patched:
        patched.setattr(moving, "_compare", fail)
        with pytest.raises(CorpusError, match="cut short"):
            migrate("shelf", address)
    with shortlist.open_corpus("shelf") as corpus:
        assert "engine" not in corpus.info()
    assert migrate("shelf", address).copied == 0


@on_servers
def test_a_copy_that_differs_is_not_pointed_to(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shortlist.build(DOCUMENTS, "shelf", embedder="none").close()
    digests = iter([1, 2])
    monkeypatch.setattr(moving, "_digest", lambda *_: next(digests))
    with pytest.raises(CorpusError, match="The corpus stays where it was"):
        migrate("shelf", address)
    with shortlist.open_corpus("shelf") as corpus:
        assert "engine" not in corpus.info()


@on_servers
def test_command_line_moves_lists_and_describes(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    shortlist.build(DOCUMENTS, "shelf", embedder="none").close()
    assert run(["migrate", "shelf", "--to", address]) == 0
    assert "60 documents, 60 passages" in " ".join(capsys.readouterr().out.split())
    assert run(["ls", "--json"]) == 0
    assert f'"engine": "{address}"' in capsys.readouterr().out
    assert run(["info", "shelf", "--json"]) == 0
    assert '"health": "' in capsys.readouterr().out
    assert run(["search", "shelf", "milk number 7", "--json"]) == 0
    assert '"d7"' in capsys.readouterr().out
    assert run(["status", "shelf"]) == 0
    assert run(["rm", "shelf", "--data"]) == 0
    assert run(["search", "shelf", "milk"]) == 1

"""The life cycle of a corpus on every engine: create, open, rebuild, delete, and its thresholds."""

from __future__ import annotations

import threading

import httpx2
import pytest

import shortlist
from shortlist import Changes, Corpus, CorpusDamaged, CorpusError, CorpusMismatch, CorpusNotFound, Document
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_corpus import base_name
from tests.index.engines.conftest import CHUNKS, MIXED, Place, Stamped, assert_same_hits, ids_of, notes, persistent


@persistent
def test_reopened_corpus_has_documents_and_config(place: Place) -> None:
    with place.create("reopened", embedder="light", **CHUNKS) as corpus:
        corpus.sync(MIXED)
        config, found = corpus.config, shortlist.search(corpus, "newest message")
    with place.open("reopened") as again:
        assert (again.config, again.ids(), list(again)) == (config, [document.id for document in MIXED], MIXED)
        assert again.info()["embedder"] == config.embedder_name
        assert_same_hits(shortlist.search(again, "newest message"), found)


@persistent
def test_open_missing_corpus_raises(place: Place) -> None:
    with pytest.raises(CorpusNotFound, match="nothing"):
        place.open("nothing")


@persistent
def test_create_with_other_options_raises_and_names_the_option(place: Place) -> None:
    place.create("configured", chunk_size=300).close()
    with pytest.raises(CorpusMismatch, match="chunk_size=300, not 400"):
        place.create("configured", chunk_size=400)
    with pytest.raises(CorpusMismatch, match="analyzer"):
        place.create("configured", analyzer="words-1")
    with pytest.raises(CorpusMismatch, match="'none'"):
        place.open("configured", "light")
    place.create("configured", chunk_size=300).close()


@persistent
def test_delete_removes_only_this_corpus(place: Place) -> None:
    for name in ("doomed", "doomed-2"):
        with place.create(name) as corpus:
            corpus.add(notes(1))
    shortlist.delete_corpus(place.folder / "doomed")
    with pytest.raises(CorpusNotFound):
        place.open("doomed")
    with place.open("doomed-2") as other:
        assert other.ids() == ["n1"]
    with place.create("doomed") as fresh:
        assert fresh.is_empty


def damage(place: Place, name: str) -> None:
    """Overwrite the database of an embedded corpus, or delete the passages of one in a cluster."""
    if not place.is_cluster:
        (place.folder / name / "corpus.db").write_bytes(b"not a database" * 1000)
        return
    address = Address.parse(place.address)
    with httpx2.Client(trust_env=False, timeout=30, base_url=address.urls[0]) as client:
        (index,) = client.get(f"/_alias/{base_name(address, name)}-passages").json()
        client.delete(f"/{index}").raise_for_status()


@persistent
def test_damaged_corpus_cannot_be_opened(place: Place) -> None:
    with place.create("damaged") as corpus:
        corpus.add(notes(1))
    damage(place, "damaged")
    with pytest.raises(CorpusDamaged, match="damaged"):
        place.open("damaged")


@persistent
def test_damaged_corpus_is_not_created_over(place: Place) -> None:
    with place.create("overwritten") as corpus:
        corpus.add(notes(1))
    damage(place, "overwritten")
    with pytest.raises(CorpusDamaged, match="overwritten"):
        place.create("overwritten").close()


def test_closed_corpus_raises(place: Place) -> None:
    corpus = place.create()
    corpus.close()
    corpus.close()  # closing twice is allowed
    with pytest.raises(CorpusError, match="closed"):
        corpus.ids()


@persistent
def test_corpora_of_one_place_do_not_share_documents(place: Place, shelf: Corpus) -> None:
    shelf.add(notes(1))
    with place.create() as other:
        other.add(notes(2))
        assert (shelf.ids(), other.ids()) == (["n1"], ["n2"])
        assert ids_of(shortlist.search([shelf, other], "tea")) == ["n1", "n2"]


def test_reindex_changes_the_embedder_and_keeps_documents_and_stamps(place: Place) -> None:
    progress: list[tuple[int, int | None]] = []
    with place.create() as corpus:
        corpus.sync(Stamped("1", Document("f", "", "green tea", source="f.txt")))
        corpus.add(notes(*range(20), word="milk"))
        corpus.set_threshold("auto", 0.5)
        ids, stamps = corpus.ids(), corpus.stamps()
        corpus.reindex("light", progress=lambda done, total: progress.append((done, total)))
        assert progress == [(21, 21)]
        assert (corpus.ids(), corpus.stamps()) == (ids, stamps)
        assert (corpus.config.embedder_name, corpus.config.floors) == ("light", {})
        assert shortlist.search(corpus, "tea", "dense")[0].id == "f"
        assert corpus.add(notes(99)) == Changes(added=1)


@persistent
def test_threshold_is_stored_and_can_be_forgotten(place: Place) -> None:
    with place.create("threshold") as corpus:
        corpus.set_threshold("auto", 0.5, cases=3)
        corpus.set_threshold("lexical", 0.4)
        corpus.set_threshold("lexical", None)
    with place.open("threshold") as corpus:
        assert (corpus.threshold("auto"), corpus.threshold("lexical")) == ((0.5, ""), (None, ""))
        assert corpus.info()["floors"] == {"auto": 0.5}
        assert corpus.config.calibrations["auto"]["cases"] == 3


def test_threshold_is_doubted_when_much_has_changed(shelf: Corpus) -> None:
    shelf.add(notes(*range(10)))
    shelf.set_threshold("auto", 0.5)
    assert shelf.threshold("auto") == (0.5, "")
    threading.Event().wait(0.002)  # a cluster counts changes from the next millisecond on
    shelf.add(notes(20, 21, 22))
    assert "10 documents, and 30%" in shelf.threshold("auto").doubt
    shelf.set_threshold("auto", None)

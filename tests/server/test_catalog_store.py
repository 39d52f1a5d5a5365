"""Changes made over HTTP survive restarts and reloads of the document file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from shortlist import SourceError
from shortlist.compat.retriever_service import create_app
from shortlist.compat.retriever_settings import load_compat_settings
from shortlist.server import catalog_store
from tests.server.conftest import TOOLS, Make, ids, write_catalog

NEW = {"id": "new", "title": "New tool", "content": "Brings something new."}


def test_a_deleted_document_stays_deleted_although_the_file_contains_it(make: Make, catalog: Path) -> None:
    before = catalog.read_bytes()
    make().delete("/documents/refund")
    client = make()
    assert ids(client.get("/documents")) == ["track", "invoice"]
    assert ids(client.post("/retrieve", json={"query": "refund"})) == []
    client.post("/reload")
    assert ids(client.get("/documents")) == ["track", "invoice"]
    assert catalog.read_bytes() == before


def test_a_deleted_document_returns_if_its_entry_changes_if_it_is_added_or_if_the_file_replaces_all(
    make: Make, catalog: Path
) -> None:
    client = make()
    client.delete("/documents/refund")
    write_catalog(catalog, [TOOLS[0] | {"content": "Otherwise."}, *TOOLS[1:]])
    assert client.post("/documents/reload").json()["added"] == 1
    client.delete("/documents/refund")
    client.post("/documents", json=TOOLS[0])
    assert "refund" in ids(client.get("/documents"))
    client.delete("/documents/refund")
    client.post("/index", json={"from_file": True})
    assert "refund" in ids(make().get("/documents"))


def test_documents_added_and_changed_over_http_survive_a_restart(make: Make) -> None:
    client = make()
    client.post("/documents", json=[NEW, TOOLS[1] | {"title": "Find a parcel"}])
    client = make()
    assert ids(client.get("/documents")) == ["refund", "track", "invoice", "new"]
    assert ids(client.post("/retrieve", json={"query": "something new"})) == ["new"]
    assert client.get("/v1/corpora/catalog/documents/track").json()["title"] == "Find a parcel"


def test_only_what_the_file_changed_is_applied(make: Make, catalog: Path) -> None:
    client = make()
    client.post("/documents", json=[NEW, TOOLS[1] | {"title": "Mine"}])
    client.delete("/documents/invoice")
    write_catalog(catalog, [TOOLS[1], TOOLS[2], {"id": "fresh", "title": "Fresh", "content": "From the file."}])
    answer = make().get("/documents").json()["documents"]
    assert {document["id"]: document["title"] for document in answer} == {
        "track": "Mine",  # changed here, not in the file
        "new": "New tool",  # only here
        "fresh": "Fresh",  # new in the file; refund is gone from it, invoice was deleted here
    }


def test_everything_replaced_stays_replaced(make: Make) -> None:
    make().post("/index", json={"documents": [NEW]})
    assert ids(make().get("/documents")) == ["new"]


@pytest.mark.parametrize(
    "broken", ['{"documents": [', '{"documents": [{"id": "x"}]}', '{"other": 1}', '{"documents": [1]}', "\udcff"]
)
def test_a_broken_file_changes_nothing_and_is_reported(make: Make, catalog: Path, broken: str) -> None:
    client = make()
    catalog.write_text(broken, "utf-8", errors="surrogateescape")
    answer = client.post("/reload")
    assert answer.status_code == 409
    assert "tools.json" in answer.json()["detail"]
    assert "3 documents" in answer.json()["detail"]
    status = client.get("/status").json()
    assert (status["status"], status["problem"], status["documents"]) == ("degraded", answer.json()["detail"], 3)
    client = make()  # also where the service starts with it
    assert client.get("/documents").json()["count"] == 3
    assert client.get("/status").json()["status"] == "degraded"
    write_catalog(catalog, TOOLS[:1])
    assert client.post("/reload").json()["removed"] == 2
    assert client.get("/status").json()["status"] == "ok"


def test_a_missing_named_file_is_an_error_if_no_documents_are_stored(make: Make, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nothing\.yaml"):
        make(documents__source=str(tmp_path / "nothing.yaml"))


def test_the_default_file_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with TestClient(create_app(load_compat_settings(environment={})), base_url="http://localhost") as client:
        assert client.get("/documents").json()["count"] == 0
        assert client.get("/document-files").json()["files"] == []
        assert client.post("/reload").status_code == 409


def test_the_file_is_read_in_the_configured_encoding(make: Make, catalog: Path) -> None:
    catalog.write_bytes(
        json.dumps({"documents": [TOOLS[0] | {"title": "Rückzahlung"}]}, ensure_ascii=False).encode("latin-1")
    )
    client = make(documents__encoding="latin-1")
    assert client.get("/documents").json()["documents"][0]["title"] == "Rückzahlung"


@pytest.mark.extras
@pytest.mark.parametrize(("most", "embedder"), [(len(TOOLS), "tools#"), (len(TOOLS) - 1, "wordllama")])
def test_a_catalog_of_few_tools_gets_our_model_when_it_is_first_served(
    make: Make, monkeypatch: pytest.MonkeyPatch, most: int, embedder: str
) -> None:
    monkeypatch.setattr(catalog_store, "MOST_ENCODED", most)
    index = make(documents__embedder="auto").get("/status").json()["index"]
    assert index["embedder"].startswith(embedder)
    assert bool(index["advice"]) == (embedder == "wordllama")
    monkeypatch.setattr(catalog_store, "MOST_ENCODED", len(TOOLS))
    again = make(documents__embedder="auto").get("/status").json()["index"]
    assert again["embedder"] == index["embedder"]  # a stored index keeps its own

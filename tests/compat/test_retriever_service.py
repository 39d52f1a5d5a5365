"""The service with the retriever: what the extension adds to the plain service, over the same catalog."""

from __future__ import annotations

from fastapi.testclient import TestClient

from shortlist.compat.retriever import ANALYZER
from shortlist.server.application import create_app
from tests.server.conftest import Make


def test_it_has_the_routes_of_the_plain_service_and_those_of_the_retriever(shared: TestClient) -> None:
    plain = create_app().openapi()["paths"].keys()
    both = shared.get("/openapi.json").json()["paths"].keys()
    assert plain < both
    assert both - plain == {
        "/retrieve", "/index", "/documents", "/documents/{id}", "/documents/reload", "/reload", "/settings",
        "/document-files", "/switch-document-file",
    }  # fmt: skip


def test_the_status_names_the_extension_and_has_its_settings(make: Make) -> None:
    client = make()
    client.post("/settings", json={"temperature": 4.0})
    status = client.get("/status").json()
    assert status["extensions"] == ["retriever"]
    assert status["settings"] == {"temperature": 4.0, "ignore_zero": True, "llm_tools_cutoff": 10.0}
    rows = {row["key"]: row["origin"] for row in status["configuration"]}
    assert (rows["bm25s.temperature"], rows["bm25s.ignore_zero"]) == ("POST /settings", "default")


def test_its_catalog_is_the_corpus_of_the_service(make: Make) -> None:
    client = make()
    assert client.get("/status").json()["index"]["analyzer"] == ANALYZER
    client.post("/documents", json={"id": "moon", "title": "Moon", "content": "Land on the moon."})
    hits = client.post("/v1/corpora/catalog/search", json={"query": "moon"}).json()["hits"]
    assert [hit["id"] for hit in hits] == ["moon"]

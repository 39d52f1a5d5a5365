"""The service without extensions: plain corpora, of which the catalog is one, and no route of the retriever."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings
from tests.server.conftest import TOOLS, until, write_catalog

OF_THE_RETRIEVER = (
    "/retrieve",
    "/index",
    "/documents",
    "/settings",
    "/reload",
    "/document-files",
    "/switch-document-file",
)


def open_client(catalog: Path, **given: Any) -> TestClient:
    values = {"documents.source": str(catalog), "documents.auto_reload": False, "documents.embedder": "none"}
    keys = {key.replace("__", "."): value for key, value in given.items()}
    app = create_app(load_settings(given=values | keys, environment={}))
    return TestClient(app, base_url="http://localhost:9200")


@pytest.fixture
def plain(catalog: Path) -> Iterator[TestClient]:
    with open_client(catalog) as client:
        yield client


def find(client: TestClient, query: str, corpus: str = "catalog") -> list[str]:
    hits = client.post(f"/v1/corpora/{corpus}/search", json={"query": query}).json()["hits"]
    return [hit["id"] for hit in hits]


def test_it_serves_the_document_file_and_stored_corpora(plain: TestClient) -> None:
    shortlist.build({"lamp": "A lamp for the desk."}, name="shop", embedder="none").close()
    rows = {row["name"]: row for row in plain.get("/v1/corpora").json()["corpora"]}
    assert (rows["catalog"]["documents"], rows["shop"]["documents"]) == (3, 1)
    assert find(plain, "parcel") == ["track"]
    assert find(plain, "lamp", "shop") == ["lamp"]
    found = plain.post("/v1/corpora/catalog/discover", json={"query": "track a parcel"}).json()
    assert [item["id"] for item in found["results"]] == ["track"]


def test_documents_are_added_deleted_and_survive_a_restart(catalog: Path) -> None:
    rocket = {"id": "rocket", "title": "Start a rocket", "content": "To the moon."}
    with open_client(catalog) as client:
        repeated = {"documents": [rocket | {"title": "Stop a rocket"}, rocket]}
        assert client.post("/v1/corpora/catalog/documents", json=repeated).json()["added"] == 1
        assert client.delete("/v1/corpora/catalog/documents/refund").json()["removed"] == 1
        assert client.delete("/v1/corpora/catalog/documents/refund").status_code == 404
    with open_client(catalog) as client:
        assert find(client, "rocket") == ["rocket"]
        assert client.get("/v1/corpora/catalog/documents/rocket").json()["title"] == "Start a rocket"
        assert find(client, "chargeback") == []


def test_the_document_file_is_followed(catalog: Path) -> None:
    with open_client(catalog, documents__auto_reload=True) as client:
        write_catalog(catalog, [*TOOLS, {"id": "moon", "title": "Moon", "content": "Land on the moon."}])
        until(lambda: find(client, "moon") == ["moon"])


def test_searches_can_run_in_processes(catalog: Path) -> None:
    with open_client(catalog, server__workers=1) as client:
        assert find(client, "parcel") == ["track"]


def test_nothing_of_the_retriever_is_there(plain: TestClient) -> None:
    for path in OF_THE_RETRIEVER:
        assert plain.post(path, json={}).status_code == 404
        assert plain.get(path).status_code == 404
    status = plain.get("/status").json()
    assert (status["extensions"], status["documents"]) == ([], 3)
    assert "settings" not in status
    assert not [row["key"] for row in status["configuration"] if row["key"].startswith("bm25s.")]
    assert not [path for path in plain.get("/openapi.json").json()["paths"] if path in OF_THE_RETRIEVER]
    assert plain.get("/").is_success


def test_the_package_of_the_retriever_is_not_loaded() -> None:
    loaded = "[name for name in sys.modules if name.startswith('shortlist.compat.')]"
    program = f"import sys, shortlist.server.run\nassert not {loaded}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)

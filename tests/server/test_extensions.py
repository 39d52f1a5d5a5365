"""An extension adds to the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from shortlist.server.application import create_app
from shortlist.server.extensions import Extension
from shortlist.server.jobs import Endpoints
from shortlist.server.service_settings import load_settings


def test_an_extension_adds_routes_and_fields_of_the_status(catalog: Path) -> None:
    class Greeting(Extension):
        name = "greeting"

        def add_routes(self, endpoints: Endpoints, run_search: Any) -> None:
            @endpoints.add("GET /hello", "Health", tag="service")
            def greet() -> dict[str, str]:
                return {"status": "hello"}

        def status(self) -> dict[str, Any]:
            return {"mood": "good"}

        def changed_settings(self) -> dict[str, tuple[Any, str]]:
            return {"server.port": (1, "GET /hello")}

    settings = load_settings(given={"documents.source": str(catalog), "documents.embedder": "none"}, environment={})
    with TestClient(create_app(settings, extension=Greeting()), base_url="http://localhost:9200") as client:
        assert client.get("/hello").json() == {"status": "hello"}
        status = client.get("/status").json()
    assert (status["extensions"], status["mood"]) == (["greeting"], "good")
    assert {"key": "server.port", "value": 1, "origin": "GET /hello"} in status["configuration"]


def test_an_extension_that_adds_nothing_changes_nothing() -> None:
    plain, extended = create_app(), create_app(extension=Extension())
    assert extended.openapi() == plain.openapi()
    assert (Extension().status(), Extension().changed_settings()) == ({}, {})

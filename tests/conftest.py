"""Every test has places of its own: no test reads or writes the corpora, settings or caches of the user."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    places = tmp_path_factory.mktemp("places")
    for kind in ("data", "config", "cache"):
        monkeypatch.setenv(f"SHORTLIST_{kind.upper()}_DIR", str(places / kind))

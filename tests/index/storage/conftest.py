"""A corpus whose segment files tests corrupt."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shortlist.index.storage import segment
from tests.index.storage.corrupted_segments import Template, small_tables


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    with small_tables():
        yield Template(tmp_path_factory.mktemp("segments"))


@pytest.fixture
def template(shared: Template, monkeypatch: pytest.MonkeyPatch) -> Template:
    monkeypatch.setattr(segment, "MAPPED_FROM", 4 << 20)
    shared.restore()
    return shared


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch, template: Template) -> Template:
    monkeypatch.setattr(segment, "MAPPED_FROM", 1)
    return template

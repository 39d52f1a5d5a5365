"""Embedders and small models that several test files use."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from shortlist.index.embedders.named import _bundled, load_embedder
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    pass


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

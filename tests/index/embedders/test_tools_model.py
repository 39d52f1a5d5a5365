"""Our own model: the file as it ships, the text as it reads it, and the cosines that it gives."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.errors import EmbedderError
from shortlist.index.embedders import models, tools_model
from shortlist.index.embedders.named import load_embedder

WEATHER = "getWeatherForecast\nThe weather of the next days at a place"
MAIL = "sendEmail\nSend a message to an address"
FLIGHT = "book_flight\nReserve a seat on a plane"
QUESTION = "will it rain in Paris tomorrow?"

COSINES = [
    [1.0, 0.1109, 0.0797, 0.6249],
    [0.1109, 1.0, 0.0754, 0.0434],
    [0.0797, 0.0754, 1.0, 0.0092],
    [0.6249, 0.0434, 0.0092, 1.0],
]


@pytest.fixture(scope="module")
def tools() -> Any:
    return load_embedder("tools")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("getUserToken\nGives a token", "get User Token\nGives a token"),
        ("HTTPServerStart", "HTTP Server Start"),
        ("get_user_token\nGives a token", "get_user_token\nGives a token"),
        ("Ask GitHub\nfor theIssue", "Ask GitHub\nfor theIssue"),
        ("weather in NewYork", "weather in NewYork"),
        ("", ""),
    ],
)
def test_only_a_first_line_of_one_word_is_read_as_a_name(written: str, read: str) -> None:
    assert tools_model.as_read(written) == read


def test_the_model_gives_these_cosines_on_every_machine(tools: Any) -> None:
    rows = tools.encode_documents([WEATHER, MAIL, FLIGHT, QUESTION])
    np.testing.assert_allclose(rows @ rows.T, COSINES, atol=0.01)


def test_a_name_counts_as_its_words(tools: Any) -> None:
    np.testing.assert_array_equal(tools.encode_query("getUserToken"), tools.encode_query("get User Token"))


def test_rows_do_not_depend_on_their_neighbours_or_their_order(tools: Any) -> None:
    texts = [f"{WEATHER} {'and more ' * length}" for length in (40, 0, 7, 300, 1)]
    rows = tools.encode_documents(texts)
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_array_equal(row, tools.encode_documents([text])[0])


def test_queries_and_documents_are_read_with_their_own_prefix(tools: Any) -> None:
    query, document = tools.encode_query(QUESTION), tools.encode_documents([QUESTION])[0]
    assert 0.5 < float(query @ document) < 0.999


@pytest.mark.parametrize(
    "question",
    ["Regnet es morgen in Paris?", "¿Va a llover mañana en París?", "明天巴黎会下雨吗？", "هل ستمطر غدا في باريس؟"],
)
def test_a_question_in_another_language_is_nearest_to_the_same_tool(tools: Any, question: str) -> None:
    cosines = tools.encode_documents([WEATHER, MAIL, FLIGHT]) @ tools.encode_query(question)
    assert int(np.argmax(cosines)) == 0


def test_multilingual_is_another_name_of_the_model(tools: Any) -> None:
    assert isinstance(other := load_embedder("multilingual"), tools_model.ToolsEmbedder)
    assert other.name == tools.name


def test_what_no_token_stands_for_has_no_vector(tools: Any) -> None:
    rows = tools.encode_documents(["\x00\x07", "\u0378 \u0379", QUESTION])
    assert [bool(row.any()) for row in rows] == [False, False, True]


def test_a_text_is_read_up_to_384_tokens(tools: Any) -> None:
    start = "weather " * 382
    np.testing.assert_array_equal(tools.encode_query(start), tools.encode_query(f"{start} stock exchange"))


def test_a_tool_is_found_by_what_it_is_for() -> None:
    texts = {"forecast": WEATHER, "mail": MAIL, "flight": FLIGHT}
    corpus = shortlist.build(texts, in_memory=True, embedder="tools")
    assert [hit.id for hit in shortlist.search(corpus, QUESTION, mode="dense", k=1)] == ["forecast"]


def test_the_files_ship_with_their_license_and_stay_below_65_megabytes() -> None:
    folder = tools_model.MODEL.parent
    assert sum(path.stat().st_size for path in folder.iterdir()) < 75_000_000
    assert "Copyright (c) Microsoft Corporation" in (folder / "LICENSE").read_text("utf-8")
    assert "multilingual-e5-small" in (folder / "README.md").read_text("utf-8")


def test_the_name_tells_which_file_made_the_vectors(
    tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(tools_model.MODEL.read_bytes() + b"\x00")
    assert tools.name == f"tools#{models.fingerprint([tools_model.MODEL])}"
    assert models.fingerprint([other]) != models.fingerprint([tools_model.MODEL])


def test_texts_that_were_encoded_before_are_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = tools_model.ToolsEmbedder()
    encoded: list[list[str]] = []
    encode = embedder._encode_new

    def record(texts: list[str], *, query: bool) -> Any:
        encoded.append(texts)
        return encode(texts, query=query)

    monkeypatch.setattr(embedder, "_encode_new", record)
    first = embedder.encode_documents([WEATHER, MAIL, WEATHER])
    again = embedder.encode_documents([MAIL, FLIGHT, WEATHER])
    assert encoded == [[WEATHER, MAIL], [FLIGHT]]
    np.testing.assert_array_equal(again[[2, 0]], first[:2])
    monkeypatch.setattr(tools_model, "MOST_CACHED", 3)
    embedder.encode_documents([QUESTION])
    embedder.encode_documents([MAIL])
    assert encoded[2:] == [[QUESTION], [MAIL]]  # the cache was full
    del encoded[:]
    for query in (QUESTION, QUESTION, MAIL, QUESTION):
        embedder.encode_query(query)
    assert encoded == [[QUESTION], [MAIL], [QUESTION]]  # only the latest query is remembered


@pytest.mark.extras
@pytest.mark.usefixtures("without_onnxruntime")
def test_without_onnxruntime_the_static_table_is_used_and_that_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(EmbedderError, match="pip install onnxruntime"):
        tools_model.ToolsEmbedder()
    tool = shortlist.Document("weather", "weather", WEATHER, kind="tool")
    with caplog.at_level(logging.WARNING, "shortlist"):
        info = [shortlist.build([tool], in_memory=True).info() for _ in range(2)]
    (record,) = caplog.records
    assert "ranked by the static table" in record.getMessage()
    assert {one["embedder"] for one in info} == {"wordllama-256"}
    assert all("onnxruntime, which cannot be imported" in one["advice"] for one in info)


@pytest.mark.parametrize(
    ("kinds", "embedder", "advice"),
    [
        (["tool"], "wordllama-256", "Build the corpus again"),
        (["tool", "skill"], "wordllama-256", "Build the corpus again"),
        (["tool", "text"], "wordllama-256", ""),
        ([], "wordllama-256", ""),
        (["tool"], "tools#12345678", ""),
        (["tool"], "none", ""),
        (["tool"], "mine", ""),
    ],
)
def test_another_embedder_is_suggested_only_for_tools_with_the_default_one(
    kinds: list[str], embedder: str, advice: str
) -> None:
    suggested = tools_model.suggest_embedder(kinds, embedder)
    assert (bool(suggested), advice in suggested) == (bool(advice), True)


@pytest.mark.extras
def test_a_corpus_of_tools_suggests_to_build_it_again_if_our_model_can_run() -> None:
    tool = shortlist.Document("weather", "weather", WEATHER, kind="tool")
    advice = [
        shortlist.build([tool], in_memory=True, embedder=embedder).info()["advice"] for embedder in ("default", "tools")
    ]
    assert "'tools'" in advice[0]
    assert advice[1] == ""

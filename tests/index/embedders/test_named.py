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
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import huggingface_hub
import numpy as np
import pytest

from shortlist.errors import EmbedderError, InputError
from shortlist.index.embedders import named
from shortlist.index.embedders.named import (
    CallableEmbedder,
    OpenAIEmbedder,
    load_embedder,
    make_absolute,
    unconfirmed_address,
)
from shortlist.index.embedders.tokenization import BytePairTokenizer

if TYPE_CHECKING:
    from shortlist.results import Vectors
from tests.index.embedders.conftest import TEXTS, loaded, shared, unit


def test_only_slow_embedders_are_cached() -> None:
    kept = {name: getattr(shared(name), "cached", None) for name in ("light", "default", "tools", "minilm")}
    assert kept == {"light": False, "default": False, "tools": True, "minilm": True}
    assert CallableEmbedder(lambda texts: np.ones((len(texts), 2))).cached


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


def read_stored_vectors() -> Iterator[tuple[str, Any]]:
    """Texts and their vectors by the table of wordllama itself, as earlier versions stored them in corpora."""
    for row in json.loads(Path(__file__).with_name("static_vectors.json").read_text("utf-8")):
        yield row["text"], unit(np.array(row["vector"]))


class TestDefault:
    def test_corpora_of_the_original_table_stay_usable(self) -> None:
        cosines = [shared("default").encode_query(text) @ vector for text, vector in read_stored_vectors()]
        assert len(cosines) > 5
        assert min(cosines) > 0.9999

    def test_is_the_normalised_mean_of_the_table_rows_of_the_tokens(self) -> None:
        table = np.load(named.STATIC / "table.npy") * np.load(named.STATIC / "scales.npy")[:, None]
        tokenizer = BytePairTokenizer(named.STATIC / "tokens.json")
        for text in TEXTS:
            mean = table[tokenizer.encode(text, 512)].astype(np.float64).mean(axis=0)
            np.testing.assert_allclose(shared("default").encode_query(text), unit(mean), atol=1e-6)

    def test_reads_the_first_512_tokens(self) -> None:
        long = "word " * 512
        np.testing.assert_array_equal(
            shared("default").encode_query(long), shared("default").encode_query(long + "and more words " * 50)
        )

    def test_has_one_name_under_all_its_names(self) -> None:
        assert {loaded(name).name for name in ("default", "wordllama", "wordllama-256")} == {"wordllama-256"}

    @pytest.mark.usefixtures("nothing_loaded")
    def test_says_when_the_table_is_damaged(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(named, "STATIC", tmp_path)
        with pytest.raises(EmbedderError, match="cannot be read"):
            load_embedder("default")
        (tmp_path / "table.npy").write_bytes(b"version https://git-lfs")
        with pytest.raises(EmbedderError, match="Install shortlist again"):
            load_embedder("default")


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

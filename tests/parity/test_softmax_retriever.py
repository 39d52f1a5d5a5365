"""Seed 000: the softmax retriever, its configuration, its HTTP service and its client (A1 to A12)."""

from __future__ import annotations

import copy
import inspect
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import shortlist
from shortlist import BM25SClient, BM25SRetriever, BM25SSettings, Document, InputError, ServiceError, SourceError
from shortlist.cli import run as run_cli
from shortlist.compat import retriever as module
from shortlist.compat.retriever import retriever_corpus
from shortlist.compat.retriever_settings import KEYS, load_compat_settings
from tests.parity.seed_modules import run, seed_modules  # noqa: F401
from tests.server.conftest import Service

pytestmark = pytest.mark.process

CATALOG: list[dict[str, Any]] = [
    {
        "id": "place_limit_order",
        "title": "Place Limit Order",
        "content": "Place a limit buy order or a sell order",
        "keywords": ["trading"],
        "metadata": {"access_level": "admin"},
    },
    {
        "id": "get_quote",
        "title": "Get Quote",
        "content": "Trading tools: the last price of a stock",
        "metadata": {"access_level": "public"},
    },
    {"id": "analyze", "title": "Financial Analysis Tools", "content": "Analysis of a quarter", "keywords": ["ratios"]},
]
SETTINGS_YAML = """\
bm25s:
  temperature: 0.5          # Softmax temperature (0.1-10.0)
  ignore_zero: true         # Filter zero-relevance documents
  llm_tools_cutoff: 10.0    # Minimum softmax percentage (0-100)

documents:
  source: "source_files/tools_list.yaml"
  auto_reload: true
  encoding: "utf-8"

server:
  host: "0.0.0.0"
  port: 9200
  reload: false
  log_level: "info"
"""
RESPONSE = {"success", "message", "documents", "total_retrieved", "cutoff_percentage", "settings"}
DOCUMENT = {"id", "title", "content", "keywords", "metadata", "bm25_score", "softmax_score"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the default catalog and without any settings."""
    for variable in KEYS.variables:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_retriever", None)
    write_catalog(tmp_path)
    return tmp_path


def write_catalog(folder: Path) -> None:
    (folder / "source_files").mkdir()
    (folder / "source_files" / "tools_list.yaml").write_text(yaml.safe_dump({"documents": CATALOG}), "utf-8")


@pytest.fixture
def retriever(folder: Path) -> BM25SRetriever:
    return BM25SRetriever()


EXAMPLES = {
    "a4_retrieve_documents": """
from bm25s_retriever import BM25SRetriever

retriever = BM25SRetriever()
results = retriever.retrieve_documents("place a limit buy order")
results = retriever.retrieve_documents(
    "financial analysis tools",
    temperature=0.5,
    llm_tools_cutoff=15.0,
    ignore_zero=True
)
for doc in results["documents"]:
    print(f"{doc['title']}: {doc['softmax_score']:.2%} (BM25: {doc['bm25_score']})")
assert [doc["id"] for doc in results["documents"]] == ["analyze"]
""",
    "a5_add_documents": """
from bm25s_retriever import BM25SRetriever, Document

retriever = BM25SRetriever()
new_docs = [
    Document(
        id="get_account_summary",
        title="Get Account Summary",
        content="Retrieve account balances, buying power, and positions",
        keywords=["account", "balances", "positions"],
        metadata={"category": "trading"}
    )
]
retriever.add_documents(new_docs)
retriever.rebuild_index()
count = retriever.get_document_count()
print(f"Indexed {count} documents")
assert count == 4
results = retriever.retrieve_documents("account balances")
assert results["documents"][0]["metadata"] == {"category": "trading"}
retriever.rebuild_index(new_docs)
assert retriever.get_document_count() == 1
""",
    "a5_settings": """
from bm25s_retriever import BM25SRetriever, BM25SSettings

retriever = BM25SRetriever()
settings = retriever.get_settings()
print(f"Temperature: {settings.temperature}")
print(f"Cutoff: {settings.llm_tools_cutoff}")
new_settings = BM25SSettings(
    temperature=0.6,
    ignore_zero=True,
    llm_tools_cutoff=12.0
)
retriever.update_settings(new_settings)
results = retriever.retrieve_documents("query")
assert results["settings"] == {"temperature": 0.6, "ignore_zero": True, "llm_tools_cutoff": 12.0}
""",
    "a5_global_singleton": """
from bm25s_retriever import get_retriever

retriever = get_retriever()
results = retriever.retrieve_documents("limit order")
assert results["success"] and get_retriever() is retriever
""",
    "a6_metadata_post_processing": """
from bm25s_retriever import get_retriever

results = get_retriever().retrieve_documents("trading tools", temperature=5.0)
admin_tools = [
    doc for doc in results["documents"]
    if doc["metadata"].get("access_level") == "admin"
]
public_tools = [
    doc for doc in results["documents"]
    if doc["metadata"].get("access_level") == "public"
]
assert [doc["id"] for doc in admin_tools + public_tools] == ["place_limit_order", "get_quote"]
""",
    "a8_error_handling": """
from bm25s_retriever import BM25SRetriever

results = BM25SRetriever(document_file=None).retrieve_documents("test query")
if not results["success"]:
    print(f"Error: {results['message']}")
assert results["message"] == "No documents indexed"
""",
}


@pytest.mark.usefixtures("seed_modules", "folder")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_verbatim(name: str) -> None:
    run(EXAMPLES[name])


def test_a1_the_default_file_may_be_missing_and_a_named_one_may_not(folder: Path) -> None:
    parameters = inspect.signature(BM25SRetriever).parameters
    assert list(parameters)[:2] == ["settings", "document_file"]
    assert parameters["document_file"].default == "source_files/tools_list.yaml"
    assert BM25SRetriever().get_document_count() == 3
    with pytest.raises(SourceError, match=r"other\.yaml"):
        BM25SRetriever(document_file="other.yaml")
    (folder / "source_files" / "tools_list.yaml").unlink()
    assert BM25SRetriever().get_document_count() == 0


def test_a2_and_a3_defaults_of_documents_and_settings() -> None:
    document = Document(id="a", title="A", content="text")
    assert (document.keywords, document.metadata) == ([], {})
    defaults = {field.name: field.default for field in fields(BM25SSettings)}
    assert defaults == {"temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10.0}


def test_a3_settings_round_trip_through_a_dict() -> None:
    settings = BM25SSettings.from_dict({"temperature": 2, "llm_tools_cutoff": 5})
    assert settings == BM25SSettings(2.0, True, 5.0)
    assert BM25SSettings.from_dict(settings.to_dict()) == settings
    for wrong, message in (({"temperature": 99}, "99"), ({"temprature": 1}, "'temprature'.*'temperature'")):
        with pytest.raises(InputError, match=message):
            BM25SSettings.from_dict(wrong)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("limit", True),
        ("sell", True),
        ("trading", True),
        ("place_limit_order", True),
        ("admin", False),
        ("keyword", False),
    ],
)
def test_a6_title_content_and_keywords_are_searchable(retriever: BM25SRetriever, query: str, found: bool) -> None:
    ids = [doc["id"] for doc in retriever.retrieve_documents(query, llm_tools_cutoff=0)["documents"]]
    assert ("place_limit_order" in ids) is found


def test_a6_the_id_is_not_searchable() -> None:
    retriever = BM25SRetriever(document_file=None)
    retriever.add_documents([Document("zebra", "Title", "content")])
    assert retriever.retrieve_documents("zebra")["documents"] == []


def test_a7_the_temperature_focuses_and_the_cutoff_cuts(retriever: BM25SRetriever) -> None:
    def shares(**options: Any) -> list[float]:
        response = retriever.retrieve_documents("trading tools", ignore_zero=False, llm_tools_cutoff=0, **options)
        return [doc["softmax_score"] for doc in response["documents"]]

    assert sum(shares()) == pytest.approx(1.0)
    assert shares(temperature=0.1)[0] > shares(temperature=10.0)[0]
    assert shares() == sorted(shares(), reverse=True)
    cut = retriever.retrieve_documents("trading tools", temperature=10.0, llm_tools_cutoff=35.0)
    assert all(doc["softmax_score"] >= 0.35 for doc in cut["documents"])
    assert len(cut["documents"]) < cut["total_retrieved"]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_retriever_can_be_copied_after_a_search(folder: Path, duplicate: Any, is_stored: bool) -> None:
    corpus = retriever_corpus(folder / "stored" if is_stored else None)
    retriever = BM25SRetriever(BM25SSettings(temperature=0.7), corpus=corpus)
    retriever.add_documents([Document(id="a", title="Account", content="Balances", metadata={"of": "me"})])
    found = retriever.retrieve_documents("balances")
    assert found["total_retrieved"] == 1
    again = duplicate(retriever)
    assert again.retrieve_documents("balances") == found
    again.add_documents([Document(id="b", title="More", content="Balances")])
    assert retriever.get_document_count() == (2 if is_stored else 1)


def test_a_retriever_searches_in_another_process(retriever: BM25SRetriever) -> None:
    found = retriever.retrieve_documents("account balances")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(retriever.retrieve_documents, ("account balances",)) == found


def test_a8_responses_have_the_documented_shape(retriever: BM25SRetriever) -> None:
    response = retriever.retrieve_documents("limit order")
    assert set(response) == RESPONSE
    assert set(response["documents"][0]) == DOCUMENT
    assert response["cutoff_percentage"] == 10.0
    response["documents"][0]["metadata"]["access_level"] = "changed"
    again = retriever.retrieve_documents("limit order")["documents"][0]
    assert again["metadata"] == {"access_level": "admin"}


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0},
        {"temperature": "0.5"},
        {"temperature": float("nan")},
        {"llm_tools_cutoff": 100.5},
        {"llm_tools_cutoff": [10]},
        {"ignore_zero": "yes"},
    ],
)
def test_a8_wrong_option_values_come_back_in_the_error_shape(
    retriever: BM25SRetriever, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_retriever", retriever)
    ((name, value),) = options.items()
    for response in (
        retriever.retrieve_documents("limit order", **options),
        shortlist.retrieve_documents("limit order", **options),
        shortlist.retrieve_documents("limit order", [Document("a", "A", "order")], **options),
    ):
        message = response.pop("message")
        assert name in message
        assert repr(value) in message
        assert response == {
            "success": False,
            "documents": [],
            "total_retrieved": 0,
            "cutoff_percentage": 0.0,
            "settings": {"temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10.0},
        }


@pytest.mark.parametrize("query", [None, 7, "", "the of and"])
def test_a8_queries_without_a_word_come_back_in_the_error_shape(retriever: BM25SRetriever, query: Any) -> None:
    response = retriever.retrieve_documents(query)
    assert set(response) == RESPONSE
    assert (response["success"], response["documents"], response["cutoff_percentage"]) == (False, [], 0.0)


def test_a8_unknown_arguments_raise(retriever: BM25SRetriever) -> None:
    with pytest.raises(TypeError, match="top_k"):
        retriever.retrieve_documents("order", top_k=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="top_k"):
        shortlist.retrieve_documents("order", [Document("a", "A", "order")], top_k=3)  # type: ignore[call-arg]


def test_a9_variables_reach_the_shared_retriever(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from shortlist import get_retriever; print(get_retriever().get_settings())"],
        cwd=folder,
        env={**os.environ, "BM25S_TEMPERATURE": "0.77", "BM25S_IGNORE_ZERO": "false", "BM25S_CUTOFF": "3"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == "BM25SSettings(temperature=0.77, ignore_zero=False, llm_tools_cutoff=3.0)\n"


def test_a9_arguments_win_over_variables_and_variables_over_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "settings.yaml").write_text("bm25s: {temperature: 2, llm_tools_cutoff: 20}\nother: {program: 1}\n")
    assert BM25SRetriever().get_settings() == BM25SSettings(2.0, True, 20.0)
    monkeypatch.setenv("BM25S_CUTOFF", "30")
    assert BM25SRetriever().get_settings() == BM25SSettings(2.0, True, 30.0)
    assert shortlist.get_retriever().get_settings() == BM25SSettings(2.0, True, 30.0)
    assert BM25SRetriever(BM25SSettings()).get_settings() == BM25SSettings()
    assert shortlist.retrieve_documents("order", [Document("a", "A", "order")])["cutoff_percentage"] == 30.0


def test_a9_source_and_encoding_reach_the_retriever(folder: Path) -> None:
    (folder / "settings.yaml").write_text("documents: {source: mine/latin.yaml, encoding: latin-1}\n")
    (folder / "mine").mkdir()
    text = "documents:\n- {id: cafe, title: Café, content: Kaffee bestellen}\n"
    (folder / "mine" / "latin.yaml").write_text(text, "latin-1")
    (document,) = BM25SRetriever().get_documents()
    assert document.title == "Café"
    assert BM25SRetriever(document_file="source_files/tools_list.yaml").get_document_count() == 3
    assert BM25SRetriever(document_file=None).get_document_count() == 0
    (folder / "mine" / "latin.yaml").unlink()
    with pytest.raises(SourceError, match=r"latin\.yaml"):
        BM25SRetriever()


@pytest.mark.parametrize(
    ("text", "variable", "message"),
    [
        ("bm25s: {temperature: 11}", "", "settings.yaml: bm25s.temperature .* not 11"),
        ("bm25s: {temprature: 1}", "", "Did you mean 'bm25s.temperature'"),
        ("bm25s: [", "", "settings.yaml is not valid YAML"),
        ("", "hot", "BM25S_TEMPERATURE: bm25s.temperature .* not 'hot'"),
    ],
)
def test_a9_wrong_values_are_errors_that_name_their_origin(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, variable: str, message: str
) -> None:
    (folder / "settings.yaml").write_text(text)
    monkeypatch.setenv("BM25S_TEMPERATURE", variable)
    with pytest.raises(InputError, match=message):
        BM25SRetriever()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service, started with the documented settings.yaml; only the port is another."""
    folder: Path = tmp_path_factory.mktemp("service")
    write_catalog(folder)
    (folder / "settings.yaml").write_text(SETTINGS_YAML, "utf-8")
    running = Service(folder, SHORTLIST_DATA_DIR=str(folder / "data"))
    yield running
    running.end()


@pytest.fixture
def client(service: Service) -> Iterator[BM25SClient]:
    with BM25SClient(service.url, timeout=30) as client:
        client.index_documents(CATALOG)
        client.update_settings(BM25SSettings().to_dict())
        yield client


def test_a9_the_documented_settings_file_starts_the_service_on_loopback(service: Service) -> None:
    assert service.url.startswith("http://127.0.0.1:")
    (warning,) = [line["message"] for line in service.lines if line["level"] == "warning"]
    for part in ("settings.yaml", "0.0.0.0", "127.0.0.1", "SHORTLIST_TOKEN", "--allow-anonymous"):
        assert part in warning


def test_a9_the_documented_settings_file_starts_without_its_catalog(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(SETTINGS_YAML, "utf-8")
    running = Service(tmp_path, SHORTLIST_DATA_DIR=str(tmp_path / "data"))
    assert running.http.get("/documents").json() == {"success": True, "documents": [], "count": 0}
    assert running.end() == (0, "")


def test_a9_the_host_of_the_file_holds_with_a_token_and_is_an_error_on_the_command_line(folder: Path) -> None:
    (folder / "settings.yaml").write_text(SETTINGS_YAML, "utf-8")
    assert load_compat_settings(environment={}).server.host == "127.0.0.1"
    assert load_compat_settings(environment={"SHORTLIST_TOKEN": "word"}).server.host == "0.0.0.0"
    assert load_compat_settings(given={"server.allow_anonymous": True}, environment={}).server.host == "0.0.0.0"
    assert load_compat_settings(environment={"BM25S_HOST": "::1"}).warnings == ()
    with pytest.raises(InputError, match="no token is set"):
        load_compat_settings(given={"server.host": "0.0.0.0"}, environment={})


def test_a9_config_show_and_doctor_report_the_host(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "settings.yaml").write_text(SETTINGS_YAML, "utf-8")
    assert run_cli(["config", "show"]) == 0
    shown = capsys.readouterr()
    (line,) = [line for line in shown.out.splitlines() if line.startswith("server.host ")]
    assert line.split()[1:3] == ["127.0.0.1", "default"]
    assert "SHORTLIST_TOKEN" in shown.err
    run_cli(["doctor"])
    assert "but no token is set" in " ".join(capsys.readouterr().out.split())


def test_a11_every_documented_route_answers(service: Service, client: BM25SClient) -> None:
    assert client.get_documents()["count"] == 3
    requests: list[tuple[str, str, Any]] = [
        ("POST", "/retrieve", {"query": "limit order"}),
        ("POST", "/index", None),
        ("GET", "/documents", None),
        ("POST", "/documents", CATALOG[0]),
        ("DELETE", "/documents/get_quote", None),
        ("POST", "/documents/reload", None),
        ("GET", "/settings", None),
        ("POST", "/settings", {"temperature": 0.5}),
        ("GET", "/status", None),
        ("POST", "/reload", None),
        ("GET", "/document-files", None),
        ("POST", "/switch-document-file", {"file": "tools_list.yaml"}),
        ("POST", "/switch-document-file", {"filename": "tools_list.yaml"}),
        ("GET", "/", None),
        ("GET", "/docs", None),
    ]
    for method, path, body in requests:
        answer = service.http.request(method, path, json=body)
        assert answer.status_code == 200, (method, path, answer.text)


CLIENT_EXAMPLE = """
from bm25s_retriever import BM25SClient

client = BM25SClient(url)

results = client.retrieve(
    "place a limit buy order",
    temperature=0.5,
    llm_tools_cutoff=10.0
)
for doc in results["documents"]:
    print(f"{doc['title']}: {doc['softmax_score']:.2%}")

client.add_document({
    "id": "new_tool",
    "title": "New Tool",
    "content": "Tool description",
    "keywords": ["keyword1", "keyword2"],
    "metadata": {"category": "trading"}
})
docs = client.get_documents()
print(f"Total documents: {docs['count']}")
assert docs["count"] == 4
client.delete_document("new_tool")
assert client.get_documents()["count"] == 3
settings = client.get_settings()
print(f"Temperature: {settings['temperature']}")
client.update_settings({
    "temperature": 0.5,
    "llm_tools_cutoff": 10.0
})
client.close()
"""


@pytest.mark.usefixtures("seed_modules", "client")
def test_a12_the_example_of_the_client_runs_verbatim(service: Service) -> None:
    results = run(CLIENT_EXAMPLE, url=service.url)["results"]
    assert [doc["id"] for doc in results["documents"]] == ["place_limit_order"]


@pytest.mark.parametrize("as_dict", [False, True])
def test_a12_the_client_sends_documents_of_the_package(client: BM25SClient, as_dict: bool) -> None:
    one = Document("new", "New Tool", "Tool description", ["shiny"], {"category": "x"}, kind="skill", source="s.md")
    client.add_document(one.to_dict() if as_dict else one)
    sent = next(row for row in client.get_documents()["documents"] if row["id"] == "new")
    assert sent == {
        "id": "new",
        "title": "New Tool",
        "content": "Tool description",
        "keywords": ["shiny"],
        "metadata": {"category": "x"},
    }
    assert client.retrieve("shiny")["documents"][0]["id"] == "new"
    assert client.index_documents([one.to_dict() if as_dict else one])["count"] == 1


def test_a12_keywords_and_metadata_may_be_null(client: BM25SClient) -> None:
    client.add_document({"id": "bare", "title": "Bare", "content": "x", "keywords": None, "metadata": None})
    bare = client.get_documents()["documents"][-1]
    assert (bare["keywords"], bare["metadata"]) == ([], {})


def test_a12_the_client_has_the_names_of_the_package(client: BM25SClient) -> None:
    assert client.timeout == 30.0
    before = client.get_documents()
    assert before["success"] is True
    one, other = ({"id": id, "title": id, "content": "kettle"} for id in ("one", "other"))
    client.index_documents([one], rebuild=False)
    assert client.get_documents()["count"] == before["count"] + 1
    client.index_documents([Document("one", "one", "kettle").copy(), other])
    assert [document["id"] for document in client.get_documents()["documents"]] == ["one", "other"]
    for reload in (client.reload_documents, client.reload_index):
        assert reload()
    with pytest.raises(ServiceError, match=r"body\.parameters: unknown field"):
        client.add_document({**one, "parameters": {}})
    client.index_documents(before["documents"])


def test_a11_the_fields_of_the_package_are_accepted(service: Service) -> None:
    body = {"filename": "tools_list.yaml", "confirmed": True}
    assert service.http.post("/switch-document-file", json=body).status_code == 200
    wanted = {"query": "place a limit order", "disclose_level": "body", "min_score": None}
    (found, *_) = service.http.post("/v1/corpora/catalog/discover", json=wanted).json()["results"]
    assert found["level"] == "body"


def test_a2_a_copy_of_a_document_is_a_dict_of_its_own() -> None:
    document = Document(id="a", title="A", content="Text", keywords=["k"], metadata={"of": {"me": 1}})
    copied = document.copy()
    assert copied == {"id": "a", "title": "A", "content": "Text", "keywords": ["k"], "metadata": {"of": {"me": 1}}}
    copied["metadata"]["of"]["me"] = 2
    assert document.metadata == {"of": {"me": 1}}


def test_a9_the_encoding_applies_to_a_file_that_is_named(folder: Path) -> None:
    (folder / "settings.yaml").write_text("documents:\n  encoding: latin-1\n", "utf-8")
    (folder / "own.yaml").write_bytes("documents:\n- {id: a, title: Café, content: Kaffee}\n".encode("latin-1"))
    (document,) = BM25SRetriever(BM25SSettings(), document_file="own.yaml").get_documents()
    assert document.title == "Café"


def test_a1_an_entry_without_content_is_named_once(folder: Path) -> None:
    (folder / "bad1.yaml").write_text("documents:\n- {id: a, title: A, content: x}\n- {id: b, title: B}\n", "utf-8")
    with pytest.raises(SourceError) as caught:
        BM25SRetriever(document_file="bad1.yaml")
    assert str(caught.value) == "bad1.yaml was not loaded. In entry 2 of bad1.yaml (b), content is missing."


def test_a9_config_show_lists_the_variables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["config", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variables"].keys() >= KEYS.variables.keys()


def test_a12_failures_raise_the_message_of_the_service(client: BM25SClient) -> None:
    with pytest.raises(ServiceError, match="'nothing'") as error:
        client.delete_document("nothing")
    assert error.value.status == 404
    with pytest.raises(ServiceError, match="temperature") as error:
        client.update_settings({"temperature": 99})
    assert error.value.status == 422
    with pytest.raises(InputError, match="not list"):
        client.add_document([])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="JSON"):
        client.add_document({"id": "x", "title": "x", "content": "x", "metadata": {"when": Path()}})

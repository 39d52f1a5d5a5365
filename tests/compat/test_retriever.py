"""The softmax retriever: its results are computed by hand, its documents are exactly those given, also with threads."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
from pathlib import Path
from typing import Any

import bm25s
import pytest
import Stemmer
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shortlist import Document, InputError, SourceError
from shortlist.compat import BM25SRetriever, BM25SSettings, get_retriever, retrieve_documents
from shortlist.compat import retriever as module
from shortlist.compat.retriever import retriever_corpus

TOOLS = [
    Document("place_order", "Place Order", "Place a limit buy order", ["trading", "stocks"], {"level": "admin"}),
    Document("get_account", "Get Account Summary", "Retrieve account balances and positions", ["account"]),
    Document("weather", "Weather", "Forecast for a city", metadata={"nested": {"list": [1]}}),
]
FIELDS = ["id", "title", "content", "keywords", "metadata", "bm25_score", "softmax_score"]
WORDS = ["apple", "berry", "cherry", "grape", "lemon", "melon"]


def of(*documents: Document, **settings: Any) -> BM25SRetriever:
    made = BM25SRetriever(BM25SSettings(**settings), document_file=None)
    made.add_documents(documents)
    return made


def ids(response: dict[str, Any]) -> list[str]:
    assert response["success"], response["message"]
    return [document["id"] for document in response["documents"]]


def catalog(path: Path, *entries: Any) -> Path:
    path.write_text(yaml.safe_dump({"documents": list(entries)}, allow_unicode=True), "utf-8")
    return path


def entry(id: str, content: str = "some words", **others: Any) -> dict[str, Any]:
    return {"id": id, "title": id.title(), "content": content, **others}


# The response


def test_an_error_of_the_corpus_is_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    made = of(*TOOLS)
    made.corpus.close()
    assert made.retrieve_documents("order")["success"] is False
    (record,) = caplog.records
    assert record.getMessage().startswith("A retrieval failed: ")
    assert not record.exc_info


def test_a_response_has_the_documented_shape() -> None:
    response = of(*TOOLS).retrieve_documents("place a limit buy order")
    (found,) = response.pop("documents")
    assert list(found) == FIELDS
    assert found["softmax_score"] == 1.0
    assert {key: found[key] for key in FIELDS[:5]} == {
        "id": "place_order",
        "title": "Place Order",
        "content": "Place a limit buy order",
        "keywords": ["trading", "stocks"],
        "metadata": {"level": "admin"},
    }
    assert response == {
        "success": True,
        "message": "Retrieved 1 of 1 document",
        "total_retrieved": 1,
        "cutoff_percentage": 10.0,
        "settings": {"temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10.0},
    }


def test_scores_are_those_of_bm25_in_lucenes_form_with_their_softmax() -> None:
    response = of(Document("a", "", "red apple"), Document("b", "", "apple pie with cream")).retrieve_documents("apple")
    idf, average = math.log(1 + (2 - 2 + 0.5) / (2 + 0.5)), (2 + 3) / 2
    scores = [idf / (1 + 1.5 * (0.25 + 0.75 * length / average)) for length in (2, 3)]
    powers = [math.exp(score / 0.5) for score in scores]
    found = response["documents"]
    assert [document["bm25_score"] for document in found] == pytest.approx(scores, rel=1e-12)
    assert [document["softmax_score"] for document in found] == pytest.approx(
        [power / sum(powers) for power in powers], rel=1e-12
    )


texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@given(
    st.lists(st.tuples(texts, texts, st.lists(st.sampled_from(WORDS), max_size=3)), min_size=1, max_size=8),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True),
    st.floats(0.1, 10),
    st.booleans(),
    st.floats(0, 100),
)
def test_a_response_is_the_softmax_of_what_bm25s_scores(
    rows: list[tuple[str, str, list[str]]],
    query: list[str],
    temperature: float,
    ignore_zero: bool,
    cutoff: float,
) -> None:
    documents = [Document(str(at), *row) for at, row in enumerate(rows)]
    expected = bm25s_scores([" ".join([title, content, *keywords]) for title, content, keywords in rows], query)
    shown = {at: score for at, score in enumerate(expected) if score > 0 or not ignore_zero}
    total = sum(math.exp(score / temperature) for score in shown.values())
    shares = {str(at): math.exp(score / temperature) / total for at, score in shown.items()}
    response = of(*documents).retrieve_documents(
        " ".join(query), temperature=temperature, ignore_zero=ignore_zero, llm_tools_cutoff=cutoff
    )
    assert response["success"]
    assert response["total_retrieved"] == len(shown)
    found = {document["id"]: document for document in response["documents"]}
    surely = {id for id, share in shares.items() if share > cutoff / 100 + 1e-6}
    perhaps = {id for id, share in shares.items() if share > cutoff / 100 - 1e-6}
    assert surely <= set(found) <= perhaps
    for id, document in found.items():
        assert document["bm25_score"] == pytest.approx(expected[int(id)], rel=1e-5, abs=1e-7)
        assert document["softmax_score"] == pytest.approx(shares[id], rel=1e-4)
    scores = [document["softmax_score"] for document in response["documents"]]
    assert scores == sorted(scores, reverse=True)


def bm25s_scores(texts: list[str], query: list[str]) -> list[float]:
    """The scores of the library that is imitated; it cannot index texts without a word."""
    options: dict[str, Any] = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    tokens = bm25s.tokenize(texts, return_ids=False, **options)
    if not any(tokens):
        return [0.0] * len(texts)
    model = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    model.index(tokens, show_progress=False)
    (asked,) = bm25s.tokenize([" ".join(query)], return_ids=False, **options)
    known = [word for word in asked if word in model.vocab_dict]
    return [float(score) for score in model.get_scores(known)] if known else [0.0] * len(texts)


def test_what_ties_comes_in_the_order_in_which_it_was_added() -> None:
    made = of(*(Document(id, "", "same words") for id in "cab"))
    assert ids(made.retrieve_documents("words")) == ["c", "a", "b"]


def test_the_cutoff_is_a_percentage_and_what_reaches_it_stays() -> None:
    made = of(*(Document(str(at), "", "same words") for at in range(10)))
    assert len(ids(made.retrieve_documents("words", llm_tools_cutoff=10))) == 10
    none = made.retrieve_documents("words", llm_tools_cutoff=10.001)
    assert (ids(none), none["total_retrieved"], none["cutoff_percentage"]) == ([], 10, 10.001)


def test_without_ignore_zero_documents_that_share_no_word_count_too() -> None:
    made = of(*TOOLS)
    response = made.retrieve_documents("forecast", ignore_zero=False, llm_tools_cutoff=0)
    assert ids(response) == ["weather", "place_order", "get_account"]
    assert [document["bm25_score"] for document in response["documents"]][1:] == [0.0, 0.0]
    made.delete_documents("get_account")
    assert made.retrieve_documents("forecast", ignore_zero=False)["total_retrieved"] == 2


def test_title_content_and_keywords_are_searchable_and_nothing_else_is() -> None:
    made = of(Document("identity", "heading", "body", ["label"], {"secret": "hidden"}))
    for word in ("heading", "body", "label"):
        assert ids(made.retrieve_documents(word)) == ["identity"]
    for word in ("identity", "secret", "hidden", "keyword", "keywords", "title", "content", "text"):
        response = made.retrieve_documents(word)
        assert (ids(response), response["total_retrieved"]) == ([], 0)


@pytest.mark.parametrize("query", ["customer profile", "getCustomerProfile", "CustomerProfile", "get_customer_profile"])
@pytest.mark.parametrize("title", ["get_customer_profile", "getCustomerProfile"])
def test_a_name_is_found_by_its_words_however_it_is_spelled(title: str, query: str) -> None:
    assert ids(of(Document("a", title, ""), *TOOLS).retrieve_documents(query)) == ["a"]


def test_chinese_is_found_by_a_part_of_it() -> None:
    assert ids(of(Document("a", "天气预报", ""), *TOOLS).retrieve_documents("天气")) == ["a"]


def test_what_is_returned_is_a_copy() -> None:
    made = of(*TOOLS)
    found = made.retrieve_documents("forecast")["documents"][0]
    found["metadata"]["nested"]["list"].append(2)
    found["keywords"].append("changed")
    made.get_documents()[0].metadata["level"] = "none"
    again = made.retrieve_documents("forecast")["documents"][0]
    assert (again["metadata"], again["keywords"]) == ({"nested": {"list": [1]}}, [])
    assert made.get_documents()[0].metadata == {"level": "admin"}


def test_what_is_given_is_copied_too() -> None:
    metadata: dict[str, Any] = {"a": [1]}
    made = of(Document("a", "apple", "", metadata=metadata))
    metadata["a"].append(2)
    assert made.retrieve_documents("apple")["documents"][0]["metadata"] == {"a": [1]}


# Failures, in the same shape


@pytest.mark.parametrize(
    ("documents", "query", "message"),
    [
        ([], "apple", "No documents indexed"),
        (TOOLS, "", "The query has no searchable word"),
        (TOOLS, "the of and", "The query has no searchable word"),
        (TOOLS, "!!! ...", "The query has no searchable word"),
        (TOOLS, None, "The query is a string, not NoneType."),
    ],
)
def test_what_cannot_be_answered_comes_in_the_same_shape(documents: list[Document], query: Any, message: str) -> None:
    assert of(*documents).retrieve_documents(query, temperature=2) == {
        "success": False,
        "message": message,
        "documents": [],
        "total_retrieved": 0,
        "cutoff_percentage": 0.0,
        "settings": {"temperature": 2.0, "ignore_zero": True, "llm_tools_cutoff": 10.0},
    }


def test_any_other_failure_has_that_shape_as_well() -> None:
    made = of(*TOOLS)
    made.corpus.close()
    response = made.retrieve_documents("forecast")
    assert (response["success"], response["documents"], response["cutoff_percentage"]) == (False, [], 0.0)
    assert "closed" in response["message"]


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="top_k"):
        of(*TOOLS).retrieve_documents("forecast", top_k=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="top_k"):
        retrieve_documents("forecast", TOOLS, top_k=3)  # type: ignore[call-arg]


# Settings


@pytest.mark.parametrize(
    ("name", "value", "range"),
    [
        *(("temperature", value, "0.1 to 10") for value in (0.09, 10.01, -1, math.nan, math.inf, "0.5", True)),
        *(("llm_tools_cutoff", value, "0 to 100") for value in (-0.1, 100.1, math.nan, "10", False)),
        *(("ignore_zero", value, "true or false") for value in (1, "true", 0.0)),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_name(name: str, value: Any, range: str) -> None:
    made = of(*TOOLS)
    settings = made.get_settings()
    for refused in (
        lambda: BM25SSettings(**{name: value}),
        lambda: setattr(settings, name, value),
    ):
        with pytest.raises(InputError, match=f"{name} must be .*{range}"):
            refused()
    assert made.get_settings() == BM25SSettings()


def test_the_borders_of_the_ranges_are_allowed() -> None:
    assert BM25SSettings(0.1, False, 0).to_dict() == {"temperature": 0.1, "ignore_zero": False, "llm_tools_cutoff": 0.0}
    assert BM25SSettings(10, True, 100) == BM25SSettings(temperature=10.0, ignore_zero=True, llm_tools_cutoff=100.0)


def test_there_is_no_other_setting() -> None:
    settings = BM25SSettings()
    with pytest.raises(InputError, match="temprature"):
        settings.temprature = 1.0


def test_settings_that_were_given_or_got_are_copies() -> None:
    mine = BM25SSettings(temperature=1)
    made = BM25SRetriever(mine, document_file=None)
    mine.temperature = 2
    made.get_settings().temperature = 3
    assert made.get_settings().temperature == 1.0
    made.update_settings(BM25SSettings(llm_tools_cutoff=20))
    made.add_documents(TOOLS)
    assert made.retrieve_documents("forecast")["cutoff_percentage"] == 20.0
    with pytest.raises(InputError, match="BM25SSettings"):
        made.update_settings({"temperature": 1})  # type: ignore[arg-type]


def test_an_option_is_for_one_call() -> None:
    made = of(*TOOLS, temperature=1)
    assert made.retrieve_documents("forecast", temperature=3, llm_tools_cutoff=20)["settings"] == {
        "temperature": 3.0,
        "ignore_zero": True,
        "llm_tools_cutoff": 20.0,
    }
    assert made.retrieve_documents("forecast", temperature=None)["settings"]["temperature"] == 1.0


# Documents


def test_the_same_id_replaces_and_of_one_list_the_last_counts() -> None:
    made = of(Document("a", "", "apple"), Document("b", "", "berry"), Document("a", "", "cherry"))
    assert [document.id for document in made.get_documents()] == ["a", "b"]
    assert ids(made.retrieve_documents("cherry")) == ["a"]
    made.add_documents([Document("a", "", "grape")])
    assert (made.get_document_count(), ids(made.retrieve_documents("grape"))) == (2, ["a"])
    assert ids(made.retrieve_documents("cherry")) == []


def test_what_was_deleted_stays_away_through_a_rebuild() -> None:
    made = of(*TOOLS)
    assert made.delete_documents(["weather", "nothing"]) == 1
    assert made.delete_documents("weather") == 0
    made.rebuild_index()
    assert (made.get_document_count(), ids(made.retrieve_documents("forecast"))) == (2, [])


def test_a_rebuild_replaces_all_documents_by_those_given_if_only_by_none() -> None:
    made = of(*TOOLS)
    made.rebuild_index()
    assert made.get_documents() == TOOLS
    made.rebuild_index([Document("a", "", "apple")])
    assert [document.id for document in made.get_documents()] == ["a"]
    made.rebuild_index([])
    assert made.get_document_count() == 0
    assert made.retrieve_documents("apple")["message"] == "No documents indexed"


def test_one_bad_document_is_named_and_none_is_taken() -> None:
    made = of(*TOOLS)
    bad = Document("bad", "", "", metadata={"function": print})
    for change in (made.add_documents, made.rebuild_index):
        with pytest.raises(InputError, match=r"The document 'bad' .*: Its metadata"):
            change([Document("good", "", ""), bad])
    with pytest.raises(InputError, match=r"Document 1 is not a Document"):
        made.add_documents([{"id": "a"}])  # type: ignore[list-item]
    with pytest.raises(InputError, match="list of Documents"):
        made.add_documents(TOOLS[0])  # type: ignore[arg-type]
    assert made.get_documents() == TOOLS


@pytest.mark.parametrize("content", ["", "the the", "!!!", "a", "\ud800"])
def test_documents_without_a_searchable_word_are_kept_and_do_no_harm(content: str) -> None:
    made = of(Document("empty", "", content))
    assert made.retrieve_documents("apple")["documents"] == []
    made.add_documents([Document("apple", "", "apple")])
    assert ids(made.retrieve_documents("apple")) == ["apple"]
    assert made.get_document_count() == 2


def test_a_long_document_of_any_kind_is_one_document() -> None:
    made = of(Document("a", "", "apple. " * 1000, kind="file"), Document("b", "", "apple"))
    response = made.retrieve_documents("apple")
    assert (response["total_retrieved"], ids(response)) == (2, ["a", "b"])


# Catalogs


def test_without_a_file_that_anybody_named_there_is_an_empty_retriever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = BM25SRetriever()
    assert made.get_document_count() == 0
    with pytest.raises(SourceError, match=r"tools_list\.yaml cannot be read"):
        made.reload_documents()
    (tmp_path / "source_files").mkdir()
    catalog(tmp_path / "source_files" / "tools_list.yaml", entry("a"))
    assert BM25SRetriever().get_document_count() == 1
    assert made.reload_documents() == 1


def test_a_file_that_was_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("nothing.yaml", tmp_path / "nothing.json", "source_files/tools_list" + ".yaml"):
        with pytest.raises(SourceError, match=Path(file).name):
            BM25SRetriever(document_file=file)


def test_yaml_and_json_catalogs_are_read_in_their_encoding(tmp_path: Path) -> None:
    entries = [entry("a", "café", keywords=["one"], metadata={"x": {"y": [1]}}), entry("b")]
    expected = [
        Document("a", "A", "café", ["one"], {"x": {"y": [1]}}, kind="tool"),
        Document("b", "B", "some words", kind="tool"),
    ]
    (tmp_path / "tools.json").write_text(json.dumps({"documents": entries}), "utf-8")
    for file in (catalog(tmp_path / "tools.yaml", *entries), tmp_path / "tools.json"):
        assert BM25SRetriever(document_file=file).get_documents() == expected
        (tmp_path / "latin").write_bytes(file.read_text("utf-8").encode("latin-1"))
        assert BM25SRetriever(document_file=str(tmp_path / "latin"), encoding="latin-1").get_documents() == expected
    (tmp_path / "latin").write_bytes("documents: [café]".encode("latin-1"))
    with pytest.raises(SourceError, match="latin cannot be read"):
        BM25SRetriever(document_file=tmp_path / "latin")
    with pytest.raises(SourceError, match="unknown encoding"):
        BM25SRetriever(document_file=tmp_path / "tools.yaml", encoding="klingon")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("text", "a mapping is expected, not str"),
        ({"id": "bad", "title": "Bad"}, "content is missing"),
        ({"id": 7, "title": "Bad", "content": ""}, "id must be a string"),
        (entry("bad", keywords="word"), "keywords must be a list of strings"),
        (entry("bad", metadata=["x"]), "metadata must be a mapping"),
        (entry(" "), "id is empty"),
        (entry("good"), "its id is not unique"),
    ],
)
def test_one_bad_entry_is_named_with_file_and_reason(tmp_path: Path, bad: Any, reason: str) -> None:
    file = catalog(tmp_path / "tools.yaml", entry("good"), bad, entry("fine"))
    with pytest.raises(SourceError, match=rf"tools\.yaml .*[Ee]ntry 2 .*{reason}"):
        BM25SRetriever(document_file=file)


@pytest.mark.parametrize("text", ["documents: [", "", "tools: []", "documents: {a: b}", "{", "\x00"])
def test_a_broken_file_is_an_error_and_a_reload_of_one_changes_nothing(tmp_path: Path, text: str) -> None:
    file = catalog(tmp_path / "tools.yaml", entry("a"))
    made = BM25SRetriever(document_file=file)
    made.add_documents(TOOLS)
    file.write_text(text)
    with pytest.raises(SourceError, match=r"tools\.yaml"):
        BM25SRetriever(document_file=file)
    with pytest.raises(SourceError, match=r"tools\.yaml"):
        made.reload_documents()
    assert made.get_document_count() == 4


def test_a_reload_makes_it_hold_what_the_file_has_and_may_go_over_to_another(tmp_path: Path) -> None:
    file = catalog(tmp_path / "tools.yaml", entry("a"), entry("b"))
    made = BM25SRetriever(document_file=file)
    made.add_documents(TOOLS)
    assert (made.reload_documents(), made.get_document_count()) == (2, 2)
    other = catalog(tmp_path / "other.yaml", entry("c"))
    assert (made.reload_documents(other), made.document_file) == (1, other)
    with pytest.raises(SourceError, match=r"gone\.yaml"):
        made.reload_documents(tmp_path / "gone.yaml")
    assert (made.document_file, [document.id for document in made.get_documents()]) == (other, ["c"])
    with pytest.raises(SourceError, match="no document file"):
        of().reload_documents()


def test_what_no_file_can_hold_is_replaced_and_all_else_of_its_entry_stays(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([entry("a", "apple \ud800", metadata={"x": 1})]))
    (found,) = BM25SRetriever(document_file=tmp_path / "tools.json").retrieve_documents("apple")["documents"]
    assert (found["content"], found["metadata"]) == ("apple ?", {"x": 1})


def test_an_empty_catalog_is_an_empty_retriever(tmp_path: Path) -> None:
    made = BM25SRetriever(document_file=catalog(tmp_path / "tools.yaml"))
    assert made.retrieve_documents("apple")["message"] == "No documents indexed"


# One for all


def test_a_process_has_one_retriever_whichever_thread_asks_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_retriever", None)
    found: list[BM25SRetriever] = []
    threads = [threading.Thread(target=lambda: found.append(get_retriever())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    found[0].add_documents(TOOLS)
    assert ids(retrieve_documents("forecast")) == ["weather"]
    assert retrieve_documents("forecast", temperature=2)["settings"]["temperature"] == 2.0


def test_documents_of_one_call_leave_the_shared_retriever_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_retriever", None)
    assert ids(retrieve_documents("forecast", TOOLS, llm_tools_cutoff=50)) == ["weather"]
    assert retrieve_documents("forecast", [])["message"] == "No documents indexed"
    assert get_retriever().get_document_count() == 0


# Many at once, and for long


@pytest.mark.parametrize("on_disk", [False, True])
def test_eight_threads_read_while_one_writes_and_no_read_fails(tmp_path: Path, on_disk: bool) -> None:
    made = BM25SRetriever(document_file=None, corpus=retriever_corpus(tmp_path / "kept" if on_disk else None))
    made.add_documents([Document(f"steady{at}", "", f"steady word{at}") for at in range(50)])
    wrong: list[Any] = []
    reads = [0] * 8
    done = threading.Event()

    def read(reader: int) -> None:
        while not done.is_set():
            response = made.retrieve_documents("steady passing", llm_tools_cutoff=0, ignore_zero=reader % 2 == 0)
            steady = sum(document["id"].startswith("steady") for document in response["documents"])
            if not response["success"] or steady != 50:
                wrong.append(response)
            reads[reader] += 1

    threads = [threading.Thread(target=read, args=(reader,)) for reader in range(8)]
    for thread in threads:
        thread.start()
    try:
        for at in range(40):
            made.add_documents([Document("passing", "", f"passing {at}")])
            if at % 3 == 0:
                made.delete_documents("passing")
            if at % 10 == 0:
                made.rebuild_index()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert all(reads)


def test_a_corpus_on_disk_keeps_what_was_added_and_deleted(tmp_path: Path) -> None:
    file = catalog(tmp_path / "tools.yaml", entry("a", "apple"), entry("b", "berry"))
    with retriever_corpus(tmp_path / "kept") as corpus:
        made = BM25SRetriever(document_file=file, corpus=corpus)
        assert made.get_document_count() == 0
        made.reload_documents()
        made.delete_documents("a")
        made.add_documents(TOOLS)
    with retriever_corpus(tmp_path / "kept") as corpus:
        made = BM25SRetriever(document_file=file, corpus=corpus)
        assert [document.id for document in made.get_documents()] == ["b", *(tool.id for tool in TOOLS)]
        assert ids(made.retrieve_documents("forecast")) == ["weather"]


def test_a_corpus_of_parts_of_documents_is_refused() -> None:
    corpus = retriever_corpus()
    corpus.add([Document("a", "", "A long text. " * 200, kind="file")])
    with pytest.raises(InputError, match="retriever_corpus"):
        BM25SRetriever(corpus=corpus)


def test_the_settings_are_a_dataclass_with_the_documented_fields() -> None:
    assert [field.name for field in dataclasses.fields(BM25SSettings)] == [
        "temperature",
        "ignore_zero",
        "llm_tools_cutoff",
    ]

"""A registry of tools: its scores are those of the embedder and the cosine that it does without."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shortlist import SourceError
from shortlist.compat import CosineSimilarity, SearchQuery, SearchResult, SimpleEmbedder, ToolIndex, ToolRecord
from shortlist.compat.tool_index import read_tools

WEB = ToolRecord(
    tool_id="web_search",
    name="Web Search",
    description="Search the internet for current information",
    tags=["search", "Web"],
    capabilities=["keyword search", "news lookup"],
)
MAIL = ToolRecord(tool_id="send_email", name="Send Email", description="Send a message", tags=["Communication"])
SQL = ToolRecord(tool_id="execute_sql", name="Database Query", description="Run SQL queries", tags=["database"])


def built(*tools: ToolRecord) -> ToolIndex:
    index = ToolIndex()
    for tool in tools:
        index.add_tool(tool)
    index.build_index()
    return index


def found(index: ToolIndex, text: str, **options: Any) -> list[str]:
    return [result.tool.tool_id for result in index.search(SearchQuery(query_text=text, **options))]


# Models


def test_models_have_the_documented_fields_and_defaults() -> None:
    tool = ToolRecord(tool_id="a", name="A", description="about")
    assert tool.model_dump() == {
        "tool_id": "a",
        "name": "A",
        "description": "about",
        "tags": [],
        "capabilities": [],
        "embedding": None,
    }
    assert SearchQuery(query_text="x").model_dump() == {"query_text": "x", "tags_filter": None, "top_k": 10}
    for model, fields in ((ToolRecord, {"tool_id": "a", "name": "A"}), (SearchQuery, {}), (SearchResult, {"rank": 1})):
        with pytest.raises(ValidationError):
            model(**fields)
    with pytest.raises(ValidationError, match="top_k"):
        SearchQuery(query_text="x", top_k=0)


def test_models_round_trip_before_and_after_they_were_indexed() -> None:
    index = built(WEB, MAIL)
    (result,) = index.search(SearchQuery(query_text="internet"))
    for model in (WEB, ToolRecord(**WEB.model_dump(exclude={"embedding"}), embedding=[0.5]), result):
        assert type(model).model_validate(model.model_dump(mode="json")) == model
        assert type(model).model_validate_json(model.model_dump_json()) == model
    assert index.get_tool("web_search") == WEB


# Embedder and cosine

words = st.lists(st.sampled_from(["web", "mail", "sql", "run", "find", "a1", "Web"]), max_size=6)
texts = words.map(" ".join)


@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_an_embedding_is_tf_idf_of_length_one(documents: list[str], text: str) -> None:
    embedder = SimpleEmbedder()
    embedder.fit(documents)
    vocabulary = sorted({word.lower() for document in documents for word in document.split()})
    expected = []
    for word in vocabulary:
        df = sum(word in document.lower().split() for document in documents)
        expected.append(text.lower().split().count(word) * (math.log((len(documents) + 1) / (df + 1)) + 1))
    length = math.sqrt(sum(value * value for value in expected))
    assert embedder.embed(text) == pytest.approx([value / length if length else 0.0 for value in expected])


def test_an_embedder_knows_only_what_it_was_last_fitted_to() -> None:
    embedder = SimpleEmbedder()
    assert embedder.embed("web") == []
    embedder.fit(["search the Web-2", "café_x"])
    assert len(embedder.embed("")) == len({"search", "the", "web", "2", "caf", "x"})
    assert set(embedder.embed("mail")) == {0.0}
    embedder.fit(["mail"])
    assert (embedder.embed("MAIL!"), embedder.embed("web")) == ([1.0], [0.0])


def test_the_cosine_of_vectors() -> None:
    compute = CosineSimilarity.compute
    assert compute([1.0, 0.0], [1.0, 1.0]) == pytest.approx(1 / math.sqrt(2))
    assert (compute([1.0], [-2.0]), compute([3.0, 4.0], [3.0, 4.0])) == (-1.0, 1.0)
    assert compute([], []) == compute([0.0, 0.0], [1.0, 2.0]) == 0.0
    with pytest.raises(ValueError, match="length mismatch: 1 and 2"):
        compute([1.0], [1.0, 2.0])


# The index


@given(st.lists(st.tuples(texts, texts, words, words), min_size=1, max_size=8), texts, st.integers(1, 9))
def test_a_search_is_the_cosine_of_embeddings(
    rows: list[tuple[str, str, list[str], list[str]]], query: str, top_k: int
) -> None:
    tools = [
        ToolRecord(tool_id=str(at), name=name, description=about, tags=tags, capabilities=able)
        for at, (name, about, tags, able) in enumerate(rows)
    ]
    embedder = SimpleEmbedder()
    embedder.fit([" ".join([name, about, *tags, *able]) for name, about, tags, able in rows])
    asked = embedder.embed(query)
    index = built(*tools)
    expected = []
    for tool in tools:
        embedding = getattr(index.get_tool(tool.tool_id), "embedding", None)
        assert embedding == embedder.embed(" ".join([tool.name, tool.description, *tool.tags, *tool.capabilities]))
        expected.append(CosineSimilarity.compute(asked, embedding))
    order = sorted(range(len(tools)), key=lambda at: (-round(expected[at], 9), at))
    order = [at for at in order if expected[at] > 0][:top_k]
    results = index.search(SearchQuery(query_text=query, top_k=top_k))
    assert [int(result.tool.tool_id) for result in results] == order
    assert [result.score for result in results] == pytest.approx([expected[at] for at in order], rel=1e-9)
    assert [result.rank for result in results] == list(range(1, len(order) + 1))


def test_tools_are_scored_from_the_next_build_on() -> None:
    index = ToolIndex()
    index.build_index()
    assert found(index, "search") == []
    index.add_tool(WEB)
    assert found(index, "internet") == []
    assert index.get_tool("web_search") == WEB
    assert getattr(index.get_tool("web_search"), "embedding", 0) is None
    index.build_index()
    index.build_index()
    assert found(index, "internet") == ["web_search"]
    index.add_tool(MAIL)
    assert found(index, "send") == []
    index.build_index()
    assert found(index, "send") == ["send_email"]


def test_the_same_id_replaces_and_what_was_replaced_is_no_longer_found() -> None:
    index = built(WEB, MAIL)
    index.add_tool(WEB.model_copy(update={"description": "Look into the encyclopedia"}))
    assert (found(index, "internet"), found(index, "send")) == ([], ["send_email"])
    assert [tool.tool_id for tool in index.get_all_tools()] == ["web_search", "send_email"]
    index.build_index()
    assert (found(index, "internet"), found(index, "encyclopedia")) == ([], ["web_search"])


def test_a_query_without_a_known_word_finds_nothing() -> None:
    assert found(built(WEB, MAIL, SQL), "bake bread") == []
    assert found(built(WEB, MAIL, SQL), "") == []


def test_tags_filter_whatever_their_case_and_any_one_will_do() -> None:
    index = built(WEB, MAIL, SQL)
    asked = "search send run"
    assert set(found(index, asked)) == {"web_search", "send_email", "execute_sql"}
    assert set(found(index, asked, tags_filter=["WEB", "communication", "none"])) == {"web_search", "send_email"}
    assert found(index, asked, tags_filter=["none"]) == []
    assert len(found(index, asked, tags_filter=[])) == 3
    assert found(index, asked, tags_filter=["web", "database"], top_k=1) == ["web_search"]


def test_tools_are_found_by_tags_before_any_build() -> None:
    index = ToolIndex()
    for tool in (WEB, MAIL, SQL):
        index.add_tool(tool)
    assert [tool.tool_id for tool in index.search_by_tags(["DATABASE", "search"])] == ["web_search", "execute_sql"]
    assert index.search_by_tags([]) == index.search_by_tags(["none"]) == []


def test_what_is_got_is_there_or_none_and_a_list_is_a_copy() -> None:
    index = built(WEB)
    assert index.get_tool("Web_Search") is None
    index.get_all_tools().clear()
    assert index.get_all_tools() == [WEB]


def test_a_tool_that_is_changed_after_it_was_added_is_not_changed_here() -> None:
    mine = WEB.model_copy(deep=True)
    index = built(mine)
    mine.tags.append("changed")
    assert index.search_by_tags(["changed"]) == []


def test_other_scripts_are_searched_too() -> None:
    tools = {
        "de": "Größe ändern",
        "ru": "Отправить письмо",
        "zh": "发送电子邮件",
        "hi": "मौसम की जानकारी",
        "fr": "l'état du colis",
    }
    index = built(*(ToolRecord(tool_id=id, name=name, description="") for id, name in tools.items()))
    queries = {"de": "GRÖSSE", "ru": "письмо", "zh": "邮件", "hi": "मौसम", "fr": "état"}
    assert {id: found(index, query) for id, query in queries.items()} == {id: [id] for id in tools}


def test_no_embedding_is_kept_by_the_index_or_written_out() -> None:
    index = built(WEB, MAIL)
    tool = index.get_tool("web_search")
    assert tool is not None
    assert tool.embedding
    assert tool.model_dump()["embedding"] is None
    again = ToolIndex()
    again.add_tool(tool)
    assert getattr(again.get_tool("web_search"), "embedding", 0) is None


def test_eight_threads_search_while_one_adds_and_builds() -> None:
    index = built(*(WEB.model_copy(update={"tool_id": f"web{at}"}) for at in range(50)))
    wrong: list[Any] = []
    reads = [0] * 8
    done = threading.Event()

    def read(reader: int) -> None:
        while not done.is_set():
            try:
                results = found(index, "internet", top_k=100, tags_filter=["web"] if reader % 2 else None)
                if len(results) != 50 or len(index.search_by_tags(["web"])) != 50:
                    wrong.append(results)
            except Exception as error:
                wrong.append(error)
            reads[reader] += 1

    threads = [threading.Thread(target=read, args=(reader,)) for reader in range(8)]
    for thread in threads:
        thread.start()
    for at in range(60):
        index.add_tool(MAIL.model_copy(update={"tool_id": f"mail{at}"}))
        index.build_index()
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert all(reads)


# Files


def test_a_saved_index_is_the_same_when_loaded(tmp_path: Path) -> None:
    index = built(WEB, MAIL, SQL)
    index.save(tmp_path / "deep" / "index.json")
    loaded = ToolIndex.load(tmp_path / "deep" / "index.json")
    query = SearchQuery(query_text="search send queries")
    assert loaded.get_all_tools() == index.get_all_tools()
    assert loaded.search(query) == index.search(query)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["index.json"]


def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "index.json"
    built(WEB).save(file)
    before = file.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        built(WEB, MAIL).save(file)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (before, [file])


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"format": 2, "tools": []}', '{"format": 1, "tools": [{}]}', '{"format": 1, "tools": 3}']
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(SourceError, match=r"index\.json is damaged"):
        ToolIndex.load(tmp_path / "index.json")
    with pytest.raises(SourceError, match=r"nothing\.json cannot be read"):
        ToolIndex.load(tmp_path / "nothing.json")


def test_a_folder_is_read_file_by_file_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf" + WEB.model_dump_json().encode())
    (tmp_path / "inner" / "b.JSON").write_text(json.dumps({"tool_id": "b", "name": "B", "description": "über"}))
    (tmp_path / "c.json").write_text("{")
    (tmp_path / "d.json").write_text('{"tool_id": "d", "name": 3}')
    (tmp_path / "e.json").write_text(WEB.model_dump_json())
    (tmp_path / "f.txt").write_text("no tool")
    tools, wrong = read_tools(tmp_path)
    assert [tool.tool_id for tool in tools] == ["web_search", "b"]
    assert [Path(sentence.split()[0]).name for sentence in wrong] == ["c.json", "d.json", "e.json"]
    assert "name: Input should be a valid string; description: Field required" in wrong[1]
    assert "'web_search'" in wrong[2]
    with pytest.raises(SourceError, match=r"a\.json is not a folder"):
        read_tools(tmp_path / "a.json")

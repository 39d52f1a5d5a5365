"""Seed 002: the tool registry with TF-IDF search (C1 to C5)."""

from __future__ import annotations

import copy
import json
import math
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from shortlist import (
    CosineSimilarity,
    SearchQuery,
    SearchResult,
    SimpleEmbedder,
    SourceError,
    ToolIndex,
    ToolRecord,
)
from shortlist.cli import run as run_cli
from shortlist.compat import tool_index
from tests.parity.seed_modules import run, seed_modules  # noqa: F401

TOOLS = [
    ToolRecord(
        tool_id="web_search",
        name="Web Search",
        description="Search the internet for current information on any topic",
        tags=["search", "Web"],
        capabilities=["keyword search", "news lookup"],
    ),
    ToolRecord(tool_id="email", name="Email", description="Send an email to the user", tags=["communication"]),
    ToolRecord(tool_id="sql", name="SQL", description="Query the database for records", tags=["Database"]),
    ToolRecord(tool_id="chat", name="Chat", description="Send a note to the team", tags=["communication", "Messaging"]),
]


@pytest.fixture
def index() -> ToolIndex:
    made = ToolIndex()
    for tool in TOOLS:
        made.add_tool(tool)
    made.build_index()
    return made


def ids(results: list[SearchResult]) -> list[str]:
    return [result.tool.tool_id for result in results]


EXAMPLES = {
    "c1_tool_record": """
from aumai_toolretrieval import ToolRecord

tool = ToolRecord(
    tool_id="web_search",
    name="Web Search",
    description="Search the internet for current information on any topic",
    tags=["search", "web", "retrieval"],
    capabilities=["keyword search", "news lookup", "fact checking"],
)
assert tool.tool_id == "web_search"
assert tool.embedding is None
data = tool.model_dump(mode="json")   # dict with JSON-serialisable values
json_str = tool.model_dump_json()     # JSON string
restored = ToolRecord.model_validate(data)
assert restored == tool == ToolRecord.model_validate_json(json_str)
""",
    "c1_search_query": """
from aumai_toolretrieval import SearchQuery

q1 = SearchQuery(query_text="send a message to the user")
q2 = SearchQuery(
    query_text="notify the team",
    tags_filter=["communication", "email"],
    top_k=3,
)
assert (q1.tags_filter, q1.top_k) == (None, 10)
""",
    "c1_search_result": """
from aumai_toolretrieval import ToolIndex, ToolRecord, SearchQuery

index = ToolIndex()
index.add_tool(ToolRecord(
    tool_id="web_search",
    name="Web Search",
    description="Search the internet for current information",
    tags=["search"],
    capabilities=["keyword search"],
))
index.build_index()

results = index.search(SearchQuery(query_text="find news online"))
for r in results:
    print(f"rank={r.rank}  score={r.score:.4f}  tool={r.tool.name}")
assert results == []  # no word of the query is known
""",
    "c2_embedder": """
from aumai_toolretrieval import SimpleEmbedder
embedder = SimpleEmbedder()
embedder.fit([
    "search the web for information",
    "send an email to the user",
    "query the database for records",
])
vec = embedder.embed("search for news online")
print(f"Vector dimension: {len(vec)}")
assert abs(sum(v*v for v in vec) ** 0.5 - 1.0) < 1e-9
""",
    "c2_cosine_similarity": """
from aumai_toolretrieval import SimpleEmbedder, CosineSimilarity

embedder = SimpleEmbedder()
embedder.fit(["search the web", "send an email", "run a database query"])

vec_a = embedder.embed("search online for news")
vec_b = embedder.embed("web lookup for information")
vec_c = embedder.embed("send email notification")

print(CosineSimilarity.compute(vec_a, vec_b))
print(CosineSimilarity.compute(vec_a, vec_c))
""",
    "c3_modules": """
from aumai_toolretrieval.models import ToolRecord, SearchQuery, SearchResult
from aumai_toolretrieval.core import SimpleEmbedder, CosineSimilarity, ToolIndex
from aumai_toolretrieval import __version__

assert isinstance(__version__, str)
""",
    "c3_search": """
from aumai_toolretrieval import SearchQuery

results = index.search(SearchQuery(query_text="query the database", top_k=3))
for r in results:
    print(r.rank, r.tool.name, f"score={r.score:.4f}")
assert results[0].tool.tool_id == "sql"
""",
    "c3_search_by_tags": """
comm_tools = index.search_by_tags(["communication", "messaging"])
for tool in comm_tools:
    print(tool.tool_id)
assert sorted(tool.tool_id for tool in comm_tools) == ["chat", "email"]
""",
}


@pytest.mark.usefixtures("seed_modules")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_verbatim(name: str, index: ToolIndex) -> None:
    run(EXAMPLES[name], index=index)


def test_c1_top_k_is_at_least_one_and_results_round_trip(index: ToolIndex) -> None:
    with pytest.raises(ValidationError):
        SearchQuery(query_text="x", top_k=0)
    for result in index.search(SearchQuery(query_text="send")):
        assert SearchResult.model_validate(result.model_dump(mode="json")).rank == result.rank


def test_c2_fit_sets_the_documented_attributes_and_replaces_them() -> None:
    embedder = SimpleEmbedder()
    assert embedder.embed("anything") == []
    embedder.fit(["old words"])
    embedder.fit(["Search the WEB", "the web-2 page", ""])
    assert sorted(embedder._vocab) == ["2", "page", "search", "the", "web"]
    assert {word: embedder._vocab[at] for word, at in embedder._vocab_index.items()} == {w: w for w in embedder._vocab}
    assert embedder._num_docs == 3
    expected = {"2": 1, "page": 1, "search": 1, "the": 2, "web": 2}
    for word, df in expected.items():
        assert embedder._idf[word] == pytest.approx(math.log((3 + 1) / (df + 1)) + 1)


def test_c2_vectors_are_unit_or_zero() -> None:
    embedder = SimpleEmbedder()
    embedder.fit(["one two", "two three"])
    assert math.hypot(*embedder.embed("two two one unknown")) == pytest.approx(1.0)
    assert embedder.embed("unknown") == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("a", "b", "cosine"),
    [([], [], 0.0), ([0, 0], [1, 0], 0.0), ([1, 0], [2, 0], 1.0), ([1, 0], [-1, 0], -1.0), ([1, 0], [0, 3], 0.0)],
)
def test_c2_cosines(a: list[float], b: list[float], cosine: float) -> None:
    assert CosineSimilarity.compute(a, b) == pytest.approx(cosine)


def test_c2_unequal_lengths_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="1 and 2"):
        CosineSimilarity.compute([1.0], [1.0, 2.0])


def test_c3_scores_are_cosines_of_the_embeddings(index: ToolIndex) -> None:
    embedder = SimpleEmbedder()
    embedder.fit([" ".join([tool.name, tool.description, *tool.tags, *tool.capabilities]) for tool in TOOLS])
    results = index.search(SearchQuery(query_text="send the user a search"))
    assert [result.rank for result in results] == [1, 2, 3, 4]
    asked = embedder.embed("send the user a search")
    for result in results:
        assert result.tool.embedding is not None
        assert result.score == pytest.approx(CosineSimilarity.compute(asked, result.tool.embedding), abs=1e-6)
    assert [result.score for result in results] == sorted((result.score for result in results), reverse=True)


def test_c3_a_tool_is_searched_from_the_next_build_on(index: ToolIndex) -> None:
    late = ToolRecord(tool_id="late", name="Late", description="Send flowers")
    index.add_tool(late)
    stored = index.get_tool("late")
    assert stored is not None
    assert stored.embedding is None
    assert "late" not in ids(index.search(SearchQuery(query_text="flowers")))
    index.build_index()
    index.build_index()
    assert ids(index.search(SearchQuery(query_text="flowers"))) == ["late"]
    index.add_tool(late.model_copy(update={"description": "Send cakes"}))
    index.build_index()
    assert index.search(SearchQuery(query_text="flowers")) == []
    assert len(index.get_all_tools()) == 5


def test_c3_tags_are_compared_without_case_and_filter_candidates(index: ToolIndex) -> None:
    assert ids(index.search(SearchQuery(query_text="send", tags_filter=["MESSAGING", "none"]))) == ["chat"]
    assert index.search(SearchQuery(query_text="send", tags_filter=["none"])) == []
    assert [tool.tool_id for tool in index.search_by_tags(["web", "DATABASE"])] == ["web_search", "sql"]
    assert index.search_by_tags(["none"]) == []


def test_c3_lookups_and_an_empty_index(index: ToolIndex) -> None:
    assert index.get_tool("EMAIL") is None
    index.get_all_tools().clear()
    assert len(index.get_all_tools()) == 4
    empty = ToolIndex()
    empty.build_index()
    assert empty.search(SearchQuery(query_text="send")) == []


def test_c3_an_index_survives_pickling(index: ToolIndex) -> None:
    index.add_tool(ToolRecord(tool_id="late", name="Late", description="Send flowers"))
    again = pickle.loads(pickle.dumps(index))
    for text in ("send", "query the database", "flowers"):
        query = SearchQuery(query_text=text, tags_filter=None)
        assert [(r.tool, r.score) for r in again.search(query)] == [(r.tool, r.score) for r in index.search(query)]
    again.build_index()
    assert ids(again.search(SearchQuery(query_text="flowers"))) == ["late"]
    assert index.search(SearchQuery(query_text="flowers")) == []


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_c3_an_index_can_be_copied_after_a_search(index: ToolIndex, duplicate: Any) -> None:
    query = SearchQuery(query_text="send a message", top_k=3)
    found = index.search(query)
    again = duplicate(index)
    assert again.search(query) == found
    assert [tool.embedding for tool in again.get_all_tools()] == [tool.embedding for tool in index.get_all_tools()]
    again.add_tool(ToolRecord(tool_id="late", name="Late", description="Send flowers"))
    again.build_index()
    assert index.get_tool("late") is None
    assert index.search(query) == found


def test_c3_an_index_searches_in_another_process(index: ToolIndex) -> None:
    query = SearchQuery(query_text="send a message", top_k=3)
    found = index.search(query)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(index.search, (query,)) == found


def test_c5_the_index_file_of_the_seed_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "index.json"
    file.write_text(json.dumps([{**tool.model_dump(mode="json"), "embedding": [0.5, 0.5]} for tool in TOOLS]), "utf-8")
    index = ToolIndex.load(file)
    assert [tool.tool_id for tool in index.get_all_tools()] == [tool.tool_id for tool in TOOLS]
    assert all(len(tool.embedding or ()) > 2 for tool in index.get_all_tools())  # of this index, not of the file
    asked = ["tools", "search", "--index-file", str(file), "--query", "send an email", "--top-k", "1"]
    assert run_cli([*asked, "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["tool_id"] == "email"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"tool_id": "a"}]', "tool 1 is not a tool: name: Field required"),
        ('{"format": 9}', "its format is 9"),
        ("7", "not int"),
    ],
)
def test_c5_a_file_that_is_no_index_says_why(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "index.json").write_text(content, "utf-8")
    with pytest.raises(SourceError, match=message):
        ToolIndex.load(tmp_path / "index.json")


def test_c4_a_query_without_a_known_word_finds_nothing(index: ToolIndex) -> None:
    assert index.search(SearchQuery(query_text="zebra unicorn")) == []


def test_c5_a_folder_is_indexed_and_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for tool in TOOLS:
        (tmp_path / f"{tool.tool_id}.json").write_text(tool.model_dump_json(), "utf-8")
    assert run_cli(["tools", "index", "--tools-dir", str(tmp_path)]) == 0
    asked = ["tools", "search", "--query", "send an email", "--top-k", "1", "--tag", "Communication"]
    capsys.readouterr()
    assert run_cli([*asked, "--output-format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (row["rank"], row["tool_id"]) == (1, "email")
    assert run_cli([*asked, "--output-format", "text"]) == 0
    assert "Email" in capsys.readouterr().out


def test_c2_words_and_the_text_of_a_tool_are_those_of_the_seed() -> None:
    assert tool_index._tokenize("GPT-4o, search_web!") == ["gpt", "4o", "search", "web"]
    assert tool_index._tokenize("... --- !!!") == []
    tool = ToolRecord(tool_id="t", name="Mixer", description="Mixes paint", tags=["color"], capabilities=["stir"])
    assert ToolIndex()._tool_document(tool) == "Mixer Mixes paint color stir"
    with pytest.raises(ValueError, match="length mismatch"):
        CosineSimilarity.compute([1.0, 2.0], [1.0])

"""Each method of both clients returns what the library returns for the same corpus."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import shortlist
from shortlist import CorpusNotFound, Document, InputError, ServiceError
from shortlist.client import operations
from shortlist.client.service_clients import AsyncClient, Client
from shortlist.eval.explain import explain
from shortlist.eval.lint import lint_corpus
from tests.client.conftest import Call


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("money back", {}),
        ("money back", {"mode": "lexical", "k": 1}),
        ("vacation", {"mode": "dense", "k": 2, "exact": True}),
        ("days", {"mode": "hybrid", "filter": {"area": "people"}}),
        ("zzz qqq", {}),
        ("", {"k": 0}),
    ],
)
def test_search_returns_the_hits_of_the_library(call: Call, query: str, options: dict[str, Any]) -> None:
    hits, own = call("search", "handbook", query, **options), shortlist.search("handbook", query, **options)
    assert hits == own
    assert (type(hits), hits.query, hits.mode, hits.note) == (shortlist.Hits, own.query, own.mode, own.note)


@pytest.mark.parametrize("options", [{}, {"mode": "lexical", "k": 1}, {"exact": True}, {"filter": {"area": "people"}}])
def test_search_many_returns_the_hits_of_the_library(call: Call, options: dict[str, Any]) -> None:
    queries = ["money back", "laptops", "zzz qqq"]
    found = call("search_many", "handbook", queries, **options)
    own = shortlist.search_many("handbook", queries, **options)
    assert found == own
    assert [(hits.query, hits.mode, hits.note) for hits in found] == [(one.query, one.mode, one.note) for one in own]
    assert call("search_many", "handbook", []) == []
    with pytest.raises(InputError, match="a list of queries"):
        call("search_many", "handbook", "money back")
    with pytest.raises(InputError, match="queries"):
        call("search_many", "handbook", ["laptops"] * 101)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("how do I get my money back", {"level": "body"}),
        ("laptops", {"level": "body", "max_k": 2, "mode": "lexical"}),
        ("laptops", {"mode": "dense", "exact": True}),
        ("money back", {"strategy": "rel_threshold", "rel": 0.1, "min_relevance": None}),
        ("launch a moon rocket", {}),
    ],
)
def test_discover_returns_the_discovery_of_the_library(call: Call, query: str, options: dict[str, Any]) -> None:
    found, own = call("discover", "handbook", query, **options), shortlist.discover("handbook", query, **options)
    assert found == own
    assert found.to_dict() == own.to_dict()


def test_disclose_takes_ids_and_hits(call: Call) -> None:
    (laptops,) = call("disclose", "handbook", ["laptops"])
    assert laptops.body == "LAPTOP GUIDE"
    hits = shortlist.search("handbook", "parcel", k=1)
    (shown,) = call("disclose", "handbook", hits, "metadata")
    assert (shown.id, shown.body, shown.level) == ("shipping", None, "metadata")
    with pytest.raises(CorpusNotFound, match="'nothing'"):
        call("disclose", "handbook", ["nothing"])


def test_ask_streams_evidence_and_text_as_the_library_does(call: Call) -> None:
    question = "How many days of vacation do employees have?"
    texts: list[str] = []
    evidence: list[shortlist.Evidence] = []
    own_texts: list[str] = []
    answer = call("ask", "handbook", question, k=3, on_text=texts.append, on_evidence=evidence.append)
    assert answer == shortlist.ask("handbook", question, k=3, min_relevance=0.3, on_text=own_texts.append)
    assert not answer.refused
    assert texts == own_texts
    assert "30 days" in "".join(texts)
    assert evidence == answer.evidence != []


def test_ask_reads_a_follow_up_with_the_history(call: Call) -> None:
    history = [("How many days of vacation do employees have?", "Every employee has 30 days of paid vacation a year.")]
    memory = shortlist.Memory()
    memory.add(*history[0])
    answer = call("ask", "handbook", "Are they paid?", history=history)
    assert answer == shortlist.ask("handbook", "Are they paid?", memory=memory)


def test_an_agent_without_a_model_is_an_error_of_the_input(call: Call) -> None:
    with pytest.raises(InputError, match="needs a language model"):
        call("ask", "handbook", "Who?", agent=True, on_step=lambda step: None)


def test_explain_and_lint_return_the_reports_of_the_library_as_plain_data(call: Call) -> None:
    why = explain("handbook", "shipping", "money back", "auto", 10, None, "adaptive", "auto")
    assert call("explain", "handbook", "shipping", "money back") == why.to_dict()
    steps: list[tuple[str, float]] = []
    report = call("lint", "tools", on_progress=lambda step, share: steps.append((step, share)))
    assert report == lint_corpus("tools").to_dict()
    assert steps
    assert all(0 <= share <= 1 for _, share in steps)


@pytest.mark.parametrize("as_text", [False, True])
def test_evaluate_takes_cases_and_reports_progress(call: Call, as_text: bool) -> None:
    rows = [{"query": "money back", "gold": ["refund_payment"]}, {"query": "bake a cake", "gold": []}]
    cases: Any = (
        '{"query": "money back", "gold": ["refund_payment"]}\n{"query": "bake a cake", "gold": []}' if as_text else rows
    )
    steps: list[str] = []
    report = call("evaluate", "tools", cases, "lexical", on_progress=lambda step, share: steps.append(step))
    assert (report["cases"], report["in_scope"], report["out_of_scope"]) == (2, 1, 1)
    assert report["flaws"] == []
    assert steps[0] == "Asking, mode lexical"
    with pytest.raises(InputError, match="'gone'"):
        call("evaluate", "tools", [{"query": "money", "gold": ["gone"]}])


def test_documents_are_listed_read_added_and_removed(call: Call, kind: str) -> None:
    name = f"changing-{kind}"
    shortlist.create_corpus(name, embedder="none").close()
    documents = [Document(f"a/b {at}", "Title", f"text {at}", ["x"], {"n": at}, kind="tool") for at in range(5)]
    changes = call("add", name, [*documents[:4], documents[4].to_dict()])
    assert changes == shortlist.Changes(added=5)
    assert call("add", name, [documents[0]]) == shortlist.Changes(unchanged=1)
    with shortlist.open_corpus(name) as corpus:
        assert call("browse", name) == corpus.browse() == (documents, 5)
        assert call("browse", name, "text", 1, 2) == corpus.browse("text", 1, 2) == (documents[1:3], 5)
        assert call("get", name, "a/b 3") == corpus.get("a/b 3") == documents[3]
        assert call("get", name, "a/b") is None
        assert call("remove", name, ["a/b 0", "gone", "a/b 1"]) == 2
        assert call("remove", name, "a/b 0") == 0
        assert call("add", name, []) == shortlist.Changes()
        assert len(corpus) == 3
    with pytest.raises(CorpusNotFound, match="'other' is not served"):
        call("get", "other", "a")
    with pytest.raises(CorpusNotFound, match="'other' is not served"):
        call("remove", "other", "a")


def test_a_document_has_all_of_its_fields(call: Call) -> None:
    with shortlist.open_corpus("handbook") as corpus:
        assert call("get", "handbook", "laptops") == corpus.get("laptops")
        info = {key: value for key, value in corpus.info().items() if key != "path"}
        assert call("info", "handbook") == info


def test_feedback_is_stored_counted_and_forgotten(call: Call, kind: str) -> None:
    name = f"used-{kind}"
    with shortlist.create_corpus(name, embedder="none") as corpus:
        corpus.add([Document("a", "A", "first"), Document("b", "B", "second")])
    assert call("feedback", name, "the first one", "a", shown=["a", "b"], session="s") is True
    usage = call("usage", name)
    with shortlist.open_corpus(name) as corpus:
        assert usage == {**corpus.usage.facts(), "learning": corpus.learning, "threshold": None}
    assert usage["searches"] == 1
    with pytest.raises(CorpusNotFound, match="'c'"):
        call("feedback", name, "the third one", "c")
    assert call("forget", name, "b") == 0
    assert call("forget", name) == 1


def test_the_service_describes_itself(call: Call) -> None:
    rows = {row["name"]: row for row in call("corpora")}
    assert rows["handbook"]["documents"] == 4
    assert rows["faq"]["built"] is True
    assert call("health") == {"status": "ok"}
    assert call("status")["version"] == shortlist.__version__
    assert call("mcp_servers")["servers"] == []


def test_names_with_slashes_are_names(call: Call, notes: str) -> None:
    hits = call("search", notes, "office")
    assert hits == shortlist.search(notes, "office") != []
    assert call("get", notes, hits[0].id) == shortlist.open_corpus(notes).get(hits[0].id)


def test_both_clients_have_every_operation() -> None:
    own = {name for name, value in vars(operations).items() if isinstance(value, FunctionType)}
    public = {name for name in own if getattr(operations, name).__module__ == operations.__name__ and name[0] != "_"}
    public -= {"search_with_facts"}
    assert len(public) == 21
    for client in (Client, AsyncClient):
        assert public <= vars(client).keys()
        assert client.search.__doc__ == operations.search.__doc__


def test_push_sends_what_differs_and_deletes_what_is_gone(call: Call, tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text(f"File {name}.", "utf-8")
    corpus = f"pushed-{tmp_path.name}"[:60]
    counts: list[tuple[int, int]] = []
    files = {name: tmp_path / name for name in ("a.md", "b.md")}
    report = call("push", corpus, files, on_progress=lambda *count: counts.append(count))
    assert (report["sent"], report["deleted"], report["added"], counts) == (2, 0, 2, [(1, 2), (2, 2)])
    (tmp_path / "a.md").write_text("Another text.", "utf-8")
    report = call("push", corpus, {name: tmp_path / name for name in ("a.md", "c.md")})
    assert [report[key] for key in ("sent", "deleted", "added", "changed", "removed")] == [2, 1, 1, 1, 1]
    report = call("push", corpus, {name: tmp_path / name for name in ("a.md", "c.md")})
    assert (report["sent"], report["deleted"], report["unchanged"]) == (0, 0, 2)
    with pytest.raises(InputError, match="no files"):
        call("push", corpus, {})
    with pytest.raises(InputError, match="catalog"):
        call("push", "catalog", files)
    (tmp_path / "a.md").write_bytes(b"x" * (17 << 20))
    with pytest.raises(ServiceError, match=r"a\.md was not sent: .*max_body_bytes"):
        call("push", corpus, files)

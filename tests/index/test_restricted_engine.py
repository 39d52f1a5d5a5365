"""Callers who may not see some documents get, to the byte, what a corpus without these documents returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, CorpusError, Document, ShortlistError, build
from shortlist.eval.cases import Case
from shortlist.eval.explain import explain
from shortlist.eval.lint import lint_corpus
from shortlist.eval.retrieval import evaluate_discovery
from shortlist.index.engine import MISSING, Viewer
from shortlist.index.storage.database import Store
from shortlist.retrieval.disclose import read_hit
from tests.index.engines.conftest import teas

# A rare word, a name, a language and a service that only hidden documents have, and what all have.
QUERIES = (
    "kettle",
    "oolong",
    "dragonwell",
    "secret plan of the board",
    "sencha garden in the morning",
    "the Tea 7",
    "Die Ernte im Garten",
    "send it with Slack",
    "zzz",
)
CASES = [Case("kettle", ("d1",)), Case("dragonwell", ())]
SECRET: list[Any] = [["board"], "board", [], {"board": True}, 3, ["board", "hr"]]


def make_documents() -> list[Document]:
    documents = teas(60)
    for at, document in enumerate(documents):
        if at % 3 == 0:
            document.metadata["access"] = SECRET[at // 3 % len(SECRET)]
            secret = "dragonwell Slack secret plan " * (at % 4)
            documents[at] = replace(document, content=f"{document.content} {secret}")
        elif at % 3 == 1:
            document.metadata["access"] = ["staff"] if at % 2 else "staff"
    text = "Die Ernte ist geheim und bleibt im Garten."
    documents.append(Document("board plan", "The board", text, metadata={"access": ["board"]}))
    return documents


def is_hidden(document: Document) -> bool:
    return "access" in document.metadata and document.metadata["access"] not in ("staff", ["staff"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A corpus with hidden documents, written in several changes, and one in which they never were."""
    whole, visible = (tmp_path_factory.mktemp(name) / "tea" for name in ("whole", "visible"))
    documents = make_documents()
    for folder, kept in ((whole, documents), (visible, [one for one in documents if not is_hidden(one)])):
        with shortlist.create_corpus("tea", path=folder, embedder="light", chunk_size=200, chunk_overlap=20) as corpus:
            corpus.add(kept[:20], False)
            corpus.add(kept[20:], False)
    return whole, visible


def open_both(folders: tuple[Path, Path]) -> tuple[Corpus, Corpus]:
    whole, visible = (shortlist.open_corpus(folder) for folder in folders)
    whole.name = visible.name
    return whole.for_groups({"staff"}), visible.for_groups({"staff"})


def list_state(corpus: Corpus) -> Any:
    with corpus.snapshot() as state:
        places = state.places()
        return (
            sorted(state.sources()),
            places,
            [passage.text for passage in state.walk()],
            [[one.text for one in state.neighbors(id, locator, 1, 1)] for id, _, locator in places[:3]],
            state.neighbors("d0", "whole", 1, 1),
            sorted(state.find_documents([f"d{at}" for at in range(6)])),
            state.lexical.live,
            state.count(),
        )


READS: dict[str, Callable[[Corpus], Any]] = {
    "info": lambda corpus: {key: value for key, value in corpus.info().items() if key != "path"},
    "count": lambda corpus: (len(corpus), corpus.is_empty, corpus.kinds(), corpus.languages()),
    "ids": lambda corpus: (corpus.ids(), [document.to_dict() for document in corpus]),
    "browse": lambda corpus: [
        ([one.to_dict() for one in found], count)
        for found, count in (corpus.browse(text, 2, 5) for text in ("", "dragonwell", "kettle"))
    ],
    "get": lambda corpus: [corpus.get(f"d{at}") is None for at in range(60)],
    "discover": lambda corpus: [shortlist.discover(corpus, query, k=20).to_dict() for query in QUERIES],
    "filter": lambda corpus: [
        shortlist.search(corpus, query, k=50, filter=filter).to_dict()
        for query in QUERIES
        for filter in ({"access": {"$exists": True}}, {"access": {"$ne": "staff"}}, {"$not": {"id": "d1"}})
    ],
    "explain": lambda corpus: explain(corpus, "kettle garden", "d1").to_dict(),
    "ask": lambda corpus: [shortlist.ask(corpus, query).to_dict() for query in QUERIES],
    "lint": lambda corpus: lint_corpus(corpus, k=3).to_dict(),
    "eval": lambda corpus: [
        evaluate_discovery(corpus, [Case("kettle", ("d1",)), Case("dragonwell", ())], mode, 5).to_dict()
        | {"seconds": 0}
        for mode in ("auto", "lexical")
    ],
    "state": list_state,
}


@pytest.mark.parametrize("what", READS)
def test_everything_that_is_read_is_the_same_without_the_hidden_documents(
    folders: tuple[Path, Path], what: str
) -> None:
    whole, visible = (READS[what](corpus) for corpus in open_both(folders))
    assert json.dumps(whole, default=str) == json.dumps(visible, default=str)


@pytest.mark.parametrize("mode", ["auto", "lexical", "dense", "hybrid"])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_hits_and_their_scores_are_the_same_without_the_hidden_documents(
    folders: tuple[Path, Path], mode: Any, k: int
) -> None:
    whole, visible = open_both(folders)
    for query in QUERIES:
        assert shortlist.search(whole, query, mode, k).to_dict() == shortlist.search(visible, query, mode, k).to_dict()


def test_a_hidden_document_is_as_unknown_as_one_that_never_was(folders: tuple[Path, Path]) -> None:
    acts: tuple[Callable[[Corpus, str], Any], ...] = (
        read_hit,
        lambda corpus, id: corpus.learn("kettle", id),
        lambda corpus, id: evaluate_discovery(corpus, [Case("kettle", (id,))], "lexical", 5).to_dict() | {"seconds": 0},
    )
    answers = []
    for corpus in open_both(folders):
        for act in acts:
            try:
                answers.append(str(act(corpus, "d3")))
            except ShortlistError as error:
                answers.append(str(error))
    assert answers[:3] == answers[3:]
    assert "'d3'" in answers[0]


def test_a_reader_follows_changes_and_cannot_make_any(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path / "tea", embedder="light") as corpus:
        corpus.add(
            [
                Document(id, id, "kettle", metadata={"access": of})
                for id, of in (("a", "staff"), ("b", "hr"), ("n", None))
            ]
        )
        staff, both = corpus.for_groups(["staff"]), corpus.for_groups(["staff", "hr"])
        assert (staff.ids(), both.ids(), corpus.for_groups([]).ids()) == (["a"], ["a", "b"], [])
        assert corpus.for_groups(["staff"]) is staff
        corpus.add([Document("b", "B", "kettle"), Document("c", "C", "kettle", metadata={"access": ["hr"]})], False)
        assert ({hit.id for hit in shortlist.search(staff, "kettle")}, len(both)) == ({"a", "b"}, 3)
        corpus.remove("a")
        assert (staff.ids(), corpus.for_groups([]).ids()) == (["b"], ["b"])
        for change in (lambda: staff.add([Document("x", "X", "y")]), lambda: staff.remove("b"), staff.reindex):
            with pytest.raises(CorpusError, match="only read"):
                change()
        assert corpus.for_groups(["staff"], sees_all=True).remove("c") == 1


def test_rules_hide_documents_by_their_ids(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path / "tea", embedder="none") as corpus:
        corpus.add([Document(id, id, "kettle") for id in ("hr/pay.md", "hr/board/plan.md#1", "news.md")], False)
        rules = [("hr/*", ["hr"]), ("hr/board/plan.md", ["board"]), ("hr/board/*", ["hr", "staff"])]
        seen = {groups: corpus.for_groups(groups.split(), rules=rules).ids() for groups in ("staff", "hr", "hr board")}
        assert seen == {"staff": ["news.md"], "hr": ["hr/pay.md", "news.md"], "hr board": corpus.ids()}


def test_what_a_group_teaches_serves_no_other(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path / "tea", embedder="light") as corpus:
        corpus.add(teas(20), False)
        staff, others = corpus.for_groups(["staff"]), [corpus, corpus.for_groups(["hr"]), corpus.for_groups([])]
        before = [shortlist.search(one, "the missing order").to_dict() for one in others]
        for session in range(5):
            staff.learn("the missing order", "d7", session=str(session))
        assert shortlist.search(staff, "the missing order")[0].id == "d7"
        assert [shortlist.search(one, "the missing order").to_dict() for one in others] == before
        assert [one.usage.facts()["searches"] for one in (staff, *others)] == [5, 0, 0, 0]
        assert corpus.usage.forget() == 5
        assert staff.usage.facts()["searches"] == 0


def test_a_calibrated_threshold_is_not_that_of_a_reader(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path / "tea", embedder="none") as corpus:
        corpus.add(teas(5), False)
        corpus.set_threshold("auto", 0.9)
        assert corpus.for_groups(["staff"]).threshold("auto").value is None
        assert corpus.for_groups(["staff"], sees_all=True).threshold("auto").value == 0.9


@pytest.mark.parametrize("access", [MISSING, "staff", ["hr", "staff"]])
def test_a_document_is_seen_without_access_or_with_one_of_its_groups(access: Any) -> None:
    assert Viewer(frozenset({"staff"})).sees(access)


@pytest.mark.parametrize("access", ["", "hr", [], ["hr"], [["staff"]], {"staff": 1}, 0, True, "staff,hr", None])
def test_unreadable_access_hides_a_document(access: Any) -> None:
    assert not Viewer(frozenset({"staff"})).sees(access)


def test_a_corpus_in_memory_has_no_readers() -> None:
    with shortlist.create_corpus(in_memory=True, embedder="none") as corpus, pytest.raises(CorpusError, match="memory"):
        corpus.for_groups(["staff"])


def test_a_deleted_corpus_takes_all_logs_with_it(tmp_path: Path) -> None:
    corpus = build(teas(3), "tea", path=tmp_path / "tea", embedder="none")
    corpus.for_groups(["staff"]).learn("kettle", "d1")
    corpus.close()
    Store.delete(tmp_path / "tea")
    assert not (tmp_path / "tea").exists()

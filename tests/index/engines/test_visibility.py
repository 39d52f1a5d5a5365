"""A reader of a corpus in a cluster of three shards sees what one of the embedded engine sees."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, CorpusError, Document
from shortlist.index.engines.visibility import to_regular_expression
from tests.index.engines.conftest import CHUNKS, SERVERS, Make, cluster_address, on_servers, teas
from tests.index.test_restricted_engine import QUERIES, READS, is_hidden, make_documents

RULES = [("d1*", ["board"]), ("d[2-3]?", ["hr", "board"]), ("file.md", ["board"]), ("*", ["staff"])]
READERS: dict[str, dict[str, Any]] = {
    "staff": {"groups": ["staff"]},
    "board": {"groups": ["board", "hr"]},
    "no group": {"groups": []},
    "rules": {"groups": ["staff"], "rules": RULES},
    "nothing": {"groups": ["hr"], "rules": RULES},
}
ODD = 'ab*?[]!-^#\\/.&~<"@{}()|+z\n'


def make_all() -> list[Document]:
    parts = [Document(f"file.md#{at}", "Part", f"kettle {at} oolong", source="/s/file.md") for at in range(3)]
    nothing = Document("null", "", "kettle", metadata={"access": None})
    others = [Document("file.mdx", "Other", "kettle sencha"), Document("A*b", "Star", "kettle", kind="page")]
    return [*make_documents(), *parts, *others, nothing]


@pytest.fixture(scope="module", params=SERVERS)
def corpora(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Corpus]]:
    """All documents in a cluster and embedded, and in a cluster those alone that the group staff may see."""
    folder, made = tmp_path_factory.mktemp("visibility"), dict[str, Corpus]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHORTLIST_DATA_DIR", str(folder))
        with cluster_address(request.param, request.getfixturevalue(f"{request.param}_url")) as address:
            for name, engine in (("cluster", address), ("embedded", "embedded"), ("visible", address)):
                shards = "" if engine == "embedded" else "?shards=3"
                corpus = shortlist.create_corpus(
                    f"{name}-tea", path=folder / name, engine=f"{engine}{shards}", embedder="light", **CHUNKS
                )
                corpus.add([one for one in make_all() if name != "visible" or not is_hidden(one)], False)
                corpus.name, made[name] = "tea", corpus
            yield made
            for corpus in made.values():
                corpus.close()


@pytest.mark.parametrize("mode", ["auto", "lexical", "dense", "hybrid"])
@pytest.mark.parametrize("reader", READERS)
def test_hits_are_those_of_the_embedded_engine(corpora: dict[str, Corpus], mode: Any, reader: str) -> None:
    cluster, embedded = (corpora[name].for_groups(**READERS[reader]) for name in ("cluster", "embedded"))
    for query in QUERIES:
        for k in (1, 100):
            found, expected = (shortlist.search(corpus, query, mode, k) for corpus in (cluster, embedded))
            assert [hit.id for hit in found] == [hit.id for hit in expected]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-6)
            assert [hit.relevance for hit in found] == pytest.approx([hit.relevance for hit in expected], abs=1e-6)


@pytest.mark.parametrize("reader", READERS)
def test_documents_are_those_of_the_embedded_engine(corpora: dict[str, Corpus], reader: str) -> None:
    cluster, embedded = (corpora[name].for_groups(**READERS[reader]) for name in ("cluster", "embedded"))
    for what in ("count", "ids", "browse", "get", *(["lint"] if reader == "rules" else [])):  # lint takes seconds
        assert READS[what](cluster) == READS[what](embedded), what
    assert (len(cluster) == 0) == (reader == "nothing")


@pytest.mark.parametrize("what", READS)
def test_everything_that_is_read_is_the_same_without_the_hidden_documents(
    corpora: dict[str, Corpus], what: str
) -> None:
    whole, visible = (READS[what](corpora[name].for_groups(["staff"])) for name in ("cluster", "visible"))
    assert json.dumps(whole, default=str) == json.dumps(visible, default=str)


@on_servers
def test_a_reader_follows_changes_and_cannot_make_any(make: Make) -> None:
    corpus = make(embedder="light")
    corpus.add([Document(id, id, "kettle", metadata={"access": of}) for id, of in (("a", "staff"), ("b", "hr"))])
    staff = corpus.for_groups(["staff"])
    assert (staff.ids(), staff.get("b"), len(staff), staff.kinds()) == (["a"], None, 1, {"text": 1})
    with staff.snapshot() as state:
        positions = state.lexical.rank("kettle", 10).positions
        corpus.add(
            [Document("a", "A", "kettle of the board", metadata={"access": ["hr"]}), Document("b", "B", "kettle")]
        )
        assert [passage.text for passage in state.passages(positions)] == [""]
        assert [document.content for document in state.stored(positions)] == [""]
    assert ([hit.id for hit in shortlist.search(staff, "kettle")], staff.get("a")) == (["b"], None)
    for change in (lambda: staff.add([Document("x", "X", "y")]), lambda: staff.remove("b"), staff.reindex):
        with pytest.raises(CorpusError, match="only read"):
            change()


@on_servers
def test_the_best_of_many_passages_are_exact_whatever_is_hidden(make: Make) -> None:
    """Hidden documents are longer and have the rare words of the query, so the server ranks the others otherwise."""
    corpus = make()
    dice = random.Random(5)
    seen = teas(400)
    words = ["oolong", "sencha", "assam", "matcha", "kettle", "cup", "leaf"]
    hidden = [
        Document(f"h{at}", "Secret", " ".join(dice.choices(words, k=600)), metadata={"access": ["board"]})
        for at in range(300)
    ]
    corpus.add([*seen, *hidden], False)
    reader = corpus.for_groups([])
    with shortlist.create_corpus(in_memory=True, embedder="none") as alone:
        alone.add(seen, False)
        for query in ("oolong kettle river", "assam", "matcha cup winter soil", "leaf leaf trade"):
            for k in (1, 5, 20):
                found, expected = (shortlist.search(one, query, "lexical", k) for one in (reader, alone))
                assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in expected]


@on_servers
def test_a_rule_applies_to_the_same_ids_as_in_the_embedded_engine(make: Make) -> None:
    dice = random.Random(7)
    ids = {"".join(dice.choices(ODD, k=dice.randint(1, 6))).strip() or "z" for _ in range(150)}
    corpus = make()
    corpus.add([Document(id, "", "kettle") for id in sorted(ids)], False)
    for _ in range(40):
        pattern = "".join(dice.choices("ab*?[]!-#.z", k=dice.randint(1, 7)))
        expected = {id for id in corpus.ids() if not any(fnmatchcase(one, pattern) for one in (id, id.split("#")[0]))}
        assert set(corpus.for_groups(["staff"], rules=[(pattern, ["board"])]).ids()) == expected, pattern


def test_a_pattern_means_the_same_as_a_regular_expression() -> None:
    dice = random.Random(1)
    matched = 0
    for _ in range(20_000):
        pattern = "".join(dice.choices(ODD, k=dice.randint(0, 8)))
        text = "".join(dice.choices("ab[]!-^#\\/.&z\n", k=dice.randint(0, 5)))
        made = to_regular_expression(pattern)
        is_matching = made is not None and re.fullmatch(made, text, re.DOTALL) is not None
        assert is_matching == fnmatchcase(text, pattern), (pattern, text)
        matched += is_matching
    assert matched > 100

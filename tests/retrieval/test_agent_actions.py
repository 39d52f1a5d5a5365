"""What an agent may do with a corpus: list, find, read, retrieve, look for words, look around."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, CorpusNotFound, CorpusSource, Document, InputError
from shortlist.library.opening import Searchable, open_states
from shortlist.results import Discovery, Hits, Mode
from shortlist.retrieval import agent_actions
from shortlist.retrieval.agent_actions import name_of
from shortlist.retrieval.corpus_hits import retrieve as retrieve_in
from shortlist.retrieval.search import open_query

CITIES = ("Aachen", "Bremen", "Celle", "Dessau", "Essen", "Fulda", "Gera")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    long = " ".join(
        f"Paragraph {at} is about {CITIES[at % 7]}, the city. {'It goes on and on. ' * 20}" for at in range(6)
    )
    (tmp_path / "guide.txt").write_text(long)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "notes.txt").write_text("Straße 5\nThe total, in EURO, was 40.\nnot on this line: total")
    (tmp_path / "sub" / "rows.csv").write_text("name,city\nAda,Essen\nBob,Gera\n")
    return shortlist.build(CorpusSource.from_files(tmp_path), in_memory=True)


def retrieve(
    corpus: Searchable, query: str, source: str | None = None, k: int = 4, mode: Mode = "auto", filter: Any = None
) -> dict[str, Any]:
    """The passages that an agent is shown for a query, in all sources or in one."""
    with open_query(corpus, query, mode, k) as states:
        found = retrieve_in(states, query, mode, k, agent_actions.only(source, filter, states), whole=False)
    return {"passages": [{"source": name_of(hit), "locator": hit.locator, "id": hit.id} for hit in found[0].hits]}


def get_neighbors(corpus: Corpus, *values: Any, **options: Any) -> dict[str, Any]:
    with open_states([corpus]) as states:
        return agent_actions.get_neighbors(states, *values, **options)


def names(found: dict[str, object]) -> list[str]:
    passages = found["passages"]
    assert isinstance(passages, list)
    return [f"{Path(one['source']).name} {one['locator']}" for one in passages]


def test_sources_are_listed_once_and_sorted_and_a_text_without_one_is_its_own(corpus: Corpus, tmp_path: Path) -> None:
    expected = [str(tmp_path / name) for name in ("guide.txt", "sub/notes.txt", "sub/rows.csv")]
    assert agent_actions.list_sources(corpus) == {"sources": expected, "total": 3}
    assert agent_actions.list_sources(corpus, limit=1) == {"sources": expected[:1], "total": 3}
    assert agent_actions.list_sources({"b": "two", "a": "one"}) == {"sources": ["a", "b"], "total": 2}


def test_several_passages_of_one_document_are_found(corpus: Corpus) -> None:
    found = retrieve(corpus, "city paragraph", k=3)
    assert len(names(found)) == 3
    assert all(name.startswith("guide.txt whole;offset=") for name in names(found))
    json.dumps(found)


def test_retrieval_can_be_kept_to_a_source_named_by_the_end_of_its_path(corpus: Corpus) -> None:
    assert names(retrieve(corpus, "Essen", source="sub/rows.csv")) == ["rows.csv row=1", "rows.csv row=2"]
    assert names(retrieve(corpus, "Essen", source="rows.csv", mode="lexical")) == ["rows.csv row=1"]
    assert [one["source"] for one in retrieve({"a": "x y", "b": "x z"}, "x", source="b")["passages"]] == ["b"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("euro", ["notes.txt whole"]),
        ("STRASSE", ["notes.txt whole"]),
        ("the*euro", []),
        ("ada|bob", []),
        ("name: ada | CITY", ["rows.csv row=1"]),
        ("city: gera", ["rows.csv row=2"]),
        ("(a+)+$", []),
        ("nowhere", []),
    ],
)
def test_b10_keyword_search_is_a_substring_scan_that_ignores_case(
    corpus: Corpus, pattern: str, found: list[str]
) -> None:
    result = agent_actions.keyword_search(corpus, pattern)
    assert names(result) == found
    assert result["complete"] is True


def test_looking_for_words_has_limits(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    assert names(agent_actions.keyword_search(corpus, "essen", source="rows.csv")) == ["rows.csv row=1"]
    few = agent_actions.keyword_search(corpus, "city", limit=2)
    assert (len(names(few)), few["complete"]) == (2, False)
    monkeypatch.setattr(agent_actions, "MOST_SECONDS", -1.0)
    monkeypatch.setattr(agent_actions, "_MEASURED_EVERY", 1)
    assert agent_actions.keyword_search(corpus, "bob") == {"pattern": "bob", "passages": [], "complete": False}
    for pattern in ("", "  ", "x" * 501):
        with pytest.raises(InputError):
            agent_actions.keyword_search(corpus, pattern)


def test_a_match_in_a_long_text_is_shown_with_what_stands_around_it() -> None:
    text = "a" * 5_000 + "needle" + "b" * 5_000
    (found,) = agent_actions.keyword_search([text], "NEEDLE")["passages"]
    assert "needle" in found["text"]
    assert len(found["text"]) == agent_actions.SNIPPET


def test_neighbours_are_those_of_the_same_record_three_each_way_at_most(corpus: Corpus) -> None:
    everything = names(get_neighbors(corpus, "guide.txt", "whole", 0, 3))
    assert everything[0] == "guide.txt whole;offset=0"
    offsets = [name.removeprefix("guide.txt ") for name in everything]
    assert names(get_neighbors(corpus, "guide.txt", offsets[1])) == [everything[0], everything[2]]
    assert names(get_neighbors(corpus, "guide.txt", offsets[3], before=9, after=0)) == everything[:3]
    assert names(get_neighbors(corpus, "rows.csv", "row=1", 3, 3)) == []


def test_neighbours_of_nothing_are_an_error(corpus: Corpus) -> None:
    with pytest.raises(CorpusNotFound, match="No passage 'row=9'"):
        get_neighbors(corpus, "rows.csv", "row=9")
    with pytest.raises(CorpusNotFound, match=r"No source 'gone\.txt'"):
        get_neighbors(corpus, "gone.txt", "whole")
    with pytest.raises(InputError, match="after must be"):
        get_neighbors(corpus, "rows.csv", "row=1", 0, -1)


def test_what_a_filter_leaves_out_is_in_no_answer() -> None:
    documents = [
        shortlist.Document("open", "", "The code is 1.", metadata={"who": "all"}, source="/d/open.txt"),
        shortlist.Document("secret", "", "The code is 2.", metadata={"who": "few"}, source="/d/secret.txt"),
    ]
    corpus = shortlist.build(documents, in_memory=True)
    corpus.add([shortlist.Document("open", "", "The code is 3.", metadata={"who": "all"}, source="/d/open.txt")])
    mine = {"who": "all"}
    assert agent_actions.list_sources(corpus, filter=mine) == {"sources": ["/d/open.txt"], "total": 1}
    assert [one["id"] for one in retrieve(corpus, "code", filter=mine)["passages"]] == ["open"]
    assert [one["id"] for one in agent_actions.keyword_search(corpus, "code", filter=mine)["passages"]] == ["open"]
    for act in (retrieve, agent_actions.keyword_search):
        with pytest.raises(CorpusNotFound):
            act(corpus, "code", source="secret.txt", filter=mine)
    with pytest.raises(CorpusNotFound):
        get_neighbors(corpus, "/d/secret.txt", "whole", filter=mine)


def test_an_end_that_two_paths_share_must_be_said_in_full() -> None:
    documents = [shortlist.Document(f"{at}", "", "text", source=f"/{at}/notes.txt") for at in (1, 2)]
    corpus = shortlist.build(documents, in_memory=True)
    with pytest.raises(CorpusNotFound, match=r"is ambiguous: /1/notes.txt, /2/notes.txt"):
        retrieve(corpus, "text", source="notes.txt")
    assert retrieve(corpus, "text", source="/2/notes.txt")["passages"][0]["id"] == "2"


# Finding and reading


def test_find_tells_the_few_that_fit_why_and_what_came_near() -> None:
    corpus = {"refund": "Send money back to a card.", "track": "Where a parcel is now.", "bill": "Write an invoice."}
    found = agent_actions.find(corpus, "where is my parcel", limit=1)
    assert [item["id"] for item in found["results"]] == ["track"]
    assert found["results"][0]["text"] == "Where a parcel is now."
    assert not found["abstained"]
    assert found["reason"].startswith("Kept 1 of")
    assert {item["id"] for item in found["near"]} <= {"refund", "bill"}
    nothing = agent_actions.find(corpus, "the of and")
    assert (nothing["abstained"], nothing["results"]) == (True, [])
    assert "no searchable terms" in nothing["reason"]


def test_find_does_not_commit_below_the_calibrated_floor() -> None:
    corpus = shortlist.build({"track": "Where a parcel is now."}, in_memory=True)
    assert not agent_actions.find(corpus, "parcel")["abstained"]
    corpus.set_threshold("auto", 0.99)
    found = agent_actions.find(corpus, "parcel")
    assert found["abstained"]
    assert [item["id"] for item in found["near"]] == ["track"]


def test_read_shows_a_document_in_parts_that_join_to_the_whole() -> None:
    text = "".join(f"Line {number} of a long text.\n" for number in range(3000))
    corpus = shortlist.build({"long": text, "short": "Few words."}, in_memory=True, embedder="none")
    assert agent_actions.read(corpus, "short")["text"] == "Few words."
    assert "next_offset" not in agent_actions.read(corpus, "short")
    shown = agent_actions.read(corpus, "long")
    parts = [shown["text"]]
    while "next_offset" in shown:
        shown = agent_actions.read(corpus, "long", offset=shown["next_offset"])
        parts.append(shown["text"])
    assert "".join(parts).strip() == text.strip()
    assert len(parts) == -(-len(text.strip()) // agent_actions.LONGEST_READ)


def test_read_says_where_an_id_is_unknown_or_means_several() -> None:
    one, other = (shortlist.build({"same": name}, name, in_memory=True, embedder="none") for name in ("one", "other"))
    with pytest.raises(InputError, match="several corpora: one, other"):
        agent_actions.read([one, other], "same")
    with pytest.raises(CorpusNotFound, match="No item 'nothing'"):
        agent_actions.read([one, other], "nothing")
    with pytest.raises(InputError, match="offset"):
        agent_actions.read(one, "same", offset=-1)


def test_e5_an_agent_reads_no_file_of_the_project_through_the_metadata_of_a_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    monkeypatch.chdir(tmp_path)
    shown = agent_actions.read({"a": {"text": "A ferry.", "path": "secret.txt"}}, "a")
    assert (shown["text"], "outside" in shown["note"]) == ("A ferry.", True)


def test_an_agent_learns_that_a_result_may_not_fit_and_what_to_do() -> None:
    tools = [Document("refund", "refund", "Send money back to a card.", kind="tool")]
    sure = agent_actions.find(tools, "refund: send money back to a card")
    assert sure["confidence"] == "high"
    assert "confidence_reason" not in sure  # every word costs tokens
    unsure = agent_actions.describe_doubt(Discovery("q", "auto", [], "", {}, Hits(), "low", "refund may fit."))
    reason = "refund may fit. Search again in other words, or ask the user."
    assert unsure == {"confidence": "low", "confidence_reason": reason}
    (shown,) = shortlist.discover(tools, "refund", min_relevance=None).results
    unsure = agent_actions.describe_doubt(Discovery("q", "auto", [shown], "", {}, Hits(), "low", "refund may fit."))
    assert unsure["confidence_reason"].endswith("Check that it fits, or ask the user.")

"""The lists of tools and of passages that the reader learns from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from shortlist.index.embedders.tools_model import ToolsEmbedder
from training import data
from training.judge import passage_lists, tool_lists
from training.judge.list_tokens import read_texts

pytest.importorskip("onnxruntime")

SERVERS: list[dict[str, Any]] = [
    {
        "server": name,
        "family": name,
        "tools": [{"name": tool, "description": text, "queries": [need]} for tool, text, need in tools],
        "none": [other],
    }
    for name, tools, other in (
        (
            "mail",
            [("send", "Send a letter.", "write to Ada"), ("list", "Show all letters.", "what came in")],
            "boil an egg",
        ),
        ("clock", [("alarm", "Set an alarm.", "wake me at six"), ("zone", "Local time.", "time in Lima")], "buy milk"),
    )
]
OTHERS = [{"server": "clock", "family": "clock", "needs": [["de", "alarm", "weck mich um sechs"]]}]
PASSAGES = [
    {"language": "en", "text": "The mill is old. It grinds wheat.", "questions": [["de", "Was mahlt die Mühle?"]]},
    {"language": "en", "text": "The ferry leaves at noon. It is red.", "questions": [["en", "When does it leave?"]]},
]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {data.NEEDS[0]: SERVERS, data.OTHER_NEEDS: OTHERS, data.PASSAGES: PASSAGES}

    def read(path: Any) -> Iterator[dict[str, Any]]:
        yield from rows.get(path, [])

    monkeypatch.setattr(data, "rows", read)


def test_a_need_has_its_tool_among_others_or_none(written: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_lists, "REMOVED", 0.0)
    rng = random.Random(0)
    servers = list(tool_lists.read_servers(rng))
    lists = {one.question: one for one in tool_lists.list_catalog(servers, [("hello", False)], ToolsEmbedder(), rng)}
    named = {question: [name for _, name in one.rows] for question, one in lists.items()}
    assert named["wake me at six"][0] == named["weck mich um sechs"][0] == "alarm"
    assert lists["wake me at six"].right == {0}
    assert (lists["weck mich um sechs"].source, lists["boil an egg"].source) == ("tools other", "tools, without")
    assert not lists["boil an egg"].right
    assert {"send", "list"} <= set(named["boil an egg"])
    assert len(lists["hello"].rows) == 4


def test_a_need_without_its_tool_has_no_right_one(written: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_lists, "REMOVED", 1.0)
    rng = random.Random(0)
    for one in tool_lists.list_catalog(list(tool_lists.read_servers(rng)), [], ToolsEmbedder(), rng):
        assert not one.right
        assert one.question != "wake me at six" or "alarm" not in [name for _, name in one.rows]


def test_servers_of_a_catalog_are_held_together_and_measured_needs_left_out(written: None) -> None:
    rng = random.Random(0)
    catalogs = tool_lists.make_catalogs(list(tool_lists.read_servers(rng)), rng)
    assert all(len({tool_lists.is_held(one.family) for one in own}) == 1 for own in catalogs)
    assert sum(map(len, catalogs)) == 2
    measured = [data.words_of("wake me up at six")]
    assert data.is_asked(data.words_of("wake me at six"), measured)
    assert not data.is_asked(data.words_of("boil an egg"), measured)


def test_sentences_of_the_passage_are_right(written: None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["passage_lists", str(tmp_path / "lists.xz")])
    monkeypatch.setattr(passage_lists, "REMOVED", 0.0)
    passage_lists.main()
    german, english = read_texts(tmp_path / "lists.xz")[0]
    assert (german.source, english.source) == ("passage other", "passage")
    assert {german.rows[at][0] for at in german.right} == {"The mill is old.", "It grinds wheat."}
    assert {english.rows[at][0] for at in english.right} == {"The ferry leaves at noon.", "It is red."}

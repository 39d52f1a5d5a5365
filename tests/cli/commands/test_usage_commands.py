"""The commands about use, the setting for it, and evaluation with cases from the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

import shortlist
from shortlist import Corpus
from shortlist._settings import FILE, VARIABLES, Learn
from shortlist.cli.output import Output
from shortlist.eval import load_cases
from shortlist.index.storage.usage_log import Learning, UsageLog, Use
from shortlist.mcp import agent_server
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings
from tests.cli.conftest import Shell


@pytest.fixture(autouse=True)
def restored_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands set this for the whole process."""
    monkeypatch.setattr(Corpus, "learning", "on")


@pytest.fixture
def used(shop: Shell) -> Shell:
    """A shop with a log: four uses of two tools, and a query after which nothing was used."""
    with shortlist.open_corpus("shop") as corpus:
        for at, query in enumerate(("zebra giraffe", "a giraffe or a zebra", "money back")):
            corpus.learn(query, "refund_payment", shown=["track_shipment"], session=str(at))
        corpus.learn("where is it", "track_shipment")
        for session in ("one", "two"):
            corpus.usage.add("play \x1b[2Jjazz", [("track_shipment", 0.25)], session=session)
    return shop


# The setting


def test_the_setting_is_that_of_the_library_and_of_the_service() -> None:
    assert get_args(Learn) == get_args(Learning)
    assert VARIABLES["SHORTLIST_LEARN"] == "usage.learn"
    assert FILE == "settings.yaml"


@pytest.mark.parametrize(
    ("text", "learning"),
    [("usage: {learn: off}", "off"), ("usage: {learn: on}", "on"), ("usage: {learn: log}", "log")],
)
def test_a_search_learns_as_the_settings_file_says(shop: Shell, text: str, learning: str) -> None:
    (shop.folder / FILE).write_text(text)
    assert shop("search", "shop", "refund").code == 0
    assert Corpus.learning == learning
    assert load_settings(shop.folder / FILE, environment={}).usage.learn == learning


def test_the_variable_comes_before_the_file_which_is_not_read_then(shop: Shell) -> None:
    (shop.folder / FILE).write_text("{% of another program %}")
    for variable, learning in (("", "off"), ("log", "log")):
        assert shop("search", "shop", "refund", SHORTLIST_LEARN=variable).code == 0
        assert Corpus.learning == learning


def test_an_unknown_value_is_an_error_that_lists_the_known_ones(shop: Shell) -> None:
    done = shop("search", "shop", "refund", SHORTLIST_LEARN="maybe")
    assert (done.code, done.err) == (
        1,
        "shortlist: SHORTLIST_LEARN: usage.learn must be one of off, log, on, not 'maybe'.\n",
    )
    assert shop("mcp", "--learn", "maybe").code == 2


def test_a_search_that_must_not_learn_ranks_without_what_was_learned(used: Shell) -> None:
    assert used("search", "shop", "giraffe", "--quiet").out.splitlines()[0] == "refund_payment"
    assert "refund_payment" not in used("search", "shop", "giraffe", "--quiet", SHORTLIST_LEARN="off").out.split()[:1]


def test_questions_learn_as_the_setting_says(shell: Shell) -> None:
    shell("ingest", "docs/faq.txt", "--index-dir", ".index", "--embedder", "light")
    shell("query", "--extractive", "--index-dir", ".index", "How much is express delivery?", SHORTLIST_LEARN="log")
    assert Corpus.learning == "log"


def test_the_service_learns_as_its_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create_app(load_settings(given={"usage.learn": "log"}, environment={"SHORTLIST_LEARN": "off"}))
    assert Corpus.learning == "log"


def test_the_mcp_server_learns_as_its_option_says(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve_no_one(agent: agent_server.AgentActions, at_exit: None) -> None:
        await agent.status()
        await agent.close()

    monkeypatch.setattr(agent_server, "serve_stdio", serve_no_one)
    learned = []
    for arguments in (["--learn", "off"], []):
        assert shell("mcp", *arguments, SHORTLIST_LEARN="log").code == 0
        learned.append(Corpus.learning)
    assert learned == ["off", "log"]


# learned


def test_learned_lists_the_logs_and_the_setting(used: Shell) -> None:
    lines = used("learned").out.splitlines()
    assert lines[0].split() == ["name", "searches", "uses", "since", "size"]
    assert lines[1].split()[:3] == ["shop", "6", "4"]
    assert lines[2].startswith("Learning is on: ")
    data = used("learned", "--json", SHORTLIST_LEARN="log").json
    assert data["learn"] == "log"
    assert [(row["name"], row["searches"], row["uses"]) for row in data["corpora"]] == [("shop", 6, 4)]
    assert used("learned", "--quiet").out == "shop\n"


def test_learned_without_any_use_says_so(shop: Shell) -> None:
    assert shop("learned").out.startswith("No use is stored yet.\n")
    assert shop("learned", "shop").out == "Nothing was learned from the use of shop yet.\n"
    assert shop("learned", "shop", "--searches").out == "No search of shop is stored yet.\n"


def test_learned_shows_documents_with_the_queries_that_led_to_them(used: Shell) -> None:
    first, second = used("learned", "shop", "--json").json["documents"]
    assert (first["id"], first["state"], first["examples"], second["id"]) == (
        "refund_payment", "used", 3, "track_shipment"
    )  # fmt: skip
    assert {one["query"] for one in first["queries"]} == {"zebra giraffe", "a giraffe or a zebra", "money back"}
    assert first["weight"] == pytest.approx(sum(one["weight"] for one in first["queries"]), abs=0.01)
    out = used("learned", "shop").out
    assert "zebra giraffe" in out
    assert "no longer used" not in out


def test_documents_that_changed_since_are_marked(used: Shell) -> None:
    catalog = used.folder / "tools.yaml"
    text = catalog.read_text("utf-8")
    catalog.write_text(text.replace("Show where a parcel is now", "Show the place of a parcel"), "utf-8")
    with shortlist.open_corpus("shop") as corpus:
        corpus.usage.add("an old one", uses=[Use("gone", b"hash", "called")])
    used("build", "shop")
    rows = used("learned", "shop", "--json").json["documents"]
    assert {row["id"]: row["state"] for row in rows} == {
        "refund_payment": "used", "track_shipment": "changed", "gone": "removed"
    }  # fmt: skip
    assert used("learned", "shop").out.count("changed, no longer used") == 1


def test_searches_are_listed_with_what_was_shown_and_used(used: Shell) -> None:
    out = used("learned", "shop", "--searches").out
    assert "play ·[2Jjazz\n  shown: track_shipment 0.25\n  used: nothing\n" in out
    assert "money back\n  shown: track_shipment\n  used: refund_payment (called)\n" in out
    rows = used("learned", "shop", "--searches", "--json").json["searches"]
    assert [row["query"] for row in rows][-2:] == ["a giraffe or a zebra", "zebra giraffe"]
    assert rows[-1]["uses"] == [{"id": "refund_payment", "outcome": "called"}]
    assert used("learned", "--searches").code == 2


def test_the_log_of_the_gateway_is_named_mcp(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell.folder)
    skill = shell.folder / ".claude" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: deploy\ndescription: Deploy the shop.\n---\nRun it.\n")
    log = UsageLog(GatewayConfig().home / "usage.db")
    log.add("ship it", uses=[Use("deploy", b"hash", "read")])
    assert [row["name"] for row in shell("learned", "--json").json["corpora"]] == ["mcp"]
    (row,) = shell("learned", "mcp", "--json").json["documents"]
    assert (row["id"], row["state"]) == ("deploy", "changed")
    assert [case["gold"] for case in shell("cases", "export", "mcp", "--json").json["cases"]] == [["deploy"]]
    assert shell("eval", "mcp", "--from-usage", "--json").json["corpus"] == "mcp, skills"
    assert shell("forget", "mcp", "--id", "deploy").out == "1 search is deleted.\n"


def test_a_damaged_log_is_reported_and_the_others_are_listed(used: Shell) -> None:
    folder = used.folder / "docs"
    with shortlist.build(shortlist.CorpusSource.from_files(folder), "other", embedder="none") as other:
        assert other.path
        (other.path / "usage.db").write_bytes(b"no database " * 100)
    done = used("learned", "--quiet")
    assert (done.code, done.out) == (0, "shop\n")
    assert "other" in used("learned").err


# forget


def test_forget_deletes_by_id_by_query_or_both(used: Shell) -> None:
    assert used("forget", "shop", "--query", "money  back", "--id", "refund_payment").out == "1 search is deleted.\n"
    assert used("forget", "shop", "--query", "where is it", "--json").json == {"corpus": "shop", "deleted": 1}
    assert used("forget", "shop", "--id", "refund_payment").out == "2 searches are deleted.\n"
    assert used("learned", "--json").json["corpora"][0]["searches"] == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--id", "refund_paymen"], "no search after which 'refund_paymen' was used. Did you mean 'refund_payment'?"),
        (["--query", "zebra girafe"], "no search 'zebra girafe'. Did you mean 'zebra giraffe'"),
        (["--query", "money back", "--id", "track_shipment"], "'money back' after which 'track_shipment' was used."),
    ],
)
def test_forget_names_what_does_not_match(used: Shell, arguments: list[str], problem: str) -> None:
    done = used("forget", "shop", *arguments)
    assert done.code == 1
    assert problem in done.err
    assert used("learned", "--json").json["corpora"][0]["searches"] == 6


def test_forget_deletes_everything_only_if_that_is_confirmed(used: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert used("forget", "shop").code == 2
    assert used("forget", "shop", "--all", "--id", "refund_payment").code == 2
    assert "--yes" in used("forget", "shop", "--all").err
    assert used("forget", "nowhere", "--all", "--yes").code == 1
    monkeypatch.setattr(Output, "can_ask", lambda out: True)
    refused = used("forget", "shop", "--all", stdin="no\n")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "Delete 6 searches of shop? [y/N] Nothing was changed.\n"
    assert used("forget", "shop", "--all", stdin="y\n").out == "6 searches are deleted.\n"
    assert used("forget", "shop", "--all", "--yes").out == "0 searches are deleted.\n"


# Cases


def test_cases_are_written_to_stdout_or_to_a_file(used: Shell) -> None:
    done = used("cases", "export", "shop")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["gold"] for row in rows] == [["refund_payment"]] * 3 + [["track_shipment"], []]
    assert "reviewed" in done.err
    written = used("cases", "export", "shop", "--out", "used.jsonl")
    assert written.out == "Wrote 4 cases with an answer and 1 without to used.jsonl.\n"
    assert [case.to_dict() for case in load_cases(used.folder / "used.jsonl")] == rows
    assert used("cases", "export", "shop", "--json").json["cases"] == rows


def test_without_a_case_no_file_is_written(shop: Shell) -> None:
    assert shop("cases", "export", "shop", "--out", "used.jsonl").code == 3
    assert not (shop.folder / "used.jsonl").exists()
    assert shop("eval", "shop", "--from-usage").code == 1


@pytest.mark.parametrize("command", ["eval", "eval-select", "sweep-select", "distractors"])
def test_only_reviewed_cases_count_unless_all_are_asked_for(used: Shell, command: str) -> None:
    used("cases", "export", "shop", "--out", "used.jsonl")
    none = used(command, "shop", "used.jsonl")
    assert none.code == 1
    assert "no reviewed case in used.jsonl" in none.err
    file = used.folder / "used.jsonl"
    file.write_text(file.read_text("utf-8").replace('"reviewed": false', '"reviewed": true', 1), "utf-8")
    some = used(command, "shop", "used.jsonl", "--json")
    assert some.code == 0
    assert some.err.startswith("shortlist: 4 cases that no one has reviewed are skipped.")
    every = used(command, "shop", "used.jsonl", "--unreviewed", "--json")
    assert (every.code, every.err) == (0, "")
    if command == "eval":
        assert (some.json["cases"], every.json["cases"]) == (1, 5)


def test_eval_from_usage_compares_with_what_was_learned_from_other_searches(used: Shell) -> None:
    data = used("eval", "shop", "--from-usage", "--json").json
    assert (data["cases"], data["reviewed"]) == (5, False)
    ranks = {one["query"]: (one["first"], one["second"]) for one in data["learned"]["better"]}
    assert ranks["zebra giraffe"][1] == ranks["a giraffe or a zebra"][1] == 1
    assert data["learned"]["metrics"]["hit@1"]["second"] > data["learned"]["metrics"]["hit@1"]["first"]
    out = used("eval", "shop", "--from-usage").out
    assert out.startswith("The cases are from the log of use. No one has reviewed them.\n")
    assert "With what was learned from the other searches:" in out
    assert used("eval", "shop", "cases.jsonl", "--from-usage").code == 2
    assert used("eval", "shop", "--from-usage", "--compare", "auto", "lexical").code == 2

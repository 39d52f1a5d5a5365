"""The commands learned, forget and cases export."""

from __future__ import annotations

import json

import pytest

import shortlist
from shortlist.cli.output import Output
from shortlist.eval import load_cases
from shortlist.index.storage.usage_log import Use
from tests.cli.conftest import Shell


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


def test_feedback_is_stored_and_undone(shop: Shell) -> None:
    for options, outcome in (((), "called"), (("--wrong",), "wrong")):
        sent = ("feedback", "shop", "cash for the lady", "refund_payment", *options)
        assert shop(*sent).out == "Stored.\n"
        (search,) = shop("learned", "shop", "--searches", "--json").json["searches"]
        assert search["uses"] == [{"id": "refund_payment", "outcome": outcome}]
        assert shop(*sent, "--undo").out == "The report is deleted.\n"
        assert shop("learned", "shop", "--searches", "--json").json["searches"] == []
    assert "no report" in shop("feedback", "shop", "cash", "refund_payment", "--undo").err

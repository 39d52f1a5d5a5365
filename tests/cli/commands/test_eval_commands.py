"""The evaluation commands: what they print and write, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shortlist
from shortlist import cli
from shortlist.eval import load_cases
from tests.answer.server import completion, serving
from tests.cli.conftest import Shell

EVALUATING = ["eval", "eval-select", "sweep-select", "calibrate-min-score", "distractors"]


def test_eval_as_json_is_the_report_of_the_library(shop: Shell) -> None:
    data = shop("eval", "shop", "cases.jsonl", "--mode", "lexical", "--json").json
    report = shortlist.eval.evaluate_discovery("shop", load_cases(shop.folder / "cases.jsonl"), mode="lexical")
    assert data["metrics"] == {name: value.to_dict() for name, value in report.metrics.items()}
    assert data["taxonomy"] == report.taxonomy
    assert len(data["outcomes"]) == 60
    assert data["flaws"] == []
    assert data["failed"] == {}


def test_eval_quietly_prints_a_measure_a_line(shop: Shell) -> None:
    lines = shop("eval", "shop", "cases.jsonl", "--mode", "lexical", "--quiet", "-k", "3").out.splitlines()
    assert [line.split("\t")[0] for line in lines][:4] == ["recall@1", "recall@3", "precision@1", "precision@3"]
    assert all(0 <= float(line.split("\t")[1]) <= 1 for line in lines)


def test_fail_under_ends_with_code_1_and_a_sentence_and_still_prints_the_report(shop: Shell) -> None:
    done = shop("eval", "shop", "cases.jsonl", "--mode", "lexical", "--fail-under", "ndcg@10=0.99", "--json")
    assert done.code == 1
    value = done.json["metrics"]["ndcg@10"]["value"]
    assert done.err == f"shortlist: ndcg@10 is {value:.4f}; --fail-under requires 0.99.\n"
    assert done.json["failed"] == {"ndcg@10": 0.99}
    kept = shop("eval", "shop", "cases.jsonl", "--mode", "lexical", "--fail-under", "ndcg@7=0.1", "--quiet")
    assert kept.code == 0
    assert "ndcg@7\t" in kept.out


@pytest.mark.parametrize("limit", ["ndcg@10", "ndcg@10=much", "ndcg@10=nan", "bleu=0.5", "ndcg=0.5"])
def test_a_malformed_limit_is_a_usage_error(shop: Shell, limit: str) -> None:
    done = shop("eval", "shop", "cases.jsonl", "--fail-under", limit)
    assert done.code == 2
    assert done.err.startswith("shortlist: --fail-under must be a measure and a number, such as ndcg@10=0.6")


def test_two_modes_or_two_corpora_are_compared(shop: Shell) -> None:
    done = shop("eval", "shop", "cases.jsonl", "--compare", "lexical", "hybrid")
    assert done.code == 0
    assert "lexical against hybrid, 40 cases" in done.out
    shortlist.register("other", "catalog", root=shop.folder / "tools.yaml", embedder="none")
    data = shop("eval", "shop", "cases.jsonl", "--mode", "lexical", "--compare", "shop", "other", "--json").json
    assert (data["first"]["corpus"], data["second"]["corpus"]) == ("shop", "other")
    assert data["metrics"]["mrr"]["ties"] == 40
    assert data["metrics"]["mrr"]["p_value"] == 1.0


def test_a_page_is_written_beside_the_answer(shop: Shell) -> None:
    done = shop("eval", "shop", "cases.jsonl", "--mode", "lexical", "--html", "page.html", "--json")
    assert done.code == 0
    assert done.err == "Wrote page.html.\n"
    assert (shop.folder / "page.html").read_text("utf-8").count("<figure>") == 4


def test_a_page_of_a_comparison_is_about_the_second_of_both(shop: Shell) -> None:
    shop("eval", "shop", "cases.jsonl", "--compare", "lexical", "dense", "--html", "page.html")
    page = (shop.folder / "page.html").read_text("utf-8")
    assert "90 documents, mode dense, 60 cases, 20 without an expected result" in page
    floor = shop("calibrate-min-score", "shop", "cases.jsonl", "--mode", "dense", "--json").json
    assert floor["says"] in page


def test_a_page_can_be_made_where_some_of_the_gold_is_not_there(shop: Shell) -> None:
    lines = [{"query": "where is the parcel", "gold": ["track_shipment", "gone"]}, {"query": "x", "gold": "gone"}]
    (shop.folder / "odd.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert shop("eval", "shop", "odd.jsonl", "--mode", "lexical", "--html", "page.html", "--quiet").code == 0
    assert "more distractors" in (shop.folder / "page.html").read_text("utf-8")


def test_a_limit_that_nothing_can_be_measured_by_is_not_reached(shop: Shell) -> None:
    (shop.folder / "none.jsonl").write_text('{"query": "play some jazz", "gold": []}\n')
    done = shop("eval", "shop", "none.jsonl", "--mode", "lexical", "--fail-under", "ndcg@10=0.1")
    assert (done.code, done.err) == (
        1,
        "shortlist: ndcg@10 cannot be measured: no case has an expected result; --fail-under requires 0.1.\n",
    )
    assert "@10" not in done.out


def test_a_beir_folder_brings_its_own_documents(shell: Shell) -> None:
    folder = shell.folder / "tea"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "", "text": "green tea"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "tea"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    data = shell("eval", "tea", "--json", "--mode", "lexical").json
    assert (data["corpus"], data["documents"], data["metrics"]["mrr"]["value"]) == ("tea", 1, 1.0)


def test_trec_topics_come_with_their_qrels(shop: Shell) -> None:
    (shop.folder / "topics.tsv").write_text("1\ttrack shipment\n")
    (shop.folder / "qrels.txt").write_text("1 0 track_shipment 1\n")
    done = shop("eval", "shop", "topics.tsv", "--qrels", "qrels.txt", "--mode", "lexical", "--json")
    assert done.json["metrics"]["mrr"]["value"] == 1.0


def test_flaws_of_cases_are_reported_on_stderr(shop: Shell) -> None:
    (shop.folder / "odd.jsonl").write_text('{"query": "refund", "gold": "refund_paiment"}\n')
    done = shop("eval", "shop", "odd.jsonl", "--mode", "lexical", "--quiet")
    assert done.err == ""
    done = shop("eval", "shop", "odd.jsonl", "--mode", "lexical")
    assert done.code == 0
    assert "Line 1: the corpus has no document 'refund_paiment'. Did you mean 'refund_payment'?" in done.err


@pytest.mark.parametrize("command", EVALUATING)
def test_cases_that_cannot_be_read_are_one_sentence_and_code_1(shop: Shell, command: str) -> None:
    missing = shop(command, "shop", "none.jsonl")
    assert (missing.code, "none.jsonl" in missing.err) == (1, True)
    (shop.folder / "empty.jsonl").write_text("\n")
    empty = shop(command, "shop", "empty.jsonl", "--json")
    assert empty.code == 1
    assert empty.json["error"]["message"] == "There are no cases in empty.jsonl."


def test_eval_without_cases_is_wrong_usage(shop: Shell) -> None:
    done = shop("eval", "shop")
    assert done.code == 2
    assert "CASES is missing" in done.err


def test_a_curve_of_distractors_has_the_sizes_that_were_asked_for(shop: Shell) -> None:
    done = shop(
        "distractors", "shop", "cases.jsonl", "--mode", "lexical", "--sizes", "10,90", "--repeats", "1", "--json"
    )
    assert [point["size"] for point in done.json["points"]] == [10, 90]
    assert shop("distractors", "shop", "cases.jsonl", "--sizes", "10,91").code == 1
    wrong = shop("distractors", "shop", "cases.jsonl", "--sizes", "10,nan")
    assert (wrong.code, wrong.err) == (
        2,
        "shortlist: Invalid value for '--sizes': '10,nan' is not a list of integers separated by commas.\n",
    )
    table = shop("distractors", "shop", "cases.jsonl", "--mode", "lexical", "--sizes", "90", "--repeats", "1")
    assert "accuracy" in table.out


def test_lint_of_a_good_catalog_ends_with_0_and_keeps_nothing_of_a_path(shell: Shell) -> None:
    done = shell("lint", "tools.yaml")
    assert (done.code, done.out) == (0, "90 documents: no problems.\n")
    assert "tools" not in " ".join(row["name"] for row in shell("ls", "--json").json["corpora"] if row["built"])


def test_lint_of_nothing_is_an_error(shell: Shell) -> None:
    (shell.folder / "nothing").mkdir()
    assert shell("lint", "nothing").code == 1
    assert shell("lint", "nowhere").code == 1


def test_eval_gen_writes_the_cases_of_a_model(
    shop: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shop.folder / "made.jsonl"
    with serving(*[completion('["could you help me out with something"]')] * 3) as server:
        monkeypatch.setenv("SHORTLIST_LLM_URL", server.url)
        monkeypatch.setenv("SHORTLIST_LLM_MODEL", "some-model")
        assert cli.run(["eval-gen", "shop", str(file), "-n", "3", "--out-of-scope", "0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["reasons"] == {"duplicate": 2}
    (case,) = load_cases(file)
    assert case.query == "could you help me out with something"
    assert len(case.gold) == 1


def test_eval_gen_without_any_case_ends_with_3_and_writes_nothing(
    shop: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(*[completion("[]")] * 3) as server:
        monkeypatch.setenv("SHORTLIST_LLM_URL", server.url)
        monkeypatch.setenv("SHORTLIST_LLM_MODEL", "some-model")
        assert cli.run(["eval-gen", "shop", str(shop.folder / "made.jsonl"), "-n", "3", "--out-of-scope", "0"]) == 3
    assert capsys.readouterr().out.startswith("No case was generated, and no file was written.\n")
    assert not (shop.folder / "made.jsonl").exists()


def test_eval_gen_says_that_it_needs_a_model(shop: Shell, tmp_path: Path) -> None:
    done = shop("eval-gen", "shop", "made.jsonl")
    assert done.code == 1
    assert done.err.startswith("shortlist: eval-gen needs a language model")
    dry = shop("eval-gen", "shop", "made.jsonl", "-n", "4", "--out-of-scope", "0.5", "--dry-run", "--json")
    assert len(dry.json["prompts"]) == 4 + 1
    shown = shop("eval-gen", "shop", "made.jsonl", "-n", "2", "--out-of-scope", "0", "--dry-run").out
    assert shown.count("Below is the description of one thing") == 2
    assert not (shop.folder / "made.jsonl").exists()


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


def test_eval_from_usage_compares_with_what_was_learned_from_other_searches(taught: Shell) -> None:
    data = taught("eval", "shop", "--from-usage", "--json").json
    assert (data["cases"], data["reviewed"]) == (9, False)
    ranks = {one["query"]: (one["first"], one["second"]) for one in data["learned"]["better"]}
    assert ranks["zebra giraffe"][1] == ranks["a giraffe or a zebra"][1] == 1
    assert data["learned"]["metrics"]["hit@1"]["second"] > data["learned"]["metrics"]["hit@1"]["first"]
    out = taught("eval", "shop", "--from-usage").out
    assert out.startswith("The cases are from the log of use. No one has reviewed them.\n")
    assert "With what was learned from the other searches:" in out
    assert taught("eval", "shop", "cases.jsonl", "--from-usage").code == 2
    assert taught("eval", "shop", "--from-usage", "--compare", "auto", "lexical").code == 2

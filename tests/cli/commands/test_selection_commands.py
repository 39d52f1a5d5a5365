"""The commands that evaluate and tune the selection; what all commands with cases share is tested with `eval`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell


def test_the_selection_is_evaluated_and_tuned(shop: Shell) -> None:
    options = ("shop", "cases.jsonl", "--mode", "lexical", "--rel", "0.8", "--max-k", "2", "--json")
    one = shop("eval-select", *options, "--strategy", "conservative", "--min-relevance", "none").json
    sweep = shop("sweep-select", *options)
    (point,) = sweep.json["points"]
    assert point["f1"] == pytest.approx(one["f1"]["value"])
    assert shop("sweep-select", "shop", "cases.jsonl", "--rel", "0.8", "--max-k", "2", "--quiet").out == "2\t0.8\n"
    assert "conditional commit rate" in shop("eval-select", "shop", "cases.jsonl").out
    for odd in (("--rel", "high"), ("--rel", "nan"), ("--max-k", "1.5,2"), ("--max-k", "inf")):
        assert shop("sweep-select", "shop", "cases.jsonl", *odd).code == 2
    wrong = shop("sweep-select", "shop", "cases.jsonl", "--by", "beauty")
    assert (wrong.code, "beauty" in wrong.err) == (1, True)


def test_a_calibrated_threshold_is_saved_used_and_reported_when_outdated(shop: Shell) -> None:
    loose = shop("calibrate-min-score", "shop", "cases.jsonl", "--mode", "lexical")
    assert "Not saved." in loose.out
    assert shop("info", "shop", "--json").json["floors"] == {}
    kept = shop("calibrate-min-score", "shop", "cases.jsonl", "--mode", "lexical", "--persist", "--json").json
    assert shop("info", "shop", "--json").json["floors"] == {"lexical": kept["floor"]}
    assert f"{kept['floor']:.4g} (mode lexical)" in shop("info", "shop").out
    asked = ("discover", "shop", "quiet jazz for the evening", "--mode", "lexical", "--min-relevance", "auto")
    assert shop(*asked).code == 3
    text = (shop.folder / "tools.yaml").read_text("utf-8")
    more = "".join(
        f"\n  - id: extra{number}\n    title: extra{number}\n    content: more of it\n" for number in range(30)
    )
    (shop.folder / "tools.yaml").write_text(text + more, "utf-8")
    shop("build", "shop")
    done = shop(*asked)
    assert "33% of it has changed since" in done.err
    assert shop("info", "shop", "--json").json["doubts"].keys() == {"lexical"}

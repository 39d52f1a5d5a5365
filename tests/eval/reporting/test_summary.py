"""A summary has the measures, the outcomes and the cases that changed, as Markdown that no query can break out of."""

from __future__ import annotations

from dataclasses import replace

import shortlist
from shortlist import Corpus
from shortlist.eval import Case, compare, evaluate_discovery
from shortlist.eval.reporting.summary import MOST_CASES, list_cases, write_summary
from tests.eval.conftest import CASES, SHOP


def test_a_report_has_its_measures_outcomes_and_limits(shop: Corpus) -> None:
    report = evaluate_discovery(shop, CASES, "lexical", 2)
    text = write_summary(report, failed={"mrr": 0.995})
    value = report["mrr"]
    assert f"| mrr | {value:.3f} | {value.low:.3f} to {value.high:.3f} |" in text
    assert "| recall@2 |" in text
    assert "| recall@1 |" not in text
    assert "**mrr is lower than 0.995.**" in text
    counts = [int(line.split(" | ")[1].rstrip(" |")) for line in text.rpartition("--: |\n")[2].splitlines()]
    assert sum(counts) == len(CASES)


def test_a_comparison_lists_what_got_better_and_worse(shop: Corpus) -> None:
    shorter = [replace(document, content="stop an order") if document.id == "cancel" else document for document in SHOP]
    before = evaluate_discovery(shop, CASES, "lexical", 2)
    with shortlist.build(shorter, in_memory=True, embedder="none") as changed:
        after = evaluate_discovery(changed, CASES, "lexical", 2)
    found = compare(before, after)
    text = write_summary(after, found, names=("old", "new"))
    pair = found.metrics["mrr"]
    assert f"| mrr | {pair.first:.3f} | {pair.second:.3f} | {pair.difference:+.3f} | {pair.p_value:.3f} |" in text
    assert "| an expected result is ranked first | 1 | 2 |" in text
    better = "1 case got better:\n\n| query | old | new |\n| --- | --: | --: |\n"
    assert text.endswith(f"{better}| the warehouse sends pieces of an order | 2 | 1 |\n\nNo case got worse.\n")


def test_a_query_is_text_in_one_cell_and_long_lists_end(shop: Corpus) -> None:
    outcome = evaluate_discovery(shop, CASES, "lexical", 2).outcomes[0]
    odd = replace(outcome, case=Case("a | b\n<img src=x> [c](d) @e `f`", ("g",)), rank=None)
    said, table = list_cases("worse", ("before", "after"), [(odd, odd)] * (MOST_CASES + 1))
    assert said == f"{MOST_CASES + 1} cases got worse, {MOST_CASES} of them shown:"
    rows = table.splitlines()[2:]
    assert rows == [r"| a \| b \<img src=x\> \[c\](d) \@e \`f\` | - | - |"] * MOST_CASES

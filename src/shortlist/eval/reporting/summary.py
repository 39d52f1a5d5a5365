"""A summary of an evaluation in Markdown: measures, outcomes, and the cases that a change made better or worse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from shortlist._text import count_of
from shortlist.display.html_tables import cut
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport, Outcome

MOST_CASES = 20  # of each list
MARKUP = re.compile(r"[\\`*_{}\[\]<>|~#!@&$]")


def write_summary(
    report: DiscoveryReport,
    comparison: Comparison | None = None,
    failed: Mapping[str, float] | None = None,
    *,
    names: tuple[str, str] = ("before", "after"),
) -> str:
    """The summary of a report, or of a comparison whose second report it is.

    `failed` has the limits of the metrics that are lower, and `names` are those of the two sides.
    """
    cases = count_of(len(report.outcomes), "case")
    parts = [f"### Search quality\n\n{cases}, {len(report.out_of_scope):,} without an expected result."]
    parts += [f"**{name} is lower than {limit:g}.**" for name, limit in (failed or {}).items()]
    own = [name for name in report.metrics if name.partition("@")[2] in ("", str(report.k)) or name == "hit@1"]
    wanted = dict.fromkeys((*own, *(name for name in failed or {} if name in report.metrics)))
    if comparison:
        pairs = {name: comparison.metrics[name] for name in wanted}
        rows = [
            (name, f"{pair.first:.3f}", f"{pair.second:.3f}", f"{pair.difference:+.3f}", f"{pair.p_value:.3f}")
            for name, pair in pairs.items()
        ]
        parts.append(write_table(("", *names, "difference", "p"), rows))
        before, after = comparison.first.taxonomy, comparison.second.taxonomy
        counts = [(about, str(before[name]), str(after[name])) for name, about in OUTCOMES.items()]
        parts.append(write_table(("outcome", *names), (row for row in counts if row[1:] != ("0", "0"))))
        parts += list_cases("better", names, comparison.better) + list_cases("worse", names, comparison.worse)
    else:
        values = [(name, report.metrics[name]) for name in wanted]
        bounds = [(name, f"{value:.3f}", f"{value.low:.3f} to {value.high:.3f}") for name, value in values]
        parts.append(write_table(("", "value", f"{report.confidence:.0%} interval"), bounds))
        found = [(OUTCOMES[name], str(count)) for name, count in report.taxonomy.items() if count]
        parts.append(write_table(("outcome", "cases"), found))
    return "\n\n".join(parts) + "\n"


def list_cases(word: str, names: Sequence[str], pairs: Sequence[tuple[Outcome, Outcome]]) -> list[str]:
    """The cases that got better or worse, with their ranks on both sides."""
    if not pairs:
        return [f"No case got {word}."]
    rows = [
        (MARKUP.sub(r"\\\g<0>", cut(old.case.query)), str(old.rank or "-"), str(new.rank or "-"))
        for old, new in pairs[:MOST_CASES]
    ]
    shown = f", {MOST_CASES} of them shown" if len(pairs) > MOST_CASES else ""
    return [f"{count_of(len(pairs), 'case')} got {word}{shown}:", write_table(("query", *names), rows)]


def write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shortlist.index.storage.usage_log import Search, Use
from shortlist.retrieval.learning import learned
from shortlist.retrieval.learning.examples import (
    HALF_LIFE,
    MOST_EXAMPLES,
    MOST_REPEATED,
    OFFERED,
    collect_examples,
    fit_threshold,
)
from shortlist.retrieval.relevance import THRESHOLD

if TYPE_CHECKING:
    pass


@pytest.fixture(autouse=True)
def _learn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(learned, "RELEARN_AT_ONCE", 1e9)


def made(count: int, query: str, uses: list[Use], session: str = "", at: float = 0.0) -> list[Search]:
    return [Search(at, session, query, {"a": 0.5, "b": 0.5}, uses)] * count


A = Use("a", b"", "called")


def test_examples_are_weighed_by_how_often_how_recently_and_how_consistently() -> None:
    def weigh(*searches: list[Search]) -> float:
        examples = collect_examples([one for some in searches for one in some], now=0.0).by_document
        return sum(example.weight for example in examples.get(("a", b""), []))

    once = weigh(made(1, "q", [A]))
    assert once == 1.0
    assert weigh(made(1000, "q", [A])) == 2 * once  # the same query
    assert weigh(made(1, "q", [A], at=-HALF_LIFE)) == pytest.approx(once / 2)
    assert 0 < weigh(made(1, "q", [A]), made(1, "q", [])) < once  # it was offered and not used
    assert weigh(made(1, "q", [A]), made(1, "q", [Use("a", b"", "failed")])) == pytest.approx(once / 2)
    assert weigh(made(1, "q", [Use("a", b"", "failed")])) == 0
    assert weigh(made(1, "q", [Use("a", b"", "read")])) < once
    varied = [made(1, f"q{at}", [A], "loop") for at in range(1000)]
    assert weigh(*varied) == 5  # of one session
    assert weigh(*[made(1, f"q{at}", [A], f"s{at}") for at in range(1000)]) == MOST_EXAMPLES


def test_reports_without_a_session_all_count_up_to_the_limit_of_one_query() -> None:
    def collect(*searches: list[Search]) -> list[tuple[str, float, float]]:
        found = collect_examples([search for some in searches for search in some], now=0.0)
        return [(one.query, one.weight, one.independent) for one in found.by_document["a", b""]]

    read = Use("a", b"", "read")  # worth one half
    assert [collect(made(count, "q", [read])) for count in (1, 2, 3, 9)] == [
        [("q", value, value)] for value in (0.5, 1.0, 1.5, MOST_REPEATED)
    ]
    assert collect(made(9, "q", [read], "s")) == [("q", 0.5, 0.5)]
    assert collect(made(9, "q", [A]), made(9, "Q", [A])) == [("q", MOST_REPEATED, MOST_REPEATED)]  # the same wording
    wrong = Use("a", b"", "wrong")
    for count, doubt in ((1, 1.0), (2, 2.0), (9, MOST_REPEATED)):
        assert collect_examples(made(count, "q", [wrong]), now=0.0).doubts["q"]["a", b""] == doubt
    assert collect_examples(made(9, "q", [wrong], "s"), now=0.0).doubts["q"]["a", b""] == 1


def test_what_was_reported_about_another_definition_does_not_count_against_a_document() -> None:
    new, wrong = Use("a", b"new", "called"), Use("a", b"old", "wrong")
    found = collect_examples(made(1, "q", [new]) + made(1, "q", [wrong]), now=0.0)
    assert [example.weight for example in found.by_document["a", b"new"]] == [1.0]
    assert found.doubts == {"q": {("a", b"old"): 1.0}}
    passed_over = made(2, "q", [Use("b", b"", "called")])  # whatever the definition of "a" was
    found = collect_examples(passed_over + made(1, "q", [wrong]), now=0.0)
    assert found.doubts == {"q": {("a", None): 2 * OFFERED, ("a", b"old"): 1.0 + 2 * OFFERED}}


def test_the_threshold_is_fitted_only_with_enough_evidence_and_moves_little() -> None:
    def fit(used: float, unused: float, count: int = 200) -> float | None:
        searches = [Search(0.0, "", "q", {"a": used}, [A])] * count
        searches += [Search(0.0, "", "q", {"a": unused}, [])] * (count // 2)
        found = fit_threshold(searches)
        return found and found.value

    assert fit(0.9, 0.3, count=30) is None
    assert fit(0.9, 0.3) == pytest.approx(0.332)  # what was not used is refused from now on
    assert fit(0.9, 0.9) == THRESHOLD  # nothing to gain
    assert fit(0.1, 0.1) == pytest.approx(0.212)  # what was used is no longer refused


def test_a_refused_search_that_was_reworded_is_not_evidence_for_a_threshold() -> None:
    searches = [Search(0.0, "", "q", {"a": 0.9}, [A])] * 200 + [Search(0.0, "", "q", {"a": 0.3}, [])] * 100
    reworded = [Search(0.0, "", "q", {"a": 0.1}, [Use("a", b"", "reworded")])] * 100
    assert fit_threshold(searches + reworded) == fit_threshold(searches)

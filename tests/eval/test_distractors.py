from __future__ import annotations

import pytest

import shortlist
from shortlist import CorpusSource, Document, InputError
from shortlist.eval import Case, distractor_robustness_curve

# What is asked for holds one word; so do half of the others, in a shorter text, so that they stand before it.
RIGHT = [Document(f"right{number}", "", f"wanted{number} in a longer text of its own") for number in range(4)]
RIVALS = [Document(f"rival{number}-{twin}", "", f"wanted{number}") for number in range(4) for twin in range(5)]
OTHERS = [Document(f"other{number}", "", f"something else {number}") for number in range(16)]
PROBES = [Case(f"wanted{number}", (f"right{number}",)) for number in range(4)]


def test_what_stands_first_falls_as_rivals_join() -> None:
    curve = distractor_robustness_curve(RIGHT + RIVALS + OTHERS, PROBES, [4, 40], mode="lexical", k=10, repeats=2)
    small, large = curve.points
    assert (small.size, large.size) == (4, 40)
    assert small.questions == 4 * 2
    assert (small.accuracy, small.surfaced, small.committed) == (1.0, 1.0, 1.0)
    assert large.accuracy == 0.0  # every rival has joined and stands before it
    assert large.surfaced == 1.0  # five rivals and itself are among the first ten
    assert large.committed == 0.0
    assert small.false_action is None


def test_catalogs_that_grow_without_rivals_cost_nothing() -> None:
    curve = distractor_robustness_curve(RIGHT + OTHERS, PROBES, mode="lexical")
    assert [point.size for point in curve.points] == [10, 20]
    assert [point.accuracy for point in curve.points] == [1.0, 1.0]


def test_questions_that_nothing_serves_are_asked_of_every_size() -> None:
    probes = [*PROBES, Case("something"), Case("zebra")]
    curve = distractor_robustness_curve(RIGHT + OTHERS, probes, [4, 20], mode="lexical", repeats=3)
    assert [point.false_action for point in curve.points] == [0.0, 0.5]


def test_only_questions_whose_gold_fits_into_the_smallest_catalog_are_asked() -> None:
    curve = distractor_robustness_curve(RIGHT + OTHERS, PROBES, [2, 20], mode="lexical", repeats=3)
    assert [point.questions for point in curve.points] == [2 * 3, 2 * 3]


def test_the_same_seed_draws_the_same_curve() -> None:
    def drawn(seed: int) -> object:
        scope, sizes = RIGHT + RIVALS + OTHERS, [4, 12, 20]
        return distractor_robustness_curve(scope, PROBES, sizes, mode="lexical", repeats=1, seed=seed).to_dict()

    assert drawn(1) == drawn(1)
    assert len({str(drawn(seed)) for seed in range(6)}) > 1


def test_the_scope_of_a_source_a_corpus_a_mapping_and_pairs_will_do() -> None:
    source = CorpusSource.from_list(RIGHT + OTHERS)
    pairs = [(probe.query, probe.gold[0]) for probe in PROBES]
    expected = distractor_robustness_curve(source.scope, PROBES, mode="lexical").to_dict()
    assert distractor_robustness_curve(source, dict(pairs), mode="lexical").to_dict() == expected
    with shortlist.build(source, in_memory=True, embedder="none") as corpus:
        assert distractor_robustness_curve(corpus, pairs, mode="lexical").to_dict() == expected
        # a corpus keeps its own embedder, so one without vectors needs no model
        assert distractor_robustness_curve(corpus, pairs).points[0].accuracy == 1.0


def test_a_curve_prints_as_a_table_and_reports_its_progress() -> None:
    reported: list[tuple[int, int | None]] = []
    curve = distractor_robustness_curve(
        RIGHT, PROBES, mode="lexical", repeats=2, progress=lambda done, total: reported.append((done, total))
    )
    assert reported == [(1, 2), (2, 2)]
    assert str(curve.table()).splitlines()[1].split() == ["4", "8", "1", "1", "1", "1", "-"]


def test_what_makes_no_sense_is_a_sentence() -> None:
    with pytest.raises(InputError, match="needs cases with gold"):
        distractor_robustness_curve(RIGHT, [Case("zebra")])
    with pytest.raises(InputError, match="The catalog has no document 'gone', which 'x' expects"):
        distractor_robustness_curve(RIGHT, [Case("x", ("gone",))])
    with pytest.raises(InputError, match="A catalog of 2 is too small for the gold of any case"):
        distractor_robustness_curve(RIGHT, [Case("x", ("right0", "right1", "right2"))], [2, 4], mode="lexical")
    with pytest.raises(InputError, match="sizes must be from 1 to 4"):
        distractor_robustness_curve(RIGHT, PROBES, [4, 5])


def test_a_question_with_much_gold_begins_with_a_catalog_that_holds_it() -> None:
    wanted = tuple(document.id for document in OTHERS[:12])
    curve = distractor_robustness_curve(RIGHT + OTHERS, [Case("something", wanted)], mode="lexical")
    assert [point.size for point in curve.points] == [12, 20]

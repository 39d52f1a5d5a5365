from __future__ import annotations

import copy
import pickle
from math import comb

import numpy as np
import pytest

from shortlist import InputError
from shortlist.eval import Estimate, paired
from shortlist.eval.statistics import Table, estimate_means, randomization_p_value


def test_an_estimate_is_a_number_that_knows_its_interval() -> None:
    value = Estimate(0.5, 0.25, 0.75)
    assert value + 1 == 1.5
    assert (value.low, value.high) == (0.25, 0.75)
    assert value.to_dict() == {"value": 0.5, "low": 0.25, "high": 0.75}
    for other in (copy.copy(value), pickle.loads(pickle.dumps(value))):
        assert (other, other.low, other.high) == (0.5, 0.25, 0.75)


def test_the_interval_of_a_share_is_that_of_the_binomial_distribution() -> None:
    """60 of 100: the bootstrap of a share draws from Binomial(100, 0.6), whose 2.5 % and 97.5 % places are counted."""
    found = estimate_means({"share": [1.0] * 60 + [0.0] * 40}, resamples=20_000)["share"]

    def quantile(share: float) -> float:
        total = 0.0
        for hits in range(101):
            total += comb(100, hits) * 0.6**hits * 0.4 ** (100 - hits)
            if total >= share:
                return hits / 100
        raise AssertionError

    assert found == pytest.approx(0.6)
    assert found.low == pytest.approx(quantile(0.025), abs=0.011)
    assert found.high == pytest.approx(quantile(0.975), abs=0.011)


def test_a_seed_repeats_an_interval_and_another_gives_another() -> None:
    values = np.random.default_rng(1).random(50).tolist()
    one, again = estimate_means({"a": values}, seed=3)["a"], estimate_means({"a": values}, seed=3)["a"]
    other = estimate_means({"a": values}, seed=4)["a"]
    assert (one.low, one.high) == (again.low, again.high) != (other.low, other.high)
    assert one == other


def test_values_that_are_all_the_same_leave_no_doubt_and_no_values_no_estimate() -> None:
    found = estimate_means({"a": [0.25, 0.25, 0.25]})["a"]
    assert (found, found.low, found.high) == (0.25, 0.25, 0.25)
    assert estimate_means({"a": []}) == {}
    with pytest.raises(InputError, match="confidence must be between 0 and 1"):
        estimate_means({"a": [1.0]}, confidence=1.0)


def test_the_p_value_of_few_cases_counts_every_exchange() -> None:
    """Five wins of the same size: 2 of 2^5 exchanges are as far from zero."""
    assert randomization_p_value(np.ones(5)) == 2 / 2**5
    # 3, 1 and 1: sums as far as 5 are those with all signs alike, 2 of 8
    assert randomization_p_value(np.array([3.0, 1.0, 1.0])) == 2 / 8
    # 3 and -1: sums of 2 or further: +-4 and +-2, all four
    assert randomization_p_value(np.array([3.0, -1.0])) == 1.0
    assert randomization_p_value(np.zeros(9)) == 1.0


def test_the_p_value_of_many_cases_is_drawn_and_near_the_exact_one() -> None:
    differences = np.array([1.0] * 15 + [-1.0] * 5)
    exact = 2 * sum(comb(20, losses) for losses in range(6)) / 2**20
    assert randomization_p_value(differences) == pytest.approx(exact, abs=0.005)
    assert randomization_p_value(differences) == randomization_p_value(differences)
    assert randomization_p_value(np.ones(40)) == 1 / 10_001  # never zero: what was seen counts


def test_a_paired_comparison_counts_wins_losses_and_ties() -> None:
    found = paired([0.0, 0.5, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0])
    assert (found.first, found.second) == (2.5 / 4, 3.0 / 4)
    assert found.difference == pytest.approx(0.125)
    assert found.difference.low < 0 < found.difference.high
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)
    # 1, 0.5 and -1: the sum is 0.5; every one of the eight sign changes is as far from zero
    assert found.p_value == 1.0
    with pytest.raises(InputError, match="not on 1 and 2"):
        paired([1.0], [1.0, 0.0])


def test_a_table_shows_shares_as_bars_with_intervals_in_a_notebook() -> None:
    shown = Table([{"mean_size": Estimate(2.5, 2.0, 3.0), "recall": Estimate(0.5, 0.25, 0.75), "k": 3}])._repr_html_()
    assert shown.count("width:50.0%;height:100%") == 1
    assert "left:25.0%;width:50.0%" in shown
    assert "2.500" in shown
    assert ">mean size<" in shown
    assert Table()._repr_html_()

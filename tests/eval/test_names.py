"""Evaluation loads on first use, and all its public names are there."""

from __future__ import annotations

import pytest

import shortlist
from tests.test_import import HEAVY, modules_after


def test_evaluation_loads_when_it_is_used() -> None:
    loaded = modules_after("import shortlist\nassert shortlist.eval.__name__ == 'shortlist.eval'")
    assert loaded.isdisjoint(HEAVY)
    assert "shortlist.eval.cases" not in loaded
    assert "shortlist.eval" not in modules_after("import shortlist")
    after = modules_after("from shortlist.eval import load_cases, Case\nimport shortlist\nshortlist.eval_gen.plan")
    assert "shortlist.eval.generate" in after


def test_every_public_name_is_there_and_an_unknown_one_is_an_attribute_error() -> None:
    for name in shortlist.eval.__all__:
        assert getattr(shortlist.eval, name) is not None
    assert set(shortlist.eval.__all__) <= set(dir(shortlist.eval))
    with pytest.raises(AttributeError, match="laod_cases"):
        _ = shortlist.eval.laod_cases  # type: ignore[attr-defined]

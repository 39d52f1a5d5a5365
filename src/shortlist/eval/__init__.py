"""How well does all of it work? Cases, measures, what went wrong and why, floors, distractors, and a look at a catalog.

Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.eval.calibration import calibrate_min_score as calibrate_min_score
    from shortlist.eval.cases import Case as Case
    from shortlist.eval.cases import load_beir as load_beir
    from shortlist.eval.cases import load_cases as load_cases
    from shortlist.eval.cases import load_trec as load_trec
    from shortlist.eval.cases import parse_cases as parse_cases
    from shortlist.eval.cases import save_cases as save_cases
    from shortlist.eval.cases import validate_cases as validate_cases
    from shortlist.eval.distractors import distractor_robustness_curve as distractor_robustness_curve
    from shortlist.eval.generate import build_eval_set as build_eval_set
    from shortlist.eval.generate import generate_abstention_cases as generate_abstention_cases
    from shortlist.eval.generate import generate_cases as generate_cases
    from shortlist.eval.lint import lint_corpus as lint_corpus
    from shortlist.eval.metrics import metric as metric
    from shortlist.eval.reporting.html_report import html_page as html_page
    from shortlist.eval.reporting.study import study as study
    from shortlist.eval.retrieval import compare as compare
    from shortlist.eval.retrieval import evaluate_discovery as evaluate_discovery
    from shortlist.eval.selection import evaluate_selection as evaluate_selection
    from shortlist.eval.selection import sweep_selector as sweep_selector
    from shortlist.eval.statistics import Estimate as Estimate
    from shortlist.eval.statistics import paired as paired

_LAZY = {
    "cases": ("Case", "load_beir", "load_cases", "load_trec", "parse_cases", "save_cases", "validate_cases"),
    "certainty": ("Estimate", "paired"),
    "metrics": ("metric",),
    "retrieval": ("compare", "evaluate_discovery"),
    "calibration": ("calibrate_min_score",),
    "selection": ("evaluate_selection", "sweep_selector"),
    "distractors": ("distractor_robustness_curve",),
    "generate": ("build_eval_set", "generate_abstention_cases", "generate_cases"),
    "lint": ("lint_corpus",),
    "page": ("html_page",),
    "studies": ("study",),
}
_HOME = {name: module for module, names in _LAZY.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shortlist.eval' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"shortlist.eval.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

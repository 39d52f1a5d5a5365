"""Case generation with a language model, by its public path: everything is in `shortlist.eval.generate`."""

from shortlist.eval.generate import (
    Dropped,
    Generated,
    Request,
    build_eval_set,
    generate_abstention_cases,
    generate_cases,
    plan,
)

__all__ = [
    "Dropped",
    "Generated",
    "Request",
    "build_eval_set",
    "generate_abstention_cases",
    "generate_cases",
    "plan",
]

"""Case generation with a language model, by its public path: everything is in `shortlist.eval.generate`."""

from shortlist.eval.generate import DroppedCase as Dropped
from shortlist.eval.generate import Generated as Generated
from shortlist.eval.generate import GenerationRequest as Request
from shortlist.eval.generate import build_eval_set as build_eval_set
from shortlist.eval.generate import generate_abstention_cases as generate_abstention_cases
from shortlist.eval.generate import generate_cases as generate_cases
from shortlist.eval.generate import plan as plan

__all__ = ["Dropped", "Generated", "Request", "build_eval_set", "generate_abstention_cases", "generate_cases", "plan"]

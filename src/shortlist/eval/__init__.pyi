from .calibration import calibrate_min_score as calibrate_min_score
from .cases import Case as Case
from .cases import load_beir as load_beir
from .cases import load_cases as load_cases
from .cases import load_trec as load_trec
from .cases import parse_cases as parse_cases
from .cases import save_cases as save_cases
from .cases import validate_cases as validate_cases
from .distractors import distractor_robustness_curve as distractor_robustness_curve
from .generate import build_eval_set as build_eval_set
from .generate import generate_abstention_cases as generate_abstention_cases
from .generate import generate_cases as generate_cases
from .lint import lint_corpus as lint_corpus
from .metrics import metric as metric
from .reporting.study import html_page as html_page
from .reporting.study import study as study
from .retrieval import compare as compare
from .retrieval import evaluate_discovery as evaluate_discovery
from .selection import evaluate_selection as evaluate_selection
from .selection import sweep_selector as sweep_selector
from .statistics import Estimate as Estimate
from .statistics import paired as paired

__all__: list[str]

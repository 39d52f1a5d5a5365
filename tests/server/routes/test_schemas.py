"""The service does what its OpenAPI document describes, and nothing else."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.server.conftest import Make

EXAMPLES = settings().max_examples // 6  # 4 for each operation, and more with `make fuzz`


# Threads of the service use `random` meanwhile, which Hypothesis cannot tell from a strategy that does.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
@pytest.mark.parametrize("mode", GenerationMode)
def test_every_request_is_answered_as_documented(make: Make, mode: GenerationMode) -> None:
    app = make(server__allowed_hosts=["*"]).app
    described = schemathesis.openapi.from_asgi("/openapi.json", app)
    for found in described.get_all_operations():
        assert isinstance(found, Ok)
        try_operation(found.ok(), mode)


def try_operation(operation: Any, mode: GenerationMode) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def answers_as_documented(case: Any) -> None:
        # no schema can describe which files exist, or which filters are valid: these are 422 too
        answer = case.call()
        if answer.status_code != 413:  # a generated body may be larger than those of any request
            case.validate_response(answer, excluded_checks=[positive_data_acceptance])

    with contextlib.suppress(Unsatisfiable):  # an operation without invalid requests
        answers_as_documented()

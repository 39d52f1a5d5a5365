"""Our processes load numpy with one thread, and neither the user's setting nor the environment of others changes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.pages import ROOT

PROGRAM = """
import os, sys
from shortlist.index.kernels.numpy_threads import VARIABLE, limit_threads
limit_threads()
given, seen = os.environ.get(VARIABLE), set()
sys.addaudithook(lambda event, _: event == "import" and seen.add(os.environ.get(VARIABLE)))
import numpy
import numpy.linalg
print(seen - {given}, os.environ.get(VARIABLE) == given, numpy.ones(3).sum())
"""


@pytest.mark.parametrize(("given", "expected"), [(None, "{'1'} True 3.0"), ("2", "set() True 3.0")])
def test_the_number_of_threads_is_set_while_numpy_is_loaded(given: str | None, expected: str) -> None:
    environment = {"PYTHONPATH": str(ROOT / "src")} | ({"OPENBLAS_NUM_THREADS": given} if given else {})
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected

"""The tests of the package `ir` itself, run against shortlist through an adapter of names."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.parity.ir_suite import suite_folder

HERE = Path(__file__).parent
# The tests that fail here, by reason; docs/guides/migrate.md describes the differences in behavior.
DIFFERENT: dict[str, list[str]] = tomllib.loads((HERE / "ir_suite.toml").read_text("utf-8"))
INTERNAL = ("test_embed.py", "test_store.py", "test_strategy.py", "test_eval_gen.py", "test_sources_local.py")
LEAST_PASSED = 99


@pytest.mark.process
@pytest.mark.skipif(not suite_folder().exists(), reason="fetch it with: python -m tests.parity.ir_suite")
def test_the_tests_of_ir_pass_except_for_documented_differences(tmp_path: Path) -> None:
    folders = {f"IR_{kind}_DIR": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    environment = {**os.environ, **folders, "PYTHONPATH": str(HERE / "ir_adapter"), "PYTEST_ADDOPTS": ""}
    report = tmp_path / "report.xml"
    ignored = [f"--ignore={suite_folder() / name}" for name in INTERNAL]
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    command += [f"--rootdir={suite_folder()}", f"--junitxml={report}", *ignored, str(suite_folder())]
    subprocess.run(command, check=False, env=environment, cwd=tmp_path, capture_output=True, timeout=300)
    cases = [*ElementTree.parse(report).iter("testcase")]
    failed = {case.attrib["name"] for case in cases if case.find("failure") is not None}
    assert failed == {name for names in DIFFERENT.values() for name in names}
    assert len(cases) - len(failed) >= LEAST_PASSED

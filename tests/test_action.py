"""The GitHub Action: its steps run as a runner runs them, on a repository with a base branch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.offline_jobs import keep_some_tools
from tests.pages import ROOT, read_blocks, read_page

TEXT = (ROOT / "action.yml").read_text("utf-8")
ACTION = yaml.safe_load(TEXT)
STEPS = {step.get("name", "Python"): step for step in ACTION["runs"]["steps"]}


def test_the_action_is_pinned_and_passes_inputs_only_by_the_environment() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used) for used in re.findall(r"uses: (.*)", TEXT))
    scripts = [step for step in ACTION["runs"]["steps"] if "run" in step]
    assert all(step["shell"] == "bash" and "${{" not in step["run"] for step in scripts)
    assert set(re.findall(r"inputs\.([\w-]+)", TEXT)) == set(ACTION["inputs"])
    assert (ROOT / re.findall(r"\$GITHUB_ACTION_PATH/([\w.-]+)", STEPS["Install shortlist"]["run"])[0]).is_file()


def test_the_guide_shows_the_inputs() -> None:
    section = read_page("guides/evaluate.md").partition("### GitHub Action\n")[2].partition("In Python:")[0]
    shown = " ".join(line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `"))
    assert set(re.findall("`(.*?)`", shown)) == set(ACTION["inputs"])
    (block,) = (yaml.safe_load(block.text) for block in read_blocks(section))
    step = block["jobs"]["search-quality"]["steps"][-1]
    assert {key for key, value in ACTION["inputs"].items() if value.get("required")} <= set(step["with"])
    assert set(step["with"]) <= set(ACTION["inputs"])


@pytest.mark.process
def test_a_pull_request_is_compared_with_its_base_branch_and_fails_below_a_limit(tmp_path: Path) -> None:
    origin, clone, home = tmp_path / "origin", tmp_path / "clone", tmp_path / "temp"
    shutil.copytree(ROOT / "examples" / "data", origin / "data", ignore=shutil.ignore_patterns("docs", "skills"))
    keep_some_tools(origin / "data", 30)
    catalog = (origin / "data" / "tools.yaml").read_text("utf-8")
    old = catalog.replace("Cancel a whole order before it ships.", "Undo a purchase.")
    (origin / "data" / "tools.yaml").write_text(old, "utf-8")
    git(origin, "init", "--quiet", "--initial-branch=main")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "--message=base")
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    (clone / "data" / "tools.yaml").write_text(catalog, "utf-8")

    inputs = {"corpus": "tools:data/tools.yaml", "cases": "data/cases.jsonl", "base": "main"}
    inputs["options"] = "--mode lexical"
    done, summary = run_step("Evaluate", clone, home, inputs | {"fail-under": "ndcg@10=0.5"})
    assert done.returncode == 0, done.stderr
    assert "| ndcg@10 | 0." in summary
    assert re.search(r"\d+ cases? got better:\n\n\| query \| before \| after \|", summary), summary

    done, summary = run_step("Evaluate", clone, home, inputs | {"fail-under": "mrr=0.99", "base": "no-branch"})
    assert done.returncode == 1
    assert "mrr is" in done.stderr
    assert "::warning::tools:data/tools.yaml is not compared" in done.stdout
    assert "**mrr is lower than 0.99.**" in summary


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, timeout=60)


def run_step(
    name: str, folder: Path, temp: Path, inputs: dict[str, str]
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run a step in Bash as a runner does, with this environment's Python in place of the installed one."""
    temp.mkdir(exist_ok=True)
    if not (temp / "shortlist").exists():
        (temp / "shortlist").symlink_to(sys.prefix)
    values = {f"inputs.{key}": str(value.get("default", "")) for key, value in ACTION["inputs"].items()}
    values |= {f"inputs.{key}": value for key, value in inputs.items()} | {"runner.temp": str(temp)}
    env: dict[str, str] = STEPS[name]["env"]
    given = {name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text) for name, text in env.items()}
    summary = temp / "summary.md"
    runner = {"RUNNER_TEMP": str(temp), "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(summary)}
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    environment = os.environ | given | runner
    done = subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return done, summary.read_text("utf-8")

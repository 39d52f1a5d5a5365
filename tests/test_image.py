"""The image of the service, its compose file, and the guide to operating it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hatch_build import ROOT
from shortlist.compat.retriever_settings import load_compat_settings
from tests.cli.conftest import COMMANDS
from tests.pages import read_blocks, read_page

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


def test_services_have_only_the_rights_that_they_need() -> None:
    service, index = COMPOSE["services"]["shortlist"], COMPOSE["services"]["opensearch"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert "ports" not in index
    assert [COMPOSE["networks"][name] for name in index["networks"]] == [{"internal": True}]
    assert service["depends_on"] == {"opensearch": {"condition": "service_healthy"}}
    stages = (ROOT / "Dockerfile").read_text("utf-8").split("\nFROM ")
    assert re.findall(r"^USER (.*)", stages[-1], re.MULTILINE) == ["10001"]
    assert "HEALTHCHECK" in stages[-1]


def test_the_settings_of_the_team_are_valid_and_need_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    _, place = (volume.split(":")[:2] for volume in COMPOSE["services"]["shortlist"]["volumes"])
    command = COMPOSE["services"]["shortlist"]["command"]
    assert place[1] == command[command.index("--settings") + 1]
    settings = load_compat_settings(ROOT / place[0], environment={"SHORTLIST_TOKEN": "x"})
    assert settings.access.has_rules
    assert settings.audit.required
    assert not settings.source_must_exist  # else the service would not start without a catalog
    assert Path(settings.audit.file).is_relative_to("/data")
    assert "SHORTLIST_TOKEN" in COMPOSE["services"]["shortlist"]["environment"]


def test_commands_of_the_guide_exist() -> None:
    blocks = [block.text for block in read_blocks(read_page("guides/operate.md")) if block.language == "console"]
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    used = [line.partition("exec shortlist ")[2] or line for line in lines]
    own = [line for line in used if line.startswith("shortlist ")]
    assert len(own) == len([line for line in own if any(f"{line} ".startswith(f"{path} ") for path in COMMANDS)]) == 5
    assert all("docker" in line for line in used if line not in own and not line.startswith("export "))


@pytest.mark.slow
def test_the_steps_of_the_image_give_a_service_that_is_healthy_and_stops() -> None:
    """It fetches packages. Another user must be able to run this Python, if this one is root."""
    python = os.environ.get("SHORTLIST_IMAGE_PYTHON", sys.executable)
    subprocess.run([sys.executable, "-m", "release.try_image", python], cwd=ROOT, check=True, timeout=1200)

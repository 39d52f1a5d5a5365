"""What is published: the workflows, the lock files and the licenses of dependencies."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

import shortlist
from hatch_build import ROOT, AddAddresses, read_version
from release.bill_of_materials import are_allowed, find_licenses
from release.plugins import describe_plugins, write_plugins
from release.registry import describe_server
from shortlist.documents import Document
from shortlist.install.hooks import SECONDS, SETTINGS
from shortlist.sources.skills import read_skills
from tests.pages import read_page

REPOSITORY = "https://github.com/acme/tools"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_pin_what_they_use_and_may_only_read_by_default(file: Any) -> None:
    text = file.read_text("utf-8")
    used = re.findall(r"uses: (?!\./)(.*)", text)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action) for action in used), used
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job or "uses" in job for job in workflow["jobs"].values())


def test_all_versions_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    (wheel,) = re.findall(r'"shortlist-([\d.]+)-py3-', read_page("installation.md"))
    released, date = find_newest_release((ROOT / "CHANGELOG.md").read_text("utf-8"))
    server = describe_server(REPOSITORY)
    (package,) = server["packages"]
    (requirement,) = package["runtimeArguments"]
    found = [read_version(), citation["version"], wheel, released, server["version"], package["version"]]
    assert found == [shortlist.__version__] * len(found)
    assert str(citation["date-released"]) == date
    assert requirement["value"] == f"shortlist[mcp]=={shortlist.__version__}"


def find_newest_release(changelog: str) -> tuple[str, str]:
    """The version of the first section that has one, and its date."""
    headings = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    newest = headings[headings[0] == "Unreleased"]
    version, date = re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", newest).groups()  # type: ignore[union-attr]
    return version, date


def test_the_entry_of_the_mcp_registry_keeps_the_limits_of_its_schema() -> None:
    server = describe_server(REPOSITORY, "https://acme.example/docs/")
    assert server["name"] == "io.github.acme/shortlist"
    assert 1 <= len(server["description"]) <= 100
    assert server["websiteUrl"] == "https://acme.example/docs/"
    with pytest.raises(ValueError, match=re.escape("'https://example.org/x'")):
        describe_server("https://example.org/x")


def test_the_manifests_of_the_plugins_are_those_of_this_version_and_name_no_owner(tmp_path: Path) -> None:
    write_plugins(tmp_path)
    for path, content in describe_plugins().items():
        assert (ROOT / path).read_text("utf-8") == (tmp_path / path).read_text("utf-8"), (
            "Run: python -m release plugins"
        )
        assert not {"repository", "homepage"} & content.keys()
        for entry in content.get("plugins", ()):
            source = entry["source"] if isinstance(entry["source"], str) else entry["source"]["path"]
            assert (ROOT / source).is_dir()
    released = describe_plugins(REPOSITORY, "https://acme.example/docs/")[
        "plugins/shortlist/.cursor-plugin/plugin.json"
    ]
    assert (released["repository"], released["homepage"]) == (REPOSITORY, "https://acme.example/docs/")


def test_only_the_plugin_for_hints_has_a_hook_and_it_is_the_one_that_install_writes() -> None:
    manifests = describe_plugins()
    (path,) = [path for path in manifests if "hooks" in path]
    assert path == "plugins/shortlist-hints/hooks/hooks.json"
    ((event, (group,)),) = manifests[path]["hooks"].items()
    (hook,) = group["hooks"]
    assert {event} == {SETTINGS[agent].event for agent in ("claude-code", "codex")}
    assert hook["timeout"] == SECONDS
    words = ["uvx", "--from", f"shortlist[mcp]=={shortlist.__version__}", "shortlist", "hook"]
    assert shlex.split(hook["command"]) == words


def test_the_skill_of_the_plugin_is_served() -> None:
    (skill,) = read_skills([ROOT / "plugins" / "shortlist" / "skills"])
    assert isinstance(skill, Document)
    assert skill.id == "find-tools-and-skills"


def test_the_metadata_of_a_release_has_full_addresses_and_that_of_other_builds_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hook = AddAddresses(str(ROOT), {})
    monkeypatch.delenv("SHORTLIST_REPOSITORY_URL", raising=False)
    own: dict[str, Any] = {}
    hook.update(own)
    assert own["urls"] == {}
    assert own["readme"]["text"] == (ROOT / "README.md").read_text("utf-8")

    monkeypatch.setenv("SHORTLIST_REPOSITORY_URL", REPOSITORY)
    monkeypatch.setenv("SHORTLIST_SITE_URL", "https://acme.example/docs/")
    released: dict[str, Any] = {}
    hook.update(released)
    assert released["urls"]["Repository"] == REPOSITORY
    assert released["urls"]["Documentation"] == "https://acme.example/docs/"
    text = released["readme"]["text"]
    assert text.endswith("\n<!-- mcp-name: io.github.acme/shortlist -->\n")
    assert f"]({REPOSITORY}/blob/v{shortlist.__version__}/SECURITY.md)" in text
    assert f"]({REPOSITORY}/raw/v{shortlist.__version__}/docs/images/tour.svg)" in text
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []


def test_workflows_take_the_addresses_from_where_they_run() -> None:
    texts = [file.read_text("utf-8") for file in WORKFLOWS]
    addresses = {value for text in texts for value in re.findall("SHORTLIST_(?:REPOSITORY|SITE)_URL: (.*)", text)}
    assert len(addresses) == 2
    assert all("${{ " in value and "github.repository" in value for value in addresses)


def test_every_supported_version_of_python_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    assert project["requires-python"] == f">={versions[0]}"
    for name, job in (("tests", "platforms"), ("wheels", "check")):
        workflow = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))
        assert workflow["jobs"][job]["strategy"]["matrix"]["python"] == versions


def test_the_demo_installs_the_versions_that_are_tested() -> None:
    pins: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for name in ("requirements-base.lock", "requirements.lock"):
        for package, version in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text("utf-8"), re.MULTILINE):
            pins[name].setdefault(package, set()).add(version)
    base, everything = pins["requirements-base.lock"], pins["requirements.lock"]
    assert len(base) > 20
    assert {name: versions for name, versions in base.items() if not versions <= everything.get(name, set())} == {}


@pytest.mark.parametrize(
    ("component", "licenses", "allowed"),
    [
        ({"name": "a", "licenses": [{"expression": "MPL-2.0 AND MIT"}]}, {"MPL-2.0", "MIT"}, True),
        ({"name": "b", "licenses": [{"license": {"name": "OSI Approved :: BSD License"}}]}, {"BSD License"}, True),
        ({"name": "c", "licenses": [{"license": {"id": "GPL-3.0-only"}}]}, {"GPL-3.0-only"}, False),
        ({"name": "protobuf"}, {"BSD-3-Clause"}, True),
        ({"name": "unknown"}, set(), False),
    ],
)
def test_licenses_are_read_however_they_are_declared(
    component: dict[str, Any], licenses: set[str], allowed: bool
) -> None:
    assert find_licenses(component) == licenses
    assert are_allowed(licenses) == allowed

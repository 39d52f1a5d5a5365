"""Skills over MCP: entries with digests, and the files of a skill as resources, and of nothing else."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from mcp import MCPError
from mcp_types import PaginatedRequestParams, ReadResourceRequestParams, Request, Result

from shortlist.errors import InputError
from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.skill_resources import EXTENSION, MOST_FILES, SkillResources
from shortlist.retrieval.disclose import disclose, read_hit
from shortlist.safety.principals import Grants, Principal, Right, current_principal
from tests.mcp.conftest import WAIT_SECONDS, Agent, with_agent

PNG = b"\x89PNG\r\n\x1a\n\xff"


class Answer(Result, extra="allow"):
    """Any result, with all its fields."""


def write_skill(
    folder: Path, name: str, header: str = "description: Bring a release to production.", **files: Any
) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\n{header}\n---\n\nRun it.\n", newline="")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / ".claude" / "skills"


@pytest.fixture
def deploy(place: Path) -> Path:
    folder = write_skill(place / "deploy", "deploy", "description: Bring a release to production.\nlicense: MIT")
    for name, data in {
        "references/steps.md": "# Schritte\r\n\r\nÜben.\r\n".encode(),
        "scripts/check.sh": b"true\n",
        "scripts/plan.ts": b"export {}\n",
        "a b.yaml": b"a: 1\n",
        "logo.png": PNG,
        "LICENSE": b"MIT\n",
        ".env": b"KEY=secret\n",
        "node_modules/x.js": b"1\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def ask(use: Callable[[Agent], Any]) -> Any:
    return with_agent(Gateway(GatewayConfig(has_servers=False)), use)


async def send(agent: Agent, method: str, **params: Any) -> dict[str, Any]:
    kind = ReadResourceRequestParams if "uri" in params else PaginatedRequestParams
    request = Request[Any, Any](method=method, params=kind(**params))
    answer = await agent.client.session.send_request(request, Answer)
    return answer.model_dump(by_alias=True, mode="json")


async def read(agent: Agent, uri: str) -> Any:
    (contents,) = (await agent.client.read_resource(uri)).contents
    return contents


def test_every_file_of_a_skill_can_be_read_and_has_the_digest_of_its_entry(deploy: Path) -> None:
    async def talk(agent: Agent) -> None:
        assert agent.client.server_capabilities.extensions == {EXTENSION: {"directoryRead": True}}
        assert agent.client.server_capabilities.resources
        listed = await send(agent, "skills/list")
        (skill,) = listed["skills"]
        assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 60_000, "private")
        assert skill["uri"] == "skill://deploy/SKILL.md"
        assert skill["frontmatter"] == {
            "name": "deploy",
            "description": "Bring a release to production.",
            "license": "MIT",
        }
        names = [
            "LICENSE",
            "SKILL.md",
            "a b.yaml",
            "logo.png",
            "references/steps.md",
            "scripts/check.sh",
            "scripts/plan.ts",
        ]
        expected = [
            {
                "uri": f"skill://deploy/{name}".replace(" ", "%20"),
                "digest": f"sha256:{sha256((deploy / name).read_bytes()).hexdigest()}",
                "size": (deploy / name).stat().st_size,
            }
            for name in names
        ]
        assert sorted(skill["resources"], key=lambda one: str(one["uri"])) == expected
        assert (await send(agent, "skills/get", uri=skill["uri"]))["skill"] == skill
        kinds = {}
        for one in skill["resources"]:
            contents = await read(agent, one["uri"])
            data = contents.text.encode() if hasattr(contents, "text") else base64.b64decode(contents.blob)
            assert f"sha256:{sha256(data).hexdigest()}" == one["digest"]
            kinds[Path(one["uri"]).name] = contents.mime_type
        assert kinds == {
            "LICENSE": "text/plain",
            "SKILL.md": "text/markdown",
            "a%20b.yaml": "application/yaml",
            "logo.png": "image/png",
            "steps.md": "text/markdown",
            "check.sh": "application/x-sh",
            "plan.ts": "text/typescript",
        }

    ask(talk)


def test_a_change_of_a_file_is_seen_at_once(deploy: Path) -> None:
    async def talk(agent: Agent) -> None:
        before = (await send(agent, "skills/get", uri="skill://deploy/SKILL.md"))["skill"]["resources"]
        (deploy / "scripts" / "check.sh").write_text("false\n")
        after = (await send(agent, "skills/get", uri="skill://deploy/SKILL.md"))["skill"]["resources"]
        assert [one["uri"] for one in before if one not in after] == ["skill://deploy/scripts/check.sh"]

    ask(talk)


@pytest.mark.parametrize(
    "uri",
    [
        "skill://deploy/.env",
        "skill://deploy/node_modules/x.js",
        "skill://deploy/../../../secret.txt",
        "skill://deploy/%2e%2e/%2e%2e/%2e%2e/secret.txt",
        "skill://deploy/..%2f..%2f..%2fsecret.txt",
        "skill://deploy/scripts/../.env",
        "skill://deploy/outside.txt",
        "skill://deploy/linked/secret.txt",
        "skill://deploy/hidden.txt",
        "skill://deploy/loop.txt",
        "skill://deploy/pipe",
        "skill://deploy/scripts",
        "skill://deploy//etc/passwd",
        "skill://deploy/\x00",
        "skill:///etc/passwd",
        "skill://",
        "skill://deplyo/SKILL.md",
    ],
)
def test_nothing_else_can_be_read(deploy: Path, tmp_path: Path, uri: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (deploy / "outside.txt").symlink_to(tmp_path / "secret.txt")
    (deploy / "linked").symlink_to(tmp_path, target_is_directory=True)
    (deploy / "hidden.txt").symlink_to(deploy / ".env")
    (deploy / "loop.txt").symlink_to(deploy / "loop.txt")
    os.mkfifo(deploy / "pipe")

    async def talk(agent: Agent) -> None:
        with pytest.raises(MCPError) as error:
            await agent.client.read_resource(uri)
        assert error.value.code == -32602
        assert "secret" not in await agent.error("read", id=uri) or "secret.txt" in uri
        with pytest.raises(MCPError):
            await send(agent, "skills/get", uri=uri)
        (skill,) = (await send(agent, "skills/list"))["skills"]
        assert len(skill["resources"]) == 7

    ask(talk)


def test_a_link_within_the_folder_is_a_file_like_others(deploy: Path) -> None:
    (deploy / "again.md").symlink_to(deploy / "references" / "steps.md")

    async def talk(agent: Agent) -> None:
        assert (await read(agent, "skill://deploy/again.md")).text.startswith("# Schritte\r\n")

    ask(talk)


def test_a_skill_file_that_is_a_link_does_not_serve_the_folder_of_its_target(place: Path) -> None:
    other = write_skill(place / "node_modules" / "other", "deploy")  # where no skill is looked for
    (other / "secret.txt").write_text("secret")
    (place / "deploy").mkdir(parents=True)
    (place / "deploy" / "SKILL.md").symlink_to(other / "SKILL.md")

    async def talk(agent: Agent) -> None:
        assert (await send(agent, "skills/list"))["skills"] == []
        with pytest.raises(MCPError, match="is gone or outside"):
            await send(agent, "skills/get", uri="skill://deploy/SKILL.md")
        with pytest.raises(MCPError):
            await agent.client.read_resource("skill://deploy/secret.txt")

    ask(talk)


def test_folders_are_listed_one_level_at_a_time(deploy: Path) -> None:
    (deploy / "assets").mkdir()

    async def talk(agent: Agent) -> None:
        async def names(uri: str) -> dict[str, Any]:
            answer = await send(agent, "resources/directory/read", uri=uri)
            return {one["name"]: one.get("mimeType") for one in answer["resources"]}

        assert await names("skill://deploy") == {
            "LICENSE": None,
            "SKILL.md": "text/markdown",
            "a b.yaml": "application/yaml",
            "logo.png": "image/png",
            "assets": "inode/directory",
            "references": "inode/directory",
            "scripts": "inode/directory",
        }
        assert await names("skill://deploy/scripts") == {"check.sh": "application/x-sh", "plan.ts": "text/typescript"}
        assert await names("skill://deploy/assets") == {}
        for wrong in ("skill://deploy/SKILL.md", "skill://deploy/none", "skill://none", "skill://deploy/node_modules"):
            with pytest.raises(MCPError) as error:
                await names(wrong)
            assert error.value.code == -32602

    ask(talk)


def test_skills_with_one_name_and_skills_in_skills_have_distinct_addresses(place: Path, tmp_path: Path) -> None:
    write_skill(place / "deploy", "deploy", "description: That of the project.")
    write_skill(place / "deploy" / "steps" / "undo", "undo", "description: A skill in a skill.")
    write_skill(tmp_path / "home" / ".claude" / "skills" / "deploy", "deploy", "description: That of the user.")

    async def talk(agent: Agent) -> None:
        skills = {one["uri"]: one for one in (await send(agent, "skills/list"))["skills"]}
        ours, nested = "skill://deploy/SKILL.md", "skill://deploy/steps/undo/SKILL.md"
        (other,) = skills.keys() - {ours, nested}
        assert skills[ours]["frontmatter"]["description"] == "That of the project."
        assert [one["uri"] for one in skills[ours]["resources"]] == [ours, nested]
        assert [one["uri"] for one in skills[nested]["resources"]] == [nested]
        assert (other.startswith("skill://"), other.endswith("/deploy/SKILL.md")) == (True, True)
        assert "That of the user." in (await read(agent, other)).text

    ask(talk)


@pytest.mark.parametrize(
    ("name", "header", "reason"),
    [
        ("deploy", "", "'description' is missing"),
        ("deploy", f"description: {'x' * 1025}", "1,025 characters"),
        ("deploy", "description: d\nallowed-tools: [Read]", "'allowed-tools' must be a string"),
        ("deploy", "description: d\nmetadata: {version: 1.0}", "'metadata' must map strings to strings"),
        ('"deploy\\u0301"', "description: d", "No skill is served"),
        ("Deploy", "description: d", "No skill is served"),
    ],
)
def test_a_skill_that_breaks_a_rule_is_left_out_but_still_found(
    place: Path, name: str, header: str, reason: str
) -> None:
    """A strict client would reject the whole list for one wrong entry."""
    write_skill(place / "deploy", name, header)
    write_skill(place / "other", "other")

    async def talk(agent: Agent) -> None:
        assert [one["uri"] for one in (await send(agent, "skills/list"))["skills"]] == ["skill://other/SKILL.md"]
        with pytest.raises(MCPError, match=reason):
            await send(agent, "skills/get", uri="skill://deploy/SKILL.md")
        listed = (await agent.client.list_resources()).resources
        assert len(listed) == 2
        assert all([(await read(agent, one.uri)).text for one in listed])

    ask(talk)


def test_a_folder_with_too_many_files_is_not_served(deploy: Path) -> None:
    for number in range(MOST_FILES - 6):
        (deploy / f"{number}.txt").touch()

    async def talk(agent: Agent) -> None:
        assert (await send(agent, "skills/list"))["skills"] == []
        with pytest.raises(MCPError, match="512 files"):
            await agent.client.read_resource("skill://deploy/0.txt")
        (deploy / "0.txt").unlink()
        assert len((await send(agent, "skills/list"))["skills"][0]["resources"]) == MOST_FILES

    ask(talk)


def test_the_read_tool_shows_the_address_of_a_skill_and_reads_its_files(deploy: Path) -> None:
    async def talk(agent: Agent) -> None:
        (found,) = (await agent("discover", query="bring a release to production"))["results"]
        shown = await agent("read", id=found["id"])
        assert shown["uri"] == "skill://deploy/SKILL.md"
        assert (await agent("read", id="skill://deploy/scripts/check.sh"))["text"] == "true\n"
        assert (await agent("read", id="skill://deploy/references/steps.md", offset=3))["text"].startswith("chritte")
        assert "image/png" in await agent.error("read", id="skill://deploy/logo.png")
        assert "Did you mean 'scripts/check.sh'" in await agent.error("read", id="skill://deploy/scripts/chek.sh")

    ask(talk)


def test_a_server_without_skills_neither_declares_nor_serves_them(deploy: Path) -> None:
    gateway = Gateway(GatewayConfig(has_servers=False))
    actions = AgentActions(Collection(gateway, StoredCorpora(), with_skills=False), lambda: None)
    assert make_server(actions).extensions == {}
    with pytest.raises(InputError, match="No skill is served"):
        asyncio.run(actions.read("skill://deploy/SKILL.md"))
    with pytest.raises(InputError, match="No skill is served"):
        actions.skills.read("skill://deploy/SKILL.md")


@pytest.mark.process
def test_the_client_of_fastmcp_lists_and_verifies_the_skills(place: Path) -> None:
    """It checks every field of every entry."""
    for number in range(60):
        write_skill(place / f"skill-{number}", f"skill-{number}")

    async def main() -> None:
        ours = StdioTransport(sys.executable, ["-m", "shortlist", "mcp"], env=dict(os.environ))
        async with asyncio.timeout(WAIT_SECONDS), Client(ours, extensions=[SkillsClientExtension()]) as client:
            skills = await client.list_skills()
            assert sorted(one.frontmatter.name for one in skills) == sorted(f"skill-{n}" for n in range(60))
            assert await client.get_skill("skill://skill-7/SKILL.md") in skills

    asyncio.run(main())


def test_the_files_of_a_hidden_skill_in_the_folder_of_another_are_not_shown(place: Path) -> None:
    outer = write_skill(place / "outer", "outer")
    for name, access in (("shown", "staff"), ("secret", "hr")):
        write_skill(outer / name, name, f"description: About {name}.\naccess: {access}")
    os.symlink(outer / "secret" / "SKILL.md", outer / "link.md")
    with_servers = Gateway(GatewayConfig(has_servers=False))
    resources = SkillResources(collection := Collection(with_servers, StoredCorpora()))
    found = {}
    for group in ("staff", "hr"):
        principal = Principal("ada", frozenset({group}), Grants({"skills": {"read": ["staff", "hr"]}}))
        token = current_principal.set(principal)
        try:
            entry = resources.get("skill://outer/SKILL.md")
            (bundled,) = disclose(read_hit(collection.skills(), "outer"), "bundled")
            folders = {one.name for one in resources.read_folder("skill://outer")}
            found[group] = {one["uri"].removeprefix("skill://outer/") for one in entry["resources"]}, folders
            assert bundled.files == ()
            if group == "staff":
                with pytest.raises(InputError, match="not a file"):
                    resources.read("skill://outer/secret/SKILL.md")
        finally:
            current_principal.reset(token)
    collection.close()
    assert found == {
        "staff": ({"SKILL.md", "shown/SKILL.md"}, {"SKILL.md", "shown"}),
        "hr": ({"SKILL.md", "link.md", "secret/SKILL.md"}, {"SKILL.md", "link.md", "secret"}),
    }


@pytest.mark.parametrize(("right", "count"), [("read", 0), ("write", 1)])
def test_skills_that_cannot_be_read_are_reported_to_those_who_see_all(place: Path, right: Right, count: int) -> None:
    write_skill(place / "deploy", "deploy", "description: [")
    collection = Collection(Gateway(GatewayConfig(has_servers=False)), StoredCorpora())
    token = current_principal.set(Principal("ada", frozenset({"staff"}), Grants({"skills": {right: ["staff"]}})))
    try:
        collection.skills()
        assert len(collection.skipped_skills) == count
    finally:
        current_principal.reset(token)
        collection.close()

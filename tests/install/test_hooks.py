"""The hook in an agent's settings: added beside those of the user, and removed without a trace."""

from __future__ import annotations

import json

import pytest

from shortlist import SourceError
from shortlist.install.agents import AGENTS, Places
from shortlist.install.hooks import HOOKS, SETTINGS, plan_hook, plan_unhook
from shortlist.install.plans import plan_install, plan_uninstall
from tests.install.conftest import at, change_of, write

WORDS = ["/opt/my tools/shortlist", "hook"]
OTHERS = """{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    "UserPromptSubmit": [
      {"hooks": [{"type": "command", "command": "date"}]} // the time
    ],
  },
  "env": {"KEY": "sk-secret"}
}
"""


def add(name: str, places: Places, words: list[str] = WORDS) -> str:
    plan = plan_install(AGENTS[name], "user", places, command="shortlist")
    plan = plan.with_hook(plan_hook(plan.agent, places, words, plan.change))
    for change in (plan.change, plan.hook_change):
        if change and change.is_needed:
            change.apply()
    return plan.hook


def remove(name: str, places: Places) -> str:
    plan = plan_uninstall(AGENTS[name], "user", places)
    plan = plan.with_hook(plan_unhook(plan.agent, places, plan.change))
    for change in (plan.change, plan.hook_change):
        if change and change.is_needed:
            change.apply()
    return plan.hook


@pytest.mark.parametrize(
    ("name", "file", "event", "seconds"),
    [
        ("claude-code", ".claude/settings.json", "UserPromptSubmit", 10),
        ("codex", ".codex/hooks.json", "UserPromptSubmit", 10),
        ("gemini-cli", ".gemini/settings.json", "BeforeAgent", 10_000),
    ],
)
def test_the_hook_is_written_as_the_agent_reads_it(
    name: str, file: str, event: str, seconds: int, places: Places
) -> None:
    assert add(name, places) == "added"
    entry = {"type": "command", "command": "'/opt/my tools/shortlist' hook", "timeout": seconds}
    settings = json.loads((places.home / file).read_text())
    assert settings[HOOKS] == {event: [{HOOKS: [entry]}]}
    assert ("mcpServers" in settings) == (name == "gemini-cli")
    assert add(name, places) == "unchanged"
    assert add(name, places, ["/new/python", "-P", "-m", "shortlist", "hook"]) == "updated"
    assert (places.home / file).read_text().count('"timeout"') == 1
    assert remove(name, places) == "removed"
    assert HOOKS not in json.loads((places.home / file).read_text())
    assert remove(name, places) == "absent"


def test_the_hooks_and_comments_of_the_user_stay_and_secrets_are_hidden(places: Places) -> None:
    file = write(places.home / ".claude" / "settings.json", OTHERS)
    plan = plan_hook(AGENTS["claude-code"], places, WORDS)
    assert plan.change
    assert "sk-secret" not in plan.change.diff()
    assert "date" in (plan.change.after or "")
    assert add("claude-code", places) == "added"
    assert "// the time" in file.read_text()
    assert remove("claude-code", places) == "removed"
    assert file.read_text() == OTHERS


def test_a_byte_order_mark_and_windows_lines_stay(places: Places) -> None:
    text = '\ufeff{\r\n  "model": "opus"\r\n}\r\n'
    file = places.home / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    assert add("claude-code", places) == "added"
    assert add("claude-code", places, ["/new/shortlist", "hook"]) == "updated"
    written = file.read_bytes().decode()
    assert written.startswith("\ufeff{\r\n")
    assert written.count("\r\n") == written.count("\n") > 3
    assert remove("claude-code", places) == "removed"
    assert file.read_bytes().decode() == text


def test_a_group_in_which_the_user_put_another_hook_beside_ours_stays(places: Places) -> None:
    group = {HOOKS: [{"type": "command", "command": "shortlist hook"}, {"type": "command", "command": "date"}]}
    text = json.dumps({HOOKS: {"UserPromptSubmit": [group]}})
    file = write(places.home / ".claude" / "settings.json", text)
    assert remove("claude-code", places) == "absent"
    assert file.read_text() == text


def test_folders_in_variables_and_windows_are_respected(places: Places) -> None:
    there = at(places.home, "win32", CLAUDE_CONFIG_DIR=str(places.home / "elsewhere"))
    change = plan_hook(AGENTS["claude-code"], there, WORDS).change
    assert change
    assert change.path == places.home / "elsewhere" / "settings.json"
    assert json.loads(change.after or "")[HOOKS]["UserPromptSubmit"][0][HOOKS][0]["command"] == f'"{WORDS[0]}" hook'


@pytest.mark.parametrize("text", ["{", '{"hooks": []}', '{"hooks": {"UserPromptSubmit": {}}}', '{"hooks": 1}'])
def test_settings_that_cannot_be_understood_are_refused(text: str, places: Places) -> None:
    file = write(places.home / ".claude" / "settings.json", text)
    with pytest.raises(SourceError, match=r"settings\.json"):
        plan_hook(AGENTS["claude-code"], places, WORDS)
    assert file.read_text() == text


@pytest.mark.parametrize("text", ['{"hooks": null}', '{"hooks": []}', '{"hooks": {"UserPromptSubmit": null}}'])
def test_settings_without_our_hook_need_no_change(text: str, places: Places) -> None:
    file = write(places.home / ".claude" / "settings.json", text)
    assert remove("claude-code", places) == "absent"
    assert file.read_text() == text


@pytest.mark.parametrize("groups", ["[ /* empty */ ]", "[\n  // none\n  ]"])
def test_the_comment_in_an_empty_list_and_other_empty_lists_stay(groups: str, places: Places) -> None:
    text = f'{{"hooks": {{"Stop": [], "UserPromptSubmit": {groups}}}}}'
    file = write(places.home / ".claude" / "settings.json", text)
    assert add("claude-code", places) == "added"
    assert groups[:-1].rstrip() in file.read_text()
    assert remove("claude-code", places) == "removed"
    assert file.read_text() == text


def test_an_agent_whose_hooks_add_nothing_to_a_prompt_gets_none(places: Places) -> None:
    assert plan_hook(AGENTS["cursor"], places, WORDS) == ("none", None)
    plan = plan_install(AGENTS["cursor"], "user", places).with_hook(plan_hook(AGENTS["cursor"], places, WORDS))
    assert change_of(plan).is_needed
    assert set(SETTINGS) <= set(AGENTS)

"""The hook in an agent's settings that runs `shortlist hook` at every prompt; the user's other hooks stay."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PureWindowsPath
from typing import Any, NamedTuple

from shortlist.errors import SourceError
from shortlist.install import json_text
from shortlist.install.agent_config import MARK, NAME, FileChange, UnsafeChange, find_secrets, read_text
from shortlist.install.agents import Agent, Places

HOOKS = "hooks"
SECONDS = 10  # after which an agent goes on without a hint


class _Settings(NamedTuple):
    """Where an agent has its hooks: the first folder that is set has the file. And the event of a prompt."""

    files: Mapping[str, str]
    event: str
    second: int = 1  # in the unit of the agent's time limit


SETTINGS = {
    "claude-code": _Settings(
        {"CLAUDE_CONFIG_DIR": "settings.json", "home": ".claude/settings.json"}, "UserPromptSubmit"
    ),
    "codex": _Settings({"CODEX_HOME": "hooks.json", "home": ".codex/hooks.json"}, "UserPromptSubmit"),
    "gemini-cli": _Settings({"home": ".gemini/settings.json"}, "BeforeAgent", 1000),
}
NOTES = {"codex": "Codex runs a new hook only after you approve it: start codex and type /hooks."}


class HookPlan(NamedTuple):
    """What to do about the hook of an agent (added, updated, removed, unchanged, absent or none), and the change of the
    file that has it."""

    action: str
    change: FileChange | None = None


def plan_hook(agent: Agent, places: Places, words: Sequence[str], before: FileChange | None = None) -> HookPlan:
    """Add or update the hook that runs these words. `before` is a change of the agent's servers, maybe in this file."""
    if agent.name not in SETTINGS:
        return HookPlan("none")
    settings, file = SETTINGS[agent.name], _HookFile(agent, places, before)
    if not file.is_usable:
        raise SourceError(f"'{HOOKS}' in {file.path} is not as {settings.event} needs it. Fix the file first.")
    line = subprocess.list2cmdline(words) if places.platform == "win32" else shlex.join(words)
    wanted = {"type": "command", "command": line, "timeout": SECONDS * settings.second}
    found = list(file.find_ours())
    if [group for _, group in found] == [{HOOKS: [wanted]}]:
        return HookPlan("unchanged", file.change())
    for at, _ in reversed(found):
        file.remove(at)
    file.append({HOOKS: [wanted]})
    return HookPlan("updated" if found else "added", file.change())


def plan_unhook(agent: Agent, places: Places, before: FileChange | None = None) -> HookPlan:
    """Remove the hook."""
    if agent.name not in SETTINGS:
        return HookPlan("absent")
    file = _HookFile(agent, places, before)
    found = list(file.find_ours())
    for at, _ in reversed(found):
        file.remove(at)
    return HookPlan("removed" if found else "absent", file.change())


class _HookFile:
    """The settings of an agent, with the edits so far."""

    def __init__(self, agent: Agent, places: Places, before: FileChange | None) -> None:
        settings = SETTINGS[agent.name]
        folders = ((places.folder(name), file) for name, file in settings.files.items())
        self.path = next(folder / file for folder, file in folders if folder)
        self._list = HOOKS, settings.event
        self._base = before if before and before.path == self.path else None
        self._before = self._base.before if self._base else read_text(self.path)
        text = (self._base.after if self._base else self._before) or ""
        self._mark = MARK if text.startswith(MARK) else ""
        self._newline = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
        self._text = text.removeprefix(self._mark).replace(self._newline, "\n")
        hooks = self._parse().get(HOOKS, {})
        groups = hooks.get(settings.event, []) if isinstance(hooks, Mapping) else None
        self.is_usable = isinstance(groups, list)
        self._groups: list[Any] = groups if isinstance(groups, list) else []

    def find_ours(self) -> Iterator[tuple[int, Any]]:
        """The groups that have our hook and no other, with their places in the list."""
        for at, group in enumerate(self._groups):
            hooks = group.get(HOOKS) if isinstance(group, Mapping) else None
            if isinstance(hooks, list) and len(hooks) == 1 and isinstance(hooks[0], Mapping) and _is_ours(hooks[0]):
                yield at, group

    def append(self, group: Mapping[str, Any]) -> None:
        self._edit(json_text.append, [*self._groups, group], group)

    def remove(self, at: int) -> None:
        self._edit(json_text.remove, [*self._groups[:at], *self._groups[at + 1 :]], at)
        if not self._groups and not self._parse().get(HOOKS):
            self._text = json_text.drop(self._text, [HOOKS])

    def change(self) -> FileChange:
        secrets = frozenset(find_secrets(self._parse())) | (self._base.secrets if self._base else set())
        return FileChange(self.path, self._before, self._mark + self._text.replace("\n", self._newline), secrets)

    def _edit(self, edit: Any, wanted: list[Any], argument: Any) -> None:
        """Edit the text, and check that it has the wanted list and otherwise the same data."""
        data = self._parse()
        data[HOOKS] = {**data.get(HOOKS, {}), self._list[1]: wanted}
        try:
            self._text = edit(self._text, self._list, argument)
        except (ValueError, LookupError) as error:
            raise self._make_error(error) from None
        written = self._parse()
        written[HOOKS] = {self._list[1]: [], **written.get(HOOKS, {})}
        if written != data:
            raise self._make_error("its hooks are written in an unusual way")
        self._groups = wanted

    def _parse(self) -> dict[str, Any]:
        try:
            return json_text.read(self._text)
        except (ValueError, RecursionError) as error:
            raise SourceError(
                f"{self.path} is not valid JSON: {error}. Nothing was changed; fix the file first."
            ) from None

    def _make_error(self, reason: object) -> SourceError:
        return UnsafeChange(f"{self.path} cannot be changed safely: {reason}. Nothing was changed; edit it by hand.")


def _is_ours(hook: Mapping[str, Any]) -> bool:
    """Whether a hook runs `shortlist hook`, wherever it is installed and whatever runs it."""
    words = [word.strip("\"'") for word in str(hook.get("command", "")).split()]
    return words[-1:] == ["hook"] and any(PureWindowsPath(word).stem == NAME for word in words)

"""The configured servers behind the gateway, and the user's permissions for their tools."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from shortlist._environment import GATEWAY, read_variable
from shortlist._files import replace_text, stamp_of
from shortlist._paths import config_dir, data_dir, make_folder
from shortlist._projects import project_folders
from shortlist.documents import Problem
from shortlist.errors import InputError, SourceError
from shortlist.mcp.gateway.profiles import ActiveProfile, Profiles, ServerChoice, find_unknown, hash_text, resolve
from shortlist.mcp.tool_definitions import SCHEMAS
from shortlist.mcp_client.config_files import OWN_FILE, ConfigurationFile, PendingFile, possible_files
from shortlist.mcp_client.project_trust import key_of, trust_file
from shortlist.mcp_client.server_config import (
    NEW_TOOLS,
    ServerConfig,
    read_new_tools,
    read_redacts_results,
    read_result_budgets,
)
from shortlist.mcp_client.token_store import SignIn, key_of_sign_in, read_sign_ins, token_file

PINNED = "pinned"  # the key of pinned tools in a file
PLACE = "place.txt"  # in the folder of a configuration: the project or the files that it is about

Access = Literal["read", "write", "never"]


class Permissions(NamedTuple):
    """Rules for servers ("github"), tools ("github/get_issue") and patterns ("github/get_*"), most specific first."""

    rules: tuple[tuple[str, Access], ...] = ()

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> Permissions:
        for name, access in rules.items():
            if access not in get_args(Access):
                raise SourceError(f"The permission of {name!r} must be read, write or never, not {access!r}.")
        # Tools come before patterns before servers, and longer names first.
        order = {name: ("/" not in name, bool(re.search(r"[*?[]", name)), -len(name), name) for name in rules}
        return cls(tuple((name, rules[name]) for name in sorted(rules, key=order.__getitem__)))

    def access(self, server: str, tool: str, annotations: Any) -> Access:
        """The user's rule or, without one, whether the server marks the tool as read-only."""
        is_read_only = isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
        matching = (access for name, access in self.rules if matches_rule(name, access, server, tool))
        return next(matching, "read" if is_read_only else "write")


def check_pins(pins: Mapping[str, Any]) -> None:
    for name, id in pins.items():
        if not isinstance(id, str) or name in SCHEMAS:
            reason = "is the name of a tool of shortlist" if name in SCHEMAS else "must name a tool as SERVER/TOOL"
            raise SourceError(f"{name!r} under '{PINNED}' in mcp.json {reason}. Choose another name or tool.")


def matches_rule(name: str, access: str | None, server: str, tool: str) -> bool:
    """Whether a rule is about a tool. What is denied is denied in any case of its letters."""
    id = f"{server}/{tool}"
    if access == "never":
        name, server, id = name.casefold(), server.casefold(), id.casefold()
    return name in (server, id) or fnmatchcase(id, name)


def shared_folder() -> Path:
    """The folder for what all projects share about the servers of the user."""
    return data_dir() / "mcp" / "shared"


class ConfiguredServers(NamedTuple):
    """The servers, project files that are pending approval, problems with other files, the user's permissions, what is
    chosen of the servers, with the names of those that are left out, and the ids of pinned tools by the names under
    which they are offered."""

    servers: tuple[ServerConfig, ...] = ()
    pending: tuple[PendingFile, ...] = ()
    problems: tuple[Problem, ...] = ()
    permissions: Permissions = Permissions()
    active: ActiveProfile = ActiveProfile()
    left_out: tuple[str, ...] = ()
    pins: Mapping[str, str] = {}


class ServerDefaults(NamedTuple):
    """What happens to new tools, to secrets in results and to large results, as the user has configured it."""

    new_tools: str
    redacts_results: bool | None
    result_budgets: tuple[tuple[str, int], ...] = ()


class GatewayConfig:
    """The files that configure the gateway: the given ones or, by default, the usual ones.

    `needs_trust` is for files that the user did not name, such as those in a project's settings: like the usual files
    of a project, they need approval. Without `has_servers`, the configuration is empty.
    """

    def __init__(
        self,
        files: Sequence[str | Path] = (),
        *,
        needs_trust: bool = False,
        has_servers: bool = True,
        choice: ServerChoice | None = None,
    ) -> None:
        self._given = [Path(file).expanduser() for file in files]
        self.needs_trust, self._has_servers, self._choice = needs_trust, has_servers, choice or ServerChoice()
        self._profiles = Profiles()  # as they were last read
        self._paths = self._given or possible_files()
        self._stamped = [*self._paths, config_dir() / OWN_FILE, trust_file(), token_file()]
        place = f" Add servers to {self._given[0] if self._given else config_dir() / OWN_FILE}."
        self.advice = f"No MCP server is configured.{place if has_servers else ''}"  # for when there is none
        key = "\n".join(str(path.resolve()) for path in self._given or [project_folders()[-1]])
        # The folder for the data of this configuration, and in it that of the index of the chosen tools.
        self.home = data_dir() / "mcp" / hash_text(key)
        self._place = key
        # The folder for what all projects share about the servers of the user. Files that were given have one home
        # in every project.
        is_usual = has_servers and not needs_trust and not self._given
        self.shared = shared_folder() if is_usual else None
        self.tools = self.home / (f"tools-{self._choice.digest()}" if self._choice != ServerChoice() else "tools")

    def record_place(self) -> None:
        """Store which project or files the data is about, for those who list it."""
        with contextlib.suppress(OSError, ValueError):  # then it is listed by the name of its folder
            if not (self.home / PLACE).exists():
                make_folder(self.home)
                replace_text(self.home / PLACE, self._place)

    def stamp(self) -> tuple[int, ...]:
        """A value that changes with any of the files, with the approvals, and with the sign-ins."""
        return stamp_of(*self._stamped)

    def read(self, *, strict: bool = True) -> ConfiguredServers:
        """The current configuration, with the first server of each name. An unreadable file is a problem or, if it was
        given and `strict`, an error."""
        if not self._has_servers:
            return ConfiguredServers()
        if read_variable(GATEWAY):
            reason = "Another gateway started this one and connects to the servers itself."
            return ConfiguredServers(problems=(Problem(GATEWAY, reason),))
        found: dict[str, ServerConfig | Problem] = {}
        sign_ins: dict[str, SignIn] = {}
        with contextlib.suppress(SourceError):  # a server that needs them reports it
            sign_ins = read_sign_ins()
        for path in self._paths:
            for item in self._read_file(path, strict):
                if isinstance(item, Problem):
                    found.setdefault(item.id, item)
                else:
                    id = str(sign_ins.get(key_of_sign_in(item), {}).get("id", ""))
                    found.setdefault(item.name, replace(item, env={**item.env, GATEWAY: "1"}, sign_in=id))
        problems = [item for item in found.values() if isinstance(item, Problem)]
        try:
            permissions = self._read_permissions()
        except SourceError as error:
            permissions = Permissions((("*", "never"),))  # the unreadable rules may deny anything
            problems.append(Problem("permissions", f"{error} No tool can be called until this is fixed."))
        pins: Mapping[str, str] = {}
        try:
            pins = self._read_pins()
        except SourceError as error:
            problems.append(Problem("pinned", str(error)))
        pending = tuple(item for item in problems if isinstance(item, PendingFile))
        defaults, problem = self._read_defaults()
        problems += [problem] if problem else []
        servers = [self._apply(defaults, item) for item in found.values() if isinstance(item, ServerConfig)]
        active = self._read_choice(strict)
        unknown = find_unknown(self._choice.only, found)
        if unknown and strict and not pending:  # else it may be one of those
            raise InputError(unknown[0])
        unknown += find_unknown(
            (name for names in active.sets for name in names if name not in self._choice.only), found
        )
        problems += [Problem("profile", sentence) for sentence in (active.problem, *unknown) if sentence]
        return ConfiguredServers(
            tuple(server for server in servers if active.includes(server.name)),
            pending,
            tuple(item for item in problems if not isinstance(item, PendingFile)),
            permissions,
            active,
            tuple(server.name for server in servers if not active.includes(server.name)),
            pins,
        )

    def _read_choice(self, strict: bool) -> ActiveProfile:
        """What is chosen of the servers: none, if that is not known.

        Profiles that cannot be read while the gateway runs stay as they were.
        """
        try:
            try:
                self._profiles = self._read_profiles()
            except SourceError:
                if strict:
                    raise
            return resolve(self._choice, self._profiles)
        except (InputError, SourceError) as error:
            if strict and self._choice.profile:
                raise
            return ActiveProfile(
                self._choice.profile, sets=((),), problem=f"{error} No server is used until this is fixed."
            )

    def _read_file(self, path: Path, strict: bool) -> list[ServerConfig | Problem]:
        if not self._given and not path.exists():
            return []
        try:
            file = ConfigurationFile(path, needs_trust=self.needs_trust)
            return list(file.servers()) if self._given or file.names_servers else []
        except SourceError as error:
            if self._given and strict:
                raise
            return [Problem(str(path), str(error), key_of(path))]

    def _read_profiles(self) -> Profiles:
        sets: dict[str, Sequence[str]] = {}
        default = ""
        for path, data in self._read_own_files():
            found = Profiles.of(data, path)
            sets, default = {**found.sets, **sets}, default or found.default
        return Profiles(sets, default)

    def _read_permissions(self) -> Permissions:
        return Permissions.of(self._merge_own_files("permissions", "map servers or tools to read, write or never"))

    def _read_pins(self) -> Mapping[str, str]:
        pins = self._merge_own_files(PINNED, "map names to tools, each as SERVER/TOOL")
        check_pins(pins)
        return pins

    def _merge_own_files(self, key: str, rule: str) -> dict[str, Any]:
        """A mapping that the user's files have under a key; the first file that has a name counts."""
        merged: dict[str, Any] = {}
        for path, data in self._read_own_files():
            found = data.get(key) or {}
            if not isinstance(found, Mapping):
                raise SourceError(f"'{key}' in {path} must {rule}.")
            merged = {**found, **merged}
        return merged

    def _read_defaults(self) -> tuple[ServerDefaults, Problem | None]:
        """What applies to servers that do not say it."""
        new_tools, redacts = "", None
        budgets: tuple[tuple[str, int], ...] = ()
        try:
            for path, data in self._read_own_files():
                try:
                    given = read_new_tools(data), read_redacts_results(data)
                    budgets = budgets or read_result_budgets(data)
                except ValueError as error:
                    raise SourceError(f"{path} {error}.") from None
                new_tools, redacts = new_tools or given[0], given[1] if redacts is None else redacts
        except SourceError as error:
            reason = f"{error} Until this is fixed, new tools are pending approval and results are redacted."
            return ServerDefaults(NEW_TOOLS[-1], True), Problem("settings", reason)
        return ServerDefaults(new_tools or "notify", redacts, budgets), None

    def _apply(self, defaults: ServerDefaults, server: ServerConfig) -> ServerConfig:
        """A server with the defaults of the user. What a project configures can only be stricter."""
        new_tools, redacts = server.new_tools or defaults.new_tools, server.redacts_results
        if server.project is not None or self.needs_trust:
            new_tools = max(new_tools, defaults.new_tools, key=NEW_TOOLS.index)
            redacts = redacts or defaults.redacts_results
        redacts = bool(defaults.redacts_results if redacts is None else redacts)
        budgets = server.result_budgets or defaults.result_budgets
        return replace(server, new_tools=new_tools, redacts_results=redacts, result_budgets=budgets)

    def _read_own_files(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """The files that the user named, and our own. A project cannot grant itself anything."""
        for path in [*([] if self.needs_trust else self._given), config_dir() / OWN_FILE]:
            file = ConfigurationFile(path) if path.is_file() else None
            if file and file.project is None:
                yield path, file.data

"""The settings of the service, the changes made to them over HTTP, and the settings of the commands that answer.

settings.yaml may come with a cloned repository. What it asks for by which data leaves this machine, or by which the
service can be reached from others, takes effect once the user has confirmed it. A file that the user names needs no
confirmation, and neither do variables and options.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import SecretStr

from shortlist._environment import list_variables
from shortlist._files import locked, replace_text
from shortlist._http import is_loopback
from shortlist._paths import data_dir
from shortlist._settings import (
    DEFAULT,
    FILE,
    LOOPBACK,
    OPTIONS,
    PATHS,
    VARIABLES,
    Answers,
    Settings,
    Values,
    collect_values,
)
from shortlist._text import did_you_mean
from shortlist.errors import InputError, SourceError
from shortlist.index.embedders.named import is_built_in, unconfirmed_address
from shortlist.safety.confirmations import Confirmation

log = logging.getLogger("shortlist.serve")

OPENAI = "https://api.openai.com/v1"  # the address if there is only a key
FORMAT = 1
STATE = "state.json"
# Keys by which a file can send data to other machines or let web pages in. Without confirmation they have no effect.
GUARDED = (
    "server.allowed_hosts", "server.allowed_origins", "engine.user", "engine.password", "engine.certificate",
    "telemetry.enabled",
)  # fmt: skip


def load_settings(
    file: str | Path | None = None,
    given: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force. `given` are those of the command line, by dotted key; a named file must exist."""
    collected = collect_values(file=file, given=given, environment=environment)
    warnings = [] if file is not None else _withhold(collected)
    _protect_keys(collected)
    settings = _restrict_host(collected.validate(), trusts_file=file is not None)
    return settings.model_copy(update={"warnings": (*warnings, *settings.warnings)})


def find_requests(settings: Settings) -> Iterator[Confirmation]:
    """What the settings file asks for that takes effect once the user has confirmed it."""
    file, origins = settings.file, settings.origins
    if file is None:
        return
    own = {key for key, origin in origins.items() if origin == str(file)}
    llm = settings.llm
    if (llm.url and "llm.url" in own) or (not llm.url and llm.key and "llm.key" in own):
        yield Confirmation("llm", file, llm.url or OPENAI)
    if "documents.embedder" in own and not is_built_in(settings.documents.embedder):
        yield Confirmation("embedder", file, settings.documents.embedder)
    if (opening := _find_opening(settings)) is not None:
        yield opening
    for key in GUARDED:
        if key in own and settings.value(key):
            value = Path(settings.value(key)).resolve() if key in PATHS else settings.value(key)
            yield Confirmation("setting", file, f"{key}={_show(value)}")


def find_requests_in(folder: Path) -> list[Confirmation]:
    """As `find_requests`, for the settings file of a folder."""
    path = folder / FILE
    return list(find_requests(collect_values(file=path).validate())) if path.is_file() else []


def _find_opening(settings: Settings) -> Confirmation | None:
    """The request to listen for other machines, if only the file says who may then use the service."""
    server, file = settings.server, str(settings.file)
    guards = {"server.token": server.token is not None, "server.allow_anonymous": server.allow_anonymous}
    origins = {settings.origins.get(key) for key, is_set in guards.items() if is_set}
    if settings.file is None or is_loopback(server.host) or origins != {file}:
        return None
    guard = f"server.token={_show(server.token)}" if server.token and not server.allow_anonymous else "without a token"
    return Confirmation("setting", settings.file, f"server.host={server.host}, {guard}")


def _show(value: Any) -> str:
    """A value to confirm: a secret as a hash, so that another one must be confirmed again."""
    if isinstance(value, SecretStr):
        return f"*** ({blake2b(value.get_secret_value().encode(), digest_size=4).hexdigest()})"
    return ", ".join(value) if isinstance(value, tuple) else str(value).lower() if value is True else str(value)


def _withhold(collected: Values) -> list[str]:
    """Remove what the file asks for and the user has not confirmed; return a warning for each."""
    warnings = []
    for request in find_requests(collected.validate()):
        key = request.value.partition("=")[0]
        if request.is_confirmed or key == "server.host":  # which `_restrict_host` handles
            continue
        if request.kind == "embedder":
            raise InputError(f"documents.embedder needs your confirmation: {request}")
        # All of them, since a key of the environment may be for the address in the file
        for name in [key] if request.kind == "setting" else [one for one in collected.values if one[:4] == "llm."]:
            collected.values.pop(name)
            collected.origins[name] = f"{DEFAULT} ({request.place} sets it; allow it with: shortlist trust)"
        effect = "No language model is used" if request.kind == "llm" else f"{key} has no effect"
        warnings.append(f"{effect}: {request}")
    return warnings


def load_answer_settings(given: Mapping[str, Any] | None = None) -> Answers:
    """The section `answers` for a command in this folder; `given` are its options by key, None if not given."""
    options = {f"answers.{key}": value for key, value in (given or {}).items() if value is not None}
    return collect_values(("answers",), given=options).validate().answers


def unknown_variables() -> list[str]:
    """A warning for each variable that starts like one of ours and is not one."""
    unknown = [name for name in list_variables("BM25S_") if name not in VARIABLES]
    return [f"The variable {name} has no effect.{did_you_mean(name, VARIABLES, most=1)}" for name in unknown]


class Candidate(NamedTuple):
    """A value, its origin in words, and how far that is trusted: a file may come with a cloned repository."""

    value: Any
    origin: str
    trust: int


def choose_key(url: Candidate | None, keys: Sequence[Candidate]) -> Any:
    """The first key that may be sent to the address: the origin of the address is at least as trusted as the key's."""
    allowed = [key.value for key in keys if not url or url.value == OPENAI or key.trust <= url.trust]
    if url and keys and not allowed:
        log.warning(
            "The key %s is not sent to %s: that address is set by %s, which may come from someone else. "
            "Set SHORTLIST_LLM_URL in the environment, or put the key beside the address.",
            keys[0].origin, url.value, url.origin,
        )  # fmt: skip
    return allowed[0] if allowed else None


def _protect_keys(collected: Values) -> None:
    """Keep the keys of the environment from addresses that only the file sets."""
    values, origins, in_file, file = collected.values, collected.origins, collected.in_file, str(collected.file)

    def candidate(key: str) -> Candidate:
        is_from_file = origins[key] == file
        origin = f"{key} in {file}" if is_from_file else f"{origins[key]} in the environment"
        return Candidate(values[key], origin, 0 if is_from_file else 2)

    if values.get("llm.key"):
        stored = [Candidate(in_file["llm.key"], file, 0)] if in_file.get("llm.key") else []
        key = choose_key(candidate("llm.url") if values.get("llm.url") else None, [candidate("llm.key"), *stored])
        if key != values["llm.key"]:
            values["llm.key"], origins["llm.key"] = key, file
    embedder = str(in_file.get("documents.embedder") or "")
    is_confirmed = collected.file is not None and Confirmation("embedder", collected.file, embedder).is_confirmed
    if not is_confirmed and (address := unconfirmed_address(embedder)):
        raise InputError(
            f"{file}: documents.embedder would send OPENAI_API_KEY of the environment to {address}. "
            f"Set OPENAI_BASE_URL to that address to confirm it, or unset OPENAI_API_KEY."
        )


def _restrict_host(settings: Settings, *, trusts_file: bool) -> Settings:
    """The settings with a host that is safe to listen on, and a warning if that is not the configured one.

    Without a token, a host that other machines can reach is an error on the command line. From a file or a variable it
    is replaced by loopback, so that a shared settings file still starts. The same holds if only an unconfirmed file
    sets the token or allows everyone.
    """
    server = settings.server
    opening = None if trusts_file else _find_opening(settings)
    is_guarded = server.token is not None or server.allow_anonymous
    if is_loopback(server.host) or (is_guarded and (opening is None or opening.is_confirmed)):
        return settings
    origin = settings.origins["server.host"]
    reason = f"only {settings.file} sets who may use it" if opening else "no token is set"
    if origin == OPTIONS["server.host"]:
        raise InputError(
            f"The address {server.host!r} can be reached from other machines, and {reason}. Set SHORTLIST_TOKEN "
            f"(or {'--token' if opening else 'server.token'}), listen on {LOOPBACK}, or allow unauthenticated access "
            f"with --allow-anonymous."
        )
    needs = "your confirmation" if opening else "a token"
    origins = settings.origins | {"server.host": f"{DEFAULT} ({origin} sets {server.host}, which needs {needs})"}
    allow = "allow it with: shortlist trust; or " if opening else ""
    warning = (
        f"{origin}: server.host is {server.host!r}, but {reason}, so the service listens on {LOOPBACK} only. "
        f"To open it to other machines, {allow}set SHORTLIST_TOKEN or start it with --allow-anonymous."
    )
    restricted = server.model_copy(update={"host": LOOPBACK})
    return settings.model_copy(update={"server": restricted, "origins": origins, "warnings": (warning,)})


class State:
    """The settings in force: the configured ones, and the changes made over HTTP, which are stored on disk.

    A change is in force until the configured value changes, which is newer then.
    """

    def __init__(self, configured: Settings) -> None:
        self._configured = configured
        self._folder = get_folder(Path(configured.documents.source))
        self._read()

    def _read(self) -> None:
        state = read_json(self._folder / STATE)
        self._changed: dict[str, dict[str, Any]] = state.get("settings", {})
        self._switched: str | None = state.get("document_file")

    @property
    def document_file(self) -> Path:
        return Path(self._switched or Path(self._configured.documents.source).expanduser().resolve())

    def settings(self) -> dict[str, Any]:
        """The settings of /retrieve."""
        return self._configured.bm25s.model_dump() | self._changes()

    def rows(self) -> list[dict[str, Any]]:
        """As `Settings.rows`, with the changes made over HTTP."""
        changed = {f"bm25s.{key}": (value, "POST /settings") for key, value in self._changes().items()}
        if self._switched:
            changed["documents.source"] = self._switched, "POST /switch-document-file"
        rows = self._configured.rows()
        for row in rows:
            row["value"], row["origin"] = changed.get(row["key"], (row["value"], row["origin"]))
        return rows

    def save(self, settings: Mapping[str, Any] | None = None, document_file: Path | None = None) -> None:
        """Store a change on disk."""
        configured = self._configured.bm25s.model_dump()
        with locked(self._folder / "state.lock"):
            self._read()
            for key, value in (settings or {}).items():
                self._changed[key] = {"value": value, "instead_of": configured[key]}
            self._switched = str(document_file) if document_file else self._switched
            state = {"format": FORMAT, "settings": self._changed, "document_file": self._switched}
            replace_text(self._folder / STATE, json.dumps(state, indent=2) + "\n")

    def _changes(self) -> dict[str, Any]:
        now = self._configured.bm25s.model_dump()
        return {key: item["value"] for key, item in self._changed.items() if now.get(key) == item["instead_of"]}


def get_folder(file: Path) -> Path:
    """The folder of everything that belongs to a document file."""
    path = str(file.expanduser().resolve()).encode(errors="replace")
    return data_dir() / "served" / f"{file.stem[:40]}-{blake2b(path, digest_size=8).hexdigest()}"


def read_json(path: Path) -> dict[str, Any]:
    """The content of one of our files; empty if it does not exist."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, and this version of shortlist reads {FORMAT}")
        return dict(data)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path} cannot be read ({error}). Fix it, or move it away and start again.") from None

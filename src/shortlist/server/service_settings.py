"""The settings of the service, and those of the commands that answer.

settings.yaml may come with a cloned repository. What it asks for by which data leaves this machine, or by which the
service can be reached from others, takes effect once the user has confirmed it. A file that the user names needs no
confirmation, and neither do variables and options.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import SecretStr

from shortlist._http import is_loopback
from shortlist._settings import (
    DEFAULT,
    FILE,
    LOOPBACK,
    OPTIONS,
    PATHS,
    SECTIONS,
    AccessSettings,
    Answers,
    AuditSettings,
    Settings,
    Values,
    collect_values,
)
from shortlist.errors import InputError
from shortlist.index.embedders.named import is_built_in, unconfirmed_address
from shortlist.safety.confirmations import Confirmation
from shortlist.server.stored_llm import read_stored_llm, stored_file

log = logging.getLogger("shortlist.serve")

OPENAI = "https://api.openai.com/v1"  # the address if there is only a key
# Keys by which a file can send data to other machines or let web pages in. Without confirmation they have no effect.
GUARDED = (
    "server.allowed_hosts", "server.allowed_origins", "server.cors_origins",
    "engine.user", "engine.password", "engine.certificate", "telemetry.enabled",
    *(f"access.{name}" for name in AccessSettings.model_fields),
    *(f"audit.{name}" for name in AuditSettings.model_fields),
)  # fmt: skip


def load_settings(
    file: str | Path | None = None,
    given: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    schema: type[Settings] = Settings,
) -> Settings:
    """The settings in force. `given` are those of the command line, by dotted key; a named file must exist.

    `schema` is a class of settings with more sections.
    """
    collected = collect_values(file=file, given=given, environment=environment, schema=schema)
    warnings = [] if file is not None else _withhold(collected)
    _protect_keys(collected)
    if file is None and environment is None and not any(key.startswith("llm.") for key in collected.values):
        own_model = read_stored_llm()
        values = own_model.list_values() if own_model else {}
        collected.values.update(values)
        collected.origins.update(dict.fromkeys(values, str(stored_file())))
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
    return list(find_requests(collect_values(SECTIONS, file=path).validate())) if path.is_file() else []


def _find_opening(settings: Settings) -> Confirmation | None:
    """The request to listen for other machines, if only the file says who may then use the service."""
    server, file = settings.server, str(settings.file)
    guards = {"server.token": server.token is not None, "server.allow_anonymous": server.allow_anonymous}
    guards |= dict.fromkeys(("access.grants", "access.profiles", "access.issuer"), settings.access.has_rules)
    origins = {settings.origins.get(key) for key, is_set in guards.items() if is_set} - {None}
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
            key = "documents.embedder"
        if request.kind == "embedder" or key.startswith(("access.", "audit.")):  # without it, more would be permitted
            raise InputError(f"{key} needs your confirmation: {request}")
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


class SourcedValue(NamedTuple):
    """A value, its origin in words, and how far that is trusted: a file may come with a cloned repository."""

    value: Any
    origin: str
    trust: int


def choose_key(url: SourcedValue | None, keys: Sequence[SourcedValue]) -> Any:
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

    def candidate(key: str) -> SourcedValue:
        is_from_file = origins[key] == file
        origin = f"{key} in {file}" if is_from_file else f"{origins[key]} in the environment"
        return SourcedValue(values[key], origin, 0 if is_from_file else 2)

    if values.get("llm.key"):
        stored = [SourcedValue(in_file["llm.key"], file, 0)] if in_file.get("llm.key") else []
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
    is_guarded = server.token is not None or server.allow_anonymous or settings.access.has_rules
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

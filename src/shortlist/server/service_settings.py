"""What is the service told? The command line, the environment, a file and defaults, in this order of precedence."""

from __future__ import annotations

import ipaddress
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator

from shortlist import _settings as kit
from shortlist._settings import DEFAULT, Bm25s, Documents, Given, Section
from shortlist._text import did_you_mean
from shortlist.errors import InputError

log = logging.getLogger("shortlist.serve")

FILE = kit.FILE
OPENAI = "https://api.openai.com/v1"  # where a model is that has a key and no address
PROGRAM = "the program"
LOOPBACK = "127.0.0.1"
VARIABLES = kit.VARIABLES | {
    "BM25S_HOST": "server.host",
    "BM25S_PORT": "server.port",
    "BM25S_LOG_LEVEL": "server.log_level",
    "SHORTLIST_TOKEN": "server.token",
    "SHORTLIST_LLM_URL": "llm.url",
    "SHORTLIST_LLM_MODEL": "llm.model",
    "SHORTLIST_LLM_KEY": "llm.key",
    "SHORTLIST_LLM_FALLBACK": "llm.fallback",
    "SHORTLIST_CHUNK_SIZE": "answers.chunk_size",
    "SHORTLIST_CHUNK_OVERLAP": "answers.chunk_overlap",
    "SHORTLIST_TOP_K": "answers.top_k",
    "SHORTLIST_THRESHOLD": "answers.threshold",
    "SHORTLIST_MEMORY_WINDOW_TURNS": "answers.memory_window_turns",
    "SHORTLIST_AGENT_MAX_STEPS": "answers.agent_max_steps",
    "SHORTLIST_ENGINE_USER": "engine.user",
    "SHORTLIST_ENGINE_PASSWORD": "engine.password",
    "SHORTLIST_ENGINE_CERTIFICATE": "engine.certificate",
}
OPTIONS = {
    "server.host": "--host",
    "server.port": "--port",
    "server.token": "--token",
    "server.allow_anonymous": "--allow-anonymous",
    "server.corpora": "--corpus",
    "documents.source": "--documents",
}


class Server(Section):
    """Where the service listens, and to whom."""

    host: str = Field(default=LOOPBACK, min_length=1)
    port: int = Field(default=9200, ge=0, le=65535)
    reload: bool = False
    log_level: Literal["critical", "error", "warning", "info", "debug"] = "info"
    token: SecretStr | None = None
    allow_anonymous: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    corpora: tuple[str, ...] | None = None

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_small_letters(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator("token")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        text = value.get_secret_value() if value else "ok"
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError("must be ASCII letters, digits and signs without spaces, at least one")
        return value


class Limits(Section):
    """What a single request may cost."""

    max_body_bytes: int = Field(default=16 << 20, ge=1 << 10, le=1 << 30)
    request_seconds: float = Field(default=30.0, ge=0.1, le=3600)
    answer_seconds: float = Field(default=300.0, ge=0.1, le=3600)
    eval_seconds: float = Field(default=300.0, ge=0.1, le=3600)


class Llm(Section):
    """The language model that answers; there is none where there is neither an address nor a key."""

    url: str = ""
    model: str = ""
    key: SecretStr | None = None
    fallback: str = ""


class Answers(Section):
    """How files are chunked and questions answered. Without a threshold the calibrated one or 0.30 counts."""

    chunk_size: int = Field(default=800, ge=50, le=100_000)
    chunk_overlap: int = Field(default=120, ge=0, le=50_000)
    top_k: int = Field(default=4, ge=1, le=20)
    threshold: float | None = Field(default=None, ge=0, le=1)
    memory_window_turns: int = Field(default=5, ge=0, le=50)
    agent_max_steps: int = Field(default=5, ge=1, le=50)


class Mcp(Section):
    """What agents get at /mcp, and which servers are upstream of it: those of the files, or the usual ones."""

    enabled: bool = True
    upstream: bool = True
    config: tuple[str, ...] = ()


class Engine(Section):
    """Who asks the clusters that keep corpora, and the file of the authority whose certificates they have."""

    paths = ("certificate",)

    user: str = ""
    password: SecretStr | None = None
    certificate: str = ""


SECTIONS: dict[str, type[Section]] = kit.SECTIONS | {
    "server": Server,
    "limits": Limits,
    "llm": Llm,
    "answers": Answers,
    "mcp": Mcp,
    "engine": Engine,
}
FIELDS = kit.fields_of(SECTIONS)


@dataclass(frozen=True, slots=True)
class Settings:
    """All sections, the origin of each value that is not a default, and warnings about values that are not in force."""

    bm25s: Bm25s = field(default_factory=Bm25s)
    documents: Documents = field(default_factory=Documents)
    server: Server = field(default_factory=Server)
    limits: Limits = field(default_factory=Limits)
    llm: Llm = field(default_factory=Llm)
    answers: Answers = field(default_factory=Answers)
    mcp: Mcp = field(default_factory=Mcp)
    engine: Engine = field(default_factory=Engine)
    origins: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    warnings: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Each key with the value in force and where it came from; secrets hidden."""
        rows = []
        for key in FIELDS:
            value = self._value(key)
            shown = "***" if isinstance(value, SecretStr) else list(value) if isinstance(value, tuple) else value
            rows.append({"key": key, "value": shown, "origin": self.origins.get(key, DEFAULT)})
        return rows

    @property
    def folder(self) -> Path:
        """Where catalogs may be switched to."""
        return Path(self.documents.folder or Path(self.documents.source).parent)

    @property
    def source_must_exist(self) -> bool:
        return kit.must_exist(self.documents.source, self.origins, self.file)

    def read_again(self) -> Settings:
        """What would be in force if the service began now."""
        given = {key: self._value(key) for key, origin in self.origins.items() if origin == OPTIONS.get(key, PROGRAM)}
        return load_settings(self.file, given)

    def _value(self, key: str) -> Any:
        section, _, name = key.partition(".")
        return getattr(getattr(self, section), name)


def load_settings(
    file: str | Path | None = None,
    given: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force. `given` are those of the command line, by dotted key; a named file must be there."""
    explicit = {key: Given(value, OPTIONS.get(key, PROGRAM)) for key, value in (given or {}).items()}
    found = kit.resolve(SECTIONS, VARIABLES, file=file, given=explicit, environment=environment, adjust=_protect_keys)
    server, warnings = _restrict_host(found.sections["server"], found.origins)
    sections = found.sections | {"server": server}
    return Settings(**sections, origins=found.origins, file=found.file, warnings=warnings)


def answer_settings(given: Mapping[str, Any] | None = None) -> Answers:
    """The section `answers` for a command in this folder; `given` are its options, by key, None for those not given."""
    explicit = {
        f"answers.{key}": Given(value, f"--{key.replace('_', '-')}")
        for key, value in (given or {}).items()
        if value is not None
    }
    variables = {name: key for name, key in VARIABLES.items() if key.startswith("answers.")}
    found = kit.resolve({"answers": Answers}, variables, given=explicit, ignore_other_sections=True)
    answers: Answers = found.sections["answers"]
    return answers


def _protect_keys(values: dict[str, Any], origins: dict[str, str], in_file: Mapping[str, Any], file: str) -> None:
    """Keep a key of the environment from an address of the file, which may have come with a cloned repository."""
    url, origin = values.get("llm.url"), origins.get("llm.key")
    if url and url != OPENAI and origins["llm.url"] == file and origin not in (None, file):
        values["llm.key"], origins["llm.key"] = in_file.get("llm.key"), file
        if not values["llm.key"]:
            log.warning("%s", key_withheld(f"{origin} in the environment", url, f"llm.url in {file}"))
    embedder = str(in_file.get("documents.embedder") or "")
    if embedder.startswith("openai:"):
        from shortlist.index.embedders.named import unconfirmed_address  # noqa: PLC0415  # brings numpy

        if address := unconfirmed_address(embedder):
            raise InputError(
                f"{file}: documents.embedder would send OPENAI_API_KEY of the environment to {address}, which you did "
                f"not name. Set OPENAI_BASE_URL to that address to confirm it, or unset OPENAI_API_KEY."
            )


def key_withheld(key: str, address: str, origin: str) -> str:
    """Why a key is not sent to an address, and how to have it sent."""
    return (
        f"The key {key} is not sent to {address}: that address is set by {origin}, which may come from someone else. "
        f"Set SHORTLIST_LLM_URL in the environment, or put the key beside the address."
    )


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for each variable that looks like one of ours and means nothing."""
    environment = os.environ if environment is None else environment
    strange = sorted(name for name in environment if name.startswith("BM25S_") and name not in VARIABLES)
    return [f"The variable {name} means nothing here.{did_you_mean(name, VARIABLES, most=1)}" for name in strange]


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _restrict_host(server: Server, origins: dict[str, str]) -> tuple[Server, tuple[str, ...]]:
    """The server section with a host that is safe to listen on, and a warning if that is not the configured one.

    Without a token, a host that other machines can reach is an error on the command line. From a file or a variable it
    is replaced by loopback, so that a shared settings file still starts.
    """
    if is_loopback(server.host) or server.token is not None or server.allow_anonymous:
        return server, ()
    origin = origins["server.host"]
    problem = f"The address {server.host!r} can be reached from other machines, and no token is set."
    if origin == OPTIONS["server.host"]:
        raise InputError(
            f"{problem} Set SHORTLIST_TOKEN (or server.token), listen on {LOOPBACK}, or allow unauthenticated access "
            "with --allow-anonymous."
        )
    origins["server.host"] = f"{DEFAULT} ({origin} says {server.host}, which needs a token)"
    warning = (
        f"{origin}: server.host is {server.host!r}, but no token is set, so the service listens on {LOOPBACK} only. "
        "To open it to other machines, set SHORTLIST_TOKEN or start it with --allow-anonymous."
    )
    return server.model_copy(update={"host": LOOPBACK}), (warning,)

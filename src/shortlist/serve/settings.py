"""What is the service told? The command line, the environment, a file and defaults, in this order of precedence."""

from __future__ import annotations

import difflib
import ipaddress
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo

from shortlist.errors import InputError

log = logging.getLogger("shortlist.serve")

FILE = "settings.yaml"
OPENAI = "https://api.openai.com/v1"  # where a model is that has a key and no address
SOURCE = "source_files/tools_list.yaml"
DEFAULT = "default"
PROGRAM = "the program"
VARIABLES = {
    "BM25S_TEMPERATURE": "bm25s.temperature",
    "BM25S_IGNORE_ZERO": "bm25s.ignore_zero",
    "BM25S_CUTOFF": "bm25s.llm_tools_cutoff",
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
PATHS = ("documents.source", "documents.folder", "engine.certificate")


class Section(BaseModel):
    """A part of the settings file. What it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Bm25s(Section):
    """How /retrieve cuts."""

    temperature: float = Field(default=0.5, ge=0.1, le=10)
    ignore_zero: bool = True
    llm_tools_cutoff: float = Field(default=10.0, ge=0, le=100)


class Documents(Section):
    """Where the catalog comes from."""

    source: str = Field(default=SOURCE, min_length=1)
    folder: str | None = Field(default=None, min_length=1)
    auto_reload: bool = True
    encoding: str = "utf-8"
    embedder: str = Field(default="default", min_length=1)

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            "".encode(value)
        except LookupError:
            raise ValueError("must be the name of an encoding, such as utf-8 or latin-1") from None
        return value


class Server(Section):
    """Where the service listens, and to whom."""

    host: str = Field(default="127.0.0.1", min_length=1)
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

    user: str = ""
    password: SecretStr | None = None
    certificate: str = ""


SECTIONS: dict[str, type[Section]] = {
    "bm25s": Bm25s,
    "documents": Documents,
    "server": Server,
    "limits": Limits,
    "llm": Llm,
    "answers": Answers,
    "mcp": Mcp,
    "engine": Engine,
}
FIELDS = {f"{name}.{key}": info for name, kind in SECTIONS.items() for key, info in kind.model_fields.items()}


@dataclass(frozen=True, slots=True)
class Settings:
    """All sections, and for each value that is no default, who said it."""

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
    environment = os.environ if environment is None else environment
    path = Path(FILE) if file is None else Path(file).expanduser()
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    has_file = file is not None or path.is_file()
    if has_file:
        values |= read_file(path)
        origins |= dict.fromkeys(values, str(path))
    in_file = dict(values)
    for variable, key in VARIABLES.items():
        if environment.get(variable, "").strip():
            values[key], origins[key] = environment[variable].strip(), variable
    for key, value in (given or {}).items():
        values[key], origins[key] = value, OPTIONS.get(key, PROGRAM)
    _withhold_key(values, origins, in_file, str(path))
    sections, wrong = {}, []
    for name, kind in SECTIONS.items():
        own = {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{name}.")}
        try:
            sections[name] = kind.model_validate(own)
        except ValidationError as error:
            wrong += [_sentence(name, detail, values, origins) for detail in error.errors(include_url=False)]
    if wrong:
        raise InputError(" ".join(wrong))
    settings = Settings(**sections, origins=origins, file=path if has_file else None)  # type: ignore[arg-type]
    _refuse_strangers(settings.server)
    return settings


def answer_settings(given: Mapping[str, Any] | None = None) -> Answers:
    """The section `answers` for a command in this folder; `given` are its options, by key, None for those not given."""
    in_file = read_file(Path(FILE), only_ours=True) if Path(FILE).is_file() else {}
    said = [(key, value, FILE) for key, value in in_file.items()]
    said += [(key, os.environ.get(variable, "").strip() or None, variable) for variable, key in VARIABLES.items()]
    said += [(f"answers.{key}", value, f"--{key.replace('_', '-')}") for key, value in (given or {}).items()]
    found = {key: (value, origin) for key, value, origin in said if key.startswith("answers.") and value is not None}
    try:
        return Answers.model_validate({key.partition(".")[2]: value for key, (value, _) in found.items()})
    except ValidationError as error:
        values, origins = ({key: pair[at] for key, pair in found.items()} for at in (0, 1))
        wrong = [_sentence("answers", detail, values, origins) for detail in error.errors(include_url=False)]
        raise InputError(" ".join(wrong)) from None


def _withhold_key(values: dict[str, Any], origins: dict[str, str], in_file: Mapping[str, Any], file: str) -> None:
    """Keep a key of the environment from an address of the file, which may have come with a cloned repository."""
    url, origin = values.get("llm.url"), origins.get("llm.key")
    if not url or url == OPENAI or origins["llm.url"] != file or origin in (None, file):
        return
    values["llm.key"], origins["llm.key"] = in_file.get("llm.key"), file
    if not values["llm.key"]:
        log.warning("%s", key_withheld(f"{origin} in the environment", url, f"llm.url in {file}"))


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
    return [f"The variable {name} means nothing here.{_near(name, VARIABLES)}" for name in strange]


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_strangers(server: Server) -> None:
    if not is_loopback(server.host) and server.token is None and not server.allow_anonymous:
        raise InputError(
            f"The address {server.host!r} can be reached from other machines, and no token is set. Set SHORTLIST_TOKEN "
            f"(or server.token), listen on 127.0.0.1, or let everybody in with --allow-anonymous."
        )


def read_file(path: Path, *, only_ours: bool = False) -> dict[str, Any]:
    """The values of a settings file by dotted key; relative paths in it are seen from its folder.

    With `only_ours` a file without any of our sections belongs to another program and has no values for us.
    """
    import yaml  # noqa: PLC0415  # only where there is a file

    try:
        data = yaml.safe_load(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"There is no settings file {path}.") from None
    except OSError as error:
        raise InputError(f"The settings file {path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        from shortlist.sources.parsed import in_a_line  # noqa: PLC0415  # brings all sources

        raise InputError(f"The settings file {path} is not valid YAML: {in_a_line(error)}.") from None
    if data is None or (only_ours and not (isinstance(data, dict) and SECTIONS.keys() & data.keys())):
        return {}
    if not isinstance(data, dict):
        raise InputError(f"The settings file {path} must hold sections ({', '.join(SECTIONS)}), not {data!r}.")
    values: dict[str, Any] = {}
    for section, content in data.items():
        if section not in SECTIONS:
            known = ", ".join(SECTIONS)
            near = _near(str(section), SECTIONS)
            raise InputError(f"{path}: there is no section {section!r}; the known ones are {known}.{near}")
        if not isinstance(content, dict | None):
            raise InputError(f"{path}: the section {section!r} must hold keys and values, not {content!r}.")
        values |= {f"{section}.{key}": value for key, value in (content or {}).items()}
    for key in PATHS:
        if isinstance(values.get(key), str) and values[key]:
            values[key] = str(path.parent / Path(values[key]).expanduser())
    return values


def _sentence(section: str, detail: Any, values: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    key = f"{section}.{detail['loc'][0]}"
    origin = origins.get(key, DEFAULT)
    info = FIELDS.get(key)
    if info is None:
        return f"{origin}: there is no key {key!r}.{_near(key, FIELDS)}"
    value = "that" if info.annotation == SecretStr | None else repr(values[key])
    allowed = detail["ctx"]["error"] if detail["type"] == "value_error" else f"must be {_allowed(info)}"
    return f"{origin}: {key} {allowed}, not {value}."


def _allowed(info: FieldInfo) -> str:
    """What a field takes, in words."""
    least = next((item.ge for item in info.metadata if hasattr(item, "ge")), None)
    most = next((item.le for item in info.metadata if hasattr(item, "le")), None)
    if least is not None:
        return f"a {'whole ' if info.annotation is int else ''}number from {least:g} to {most:g}"
    if info.annotation is bool:
        return "true or false"
    choices = getattr(info.annotation, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        return f"one of {', '.join(choices)}"
    return "a list of texts" if "tuple" in str(info.annotation) else "a text that is not empty"


def _near(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""

"""All settings: one list of their keys, and the values in force.

A value comes from the command line, the environment, settings.yaml or its default, in this order. Only the upper layers
read settings; they pass values down.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo

from shortlist._text import describe_yaml_error, did_you_mean
from shortlist.errors import InputError

FILE = "settings.yaml"
SOURCE = "source_files/tools_list.yaml"
DEFAULT = "default"
PROGRAM = "the program"
LOOPBACK = "127.0.0.1"
LogLevel = Literal["critical", "error", "warning", "info", "debug"]


def setting(default: Any, help: str, variable: str = "", option: str = "", usual: str = "", **limits: Any) -> Any:
    """A key of a section: its default, what it means, and the environment variable and the option that set it.

    `usual` is a variable of other programs that counts too.
    """
    about: Any = {"variable": variable, "option": option, "usual": usual}
    return Field(default=default, description=help, json_schema_extra=about, **limits)


class Section(BaseModel):
    """A section of the settings file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Bm25s(Section):
    """The cutoff of /retrieve and `BM25SRetriever`."""

    temperature: float = setting(0.5, "Softmax temperature.", "BM25S_TEMPERATURE", ge=0.1, le=10)
    ignore_zero: bool = setting(True, "Leave out documents that share no word with the query.", "BM25S_IGNORE_ZERO")
    llm_tools_cutoff: float = setting(10.0, "Least percentage of the softmax.", "BM25S_CUTOFF", ge=0, le=100)


class Documents(Section):
    """The catalog."""

    source: str = setting(SOURCE, "The document file.", option="--documents", min_length=1)
    folder: str | None = setting(None, "Where catalogs may be switched to.", min_length=1)
    auto_reload: bool = setting(True, "Read the document file again when it changes.")
    encoding: str = setting("utf-8", "Encoding of the document file.")
    embedder: str = setting("default", "Embedder of a catalog that is served for the first time.", min_length=1)

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            "".encode(value)
        except LookupError:
            raise ValueError("must be the name of an encoding, such as utf-8 or latin-1") from None
        return value


class Server(Section):
    """The address of the service, and who may use it."""

    host: str = setting(LOOPBACK, "Address to listen on.", "BM25S_HOST", option="--host", min_length=1)
    port: int = setting(9200, "Port to listen on; 0 takes a free one.", "BM25S_PORT", option="--port", ge=0, le=65535)
    reload: bool = setting(False, "Restart when the settings file or the code of this package changes.")
    log_level: Literal["critical", "error", "warning", "info", "debug"] = setting(
        "info", "Log level.", "BM25S_LOG_LEVEL"
    )
    token: SecretStr | None = setting(None, "Token that callers must send.", "SHORTLIST_TOKEN", option="--token")
    allow_anonymous: bool = setting(False, "Allow unauthenticated access.", option="--allow-anonymous")
    allowed_hosts: tuple[str, ...] = setting((), "Host names that requests may be sent to.")
    allowed_origins: tuple[str, ...] = setting((), "Origins of pages that may change something.")
    corpora: tuple[str, ...] | None = setting(None, "Serve only these corpora and the catalog.", option="--corpus")

    @field_validator("log_level", mode="before")
    @classmethod
    def _to_lower(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator("token")
    @classmethod
    def _fits_header(cls, value: SecretStr | None) -> SecretStr | None:
        text = value.get_secret_value() if value else "ok"
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError("must be ASCII letters, digits and signs without spaces, at least one")
        return value


class Limits(Section):
    """Limits of one request."""

    max_body_bytes: int = setting(16 << 20, "Largest request body.", ge=1 << 10, le=1 << 30)
    request_seconds: float = setting(30.0, "Time limit of a request.", ge=0.1, le=3600)
    answer_seconds: float = setting(300.0, "Time limit of an answer to a question.", ge=0.1, le=3600)
    eval_seconds: float = setting(300.0, "Time limit of an evaluation.", ge=0.1, le=3600)


class Llm(Section):
    """The language model that answers; there is none without an address and a key."""

    url: str = setting("", "Address of the API.", "SHORTLIST_LLM_URL", usual="OPENAI_BASE_URL")
    model: str = setting("", "Name of the model.", "SHORTLIST_LLM_MODEL", usual="OPENAI_MODEL")
    key: SecretStr | None = setting(None, "API key.", "SHORTLIST_LLM_KEY", usual="OPENAI_API_KEY")
    fallback: str = setting("", "Model to use when the first is not available.", "SHORTLIST_LLM_FALLBACK")


def _answer_setting(default: Any, help: str, name: str, **limits: Any) -> Any:
    variable = f"SHORTLIST_{name.upper().replace('-', '_')}"
    return setting(default, help, variable, option=f"--{name}", **limits)


class Answers(Section):
    """How files are chunked and questions answered."""

    chunk_size: int = _answer_setting(800, "Characters of a chunk.", "chunk-size", ge=50, le=100_000)
    chunk_overlap: int = _answer_setting(120, "Characters that chunks share.", "chunk-overlap", ge=0, le=50_000)
    top_k: int = _answer_setting(4, "Passages shown to the model.", "top-k", ge=1, le=20)
    threshold: float | None = _answer_setting(None, "Least score; None: calibrated or 0.30.", "threshold", ge=0, le=1)
    memory_window_turns: int = _answer_setting(5, "Turns to remember.", "memory-window-turns", ge=0, le=50)
    agent_max_steps: int = _answer_setting(5, "Most steps of an agent.", "agent-max-steps", ge=1, le=50)


class Mcp(Section):
    """The agent server at /mcp, and the MCP servers upstream of it."""

    enabled: bool = setting(True, "Serve agents at /mcp.")
    upstream: bool = setting(True, "Reach the user's MCP servers through it.")
    config: tuple[str, ...] = setting((), "Files that name those servers; empty: the usual ones.")


class Engine(Section):
    """How to sign in to the clusters that store corpora."""

    user: str = setting("", "User name.", "SHORTLIST_ENGINE_USER")
    password: SecretStr | None = setting(None, "Password.", "SHORTLIST_ENGINE_PASSWORD")
    certificate: str = setting("", "Certificate authority file.", "SHORTLIST_ENGINE_CERTIFICATE")


SECTIONS: dict[str, type[Section]] = {
    kind.__name__.lower(): kind for kind in (Bm25s, Documents, Server, Limits, Llm, Answers, Mcp, Engine)
}
FIELDS: dict[str, FieldInfo] = {
    f"{section}.{key}": info for section, kind in SECTIONS.items() for key, info in kind.model_fields.items()
}


def _keys_with(attribute: str) -> dict[str, Any]:
    about: dict[str, Any] = {key: info.json_schema_extra for key, info in FIELDS.items()}
    return {key: values[attribute] for key, values in about.items() if values[attribute]}


VARIABLES = {variable: key for key, variable in _keys_with("variable").items()}
USUAL = {variable: key for key, variable in _keys_with("usual").items()}
OPTIONS = _keys_with("option")
PATHS = ("documents.source", "documents.folder", "engine.certificate")  # relative to the folder of the file
SECRETS = {key for key, info in FIELDS.items() if info.annotation == SecretStr | None}


@dataclass
class BM25SSettings:
    """How sharply the best are preferred (0.1 to 10), whether documents without a shared word are left out, and the
    percentage of the softmax that a document must hold to be returned (0 to 100)."""

    temperature: float = 0.5
    ignore_zero: bool = True
    llm_tools_cutoff: float = 10.0

    def __setattr__(self, name: str, value: Any) -> None:
        key = f"bm25s.{name}"
        try:
            checked = Values({key: value}, {key: "BM25SSettings"}).validate(("bm25s",), strict=True)["bm25s"]
        except InputError as error:
            raise InputError(str(error).replace("bm25s.", "")) from None
        super().__setattr__(name, getattr(checked, name))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BM25SSettings:
        """Settings with these values, and the defaults for what is missing. The inverse of `to_dict`."""
        settings = cls()
        for name, value in values.items():
            setattr(settings, name, value)
        return settings

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


class Values(NamedTuple):
    """Values by dotted key with their origins, before they are validated, and the file that some of them are from."""

    values: dict[str, Any]
    origins: dict[str, str]
    in_file: Mapping[str, Any] = {}
    file: Path | None = None

    def validate(self, names: Collection[str] = (*SECTIONS,), *, strict: bool | None = None) -> dict[str, Any]:
        """The sections of these names. All wrong values are reported at once."""
        sections, wrong = {}, []
        for name in names:
            own = {key.partition(".")[2]: value for key, value in self.values.items() if key.startswith(f"{name}.")}
            try:
                sections[name] = SECTIONS[name].model_validate(own, strict=strict)
            except ValidationError as error:
                wrong += [self._describe(name, detail) for detail in error.errors(include_url=False)]
        if wrong:
            raise InputError(" ".join(wrong))
        return sections

    def _describe(self, section: str, detail: Any) -> str:
        key = f"{section}.{detail['loc'][0]}"
        origin = self.origins.get(key, DEFAULT)
        info = FIELDS.get(key)
        if info is None:
            return f"{origin}: there is no key {key!r}.{did_you_mean(key, FIELDS, most=1)}"
        value = "that" if key in SECRETS else repr(self.values[key])
        allowed = detail["ctx"]["error"] if detail["type"] == "value_error" else f"must be {_describe_type(info)}"
        return f"{origin}: {key} {allowed}, not {value}."


def _describe_type(info: FieldInfo) -> str:
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


def collect_values(
    names: Collection[str] | None = None,
    *,
    file: str | Path | None = None,
    given: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Values:
    """What is set. A file that is named must exist; without one, settings.yaml is optional.

    With `names` only these sections are read, and others in the file are ignored: it may belong to another program.
    """
    environment = os.environ if environment is None else environment
    path = Path(FILE) if file is None else Path(file).expanduser()
    has_file = file is not None or path.is_file()
    in_file = read_file(path, names) if has_file else {}
    values, origins = dict(in_file), dict.fromkeys(in_file, str(path))
    for variable, key in VARIABLES.items():
        if (names is None or key.partition(".")[0] in names) and environment.get(variable, "").strip():
            values[key], origins[key] = environment[variable].strip(), variable
    for key, value in (given or {}).items():
        values[key], origins[key] = value, OPTIONS.get(key, PROGRAM)
    return Values(values, origins, in_file, path if has_file else None)


def read_file(path: Path, names: Collection[str] | None = None) -> dict[str, Any]:
    """The values of a settings file by dotted key. Relative paths are relative to the folder of the file."""
    import yaml  # noqa: PLC0415  # only if there is a file

    try:
        data = yaml.safe_load(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"There is no settings file {path}.") from None
    except OSError as error:
        raise InputError(f"The settings file {path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"The settings file {path} is not valid YAML: {describe_yaml_error(error)}.") from None
    if not isinstance(data, dict | None):
        raise InputError(f"The settings file {path} must hold sections ({', '.join(SECTIONS)}), not {data!r}.")
    values: dict[str, Any] = {}
    for section, content in (data or {}).items():
        if section not in (SECTIONS if names is None else names):
            if names is not None:
                continue
            known = f"{', '.join(SECTIONS)}.{did_you_mean(str(section), SECTIONS, most=1)}"
            raise InputError(f"{path}: there is no section {section!r}; the known ones are {known}")
        if not isinstance(content, dict | None):
            raise InputError(f"{path}: the section {section!r} must hold keys and values, not {content!r}.")
        values |= {f"{section}.{key}": value for key, value in (content or {}).items()}
    for key in PATHS:
        if isinstance(values.get(key), str) and values[key]:
            values[key] = str(path.parent / Path(values[key]).expanduser())
    return values


class RetrieverSettings(NamedTuple):
    """What `BM25SRetriever()` uses where it is given nothing."""

    bm25s: BM25SSettings
    source: str
    encoding: str
    source_must_exist: bool


def retriever_settings() -> RetrieverSettings:
    """The settings of a retriever in the current folder."""
    names = ("bm25s", "documents")
    found = collect_values(names)
    sections = found.validate(names)
    documents, bm25s = sections["documents"], BM25SSettings(**sections["bm25s"].model_dump())
    must_exist = source_must_exist(documents.source, found.origins, found.file)
    return RetrieverSettings(bm25s, documents.source, documents.encoding, must_exist)


def source_must_exist(source: str, origins: Mapping[str, str], file: Path | None) -> bool:
    """Whether a missing document file is an error: not for the default one, even where the settings file names it."""
    is_default = origins.get("documents.source", DEFAULT) in (DEFAULT, str(file))
    return not is_default or Path(source) != (file or Path(FILE)).parent / SOURCE

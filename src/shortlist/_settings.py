"""All settings: their keys, defaults and limits, and the values in force.

A value comes from the command line, the environment, settings.yaml or its default, in this order. Only the upper layers
read settings; they pass values down. The limits of reading a file apply to the library, too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from shortlist import _environment as env
from shortlist._environment import read_variable
from shortlist._limits import CHUNK_OVERLAP, CHUNK_SIZE, LARGEST, MAX_QUERY_CHARACTERS, ReadLimits
from shortlist._plain import load_yaml
from shortlist._projects import find_in_project
from shortlist._text import did_you_mean
from shortlist.errors import InputError
from shortlist.safety.principals import RIGHTS, Right
from shortlist.safety.untrusted_files import read_text

FILE = "settings.yaml"
SOURCE = "source_files/tools_list.yaml"
DEFAULT = "default"
PROGRAM = "the program"
LOOPBACK = "127.0.0.1"
FORMER_KEYS = {"answers.threshold": "answers.min_relevance"}


def _check_encoding(name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        raise ValueError("must be the name of an encoding, such as utf-8 or latin-1") from None
    return name


def _check_embedder(name: str | None) -> str | None:
    if name and ("://" in name or name.startswith("openai:")):
        raise ValueError("must be a local model: to send documents to an address, use --embedder")
    return name


def _check_token(token: SecretStr | None) -> SecretStr | None:
    text = "ok" if token is None else token.get_secret_value()  # an empty one counts as false
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("must be one or more printable ASCII characters without spaces")
    return token


def _check_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    if not all(re.fullmatch(r"https?://[^/\s*]+/?", origin) for origin in origins):
        raise ValueError("must be a list of origins such as https://desk.example")
    return tuple(origin.lower().rstrip("/") for origin in origins)


def _read_switch(value: Any) -> Any:
    """YAML reads on and off as booleans."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value.lower() if isinstance(value, str) else value


def _check_relevance(value: Any) -> Any:
    """A number from 0 to 1, "auto", or None, which is "none" in a variable or an option."""
    if value in ("auto", "none", None):
        return None if value == "none" else value
    with suppress(TypeError, ValueError):
        if not isinstance(value, bool) and 0 <= float(value) <= 1:
            return float(value)
    raise ValueError("must be a number from 0 to 1, auto or none")


def _check_grants(value: Any) -> Any:
    """Groups by right, by corpus."""
    rules = value.values() if isinstance(value, Mapping) else [None]
    if not all(isinstance(rule, Mapping) and rule.keys() <= set(RIGHTS) for rule in rules):
        raise ValueError("must map corpora to read, write and admin, such as {handbook: {read: [staff]}}")
    return {corpus: _check_groups(rule) for corpus, rule in value.items()}


def _check_patterns(value: Any) -> Any:
    """Groups by pattern, by corpus."""
    if not isinstance(value, Mapping) or not all(isinstance(rules, Mapping) for rules in value.values()):
        raise ValueError("must map corpora to patterns of ids, such as {handbook: {'hr/*': [hr]}}")
    return {corpus: _check_groups(rules) for corpus, rules in value.items()}


def _check_groups(value: Any) -> Any:
    groups = value.values() if isinstance(value, Mapping) else [None]
    if not all(isinstance(names, list | tuple) and all(isinstance(one, str) for one in names) for names in groups):
        raise ValueError("must map names to lists of groups, such as {read: [staff]}")
    return {key: tuple(names) for key, names in value.items()}


Encoding = Annotated[str, AfterValidator(_check_encoding)]
LocalEmbedder = Annotated[str | None, AfterValidator(_check_embedder)]
Token = Annotated[SecretStr | None, AfterValidator(_check_token)]
Origins = Annotated[tuple[str, ...], AfterValidator(_check_origins)]
Relevance = Annotated[float | Literal["auto"] | None, BeforeValidator(_check_relevance)]
LogLevel = Annotated[
    Literal["critical", "error", "warning", "info", "debug"],
    BeforeValidator(lambda level: level.lower() if isinstance(level, str) else level),
]
Learn = Literal["off", "log", "on"]


def setting(
    default: Any, help: str, variable: str = "", option: str = "", usual: str = "", former: str = "", **limits: Any
) -> Any:
    """A key of a section: its default, its meaning, and the environment variable and the option that set it.

    `usual` is a variable that other programs use for it too, `former` an older name of the variable.
    """
    sources: Any = {"variable": variable, "option": option, "usual": usual, "former": former}
    return Field(default=default, description=help, json_schema_extra=sources, **limits)


def _answer_setting(default: Any, help: str, name: str, former: str = "", **limits: Any) -> Any:
    variable = f"SHORTLIST_{name.upper().replace('-', '_')}"
    return setting(default, help, variable, f"--{name}", former=former, **limits)


class Section(BaseModel):
    """A section of the settings file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Documents(Section):
    """The catalog."""

    source: str = setting(SOURCE, "The document file.", option="--documents", min_length=1)
    folder: str | None = setting(None, "Folder of the catalogs that can be switched to.", min_length=1)
    auto_reload: bool = setting(True, "Reload the document file when it changes.")
    encoding: Encoding = setting("utf-8", "Encoding of the document file.")
    embedder: str = setting(
        "auto",
        "Embedder of the served catalog. auto: what it has; for a new one of up to 1,000 tools, tools.",
        min_length=1,
    )


class ServerSettings(Section):
    """The address of the service, and who may use it."""

    host: str = setting(
        LOOPBACK, "Address to listen on.", "SHORTLIST_HOST", "--host", former="BM25S_HOST", min_length=1
    )
    port: int = setting(
        9200, "Port to listen on; 0 picks a free one.", "SHORTLIST_PORT", "--port", former="BM25S_PORT", ge=0, le=65535
    )
    reload: bool = setting(False, "Restart when the settings file or the code of this package changes.")
    log_level: LogLevel = setting("info", "Log level.", "SHORTLIST_LOG_LEVEL", former="BM25S_LOG_LEVEL")
    workers: int | None = setting(
        None,
        "Processes that search; 0: threads of the service. Default: one for each of up to 4 cores, once searches "
        "overlap.",
        option="--workers",
        ge=0,
        le=64,
    )
    token: Token = setting(None, "Token that callers must send.", "SHORTLIST_TOKEN", option="--token")
    allow_anonymous: bool = setting(False, "Allow unauthenticated access.", option="--allow-anonymous")
    allowed_hosts: tuple[str, ...] = setting((), "Host names that requests may be sent to.")
    allowed_origins: tuple[str, ...] = setting((), "Origins of web pages that may make changes.")
    cors_origins: Origins = setting((), "Origins of web pages that may read answers and make changes (CORS).")
    uploads: bool = setting(True, "Take files, from which corpora in the data folder are built.")
    corpora: tuple[str, ...] | None = setting(None, "Serve only these corpora and the catalog.", option="--corpus")


class AccessSettings(Section):
    """Who may use the service for what. Without grants, the token of the server permits everything."""

    grants: Annotated[dict[str, dict[Right, tuple[str, ...]]], BeforeValidator(_check_grants)] = setting(
        {}, "Groups that may read, write or administer each corpus; `*` is every corpus, `everyone` every caller."
    )
    profiles: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_check_groups)] = setting(
        {}, "Groups that may use the MCP servers of each profile; `all` is the profile of all servers."
    )
    documents: Annotated[dict[str, dict[str, tuple[str, ...]]], BeforeValidator(_check_patterns)] = setting(
        {}, "Groups that may see the documents whose ids match a pattern, by corpus and pattern."
    )
    issuer: str = setting("", "Issuer of the JSON Web Tokens that callers may send.")
    audience: str = setting("", "Audience that these tokens must be for.")
    keys_url: str = setting("", "Address of the keys of the issuer (JWKS). Default: as its discovery document says.")
    user_claim: str = setting("sub", "Claim with the name of the user.")
    groups_claim: str = setting("groups", "Claim with the groups of the user.")
    leeway_seconds: float = setting(30.0, "Tolerated difference of clocks.", ge=0, le=600)
    url: str = setting("", "Address of the service for its callers, if a proxy changes it, such as https://host.")

    @property
    def has_rules(self) -> bool:
        return bool(self.grants or self.profiles or self.issuer)

    def check_complete(self) -> None:
        """Raise an InputError if a rule would protect nothing since another is missing."""
        if self.documents and not self.has_rules:
            raise InputError("access.documents hides nothing without grants. Add access.grants.")
        for key in ("audience", "keys_url"):
            if getattr(self, key) and not self.issuer:
                raise InputError(f"access.{key} has no effect without an issuer of tokens. Add access.issuer.")


class AuditSettings(Section):
    """The log of who did what."""

    file: str = setting("", "The file; without one, there is no audit log.")
    required: bool = setting(False, "Refuse requests while the file cannot be written.")
    content: bool = setting(False, "Log queries and arguments too, without what looks like a secret.")
    max_megabytes: int = setting(100, "Rotate the file when it is this large.", ge=1, le=1 << 20)
    files: int = setting(10, "Files to keep, with the current one.", ge=2, le=10_000)

    def check_complete(self) -> None:
        if not self.file and (self.required or self.content):
            raise InputError("audit.required and audit.content need a file. Add audit.file.")


class Limits(Section):
    """Limits of queries, requests and connections, and of reading a PDF, DOCX, XLSX or HTML file."""

    max_query_characters: int = setting(
        MAX_QUERY_CHARACTERS,
        "Maximum length of a query or question; outside of the service, only the variable counts.",
        env.MAX_QUERY_CHARACTERS,
        ge=1,
        le=LARGEST,
    )
    max_body_bytes: int = setting(16 << 20, "Maximum size of a request body.", ge=1 << 10, le=1 << 30)
    request_seconds: float = setting(
        30.0, "Time limit of a request: for its headers, and for the rest of it with its answer.", ge=0.1, le=3600
    )
    idle_seconds: float = setting(
        5.0, "Close a connection after this time without a request, or without reading its response.", ge=0.1, le=3600
    )
    max_connections: int = setting(500, "Maximum number of open connections; others get 503.", ge=1, le=100_000)
    requests_per_minute: int = setting(0, "Requests of a user per minute; others get 429. 0: any.", ge=0, le=1_000_000)
    concurrent_requests: int = setting(0, "Requests of a user at a time; others get 429. 0: any.", ge=0, le=10_000)
    wrong_tokens_per_minute: int = setting(
        20, "Wrong tokens of an address per minute; then new tokens from it get 429. 0: any.", ge=0, le=1_000_000
    )
    sessions_per_user: int = setting(
        100,
        "MCP sessions of a user, if there are rules of access; a new one ends the one unused for longest.",
        ge=1,
        le=1_000,
    )
    answer_seconds: float = setting(300.0, "Time limit of an answer to a question.", ge=0.1, le=3600)
    eval_seconds: float = setting(300.0, "Time limit of an evaluation.", ge=0.1, le=3600)
    build_seconds: float = setting(1800.0, "Time limit of indexing uploaded files.", ge=0.1, le=86_400)
    file_seconds: float = setting(
        ReadLimits().seconds, "Time limit of reading a file.", env.FILE_SECONDS, ge=0.1, le=86_400
    )
    file_memory_mb: int = setting(
        ReadLimits().memory_mb, "Memory limit of reading a file, in megabytes.", env.FILE_MEMORY_MB, ge=128, le=1 << 20
    )


class Llm(Section):
    """The language model that answers; without an address and a key there is none."""

    url: str = setting("", "Address of the API.", "SHORTLIST_LLM_URL", usual="OPENAI_BASE_URL")
    model: str = setting("", "Name of the model.", "SHORTLIST_LLM_MODEL", usual="OPENAI_MODEL")
    key: SecretStr | None = setting(None, "API key.", "SHORTLIST_LLM_KEY", usual="OPENAI_API_KEY")
    fallback: str = setting("", "Model to use when the first is not available.", "SHORTLIST_LLM_FALLBACK")


class Answers(Section):
    """How files are chunked and questions answered."""

    chunk_size: int = _answer_setting(CHUNK_SIZE, "Characters per chunk.", "chunk-size", ge=50, le=100_000)
    chunk_overlap: int = _answer_setting(
        CHUNK_OVERLAP, "Characters shared by chunks.", "chunk-overlap", ge=0, le=50_000
    )
    top_k: int = _answer_setting(4, "Passages shown to the model.", "top-k", ge=1, le=20)
    min_relevance: Relevance = _answer_setting(
        "auto",
        "Lowest relevance of a passage, 0 to 1. auto: the calibrated or built-in threshold; none: whatever matches.",
        "min-relevance",
        former="SHORTLIST_THRESHOLD",
    )
    embedder: LocalEmbedder = setting(
        None, "Embedder of a new index: a name or folder. Default: default.", "SHORTLIST_EMBEDDER", min_length=1
    )
    index_dir: str | None = setting(
        None,
        "Folder of the index. Default: that of the project in the data folder.",
        "SHORTLIST_INDEX_DIR",
        min_length=1,
    )
    memory_window_turns: int = _answer_setting(5, "Turns to remember.", "memory-window-turns", ge=0, le=50)
    agent_max_steps: int = _answer_setting(5, "Maximum steps of an agent.", "agent-max-steps", ge=1, le=50)


class Mcp(Section):
    """The agent server at /mcp, and the MCP servers upstream of it."""

    enabled: bool = setting(True, "Serve agents at /mcp.")
    upstream: bool = setting(True, "Reach the user's MCP servers through it.")
    config: tuple[str, ...] = setting((), "Files that list those servers; default: the usual ones.")
    profile: str = setting(
        "",
        "Profile of those servers, defined in the user's mcp.json; in a settings file it only narrows the user's.",
        env.PROFILE,
        option="--profile",
    )


class EngineSettings(Section):
    """Credentials for the clusters that store corpora."""

    user: str = setting("", "User name.", env.ENGINE_USER)
    password: SecretStr | None = setting(None, "Password.", env.ENGINE_PASSWORD)
    certificate: str = setting("", "Certificate authority file.", env.ENGINE_CERTIFICATE)


class Usage(Section):
    """What is learned from use."""

    learn: Annotated[Learn, BeforeValidator(_read_switch)] = setting(
        "on",
        "off: nothing is stored or used; log: searches and what is used after them are stored; on: they also change "
        "the ranking.",
        env.LEARN,
        option="--learn",
    )


class Telemetry(Section):
    """Traces and metrics."""

    enabled: bool = setting(
        False,
        "Send traces and metrics with OpenTelemetry, to the address in OTEL_EXPORTER_OTLP_ENDPOINT.",
        env.TELEMETRY,
    )


class Settings(BaseModel):
    """The sections, the origin of each value that is not a default, and the file that was read."""

    model_config = ConfigDict(frozen=True)
    documents: Documents = Documents()
    server: ServerSettings = ServerSettings()
    access: AccessSettings = AccessSettings()
    audit: AuditSettings = AuditSettings()
    limits: Limits = Limits()
    llm: Llm = Llm()
    answers: Answers = Answers()
    mcp: Mcp = Mcp()
    engine: EngineSettings = EngineSettings()
    usage: Usage = Usage()
    telemetry: Telemetry = Telemetry()
    origins: dict[str, str] = {}
    file: Path | None = None
    warnings: tuple[str, ...] = ()

    def value(self, key: str) -> Any:
        section, _, name = key.partition(".")
        return getattr(getattr(self, section), name)

    @property
    def given(self) -> dict[str, Any]:
        """The values that a command line or a program set."""
        options = keys_of(type(self)).options
        return {key: self.value(key) for key, origin in self.origins.items() if origin == options.get(key, PROGRAM)}

    def rows(self, changes: Mapping[str, tuple[Any, str]] | None = None) -> list[dict[str, Any]]:
        """Each key with its value and origin, of which `changes` replace some; secrets are hidden."""
        keys = keys_of(type(self))
        values = {key: self.value(key) for key in keys.fields}
        shown = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        shown |= {key: "***" for key in keys.secrets if values[key] is not None}
        rows = {key: (shown[key], self.origins.get(key, DEFAULT)) for key in keys.fields} | dict(changes or {})
        return [{"key": key, "value": value, "origin": origin} for key, (value, origin) in rows.items()]

    @property
    def folder(self) -> Path:
        """The folder of the catalogs that can be switched to."""
        return Path(self.documents.folder or Path(self.documents.source).parent).expanduser().resolve()

    @property
    def source_must_exist(self) -> bool:
        """Whether a missing document file is an error: not for the default path, even if the settings file sets it."""
        is_default = self.origins.get("documents.source", DEFAULT) in (DEFAULT, str(self.file))
        default_paths = (Path(SOURCE), (self.file or Path(FILE)).parent / SOURCE)
        return not is_default or Path(self.documents.source) not in default_paths


class SettingKeys(NamedTuple):
    """The sections and keys of a class of settings, and the variables and options that set them."""

    sections: dict[str, type[Section]]
    fields: dict[str, FieldInfo]
    variables: dict[str, str]  # former names first, so that the present name counts if both are set
    usual: dict[str, str]
    options: dict[str, str]
    secrets: frozenset[str]


@cache
def keys_of(schema: type[Settings]) -> SettingKeys:
    """The keys of the settings, or of a subclass with more sections."""
    kinds = {name: info.annotation for name, info in schema.model_fields.items()}
    sections = {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Section)}
    fields = {f"{name}.{key}": info for name, kind in sections.items() for key, info in kind.model_fields.items()}

    def sources(kind: str) -> dict[str, str]:
        return {key: extra[kind] for key, info in fields.items() if (extra := _extra_of(info))[kind]}

    variables = {variable: key for kind in ("former", "variable") for key, variable in sources(kind).items()}
    usual = {variable: key for key, variable in sources("usual").items()}
    secrets = frozenset(key for key, info in fields.items() if info.annotation == SecretStr | None)
    return SettingKeys(sections, fields, variables, usual, sources("option"), secrets)


def _extra_of(info: FieldInfo) -> dict[str, Any]:
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}


SECTIONS, FIELDS, VARIABLES, USUAL, OPTIONS, SECRETS = keys_of(Settings)
PATHS = (
    "documents.source",
    "documents.folder",
    "answers.index_dir",
    "engine.certificate",
    "audit.file",
)  # relative to the folder of the file


class Values(NamedTuple):
    """Values by dotted key with their origins, before validation, and the file that some of them are from."""

    values: dict[str, Any]
    origins: dict[str, str]
    in_file: Mapping[str, Any] = {}
    file: Path | None = None
    schema: type[Settings] = Settings

    def validate(self) -> Settings:
        """The settings. One error reports all invalid values."""
        sections: dict[str, Any] = {}
        for key, value in self.values.items():
            section, _, name = key.partition(".")
            sections.setdefault(section, {})[name] = value
        try:
            return self.schema(**sections, origins=self.origins, file=self.file)
        except ValidationError as error:
            described = []
            for detail in error.errors(include_url=False):
                key = ".".join(map(str, detail["loc"][:2]))
                message = describe_error(keys_of(self.schema), key, detail, self.values.get(key))
                described.append(f"{self.origins.get(key, DEFAULT)}: {message}")
            raise InputError(" ".join(described)) from None


def describe_error(keys: SettingKeys, key: str, detail: Any, value: Any) -> str:
    """What is wrong with the value of a key, from an error of pydantic."""
    if key not in keys.fields:
        return f"unknown key {key!r}.{did_you_mean(key, keys.fields, most=1)}"
    allowed = detail["ctx"]["error"] if detail["type"] == "value_error" else _describe_type(keys.fields[key])
    return f"{key} {allowed}, not {'the given value' if key in keys.secrets else repr(value)}."


def _describe_type(info: FieldInfo) -> str:
    limits = {name: getattr(item, name) for item in info.metadata for name in ("ge", "le") if hasattr(item, name)}
    if limits:
        return f"must be a {'whole ' * (info.annotation is int)}number from {limits['ge']:g} to {limits['le']:g}"
    if info.annotation is bool:
        return "must be true or false"
    choices = getattr(info.annotation, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        return f"must be one of {', '.join(choices)}"
    return f"must be {'a list of strings' if 'tuple' in str(info.annotation) else 'a string that is not empty'}"


def collect_values(
    names: Collection[str] | None = None,
    *,
    file: str | Path | None = None,
    given: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    schema: type[Settings] = Settings,
) -> Values:
    """All values that are set. A `file` must exist; without one, the nearest settings.yaml of the project is optional.

    With `names`, only these sections are read, and others in the file are ignored: it may belong to another program.
    """
    keys = keys_of(schema)
    path = find_in_project(FILE) if file is None else Path(file).expanduser()
    has_file = file is not None or (path.exists() and not path.is_dir())
    in_file = _rename_keys(read_file(path, names, keys.sections), path) if has_file else {}
    values, origins = dict(in_file), dict.fromkeys(in_file, str(path))
    for variable, key in keys.variables.items():
        if (names is None or key.partition(".")[0] in names) and (text := read_variable(variable, environment)):
            values[key], origins[key] = text, variable
    for key, value in _rename_keys(given or {}, PROGRAM).items():
        values[key], origins[key] = value, keys.options.get(key, PROGRAM)
    return Values(values, origins, in_file, path if has_file else None, schema)


def _rename_keys(values: Mapping[str, Any], origin: str | Path) -> dict[str, Any]:
    """The values with the present names of keys, and a warning for each former one. None used to mean the default."""
    renamed = dict(values)
    for former, key in FORMER_KEYS.items():
        if former in renamed:
            value = renamed.pop(former)
            if key in renamed:
                raise InputError(f"{origin}: {former} is set beside {key}. Remove {former}, its former name.")
            logging.getLogger("shortlist").warning("%s: %s is deprecated. Use %s.", origin, former, key)
            if value is not None:
                renamed[key] = value
    return renamed


def read_file(
    path: Path, names: Collection[str] | None = None, sections: Collection[str] = tuple(SECTIONS)
) -> dict[str, Any]:
    """The values of a settings file by dotted key. Relative paths are relative to the folder of the file."""
    try:
        data = load_yaml(read_text(path))
    except OSError as error:
        raise InputError(f"The settings file {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise InputError(f"The settings file {path} is not valid YAML: {error}.") from None
    if not isinstance(data, dict | None):
        raise InputError(f"The settings file {path} must contain sections ({', '.join(sections)}), not {data!r}.")
    values: dict[str, Any] = {}
    for section, content in (data or {}).items():
        if names is not None and section not in names:
            continue
        if section not in sections:
            suggestion = did_you_mean(str(section), sections, most=1)
            raise InputError(f"{path}: unknown section {section!r}. Valid sections: {', '.join(sections)}.{suggestion}")
        if not isinstance(content, dict | None):
            raise InputError(f"{path}: the section {section!r} must contain keys and values, not {content!r}.")
        values |= {f"{section}.{key}": value for key, value in (content or {}).items()}
    for key in PATHS:
        if isinstance(values.get(key), str) and values[key]:
            values[key] = str(path.parent / Path(values[key]).expanduser())
    return values


def load_learning(given: str | None = None) -> Learn:
    """`usage.learn` for a command in this folder; `given` is its option.

    The file, which may belong to another program, is read only if neither the option nor the variable is set. If it
    cannot be read, nothing is learned.
    """
    key, text = "usage.learn", given or read_variable(env.LEARN)
    origin = OPTIONS[key] if given else env.LEARN
    try:
        values = Values({key: text}, {key: origin}) if text else collect_values(("usage",))
    except InputError as error:
        logging.getLogger("shortlist").warning("Learning is off. %s", error)
        return "off"
    return values.validate().usage.learn


def load_file_limits() -> ReadLimits:
    """`limits.file_seconds` and `limits.file_memory_mb` in this folder. A file that cannot be read is ignored."""
    try:
        limits = collect_values(("limits",)).validate().limits
    except InputError as error:
        logging.getLogger("shortlist").warning("The usual limits of reading a file apply. %s", error)
        limits = Limits()
    return ReadLimits(limits.file_seconds, limits.file_memory_mb)


class ProfileChoice(NamedTuple):
    """The profile that the user chose, and the one that a settings file names, which may come with a project."""

    profile: str = ""
    narrowed_to: str = ""

    @classmethod
    def of(cls, settings: Settings) -> ProfileChoice:
        profile = settings.mcp.profile
        return cls("", profile) if settings.origins.get("mcp.profile") == str(settings.file) else cls(profile)


def load_profile(given: str | None = None) -> ProfileChoice:
    """`mcp.profile` for a command in this folder; `given` is its option. A file that cannot be read is ignored."""
    if chosen := given or read_variable(env.PROFILE):
        return ProfileChoice(chosen)
    try:
        return ProfileChoice.of(collect_values(("mcp",)).validate())
    except InputError as error:
        logging.getLogger("shortlist").warning("No profile is read from the settings. %s", error)
        return ProfileChoice()


def load_telemetry() -> bool:
    """`telemetry.enabled` for the MCP server: only the variable counts, since a file may come with a project."""
    key, variable = "telemetry.enabled", env.TELEMETRY
    text = read_variable(variable)
    return bool(text) and Values({key: text}, {key: variable}).validate().telemetry.enabled

"""Settings from the environment, a settings file and defaults, in this order of precedence.

The sections here are those that `BM25SRetriever()` reads. `shortlist.server.service_settings` reads the
sections of the service with the same functions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo

from shortlist._text import did_you_mean
from shortlist.errors import InputError

FILE = "settings.yaml"
SOURCE = "source_files/tools_list.yaml"
DEFAULT = "default"
VARIABLES = {
    "BM25S_TEMPERATURE": "bm25s.temperature",
    "BM25S_IGNORE_ZERO": "bm25s.ignore_zero",
    "BM25S_CUTOFF": "bm25s.llm_tools_cutoff",
}
RANGES = {"temperature": (0.1, 10.0), "llm_tools_cutoff": (0.0, 100.0)}


@dataclass
class BM25SSettings:
    """How sharply the best are preferred (0.1 to 10), whether documents without a shared word are left out, and the
    percentage of the softmax that a document must hold to be returned (0 to 100)."""

    temperature: float = 0.5
    ignore_zero: bool = True
    llm_tools_cutoff: float = 10.0

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _checked(name, value))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BM25SSettings:
        """Settings with these values, and the defaults for what is missing. The inverse of `to_dict`."""
        settings = cls()
        for name, value in values.items():
            setattr(settings, name, value)
        return settings

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def _checked(name: str, value: Any) -> float | bool:
    if name == "ignore_zero":
        if not isinstance(value, bool):
            raise InputError(f"ignore_zero is True or False, not {value!r}.")
        return value
    if name not in RANGES:
        known = [*RANGES, "ignore_zero"]
        raise InputError(
            f"There is no setting {name!r}, only {', '.join(known)}.{did_you_mean(str(name), known, most=1)}"
        )
    least, most = RANGES[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not least <= value <= most:
        raise InputError(f"{name} is a number from {least:g} to {most:g}, not {value!r}.")
    return float(value)


class Section(BaseModel):
    """A section of the settings file. Unknown keys are errors. `paths` names keys relative to the file's folder."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    paths: ClassVar[tuple[str, ...]] = ()


def _limit(name: str) -> Any:
    least, most = RANGES[name]
    return Field(default=getattr(BM25SSettings, name), ge=least, le=most)


class Bm25s(Section):
    """How /retrieve cuts."""

    temperature: float = _limit("temperature")
    ignore_zero: bool = BM25SSettings.ignore_zero
    llm_tools_cutoff: float = _limit("llm_tools_cutoff")


class Documents(Section):
    """Where the catalog comes from."""

    paths = ("source", "folder")

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


SECTIONS: dict[str, type[Section]] = {"bm25s": Bm25s, "documents": Documents}

Sections = Mapping[str, type[Section]]
Origins = Mapping[str, str]
Adjust = Callable[[dict[str, Any], dict[str, str], Mapping[str, Any], str], None]


class Resolved(NamedTuple):
    """Validated sections by name, the origin of each value that is not a default, and the file that was read."""

    sections: dict[str, Any]
    origins: dict[str, str]
    file: Path | None


class Given(NamedTuple):
    """A value that overrides environment and file, and its origin for messages."""

    value: Any
    origin: str


class RetrieverSettings(NamedTuple):
    """What `BM25SRetriever()` uses where it is given nothing."""

    bm25s: BM25SSettings
    source: str
    encoding: str
    source_must_exist: bool


def retriever_settings() -> RetrieverSettings:
    """The environment over settings.yaml in the current folder over defaults.

    Other sections of the file are ignored: it may belong to another program.
    """
    sections, origins, file = resolve(SECTIONS, VARIABLES, ignore_other_sections=True)
    source, encoding = sections["documents"].source, sections["documents"].encoding
    bm25s = BM25SSettings(**sections["bm25s"].model_dump())
    return RetrieverSettings(bm25s, source, encoding, must_exist(source, origins, file))


def resolve(
    sections: Sections,
    variables: Mapping[str, str],
    *,
    file: str | Path | None = None,
    given: Mapping[str, Given] | None = None,
    environment: Mapping[str, str] | None = None,
    ignore_other_sections: bool = False,
    adjust: Adjust | None = None,
) -> Resolved:
    """Read and validate these sections. A file that is named must exist; without one, settings.yaml is optional.

    `adjust(values, origins, values of the file, file)` may change the values before they are validated.
    """
    environment = os.environ if environment is None else environment
    path = Path(FILE) if file is None else Path(file).expanduser()
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    has_file = file is not None or path.is_file()
    if has_file:
        values |= read_sections(path, sections, ignore_others=ignore_other_sections)
        origins |= dict.fromkeys(values, str(path))
    in_file = dict(values)
    for variable, key in variables.items():
        if environment.get(variable, "").strip():
            values[key], origins[key] = environment[variable].strip(), variable
    for key, (value, origin) in (given or {}).items():
        values[key], origins[key] = value, origin
    if adjust:
        adjust(values, origins, in_file, str(path))
    validated, wrong = {}, []
    for name, kind in sections.items():
        own = {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{name}.")}
        try:
            validated[name] = kind.model_validate(own)
        except ValidationError as error:
            wrong += [_sentence(name, detail, sections, values, origins) for detail in error.errors(include_url=False)]
    if wrong:
        raise InputError(" ".join(wrong))
    return Resolved(validated, origins, path if has_file else None)


def must_exist(source: str, origins: Origins, file: Path | None) -> bool:
    """Whether a missing document file is an error: not for the default one, even where the settings file names it."""
    is_default = origins.get("documents.source", DEFAULT) in (DEFAULT, str(file))
    return not is_default or Path(source) != (file or Path(FILE)).parent / SOURCE


def fields_of(sections: Sections) -> dict[str, FieldInfo]:
    """All keys of these sections, such as `bm25s.temperature`."""
    return {f"{name}.{key}": info for name, kind in sections.items() for key, info in kind.model_fields.items()}


def read_sections(path: Path, sections: Sections, *, ignore_others: bool = False) -> dict[str, Any]:
    """The values of a settings file by dotted key. Relative paths are relative to the folder of the file."""
    import yaml  # noqa: PLC0415  # only if there is a file

    try:
        data = yaml.safe_load(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"There is no settings file {path}.") from None
    except OSError as error:
        raise InputError(f"The settings file {path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        from shortlist.sources.structured import in_a_line  # noqa: PLC0415  # imports all sources

        raise InputError(f"The settings file {path} is not valid YAML: {in_a_line(error)}.") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InputError(f"The settings file {path} must hold sections ({', '.join(sections)}), not {data!r}.")
    values: dict[str, Any] = {}
    for section, content in data.items():
        if section not in sections:
            if ignore_others:
                continue
            near = did_you_mean(str(section), sections, most=1)
            raise InputError(
                f"{path}: there is no section {section!r}; the known ones are {', '.join(sections)}.{near}"
            )
        if not isinstance(content, dict | None):
            raise InputError(f"{path}: the section {section!r} must hold keys and values, not {content!r}.")
        own = dict(content or {})
        for key in sections[section].paths:
            if isinstance(own.get(key), str) and own[key]:
                own[key] = str(path.parent / Path(own[key]).expanduser())
        values |= {f"{section}.{key}": value for key, value in own.items()}
    return values


def _sentence(section: str, detail: Any, sections: Sections, values: Mapping[str, Any], origins: Origins) -> str:
    key = f"{section}.{detail['loc'][0]}"
    origin = origins.get(key, DEFAULT)
    fields = fields_of(sections)
    info = fields.get(key)
    if info is None:
        return f"{origin}: there is no key {key!r}.{did_you_mean(key, fields, most=1)}"
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

"""What does a docstring say of a function, and of each of its parameters? In Google's, NumPy's or Sphinx's style."""

from __future__ import annotations

import inspect
import itertools
import re

_PARAMETERS = "Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters"
_OTHERS = (
    "Returns?|Yields?|Receives|Raises|Warns|Warnings?|Examples?|Notes?|Attributes|Methods|See Also|References|Todo"
)
_HEADER = re.compile(rf"(?:(?P<parameters>{_PARAMETERS})|{_OTHERS})\s*(?P<colon>:?)")
_RULE = re.compile(r"\s*-{3,}\s*")
_FIELD = re.compile(r":(?P<role>\w+)(?P<words>(?: [^:]*)?):(?:\s+(?P<text>.*))?$")
_ROLES = {"param", "parameter", "arg", "argument", "key", "keyword"}

_NAMES = r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)"
_GOOGLE_ENTRY = re.compile(rf"{_NAMES}\s*(?:\(.*?\))?\s*:(?:\s+(?P<text>.*))?$")
_NUMPY_ENTRY = re.compile(rf"{_NAMES}\s*(?::.*)?(?P<text>)$")


def read_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The prose before the first section, and what is said of each parameter, by its name."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    starts = [number for number in range(len(lines)) if _opens_section(lines, number)]
    said: dict[str, str] = {}
    for start, end in itertools.pairwise([*starts, len(lines)]):
        said.update(_parameters_of(lines[start:end]))
    return "\n".join(lines[: starts[0]] if starts else lines).strip(), said


def _opens_section(lines: list[str], number: int) -> bool:
    header = _HEADER.fullmatch(lines[number].rstrip())
    if not header:
        return bool(_FIELD.match(lines[number]))
    underlined = number + 1 < len(lines) and _RULE.fullmatch(lines[number + 1])
    return bool(header["colon"] or underlined)


def _parameters_of(section: list[str]) -> dict[str, str]:
    first, *rest = section
    field = _FIELD.match(first)
    if field:
        names = field["words"].split()[-1:] if field["role"] in _ROLES else []
        text = [field["text"] or "", *itertools.takewhile(str.strip, rest)]
        return {name: _one_line(text) for name in names}
    header = _HEADER.fullmatch(first.rstrip())
    if not header or not header["parameters"]:
        return {}
    return _entries(rest, _GOOGLE_ENTRY) if header["colon"] else _entries(rest[1:], _NUMPY_ENTRY)


def _entries(lines: list[str], entry: re.Pattern[str]) -> dict[str, str]:
    """Lines at the margin that name parameters; what follows each belongs to it."""
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    found: dict[str, list[str]] = {}
    text: list[str] = []
    for line in filled:
        named = entry.match(line[margin:])
        if not named:
            text.append(line)
            continue
        text = [named["text"] or ""]
        for name in named["names"].split(","):
            found[name.strip().lstrip("*")] = text
    return {name: _one_line(words) for name, words in found.items()}


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())

"""Settings of configuration files: each line with its key, and the comment above as its description."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from shortlist.answer.extractive.units.comment_units import add_below_comment, add_comment
from shortlist.answer.extractive.units.unit_reader import FENCE, UnitReader
from shortlist.index.text.lines import Line

_SECTION = re.compile(r"\[{1,2}([^\[\]]+)\]{1,2}(?:\s*[#;].*)?$")
_COMMENT = re.compile(r"[#;]+(?:\s|$)")
_SETTING = re.compile(
    r"(?P<off>[#;](?=\S)|[#;]\s(?=[\w.-]+\s*=))?(?P<key>[A-Za-z_][\w.-]*)"
    r"(?:(?P<mark>\s*=\s*|:\s+|:$)(?P<value>.*)|\s+(?P<bare>\S{1,40}(?:\s\S{1,40}){0,3}(?<![.!?,;:])))$"
)
# In a file that is known to have settings, a key may also be quoted, have spaces, or be the first of an entry.
_PAIR = re.compile(
    r"(?P<off>(?!))?(?:-\s+)*([\"']?)(?P<key>[^\s:=#;\"'\[\]{}][^:=#\"'\[\]{}]{0,60}?)\2(?P<mark>\s*=\s*|\s*:\s+|\s*:$)"
    r"(?P<value>.*)$"
)
_CODE = re.compile(r"[(){}]|=[=>]|\b(?:import|return|def|let|const|var)\b")
_LANGUAGES = re.compile(r"(?:`{3,}|~{3,})\s*\{?\.?(?:ini|toml|ya?ml|conf|cfg|properties|dotenv|env|systemd)\b")
_MARKDOWN = re.compile(r"#{2,}\s")
SUFFIXES = frozenset({".ini", ".cfg", ".conf", ".cnf", ".toml", ".yaml", ".yml", ".properties", ".env"})
_SECTION_LEVEL = 10  # below all headings


def read_settings(reader: UnitReader, at: int) -> int:
    """Read the settings in a fence, or in a passage of a configuration file."""
    lines = reader.lines
    if reader.suffix not in SUFFIXES and FENCE.match(lines[at].text):
        end = at + 1
        while end < len(lines) and not lines[end].text.startswith(lines[at].text[:3]):
            end += 1
        block = [line for line in lines[at + 1 : end] if line.text]
        if not (_LANGUAGES.match(lines[at].text) and block and all(map(_is_line, block))):
            return 0
        _add_settings(reader, at + 1, end)
        return min(end + 1, len(lines))
    if at or not (reader.suffix in SUFFIXES or is_configuration(lines)):
        return 0
    _add_settings(reader, 0, len(lines))
    return len(lines)


def is_configuration(lines: Sequence[Line]) -> bool:
    """Whether all lines are settings, sections or comments, and some are what only configuration files have."""
    shown = [line for line in lines if line.text]
    if not all(map(_is_line, shown)) or any(_MARKDOWN.match(line.text) for line in shown):
        return False
    settings = [match for line in shown if (match := _SETTING.match(line.text))]
    if not any(setting["mark"] or setting["off"] for setting in settings):
        return False
    has_section = any(_SECTION.match(line.text) for line in shown)
    has_default = any(setting["off"] for setting in settings)
    described = [
        above
        for above, line in itertools.pairwise(lines)
        if _COMMENT.match(above.text) and len(above.text.split()) > 3 and _SETTING.match(line.text)
    ]
    has_equals = any("=" in (setting["mark"] or "") for setting in settings)
    return has_section or has_default or (bool(described) and (has_equals or len(described) > 1))


def _is_line(line: Line) -> bool:
    text = line.text
    if _SECTION.match(text) or _COMMENT.match(text) or re.match(r"-\s+[^\s:]+$", text):
        return True
    setting = _SETTING.match(text)
    return bool(setting and not _CODE.search((setting["bare"] or setting["value"]).partition(" #")[0]))


def _add_settings(reader: UnitReader, at: int, end: int) -> None:
    comment: list[Line] = []
    for line in reader.lines[at:end]:
        setting = _match_setting(line.text, reader.suffix)
        if setting and (setting["off"] or not _COMMENT.match(line.text)):
            reader.headings = [one for one in reader.headings if one[0] <= _SECTION_LEVEL + line.indent]
            is_parent = bool(setting["mark"] and not setting["value"] and not setting["off"])
            if is_parent:
                add_comment(reader, comment)
                reader.add("label", line.start, line.end)
            else:
                add_below_comment(reader, "definition", comment, line, line.text, setting["key"])
            if is_parent or line.text.startswith("- "):  # the first key of an entry names the others
                reader.push_heading(_SECTION_LEVEL + 1 + line.indent, setting["value"] or setting["key"])
            comment = []
        elif _COMMENT.match(line.text) and line.text:
            comment.append(line)
        else:
            add_comment(reader, comment)
            comment = []
            if section := _SECTION.match(line.text):
                reader.add("heading", line.start, line.end)
                reader.push_heading(_SECTION_LEVEL, section[1].strip())
            elif line.text:
                is_text = reader.suffix in SUFFIXES and len(line.text.split()) > 2
                reader.add("item" if is_text else "label", line.start, line.end)
    add_comment(reader, comment)


def _match_setting(text: str, suffix: str) -> re.Match[str] | None:
    return _SETTING.match(text) or (_PAIR.match(text) if suffix in SUFFIXES else None)

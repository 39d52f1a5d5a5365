"""Front matter: the YAML at the beginning of a Markdown file."""

from __future__ import annotations

import re
from typing import Any

from shortlist._plain import load_yaml

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The YAML between the first two lines of dashes, and the rest."""
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    try:
        header = load_yaml(match.group(1) or "") or {}
    except ValueError as error:
        raise ValueError(f"its front matter cannot be read as YAML: {error}") from None
    if not isinstance(header, dict):
        raise ValueError("its front matter is not a mapping")
    return header, text[match.end() :]

"""Claims of our own about the example documents, with the section that each cites."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from shortlist.results import Evidence

DOCUMENTS = Path(__file__).parents[2] / "examples/data/docs"
SECTIONS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("claims.toml").read_text("utf-8"))["section"]


@cache
def read_section(document: str, heading: str) -> Evidence:
    """A section of a document, with what precedes the first one."""
    text = (DOCUMENTS / document).read_text("utf-8")
    title, *parts = re.split(r"(?m)^## ", text)
    name = title.splitlines()[0].lstrip("# ")
    found = next(part for part in parts if part.startswith(heading))
    found = title + found if found is parts[0] else found
    return Evidence(1, document, document, "whole", found, 1.0, name=name, context=f"{name} > {heading}")

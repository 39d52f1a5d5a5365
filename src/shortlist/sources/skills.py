"""Documents out of skills: folders with a SKILL.md, whose front matter says what it is for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shortlist._text import describe_yaml_error
from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.projects import project_folders

FILE = "SKILL.md"
USUAL_PLACES = (".claude/skills", ".agents/skills")
NO_SKILLS = (".git", "node_modules", ".venv", "__pycache__")

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)


def usual_roots() -> list[Path]:
    """The folders of project and user that hold skills, those that are there, the nearest first."""
    places = [base / place for base in (*project_folders(), Path.home()) for place in USUAL_PLACES]
    return list(dict.fromkeys(place.resolve() for place in places if place.is_dir()))


def skills_in(roots: Sequence[Path]) -> Iterator[Document | Problem]:
    """The skills under the given folders, or in the usual places. Skills of one name get distinct ids."""
    for root in roots:
        if not root.is_dir():
            raise SourceError(f"{root} is not a folder that can be read.")
    paths = (path.resolve() for root in roots or usual_roots() for path in sorted(_skill_files(root)))
    taken: set[str] = set()
    for path in dict.fromkeys(paths):
        found = read_skill(path)
        if isinstance(found, Document) and found.id in taken:
            found = read_skill(path, id=f"{found.id}@{path.parent}")
        taken.add(found.id)
        yield found


def _skill_files(root: Path) -> Iterator[Path]:
    """The skill files at any depth. Links are followed, as skills are often linked into place, but no folder twice."""
    known: set[str] = set()
    for folder, folders, files in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in known:
            folders.clear()
            continue
        known.add(real)
        folders[:] = sorted(name for name in folders if name not in NO_SKILLS)
        if FILE in (*files, *folders):
            yield Path(folder, FILE)


def read_skill(path: Path, id: str | None = None) -> Document | Problem:
    source = str(path.resolve())
    name = path.parent.resolve().name
    try:
        text = path.read_text(encoding="utf-8-sig")
        header, body = split_front_matter(text)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        return Problem(id or name, f"{path} cannot be read: {error}", source)
    title = str(header.get("name") or name)
    description = str(header.get("description") or "").strip()
    rest = {key: value for key, value in header.items() if key not in ("name", "description")}
    return Document(
        id or title,
        title,
        f"{description}\n\n{body.strip()}".strip(),
        metadata={**rest, "description": description, "skill_path": source},
        kind="skill",
        source=source,
    )


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The YAML between the first two lines of dashes, and what follows."""
    import yaml  # noqa: PLC0415  # only where front matter is read

    found = _FRONT_MATTER.match(text)
    if not found:
        return {}, text
    try:
        header = yaml.safe_load(found.group(1) or "") or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"its front matter is not YAML: {describe_yaml_error(error)}") from None
    if not isinstance(header, dict):
        raise ValueError("its front matter is not a mapping")
    return header, text[found.end() :]

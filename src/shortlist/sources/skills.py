"""Documents from Markdown with front matter: skills (folders with a SKILL.md) and reports."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from shortlist._plain import load_yaml
from shortlist.documents import Document, Problem, Stamp, Stamps
from shortlist.errors import SourceError
from shortlist.sources.folder import read_folder
from shortlist.sources.projects import project_folders

FILE = "SKILL.md"
USUAL_PLACES = (".claude/skills", ".agents/skills")
IGNORED_FOLDERS = (".git", "node_modules", ".venv", "__pycache__")

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)
_DATE = re.compile(r"(?<!\d)(\d{4})[-_]?(0[1-9]|1[0-2])[-_]?(0[1-9]|[12]\d|3[01])(?!\d)")


def usual_roots() -> list[Path]:
    """The existing skill folders of project and user, the nearest first."""
    places = [base / place for base in (*project_folders(), Path.home()) for place in USUAL_PLACES]
    return list(dict.fromkeys(place.resolve() for place in places if place.is_dir()))


def read_skills(roots: Sequence[Path]) -> Iterator[Document | Problem]:
    """The skills under the given folders, or in the usual places. Skills with the same name get distinct ids."""
    for root in roots:
        if not root.is_dir():
            raise SourceError(f"{root} is not a readable folder. Check the path.")
    found = (path for root in roots or usual_roots() for path in sorted(_find_skills(root)))
    paths = (path.parent.resolve() / path.name for path in found)  # a linked file belongs to the folder it is in
    ids: set[str] = set()
    for path in dict.fromkeys(paths):
        skill = _read_skill(path)
        if isinstance(skill, Document) and skill.id in ids:
            skill = replace(skill, id=f"{skill.id}@{path.parent}")
        ids.add(skill.id)
        yield skill


def _find_skills(root: Path) -> Iterator[Path]:
    """The skill files at any depth. Links are followed, as skills are often linked into place, but no folder twice."""
    known: set[str] = set()
    for folder, folders, files in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in known:
            folders.clear()
            continue
        known.add(real)
        folders[:] = sorted(name for name in folders if name not in IGNORED_FOLDERS)
        if FILE in (*files, *folders):
            yield Path(folder, FILE)


def _read_skill(path: Path) -> Document | Problem:
    source, name = str(path), path.parent.name
    try:
        header, body = split_front_matter(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        return Problem(name, f"{path} cannot be read: {error}", source)
    title = str(header.pop("name", None) or name)
    description = str(header.pop("description", None) or "").strip()
    content = f"{description}\n\n{body.strip()}".strip()
    metadata = {**header, "description": description, "skill_path": source}
    return Document(title, title, content, metadata=metadata, kind="skill", source=source)


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


def read_reports(root: Path) -> Callable[[Stamps], Iterator[Document | Problem | Stamp]]:
    """A reader of the Markdown files under a folder, like `read_folder`, with front matter and date as metadata."""
    read = read_folder(root, r"(?i)\.(md|markdown)$", reader="reports")
    return lambda known: (_add_header(item) if isinstance(item, Document) else item for item in read(known))


def _add_header(file: Document) -> Document:
    try:
        header = split_front_matter(file.content.replace("\r\n", "\n"))[0]
    except ValueError:  # the report is still worth reading
        header = {}
    name = PurePosixPath(file.id).name
    date = _DATE.search(name)
    dated = {"date": "-".join(date.groups())} if date else {}
    title = file.title if file.title != name else str(header.get("title") or name)
    return replace(file, title=title, metadata={**dated, **header, **file.metadata})

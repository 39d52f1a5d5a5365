"""Skills: folders with a SKILL.md, Markdown with front matter."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from shortlist._projects import project_folders, project_root
from shortlist._text import printable
from shortlist.documents import Document, Metadata, Problem, Skipped
from shortlist.errors import SourceError
from shortlist.safety.confirmations import is_confirmed
from shortlist.safety.prompt_injection import find_orders, find_warning
from shortlist.safety.untrusted_files import UnsafeFile, check_inside, read_regular_file, read_text
from shortlist.sources.folder import skip
from shortlist.sources.front_matter import split_front_matter

SKILL_FILE = "SKILL.md"
USUAL_PLACES = (".claude/skills", ".agents/skills")
IGNORED_FOLDERS = (".git", "node_modules", ".venv", "__pycache__")
# In the metadata of a skill of a project: its root, the folder in it that has the skill, and the warning of the checks
FROM_PROJECT = "from_project"
NOT_APPROVED = "this repository, not approved"


class _Root(NamedTuple):
    """A folder with skills. Links may not leave `limit`, if there is one.

    `project` is the root of the project that has it, None for the user's own, and `base` the folder in that project.
    """

    folder: Path
    limit: Path | None = None
    project: Path | None = None
    base: Path | None = None


def usual_roots() -> list[Path]:
    """The existing skill folders of project and user, the nearest first; none that is a link out of the project."""
    found = ((root.folder.resolve(), root.limit) for root in _find_usual_roots() if root.folder.is_dir())
    return list(dict.fromkeys(real for real, limit in found if not limit or real.is_relative_to(limit.resolve())))


def _find_usual_roots() -> Iterator[_Root]:
    home, project = Path.home(), project_root()
    for base in project_folders():
        if base.resolve() != home.resolve():  # whose skills are the user's own
            limit = base if holds_home(project) else project
            places = [base / place for place in USUAL_PLACES]
            yield from (_Root(place, place if holds_home(limit) else limit, project, base) for place in places)
    yield from (_Root(home / place) for place in USUAL_PLACES)


def _find_given_root(folder: Path) -> _Root:
    """A folder that the user named: one of the user's own, one of this project, or any other."""
    real, project = folder.resolve(), project_root().resolve()
    if _is_own(real):
        return _Root(folder)
    if real.is_relative_to(project) and not holds_home(project):
        return _Root(folder, project, project)
    return _Root(folder, real)


def _is_own(path: Path) -> bool:
    """Whether a path is in one of the user's own skill folders."""
    return any(path.is_relative_to((Path.home() / place).resolve()) for place in USUAL_PLACES)


def holds_home(folder: Path) -> bool:
    """Whether a folder is the home directory or a parent of it, so that it is no limit for links."""
    return Path.home().resolve().is_relative_to(folder.resolve())


def is_of_inner_skill(path: Path, outer: Path, known: Collection[Path] = ()) -> bool:
    """Whether a path in the folder of a skill is in that of another skill, other than the known folders."""
    inner = [place for place in (path, *path.parents) if outer in place.parents]
    return any(place not in known and os.path.lexists(place / SKILL_FILE) for place in inner)


def read_skills(roots: Sequence[Path]) -> Iterator[Document | Problem]:
    """The skills under the given folders, or in the usual places. Skills with the same name get distinct ids."""
    for folder in roots:
        if not folder.is_dir():
            raise SourceError(f"{folder} is not a readable folder. Check the path.")
    ids: set[str] = set()
    known: set[Path] = set()
    for root in map(_find_given_root, roots) if roots else _find_usual_roots():
        for path in _find_skills(root):
            if isinstance(path, Skipped):
                yield path
                continue
            path = path.parent.resolve() / path.name  # a linked file belongs to the folder it is in
            if path in known:
                continue
            known.add(path)
            skill = _read_skill(path, root)
            if isinstance(skill, Document) and skill.id in ids:
                skill = replace(skill, id=f"{skill.id}@{path.parent}")
            ids.add(skill.id)
            yield skill


def _find_skills(root: _Root) -> Iterator[Path | Skipped]:
    """The skill files at any depth, sorted. Links are followed, as skills are often linked into place, but no folder
    twice, and none that leaves the limit."""
    known: set[str] = set()
    skipped: list[Skipped] = []

    def is_inside(path: str) -> bool:
        try:
            if root.limit and os.path.realpath(path) != path:
                check_inside(Path(path), root.limit)
        except UnsafeFile as error:
            skipped.append(skip(error, root.folder.parent))
            return False
        return True

    paths = []
    for folder, folders, files in os.walk(root.folder, followlinks=True):
        real = os.path.realpath(folder)
        if real in known or (folder == str(root.folder) and not is_inside(folder)):
            folders.clear()
            continue
        known.add(real)
        names = sorted(name for name in folders if name not in IGNORED_FOLDERS)
        folders[:] = [name for name in names if not os.path.islink(f"{folder}/{name}") or is_inside(f"{folder}/{name}")]
        if SKILL_FILE in (*files, *folders):
            paths.append(Path(folder, SKILL_FILE))
    yield from sorted(paths)
    yield from skipped


def _read_skill(path: Path, root: _Root) -> Document | Problem:
    source, name = str(path), path.parent.name
    try:
        header, body = split_front_matter(text := read_text(path, root=root.limit))
    except UnsafeFile as error:
        return replace(skip(error, path.parent.parent), id=name)
    except (OSError, ValueError) as error:
        return Problem(name, f"{path} cannot be read: {error}", source)
    title = str(header.pop("name", None) or name)
    description = str(header.pop("description", None) or "").strip()
    content = f"{description}\n\n{body.strip()}".strip()
    header.pop(FROM_PROJECT, None)
    metadata = {**header, "description": description, "skill_path": source}
    if isinstance(inner := header.get("metadata"), Mapping) and "access" in inner:  # where the specification has it
        metadata.setdefault("access", inner["access"])
    if root.project:
        folder = str(root.base or root.project)
        metadata[FROM_PROJECT] = {"root": str(root.project), "folder": folder, "warning": _find_orders(text)}
    return Document(title, title, content, metadata=metadata, kind="skill", source=source)


def read_skill_file(path: Path, metadata: Metadata) -> bytes:
    """The content of the file of an indexed skill as it is now. It may have become a link since it was indexed."""
    project = _find_project(metadata)
    limit = path.parent if project is None or holds_home(project) else project
    return read_regular_file(path, root=None if project is None and _is_own(path) else limit)


def describe_origin(metadata: Metadata, text: str = "") -> tuple[str, str]:
    """Where a skill of a project is from, and how it or a text of it tries to instruct a model against its user.

    Both are empty for skills of the user, and once the user has approved the project.
    """
    if _find_project(metadata) is None:
        return "", ""
    about = metadata[FROM_PROJECT]
    if any(is_confirmed("project", Path(place)) for place in {about["root"], about.get("folder") or about["root"]}):
        return "", ""
    return NOT_APPROVED, about.get("warning") or _find_orders(text)


def _find_orders(text: str) -> str:
    """How a text tries to instruct a model against its user, by the checks of documents and those of tools."""
    effect = next((effect for effect, _ in find_orders(text)), "")
    return find_warning(text) or (f"The text {effect}." if effect else "")


def find_pending(skills: Iterable[Document | Problem]) -> Iterator[Problem]:
    """The skills that are not served to agents until their project is approved, with the reasons."""
    for skill in skills:
        if isinstance(skill, Document) and (warning := describe_origin(skill.metadata)[1]):
            yield Problem(skill.id, explain_pending(skill.name, skill.source, warning), skill.source)


def explain_pending(name: str, source: str, warning: str) -> str:
    """Why a skill is not served to agents until its project is approved."""
    review = f"The user can review {printable(source)} and then approve this project: shortlist trust"
    return f"The skill {printable(name)} is pending approval. {warning} {review}"


def _find_project(metadata: Metadata) -> Path | None:
    about = metadata.get(FROM_PROJECT)
    root = about.get("root") if isinstance(about, Mapping) else None
    return Path(root) if isinstance(root, str) else None

"""What the name or the path of a corpus means, and what was probably meant by one that means nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from shortlist import sources
from shortlist._text import closest, did_you_mean
from shortlist.client.addresses import is_service_address
from shortlist.errors import CorpusNotFound, InputError
from shortlist.index.corpus_paths import DOCS, OF_A_PATH, SKILLS_AT, TOOLS, full_name, is_path
from shortlist.index.location import find_corpus_file
from shortlist.library import registry


def resolve(name: str | Path) -> str | Path:
    """The name of the corpus that a name or path means.

    A path is the index that is stored in that folder or else, with a prefix, what the files there contain. A name that
    is registered, built in or stored comes before a path of the same spelling. What means nothing is returned as it is.
    """
    if isinstance(name, str) and (is_service_address(name) or name.startswith(OF_A_PATH)):
        return name
    try:
        must_be_path = isinstance(name, Path) or is_path(name)
        if not must_be_path and (not str(name).strip() or _is_name(str(name))):
            return name
        place = Path(os.path.expanduser(name))
        if find_corpus_file(place):
            return name if must_be_path else os.path.join(os.curdir, name)
        return _name_place(place) if place.exists() and not _is_empty(place) else name
    except (OSError, ValueError):  # too long, or with a null character
        return name


def _is_name(name: str) -> bool:
    with suppress(InputError):  # a corpus cannot have this name, but a file can
        if find_corpus_file(name):
            return True
    return name in registry.BUILT_IN or name in registry.registered()


def _is_empty(place: Path) -> bool:
    return place.is_dir() and not os.listdir(place)


def _name_place(place: Path) -> str:
    """The full name of the corpus of a file or folder: as it is stored, else of the kind that is detected."""
    names = [full_name(f"{prefix}{place}") for prefix in OF_A_PATH]
    stored = [name for name in names if find_corpus_file(name)]
    return stored[0] if len(stored) == 1 else full_name(f"{detect_prefix(place)}{place}")


def detect_prefix(place: Path) -> str:
    """The kind of a file or folder, as a prefix: a catalog of tools, a folder of skills, or documents.

    A folder of skills is one with a SKILL.md, or of which at least half of the visible entries are folders with one. A
    file of Python is a document: its functions would be tools, but to read them would be to run it.
    """
    if place.is_dir():
        entries = [entry.path for entry in os.scandir(place) if not entry.name.startswith(".")]
        skills = sum((Path(entry) / sources.SKILL_FILE).is_file() for entry in entries)
        is_skill = (place / sources.SKILL_FILE).is_file()
        return SKILLS_AT if is_skill or (skills and 2 * skills >= len(entries)) else DOCS
    return TOOLS if sources.describes_tools(place) else DOCS


def find_source(name: str | Path) -> registry.Registration | None:
    """The source that a name or path means; an error if it has a prefix and the path does not exist."""
    resolved = resolve(name)
    entry = registry.find(resolved) if isinstance(resolved, str) else None
    if entry and str(resolved).startswith(OF_A_PATH) and not Path(entry.roots[0]).exists():
        raise make_not_found(resolved)
    return entry


def make_no_source(name: str | Path, advice: str) -> InputError:
    """The error for a name or path that cannot be built: it does not exist, or is stored without its source."""
    if find_corpus_file(resolve(name)) is None:
        return InputError(str(make_not_found(name, advice)))
    return InputError(f"{str(name)!r} is stored, but not registered, so its source is not known.{advice}")


def make_not_found(name: str | Path, advice: str = "") -> CorpusNotFound:
    """The error for what is neither the name nor the path of a corpus; the advice is given if nothing is similar."""
    text = str(name)
    prefix = next((prefix for prefix in OF_A_PATH if text.startswith(prefix)), "")
    path = text.removeprefix(prefix)
    if obstacle := _find_obstacle(path):
        return CorpusNotFound(obstacle)
    near = _suggest_path(path)
    if prefix or isinstance(name, Path) or is_path(text):
        suggestion = f" Did you mean {prefix + near!r}?" if near else " Check the path."
        return CorpusNotFound(f"{path!r} does not exist.{suggestion}")
    suggestion = did_you_mean(text, [*registry.names(), *([near] if near else [])])
    return CorpusNotFound(f"{text!r} is not a registered corpus or an existing path.{suggestion or advice}")


def _find_obstacle(path: str) -> str:
    """Why an existing path is not a corpus."""
    try:
        return f"{path!r} is an empty folder." if _is_empty(Path(os.path.expanduser(path))) else ""
    except (OSError, ValueError) as error:
        return f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}."


def _suggest_path(path: str) -> str:
    """An existing path like this one, with its first wrong part replaced by the closest name there."""
    try:
        wrong = Path(os.path.expanduser(path))
        base = next(parent for parent in wrong.parents if parent.is_dir())
        part, *rest = wrong.relative_to(base).parts
        near = [base.joinpath(name, *rest) for name in closest(part, os.listdir(base), 3)]
        found = next((place for place in near if place.exists()), None)
    except (OSError, ValueError, StopIteration):
        return ""
    return str(found) if found else ""

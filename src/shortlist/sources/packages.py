"""Documents from installed Python packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shortlist.documents import Document, Problem, Skipped
from shortlist.errors import SourceError
from shortlist.safety.untrusted_files import UnsafeFile, check_inside, read_regular_file
from shortlist.sources.folder import skip

if TYPE_CHECKING:
    from email.message import Message
    from importlib.metadata import Distribution

# A top-level package or module in the list of installed files.
_MODULE = re.compile(r"^([A-Za-z_]\w*)(?:/__init__\.py|\.py|(?:\.[\w-]+)*\.(?:so|pyd)),", re.MULTILINE)
_FILES = ("METADATA", "PKG-INFO", "top_level.txt", "RECORD")
LARGEST_FILE = 32 << 20  # bytes; the list of files of a large package is about 2 MB
_HOME_PAGE_LABELS = ("homepage", "home", "home page", "source", "repository", "source code", "documentation")


def read_packages(folders: Sequence[Path] = ()) -> Iterator[Document | Problem]:
    """The distributions on the module search path, or in the given folders; the first of each name, as in an import."""
    from importlib.metadata import distributions  # noqa: PLC0415  # only where packages are read

    for folder in folders:
        if not folder.is_dir():
            raise SourceError(f"{folder} is not a readable folder. Check the path.")
    ids: set[str] = set()
    roots = {str(folder): folder for folder in folders}
    for distribution in distributions(path=list(roots)) if folders else distributions():
        document = _find_unsafe(distribution, roots) or _read(distribution)
        if document.id not in ids:
            ids.add(document.id)
            yield document


def _find_unsafe(distribution: Distribution, roots: Mapping[str, Path]) -> Skipped | None:
    """The report of a distribution in a given folder of whose files one must not be read."""
    place = Path(_place_of(distribution))
    root = roots.get(str(place.parent))
    for path in (place, *(place / name for name in _FILES)) if root else ():
        try:
            if not path.is_dir():
                read_regular_file(path, limit=LARGEST_FILE, root=root)
            check_inside(path, place.parent)
        except UnsafeFile as error:
            return skip(error, place.parent)
        except OSError:  # it has no such file
            continue
    return None


def _place_of(distribution: Distribution) -> str:
    return str(getattr(distribution, "_path", ""))  # there is no public attribute for it


def _read(distribution: Distribution) -> Document | Problem:
    place = _place_of(distribution)
    try:
        about = cast("Message", distribution.metadata)
        known = {key: value.strip() for key, value in about.items() if value.strip() != "UNKNOWN"}
        name = about.get("Name")
        if not name:
            raise ValueError("it names no package; install the package again")
        modules = _list_modules(distribution)
        pairs = [str(line).partition(",") for line in about.get_all("Project-URL") or []]
    except (OSError, ValueError) as error:
        return Problem(Path(place).name, f"The metadata in {place} cannot be read: {error}", place)
    urls = {label.strip().lower(): url.strip() for label, _, url in pairs}
    labels = (label for label in (*_HOME_PAGE_LABELS, *urls) if label in urls)
    summary, keywords = known.get("Summary", ""), known.get("Keywords", "")
    words = [word.strip() for word in keywords.split("," if "," in keywords else None) if word.strip()]
    home_page = known.get("Home-page") or urls.get(next(labels, ""))
    notes = {"version": about.get("Version"), "summary": summary, "home_page": home_page, "modules": modules}
    metadata = {key: value for key, value in notes.items() if value}
    id, content = re.sub(r"[-_.]+", "-", name).lower(), f"{summary}\n\n{known.get('Description', '')}".strip()
    return Document(id, name, content, list(dict.fromkeys([*words, *modules])), metadata, kind="package", source=place)


def _list_modules(distribution: Distribution) -> list[str]:
    """The modules that can be imported, without private ones."""
    if listed := distribution.read_text("top_level.txt"):
        names = [Path(line).name for line in listed.split()]
    else:
        names = _MODULE.findall(distribution.read_text("RECORD") or "")
    return sorted({name for name in names if not name.startswith("_")})

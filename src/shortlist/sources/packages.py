"""Documents from installed Python packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shortlist.documents import Document, Problem

if TYPE_CHECKING:
    from email.message import Message
    from importlib.metadata import Distribution

# A package or module at the top, in the list of installed files.
_MODULE = re.compile(r"^([A-Za-z_]\w*)(?:/__init__\.py|\.py|(?:\.[\w-]+)*\.(?:so|pyd)),", re.MULTILINE)
_SEPARATORS = re.compile(r"[-_.]+")


def read_packages(folders: Sequence[Path] = ()) -> Iterator[Document | Problem]:
    """The distributions on the module search path, or in the given folders; of one name the first, as in an import."""
    from importlib.metadata import distributions  # noqa: PLC0415  # only where packages are read

    found = distributions(path=[str(folder) for folder in folders]) if folders else distributions()
    taken: set[str] = set()
    for distribution in found:
        document = _read(distribution)
        if document.id not in taken:
            taken.add(document.id)
            yield document


def _read(distribution: Distribution) -> Document | Problem:
    place = str(getattr(distribution, "_path", ""))  # nothing public says where a distribution lies
    try:
        about = cast("Message", distribution.metadata)
        known = {key: value.strip() for key, value in about.items() if value.strip() != "UNKNOWN"}
        name = about.get("Name")
        if not name:
            return Problem(Path(place).name, f"{place} has no metadata that name a package; install it again.", place)
        modules = _modules(distribution)
        addresses = [str(address) for address in about.get_all("Project-URL") or []]
    except (OSError, ValueError) as error:
        return Problem(Path(place).name, f"The metadata in {place} cannot be read: {error}", place)
    summary, keywords = known.get("Summary", ""), known.get("Keywords", "")
    words = [word.strip() for word in (keywords.split(",") if "," in keywords else keywords.split()) if word.strip()]
    metadata = {
        "version": about.get("Version"),
        "summary": summary,
        "home_page": known.get("Home-page") or _home_page(addresses),
        "modules": modules,
    }
    return Document(
        _SEPARATORS.sub("-", name).lower(),
        name,
        f"{summary}\n\n{known.get('Description', '')}".strip(),
        list(dict.fromkeys([*words, *modules])),
        {key: value for key, value in metadata.items() if value},
        kind="package",
        source=place,
    )


def _modules(distribution: Distribution) -> list[str]:
    """What can be imported, without underscored helpers."""
    if listed := distribution.read_text("top_level.txt"):
        names = [Path(line).name for line in listed.split()]
    else:
        names = _MODULE.findall(distribution.read_text("RECORD") or "")
    return sorted({name for name in names if not name.startswith("_")})


def _home_page(addresses: list[str]) -> str:
    """The labelled address that comes nearest to a home page."""
    pairs = (one.partition(",") for one in addresses)
    labelled = {label.strip().lower(): address.strip() for label, _, address in pairs}
    wanted = ("homepage", "home", "home page", "source", "repository", "source code", "documentation")
    return next((labelled[label] for label in wanted if label in labelled), next(iter(labelled.values()), ""))

"""The corpora that arguments of commands mean."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shortlist._environment import LEARN, read_variable
from shortlist._projects import find_in_project
from shortlist._text import did_you_mean
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import Output
from shortlist.errors import CorpusNotFound
from shortlist.index.corpus import Corpus
from shortlist.index.storage.usage_log import Learning
from shortlist.library import opening, registry
from shortlist.mcp_client.config_files import pending_files
from shortlist.sources import folder, skills

with lazy_imports():  # it imports pydantic
    from shortlist import _settings


def find_learning() -> Learning:
    """What the setting `usage.learn` says, if anything sets it."""
    is_set = read_variable(LEARN) or find_in_project("settings.yaml").is_file()
    return _settings.load_learning() if is_set else "on"


def open_corpora(out: Output, names: Iterable[str]) -> tuple[Corpus, ...]:
    """Open corpora by name; one that was never built is built, with a progress bar."""
    learning = find_learning()
    corpora = []
    for name in names:
        for pending in pending_files() if name == "mcp" else ():
            out.note(f"shortlist: {pending.reason}")
        try:
            with out.progress(f"building {name}") as progress:
                corpora.append(opening.open_named(name, progress, learning=learning))
        except CorpusNotFound:
            raise make_not_found(name) from None
    return tuple(corpora)


def open_corpus(out: Output, name: str) -> Corpus:
    """Open one corpus by name; see `open_corpora`."""
    (corpus,) = open_corpora(out, (name,))
    return corpus


def make_not_found(name: str) -> CorpusNotFound:
    """The error for a name that is not a corpus, with advice."""
    if registry.find(name):
        return CorpusNotFound(f"{name!r} is not built yet. Build it with: shortlist build {name}")
    advice = did_you_mean(name, registry.names()) or " Register it with: shortlist register NAME KIND --root PATH"
    return CorpusNotFound(f"{name!r} is not a registered corpus or an existing path.{advice}")


def find_path_source(path: str) -> registry.Registration | None:
    """The source that a path alone means: the documents of a folder, the tools of a file."""
    place = Path(path).expanduser()
    prefix = "docs:" if place.is_dir() else "tools:" if place.is_file() else ""
    return registry.find(f"{prefix}{path}") if prefix else None


def find_roots(entry: registry.Registration) -> list[Path]:
    """The files and folders of a source that exist."""
    roots = [Path(root) for root in entry.roots] or (skills.usual_roots() if entry.kind == "skills" else [])
    return [root.resolve() for root in roots if root.exists()]


def count_files(paths: Iterable[str]) -> int:
    """The number of files at these paths, in folders, too."""
    return sum(folder.count_files(Path(path).expanduser()) for path in paths)

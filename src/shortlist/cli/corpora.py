"""The corpora that arguments of commands mean."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterable
from pathlib import Path

from shortlist._environment import LEARN, read_variable
from shortlist._projects import find_in_project
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import Output
from shortlist.documents import Changes
from shortlist.errors import CorpusNotFound
from shortlist.index import location
from shortlist.index.corpus import Corpus
from shortlist.index.corpus_paths import OF_A_PATH
from shortlist.index.storage.usage_log import Learning
from shortlist.library import corpus_names, opening, registry

with lazy_imports():  # slow to load
    from shortlist import _settings
    from shortlist.cli.terminal import screen
    from shortlist.mcp_client import config_files
    from shortlist.sources import skills


def find_learning() -> Learning:
    """What the setting `usage.learn` says, if anything sets it."""
    is_set = read_variable(LEARN) or find_in_project("settings.yaml").is_file()
    return _settings.load_learning() if is_set else "on"


def open_corpora(out: Output, names: Iterable[str]) -> tuple[Corpus, ...]:
    """Open corpora by name; one that was never built, or whose files changed, is built, with a progress bar."""
    learning = find_learning()
    corpora = []
    for name in names:
        for pending in config_files.pending_files() if name == "mcp" else ():
            out.note(f"shortlist: {pending.reason}")
        if name in registry.BUILT_IN and Path(name).exists():
            out.note(f"shortlist: {name} is the built-in corpus. For the path of that name, write ./{name}")
        try:
            resolved = resolve(name)
            is_stored = location.find_corpus_file(resolved) is not None
            with (
                out.progress(f"building {name}") as progress,
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always", UserWarning)
                corpus = opening.open_named(resolved, progress, learning=learning)
        except CorpusNotFound:
            raise make_not_found(resolved) from None
        for warning in caught:
            out.note(f"shortlist: {warning.message}")
        changes = corpus.changes
        if is_stored and (changes.added or changes.changed or changes.removed):
            out.note(f"shortlist: {name} has changed: {_count(changes)}.")
        out.report_problems((*changes.failed, *(() if is_stored else changes.skipped_files)))
        corpora.append(corpus)
    return tuple(corpora)


def _count(changes: Changes) -> str:
    counts = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
    return ", ".join(f"{count:,} {verb}" for verb, count in counts.items() if count)


def open_corpus(out: Output, name: str) -> Corpus:
    """Open one corpus by name; see `open_corpora`."""
    (corpus,) = open_corpora(out, (name,))
    return corpus


def resolve(name: str) -> str:
    """The name of the corpus that an argument means."""
    return str(corpus_names.resolve(name))


def is_known(name: str) -> bool:
    """Whether a word names a corpus: one that is known, an existing path, or an address."""
    return "://" in name or opening.is_known(name)


def make_not_found(name: str) -> CorpusNotFound:
    """The error for a name that is not a stored corpus, with advice."""
    if corpus_names.find_source(name):
        name = shlex.quote(shorten_name(name))
        return CorpusNotFound(f"{name} is not built yet. Build it with: shortlist build {name}")
    return corpus_names.make_not_found(name, " List the corpora with: shortlist ls")


def removal_command(name: str) -> str:
    """The command that deletes a stored corpus."""
    return f"shortlist rm {shlex.quote(shorten_name(name))} --data"


def shorten_name(name: str) -> str:
    """The name of a corpus with the path in it as short as in this folder."""
    prefix = next((prefix for prefix in OF_A_PATH if name.startswith(prefix)), "")
    return prefix + screen.shorten_path(name.removeprefix(prefix))


def find_roots(entry: registry.Registration) -> list[Path]:
    """The files and folders of a source that exist."""
    roots = [Path(root) for root in entry.roots] or (skills.usual_roots() if entry.kind == "skills" else [])
    return [root.resolve() for root in roots if root.exists()]

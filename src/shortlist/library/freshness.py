"""Whether the files of a corpus that is named by a path have changed since it was built from them."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from shortlist import sources
from shortlist.errors import SourceError
from shortlist.index.corpus import Corpus
from shortlist.index.corpus_paths import FILES_MARK, OF_A_PATH
from shortlist.library.registry import Registration

MOST_FILES = 10_000  # of a path that is checked at each search
PAUSE_SECONDS = 2.0  # between two checks of a corpus in one process

_checked: dict[Path, float] = {}  # when a corpus was checked, by its folder


def take_mark(entry: Registration) -> str:
    """The state of the files at a path; empty if there are too many or not all can be listed, and for other sources."""
    if entry.name.startswith(OF_A_PATH):
        with suppress(SourceError, OSError):
            return sources.fingerprint(Path(entry.roots[0]), MOST_FILES)
    return ""


def store_mark(corpus: Corpus, mark: str) -> None:
    """Store the state of the files that a corpus was built from, or delete that of an earlier build."""
    if corpus.path is None:
        return
    file = corpus.path / FILES_MARK
    with suppress(OSError):
        if mark:
            file.write_text(f"{mark} {len(corpus)}")
        else:
            file.unlink(missing_ok=True)


def have_changed(entry: Registration, corpus: Corpus) -> bool:
    """Whether files were added, changed or removed since the build from a path that still exists.

    Never if documents were added or removed by hand since: a build would undo that.
    """
    folder = corpus.path
    if folder is None or time.monotonic() - _checked.get(folder, -PAUSE_SECONDS) < PAUSE_SECONDS:
        return False
    try:
        mark, count = (folder / FILES_MARK).read_text().split()
    except (OSError, ValueError):  # not built from a path, or by an earlier version
        return False
    has_changed = str(len(corpus)) == count and Path(entry.roots[0]).exists() and take_mark(entry) != mark
    _checked[folder] = time.monotonic()
    return has_changed

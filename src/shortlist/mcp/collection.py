"""What an agent searches: the tools of MCP servers, the skills of project and user, and corpora."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import shortlist
from shortlist._text import count_of, did_you_mean
from shortlist.errors import CorpusError, CorpusNotFound, SourceError
from shortlist.index.corpus_paths import stored_corpora
from shortlist.index.storage.database import DATABASE
from shortlist.index.storage.records import Rows
from shortlist.library import registry
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.tool_search import NAME as TOOLS
from shortlist.sources.projects import is_of_another_project

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus

SKILLS = "skills"
LEFT_OUT = (TOOLS, SKILLS, "packages")  # unless they are named: upstream tools and skills are served anyway
LOOK_AGAIN = 60.0  # seconds after which skills are compared with their files again
MOST_NAMED = 8


def is_served(name: str) -> bool:
    """Whether a stored corpus is served to agents unless others are named: not the default index of another project."""
    return name not in LEFT_OUT and not is_of_another_project(name)


class CorpusStore(Protocol):
    """Corpora by name."""

    def names(self) -> list[str]: ...

    def corpus(self, name: str) -> Corpus: ...

    def kinds(self, name: str) -> dict[str, int]:
        """The number of documents of each kind, counted quickly."""
        ...


class StoredCorpora:
    """The corpora of this user: those that were named, or all that are built and belong here."""

    def __init__(self, only: Sequence[str] = ()) -> None:
        self._only = list(only)

    def names(self) -> list[str]:
        return self._only or [name for name in stored_corpora() if is_served(name)]

    def corpus(self, name: str) -> Corpus:
        from shortlist.library.opening import open_named  # noqa: PLC0415  # brings numpy

        return open_named(name)

    def kinds(self, name: str) -> dict[str, int]:
        return _kinds_in(stored_corpora().get(name) or Path(name))


class Collection:
    """All that is searched. Methods may be called from any thread; those that return corpora may take a while."""

    def __init__(self, gateway: Gateway, store: CorpusStore, *, with_skills: bool = True) -> None:
        self.gateway = gateway
        self._store = store
        self._with_skills = with_skills
        self._lock = threading.Lock()
        self._skills: Corpus | None = None
        self._synced_at = 0.0
        self.problems: dict[str, str] = {}  # corpora that cannot be searched, and why

    def names(self) -> list[str]:
        own = [TOOLS, *([SKILLS] if self._with_skills else [])]
        return [*own, *(name for name in self._store.names() if name not in own)]

    def corpora(self, only: str | None = None) -> list[Corpus]:
        """The corpora, or the one of a name; a damaged one is left out and noted in `problems`."""
        if only is not None:
            return [self._corpus(only)]
        found = []
        for name in self.names():
            try:
                found.append(self._corpus(name))
                self.problems.pop(name, None)
            except (CorpusError, SourceError) as error:
                self.problems[name] = str(error)
        return found

    def _corpus(self, name: str) -> Corpus:
        if name == TOOLS:
            return self.gateway.index.corpus()
        if name == SKILLS and self._with_skills:
            return self.skills()
        if name not in self._store.names():
            names = self.names()
            near = did_you_mean(name, names) or f" There are {', '.join(names[:20])}."
            raise CorpusNotFound(f"There is no corpus {name!r}.{near}")
        return self._store.corpus(name)

    def skills(self) -> Corpus:
        """The skills of project and user, as they are now."""

        with self._lock:
            if self._skills is None or time.monotonic() - self._synced_at > LOOK_AGAIN:
                entry = registry.find(SKILLS)
                assert entry  # it is built in
                if self._skills is None:
                    self._skills = shortlist.build(entry.source(), SKILLS, path=self.gateway.home / SKILLS)
                else:
                    self._skills.sync(entry.source())
                self._synced_at = time.monotonic()
            return self._skills

    def close(self) -> None:
        with self._lock:
            if self._skills is not None:
                self._skills.close()

    def counts(self) -> Iterator[tuple[str, dict[str, int]]]:
        """The last known number of documents of each corpus, by kind."""
        yield TOOLS, {"tool": len(self.gateway.catalog.offered())}
        for name in self.names()[1:]:
            is_ours = name == SKILLS and self._with_skills
            yield name, _kinds_in(self.gateway.home / SKILLS) if is_ours else self._store.kinds(name)

    def summary(self) -> str:
        """What there is to be found, in a sentence."""
        servers = Counter(tool.server for tool in self.gateway.catalog.offered())
        totals = Counter({name: sum(kinds.values()) for name, kinds in self.counts() if name != TOOLS and kinds})
        skills = totals.pop(SKILLS, 0)
        parts = []
        if servers:
            listed = f"{count_of(servers.total(), 'tool')} of {count_of(len(servers), 'server')}"
            parts.append(f"{listed} ({_most(servers)})")
        if skills:
            parts.append(count_of(skills, "skill"))
        if totals:
            parts.append(f"{count_of(totals.total(), 'document')} ({_most(totals)})")
        return f"Here are {', '.join(parts)}." if parts else "Nothing is indexed yet."


def _kinds_in(folder: Path) -> dict[str, int]:
    """The number of documents of the corpus in a folder, without opening it, which would load numpy."""
    try:
        database = sqlite3.connect(f"{(folder / DATABASE).resolve().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(database):
            return Rows(database).kinds()
    except (OSError, ValueError, sqlite3.Error):
        return {}


def _most(counts: Counter[str]) -> str:
    named = [f"{name} {count:,}" for name, count in counts.most_common(MOST_NAMED)]
    return ", ".join([*named, *(["…"] if len(counts) > MOST_NAMED else [])])

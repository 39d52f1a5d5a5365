"""What does an agent search? The tools upstream, the skills of project and user, and corpora: all of them, or some."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from shortlist._text import count_of, did_you_mean
from shortlist.errors import CorpusError, CorpusNotFound, SourceError
from shortlist.index.corpus_paths import stored_corpora
from shortlist.index.storage.database import DATABASE
from shortlist.index.storage.records import count_kinds
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.tool_search import NAME as TOOLS
from shortlist.sources.projects import is_of_another_project

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus

SKILLS = "skills"
LEFT_OUT = (TOOLS, SKILLS, "packages")  # unless they are asked for: what is upstream and skills are here anyway
LOOK_AGAIN = 60.0  # seconds after which skills are compared with their files again
MOST_NAMED = 8


def is_served(name: str) -> bool:
    """Whether a stored corpus is served to agents unless others are named: not the default index of another project."""
    return name not in LEFT_OUT and not is_of_another_project(name)


class Shelf(Protocol):
    """Where corpora stand."""

    def names(self) -> list[str]: ...

    def corpus(self, name: str) -> Corpus: ...

    def kinds(self, name: str) -> dict[str, int]:
        """How many documents there are of each kind, told quickly."""
        ...


class Stored:
    """The corpora of this user: those that were named, or all that are built and belong here."""

    def __init__(self, only: Sequence[str] = ()) -> None:
        self._only = list(only)

    def names(self) -> list[str]:
        return self._only or [name for name in stored_corpora() if is_served(name)]

    def corpus(self, name: str) -> Corpus:
        from shortlist.library.opening import opened  # noqa: PLC0415  # brings numpy

        return opened(name)

    def kinds(self, name: str) -> dict[str, int]:
        return _kinds_in(stored_corpora().get(name) or Path(name))


class Collection:
    """All that is searched. Methods may be called from any thread; those that give corpora may take a while."""

    def __init__(self, gateway: Gateway, shelf: Shelf, *, with_skills: bool = True) -> None:
        self.gateway = gateway
        self._shelf = shelf
        self._with_skills = with_skills
        self._lock = threading.Lock()
        self._skills: Corpus | None = None
        self._looked = 0.0
        self.problems: dict[str, str] = {}  # corpora that cannot be searched, and why

    def names(self) -> list[str]:
        own = [TOOLS, *([SKILLS] if self._with_skills else [])]
        return [*own, *(name for name in self._shelf.names() if name not in own)]

    def corpora(self, only: str | None = None) -> list[Corpus]:
        """The corpora, or the one of a name; one that is damaged is left out, and told."""
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

    def documents(self, only: str | None = None) -> list[Corpus]:
        """The corpora that questions can be asked of."""
        return [one for one in self.corpora(only) if one.name != TOOLS]

    def skills(self) -> Corpus:
        """The skills of project and user, as they are now."""
        from shortlist.library import registry  # noqa: PLC0415  # brings numpy
        from shortlist.library.opening import build  # noqa: PLC0415

        with self._lock:
            if self._skills is None or time.monotonic() - self._looked > LOOK_AGAIN:
                entry = registry.find(SKILLS)
                assert entry  # it is built in
                if self._skills is None:
                    self._skills = build(entry.source(), SKILLS, path=self.gateway.home / SKILLS)
                else:
                    self._skills.sync(entry.source())
                self._looked = time.monotonic()
            return self._skills

    def close(self) -> None:
        with self._lock:
            if self._skills is not None:
                self._skills.close()

    def counts(self) -> Iterator[tuple[str, dict[str, int]]]:
        """What each corpus was last known to hold, by kind."""
        yield TOOLS, {"tool": len(self.gateway.catalog.offered())}
        for name in self.names()[1:]:
            is_ours = name == SKILLS and self._with_skills
            yield name, _kinds_in(self.gateway.home / SKILLS) if is_ours else self._shelf.kinds(name)

    def summary(self) -> str:
        """In a sentence or two what there is to be found."""
        servers = Counter(tool.server for tool in self.gateway.catalog.offered())
        parts = []
        if servers:
            parts.append(
                f"{count_of(servers.total(), 'tool')} of {count_of(len(servers), 'server')} ({_most(servers)})"
            )
        others: Counter[str] = Counter()
        for name, kinds in self.counts():
            if name == TOOLS:
                continue
            total = sum(kinds.values())
            if name == SKILLS and total:
                parts.append(count_of(total, "skill"))
            elif total:
                others[name] = total
        if others:
            parts.append(f"{count_of(others.total(), 'document')} ({_most(others)})")
        return f"Here are {', '.join(parts)}." if parts else "Nothing is indexed yet."

    def _corpus(self, name: str) -> Corpus:
        if name == TOOLS:
            return self.gateway.index.corpus()
        if name == SKILLS and self._with_skills:
            return self.skills()
        if name not in self._shelf.names():
            names = self.names()
            near = did_you_mean(name, names) or f" There are {', '.join(names[:20])}."
            raise CorpusNotFound(f"There is no corpus {name!r}.{near}")
        return self._shelf.corpus(name)


def _kinds_in(folder: Path) -> dict[str, int]:
    """What the corpus in a folder holds, without opening it, which would take numpy."""
    try:
        database = sqlite3.connect(f"{(folder / DATABASE).resolve().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(database):
            return count_kinds(database)
    except (OSError, ValueError, sqlite3.Error):
        return {}


def _most(counts: Counter[str]) -> str:
    named = [f"{name} {count:,}" for name, count in counts.most_common(MOST_NAMED)]
    return ", ".join([*named, *(["…"] if len(counts) > MOST_NAMED else [])])

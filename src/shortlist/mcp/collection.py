"""What an agent searches: the tools of MCP servers, the skills of project and user, and corpora."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

import shortlist
from shortlist._projects import is_of_another_project, project_root
from shortlist._text import count_of, did_you_mean
from shortlist.documents import Problem
from shortlist.errors import CorpusError, CorpusNotFound, ShortlistError, SourceError
from shortlist.index.corpus_paths import OF_A_PATH, is_path, stored_corpora
from shortlist.index.foreign import count_kinds
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.safety.principals import current_principal, may_read, sees_all, show_problem
from shortlist.sources import CorpusSource
from shortlist.sources.skills import find_pending

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus
    from shortlist.index.storage.usage_log import Learning
    from shortlist.mcp.catalog_index import CatalogIndex

TOOLS, SKILLS = "mcp", "skills"
EXCLUDED_CORPORA = (TOOLS, SKILLS, "packages")  # unless they are named: upstream tools and skills are served anyway
SKILLS_MAX_AGE_SECONDS = 60.0  # after which skills are compared with their files again
MOST_NAMED = 8


def is_served(name: str) -> bool:
    """Whether a stored corpus is served to agents by default: not what belongs to another project.

    A path belongs to the projects that contain it or are in it. One that is too long for a name is not known.
    """
    if not name.startswith(OF_A_PATH) and is_path(name):
        name = unquote(Path(name).name)
    if name.startswith(OF_A_PATH):
        path, project = Path(name.partition(":")[2]), project_root().resolve()
        return path.is_relative_to(project) or project.is_relative_to(path)
    return name not in EXCLUDED_CORPORA and not is_of_another_project(name)


class CorpusStore(Protocol):
    """Corpora by name, and the number of their documents by kind, counted quickly."""

    def names(self) -> list[str]: ...
    def corpus(self, name: str) -> Corpus: ...
    def kinds(self, name: str) -> dict[str, int]: ...


class StoredCorpora:
    """The corpora of this user: those that were named, or all that are built and belong here."""

    def __init__(self, only: Sequence[str] = (), learning: Learning | None = None) -> None:
        self._only, self._learning = list(only), learning

    def names(self) -> list[str]:
        return self._only or [name for name in stored_corpora() if is_served(name)]

    def corpus(self, name: str) -> Corpus:
        """An open corpus. A request never builds one: that may take longer than any client waits."""
        from shortlist.library import opening, registry  # noqa: PLC0415  # slow to load

        corpus = opening.open_named(name, can_build=False, learning=self._learning or "on")
        if corpus.is_empty and registry.find(name):
            raise opening.describe_unbuilt(name)
        return corpus

    def kinds(self, name: str) -> dict[str, int]:
        return count_kinds(stored_corpora().get(name) or Path(name))


class Collection:
    """Everything that is searched. Methods may be called from any thread; those that return corpora may be slow.

    `learning`, if it is given, is that of the tools and the skills; the store decides for its own corpora.
    """

    def __init__(
        self, gateway: Gateway, store: CorpusStore, *, with_skills: bool = True, learning: Learning | None = None
    ) -> None:
        self.gateway, self._store, self._with_skills, self._learning = gateway, store, with_skills, learning
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._tools: CatalogIndex | None = None
        self._is_stopped = False
        self._skills: Corpus | None = None
        self._synced_at = 0.0
        self._skipped_skills: tuple[Problem, ...] = ()
        self._pending_skills: list[Problem] = []
        self.problems: dict[str, str] = {}  # corpora that cannot be searched, and why

    def names(self) -> list[str]:
        """The corpora that the current user may read; the tools are those of the profile that the user has."""
        skills = [SKILLS] if self._with_skills and may_read(SKILLS) else []
        return list(dict.fromkeys((TOOLS, *skills, *self._store.names())))

    def list_problems(self) -> dict[str, str]:
        """The corpora that the current user may read and that cannot be searched, and why."""
        names = self.names()
        return {name: show_problem(problem) for name, problem in [*self.problems.items()] if name in names}

    def corpora(self, only: str | None = None) -> list[Corpus]:
        """The corpora, or the one of a name; a damaged one is left out and noted in `problems`."""
        if only is not None:
            return [self._corpus(only)]
        found = []
        for name in self.names():
            try:
                found.append(self._corpus(name))
                self.problems.pop(name, None)
            except (CorpusError, SourceError, OSError) as error:
                self.problems[name] = str(error)
        return found

    def _corpus(self, name: str) -> Corpus:
        if name == TOOLS or (name == SKILLS and name in self.names()):
            corpus = _as_seen(self._open_tools().corpus(), TOOLS) if name == TOOLS else self.skills()
            corpus.learning = self._learning or corpus.learning
            return corpus
        names = self.names()
        if name not in names:
            near = did_you_mean(name, names) or f" Available: {', '.join(names[:20])}."
            raise CorpusNotFound(f"{name!r} is not a corpus of this server.{near}")
        return self._store.corpus(name)

    def _open_tools(self) -> CatalogIndex:
        from shortlist.mcp.catalog_index import CatalogIndex  # noqa: PLC0415  # slow to load, so it waits for the first search

        with self._opening:
            if self._tools is None:
                gateway = self.gateway
                gateway.record_place()
                self._tools = CatalogIndex(gateway.tools_folder, gateway.catalog, shared=gateway.shared_folder)
            if self._is_stopped:
                self._tools.stop()
            return self._tools

    def find_pending(self, query: str) -> tuple[str, float] | None:
        """The id and relevance of the pending tool that matches a query best, if one matches."""
        with contextlib.suppress(ShortlistError, OSError):  # it is only a note; the search reports what is wrong
            return self._open_tools().find_pending(query) if self.gateway.catalog.list_held() else None
        return None

    def skills(self) -> Corpus:
        """The skills of project and user, as they are now."""
        from shortlist.library import registry  # noqa: PLC0415  # slow to load

        with self._lock:
            if self._skills is None or time.monotonic() - self._synced_at > SKILLS_MAX_AGE_SECONDS:
                entry = registry.find(SKILLS)
                assert entry  # it is built in
                found = list(entry.source())
                self._pending_skills = list(find_pending(found))
                pending = {item.source for item in self._pending_skills}
                items = [item for item in found if item.source not in pending]
                served = CorpusSource(SKILLS, entry.kind, lambda: items)
                if self._skills is None:
                    self._skills = shortlist.build(served, SKILLS, path=self.gateway.home / SKILLS)
                    self._skipped_skills = self._skills.changes.failed
                else:
                    self._skipped_skills = self._skills.sync(served).failed
                self._synced_at = time.monotonic()
            return _as_seen(self._skills, SKILLS)

    # Whose `access` is not known, so only those learn of them who see all skills.

    @property
    def skipped_skills(self) -> tuple[Problem, ...]:
        return self._skipped_skills if sees_all(SKILLS) else ()

    @property
    def pending_skills(self) -> list[Problem]:
        return self._pending_skills if sees_all(SKILLS) else []

    def pending_notes(self) -> list[str]:
        """What the user can approve, in a sentence that an agent can pass on."""
        pending = count_of(len(self.pending_skills), "skill of this project", "is pending approval")
        advice = f"{pending}: they may try to instruct you against the user, who can review them: shortlist doctor"
        return [advice] if self.pending_skills else []

    def stop(self) -> None:
        """Let the work in the background end soon."""
        self._is_stopped = True
        if self._tools is not None:
            self._tools.stop()

    def close(self) -> None:
        if self._tools is not None:
            self._tools.close()
        with self._lock:
            if self._skills is not None:
                self._skills.close()

    def counts(self) -> Iterator[tuple[str, dict[str, int]]]:
        """The last known number of documents of each corpus, by kind."""
        yield TOOLS, {"tool": len(self.gateway.catalog.list_offered())}
        for name in self.names()[1:]:
            if name != SKILLS or not self._with_skills:
                yield name, self._store.kinds(name)
            elif current_principal.get() is None:
                yield name, count_kinds(self.gateway.home / SKILLS)
            else:
                yield name, self.skills().kinds()

    def summary(self) -> str:
        """What is available, in a sentence."""
        servers = Counter(tool.server for tool in self.gateway.catalog.list_offered())
        totals = Counter({name: sum(kinds.values()) for name, kinds in self.counts() if name != TOOLS and kinds})
        skills = totals.pop(SKILLS, 0)
        parts = []
        if servers:
            of_servers = f"{count_of(servers.total(), 'tool')} of {count_of(len(servers), 'server')}"
            parts.append(f"{of_servers} ({_list_most(servers)})")
        if skills:
            parts.append(count_of(skills, "skill"))
        if totals:
            parts.append(f"{count_of(totals.total(), 'document')} ({_list_most(totals)})")
        return f"Available: {', '.join(parts)}." if parts else "Nothing is indexed yet."


def _as_seen(corpus: Corpus, name: str) -> Corpus:
    from shortlist.library.opening import as_seen  # noqa: PLC0415  # slow to load

    return as_seen(corpus, name)


def _list_most(counts: Counter[str]) -> str:
    named = [f"{name} {count:,}" for name, count in counts.most_common(MOST_NAMED)]
    return ", ".join([*named, *(["…"] if len(counts) > MOST_NAMED else [])])

"""What an agent searches: the tools of MCP servers, the skills of project and user, and corpora."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import shortlist
from shortlist._files import replace_text
from shortlist._text import count_of, did_you_mean
from shortlist.documents import Document, Problem
from shortlist.errors import CorpusError, CorpusMismatch, CorpusNotFound, ShortlistError, SourceError
from shortlist.index.corpus_paths import stored_corpora
from shortlist.index.storage.database import DATABASE
from shortlist.index.storage.records import Rows
from shortlist.index.storage.stored_text import TextConnection
from shortlist.index.storage.usage_log import FILE as USAGE
from shortlist.index.storage.usage_log import UsageLog
from shortlist.library import registry
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.tool_catalog import Catalog
from shortlist.sources.mcp_servers.mcp_client import document_of
from shortlist.sources.projects import is_of_another_project

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus

log = logging.getLogger("shortlist")

TOOLS, SKILLS = "mcp", "skills"
LEFT_OUT = (TOOLS, SKILLS, "packages")  # unless they are named: upstream tools and skills are served anyway
LOOK_AGAIN = 60.0  # seconds after which skills are compared with their files again
MOST_NAMED = 8
DIGEST = "catalog.digest"
AT_ONCE = 64  # new tools that our model encodes while the agent waits
LATER = 1.0  # seconds before it encodes more of them, so that the first search is answered first


def is_served(name: str) -> bool:
    """Whether a stored corpus is served to agents by default: not the default index of another project."""
    return name not in LEFT_OUT and not is_of_another_project(name)


class CorpusStore(Protocol):
    """Corpora by name, and the number of their documents by kind, counted quickly."""

    def names(self) -> list[str]: ...
    def corpus(self, name: str) -> Corpus: ...
    def kinds(self, name: str) -> dict[str, int]: ...


class StoredCorpora:
    """The corpora of this user: those that were named, or all that are built and belong here."""

    def __init__(self, only: Sequence[str] = ()) -> None:
        self._only = list(only)

    def names(self) -> list[str]:
        return self._only or [name for name in stored_corpora() if is_served(name)]

    def corpus(self, name: str) -> Corpus:
        from shortlist.library.opening import open_named  # noqa: PLC0415  # slow to load

        return open_named(name)

    def kinds(self, name: str) -> dict[str, int]:
        return _count_kinds_in(stored_corpora().get(name) or Path(name))


class Collection:
    """Everything that is searched. Methods may be called from any thread; those that return corpora may be slow."""

    def __init__(self, gateway: Gateway, store: CorpusStore, *, with_skills: bool = True) -> None:
        self.gateway, self._store, self._with_skills = gateway, store, with_skills
        self._tools = ToolIndex(gateway.tools_folder, gateway.catalog)
        self._lock = threading.Lock()
        self._skills: Corpus | None = None
        self._synced_at = 0.0
        self.problems: dict[str, str] = {}  # corpora that cannot be searched, and why

    def names(self) -> list[str]:
        return list(dict.fromkeys((TOOLS, *([SKILLS] if self._with_skills else []), *self._store.names())))

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
            return self._tools.corpus()
        if name == SKILLS and self._with_skills:
            return self.skills()
        names = self.names()
        if name not in names:
            near = did_you_mean(name, names) or f" Available: {', '.join(names[:20])}."
            raise CorpusNotFound(f"{name!r} is not a corpus of this server.{near}")
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
        self._tools.close()
        with self._lock:
            if self._skills is not None:
                self._skills.close()

    def counts(self) -> Iterator[tuple[str, dict[str, int]]]:
        """The last known number of documents of each corpus, by kind."""
        yield TOOLS, {"tool": len(self.gateway.catalog.list_offered())}
        for name in self.names()[1:]:
            is_ours = name == SKILLS and self._with_skills
            yield name, _count_kinds_in(self.gateway.home / SKILLS) if is_ours else self._store.kinds(name)

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


class ToolIndex:
    """The search over the tools that are offered: corpora on disk, in sync with the catalog.

    One corpus is ready immediately. The other uses our trained model, which ranks better; if it takes more than a
    moment to sync, that happens in the background, and the first one is searched until then. They share one log of use,
    which is beside them, since a corpus is deleted when its model changes.
    """

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        usage = UsageLog(folder.with_name(USAGE))
        self._static = _CatalogCorpus(folder, "default", usage)
        self._trained = _CatalogCorpus(folder.with_name(f"{folder.name}-trained"), "tools", usage)
        self._has_failed = False  # the trained model
        self._work: threading.Thread | None = None
        self._closed = threading.Event()

    def corpus(self) -> Corpus:
        """The best corpus that is in sync with the catalog."""
        from shortlist.index.embedders.tools_model import default_for_tools  # noqa: PLC0415  # slow to load

        with self._lock:
            digest = self._catalog.digest
            if not self._has_failed and default_for_tools() == "tools" and self._sync_trained(digest):
                return self._trained.corpus()
            if self._static.digest() != digest:
                self._static.sync(self._documents(), digest)
            return self._static.corpus()

    def _sync_trained(self, digest: str) -> bool:
        """Sync the trained corpus, or begin to in the background; whether it is in sync."""
        if self._work is not None and self._work.is_alive():
            return False
        try:
            self._trained.check_model()
            known = self._trained.digest()
            if known != digest:
                missing = len(self._catalog.list_offered())
                if known is not None:
                    difference = self._trained.corpus().compare(self._documents())
                    missing = difference.added + difference.changed
                if missing > AT_ONCE:
                    self._work = threading.Thread(target=self._sync_later, args=(digest,), daemon=True)
                    self._work.start()
                    return False
                self._trained.sync(self._documents(), digest)
            return True
        except ShortlistError as error:
            self._give_up(error)
            return False

    def _sync_later(self, digest: str) -> None:
        try:
            if not self._closed.wait(LATER):
                self._trained.sync(self._documents(), digest)
        except Exception as error:  # no one waits for this thread
            if not self._closed.is_set():
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        log.warning("Tools are searched without the trained model: %s", error)
        self._has_failed = True

    def _documents(self) -> Iterator[Document | Problem]:
        for tool in self._catalog.list_offered():
            if self._closed.is_set():
                raise CorpusError("The search over tools was closed.")
            yield document_of(tool.server, "tool", tool.entry)

    def close(self) -> None:
        self._closed.set()
        if self._work is not None:
            self._work.join()
        with self._lock:
            self._static.close()
            self._trained.close()


class _CatalogCorpus:
    """A corpus in its folder, and the digest of the catalog that it was last synced with, by any process."""

    def __init__(self, folder: Path, embedder: str, usage: UsageLog) -> None:
        self._folder, self._embedder, self._digest, self._usage = folder, embedder, folder / DIGEST, usage
        self._corpus: Corpus | None = None

    def corpus(self) -> Corpus:
        if self._corpus is None:
            self._corpus = shortlist.create_corpus(TOOLS, path=self._folder, default_embedder=self._embedder)
            self._corpus.usage = self._usage
        return self._corpus

    def check_model(self) -> None:
        """Delete the corpus if it was built with an older model; raise an error if the model cannot be loaded."""
        if self.digest() is not None:
            try:
                _ = self.corpus().embedder
            except CorpusMismatch:
                self.close()
                self._digest.unlink(missing_ok=True)
                shortlist.delete_corpus(self._folder)

    def digest(self) -> str | None:
        with contextlib.suppress(OSError, ValueError):
            return self._digest.read_text("utf-8")
        return None

    def sync(self, documents: Iterator[Document | Problem], digest: str) -> None:
        self.corpus().sync(documents)
        replace_text(self._digest, digest)

    def close(self) -> None:
        if self._corpus is not None:
            self._corpus.close()
            self._corpus = None


def _count_kinds_in(folder: Path) -> dict[str, int]:
    """The number of documents of the corpus in a folder, by kind, without opening it, which would be slow."""
    try:
        address = f"{(folder / DATABASE).resolve().as_uri()}?mode=ro"
        database = sqlite3.connect(address, factory=TextConnection, uri=True)
        with contextlib.closing(database):
            return Rows(database).kinds()
    except (OSError, ValueError, sqlite3.Error):
        return {}


def _list_most(counts: Counter[str]) -> str:
    named = [f"{name} {count:,}" for name, count in counts.most_common(MOST_NAMED)]
    return ", ".join([*named, *(["…"] if len(counts) > MOST_NAMED else [])])

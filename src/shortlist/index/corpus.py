"""A corpus: documents, stored and indexed."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, cast, get_args

import shortlist
from shortlist._projects import stored_name
from shortlist._text import clean, count_of, did_you_mean
from shortlist.client.addresses import is_service_address
from shortlist.display.html_tables import card, muted, pairs
from shortlist.display.progress import show_progress
from shortlist.documents import Changes, Document, Problem, Stamps
from shortlist.errors import CorpusError, CorpusMismatch, CorpusNotFound, InputError
from shortlist.index import engines
from shortlist.index.config import RELEVANCE_SCALE, Config, ScoreThreshold, collect_index_options, threshold_scale_of
from shortlist.index.corpus_paths import GROUPS_USAGE, USAGE, corpus_folder
from shortlist.index.embedders import models
from shortlist.index.embedders.cosine_scale import measure_once, must_measure
from shortlist.index.embedders.embedder_binding import EmbedderBinding, EmbedderSpec, spec_of
from shortlist.index.embedders.named import load_embedder
from shortlist.index.embedders.tools_model import suggest_embedder
from shortlist.index.engine import EMBEDDED, Engine, State, Viewer
from shortlist.index.foreign import derived_folder
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.local_engine import LocalEngine
from shortlist.index.location import Location, close_on_error, find_location
from shortlist.index.storage.usage_log import Learning, Outcome, UsageLog, Use
from shortlist.index.text.analyzers import DEFAULT as DEFAULT_ANALYZER
from shortlist.index.text.analyzers import Analyzer, get_analyzer
from shortlist.index.text.languages import ENGLISH, detect_language, name_language
from shortlist.protocols import AgentTool, Embedder, ProgressOption, ToolKeywords
from shortlist.results import Answer, Level

if TYPE_CHECKING:
    from shortlist.index.engines.service_engine import ServiceEngine

ENGLISH_ANALYZER = "english-1"  # the default before passages had languages
ENGLISH_EMBEDDERS = {"wordllama-256", "minilm"}  # those of ours that know only English
TOLERATED_SHARE = 0.1  # of passages in languages that the embedder does not know
MOST_KINDS = 3  # that a `repr` counts
_NOUNS = {"text": "document", "file": "file", "page": "page", "row": "row"}
MOST_VIEWS = 64  # for different groups that are open at once
LANGUAGE_SAMPLE = 200  # passages whose languages are detected, if an analyzer stores none


class Corpus:
    """Documents, indexed and stored. Open one with `open_corpus`, create one with `create_corpus` or `build`.

    `learning` says what is done with use: "on" stores it and ranks by it, "log" only stores it, "off" does neither.
    """

    def __init__(
        self,
        engine: Engine,
        embedders: EmbedderBinding,
        name: str,
        embedder: EmbedderSpec = None,
        path: Path | None = None,
        learning: Learning = "on",
    ) -> None:
        self.name = name
        if learning not in get_args(Learning):
            raise InputError(f"learning must be one of {', '.join(get_args(Learning))}, not {learning!r}.")
        self.learning: Learning = learning
        self.path = path
        self.changes = Changes()  # what the last sync did
        folder = derived_folder(path) if path else None
        self.usage = UsageLog(folder / USAGE, folder / GROUPS_USAGE) if folder else UsageLog(None)
        self._engine = engine
        self._embedders = embedders
        self._views: dict[tuple[Viewer, bool], Corpus] = {}  # of callers, the latest last
        self._views_lock = threading.Lock()
        self._whole: Corpus | None = None  # which is open as long as a view of it
        self._finalizer = weakref.finalize(self, engine.close)
        with close_on_error(self):
            config = engine.config()
            if embedder is not None:
                embedders.use(embedder, config)

    # Writing

    def sync(
        self,
        documents: Iterable[Document | Problem],
        prune: bool = True,
        progress: ProgressOption = None,
        *,
        strict: bool = False,
    ) -> Changes:
        """Make the corpus contain these documents, in one transaction.

        An unchanged document costs a comparison. With `prune`, stored documents that are not among these are removed,
        except those that a Problem refers to. A document that cannot be stored is reported and does not stop the
        others; with `strict` it is an error, and nothing is changed.
        `progress` is called with the number of documents so far, and their total if it is known. Without it, a bar
        shows them in a terminal and in a notebook; False turns that off.
        """
        with show_progress(progress, f"indexing {self.name}") as report:
            self.changes = self._engine.sync(documents, prune, report, strict)
        if self.path is not None:
            self._store_cosine_scale()
        return self.changes

    def compare(self, documents: Iterable[Document | Problem], progress: ProgressOption = None) -> Changes:
        """What a sync with these documents would do. Nothing is changed."""
        with show_progress(progress, f"comparing {self.name}") as report:
            return self._engine.compare(documents, report)

    def add(
        self, documents: Iterable[Document | Problem], progress: ProgressOption = None, *, strict: bool = False
    ) -> Changes:
        """Store these documents beside the others. A document with a stored id replaces that one."""
        if isinstance(documents, str | Mapping | Document):
            raise InputError(f"add takes a list of Documents, not {documents!r}.")
        return self.sync(documents, prune=False, progress=progress, strict=strict)

    def remove(self, ids: str | Iterable[str]) -> int:
        """Remove documents by id; return the number of documents removed."""
        return self._engine.remove([clean(id) for id in ([ids] if isinstance(ids, str) else ids)])

    def compact(self) -> None:
        """Merge segments, into one of each million passages. Never required; useful before a corpus is only read."""
        self._engine.compact()

    def verify(self) -> dict[str, Any]:
        """Check every file of the corpus, and rebuild damaged index files from the documents; the result as plain data.

        `status` is "ok", "repaired", "damaged" if something could not be repaired, or "not applicable" if the corpus is
        stored in a cluster. `repaired` and `problems` describe what was found.
        """
        found = self._engine.verify()
        about = {"name": self.name, "path": str(self.path) if self.path else None}
        if found is None:
            return about | {"status": "not applicable", "repaired": [], "problems": []}
        status = "damaged" if found["problems"] else "repaired" if found["repaired"] else "ok"
        return about | {"status": status} | found

    def reindex(
        self,
        embedder: EmbedderSpec = None,
        *,
        analyzer: str | None = None,
        scoring: Scoring | None = None,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        language: str | None = None,
        progress: ProgressOption = None,
    ) -> None:
        """Index the stored documents again, with another embedder or other options of `create_corpus`."""
        options: dict[str, Any] = {**collect_index_options(analyzer, scoring, chunk_size, chunk_overlap, language)}
        loaded = self.embedder if embedder is None else load_embedder(embedder)
        chosen: dict[str, Any] = {} if embedder is None else {"embedder": spec_of(embedder, loaded)}
        name, dim = (loaded.name, loaded.dim) if loaded else ("none", 0)
        # thresholds were calibrated for the old scores
        forgotten: dict[str, Any] = {"floors": {}, "calibrations": {}, "cosine_scale": {}}
        fresh = options | chosen | forgotten | {"embedder_name": name, "dim": dim}
        with show_progress(progress, f"indexing {self.name}") as report:
            self._engine.reindex(lambda config: replace(config, **fresh), loaded, report)
        self._embedders.loaded = loaded
        if chosen:
            self._embedders.store(chosen["embedder"])
        if self.path is not None:
            self._store_cosine_scale()

    def _store_cosine_scale(self) -> None:
        """Measure the embedder of vectors that were just written, unless that was done or it is ours."""
        config = self.config
        scale = None if config.cosine_scale or not must_measure(config) else measure_once(self.embedder)
        if scale and scale.anchors:
            values, name = scale.anchors._asdict(), config.embedder_name
            self._engine.configure(lambda now: replace(now, cosine_scale=values) if now.embedder_name == name else now)

    def set_threshold(self, mode: str, threshold: float | None, **facts: Any) -> None:
        """Set the abstention threshold of a mode: in "auto" a relevance, in the others a raw score. None removes it.

        A description of the corpus as it is now is stored with it, and so are the facts.
        """
        scale = facts.setdefault("scale", threshold_scale_of(mode))
        is_relevance = scale == RELEVANCE_SCALE
        if threshold is not None and not (0 <= threshold <= 1 if is_relevance else math.isfinite(threshold)):
            needed = "a relevance from 0 to 1" if is_relevance else "a finite score"
            raise InputError(f"The threshold of the mode {mode!r} must be {needed}, not {threshold!r}.")

        def change(config: Config) -> Config:
            thresholds, known = dict(config.floors), dict(config.calibrations)
            thresholds.pop(mode, None)
            known.pop(mode, None)
            if threshold is not None:
                thresholds[mode] = float(threshold)
                known[mode] = facts | config.describe_scoring() | self._engine.mark()
            return replace(config, floors=thresholds, calibrations=known)

        self._engine.configure(change)

    def set_floor(self, mode: str, floor: float | None, **facts: Any) -> None:
        """The old name of `set_threshold`."""
        warnings.warn("Corpus.set_floor is now set_threshold.", DeprecationWarning, stacklevel=2)
        self.set_threshold(mode, floor, **facts)

    def learn(
        self,
        query: str,
        id: str,
        outcome: Outcome = "called",
        *,
        shown: Sequence[str] = (),
        session: str = "",
        undo: bool = False,
    ) -> bool:
        """Store that a query led to a document, so that similar queries find it; return whether it was stored.

        `outcome` is "called" or "read" if the document was right, "failed" if it could not be used, "wrong" if it is
        not what the query asks for, and "reworded" if the query found nothing and the document was used after another
        one. `shown` are the ids among which it was chosen. Of many uses in one `session` only a few count. With `undo`,
        what this session reported about the document and the query is deleted instead, without a session only the
        latest report that has none; return whether anything was.
        Nothing is stored if `learning` is "off". See `usage` for what is stored and how to forget it.
        """
        if not isinstance(query, str) or not query.strip():
            raise InputError(f"A query must be a non-empty string, not {query!r}.")
        if outcome not in get_args(Outcome):
            raise InputError(f"outcome must be one of {', '.join(get_args(Outcome))}, not {outcome!r}.")
        if undo:
            return self.usage.withdraw(query, clean(id), session) > 0
        if self.learning == "off":
            return False
        use = self.use_of(id, outcome)
        if use is None:
            raise CorpusNotFound(f"The corpus {self.name!r} has no document {id!r}.{did_you_mean(str(id), self.ids())}")
        self.usage.add(query, [(clean(one), None) for one in shown], [use], session)
        return True

    def use_of(self, id: str, outcome: Outcome) -> Use | None:
        """A use of a document as the log stores it; None if there is no such document."""
        with self.snapshot() as state:
            found = state.find_documents([clean(id)])
        return Use(clean(id), found[clean(id)].hash, outcome) if found else None

    # Reading

    def for_groups(
        self, groups: Iterable[str], *, sees_all: bool = False, rules: Iterable[tuple[str, Sequence[str]]] = ()
    ) -> Corpus:
        """The corpus as callers with these groups see it: other documents are as if they did not exist.

        The `access` of a document, in its metadata, names the groups that may see it; all may see one without it.
        `rules` are patterns of ids with further groups: of each pattern that matches, one is needed. With `sees_all`,
        no document is hidden. What these callers teach, only callers with the same groups learn.
        """
        viewer = Viewer.of(frozenset(groups), () if sees_all else rules)
        key = (viewer, sees_all)
        with self._views_lock:
            view = self._views.pop(key, None)
            if view is None:
                view = copy(self)
                view._engine = self._engine if sees_all else self._engine.for_viewer(viewer)
                view._whole, view._views = self, {}
                view._finalizer = weakref.finalize(view, _leave_open)
                name = blake2b(json.dumps(sorted(viewer.groups)).encode(), digest_size=16).hexdigest()
                view.usage = UsageLog(derived_folder(self.path) / GROUPS_USAGE / f"{name}.db" if self.path else None)
            self._views[key] = view
            while len(self._views) > MOST_VIEWS:
                del self._views[next(iter(self._views))]
            return view

    @property
    def whole(self) -> Corpus:
        """The corpus with all its documents, of which this may be what some callers see."""
        return self._whole or self

    def snapshot(self) -> AbstractContextManager[State]:
        """The last committed state; later commits do not change it."""
        return self._engine.snapshot()

    def threshold(self, mode: str) -> ScoreThreshold:
        """The threshold that was set for a mode, and why it may be outdated."""
        return self.config.threshold(mode, self._engine.since)

    def floor(self, mode: str) -> ScoreThreshold:
        """The old name of `threshold`."""
        warnings.warn("Corpus.floor is now threshold.", DeprecationWarning, stacklevel=2)
        return self.threshold(mode)

    def get(self, id: str) -> Document | None:
        return self._engine.get(clean(id))

    def browse(self, text: str = "", offset: int = 0, limit: int | None = None) -> tuple[list[Document], int]:
        """A page of the documents that contain a text, in the order in which they were added, and the number of all."""
        return self._engine.browse(text, offset, limit)

    def ids(self) -> list[str]:
        return self._engine.ids()

    def stamps(self) -> Stamps:
        """The stamps of the files that documents came from, by id."""
        return self._engine.stamps()

    def __len__(self) -> int:
        return self._engine.count()

    @property
    def is_empty(self) -> bool:
        return not self._engine.count()

    def kinds(self) -> dict[str, int]:
        """The number of documents of each kind, the most frequent first."""
        return self._engine.kinds()

    def languages(self) -> dict[str, int]:
        """The number of passages in each language, as an ISO 639-1 code, the most frequent first.

        A corpus whose analyzer does not store them is sampled.
        """
        with self.snapshot() as state:
            if get_analyzer(self.config.analyzer).detects_languages:
                return dict(state.lexical.languages)
            return _sample_languages(state)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    def __iter__(self) -> Iterator[Document]:
        """All documents, in the order in which they were first added."""
        return self._engine.scan()

    @property
    def config(self) -> Config:
        return self._engine.config()

    @property
    def embedder(self) -> Embedder | None:
        """The embedder that the corpus is built with, loaded on first use; None for a lexical-only corpus."""
        return self._embedders.for_config(self.config)

    @property
    def is_own(self) -> bool:
        """Whether only this user writes to the corpus. Paths in any other one are not followed everywhere."""
        return self._engine.is_own

    def info(self) -> dict[str, Any]:
        """Counts and configuration, as plain data."""
        config, languages = self.config, self.languages()
        advice = (suggest_embedder(self.kinds(), config.embedder_name), advise_languages(config, languages))
        doubts = {mode: doubt for mode in config.floors if (doubt := config.threshold(mode, self._engine.since).doubt)}
        return {
            "name": self.name,
            "path": str(self.path) if self.path else None,
            **self._engine.facts(),
            "analyzer": config.analyzer,
            "embedder": config.embedder_name,
            "dim": config.dim,
            "advice": " ".join(filter(None, advice)),
            "languages": languages,
            "floors": dict(config.floors),
            "doubts": doubts,
            "usage": self._describe_usage(),
        }

    def _describe_usage(self) -> dict[str, Any]:
        try:
            return {"learning": self.learning, **self.usage.facts()}
        except CorpusError as error:  # the corpus works without its log
            return {"learning": self.learning, "problem": str(error)}

    def as_tool(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        k: int | None = None,
        level: Level = "body",
        **options: Unpack[ToolKeywords],
    ) -> AgentTool:
        """The corpus as a tool that an agent can call, as `shortlist.as_tool` makes it."""
        return shortlist.as_tool(self, name=name, description=description, k=k, level=level, **options)

    def close(self) -> None:
        self._finalizer()
        self.usage.close()
        self._engine = _ClosedEngine(self.name)

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        about = ", ".join(self._describe_briefly())
        return f"Corpus({self.name!r}, {about})"

    def _describe_briefly(self) -> list[str]:
        """What it has, its embedder and its path, as far as that can be known without opening anything."""
        if not isinstance(self._engine, LocalEngine):
            return ["closed" if isinstance(self._engine, _ClosedEngine) else "not on this machine"]
        try:
            kinds, embedder = self.kinds(), self.config.embedder
        except (CorpusError, sqlite3.Error):
            return [str(self.path)]
        counts = [count_of(count, _NOUNS.get(kind, kind)) for kind, count in list(kinds.items())[:MOST_KINDS]]
        rest = sum(list(kinds.values())[MOST_KINDS:])
        counts += [f"{rest:,} others"] if rest else []
        return [*(counts or ["empty"]), embedder, *([str(self.path)] if self.path else [])]

    def _repr_html_(self) -> str:
        if not isinstance(self._engine, LocalEngine):
            return card(self.name, self._describe_briefly())
        info = self.info()
        kinds = ", ".join(count_of(count, _NOUNS.get(kind, kind)) for kind, count in self.kinds().items())
        facts = {
            "Documents": f"{info['documents']:,} ({kinds})" if kinds else "none",
            "Passages": f"{info['passages']:,}",
            "Languages": ", ".join(f"{name_language(code)} ({n:,})" for code, n in list(info["languages"].items())[:5]),
            "Embedder": self.config.embedder,
            "Threshold": ", ".join(f"{value:.2f} ({mode})" for mode, value in info["floors"].items()) or "built-in",
            "Folder": self.path or "in memory",
        }
        return card(
            self.name, [], pairs({name: value for name, value in facts.items() if value}), muted(info["advice"])
        )


def _leave_open() -> None:
    """What a view of a corpus does at its end: the engine belongs to the corpus."""


def read_analyzer(corpus: Corpus) -> Analyzer:
    """The analyzer of a corpus, for texts in all languages that it stores."""
    with corpus.snapshot() as state:
        return get_analyzer(state.config.analyzer).bind(state.lexical.languages)


def _sample_languages(state: State) -> dict[str, int]:
    """About the number of passages in each language."""
    size = state.lexical.live
    sample = list(itertools.islice(state.walk(), LANGUAGE_SAMPLE))
    found = Counter(detect_language(passage.text) for passage in sample)
    return {code: max(1, round(count * size / len(sample))) for code, count in found.most_common()}


def advise_languages(config: Config, languages: Mapping[str, int]) -> str:
    """How to find passages in other languages, if the analyzer or the embedder does not know them; empty if they do."""
    others = {name_language(code): count for code, count in languages.items() if code != ENGLISH}
    share = sum(others.values()) / max(sum(languages.values()), 1)
    advice = []
    if others and config.analyzer == ENGLISH_ANALYZER:
        advice.append(
            f"Keywords in {', '.join(others)} are indexed as English. Build the corpus with rebuild=True to index each "
            f"language as such."
        )
    if share > TOLERATED_SHARE and config.embedder_name in ENGLISH_EMBEDDERS:
        advice.append(
            f"The embedder {config.embedder_name} knows only English, but {share:.0%} of the passages are in other "
            f"languages ({', '.join(others)})."
        )
        if models.can_run_models():
            advice.append(
                "Build the corpus again with --embedder multilingual --rebuild "
                "(in Python: embedder='multilingual', rebuild=True)."
            )
        else:
            advice.append(
                "The embedder 'multilingual' knows them; it needs onnxruntime, which cannot be imported here."
            )
    return " ".join(advice)


def share_vectors(corpus: Corpus, folder: Path, is_shared: Callable[[str], bool]) -> None:
    """Cache the vectors of these documents, by id, in a folder that other corpora use as well. A cluster has no such
    cache."""
    if isinstance(corpus._engine, LocalEngine):
        corpus._engine.store.shared_vectors = (folder, is_shared)


class RemoteCorpus(Corpus):
    """A corpus behind a service: `search`, `discover` and `ask` run there, and documents are read and changed there.

    What only the machine of the service can do, such as `sync` and `reindex`, is an error.
    """

    _engine: ServiceEngine

    def __init__(self, engine: ServiceEngine, url: str) -> None:
        super().__init__(engine, EmbedderBinding(url, None), url)
        self.usage = cast(UsageLog, _RemoteUsage(engine))

    def learn(
        self,
        query: str,
        id: str,
        outcome: Outcome = "called",
        *,
        shown: Sequence[str] = (),
        session: str = "",
        undo: bool = False,
    ) -> bool:
        name = self._engine.name
        return self._engine.client.feedback(name, query, id, outcome, shown=shown, session=session, undo=undo)

    def languages(self) -> dict[str, int]:
        return dict(self._engine.facts().get("languages", {}))

    def ask(self, question: str, **options: Any) -> Answer:
        """Let the service answer a question; options are those of `Client.ask`."""
        return self._engine.client.ask(self._engine.name, question, **options)

    def reindex(self, embedder: EmbedderSpec = None, *, progress: ProgressOption = None, **options: Any) -> None:
        raise self._engine.refuse("reindex")

    def info(self) -> dict[str, Any]:
        return self._engine.facts() | {"name": self.name, "path": None}

    def __repr__(self) -> str:
        return f"RemoteCorpus({self.name!r})"


class _RemoteUsage:
    """The log of use of a remote corpus, which only its service can read."""

    def __init__(self, engine: ServiceEngine) -> None:
        self._refuse = engine.refuse

    def close(self) -> None: ...

    def __getattr__(self, name: str) -> NoReturn:
        raise self._refuse("its log of use")


class _ClosedEngine:
    """The engine of a closed corpus: everything is an error."""

    def __init__(self, name: str) -> None:
        self._corpus = name

    def __getattr__(self, name: str) -> NoReturn:
        raise CorpusError(f"The corpus {self._corpus!r} is closed. Open it again with open_corpus.")


def create_corpus(
    name: str = "",
    *,
    path: str | Path | None = None,
    embedder: EmbedderSpec = None,
    engine: str | None = None,
    in_memory: bool = False,
    rebuild: bool = False,
    default_embedder: str = "default",
    learning: Learning = "on",
    analyzer: str | None = None,
    scoring: Scoring | None = None,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    language: str | None = None,
    progress: ProgressOption = None,
) -> Corpus:
    """Open the corpus under a name or path; create it if it does not exist, with the default embedder if none is given.

    An existing corpus keeps the options it was built with; other options are an error or, with `rebuild`, a reindex,
    which reports its `progress`.
    `engine` is where a new corpus is stored: "embedded", which is the default, or the address of a cluster, such as
    "opensearch+http://localhost:9200/shortlist". `learning` is what is done with use: see `Corpus`. `analyzer`,
    `scoring`, `chunk_size` and `chunk_overlap` say how it is indexed. `language` is the code of the language of its
    documents, such as "de", or "auto", the default: that of each passage is detected. A document whose metadata has a
    `language` has that one.
    """
    options = collect_index_options(analyzer, scoring, chunk_size, chunk_overlap, language)
    if in_memory and engine not in (None, EMBEDDED):
        raise InputError(f"in_memory=True cannot be combined with engine={engine!r}. Leave one of them out.")
    folder = None if in_memory else corpus_folder(name, path)
    own = name or (folder.name if folder else "in memory")
    location = find_location(folder, stored_name(own), engine) if folder else Location(None, own)
    embedders = EmbedderBinding(own, folder)
    opened = location.open(embedders)
    if opened is None:
        wanted = default_embedder if embedder is None else embedder
        loaded = load_embedder(wanted)
        config = Config(**options)
        if loaded is not None:
            config = replace(config, embedder=spec_of(wanted, loaded), embedder_name=loaded.name, dim=loaded.dim)
        opened = location.create(config, embedders)
        embedders.store(config.embedder)
        embedder, rebuild = loaded or "none", False
    corpus = Corpus(opened, embedders, own, None if rebuild else embedder, folder, learning)
    location.write_pointer()
    if rebuild:
        if analyzer is None and corpus.config.analyzer == ENGLISH_ANALYZER:
            options["analyzer"] = DEFAULT_ANALYZER
        corpus.reindex(embedder, progress=progress, **options)
    config = corpus.config
    for option, value in options.items():
        built_with = getattr(config, option)
        if built_with != value:
            corpus.close()
            raise CorpusMismatch(
                f"The corpus {corpus.name!r} was built with {option}={built_with!r}, not {value!r}. "
                f"Leave {option} out, build under another name, or pass rebuild=True to build it again."
            )
    return corpus


def open_corpus(
    name: str | Path,
    embedder: EmbedderSpec = None,
    *,
    engine: str | None = None,
    learning: Learning = "on",
    token: str | None = None,
    allow_http: bool = False,
) -> Corpus:
    """Open an existing corpus by its name or folder; `engine` is where it is stored, if its folder does not say so.

    `learning` is what is done with use: "on" stores it and ranks by it, "log" only stores it, "off" does neither.

    The name may be the address of a corpus behind a service, such as "https://host/handbook". `token` is for that
    service; without one, SHORTLIST_TOKEN is sent, but only to this machine or to an address that you confirmed
    (`shortlist trust ADDRESS`). Plain http to another machine needs `allow_http`.
    """
    if isinstance(name, str) and is_service_address(name):
        if embedder is not None or engine is not None:
            raise InputError(f"{name!r} is behind a service, which has its own embedder and engine. Leave them out.")
        return RemoteCorpus(engines.connect(name, token=token, allow_http=allow_http), name)
    folder = corpus_folder(name)
    own = folder.name if isinstance(name, Path) else name
    location = find_location(folder, stored_name(own), engine)
    embedders = EmbedderBinding(own, folder)
    opened = location.open(embedders)
    if opened is None:
        raise CorpusNotFound(
            f"The corpus {str(name)!r} does not exist (looked in {location}). "
            f"Build it first: shortlist.build(source, name={str(name)!r}), or shortlist build on the command line."
        )
    corpus = Corpus(opened, embedders, own, embedder, folder, learning)
    if engine is not None:
        location.write_pointer()
    return corpus

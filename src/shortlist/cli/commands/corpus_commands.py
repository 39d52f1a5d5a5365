"""What is kept? The commands that build corpora, look after them and name them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import shortlist
from shortlist._text import count_of, did_you_mean
from shortlist.cli.corpus_arguments import complete, opened
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import ERROR, OK, Output, WrongUsage
from shortlist.cli.watching import folders_of, watch
from shortlist.errors import CorpusError, CorpusNotFound, InputError

if TYPE_CHECKING:
    from shortlist.documents import Changes
    from shortlist.library.registry import Registration

Name = Annotated[str, Argument(metavar="NAME", complete=complete)]
Roots = Annotated[list[str] | None, option("--root", help="A place to read; repeat it.", metavar="PATH")]
Pattern = Annotated[str | None, option("--pattern", help="Only files whose path matches this regular expression.")]
Exclude = Annotated[str | None, option("--exclude", help="No files whose path matches this regular expression.")]
Embedder = Annotated[
    str | None, option("--embedder", help="default, tools, light, minilm, none, or any other model.", metavar="MODEL")
]
Engine = Annotated[
    str | None,
    option("--engine", help="The cluster to keep it in, such as opensearch+http://HOST:9200/PREFIX.", metavar="URL"),
]
Options = Annotated[
    list[str] | None, option("--option", help="An option of the kind, key=value; repeat it.", metavar="KEY=VALUE")
]


def build(
    out: Output,
    name: Annotated[str, Argument(metavar="NAME|PATH", complete=complete)],
    kind: Annotated[str | None, option("--kind", help="Register it as this kind of source first.")] = None,
    root: Roots = None,
    pattern: Pattern = None,
    exclude: Exclude = None,
    others: Options = None,
    embedder: Embedder = None,
    engine: Engine = None,
    rebuild: Annotated[bool, option("--rebuild", help="Index everything again.")] = False,
    follow: Annotated[bool, option("--watch", help="Go on and follow changes until Ctrl-C.")] = False,
) -> int:
    """Make a corpus hold what its source has now.

    A path stands for its documents (a folder) or its tools (a catalog). With --kind or --root the name is registered.
    """
    from shortlist.library import registry

    if follow and out.as_json:
        raise WrongUsage("--watch has no end, and --json prints one document: leave one of them out.")
    if kind or root:
        told = _options(pattern, exclude, others)
        registry.register(name, kind or "files", root, embedder=embedder, engine=engine, **told)
    elif pattern or exclude or others:
        raise WrongUsage("--pattern, --exclude and --option say how to read a --root: name that too.")
    entry = registry.find(name) or entry_of_path(name)
    if entry is None:
        raise CorpusNotFound(
            f"{name!r} is no name that is registered and no path.{_near(name)} "
            f"To register it: shortlist register {name} KIND --root PATH."
        )
    changes = _sync(out, entry, embedder, engine, rebuild)
    if follow:
        watch(out, folders_of(entry), lambda: _sync(out, entry, None, None, False, only_news=True))
    elif changes.failed and not (changes.added or changes.changed or changes.unchanged):
        out.warn(f"Nothing of {name} could be read.")
        return ERROR
    return OK


def _sync(
    out: Output,
    entry: Registration,
    embedder: str | None,
    engine: str | None,
    rebuild: bool,
    *,
    only_news: bool = False,
) -> Changes:
    began = time.perf_counter()
    before = _documents(entry.name)
    with out.progress(f"building {entry.name}", about=before) as progress:
        corpus = shortlist.build(entry.name, embedder=embedder, engine=engine, rebuild=rebuild, progress=progress)
    changes, seconds = corpus.changes, time.perf_counter() - began
    data = {"corpus": corpus.name, "documents": len(corpus), "seconds": round(seconds, 3), **changes.to_dict()}
    corpus.close()
    if not only_news or changes.added or changes.changed or changes.removed:
        out.show(data, lambda screen: screen.built(data))
    out.problems(changes.failed)
    return changes


def _documents(name: str) -> int:
    """How many documents were there at the last build: about so many will come."""
    try:
        with shortlist.open_corpus(name) as corpus:
            return len(corpus)
    except CorpusError:
        return 0


def entry_of_path(path: str) -> Registration | None:
    """What is meant by a path alone: the documents of a folder, the tools of a file."""
    from shortlist.library import registry

    place = Path(path).expanduser()
    if place.is_dir():
        return registry.find(f"docs:{path}")
    return registry.find(f"tools:{path}") if place.is_file() else None


def _near(name: str) -> str:
    from shortlist.library import registry

    return did_you_mean(name, registry.names())


def _options(pattern: str | None, exclude: str | None, others: list[str] | None) -> dict[str, Any]:
    """The options of a kind of source: those that have a flag of their own, and any other."""
    options = {"pattern": pattern, "exclude": exclude}
    for text in others or ():
        key, equals, value = text.partition("=")
        if not key.isidentifier() or not equals or key in ("root", "embedder", "replace", "name", "kind"):
            raise InputError(f"--option takes key=value, where key is an option of the kind, not {text!r}.")
        options[key] = value
    return options


def ls(out: Output) -> int:
    """List the corpora: those that are stored, registered or built in."""
    from shortlist.library.opening import describe_corpora

    rows = describe_corpora()
    out.show({"corpora": rows}, lambda screen: screen.corpora(rows), [row["name"] for row in rows])
    return OK


def info(out: Output, name: Name) -> int:
    """Tell what a corpus is made of: counts, configuration, floors, folder."""
    from shortlist.library import registry
    from shortlist.library.opening import size_of

    (corpus,) = opened(out, [name])
    entry = registry.find(name)
    data = {"bytes": size_of(corpus.path)} | corpus.info() | {"source": entry.to_dict() if entry else None}
    out.show(data, lambda screen: screen.facts(corpus.name, data), [str(corpus.path)])
    return OK


def status(
    out: Output,
    names: Annotated[list[str] | None, Argument(metavar="[NAME]...", complete=complete)] = None,
) -> int:
    """Compare corpora with their sources, show what a build would change, and where the index of this project is."""
    from shortlist.library import registry
    from shortlist.library.opening import is_known

    for name in names or ():
        if not is_known(name):
            raise CorpusNotFound(f"There is no corpus {name!r}.{_near(name)}")
    rows = [_state(out, name) for name in names or registry.names()]
    data = {"corpora": rows, "index": _project_index()}
    out.show(data, lambda screen: screen.states(data), [f"{row['name']}\t{row['state']}" for row in rows])
    return OK


def _project_index() -> dict[str, Any]:
    """The index that ingest, query and chat use here, and where it is stored."""
    from shortlist.index.location import corpus_folder, kept_at
    from shortlist.sources.projects import project_index, project_root

    name = project_index()
    stored = kept_at(name) is not None
    return {"name": name, "project": str(project_root()), "path": str(corpus_folder(name)), "ingested": stored}


def _state(out: Output, name: str) -> dict[str, Any]:
    """One of: not built, fresh, stale, no source, broken; with what a build would do or what is wrong."""
    from shortlist.library import registry

    row: dict[str, Any] = {"name": name, "state": "fresh", "changes": None, "problem": None}
    entry = registry.find(name)
    try:
        with shortlist.open_corpus(name) as corpus, out.progress(f"comparing {name}") as progress:
            if entry is None:
                return row | {"state": "no source"}
            changes = corpus.compare(entry.source(), progress)
    except CorpusNotFound:
        return row | {"state": "not built"}
    except shortlist.ShortlistError as error:
        return row | {"state": "broken", "problem": str(error)}
    stale = changes.added or changes.changed or changes.removed
    return row | {"state": "stale" if stale else "fresh", "changes": changes.to_dict()}


def register(
    out: Output,
    name: Annotated[str, Argument(metavar="NAME")],
    kind: Annotated[str, Argument(metavar="KIND", help="files, skills, catalog, ...")],
    root: Roots = None,
    pattern: Pattern = None,
    exclude: Exclude = None,
    others: Options = None,
    embedder: Embedder = None,
    engine: Engine = None,
    replace: Annotated[bool, option("--replace", help="Let the name mean this from now on.")] = False,
) -> int:
    """Give a source a name. It is built when it is first used."""
    entry = shortlist.register(
        name, kind, root, embedder=embedder, engine=engine, replace=replace, **_options(pattern, exclude, others)
    )
    data = {"name": entry.name, **entry.to_dict()}
    out.show(data, lambda screen: screen.say(f"{entry.name} is registered. Build it now: shortlist build {entry.name}"))
    for place in entry.roots:
        if "://" not in place and not Path(place).exists():
            out.note(f"shortlist: there is nothing at {place} yet.")
    return OK


def migrate(
    out: Output,
    name: Name,
    to: Annotated[str, option("--to", help="The cluster, or embedded for this machine.", metavar="URL")],
    delete_old: Annotated[bool, option("--delete-old", help="Delete what the old engine holds.")] = False,
) -> int:
    """Move a corpus to another engine, compare all of it, and let the name mean the new place."""
    from shortlist.index.migrate import migrate as move

    with out.progress(f"migrating {name}") as progress:
        moved = move(name, to, delete_old=delete_old, progress=progress)
    data = moved.to_dict()
    if moved.source == moved.target:
        words = f"{name} is already kept there."
    else:
        size = f"{count_of(moved.documents, 'document')}, {count_of(moved.passages, 'passage')}"
        words = f"{name} is now kept by {moved.target}: {size}."
    out.show(data, lambda screen: screen.say(words), [moved.target])
    return OK


def rm(
    out: Output,
    name: Name,
    data: Annotated[bool, option("--data", help="Delete what was built, too.")] = False,
) -> int:
    """Forget a name. What was built of it stays, unless --data is given."""
    from shortlist.index.location import kept_at

    stored = kept_at(name) is not None
    if data and stored:
        shortlist.delete_corpus(name)
    forgotten = shortlist.unregister(name)
    if not forgotten and not stored:
        raise CorpusNotFound(f"There is no corpus {name!r} to remove.{_near(name)}")
    if not forgotten and not data:
        raise InputError(f"{name!r} is not registered, only built. To delete that: shortlist rm {name} --data.")
    said = {"name": name, "unregistered": forgotten, "deleted": data and stored}
    words = [word for word, done in (("forgotten", forgotten), ("deleted", data and stored)) if done]
    out.show(said, lambda screen: screen.say(f"{name} is {' and '.join(words)}."))
    return OK

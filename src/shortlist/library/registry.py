"""The registry: names of corpora and their sources, in a file in the configuration directory, plus built-in names."""

from __future__ import annotations

import contextlib
import inspect
import json
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist import sources
from shortlist._files import locked, replace_text
from shortlist._paths import config_dir
from shortlist._redact import redact
from shortlist.errors import InputError, RegistryDamaged
from shortlist.index.corpus_paths import OF_A_PATH, corpus_dir, full_name, stored_corpora
from shortlist.index.engine import EMBEDDED
from shortlist.index.engines.address import Address
from shortlist.index.location import find_corpus_file

FILE = "corpora.json"
FORMAT = 1

BUILT_IN = ("skills", "packages", "mcp")  # each is its own kind
KIND_OF_A_PATH = dict(zip(OF_A_PATH, ("tools", "files", "skills"), strict=True))
ONLY_IN_A_PROGRAM = {"mapping": "A mapping exists", "list": "A list exists", "functions": "Functions exist"}


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered name: the kind of source, its roots and options, the embedder, and the engine.

    `engine` is the address of a cluster, without secrets, or None for local storage.
    """

    name: str
    kind: str
    roots: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    embedder: str | None = None
    engine: str | None = None

    def source(self) -> sources.CorpusSource:
        make = sources.SOURCES.get(self.kind)
        if make is not None:
            signature = inspect.signature(make)
            if wrong := [name for name in self.options if name not in signature.parameters]:
                raise InputError(f"A corpus of the kind {self.kind!r} has no option {wrong[0]!r}. Leave it out.")
            try:
                signature.bind(*self.roots, name=self.name, **self.options)
            except TypeError:
                given = f"has one root, not {len(self.roots)}" if self.roots else "needs a root"
                advice = "Pass root=PATH, or --root PATH on the command line."
                raise InputError(f"A corpus of the kind {self.kind!r} {given}. {advice}") from None
        return sources.CorpusSource.of_kind(self.kind, *self.roots, name=self.name, **self.options)

    def to_dict(self) -> dict[str, Any]:
        values = {"kind": self.kind, "roots": list(self.roots), "options": dict(self.options)}
        return values | {"embedder": self.embedder} | ({"engine": self.engine} if self.engine else {})


def register(
    name: str,
    kind: str,
    root: str | Path | Sequence[str | Path] | None = None,
    pattern: str | None = None,
    *,
    exclude: str | None = None,
    ocr: bool = False,
    timeout: float | None = None,
    embedder: str | None = None,
    engine: str | None = None,
    replace: bool = False,
) -> Registration:
    """Store a source under a name, for `build(name)` and for searches by that name. Nothing is read or built yet.

    `root` is a path or a list of paths. `pattern`, `exclude` and `ocr` are options of "files", and `timeout` in seconds
    of "mcp". `engine` is the address of a cluster to store the corpus in; user and password are not saved. A name that
    is registered for something else, or whose stored corpus is not registered, needs `replace=True`.
    """
    _check_name(name)
    if kind in ONLY_IN_A_PROGRAM:
        raise InputError(f"{ONLY_IN_A_PROGRAM[kind]} only in memory and cannot be registered. Use shortlist.build.")
    roots = () if root is None else (root,) if isinstance(root, str | Path) else tuple(root)
    options = {"pattern": pattern, "exclude": exclude, "ocr": ocr or None, "timeout": timeout}
    given = {key: value for key, value in options.items() if value is not None}
    address = None if engine in (None, EMBEDDED) else str(Address.parse(engine))
    entry = Registration(name, kind, tuple(_lasting(place) for place in roots), given, embedder, address)
    entry.source()  # raises if it is invalid
    with _writing() as known:
        if name in known and known[name] != entry and not replace:
            before = f"{known[name].kind} {redact(' '.join(known[name].roots))}".rstrip()
            raise InputError(
                f"{name!r} is already registered as {before}. Choose another name, or replace it with register "
                "(replace=True, --replace)."
            )
        if name not in (*known, *BUILT_IN) and find_corpus_file(name) and not replace:
            raise InputError(
                f"A corpus that is not registered is already stored as {name!r}, and the next build would remove "
                "documents that are not in the new source. Choose another name, or replace it with register "
                "(replace=True, --replace)."
            )
        _check_neighbours(name, known)
        known[name] = entry
    return entry


def unregister(name: str) -> bool:
    """Remove a name from the registry; its corpus stays. Returns whether the name was registered."""
    with _writing() as known:
        return known.pop(name, None) is not None


def registered() -> dict[str, Registration]:
    """All registrations, by name."""
    return _read(registry_file())


def find(name: str) -> Registration | None:
    """The registration of a name, also for built-in names, docs:PATH, tools:PATH and skills:PATH."""
    for prefix, kind in KIND_OF_A_PATH.items():
        if name.startswith(prefix) and name != prefix:
            full = full_name(name)
            return Registration(full, kind, (full.removeprefix(prefix),))
    entry = registered().get(name)
    return Registration(name, name) if entry is None and name in BUILT_IN else entry


def names() -> list[str]:
    """All names of corpora: registered, stored and built in."""
    return sorted({*registered(), *stored_corpora(), *BUILT_IN})


def registry_file() -> Path:
    return config_dir() / FILE


def add_missing(file: Path, names: Collection[str], change: Callable[[Registration], Registration]) -> None:
    """Add what another registry has of these names, or all of it. A name with another registration is an error."""
    found = {name: change(entry) for name, entry in _read(file).items() if not names or name in names}
    with _writing() as known:
        for name, entry in found.items():
            if known.get(name, entry) != entry:
                raise InputError(
                    f"{name!r} is already registered as something else. Unregister it: shortlist rm {name}"
                )
        known |= found


def _check_name(name: str) -> None:
    corpus_dir(name)  # raises if no folder can have this name
    wrong = [letter for letter in name if letter in "/\\," or not letter.isprintable()]
    if wrong:
        raise InputError(
            f"Invalid name {name!r}: it contains {wrong[0]!r}. Use letters, digits, dots, dashes and underscores."
        )
    if name != name.strip() or name.endswith(".") or name.startswith("-"):
        raise InputError(f"Invalid name {name!r}: it must not start with -, end with a dot, or have spaces around it.")
    if name.startswith(OF_A_PATH):
        raise InputError(f"Invalid name {name!r}: {', '.join(OF_A_PATH)} mark paths, which need no registration.")


def _check_neighbours(name: str, known: Mapping[str, Registration]) -> None:
    """Reject a name that shares a folder with another name on file systems that ignore case or normalize letters."""

    def fold_name(name: str) -> str:
        return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())

    for other in {*known, *stored_corpora(), *BUILT_IN} - {name}:
        if fold_name(other) == fold_name(name):
            raise InputError(f"{name!r} would share a folder with {other!r} on some systems. Choose another name.")


def _lasting(root: str | Path) -> str:
    """An absolute path; URLs stay as they are."""
    return str(root) if "://" in str(root) else str(Path(root).expanduser().resolve())


@contextlib.contextmanager
def _writing() -> Iterator[dict[str, Registration]]:
    """Lock and read the registry; write it at the end if it changed."""
    path = registry_file()
    with locked(path.with_suffix(".lock")):
        known = _read(path)
        before = dict(known)
        yield known
        if known != before:
            _write(path, known)


def _read(path: Path) -> dict[str, Registration]:
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, and this version of shortlist reads {FORMAT}")
        return {str(name): _entry(str(name), **values) for name, values in data["corpora"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RegistryDamaged(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RegistryDamaged(
            f"{path} is damaged ({type(error).__name__}: {error}). Nothing was overwritten. Fix it by hand, restore "
            f"it from a backup, or move it away and register your corpora again."
        ) from error


def _entry(name: str, kind: str, roots: list[str], options: dict[str, Any], **others: str | None) -> Registration:
    return Registration(name, str(kind), tuple(map(str, roots)), dict(options), **others)


def _write(path: Path, known: Mapping[str, Registration]) -> None:
    data = {"format": FORMAT, "corpora": {name: known[name].to_dict() for name in sorted(known)}}
    try:
        text = json.dumps(data, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"The options of a registered corpus must be plain data: {error}.") from None
    replace_text(path, f"{text}\n", private=True)  # a root may be a URL with a key

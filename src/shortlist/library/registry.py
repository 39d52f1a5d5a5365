"""The registry: names of corpora and where their documents come from, in a file of the user, plus built-in names."""

from __future__ import annotations

import contextlib
import inspect
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist._files import locked, replace_text
from shortlist._paths import config_dir
from shortlist._redact import redact
from shortlist.errors import InputError, RegistryDamaged
from shortlist.index.corpus_paths import OF_A_PATH, corpus_dir, full_name, stored_corpora
from shortlist.index.engine import EMBEDDED
from shortlist.index.engines.address import Address
from shortlist.sources import SOURCES, CorpusSource

FILE = "corpora.json"
FORMAT = 1

BUILT_IN = ("skills", "packages", "mcp")  # each is its own kind
KIND_OF_A_PATH = dict(zip(OF_A_PATH, ("tools", "files"), strict=True))
ONLY_IN_A_PROGRAM = ("mapping", "list")


@dataclass(frozen=True, slots=True)
class Registration:
    """What a name stands for: a kind of source, the places it reads, its options, and what to build with.

    `engine` is the address of the cluster that keeps it, without secrets, or None for this machine.
    """

    name: str
    kind: str
    roots: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    embedder: str | None = None
    engine: str | None = None

    def source(self) -> CorpusSource:
        make = SOURCES.get(self.kind)
        if make is not None:
            try:
                inspect.signature(make).bind(*self.roots, name=self.name, **self.options)
            except TypeError as error:
                hint = "" if self.roots else " Say where it comes from: root=..., or --root PATH on the command line."
                raise InputError(f"A corpus of kind {self.kind!r} cannot be made from this: {error}.{hint}") from None
        return CorpusSource.of_kind(self.kind, *self.roots, name=self.name, **self.options)

    def to_dict(self) -> dict[str, Any]:
        values = {"kind": self.kind, "roots": list(self.roots), "options": dict(self.options)}
        return values | {"embedder": self.embedder} | ({"engine": self.engine} if self.engine else {})


def register(
    name: str,
    kind: str,
    root: str | Path | Sequence[str | Path] | None = None,
    pattern: str | None = None,
    *,
    embedder: str | None = None,
    engine: str | None = None,
    replace: bool = False,
    **options: Any,
) -> Registration:
    """Remember what a name stands for, for every process and every later day; nothing is read or built yet.

    `root` is a place to read, or several; `pattern` and further options are those of the kind of source; `engine` is
    the address of a cluster to keep it in, of which user and password are not remembered. The same name with another
    meaning is an error unless `replace` is set.
    """
    _check_name(name)
    if kind in ONLY_IN_A_PROGRAM:
        raise InputError(f"A {kind} lives only in a program and cannot be registered; build it with shortlist.build.")
    roots = () if root is None else (root,) if isinstance(root, str | Path) else tuple(root)
    given = {key: value for key, value in {"pattern": pattern, **options}.items() if value is not None}
    address = None if engine in (None, EMBEDDED) else str(Address.parse(engine))
    entry = Registration(name, kind, tuple(_lasting(place) for place in roots), given, embedder, address)
    entry.source()  # which says what is wrong with it
    with _writing() as known:
        if name in known and known[name] != entry and not replace:
            before = f"{known[name].kind} {redact(' '.join(known[name].roots))}".rstrip()
            raise InputError(
                f"{name!r} is already registered as {before}. Take another name, unregister it first, or replace it "
                "(replace=True, --replace)."
            )
        _check_neighbours(name, known)
        known[name] = entry
    return entry


def unregister(name: str) -> bool:
    """Forget what a name stands for; what was built of it stays. Whether there was such a name."""
    with _writing() as known:
        return known.pop(name, None) is not None


def registered() -> dict[str, Registration]:
    """What was registered, by name."""
    return _read(registry_file())


def find(name: str) -> Registration | None:
    """What a name stands for: what was registered under it, or what is built in."""
    entry = registered().get(name)
    if entry is None and name in BUILT_IN:
        entry = Registration(name, name)
    for prefix, kind in KIND_OF_A_PATH.items():
        if name.startswith(prefix) and name != prefix:
            full = full_name(name)
            entry = Registration(full, kind, (full.removeprefix(prefix),))
    return entry


def names() -> list[str]:
    """Every name that stands for a corpus: registered, stored or built in."""
    return sorted({*registered(), *stored_corpora(), *BUILT_IN})


def registry_file() -> Path:
    return config_dir() / FILE


def _check_name(name: str) -> None:
    corpus_dir(name)  # which says what no folder can be called
    wrong = [letter for letter in name if letter in "/\\," or not letter.isprintable()]
    if wrong:
        raise InputError(
            f"The name {name!r} cannot be registered: {wrong[0]!r} would make it a path, a list or unreadable. "
            f"Use letters, digits, dots, dashes and underscores."
        )
    if name != name.strip() or name.endswith(".") or name.startswith("-"):
        raise InputError(f"The name {name!r} cannot be registered: no spaces around it, no - before, no . after it.")
    if name.startswith(OF_A_PATH):
        raise InputError(f"Names that begin with {' or '.join(OF_A_PATH)} stand for a path and need no registration.")


def _check_neighbours(name: str, known: Mapping[str, Registration]) -> None:
    """Refuse a name whose folder is that of another name where file systems ignore case or normalize letters."""

    def fold_name(name: str) -> str:
        return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())

    for other in {*known, *stored_corpora(), *BUILT_IN} - {name}:
        if fold_name(other) == fold_name(name):
            raise InputError(f"{name!r} would share a folder with {other!r} on some systems. Take another name.")


def _lasting(root: str | Path) -> str:
    """The place written out, so that it means the same from everywhere; an address is itself."""
    return str(root) if "://" in str(root) else str(Path(root).expanduser().resolve())


@contextlib.contextmanager
def _writing() -> Iterator[dict[str, Registration]]:
    """What is registered, to be changed by nobody else meanwhile, and written at the end if it was."""
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
            f"{path} is damaged ({type(error).__name__}: {error}). Nothing was overwritten. Mend it by hand, restore "
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
    replace_text(path, f"{text}\n", private=True)  # a root may be an address with a key in it

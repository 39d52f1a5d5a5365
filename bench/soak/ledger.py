"""The documents of a soak run, computed from their ids and versions, and the ledger of acknowledged changes."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from shortlist import Corpus, Document

GROUPS = 30  # of each owner
FILES = 24
FAILED = ("read-only disk", "power cut")  # faults in which nothing reaches the disk
STATE = "state.txt"  # the file that has the number of its manifest
WORDS = [f"{a}{b}" for a in ("bal", "cor", "dun", "fen", "gil", "hob", "lar", "mos") for b in ("a", "et", "ik", "on")]


class Violation(Exception):
    """The system did what it must never do."""


# Documents of a writer: those of a group are always written together, with the same version.


def make_group(owner: str, group: int, version: int) -> list[Document]:
    """The documents of a group at a version; none at version 0."""
    return [_make_document(owner, group, number, version) for number in range(group % 5 + 1) if version]


def _make_document(owner: str, group: int, number: int, version: int) -> Document:
    draw = random.Random(f"{owner} {group} {number} {version}")
    words = " ".join(draw.choices(WORDS, k=draw.choice((5, 20, 60, 250))))
    return Document(
        f"{owner}-{group}-{number}",
        f"Note {number}",
        f"{make_anchor(owner, group)} version {_spell(version)} {words}.",
        metadata={"owner": owner, "version": version},
    )


def _spell(version: int) -> str:
    """A version in four words. A number of its own for each would fill the caches of words in every process."""
    return " ".join(WORDS[version // len(WORDS) ** place % len(WORDS)] for place in range(4))


def _read_version(text: str) -> int | None:
    found = re.search(r"version (\w+) (\w+) (\w+) (\w+)", text)
    return sum(WORDS.index(word) * len(WORDS) ** at for at, word in enumerate(found.groups())) if found else None


def make_anchor(owner: str, group: int) -> str:
    """A word that only the documents of this group contain."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in f"{group:02}") + f"{owner}x"


def check_text(id: str, text: str, version: int | None = None, *, whole: bool = False) -> int:
    """The version of a text; a Violation if it is not part of what was written under its id, or not all of it."""
    if id.endswith(".txt"):
        return 0
    owner, group, _ = id.split("-")
    version = _read_version(text) if version is None else version
    if version is None and not whole:  # not the first passage of its document
        return 0
    written = [document.content for document in make_group(owner, int(group), version or 0) if document.id == id]
    if version is None or not written or (text != written[0] if whole else text.strip() not in written[0]):
        raise Violation(f"{id} has a text that was not written as version {version}: {text[:200]!r}")
    return version


def find_versions(documents: Iterable[tuple[str, str]], owner: str) -> dict[int, int]:
    """The version of each stored group of an owner, given ids with contents; a Violation if a group is mixed."""
    found: dict[int, dict[int, int]] = {}
    for id, content in documents:
        if id.startswith(f"{owner}-"):
            _, group, number = id.split("-")
            found.setdefault(int(group), {})[int(number)] = check_text(id, content, whole=True)
    for at, versions in found.items():
        if len(set(versions.values())) != 1 or len(versions) != at % 5 + 1:
            raise Violation(f"Group {owner}-{at} is mixed: document and version {versions}.")
    return {at: versions[0] for at, versions in found.items()}


# Files of a folder: their state as a whole has a number.


def make_manifest(number: int) -> dict[str, str]:
    """The files of a folder and their texts at a number. Each step changes, adds or removes a fifth of them."""
    files = {STATE: f"state {number}"}
    for at in range(FILES):
        age = (number + at) // 5
        if (age + at) % 4:
            words = random.Random(f"{at} {age}").choices(WORDS, k=40)
            files[f"note{at}.txt"] = f"note {at} age {age} {' '.join(words)}"
    return files


def find_manifest(documents: Mapping[str, str]) -> int:
    """The number of the manifest that a corpus of files contains; a Violation if it is a mix."""
    if not documents:
        return 0
    number = int(documents.get(STATE, "state 0").split()[1])
    wanted = make_manifest(number)
    if documents != wanted:
        wrong = sorted(id for id in {*documents, *wanted} if documents.get(id) != wanted.get(id))
        raise Violation(f"The corpus of files is not manifest {number}: {', '.join(wrong)} differ.")
    return number


class Ledger:
    """The versions of groups that were begun and acknowledged, in a file that survives the process.

    `fault` returns the number and name of the fault of the disk. What a process learns after the disk has failed is not
    an acknowledgment: with a real power cut the process would be gone, while here the kernel may report a success.
    """

    def __init__(self, path: Path, fault: Callable[[], tuple[int, str]] = lambda: (0, "")) -> None:
        self._path, self._fault, self._begun = path, fault, fault()
        self._possible: dict[int, set[int]] = {}  # versions that may be stored; only one if it was acknowledged
        self._last = 0
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                what, versions = json.loads(line)
            except ValueError:  # cut off by a kill, so nothing followed from it
                continue
            self._apply(what, {int(group): version for group, version in versions.items()})

    def next_version(self) -> int:
        return self._last + 1

    def begin(self, versions: Mapping[int, int]) -> None:
        self._begun = self._fault()
        self._write("begin", versions)

    def acknowledge(self, versions: Mapping[int, int]) -> None:
        if self._fault() == self._begun and self._begun[1] not in FAILED:
            self._write("done", versions)

    def settle(self, stored: Mapping[int, int]) -> None:
        """Compare what is stored with what may be; a Violation if a change was lost or undone."""
        for group, possible in self._possible.items():
            version = stored.get(group, 0)
            if version not in possible:
                raise Violation(f"Group {group} has version {version}, not one of {sorted(possible)}.")
        if extra := {group for group in stored if group not in self._possible}:
            raise Violation(f"The groups {sorted(extra)} were never written.")
        unsure = {group: stored.get(group, 0) for group, possible in self._possible.items() if len(possible) > 1}
        if unsure and self._fault()[1] not in FAILED:
            self._write("done", unsure)

    def _write(self, what: str, versions: Mapping[int, int]) -> None:
        with self._path.open("a") as file:
            file.write(f"\n{json.dumps([what, dict(versions)])}")
            file.flush()
            os.fsync(file.fileno())
        self._apply(what, versions)

    def _apply(self, what: str, versions: Mapping[int, int]) -> None:
        for group, version in versions.items():
            possible = self._possible.setdefault(group, {0})
            if what == "done":
                possible.clear()
            possible.add(version)
            self._last = max(self._last, version)


def read_state(corpus: Corpus) -> dict[str, str]:
    """The ids and contents of all documents in one state of a corpus."""
    with corpus.snapshot() as state:
        found = {id: state.get(id) for id, _, _ in state.places()}
    if lost := [id for id, document in found.items() if document is None]:
        raise Violation(f"{lost[0]} is listed but cannot be read.")
    return {id: document.content for id, document in found.items() if document}

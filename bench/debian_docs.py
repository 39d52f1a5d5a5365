"""Documentation that Debian packages install: pages in HTML, manual pages as text, and the prose of its guides.

`fetch` needs `apt-get`, `dpkg`, `man` and a package mirror. There are two sets, with questions in bench/cases. One half
of the questions of debian_docs is for development; those of the other half, and all of new_docs, are printed only on
request.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NAME = "debian_docs"
NEW = "new_docs"  # nothing was fitted to it
CASES = Path(__file__).with_name("cases")

# The files of each package. A manual page becomes text as a terminal shows it; a compressed text is unpacked.
FILES = {
    "python3.11-doc": ("usr/share/doc/python3.11/html/library/*.html",),
    "postgresql-doc-15": tuple(
        f"usr/share/doc/postgresql-doc-15/html/{name}.html"
        for name in ("runtime-config*", "datatype*", "auth*", "backup*", "client-authentication*", "limits", "routine*")
    ),
    "cron": ("usr/share/man/man*/*.gz",),
    "curl": ("usr/share/man/man1/curl.1.gz",),
    "findutils": ("usr/share/man/man1/*.gz",),
    "git-man": tuple(
        f"usr/share/man/man*/{name}.gz"
        for name in ("git-config.1", "git-gc.1", "git-rebase.1", "git-reflog.1", "git-stash.1", "gitignore.5")
    ),
    "logrotate": ("usr/share/man/man8/*.gz",),
    "mount": ("usr/share/man/man*/*.gz",),
    "openssh-client": ("usr/share/man/man*/*.gz",),
    "passwd": ("usr/share/man/man*/*.gz",),
    "rsync": ("usr/share/man/man*/*.gz",),
    "sudo": ("usr/share/man/man*/*.gz",),
    "systemd": tuple(
        f"usr/share/man/man5/{name}.5.gz"
        for name in ("systemd.service", "systemd.timer", "systemd.unit", "systemd.kill", "journald.conf", "logind.conf")
    ),
    "tar": ("usr/share/man/man1/tar.1.gz",),
    "debian-policy": ("usr/share/doc/debian-policy/policy.html/ch-*.html", "usr/share/doc/debian-policy/fhs/*.txt.gz"),
    "debian-faq": ("usr/share/doc/debian/FAQ/*.en.html",),
    "installation-guide-amd64": ("usr/share/doc/installation-guide-amd64/en/*.html",),
}
NEW_FILES = {
    "sqlite3-doc": tuple(
        f"usr/share/doc/sqlite3/{name}.html"
        for names in (
            "about appfunc atomiccommit autoinc backup changes cli copyright datatype3 dbstat eqp errlog faq",
            "fileformat2 flextypegood foreignkeys fts5 gencol howtocorrupt inmemorydb isolation json1 lang_*",
            "limits loadext lockingv3 lts mmap nulls omitted partialindex pragma quirks rescode rowidtable rtree",
            "security sharedcache sqldiff stricttables tempfiles testing threadsafe uri versionnumbers wal",
            "whentouse windowfunctions withoutrowid",
        )
        for name in names.split()
    ),
    "borgbackup": ("usr/share/man/man1/*.gz",),
    "dirmngr": ("usr/share/man/man8/*.gz",),
    "gpg": ("usr/share/man/man1/*.gz",),
    "gpg-agent": ("usr/share/man/man1/*.gz",),
    "gpgconf": ("usr/share/man/man1/*.gz",),
    "lighttpd-doc": ("usr/share/doc/lighttpd/*.txt*",),
}

SETS = {NAME: FILES, NEW: NEW_FILES}


class Unavailable(Exception):
    """The packages cannot be downloaded or read here."""


@dataclass(frozen=True)
class Case:
    """A question, patterns of which a right answer contains one (none if nothing answers it), and what answers it."""

    question: str
    answers: tuple[str, ...]
    file: str  # "package/name" below the folder of documents; empty without an answer
    form: str  # html, man or guide
    half: str  # dev or test


def load_cases(name: str = NAME) -> list[Case]:
    rows = map(json.loads, (CASES / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [
        Case(
            row["question"],
            tuple(row["answers"]),
            f"{row['package']}/{row['file']}" if row["file"] else "",
            row["form"],
            "test" if name == NEW or hashlib.sha256(row["question"].encode()).digest()[0] % 2 else "dev",
        )
        for row in rows
    ]


def fetch(folder: Path, name: str = NAME) -> None:
    """Download the packages of a set and write their files to a folder, one subfolder per package."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)  # apt-get gives up its privileges before it downloads
        download(list(SETS[name]), place)
        for package, patterns in SETS[name].items():
            tree = unpack(package, place)
            target = Path(place) / "docs" / package
            target.mkdir(parents=True)
            for path in sorted(path for pattern in patterns for path in tree.glob(pattern)):
                write_document(path, target)
        shutil.copytree(Path(place) / "docs", folder)


def download(packages: Sequence[str], place: str) -> None:
    """Download packages to a folder."""
    _run(["apt-get", "download", *packages], place)


def unpack(package: str, place: str) -> Path:
    """Unpack a package in a folder, to which it is downloaded if it was not yet."""
    tree = Path(place) / package
    if not list(Path(place).glob(f"{package}_*.deb")):
        download([package], place)
    _run(["dpkg", "-x", str(next(Path(place).glob(f"{package}_*.deb"))), str(tree)], place)
    return tree


def write_document(path: Path, target: Path) -> None:
    if "/man/" in path.as_posix():
        width = os.environ | {"MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
        text = _run(["man", "--nh", "--nj", "-P", "cat", "-l", str(path)], str(target), width)
        if text.count("\n") > 10:  # others only refer to a page
            (target / f"{path.stem}.txt").write_text(text, "utf-8")
    elif path.suffix == ".gz":
        (target / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    else:
        shutil.copy(path, target)


def _run(command: list[str], place: str, environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise Unavailable(f"{command[0]} is not installed.") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        raise Unavailable(f"{' '.join(command[:3])}: {lines[-1]}") from None
    return done.stdout

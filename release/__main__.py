"""`python -m release build` builds into dist/, and `python -m release check` installs and tries what is there.

`build` makes the source distribution and the wheel of this machine, or with `--all-platforms` the wheels of all, which
Zig compiles. `check` writes the software bill of materials beside them. `make dist` does both. `registry` writes
build/server.json, the entry in the MCP registry, and `plugins` the manifests of the plugins for agents.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from packaging.tags import platform_tags

from hatch_build import REPOSITORY, SITE, TARGETS
from release.bill_of_materials import write_bill
from release.plugins import write_plugins
from release.registry import write_server

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# How the libraries for a system begin, and the newest version of glibc that they may need.
MAGIC = {"manylinux": b"\x7fELF", "musllinux": b"\x7fELF", "macosx": b"\xcf\xfa\xed\xfe", "win": b"MZ"}
GLIBC = 17
UV = "uv==0.13.7"


def build(*, all_platforms: bool) -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(DIST))
    for tag in TARGETS if all_platforms else [own_platform()]:
        wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(DIST)]
        run(*wheel, str(find_file(".tar.gz")), SHORTLIST_PLATFORM=tag)
        check_libraries(find_file(f"-py3-none-{tag}.whl"), tag)


def own_platform() -> str:
    """The tag of the wheel that this machine installs."""
    return next(tag for tag in platform_tags() if tag in TARGETS)


def check_libraries(wheel: Path, tag: str) -> None:
    """Check that the compiled loops in a wheel are for its platform."""
    with zipfile.ZipFile(wheel) as archive:
        libraries = [archive.read(name) for name in archive.namelist() if Path(name).suffix in (".so", ".dll")]
    versions = [int(minor) for data in libraries for minor in re.findall(rb"GLIBC_2\.(\d+)", data)]
    is_right = all(data.startswith(MAGIC[tag.partition("_")[0]]) for data in libraries)
    if not libraries or not is_right or max(versions, default=0) > GLIBC:
        raise SystemExit(f"{wheel.name} has no compiled loops, or they do not run everywhere on {tag}: {versions}")


def check() -> None:
    wheel, sdist = find_file(f"-py3-none-{own_platform()}.whl"), find_file(".tar.gz")
    with tempfile.TemporaryDirectory() as place:
        for name, package in {"base": f"{wheel}", "sdist": f"{sdist}", "all": f"{wheel}[all]"}.items():
            print(f"{package.rpartition(os.sep)[2]} ...", flush=True)
            python = make_environment(Path(place, name), package)
            smoke = [str(python), str(ROOT / "release" / "smoke.py"), "all" if name == "all" else "base"]
            home = Path(place, name, "home")
            home.mkdir()
            folders = {f"SHORTLIST_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "CACHE")}
            run(*smoke, HOME=str(home), USERPROFILE=str(home), **folders)
        check_uvx(Path(place), python, f"{wheel}[mcp]")
        tool = make_environment(Path(place, "tool"), "cyclonedx-bom==7.5.0")
        write_bill(tool, python, DIST / f"{sdist.name.removesuffix('.tar.gz')}.cdx.json")
    print(f"dist/ has {', '.join(sorted(path.name for path in DIST.iterdir()))}.")


def check_uvx(place: Path, python: Path, package: str) -> None:
    """Install with uvx from a folder of wheels, without an index, and start what it wrote with a client."""
    uvx = make_environment(place / "uv", UV).with_name("uvx.exe" if sys.platform == "win32" else "uvx")
    links, home = place / "links", place / "uv" / "home"
    run(sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(links), package)
    home.mkdir()
    source = {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(links), "UV_CACHE_DIR": str(home / "uv")}
    path = os.pathsep.join([str(uvx.parent), os.environ["PATH"]])
    smoke = [str(python), str(ROOT / "release" / "smoke.py"), "uvx"]
    run(*smoke, HOME=str(home), USERPROFILE=str(home), PATH=path, UV_PYTHON=sys.executable, **source)


def make_environment(folder: Path, package: str) -> Path:
    """The Python of a new environment with a package and nothing else, not even pip."""
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", package)
    return python


def find_file(end: str) -> Path:
    for file in DIST.glob(f"shortlist-*{end}"):
        return file
    raise SystemExit(f"dist/ has no file *{end}. Build it with: python -m release build")


def run(*command: str, **variables: str) -> None:
    ours = ("SHORTLIST_", "PYTHONPATH")
    addresses = (REPOSITORY, SITE)
    kept = {name: value for name, value in os.environ.items() if name in addresses or not name.startswith(ours)}
    if code := subprocess.run(command, cwd=ROOT, env=kept | variables, check=False).returncode:
        raise SystemExit(f"Failed with {code}: {' '.join(command)}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("step", choices=("build", "check", "registry", "plugins"))
    parser.add_argument("--all-platforms", action="store_true", help="build the wheels of all platforms")
    given = parser.parse_args()
    if given.step == "build":
        build(all_platforms=given.all_platforms)
    elif given.step == "check":
        check()
    elif given.step == "plugins":
        write_plugins(ROOT, os.environ.get(REPOSITORY, ""), os.environ.get(SITE, ""))
    else:
        write_server(ROOT / "build" / "server.json", os.environ.get(REPOSITORY, ""), os.environ.get(SITE, ""))


if __name__ == "__main__":
    main()

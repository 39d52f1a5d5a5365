"""Two hooks of the build: one compiles the loops in src/shortlist/index/kernels, one adds the addresses of a release.

The loops become shared libraries, for the wheel or the editable install. They use nothing of Python, so one wheel per
platform serves every version of it. The compiler is that of the machine, or Zig's from PyPI if there is none or the
wheel is for another platform (SHORTLIST_PLATFORM, such as `macosx_11_0_arm64`). A compiler of the machine that cannot
compile, such as one without headers, counts as none. Where nothing can be compiled, the build fails.

No file names the owner of the repository. The release workflow sets SHORTLIST_REPOSITORY_URL and SHORTLIST_SITE_URL,
which become project URLs, full addresses of the links in the README, and the name in the MCP registry.

`python hatch_build.py` compiles the loops in place, with `--sanitize` with sanitizers.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
KERNELS = ROOT / "src/shortlist/index/kernels"
COMPILED = "compiled"
GITHUB = re.compile(r"https://github\.com/([\w.-]+)/[\w.-]+")
REPOSITORY, SITE = "SHORTLIST_REPOSITORY_URL", "SHORTLIST_SITE_URL"
ZIG = "ziglang==0.17.0"
OPTIONS = ["-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-shared", "-s"]  # sums as written, no FMA
# A wrong access ends the process with a report, if the runtime of the sanitizers is preloaded. See `make sanitize`.
SANITIZED = [*OPTIONS[:-1], "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

# The variants for a processor, the plain one first, for any compiler and for Zig; `cpu_level` of cpu.c chooses one.
LEVELS = {
    "x86_64": ["-march=x86-64", "-march=x86-64-v3", "-march=x86-64-v4"],
    "aarch64": ["-march=armv8-a", "-march=armv8.2-a+dotprod"],
}
ZIG_LEVELS = {
    "x86_64": ["-mcpu=x86_64", "-mcpu=x86_64_v3", "-mcpu=x86_64_v4"],
    "aarch64": ["-mcpu=generic", "-mcpu=generic+dotprod"],
}
# Wheels by platform tag, and Zig's name for it.
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
    "win_arm64": "aarch64-windows-gnu",
}


def hash_sources(folder: Path = KERNELS) -> int:
    """What a library was compiled from; the loader compares it in a checkout."""
    return zlib.crc32(b"".join(path.read_bytes() for path in sorted(folder.glob("*.[ch]"))))


def compile_loops(wanted: str = "", options: Sequence[str] = OPTIONS) -> list[Path]:
    """Compile every variant, for this machine or for a platform tag, and return the libraries."""
    folder = KERNELS / COMPILED
    shutil.rmtree(folder, ignore_errors=True)
    command = find_compiler(wanted)
    if not command:
        raise RuntimeError("There is no C compiler that works. Install one, or Zig's with: pip install ziglang")
    folder.mkdir()
    target = TARGETS.get(wanted, "")
    machine = target.partition("-")[0] or {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    windows = "windows" in target if target else sys.platform == "win32"
    macos = "macos" in target if target else sys.platform == "darwin"
    end, more = (".dll", []) if windows else (".so", ["-fPIC", "-lm"])
    sources = sorted(map(str, KERNELS.glob("*.c")))
    levels = (ZIG_LEVELS if "ziglang" in command else LEVELS).get(machine, ["-O3"])
    libraries = [folder / f"loops-{level}{end}" for level in range(len(levels))]

    def compile_level(option: str, library: Path) -> subprocess.CompletedProcess[str]:
        arguments = [*options, option, f"-DSOURCES={hash_sources()}u", *sources, "-o", str(library), *more]
        if macos:  # otherwise the library names the folder in which it was compiled
            arguments.append(f"-Wl,-install_name,@rpath/{library.name}")
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)

    with ThreadPoolExecutor() as pool:
        done = list(pool.map(compile_level, levels, libraries))
    # An old compiler may not know the newer kinds of processors.
    if failed := [one for one in done[: len(done) if wanted else 1] if one.returncode]:
        shutil.rmtree(folder)
        raise RuntimeError(f"The loops could not be compiled for {wanted or 'this machine'}:\n{failed[0].stderr}")
    made = [library for library, one in zip(libraries, done, strict=True) if not one.returncode]
    for rest in (*folder.glob("*.pdb"), *folder.glob("*.lib")):
        rest.unlink()
    return made


def find_compiler(wanted: str = "") -> list[str]:
    """The command of a C compiler that can compile for a platform tag, or for this machine."""
    if wanted and wanted not in TARGETS:
        raise ValueError(f"SHORTLIST_PLATFORM is {wanted!r}. Use one of {', '.join(TARGETS)}.")
    if not wanted and sys.platform != "win32":
        for own in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
            if can_compile(own.split()):
                return own.split()
    if importlib.util.find_spec("ziglang") is None:
        return []
    return [sys.executable, "-m", "ziglang", "cc", *(["-target", TARGETS[wanted]] if wanted else [])]


def can_compile(command: Sequence[str]) -> bool:
    """Whether a compiler exists and finds the headers of C."""
    program = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\nint main(void) { return 0; }"
    arguments = [*command, "-x", "c", "-fsyntax-only", "-"]
    try:
        done = subprocess.run(arguments, input=program, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


class CompileLoops(BuildHookInterface[Any]):
    """The step of a build of hatchling that compiles them."""

    def dependencies(self) -> list[str]:
        wanted = os.environ.get("SHORTLIST_PLATFORM", "")
        return [ZIG] if wanted or not find_compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("SHORTLIST_PLATFORM", "")
        made = compile_loops(wanted)
        if version != "editable":
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{wanted or sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
            build_data["artifacts"] += [f"/{path.relative_to(self.root).as_posix()}" for path in made]


class AddAddresses(MetadataHookInterface):
    """The step that adds the addresses of a release to the metadata; a build for oneself has none."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = os.environ.get(REPOSITORY, "")
        readme = (ROOT / "README.md").read_text("utf-8")
        metadata["urls"] = list_urls(repository, os.environ.get(SITE, "")) if repository else {}
        text = add_addresses(readme, repository, read_version()) if repository else readme
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def list_urls(repository: str, site: str) -> dict[str, str]:
    urls = {
        "Repository": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/v{read_version()}/CHANGELOG.md",
    }
    return urls | ({"Documentation": site} if site else {})


def add_addresses(readme: str, repository: str, version: str) -> str:
    """The README with full addresses, for the package index, and the mark that the MCP registry looks for there."""
    images = re.sub(r"(!\[[^]]*\]\()(?!\w+:|#)", rf"\g<1>{repository}/raw/v{version}/", readme)
    links = re.sub(r"(\]\()(?!\w+:|#)", rf"\g<1>{repository}/blob/v{version}/", images)
    return f"{links}\n<!-- mcp-name: {name_server(repository)} -->\n" if GITHUB.fullmatch(repository) else links


def name_server(repository: str) -> str:
    """The name in the MCP registry, whose namespace belongs to the owner of a repository on GitHub."""
    found = GITHUB.fullmatch(repository)
    if not found:
        raise ValueError(f"{REPOSITORY} is {repository!r}. Use an address such as https://github.com/OWNER/REPOSITORY.")
    return f"io.github.{found[1]}/shortlist"


def read_version() -> str:
    text = (ROOT / "src/shortlist/__init__.py").read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


if __name__ == "__main__":
    try:
        print(*compile_loops(options=SANITIZED if "--sanitize" in sys.argv else OPTIONS), sep="\n")
    except RuntimeError as error:
        sys.exit(str(error))

"""Compiles the loops in src/shortlist/index/kernels into shared libraries, for the wheel or the editable install.

They use nothing of Python, so one wheel per platform serves every version of it. The compiler is that of the machine,
or Zig's from PyPI if there is none or the wheel is for another platform (SHORTLIST_PLATFORM, such as
`macosx_11_0_arm64`). A compiler of the machine that cannot compile, such as one without headers, counts as none.
Where nothing can be compiled, the build fails.

`python hatch_build.py` compiles them in place, with `--sanitize` with sanitizers.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path(__file__).parent / "src/shortlist/index/kernels"
COMPILED = "compiled"
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
    end, more = (".dll", []) if windows else (".so", ["-fPIC", "-lm"])
    sources = sorted(map(str, KERNELS.glob("*.c")))
    made = []
    levels = (ZIG_LEVELS if "ziglang" in command else LEVELS).get(machine, ["-O3"])
    for level, option in enumerate(levels):
        library = folder / f"loops-{level}{end}"
        arguments = [*options, option, f"-DSOURCES={hash_sources()}u", *sources, "-o", str(library), *more]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        if done.returncode and level and not wanted:
            break  # an old compiler, which does not know this kind of processor
        if done.returncode:
            shutil.rmtree(folder)
            raise RuntimeError(f"The loops could not be compiled for {wanted or 'this machine'}:\n{done.stderr}")
        made.append(library)
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


if __name__ == "__main__":
    try:
        print(*compile_loops(options=SANITIZED if "--sanitize" in sys.argv else OPTIONS), sep="\n")
    except RuntimeError as error:
        sys.exit(str(error))

"""Other processes: commands that start Python again without importing anything from the working directory."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist._environment import read_variable

if TYPE_CHECKING:
    import subprocess

OWN_FOLDER = Path(__file__).resolve().parents[2]  # that this package is imported from


def count_cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_command(module: str) -> list[str]:
    """The command that runs `main` of one of our modules, which imports from where this process does."""
    program = f"import sys; sys.path[:] = {find_import_path()!r}; from {module} import main; main()"
    return [sys.executable, "-P", "-c", program]


def start_worker(module: str) -> subprocess.Popen[bytes]:
    """Start `main` of one of our modules, which is sent requests on stdin and answers on stdout."""
    import subprocess  # noqa: PLC0415  # takes 3 ms, and few programs start a worker

    return subprocess.Popen(
        make_command(module),
        env=make_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def end_worker(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    with contextlib.suppress(OSError), worker:  # closes the pipes and waits
        pass


def make_environment() -> dict[str, str]:
    """The environment of such a process: an empty entry of PYTHONPATH would be the working directory."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def find_import_path() -> list[str]:
    """The folders that this process imports from, without the working directory, unless this package is in it."""
    here = None
    with contextlib.suppress(OSError):  # it was deleted
        here = Path.cwd().resolve()
    places = [(entry, Path(entry).resolve()) for entry in map(str, sys.path) if os.path.isabs(entry)]
    return [entry for entry, place in places if place != here or place == OWN_FOLDER]


def find_on_path(command: str) -> str:
    """The full path of a command without a folder. Windows would look into the working directory first."""
    import shutil  # noqa: PLC0415  # takes longer to load than all else here, and every start loads this

    if os.path.dirname(command):
        return command
    for folder in filter(os.path.isabs, read_variable("PATH").split(os.pathsep)):
        if found := shutil.which(os.path.join(folder, command)):
            return found
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command)


def make_restart_command() -> list[str]:
    """The command that started this process. `python -m shortlist` gets -P, which it lacked if a user typed it."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    is_our_module = main is not None and main.name == "shortlist.__main__" and Path.cwd().resolve() != OWN_FOLDER
    return [sys.executable, *(["-P"] if is_our_module else []), *sys.orig_argv[1:]]

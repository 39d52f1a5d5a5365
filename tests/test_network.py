"""Nothing leaves this machine unless the user asks for it: the main jobs look up no name and connect to loopback only.

Covered are all processes that the jobs start. What Python does is seen by a `sitecustomize` that refuses and records;
what native code does, such as onnxruntime, by strace in a network namespace without a network, and by the files that
its telemetry would leave in the home folder.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import shortlist
from shortlist.index.embedders import models
from tests.syntax import parse_file

ROOT = Path(__file__).parents[1]
JOBS = ROOT / "tests" / "offline_jobs.py"

# Records and refuses every look-up of a name and every connection to another machine.
GUARD = """
import ipaddress, os, socket

def refuse(what):
    with open(os.environ["NETWORK_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{what}\\n")
    raise OSError(f"the network is not allowed: {what}")

def check(host):
    if host in (None, "", b"", "localhost", b"localhost"):
        return
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except ValueError:
        refuse(f"look-up of {host!r}")
    if not (address.is_loopback or address.is_unspecified):
        refuse(f"connection to {host}")

def guard(function):
    def guarded(host, *arguments, **options):
        check(host)
        return function(host, *arguments, **options)
    return guarded

for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
    setattr(socket, name, guard(getattr(socket, name)))

class Socket(socket.socket):
    def _check(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(address[0])
    def connect(self, address):
        self._check(address)
        return super().connect(address)
    def connect_ex(self, address):
        self._check(address)
        return super().connect_ex(address)
    def sendto(self, data, *rest):
        self._check(rest[-1])
        return super().sendto(data, *rest)

socket.socket = socket.SocketType = Socket
"""
CALL = re.compile(r"\b(connect|sendto|sendmsg|sendmmsg)\(.*sa_family=AF_INET6?\b.*")
LOOPBACK = re.compile(r'sin_addr=inet_addr\("127\.|inet_pton\(AF_INET6, "(?:::1|::ffff:127\.[\d.]+)"')
NATIVE = "import ctypes; ctypes.CDLL(None).getaddrinfo(b'name.invalid', b'80', None, ctypes.byref(ctypes.c_void_p()))"


class Watched(NamedTuple):
    """A process and those that it started: how it ended, and what it did with the network and its home folder."""

    code: int
    errors: str
    in_python: list[str]
    in_native_code: list[str]
    home: Path


def isolation() -> list[str]:
    """The command that traces another one in a network namespace with loopback alone; empty if that is not possible."""
    found = [shutil.which(name) for name in ("unshare", "ip", "strace")]
    if sys.platform != "linux" or not all(found):
        return []
    command = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    command += ["strace", "-f", "--seccomp-bpf", "-qq"]  # which stops processes at the calls that are traced alone
    tried = [*command, "-e", "trace=connect", "-o", os.devnull, "true"]
    return command if subprocess.run(tried, capture_output=True).returncode == 0 else []


def watch(folder: Path, *arguments: str) -> Watched:
    """Run Python without a network if possible, and in any case with the guard."""
    (folder / "guard").mkdir(parents=True)
    (folder / "guard" / "sitecustomize.py").write_text(GUARD, "utf-8")
    (folder / "home").mkdir()
    log, trace = folder / "network.log", folder / "trace"
    wrapped: Sequence[str] = isolation()
    if wrapped:
        calls = "trace=connect,sendto,sendmsg,sendmmsg"
        wrapped = [*wrapped, "-e", calls, "-e", "signal=none", "-o", str(trace)]
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    own = {f"SHORTLIST_{kind}_DIR": str(folder / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE")}
    environment = kept | own | {
        "HOME": str(folder / "home"), "NETWORK_LOG": str(log), "PYTHONPATH": str(folder / "guard"),
    }  # fmt: skip
    done = subprocess.run(
        [*wrapped, sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )
    traced = trace.read_text("utf-8", "replace").splitlines() if trace.exists() else []
    calls_made = [line for line in traced if CALL.search(line)]
    outside = [line for line in calls_made if not LOOPBACK.search(line) or "htons(53)" in line]
    in_python = log.read_text("utf-8").splitlines() if log.exists() else []
    return Watched(done.returncode, done.stderr, in_python, outside, folder / "home")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    folder = tmp_path_factory.mktemp("offline")
    watched = watch(folder, "-P", str(JOBS), str(folder / "work"))
    assert watched.code == 0, watched.errors
    return watched


@pytest.mark.extras
def test_the_main_jobs_look_up_no_name_and_connect_to_no_other_machine(jobs: Watched) -> None:
    assert jobs.in_python == []


@pytest.mark.extras
def test_the_main_jobs_leave_no_telemetry_of_a_library_in_the_home_folder(jobs: Watched) -> None:
    found = [path.relative_to(jobs.home).as_posix() for path in jobs.home.rglob("*")]
    assert [path for path in found if re.search(r"(?i)microsoft|onnxruntime|huggingface|telemetry|device", path)] == []


@pytest.mark.extras
def test_native_code_looks_up_no_name_and_connects_to_no_other_machine(jobs: Watched) -> None:
    if not isolation():
        pytest.skip("needs Linux with unshare, ip and strace, and the right to make a network namespace")
    assert jobs.in_native_code == []


def test_the_watch_sees_look_ups_of_python_and_of_native_code(tmp_path: Path) -> None:
    asks = "import socket; socket.create_connection(('name.invalid', 80))"
    assert watch(tmp_path / "name", "-c", asks).in_python == ["look-up of 'name.invalid'"]
    asks = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    assert watch(tmp_path / "address", "-c", asks).in_python == ["connection to 192.0.2.1"]
    if isolation():
        found = watch(tmp_path / "native", "-c", NATIVE)
        assert found.in_python == []
        assert any("htons(53)" in line for line in found.in_native_code)


def test_libraries_that_run_models_are_imported_in_one_place_with_telemetry_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    libraries = {"onnxruntime", "huggingface_hub", "tokenizers", "transformers", "sentence_transformers", "model2vec"}
    elsewhere = []
    for path in Path(shortlist.__file__).parent.rglob("*.py"):
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None)
                names = {module or "", *(() if module else (alias.name for alias in node.names))}
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
                "import_module", "import_extra", "__import__",
            ):  # fmt: skip
                names = {str(getattr(node.args[0], "value", ""))} if node.args else set()
            else:
                continue
            elsewhere += [f"{path.name}: {name}" for name in names if name.partition(".")[0] in libraries]
    assert elsewhere == []
    for variable in models.TELEMETRY_OFF:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "0")
    models.import_library("tokenizers")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "0"  # what the user has set stays

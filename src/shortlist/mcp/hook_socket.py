"""The socket on which a running gateway answers `shortlist hook`, for the same user only.

It is in a folder that only the user can enter, and both sides check who the other one is. Windows has none.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

from shortlist._paths import data_dir, make_folder
from shortlist._projects import project_root

ANSWER_SECONDS = 0.4  # that the hook waits; then it searches itself
LONGEST_ANSWER = 8_000  # bytes
LONGEST_PATH = 100  # bytes, what every system permits
MOST_GATEWAYS = 4  # of a project, that are asked
PROBE_SECONDS = 0.1  # for each other gateway when one starts; a stopped process may never answer

HAS_SOCKETS = sys.platform != "win32"


def socket_folder() -> Path:
    return data_dir() / "mcp" / "hook"


def _list_sockets() -> list[Path]:
    """The sockets of the gateways of this project, the latest first."""
    found = [(entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in _scan()]
    return [Path(path) for _, path in sorted(found, reverse=True)]


def _make_prefix() -> str:
    """How the names of the sockets of this project begin."""
    return f"{crc32(os.fsencode(project_root().resolve())):08x}-"


def _scan() -> Iterator[os.DirEntry[str]]:
    folder, prefix = socket_folder(), _make_prefix()
    if HAS_SOCKETS and _is_private(folder):
        yield from (entry for entry in os.scandir(folder) if entry.name.startswith(prefix))


def _is_private(folder: Path) -> bool:
    """Whether a folder is the user's, and closed to all others."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _is_own(connection: Any) -> bool:
    """Whether the process at the other end is the user's."""
    if hasattr(socket, "SO_PEERCRED"):
        _, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    else:  # macOS and BSD: LOCAL_PEERCRED, a struct xucred
        _, uid = struct.unpack_from("2I", connection.getsockopt(0, 1, 76))
    return bool(uid == os.geteuid())


def ask_gateway(query: str) -> str | None:
    """What a running gateway of this project has to say about a prompt; None if none answers."""
    for path in _list_sockets()[:MOST_GATEWAYS]:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(path))
            if not _is_own(connection):
                continue
            connection.sendall(f"{query}\n".encode())
            answer = bytearray()
            while len(answer) < LONGEST_ANSWER and (part := connection.recv(LONGEST_ANSWER)):
                answer += part
            if answer[:1] == b"=":  # else it could not answer
                return answer[1:].decode()
    return None


@contextlib.asynccontextmanager
async def answer_hooks(find_hints: Callable[[str], str]) -> AsyncIterator[None]:
    """Answer the hooks of this project meanwhile. Without a socket, they search themselves."""
    import asyncio  # noqa: PLC0415  # not for the hook

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(Exception), contextlib.closing(writer):  # without an answer, the hook searches
            if _is_own(writer.get_extra_info("socket")):
                query = (await asyncio.wait_for(reader.readline(), ANSWER_SECONDS)).decode().rstrip()
                hints = await asyncio.to_thread(find_hints, query) if query else ""  # a probe of another gateway
                writer.write(b"=" + hints.encode())
                await writer.drain()

    async with contextlib.AsyncExitStack() as stack:
        with contextlib.suppress(OSError):
            if HAS_SOCKETS and (path := _make_path()):
                await stack.enter_async_context(await asyncio.start_unix_server(answer, path))
                stack.callback(path.unlink, missing_ok=True)
        yield


def _make_path() -> Path | None:
    """A path for the socket of this process; None if there can be none. Sockets of dead gateways are removed."""
    folder = socket_folder()
    make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{_make_prefix()}{os.getpid()}"
    if not _is_private(folder) or len(os.fsencode(path)) > LONGEST_PATH:
        return None
    path.unlink(missing_ok=True)
    for other in _list_sockets():
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PROBE_SECONDS)
                connection.connect(str(other))
        except ConnectionRefusedError:
            other.unlink(missing_ok=True)
        except OSError:
            continue
    return path

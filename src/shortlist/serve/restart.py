"""When must the process begin anew? For who works on the settings or on the code (`server.reload`)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import shortlist

LOOK_SECONDS = 0.5


class Restart:
    """Stops the server once the settings file or the code of this package has changed, to run the same command anew."""

    def __init__(self, settings: Path | None, stop: Callable[[], None]) -> None:
        self._settings = settings.resolve() if settings else None
        self._stop = stop
        self._ended = threading.Event()
        self.is_due = False
        self._thread = threading.Thread(target=self._look, args=(self._stamps(),), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more; if something has changed, become the same command, begun now."""
        self._ended.set()
        self._thread.join()
        if self.is_due:
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])

    def _look(self, before: dict[Path, int]) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            if self._stamps() != before:
                self.is_due = True
                self._stop()
                return

    def _stamps(self) -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in self._files() if path.exists()}

    def _files(self) -> Iterator[Path]:
        if self._settings:
            yield self._settings
        yield from Path(shortlist.__file__).parent.rglob("*.py")

"""When must the process begin anew? For who works on the settings or on the code (`server.reload`)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import shortlist
from shortlist.errors import InputError
from shortlist.server.catalog_store import log
from shortlist.server.service_settings import Settings

LOOK_SECONDS = 0.5


class Restart:
    """Stops the server once the settings file or the code of this package has changed, to run the same command anew.

    While the settings make no sense, the server goes on as it is.
    """

    def __init__(self, settings: Settings, stop: Callable[[], None]) -> None:
        self._settings = settings
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
            now = self._stamps()
            if now != before and self._can_begin():
                self.is_due = True
                self._stop()
                return
            before = now

    def _can_begin(self) -> bool:
        try:
            self._settings.read_again()
        except InputError as error:
            log.error("%s The service goes on with the settings that it has.", error)
            return False
        return True

    def _stamps(self) -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in self._files() if path.exists()}

    def _files(self) -> Iterator[Path]:
        if self._settings.file:
            yield self._settings.file
        yield from Path(shortlist.__file__).parent.rglob("*.py")

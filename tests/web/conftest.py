"""A real service on loopback and a real Chromium; a page that complains, or asks somebody else, fails its test."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, ViewportSize, expect, sync_playwright

import shortlist
from shortlist import CorpusSource

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "page.md").read_text("utf-8")
(COMMAND,) = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

expect.set_options(timeout=20_000)

# Counts every shift of the layout, also those right after a key was pressed, which browsers forgive.
COUNT_SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const moved = (entry.sources ?? []).map((source) => source.node?.className ?? source.node?.nodeName ?? "?");
    window.shifts.push(`${entry.value.toFixed(5)} ${moved.join(", ")}`);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


class Service:
    """A service process of its own, with a folder of its own, started as docs/page.md says."""

    def __init__(self, folder: Path, catalog: str | None = None, token: str = "", llm: str = "") -> None:
        self.folder = folder
        self.token = token
        folder.mkdir(parents=True, exist_ok=True)
        tools = (ROOT / "examples" / "data" / "tools.yaml").read_text("utf-8")
        (folder / "tools.yaml").write_text(tools if catalog is None else catalog, "utf-8")
        places = {f"SHORTLIST_{kind}_DIR": str(folder / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE")}
        others = {name: value for name, value in os.environ.items() if not name.startswith(("BM25S_", "SHORTLIST_"))}
        model = {"SHORTLIST_LLM_URL": llm, "SHORTLIST_LLM_MODEL": "small-model"} if llm else {}
        environment = {**others, **places, **model, **({"SHORTLIST_TOKEN": token} if token else {})}
        program, *arguments = shlex.split(COMMAND)
        assert program == "shortlist"
        command = [sys.executable, "-m", "shortlist", *arguments, "--port", "0"]
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stderr=log)
        self.url = self._address()

    def _address(self) -> str:
        while self.process.poll() is None:
            if found := re.search(r"Serving on (http://[^ ]+:\d+)\.", (self.folder / "log").read_text("utf-8")):
                return found[1]
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text("utf-8"))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the service answers to somebody who is not the page."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service of all tests that leave it as it was, with a corpus of skills beside the catalog."""
    folder = tmp_path_factory.mktemp("service")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHORTLIST_DATA_DIR", str(folder / "data"))
        patch.setenv("SHORTLIST_CONFIG_DIR", str(folder / "config"))
        shortlist.build(CorpusSource.from_skills(ROOT / "examples" / "data" / "skills"), name="runbooks").close()
    service = Service(folder)
    yield service
    service.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a service for one test."""
    with ExitStack() as stack:

        def start(**options: Any) -> Service:
            service = Service(tmp_path / "service", **options)
            stack.callback(service.stop)
            return service

        yield start


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """Opens pages of one origin, and remembers what they complain about."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._provoked: tuple[str, ...] = ()
        self.complaints: list[str] = []

    def provoke(self, *errors: str) -> None:
        """From now on the test itself causes these errors of the console, however late the browser tells of them."""
        self._provoked += errors

    def __call__(self, url: str, place: str = "", **options: Any) -> Page:
        context = self._browser.new_context(**{"viewport": DESKTOP, **options})
        context.set_default_timeout(20_000)
        context.add_init_script(COUNT_SHIFTS)
        self._contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("dialog", self._interrupted)
        page.on("request", lambda request: self._asked(request.url, url))
        page.goto(f"{url}/{place}")
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(error in text for error in self._provoked):
            self.complaints.append(f"{kind}: {text}")

    def _interrupted(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, address: str, origin: str) -> None:
        if not address.startswith(f"{origin}/"):
            self.complaints.append(f"request: {address}")

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Opened]:
    """Opens a page; at the end nothing may have gone wrong in it, and nobody else may have been asked."""
    opened = Opened(browser)
    yield opened
    opened.close()
    assert opened.complaints == []

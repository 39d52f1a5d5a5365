"""Takes the screenshots of the documentation: python -m tests.web.screenshots"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import sync_playwright

from tests.web.conftest import FLAGS, ROOT, Service

PLACE = "#/search?q=refund+a+payment+to+the+customer%27s+card"
IMAGES = ROOT / "docs" / "images"


def main() -> None:
    schemes: tuple[tuple[Literal["light", "dark"], str], ...] = (("light", "page.png"), ("dark", "page-dark.png"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        service = Service(Path(folder))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme, name in schemes:
            page = browser.new_page(
                viewport={"width": 1360, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
            )
            page.goto(f"{service.url}/{PLACE}")
            page.locator(".hits .hit").nth(1).click()
            page.get_by_role("heading", name="Why this rank").wait_for()
            page.screenshot(path=IMAGES / name)
        page = browser.new_page(viewport={"width": 1360, "height": 1180}, color_scheme="light")
        page.goto(f"{service.url}/#/eval")
        page.locator("input[type=file]").set_input_files(ROOT / "examples" / "data" / "cases.jsonl")
        page.get_by_role("button", name="Evaluate").click()
        page.locator(".misses").wait_for()
        page.screenshot(path=IMAGES / "eval.png")
        browser.close()
        service.stop()


if __name__ == "__main__":
    main()

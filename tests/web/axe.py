"""axe-core, which checks the accessibility of a page: an npm package, checked by hash and fetched once into a cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.servers.archive import cache_folder, locked, run_npm

PACKAGE = "axe-core@4.10.3"
RUN = "(options) => axe.run({ ...options, resultTypes: ['violations'] }).then((result) => result.violations)"
SHA256 = "880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb"


def find_violations(
    page: Page, impacts: tuple[str, ...] = ("serious", "critical"), rules: Sequence[str] = ()
) -> list[str]:
    """The rules that elements of the page violate, with the elements; in dark colors only those about contrast.

    `rules` are checked instead of those that axe-core has on by default; experimental ones are not.
    """
    if not page.evaluate("'axe' in window"):
        # The policy of the page allows no other script, but the developer tools are not bound by it.
        session = page.context.new_cdp_session(page)
        loaded = session.send("Runtime.evaluate", {"expression": f"{_fetch()};axe.version"})
        assert loaded["result"].get("value") == PACKAGE.rpartition("@")[2], loaded
    found: list[Any] = page.evaluate(RUN, {"runOnly": list(rules)} if rules else {})
    page.emulate_media(color_scheme="dark")
    found += page.evaluate(RUN, {"runOnly": ["color-contrast"]})
    page.emulate_media(color_scheme="light")
    return [
        f"{rule['id']}: {', '.join(str(node['target']) for node in rule['nodes'])}"
        for rule in found
        if rule["impact"] in impacts
    ]


def _fetch() -> str:
    script = cache_folder() / f"{PACKAGE.replace('@', '-')}.min.js"
    if not script.exists():
        if shutil.which("npm") is None:
            pytest.skip("There is no npm here to fetch axe-core with: apt-get install npm")
        script.parent.mkdir(parents=True, exist_ok=True)
        with locked(script.with_suffix(".lock")), tempfile.TemporaryDirectory(dir=script.parent) as folder:
            try:
                run_npm("pack", PACKAGE, f"--pack-destination={folder}", f"--cache={folder}/cache", "--ignore-scripts")
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                pytest.skip("npm cannot reach its registry to fetch axe-core.")
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as package:
                content = package.extractfile("package/axe.min.js")
                assert content
                (Path(folder) / "axe.js").write_bytes(content.read())
            (Path(folder) / "axe.js").replace(script)
    text = script.read_bytes()
    assert hashlib.sha256(text).hexdigest() == SHA256
    return text.decode()

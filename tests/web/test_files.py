"""The files of the page as they are sent, without a browser."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from shortlist.server import application

FOLDER = Path(application.__file__).parent / "web"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    application.add_pages(app)
    return TestClient(app)


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_sent_unchanged_and_only_once(client: TestClient, name: str) -> None:
    answer = client.get(f"/page/{name}")
    kinds = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    assert answer.content == (FOLDER / name).read_bytes()
    assert answer.headers["Content-Type"].split(";")[0] == kinds[Path(name).suffix]
    again = client.get(f"/page/{name}", headers={"If-None-Match": f'"old", W/{answer.headers["ETag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head(f"/page/{name}").headers["ETag"] == answer.headers["ETag"]


def test_the_policy_allows_no_other_origin_and_nothing_inline(client: TestClient) -> None:
    answer = client.get("/")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[kind] for kind in ("script-src", "style-src", "img-src", "connect-src")} == {"'self'"}
    assert policy["trusted-types"] == "'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not re.search(r"<style|<script>|\sstyle=|\son\w+=|https?://", answer.text)


@pytest.mark.parametrize("name", ["nothing.js", "..%2fhttp.py", "%2e%2e/http.py", ""])
def test_no_other_file_is_sent(client: TestClient, name: str) -> None:
    assert client.get(f"/page/{name}").status_code == 404


def test_every_imported_module_is_there_and_every_module_is_imported() -> None:
    texts = {name: (FOLDER / name).read_text("utf-8") for name in FILES}
    imported = {
        posixpath.normpath(f"{posixpath.dirname(name)}/{target}").lstrip("/")
        for name, text in texts.items()
        for target in re.findall(r'"(\.{1,2}/[a-z./-]+\.js)"', text)
    }
    named = set(re.findall(r'"/page/([^"]+)"', texts["index.html"]))
    assert imported | named == set(FILES) - {"index.html"}


def test_no_module_turns_text_into_html() -> None:
    for name in FILES:
        text = (FOLDER / name).read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )

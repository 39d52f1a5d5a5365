"""The files of the page as they are sent, without a browser."""

from __future__ import annotations

import posixpath
import re
from base64 import b64encode
from hashlib import sha256
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


def test_the_policy_allows_no_other_origin_and_only_the_scripts_and_styles_of_the_page(client: TestClient) -> None:
    answer = client.get("/")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[kind] for kind in ("img-src", "connect-src")} == {"'self'"}
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        inline = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", answer.text, re.DOTALL)
        hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in inline]
        assert policy[kind].split() == ["'self'", *hashes]
    assert policy["trusted-types"] == "'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    document = re.sub(r"<(script|style).*?</\1>", "", answer.text, flags=re.DOTALL)
    assert not re.search(r"\sstyle=|\son\w+=|https?://", document)


def test_the_page_is_compressed_and_sent_only_once(client: TestClient) -> None:
    plain = client.get("/", headers={"Accept-Encoding": "identity"})
    answer = client.get("/", headers={"Accept-Encoding": "gzip"})
    assert (answer.headers["Content-Encoding"], answer.text) == ("gzip", plain.text)
    assert "Content-Encoding" not in plain.headers
    assert int(answer.headers["Content-Length"]) < int(plain.headers["Content-Length"]) / 3
    again = client.get("/", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_page_contains_every_module_and_loads_no_other(client: TestClient) -> None:
    text = client.get("/").text
    modules = set(re.findall(r'^"([\w/-]+\.js)": \(exports\)', text, re.MULTILINE))
    only_types = {"core/types.js", "search/types.js"}
    assert modules == {name for name in FILES if name.endswith(".js")} - only_types - {"core/theme.js"}
    assert set(re.findall(r'load\("([^"]+)"\)', text)) == modules
    assert not re.search(
        r"^(import|export) |\bimport\(|<(script|link)[^>]* (src|href)=\"/page/(?!icon)", text, re.MULTILINE
    )


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

"""Every request in docs/guides/service.md is sent to a running service and answered as shown."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import yaml
from fastapi.testclient import TestClient

from shortlist._settings import SECTIONS, VARIABLES
from shortlist.server.service_settings import load_settings
from tests.server.conftest import Start

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "guides" / "service.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
ANYTHING = "…"


def fits(shown: Any, answered: Any) -> bool:
    """Whether an answer equals the shown one; … matches anything, at the end of a list any more items."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict) and isinstance(answered, dict):
        return shown.keys() == answered.keys() and all(fits(shown[key], answered[key]) for key in shown)
    if isinstance(shown, list) and isinstance(answered, list):
        if shown and shown[-1] == ANYTHING:
            shown, answered = shown[:-1], answered[: len(shown) - 1]
        return len(shown) == len(answered) and all(map(fits, shown, answered))
    return type(shown) is type(answered) and bool(shown == answered)


def test_every_request_is_answered_as_shown_and_every_program_runs(start: Start, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "data" / "tools.yaml", tmp_path)
    ((_, line),) = [block for block in BLOCKS if block[0] == "sh"]
    program, command, *arguments = shlex.split(line)
    assert (program, command) == ("shortlist", "serve")
    service = start(*arguments)
    asked = 0
    for language, block in BLOCKS:
        if language == "http":
            head, _, body = block.partition("\n")
            method, path = head.split()
            kind = {"Content-Type": "application/json"} if body.strip() else {}
            answered = service.http.request(method, path, content=body.strip() or None, headers=kind)
            asked += 1
        elif language == "json":
            assert fits(json.loads(block), answered.json()), f"{head}\n{json.dumps(answered.json(), indent=2)}"
        elif language == "text":
            shown, answer = block.splitlines(), answered.text.strip().splitlines()
            assert len(shown) == len(answer)
            assert all(one == other or one == f"data: {ANYTHING}" for one, other in zip(shown, answer, strict=True))
        elif language == "python":
            exec(compile(block.replace("http://localhost:9200", service.url), "docs/guides/service.md", "exec"), {})
    assert asked == sum(language in ("json", "text") for language, _ in BLOCKS) == 18


def test_the_documented_settings_file_has_every_key_and_the_defaults(tmp_path: Path) -> None:
    ((_, text),) = [block for block in BLOCKS if block[0] == "yaml"]
    (tmp_path / "settings.yaml").write_text(text)
    shown, defaults = load_settings(tmp_path / "settings.yaml", environment={}), load_settings(environment={})
    for section in SECTIONS:
        said, default = getattr(shown, section).model_dump(), getattr(defaults, section).model_dump()
        assert {key for key in said if said[key] != default[key]} <= {"source", "folder"}
    keys = {f"{section}.{key}" for section, values in yaml.safe_load(text).items() for key in values}
    left_out = {row["key"] for row in shown.rows()} - keys
    assert left_out == {"server.token", "server.corpora", "llm.key", "engine.password"}
    assert all(f"`{key}`" in DOCUMENT for key in [*left_out, *VARIABLES])


def test_every_route_is_documented_and_every_documented_route_exists(shared: TestClient) -> None:
    paths = shared.get("/openapi.json").json()["paths"]
    known = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    text = DOCUMENT.replace("/NAME", "/{name}").replace("/ID", "/{id}").replace("/catalog/", "/{name}/")
    named = set(re.findall(r"(GET|POST|DELETE) (/(?:[\w/{}-]|\.\w)*)", text))
    named = {(method, path.replace("/documents/book_courier", "/documents/{id}")) for method, path in named}
    named |= {("GET", "/v1/corpora/{name}/documents/{id}")}  # documented as "GET and DELETE"
    assert known <= named
    assert named - known <= {("GET", "/docs"), ("GET", "/openapi.json")}

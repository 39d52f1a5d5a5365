"""The requests, settings and Python code of the guides to the service, run against a service."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from shortlist._paths import data_dir
from shortlist.compat.retriever_settings import KEYS, load_compat_settings
from tests.pages import read_blocks, read_page
from tests.server.conftest import Start
from tests.vectors import TOOLS, store_vectors_for_service

DOCUMENT = "".join(read_page(f"guides/{name}.md") for name in ("service", "monitor", "retriever"))
BLOCKS = read_blocks(DOCUMENT)
ANYTHING = "…"


def fits(shown: Any, answered: Any) -> bool:
    """Whether an answer is what is shown; `…` is any value, as a key more keys, at the end of a list more items."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict) and isinstance(answered, dict):
        named = shown.keys() - {ANYTHING}
        has_all = named < answered.keys() if ANYTHING in shown else named == answered.keys()
        return has_all and all(fits(shown[key], answered[key]) for key in named)
    if isinstance(shown, list) and isinstance(answered, list):
        if shown and shown[-1] == ANYTHING:
            shown, answered = shown[:-1], answered[: len(shown) - 1]
        return len(shown) == len(answered) and all(map(fits, shown, answered))
    return type(shown) is type(answered) and bool(shown == answered)


def test_every_request_is_answered_as_shown_and_every_program_runs(start: Start, tmp_path: Path) -> None:
    shutil.copy(TOOLS, tmp_path)
    store_vectors_for_service(tmp_path / TOOLS.name, data_dir())
    (line,) = (block.text for block in BLOCKS if block.language == "sh")
    program, command, *arguments = shlex.split(line)
    assert (program, command) == ("shortlist", "serve")
    service = start(*arguments)
    for number, (language, text) in enumerate(BLOCKS):
        if language == "http":
            head, _, body = text.partition("\n")
            method, path = head.split()
            headers = {"Content-Type": "application/json"} if body.strip() else {}
            answer = service.http.request(method, path, content=body.strip() or None, headers=headers)
            shown = BLOCKS[number + 1]
            if shown.language == "json":
                assert fits(json.loads(shown.text), answer.json()), f"{head}\n{json.dumps(answer.json(), indent=2)}"
            else:
                lines, expected = answer.text.strip().splitlines(), shown.text.splitlines()
                assert [
                    one if other != f"data: {ANYTHING}" else other for one, other in zip(lines, expected, strict=True)
                ] == expected
        elif language == "python":
            exec(compile(text.replace("http://localhost:9200", service.url), "docs/guides/retriever.md", "exec"), {})


def test_the_settings_file_has_the_defaults(tmp_path: Path) -> None:
    (text,) = (block.text for block in BLOCKS if block.language == "yaml")
    (tmp_path / "settings.yaml").write_text(text)
    shown, defaults = (
        load_compat_settings(tmp_path / "settings.yaml", environment={}),
        load_compat_settings(environment={}),
    )
    for section in KEYS.sections:
        values, default = getattr(shown, section).model_dump(), getattr(defaults, section).model_dump()
        assert {key for key in values if values[key] != default[key]} <= {"source", "folder"}


def test_every_route_in_the_text_exists(shared: TestClient) -> None:
    paths = shared.get("/openapi.json").json()["paths"]
    known = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    text = DOCUMENT.replace("/NAME", "/{name}").replace("/ID", "/{id}").replace("/catalog/", "/{name}/")
    text = text.replace("/manuals/", "/{name}/")
    text = text.replace("/documents/book_courier", "/documents/{id}")
    assert set(re.findall(r"(GET|POST|DELETE) (/(?:[\w/{}-]|\.\w)*)", text)) <= known

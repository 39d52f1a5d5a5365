"""Settings and switched files of the retriever survive restarts, and no file outside of the folder is served."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from shortlist.compat import retriever_settings
from tests.server.conftest import TOOLS, Make, ids, write_catalog

NEW = {"id": "new", "title": "New tool", "content": "Brings something new."}


def test_settings_changed_over_http_survive_until_the_configured_value_changes(make: Make) -> None:
    make().post("/settings", json={"temperature": 3})
    assert make().get("/settings").json()["temperature"] == 3.0
    client = make(bm25s__llm_tools_cutoff=20)  # about another setting
    assert client.get("/settings").json() == {"temperature": 3.0, "ignore_zero": True, "llm_tools_cutoff": 20.0}
    configured = {row["key"]: row["origin"] for row in client.get("/status").json()["configuration"]}
    assert configured["bm25s.temperature"] == "POST /settings"
    assert make(bm25s__temperature=1).get("/settings").json()["temperature"] == 1.0


def test_a_switched_file_survives_a_restart_with_what_was_changed_in_it(make: Make, catalog: Path) -> None:
    write_catalog(catalog.parent / "other.json", [NEW])
    client = make()
    client.delete("/documents/refund")
    client.post("/settings", json={"temperature": 3})
    switched = client.post("/switch-document-file", json={"file": "other.json"}).json()
    assert (switched["success"], switched["count"]) == (True, 1)
    assert client.get("/settings").json()["temperature"] == 3.0
    client.post("/documents", json=TOOLS[0] | {"id": "beside"})
    client = make()
    assert ids(client.get("/documents")) == ["new", "beside"]
    files = {row["file"]: row["current"] for row in client.get("/document-files").json()["files"]}
    assert files == {"other.json": True, "tools.json": False}
    client.post("/switch-document-file", json={"file": "tools.json"})
    assert ids(make().get("/documents")) == ["track", "invoice"]


def test_a_switch_to_a_broken_file_changes_nothing(make: Make, catalog: Path) -> None:
    (catalog.parent / "broken.yaml").write_text("documents: [")
    client = make()
    assert client.post("/switch-document-file", json={"file": "broken.yaml"}).status_code == 409
    assert client.get("/documents").json()["count"] == 3
    assert client.get("/document-files").json()["current"] == str(catalog.resolve())
    assert client.get("/status").json()["status"] == "ok"
    assert make().get("/documents").json()["count"] == 3


NOWHERE = [
    "../secret.json",
    "sub/../../secret.json",
    "/etc/hostname",
    "..\\secret.json",
    "secret.json\0.yaml",
    "link.json",
    "linked/secret.json",
    "ring.json",
    "notes.txt",
    ".",
    "..",
    "%2e%2e%2fsecret.json",
    "..%2fsecret.json",
    "file:///etc/hostname",
    "~/secret.json",
    "nothing.json",
    "x" * 5000 + ".json",
]


def test_no_path_leaves_the_folder(make: Make, catalog: Path) -> None:
    outside = catalog.parent.parent
    write_catalog(outside / "secret.json", [NEW])
    (catalog.parent / "link.json").symlink_to(outside / "secret.json")
    (catalog.parent / "linked").symlink_to(outside)
    (catalog.parent / "ring.json").symlink_to(catalog.parent / "ring.json")
    (catalog.parent / "notes.txt").write_text("documents: []")
    client = make()
    for name in NOWHERE:
        assert client.post("/switch-document-file", json={"file": name}).status_code in (404, 422), name
    assert ids(client.get("/documents")) == ["refund", "track", "invoice"]
    assert [row["file"] for row in client.get("/document-files").json()["files"]] == ["tools.json"]


def test_the_folder_can_be_configured(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    (folder / "deep").mkdir(parents=True)
    write_catalog(folder / "deep" / "new.json", [NEW])
    client = make(documents__folder=str(folder))
    assert client.post("/switch-document-file", json={"file": "deep/new.json"}).json()["count"] == 1


def test_a_full_disk_is_503_with_the_file(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make()

    def fail(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(retriever_settings, "replace_text", fail)
    answer = client.post("/settings", json={"temperature": 4})
    assert (answer.status_code, answer.json()["title"]) == (503, "Service Unavailable")
    assert "state.json" in answer.json()["detail"]
    assert "SHORTLIST_DATA_DIR" in answer.json()["detail"]
    assert client.get("/settings").json()["temperature"] == 0.5

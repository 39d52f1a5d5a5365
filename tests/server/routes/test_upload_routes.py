"""Files over HTTP: uploaded, indexed, searched and deleted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist.library.uploads import upload_folder
from tests.server.conftest import Make


def upload(client: TestClient, path: str, content: bytes, corpus: str = "letters", **options: Any) -> Any:
    return client.post(f"/v1/corpora/{corpus}/files", params={"path": path}, content=content, **options)


def test_uploaded_files_are_indexed_and_what_was_skipped_is_named(client: TestClient) -> None:
    answer = upload(client, "2024/june.md", b"# June\n\nThe ferry sails at nine.")
    assert answer.json() == {"corpus": "letters", "path": "2024/june.md", "bytes": 32}
    upload(client, "photo.bin", b"\x00\x01\x02\xff" * 100)
    upload(client, "broken.pdf", b"%PDF-1.4 nothing")
    report = client.post("/v1/corpora/letters/build").json()
    assert (report["added"], report["count"]) == (1, 1)
    assert [item["id"] for item in report["skipped"]] == ["broken.pdf", "photo.bin"]
    assert all(item["reason"] for item in report["skipped"])
    hits = client.post("/v1/corpora/letters/search", json={"query": "ferry", "mode": "lexical"}).json()["hits"]
    assert [hit["id"] for hit in hits] == ["2024/june.md"]
    rows = {row["name"]: row["uploaded"] for row in client.get("/v1/corpora").json()["corpora"]}
    assert (rows["letters"], rows["catalog"]) == (True, False)
    again = client.post("/v1/corpora/letters/build").json()
    assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)


def test_progress_is_streamed(client: TestClient) -> None:
    upload(client, "a.md", b"The ferry sails at nine.")
    answer = client.post("/v1/corpora/letters/build", headers={"Accept": "text/event-stream"})
    names = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
    assert names[-1] == "answer"
    assert set(names[:-1]) <= {"progress"}
    assert json.loads(answer.text.rstrip().rpartition("data: ")[2])["count"] == 1


@pytest.mark.parametrize("path", ["../x.md", "a/../../x.md", "..\\x.md", "/", "\x00/.."])
def test_a_path_that_leaves_the_folder_is_422(client: TestClient, path: str) -> None:
    answer = upload(client, path, b"x")
    assert (answer.status_code, "path" in answer.json()["detail"]) == (422, True)
    assert not upload_folder("letters").exists()


@pytest.mark.parametrize("corpus", ["catalog", "skills", "a%2Fb", "x" * 101, "docs:a"])
def test_a_corpus_that_cannot_have_files_is_422(client: TestClient, corpus: str) -> None:
    assert upload(client, "a.md", b"x", corpus).status_code == 422


def test_a_corpus_of_another_source_is_not_built(client: TestClient) -> None:
    for name in ("skills", "nowhere"):
        answer = client.post(f"/v1/corpora/{name}/build")
        assert (answer.status_code, name in answer.json()["detail"]) == (422, True)


def test_large_files_are_refused_before_they_are_read(make: Make) -> None:
    client = make(limits__max_body_bytes=2 << 20)
    assert upload(client, "a.txt", b"x" * (2 << 20)).status_code == 200
    answer = upload(client, "b.txt", b"x" * ((2 << 20) + 1))
    assert (answer.status_code, "limits.max_body_bytes" in answer.json()["detail"]) == (413, True)


def test_uploads_need_the_token_the_origin_and_the_setting(make: Make) -> None:
    client = make(server__token="open-sesame")
    assert upload(client, "a.md", b"x").status_code == 401
    token = {"Authorization": "Bearer open-sesame"}
    assert upload(client, "a.md", b"x", headers=token | {"Origin": "https://evil.example"}).status_code == 403
    assert upload(client, "a.md", b"x", headers=token).status_code == 200
    client = make(server__uploads=False)
    for answer in (upload(client, "a.md", b"x"), client.post("/v1/corpora/letters/build")):
        assert (answer.status_code, "server.uploads" in answer.json()["detail"]) == (403, True)
    client = make(server__corpora=["notes"])
    answer = upload(client, "a.md", b"x")
    assert (answer.status_code, "server.corpora" in answer.json()["detail"]) == (422, True)


def test_deleting_a_document_deletes_its_file(client: TestClient) -> None:
    for name in ("a.csv", "b.md", "c.md"):
        upload(client, name, b"name,role\nOsei,pilot\nMarlowe,cook\n")
    client.post("/v1/corpora/letters/build")
    ids = [one["id"] for one in client.get("/v1/corpora/letters/documents").json()["documents"]]
    assert len(ids) == 4
    deleted = client.post("/v1/corpora/letters/documents/delete", json={"ids": [ids[0]]}).json()
    assert deleted["removed"] == 2  # both rows of the file
    client.delete("/v1/corpora/letters/documents/b.md")
    assert client.post("/v1/corpora/letters/build").json()["count"] == 1
    assert [path.name for path in upload_folder("letters").iterdir()] == ["c.md"]


def test_the_corpus_can_be_built_by_the_library(client: TestClient) -> None:
    upload(client, "a.md", b"The ferry sails at nine.")
    client.post("/v1/corpora/letters/build")
    with shortlist.build("letters") as corpus:
        assert (corpus.ids(), corpus.changes.unchanged) == (["a.md"], 1)


def test_answers_are_as_declared(client: TestClient) -> None:
    upload(client, "a.md", b"The ferry sails at nine.", "catalogs")
    document = client.get("/openapi.json").json()
    for path, schema in (("files", "UploadedFile"), ("build", "BuildReport")):
        described = document["paths"][f"/v1/corpora/{{name}}/{path}"]["post"]["responses"]["200"]["content"]
        assert described["application/json"]["schema"]["$ref"].endswith(f"/{schema}")
        answer = client.post(f"/v1/corpora/catalogs/{path}", params={"path": "a.md"}, content=b"x").json()
        assert answer.keys() == document["components"]["schemas"][schema]["properties"].keys()


def test_deleting_a_document_without_a_file_deletes_no_other(client: TestClient) -> None:
    upload(client, "a.md", b"The ferry sails at nine.")
    client.post("/v1/corpora/letters/build")
    added = [{"id": id, "title": id, "content": "Added without a file."} for id in ("b", "c")]
    client.post("/v1/corpora/letters/documents", json={"documents": added})
    assert client.post("/v1/corpora/letters/documents/delete", json={"ids": ["b"]}).json()["removed"] == 1
    rest = client.get("/v1/corpora/letters/documents").json()["documents"]
    assert [document["id"] for document in rest] == ["a.md", "c"]


def test_files_are_compared_by_hash_and_deleted_by_path(client: TestClient) -> None:
    names = {"a.md": b"One.", "b.md": b"Two.", "c.md": b"Three."}
    files = [{"path": name, "sha256": hashlib.sha256(content).hexdigest()} for name, content in names.items()]
    path = "/v1/corpora/letters/files"
    assert client.post(f"{path}/compare", json={"files": files}).json() == {"missing": [*names], "extra": []}
    assert not upload_folder("letters").exists()
    for name, content in names.items():
        upload(client, name, content)
    client.post("/v1/corpora/letters/build")
    changed = [files[0] | {"sha256": "0" * 64}, files[1]]
    assert client.post(f"{path}/compare", json={"files": changed}).json() == {"missing": ["a.md"], "extra": ["c.md"]}
    assert client.post(f"{path}/delete", json={"paths": ["c.md", "never.md"]}).json() == {"deleted": 1}
    assert client.post("/v1/corpora/letters/build").json()["removed"] == 1
    assert client.post(f"{path}/compare", json={"files": [{"path": "../x", "sha256": "0" * 64}]}).status_code == 422
    assert client.post(f"{path}/delete", json={"paths": ["../x"]}).status_code == 422
    assert client.post("/v1/corpora/catalog/files/compare", json={"files": files}).status_code == 422
    assert client.post("/v1/corpora/skills/files/compare", json={"files": files}).status_code == 422


def test_only_files_are_deleted_by_path_also_many_of_them(client: TestClient) -> None:
    upload(client, "guides/a.md", b"One.")
    path = "/v1/corpora/letters/files/delete"
    many = [f"old/{'x' * 190}/{number}.md" for number in range(9_000)]
    for paths in (["guides"], ["guides/a.md/b.md"], many):
        answer = client.post(path, json={"paths": paths})
        assert (answer.status_code, answer.json()) == (200, {"deleted": 0})
    assert client.post("/v1/corpora/nothing/files/delete", json={"paths": ["a.md"]}).json() == {"deleted": 0}


def test_files_that_would_replace_each_other_are_refused(client: TestClient) -> None:
    files = [{"path": name, "sha256": "0" * 64} for name in ("x?.md", "x_.md")]
    refused = client.post("/v1/corpora/letters/files/compare", json={"files": files})
    assert (refused.status_code, "'x?.md' and 'x_.md'" in refused.json()["detail"]) == (422, True)

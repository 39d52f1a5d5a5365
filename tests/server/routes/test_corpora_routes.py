"""Every corpus over HTTP: the catalog, and the corpora of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist.compat.retriever_service import create_app
from shortlist.compat.retriever_settings import load_compat_settings
from shortlist.index.snapshot import Snapshot
from tests.server.conftest import Make


@pytest.fixture
def notes(tmp_path: Path) -> str:
    folder = tmp_path / "notes"
    (folder / "documents").mkdir(parents=True)
    (folder / "tea.md").write_text("# Tea\n\nHow to brew green tea.")
    (folder / "documents" / "coffee.md").write_text("# Coffee\n\nHow to grind beans.")
    shortlist.register("notes", "files", root=folder, embedder="none")
    shortlist.build("notes").close()
    return "notes"


def test_all_known_corpora_are_listed_and_the_catalog_first(client: TestClient, notes: str) -> None:
    rows = client.get("/v1/corpora").json()["corpora"]
    assert [row["name"] for row in rows] == ["catalog", "mcp", "notes", "packages", "skills"]
    by_name = {row["name"]: row for row in rows}
    assert (by_name["catalog"]["documents"], by_name["catalog"]["embedder"]) == (3, "none")
    assert (by_name["notes"]["documents"], by_name["notes"]["kind"], by_name["notes"]["built"]) == (2, "files", True)
    assert (by_name["skills"]["built"], by_name["skills"]["documents"]) == (False, None)


def test_only_named_corpora_are_served_if_some_are_named(make: Make, notes: str) -> None:
    client = make(server__corpora=["notes"])
    assert [row["name"] for row in client.get("/v1/corpora").json()["corpora"]] == ["catalog", "notes"]
    assert client.post("/v1/corpora/skills/search", json={"query": "x"}).status_code == 404
    assert client.post("/v1/corpora/notes/search", json={"query": "tea"}).status_code == 200


def test_a_catalog_that_no_one_made_is_not_listed_beside_named_corpora(
    notes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = create_app(load_compat_settings(given={"server.corpora": ["notes"]}, environment={}))
    with TestClient(app, base_url="http://localhost:9200") as client:

        def list_names() -> list[str]:
            return [row["name"] for row in client.get("/v1/corpora").json()["corpora"]]

        assert list_names() == ["notes"]
        assert client.post("/documents", json={"id": "a", "title": "A", "content": "Refunds."}).status_code == 200
        assert list_names() == ["catalog", "notes"]


def test_a_corpus_that_was_never_built_is_not_built_by_a_request(client: TestClient) -> None:
    answer = client.post("/v1/corpora/packages/search", json={"query": "x"})
    assert answer.status_code == 409
    assert "shortlist build packages" in answer.json()["detail"]


def test_an_unknown_name_is_404_with_a_suggestion(client: TestClient, notes: str) -> None:
    answer = client.post("/v1/corpora/note/search", json={"query": "x"})
    assert answer.status_code == 404
    assert "Did you mean 'notes'?" in answer.json()["detail"]


def test_get_of_a_route_that_takes_post_says_so(client: TestClient) -> None:
    answer = client.get("/v1/corpora/catalog/search")
    assert answer.status_code == 404
    assert "Send POST to search of 'catalog'." in answer.json()["detail"]


@pytest.mark.parametrize("corpus", ["catalog", "notes"])
def test_search_equals_the_function(client: TestClient, notes: str, corpus: str) -> None:
    asked: dict[str, Any] = {"query": "green tea parcel", "mode": "lexical", "k": 2}
    answer = client.post(f"/v1/corpora/{corpus}/search", json=asked).json()
    if corpus == "notes":
        with shortlist.open_corpus("notes") as opened:
            assert answer == shortlist.search(opened, **asked).to_dict()
    assert [hit["id"] for hit in answer["hits"]] == [{"catalog": "track", "notes": "tea.md"}[corpus]]
    assert (answer["query"], answer["mode"]) == ("green tea parcel", "lexical")


def test_a_filter_is_applied(client: TestClient) -> None:
    asked = {"query": "a payment, a parcel, an invoice", "filter": {"access": "read"}}
    assert [hit["id"] for hit in client.post("/v1/corpora/catalog/search", json=asked).json()["hits"]] == ["track"]


def test_dense_search_without_vectors_is_an_error(client: TestClient) -> None:
    answer = client.post("/v1/corpora/catalog/search", json={"query": "x", "mode": "dense"})
    assert answer.status_code == 422
    assert "no vectors" in answer.json()["detail"]


def test_with_an_embedder_the_catalog_is_searched_semantically(make: Make) -> None:
    client = make(documents__embedder="light")
    for mode in ("auto", "dense", "hybrid"):
        answer = client.post("/v1/corpora/catalog/search", json={"query": "parcel shipment", "mode": mode}).json()
        assert answer["hits"][0]["id"] == "track"
        assert "dense" in answer["hits"][0]["signals"]
    client.post("/documents", json={"id": "tea", "title": "Tea", "content": "brew green tea"})
    assert client.post("/v1/corpora/catalog/search", json={"query": "green tea"}).json()["hits"][0]["id"] == "tea"
    assert client.get("/status").json()["index"]["embedder"].startswith("light")


def test_the_languages_of_a_corpus_are_reported_with_advice(make: Make) -> None:
    client = make(documents__embedder="default")
    texts = ["Die Rechnungen werden an die Kunden verschickt.", "Die Pakete sind noch nicht bei den Kunden."]
    for at, text in enumerate(texts):
        client.post("/documents", json={"id": f"de{at}", "title": "", "content": text})
    count = client.get("/status").json()["documents"]
    rows = {row["name"]: row for row in client.get("/v1/corpora").json()["corpora"]}
    for facts in (rows["catalog"], client.get("/v1/corpora/catalog").json(), client.get("/status").json()["index"]):
        assert facts["languages"] == {"en": count - 2, "de": 2}
        assert "--embedder multilingual" in facts["advice"]


def test_discover_returns_all_candidates_the_selected_ones_and_the_line(client: TestClient) -> None:
    asked = {"query": "refund a payment by invoice", "mode": "lexical", "strategy": "rel_threshold", "rel": 0.5}
    answer = client.post("/v1/corpora/catalog/discover", json=asked | {"level": "body"}).json()
    scores = {hit["id"]: hit["score"] for hit in answer["candidates"]}
    assert answer["line"] == pytest.approx(0.5 * scores["refund"])
    assert {hit["id"]: hit["selected"] for hit in answer["candidates"]} == {
        id: score >= answer["line"] for id, score in scores.items()
    }
    assert answer["candidates"][0]["text"] == "Send money back to a card."
    assert answer["results"][0]["body"] == "Send money back to a card."
    assert (answer["abstained"], answer["reason"][:4]) == (False, "Kept")


def test_discover_abstains_below_a_threshold(client: TestClient) -> None:
    asked = {"query": "parcel", "mode": "lexical", "min_relevance": 1}
    answer = client.post("/v1/corpora/catalog/discover", json=asked).json()
    assert (answer["abstained"], answer["results"], answer["signals"]["min_relevance"]) == (True, [], 1)
    assert [hit["selected"] for hit in answer["candidates"]] == [False]
    asked |= {"min_relevance": "auto"}  # nothing was calibrated
    assert client.post("/v1/corpora/catalog/discover", json=asked).json()["abstained"] is False


def test_a_threshold_by_its_former_name_is_a_raw_score_and_the_line(client: TestClient) -> None:
    asked = {"query": "parcel", "mode": "lexical", "min_score": 50}
    answer = client.post("/v1/corpora/catalog/discover", json=asked).json()
    assert (answer["abstained"], answer["results"], answer["line"]) == (True, [], 50)
    for given in (0.1, "auto", None):
        assert not client.post("/v1/corpora/catalog/discover", json=asked | {"min_score": given}).json()["abstained"]
    explained = client.post("/v1/corpora/catalog/explain", json=asked | {"id": "track"}).json()
    assert "is below the threshold of 50" in str(explained)
    both = client.post("/v1/corpora/catalog/discover", json=asked | {"min_relevance": 0.5})
    assert both.status_code == 422
    assert "min_score was sent beside min_relevance" in both.json()["detail"]


@pytest.mark.parametrize("given", [1.01, -0.1, "high", True])
def test_a_threshold_outside_of_0_to_1_is_refused(client: TestClient, given: Any) -> None:
    answer = client.post("/v1/corpora/catalog/discover", json={"query": "parcel", "min_relevance": given})
    assert answer.status_code == 422
    assert "min_relevance" in str(answer.json()["errors"])


def test_candidates_have_the_words_that_match_the_query(client: TestClient) -> None:
    client.post("/documents", json={"id": "f", "title": "refundPayments", "content": "Refunded payments, unpaid."})
    answer = client.post("/v1/corpora/catalog/discover", json={"query": "refunding a payment", "k": 9}).json()
    matched = {hit["id"]: hit["matched"] for hit in answer["candidates"]}
    assert matched == {"refund": ["Refund", "payment"], "f": ["Payments", "Refunded", "payments", "refund"]}


def test_discover_reads_no_passages_but_those_of_its_candidates(
    shared: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walk(*_: object) -> NoReturn:
        raise AssertionError("all passages are read")

    monkeypatch.setattr(Snapshot, "walk", walk)
    answer = shared.post("/v1/corpora/catalog/discover", json={"query": "refund"})
    assert answer.json()["candidates"][0]["matched"] == ["Refund"]


def test_explain_has_the_words_the_documents_above_and_the_cut(client: TestClient) -> None:
    asked = {"query": "refund an invoice zebra", "mode": "lexical", "strategy": "top_k", "max_k": 1}
    found = client.post("/v1/corpora/catalog/discover", json=asked).json()
    first, second = (hit["id"] for hit in found["candidates"])
    word = {"refund": "refund", "invoice": "invoice"}
    why = client.post("/v1/corpora/catalog/explain", json=asked | {"id": second}).json()
    assert (why["rank"], why["looked_at"], why["score"]) == (2, 2, found["candidates"][1]["score"])
    assert (why["matched"], why["elsewhere"], why["unknown"]) == ([word[second]], [word[first]], ["zebra"])
    assert [(rival["id"], rival["matched"]) for rival in why["above"]] == [(first, [word[first]])]
    assert found["reason"] in why["cut"]
    best = client.post("/v1/corpora/catalog/explain", json=asked | {"id": first}).json()
    assert (best["rank"], best["above"], best["cut"]) == (1, [], "")
    filtered = client.post("/v1/corpora/catalog/explain", json=asked | {"id": first, "filter": {"access": "read"}})
    assert (filtered.json()["exists"], filtered.json()["rank"]) == (True, None)
    unknown = client.post("/v1/corpora/catalog/explain", json=asked | {"id": "nowhere"}).json()
    assert (unknown["exists"], "'nowhere'" in unknown["says"]) == (False, True)


def test_disclose_shows_documents_by_id(client: TestClient, notes: str) -> None:
    shown = client.post("/v1/corpora/notes/disclose", json={"ids": ["tea.md"]}).json()["documents"]
    assert [(item["id"], item["body"], item["stale"]) for item in shown] == [
        ("tea.md", "# Tea\n\nHow to brew green tea.", False)
    ]
    answer = client.post("/v1/corpora/notes/disclose", json={"ids": ["tea.md", "milk.md"]})
    assert (answer.status_code, "milk.md" in answer.json()["detail"]) == (404, True)


def test_documents_of_a_corpus_are_listed_read_added_and_deleted(client: TestClient, notes: str) -> None:
    base = "/v1/corpora/notes/documents"
    assert client.get(base).json()["count"] == 2
    assert client.get(f"{base}/documents/coffee.md").json()["title"] == "Coffee"
    one = {"id": "milk", "title": "Milk", "content": "Pour."}
    assert client.post(base, json={"documents": [one]}).json()["count"] == 3
    assert client.get(f"{base}/milk").json() == shortlist.Document("milk", "Milk", "Pour.", kind="tool").to_dict()
    assert client.delete(f"{base}/milk").json()["count"] == 2
    assert client.delete(f"{base}/milk").status_code == 404
    assert client.delete(f"{base}/documents/coffee.md").json()["count"] == 1


def test_a_corpus_with_a_path_for_a_name_can_be_searched(client: TestClient, tmp_path: Path, notes: str) -> None:
    name = f"docs:{tmp_path / 'notes'}"
    shortlist.build(name, embedder="none").close()
    encoded = name.replace("/", "%2F")
    assert client.post(f"/v1/corpora/{encoded}/search", json={"query": "tea"}).json()["hits"][0]["id"] == "tea.md"
    assert client.get(f"/v1/corpora/{encoded}/documents/documents%2Fcoffee.md").json()["title"] == "Coffee"


def test_the_catalog_is_the_same_below_v1(client: TestClient) -> None:
    client.delete("/v1/corpora/catalog/documents/refund")
    client.post("/v1/corpora/catalog/documents", json={"documents": [{"id": "n", "title": "N", "content": "new one"}]})
    assert [document["id"] for document in client.get("/documents").json()["documents"]] == ["track", "invoice", "n"]


def test_e5_a_document_added_over_http_cannot_refer_to_files_of_the_service(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    monkeypatch.chdir(tmp_path)
    one = {"id": "n", "title": "N", "content": "a rare word", "metadata": {"path": "secret.txt"}}
    client.post("/v1/corpora/catalog/documents", json={"documents": [one]})
    (shown,) = client.post("/v1/corpora/catalog/disclose", json={"ids": ["n"]}).json()["documents"]
    asked = {"query": "rare word", "mode": "lexical", "level": "body"}
    (found,) = client.post("/v1/corpora/catalog/discover", json=asked).json()["results"]
    for item in (shown, found):
        assert (item["body"], "outside" in item["note"]) == ("a rare word", True)


def test_a_request_does_not_build_a_corpus_that_is_stored_but_empty(client: TestClient, tmp_path: Path) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    shortlist.register("letters", "files", root=folder, embedder="none")
    shortlist.build("letters").close()
    (folder / "tea.md").write_text("Brew green tea.")
    for kind in ("search", "discover"):
        assert client.post(f"/v1/corpora/letters/{kind}", json={"query": "tea"}).status_code == 200
    assert client.get("/v1/corpora/letters/documents").json()["count"] == 0
    shortlist.build("letters").close()
    assert client.get("/v1/corpora/letters/documents").json()["count"] == 1


def list_ids(client: TestClient, **parameters: Any) -> list[str]:
    return [one["id"] for one in client.get("/v1/corpora/catalog/documents", params=parameters).json()["documents"]]


def test_a_title_that_is_a_very_long_number_can_be_sorted(client: TestClient) -> None:
    long = {"id": "a", "title": "9" * 5000, "content": "A number."}
    client.post("/v1/corpora/catalog/documents", json={"documents": [long]})
    assert "a" in list_ids(client, sort="title")


def test_documents_are_sorted_by_id_or_title_and_in_both_directions(client: TestClient) -> None:
    client.post(
        "/documents",
        json=[{"id": f"tool {at}", "title": f"{'z' if at == 9 else 'A'}", "content": "x"} for at in (10, 9)],
    )
    assert list_ids(client, sort="id") == ["invoice", "refund", "tool 9", "tool 10", "track"]
    assert list_ids(client, sort="id", descending=True, limit=2, offset=1) == ["tool 10", "tool 9"]
    assert list_ids(client, sort="title") == ["tool 10", "refund", "track", "invoice", "tool 9"]
    assert list_ids(client, descending=True, limit=2) == ["tool 9", "tool 10"]
    assert list_ids(client, sort="id", q="tool") == ["tool 9", "tool 10"]
    client.delete("/documents/tool 9")
    assert list_ids(client, sort="id", q="tool") == ["tool 10"]  # the order is not stale
    assert client.get("/v1/corpora/catalog/documents", params={"sort": "size"}).status_code == 422


def test_several_documents_are_deleted_by_id_or_by_text(client: TestClient) -> None:
    path = "/v1/corpora/catalog/documents/delete"
    assert client.post(path, json={"ids": ["refund", "nowhere"]}).json()["removed"] == 1
    assert client.post(path, json={"q": "SHIPMENT"}).json()["count"] == 1
    assert list_ids(client) == ["invoice"]
    bodies: tuple[dict[str, object], ...] = ({}, {"ids": []}, {"q": " "}, {"ids": ["invoice"], "q": "x"})
    for body in bodies:
        assert client.post(path, json=body).status_code == 422
    assert list_ids(client) == ["invoice"]

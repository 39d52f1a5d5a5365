"""The softmax retriever on the page: its view of the Search tab, its settings, and the file of its catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.web.conftest import ServeCatalog, Service, Visitor
from tests.web.test_documents import TOOLS, ids
from tests.web.test_search import REFUND, titles, type_query, verdict


def test_typing_shows_what_retrieve_selects_and_what_it_rejects(service: Service, visit: Visitor) -> None:
    answer = service.ask("POST", "/retrieve", {"query": REFUND})
    all_of_them = service.ask("POST", "/retrieve", {"query": REFUND, "llm_tools_cutoff": 0})["documents"]
    page = visit(service.url, "#/search?look=softmax")
    type_query(page, REFUND)
    assert 0 < len(answer["documents"]) < answer["total_retrieved"]
    expect(titles(page)).to_have_text([document["title"] for document in all_of_them])
    expect(titles(page, "kept")).to_have_text([document["title"] for document in answer["documents"]])
    best = answer["documents"][0]
    first = page.locator(".hits .kept").first
    expect(first.locator(".value")).to_have_text([f"{100 * best['softmax_score']:.1f} %", f"{best['bm25_score']:.2f}"])
    counts = f"Selected {len(answer['documents'])} of {answer['total_retrieved']} candidates"
    rule = "each has at least 10 % of the softmax at temperature 0.5."
    expect(page.locator(".verdict-reason")).to_have_text(f"{counts}: {rule}")


def test_bars_are_as_long_as_their_scores_and_the_line_is_at_the_cutoff(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?look=softmax&q=refund+payment&temperature=2")
    documents = service.ask("POST", "/retrieve", {"query": "refund payment", "temperature": 2})["documents"]
    expect(page.locator(".hits .kept")).to_have_count(len(documents))
    scale = float(page.locator(".axis-top").inner_text().removesuffix(" %")) / 100
    track = page.locator(".track").first.bounding_box()
    line = page.locator(".axis-line").bounding_box()
    assert track
    assert line
    for at, document in enumerate(documents):
        fill = page.locator(".hits .kept .main .fill").nth(at).bounding_box()
        assert fill
        assert abs(fill["width"] - track["width"] * document["softmax_score"] / scale) < 2
    assert abs(line["x"] - track["x"] - track["width"] * 0.10 / scale) < 3


def test_the_sliders_change_the_query_and_not_the_settings(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?look=softmax&q=refund+payment")
    expect(page.locator(".hits .kept").first).to_be_visible()
    page.get_by_role("slider", name="Cutoff").press("End")
    expect(verdict(page)).to_have_text("Nothing fits")
    expect(page.locator(".divide")).to_have_text("Closest matches, none selected")
    expect(page.locator(".verdict-reason")).to_contain_text("None of")
    field = page.get_by_role("spinbutton", name="Temperature")
    field.fill("11")
    expect(page.get_by_text("Enter a number from 0.1 to 10.")).to_be_visible()
    field.fill("3")
    page.get_by_role("spinbutton", name="Cutoff").fill("0.5")
    expected = service.ask("POST", "/retrieve", {"query": "refund payment", "temperature": 3, "llm_tools_cutoff": 0.5})
    expect(page.locator(".hits .kept")).to_have_count(len(expected["documents"]))
    assert service.ask("GET", "/settings") == {"temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10.0}
    page.get_by_role("button", name="Reset to defaults").click()
    expect(page.get_by_role("spinbutton", name="Temperature")).to_have_value("0.5")
    expect(page).to_have_url(f"{service.url}/#/search?q=refund+payment&look=softmax")


def test_a_query_without_a_known_word_has_no_candidates(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?look=softmax&q=xyzzy")
    expect(verdict(page)).to_have_text("Nothing fits")
    expect(page.get_by_text("No candidates")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Nothing fits.")).to_have_count(1)


def test_of_a_large_catalog_a_bounded_number_of_closest_matches_is_shown(
    serve_catalog: ServeCatalog, visit: Visitor
) -> None:
    tools = [{"id": f"{n}", "title": f"zebra {n}", "content": "stripe" if n < 5 else ""} for n in range(300)]
    service = serve_catalog(tools)
    page = visit(service.url, "#/search?look=softmax&q=zebra+stripe&temperature=1")
    expect(page.locator(".hits .rejected")).to_have_count(5)  # of 300, those with half a percent
    expect(page.locator(".verdict-reason")).to_contain_text("None of 300 candidates has 10 % of the softmax")
    page.get_by_role("searchbox", name="Query").fill("zebra")
    expect(page.locator(".hits .rejected").nth(10)).to_be_visible()  # each has a third of a percent
    page.get_by_role("slider", name="Cutoff").press("Home")
    expect(verdict(page)).to_have_text("300 documents selected")
    expect(page.locator(".hits .kept")).to_have_count(200)
    expect(page.get_by_text("100 more not shown")).to_be_attached()


@pytest.fixture
def restored(editable: Service) -> Iterator[Service]:
    """The service that can be changed; its settings and its document file are restored after the test."""
    before = editable.ask("GET", "/settings")
    yield editable
    editable.ask("POST", "/settings", before)
    editable.ask("POST", "/switch-document-file", {"file": "tools.yaml"})


def test_the_settings_fit_on_a_phone(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/settings", viewport={"width": 390, "height": 844})
    settings = page.get_by_role("region", name="Other settings")
    expect(settings.get_by_role("row", name=re.compile("^access.grants")).get_by_role("cell")).to_have_text(
        ["–", "default"]
    )
    assert settings.get_by_role("group").evaluate("(table) => table.scrollWidth <= table.clientWidth")


def test_a_saved_setting_is_in_force_and_survives_a_reload(restored: Service, visit: Visitor) -> None:
    service = restored
    page = visit(service.url, "#/settings")
    save = page.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    expect(page.get_by_text("In force: 0.5")).to_contain_text("default")
    source = page.get_by_role("region", name="Other settings").get_by_role("row", name=re.compile("^documents.source"))
    expect(source.get_by_role("cell")).to_have_text(["tools.yaml", "--documents"])
    page.get_by_role("slider", name="Temperature").press("ArrowRight")
    page.get_by_role("spinbutton", name="Cutoff").fill("101")
    expect(page.get_by_text("Enter a number from 0 to 100.")).to_be_visible()
    page.get_by_role("spinbutton", name="Cutoff").fill("10")
    save.click()
    expect(page.get_by_text("In force: 0.6")).to_contain_text("POST /settings")
    assert service.ask("GET", "/settings") == {"temperature": 0.6, "ignore_zero": True, "llm_tools_cutoff": 10.0}
    page.get_by_role("switch", name="Ignore zero scores").click()
    save.click()
    expect(page.get_by_text("In force: off")).to_be_visible()
    page.reload()
    expect(page.get_by_role("spinbutton", name="Temperature")).to_have_value("0.6")
    expect(page.get_by_role("switch", name="Ignore zero scores")).not_to_be_checked()
    page.get_by_role("link", name="Search").click()
    page.locator("label", has_text="Legacy").click()
    expect(page.get_by_role("spinbutton", name="Temperature")).to_have_value("0.6")
    assert service.ask("GET", "/settings") == {"temperature": 0.6, "ignore_zero": False, "llm_tools_cutoff": 10.0}


def test_the_document_file_is_reloaded_and_switched(restored: Service, visit: Visitor) -> None:
    service, count = restored, len(ids(restored))
    (service.folder / "other.json").write_text(json.dumps({"documents": TOOLS}))
    (service.folder / "broken.yaml").write_text("documents: [{id: 1")
    page = visit(service.url, "#/settings")
    page.get_by_role("button", name="Reload the file").click()
    expect(page.get_by_text(f"Nothing changed. There are {count} documents now.")).to_be_visible()
    page.get_by_role("button", name="Use other.json").click()
    expect(page.get_by_text("Serving other.json. 5 added. There are 5 documents now.")).to_be_visible()
    expect(page.locator("li", has_text="other.json")).to_contain_text("In use")
    assert len(ids(service)) == 5
    visit.expect_errors("409")
    page.get_by_role("button", name="Use broken.yaml").click()
    expect(page.locator(".note.wrong")).to_contain_text("broken.yaml")
    assert len(ids(service)) == 5


def test_without_the_extension_nothing_of_it_is_loaded_or_shown(service: Service, visit: Visitor) -> None:
    requests: list[str] = []

    def without_extension(route: Route) -> None:
        status: dict[str, Any] = service.ask("GET", "/status")
        route.fulfill(json=status | {"extensions": []})

    page = visit(service.url, "#/ask")
    page.on("request", lambda request: requests.append(request.url.removeprefix(service.url)))
    page.route("**/status", without_extension)
    page.goto(f"{service.url}/#/search?q=refund+payment&look=softmax")
    expect(page.locator(".relevance").first).to_be_visible()
    expect(page.get_by_role("radio", name="Legacy")).to_have_count(0)
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("region", name="Other settings")).to_be_visible()
    expect(page.get_by_role("region", name="Legacy retrieval")).to_have_count(0)
    assert [path for path in requests if path.startswith(("/page/compat/", "/settings", "/retrieve"))] == []

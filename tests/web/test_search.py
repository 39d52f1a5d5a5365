"""The Search tab in a real browser: it shows what the service answers."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from tests.web.conftest import ServeCatalog, Service, Visitor, assert_still

REFUND = "refund a payment to the customer's card"


def type_query(page: Page, text: str) -> None:
    page.get_by_role("searchbox", name="Query").press_sequentially(text)


def titles(page: Page, kind: str = "hit") -> Locator:
    """The titles of all results, or of the `kept` or `rejected` ones."""
    return page.locator(f".hits .{kind} .hit-title")


def everything(service: Service, query: str) -> list[str]:
    """The titles of all candidates, best first, as the page shows them for a small catalog."""
    answer = service.ask("POST", "/retrieve", {"query": query, "llm_tools_cutoff": 0})
    return [document["title"] for document in answer["documents"]]


def verdict(page: Page) -> Locator:
    return page.locator(".verdict-title")


def test_typing_shows_what_retrieve_selects_and_what_it_rejects(service: Service, visit: Visitor) -> None:
    answer = service.ask("POST", "/retrieve", {"query": REFUND})
    page = visit(service.url)
    type_query(page, REFUND)
    assert 0 < len(answer["documents"]) < answer["total_retrieved"]
    expect(titles(page)).to_have_text(everything(service, REFUND))
    expect(titles(page, "kept")).to_have_text([document["title"] for document in answer["documents"]])
    best = answer["documents"][0]
    first = page.locator(".hits .kept").first
    expect(first.locator(".value")).to_have_text(f"{100 * best['softmax_score']:.1f} %")
    expect(first.locator(".detail")).to_have_text(f"BM25 {best['bm25_score']:.2f}")
    counts = f"Selected {len(answer['documents'])} of {answer['total_retrieved']} candidates"
    rule = "each has at least 10 % of the softmax at temperature 0.5."
    expect(page.locator(".verdict-reason")).to_have_text(f"{counts}: {rule}")


def test_bars_are_as_long_as_their_scores_and_the_line_is_at_the_cutoff(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+payment&temperature=2")
    documents = service.ask("POST", "/retrieve", {"query": "refund payment", "temperature": 2})["documents"]
    expect(page.locator(".hits .kept")).to_have_count(len(documents))
    scale = float(page.locator(".axis-top").inner_text().removesuffix(" %")) / 100
    track = page.locator(".track").first.bounding_box()
    line = page.locator(".axis-line").bounding_box()
    assert track
    assert line
    for at, document in enumerate(documents):
        fill = page.locator(".hits .kept .fill").nth(at).bounding_box()
        assert fill
        assert abs(fill["width"] - track["width"] * document["softmax_score"] / scale) < 2
    assert abs(line["x"] - track["x"] - track["width"] * 0.10 / scale) < 3


def test_the_sliders_change_the_query_and_not_the_settings(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+payment")
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
    expect(page).to_have_url(f"{service.url}/#/search?q=refund+payment")


def test_discover_shows_the_selection_of_the_service_and_its_reason(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    type_query(page, REFUND)
    page.locator("label", has_text="Discover").click()
    body: dict[str, Any] = {"query": REFUND, "strategy": "rel_threshold", "rel": 0.5, "k": 7}
    page.get_by_label("Strategy").select_option("rel_threshold")
    page.get_by_role("spinbutton", name="Relative threshold").fill("0.5")
    page.get_by_role("spinbutton", name="Candidates (k)").fill("7")
    found = service.ask("POST", "/v1/corpora/catalog/discover", body)
    expect(page.locator(".verdict-reason")).to_have_text(found["reason"])
    expect(titles(page)).to_have_text([hit["name"] for hit in found["candidates"]])
    expect(titles(page, "kept")).to_have_text([item["name"] for item in found["results"]])
    expect(page.locator(".axis-line")).to_have_text("50 % of best")
    expect(page.locator(".hits .value").first).to_have_text(f"{found['candidates'][0]['score']:.3f}")


def test_an_abstention_shows_its_reason_and_the_closest_matches(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?look=discover&min_score=0.4&q=play+some+music+for+the+customer")
    found = service.ask(
        "POST", "/v1/corpora/catalog/discover", {"query": "play some music for the customer", "min_score": 0.4}
    )
    assert found["abstained"]
    expect(verdict(page)).to_have_text("Nothing fits")
    expect(page.locator(".verdict-reason")).to_have_text(found["reason"])
    expect(page.locator(".axis-line.threshold")).to_have_text("threshold 0.4")
    expect(page.locator(".divide")).to_have_text("Closest matches, none selected")
    expect(page.locator(".hits .rejected")).to_have_count(10)
    expect(page.locator(".hits .kept")).to_have_count(0)


def test_a_query_without_a_known_word_has_no_candidates(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=xyzzy")
    expect(verdict(page)).to_have_text("Nothing fits")
    expect(page.get_by_text("No candidates")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Nothing fits.")).to_have_count(1)


def test_every_built_corpus_can_be_searched(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    chooser = page.get_by_role("combobox", name="Corpus")
    expect(chooser).to_have_value("catalog")
    known = service.ask("GET", "/v1/corpora")["corpora"]
    usable = [row["name"] for row in known if row["documents"] is not None]
    assert sorted(usable) == ["catalog", "papers", "runbooks"]
    assert chooser.locator("option:enabled").evaluate_all("all => all.map((one) => one.value)") == usable
    expect(chooser.locator("option:disabled")).to_have_count(len(known) - len(usable))
    chooser.select_option("runbooks")
    page.get_by_role("searchbox", name="Query").fill("roll back a bad release")
    page.get_by_role("button", name="1. deploy-to-production").click()
    panel = page.get_by_role("complementary", name="Document")
    expect(panel.get_by_text("scripts/rollback.sh", exact=True)).to_be_visible()
    expect(panel.locator("pre")).to_contain_text("# Deploy to production")
    page.reload()
    expect(chooser).to_have_value("runbooks")
    page.get_by_role("link", name="Documents").click()
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    page.get_by_role("combobox", name="Corpus").select_option("runbooks")
    expect(page.locator(".document-title")).to_have_count(6)
    expect(page.get_by_text("Read-only")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Add document|Edit|Delete"))).to_have_count(0)


def test_a_result_is_read_by_click(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+payment")
    page.get_by_role("button", name=re.compile(r"^1\. refund_payment, .* %, selected$")).click()
    panel = page.get_by_role("complementary", name="Document")
    expect(panel.get_by_role("heading", name="refund_payment")).to_be_focused()
    body = service.ask("POST", "/v1/corpora/catalog/disclose", {"ids": ["refund_payment"], "level": "body"})
    expect(panel.locator("pre")).to_have_text(body["documents"][0]["body"])
    expect(panel.get_by_text("exclusiveMinimum")).to_be_visible()
    panel.get_by_role("button", name="Close the document").click()
    expect(panel.get_by_text("No document selected")).to_be_visible()


def test_everything_can_be_done_with_keys(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    field = page.get_by_role("searchbox", name="Query")
    expect(field).to_be_focused()
    page.keyboard.type("refund payment")
    expect(titles(page)).to_have_text(everything(service, "refund payment"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.locator(".hits .hit").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Document")
    expect(panel.get_by_role("heading", name=everything(service, "refund payment")[1])).to_be_focused()
    page.keyboard.press("Escape")
    expect(second).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator(".hits .hit").last).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    expect(field).to_have_value("refund payment")
    page.keyboard.type("where is my parcel")  # replaces the query
    page.keyboard.press("Enter")  # before the answer arrives
    expect(panel.get_by_role("heading", name=everything(service, "where is my parcel")[0])).to_be_focused()


def test_a_late_answer_to_an_older_query_is_dropped(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/retrieve", hold_the_first)
    field = page.get_by_role("searchbox", name="Query")
    with page.expect_request("**/retrieve") as older:
        field.fill("parcel")
    with page.expect_event("requestfailed") as given_up:
        field.fill("refund payment")
    assert given_up.value == older.value
    expect(titles(page)).to_have_text(everything(service, "refund payment"))
    held[0].continue_()
    expect(titles(page)).to_have_text(everything(service, "refund payment"))


def test_nothing_moves_while_typing(service: Service, visit: Visitor) -> None:
    page = visit(service.url, reduced_motion="no-preference")
    field = page.get_by_role("searchbox", name="Query")
    for width in (1440, 360):
        page.set_viewport_size({"width": width, "height": 800})
        field.fill("")
        expect(page.get_by_text("Results appear as you type")).to_be_visible()
        page.evaluate("readShifts()")  # those of the new width
        for query in ("refund", "refund a payment to", "refund a payment to xyzzy"):
            type_query(page, query.removeprefix(field.input_value()))
            expect(titles(page)).to_have_text(everything(service, query))
        field.fill("xyzzy")
        expect(page.get_by_text("No candidates")).to_be_visible()
        field.fill("where is my parcel")
        expect(titles(page)).to_have_text(everything(service, "where is my parcel"))
        assert_still(page)


def test_reload_and_back_restore_the_state(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    type_query(page, "refund payment")
    page.get_by_role("spinbutton", name="Temperature").fill("2")
    expect(page).to_have_url(f"{service.url}/#/search?q=refund+payment&temperature=2")
    page.reload()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("refund payment")
    expect(page.get_by_role("spinbutton", name="Temperature")).to_have_value("2")
    expect(page.locator(".hits .kept").first).to_be_visible()
    page.get_by_role("link", name="Status").click()
    expect(page.get_by_role("heading", name="Status")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("refund payment")
    expect(page.get_by_role("spinbutton", name="Temperature")).to_have_value("2")
    page.get_by_role("link", name="Documents").click()
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    page.get_by_role("link", name="Search").click()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("refund payment")


def test_invalid_values_in_the_address_are_ignored(service: Service, visit: Visitor) -> None:
    place = "#/search?q=refund+payment&corpus=nowhere&look=x&mode=x&strategy=x&k=x&rel=7&temperature=1e9&cutoff=-1&y=1"
    page = visit(service.url, place)
    expect(page.locator(".hits .kept .hit-title").first).to_have_text("refund_payment")
    expect(page.get_by_role("spinbutton", name="Temperature")).to_have_value("0.5")
    expect(page.get_by_role("combobox", name="Corpus")).to_have_value("catalog")


def test_of_a_large_catalog_a_bounded_number_of_closest_matches_is_shown(
    serve_catalog: ServeCatalog, visit: Visitor
) -> None:
    tools = [{"id": f"{n}", "title": f"zebra {n}", "content": "stripe" if n < 5 else ""} for n in range(300)]
    service = serve_catalog(tools)
    page = visit(service.url, "#/search?q=zebra+stripe&temperature=1")
    expect(page.locator(".hits .rejected")).to_have_count(5)  # of 300, those with half a percent
    expect(page.locator(".verdict-reason")).to_contain_text("None of 300 candidates has 10 % of the softmax")
    page.get_by_role("searchbox", name="Query").fill("zebra")
    expect(page.locator(".hits .rejected").nth(10)).to_be_visible()  # each has a third of a percent
    page.get_by_role("slider", name="Cutoff").press("Home")
    expect(verdict(page)).to_have_text("300 documents selected")
    expect(page.locator(".hits .kept")).to_have_count(200)
    expect(page.get_by_text("100 more not shown")).to_be_attached()

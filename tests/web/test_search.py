"""The Search tab in a real browser: it shows what the service answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from shortlist.retrieval.relevance import THRESHOLD
from tests.web.axe import find_violations
from tests.web.conftest import Service, Visitor, assert_still

REFUND = "refund a payment to the customer's card"


def type_query(page: Page, text: str) -> None:
    page.get_by_role("searchbox", name="Query").press_sequentially(text)


def titles(page: Page, kind: str = "hit") -> Locator:
    """The titles of all results, or of the `kept` or `rejected` ones."""
    return page.locator(f".hits .{kind} .hit-title")


def discovered(service: Service, **body: Any) -> Any:
    return service.ask("POST", "/v1/corpora/catalog/discover", body)


def everything(service: Service, query: str) -> list[str]:
    """The titles of all candidates, best first."""
    return [hit["name"] for hit in discovered(service, query=query)["candidates"]]


def verdict(page: Page) -> Locator:
    return page.locator(".verdict-title")


def test_discover_shows_the_selection_of_the_service_and_its_reason(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    type_query(page, REFUND)
    body: dict[str, Any] = {"query": REFUND, "strategy": "rel_threshold", "rel": 0.5, "k": 7}
    page.get_by_label("Strategy").select_option("rel_threshold")
    page.get_by_role("spinbutton", name="Relative threshold").fill("0.5")
    page.get_by_role("spinbutton", name="Candidates (k)").fill("7")
    found = discovered(service, **body)
    expect(page.locator(".verdict-reason")).to_have_text(found["reason"])
    expect(titles(page)).to_have_text([hit["name"] for hit in found["candidates"]])
    expect(titles(page, "kept")).to_have_text([item["name"] for item in found["results"]])
    expect(page.locator(".axis-line:not(.threshold)")).to_have_text("50 % of best")
    expect(page.locator(".hits .score .value").first).to_have_text(f"{found['candidates'][0]['score']:.3f}")


def test_an_abstention_shows_its_reason_and_the_closest_matches(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?look=discover&min_relevance=0.4&q=play+some+music+for+the+customer")
    found = discovered(service, query="play some music for the customer", min_relevance=0.4)
    assert found["abstained"]
    expect(verdict(page)).to_have_text("Nothing fits")
    expect(page.locator(".verdict-reason")).to_contain_text(found["reason"])
    expect(page.locator(".axis-line.threshold")).to_have_text("threshold 0.4")
    expect(page.locator(".divide")).to_have_text("Closest matches, none selected")
    expect(page.locator(".hits .rejected")).to_have_count(10)
    expect(page.locator(".hits .kept")).to_have_count(0)


@pytest.mark.parametrize("width", [1400, 390])
def test_a_selection_that_may_not_be_right_has_a_label_with_the_reason(
    service: Service, visit: Visitor, width: int
) -> None:
    low = discovered(service, query="the customer wants to talk")
    assert low["confidence"] == "low"
    place = "#/search?q=the+customer+wants+to+talk"
    page = visit(service.url, place, viewport={"width": width, "height": 900})
    doubt = page.locator(".doubt")
    expect(doubt).to_have_text(f"Not sure {low['confidence_reason']}")
    expect(doubt).to_be_in_viewport()
    box, row = doubt.bounding_box(), page.locator(".hits").bounding_box()
    assert box
    assert row
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= row["y"]  # above the results
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{service.url}/#/search?q=refund_payment")
    assert discovered(service, query="refund_payment")["confidence"] == "high"
    expect(page.locator(".hits .kept").first).to_be_visible()
    expect(doubt).to_be_hidden()


def test_every_built_corpus_can_be_searched(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    chooser = page.get_by_role("combobox", name="Corpus")
    expect(chooser).to_have_value("catalog")
    known = service.ask("GET", "/v1/corpora")["corpora"]
    assert {row["name"] for row in known if row["documents"] is None} == {"mcp", "packages", "skills"}  # not offered
    usable = [row["name"] for row in known if row["documents"] is not None]
    assert sorted(usable) == ["catalog", "papers", "runbooks"]
    assert chooser.locator("option").evaluate_all("all => all.map((one) => one.value)") == usable
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
    page.get_by_role("button", name=re.compile(r"^1\. refund_payment .* relevance [01]\.\d\d selected$")).click()
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

    page.route("**/discover", hold_the_first)
    field = page.get_by_role("searchbox", name="Query")
    with page.expect_request("**/discover") as older:
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
        for query in (
            "refund a payment",
            "refund a payment to",
            "refund a payment to the",
        ):  # no row falls by many ranks
            type_query(page, query.removeprefix(field.input_value()))
            expect(titles(page)).to_have_text(everything(service, query))
        field.fill("xyzzy")
        expect(verdict(page)).to_have_text("Nothing is known about this query")
        field.fill("where is my parcel")
        expect(titles(page)).to_have_text(everything(service, "where is my parcel"))
        assert_still(page)


def test_reload_and_back_restore_the_state(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    type_query(page, "refund payment")
    page.get_by_role("spinbutton", name="Candidates (k)").fill("7")
    expect(page).to_have_url(f"{service.url}/#/search?q=refund+payment&k=7")
    page.reload()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("refund payment")
    expect(page.get_by_role("spinbutton", name="Candidates (k)")).to_have_value("7")
    expect(page.locator(".hits .kept").first).to_be_visible()
    page.get_by_role("link", name="Status").click()
    expect(page.get_by_role("heading", name="Status")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("refund payment")
    expect(page.get_by_role("spinbutton", name="Candidates (k)")).to_have_value("7")
    page.get_by_role("link", name="Documents").click()
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    page.get_by_role("link", name="Search").click()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("refund payment")


def test_invalid_values_in_the_address_are_ignored(service: Service, visit: Visitor) -> None:
    place = (
        "#/search?q=refund+payment&corpus=nowhere&look=x&mode=x&strategy=x&k=x&rel=7&temperature=1e9&filters=[1]&y=1"
    )
    page = visit(service.url, place)
    expect(page.locator(".hits .kept .hit-title").first).to_have_text("refund_payment")
    expect(page.get_by_role("spinbutton", name="Candidates (k)")).to_have_value("10")
    expect(page.get_by_role("combobox", name="Corpus")).to_have_value("catalog")


def middle(locator: Locator) -> float:
    """The horizontal center of an element."""
    box = locator.bounding_box()
    assert box
    return box["x"] + box["width"] / 2


def test_relevance_has_a_fixed_scale_with_the_threshold_as_a_line(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    page.evaluate("localStorage.setItem('shortlist-parts', 'shown')")
    page.reload()
    for query in (REFUND, "book a flight to the moon for my cat"):
        found = discovered(service, query=query)
        page.get_by_role("searchbox", name="Query").fill(query)
        expect(titles(page)).to_have_text([hit["name"] for hit in found["candidates"]])
        expect(page.locator(".axis-top")).to_have_text("1")
        track = page.locator(".relevance .track").first.bounding_box()
        assert track
        line = page.locator(".relevance .line.threshold").first
        assert abs(middle(line) - track["x"] - track["width"] * found["signals"]["min_relevance"]) < 2
        assert abs(middle(line) - middle(page.locator(".axis-line.threshold"))) < 60  # its label is beside it
        for at, hit in enumerate(found["candidates"]):
            row = page.locator(".hits .hit").nth(at)
            for name, value in (
                ("relevance", hit["relevance"]),
                ("keyword", hit["signals"]["covered"]),
                ("semantic", hit["signals"]["dense"]),
            ):
                expect(row.locator(f".{name} .value")).to_have_text(f"{value:.2f}")
                width = row.locator(f".{name} .fill").evaluate("one => one.getBoundingClientRect().width")
                assert abs(width - track["width"] * max(0.0, value)) < 1.5
    expect(page.locator(".axis-line.threshold")).to_have_text(f"threshold {THRESHOLD:g}")


def test_a_given_threshold_is_a_line_through_the_relevances(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund&min_relevance=0.25")
    expect(page.locator(".axis-line.threshold")).to_have_text("threshold 0.25")
    track = page.locator(".relevance .track").first.bounding_box()
    assert track
    assert abs(middle(page.locator(".relevance .line.threshold").first) - track["x"] - track["width"] * 0.25) < 2
    expect(page.locator(".score .line")).to_have_count(0)


def test_the_words_of_the_query_are_marked(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refunding+the+customers")
    row = page.locator(".hits li:not(.divide)").filter(has_text="refund_payment").first
    expect(row.locator(".hit-title mark")).to_have_text(["refund"])
    expect(row.locator(".hit-snippet mark").first).to_have_text("customer")
    page.goto(f"{service.url}/#/search?q=refund+payment&look=softmax")
    expect(page.locator(".hits .kept .hit-title mark").first).to_have_text("refund")


def test_every_row_explains_its_rank(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+a+payment+by+card")
    names = everything(service, "refund a payment by card")
    panel = page.get_by_role("complementary", name="Document")
    for at in (0, 5):
        row = discovered(service, query="refund a payment by card")["candidates"][at]
        why = service.ask("POST", "/v1/corpora/catalog/explain", {"query": "refund a payment by card", "id": row["id"]})
        page.locator(".hits .hit").nth(at).click()
        expect(panel.get_by_role("heading", name=names[at])).to_be_focused()
        expect(panel.get_by_text(f"{at + 1} of 10 candidates")).to_be_visible()
        expect(panel.locator(".why .matched .word")).to_have_text(why["matched"])
        expect(panel.locator(".above code")).to_have_text([rival["id"] for rival in why["above"]])
    expect(panel.get_by_text(why["cut"])).to_be_visible()
    page.get_by_role("searchbox", name="Query").fill("refund a payment by card zebra")
    expect(panel.locator(".why .nowhere .word")).to_have_text(["zebra"])  # the panel follows the query
    page.locator("label", has_text="Legacy").click()
    page.locator(".hits .hit").first.click()
    expect(panel.locator(".why .nowhere .word")).to_have_text(["zebra"])


def test_metadata_filters_are_suggested_typed_and_removed(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+a+payment")
    expect(page.locator(".hits .kept").first).to_be_visible()
    for value in ("access=read", "category=payments", "kind=tool"):
        expect(page.locator(f"#filter-values option[value='{value}']")).to_have_count(1)
    field = page.get_by_role("combobox", name="Filter")
    field.press_sequentially("category")
    field.press("Enter")
    expect(page.get_by_text("Enter a key and a value")).to_be_visible()
    field.press_sequentially("=orders")
    field.press("Enter")
    orders = discovered(service, query="refund a payment", filter={"category": "orders"})["candidates"]
    expect(titles(page)).to_have_text([hit["name"] for hit in orders])
    field.press_sequentially("access=write")
    field.press("Enter")
    both = discovered(service, query="refund a payment", filter={"category": "orders", "access": "write"})["candidates"]
    assert 0 < len(both) < len(orders)
    expect(titles(page)).to_have_text([hit["name"] for hit in both])
    page.reload()
    expect(titles(page)).to_have_text([hit["name"] for hit in both])
    page.get_by_role("button", name="Remove the filter category=orders").press("Enter")
    expect(page.get_by_role("list", name="Filters").get_by_role("button")).to_have_count(1)
    field.press_sequentially("access=read")  # of two values of one key, any
    field.press("Enter")
    either = discovered(service, query="refund a payment", filter={"access": {"$in": ["write", "read"]}})["candidates"]
    expect(titles(page)).to_have_text([hit["name"] for hit in either])
    field.press_sequentially("access=nobody")
    field.press("Enter")
    page.get_by_role("button", name="Remove the filter access=write").click()
    page.get_by_role("button", name="Remove the filter access=read").click()
    expect(page.get_by_text("No document meets the filter.")).to_be_visible()


@pytest.mark.parametrize("corpus", ["catalog", "runbooks", "papers"])
def test_sample_queries_come_from_the_corpus_and_find_something(service: Service, visit: Visitor, corpus: str) -> None:
    page = visit(service.url, f"#/search?corpus={corpus}")
    samples = page.get_by_role("list", name="Sample queries").get_by_role("button")
    expect(samples.first).to_be_visible()
    documents = service.ask("GET", f"/v1/corpora/{corpus}/documents?limit=1000")["documents"]
    queries = samples.all_inner_texts()
    texts = [" ".join(f"{one['title']} {one['content']}".replace("_", " ").casefold().split()) for one in documents]
    assert [
        query for query in queries if not any(query.removeprefix("I need to ").casefold() in text for text in texts)
    ] == []
    page.set_viewport_size({"width": 390, "height": 844})
    boxes = [sample.bounding_box() for sample in samples.all()]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    samples.first.press("Enter")
    expect(page.get_by_role("searchbox", name="Query")).to_be_focused()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value(queries[0])
    expect(page.locator(".hits .kept").first).to_be_visible()


def copied(page: Page, form: str) -> str:
    page.get_by_role("button", name=form, exact=True).press("Enter")
    expect(page.get_by_role("status").filter(has_text=f"{form} request copied.")).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    assert page.get_by_role("region", name=f"The request as {form}").text_content() == text
    return text


def run(command: list[str], text: str) -> Any:
    done = subprocess.run([*command, text], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("token", ["", "open-sesame"])
def test_the_request_is_copied_and_works_when_it_is_pasted(
    start: Callable[..., Service], visit: Visitor, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    visit.expect_errors("401")
    service = start(token=token)
    monkeypatch.setenv("SHORTLIST_TOKEN", token)
    query = 'the customer\'s "card" $HOME `x` \\n \u202e é 🚢'
    filters = '[["access","write"],["category","payments"],["category","orders"]]'
    place = urlencode({"q": query, "k": 5, "strategy": "top_k", "max_k": 2, "filters": filters})
    page = visit(service.url, f"#/search?{place}", permissions=["clipboard-read", "clipboard-write"])
    if token:
        page.get_by_role("textbox", name="Token").fill(token)
        page.get_by_role("button", name="Continue").click()
    condition = {"access": "write", "category": {"$in": ["payments", "orders"]}}
    expected = discovered(service, query=query, k=5, strategy="top_k", max_k=2, filter=condition)
    expect(titles(page)).to_have_text([hit["name"] for hit in expected["candidates"]])
    curl, python = copied(page, "curl"), copied(page, "Python")
    assert not re.search(rf"{token or 'no token'}|\u202e", curl + python)
    assert run(["bash", "-c"], curl) == expected
    assert run([sys.executable, "-c"], python) == expected
    call = json.loads(copied(page, "MCP"))
    assert call["params"]["arguments"] == {"query": query}
    reply = service.ask("POST", "/mcp", call)
    assert not reply["result"]["isError"]
    page.locator("label", has_text="Legacy").click()
    expect(page.locator(".axis-name")).to_have_text("share")
    body = {"query": query, "temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10}
    assert run(["bash", "-c"], copied(page, "curl")) == service.ask("POST", "/retrieve", body)
    page.get_by_role("button", name="Close the request").press("Enter")
    expect(page.get_by_role("button", name="curl", exact=True)).to_be_focused()


def test_a_query_of_which_nothing_is_known_says_so(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=xyzzy+plugh")
    found = discovered(service, query="xyzzy plugh")
    expect(verdict(page)).to_have_text("Nothing is known about this query")
    expect(page.locator(".verdict-reason")).to_have_text(f"{found['reason']} {found['signals']['try'][0]}")
    expect(page.locator(".divide")).to_have_text("Closest by meaning, probably unrelated")
    expect(page.get_by_role("status").filter(has_text="Nothing is known about this query.")).to_have_count(1)
    page.get_by_role("searchbox", name="Query").fill("play some music for the customer")
    expect(verdict(page)).not_to_have_text("Nothing is known about this query")


def test_a_row_shows_one_bar_and_its_parts_on_demand(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+a+payment")
    row = page.locator(".hits .hit").first
    expect(row.locator(".track:visible")).to_have_count(1)
    expect(row.locator(".value:visible")).to_have_count(1)
    page.get_by_role("button", name="Show parts").click()
    expect(row.locator(".gauge:visible .gauge-name")).to_have_text(["keyword", "semantic"])
    page.reload()
    expect(row.locator(".track:visible")).to_have_count(3)
    page.get_by_role("button", name="Hide parts").click()
    expect(row.locator(".track:visible")).to_have_count(1)
    found = discovered(service, query="refund a payment")["candidates"][0]
    row.click()
    why = page.get_by_role("complementary", name="Document").locator(".why")
    values = [found["relevance"], found["signals"]["covered"], found["signals"]["dense"]]
    expect(why.locator(".part-value")).to_have_text([f"{value:.2f}" for value in values])
    expect(why).not_to_contain_text(re.compile("lexical|covered|dense|named"))


def test_the_threshold_is_automatic_until_it_is_set(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+a+payment")
    switch, number = (
        page.locator(".threshold-control").get_by_role("switch"),
        page.get_by_role("spinbutton", name="Thr"),
    )
    expect(page.get_by_text(f"Automatic threshold ({THRESHOLD:g})")).to_be_visible()
    expect(switch).to_be_checked()
    expect(number).to_be_hidden()
    switch.press("Space")
    expect(number).to_have_value(f"{THRESHOLD:g}")
    expect(page).to_have_url(re.compile(f"min_relevance={THRESHOLD:g}$"))
    number.fill("0.9")
    expect(page.locator(".axis-line.threshold")).to_have_text("threshold 0.9")
    switch.press("Space")
    expect(number).to_be_hidden()
    expect(page.locator(".axis-line.threshold")).to_have_text(f"threshold {THRESHOLD:g}")


def test_the_legacy_view_is_the_last_choice(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    radios = page.get_by_role("group", name="View").get_by_role("radio")
    expect(radios).to_have_count(2)
    assert radios.evaluate_all("all => all.map((one) => [one.value, one.checked])") == [
        ["discover", True], ["softmax", False],
    ]  # fmt: skip


def test_rows_have_names_that_start_with_their_text(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+a+payment")
    expect(page.locator(".hits .hit")).to_have_count(10)
    assert find_violations(page, rules=["label-content-name-mismatch"]) == []


def test_recent_queries_are_offered_and_cleared(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/search?q=refund+a+payment")
    page.wait_for_function("() => localStorage.getItem('shortlist-queries')?.includes('refund a payment')")
    page.get_by_role("searchbox", name="Query").fill("")
    recent = page.get_by_role("region", name="Recent queries")
    recent.get_by_role("button", name="refund a payment").click()
    expect(page.locator(".hits .hit").first).to_be_visible()
    page.get_by_role("searchbox", name="Query").fill("")
    recent.get_by_role("button", name="Clear").click()
    expect(recent).to_have_count(0)
    assert page.evaluate("localStorage.getItem('shortlist-queries')") is None

"""Learning from use in a real browser: a result is marked as right, shown in what follows, and forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.axe import find_violations
from tests.web.conftest import Service, Visitor, assert_still

QUERY = "the client was charged twice"
USAGE = "/v1/corpora/catalog/usage"


@pytest.fixture
def taught(editable: Service) -> Iterator[Service]:
    """The service that can be changed; what it learned is forgotten after the test."""
    yield editable
    editable.ask("DELETE", USAGE)


def counts(service: Service) -> tuple[int, int]:
    usage = service.ask("GET", USAGE)
    return usage["uses"], usage["documents"]


def open_results(visit: Visitor, service: Service, **options: Any) -> Page:
    page = visit(service.url, f"#/search?q={QUERY.replace(' ', '+')}", **options)
    expect(page.locator(".hits .hit")).to_have_count(10)
    return page


def button(page: Page, text: str, title: str = "") -> Locator:
    return page.get_by_role("button", name=f"{text}: {title}")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_result_that_is_marked_as_right_is_learned_and_the_reason_of_its_rank_shows_it(
    taught: Service, visit: Visitor, width: int, scheme: Any
) -> None:
    page = open_results(visit, taught, viewport={"width": width, "height": 844}, color_scheme=scheme)
    title = page.locator(".hit-title").nth(5).inner_text()
    shown = [hit["id"] for hit in taught.ask("POST", "/v1/corpora/catalog/discover", {"query": QUERY})["candidates"]]
    page.evaluate("readShifts()")  # of the results
    with page.expect_request("**/feedback") as sent:
        button(page, "This was right", title).click()
    report: dict[str, Any] = sent.value.post_data_json or {}
    assert report.pop("session")
    assert report == {"query": QUERY, "id": shown[5], "outcome": "called", "shown": shown}
    expect(button(page, "Learned, undo", title)).to_have_text("Learned, undo")
    expect(button(page, "This was wrong", title)).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text=f"Learned: {title}.")).to_have_count(1)
    assert_still(page)
    button(page, "This was right").first.click()
    expect(button(page, "Learned, undo")).to_have_count(2)
    assert counts(taught) == (2, 2)
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width

    page.get_by_role("searchbox", name="Query").fill(f"{QUERY} again")
    expect(page.get_by_role("button", name=re.compile(f"^\\d+\\. {title}"))).to_be_visible()
    expect(button(page, "Learned, undo")).to_have_count(0)
    page.get_by_role("button", name=re.compile(f"^\\d+\\. {title}")).click()
    panel = page.get_by_role("complementary", name="Document")
    why = taught.ask("POST", "/v1/corpora/catalog/explain", {"query": f"{QUERY} again", "id": shown[5]})
    assert why["signals"]["learned"] >= 0.005
    expect(panel.get_by_text("from earlier use")).to_have_text(f"from earlier use: +{why['signals']['learned']:.2f}")
    assert find_violations(page) == []


def test_what_counts_against_a_document_has_a_minus(taught: Service, visit: Visitor) -> None:
    page = open_results(visit, taught)

    def lower(route: Any) -> None:
        why = route.fetch().json()
        route.fulfill(json=why | {"signals": why["signals"] | {"learned": -0.124}})

    page.route("**/explain", lower)
    page.locator(".hits .hit").first.click()
    expect(page.get_by_text("from earlier use: −0.12")).to_be_visible()
    page.unroute("**/explain")
    page.locator(".hits .hit").nth(1).click()
    expect(page.get_by_text("2 of 10 candidates")).to_be_visible()
    expect(page.get_by_text("from earlier use")).to_have_count(0)


def test_the_button_of_a_result_is_reached_with_keys(taught: Service, visit: Visitor) -> None:
    page = open_results(visit, taught)
    expect(page.get_by_role("searchbox", name="Query")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    second = page.locator(".was-right").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    expect(second).to_have_text("Learned, undo")
    expect(second).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hits .hit").nth(2)).to_be_focused()
    assert counts(taught) == (1, 1)
    focusable = page.locator(".hits button[tabindex='0']")
    expect(focusable).to_have_count(3)  # a row and its buttons, as one stop each


@pytest.mark.parametrize(
    ("learning", "said"),
    [("off", "Learning is off"), ("log", "Stored, undo")],
    ids=lambda value: value.replace(" ", "-"),
)
def test_without_learning_the_button_says_so(taught: Service, visit: Visitor, learning: str, said: str) -> None:
    page = open_results(visit, taught)
    answer = {"stored": learning != "off", "learning": learning}
    page.route("**/feedback", lambda route: route.fulfill(json=answer))
    page.locator(".was-right").first.click()
    expect(page.locator(".was-right").first).to_have_text(said)


def test_feedback_that_fails_shows_why_and_can_be_sent_again(taught: Service, visit: Visitor) -> None:
    visit.expect_errors("404")
    page = open_results(visit, taught)
    id = taught.ask("POST", "/v1/corpora/catalog/discover", {"query": QUERY})["candidates"][0]["id"]
    (document,) = [one for one in taught.ask("GET", "/documents")["documents"] if one["id"] == id]
    taught.ask("DELETE", f"/documents/{id}")
    page.locator(".was-right").first.click()
    expect(page.locator(".note.wrong")).to_contain_text(f"no document '{id}'")
    taught.ask("POST", "/documents", document)
    page.locator(".was-right").first.click()
    expect(page.locator(".was-right").first).to_have_text("Learned, undo")


@pytest.mark.parametrize(("text", "uses"), [("This was right", (1, 1)), ("This was wrong", (1, 0))])
def test_a_report_is_undone(taught: Service, visit: Visitor, text: str, uses: tuple[int, int]) -> None:
    page = open_results(visit, taught)
    title = page.locator(".hit-title").nth(2).inner_text()
    button(page, text, title).click()
    undo = button(page, "Learned, undo", title)
    expect(undo).to_be_visible()
    assert counts(taught) == uses
    assert find_violations(page) == []
    undo.click()
    expect(button(page, "This was right", title)).to_be_visible()
    expect(button(page, "This was wrong", title)).to_be_visible()
    expect(page.get_by_role("status").filter(has_text=f"Undone: {title}.")).to_have_count(1)
    assert counts(taught) == (0, 0)


def test_what_was_learned_is_forgotten_after_a_question(taught: Service, visit: Visitor) -> None:
    for query in ("one", "two"):
        taught.ask("POST", "/v1/corpora/catalog/feedback", {"query": query, "id": "refund_payment"})
    page = visit(taught.url, "#/documents")
    expect(page.get_by_text("Learned from 2 uses")).to_be_visible()
    forget, dialog = page.locator(".learned").get_by_role("button"), page.get_by_role("dialog", name="Forget the use")
    for end in ("Escape", "Enter"):  # which is on Cancel
        forget.press("Enter")
        expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        assert find_violations(page) == []
        page.keyboard.press(end)
        expect(dialog).to_have_count(0)
        expect(forget).to_be_focused()
    assert counts(taught) == (2, 1)
    forget.click()
    dialog.get_by_role("button", name="Forget").click()
    expect(page.get_by_text("Forgot the use of catalog.")).to_be_visible()
    expect(page.locator(".learned")).to_be_hidden()
    expect(page.get_by_role("combobox", name="Corpus")).to_be_focused()
    assert counts(taught) == (0, 0)

"""Every tab: themes, small screens, accessible names, tokens and failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.web.axe import find_violations
from tests.web.conftest import DOCUMENT, Service, Visitor, assert_still, running

TABS = {
    "Search": "#/search?q=refund+a+payment",
    "Ask": "#/ask",
    "Eval": "#/eval",
    "Documents": "#/documents",
    "Settings": "#/settings",
    "Status": "#/status",
}
CASES = """{"query": "refund a payment", "gold": "refund_payment"}
{"query": "pay me back", "gold": "void_authorization"}"""
READY = {
    "Search": ".hits .kept",
    "Ask": ".talk .empty",
    "Eval": ".evaluated .empty",
    "Documents": ".document-title",
    "Settings": ".choose-file",
    "Status": ".wide tbody tr",
}
CONTROLS = {
    "button", "checkbox", "combobox", "link", "radio", "searchbox", "slider", "spinbutton", "switch", "textbox",
    "DisclosureTriangle", "dialog", "complementary", "navigation", "region", "table", "image", "heading",
}  # fmt: skip


def open_tab(visit: Visitor, service: Service, tab: str, **options: Any) -> Page:
    page = visit(service.url, TABS[tab], **options)
    page.locator(READY[tab]).first.wait_for()
    return page


def nameless(page: Page) -> list[str]:
    """The roles of controls and landmarks without an accessible name."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    shown = [node for node in nodes if not node["ignored"] and node["role"]["value"] in CONTROLS]
    assert len(shown) > 5
    return [node["role"]["value"] for node in shown if not node.get("name", {}).get("value", "").strip()]


@pytest.mark.parametrize("tab", TABS)
def test_every_control_has_a_name_and_the_page_fits_a_phone(service: Service, visit: Visitor, tab: str) -> None:
    page = open_tab(visit, service, tab)
    assert nameless(page) == []
    assert_still(page)
    for width, bar in ((768, 56), (360, 96)):
        page.set_viewport_size({"width": width, "height": 740})
        page.wait_for_function("width => innerWidth === width", arg=width)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.querySelector('.bar').scrollHeight") <= bar
    too_small = page.locator(":is(button, select, input:not([type=radio])):visible").evaluate_all(
        "all => all.filter((one) => one.getBoundingClientRect().height < 20).map((one) => one.outerHTML)"
    )
    assert too_small == []


@pytest.mark.parametrize("tab", TABS)
def test_axe_finds_nothing_serious(service: Service, visit: Visitor, tab: str) -> None:
    page = open_tab(visit, service, tab)
    found = {"at first": find_violations(page)}

    def check(name: str) -> None:
        found[name] = find_violations(page)

    match tab:
        case "Search":
            page.locator(".hits .hit").nth(2).click()
            expect(page.get_by_role("heading", name="Why this rank")).to_be_visible()
            page.get_by_role("button", name="curl").click()
            check("a result and a request")
            page.get_by_role("searchbox", name="Query").fill("xyzzy plugh")
            expect(page.locator(".verdict.none")).to_be_visible()
            check("nothing known")
            page.get_by_role("searchbox", name="Query").fill("")
            expect(page.get_by_role("list", name="Sample queries").get_by_role("button").first).to_be_visible()
            check("no query")
        case "Ask":
            page.get_by_role("combobox", name="Corpus").select_option("papers")
            page.get_by_role("textbox", name="Question").fill("When was the old harbour opened?")
            page.keyboard.press("Enter")
            page.get_by_role("button", name=re.compile("^Citation 1")).first.click()
            check("an answer")
        case "Eval":
            page.get_by_role("textbox", name="Cases").fill(CASES)
            page.get_by_role("button", name="Evaluate").click()
            page.locator(".misses summary").first.click()
            check("an evaluation")
        case "Documents":
            page.locator(".document-open").first.click()
            expect(page.get_by_role("heading", name="Body")).to_be_visible()
            check("a document")
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Add document").click()
            check("the form")
            page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    check("on a phone")
    assert {name: rules for name, rules in found.items() if rules} == {}


def test_what_is_submitted_while_the_page_loads_is_done_afterwards(service: Service, visit: Visitor) -> None:
    held: list[Route] = []
    page = visit(service.url, "#/settings")
    page.route("**/v1/corpora", lambda route: held.append(route))

    def enter(tab: str) -> None:
        with page.expect_request("**/v1/corpora"):
            page.get_by_role("link", name=tab).click()
        expect(page.locator(f".tab.{tab.lower()}")).to_be_visible()

    def release() -> None:
        held.pop().continue_()

    enter("Ask")
    question = page.get_by_role("textbox", name="Question")
    question.fill("How can a payment be refunded?")
    question.press("Enter")
    expect(question).to_have_value("How can a payment be refunded?")
    release()
    expect(page.get_by_role("article", name="How can a payment be refunded?")).to_be_visible()
    expect(question).to_have_value("")

    enter("Search")
    page.get_by_role("searchbox", name="Query").fill("refund payment")
    page.keyboard.press("Enter")
    release()
    expect(page.get_by_role("complementary", name="Document").get_by_role("heading")).to_contain_text(
        ["refund_payment"]
    )
    expect(page).to_have_url(f"{service.url}/#/search?q=refund+payment")

    enter("Eval")
    page.get_by_role("textbox", name="Cases").fill('{"query": "refund a payment", "gold": "refund_payment"}')
    page.keyboard.press("Control+Enter")
    release()
    expect(page.locator(".step")).to_contain_text("1 case with expected documents")

    enter("Documents")
    expect(page.get_by_role("button", name="Add document")).to_be_disabled()
    page.get_by_role("searchbox", name="Filter").fill("refund_payment")
    release()
    expect(page.locator(".document-title")).to_have_text(["refund_payment"])
    expect(page.get_by_role("button", name="Add document")).to_be_enabled()


def test_dialogs_and_panels_have_names_and_fit_a_phone(service: Service, visit: Visitor) -> None:
    page = open_tab(visit, service, "Documents", viewport={"width": 360, "height": 740})
    page.get_by_role("button", name="Add document").click()
    expect(page.get_by_role("dialog", name="Add a document")).to_be_visible()
    assert nameless(page) == []
    page.keyboard.press("Escape")
    page.locator(".document-open").first.click()
    expect(page.get_by_role("complementary", name="Document")).to_be_visible()
    assert nameless(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_theme_follows_the_system_until_one_is_selected(service: Service, visit: Visitor) -> None:
    def background(page: Page) -> Any:
        return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    light, dark = "rgb(245, 246, 247)", "rgb(13, 16, 20)"
    page = open_tab(visit, service, "Settings", color_scheme="dark")
    assert background(page) == dark
    page.emulate_media(color_scheme="light")
    assert background(page) == light
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert background(page) == dark
    page.reload()
    assert background(page) == dark
    page.get_by_role("button", name="Theme: dark").click()
    page.reload()
    assert background(page) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(service: Service, visit: Visitor, scheme: Any) -> None:
    """WCAG AA: 4.5 to 1 for texts."""
    page = visit(service.url, color_scheme=scheme)
    colors = page.evaluate(
        """() => {
          const probe = document.body.appendChild(document.createElement("i"));
          const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
          const seen = (name) => {
            probe.style.color = `var(--${name})`;
            pixel.fillStyle = getComputedStyle(probe).color;
            pixel.fillRect(0, 0, 1, 1);
            return [...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3)];
          };
          const names = ["ground", "surface", "sunken", "text", "muted", "accent", "accent-soft", "on-accent",
                         "amber", "amber-soft", "red", "red-soft", "orange", "violet"];
          return Object.fromEntries(names.map((name) => [name, seen(name)]));
        }"""
    )

    def light_of(name: str) -> float:
        parts = [part / 255 for part in colors[name]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])

    def contrast(one: str, other: str) -> float:
        low, high = sorted((light_of(one), light_of(other)))
        return (high + 0.05) / (low + 0.05)

    pairs = [(text, ground) for text in ("text", "muted") for ground in ("ground", "surface", "sunken")]
    pairs += [("muted", "accent-soft"), ("muted", "amber-soft"), ("muted", "red-soft"), ("on-accent", "accent")]
    pairs += [("accent", "accent-soft"), ("accent", "surface"), ("amber", "amber-soft"), ("red", "surface")]
    pairs += [("red", "red-soft"), ("amber", "surface"), ("orange", "surface"), ("violet", "surface")]
    assert {pair: contrast(*pair) for pair in pairs if contrast(*pair) < 4.5} == {}


def test_the_page_asks_for_a_token_and_reports_a_lost_connection(start: Callable[..., Service], visit: Visitor) -> None:
    visit.expect_errors("401")
    service = start(token="open-sesame", catalog='{"documents": []}')
    page = visit(service.url)
    dialog = page.get_by_role("dialog", name="This service requires a token")
    dialog.get_by_label("Token").fill("wrong")
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog.get_by_text("The token was not accepted.")).to_be_visible()
    dialog.get_by_label("Token").fill("open-sesame")
    dialog.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("This corpus is empty")).to_be_visible()
    assert page.evaluate("[Object.values(sessionStorage), Object.values(localStorage)]") == [["open-sesame"], []]
    page.reload()
    expect(page.get_by_text("This corpus is empty")).to_be_visible()
    page.get_by_role("link", name="Documents").click()
    expect(page.get_by_role("button", name="Add the first document")).to_be_visible()

    visit.expect_errors("ERR_CONNECTION")
    service.stop()
    page.get_by_role("searchbox", name="Filter").fill("x")
    expect(page.get_by_role("alert").filter(has_text="The service does not answer.")).to_be_visible()
    expect(page.locator("#link")).to_have_text("No connection")
    page.get_by_role("link", name="Search").click()
    expect(page.locator(".verdict.wrong")).to_contain_text("No connection")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.parametrize("tab", TABS)
def test_a_closed_token_dialog_ends_the_wait_and_can_be_opened_again(locked: Service, visit: Visitor, tab: str) -> None:
    visit.expect_errors("401")
    page = visit(locked.url, TABS[tab])
    dialog = page.get_by_role("dialog", name="This service requires a token")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("No token").first).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    dialog.get_by_role("textbox", name="Token").fill("open-sesame")
    dialog.get_by_role("button", name="Continue").click()
    expect(page.locator(READY[tab]).first).to_be_visible()


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("locked"), token="open-sesame") as service:
        yield service


@pytest.mark.parametrize("look", ["discover", "softmax"])
def test_on_a_phone_rows_do_not_overlap_and_nothing_in_them_is_cut_off(
    service: Service, visit: Visitor, look: str
) -> None:
    page = open_tab(visit, service, "Search", viewport={"width": 390, "height": 844})
    page.goto(f"{service.url}/#/search?q=refund+a+payment+by+card&look={look}")
    expect(page.locator(f".gauge.{'relevance' if look == 'discover' else 'share'}").first).to_be_visible()
    boxes = page.locator(".hits > li").evaluate_all(
        """all => all.flatMap((row) => {
             const boxes = [row, ...row.querySelectorAll("*")].flatMap((one) => [...one.getClientRects()]);
             return [[Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))]];
           })"""
    )
    assert len(boxes) > 5
    assert all(above[1] <= below[0] + 1 for above, below in pairwise(sorted(boxes)))
    cut = page.locator(".gauge > :not(.track, .unseen), .axis-top, .verdict-took, .hit-text").evaluate_all(
        """all => all
             .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
             .map((one) => one.textContent)"""
    )
    assert cut == []


def test_all_keys_that_the_page_shows_are_documented(service: Service, visit: Visitor) -> None:
    page = visit(service.url)
    page.locator(".keys").wait_for()
    shown = set(page.locator(".keys kbd").all_inner_texts())
    documented = set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\|(.*?)\|", DOCUMENT, re.MULTILINE))))
    assert shown <= documented


def test_the_page_is_usable_after_two_round_trips_and_few_bytes(service: Service, visit: Visitor) -> None:
    """A line of 400 kbit/s with a latency of 400 ms carries these in 3 seconds, with the round trip that connects."""
    page = visit(service.url)
    requests: list[Request] = []
    held: list[Route] = []

    def hold(route: Route) -> None:
        """Answer neither of the first two requests before both are sent."""
        held.append(route)
        if len(held) == 2:
            for one in held:
                one.continue_()

    def record(request: Request) -> None:
        requests.append(request)

    page.on("request", record)
    page.context.route(re.compile(r"/(status|v1/corpora)$"), hold)
    page.reload()
    page.locator(".tab:not(.early) select option").first.wait_for(state="attached")
    needed = [
        request for request in requests if not request.url.endswith((".svg", "/settings")) and "?" not in request.url
    ]
    assert sorted(request.url.removeprefix(service.url) for request in needed) == ["/", "/status", "/v1/corpora"]
    assert sum(request.sizes()["responseBodySize"] for request in needed) < 80_000

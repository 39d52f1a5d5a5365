"""The Documents tab in a real browser: changes there reach the service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.web.axe import find_violations
from tests.web.conftest import ServeCatalog, Service, Visitor

TOOLS = [{"id": f"tool_{n}", "title": f"Tool {n}", "content": f"Does thing number {n}."} for n in range(5)]
HOSTILE = {
    "id": "<b>hostile</b>",
    "title": "<img src=x onerror=alert(1)> quagga",
    "content": "<script>alert(2)</script> quagga <a href='javascript:alert(3)'>x</a> <svg onload=alert(4)>",
    "keywords": ["<iframe src=javascript:alert(5)>"],
    "metadata": {
        "<img src=y onerror=alert(6)>": "javascript:alert(7)",
        "link": {"href": "<style>*{display:none}</style>"},
    },
}


def ids(service: Service) -> list[str]:
    return [document["id"] for document in service.ask("GET", "/documents")["documents"]]


def fill(page: Page, **fields: str) -> None:
    for label, text in fields.items():
        page.get_by_role("dialog").get_by_label(label.capitalize(), exact=True).fill(text)


def narrow(page: Page, text: str, titles: list[str]) -> None:
    """Filters the documents, and waits until the list has exactly these titles."""
    page.get_by_role("searchbox", name="Filter").fill(text)
    expect(page.locator(".document-title")).to_have_text(titles)


def find(page: Page, text: str) -> None:
    page.get_by_role("link", name="Search").click()
    page.get_by_role("searchbox", name="Query").fill(text)


def test_a_document_is_added_found_edited_and_deleted(editable: Service, visit: Visitor) -> None:
    page = visit(editable.url, "#/documents")
    page.get_by_role("button", name="Add document").click()
    fill(page, id="feed_otter", title="Feed the otter", content="Gives the otter its fish.", keywords="otter, zoo ,")
    fill(page, metadata='{"access": "write"}')
    page.get_by_role("dialog").get_by_role("button", name="Add document").click()
    expect(page.get_by_text("Added Feed the otter.")).to_be_visible()
    added = {"id": "feed_otter", "title": "Feed the otter", "content": "Gives the otter its fish."}
    (stored,) = editable.ask("GET", "/documents?q=otter")["documents"]
    assert stored == {**added, "keywords": ["otter", "zoo"], "metadata": {"access": "write"}}

    find(page, "otter")
    expect(page.locator(".hits .kept .hit-title")).to_have_text(["Feed the otter"])

    page.get_by_role("link", name="Documents").click()
    narrow(page, "otter", ["Feed the otter"])
    page.get_by_role("button", name="Edit Feed the otter").click()
    expect(page.get_by_role("dialog").get_by_label("Id", exact=True)).to_have_attribute("readonly", "")
    fill(page, title="Feed the badger")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved Feed the badger.")).to_be_visible()
    find(page, "badger")
    expect(page.locator(".hits .kept .hit-title")).to_have_text(["Feed the badger"])

    page.get_by_role("link", name="Documents").click()
    narrow(page, "otter", ["Feed the badger"])
    page.get_by_role("button", name="Delete Feed the badger").click()
    expect(page.get_by_text("Deleted Feed the badger.")).to_be_visible()
    assert "feed_otter" not in ids(editable)
    find(page, "badger")
    expect(page.locator(".verdict-title")).to_contain_text("Nothing")


def test_rows_that_are_loaded_again_are_not_redrawn(editable: Service, visit: Visitor) -> None:
    """Otherwise a click that has begun on a row would be lost."""
    page = visit(editable.url, "#/documents?q=customer")
    rows = page.locator(".documents-list > li")
    expect(rows.first).to_be_visible()
    page.evaluate("document.querySelector('.documents-list > li').dataset.marked = 'yes'")
    with page.expect_response(lambda response: "q=customer" in response.url):
        page.get_by_role("searchbox", name="Filter").fill("customer ")
    expect(page.locator(".documents-list:not([aria-busy])")).to_be_visible()
    expect(rows.first).to_have_attribute("data-marked", "yes")


def test_fields_that_are_not_edited_stay_the_same(editable: Service, visit: Visitor) -> None:
    odd = {
        "id": " odd id ",
        "title": " Two\nlines ",
        "content": "wombat\r\n\n ",
        "keywords": ["a, b", ""],
        "metadata": {},
    }
    editable.ask("POST", "/documents", odd)
    (before,) = editable.ask("GET", "/documents?q=wombat")["documents"]
    page = visit(editable.url, "#/documents?q=wombat")
    page.get_by_role("button", name="Edit").click()
    fill(page, metadata='{"seen": true}')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert editable.ask("GET", "/documents?q=wombat")["documents"] == [before | {"metadata": {"seen": True}}]
    page.get_by_role("button", name="Delete Two lines").click()
    expect(page.get_by_text("No document matches the filter")).to_be_visible()


def test_a_delete_can_be_undone(editable: Service, visit: Visitor) -> None:
    page = visit(editable.url, "#/documents?q=get_customer_profile")
    (before,) = [one for one in editable.ask("GET", "/documents")["documents"] if one["id"] == "get_customer_profile"]
    page.get_by_role("button", name="Delete get_customer_profile").click()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    assert "get_customer_profile" not in ids(editable)
    undo.click()
    expect(page.get_by_text("get_customer_profile was restored.")).to_be_visible()
    assert before in editable.ask("GET", "/documents")["documents"]


def test_errors_are_shown_next_to_their_fields(service: Service, visit: Visitor) -> None:
    page = visit(service.url, "#/documents")
    page.get_by_role("button", name="Add document").click()
    dialog = page.get_by_role("dialog")
    fill(page, metadata="{")
    save = dialog.get_by_role("button", name="Add document")
    save.click()
    for label, message in {
        "Id": "Enter an id.",
        "Content": "Enter a title or content",
        "Metadata": "Not valid JSON",
    }.items():
        field = dialog.get_by_label(label, exact=True)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_have_accessible_description(re.compile(re.escape(message)))
    expect(dialog.get_by_label("Id", exact=True)).to_be_focused()
    fill(page, id="refund_payment", title="Mine", content="Mine", metadata="[1]")
    save.click()
    expect(dialog.get_by_text("A document with this id already exists.")).to_be_visible()
    expect(dialog.get_by_text("Enter a JSON object")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert "Mine" not in [one["title"] for one in service.ask("GET", "/documents")["documents"]]


def test_documents_are_browsed_by_page_and_filtered(service: Service, visit: Visitor) -> None:
    names = [document["title"] for document in service.ask("GET", "/documents")["documents"]]
    count = len(names)
    assert 75 < count <= 100
    page = visit(service.url, "#/documents")
    titles = page.locator(".document-title")
    expect(page.get_by_text(f"1–25 of {count} documents")).to_be_visible()
    expect(page.get_by_role("button", name="Previous", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Next", exact=True).click()
    expect(titles).to_have_text(names[25:50])
    page.get_by_role("button", name="Next", exact=True).click()
    expect(titles).to_have_text(names[50:75])
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.get_by_text(f"76–{count} of {count} documents")).to_be_visible()
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_disabled()
    page.reload()
    expect(titles).to_have_text(names[75:])
    holding = [document["title"] for document in service.ask("GET", "/documents?q=parcel")["documents"]]
    assert 0 < len(holding) < 25
    narrow(page, "PARCEL", holding)
    page.get_by_role("searchbox", name="Filter").fill("zebra")
    expect(page.get_by_text("No document matches the filter")).to_be_visible()


def test_content_of_documents_is_text_and_never_html(editable: Service, visit: Visitor) -> None:
    editable.ask("POST", "/documents", HOSTILE)
    page = visit(editable.url, "#/search?q=quagga")
    page.get_by_role("button", name="1. <img src=x onerror=alert(1)> quagga").click()
    panel = page.get_by_role("complementary", name="Document")
    expect(panel.locator("pre")).to_have_text(HOSTILE["content"])  # type: ignore[arg-type]
    expect(panel.get_by_text("javascript:alert(7)")).to_be_visible()
    page.locator("label", has_text="Legacy").click()
    expect(page.locator(".hits .hit-title", has_text="<img src=x onerror=alert(1)> quagga")).to_be_visible()
    page.get_by_role("link", name="Documents").click()
    narrow(page, "quagga", ["<img src=x onerror=alert(1)> quagga"])
    page.get_by_role("button", name="<iframe src=javascript:alert(5)>").click()
    expect(panel.get_by_role("heading", name="<img src=x onerror=alert(1)> quagga")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("main :is(img, iframe, script, style, a)")).to_have_count(0)
    page.get_by_role("button", name="Edit <img src=x").click()
    expect(page.get_by_role("dialog").get_by_label("Content")).to_have_value(HOSTILE["content"])  # type: ignore[arg-type]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Delete <img src=x").click()
    expect(page.get_by_text("Deleted <img src=x onerror=alert(1)> quagga.")).to_be_visible()
    assert HOSTILE["id"] not in ids(editable)


LONG = {"id": "i" * 500, "title": "t" * 500, "content": f"okapi {'c' * 500}", "metadata": {"k" * 500: "v" * 500}}
BIDI = {
    "id": "bidi",
    "title": "fdp\u202etxt.okapi",
    "content": "okapi \u2066 \u200f \U000e0041 \u0007 می\u200cخواهم 👩\u200d🚀 שלום",
    "keywords": ["\u202ekey"],
    "metadata": {"na\u202eme": "\u202evalue", "שם": "ערך"},
}
CONTROLS = re.compile("[\u0007\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0041]")


@pytest.mark.parametrize("width", [1440, 390])
def test_long_names_and_control_characters_are_shown_safely(
    serve_catalog: ServeCatalog, visit: Visitor, width: int
) -> None:
    service = serve_catalog([LONG, BIDI])
    viewport: ViewportSize = {"width": width, "height": 844}
    page = visit(service.url, "#/search?q=okapi", viewport=viewport)

    def assert_safe() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert CONTROLS.findall(page.evaluate("document.body.textContent")) == []
        labels = page.locator("[aria-label], [title]").evaluate_all(
            "all => all.map((one) => one.ariaLabel + one.title)"
        )
        assert CONTROLS.findall("".join(labels)) == []

    expect(page.locator(".hits .hit")).to_have_count(2)
    expect(page.locator(".hit-title", has_text="fdp[U+202E]txt.okapi")).to_be_visible()
    expect(
        page.locator(".hit-snippet", has_text="[U+2066] [U+200F] [U+E0041] [U+0007] می\u200cخواهم 👩\u200d🚀")
    ).to_have_count(1)
    panel = page.get_by_role("complementary", name="Document")
    for row in page.locator(".hits .hit").all():
        row.click()
        expect(panel.get_by_role("heading", name="Body")).to_be_visible()
        head = panel.locator(".panel-head").bounding_box()
        assert head
        assert head["height"] < 120
        assert_safe()
        page.keyboard.press("Escape")
    page.goto(f"{service.url}/#/documents")
    expect(page.locator(".document-title")).to_have_count(2)
    expect(page.locator(".document-keywords")).to_have_text("[U+202E]key")
    tallest = page.locator(".documents-list > li").evaluate_all(
        "all => Math.max(...all.map((one) => one.getBoundingClientRect().height))"
    )
    assert tallest < 200
    page.get_by_role("button", name="Delete ttt").click()
    expect(page.get_by_text("Deleted ttt")).to_be_visible()
    assert_safe()
    page.get_by_role("button", name="Edit fdp[U+202E]txt.okapi").click()
    expect(page.get_by_role("dialog").get_by_label("Title")).to_have_value("fdp\u202etxt.okapi")  # as it is


def test_documents_are_sorted_and_jumped_to(service: Service, visit: Visitor) -> None:
    documents = service.ask("GET", "/documents")["documents"]
    page = visit(service.url, "#/documents")
    titles = page.locator(".document-title")
    page.get_by_label("Order", exact=True).select_option("newest")
    expect(titles.first).to_have_text(documents[-1]["title"])
    page.get_by_label("Order", exact=True).select_option("title")
    path = "/v1/corpora/catalog/documents?sort=title&limit=25&offset="
    first, names = ([one["title"] for one in service.ask("GET", f"{path}{at}")["documents"]] for at in (0, 75))
    expect(titles).to_have_text(first)  # with these, the field is drawn again
    field = page.get_by_role("spinbutton", name="Page")
    field.fill("4")
    field.press("Enter")
    expect(titles).to_have_text(names)
    field.fill("99")
    field.press("Enter")
    expect(field).to_have_value("4")
    page.reload()
    expect(titles).to_have_text(names)


def test_selected_and_matching_documents_are_deleted_after_a_question(
    serve_catalog: ServeCatalog, visit: Visitor
) -> None:
    service = serve_catalog([*TOOLS, {"id": "otter", "title": "Otter", "content": "Feeds it."}])
    page = visit(service.url, "#/documents")
    for name in ("Tool 1", "Tool 3"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    expect(page.get_by_text("2 documents selected")).to_be_visible()
    remove = page.locator(".selection").get_by_role("button", name="Delete", exact=True)
    dialog = page.get_by_role("dialog", name="Delete 2 documents of catalog?")
    remove.click()
    dialog.get_by_role("button", name="Cancel").click()
    assert len(ids(service)) == 6
    remove.click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted 2 documents.")).to_be_visible()
    assert ids(service) == ["tool_0", "tool_2", "tool_4", "otter"]
    narrow(page, "thing", ["Tool 0", "Tool 2", "Tool 4"])
    page.get_by_role("button", name="Delete all 3 that match").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No document matches the filter")).to_be_visible()
    assert ids(service) == ["otter"]


def test_a_folder_is_uploaded_and_searched(editable: Service, visit: Visitor, tmp_path: Path) -> None:
    folder = tmp_path / "boats"
    (folder / "old").mkdir(parents=True)
    (folder / "tug.md").write_text("# The tug\n\nThe tug has two pilots.")
    (folder / "old" / "ferry.txt").write_text("The ferry sails at nine.")
    (folder / ".secret").write_text("hidden")
    (folder / "photo.bin").write_bytes(b"\x00\x01\xff" * 9)
    page = visit(editable.url, "#/documents")
    page.get_by_role("button", name="Add files").click()
    dialog = page.get_by_role("dialog", name="Add files")
    expect(dialog.get_by_role("button", name="Upload and index")).to_be_disabled()
    dialog.locator("input[type=file]").nth(1).set_input_files(folder)
    expect(dialog.get_by_label("Corpus")).to_have_value("boats")
    expect(dialog.get_by_text("3 files, ")).to_be_visible()
    dialog.get_by_role("button", name="Upload and index").click()
    expect(dialog.get_by_text("boats has 2 documents: 2 added, 0 changed.")).to_be_visible()
    expect(dialog.get_by_role("region", name="Skipped files").locator("code")).to_have_text(
        ["boats/.secret", "boats/photo.bin"]
    )
    assert find_violations(page) == []
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator(".document-title")).to_have_text(["ferry.txt", "The tug"])
    expect(page.get_by_role("combobox", name="Corpus")).to_have_value("boats")
    found = editable.ask("POST", "/v1/corpora/boats/search", {"query": "pilots", "mode": "lexical"})
    assert [hit["id"] for hit in found["hits"]] == ["boats/tug.md"]
    page.get_by_role("checkbox", name="Select ferry.txt").check()
    page.locator(".selection").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".document-title")).to_have_text(["The tug"])


def test_dropped_files_open_the_dialog_and_a_taken_name_is_explained(editable: Service, visit: Visitor) -> None:
    visit.expect_errors("422")
    page = visit(editable.url, "#/documents")
    page.locator(".document-title").first.wait_for()
    transfer = page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(new File(['A text.'], 'a.md')); return all; }"
    )
    page.locator(".tab.documents").dispatch_event("drop", {"dataTransfer": transfer})
    dialog = page.get_by_role("dialog", name="Add files")
    expect(dialog.get_by_text("1 file, 7 B")).to_be_visible()
    dialog.get_by_label("Corpus").fill("catalog")
    dialog.get_by_role("button", name="Upload and index").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Choose another name")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

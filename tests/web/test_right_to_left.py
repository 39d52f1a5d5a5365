"""Text in Arabic and Hebrew is aligned to the right, and English text beside it to the left."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Service, Visitor, running

DOCUMENTS = [
    {"id": "ar", "title": "سياسة الاسترداد", "keywords": ["مال", "عميل"],
     "content": "تعاد الأموال إلى العميل خلال ثلاثين يوما. لا تعاد رسوم الشحن."},
    {"id": "he", "title": "מדיניות החזרים", "keywords": [],
     "content": "הכסף מוחזר ללקוח בתוך שלושים יום. דמי המשלוח אינם מוחזרים."},
    {"id": "en", "title": "Refund policy", "keywords": [],
     "content": "The money is returned to the customer within thirty days. Shipping is not returned."},
]  # fmt: skip
QUESTIONS = {"ar": "متى تعاد الأموال إلى العميل؟", "he": "מתי הכסף מוחזר ללקוח?", "en": "When is the money returned?"}
WIDTHS = [1400, 390]

# The distances of the last line of text in an element from the left and right edges of its content box.
MARGINS = """(element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  const rects = [...range.getClientRects()];
  const bottom = Math.max(...rects.map((rect) => rect.bottom));
  const line = rects.filter((rect) => rect.bottom > bottom - 10);
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const left = Math.min(...line.map((rect) => rect.left)) - box.left - parseFloat(style.paddingLeft);
  const right = box.right - Math.max(...line.map((rect) => rect.right)) - parseFloat(style.paddingRight);
  return [Math.abs(left), Math.abs(right)];
}"""


@pytest.fixture(scope="module")
def polyglot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("polyglot"), catalog=json.dumps({"documents": DOCUMENTS})) as service:
        yield service


def is_right_aligned(text: Locator) -> bool:
    left, right = text.first.evaluate(MARGINS)
    for _ in range(50):
        if min(left, right) < 8 <= max(left, right):
            break
        text.page.wait_for_timeout(100)  # the page may still be moving
        left, right = text.first.evaluate(MARGINS)
    assert min(left, right) < 8 <= max(left, right), (left, right)
    return bool(right < left)


def assert_fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", WIDTHS)
def test_results_and_the_document_are_aligned_by_their_language(polyglot: Service, visit: Visitor, width: int) -> None:
    page = visit(polyglot.url, "", viewport={"width": width, "height": 900})
    field = page.get_by_role("searchbox", name="Query")
    for code, question in QUESTIONS.items():
        field.fill(question)
        document = next(document for document in DOCUMENTS if document["id"] == code)
        hit = page.locator(".hits li", has=page.get_by_text(str(document["title"])))
        is_right = code != "en"
        expect(hit.first).to_be_visible()
        assert is_right_aligned(hit.locator(".hit-title")) == is_right
        assert is_right_aligned(hit.locator(".hit-snippet")) == is_right
        assert field.evaluate("field => getComputedStyle(field).direction") == ("rtl" if is_right else "ltr")
        hit.locator(".hit").click()
        expect(page.locator(".panel h2")).to_have_text(str(document["title"]))
        expect(page.locator(".panel pre.text")).to_contain_text(str(document["content"])[:20])
        assert is_right_aligned(page.locator(".panel h2")) == is_right
        assert is_right_aligned(page.locator(".panel pre.text")) == is_right
        assert_fits(page, width)
        page.get_by_role("button", name="Close the document").click()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_documents_is_aligned_row_by_row(polyglot: Service, visit: Visitor, width: int) -> None:
    page = visit(polyglot.url, "#/documents", viewport={"width": width, "height": 900})
    for document in DOCUMENTS:
        row = page.locator(f".documents-list li[data-id={document['id']}]")
        expect(row).to_be_visible()
        title, text = (row.locator(f".document-{part}").bounding_box() for part in ("title", "text"))
        assert title
        assert text
        is_right = document["id"] != "en"
        assert is_right_aligned(row.locator(".document-text")) == is_right
        assert abs(title["x"] + title["width"] - text["x"] - text["width"] if is_right else title["x"] - text["x"]) < 2
        assert_fits(page, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_questions_answers_and_evidence_are_aligned_by_their_language(
    polyglot: Service, visit: Visitor, width: int
) -> None:
    page = visit(polyglot.url, "#/ask", viewport={"width": width, "height": 900})
    for code, question in QUESTIONS.items():
        page.get_by_role("textbox", name="Question").fill(question)
        page.get_by_role("button", name="Ask", exact=True).click()
        turn = page.locator(".turn").last
        cite = turn.locator(".answer .cite").first
        expect(cite).to_be_visible()
        is_right = code != "en"
        assert is_right_aligned(turn.locator(".turn-question")) == is_right
        assert is_right_aligned(turn.locator(".answer p")) == is_right
        cite.click()
        passage = page.get_by_role("region", name="Passage")
        expect(passage).to_be_visible()
        assert is_right_aligned(passage) == is_right
        assert_fits(page, width)
        page.get_by_role("button", name="Close the passage").click()


def test_status_shows_the_languages_of_a_corpus(polyglot: Service, visit: Visitor) -> None:
    page = visit(polyglot.url, "#/status")
    row = page.get_by_role("region", name="Corpora").get_by_role("row", name="catalog")
    expect(row.get_by_role("cell").nth(3)).to_have_text(re.compile("^(Arabic|English|Hebrew) 33 %, .*, .*$"))

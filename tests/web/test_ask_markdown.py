"""Markdown of documents in a real browser: shown as such, never executed or loaded, and without any loss of text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import HOSTILE, Service, Visitor, open_context, visiting
from tests.web.test_ask import PLACE, ask, panel

# Draws each text, and returns what is visible of it (without the hosts of links) and how deep its elements are.
DRAW = """async (texts) => {
  const { markdown } = await import("/page/ask/markdown.js");
  const { h } = await import("/page/core/dom.js");
  const { toUnits } = await import("/page/ask/passage.js");
  const depth = (one) => 1 + Math.max(0, ...[...one.children].slice(0, 100).map(depth));
  return texts.map((text) => {
    const element = h("div", {}, markdown(text, { ranges: toUnits(text, [[1, 9]]).map((span) => [...span, "mark"]) }));
    element.querySelectorAll(".host").forEach((one) => one.remove());
    return [element.textContent, depth(element)];
  });
}"""


def letters(text: str) -> str:
    """A text without spaces and what may be Markdown."""
    return "".join(re.findall(r"[A-Za-z]", text))


@pytest.fixture
def page(service: Service, visit: Visitor) -> Page:
    return visit(service.url, PLACE)


@pytest.fixture(scope="module")
def drawing(service: Service, browser: Browser) -> Iterator[Page]:
    """A page for all tests that only draw texts."""
    with open_context(browser) as context, visiting(context) as visit:
        yield visit(service.url, PLACE)


def test_a_hostile_document_is_shown_and_neither_executed_nor_loaded(page: Page) -> None:
    turn = ask(page, "How many sailors does the lightship carry?")
    expect(turn.locator(".answer")).to_contain_text(HOSTILE)
    turn.get_by_role("button", name=re.compile("^Citation 1: lightship.md")).first.click()
    text = panel(page).get_by_role("region", name="Passage")
    expect(text).to_contain_text(
        f"{HOSTILE} eleven sailors, [a plan](javascript:alert(1)) and <script>alert(2)</script>."
    )
    expect(text).to_contain_text("[this](data:text/html,<script>alert(3)</script>)")
    expect(text).to_contain_text('![the chart](https://img.example.org/chart.png "x")')
    expect(text.locator("a")).to_have_text(["the log", "the map"])
    expect(text.locator(".host")).to_have_text(["(log.example.org)", "(img.example.org)"])
    for name, value in (("target", "_blank"), ("rel", "noopener noreferrer nofollow")):
        expect(text.locator("a").first).to_have_attribute(name, value)
    expect(page.locator("main :is(script, img, iframe)")).to_have_count(0)


def test_blocks_of_a_passage_are_elements_with_the_cited_words_marked(page: Page) -> None:
    ask(page, "How many sailors does the lightship carry?").locator(".cite").first.click()
    text = panel(page).get_by_role("region", name="Passage")
    expect(text.locator("p > strong").first).to_have_text("The lightship")
    expect(text.locator("h1, h2, h3")).to_have_count(0)
    expect(text.locator("th")).to_have_text(["Deck", "Use"])
    expect(text.locator("td")).to_have_text(["upper", "the lamp"])
    expect(text.locator("ol > li > ul > li")).to_have_text("At dawn only.")
    expect(text.locator("code")).to_have_text("[code](https://x)")
    marked = "".join(text.locator("mark").all_text_contents())
    assert f"The lightship carries {HOSTILE} eleven sailors" in marked
    expect(text.locator("strong > mark")).to_have_text(["lightship"])


def test_passages_of_other_sources_are_plain_text(page: Page) -> None:
    turn = ask(page, "How many tons does the anchor weigh?")
    turn.locator(".cite").first.click()
    text = panel(page).get_by_role("region", name="Passage")
    assert text.evaluate("one => one.localName") == "pre"


@pytest.mark.parametrize(
    "text",
    [
        "*a" * 50_000,
        "**a *b " * 15_000,
        "*a **b " * 5_000 + "c** d* " * 5_000,
        "[" * 100_000,
        "[a](" * 25_000,
        "![a" * 10_000 + "](https://b.c)" * 10_000,
        "`a``b" * 20_000,
        "".join("`" * count + "a" for count in range(1, 440)),
        "- " * 50_000 + "a",
        "".join(f"{' ' * (2 * depth)}- a\n" for depth in range(300)),
        "|a" * 50_000,
        "|a|\n" * 25_000,
        "> " * 50_000 + "a",
        "```a\n" * 20_000,
        "a\n" * 50_000,
        "\n" * 100_000,
        " " * 100_000 + "a",
        "- - - " * 16_000 + "a",
        "\\a\\*" * 20_000,
        "1. a\n\n" * 15_000,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_hostile_texts_keep_every_letter_and_end(drawing: Page, text: str) -> None:
    ((visible, depth),) = drawing.evaluate(DRAW, [text])
    assert letters(visible).replace("httpsbc", "") == letters(text).replace("httpsbc", "")
    assert depth < 40


def test_any_mix_of_markers_keeps_every_letter_in_order(drawing: Page) -> None:
    chance = random.Random(7)
    markers = [*"*_`[]()|\\", "**", "***", "__", "``", "~~", "![", "](", "<b>", "<!--", "&lt;"]
    blocks = [f"\n{each}" for each in ("", "\n", "- ", "  - ", "1. ", "# ", "```", "|", "|-|-|\n")]
    pieces = [*"aB \t🚢\ue000", "b ", "\r\n", *markers, *blocks]
    texts = ["".join(chance.choices(pieces, k=chance.randint(1, 60))) for _ in range(3_000)]
    for text, (visible, _) in zip(texts, drawing.evaluate(DRAW, texts), strict=True):
        assert letters(re.sub(r"\[U\+\w{4}\]", "", visible)) == letters(text), repr(text)

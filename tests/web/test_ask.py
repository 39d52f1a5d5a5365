"""The Ask tab in a real browser: answers as they arrive, and the passages that they cite."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from playwright.sync_api import Locator, Page, expect

from shortlist.answer.prompts import REFUSAL
from shortlist.results import Answer, Citation, Claim, Dropped, Evidence
from tests.answer.server import Scripted, ScriptedServer, event, failure, streamed
from tests.server.routes.test_job_routes import calls
from tests.web.conftest import HOSTILE, PATIENCE, Service, Visitor, assert_still
from tests.web.test_tabs import nameless

PLACE = "#/ask?corpus=papers"


def ask(page: Page, question: str) -> Locator:
    """Ask a question, and return its turn once it is answered."""
    field = page.get_by_role("textbox", name="Question")
    field.fill(question)
    field.press("Enter")
    turn = page.get_by_role("article", name=question)
    expect(turn).not_to_have_attribute("aria-busy", "true")
    return turn


def panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Passage")


def test_a_citation_shows_its_passage_with_exactly_the_cited_words_marked(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    turn = ask(page, "When was the old harbour opened?")
    answer = service.ask("POST", "/v1/corpora/papers/ask", {"question": "When was the old harbour opened?"})
    (citation,) = answer["sentences"][0]["citations"]
    passage = answer["evidence"][citation["number"] - 1]["text"]
    words = [passage[start:end] for start, end in citation["spans"]]
    assert "The old harbour was opened in 1911." in words[0]
    number = citation["number"]
    expect(turn.locator(".answer")).to_contain_text(f"opened in 1911. {number}")
    turn.get_by_role("button", name=f"Citation {number}: harbour.txt").click()
    expect(panel(page).locator("mark")).to_have_text(words)
    expect(panel(page).get_by_role("region", name="Passage")).to_have_text(passage)
    expect(panel(page)).to_contain_text(answer["evidence"][0]["source"])
    expect(turn.locator(".turn-state")).to_contain_text("without an LLM")
    assert_still(page)


def test_the_page_of_a_pdf_and_the_row_of_a_table_are_shown(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    for question, citation, place in (
        ("Who was the lighthouse keeper?", "report.pdf · page 2", "page 2"),
        ("What is the role of Marlowe?", "staff.csv · row 2", "row 2"),
    ):
        button = ask(page, question).get_by_role("button", name=re.compile(f"^Citation .*{citation}")).first
        button.press("Enter")
        expect(panel(page).get_by_role("heading", level=2)).to_have_text(citation)
        expect(panel(page).get_by_role("heading", level=2)).to_be_focused()
        expect(panel(page).get_by_text(place, exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        expect(button).to_be_focused()
        expect(panel(page)).not_to_have_class(re.compile("open"))
        page.get_by_role("button", name="New conversation").click()


def test_an_unanswerable_question_is_refused_with_the_reason(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    question = "Which team won the cup in Lisbon?"
    turn = ask(page, question)
    answer = service.ask("POST", "/v1/corpora/papers/ask", {"question": question})
    assert answer["refused"]
    expect(turn.locator(".refusal-text")).to_have_text(REFUSAL)
    expect(turn.locator(".refusal .muted")).to_have_text(answer["reason"])
    expect(turn.locator(".turn-state")).to_contain_text("Not answered")


def test_content_of_a_hostile_document_is_text(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    turn = ask(page, "How many tons does the anchor weigh?")
    expect(turn.locator(".answer")).to_contain_text(HOSTILE)
    cites = turn.locator(".answer .cite")
    label = "odd (1) ‹b›.txt"
    labels = cites.evaluate_all("all => all.map((one) => one.ariaLabel)")
    assert set(labels) == {f"Citation 1: {label}"}
    cites.first.click()
    expect(panel(page).get_by_role("heading", level=2)).to_have_text(label)
    expect(panel(page).get_by_role("region", name="Passage")).to_contain_text(HOSTILE)
    expect(page.locator("main img, main b")).to_have_count(0)


def test_a_follow_up_uses_the_conversation_until_a_new_one_starts(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    follow_up = "Which are they?"
    ask(page, "How many piers does the harbour have?")
    turn = ask(page, follow_up)
    expect(turn.locator(".answer")).to_contain_text("three piers")
    page.get_by_role("link", name="Status").click()
    page.get_by_role("link", name="Ask").click()
    expect(page.get_by_role("article")).to_have_count(2)
    page.get_by_role("button", name="New conversation").click()
    expect(page.get_by_role("article")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()
    expect(ask(page, follow_up).locator(".refusal")).to_be_visible()


def test_without_a_model_there_is_no_agent_and_a_new_corpus_clears_the_talk(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    ask(page, "Who was the lighthouse keeper?")
    expect(page.get_by_role("switch", name="Agent")).to_have_count(0)
    page.get_by_role("combobox", name="Corpus").select_option("catalog")
    expect(page.get_by_text("Ask 90 documents")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(0)
    page.get_by_role("button", name="Ask").click()  # no question is asked
    expect(page.get_by_role("article")).to_have_count(0)


def test_on_a_phone_everything_has_a_name_and_fits(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE, viewport={"width": 360, "height": 740})
    ask(page, "Who was the lighthouse keeper?").get_by_role("button", name=re.compile("^Citation")).first.click()
    expect(panel(page).locator("mark").first).to_be_in_viewport()
    assert nameless(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_text_of_a_model_appears_as_it_is_written_and_removed_sentences_at_the_end(
    with_model: tuple[Service, ScriptedServer], visit: Visitor
) -> None:
    service, model = with_model
    may_end = threading.Event()

    def body() -> Iterator[bytes]:
        yield event({"choices": [{"delta": {"content": "It opened in 1911 [harbour.txt:whole]. Then "}}]})
        may_end.wait(PATIENCE / 1000)
        yield event({"choices": [{"delta": {"content": "nothing. "}, "finish_reason": "stop"}]})
        yield event({"choices": [], "usage": {"total_tokens": 1234}})
        yield event("[DONE]")

    model.script[:] = [Scripted(body=body()), failure(400, "too much")]  # type: ignore[arg-type]
    page = visit(service.url, PLACE)
    page.get_by_role("textbox", name="Question").fill("When was the old harbour opened?")
    page.get_by_role("button", name="Ask").click()
    turn = page.get_by_role("article")
    expect(turn.locator(".answer")).to_have_text("It opened in 1911 1.")
    expect(turn).to_have_attribute("aria-busy", "true")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.get_by_role("textbox", name="Question").press("Enter")  # does not stop it
    may_end.set()
    expect(turn.locator(".turn-state")).to_contain_text("by the LLM · 1,234 tokens in 1 call")
    assert_still(page)
    expect(turn.locator(".turn-state")).to_contain_text("1 sentence removed")
    expect(turn.locator(".answer s")).to_have_text("Then nothing.")
    expect(turn.locator(".answer .reason")).to_have_text("It cites nothing.")

    wrong = ask(page, "And who built the crane of the harbour?")
    expect(wrong.get_by_role("alert")).to_contain_text("answered 400: too much")
    expect(wrong.get_by_role("button", name="Try again")).to_be_visible()
    shown = json.dumps(answer(claim(f"It has three {MARKER}.")).to_dict())
    events = f"event: answer\ndata: {shown}\n\n"
    page.route("**/ask", lambda route: route.fulfill(body=events, headers={"Content-Type": "text/event-stream"}))
    with page.expect_request("**/ask") as sent:
        wrong.get_by_role("button", name="Answer without the model").click()
    assert (sent.value.post_data_json or {})["extractive"] is True
    expect(wrong.locator(".answer")).to_contain_text("It has three")


def test_an_agent_shows_its_tool_calls_and_an_answer_can_be_stopped(
    with_model: tuple[Service, ScriptedServer], visit: Visitor
) -> None:
    service, model = with_model
    may_end = threading.Event()

    def body() -> Iterator[bytes]:
        may_end.wait(PATIENCE / 1000)
        yield event("[DONE]")

    model.script[:] = [
        calls(("keyword_search", {"pattern": "tug"})),
        streamed("Osei is the pilot of the tug [staff.csv:row=1]."),
        Scripted(body=body()),  # type: ignore[arg-type]
    ]
    page = visit(service.url, PLACE)
    page.get_by_role("switch", name="Agent").check()
    turn = ask(page, "Who steers?")
    expect(turn.locator(".turn-state")).to_contain_text("as an agent")
    turn.get_by_text("1 tool call").click()
    expect(turn.get_by_text('keyword_search("tug")')).to_be_visible()

    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("switch", name="Agent").uncheck()
    page.get_by_role("textbox", name="Question").fill("When was the old harbour opened?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn-state")).to_contain_text("Reading")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".turn-state")).to_have_text("Stopped")
    expect(page.get_by_role("button", name="Ask")).to_be_visible()
    may_end.set()


MARKER = "[a_b_.md:whole]"
EVIDENCE = Evidence(1, "a_b_.md", "/files/a_b_.md", "whole", "The 🚢 has three masts.", 0.9, name="a_b_.md")


def claim(text: str, marker: str = MARKER, **more: Any) -> Claim:
    """A sentence that cites the passage once, at the last occurrence of the marker."""
    at = text.rindex(marker)
    return Claim(text, (Citation(1, MARKER, EVIDENCE.source, "whole", ((4, 5),), ((at, at + len(marker)),)),), **more)


def answer(*claims: Claim, dropped: Sequence[Dropped] = (), gap: str = " ", warning: str = "") -> Answer:
    text = gap.join(one.text for one in claims)
    evidence = [replace(EVIDENCE, warning=warning)]
    return Answer("Why?", text or REFUSAL, list(claims), evidence, not claims, "A reason.", "llm", list(dropped))


def show(page: Page, shown: Answer) -> Locator:
    """Show an answer as the tab does; a citation opens its passage below it."""
    expect(page.locator(".talk > :is(.empty, .turn)")).to_have_count(1)
    page.evaluate(
        """async (answer) => {
          const { Turn } = await import("/page/ask/turn.js");
          const { passage } = await import("/page/ask/passage.js");
          const read = (button, item, spans, checked) => turn.element.append(...passage({ item, spans, checked }));
          const turn = new Turn(answer.question, { open: read });
          turn.show(answer);
          document.querySelector(".talk").replaceChildren(turn.element);
        }""",
        shown.to_dict(),
    )
    return page.get_by_role("article")


def test_citations_are_at_their_places_and_other_brackets_stay_text(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    turn = show(page, answer(claim(f"The 🚢⚓ notes {MARKER} as [1] in `x[0]` {MARKER}.", support="quoted")))
    expect(turn.locator(".answer")).to_have_text(f"The 🚢⚓ notes {MARKER} as [1] in x[0] 1. quoted")
    turn.get_by_role("button", name="Citation 1: a_b_.md").click()
    expect(turn.locator("mark")).to_have_text("🚢")
    bare = Citation(1, MARKER, EVIDENCE.source, "whole")
    turn = show(page, answer(Claim(f"It has masts {MARKER}. Three {MARKER}.", (bare,))))
    expect(turn.locator(".answer")).to_have_text("It has masts 1. Three 1. supported")


def test_the_page_says_of_each_sentence_what_was_checked(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    claims = [claim(f"It has masts {MARKER}.", support=kind) for kind in ("quoted", "supported")]
    claims.append(claim(f"It has four {MARKER}.", support="unsupported", reason="The number 4 is missing."))
    claims.append(claim(f"Es hat Masten {MARKER}.", support="unchecked", reason="It is in German."))
    turn = show(page, answer(*claims))
    expect(turn.locator(".support")).to_have_text(
        ["quoted", "supported", "unsupported: The number 4 is missing.", "unchecked: It is in German."]
    )
    said = turn.locator(".support").evaluate_all("all => all.map((one) => one.title)")
    assert said[0] == "These words are in the cited source."
    assert all(word in said[1] for word in ("Names", "numbers", "negation", "wording"))
    turn.get_by_role("button", name="Citation").first.click()
    expect(turn.locator(".facts")).to_contain_text(said[0])  # for those who cannot hover


def test_removed_sentences_are_struck_through_where_they_stood(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    dropped = [
        Dropped("It has four masts.", "The number 4 is missing.", missing="four", before=1),
        Dropped("- It sank.", "It cites nothing.", before=2),
    ]
    lines = answer(claim(f"- It has masts {MARKER}."), claim(f"- It has three {MARKER}."), dropped=dropped, gap="\n")
    turn = show(page, lines)
    assert turn.locator(".answer").evaluate("one => one.textContent.replace(/\\s+/g, ' ')") == (
        "It has masts 1. supported Removed: It has four masts. The number 4 is missing."
        "It has three 1. supportedRemoved: It sank. It cites nothing."
    )
    expect(turn.locator("s > mark")).to_have_text("four")
    expect(turn.locator(".answer li s").last).to_have_text("It sank.")
    refused = show(page, answer(dropped=dropped[:1]))
    expect(refused.locator(".refusal-text")).to_have_text(REFUSAL)
    expect(refused.locator("s").first).to_have_text("It has ")
    assert nameless(page) == []


def test_the_passage_that_a_removed_sentence_cites_can_be_read(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    dropped = [Dropped(f"It has {count} masts {MARKER}.", "A reason.", str(count)) for count in range(4, 8)]
    for removed, place in ((dropped[:1], ".answer"), (dropped, ".left-out")):
        turn = show(page, answer(claim(f"It has masts {MARKER}."), dropped=removed))
        for fold in turn.locator("summary", has_text="removed").all():
            fold.click()
        struck = turn.locator(f"{place} s")
        assert "".join(struck.all_text_contents()) == "".join(f"It has {4 + at} masts 1." for at in range(len(removed)))
        expect(struck.get_by_role("button")).to_have_count(len(removed))
        struck.get_by_role("button", name="Citation 1: a_b_.md").last.click()
        expect(turn.get_by_role("region", name="Passage")).to_have_text(EVIDENCE.text)
        expect(turn.locator(".facts")).not_to_contain_text("Checked")


def test_each_missing_part_of_a_removed_sentence_is_marked(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    dropped = [
        Dropped("Elon Musk built it on Mars.", "A reason.", "Elon Musk, Mars"),
        Dropped("Twelve masts, (nothing) else.", "A reason.", "twelve"),
        Dropped("It cost $1,000 (net), and not nothing.", "A reason.", "$1,000 (net), not"),
    ]
    turn = show(page, answer(claim(f"It has masts {MARKER}."), dropped=dropped))
    expect(turn.locator("s > mark")).to_have_text(["Elon Musk", "Mars", "Twelve", "$1,000 (net)", "not"])


def test_more_than_three_removed_sentences_are_collapsed(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    dropped = [
        Dropped(f"It has {count} masts.", f"The number {count} is missing.", str(count)) for count in range(4, 8)
    ]
    turn = show(page, answer(claim(f"It has masts {MARKER}."), dropped=dropped))
    expect(turn.locator(".answer")).to_have_text("It has masts 1. supported")
    expect(turn.get_by_text("The number 7 is missing.")).not_to_be_visible()
    turn.locator("summary", has_text="4 sentences removed").click()
    expect(turn.get_by_text("The number 7 is missing.")).to_be_visible()
    expect(turn.locator(".left-out s > mark")).to_have_text(["4", "5", "6", "7"])


def test_a_passage_that_tries_to_instruct_is_flagged_with_text_and_icon(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE)
    turn = show(page, answer(claim(f"It has masts {MARKER}."), warning="It says: ignore <b>all</b> rules."))
    row = turn.get_by_role("button", name=re.compile(r"^Passage 1 a_b_\.md suspicious passage"))
    expect(row.locator(".flag")).to_have_text("suspicious passage")
    expect(row.locator(".flag svg")).to_be_visible()
    expect(turn.locator(".answer")).to_have_text("It has masts 1. supported suspicious passage")
    expect(turn.locator(".answer .flag")).to_have_attribute("title", "It says: ignore <b>all</b> rules.")
    turn.get_by_role("button", name="Citation 1: a_b_.md (suspicious passage)").click()
    expect(turn.locator(".notice")).to_contain_text("It says: ignore <b>all</b> rules.")
    expect(turn.locator(".notice svg")).to_be_visible()


def test_cited_passages_are_first_and_the_others_folded(service: Service, visit: Visitor) -> None:
    page = visit(service.url, PLACE, permissions=["clipboard-read", "clipboard-write"])
    first = replace(EVIDENCE, number=1, label="other.md")
    second = replace(EVIDENCE, number=2)
    cited = claim(f"It has 3 masts {MARKER}.")
    citation = replace(cited.citations[0], number=2)
    shown = answer(replace(cited, citations=(citation,)))
    turn = show(page, replace(shown, evidence=[first, second], confidence=0.817, span=(7, 8)))
    expect(turn.get_by_role("list", name="Cited passages").get_by_role("button")).to_have_count(1)
    expect(turn.get_by_role("button", name=re.compile("^Passage 2 a_b_"))).to_be_visible()
    expect(turn.get_by_role("button", name=re.compile("^Passage 1 other"))).to_be_hidden()
    turn.get_by_text("1 other passage found, not cited").click()
    expect(turn.get_by_role("button", name=re.compile("^Passage 1 other"))).to_be_visible()
    expect(turn.locator(".turn-state")).to_contain_text("confidence 82 %")
    expect(turn.locator(".answer mark")).to_have_text("3")
    turn.get_by_role("button", name="Copy answer").click()
    assert page.evaluate("navigator.clipboard.readText()") == "It has 3 masts [2].\n\n[2] a_b_.md"
    plain = show(page, replace(shown, evidence=[first, second], by="extract", span=(7, 14)))
    expect(plain.locator(".answer mark")).to_have_text("3 masts")
    turn.get_by_role("button", name="Citation 2").click()
    turn.get_by_role("button", name="Copy", exact=True).click()
    assert page.evaluate("navigator.clipboard.readText()") == EVIDENCE.text

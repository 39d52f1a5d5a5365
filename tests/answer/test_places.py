"""The places of passages, as people name them."""

from __future__ import annotations

import pytest

import shortlist
from shortlist import Answer, Document, ScriptedLLM, ask
from shortlist.answer.places import make_locate

GUIDE = "# Delivery\n\nWe deliver.\n\n## Express\n\nIt costs 8 pounds.\nIt takes a day.\n"


def make_document(kind: str = "file", source: str = "/files/guide.md", locator: str = "whole") -> Document:
    return Document("guide.md", "Guide", GUIDE, kind=kind, source=source, locator=locator)


def test_a_part_of_a_text_file_is_at_its_headings_and_lines() -> None:
    start = GUIDE.index("It costs")
    locate = make_locate(make_document(), GUIDE, "whole", "")
    assert locate(start, start + 5) == "Delivery > Express, line 7"
    assert locate(start, len(GUIDE)) == "Delivery > Express, lines 7-8"
    assert locate(0, len("# Delivery\n")) == "Delivery, line 1"


def test_a_passage_is_found_by_the_offsets_of_its_locator_or_near_them() -> None:
    start = GUIDE.index("It costs")
    for locator in (f"whole;offset={start}", "whole;offset=20", f"whole;offset=20;offset={start - 20};part=2"):
        assert make_locate(make_document(), GUIDE[start:], locator, "")(0, 5) == "Delivery > Express, line 7"


def test_a_converted_file_has_headings_and_no_lines() -> None:
    document = make_document("page", "/files/guide.docx")
    assert make_locate(document, GUIDE, "whole", "")(GUIDE.index("It costs"), len(GUIDE)) == "Delivery > Express"


@pytest.mark.parametrize(
    ("locator", "place"),
    [
        ("page=3;offset=40", "Guide > Install, page 3"),
        ("sheet=Sales 2025;row=12", "Guide > Install, sheet Sales 2025, row 12"),
        ("whole;offset=80", "Guide > Install"),
    ],
)
def test_without_the_text_of_the_document_the_locator_and_the_headings_remain(locator: str, place: str) -> None:
    changed = Document("guide.md", "Guide", "Something else.", kind="file", source="/files/guide.md")
    assert make_locate(changed, "It costs 8 pounds.", locator, "Guide > Install")(0, 5) == place
    assert make_locate(None, "It costs 8 pounds.", locator, "Guide > Install")(0, 5) == place


def test_evidence_and_citations_of_an_answer_have_places_that_outlive_json() -> None:
    corpus = shortlist.build([make_document()], in_memory=True)
    answer = ask(corpus, "How much does express cost?", ScriptedLLM("It costs 8 pounds [guide.md:whole]."))
    assert [item.place for item in answer.evidence] == ["Delivery, lines 1-8"]
    assert [one.place for claim in answer.sentences for one in claim.citations] == ["Delivery > Express, line 7"]
    again = Answer.from_dict(answer.to_dict())
    assert again == answer
    assert again.cited == [1]

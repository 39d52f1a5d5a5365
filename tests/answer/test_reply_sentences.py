"""The sentences of a reply."""

from __future__ import annotations

from shortlist import Evidence
from shortlist.answer.citations import CitationCatalog
from shortlist.answer.reply_sentences import join_blocks, render_sentence, split_reply, strip_sentence

ITEM = Evidence(1, "a.txt", "a.txt", "whole", "Mars has two moons.", 1.0)


def test_a_list_with_one_citation_at_its_end_is_one_sentence() -> None:
    sentences = list(split_reply("It has:\n- Phobos\n- Deimos [a.txt:whole]\n\nThat is all.", CitationCatalog([ITEM])))
    assert [one.bare.strip() for one in sentences] == ["It has:", "- Phobos", "- Deimos", "That is all."]
    assert [[one.items for one in block] for block in join_blocks(sentences)] == [
        [()],
        [("- Phobos", "- Deimos ")],
        [()],
    ]


def test_the_items_and_rows_of_lists_and_tables_are_blocks_by_line() -> None:
    reply = (
        "It has [a.txt]:\n- Phobos. It is big [a.txt].\n- Deimos [a.txt].\n\n"
        "| Moon | Size |\n|---|---|\n| Phobos | It is. Big [a.txt] |\n| Deimos | small [a.txt] |\nThat is all."
    )
    blocks = list(join_blocks(list(split_reply(reply, CitationCatalog([ITEM])))))
    assert [len(block) for block in blocks] == [1, 2, 2, 1]
    assert blocks[1][0].items == ("- Phobos.", "It is big .")
    assert blocks[2][0].items == ("| Moon | Size |\n|---|---|\n| Phobos | It is.", "Big  |")


def test_the_same_sentence_has_the_same_key_wherever_it_is() -> None:
    catalog = CitationCatalog([ITEM])
    (alone,) = split_reply("Two [a.txt:whole].", catalog)
    *_, last = split_reply("One [a.txt:whole]. Two [a.txt:whole].", catalog)
    assert alone.text != last.text
    assert alone.key == last.key


def test_openers_are_left_out_and_markers_have_places() -> None:
    (sentence,) = split_reply("According to the documents, two [a.txt].", CitationCatalog([ITEM]))
    assert strip_sentence(sentence.bare).startswith("two")
    assert render_sentence(sentence, [ITEM]) == ("Two [a.txt:whole].", {ITEM: [(4, 17)]})

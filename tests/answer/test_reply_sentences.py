"""The sentences of a reply."""

from __future__ import annotations

from shortlist import Evidence
from shortlist.answer.citations import CitationCatalog
from shortlist.answer.reply_sentences import join_lists, render_sentence, split_reply, strip_sentence

ITEM = Evidence(1, "a.txt", "a.txt", "whole", "Mars has two moons.", 1.0)


def test_a_list_with_one_citation_at_its_end_is_one_sentence() -> None:
    sentences = list(split_reply("It has:\n- Phobos\n- Deimos [a.txt:whole]\n\nThat is all.", CitationCatalog([ITEM])))
    assert [one.bare.strip() for one in sentences] == ["It has:", "- Phobos", "- Deimos", "That is all."]
    assert [one.items for one in join_lists(sentences)] == [(), ("- Phobos", "- Deimos "), ()]


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

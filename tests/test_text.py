"""Messages: suggestions, counts, and untrusted text made printable."""

from __future__ import annotations

import json

import pytest

from shortlist._text import clean, count_of, did_you_mean, escape_json, printable, suggest, terminal_safe

NAME = "a\x1b]0;owned\x07\x1b[2J\u202egpj.\x9b31m\u2066\n.md"


@pytest.mark.parametrize(
    "text", ["", "plain", NAME, "\U000e0041\u2028\x7f\x85", "fa\u200csi\u200d", "日本語 🚀 é\u00a0"]
)
def test_escaping_changes_no_value(text: str) -> None:
    document = escape_json(json.dumps({text: [text]}, ensure_ascii=False, indent=2))
    assert json.loads(document) == {text: [text]}
    assert terminal_safe(document) == document


def test_close_words_are_suggested_whatever_their_case() -> None:
    known = ["search", "Status", "serve"]
    assert did_you_mean("STATSU", known) == " Did you mean 'Status'?"
    assert did_you_mean("serch", known, most=1) == " Did you mean 'search'?"
    assert did_you_mean("xyzzy", known) == ""
    assert suggest(["a", "b", "c"]) == " Did you mean 'a', 'b' or 'c'?"


def test_a_count_has_its_noun_and_verb_in_the_right_number() -> None:
    assert count_of(1, "tool", "is indexed") == "1 tool is indexed"
    assert count_of(2_000, "tool", "is indexed") == "2,000 tools are indexed"
    assert count_of(0, "match") == "0 matches"


def test_what_moves_the_cursor_or_hides_text_is_replaced() -> None:
    assert printable("a\x1b[2J\nb\u202e", "?") == "a?[2J?b?"
    assert terminal_safe("a\x1b[2J\n\tb\u202e") == "a·[2J\n\tb·"
    assert terminal_safe("fa\u200csi") == "fa·si"
    assert terminal_safe("می\u200cخواهم") == "می\u200cخواهم"


def test_lone_surrogates_are_replaced_and_other_text_stays() -> None:
    assert clean("a\ud800b") == "a?b"
    assert clean("日本語 🚀") == "日本語 🚀"


def test_the_closest_of_many_words_is_found() -> None:
    words = [f"docs/section-{at % 50}/page-{at}.md" for at in range(5000)]
    assert did_you_mean("docs/section-3/pagee-1203.md", words, most=1) == " Did you mean 'docs/section-3/page-1203.md'?"

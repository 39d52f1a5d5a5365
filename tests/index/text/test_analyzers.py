from __future__ import annotations

import unicodedata

import bm25s
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from shortlist.errors import InputError
from shortlist.index.text.analyzers import ANALYZERS, get_analyzer, name_words, span_keys, term_key
from shortlist.index.text.word_parts import subwords

english = get_analyzer("english-1").terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("get_customer_profile", ["get_customer_profile", "get", "custom", "profil"]),
        ("getCustomerProfile", ["getcustomerprofile", "get", "custom", "profil"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("calendar.create_event", ["calendar", "create_event", "creat", "event"]),
        ("p53 and b12", ["p53", "b12"]),
        ("the running dogs", ["run", "dog"]),
        ("the user's don't", ["user", "dont"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("日本語テキスト", ["日本", "本語", "語テ", "テキ", "キス", "スト"]),
        ("猫", ["猫"]),
        ("Python教程", ["python", "教程"]),
        ("हिन्दी खोज", ["हिन्दी", "खोज"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("deploy 🔥🚀", ["deploy", "🔥", "🚀"]),
        ("__init__ _", ["init"]),
        ("!!! ...", []),
        ("", []),
    ],
)
def test_the_default_analyzer_finds_these_terms(text: str, terms: list[str]) -> None:
    assert english(text) == terms


def test_a_text_of_stop_words_alone_keeps_them() -> None:
    assert english("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert english("IT") == ["it"]
    assert not get_analyzer().says_something("to be or not to be")
    assert get_analyzer().says_something("to be a cat")


def test_a_word_of_a_megabyte_is_one_term() -> None:
    word = "x" * 1_000_000
    assert english(word) == [word]


@given(st.text())
def test_terms_do_not_depend_on_the_normal_form(text: str) -> None:
    assert english(unicodedata.normalize("NFD", text)) == english(unicodedata.normalize("NFC", text))


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_learning_a_word_does_not_change_its_terms(text: str) -> None:
    assert english(text) == english(text)


@given(st.lists(st.text(alphabet="abcXYZ 019_'é-", max_size=40), min_size=1, max_size=5))
def test_the_bm25s_analyzer_gives_the_tokens_of_bm25s(texts: list[str]) -> None:
    theirs = bm25s.tokenize(
        texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False
    )
    assert [get_analyzer("bm25s-english-1").terms(text) for text in texts] == theirs


@given(st.lists(st.text(alphabet="abcxyz 'é-.", max_size=40), min_size=1, max_size=5))
def test_of_plain_words_the_names_analyzer_gives_the_tokens_of_bm25s(texts: list[str]) -> None:
    plain = get_analyzer("bm25s-english-1")
    for cased in (text.title() if at % 2 else text for at, text in enumerate(texts)):
        assert get_analyzer("bm25s-names-1").terms(cased) == plain.terms(cased)


def test_the_names_analyzer_adds_the_parts_of_names_and_of_chinese() -> None:
    terms = get_analyzer("bm25s-names-1").terms
    assert terms("get_user_profiles") == ["get_user_profil", "get", "user", "profil"]
    assert terms("parseXMLFiles a") == ["parsexmlfil", "pars", "xml", "file"]
    assert terms("天气预报API") == ["天气", "气预", "预报", "api"]
    assert terms("the IT of __ _") == ["__"]


def test_the_other_analyzers_do_what_their_names_say() -> None:
    assert get_analyzer("words-1").terms("The Quick, brown x foxes") == ["quick", "brown", "foxes"]
    assert get_analyzer("alphanumeric-1").terms("The Quick, café-2") == ["the", "quick", "caf", "2"]


def test_an_unknown_analyzer_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(InputError, match="english-1"):
        get_analyzer("klingon-1")
    assert [get_analyzer(name).name for name in ANALYZERS] == list(ANALYZERS)


def test_identifiers_split_at_case_underscore_and_digits() -> None:
    assert subwords("XMLHttpRequest") == ["XML", "Http", "Request"]
    assert subwords("OAuth2Token") == ["O", "Auth", "2", "Token"]
    assert subwords("größeÄndern") == ["größe", "Ändern"]


def test_a_name_is_the_same_however_it_is_spelled() -> None:
    for spelling in ("getUserProfile", "get_user_profile", "Get user profile", "GetUserProfile", "get-user.profile"):
        assert name_words(spelling) == ["get", "user", "profile"]


def test_term_keys_are_the_same_in_every_process() -> None:
    assert term_key("deploy") == 0x1EB9752319831702


def test_the_key_of_a_run_of_words_is_that_of_the_words_joined() -> None:
    words = ["get", "the", "été", "profile"]
    assert list(span_keys(words, 3)) == [
        (start, end, term_key(" ".join(words[start:end])))
        for start in range(4)
        for end in range(start + 1, min(start + 3, 4) + 1)
    ]

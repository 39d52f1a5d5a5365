"""The words of languages with which questions are read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from shortlist.answer.extractive import lexicon
from shortlist.answer.extractive.lexicon import NUMBERS, UNITS, find_unit, get_lexicon
from shortlist.index.text.languages import list_languages

TABLES = tomllib.loads(Path(lexicon.__file__).with_name("languages.toml").read_text("utf-8"))


def test_at_least_25_languages_have_all_kinds_of_words() -> None:
    assert len(TABLES) >= 25
    assert set(TABLES) <= set(list_languages())
    for code, table in TABLES.items():
        lengths = [len(table[key].split()) for key in ("months", "numbers", "units")]
        assert lengths == [12, len(NUMBERS), len(UNITS)], code
        assert all(table[key].split() for key in ("who", "when", "where", "why", "number", "asking", "negation")), code


@pytest.mark.parametrize(
    ("language", "question", "kind"),
    [
        ("de", "In welchem Jahr wurde die Firma gegründet?", "date"),
        ("de", "Wie viele Tage Urlaub gibt es?", "number"),
        ("es", "¿Por qué cerró la tienda?", "why"),
        ("es", "¿Quién fundó la empresa?", "who"),
        ("fr", "Combien coûte la livraison ?", "number"),
        ("it", "Quando apre l'ufficio?", "date"),
        ("nl", "Waarom is de winkel gesloten?", "why"),
        ("pl", "Gdzie znajduje się biuro?", "where"),
        ("ru", "Сколько дней отпуска у сотрудников?", "number"),
        ("ar", "متى تأسست الشركة؟", "date"),
        ("hi", "कंपनी की स्थापना कब हुई?", "date"),
        ("zh", "公司是哪一年成立的？", "date"),
        ("ja", "送料はいくらですか。", "number"),
        ("ko", "회사는 언제 설립되었습니까?", "date"),
        ("th", "บริษัทก่อตั้งเมื่อไร", "date"),
        ("tr", "Ofis nerede?", "where"),
        ("de", "Die Firma ist groß.", ""),
    ],
)
def test_a_question_has_a_kind_in_its_language(language: str, question: str, kind: str) -> None:
    assert get_lexicon(language).find_kind(question) == kind


@pytest.mark.parametrize(
    ("language", "sentence", "dates"),
    [
        ("de", "Sie öffnet am 3. Mai 2014.", ["mai", "2014"]),
        ("zh", "公司于2014年成立。", ["2014"]),
        ("ar", "تأسست عام ٢٠١٤.", ["2014"]),
        ("es", "Fue en el siglo XIX.", ["siglo xix"]),
        ("ru", "Офис открыт.", []),
    ],
)
def test_dates_are_found_in_any_digits(language: str, sentence: str, dates: list[str]) -> None:
    assert get_lexicon(language).find_dates(sentence) == dates


def test_words_that_only_ask_are_no_topic() -> None:
    assert get_lexicon("zh").list_topics("黑豹队的防守丢了多少分？") == ["黑豹队", "防守丢", "分"]
    assert get_lexicon("fr").list_idle("Combien de jours y a-t-il ?") >= {"combien", "il"}


def test_units_have_one_name_in_all_languages() -> None:
    assert [find_unit("Tage Urlaub", "de"), find_unit("天年假", "zh"), find_unit("дней", "ru")] == ["day"] * 3
    assert find_unit("Katzen", "de") == ""


def test_a_language_without_a_table_is_read_by_its_stop_words() -> None:
    assert get_lexicon("af").find_kind("Wanneer is dit?") == ""
    assert "die" in get_lexicon("af").function_words

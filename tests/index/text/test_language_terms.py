"""The terms of words in each language."""

from __future__ import annotations

import pytest

from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.language_terms import fold_accents, has_pairs, share_terms, split_pairs
from shortlist.index.text.languages import get_entry, list_languages

# For each language a word as a text has it, and another form of it as a query has it.
FORMS = {
    "ar": ("الكتاب", "كتاب"), "bg": ("файловете", "файлове"), "bn": ("ফাইলগুলি", "ফাইল"),
    "ca": ("fitxers", "fitxer"), "cs": ("soubory", "souboru"), "da": ("filerne", "filer"),
    "de": ("Dateien", "Datei"), "el": ("αρχεία", "αρχείο"), "en": ("files", "file"),
    "es": ("archivos", "archivo"), "et": ("raamatud", "raamatut"), "fa": ("کتاب‌ها", "کتاب"),
    "fi": ("tiedostot", "tiedoston"), "fr": ("fichiers", "fichier"), "he": ("הקבצים", "קבצים"),
    "hi": ("फ़ाइलें", "फाइलों"), "hr": ("datoteke", "datoteka"), "hu": ("könyvek", "könyvet"),
    "id": ("berkasnya", "berkas"), "it": ("cartelle", "cartella"), "ja": ("ファイルを削除", "ファイル"),
    "km": ("ឯកសារចាស់", "ឯកសារ"), "ko": ("파일을", "파일이"), "lo": ("ເອກະສານເກົ່າ", "ເອກະສານ"),
    "lt": ("knygos", "knygas"), "lv": ("grāmatas", "grāmatu"), "ms": ("bukunya", "buku"),
    "nl": ("bestanden", "bestand"), "no": ("filene", "filer"), "pl": ("książki", "książka"),
    "pt": ("arquivos", "arquivo"), "ro": ("fișierele", "fișier"), "ru": ("файлами", "файлов"),
    "sk": ("súbory", "súborov"), "sl": ("datoteke", "datoteko"), "sr": ("датотеке", "датотека"),
    "sv": ("filerna", "filer"), "sw": ("kufuta", "futa"), "ta": ("கோப்புகள்", "கோப்பு"),
    "te": ("ఫైళ్లను", "ఫైళ్లు"), "th": ("ลบไฟล์เก่า", "ไฟล์"), "tr": ("dosyaları", "dosyalar"),
    "uk": ("файлами", "файлів"), "ur": ("کتابوں", "کتابیں"), "vi": ("tệp", "tệp"), "zh": ("删除旧文件", "文件"),
}  # fmt: skip


@pytest.mark.parametrize("language", FORMS)
def test_an_inflected_query_has_a_term_of_the_text(language: str) -> None:
    analyzer = get_analyzer().bind((language,))
    written, asked = FORMS[language]
    assert set(analyzer.terms(written)) & set(analyzer.terms(asked))


@pytest.mark.parametrize("language", list_languages())
def test_in_every_language_identifiers_are_split_and_stop_words_dropped(language: str) -> None:
    analyzer = get_analyzer().bind((language,))
    assert "getuserprofile" in analyzer.terms("getUserProfile")
    assert len(analyzer.terms("getUserProfile")) > 1
    stop_words = get_entry(language)["stop"].split()
    assert language == "en" or has_pairs(language) or not any(analyzer.terms_of(word) for word in stop_words)


def test_the_letters_of_arabic_scripts_and_digits_have_one_form() -> None:
    for language, one, other in (
        ("ar", "أحمد", "احمد"),
        ("fa", "كتابي", "کتابی"),
        ("hi", "ज़रूरत", "जरूरत"),
        ("hi", "१२", "12"),
    ):
        terms = get_analyzer().bind((language,)).terms
        assert terms(one) == terms(other), language


def test_an_accented_word_is_found_without_accents_and_first_with_them() -> None:
    terms = get_analyzer().bind(("fr",)).terms
    assert set(terms("cafe")) < set(terms("café"))
    assert fold_accents("łódź ærø") == "lodz aero"
    assert sum(share_terms("fr", "café", tuple(terms("café")))) == 1.0


def test_marks_that_make_other_letters_stay() -> None:
    assert fold_accents("йод") == "йод"
    assert fold_accents("कि") == "कि"


def test_pairs_keep_marks_with_their_characters() -> None:
    assert split_pairs("東京都") == ["東京", "京都"]
    assert split_pairs("京") == ["京"]
    assert split_pairs("ไฟล์") == ["ไฟล์"]


def test_latin_words_in_other_scripts_are_english() -> None:
    assert get_analyzer().bind(("ru",)).terms("deployments") == get_analyzer().terms("deployments")

"""Sentence boundaries of prose."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Hall met J. Smith, e.g. at No. 5. He left.", ["Dr. Hall met J. Smith, e.g. at No. 5.", "He left."]),
        ("Is it so? No. For some it is.", ["Is it so?", "No.", "For some it is."]),
        ("It cost 3.5 million. (It was much.) Yes.", ["It cost 3.5 million.", "(It was much.)", "Yes."]),
        ("It is free. **Large items** are not.", ["It is free.", "**Large items** are not."]),
        ("**Prices.** Tea is free. It is.", ["**Prices.** Tea is free.", "It is."]),
        ("3 to 8 mm ..... Ten times. Yes.", ["3 to 8 mm ..... Ten times.", "Yes."]),
        ("Coat no. 2 is red. I said no. He left.", ["Coat no. 2 is red.", "I said no.", "He left."]),
        ("一つ。二つ！三", ["一つ。", "二つ！", "三"]),
        ("  \n ", []),
    ],
)
def test_a_text_is_split_into_sentences(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("de", ["Er kam am 3. Mai, z. B. mit Dr. Hall.", "Das kostet ca. 5,5 Mio. Euro.", "Platz 3.", "Das war gut."]),
        ("de", ["Er sagte: „Ja.“", "Dann ging er, d. h. er lief."]),
        ("es", ["¿Quién es?", "El Sr. López vive aquí, p. ej. en Madrid.", "¡Hola!", "Fin."]),
        ("fr", ["Il dit : « Oui. »", "Puis M. Dupont part."]),
        ("ru", ["Он жил на ул. Ленина.", "В 1837 г. Пушкин умер, т. е. давно.", "«Да!»", "Он знал."]),
        ("tr", ["Dr. Ali 3. Murat'ı gördü.", "Bitti."]),
        ("pl", ["Żył ok. 90 lat.", "Śpi."]),
        ("cs", ["Přišel dne 3. května.", "Škoda."]),
        ("sv", ["Det finns bl.a. ärter.", "Ängen är grön."]),
        ("el", ["Ποιος είναι;", "Είναι ο κ. Παπαδόπουλος."]),
        ("ar", ["متى؟", "نعم، صحيح!", "انتهى."]),
        ("ur", ["یہ ہے۔", "وہ تھا۔"]),
        ("hi", ["डॉ. राम आए।", "वह था॥", "अंत"]),
        ("hy", ["Սա է։", "Վերջ"]),
        ("ka", ["ეს არის.", "ის იყო."]),
        ("am", ["ሰላም ነው።", "ደህና"]),
        ("my", ["ဤသည်။", "ထိုသည်။"]),
        ("km", ["នេះ។", "នោះ។"]),
    ],
)
def test_sentences_are_split_in_the_script_and_by_the_abbreviations_of_a_language(
    language: str, sentences: list[str]
) -> None:
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text, language=language)] == sentences


@pytest.mark.parametrize("language", ["en", "de", "nl", "pt"])
def test_titles_and_dates_of_every_language_end_no_sentence(language: str) -> None:
    sentences = ["Am 7. Juni ruft mw. Hettema an.", "Dhr. Kuiken und Sra. Amélia auch."]
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text, language=language)] == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("zh", ["他说：“好。”", "然后走了。", "真的？", "是｡", "完"]),
        ("ja", ["彼は「行く。」と言った。", "『終わり。』", "次。"]),
    ],
)
def test_a_closing_quotation_mark_belongs_to_the_sentence_before_it(language: str, sentences: list[str]) -> None:
    text = "".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text, language=language)] == sentences


def test_thai_is_split_at_spaces_between_clauses_but_not_beside_numbers() -> None:
    clauses = [
        "ประเทศไทยเป็นประเทศที่ตั้งอยู่ในเอเชียตะวันออกเฉียงใต้ มีพื้นที่ 513,120 ตารางกิโลเมตร",
        "และมีประชากรประมาณ 66 ล้านคน เมืองหลวงคือกรุงเทพมหานคร ซึ่งเป็นเมืองที่ใหญ่ที่สุด",
        "ภาษาราชการคือภาษาไทย",
    ]
    text = " ".join(clauses)
    assert [text[start:end] for start, end in split_sentences(text, language="th")] == clauses

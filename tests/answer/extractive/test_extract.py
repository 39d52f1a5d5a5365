"""Answers without any model: sentences of the documents, or the refusal."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import REFUSAL, CorpusSource, Document, ask, build, ingest
from shortlist.answer.extractive.extract import BIAS, WEIGHTS, answer_probability, extract
from shortlist.answer.extractive.signals import read_question
from shortlist.answer.extractive.unit_choice import READ, READ_FROM, AnswerReader, load_weights
from shortlist.index.corpus import Corpus
from shortlist.index.text.analyzers import get_analyzer
from shortlist.results import Claim, Evidence
from tests.pages import ROOT

HANDBOOK = {
    "founding.md": "# Founding\n\nInes Halloran and Tobias Okafor founded the company in 2014 in Otley. "
    "Ines is chief executive. She lives in Leeds.",
    "leave.txt": "Annual leave is 27 days. Up to 6 days can be carried over. Requests need two weeks' notice because "
    "shifts are planned ahead.",
    "office.txt": "The office in Leeds opens at 7:30. The warehouse in Venlo does not open on Sundays.",
}


@pytest.mark.parametrize(
    ("question", "part", "source"),
    [
        ("Who founded the company?", "Ines Halloran and Tobias Okafor founded the company", "founding.md"),
        ("When was the company founded?", "in 2014", "founding.md"),
        ("How many days of annual leave are there?", "Annual leave is 27 days.", "leave.txt"),
        ("Why do requests need notice?", "because shifts are planned ahead.", "leave.txt"),
        ("When does the office in Leeds open?", "opens at 7:30", "office.txt"),
        ("Where does Ines live?", "She lives in Leeds.", "founding.md"),
    ],
)
def test_the_sentence_that_answers_is_quoted_and_cited(question: str, part: str, source: str) -> None:
    answer = ask(HANDBOOK, question)
    assert part in answer.text
    assert f"[{source}:whole]" in answer.text
    texts = {item.number: item.text for item in answer.evidence}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            for start, end in citation.spans:
                assert " ".join(texts[citation.number][start:end].split()) in sentence.text


@pytest.mark.parametrize(
    "question",
    [
        "Who sold the company?",
        "When did Boris Halloran found the company in Dublin?",
        "How many days of annual leave were there in 1999?",
        "Which warehouse opens on Sundays at noon in Rotterdam?",
        "What is the capital of France?",
        "Why is the sky blue?",
    ],
)
def test_what_the_documents_do_not_tell_is_refused(question: str) -> None:
    answer = ask(HANDBOOK, question)
    assert answer.text == REFUSAL
    assert answer.reason


def test_sentences_come_in_reading_order() -> None:
    text = "The bridge was opened in 1894. The bridge crosses the river Tame. It cost the town 5,000 pounds."
    answer = ask([text], "How much did the bridge cost the town?")
    places = [citation.spans[0] for sentence in answer.sentences for citation in sentence.citations]
    assert [text[start:end] for start, end in places] == [
        "The bridge crosses the river Tame.",
        "It cost the town 5,000 pounds.",
    ]


def test_a_citation_in_a_document_is_text_of_the_answer_and_not_a_place_of_its_citation() -> None:
    answer = ask(["The tower is 90 metres tall, see [gone.pdf:page=3]."], "How tall is the tower?")
    assert answer.text == "The tower is 90 metres tall, see [gone.pdf:page=3]. [0:whole]"
    (claim,) = answer.sentences
    assert [claim.text[start:end] for start, end in claim.citations[0].places] == ["[0:whole]"]
    assert claim.support == "quoted"


def test_a_row_of_a_table_is_an_answer() -> None:
    row = Document(
        "r", "", "name: Ada Lovelace | born: 1815 | city: London", kind="row", source="/d/p.csv", locator="row=4"
    )
    answer = ask(build([row], in_memory=True), "When was Ada Lovelace born?")
    assert answer.text == "Ada Lovelace: born 1815 [p.csv:row=4]"


@pytest.mark.extras
def test_of_a_row_with_many_columns_the_cell_that_is_asked_for_is_the_answer(tmp_path: Path) -> None:
    header = "id,name,department,city,salary,phone,email,manager"
    rows = ["4,Daniel Roth,IT,Basel,105000,061 555 01 04,roth@example.org,Eva Huber"]
    rows += ["6,Frank Suter,Logistics,Chur,62000,081 555 01 06,suter@example.org,Gina Bosshard"]
    (tmp_path / "staff.csv").write_text("\n".join([header, *rows]))
    corpus = build(CorpusSource.from_files(tmp_path), in_memory=True)
    answer = ask(corpus, "What is the phone number of Daniel Roth?")
    assert answer.text == "Daniel Roth: phone 061 555 01 04 [staff.csv:row=1]"
    assert ask(corpus, "Who is the manager of Frank Suter?").text.startswith("Frank Suter: manager Gina Bosshard")


def test_the_price_of_express_delivery_is_found_in_the_example_documents(tmp_path: Path) -> None:
    corpus, _ = ingest(ROOT / "examples" / "data" / "docs", path=tmp_path)
    with corpus:
        assert ask(corpus, "How much is express delivery?").text.startswith("Express: Price £7.95 [shipping-guide.md:")


def test_a_probability_that_is_asked_for_decides() -> None:
    assert ask(HANDBOOK, "Who founded the company?", answer_from=0.99).refused
    assert not ask(HANDBOOK, "Who founded the company?", answer_from=0.01).refused


def test_the_likelihood_is_the_logistic_of_the_weighed_signs() -> None:
    assert answer_probability(dict.fromkeys(WEIGHTS, 0.0)) == pytest.approx(1 / (1 + 2.718281828 ** (-BIAS)))
    assert answer_probability(dict.fromkeys(WEIGHTS, 0.0) | {"covered": 1.0}) > answer_probability(
        dict.fromkeys(WEIGHTS, 0.0)
    )


def test_a_cell_of_a_markdown_table_is_read_with_its_header() -> None:
    boats = (
        "# Rental boats\n\n| Boat | Seats | Deposit | Motor |\n|---|---|---|---|\n| Heron | 4 | 150 € | none |\n"
        "| Otter | 6 | 300 € | 15 hp |\n"
    )
    corpus = build([Document("boats.md", "Rental boats", boats)], in_memory=True)
    for question, expected in {
        "How many seats does the Otter have?": "Otter: Seats 6 [",
        "Which motor does the Otter have?": "Otter: Motor 15 hp [",
        "What color is the Otter?": REFUSAL,
    }.items():
        assert ask(corpus, question).text.startswith(expected)


DOCUMENTATION = tomllib.loads(Path(__file__).parents[1].joinpath("documentation.toml").read_text("utf-8"))["passage"]


@pytest.fixture(scope="module")
def documentation() -> Iterator[Corpus]:
    documents = [
        Document(name, name, passage["text"].strip(), source=name, locator=passage.get("locator", "whole"))
        for passage in DOCUMENTATION
        for name in [passage["name"]]
    ]
    with build(documents, in_memory=True) as corpus:
        yield corpus


@pytest.mark.parametrize(
    ("question", "expected", "source"),
    [
        (question, [part.strip() for part in expected], passage["name"])
        for passage in DOCUMENTATION
        for question, *expected in passage["questions"]
    ],
)
def test_documentation_is_quoted_in_its_units(
    question: str, expected: list[str], source: str, documentation: Corpus
) -> None:
    answer = ask(documentation, question)
    assert [remove_citations(claim) for claim in answer.sentences] == expected
    assert {citation.source for claim in answer.sentences for citation in claim.citations} <= {source}


def remove_citations(claim: Claim) -> str:
    ((place,),) = [citation.places for citation in claim.citations]
    return claim.text[: place[0]].rstrip()


def test_a_judge_orders_the_best_units_and_decides() -> None:
    text = "The tower is 90 metres tall. The tower is old. It is red."
    evidence = [Evidence(1, "t", "t", "whole", text, 0.9, name="Tower")]
    read: list[tuple[str, str]] = []

    def judge(question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        assert question == "How tall is the tower?"
        read.extend(texts)
        return [0.9999 if text.startswith("The tower is old.") else 0.0001 for text, _ in texts]

    reader = AnswerReader(judge, load_weights(), READ, READ_FROM)

    def extract_with(**options: Any) -> list[str]:
        question = read_question("How tall is the tower?", get_analyzer(), lambda terms: {}, 1)
        found = extract(question, evidence, get_analyzer(), **options)
        return [quote.text for quote in found.sentences]

    assert extract_with(answer_from=0.0) == ["The tower is 90 metres tall."]
    assert extract_with(find_reader=lambda question: reader, answer_from=0.0) == ["The tower is old."]
    assert ("The tower is old.", "Tower | The tower is 90 metres tall. | It is red.") in read
    assert extract_with(find_reader=lambda question: reader, answer_from=1.0) == []


@given(st.text(max_size=200))
def test_any_question_has_an_answer_or_the_refusal(question: str) -> None:
    answer = ask(HANDBOOK, question)
    assert answer.refused == (answer.text == REFUSAL) == (not answer.sentences)


LEAVE = {
    "de": "Das Büro öffnet um 8 Uhr. Der Jahresurlaub beträgt 27 Tage. Ines Halloran gründete die Firma 2014 in Otley.",
    "es": "La oficina abre a las 8. Las vacaciones anuales son 27 días. Ines Halloran fundó la empresa en 2014.",
    "fr": "Le bureau ouvre à 8 heures. Les congés annuels sont de 27 jours. Ines Halloran a fondé la société en 2014.",
    "pl": "Biuro otwiera się o 8. Urlop roczny wynosi 27 dni. Ines Halloran założyła firmę w 2014 roku.",
    "ru": "Офис открывается в 8 часов. Ежегодный отпуск составляет 27 дней. Компания основана в 2014 году.",
    "zh": "办公室八点开门。员工的年假是27天。公司由伊内斯于2014年创立。",
    "ja": "オフィスは8時に開きます。年次休暇は27日です。会社は2014年に設立されました。",
    "ar": "يفتح المكتب في الساعة 8. الإجازة السنوية 27 يوما. تأسست الشركة في عام 2014.",
    "hi": "कार्यालय 8 बजे खुलता है। वार्षिक छुट्टी 27 दिन है। कंपनी की स्थापना 2014 में हुई।",
    "th": "สำนักงานเปิดทำการทุกวันจันทร์ถึงวันศุกร์เวลา 8 นาฬิกาและปิดทำการในวันหยุดราชการ "
    "วันลาพักร้อนประจำปีของพนักงานทุกคนคือ 27 วันและสามารถใช้ได้ตลอดทั้งปี",
}


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "Wie viele Tage Jahresurlaub gibt es?"),
        ("es", "¿Cuántos días de vacaciones anuales hay?"),
        ("fr", "Combien de jours de congés annuels y a-t-il ?"),
        ("pl", "Ile dni wynosi urlop roczny?"),
        ("ru", "Сколько дней составляет ежегодный отпуск?"),
        ("zh", "员工的年假有多少天？"),
        ("ja", "年次休暇は何日ですか。"),
        ("ar", "كم يوما الإجازة السنوية؟"),
        ("hi", "वार्षिक छुट्टी कितने दिन है?"),
        ("th", "วันลาพักร้อนประจำปีของพนักงานคือกี่วัน"),
    ],
)
def test_an_answer_is_extracted_in_the_language_of_the_passage(language: str, question: str) -> None:
    answer = ask([LEAVE[language]], question)
    assert "27" in answer.text
    assert len(answer.sentences[0].text) < len(LEAVE[language])


@pytest.mark.parametrize(
    ("language", "question"),
    [("de", "Wie hoch ist der Mount Everest?"), ("es", "¿Quién pintó la Mona Lisa?"), ("zh", "月球离地球有多远？")],
)
def test_another_topic_is_refused_in_any_language(language: str, question: str) -> None:
    assert ask([LEAVE[language]], question).text == REFUSAL


def test_a_question_in_another_language_needs_a_clearly_relevant_passage_with_its_numbers() -> None:
    def extract_with(score: float, question: str) -> str:
        analyzer = get_analyzer()
        read = read_question(question, analyzer, lambda terms: {}, 1, "en", "de")
        item = Evidence(1, "a", "a", "whole", "Annual leave is 27 days. The office opens at 8.", score)
        return " ".join(quote.text for quote in extract(read, [item], analyzer).sentences)

    assert extract_with(0.9, "Wie viele Tage Urlaub gibt es?") == "Annual leave is 27 days."
    assert not extract_with(0.3, "Wie viele Tage Urlaub gibt es?")
    assert not extract_with(0.9, "Wie viele Tage Urlaub gab es 1999?")

"""Answers without any model: sentences of the documents, or the refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import REFUSAL, Document, ask, build
from shortlist.answer.extractive.extract import BIAS, WEIGHTS, answer_probability
from shortlist.answer.extractive.sentences import LONGEST, split_sentences

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
    answer = ask([text], "Which river does the bridge cross that was opened in 1894?", answer_from=0.01)
    places = [citation.spans[0] for sentence in answer.sentences for citation in sentence.citations]
    assert places == sorted(places)
    assert len(places) > 1


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
    assert answer.text == "name: Ada Lovelace | born: 1815 | city: London [p.csv:row=4]"


def test_a_probability_that_is_asked_for_decides() -> None:
    assert ask(HANDBOOK, "Who founded the company?", answer_from=0.99).refused
    assert not ask(HANDBOOK, "Who founded the company?", answer_from=0.01).refused


def test_the_likelihood_is_the_logistic_of_the_weighed_signs() -> None:
    assert answer_probability(dict.fromkeys(WEIGHTS, 0.0)) == pytest.approx(1 / (1 + 2.718281828 ** (-BIAS)))
    assert answer_probability(dict.fromkeys(WEIGHTS, 0.0) | {"covered": 1.0}) > answer_probability(
        dict.fromkeys(WEIGHTS, 0.0)
    )


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Hall met J. Smith, e.g. at No. 5. He left.", ["Dr. Hall met J. Smith, e.g. at No. 5.", "He left."]),
        ("# Title\nText of it.\n\n- one\n- two", ["# Title", "Text of it.", "- one", "- two"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("It cost 3.5 million. (It was much.) Yes.", ["It cost 3.5 million.", "(It was much.)", "Yes."]),
        ("一つ。二つ！三", ["一つ。", "二つ！", "三"]),
        ("  \n ", []),
    ],
)  # fmt: skip
def test_a_text_falls_into_sentences(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@given(st.text(alphabet=st.sampled_from(list("ab A.!?\n#-| 1。é")), max_size=2 * LONGEST))
def test_sentences_cover_all_that_is_no_space_and_do_not_overlap(text: str) -> None:
    last = 0
    for start, end in split_sentences(text):
        assert start >= last
        assert 0 < end - start <= LONGEST
        assert not text[last:start].strip()
        last = end
    assert not text[last:].strip()


@given(st.text(max_size=200))
def test_any_question_has_an_answer_or_the_refusal(question: str) -> None:
    answer = ask(HANDBOOK, question)
    assert answer.refused == (answer.text == REFUSAL) == (not answer.sentences)

"""The model that checks answers: what it decides alone, and together with the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import REFUSAL, CorpusSource, Document, Evidence, ScriptedLLM, ask, build
from shortlist.answer import judge
from shortlist.answer.extractive.signals import read_question
from shortlist.answer.extractive.unit_choice import READ_FROM_OTHER
from shortlist.answer.judge import Judge, find_reader, load_judge, load_reader, select_sentences
from shortlist.index.embedders import cross_encoder
from shortlist.index.text.analyzers import get_analyzer
from tests.answer.claim_cases import DOCUMENTS
from tests.answer.claims.test_assessment import INVENTIONS

pytestmark = pytest.mark.extras

TOWER = "The tower was built in 1889 by Gustave Eiffel's company. It is 330 metres tall. Painting it takes 60 tonnes."


@pytest.fixture
def model() -> Judge:
    pytest.importorskip("onnxruntime")
    found = load_judge()
    assert found is not None
    return found


def test_it_tells_what_a_passage_supports(model: Judge) -> None:
    item = Evidence(1, "t", "t", "whole", TOWER, 1.0, name="Eiffel Tower")
    supported, refuted = (
        model.rate_claim(claim, (item,))
        for claim in ("Its height is 330 metres.", "The Eiffel Tower was torn down before it was finished.")
    )
    assert 0 <= refuted < 0.3 < 0.7 < supported <= 1


def test_it_tells_which_sentence_answers(model: Judge) -> None:
    texts = [(text, "Eiffel Tower") for text in TOWER.split(". ")]
    rated = model.rate_answers("How high is the Eiffel Tower?", texts)
    assert max(range(3), key=lambda at: rated[at]) == 1
    alone = [model.rate_answers("How high is the Eiffel Tower?", [text])[0] for text in texts]
    assert rated == pytest.approx(alone, abs=1e-3)
    assert max(model.rate_answers("How many people visit it every year?", texts)) < rated[1]


@pytest.mark.parametrize("text", ["", " ", "x" * 100_000, "\x00", "🎈" * 500, "[CLS] [SEP]"])
def test_any_text_is_rated(model: Judge, text: str) -> None:
    item = Evidence(1, "t", "t", "whole", text, 1.0)
    assert 0 <= model.rate_claim(text, (item, item)) <= 1
    assert all(0 <= one <= 1 for one in model.rate_answers(text, [(text, text)] * 3))
    assert model.rate_answers("Who?", []) == []


def test_a_long_passage_is_read_where_it_is_about_the_claim() -> None:
    filler = "The weather was mild and the market opened at nine as usual that day. " * 60
    chosen = select_sentences("Ada Byron founded the mill.", f"{filler}Ada Byron founded the mill in 1840. {filler}")
    assert "Ada Byron founded the mill in 1840." in chosen
    assert len(chosen) <= judge.LONGEST_TEXT + 10


def test_inventions_are_dropped_and_paraphrases_stay(model: Judge) -> None:
    corpus = build(CorpusSource.from_files(DOCUMENTS), in_memory=True)
    question = "Who founded the company?"
    item = ask(corpus, question, ScriptedLLM(REFUSAL)).evidence[0]
    facts = [
        "Ines Halloran and Tobias Okafor are the founders of the company.",
        "It was founded in 2014 by Ines Halloran and Tobias Okafor.",
    ]
    reply = " ".join(f"{text.rstrip('.')} {item.marker}." for text in (*INVENTIONS, *facts))
    answer = ask(corpus, question, ScriptedLLM(reply))
    assert [claim.text.split(" [")[0] + "." for claim in answer.sentences] == facts
    assert [one.text.split(" [")[0] for one in answer.dropped] == INVENTIONS


def test_answers_are_chosen_by_it(model: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = build(CorpusSource.from_files(DOCUMENTS), in_memory=True)
    assert "£7.95" in ask(corpus, "How much is express delivery?").text
    assert ask(corpus, "How many golf courses does the company own?").refused
    monkeypatch.setattr(model, "rate_answers", lambda question, texts: [0.0] * len(texts))
    assert ask(corpus, "How much is express delivery?").refused


@pytest.mark.parametrize(
    ("question", "texts", "best"),
    [
        ("Wie hoch ist der Turm?", ["Er wurde 1889 gebaut.", "Er ist 330 Meter hoch.", "Der Anstrich ist braun."], 1),
        ("タワーの高さは？", ["1958年に完成しました。", "高さは333メートルです。", "入場料は大人1200円です。"], 1),
        ("¿Quién fundó la empresa?", ["Vende semillas.", "Tiene dos talleres.", "La fundó Inés Ríos en 2014."], 2),
    ],
)
def test_the_reader_tells_which_sentence_answers_in_other_languages(question: str, texts: list[str], best: int) -> None:
    pytest.importorskip("onnxruntime")
    reader = load_reader()
    assert reader is not None
    rated = reader.rate_answers(question, [(text, "") for text in texts])
    assert max(range(len(texts)), key=lambda at: rated[at]) == best
    assert 0 <= min(rated) <= max(rated) <= 1


def test_the_reader_refuses_what_rules_would_answer(model: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "Die Ruhezeit beginnt um 22 Uhr. Fahrräder gehören in den Keller. Der Müll wird dienstags abgeholt."
    corpus = build([Document("haus", "Hausordnung", rules)], in_memory=True)
    found = ask(corpus, "Wo stellt man Fahrräder ab?")
    assert found.text.startswith("Fahrräder gehören in den Keller.")
    assert READ_FROM_OTHER <= found.confidence < 1
    question = "Wann wird der Müll vom Balkon gestohlen?"
    assert ask(corpus, question).refused
    monkeypatch.setattr(cross_encoder, "READER", Path("missing.onnx"))
    assert not ask(corpus, question).refused


def test_no_model_reads_passages_in_another_language_than_the_question(model: Judge) -> None:
    def find(language: str, asked_in: str = "") -> object:
        return find_reader(read_question("Wie hoch?", get_analyzer(), lambda terms: {}, 1, language, asked_in))

    assert find("de") is not None
    assert find("ja", asked_in="de") is None
    assert find("en", asked_in="de") is None


def test_without_its_file_rules_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "MODEL", Path("missing.onnx"))
    assert load_judge() is None

"""The cases of the dialogue benchmark."""

from __future__ import annotations

import pytest

from bench.dialogue_cases import Dialogue, Turn, load_dialogues

DIALOGUES = load_dialogues()


def test_there_are_enough_turns_with_and_without_an_answer() -> None:
    turns = [turn for dialogue in DIALOGUES for turn in dialogue.turns]
    assert len(DIALOGUES) >= 30
    assert sum(bool(turn.answers) for turn in turns) >= 70
    assert sum(not turn.answers for turn in turns) >= 15


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda dialogue: dialogue.turns[0].question)
def test_a_document_has_the_answer_to_every_turn_that_expects_one(dialogue: Dialogue) -> None:
    texts = [path.read_text("utf-8") for path in dialogue.documents.glob("*.md")]
    assert 2 <= len(dialogue.turns) <= 4
    for turn in dialogue.turns:
        for pattern in turn.answers:
            Turn(turn.question, (pattern,)).is_answered_by("")  # the pattern compiles
        assert not turn.answers or any(map(turn.is_answered_by, texts)), turn.question


@pytest.mark.parametrize(
    ("text", "expected"),
    [("It takes 12\nworking days.", True), ("It takes 5 working days.", False), ("TWELVE WORKING DAYS", True)],
)
def test_an_answer_has_one_of_the_patterns_whatever_its_spaces_and_case(text: str, expected: bool) -> None:
    turn = Turn("How long does it take?", (r"\b12 working days", "twelve working days"))
    assert turn.is_answered_by(text) is expected


def test_no_text_answers_a_turn_that_must_be_refused() -> None:
    assert not Turn("How old is he?", ()).is_answered_by("He is 12 years old.")

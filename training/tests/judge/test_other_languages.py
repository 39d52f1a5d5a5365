"""The decision of a reader in other languages: what counts as right, and that it is fitted to what was left out."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.judge import other_languages, unit_lists
from training.judge.list_tokens import OTHER, UnitList
from training.judge.other_languages import AskedUnits, Fitted

FILE: dict[str, Any] = {
    "group": "Haus",
    "name": "hausordnung.txt",
    "language": "de",
    "text": "Die Waschküche ist am Sonntag geschlossen.\n\nDer Schlüssel für den Keller hängt im Büro.\n",
    "q": [["Wo hängt der Schlüssel für den Keller?", "Der Schlüssel für den Keller hängt im Büro."]],
    "none": ["Was kostet ein neuer Schlüssel für den Keller?"],
}


@pytest.fixture
def everyday(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_languages, "EVERYDAY", tmp_path / "everyday.jsonl.xz")
    with lzma.open(other_languages.EVERYDAY, "wt", encoding="utf-8") as file:
        file.write("".join(f"{json.dumps(row)}\n" for row in (FILE, FILE | {"language": "en"})))


def test_a_question_about_a_file_has_the_unit_that_was_quoted(everyday: None) -> None:
    answered, unanswered = other_languages.ask_files()
    assert [unit.unit.text for unit, is_right in zip(answered.units, answered.right, strict=True) if is_right] == [
        FILE["q"][0][1]
    ]
    assert answered.outcome == "right"
    assert not unanswered.is_answerable
    assert not any(unanswered.right)


def test_lists_of_files_in_other_languages_are_made(everyday: None) -> None:
    lists = {one.source: one for one in unit_lists.ask_files_in_other_languages()}
    own = lists[f"everyday{OTHER}"]
    assert [own.rows[at][0] for at in own.right] == [FILE["q"][0][1]]
    assert f"everyday{OTHER}, without answer" in lists
    assert {one.is_held for one in lists.values()} == {other_languages.is_held(FILE["group"])}


def test_a_translated_question_gets_the_lists_of_the_english_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit_lists, "ASKED_OTHER", tmp_path / "asked_other.jsonl.xz")
    row = {"language": "de", "english": "How high is it?", "question": "Wie hoch ist es?"}
    with lzma.open(unit_lists.ASKED_OTHER, "wt", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    asked = UnitList(row["english"], [("It is 330 m tall.", "")], frozenset([0]), "asked", is_held=True)
    removed = asked._replace(right=frozenset(), source="everyday, removed")
    found = unit_lists.ask_in_other_languages([asked, removed, asked._replace(source="squad2")])
    assert found == [
        asked._replace(question=row["question"], source=f"asked{OTHER}"),
        removed._replace(question=row["question"], source=f"asked{OTHER}, removed"),
    ]


def test_all_translated_questions_are_of_questions_by_people() -> None:
    english = set()
    for path in (unit_lists.ASKED, other_languages.EVERYDAY):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            english |= {one for row in map(json.loads, file) for one in [*(q for q, _ in row["q"]), *row["none"]]}
    with lzma.open(unit_lists.ASKED_OTHER, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert english.issuperset(row["english"] for row in rows)
    assert len({(row["language"], row["english"]) for row in rows}) == len(rows)


def test_the_decision_prefers_the_unit_that_the_model_prefers_and_refuses_what_it_does_not_know() -> None:
    rng = np.random.default_rng(0)
    asked, columns = [], []
    for at in range(200):
        is_answerable = at % 2 == 0
        odds = rng.normal(-3, 0.5, 6)
        right = [is_answerable and unit == 2 for unit in range(6)]
        odds[2] += 6 * is_answerable
        asked.append(AskedUnits("everyday de", f"group {at % 20}", "", [], right, is_answerable, "refused"))
        columns.append(np.stack([odds, rng.random(6)], 1))
    fitted = Fitted(asked, columns, np.ones(len(asked), bool))
    answerable = np.array([one.is_answerable for one in asked])
    assert fitted.right[answerable].all()
    assert (fitted.probability[answerable] > 0.8).mean() > 0.9
    assert (fitted.probability[~answerable] < 0.2).mean() > 0.9
    assert fitted.weights.of_model > 0

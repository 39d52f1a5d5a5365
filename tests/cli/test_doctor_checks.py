"""What the doctor finds, and how to fix it."""

from __future__ import annotations

from pathlib import Path

import shortlist
from shortlist.library.registry import registry_file
from tests.cli.conftest import Shell


def test_the_doctor_finds_what_is_broken_and_how_to_fix_it(shop: Shell) -> None:
    assert shop("doctor").out.endswith("No check failed.\n")
    corpus = shortlist.open_corpus("shop")
    corpus.close()
    (Path(str(corpus.path)) / "corpus.db").write_bytes(b"rubbish" * 1000)
    registry_file().write_text("{")
    done = shop("doctor", "--json")
    broken = {check["name"]: check["fix"] for check in done.json["checks"] if check["state"] == "broken"}
    assert (done.code, done.json["ok"]) == (1, False)
    assert broken.keys() == {"shop", "registry"}
    assert "shortlist rm shop --data" in broken["shop"]


def test_the_doctor_does_not_call_a_corpus_broken_whose_embedder_only_a_program_has(shell: Shell) -> None:
    shortlist.build({"a": "tea"}, name="mine", embedder=lambda texts: [[1.0, 0.0]] * len(texts)).close()
    done = shell("doctor", "--json")
    (check,) = [check for check in done.json["checks"] if check["name"] == "mine"]
    assert (done.code, check["state"], check["says"]) == (0, "note", "1 document, keyword search only")
    assert "only your program has" in check["fix"]


def test_the_doctor_suggests_a_better_embedder_for_tools(shell: Shell) -> None:
    documents = [shortlist.Document("tea", "brew_tea", "Brew tea.", kind="tool")]
    shortlist.build(documents, name="mine", embedder="default").close()
    done = shell("doctor", "--json")
    (check,) = [check for check in done.json["checks"] if check["name"] == "mine"]
    assert (done.code, check["state"]) == (0, "note")
    assert "Build the corpus again" in check["fix"]


def test_the_doctor_reports_the_languages_of_a_corpus_and_an_embedder_that_does_not_know_them(shell: Shell) -> None:
    texts = {
        "de": "Die Rechnungen werden am Ende des Monats an die Kunden verschickt.",
        "he": "החשבוניות נשלחות ללקוחות",
    }
    shortlist.build(texts, name="mine", embedder="default").close()
    (check,) = [check for check in shell("doctor", "--json").json["checks"] if check["name"] == "mine"]
    assert check["says"] == "2 documents, embedder wordllama-256, languages: German (1), Hebrew (1)"
    assert check["state"] == "note"
    assert "--embedder multilingual" in check["fix"]
    assert shell("info", "mine", "--json").json["languages"] == {"de": 1, "he": 1}
    assert "German (1), Hebrew (1)" in shell("info", "mine").out

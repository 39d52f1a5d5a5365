"""The languages of a corpus: detected, declared or given, stored, and searched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shortlist
from shortlist import Document
from shortlist.errors import InputError

TEXTS = {
    "de": "Mit get_user_profile werden die Profile der Kunden gelesen, wenn sie sich angemeldet haben.",
    "fr": "Les fichiers sont supprimés après trente jours, sauf si le client demande une prolongation.",
    "ru": "Старые файлы удаляются через тридцать дней, если клиент не просит продлить срок.",
    "ja": "古いファイルは三十日後に削除されます。",
    "en": "The invoices of all customers are sent at the end of the month.",
}


def documents() -> list[Document]:
    return [Document(code, "", text) for code, text in TEXTS.items()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Profil lesen", "de"), ("user profile", "de"), ("fichier supprimé", "fr"), ("fichiers supprimes", "fr"),
        ("удалить файл", "ru"), ("ファイルの削除", "ja"), ("customer invoice", "en"),
    ],
)  # fmt: skip
def test_passages_are_found_in_their_language(query: str, expected: str) -> None:
    assert shortlist.search(documents(), query, mode="lexical")[0].id == expected


def test_the_languages_of_passages_survive_changes_compaction_and_a_repair(tmp_path: Path) -> None:
    with shortlist.build(documents(), path=tmp_path / "c", embedder="none") as corpus:
        assert corpus.languages() == dict.fromkeys(["de", "en", "fr", "ja", "ru"], 1)
        corpus.add([Document(f"de{n}", "", TEXTS["de"]) for n in range(3)])
        corpus.remove(["ru", "en"])
        expected = {"de": 4, "fr": 1, "ja": 1}
        assert corpus.languages() == corpus.info()["languages"] == expected
        corpus.compact()
        assert corpus.languages() == expected
    for file in (tmp_path / "c" / "segments").iterdir():
        file.write_bytes(b"damaged")
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        assert corpus.languages() == expected


def test_a_language_that_is_given_or_declared_comes_before_detection(tmp_path: Path) -> None:
    unclear = [Document("a", "", "Daten Konto"), Document("b", "", "Daten Konto", metadata={"lang": "fr-CA"})]
    with shortlist.build(unclear, path=tmp_path / "c", embedder="none", language="de") as corpus:
        assert corpus.languages() == {"de": 1, "fr": 1}
        corpus.reindex(language="auto")
        assert corpus.languages() == {"en": 1, "fr": 1}
    hits = shortlist.search(["Alte Dateien"], "Datei", mode="lexical", language="de")
    assert len(hits) == 1
    with pytest.raises(InputError, match="'xx'"):
        shortlist.build(unclear, in_memory=True, embedder="none", language="xx")


def test_a_query_in_a_rare_language_finds_it() -> None:
    many = [Document(f"e{n}", "", f"The invoice number {n} of the customers was sent.") for n in range(200)]
    with shortlist.build([*many, *documents()], in_memory=True, embedder="none") as corpus:
        with corpus.snapshot() as state:
            assert state.lexical.analyzer.languages == ("en",)
        assert shortlist.search(corpus, "Wie wird das Profil eines Kunden gelesen?", mode="lexical")[0].id == "de"


def test_an_older_corpus_works_as_before_and_a_rebuild_upgrades_it(tmp_path: Path) -> None:
    with shortlist.build(documents(), path=tmp_path / "c", embedder="none", analyzer="english-1") as corpus:
        assert corpus.languages() == dict.fromkeys(["de", "fr", "ru", "ja", "en"], 1)
        assert "German, French" in corpus.info()["advice"]
    with shortlist.build(documents(), path=tmp_path / "c", embedder="none") as corpus:
        assert corpus.config.analyzer == "english-1"
    with shortlist.build(documents(), path=tmp_path / "c", embedder="none", rebuild=True) as corpus:
        assert corpus.config.analyzer == "languages-1"
        assert corpus.info()["advice"] == ""


def test_words_that_no_document_contains_are_named_without_request_words() -> None:
    query = "Kannst du mir bitte die Rakete zeigen?"
    found = shortlist.discover(documents(), query, mode="lexical", min_relevance=0.99)
    assert found.signals["unknown_words"] == ["Rakete"]


def test_english_passages_have_the_terms_of_english_1() -> None:
    english = [Document(str(n), f"Tool {n}", f"{TEXTS['en']} get_user_{n} the café of Zürich") for n in range(50)]
    results = []
    for analyzer in ("english-1", "languages-1"):
        with shortlist.build(english, in_memory=True, embedder="none", analyzer=analyzer) as corpus:
            results.append([(hit.id, hit.score) for hit in shortlist.search(corpus, "user 7 invoices", mode="lexical")])
    assert results[0] == results[1]


@pytest.mark.extras
@pytest.mark.parametrize(
    ("embedder", "english", "advised"),
    [("default", 1, True), ("default", 40, False), ("tools", 1, False), ("none", 1, False), ("light", 1, False)],
)
def test_an_english_embedder_for_other_languages_is_advised_against(embedder: str, english: int, advised: bool) -> None:
    texts = documents() + [Document(f"en{n}", "", TEXTS["en"]) for n in range(english)]
    with shortlist.build(texts, in_memory=True, embedder=embedder) as corpus:
        info = corpus.info()
    assert info["languages"] == {"en": english + 1, "de": 1, "fr": 1, "ja": 1, "ru": 1}
    assert ("--embedder multilingual --rebuild" in info["advice"]) == advised
    assert ("67% of the passages" in info["advice"]) == advised
    assert ("(German, French, Japanese, Russian)" in info["advice"]) == advised


def test_nothing_is_advised_about_the_embedder_of_a_user() -> None:
    def encode(texts: list[str]) -> np.ndarray:
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    with shortlist.build(documents(), in_memory=True, embedder=encode) as corpus:
        assert corpus.info()["advice"] == ""


@pytest.mark.extras
@pytest.mark.usefixtures("without_onnxruntime")
def test_the_advice_says_what_the_other_embedder_needs() -> None:
    with shortlist.build(documents(), in_memory=True, embedder="default") as corpus:
        advice = corpus.info()["advice"]
    assert "needs onnxruntime, which cannot be imported here" in advice
    assert "--rebuild" not in advice

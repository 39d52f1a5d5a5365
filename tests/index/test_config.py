"""The configuration of a corpus, and when a threshold is in doubt."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Document, InputError, Scoring
from shortlist.index.config import RELEVANCE_SCALE, Config, Drift, ScoreThreshold
from shortlist.retrieval.relevance import UNCHANGED, calibration_of


def test_thresholds_are_stored_and_deleted(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.set_threshold("lexical", 0.4)
        corpus.set_threshold("dense", 0.2)
        corpus.set_threshold("dense", None)
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        assert corpus.info()["floors"] == {"lexical": 0.4}


def test_a_floor_is_doubted_once_a_fifth_of_the_corpus_has_changed(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path, embedder="none") as corpus:
        corpus.add(Document(str(number), f"tea {number}", "green") for number in range(10))
        corpus.set_threshold("lexical", 0.4, cases=12)
        corpus.add([Document("0", "tea 0", "black")])
        assert corpus.threshold("lexical") == (0.4, "")
        assert corpus.config.calibrations["lexical"]["cases"] == 12
        assert corpus.info()["doubts"] == {}
        corpus.remove("1")
        value, doubt = corpus.threshold("lexical")
        assert value == 0.4
        assert "10 documents, and 20% of it has changed" in doubt
        corpus.compact()
        assert corpus.info()["doubts"] == {"lexical": doubt}
        corpus.set_threshold("lexical", 0.5)
        assert corpus.threshold("lexical") == (0.5, "")
        corpus.set_threshold("lexical", None)
        assert corpus.threshold("lexical") == (None, "")
        assert corpus.config.calibrations == {}


def test_a_configuration_written_before_floors_had_an_origin_is_read(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path, embedder="none") as corpus:
        corpus.add([Document("0", "tea", "green")])
        corpus.set_threshold("lexical", 0.4)
    with sqlite3.connect(tmp_path / "corpus.db") as connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE key = 'config'").fetchone()
        old = {key: value for key, value in json.loads(text).items() if key != "calibrations"}
        connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (json.dumps(old),))
    connection.close()
    with shortlist.open_corpus(tmp_path) as corpus:
        assert corpus.threshold("lexical") == (0.4, "")


def test_a_configuration_is_the_same_after_storing() -> None:
    config = Config("words-1", "light", "light", 512, Scoring("bm25+", k1=2.0), 300, 20, {"auto": 0.5})
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize("values", [{"dim": -1}, {"dim": 1 << 30}, {"floors": {"auto": "x"}}, {"analyzer": 5}], ids=str)
def test_a_stored_configuration_with_wrong_values_is_refused(values: dict[str, Any]) -> None:
    text = json.dumps(json.loads(Config().to_json()) | values)
    with pytest.raises((TypeError, ValueError)):
        Config.from_json(text)


def test_an_overlap_must_be_smaller_than_a_chunk() -> None:
    with pytest.raises(InputError, match=r"chunk_overlap \(300\).*chunk_size \(300\)"):
        Config(chunk_size=300, chunk_overlap=300)


def test_a_threshold_of_another_embedder_is_in_doubt() -> None:
    then = {**Config(embedder_name="light").describe_scoring(), "passages": 10, "documents": 10}
    config = Config(floors={"auto": 0.5}, calibrations={"auto": then | {"scale": RELEVANCE_SCALE}})
    assert "another embedder" in config.threshold("auto", lambda mark: Drift(0, 10)).doubt
    assert config.threshold("dense", lambda mark: Drift(0, 10)) == (None, "")


@pytest.mark.parametrize("calibrations", [{}, {"auto": {"passages": 1, "documents": 1, "relevance": [2.0, 0.5]}}])
def test_a_threshold_of_auto_of_an_earlier_version_is_not_used_but_reported(calibrations: dict[str, Any]) -> None:
    config = Config(floors={"auto": 0.31, "lexical": 4.0}, calibrations=calibrations)
    assert Config.from_json(config.to_json()).floors == {"auto": 0.31, "lexical": 4.0}  # not lost
    value, doubt = config.threshold("auto", lambda mark: Drift(0, 1))
    assert value is None
    assert "0.31" in doubt
    assert "Calibrate it again." in doubt
    assert config.threshold("lexical", lambda mark: Drift(0, 1)) == ScoreThreshold(4.0)
    assert calibration_of(config, "auto") == UNCHANGED

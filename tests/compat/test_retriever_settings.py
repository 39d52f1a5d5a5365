"""The settings with those of the retriever: their variables, and errors that name the offending value."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import InputError
from shortlist._settings import Settings, keys_of
from shortlist.compat import BM25SSettings
from shortlist.compat.retriever_settings import (
    KEYS,
    RetrieverState,
    load_compat_settings,
    load_retriever_defaults,
    unknown_variables,
)
from shortlist.server.service_settings import load_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text("bm25s: {temperature: 2.5, llm_tools_cutoff: 20}\ndocuments: {source: tools.yaml}\n")
    return path


def test_only_the_section_of_the_retriever_is_added(file: Path) -> None:
    assert KEYS.sections.keys() - keys_of(Settings).sections.keys() == {"bm25s"}
    assert load_compat_settings(file, environment={}).bm25s.temperature == 2.5
    with pytest.raises(InputError, match="unknown section 'bm25s'"):
        load_settings(file, environment={})


def test_an_invalid_value_is_an_error_with_its_name() -> None:
    with pytest.raises(InputError, match=r"BM25SSettings: temperature must be a number from 0\.1 to 10, not 11"):
        BM25SSettings(temperature=11)


def test_the_defaults_of_a_retriever_are_those_of_the_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    monkeypatch.setenv("BM25S_CUTOFF", "30")
    defaults = load_retriever_defaults()
    assert defaults.bm25s == BM25SSettings(2.5, True, 30.0)
    assert Path(defaults.source).resolve() == (file.parent / "tools.yaml").resolve()


def test_a_stored_change_counts_until_the_configured_value_changes(file: Path) -> None:
    configured = load_compat_settings(file, environment={})
    RetrieverState(configured).save({"temperature": 4.0})
    state = RetrieverState(configured)
    assert state.settings() == BM25SSettings(4.0, True, 20.0)
    assert state.rows() == {"bm25s.temperature": (4.0, "POST /settings")}
    changed = RetrieverState(load_compat_settings(file, environment={"BM25S_TEMPERATURE": "3"}))
    assert (changed.settings().temperature, changed.rows()) == (3.0, {})


VARIABLES = {
    "BM25S_TEMPERATURE": ("3", 3.0),
    "BM25S_IGNORE_ZERO": ("no", False),
    "BM25S_CUTOFF": ("4", 4.0),
    "SHORTLIST_HOST": ("localhost", "localhost"),
    "SHORTLIST_PORT": ("5", 5),
    "SHORTLIST_LOG_LEVEL": ("debug", "debug"),
    "SHORTLIST_TOKEN": ("word", "***"),
    "SHORTLIST_MAX_QUERY_CHARACTERS": ("9000", 9000),
    "SHORTLIST_FILE_SECONDS": ("8", 8.0),
    "SHORTLIST_FILE_MEMORY_MB": ("256", 256),
    "SHORTLIST_LLM_URL": ("u", "u"),
    "SHORTLIST_LLM_MODEL": ("m", "m"),
    "SHORTLIST_LLM_KEY": ("k", "***"),
    "SHORTLIST_LLM_FALLBACK": ("f", "f"),
    "SHORTLIST_CHUNK_SIZE": ("400", 400),
    "SHORTLIST_CHUNK_OVERLAP": ("40", 40),
    "SHORTLIST_TOP_K": ("6", 6),
    "SHORTLIST_MIN_RELEVANCE": ("0.2", 0.2),
    "SHORTLIST_EMBEDDER": ("light", "light"),
    "SHORTLIST_INDEX_DIR": ("index", "index"),
    "SHORTLIST_MEMORY_WINDOW_TURNS": ("3", 3),
    "SHORTLIST_AGENT_MAX_STEPS": ("7", 7),
    "SHORTLIST_PROFILE": ("home", "home"),
    "SHORTLIST_ENGINE_USER": ("ann", "ann"),
    "SHORTLIST_ENGINE_PASSWORD": ("p", "***"),
    "SHORTLIST_ENGINE_CERTIFICATE": ("ca.pem", "ca.pem"),
    "SHORTLIST_LEARN": ("LOG", "log"),
    "SHORTLIST_TELEMETRY": ("yes", True),
}


FORMER = {
    "BM25S_HOST": "SHORTLIST_HOST",
    "BM25S_PORT": "SHORTLIST_PORT",
    "BM25S_LOG_LEVEL": "SHORTLIST_LOG_LEVEL",
    "SHORTLIST_THRESHOLD": "SHORTLIST_MIN_RELEVANCE",
}


def test_every_variable_sets_a_key(file: Path) -> None:
    assert KEYS.variables.keys() == VARIABLES.keys() | FORMER.keys()
    given = {variable: text for variable, (text, _) in VARIABLES.items()}
    rows = {row["key"]: (row["value"], row["origin"]) for row in load_compat_settings(file, environment=given).rows()}
    assert [rows[KEYS.variables[name]] for name in VARIABLES] == [(VARIABLES[name][1], name) for name in VARIABLES]


@pytest.mark.parametrize("former", FORMER)
def test_a_former_variable_counts_unless_its_present_name_is_set(former: str) -> None:
    present = FORMER[former]
    text, value = VARIABLES[present]
    key = KEYS.variables[former]
    settings = load_compat_settings(environment={former: text})
    assert (settings.value(key), settings.origins[key]) == (value, former)
    others = {"SHORTLIST_HOST": "::1", "SHORTLIST_PORT": "6", "SHORTLIST_LOG_LEVEL": "error"}
    other = others.get(present, "0.3")
    settings = load_compat_settings(environment={present: other, former: text})
    assert (str(settings.value(key)), settings.origins[key]) == (other, present)


def test_a_misspelled_variable_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BM25S_TEMPRATURE", "BM25S_PORT"):
        monkeypatch.setenv(name, "1")
    (warning,) = unknown_variables()
    assert "BM25S_TEMPRATURE" in warning
    assert "'BM25S_TEMPERATURE'" in warning

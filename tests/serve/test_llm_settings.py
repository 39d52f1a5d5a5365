"""Which model is meant: the environment before .env before the settings file, value by value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortlist import InputError
from shortlist.index.places import config_dir
from shortlist.serve.llm_settings import LLMSettings, llm_settings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("SHORTLIST_LLM_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_nothing_set_is_no_model() -> None:
    assert llm_settings() == LLMSettings()
    assert llm_settings().connect() is None


def test_the_environment_comes_before_dotenv_and_that_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config_dir().mkdir(parents=True)
    (config_dir() / "settings.toml").write_text(
        '[llm]\nurl = "http://file/v1"\nmodel = "file"\nkey = "k-file"\nfallback = "spare"\n'
    )
    assert llm_settings() == LLMSettings("http://file/v1", "file", "k-file", "spare")
    (tmp_path / ".env").write_text("OPENAI_API_KEY='sk-or-$x' # a comment\nexport OPENAI_MODEL=dotenv\n")
    assert llm_settings() == LLMSettings("http://file/v1", "dotenv", "sk-or-$x", "spare")
    monkeypatch.setenv("OPENAI_MODEL", "usual")
    assert llm_settings().model == "usual"
    monkeypatch.setenv("SHORTLIST_LLM_MODEL", " own ")
    assert llm_settings().model == "own"
    model = llm_settings().connect()
    assert model is not None
    assert (model.url, model.model, model.fallback) == ("http://file/v1", "own", "spare")


def test_a_key_alone_means_the_usual_address_and_needs_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with pytest.raises(InputError, match="SHORTLIST_LLM_MODEL"):
        llm_settings().connect()
    monkeypatch.setenv("OPENAI_MODEL", "small")
    model = llm_settings().connect()
    assert model is not None
    assert model.url == "https://api.openai.com/v1"


@pytest.mark.parametrize("text", ["[llm\n", '[llm]\nmodle = "x"\n'])
def test_a_settings_file_that_cannot_be_understood_is_an_error(text: str) -> None:
    config_dir().mkdir(parents=True)
    (config_dir() / "settings.toml").write_text(text)
    with pytest.raises(InputError, match=r"settings\.toml"):
        llm_settings()

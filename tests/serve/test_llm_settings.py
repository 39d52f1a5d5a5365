"""Which model is meant: the environment before .env before the settings file, value by value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortlist import InputError
from shortlist.serve.llm_settings import connect, llm_settings, unnamed_model
from shortlist.serve.settings import Llm, load_settings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("SHORTLIST_LLM_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_nothing_set_is_no_model() -> None:
    assert llm_settings() == Llm()
    assert connect(llm_settings()) is None


def test_the_environment_comes_before_dotenv_and_that_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "llm:\n  url: http://file/v1\n  model: file\n  key: k-file\n  fallback: spare\n"
    (tmp_path / "settings.yaml").write_text(text)
    assert llm_settings() == Llm(url="http://file/v1", model="file", key="k-file", fallback="spare")  # type: ignore[arg-type]
    assert load_settings().llm == llm_settings()
    (tmp_path / ".env").write_text("OPENAI_API_KEY='sk-or-$x' # a comment\nexport OPENAI_MODEL=dotenv\n")
    assert llm_settings() == Llm(url="http://file/v1", model="dotenv", key="sk-or-$x", fallback="spare")  # type: ignore[arg-type]
    monkeypatch.setenv("OPENAI_MODEL", "usual")
    assert llm_settings().model == "usual"
    monkeypatch.setenv("SHORTLIST_LLM_MODEL", " own ")
    assert llm_settings().model == "own"
    model = connect(llm_settings())
    assert model is not None
    assert (model.url, model.model, model.fallback) == ("http://file/v1", "own", "spare")


def test_what_is_usual_counts_only_where_a_model_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert llm_settings() == Llm()
    assert connect(llm_settings()) is None
    assert unnamed_model(llm_settings()) == "OPENAI_API_KEY"
    monkeypatch.setenv("OPENAI_MODEL", "small")
    model = connect(llm_settings())
    assert model is not None
    assert (model.url, model.model, unnamed_model(llm_settings())) == ("https://api.openai.com/v1", "small", "")
    monkeypatch.delenv("OPENAI_MODEL")
    (tmp_path / "settings.yaml").write_text("llm:\n  model: file\n")
    assert llm_settings() == Llm(model="file", key="sk-1")  # type: ignore[arg-type]


def test_our_own_variables_without_a_model_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_LLM_KEY", "sk-1")
    with pytest.raises(InputError, match="SHORTLIST_LLM_MODEL"):
        connect(llm_settings())


@pytest.mark.parametrize("text", ["llm: [", "llm:\n  modle: x\n", "llm:\n  url: [1]\n", "llm: text\n"])
def test_a_settings_file_that_cannot_be_understood_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    with pytest.raises(InputError, match=r"settings\.yaml"):
        llm_settings()

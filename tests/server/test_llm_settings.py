"""The configured model: the environment before .env before the settings file, value by value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortlist import InputError
from shortlist._settings import Llm
from shortlist.safety.confirmations import confirm, revoke
from shortlist.server.llm_settings import choose_llm, connect, find_ignored_variable, load_llm_settings
from shortlist.server.service_settings import load_settings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("SHORTLIST_LLM_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def load(*, files: bool = True) -> Llm:
    """The model in force once the user has confirmed its address."""
    request = choose_llm(files=files).request
    if request:
        confirm(*request)
    return load_llm_settings(files=files).llm


def test_nothing_set_is_no_model() -> None:
    assert load() == Llm()
    assert connect(load()) is None


def test_the_environment_comes_before_dotenv_and_that_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "llm:\n  url: http://file/v1\n  model: file\n  key: k-file\n  fallback: spare\n"
    (tmp_path / "settings.yaml").write_text(text)
    assert load() == Llm(url="http://file/v1", model="file", key="k-file", fallback="spare")  # type: ignore[arg-type]
    assert load_settings().llm == load()  # which is confirmed by now
    url, key = "OPENAI_BASE_URL=http://dotenv/v1", "OPENAI_API_KEY='sk-or-$x' # a comment"
    (tmp_path / ".env").write_text(f"{url}\n{key}\nexport OPENAI_MODEL=dotenv\n")
    assert load() == Llm(url="http://dotenv/v1", model="dotenv", key="sk-or-$x", fallback="spare")  # type: ignore[arg-type]
    monkeypatch.setenv("OPENAI_MODEL", "usual")
    assert load().model == "usual"
    monkeypatch.setenv("SHORTLIST_LLM_MODEL", " own ")
    assert load().model == "own"
    model = connect(load())
    assert model is not None
    assert (model.url, model.model, model.fallback) == ("http://dotenv/v1", "own", "spare")


def test_usual_variables_count_only_if_a_model_is_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert load() == Llm()
    assert connect(load()) is None
    assert find_ignored_variable(load()) == "OPENAI_API_KEY"
    monkeypatch.setenv("OPENAI_MODEL", "small")
    model = connect(load())
    assert model is not None
    assert (model.url, model.model, find_ignored_variable(load())) == (
        "https://api.openai.com/v1",
        "small",
        "",
    )
    monkeypatch.delenv("OPENAI_MODEL")
    (tmp_path / "settings.yaml").write_text("llm:\n  model: file\n")
    assert load() == Llm(model="file", key="sk-1")  # type: ignore[arg-type]


def test_our_own_variables_without_a_model_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_LLM_KEY", "sk-1")
    with pytest.raises(InputError, match="SHORTLIST_LLM_MODEL"):
        connect(load())


@pytest.mark.parametrize("text", ["llm: [", "llm:\n  modle: x\n", "llm:\n  url: [1]\n", "llm: text\n"])
def test_an_invalid_settings_file_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    with pytest.raises(InputError, match=r"settings\.yaml"):
        load()


# A key is sent only to an address from an equally trusted origin

EVIL = "https://evil.example/v1"
FIXES = ("SHORTLIST_LLM_URL in the environment", "key beside the address")


def key_sent(*, files: bool = True) -> str | None:
    key = load(files=files).key
    return key.get_secret_value() if key else None


@pytest.mark.parametrize("key", ["OPENAI_API_KEY", "SHORTLIST_LLM_KEY"])
@pytest.mark.parametrize("address", [EVIL, "http://127.0.0.1:11434/v1"])
@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".env", "SHORTLIST_LLM_URL={}\nSHORTLIST_LLM_MODEL=m\n"),
        (".env", "OPENAI_BASE_URL={}\nOPENAI_MODEL=m\n"),
        ("settings.yaml", "llm:\n  url: {}\n  model: m\n"),
    ],
)
def test_a_key_of_the_environment_is_not_sent_to_an_address_from_a_file(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path,
    key: str, address: str, file: str, text: str,
) -> None:  # fmt: skip
    (tmp_path / file).write_text(text.format(address))
    monkeypatch.setenv(key, "sk-mine")
    assert (load().url, key_sent()) == (address, None)
    assert all(part in caplog.messages[0] for part in (key, address, file, *FIXES))
    assert "sk-mine" not in caplog.text


def test_the_key_beside_the_address_is_sent_though_the_environment_has_another(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    (tmp_path / ".env").write_text(f"OPENAI_BASE_URL={EVIL}\nOPENAI_MODEL=m\nOPENAI_API_KEY=sk-theirs\n")
    assert key_sent() == "sk-theirs"
    assert caplog.messages == []


def test_a_key_of_dotenv_goes_to_an_address_of_dotenv_or_the_environment_but_not_of_the_settings_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("SHORTLIST_LLM_KEY=sk-dotenv\nSHORTLIST_LLM_MODEL=m\n")
    assert key_sent() == "sk-dotenv"  # to the default address
    (tmp_path / "settings.yaml").write_text(f"llm:\n  url: {EVIL}\n")
    assert key_sent() is None
    monkeypatch.setenv("SHORTLIST_LLM_URL", "http://mine/v1")
    assert key_sent() == "sk-dotenv"


@pytest.mark.parametrize("key", ["sk-file", None])
def test_the_service_follows_the_same_rule(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path, key: str | None
) -> None:
    (tmp_path / "settings.yaml").write_text(f"llm:\n  url: {EVIL}\n  model: m\n" + f"  key: {key}\n" * bool(key))
    monkeypatch.setenv("SHORTLIST_LLM_KEY", "sk-mine")
    confirm("llm", tmp_path / "settings.yaml", EVIL)
    found = load_settings().llm.key
    assert (found.get_secret_value() if found else None) == key
    assert [("SHORTLIST_LLM_KEY" in said, EVIL in said) for said in caplog.messages] == [(True, True)] * (key is None)
    monkeypatch.setenv("SHORTLIST_LLM_URL", "http://mine/v1")
    found = load_settings().llm.key
    assert found
    assert found.get_secret_value() == "sk-mine"
    monkeypatch.delenv("SHORTLIST_LLM_URL")
    found = load_settings(given={"llm.url": "http://mine/v1"}).llm.key
    assert found
    assert found.get_secret_value() == "sk-mine"


def test_without_files_the_environment_alone_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"SHORTLIST_LLM_URL={EVIL}\nSHORTLIST_LLM_MODEL=theirs\n")
    (tmp_path / "settings.yaml").write_text("llm: [broken")
    assert load(files=False) == Llm()
    monkeypatch.setenv("SHORTLIST_LLM_MODEL", "mine")
    monkeypatch.setenv("SHORTLIST_LLM_KEY", "sk-mine")
    assert (load(files=False).model, key_sent(files=False)) == ("mine", "sk-mine")


# An address that a file names is used only after the user has confirmed it

FILES = [
    (".env", "SHORTLIST_LLM_URL={}\nSHORTLIST_LLM_MODEL=m\n"),
    (".env", "OPENAI_BASE_URL={}\nOPENAI_MODEL=m\nOPENAI_API_KEY=sk-theirs\n"),
    ("settings.yaml", "llm:\n  url: {}\n  model: m\n"),
]


@pytest.mark.parametrize("address", [EVIL, "http://127.0.0.1:11434/v1", "http://localhost:1/v1"])
@pytest.mark.parametrize(("file", "text"), FILES)
def test_an_address_from_a_file_is_used_once_it_is_confirmed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, address: str, file: str, text: str
) -> None:
    (tmp_path / file).write_text(text.format(address))
    chosen = load_llm_settings()
    assert connect(chosen.llm) is None
    assert chosen.request
    assert chosen.request[::2] == ("llm", address)
    assert all(part in str(chosen.request) for part in (file, address, "shortlist trust"))
    confirm(*chosen.request)
    assert load_llm_settings().llm.url == address
    assert file in load_llm_settings().origin
    (tmp_path / file).write_text(text.format(f"{address}/other"))
    assert connect(load_llm_settings().llm) is None
    (tmp_path / file).write_text(text.format(address))
    assert revoke(tmp_path) == 1
    assert connect(load_llm_settings().llm) is None
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("variables", "file", "text", "place"),
    [
        ({"SHORTLIST_LLM_KEY": "sk-mine"}, "settings.yaml", f"llm: {{url: '{EVIL}', model: m}}", "settings.yaml"),
        ({}, ".env", "OPENAI_API_KEY=sk-theirs\nOPENAI_MODEL=m\n", ".env"),
        ({}, "settings.yaml", "llm: {key: sk-theirs, model: m}", "settings.yaml"),
        ({"OPENAI_API_KEY": "sk-mine"}, "settings.yaml", "llm: {model: m}", "settings.yaml"),
        ({"OPENAI_BASE_URL": "http://mine/v1"}, ".env", "SHORTLIST_LLM_MODEL=m\n", ".env"),
    ],
)
def test_every_way_in_which_a_file_starts_sending_passages_needs_confirmation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], file: str, text: str, place: str
) -> None:
    """The account of someone else at the usual address, and a model that makes variables for other programs count."""
    (tmp_path / file).write_text(text)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    chosen = load_llm_settings()
    assert chosen.llm == Llm()
    assert chosen.request
    assert chosen.request.place.name == place


def test_the_environment_needs_no_confirmation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(f"llm: {{url: '{EVIL}', model: theirs}}")
    monkeypatch.setenv("SHORTLIST_LLM_URL", "http://mine/v1")
    assert load_llm_settings() == (
        Llm(url="http://mine/v1", model="theirs"),
        "SHORTLIST_LLM_URL in the environment",
        None,
    )
    monkeypatch.delenv("SHORTLIST_LLM_URL")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://usual/v1")
    monkeypatch.setenv("OPENAI_MODEL", "mine")
    assert load_llm_settings()[::2] == (Llm(url="http://usual/v1", model="mine"), None)


def test_the_service_uses_no_model_of_an_unconfirmed_file_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(f"llm: {{url: '{EVIL}', model: m}}")
    monkeypatch.setenv("SHORTLIST_LLM_KEY", "sk-for-that-address")  # which the usual address must not get
    settings = load_settings()
    assert connect(settings.llm) is None
    (warning,) = settings.warnings
    assert all(part in warning for part in ("settings.yaml", EVIL, "shortlist trust"))
    assert load_settings(file).llm.url == EVIL  # a file that the user names
    confirm("llm", file, EVIL)
    assert (load_settings().llm.url, load_settings().warnings) == (EVIL, ())

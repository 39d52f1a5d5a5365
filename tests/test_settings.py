"""Settings: keys, precedence and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import InputError
from shortlist._settings import (
    FIELDS,
    OPTIONS,
    VARIABLES,
    ProfileChoice,
    collect_values,
    load_learning,
    load_profile,
    load_telemetry,
    read_file,
)


def test_the_profile_comes_from_the_option_the_variable_or_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_profile() == ProfileChoice()
    Path("settings.yaml").write_text("mcp: {profile: home}\nother: 1\n", encoding="utf-8")
    assert load_profile() == ProfileChoice("", "home")
    monkeypatch.setenv("SHORTLIST_PROFILE", "office")
    assert load_profile() == ProfileChoice("office")
    assert load_profile("all") == ProfileChoice("all")
    monkeypatch.delenv("SHORTLIST_PROFILE")
    Path("settings.yaml").write_text("mcp: {theirs: 1}\n", encoding="utf-8")  # the file of another program
    assert load_profile() == ProfileChoice()


def test_options_come_before_variables_and_these_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("server: {port: 1, host: 127.0.0.9, log_level: DEBUG}\ndocuments: {source: tools.yaml}\n")
    values = collect_values(
        file=file, given={"server.port": 3}, environment={"SHORTLIST_PORT": "2", "SHORTLIST_HOST": "::1"}
    )
    settings = values.validate()
    assert (settings.server.port, settings.server.host, settings.server.log_level) == (3, "::1", "debug")
    assert settings.origins == {
        "server.port": "--port",
        "server.host": "SHORTLIST_HOST",
        "server.log_level": str(file),
        "documents.source": str(file),
    }
    assert settings.given == {"server.port": 3}
    assert settings.documents.source == str(tmp_path / "tools.yaml")


def test_the_present_name_of_a_variable_comes_before_its_former_one() -> None:
    both = {"SHORTLIST_PORT": "1", "BM25S_PORT": "2"}
    assert collect_values(environment=both).validate().server.port == 1
    assert collect_values(environment={"BM25S_PORT": "2"}).validate().server.port == 2


def test_all_errors_are_reported_at_once_and_secrets_are_never_shown(tmp_path: Path) -> None:
    given = {"server.port": 70_000, "server.tokn": "x", "server.token": "a hidden word"}
    with pytest.raises(InputError) as caught:
        collect_values(given=given, environment={}).validate()
    message = str(caught.value)
    assert "--port: server.port must be a whole number from 0 to 65535, not 70000." in message
    assert "unknown key 'server.tokn'. Did you mean 'server.token'?" in message
    assert "hidden" not in message
    settings = collect_values(given={"server.token": "hidden"}, environment={}).validate()
    assert "hidden" not in str(settings.rows())


def test_only_the_named_sections_of_a_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("theirs: {a: 1}\nusage: {learn: off}\nserver: {port: x}\n")
    assert read_file(file, ("usage",)) == {"usage.learn": False}
    assert collect_values(("usage",), file=file).validate().usage.learn == "off"
    with pytest.raises(InputError, match="unknown section 'theirs'"):
        read_file(file)


def test_a_file_that_cannot_be_read_turns_learning_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHORTLIST_LEARN", raising=False)
    assert load_learning() == "on"
    Path("settings.yaml").write_text("usage: [", encoding="utf-8")
    assert load_learning() == "off"
    assert "Learning is off." in caplog.text
    assert load_learning("log") == "log"
    monkeypatch.setenv("SHORTLIST_LEARN", "on")
    assert load_learning() == "on"


def test_a_settings_file_cannot_turn_telemetry_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHORTLIST_TELEMETRY", raising=False)
    Path("settings.yaml").write_text("telemetry: {enabled: true}\n", encoding="utf-8")
    assert not load_telemetry()
    monkeypatch.setenv("SHORTLIST_TELEMETRY", "true")
    assert load_telemetry()


def test_every_key_has_a_meaning_and_every_variable_and_option_one_key() -> None:
    assert all(info.description for info in FIELDS.values())
    assert {*VARIABLES.values(), *OPTIONS} <= {*FIELDS}
    assert len({*OPTIONS.values()}) == len(OPTIONS)

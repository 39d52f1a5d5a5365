"""Environment variables that are read before or without the settings."""

from __future__ import annotations

import pytest

from shortlist._settings import VARIABLES
from shortlist.cli.environment import (
    OTHER_VARIABLES,
    has_learning,
    is_debugging,
    read_engine_credentials,
    read_variables,
)


def test_credentials_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("USER", " ada "), ("PASSWORD", "secret"), ("CERTIFICATE", "")):
        assert VARIABLES[f"SHORTLIST_ENGINE_{name}"] == f"engine.{name.lower()}"
        monkeypatch.setenv(f"SHORTLIST_ENGINE_{name}", value)
    assert read_engine_credentials() == ("ada", "secret", "")


@pytest.mark.parametrize(("value", "is_set"), [("", False), ("0", False), ("1", True), ("yes", True)])
def test_debug_is_on_unless_empty_or_zero(monkeypatch: pytest.MonkeyPatch, value: str, is_set: bool) -> None:
    monkeypatch.setenv("SHORTLIST_DEBUG", value)
    assert is_debugging() is is_set


def test_a_blank_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_LEARN", " ")
    assert not has_learning()
    monkeypatch.setenv("SHORTLIST_LEARN", "off")
    assert has_learning()


def test_variables_are_settings_or_others_and_those_that_are_not_set_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("SHORTLIST_DEBUG", raising=False)
    assert OTHER_VARIABLES.keys().isdisjoint(VARIABLES)
    assert read_variables(["NO_COLOR", "SHORTLIST_DEBUG"]) == {"NO_COLOR": "1", "SHORTLIST_DEBUG": None}

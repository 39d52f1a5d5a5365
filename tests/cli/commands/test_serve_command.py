"""The command that starts the HTTP service; tests/server starts it."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist.server import run
from tests.cli.conftest import Shell


def test_options_come_before_the_settings_file(shop: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr(run, "serve", lambda settings, _: served.append(settings))
    (shop.folder / "mine.yaml").write_text("server: {port: 8000, host: 127.0.0.2}\nusage: {learn: log}\n", "utf-8")
    options = ("--port", "0", "--corpus", "shop", "--token", "abc", "--learn", "off", "--workers", "1")
    assert shop("serve", "docs", "--settings", "mine.yaml", *options).code == 0
    (settings,) = served
    assert (settings.server.host, settings.server.port, settings.server.workers) == ("127.0.0.2", 0, 1)
    assert settings.server.corpora == ("docs", "shop")
    assert settings.server.token.get_secret_value() == "abc"
    assert settings.usage.learn == "off"


def test_what_cannot_be_served_is_reported_before_the_service_starts(shell: Shell) -> None:
    done = shell("serve", "--settings", "nowhere.yaml")
    assert (done.code, "nowhere.yaml" in done.err) == (1, True)
    done = shell("serve", "--corpus", "nowhere", "--json")
    assert (done.code, "'nowhere'" in done.json["error"]["message"]) == (1, True)

"""Progress bars in a terminal, and none in a pipe."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.cli.terminals import in_a_terminal

pytestmark = pytest.mark.process


def test_a_first_use_shows_a_bar_in_a_terminal_and_none_in_a_pipe(shell: Shell) -> None:
    shell("register", "shop", "catalog", "--root", "tools.yaml")
    shell("register", "other", "catalog", "--root", "tools.yaml")
    shown = in_a_terminal(shell, "search", "shop", "parcel")
    assert all(phase in shown for phase in ("building shop", "embedding", "writing the index"))
    count = shell("info", "shop", "--json").json["documents"]
    assert shown.count(f"{count} of {count}") >= 2  # documents, and passages
    assert shell("search", "other", "parcel").err == ""

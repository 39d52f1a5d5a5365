"""What is drawn in a terminal and in a pipe."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.cli.terminals import in_a_terminal

pytestmark = pytest.mark.process


def test_colors_in_a_terminal_unless_no_color_is_set(shop: Shell) -> None:
    shown = in_a_terminal(shop, "search", "shop", "parcel")
    assert "\x1b[1;33mparcel\x1b[0m" in shown
    plain = in_a_terminal(shop, "search", "shop", "parcel", NO_COLOR="1")
    assert "\x1b[1mparcel\x1b[0m" in plain
    assert not any(f"\x1b[{color}m" in plain or f";{color}m" in plain for color in range(30, 38))


def test_text_that_the_terminal_cannot_show_is_replaced(shell: Shell) -> None:
    (shell.folder / "docs" / "tee.md").write_text("# Grüner Tee 茶\nEin grüner Tee.")
    done = shell.process("search", "docs:docs", "grüner", PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    done = shell.process("search", "docs:docs", "grüner", "--json", PYTHONIOENCODING="ascii")
    assert done.json["hits"][0]["id"] == "tee.md"

"""Settings of configuration files with their descriptions."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.setting_units import is_configuration
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.index.text.lines import split_lines


def test_a_setting_has_its_key_its_section_and_the_comment_above() -> None:
    text = (
        "[server]\n# Address to bind. It is\n# local.\nhost = 127.0.0.1  # loopback\nport=8080\n\n"
        "[log]\n; of messages\nlevel = info"
    )
    units = [unit for unit in split_units(text) if unit.kind == "definition"]
    assert [(unit.key, unit.headings, unit.text) for unit in units] == [
        ("host", ("server",), "Address to bind. It is local.\nhost = 127.0.0.1  # loopback"),
        ("port", ("server",), "port=8080"),
        ("level", ("log",), "of messages\nlevel = info"),
    ]
    assert text[units[0].start : units[0].end] == text[text.index("# Address") : text.index("\nport")]


def test_a_default_may_be_commented_out() -> None:
    units = split_units("# The port to listen on.\n#Port 22\n#AddressFamily any\nPermitRootLogin no")
    assert [(unit.key, unit.text) for unit in units] == [
        ("Port", "The port to listen on.\n#Port 22"),
        ("AddressFamily", "#AddressFamily any"),
        ("PermitRootLogin", "PermitRootLogin no"),
    ]


def test_settings_in_a_fence_have_the_keys_above_as_headings() -> None:
    text = "Write this:\n\n```yaml\nserver:\n  # Seconds to wait.\n  timeout: 30\nlog: info\n```\n\nIt runs."
    units = split_units(text, context="Guide")
    assert [(unit.key, unit.headings) for unit in units if unit.kind == "definition"] == [
        ("timeout", ("Guide", "server")),
        ("log", ("Guide",)),
    ]
    assert (units[-1].text, units[-1].headings) == ("It runs.", ("Guide",))


@pytest.mark.parametrize(
    "text",
    [
        "# Title of the guide\n\nName: Ada\nBorn: 1815",
        "# Compute the sum here.\ntotal = add(1, 2)",
        "Name: Ada\nBorn: 1815",
        "# Title\nIt is a text.",
        "",
    ],
)
def test_other_texts_are_no_configuration(text: str) -> None:
    assert not is_configuration(split_lines(text))

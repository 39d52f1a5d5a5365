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


def test_every_setting_and_comment_of_a_configuration_file_is_a_unit() -> None:
    text = (
        "# Settings of the bot. Ask Zola\n# before a change.\n\nopening hours:\n  sun: closed  # by key box only\n"
        "- id: fan\n  # stops at 58\n  action: { fan: bath, level: 2 }\n  'max level': 3\n# opened again by hand\n"
    )
    units = [unit for unit in split_units(text, suffix=".yaml") if unit.is_answer]
    assert [(unit.key, unit.heading, unit.text) for unit in units] == [
        ("", "", "Settings of the bot."),
        ("", "", "Ask Zola before a change."),
        ("sun", "opening hours", "sun: closed  # by key box only"),
        ("id", "", "- id: fan"),
        ("action", "fan", "stops at 58\naction: { fan: bath, level: 2 }"),
        ("max level", "fan", "'max level': 3"),
        ("", "fan", "opened again by hand"),
    ]
    assert text[units[1].start : units[1].end] == "Ask Zola\n# before a change."


def test_a_comment_beside_a_setting_or_a_section_belongs_to_it() -> None:
    text = '[cluster] ; shared\nqueue = long   ; "short" kills jobs\npool = (a {b})\n'
    assert [(unit.kind, unit.heading, unit.text) for unit in split_units(text, suffix=".ini")] == [
        ("heading", "", "[cluster] ; shared"),
        ("definition", "cluster", 'queue = long   ; "short" kills jobs'),
        ("definition", "cluster", "pool = (a {b})"),
    ]

"""Entries of logs, chats and schedules."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.splitting import split_units

CHATS = {
    "stamped": ["[28/12 07:33] Célia: Dizem que já estava trincado", "[28/12 07:41] Rui: foi ontem. Eu vi"],
    "timed": [
        "02:34 Yusuf: tub stood at 31, all night",
        "02:59 Marta: enough. Dora ordered 30",
        "03:25 Pell: thx a lot",
    ],
    "spoken": ["Tim: Yes. I want the cheaper one", "Noor: Not below 250. Keep it", "Tim: Fine, you call them"],
    "logged": ["24 Mar  Ox   118,420 km  Clutch changed. They took 40 off.", "6 Feb   Flea  87,110 km  Lamp, 7.90"],
    "scheduled": ["14:00  Ceremony. In rain: in the barn", "14:45  Sparkling wine", "22:30  Soup, earlier than usual"],
    "dated": ["2024-03-01 Pump checked. No leak", "2024-03-04 Filter new"],
    "german": ["Mo 7. Juni: Probe um acht. Danach Pause", "Di 8. Juni: frei, alle"],
}


@pytest.mark.parametrize("form", CHATS)
def test_each_line_of_a_chat_a_log_or_a_schedule_is_a_unit(form: str) -> None:
    units = split_units("\n".join(CHATS[form]))
    assert [(unit.kind, unit.text) for unit in units] == [("sentence", " ".join(line.split())) for line in CHATS[form]]


def test_a_line_that_asks_or_is_long_is_split_into_sentences() -> None:
    long = f"10:05 Ada: It is {'very ' * 30}old. It is red."
    units = split_units(f"10:01 Bo: We are late. Where are you?\n{long}")
    assert [(unit.kind, unit.text) for unit in units] == [
        ("sentence", "10:01 Bo: We are late."),
        ("question", "Where are you?"),
        ("sentence", long.removesuffix(" It is red.")),
        ("sentence", "It is red."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The office opens at\n10:30 and closes at\nnoon",
        "It was founded on\n4 July 1776 by several\nmen.",
    ],
)
def test_a_number_or_a_date_in_a_sentence_begins_no_entry(text: str) -> None:
    assert [unit.text for unit in split_units(text)] == [" ".join(text.split())]

"""Follow-ups are completed from the turns before them."""

from __future__ import annotations

import pytest

from shortlist import Memory
from shortlist.answer.complete_questions import complete_question, find_people


@pytest.mark.parametrize(
    ("last", "question", "complete"),
    [
        ("How much does a chair cost?", "And tables?", "How much does a tables cost?"),
        ("What does delivery cost?", "And to Norway?", "What does delivery cost to Norway?"),
        ("What does delivery to Spain cost to Norway?", "And to Japan?", "What does delivery to Spain cost to Japan?"),
        ("How long are security logs kept?", "Where?", "Where are security logs kept?"),
        ("How fast must critical holes be closed?", "And high ones?", "How fast must high holes be closed?"),
        ("How many characters must passwords have?", "Where are they stored?", "Where are passwords stored?"),
        ("When was the Alder sofa made?", "Who designed it?", "Who designed Alder sofa?"),
    ],
)
def test_a_follow_up_gets_what_it_leaves_out_or_refers_to(last: str, question: str, complete: str) -> None:
    assert complete_question(question, last)[0] == complete


def test_people_of_an_answer_stay_the_topic_over_several_turns() -> None:
    memory = Memory()
    memory.add("Who founded the company?", "Ada Byron and Bo Li founded it in 2014. [a.md:whole]")
    memory.add("When?", "In 2014. [a.md:whole]")
    assert memory.read_follow_up("Where do they live?").complete == ("Where do Ada Byron and Bo Li live?",)
    memory.add("How long are security logs kept?", "400 days. [a.md:whole]")
    assert memory.read_follow_up("Where are they stored?").complete[0] == "Where are security logs stored?"
    assert memory.read_follow_up("How many parcels does the warehouse in Venlo handle?").complete == ()


def test_what_no_rule_knows_is_not_completed() -> None:
    assert complete_question("Und Stühle?", "Wie lange dauert die Lieferung?") == []
    assert complete_question("And chairs?", "") == []
    assert complete_question("?", "How much is a chair?") == []
    assert find_people("When was it founded?", "Ada Byron founded it.") == ""


def test_long_runs_of_signs_take_no_quadratic_time() -> None:
    assert complete_question("-" * 8000, "What does it cost?") == []
    assert complete_question("And tables?", "-" * 8000) == []
    assert find_people("who", " " * 50_000 + "[" * 50_000 + "A" * 50_000) == ""

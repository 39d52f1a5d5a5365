"""The lists of units that the reader learns from: what is asked, and what answers it."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path

import pytest

from bench import debian_docs
from shortlist.answer.extractive.units.splitting import split_units
from training.judge import documentation, unit_lists
from training.judge.unit_questions import DEFAULT, Made, ask_units

PAGE = """TARNISH(8)

OPTIONS
       -d, --depth=NUMBER
              Set the maximum depth of directories that are scanned. The default is 12.

       -q, --quiet
              Suppress all messages about blocks that were repaired already.

       --log=FILE
              Write the numbers of damaged blocks to a file. It cannot be on the scanned volume.

EXIT STATUS
       0      All volumes were scanned and no damaged block was found.

       2      At least one damaged block could not be repaired by the program.
"""


def ask(page: str, seeds: int = 12) -> list[Made]:
    """All questions about a page that some seeds give."""
    return [made for seed in range(seeds) for made in ask_units("tarnish", split_units(page), random.Random(seed))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("docs") / "tarnish"
    target.mkdir()
    more = "".join(
        f"\n       --{name}=NUMBER\n              Ignore the {name} of damaged blocks above it. The default is {at}.\n"
        for at, name in enumerate(("sum", "age", "weight", "height", "width", "price", "order", "level", "grade"))
    )
    (target / "tarnish.8.txt").write_text(f"{PAGE}\nLIMITS{more}", "utf-8")
    return target


def test_no_package_of_an_evaluation_is_trained_on() -> None:
    more, held = documentation.MORE_PACKAGES.split(), documentation.PACKAGES.split()
    evaluated = {package for files in debian_docs.SETS.values() for package in files}
    assert evaluated.isdisjoint([*more, *held])
    assert set(more).isdisjoint(held)
    assert len(set(more)) == len(more)


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("does", "Suppress all messages"),
        ("which", "Write the numbers"),
        ("default", "The default is 12."),
        ("status", "At least one damaged block"),
        ("reason", "All volumes were scanned"),
        ("yes_no", "It cannot be"),
    ],
)
def test_each_form_is_answered_by_its_unit(form: str, answer: str) -> None:
    page = PAGE.replace("It cannot be", "The file cannot be")
    found = [made.unit.text for made in ask(page) if made.form == form and made.unit]
    assert any(answer.replace("It", "The file") in text for text in found)


def test_a_near_miss_asks_for_what_no_unit_about_its_key_says() -> None:
    missing = {made.key for made in ask(PAGE) if made.unit is None and made.form == "default"}
    assert missing & {"-q", "--quiet", "--log"}
    assert missing.isdisjoint({"-d", "--depth"})
    assert all(made.unmatched is DEFAULT for made in ask(PAGE) if made.unit is None and made.form == "default")


def test_changelogs_are_only_asked_for_changes() -> None:
    units = split_units(
        "Version 1.2\n===========\n\n* Fixed a crash while volumes were scanned twice.\n* Faster: now.\n"
    )
    found = list(ask_units("tarnish", units, random.Random(0), is_history=True))
    assert {made.form for made in found} == {"changelog"}


def test_a_list_has_the_unit_that_answers_or_lacks_its_text(folder: Path) -> None:
    lists = unit_lists.ask_documentation([folder], 40, is_held=False)
    assert lists == unit_lists.ask_documentation([folder], 40, is_held=False)
    removed = [one for one in lists if "removed" in one.source]
    answered = [one for one in lists if "," not in one.source]
    assert removed
    assert answered
    assert all(one.right for one in answered)
    assert not any(one.right for one in lists if "," in one.source)
    defaults = [one for one in answered if one.source == "default"]
    assert defaults
    assert all("The default is" in one.rows[at][0] for one in defaults for at in one.right)


def test_wrong_units_of_the_highest_worth_come_first_in_a_list() -> None:
    rows = [(f"unit {number}", "") for number in range(30)]
    found = unit_lists.sample_list("Which?", rows, [20], "made", random.Random(0))
    assert found is not None
    assert found.rows[: unit_lists.BEST] == rows[: unit_lists.BEST]
    assert [found.rows[at] for at in found.right] == [rows[20]]
    assert len(found.rows) == unit_lists.BEST + unit_lists.OTHERS + 1


def test_questions_by_people_have_the_unit_that_was_named_or_none(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = next(one for one in unit_lists.Passages([folder]).items if "--quiet" in one.text)
    unit = next(one for one in split_units(item.text) if "Suppress" in one.text)
    asked = {
        "package": folder.name,
        "passage": unit_lists._checksum(item.text),
        "q": [["how do I silence tarnish messages", [unit_lists._checksum(unit.text)]]],
        "none": ["can tarnish scan volumes over the network?"],
    }
    gone = asked | {"passage": 0}  # a passage that changed since
    monkeypatch.setattr(unit_lists, "ASKED", tmp_path / "asked.jsonl.xz")
    with lzma.open(unit_lists.ASKED, "wt", encoding="utf-8") as file:
        file.write("".join(f"{json.dumps(row)}\n" for row in (asked, gone)))
    found = {one.source: one for one in unit_lists.ask_passages([folder])}
    assert [found["asked"].rows[at][0] for at in found["asked"].right] == [unit.text]
    assert found.keys() >= {"asked", "asked, without answer"}
    assert not any(one.right for source, one in found.items() if source != "asked")

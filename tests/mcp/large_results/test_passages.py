"""The passages of a large result."""

from __future__ import annotations

import json
import random

from shortlist.mcp.large_results.json_paths import parse_range, take
from shortlist.mcp.large_results.passages import LONGEST_PASSAGE, PassageSearch, split_data, split_text


def test_every_line_is_in_one_passage_whose_path_leads_to_it() -> None:
    rng = random.Random(1)
    lines = ["x" * rng.choice((0, 10, 300, 2_000)) + str(number) for number in range(200)]
    text = "\n".join(lines)
    passages = list(split_text(text))
    assert all(len(passage.text) <= LONGEST_PASSAGE for passage in passages)
    assert "".join(passage.text for passage in passages).replace("\n", "") == "".join(lines)
    for path, passage, _ in passages:
        if wanted := parse_range(path):
            assert "\n".join(lines[wanted[1] - 1 : wanted[2]]) == passage
        else:
            start = int(path.removeprefix("offset "))
            assert text[start : start + len(passage)] == passage


def test_every_value_is_in_a_passage_whose_path_leads_to_it() -> None:
    rng = random.Random(2)
    rows = [{"id": number, "text": "y" * rng.choice((5, 900))} for number in range(60)]
    data = {"rows": rows, "a key": {"deep": [[number] * 300 for number in range(3)]}, "n": 1}
    passages = list(split_data(data))
    assert all(len(passage.text) <= LONGEST_PASSAGE for passage in passages)
    for path, passage, _ in passages:
        value = take(data, path)
        whole = json.dumps(value, separators=(",", ":"))
        assert passage.strip("{}") in whole
    found = "".join(passage.text for passage in passages)
    assert all(f'"id":{number}' in found for number in range(60))


def test_a_passage_is_found_by_words_and_by_meaning() -> None:
    log = [f"12:00:{number % 60:02} INFO request {number} served in {number % 7} ms" for number in range(2_000)]
    log[1234] = "12:20:34 ERROR the payment of invoice 88213 was declined by the bank"
    search = PassageSearch("\n".join(log), None)
    assert "invoice 88213" in search.find("why did money not arrive for invoice 88213")[0].text
    search.close()

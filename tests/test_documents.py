"""Documents, and the reports of sources and syncs."""

from __future__ import annotations

import dataclasses
import json

import pytest

from shortlist.documents import Changes, Counted, Document, Problem, Skipped, Stamped
from shortlist.sources import CorpusSource


def test_a_document_is_the_same_after_json() -> None:
    document = Document("a", "A", "text", ["x"], {"n": 1}, kind="row", source="t.csv", locator="row=2", payload="{}")
    data = json.loads(json.dumps(document.to_dict()))
    assert Document.from_dict(data | {"unknown": 1}) == document
    assert document.copy() == {"id": "a", "title": "A", "content": "text", "keywords": ["x"], "metadata": {"n": 1}}


def test_documents_share_no_defaults_and_cannot_be_changed() -> None:
    first, second = Document("a", "", "x"), Document("b", "", "x")
    first.keywords.append("red")
    first.metadata["n"] = 1
    assert (second.keywords, second.metadata) == ([], {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.content = "y"  # type: ignore[misc]


def test_a_copy_shares_nothing_with_its_document() -> None:
    document = Document("a", "A", "text", metadata={"tags": ["x"]})
    document.copy()["metadata"]["tags"].append("y")
    assert document.metadata == {"tags": ["x"]}


def test_a_document_without_a_title_is_named_by_its_id() -> None:
    assert Document("a", "", "text").name == "a"
    assert Document("a", "A", "text").name == "A"


def test_the_result_of_a_sync_is_the_same_after_json_and_compared_without_ids() -> None:
    changes = Changes(added=1, failed=(Problem("b", "is empty", "b.txt"),), changed_ids=("c",))
    assert Changes.from_dict(json.loads(json.dumps(changes.to_dict()))) == changes
    assert changes == dataclasses.replace(changes, changed_ids=())
    assert changes != dataclasses.replace(changes, skipped=1)


def test_a_skipped_file_is_a_problem_of_another_kind() -> None:
    assert isinstance(Skipped("a", "is a link"), Problem)
    assert Skipped("a", "is a link") != Problem("a", "is a link")


def test_counted_documents_have_a_length_and_may_come_one_by_one() -> None:
    counted = Counted((Document(id, "", "x") for id in "ab"), 2)
    assert len(counted) == 2
    assert [item.id for item in counted] == ["a", "b"]


def test_only_a_source_that_can_skip_files_is_stamped() -> None:
    assert isinstance(CorpusSource.from_list([]), Stamped)
    assert not isinstance(Counted([], 0), Stamped)

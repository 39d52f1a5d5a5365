"""Plain data: dataclasses to JSON and back, and YAML within limits."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from itertools import pairwise

import pytest

from shortlist._plain import Plain, from_plain, get_maker, is_deeper, load_yaml, to_plain
from shortlist.documents import Passage
from shortlist.results import Hit

COLUMNS = ("a", "Name", "Text.", "tool", "a.md", "1", {"k": 1}, "Guide")


@dataclass(frozen=True)
class Part(Plain):
    name: str
    count: int = 1


@dataclass(frozen=True)
class Whole(Plain):
    parts: tuple[Part, ...] = ()
    spans: list[tuple[int, str]] = field(default_factory=list)
    hidden: str = "default"
    _shown = "parts spans total"

    @property
    def total(self) -> int:
        return sum(part.count for part in self.parts)


def test_only_what_is_shown_is_written_and_the_rest_has_its_default() -> None:
    whole = Whole((Part("a"), Part("b", 2)), [(1, "x")], hidden="secret")
    data = whole.to_dict()
    assert data == {
        "parts": [{"name": "a", "count": 1}, {"name": "b", "count": 2}],
        "spans": [[1, "x"]],
        "total": 3,
    }
    assert Whole.from_dict(data) == Whole(whole.parts, whole.spans)


def test_values_inside_of_mappings_are_plain_too() -> None:
    assert to_plain({"a": [Part("x")], "b": (None, 1.5)}) == {"a": [{"name": "x", "count": 1}], "b": [None, 1.5]}
    assert from_plain(tuple[Part, ...], None) is None
    with pytest.raises(ValueError, match="zip"):
        from_plain(tuple[int, str], [1])


def test_depth_counts_the_innermost_values() -> None:
    assert not is_deeper({"a": [1]}, 3)
    assert is_deeper({"a": [1]}, 2)
    assert not is_deeper({"a": []}, 2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [1", r"while parsing a flow sequence, .* \(line \d+, column \d+\)"),
        ("a: !!int x", "invalid literal"),
        ("[" * 101, "nested more than 100 deep"),
        ("a: &a [*a]", r"alias \*a is inside of what it stands for"),
        (
            "a: &a [1]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefgh")),
            "aliases stand for more than 100,000 values",
        ),
    ],
    ids=["broken", "wrong tag", "deep", "recursive", "bomb"],
)
def test_yaml_that_is_broken_or_too_large_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_yaml(text)


def test_yaml_with_aliases_is_loaded() -> None:
    assert load_yaml("a: &a [1, 2]\nb: *a") == {"a": [1, 2], "b": [1, 2]}
    assert load_yaml("") is None


def test_what_is_made_is_what_the_constructor_makes() -> None:
    made = get_maker(Passage)(*COLUMNS)
    assert type(made) is Passage
    assert made == Passage(*COLUMNS)
    assert (repr(made), replace(made, name="b")) == (repr(Passage(*COLUMNS)), replace(Passage(*COLUMNS), name="b"))
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    hit = Hit(made, 1.0, {"lexical": 2.0}, None, "tools", 0.5, True, None)
    assert get_maker(Hit)(made, 1.0, {"lexical": 2.0}, None, "tools", 0.5, True, None) == hit


def test_what_is_made_is_frozen() -> None:
    made = get_maker(Passage)(*COLUMNS)
    with pytest.raises(FrozenInstanceError):
        setattr(made, "name", "other")  # noqa: B010  # not what a checker of types permits
    with pytest.raises(FrozenInstanceError):
        del made.name
    with pytest.raises(TypeError):
        get_maker(Passage)("a", "Name")

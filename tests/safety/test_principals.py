"""Which rights groups have: deny by default, and each right includes those before it."""

from __future__ import annotations

from shortlist.safety.principals import Grants, Principal

GRANTS = Grants(
    {
        "handbook": {"read": ["staff"], "write": ["editors"]},
        "*": {"admin": ["operators"]},
        "news": {"read": ["everyone"]},
    },
    {"office": ["staff"], "all": ["operators"]},
)


def rights(*groups: str) -> list[str]:
    caller = Principal("user:ada", frozenset(groups), GRANTS)
    return [
        f"{right} {corpus}"
        for corpus in ("handbook", "news", "other")
        for right in ("read", "write", "admin")
        if caller.may(right, corpus)
    ]


def test_nothing_is_permitted_without_a_grant() -> None:
    assert rights() == rights("guests") == ["read news"]
    assert not Principal("user:ada", frozenset({"staff"})).has_any


def test_each_right_includes_those_before_it() -> None:
    assert rights("staff") == ["read handbook", "read news"]
    assert rights("editors") == ["read handbook", "write handbook", "read news"]
    assert len(rights("operators")) == 9


def test_the_first_profile_of_a_group_counts() -> None:
    of = {group: Principal("ada", frozenset({group}), GRANTS).profile for group in ("staff", "operators", "editors")}
    assert of == {"staff": "office", "operators": "all", "editors": None}


def test_only_who_may_change_a_corpus_sees_all_of_it() -> None:
    assert not Principal("ada", frozenset({"staff"}), GRANTS).sees_all("handbook")
    assert Principal("ada", frozenset({"editors"}), GRANTS).sees_all("handbook")
    assert Principal("operator", is_operator=True).sees_all("anything")

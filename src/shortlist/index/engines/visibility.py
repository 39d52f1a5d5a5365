"""What a reader may see of a corpus in a cluster, as a query that every shard applies.

Hidden passages are filtered out of every search, and so out of all counts and statistics that are computed from it.
"""

from __future__ import annotations

import re

from shortlist.index.engine import ACCESS, Viewer
from shortlist.index.engines import facets
from shortlist.index.engines.facets import NOTHING, Query


def make_query(viewer: Viewer) -> Query:
    """The passages of the documents that a reader may see; see `Viewer`."""
    has_none: Query = {"bool": {"must_not": [facets.query(ACCESS, "$exists", True)]}}
    of_groups = facets.query(ACCESS, "$in", sorted(viewer.groups))
    seen: Query = {"bool": {"should": [has_none, of_groups], "minimum_should_match": 1}}
    patterns = sorted({pattern for pattern, needed in viewer.rules if not viewer.groups & needed})
    return {"bool": {"filter": [seen], "must_not": list(map(_match_pattern, patterns))}}


def _match_pattern(pattern: str) -> Query:
    """The documents to which a rule applies: also the parts of a file, whose ids are its id, `#` and more."""
    whole = to_regular_expression(pattern)
    if whole is None:
        return NOTHING
    own, of_file = (
        {"regexp": {"document": {"value": value, "flags": flags}}}
        for value, flags in ((whole, "NONE"), (f"(({whole})&([^#]*))[#].*", "INTERSECTION"))
    )
    return {"bool": {"should": [own, of_file], "minimum_should_match": 1}}


def to_regular_expression(pattern: str) -> str | None:
    """A pattern of `fnmatchcase` as a regular expression of the server; None if it matches nothing."""
    made, rest = "", pattern
    while rest:
        found = re.match(r"(?s)\[(!|(?!!))(.[^\]]*)\]", rest)
        if found is None:
            letter, rest = rest[0], rest[1:]
            made += {"*": ".*", "?": "."}.get(letter) or _escape(letter)
            continue
        rest, (negation, content) = rest[found.end() :], found.groups()
        parts = re.findall(r"(?s)(.)-(.)|(.)", content)
        letters = [f"{_escape(low)}-{_escape(high)}" for low, high, _ in parts if low and low <= high]
        letters += [_escape(one) for *_, one in parts if one]
        if not letters and not negation:
            return None
        made += f"[{'^' * bool(negation)}{''.join(letters)}]" if letters else "."
    return made


def _escape(letter: str) -> str:
    return letter if letter.isalnum() or letter.isspace() else f"\\{letter}"

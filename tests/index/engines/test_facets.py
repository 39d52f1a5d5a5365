"""Filters as an engine checks them agree with what they mean, whatever the metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shortlist import Document, create_corpus
from shortlist.index.engines import facets
from shortlist.retrieval.filters import allowed

KEYS = ("a", "b", "a.b", "kind", "id", "", "k" * 300)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, -0.5, 1.0, -0.0, 1e300, 10**400, -(10**400), 2**60])
    | st.sampled_from(["", "x", "X", "xy", "true", "1", "ü", "text", "z" * 600, "z" * 601, "\ud800"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
METADATA = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
ORDERED = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, float("inf"), float("nan"), "", "x", "xx", "z" * 599])
PLAIN = VALUES | st.tuples(st.integers(-1, 1)) | st.just(float("nan")) | st.just(b"x")
TESTS = (
    st.fixed_dictionaries({"$eq": PLAIN})
    | st.fixed_dictionaries({"$ne": PLAIN})
    | st.sampled_from(["$gt", "$gte", "$lt", "$lte"]).flatmap(lambda name: st.fixed_dictionaries({name: ORDERED}))
    | st.sampled_from(["$in", "$nin"]).flatmap(lambda name: st.fixed_dictionaries({name: st.lists(PLAIN, max_size=3)}))
    | st.fixed_dictionaries({"$exists": st.booleans()})
)
CONDITIONS = st.recursive(
    st.dictionaries(st.sampled_from([*KEYS, "a.b.a", "title"]), TESTS | SCALARS, max_size=2),
    lambda inner: (
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"$not": inner})
    ),
    max_leaves=3,
)


class Asked:
    """Builds the query of a condition without asking anybody."""

    def everything(self) -> facets.Condition:
        return facets.Condition(facets.EVERYTHING, None)  # type: ignore[arg-type]

    def match(self, key: str, operator: str, operand: Any, test: Any) -> facets.Condition:
        return facets.Condition(facets.query(key, operator, operand), None)  # type: ignore[arg-type]


def meets(held: set[str], query: Mapping[str, Any]) -> bool:
    """What the engine does with a query."""
    ((kind, body),) = query.items()
    match kind:
        case "match_all":
            return True
        case "match_none":
            return False
        case "term":
            return body[facets.FIELD] in held
        case "terms":
            return not held.isdisjoint(body[facets.FIELD])
        case "range":
            edges = {name: edge.encode() for name, edge in body[facets.FIELD].items()}
            tests = {"gt": bytes.__gt__, "gte": bytes.__ge__, "lt": bytes.__lt__, "lte": bytes.__le__}
            return any(all(tests[name](token.encode(), edge) for name, edge in edges.items()) for token in held)
    if "should" in body:
        return any(meets(held, part) for part in body["should"])
    return all(meets(held, part) for part in body.get("filter", ())) and not any(
        meets(held, part) for part in body.get("must_not", ())
    )


@given(METADATA, CONDITIONS)
def test_an_engine_allows_what_the_embedded_one_allows(metadata: dict[str, Any], condition: dict[str, Any]) -> None:
    document = Document("one", "text", "word", metadata=metadata)
    with create_corpus(in_memory=True, embedder="none") as corpus:
        changes = corpus.add([document])
        if changes.failed:
            return
        stored = corpus.get("one")
        assert stored is not None
        with corpus.snapshot() as snapshot:
            expected = bool(allowed(snapshot, condition)[0])
    held = set(facets.tokens(stored, stored.metadata))
    query = allowed(Asked(), condition).query  # type: ignore[arg-type]
    assert meets(held, query) == expected


def test_every_token_is_short_enough_for_an_engine() -> None:
    metadata = {"k" * 5000: "v" * 50_000, "list": ["ü" * 40_000], "deep": {"er": {"est": "x" * 9000}}}
    assert max(len(token.encode()) for token in facets.tokens(Document("i" * 9000, "", ""), metadata)) < 32_766

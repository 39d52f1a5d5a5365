"""Which documents a query identifies by their name, and which names are in it by chance."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist import Document, search
from shortlist.index.text.analyzers import name_words
from shortlist.index.text.query_terms import analyze
from shortlist.library.opening import open_states
from shortlist.retrieval.naming import MOST_NAMED, find_identified, find_possible
from tests.retrieval.samples import corpus_of

TOOLS = [
    Document("t1", "send_mail", "a"),
    Document("t2", "move", "b"),
    Document("t3", "list open orders", "c"),
    Document("post/send-fax", "", "d"),
    Document("t5", "how to", "e"),
    Document("t6", "what is the", "f"),
]


@pytest.mark.parametrize(
    ("query", "identified"),
    [
        ("please call send_mail now", ["t1"]),
        ("use post.sendMail", ["t1"]),
        ("send mail", ["t1"]),
        ("please send mail to the customer", []),  # two plain words may be there by chance
        ("move", ["t2"]),
        ("move it elsewhere", []),
        ("then list open orders of today", ["t3"]),
        ("is post/send-fax there", ["post/send-fax"]),
        ("how to send it", []),
        ("what is the weather", []),  # stop words identify nothing
        ("nothing of that kind", []),
    ],
)
def test_a_name_identifies_its_document_unless_it_may_be_there_by_chance(query: str, identified: list[str]) -> None:
    with open_states([corpus_of(TOOLS)]) as [(_, state)]:
        (named,) = state.lexical.named([analyze(state.lexical.analyzer, query)])
        possible = np.array(find_possible(query, name_words(query), named), dtype=np.int64)
        found = find_identified(query, name_words(query), possible, state.passages(possible))
        assert state.ids(found) == identified


def test_passages_with_names_that_are_too_short_are_not_read() -> None:
    named = {3: 1, 5: 2, 8: 3}
    for query, possible in [("move it to the front", [8]), ("send_mail it away", [5, 8]), ("move it", [5, 8])]:
        assert find_possible(query, name_words(query), named) == possible
    assert find_possible("move", ["move"], {3: 1}) == [3]


def test_a_name_that_many_documents_share_identifies_none() -> None:
    tools = [Document(f"t{at}", "send_mail", f"text {at}") for at in range(MOST_NAMED + 1)]
    assert all(not hit.signals["named"] for hit in search(corpus_of(tools), "send_mail"))
    assert all(hit.signals["named"] for hit in search(corpus_of(tools[1:]), "send_mail"))

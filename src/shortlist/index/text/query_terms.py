"""The terms of a query and their weights.

People ask in sentences: "Could you please help me find ...". In a catalog such words are rare, so BM25 takes them for
telling ones. Here they weigh little, and a word that is said twice counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shortlist.index.text.analyzers import fold

if TYPE_CHECKING:
    from shortlist.index.text.analyzers import Analyzer

# The terms of a query: each counts as often as it comes, or as much as it weighs.
Asked = Sequence[str] | Mapping[str, float]

# Words that hold a sentence together.
_JOINING = """
a about above after again against all also am an and any are arent as at be because been before being below between
both but by can cant could did do does doesnt doing dont down during each few for from further had has have having he
her here hers him his how i id if ill im in into is isnt it its ive just let lets like may me might more most must my
myself no nor not now of off on once only or other our ours out over own same shall she should so some such than that
the their them then there these they this those through to too under until up us very was we were what when where which
while who whom whose why will with would you your youre yours
"""

# Words that a request is made with.
_REQUESTING = """
able anything currently find get give hello help hey hi kindly know looking make need ok okay please provide really see
show someone something tell thank thanks try use using want
"""

WEIGHTS = dict.fromkeys(_REQUESTING.split(), 0.4) | dict.fromkeys(_JOINING.split(), 0.2)


def weight_of(word: str) -> float:
    """What a word of a query weighs, however rare it is."""
    return WEIGHTS.get(fold(word).replace("'", "").replace("’", ""), 1.0)


def asked(analyzer: Analyzer, query: str) -> dict[str, float]:
    """The terms of a query with their weights; one that stands in several words has the greatest."""
    weights: dict[str, float] = {}
    for word in analyzer.words(query):
        weight = weight_of(word)
        for term in analyzer.terms_of(word):
            weights[term] = max(weight, weights.get(term, 0.0))
    return weights or dict.fromkeys(analyzer.terms(query), 1.0)  # "The Who": stop words alone

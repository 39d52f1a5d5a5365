"""Two corpora with a document of the same id."""

from __future__ import annotations

from shortlist import Corpus, build

TEA = {"green": "Green tea from Japan.", "black": "Black tea from India.", "mint": "Mint leaves in hot water."}
COFFEE = {"filter": "Filter coffee from Peru.", "cold": "Cold coffee steeped for a night.", "green": "Green beans."}


def build_shelf() -> tuple[Corpus, Corpus]:
    return build(TEA, name="tea", embedder="light"), build(COFFEE, name="coffee", embedder="light")

"""The scale of an embedder's cosines: measured on reference texts, without labels, and mapped to that of our models.

Unrelated texts have a cosine of 0 in one model and of 0.8 in another. The map is linear and increasing, so the order by
cosine stays; relevance then uses the weights that were fitted for our model.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from shortlist.index.embedders import models
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.index.config import Config
    from shortlist.index.engine import State
    from shortlist.results import Floats, Vectors

_Cosines = TypeVar("_Cosines", float, "Floats")

log = logging.getLogger("shortlist")

PAIRS = models.DATA / "reference-pairs.tsv"  # needs in people's words, each with the name and the text that serve it

# The share of comparisons of a related with an unrelated pair in which the related one has the higher cosine: from
# STRONG on, an embedder is used like `tools`, from WEAK on like `default`; below, its cosines do not count.
STRONG = 0.935
WEAK = 0.75

# After a failure, an embedder is measured again no sooner than this.
RETRY_DELAY_SECONDS = 60.0

MOST_IN_MEMORY = 16  # scales of embedders


class Anchors(NamedTuple):
    """The cosines of an embedder on the reference texts."""

    unrelated: float  # mean over the pairs of a need and a text that serves another one
    nearest: float  # mean over the needs of the highest cosine with such a text
    related: float  # mean over that third of the needs that has the lowest cosines with their own texts
    separation: float  # how often a related pair has a higher cosine than an unrelated one


# Of the models with fitted weights. `tests/index/embedders/test_cosine_scale.py` measures them again.
REFERENCES = {
    "tools": Anchors(unrelated=0.025, nearest=0.333, related=0.322, separation=0.985),
    "wordllama": Anchors(unrelated=0.018, nearest=0.235, related=0.086, separation=0.911),
}

OWN_NAMES = {*REFERENCES, "wordllama-256"}  # of our models, before the hash of the model file

NOISE = {"tools": (0.36, 0.08), "wordllama": (0.25, 0.08)}  # the `noise` of these models


@dataclass(frozen=True, slots=True)
class CosineScale:
    """A linear map of an embedder's cosines to those of the model that it is used like."""

    like: str = ""  # the embedder whose weights apply; empty if the cosines do not count
    slope: float = 1.0
    shift: float = 0.0
    noise: tuple[float, float] = (0.0, 0.0)  # as in `BaseEmbedder`, before the map
    anchors: Anchors | None = None  # what it was fitted to, which a corpus stores

    def apply(self, cosines: _Cosines) -> _Cosines:
        """The cosines on the scale of the model, in the same order.

        Exactly 0 stays 0: it is the cosine of a text without a vector, of which nothing is known.
        """
        if self.slope == 1.0 and not self.shift:
            return cosines
        scaled: _Cosines = cosines * self.slope + (cosines != 0.0) * self.shift
        return scaled

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CosineScale | None:
        """The scale by the anchors that a corpus stores; None if it stores none that can be used."""
        try:
            anchors = Anchors(*(float(values[name]) for name in Anchors._fields))
        except (KeyError, TypeError, ValueError):
            return None
        return fit(anchors) if all(map(math.isfinite, anchors)) else None


def scale_of(state: State) -> CosineScale:
    """The scale of the embedder of a corpus: stored with the corpus or, if it was built before, measured now."""
    config = state.config
    if not must_measure(config):
        return CosineScale(config.embedder_name)
    return CosineScale.from_dict(config.cosine_scale) or measure_once(state.embedder) or CosineScale()


def noise_of(state: State) -> tuple[float, float]:
    """The cosine that is reached by coincidence, as in `BaseEmbedder`."""
    known: tuple[float, float] | None = getattr(state.embedder, "noise", None)
    return known or scale_of(state).noise


def must_measure(config: Config) -> bool:
    """Whether the embedder of a corpus is one whose cosines are not known."""
    return config.dim > 0 and config.embedder_name.partition("#")[0] not in OWN_NAMES


def measure(embedder: Embedder) -> CosineScale:
    """Encode the reference texts, and map the cosines to those of the model of ours that is about as good."""
    return fit(find_anchors(embedder))


def find_anchors(embedder: Embedder) -> Anchors:
    needs, texts = read_pairs()
    cosines = np.asarray(_encode_queries(embedder, needs) @ embedder.encode_documents(texts).T, dtype=np.float64)
    is_own = np.eye(len(needs), dtype=bool)
    related, unrelated = np.sort(cosines[is_own]), np.sort(cosines[~is_own])
    lower = unrelated.searchsorted(related) + unrelated.searchsorted(related, side="right")  # a tie counts half
    return Anchors(
        unrelated=float(unrelated.mean()),
        nearest=float(np.where(is_own, -np.inf, cosines).max(axis=1).mean()),
        related=float(related[: len(related) // 3].mean()),
        separation=float(lower.mean() / 2 / len(unrelated)),
    )


def fit(anchors: Anchors) -> CosineScale:
    """The map to a model of ours: of the hardest third of the related pairs to `tools`, of the noise to `default`.

    An embedder that is weak at such texts has related pairs with cosines as low as noise. To put these where those of a
    good one are would put the noise there, too.
    """
    if anchors.separation >= STRONG:
        like, upper = "tools", "related"
    elif anchors.separation >= WEAK:
        like, upper = "wordllama", "nearest"
    else:
        return CosineScale(anchors=anchors)
    reference = REFERENCES[like]
    spread = getattr(anchors, upper) - anchors.unrelated
    if spread <= 0:
        return CosineScale(anchors=anchors)
    slope = (getattr(reference, upper) - reference.unrelated) / spread
    shift = reference.unrelated - slope * anchors.unrelated
    among_ten, growth = NOISE[like]
    return CosineScale(like, slope, shift, ((among_ten - shift) / slope, growth / slope), anchors)


class _Measured(NamedTuple):
    embedder: object  # alive, so that no other object gets its id
    until: float
    scale: CosineScale | None


_measured: dict[int, _Measured] = {}
_measuring = threading.Lock()


def measure_once(embedder: Embedder | None) -> CosineScale | None:
    """Measure an embedder once in this process. None if that fails; it is tried again after a while."""
    with _measuring:
        return _measure_once(embedder)


def _measure_once(embedder: Embedder | None) -> CosineScale | None:
    owner = getattr(embedder, "function", embedder)  # every call with a function makes an embedder of its own
    known = _measured.get(id(owner))
    if embedder is None or (known and time.monotonic() < known.until):
        return known and known.scale
    scale, until = None, math.inf
    try:
        scale = measure(embedder)
    except Exception as error:  # an embedder may be any code; a search by keywords is better than none
        until = time.monotonic() + RETRY_DELAY_SECONDS
        log.warning("The cosines of %r cannot be measured, so relevance uses keywords only: %s", embedder.name, error)
    if len(_measured) >= MOST_IN_MEMORY:
        _measured.clear()
    _measured[id(owner)] = _Measured(owner, until, scale)
    return scale


@cache
def read_pairs() -> tuple[list[str], list[str]]:
    """The needs, and the texts that serve them."""
    rows = [line.split("\t") for line in PAIRS.read_text("utf-8").splitlines()]
    return [need for need, _, _ in rows], [f"{name}\n{text}" for _, name, text in rows]


def _encode_queries(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    if isinstance(embedder, models.BaseEmbedder):
        return embedder.encode_queries(texts)
    return np.stack([embedder.encode_query(text) for text in texts])

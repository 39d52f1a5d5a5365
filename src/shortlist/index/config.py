"""The configuration that a corpus is built with, and must be read with, and its score thresholds."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, TypedDict, cast

from shortlist._limits import CHUNK_OVERLAP, CHUNK_SIZE
from shortlist.errors import InputError
from shortlist.index.lexical.bm25 import CORPUS_SCORING, Scoring
from shortlist.index.text.analyzers import DEFAULT as DEFAULT_ANALYZER
from shortlist.index.text.languages import AUTO, check_language

LARGEST_DIM = 1 << 16  # of vectors; the largest model known to us has 8,192

_TYPES: dict[Any, Any] = {"str": str, "int": int} | dict.fromkeys(
    ("dict[str, float]", "dict[str, Any]", "dict[str, dict[str, Any]]"), dict
)

# The scale of the thresholds of "auto", stored with each. One without it is an earlier version's, of other scores.
RELEVANCE_SCALE = "relevance"

# A threshold is in doubt once this share of passages was added, changed or removed.
DRIFT_LIMIT = 0.2


class Drift(NamedTuple):
    """The number of passages that were added or changed since a mark was made, and of all passages now."""

    added: int
    passages: int


class ScoreThreshold(NamedTuple):
    """The score below which there is no match, if one was set, and why it may no longer be right."""

    value: float | None
    doubt: str = ""


def threshold_scale_of(mode: str) -> str:
    """The scale of the thresholds of a mode; empty for those that are raw scores."""
    return RELEVANCE_SCALE if mode == "auto" else ""


class IndexKeywords(TypedDict, total=False):
    """The options of a corpus that callers may set, as keyword arguments."""

    analyzer: str
    scoring: Scoring
    chunk_size: int
    chunk_overlap: int
    language: str


def collect_index_options(
    analyzer: str | None,
    scoring: Scoring | None,
    chunk_size: int | None,
    chunk_overlap: int | None,
    language: str | None = None,
) -> IndexKeywords:
    """The options that were given; None means that the corpus keeps its own, or uses the default."""
    chunks = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
    given: dict[str, Any] = {"analyzer": analyzer, "scoring": scoring, **chunks, "language": language}
    return cast("IndexKeywords", {name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Config:
    """What a corpus was built with, and must be read with."""

    analyzer: str = DEFAULT_ANALYZER
    embedder: str = "none"  # what to load
    embedder_name: str = "none"  # its own name when the corpus was created
    dim: int = 0
    scoring: Scoring = CORPUS_SCORING
    chunk_size: int = CHUNK_SIZE
    chunk_overlap: int = CHUNK_OVERLAP
    floors: dict[str, float] = field(default_factory=dict)  # thresholds by mode, under the name in stored files
    calibrations: dict[str, dict[str, Any]] = field(default_factory=dict)  # what each threshold was set for
    cosine_scale: dict[str, Any] = field(default_factory=dict)  # of an embedder that is not ours: see cosine_scale
    language: str = AUTO  # of all documents that do not name theirs; "auto": that of each passage is detected

    def __post_init__(self) -> None:
        if isinstance(self.language, str) and self.language != AUTO:
            check_language(self.language)
        if not 0 <= self.chunk_overlap < self.chunk_size:
            raise InputError(
                f"chunk_overlap ({self.chunk_overlap}) must be at least 0 and smaller than chunk_size "
                f"({self.chunk_size})."
            )

    @property
    def passage_language(self) -> str:
        """The language of passages whose document names none; empty if it is detected."""
        return "" if self.language == AUTO else self.language

    def describe_scoring(self) -> dict[str, Any]:
        """What scores depend on besides the documents, as JSON returns it."""
        scoring = {**asdict(self.scoring), "weights": list(self.scoring.weights)}
        return {"embedder": self.embedder_name, "analyzer": self.analyzer, "scoring": scoring}

    def threshold(self, mode: str, since: Callable[[dict[str, Any]], Drift]) -> ScoreThreshold:
        """The threshold of a mode; `since` is that of an engine or a state."""
        value, then = self.floors.get(mode), self.calibrations.get(mode)
        if value is not None and (then or {}).get("scale", "") != threshold_scale_of(mode):
            return ScoreThreshold(
                None,
                f"The threshold of {value:.4g} was set by an earlier version, whose scores were others, and is "
                "not used. Calibrate it again.",
            )
        return ScoreThreshold(value, self._find_doubt(then, since) if value is not None and then else "")

    def _find_doubt(self, then: dict[str, Any], since: Callable[[dict[str, Any]], Drift]) -> str:
        other = [name for name, value in self.describe_scoring().items() if then.get(name, value) != value]
        if other:
            return f"The threshold was set for another {' and '.join(other)}. Calibrate it again."
        try:
            added, passages = since(then)
            changed = max(added, then["passages"] + added - passages) / max(then["passages"], 1)
            documents = int(then["documents"])
        except (KeyError, TypeError, ValueError):
            return "What the threshold was set for is not known. Calibrate it again."
        if changed < DRIFT_LIMIT:
            return ""
        return (
            f"The threshold was set when the corpus had {documents} documents, and {changed:.0%} of it has "
            f"changed since. Calibrate it again."
        )

    def to_json(self) -> str:
        values = asdict(self)
        if not self.cosine_scale:  # so that an earlier version can read the corpus
            del values["cosine_scale"]
        if self.language == AUTO:
            del values["language"]
        return json.dumps(values)

    @classmethod
    @functools.lru_cache(maxsize=64)  # parsed in every transaction, and nearly always the same
    def from_json(cls, text: str) -> Config:
        values = json.loads(text)
        config = cls(**{**values, "scoring": Scoring.from_dict(values["scoring"])})
        for one in fields(cls):
            if one.type in _TYPES and not isinstance(getattr(config, one.name), _TYPES[one.type]):
                raise TypeError(f"{one.name} is not of the type {one.type}")
        if not 0 <= config.dim <= LARGEST_DIM:
            raise ValueError(f"dim is {config.dim}, not 0 to {LARGEST_DIM:,}")
        if not all(isinstance(value, int | float) for value in config.floors.values()):
            raise TypeError("a threshold is not a number")
        if not all(isinstance(value, dict) for value in config.calibrations.values()):
            raise TypeError("a calibration is not a mapping")
        return config

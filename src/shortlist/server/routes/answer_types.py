"""The answers of the service that are not just a dataclass of the library: declared for the OpenAPI document alone.

A class lists the keys of one answer, each with its type and description. With `base`, it extends the dataclass whose
`to_dict` the answer contains. Keys with a default may be missing. Nothing is ever made from these classes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from shortlist import results
from shortlist.documents import Document
from shortlist.eval import explain
from shortlist.results import Disclosure, MergeFacts, Mode
from shortlist.server.routes.schemas import EXAMPLE, Share

Learning = Literal["on", "log", "off"]

_SHOWN = {
    "id": "refund_payment", "name": "Refund a payment", "score": 0.61, "relevance": 0.93, "kind": "tool", "source": "",
    "locator": "whole", "metadata": {"category": "payments"}, "corpus": "catalog",
}  # fmt: skip
_SIGNALS = {"covered": 1.0, "dense": 0.48, "lexical": 4.2, "named": 0.0}
_HIT = {**_SHOWN, "text": EXAMPLE["content"], "context": "", "signals": _SIGNALS}


class AnswerType:
    """Base of the declared answers."""

    base: ClassVar[Any] = None
    keys: ClassVar[str] = ""  # of the base; all that its to_dict shows unless given
    examples: ClassVar[list[Any]] = []
    schema_name: ClassVar[str]

    def __init_subclass__(cls, base: Any = None, keys: str = "", example: Any = None) -> None:
        cls.base, cls.keys, cls.examples = base, keys, [example] if example else []
        cls.schema_name = cls.__name__.removesuffix("Json")


# Search


class HitJson(AnswerType, base=results.Hit, example=_HIT):
    """A matching passage with its score and the signals behind it."""


class HitsJson(AnswerType):
    """The best documents, best first."""

    query: str
    """What was searched for."""
    mode: Mode
    """How it was searched for."""
    note: str
    """Why the hits are probably unrelated: the query has no searchable term, or none that is known and no document is
    semantically close. Otherwise empty."""
    hits: list[results.Hit]
    """The hits."""
    facts: MergeFacts | None = None
    """What makes the hits comparable with those of other corpora, if it was requested."""


class HitsOfQueriesJson(AnswerType):
    """The best documents for each of several queries."""

    results: list[HitsJson]
    """The hits of each query, in the order of the queries."""


class CandidateJson(AnswerType, base=results.Hit, example={**_HIT, "selected": True, "matched": ["Refund"]}):
    """A hit among which was selected."""

    selected: bool
    """Whether it was selected."""
    matched: list[str]
    """The words of name and text that match a term of the query."""


class DiscoveryJson(AnswerType, base=results.Discovery):
    """The selected documents, disclosed, or none, with the reason, and the candidates."""

    mode: Mode
    """How it was searched for."""
    candidates: list[CandidateJson]
    """The hits among which was selected, best first."""
    line: float | None
    """The score that a candidate needed to be selected, if there is one."""


class DisclosureJson(
    AnswerType,
    base=Disclosure,
    example={
        **_SHOWN, "level": "body", "body": EXAMPLE["content"], "description": EXAMPLE["content"], "files": [],
        "needs": ["payment_id"], "note": "", "origin": "", "stale": False, "warning": "",
    },
):  # fmt: skip
    """A selected document at one level."""


class DisclosuresJson(AnswerType):
    """Documents that were asked for by their ids."""

    documents: list[Disclosure]
    """The documents, in the order of the ids."""


class ExplanationJson(AnswerType, base=explain.Explanation):
    """Why a document ranks where it does: its matching words, words that only others have, words that no document has,
    the documents above it, and what was cut."""


# Questions


class AnswerJson(AnswerType, base=results.Answer):
    """What the documents say: cited claims, or the refusal; with the evidence, dropped sentences and token usage."""

    by: Literal["extract", "llm", "agent", "gate"]
    """Who answered; "gate" if no passage was similar enough to answer from."""


class TextEventJson(AnswerType):
    """The next verified sentence of an answer, as an event."""

    text: str
    """The sentence."""


class StepEventJson(AnswerType):
    """A tool call of an agent, as an event. It may have more fields."""

    tool: str
    """The name of the tool."""
    arguments: Any
    """What it was called with."""


class ProgressEventJson(AnswerType):
    """The progress of work, as an event."""

    step: str
    """What is being done."""
    share: Share
    """The share that is done, from 0 to 1."""


# Corpora and documents


class CorpusRowJson(AnswerType):
    """A corpus that can be searched, or why it cannot."""

    name: str
    """Its name in the paths of requests."""
    kind: str | None
    """What its source is; null if it has none."""
    roots: list[str]
    """Where its documents come from."""
    built: bool
    """Whether it is stored."""
    documents: int | None
    """The number of documents."""
    passages: int | None
    """The number of indexed parts of documents."""
    embedder: str | None
    """The name of its embedder."""
    languages: dict[str, int]
    """The number of passages in each language, by its ISO 639-1 code; the most frequent first."""
    advice: str
    """How to rank its documents better. Otherwise empty."""
    engine: str
    """The word embedded, or the address of the cluster that stores it."""
    bytes: int
    """The size of its files."""
    problem: str | None
    """Why it cannot be searched."""
    uploaded: bool
    """Whether it is built from uploaded files."""


class CorporaJson(AnswerType):
    """The corpora that can be searched."""

    corpora: list[CorpusRowJson]
    """The served catalog, and the registered, stored and built-in ones."""


class CorpusInfoJson(AnswerType):
    """Counts and configuration of a corpus. An engine may report more."""

    name: str
    """Its name in the paths of requests."""
    documents: int
    """The number of documents."""
    passages: int
    """The number of indexed parts of documents."""
    analyzer: str
    """How its texts are split into terms."""
    embedder: str
    """The name of its embedder, or "none"."""
    dim: int
    """The number of dimensions of its vectors."""
    languages: dict[str, int]
    """The number of passages in each language, by its ISO 639-1 code; the most frequent first."""
    advice: str
    """How to rank its documents better. Otherwise empty."""
    floors: dict[str, float]
    """The calibrated threshold of each mode that has one."""
    doubts: dict[str, str]
    """Why such a threshold may be out of date."""
    usage: dict[str, Any]
    """The size of its log of use."""


class DocumentJson(
    AnswerType,
    base=Document,
    example={**EXAMPLE, "kind": "tool", "source": "", "locator": "whole", "payload": None},
):
    """A document."""


class DocumentListJson(AnswerType):
    """Documents, and their total number."""

    documents: list[Document]
    """A page of the documents."""
    count: int
    """The number of all."""


class ChangeReportJson(
    AnswerType,
    example={
        "added": 1, "changed": 0, "count": 1, "message": "1 added.", "removed": 0, "success": True, "unchanged": 0,
    },
):  # fmt: skip
    """What a change did, and the number of documents after it. The change is on disk."""

    success: bool
    """Always true."""
    message: str
    """What was done, in a sentence."""
    count: int
    """The number of documents after it."""
    added: int
    """Documents that are new."""
    changed: int
    """Documents that replace others with their ids."""
    removed: int
    """Documents that were removed."""
    unchanged: int
    """Documents that were stored already."""


class UploadedFileJson(AnswerType, example={"corpus": "handbook", "path": "guides/returns.md", "bytes": 4817}):
    """A file that was saved."""

    corpus: str
    """The name of the corpus."""
    path: str
    """Where it was saved below the folder of the corpus: as requested, without what is not safe."""
    bytes: int
    """Its size."""


class FileComparisonJson(AnswerType, example={"missing": ["guides/returns.md"], "extra": ["old.md"]}):
    """How files differ from those that are uploaded."""

    missing: list[str]
    """The paths that are not uploaded, or with another content."""
    extra: list[str]
    """The uploaded paths that were not given."""


class FileDeletionJson(AnswerType, example={"deleted": 1}):
    """Uploaded files that were deleted."""

    deleted: int
    """The number of files."""


class SkippedFileJson(AnswerType):
    """A file that gave no document, or a part of one that could not be read."""

    id: str
    """Its path below the folder of the corpus."""
    reason: str
    """Why it was skipped."""


class BuildReportJson(
    AnswerType,
    example={
        "added": 1, "changed": 0, "count": 1, "message": "1 added.", "removed": 0, "success": True, "unchanged": 0,
        "corpus": "handbook", "skipped": [{"id": "logo.png", "reason": "No text was found in it."}],
    },
):  # fmt: skip
    """What indexing uploaded files changed, and what was skipped."""

    success: bool
    """Always true."""
    message: str
    """What was done, in a sentence."""
    count: int
    """The number of documents after it."""
    added: int
    """Documents that are new."""
    changed: int
    """Documents that were replaced."""
    removed: int
    """Documents whose files are gone."""
    unchanged: int
    """Documents that were indexed already."""
    corpus: str
    """The name of the corpus."""
    skipped: list[SkippedFileJson]
    """The files that gave no document."""


# Use


class FeedbackJson(AnswerType, example={"stored": True, "learning": "on"}):
    """Whether the feedback was stored, and what is done with it."""

    stored: bool
    """Whether it was stored."""
    learning: Learning
    """`on`: use is stored and changes the ranking. `log`: it is only stored. `off`: neither."""


class ForgottenJson(AnswerType):
    """What was deleted from the log of use."""

    forgotten: int
    """The number of searches."""


class FittedThresholdJson(AnswerType):
    """A relevance threshold that is fitted to the log of use."""

    value: float
    """The threshold."""
    used: int
    """Searches after which something was used."""
    unused: int
    """Searches after which nothing was used."""


class UsageJson(
    AnswerType,
    example={
        "searches": 240, "uses": 181, "since": 1700000000.0, "bytes": 57344, "documents": 12, "learning": "on",
        "threshold": {"value": 0.3, "used": 170, "unused": 60},
    },
):  # fmt: skip
    """The size of the log of use of a corpus. What was searched for is not returned."""

    searches: int
    """The number of searches."""
    uses: int
    """The number of uses after them."""
    since: float | None
    """The time of the oldest search, in seconds since 1970; null if there is none."""
    bytes: int
    """The size of the log."""
    documents: int
    """The number of documents that at least one query led to."""
    learning: Learning
    """`on`: use is stored and changes the ranking. `log`: it is only stored. `off`: neither."""
    threshold: FittedThresholdJson | None
    """The relevance threshold that is fitted to the log; null without enough searches."""

"""The results of each stage: rankings, hits, selections, disclosures, discoveries and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

from shortlist._plain import Plain
from shortlist._text import count_of
from shortlist.display import html_tables
from shortlist.display.html_tables import Html, badge, bar, card, cut, fold, join, muted, quote, table, whole
from shortlist.documents import Document, Metadata, Passage
from shortlist.errors import rename_keyword

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Vectors = NDArray[np.float32]
    Positions = NDArray[np.int64]
    Mask = NDArray[np.bool_]

Mode = Literal["auto", "lexical", "dense", "hybrid"]
Level = Literal["metadata", "body", "bundled"]
Confidence = Literal["high", "low"]
Support = Literal["quoted", "supported", "unchecked", "unsupported"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Two aligned arrays, best first: positions in a snapshot and their scores."""

    positions: Positions
    scores: Floats

    def __len__(self) -> int:
        return len(self.positions)

    def cut(self, k: int) -> Ranking:
        """The best k, and all that tie with the last of them."""
        if k >= len(self):
            return self
        kept = self.scores >= self.scores[k - 1] if k else self.scores != self.scores
        return Ranking(self.positions[kept], self.scores[kept])


@dataclass(frozen=True, slots=True)
class Hit(Plain):
    """A matching passage with its score and the signals behind it."""

    _shown = "id name score relevance text kind source locator context metadata signals corpus"

    passage: Passage
    score: float
    """The number that hits are ordered by; comparable within one query and mode."""
    signals: Mapping[str, float] = field(default_factory=dict)
    """The parts of the score by name, such as lexical and dense."""
    load: Callable[[], Document | None] | None = field(default=None, repr=False, compare=False)
    """Reads the whole document; returns None if it is gone."""
    corpus: str = ""
    """Name of the corpus."""
    relevance: float | None = None
    """Estimated probability, 0 to 1, that the hit is what the query asks for; comparable between queries and modes."""
    is_own: bool = field(default=False, repr=False, compare=False)
    """Whether only this user writes to the corpus, so that the file that the document came from can be read again."""
    read_body: Callable[[], tuple[str | None, str]] | None = field(default=None, repr=False, compare=False)
    """Reads the body and its note from the service that has the document; no path in it is followed on this machine."""

    @property
    def id(self) -> str:
        """The id of the document."""
        return self.passage.document_id

    @property
    def artifact_id(self) -> str:
        """The id, by its name in ir."""
        return self.id

    @property
    def name(self) -> str:
        """The title of the document, or its id."""
        return self.passage.name

    @property
    def text(self) -> str:
        """The passage that matched best."""
        return self.passage.text

    @property
    def kind(self) -> str:
        """What the document is, such as tool, skill, file or text."""
        return self.passage.kind

    @property
    def source(self) -> str:
        """The path or URL that the document is from."""
        return self.passage.source

    @property
    def locator(self) -> str:
        """The place of the passage in its source, or "whole"."""
        return self.passage.locator

    @property
    def metadata(self) -> Metadata:
        """Values of the document that are not searched."""
        return self.passage.metadata

    @property
    def context(self) -> str:
        """The headings above the passage, for example "Guide > Install"."""
        return self.passage.context

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The hit whose `to_dict` or `brief` this is."""
        shared = {name: data[name] for name in _OF_THE_PASSAGE if name in data}
        passage = Passage(data["id"], data["name"], data.get("text", ""), **shared)
        return cls(passage, data["score"], data.get("signals", {}), None, data["corpus"], data["relevance"])

    def __repr__(self) -> str:
        return f"Hit({self.id!r} {_number(self)}: {cut(self.text, _SHORT)!r})"

    def brief(self) -> dict[str, Any]:
        """Id, name, score, relevance and corpus."""
        return {name: getattr(self, name) for name in ("id", "name", "score", "relevance", "corpus")}


_SHORT = 60  # characters of a text in a `repr`


def _number(one: Hit | Disclosure) -> str:
    """The relevance or, if there is none, the score."""
    return f"{one.score if one.relevance is None else one.relevance:.2f}"


def _draw_number(one: Hit | Disclosure) -> Html | str:
    return _number(one) if one.relevance is None else bar(one.relevance, _number(one))


def _draw_name(one: Hit | Disclosure, text: str, place: str = "") -> Html:
    """The name, id and place of a document above a text about it."""
    about = [one.id if one.id != one.name else "", place]
    beside = muted(" · ".join(filter(None, about)))
    return join([html_tables.element("strong", cut(one.name)), " ", beside, Html("<br>"), cut(text)])


def _draw_hits(hits: Sequence[Hit]) -> Html:
    corpora = len({hit.corpus for hit in hits}) > 1

    def find_place(hit: Hit) -> str:
        return " · ".join(filter(None, (hit.corpus if corpora else "", hit.context, hit.locator.removeprefix("whole"))))

    number = "Score" if any(hit.relevance is None for hit in hits) else "Relevance"
    rows = (
        (at, _draw_name(hit, hit.text, find_place(hit)), _draw_number(hit), whole(hit.kind))
        for at, hit in enumerate(hits, 1)
    )
    return table(("", "Document", number, "Kind"), rows) if hits else Html("")


_OF_THE_PASSAGE = ("kind", "source", "locator", "metadata", "context")


class Hits(list[Hit]):
    """A list of hits, best first, with the query and mode. `note` explains why none of them may be related to it."""

    def __init__(self, hits: Iterable[Hit] = (), *, query: str = "", mode: str = "", note: str = "") -> None:
        super().__init__(hits)
        self.query = query
        self.mode = mode
        self.note = note

    def __repr__(self) -> str:
        best = f", best {self[0].id!r} {_number(self[0])}" if self else ""
        return f"Hits({len(self)} for {cut(self.query, _SHORT)!r}{best})"

    def _repr_html_(self) -> str:
        return card(
            count_of(len(self), "hit"), [_draw_query(self.query), muted(self.mode)], _draw_hits(self), muted(self.note)
        )

    def to_dict(self) -> dict[str, Any]:
        return {"query": self.query, "mode": self.mode, "note": self.note, "hits": [hit.to_dict() for hit in self]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The hits whose `to_dict` this is."""
        hits = [Hit.from_dict(hit) for hit in data["hits"]]
        return cls(hits, query=data["query"], mode=data["mode"], note=data["note"])


@dataclass(frozen=True, slots=True)
class MergeFacts(Plain):
    """What makes the hits of one corpus for a query comparable with those of other corpora."""

    embedder: str
    """The name of the embedder, or "none"."""
    perfect: float
    """The score of a perfect match; 1 where scores are comparable as they are."""
    min_relevance: float
    """The relevance that a match needs if no threshold is calibrated."""
    threshold: float | None
    """The calibrated score that a match needs in this mode, if there is one."""
    doubt: str
    """Why the calibrated threshold may be out of date."""
    has_content: bool
    """Whether the query has more than stop words."""
    is_known: bool
    """Whether the corpus has one of the terms of the query, or a document that it names."""
    noise: float
    """The cosine that is reached by coincidence; 0 if a term is known."""
    documents: int
    """The number of documents in the corpus."""
    unknown_words: tuple[str, ...]
    """Words of the query that no document contains."""
    scale: str = ""
    """The scale of the calibrated threshold: "relevance" in "auto"; a service before 0.3 does not say it."""
    named: tuple[str, ...] = ()
    """Always empty; clients before 0.3 need it."""


Selector = Callable[[list[Hit]], list[Hit]]
Filter = Mapping[str, Any]
MinRelevance = float | Literal["auto"] | None
Loader = Callable[[Metadata], str | None]


class RawScore(float):
    """A threshold of the raw scores of a mode in place of a relevance: what the former option `min_score` means.

    In the mode "auto", whose scores are relevances, it is compared with the relevance.
    """


def to_raw_score(min_score: Any) -> Any:
    """A former `min_score` as a `min_relevance`; "auto" and None mean the same as before."""
    is_number = isinstance(min_score, int | float) and not isinstance(min_score, bool)
    return RawScore(min_score) if is_number else min_score


accept_min_score = rename_keyword("min_score", "min_relevance", convert=to_raw_score)
"""Lets a function accept `min_score`, the former name of `min_relevance`."""

accept_threshold = rename_keyword(
    "threshold", "min_relevance", convert=lambda value: "auto" if value is None else min(max(value, 0.0), 1.0)
)
"""Lets `ask` accept `threshold`, the former name of `min_relevance`; it had no limits, and None meant "auto"."""


@dataclass(frozen=True, slots=True)
class Selection(Plain):
    """The selected hits, or none (an abstention), with the reason and the numbers behind it."""

    _shown = "abstained reason signals selected"

    selected: list[Hit]
    """The selected hits, best first."""
    reason: str
    """Why these were selected, or none."""
    signals: Mapping[str, Any] = field(default_factory=dict)
    """The numbers behind the decision."""

    def __repr__(self) -> str:
        best = f", best {self.selected[0].id!r} {_number(self.selected[0])}" if self.selected else ""
        return f"Selection({count_of(len(self.selected), 'hit')}{best})"

    def _repr_html_(self) -> str:
        title = f"{count_of(len(self.selected), 'hit')} selected" if self.selected else "No match"
        return card(title, [], _draw_hits(self.selected), muted(self.reason))

    @property
    def selected_ids(self) -> list[str]:
        return [hit.id for hit in self.selected]

    @property
    def abstained(self) -> bool:
        return not self.selected


@dataclass(frozen=True, slots=True)
class Disclosure(Plain):
    """A selected document at one level."""

    id: str
    """The id of the document."""
    name: str
    """Its title, or its id."""
    score: float
    """The score of its hit."""
    kind: str
    """What it is, such as tool, skill, file or text."""
    source: str
    """The path or URL that it is from."""
    locator: str
    """The place in its source, or "whole"."""
    metadata: Metadata
    """Its values that are not searched."""
    level: Level
    """How much is shown: its metadata, also its body, or also the files beside a skill."""
    body: str | None = None
    """Its full text; null at the level "metadata"."""
    files: tuple[str, ...] = ()
    """The other files in the folder of a skill, at the level "bundled"."""
    stale: bool = False
    """Whether the body may be out of date."""
    note: str = ""
    """Why the body is stale."""
    corpus: str = ""
    """Name of the corpus."""
    relevance: float | None = None
    """Estimated probability, 0 to 1, that it is what the query asks for."""
    description: str = ""
    """One line about it."""
    needs: tuple[str, ...] = ()
    """The required arguments of a tool; only `discover` sets them."""
    origin: str = ""
    """Where a skill of a project that the user has not approved comes from."""
    warning: str = ""
    """How such a skill tries to instruct a model against its user."""

    def __repr__(self) -> str:
        return f"Disclosure({self.id!r} {_number(self)}: {cut(self.body or self.description, _SHORT)!r})"

    @property
    def artifact_id(self) -> str:
        """The id, by its name in ir."""
        return self.id


def _draw_query(query: str) -> Html:
    return join([muted("for "), cut(query)]) if query else Html("")


@dataclass(frozen=True, slots=True)
class Discovery(Plain):
    """The result of `discover`: the selected documents, disclosed, or an abstention, always with the reason."""

    _shown = "query mode abstained reason confidence confidence_reason signals results"

    query: str
    """What was searched for."""
    mode: str
    """How it was searched for."""
    results: list[Disclosure]
    """The selected documents, best first."""
    reason: str
    """Why these were selected, or none."""
    signals: Mapping[str, Any]
    """The numbers behind the decision; of an abstention also the closest matches and what to try."""
    candidates: Hits
    """The hits among which was selected, best first."""
    confidence: Confidence = "high"
    """Whether it is clear that the results match, or that nothing does: "low" if the best document may match."""
    confidence_reason: str = ""
    """The relevance that the confidence is based on, in words."""

    def __repr__(self) -> str:
        found = "no match"
        if self.results:
            number = "score" if self.results[0].relevance is None else "relevance"
            found = f"{count_of(len(self.results), 'result')}, {number} {_number(self.results[0])}"
        return f"Discovery({cut(self.query, _SHORT)!r}: {found}, {self.confidence} confidence)"

    def _repr_html_(self) -> str:
        title = count_of(len(self.results), "result") if self.results else "No match"
        color = html_tables.GOOD if self.confidence == "high" else html_tables.DOUBT
        rows = (
            (at, _draw_name(one, one.body or one.description, _join_needs(one)), _draw_number(one), whole(one.kind))
            for at, one in enumerate(self.results, 1)
        )
        chosen = table(("", "Document", "Relevance", "Kind"), rows) if self.results else ""
        others = fold(muted(count_of(len(self.candidates), "candidate")), _draw_hits(self.candidates))
        facts = [_draw_query(self.query), badge(f"{self.confidence} confidence", color), muted(self.mode)]
        return card(title, facts, chosen, muted(self.reason), others if self.candidates else "")

    @property
    def abstained(self) -> bool:
        """Whether nothing was selected."""
        return not self.results

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"candidates": [hit.brief() for hit in self.candidates]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The discovery whose `to_dict` this is; its candidates have what `Hit.brief` has of them, or all."""
        hits = {"hits": data["candidates"], "query": data["query"], "mode": data["mode"], "note": ""}
        results = [Disclosure.from_dict(item) for item in data["results"]]
        confidence = {name: data[name] for name in ("confidence", "confidence_reason") if name in data}
        return cls(
            data["query"], data["mode"], results, data["reason"], data["signals"], Hits.from_dict(hits), **confidence
        )


def _join_needs(one: Disclosure) -> str:
    return f"needs {', '.join(one.needs)}" if one.needs else one.locator.removeprefix("whole")


@dataclass(frozen=True, slots=True)
class Evidence(Plain):
    """A passage that an answer may cite."""

    _shown = "number label source locator text score id name context corpus marker warning place"

    number: int
    """Its number in the answer, from 1."""
    label: str
    """The short name of its source in citations."""
    source: str
    """The path or URL that it is from."""
    locator: str
    """Its place in the source."""
    text: str
    """What it says."""
    score: float
    """Its relevance to the question, from 0 to 1."""
    id: str = ""
    """The id of the document."""
    name: str = ""
    """The title of the document, or its id."""
    context: str = ""
    """The headings above it."""
    corpus: str = ""
    """Name of the corpus."""
    warning: str = ""
    """How it tries to instruct a model or a reader; without a language model such a passage is never quoted."""
    place: str = ""
    """Where a person finds it in the source: headings and lines, or the page, row or slide."""
    locate: Callable[[int, int], str] | None = field(default=None, repr=False, compare=False)
    """Describes the place of a part of the text, from its start and end."""

    @property
    def marker(self) -> str:
        """The citation of this passage."""
        return f"[{self.label}:{self.locator}]"

    def __str__(self) -> str:
        return f"{self.source} ({self.locator}) score={self.score:.3f}"


@dataclass(frozen=True, slots=True)
class Citation(Plain):
    """A reference from a claim to evidence."""

    number: int
    """The number of the evidence."""
    marker: str
    """The citation as it is written."""
    source: str
    """The path or URL of the evidence."""
    locator: str
    """The place of the evidence in its source."""
    spans: tuple[tuple[int, int], ...] = ()
    """The parts of the evidence that the claim quotes verbatim: start and end of each."""
    places: tuple[tuple[int, int], ...] = ()
    """Where the marker is in the claim: start and end of each."""
    place: str = ""
    """Where a person finds in the source what is cited: headings and lines, or the page, row or slide."""


@dataclass(frozen=True, slots=True)
class Claim(Plain):
    """A sentence of an answer, with its citation markers, and its citations."""

    text: str
    """The sentence."""
    citations: tuple[Citation, ...]
    """The evidence that it cites."""
    support: Support = "supported"
    """Is "quoted" if the evidence contains it word for word, "supported" if it says the same in other words.

    It is "unchecked" if it is in another language than the evidence, so that words cannot be compared."""
    reason: str = ""
    """Why it is not supported or not checked, or the warning of its evidence."""
    missing: str = ""
    """The part of it that the evidence lacks."""
    confidence: float = 0.0
    """The probability, from 0 to 1, that the evidence supports it or, without a language model, that it answers."""


@dataclass(frozen=True, slots=True)
class Dropped(Plain):
    """A sentence that was removed from the answer."""

    text: str
    """The sentence."""
    reason: str
    """Why it was removed."""
    missing: str = ""
    """The part of it that the evidence lacks."""
    before: int = 0
    """The position of the first sentence of the answer that came after it."""


@dataclass(frozen=True, slots=True)
class Answer(Plain):
    """An answer made of cited claims, or the refusal; with the evidence, the dropped sentences and the usage."""

    _shown = "question text refused reason by sentences evidence dropped usage steps broke_off confidence span cited"

    question: str
    """What was asked."""
    text: str
    """The answer, or the refusal."""
    sentences: list[Claim]
    """The claims that the answer is made of."""
    evidence: list[Evidence]
    """The passages that were shown."""
    refused: bool
    """Whether it is the refusal."""
    reason: str
    """Why it is the refusal; else empty."""
    by: str
    """Who answered: "extract", "llm", "agent", or "gate" if no passage was similar enough to answer from."""
    dropped: list[Dropped] = field(default_factory=list)
    """Sentences that the evidence does not support."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """The tokens that the language model used."""
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    """Tool calls of the agent: name, arguments, and the error if there was one."""
    broke_off: str = ""
    """Why the reply of a model ended early; the answer then has the sentences verified before."""
    confidence: float = 0.0
    """The probability, from 0 to 1, that the answer is right; of a language model, the lowest of its sentences."""
    span: tuple[int, int] | None = None
    """The start and end in `text` of the number, date or name that was asked for, if there is one."""

    @property
    def cited(self) -> list[int]:
        """The numbers of the evidence that the answer cites, in the order of the citations."""
        ordered = [
            citation.number
            for claim in self.sentences
            for citation in sorted(claim.citations, key=lambda one: one.places[:1])
        ]
        return list(dict.fromkeys(ordered))

    def find_place(self, number: int) -> str:
        """Where the answer cites this evidence: each place once."""
        citations = [citation for claim in self.sentences for citation in claim.citations]
        places = [citation.place for citation in citations if citation.number == number]
        return "; ".join(filter(None, dict.fromkeys(places)))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        result = f"refused: {self.reason}" if self.refused else f"{self.text}"
        return f"Answer({cut(self.question, _SHORT)!r}: {cut(result, 2 * _SHORT)!r})"

    def _repr_html_(self) -> str:
        facts = [badge("refused", html_tables.BAD)] if self.refused else []
        if not self.refused and self.confidence:
            facts = [muted("confidence"), bar(self.confidence, f"{self.confidence:.0%}")]
        cited = [one for one in self.evidence if any(quoted.number == one.number for quoted in self._citations)]
        others = [one for one in self.evidence if one not in cited]
        return card(
            cut(self.question),
            facts,
            html_tables.element("div", self._draw_text(), "font-size:1.1em;margin:.2em 0 .5em;white-space:pre-wrap"),
            muted(self.reason if self.refused else self.broke_off),
            join(self._draw_evidence(one) for one in cited),
            fold(muted(f"{len(others)} more passages"), join(map(self._draw_evidence, others))) if others else "",
            fold(muted(f"{count_of(len(self.dropped), 'sentence')} removed"), _draw_dropped(self.dropped))
            if self.dropped
            else "",
        )

    @property
    def _citations(self) -> list[Citation]:
        return [citation for claim in self.sentences for citation in claim.citations]

    def _draw_text(self) -> Html:
        """The text with numbers in place of the citation markers, and the span that was asked for marked."""
        parts, last = list[Html](), 0
        for start, end, number in self._find_markers():
            before = start - (self.text[start - 1 : start] == " ")
            parts += [self._mark_span(last, before), html_tables.element("sup", f"[{number}]", "opacity:.7")]
            last = end
        return join([*parts, self._mark_span(last, len(self.text))])

    def _find_markers(self) -> list[tuple[int, int, int]]:
        """Start and end in the text of each citation marker, and the number of its evidence."""
        found, at = list[tuple[int, int, int]](), 0
        for claim in self.sentences:
            begin = self.text.find(claim.text, at)
            if begin >= 0:
                at = begin + len(claim.text)
                found += [(begin + a, begin + b, one.number) for one in claim.citations for a, b in one.places]
        return sorted(found)

    def _mark_span(self, start: int, end: int) -> Html:
        spans = [(self.span[0] - start, self.span[1] - start)] if self.span else []
        return html_tables.mark(self.text[start:end], [(max(a, 0), b) for a, b in spans if b > 0])

    def _draw_evidence(self, one: Evidence) -> Html:
        spans = [span for citation in self._citations if citation.number == one.number for span in citation.spans]
        source = "" if one.source == one.name else one.source
        place = " · ".join(filter(None, (source, one.context, one.locator.removeprefix("whole"))))
        head = join(
            [f"[{one.number}] ", html_tables.element("strong", cut(one.name or one.label)), " ", muted(cut(place)), " "]
        )
        return fold(join([head, bar(one.score, f"{one.score:.2f}")]), quote(html_tables.mark(one.text, spans)))


def _draw_dropped(dropped: Sequence[Dropped]) -> Html:
    return join(html_tables.element("div", join([one.text, " ", muted(one.reason)])) for one in dropped)

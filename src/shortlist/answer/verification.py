"""Verification of a reply: only sentences that their citations support stay in the answer.

A sentence stays if it cites a passage that was shown and `claim_checks.assess` finds that the passage supports it;
citations of anything else are removed from it. Every other sentence is dropped, with the reason. A list with one
citation, at its end, stays if each of its items is supported, or is dropped as a whole. If nothing is left, the answer
is the refusal. Other brackets stay as they are: `Citation.places` tells where the markers of citations are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shortlist._text import count_of
from shortlist.answer.citations import Catalog, Marker
from shortlist.answer.claim_checks import WORD, Assessment, Span, Statement, assess, find_spans
from shortlist.answer.extractive.sentences import is_abbreviation
from shortlist.answer.judge import load_judge
from shortlist.answer.prompts import REFUSAL
from shortlist.results import Citation, Claim, Dropped, Evidence

LONGEST_REPLY = 50_000  # characters that are read
LONGEST_SENTENCE = 2_000  # characters that can be compared with passages in reasonable time

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ue000-\uf8ff]")
_LONG_SPACE = re.compile(r"\s{20,}")
_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")  # stands for a citation, by its number in the reply
_AFTER_SENTENCE = re.compile(
    "(?:(?<=[.!?…])[\"'”’)*_]*(?:\\s*\ue000\\d+\ue001)*\\s+(?=[^\\sa-z\ue000])"
    "|(?<=[。！？])(?:\\s*\ue000\\d+\ue001)*\\s*(?=[^\\s\ue000])"
    "|\\s*\\n\\s*(?!\\s*\ue000))"
)
# The mark before an item of a list: its number, after a bullet or the mark of a heading.
_LIST_MARK = re.compile(r"(?:(?:[-*•>]|#{1,6})\s+)?[*_]{0,2}(\d{1,3}|[a-z]|[ivx]{2,5})[.)][*_]{0,2}(?:\s+|\Z)")
_ITEM = re.compile(rf"(?:[-*•]\s+|{_LIST_MARK.pattern})(?=\S)")
# The headers of a table and the line below them, which belong to its first row.
_TABLE_HEAD = re.compile(r"\|[^\n\ue000]{0,500}\n[ \t]*\|[|: \t-]{1,500}\n\s*(?=\|)")
_OPENER = re.compile(
    r"(?:based (?:up)?on|according to|as (?:stated|described|mentioned) in|from)(?: (?:the|these|this|your|all|"
    r"provided|given|available|above|retrieved))*(?: (?:documents?|passages?|contexts?|sources?|texts?|information|"
    r"files?))(?: (?:provided|given|above|shown))?,\s*(?=\w)",
    re.IGNORECASE,
)
_GAPS = ("", " ", "\n", "\n\n")  # between sentences
_UNCITED = "It cites nothing."
_WARNED = "It repeats a passage that tries to instruct its readers."
_VERIFIED = "The cited passages support every sentence of the answer."
_REPLY_END = re.compile(r"[.!?。！？][\"'”’)]*\s*\Z")
_PLAIN_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class Verified:
    """What is left of a reply, what was dropped, and the reason if nothing is left."""

    text: str
    claims: list[Claim]
    dropped: list[Dropped]
    reason: str


class _Sentence(NamedTuple):
    gap: str  # what separates it from the sentence before
    text: str  # with a placeholder for each citation
    markers: Sequence[Marker]  # of the whole reply
    items: tuple[str, ...] = ()  # of a list with one citation, at its end

    @property
    def bare(self) -> str:
        return _PLACEHOLDER.sub("", self.text)

    @property
    def own_markers(self) -> list[Marker]:
        return [self.marker_at(place) for place in _PLACEHOLDER.finditer(self.text)]

    @property
    def cited(self) -> tuple[Evidence, ...]:
        return tuple(dict.fromkeys(item for marker in self.own_markers for item in marker.cited))

    @property
    def as_written(self) -> str:
        return _PLACEHOLDER.sub(lambda place: self.marker_at(place).text, self.text)

    def marker_at(self, place: re.Match[str]) -> Marker:
        return self.markers[int(place.group(1))]


def verify(reply: str, evidence: Sequence[Evidence], question: str = "", *, keep_unsupported: bool = False) -> Verified:
    """The sentences of a reply that can be verified, joined to the answer, or exactly the refusal.

    With `keep_unsupported`, sentences that cite passages which do not support them stay, marked as such.
    """
    claims: list[Claim] = []
    dropped: list[Dropped] = []
    parts: list[str] = []
    gap = ""
    is_refusal = False
    for sentence in _join_lists(list(_split(reply, Catalog(evidence)))):
        gap = max(gap, sentence.gap, key=_GAPS.index)
        if _contains_refusal(sentence.bare):
            is_refusal = True
            continue
        if not WORD.search(sentence.bare):
            continue
        head = _TABLE_HEAD.match(sentence.text)
        if head and assess(Statement(head.group(), sentence.cited, question)).support == "unsupported":
            dropped.append(Dropped(head.group().strip(), _UNCITED, before=len(claims)))
            sentence = sentence._replace(text=sentence.text[head.end() :])
        claim = _check(sentence, question)
        if claim.citations and (claim.support != "unsupported" or keep_unsupported):
            parts += [gap if parts else "", claim.text]
            gap = ""
            claims.append(claim)
        else:
            dropped.append(Dropped(sentence.as_written, claim.reason, claim.missing, len(claims)))
    if len(reply) > LONGEST_REPLY:
        rest = reply[LONGEST_REPLY : LONGEST_REPLY + 200]
        reason = f"It comes after the first {LONGEST_REPLY:,} characters, which are the limit."
        dropped.append(Dropped(rest, reason, before=len(claims)))
    if claims:
        unsupported = sum(claim.support == "unsupported" for claim in claims)
        reason = (
            f"{count_of(unsupported, 'sentence', 'is not')} supported by what it cites." if unsupported else _VERIFIED
        )
        return Verified("".join(parts), claims, dropped, reason)
    if is_refusal:
        reason = "The model found no answer in the passages."
    elif dropped:
        reason = f"No sentence could be verified: {dropped[0].reason}"
    else:
        reason = "The model returned no text."
    return Verified(REFUSAL, [], dropped, reason)


def _split(reply: str, catalog: Catalog) -> Iterator[_Sentence]:
    text = _UNSEEN.sub(" ", _THOUGHTS.sub("", reply[:LONGEST_REPLY].replace("\r\n", "\n")))
    text = _LONG_SPACE.sub(lambda run: "\n\n" if "\n" in run.group() else " ", text)
    markers = catalog.find(text)
    pieces: list[str] = []
    last = 0
    for number, marker in enumerate(markers):
        pieces += [text[last : marker.start], f"\ue000{number}\ue001"]
        last = marker.end
    whole = "".join([*pieces, text[last:]]).strip()
    start, gap = 0, ""
    numbers = {0}  # of list items so far
    for match in _AFTER_SENTENCE.finditer(whole):
        head = _TABLE_HEAD.match(whole, start)
        if match.start() <= start or (head and match.start() < head.end()):
            continue
        if not match.group().strip(" *_"):
            mark = _LIST_MARK.fullmatch(whole, start, match.start())
            if mark and _is_next_item(mark.group(1), numbers, begins_line=gap != " "):
                continue
            if is_abbreviation(whole, start, match.start()):
                continue
        yield _Sentence(gap, whole[start : match.start() + len(match.group().rstrip())], markers)
        breaks = match.group().count("\n")
        start, gap = match.end(), "\n\n" if breaks > 1 else "\n" if breaks else " "
    if start < len(whole):
        yield _Sentence(gap, whole[start:], markers)


def _join_lists(sentences: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """The sentences; those of a list with one citation, at its end, are one."""
    at = 0
    while at < len(sentences):
        end = _find_list_end(sentences, at)
        several = sentences[at:end]
        if sum(bool(_ITEM.match(one.text)) for one in several) > 1 and not _is_cited_earlier(several):
            text = several[0].text + "".join(f"{one.gap}{one.text}" for one in several[1:])
            yield several[0]._replace(text=text, items=tuple(one.bare for one in several))
        else:
            yield from several or sentences[at : at + 1]
        at = max(end, at + 1)


def _find_list_end(sentences: Sequence[_Sentence], start: int) -> int:
    """Where the list that begins at a sentence ends: at the first line that is not an item; `start` if none begins."""
    end = start
    while end < len(sentences) and (
        _ITEM.match(sentences[end].text) if end == start or "\n" in sentences[end].gap else end > start
    ):
        end += 1
    return end


def _is_cited_earlier(sentences: Sequence[_Sentence]) -> bool:
    """Whether a sentence of a list before its last one has a citation."""
    return any(one.own_markers for one in sentences[:-1])


def _is_next_item(number: str, numbers: set[int], *, begins_line: bool) -> bool:
    """Whether the number of a list item follows one of those before it, which then include it; letters always do."""
    if not number.isdecimal():
        return begins_line
    is_next = int(number) - 1 in numbers and (begins_line or number != "1")
    numbers.add(int(number) if is_next else 0)
    return is_next


def _contains_refusal(text: str) -> bool:
    refusal, plain = (" ".join(each.translate(_PLAIN_QUOTES).casefold().split()) for each in (REFUSAL, text))
    return refusal.rstrip(".") in plain


def _check(sentence: _Sentence, question: str) -> Claim:
    """The sentence as a claim; without citations if it cites nothing that was shown."""
    markers, cited = sentence.own_markers, sentence.cited
    if not cited:
        reason = f"It cites {markers[0].text[:80]}, which was not shown." if markers else _UNCITED
        return Claim(sentence.bare, (), "unsupported", reason)
    if max(map(len, sentence.items or [sentence.bare])) > LONGEST_SENTENCE:
        reason = f"It has more than {LONGEST_SENTENCE:,} characters, the limit of a sentence."
        return Claim(sentence.bare, (), "unsupported", reason)
    statements = [_strip(item) for item in sentence.items or (sentence.bare,)]
    found = _assess_all(statements, cited, question)
    if len(cited) > 1 and found.support != "unsupported":
        cited = _narrow(statements, cited, question)
        found = _assess_all(statements, cited, question)
    text, places = _render(sentence, cited)
    spans = {item: sorted({s for one in statements for s in find_spans(Statement(one, cited), item)}) for item in cited}
    citations = tuple(cite(item, spans[item], places[item]) for item in cited)
    warned = "" if any(not item.warning for item in cited) else _WARNED
    return Claim(text, citations, found.support, found.reason or warned, found.missing)


def _strip(sentence: str) -> str:
    """A sentence without the mark of a list, the head of a table and an opener."""
    head = _TABLE_HEAD.match(sentence)
    mark = head.end() if head else _mark_length(sentence)
    opener = _OPENER.match(sentence, mark)
    return sentence[opener.end() if opener else mark :]


def _assess_all(statements: Sequence[str], cited: tuple[Evidence, ...], question: str) -> Assessment:
    """The assessment of the items of a list, or of one sentence: the first that is unsupported decides."""
    assessments = []
    for text in statements:
        statement = Statement(text, cited, question)
        found = assess(statement)
        if found.support != "quoted" and (judge := load_judge()):
            found = assess(statement, judge.rate_claim(text, cited))
        if found.support == "unsupported":
            return (
                found._replace(reason=f"{text.strip()!r} in the list: {found.reason}") if len(statements) > 1 else found
            )
        assessments.append(found)
    return min(assessments, key=lambda one: one.support == "quoted")


def _narrow(statements: Sequence[str], cited: tuple[Evidence, ...], question: str) -> tuple[Evidence, ...]:
    """The cited passages that support the sentence by themselves or, if only several do together, all."""
    alone = [item for item in cited if _assess_all(statements, (item,), question).support != "unsupported"]
    return tuple(alone) or cited


def _mark_length(text: str) -> int:
    mark = _LIST_MARK.match(text)
    return mark.end() if mark else 0


def cite(item: Evidence, spans: Iterable[Span], places: Iterable[Span]) -> Citation:
    return Citation(item.number, item.marker, item.source, item.locator, tuple(spans), tuple(places))


def _render(sentence: _Sentence, cited: Sequence[Evidence]) -> tuple[str, dict[Evidence, list[Span]]]:
    """The sentence as shown, and the places of each citation in it.

    An opener such as "Based on the documents" and citations of other passages than the cited ones are left out.
    """

    def keep(place: re.Match[str]) -> str:
        return place.group() if any(item in cited for item in sentence.marker_at(place).cited) else ""

    text = _PLACEHOLDER.sub(keep, sentence.text)
    mark = _mark_length(text)
    if opener := _OPENER.match(text, mark):
        text = text[:mark] + text[opener.end()].upper() + text[opener.end() + 1 :]
    text = re.sub(r"[ \t]+(?=[.,;:!?](?:\s|$))", "", text)
    text = re.sub(r"(?<=\S)[ \t]{2,}", " ", text).strip()
    shown, last = "", 0
    places: dict[Evidence, list[Span]] = {}
    for place in _PLACEHOLDER.finditer(text):
        shown += text[last : place.start()]
        last = place.end()
        for item in (item for item in sentence.marker_at(place).cited if item in cited):
            places.setdefault(item, []).append((len(shown), len(shown) + len(item.marker)))
            shown += item.marker
    return shown + text[last:], places


@dataclass(slots=True)
class Stream:
    """Passes on an answer while it is written: each sentence once it is complete and verified."""

    evidence: Sequence[Evidence]
    on_text: Callable[[str], None] | None
    question: str = ""
    keep_unsupported: bool = False
    _pieces: list[str] = field(default_factory=list)
    _sent: str = ""
    _verified: int = 0  # characters of complete sentences

    def add(self, piece: str) -> None:
        """Add a piece of the reply."""
        self._pieces.append(piece)
        recent = "".join(self._pieces[-3:])  # what follows shows where a sentence ends
        if self.on_text and any(sign in recent for sign in ".!?…\n。！？"):
            complete = self._cut()
            if len(complete) != self._verified:
                self._verified = len(complete)
                verified = self._verify(complete)
                if verified.claims:
                    self._send(verified.text)

    def complete_sentences(self) -> str:
        """The reply up to its last complete sentence, or nothing if none of it can be verified."""
        reply = "".join(self._pieces)
        text = reply if _REPLY_END.search(reply) else self._cut()
        return text if self._verify(text).claims else ""

    def _cut(self) -> str:
        """The reply without its last sentence, which may go on, and without a citation that has only begun."""
        reply = "".join(self._pieces)
        before, bracket, inside = reply.rpartition("[")
        sentences = list(_split(before if bracket and "]" not in inside else reply, Catalog(self.evidence)))
        last = next((at for at in range(len(sentences)) if _find_list_end(sentences, at) == len(sentences)), -1)
        if last < 0 or _is_cited_earlier(sentences[last:]):
            last = len(sentences) - 1  # no list that may have one citation, at its end
        return "".join(f"{one.gap}{one.as_written}" for one in sentences[: max(last, 0)])

    def reset(self) -> None:
        """Forget the reply so far, which was not the answer."""
        self._pieces.clear()
        self._verified = 0

    def finish(self, text: str) -> None:
        """Pass on what is missing of the final answer."""
        if self.on_text and not self._send(text):
            self.on_text(f"\n{text}")

    def _verify(self, reply: str) -> Verified:
        return verify(reply, self.evidence, self.question, keep_unsupported=self.keep_unsupported)

    def _send(self, text: str) -> bool:
        if not text.startswith(self._sent):
            return False
        if self.on_text and len(text) > len(self._sent):
            self.on_text(text[len(self._sent) :])
            self._sent = text
        return True

"""Verification of a reply: only sentences that their citations support stay in the answer.

A sentence stays if it cites a passage that was shown and `assessment.assess` finds that the passage supports it;
citations of anything else are removed from it. Every other sentence is dropped, with the reason. A list or a table
stays if each of its items or rows is supported, or is dropped as a whole. If nothing is left, the answer is the
refusal. Other brackets stay as they are: `Citation.places` tells where the markers of citations are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from shortlist._text import count_of
from shortlist.answer.citations import CitationCatalog
from shortlist.answer.claims.assessment import Assessment, Statement, assess
from shortlist.answer.claims.quotations import WORD, Span, find_spans
from shortlist.answer.judge import load_judge
from shortlist.answer.prompts import REFUSAL
from shortlist.answer.reply_sentences import (
    LONGEST_REPLY,
    TABLE_HEAD,
    ReplySentence,
    join_blocks,
    render_sentence,
    split_reply,
    strip_sentence,
)
from shortlist.results import Citation, Claim, Dropped, Evidence, Support

LONGEST_SENTENCE = 2_000  # characters that can be compared with passages in reasonable time

_CHECKED: tuple[Support, ...] = ("unsupported", "unchecked", "supported", "quoted")
_GAPS = ("", " ", "\n", "\n\n")  # between sentences
_UNCITED = "It cites nothing."
_WARNED = "It repeats a passage that tries to instruct its readers."
_VERIFIED = "The cited passages support every sentence of the answer."
_PLAIN_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class VerifiedReply:
    """What is left of a reply, what was dropped, and the reason if nothing is left."""

    text: str
    claims: list[Claim]
    dropped: list[Dropped]
    reason: str


class Verifier:
    """Verifies the reply to a question against the passages that were shown, also while it is being written.

    Each sentence is assessed once: a longer part of the same reply only costs its new sentences. With
    `keep_unsupported`, sentences that cite passages which do not support them stay, marked as such.
    """

    def __init__(self, evidence: Sequence[Evidence], question: str = "", *, keep_unsupported: bool = False) -> None:
        self.evidence = evidence
        self.question = question
        self.keep_unsupported = keep_unsupported
        self.judge = load_judge()
        self._checked: dict[Hashable, Claim] = {}

    def verify(self, reply: str) -> VerifiedReply:
        """The sentences of a reply that can be verified, joined to the answer, or exactly the refusal."""
        claims: list[Claim] = []
        dropped: list[Dropped] = []
        parts: list[str] = []
        gap = ""
        is_refusal = False
        for block in join_blocks(list(split_reply(reply, CitationCatalog(self.evidence)))):
            gap = max(gap, block[0].gap, key=_GAPS.index)
            said = [one for one in block if WORD.search(one.bare) and not _contains_refusal(one.bare)]
            is_refusal = is_refusal or any(_contains_refusal(one.bare) for one in block)
            checked = [self._check_once(one) for one in said]
            wrong = next((at for at, claim in enumerate(checked) if not self._is_kept(claim)), None)
            if wrong is not None and len(block) > 1 and not self.keep_unsupported:
                text = block[0].as_written + "".join(f"{one.gap}{one.as_written}" for one in block[1:])
                reason = f"{said[wrong].bare.strip()!r} in it: {checked[wrong].reason}"
                dropped.append(Dropped(text, reason, checked[wrong].missing, len(claims)))
                continue
            for sentence, claim in zip(said, checked, strict=True):
                gap = max(gap, sentence.gap, key=_GAPS.index)
                if self._is_kept(claim):
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
            return VerifiedReply("".join(parts), claims, dropped, _describe(claims))
        return VerifiedReply(REFUSAL, [], dropped, _explain_refusal(dropped, is_refusal))

    def _is_kept(self, claim: Claim) -> bool:
        return bool(claim.citations) and (claim.support != "unsupported" or self.keep_unsupported)

    def _check_once(self, sentence: ReplySentence) -> Claim:
        key = sentence.key
        if key not in self._checked:
            self._checked[key] = self._check(sentence)
        return self._checked[key]

    def _check(self, sentence: ReplySentence) -> Claim:
        """The sentence as a claim; without citations if it cites nothing that was shown."""
        markers, cited = sentence.own_markers, sentence.cited
        if not cited:
            reason = f"It cites {markers[0].text[:80]}, which was not shown." if markers else _UNCITED
            return Claim(sentence.bare, (), "unsupported", reason)
        if max(map(len, sentence.items or [sentence.bare])) > LONGEST_SENTENCE:
            reason = f"It has more than {LONGEST_SENTENCE:,} characters, the limit of a sentence."
            return Claim(sentence.bare, (), "unsupported", reason)
        if (head := TABLE_HEAD.match(sentence.text)) and (wrong := self._find_wrong_header(head.group(), cited)):
            return Claim(sentence.bare, (), "unsupported", f"The header of the table: {wrong.reason}", wrong.missing)
        statements = [strip_sentence(item) for item in sentence.items or (sentence.bare,)]
        found = self._assess_all(statements, cited)
        if len(cited) > 1 and found.support != "unsupported":
            cited, found = self._narrow(statements, cited, found)
        text, places = render_sentence(sentence, cited)
        citations = tuple(
            cite(item, sorted({span for one in statements for span in find_spans(one, item.text)}), places[item])
            for item in cited
        )
        warned = "" if any(not item.warning for item in cited) else _WARNED
        return Claim(text, citations, found.support, found.reason or warned, found.missing, found.probability)

    def _find_wrong_header(self, head: str, cited: tuple[Evidence, ...]) -> Assessment | None:
        """What is wrong with the header of a table: it may have words of its own, but no other number or opposite."""
        found = assess(Statement(head, cited, self.question))
        return found if found.findings.numbers or found.findings.negation or found.findings.opposite else None

    def _assess_all(self, statements: Sequence[str], cited: tuple[Evidence, ...]) -> Assessment:
        """The assessment of the items of a list, or of one sentence: the first that is unsupported decides."""
        assessments = []
        rate = self.judge.rate_claim if self.judge else None
        for text in statements:
            found = assess(Statement(text, cited, self.question), rate)
            if found.support == "unsupported":
                is_list = len(statements) > 1
                return found._replace(reason=f"{text.strip()!r} in the list: {found.reason}") if is_list else found
            assessments.append(found)
        least = min(assessments, key=lambda one: _CHECKED.index(one.support))
        return least._replace(probability=min(one.probability for one in assessments))

    def _narrow(
        self, statements: Sequence[str], cited: tuple[Evidence, ...], together: Assessment
    ) -> tuple[tuple[Evidence, ...], Assessment]:
        """The cited passages that support the sentence by themselves or, if only several do together, all."""
        alone = {item: self._assess_all(statements, (item,)) for item in cited}
        checked = {item: found for item, found in alone.items() if found.support in ("supported", "quoted")}
        supporting = tuple(checked or (item for item, found in alone.items() if found.support != "unsupported"))
        if not supporting or supporting == cited:
            return cited, together
        if len(supporting) == 1:
            return supporting, alone[supporting[0]]
        return supporting, self._assess_all(statements, supporting)


def verify(
    reply: str, evidence: Sequence[Evidence], question: str = "", *, keep_unsupported: bool = False
) -> VerifiedReply:
    """Verify a complete reply."""
    return Verifier(evidence, question, keep_unsupported=keep_unsupported).verify(reply)


def cite(item: Evidence, spans: Iterable[Span], places: Iterable[Span]) -> Citation:
    """A citation of a passage, with the spans that were taken from it and the places of its marker."""
    spans = tuple(spans)
    place = item.place
    if spans and item.locate:
        place = item.locate(min(start for start, _ in spans), max(end for _, end in spans))
    return Citation(item.number, item.marker, item.source, item.locator, spans, tuple(places), place)


def _describe(claims: Sequence[Claim]) -> str:
    unsupported, unchecked = (sum(claim.support == kind for claim in claims) for kind in ("unsupported", "unchecked"))
    found = [f"{count_of(unsupported, 'sentence', 'is not')} supported by what it cites."] if unsupported else []
    if unchecked:
        found.append(f"{count_of(unchecked, 'sentence')} could not be checked: what it cites is in another language.")
    return " ".join(found) or _VERIFIED


def _explain_refusal(dropped: Sequence[Dropped], is_refusal: bool) -> str:
    if is_refusal:
        return "The model found no answer in the passages."
    return f"No sentence could be verified: {dropped[0].reason}" if dropped else "The model returned no text."


def _contains_refusal(text: str) -> bool:
    refusal, plain = (" ".join(each.translate(_PLAIN_QUOTES).casefold().split()) for each in (REFUSAL, text))
    return refusal.rstrip(".") in plain

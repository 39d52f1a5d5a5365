"""Verification of a reply: only claims that their citations support stay in the answer.

The policy, sentence by sentence. A sentence stays if it cites at least one passage that was shown, its quotations are
in what it cites, word for word (space and the shape of quotation marks aside), and so is every number in it that the
question does not hold. Citations of what was never shown are taken out of it. Every other sentence is dropped, with
the reason. If none is left, the answer is the refusal. Square brackets are for citations alone: others that could be
taken for one become round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from shortlist.answer.extractive.sentences import is_abbreviated
from shortlist.answer.markers import Catalog, Marker
from shortlist.answer.prompts import REFUSAL
from shortlist.results import Citation, Claim, Dropped, Evidence

LONGEST_REPLY = 50_000  # characters that are looked at
SHARED_WORDS = 4  # in a row, which count as taken from a passage

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ue000-\uf8ff]")
_MUCH_SPACE = re.compile(r"\s{20,}")
_PLACE = re.compile("\ue000(\\d+)\ue001")
_AFTER_SENTENCE = re.compile(
    "(?:(?<=[.!?…])[\"'”’)*_]*(?:\\s*\ue000\\d+\ue001)*\\s+(?=[^\\sa-z\ue000])"
    "|(?<=[。！？])(?:\\s*\ue000\\d+\ue001)*\\s*(?=[^\\s\ue000])"
    "|\\s*\\n\\s*(?!\\s*\ue000))"
)
_OPENER = re.compile(
    r"(?:based (?:up)?on|according to|as (?:stated|described|mentioned) in|from)(?: (?:the|these|this|your|all|"
    r"provided|given|available|above|retrieved))*(?: (?:documents?|passages?|contexts?|sources?|texts?|information|"
    r"files?))(?: (?:provided|given|above|shown))?,\s*",
    re.IGNORECASE,
)
_REPLY_END = re.compile(r"[.!?。！？][\"'”’)]*\s*\Z")
_QUOTES = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|\"([^\"]+)\"")
_ELLIPSIS = re.compile(r"\s*(?:\[?\(?(?:\.\.\.|…)\)?\]?)\s*")
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f]\d+)*")
_LIST_NUMBER = re.compile(r"\s*(?:[-*•]\s+)?\d{1,3}[.)]\s")
_WORD = re.compile(r"\w+")
_ROUND = str.maketrans("[]", "()")
_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_KNOWN_FORMS = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})
_SAYS_REFUSAL = " ".join(REFUSAL.casefold().rstrip(".").split())


@dataclass(frozen=True, slots=True)
class Verified:
    """What is left of a reply, what was dropped of it, and why there is no answer if there is none."""

    text: str
    claims: list[Claim]
    dropped: list[Dropped]
    reason: str


def verify(reply: str, evidence: Sequence[Evidence], question: str = "") -> Verified:
    """The claims of a reply that hold, joined to the answer; the refusal, byte for byte, if none does."""
    text = _UNSEEN.sub(" ", _THOUGHTS.sub("", reply[:LONGEST_REPLY].replace("\r\n", "\n")))
    text = _MUCH_SPACE.sub(lambda run: "\n\n" if "\n" in run.group() else " ", text)
    claims: list[Claim] = []
    dropped: list[Dropped] = []
    parts: list[str] = []
    refused = False
    for gap, sentence, markers in _sentences(text, Catalog(evidence)):
        if _says_refusal(sentence):
            refused = True
            continue
        checked = _checked(sentence, markers, question)
        if isinstance(checked, Claim):
            parts += [gap if parts else "", checked.text]
            claims.append(checked)
        elif _WORD.search(_PLACE.sub("", sentence)):
            dropped.append(Dropped(_restored(sentence, markers), checked))
    if len(reply) > LONGEST_REPLY:
        dropped.append(Dropped(reply[LONGEST_REPLY : LONGEST_REPLY + 200], "It came after more than can be looked at."))
    if claims:
        return Verified("".join(parts), claims, dropped, "Every sentence cites what was shown.")
    if refused:
        reason = "The model found no answer in what it was shown."
    elif dropped:
        reason = f"None of {len(dropped)} sentences could be verified: {dropped[0].reason}"
    else:
        reason = "The model said nothing."
    return Verified(REFUSAL, [], dropped, reason)


def _sentences(text: str, catalog: Catalog) -> Iterator[tuple[str, str, list[Marker]]]:
    """Each sentence with a placeholder for each citation, what separates it from the one before, and the citations."""
    markers = catalog.find(text)
    held: list[str] = []
    last = 0
    for at, marker in enumerate(markers):
        held += [text[last : marker.start], f"\ue000{at}\ue001"]
        last = marker.end
    whole = "".join([*held, text[last:]]).strip()
    start, gap = 0, ""
    for match in _AFTER_SENTENCE.finditer(whole):
        if match.start() <= start or (not match.group().strip(" ") and is_abbreviated(whole, start, match.start())):
            continue
        end = match.start() + len(match.group().rstrip())
        yield gap, whole[start:end], markers
        breaks = match.group().count("\n")
        start, gap = match.end(), "\n\n" if breaks > 1 else "\n" if breaks else " "
    if start < len(whole):
        yield gap, whole[start:], markers


def _says_refusal(sentence: str) -> bool:
    bare = " ".join(_PLACE.sub("", sentence).translate(_KNOWN_FORMS).casefold().split())
    return _SAYS_REFUSAL in bare


def _checked(sentence: str, markers: Sequence[Marker], question: str) -> Claim | str:
    """The sentence as a claim, or why it is none."""
    own = [markers[int(place)] for place in _PLACE.findall(sentence)]
    cited = list(dict.fromkeys(item for marker in own for item in marker.cited))
    bare = _PLACE.sub("", sentence)
    if not own:
        return "It cites nothing."
    if not cited:
        return f"It cites {own[0].text[:80]}, which was not shown."
    if not _WORD.search(bare):
        return "It says nothing."
    spans: dict[int, list[tuple[int, int]]] = {item.number: [] for item in cited}
    for quote in _quotes(bare):
        found = [(item.number, place) for item in cited for place in _places(quote, item.text)]
        if not found:
            return f'It quotes "{quote[:80]}", which is not in what it cites.'
        for number, place in found:
            spans[number].append(place)
    strange = _strange_number(bare, cited, question)
    if strange:
        return f"The number {strange} is not in what it cites."
    for item in cited:
        spans[item.number] += _shared(bare, item.text)
    citations = tuple(
        Citation(item.number, item.marker, item.source, item.locator, _merged(spans[item.number])) for item in cited
    )
    return Claim(_written(sentence, markers), citations)


def _quotes(text: str) -> list[str]:
    found = ["".join(groups).strip().rstrip(".,;:!?") for groups in _QUOTES.findall(text)]
    return [quote for quote in found if _WORD.search(quote)]


def _places(quote: str, text: str) -> list[tuple[int, int]]:
    """Where each part of a quotation stands in a text, in order; nothing if one of them does not."""
    places = []
    at = 0
    for part in filter(None, _ELLIPSIS.split(quote)):
        match = re.compile(_verbatim(part)).search(text, at)
        if not match:
            return []
        places.append(match.span())
        at = match.end()
    return places


def _verbatim(part: str) -> str:
    """A pattern of the very words, with any space between them and quotation marks of any shape."""
    words = part.split()
    escaped = [re.sub(r"\\?[\"“”„«»]", '["“”„«»]', re.sub(r"['’‘`]", "['’‘`]", re.escape(word))) for word in words]
    first = words[0][0]
    if first.isalpha():
        escaped[0] = f"[{first.lower()}{first.upper()}]{escaped[0][len(re.escape(first)) :]}"
    return r"\s+".join(escaped)


def _strange_number(text: str, cited: Sequence[Evidence], question: str) -> str:
    """A number of a claim that neither its passages nor the question hold."""
    known = set(_numbers(question))
    for item in cited:
        known.update(_numbers(f"{item.text} {item.name} {item.context} {item.locator} {item.label}"))
    return next((number for number in _numbers(_LIST_NUMBER.sub("", text, count=1)) if number not in known), "")


def _numbers(text: str) -> list[str]:
    """The numbers in a text, without signs between thousands, with a point before decimals."""
    found = []
    for number in _NUMBER.findall(text):
        bare = re.sub(r"[.,\u00a0\u202f](?=\d{3}(?:\D|$))", "", number)
        found.append(re.sub(r"[,\u00a0\u202f]", ".", bare))
    return found


def _shared(claim: str, text: str) -> list[tuple[int, int]]:
    """Where a passage has some words in a row that the claim has, too."""
    own = [word.casefold() for word in _WORD.findall(claim)]
    words = list(_WORD.finditer(text))
    blocks = SequenceMatcher(
        None, own, [word.group().casefold() for word in words], autojunk=False
    ).get_matching_blocks()
    return [
        (words[block.b].start(), words[block.b + block.size - 1].end())
        for block in blocks
        if block.size >= SHARED_WORDS
    ]


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def _written(sentence: str, markers: Sequence[Marker]) -> str:
    """The sentence as it is shown: citations in their one form, and nothing else that could be taken for one."""
    text = _opened(in_round_brackets(sentence))

    def written(place: re.Match[str]) -> str:
        return "".join(item.marker for item in markers[int(place.group(1))].cited)

    text = re.sub(r"[ \t]+(?=[.,;:!?](?:\s|$))", "", _PLACE.sub(written, text))
    return re.sub(r"(?<=\S)[ \t]{2,}", " ", text).strip()


def _opened(sentence: str) -> str:
    """The sentence without an opener that only says that there are documents."""
    opener = _OPENER.match(sentence)
    if not opener or not _WORD.match(sentence, opener.end()):
        return sentence
    return sentence[opener.end()].upper() + sentence[opener.end() + 1 :]


def in_round_brackets(text: str) -> str:
    """The text, square brackets in it made round if they could be taken for a citation."""
    if "[" not in text and "]" not in text:
        return text
    outside = text
    for match in _BRACKETED.finditer(text):
        if any(sign in match.group(1) for sign in (":", "=", "\ue000")) or match.group(1).strip().isdecimal():
            return text.translate(_ROUND)
        outside = outside.replace(match.group(), "", 1)
    return text.translate(_ROUND) if "[" in outside or "]" in outside else text


def _restored(sentence: str, markers: Sequence[Marker]) -> str:
    return _PLACE.sub(lambda place: markers[int(place.group(1))].text, sentence)


@dataclass(slots=True)
class Stream:
    """Tells an answer while it is written: each sentence once it is complete and verified."""

    evidence: Sequence[Evidence]
    on_text: Callable[[str], None] | None
    question: str = ""
    _heard: list[str] = field(default_factory=list)
    _told: str = ""
    _looked_at: int = 0

    def hear(self, piece: str) -> None:
        """A further piece of the reply."""
        self._heard.append(piece)
        lately = "".join(self._heard[-3:])  # where a sentence ends is seen by what follows
        if self.on_text and any(sign in lately for sign in ".!?\n]。！？"):
            reply = "".join(self._heard)
            last = max((match.end() for match in re.finditer(r"[.!?\]\n。！？]\s+(?=[^\s\[])", reply)), default=0)
            if last <= self._looked_at:
                return
            self._looked_at = last
            checked = verify(reply[:last], self.evidence, self.question)
            if checked.claims:
                self._tell(checked.text)

    def complete_sentences(self) -> str:
        """What was heard up to the end of its last complete sentence, or nothing if none of it can be verified."""
        reply = "".join(self._heard)
        end = _REPLY_END.search(reply)
        text = reply if end else reply[: self._looked_at]
        return text if verify(text, self.evidence, self.question).claims else ""

    def forget(self) -> None:
        """What was said so far was no answer yet."""
        self._heard.clear()
        self._looked_at = 0

    def finish(self, text: str) -> None:
        """The answer as it is; what was told of it is not told again."""
        if self.on_text and not self._tell(text):
            self.on_text(f"\n{text}")

    def _tell(self, text: str) -> bool:
        if not text.startswith(self._told):
            return False
        if self.on_text and len(text) > len(self._told):
            self.on_text(text[len(self._told) :])
            self._told = text
        return True

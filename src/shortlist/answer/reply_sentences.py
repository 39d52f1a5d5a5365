"""The sentences of a reply, with placeholders for their citations, and the lists and tables that they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shortlist.answer.citations import CitationCatalog, Marker
from shortlist.answer.extractive.sentences import CLOSING, END_MARKS, is_abbreviation
from shortlist.index.text.languages import detect_language
from shortlist.results import Evidence

LONGEST_REPLY = 50_000  # characters that are read

Span = tuple[int, int]

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ue000-\uf8ff]")
_LONG_SPACE = re.compile(r"\s{20,}")
_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")  # stands for a citation, by its number in the reply
_AFTER_SENTENCE = re.compile(
    "(?:(?<=[.!?…])[\"'”’)*_]*(?:\\s*\ue000\\d+\ue001)*\\s+(?=[^\\sa-z\ue000])"
    f"|(?<=[{END_MARKS}])[{CLOSING}]*(?:\\s*\ue000\\d+\ue001)*\\s*(?=[^\\s\ue000])"
    "|\\s*\\n\\s*(?!\\s*\ue000))"
)
# The mark before an item of a list: its number, after a bullet or the mark of a heading.
_LIST_MARK = re.compile(r"(?:(?:[-*•>]|#{1,6})\s+)?[*_]{0,2}(\d{1,3}|[a-z]|[ivx]{2,5})[.)][*_]{0,2}(?:\s+|\Z)")
_ITEM = re.compile(rf"(?:[-*•]\s+|{_LIST_MARK.pattern})(?=\S)")
_ROW = re.compile(r"\|")
# The headers of a table and the line below them, which belong to its first row.
TABLE_HEAD = re.compile(r"\|[^\n\ue000]{0,500}\n[ \t]*\|[|: \t-]{1,500}\n\s*(?=\|)")
_OPENER = re.compile(
    r"(?:based (?:up)?on|according to|as (?:stated|described|mentioned) in|from)(?: (?:the|these|this|your|all|"
    r"provided|given|available|above|retrieved))*(?: (?:documents?|passages?|contexts?|sources?|texts?|information|"
    r"files?))(?: (?:provided|given|above|shown))?,\s*(?=\w)",
    re.IGNORECASE,
)


class ReplySentence(NamedTuple):
    """A sentence of a reply, or a list, a table or a line of them that has one citation, at its end."""

    gap: str  # what separates it from the sentence before
    text: str  # with a placeholder for each citation
    markers: Sequence[Marker]  # of the whole reply
    items: tuple[str, ...] = ()  # the sentences that share one citation, at the end

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

    @property
    def key(self) -> tuple[str, tuple[str, ...], tuple[tuple[Evidence, ...], ...]]:
        """What its verification depends on; the numbers of placeholders and the gap do not matter."""
        return self.as_written, self.items, tuple(marker.cited for marker in self.own_markers)

    def marker_at(self, place: re.Match[str]) -> Marker:
        return self.markers[int(place.group(1))]


def split_reply(reply: str, catalog: CitationCatalog) -> Iterator[ReplySentence]:
    """The sentences of a reply, without the thoughts before it and beyond its longest length."""
    text = _UNSEEN.sub(" ", _THOUGHTS.sub("", reply[:LONGEST_REPLY].replace("\r\n", "\n")))
    text = _LONG_SPACE.sub(lambda run: "\n\n" if "\n" in run.group() else " ", text)
    markers = catalog.find(text)
    pieces: list[str] = []
    last = 0
    for number, marker in enumerate(markers):
        pieces += [text[last : marker.start], f"\ue000{number}\ue001"]
        last = marker.end
    whole = "".join([*pieces, text[last:]]).strip()
    language = detect_language(_PLACEHOLDER.sub("", whole))
    start, gap = 0, ""
    numbers = {0}  # of list items so far
    for match in _AFTER_SENTENCE.finditer(whole):
        head = TABLE_HEAD.match(whole, start)
        if match.start() <= start or (head and match.start() < head.end()):
            continue
        if not match.group().strip(" *_"):
            mark = _LIST_MARK.fullmatch(whole, start, match.start())
            if mark and _is_next_item(mark.group(1), numbers, begins_line=gap != " "):
                continue
            if is_abbreviation(whole, start, match.start(), language):
                continue
        yield ReplySentence(gap, whole[start : match.start() + len(match.group().rstrip())], markers)
        breaks = match.group().count("\n")
        start, gap = match.end(), "\n\n" if breaks > 1 else "\n" if breaks else " "
    if start < len(whole):
        yield ReplySentence(gap, whole[start:], markers)


def join_blocks(sentences: Sequence[ReplySentence]) -> Iterator[list[ReplySentence]]:
    """What is supported or removed together: a sentence, or the items of a list, or the rows of a table.

    A list or table with one citation, at its end, is one sentence, and so is a line of it with one, at its end.
    """
    at = 0
    while at < len(sentences):
        end = find_block_end(sentences, at)
        several = sentences[at:end]
        lines = _split_lines(several)
        if len(lines) > 1 and not is_cited_earlier(several):
            yield [_join(several)]
        elif len(lines) > 1:
            yield [one for line in lines for one in (line if is_cited_earlier(line) else [_join(line)])]
        else:
            yield from ([one] for one in several or sentences[at : at + 1])
        at = max(end, at + 1)


def _split_lines(sentences: Sequence[ReplySentence]) -> list[list[ReplySentence]]:
    lines: list[list[ReplySentence]] = []
    for one in sentences:
        if not lines or "\n" in one.gap:
            lines.append([])
        lines[-1].append(one)
    return lines


def _join(sentences: Sequence[ReplySentence]) -> ReplySentence:
    if len(sentences) == 1:
        return sentences[0]
    text = sentences[0].text + "".join(f"{one.gap}{one.text}" for one in sentences[1:])
    return sentences[0]._replace(text=text, items=tuple(one.bare for one in sentences))


def find_block_end(sentences: Sequence[ReplySentence], start: int) -> int:
    """Where the list or table that begins at a sentence ends: at the first line that is no part of it; `start` if none
    begins."""
    if start < len(sentences) and sentences[start].text.startswith("|"):
        pattern, breaks = _ROW, {"\n"}
    else:
        pattern, breaks = _ITEM, {"\n", "\n\n"}
    end = start
    while end < len(sentences):
        begins_line = end == start or "\n" in sentences[end].gap
        if begins_line and not ((end == start or sentences[end].gap in breaks) and pattern.match(sentences[end].text)):
            break
        end += 1
    return end


def is_cited_earlier(sentences: Sequence[ReplySentence]) -> bool:
    """Whether a sentence of a list before its last one has a citation."""
    return any(one.own_markers for one in sentences[:-1])


def _is_next_item(number: str, numbers: set[int], *, begins_line: bool) -> bool:
    """Whether the number of a list item follows one of those before it, which then include it; letters always do."""
    if not number.isdecimal():
        return begins_line
    is_next = int(number) - 1 in numbers and (begins_line or number != "1")
    numbers.add(int(number) if is_next else 0)
    return is_next


def strip_sentence(sentence: str) -> str:
    """A sentence without the mark of a list, the head of a table and an opener."""
    head = TABLE_HEAD.match(sentence)
    mark = head.end() if head else _mark_length(sentence)
    opener = _OPENER.match(sentence, mark)
    return sentence[opener.end() if opener else mark :]


def _mark_length(text: str) -> int:
    mark = _LIST_MARK.match(text)
    return mark.end() if mark else 0


def render_sentence(sentence: ReplySentence, cited: Sequence[Evidence]) -> tuple[str, dict[Evidence, list[Span]]]:
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

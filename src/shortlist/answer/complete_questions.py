"""A follow-up as a question that is complete: with what it leaves out, or what its pronouns stand for.

"And chairs?" after "How long can I try a mattress?" is "How long can I try chairs?". Only English questions are
rewritten; where the words allow several readings, each is one.
"""

from __future__ import annotations

import re

from shortlist.answer.follow_ups import OPENER, WORDS
from shortlist.index.text.languages import ENGLISH, detect_language

MOST_READINGS = 2

_ASKED = re.compile(
    r"(?:how (?:many|much) \w+(?= (?:is|are|was|were|do|does|did|can|must)\b)|how \w+|what|which \w+|\w+)\b",
    re.IGNORECASE,
)
_OPENER = re.compile(rf"(?:{OPENER.pattern}|what if)[\s,]*", re.IGNORECASE)
# What a match begins with may not precede it, so that the time is linear.
_WORD = re.compile(r"(?<![\w'’.%£€$-])[\w'’.%£€$-]*[\w%]")
_CITATION = re.compile(r"(?<!\s)\s*\[[^\]]{0,200}\]")
_NAMES = re.compile(r"(?<![\w'’-])(?:[A-Z][\w'’-]+ )+[A-Z][\w'’-]+(?:(?:,| and) (?:[A-Z][\w'’-]+ )+[A-Z][\w'’-]+)*")
_PERSON = re.compile(r"\b(?:they|them|he|him|she)\b", re.IGNORECASE)
_OWNER = re.compile(r"\b(?:their|his|her|its)\b", re.IGNORECASE)
_THING = re.compile(r"\b(?:it|this|that)\b", re.IGNORECASE)
_ONE = re.compile(r"\bones?$")
_PARTICIPLE = re.compile(r"(?:\w+ed|kept|made|held|sold|paid|sent|built)$")

_ARTICLES = frozenset({"a", "an", "the", "my", "our", "your", "this", "that", "these", "those"})
_SPEAKERS = frozenset({"i", "you", "we", "they", "it", "he", "she", "one"})
_IDLE = (
    WORDS["asked"] | WORDS["verbs"] | WORDS["prepositions"] | WORDS["pronouns"] | _SPEAKERS | _ARTICLES
    | {"and", "or", "to", "be", "been", "have", "has", "had", "many", "much"}
)  # fmt: skip


def find_people(question: str, answer: str) -> str:
    """The people that an answer names, if the question asks who."""
    names = _NAMES.search(_CITATION.sub("", answer)) if question.strip().lower().startswith("who") else None
    return names.group() if names else ""


def complete_question(question: str, last_question: str, people: str = "") -> list[str]:
    """The complete questions that a follow-up may stand for, the likeliest first; none if no rule knows it.

    `people` are those that the conversation is about.
    """
    if not last_question or detect_language(question) != ENGLISH:
        return []
    fragment = _OPENER.sub("", question.strip(), count=1).rstrip("?!. ")
    words = [word.lower() for word in _WORD.findall(fragment)]
    last = last_question.strip().rstrip("?!. ")
    if not words:
        return []
    if words[0] in WORDS["asked"] and len(words) == 1:
        return [f"{_ASKED.sub(words[0].capitalize(), last, count=1)}?"]
    nouns = _find_nouns(last)
    if words[0] in WORDS["asked"] | WORDS["verbs"] or not WORDS["verbs"].isdisjoint(words):
        return _replace_pronoun(fragment, [last[start:end] for start, end in nouns], people)[:MOST_READINGS]
    if words[0] in WORDS["prepositions"] | {"to"}:
        phrase = re.search(rf"\b{words[0]}\b(?: (?:the|a|an))?(?: [\w'’-]+){{1,2}}$", last, re.IGNORECASE)
        return [f"{last[: phrase.start()] if phrase else f'{last} '}{fragment}?"]
    if _ONE.search(fragment) and (several := [last[start:end] for start, end in nouns if " " in last[start:end]]):
        fragment = _ONE.sub(several[0].split()[-1], fragment)
    return [f"{last[:start]}{fragment}{last[end:]}?" for start, end in nouns[::-1][:MOST_READINGS]]


def _replace_pronoun(fragment: str, nouns: list[str], people: str) -> list[str]:
    """The follow-up with the people, or with the nouns of the last question, for its pronoun."""
    for pattern, suffix, stands_for in (
        (_PERSON, "", [people] if people else nouns),
        (_OWNER, "'s", [people] if people else nouns),
        (_THING, "", nouns),
    ):
        if match := pattern.search(fragment):
            return [f"{fragment[: match.start()]}{each}{suffix}{fragment[match.end() :]}?" for each in stands_for]
    return []


def _find_nouns(text: str) -> list[tuple[int, int]]:
    """Where the noun phrases of a question may be: words with meaning, after an article if any, but no verbs."""
    found: list[tuple[int, int]] = []
    phrase: list[re.Match[str]] = []
    previous = ""
    has_auxiliary = False
    for word in [*_WORD.finditer(text), None]:
        lower = word.group().lower() if word else ""
        is_idle = word is None or lower in _IDLE
        if phrase and (is_idle or _PARTICIPLE.match(lower)):
            if has_auxiliary and len(phrase) > 1 and lower not in WORDS["verbs"] | {"be", "have"}:
                is_verb = _PARTICIPLE.match(lower) is None and not phrase[-1].group()[0].isupper()
                phrase = phrase[:-1] if is_verb else phrase
                has_auxiliary = False
            found.append((phrase[0].start(), phrase[-1].end()))
            phrase = []
        has_auxiliary = has_auxiliary or lower in {"do", "does", "did", "can", "must", "may", "will", "should"}
        if word and not is_idle and previous not in _SPEAKERS and not _PARTICIPLE.match(lower):
            phrase.append(word)
        previous = lower
    start = _ASKED.match(text)
    return [place for place in found if start is None or place[0] >= start.end()]

"""Whether a question refers to the turn before it, by its words: pronouns, openers and what it leaves out.

In other languages than English only the openers and the length tell.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal

from shortlist.answer.extractive import english
from shortlist.answer.extractive.lexicon import get_lexicon
from shortlist.index.text.languages import ENGLISH, detect_language

Reference = Literal["none", "unclear", "clear"]

FEW_WORDS = 2  # with meaning of their own, after an opener such as "and"
FRAGMENT_WORDS = 3  # with meaning of their own, at most, in a text that is no sentence

_FILE = Path(__file__).with_suffix(".toml")
OPENER = re.compile(
    r"(?:and|but|or|so|also|then|what about|how about|why not|how so|which (?:ones?|of (?:them|these|those)))\b"
)
_DEFINITION = re.compile(r"(?:what|who|where) (?:is|are|was|were|does)\b")
_IMPERSONAL = re.compile(  # "how long does it take to", "is it true that"
    r"\bit (?:\w+ )?(?:possible|necessary|required|allowed|permitted|forbidden|legal|safe|true|better|important"
    r"|takes?|costs?|matters?|means?)\b.{0,80}?\b(?:to|that|if|whether|for)\b"
)
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[,;:]")

WORDS = {name: frozenset(text.split()) for name, text in tomllib.loads(_FILE.read_text("utf-8")).items()}
_ASKED, _VERBS, _PREPOSITIONS, _CLAUSES, _POSSESSIVES, _DEMONSTRATIVES, _TIMES, _COMPARED = (
    WORDS[name]
    for name in ("asked", "verbs", "prepositions", "clauses", "possessives", "demonstratives", "times", "compared")
)
_PRONOUNS = _POSSESSIVES | WORDS["pronouns"]
_STARTS = _ASKED | _VERBS | WORDS["starts"]
_BEFORE_NOUNS = _VERBS | _PREPOSITIONS | WORDS["articles"]
_EMPTY = english.ASKING | english.FUNCTION_WORDS | english.NUMBER_WORDS | english.ORDINALS
_EMPTY = _EMPTY.union(*(WORDS[name] for name in WORDS.keys() - {"times"}))


def find_reference(question: str) -> Reference:
    """Whether a question can only be understood with the turn before it ("clear"), without it ("none"), or perhaps."""
    language = detect_language(question)
    return _find_english_reference(question) if language == ENGLISH else _find_other_reference(question, language)


def _find_other_reference(question: str, language: str) -> Reference:
    """The same in another language: a question after "and" or "but", or one that is short or refers back, may refer."""
    lexicon = get_lexicon(language)
    topics = [word for word in lexicon.list_topics(question) if word.lower() not in lexicon.function_words]
    idle = lexicon.list_idle(question)
    topics = [word for word in topics if word.lower() not in idle] if lexicon.is_spaced else topics
    if not topics:
        return "clear"
    has_opener = bool(lexicon.openers.match(lexicon.normalize(question).lstrip()))
    return "unclear" if has_opener or len(topics) == 1 or lexicon.refers_back(question) else "none"


def _find_english_reference(question: str) -> Reference:
    text = question.replace("’", "'").lower()
    as_written = _TOKEN.findall(question)
    words = [word.replace("’", "'").lower() for word in as_written]
    topics = [at for at, word in enumerate(words) if word not in _EMPTY]
    if not topics:
        return "clear"
    if OPENER.match(text.strip()):
        return "clear" if len(topics) <= FEW_WORDS else "unclear"
    nouns = _find_nouns(as_written, topics)
    found: set[Reference] = {_resolve(words, at, nouns) for at in _find_pronouns(words, nouns, text)}
    if "clear" in found:
        return "clear"
    if words[0] in _PREPOSITIONS and words[1] not in _ASKED and len(topics) <= FEW_WORDS:
        return "clear"  # "for Norway?"
    is_fragment = words[0] not in _STARTS and not _ASKED.intersection(words) and len(topics) <= FRAGMENT_WORDS
    is_short = len(topics) == 1 and not _DEFINITION.match(text)
    is_compared = not _COMPARED.isdisjoint(words) and "than" not in words
    return "unclear" if "unclear" in found or is_fragment or is_short or is_compared else "none"


def _find_pronouns(words: list[str], nouns: list[int], text: str) -> list[int]:
    """The positions of words that stand for something that was named before."""
    is_impersonal = bool(_IMPERSONAL.search(text))
    found = []
    for at, word in enumerate(words):
        before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
        if word in _DEMONSTRATIVES:
            is_clause = word == "that" and after and (is_impersonal or at - 1 in nouns)  # "for parcels that are late"
            refers = not is_clause and after not in _TIMES
        elif word == "there":
            refers = before not in _VERBS and after not in _VERBS
        elif word == "one":
            refers = before in _DEMONSTRATIVES | english.ORDINALS | {"which", "next", "previous"}
        else:
            refers = word in _PRONOUNS and not (word == "it" and is_impersonal)
        if refers:
            found.append(at)
    return found


def _find_nouns(words: list[str], topics: list[int]) -> list[int]:
    """The positions of words that a pronoun may stand for: names, and what follows an article or the like."""
    nouns: list[int] = []
    for at in topics:
        if at and (words[at - 1].lower() in _BEFORE_NOUNS or at - 1 in nouns or words[at][0].isupper()):
            nouns.append(at)
    return nouns


def _resolve(words: list[str], at: int, nouns: list[int]) -> Reference:
    """Whether the pronoun at this position refers to the turn before, or to a noun of the question itself.

    The noun has to be in an earlier clause, except for a possessive: "Does Venus keep its heat?".
    """
    earlier = [noun for noun in nouns if noun < at]
    if earlier and (words[at] in _POSSESSIVES or not _CLAUSES.isdisjoint(words[earlier[0] + 1 : at])):
        return "none"
    is_adjective = words[at] in _DEMONSTRATIVES and at + 1 < len(words) and words[at + 1] not in _EMPTY
    return "unclear" if is_adjective else "clear"

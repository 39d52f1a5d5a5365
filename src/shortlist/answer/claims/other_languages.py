"""Claims that are not compared by the English rules: what can be checked of them in their language, or in any.

Numbers with their units are compared in any language. If a claim and the passages that it cites are in the same
language, its names, negations, words for "only" and content words are compared, too. If they are in different ones,
words cannot be compared, and a claim without a wrong number is `unchecked`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shortlist.answer.claims.claim_words import read_number, read_passage
from shortlist.answer.extractive.lexicon import Lexicon, find_unit, fold_digits, get_lexicon
from shortlist.answer.extractive.signals import Question, find_other_forms, is_latin_name
from shortlist.answer.extractive.units.splitting import split_spans
from shortlist.index.text.analyzers import DEFAULT, Analyzer, get_analyzer
from shortlist.index.text.languages import ENGLISH, detect_language, name_language
from shortlist.results import Evidence, Support

MOST_MISSING, MOST_MISSING_WITH_END = 2 / 3, 1 / 2  # share of the words, and if the last one is missing, too
CLOSE_SENTENCES = 2  # of the passages, with which the words of a claim are compared
NEGATED = 40  # characters after a negation that it negates

_NUMBER = re.compile(r"(?<!\d)\d+(?:[.,:]\d+)*")
_SPACED_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
_HAN_SCALES = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000, "千": 1_000, "百": 100}
_SIGNS = {"%": "percent", "٪": "percent", "％": "percent", "€": "euro", "$": "dollar"}


class ClaimLanguages(NamedTuple):
    """The language of a claim, and those of the passages that it cites."""

    claim: str
    passages: frozenset[str]

    @property
    def are_english(self) -> bool:
        """Whether the English rules can compare them."""
        return self.claim == ENGLISH and self.passages == {ENGLISH}


class LanguageCheck(NamedTuple):
    """Whether the passages support a claim, the reason and the missing part if not."""

    support: Support
    reason: str = ""
    missing: str = ""


class _Amount(NamedTuple):
    value: str
    unit: str
    text: str


def find_languages(text: str, cited: Sequence[Evidence]) -> ClaimLanguages:
    """The languages of a claim and of what it cites; a claim that does not tell has that of the first passage."""
    languages = [detect_language(item.text) for item in cited]
    found = detect_language(text, languages[0] if languages else ENGLISH)
    if found not in languages:  # short sentences do not always tell their language
        found = next((code for code in languages if code != ENGLISH and _shares_words(text, cited, code)), found)
    return ClaimLanguages(found, frozenset(languages))


def _shares_words(text: str, cited: Sequence[Evidence], language: str) -> bool:
    analyzer = get_analyzer(DEFAULT).bind((language,))
    words = _list_content(text, get_lexicon(language), analyzer)
    known = {term for item in cited for term in analyzer.terms(item.text)}
    return 2 * sum(not known.isdisjoint(terms) for _, terms in words) > len(words)


def check_claim(text: str, cited: Sequence[Evidence], question: str, languages: ClaimLanguages) -> LanguageCheck:
    """Compare a claim with the passages that it cites by what can be compared in their languages."""
    titles = " ".join(f"{item.name} {item.context} {item.label} {item.locator}" for item in cited)
    known = [*_read_amounts(f"{titles} {question}", languages.claim)]
    for item in cited:
        known += _read_amounts(item.text, detect_language(item.text))
    if wrong := _find_wrong_number(_read_amounts(text, languages.claim), known):
        return LanguageCheck("unsupported", f"The number {wrong} is not in what it cites.", wrong)
    same = [item for item in cited if detect_language(item.text) == languages.claim]
    if not same:
        others = " and ".join(sorted(map(name_language, languages.passages)))
        reason = (
            f"Only its numbers could be compared: it is in {name_language(languages.claim)}, what it cites in {others}."
        )
        return LanguageCheck("unchecked", reason)
    return _compare_words(text, same, f"{titles} {question}", languages.claim)


def _compare_words(text: str, cited: Sequence[Evidence], around: str, language: str) -> LanguageCheck:
    lexicon, analyzer = get_lexicon(language), get_analyzer(DEFAULT).bind((language,))
    words = _list_content(text, lexicon, analyzer)
    if not words:
        return LanguageCheck("unchecked", "It has no word that can be compared.")
    sentences = [item.text[start:end] for item in cited for start, end in split_spans(item.text, language)]
    wanted = dict.fromkeys((term for _, terms in words for term in terms), 1.0)
    every = frozenset(term for part in (*sentences, around) for term in analyzer.terms(part))
    forms = find_other_forms(Question("", "", wanted, (), (), is_negated=False, language=language), every)

    def spell(part: str) -> frozenset[str]:
        return frozenset(forms.get(term, term) for term in analyzer.terms(part))

    ranked = sorted(sentences, key=lambda part: -len(wanted.keys() & spell(part)))[:CLOSE_SENTENCES]
    near, everywhere = spell(" \n".join((*ranked, around))), spell(" \n".join((*sentences, around)))
    for name in _find_names(text, lexicon):
        if everywhere.isdisjoint(analyzer.terms(name)) and analyzer.terms(name):
            return LanguageCheck("unsupported", f"The name {name} is not in what it cites.", name)
    if wrong := _find_other_negation(text, ranked, lexicon, analyzer, wanted):
        return LanguageCheck("unsupported", f'It and what it cites disagree on "{wrong}".', wrong)
    if (only := lexicon.only.search(lexicon.normalize(text))) and not _search(lexicon.only, ranked, lexicon):
        return LanguageCheck("unsupported", f'What it cites does not say "{only.group()}".', only.group())
    missing = [word for word, terms in words if 2 * sum(term in near for term in terms) < len(terms)]
    lacks_end = not everywhere.intersection(words[-1][1])
    if len(missing) / len(words) >= (MOST_MISSING_WITH_END if lacks_end else MOST_MISSING):
        listed = list(dict.fromkeys(missing))
        reason = f"What it cites does not contain {', '.join(map(repr, listed))}."
        return LanguageCheck("unsupported", reason, ", ".join(listed))
    return LanguageCheck("supported")


def _list_content(text: str, lexicon: Lexicon, analyzer: Analyzer) -> list[tuple[str, tuple[str, ...]]]:
    """The words of a claim that say something, with their terms; without spaces between words, pairs of characters."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for word in lexicon.list_topics(text):
        terms = tuple(analyzer.terms_of(word))
        if not terms or word.lower() in lexicon.function_words or re.search(r"\d", word):
            continue
        found += [(word, terms)] if lexicon.is_spaced else [(term, (term,)) for term in terms if len(term) > 1]
    return found


def _find_names(text: str, lexicon: Lexicon) -> Iterable[str]:
    words = lexicon.words(text)
    for at, word in enumerate(words):
        has_capital = at > 0 and word[0].isupper() and lexicon.names_have_capitals
        if (has_capital or is_latin_name(word, lexicon)) and word.lower() not in lexicon.function_words:
            yield word


def _search(pattern: re.Pattern[str], texts: Iterable[str], lexicon: Lexicon) -> bool:
    return any(pattern.search(lexicon.normalize(text)) for text in texts)


def _find_other_negation(
    text: str, ranked: Sequence[str], lexicon: Lexicon, analyzer: Analyzer, wanted: Iterable[str]
) -> str:
    """A negation that the claim has and the closest sentences lack, or that the closest one has for its words."""
    if own := lexicon.negation.search(lexicon.normalize(text)):
        return "" if _search(lexicon.negation, ranked, lexicon) else own.group()
    closest = lexicon.normalize(ranked[0]) if ranked else ""
    for match in lexicon.negation.finditer(closest):
        negated = set(analyzer.terms(closest[match.end() : match.end() + NEGATED])[:2])
        if negated and negated <= set(wanted):
            return match.group()
    return ""


def _find_wrong_number(claimed: Iterable[_Amount], known: Sequence[_Amount]) -> str:
    """A number of the claim that the passages lack, or have with another unit only."""
    for amount in claimed:
        units = {one.unit for one in known if one.value == amount.value}
        if not units or (amount.unit and "" not in units and amount.unit not in units):
            return amount.text
    return ""


def _read_amounts(text: str, language: str) -> list[_Amount]:
    """The numbers of a text, also as words, with their units."""
    if language == ENGLISH:
        numbers = [word for sentence in read_passage(text).sentences for word in sentence.words if word.number]
        return [_Amount(word.number, word.unit if word.unit != "date" else "", word.text) for word in numbers]
    lexicon = get_lexicon(language)
    text = _SPACED_THOUSANDS.sub("", fold_digits(text))
    amounts = []
    for match in _NUMBER.finditer(text):
        rest = text[match.end() : match.end() + 30]
        value, rest = _scale(read_number(match.group()), rest, lexicon)
        unit = _SIGNS.get(rest.lstrip()[:1]) or _SIGNS.get(text[: match.start()].rstrip()[-1:])
        amounts.append(_Amount(value, unit or find_unit(rest, language), match.group()))
    if lexicon.is_spaced:
        names = lexicon.numbers
        words = lexicon.words(text)
        amounts += [_Amount(str(names[word]), "", word) for word in map(str.lower, words) if names.get(word, 1) != 1]
    return amounts


def _scale(value: str, rest: str, lexicon: Lexicon) -> tuple[str, str]:
    """A number times the word for thousands or millions after it, and what follows that."""
    following = rest.lstrip()
    scale, length = _HAN_SCALES.get(following[:1], 0), 1
    if lexicon.is_spaced and (words := following.split(maxsplit=1)):
        scale, length = lexicon.numbers.get(words[0].rstrip(".,;"), 0), len(words[0])
    if scale < 100 or ":" in value or value.count(".") > 1:
        return value, rest
    return f"{float(value) * scale:.15g}", following[length:]

"""A claim and the passages that it cites: which words of one stand for which of the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from shortlist.answer.claims.claim_words import (
    AUXILIARIES,
    JOINING,
    OPEN,
    SOURCES,
    AnalyzedSentence,
    AnalyzedWord,
    load_synonyms,
    read_claim,
    read_passage,
)
from shortlist.answer.extractive import english
from shortlist.answer.extractive.signals import Question, contains_opposite, find_other_forms
from shortlist.results import Evidence

STEM, ENDING = 4, 5  # letters that two words share at least, and that one has more at most: drum, drummer


def has_title(item: Evidence) -> bool:
    """Whether a passage tells what it is about; the name of a file does not."""
    return bool(item.context) or item.name not in ("", item.id, item.label)


class ClaimComparison:
    """A claim and the passages that it cites; `forms` are the terms that may stand for each of its terms."""

    def __init__(self, claim: AnalyzedSentence, cited: Sequence[Evidence], question: str) -> None:
        self.claim = claim
        self.cited = cited
        self.content = [word for word in claim.words if (word.terms or word.number) and word.text not in SOURCES]
        self.is_titled = any(map(has_title, cited))
        titles = [read_passage(f"{item.name}. {item.context}. {item.label}, {item.locator}") for item in cited]
        self.passages = [read_passage(item.text) for item in cited]
        everything = (*self.passages, *titles)
        self.title_terms = frozenset().union(*(one.places for one in titles))
        self.terms = frozenset().union(*(one.places for one in everything))
        self.numbers = frozenset().union(*(one.numbers for one in everything))
        self.units = frozenset().union(*(one.units for one in everything))
        self.sentences = [sentence for one in self.passages for sentence in one.sentences]
        self.forms = self._find_forms()
        self.places = {term: self._find_places(forms) for term, forms in self.forms.items()}
        self.chosen = self._choose_sentences()
        self.near = self.title_terms.union(*(one.terms for one in self.chosen))
        self.presupposed = _read_presupposed(question, is_negated=any(word.denies for word in claim.words))

    def _find_forms(self) -> dict[str, Set[str]]:
        base_forms, synonyms = english.load_base_forms(), load_synonyms()
        terms = dict.fromkeys((term for word in self.content for term in word.terms), 1.0)
        forms = {term: {term} | synonyms.get(base_forms.get(term, term), set()) for term in terms}
        asked = Question("", "", terms, (), (), is_negated=False)
        names = {term for word in self.content if word.is_name for term in word.terms}
        for other, term in find_other_forms(asked, self.terms).items():
            if term not in names or term.startswith(other) or other.startswith(term):  # not Johnston for Johnson
                forms[term].add(other)
        plain = {term for word in self.content if not word.is_name for term in word.terms if len(term) >= STEM}
        for term in plain:
            if forms[term].isdisjoint(self.terms):
                longer = {other for other in self.terms if other.startswith(term) and len(other) <= len(term) + ENDING}
                shorter = {term[:end] for end in range(max(STEM, len(term) - ENDING), len(term))} & self.terms
                forms[term] |= longer | shorter
        return dict(forms)

    def _find_places(self, forms: Iterable[str]) -> set[int]:
        """The sentences that have one of these terms."""
        places: set[int] = set()
        first = 0
        for passage in self.passages:
            for form in forms:
                places.update(first + at for at in passage.places.get(form, ()))
            first += len(passage.sentences)
        return places

    def has(self, word: AnalyzedWord, terms: Set[str]) -> bool:
        """Whether these terms contain a word of the claim in one of its forms."""
        if word.unit and word.unit in self.units:
            return True
        found = sum(not self.forms[term].isdisjoint(terms) for term in word.terms)
        return found >= len(word.terms) * (1 if word.text.isascii() else 1 / 2)  # the bigrams of Chinese or Japanese

    def spell(self, words: Iterable[AnalyzedWord]) -> set[str]:
        """All forms of some words of the claim."""
        return {form for word in words for term in word.terms for form in self.forms.get(term, ())}

    def is_ours(self, term: str) -> bool:
        """Whether a term of a passage stands for a word of the claim."""
        return any(term in forms for forms in self.forms.values())

    def has_opposite(self, terms: Iterable[str]) -> bool:
        """Whether the closest sentences say the opposite of one of these terms."""
        synonyms = load_synonyms()
        return contains_opposite(terms, self.near.union(*(synonyms.get(term, ()) for term in self.near)))

    def _choose_sentences(self) -> list[AnalyzedSentence]:
        """The sentences with the most words of the claim, as many as it has parts or cites passages.

        One that refers back ("They were ...") is chosen together with the one before it.
        """
        parts = 1 + max(sum(word.text in JOINING for word in self.claim.words), self.claim.words[-1].clause)
        missing, numbers = set(self.forms), self.claim.numbers
        names = {term for word in self.content if word.is_name for term in word.terms}
        chosen: list[AnalyzedSentence] = []
        for _ in range(max(parts, len(self.cited))):
            counts = Counter(place for term in missing for place in self.places[term])
            counts.update(at for at, one in enumerate(self.sentences) if numbers for _ in numbers & one.numbers)
            if not counts:
                break
            most = max(counts.values())
            best = [place for place, count in counts.items() if count == most]
            at = max(best, key=lambda place: (sum(place in self.places[term] for term in names), -place))
            one = self.sentences[at]
            chosen += self.sentences[at - 1 : at + 1] if at and one.words[0].text in english.BACKWARD else [one]
            missing = {term for term in missing if at not in self.places[term]}
            numbers = numbers - one.numbers
        return chosen


class Presupposed(NamedTuple):
    """The numbers and terms that a claim may take from its question."""

    numbers: Set[str] = frozenset()
    terms: Set[str] = frozenset()


def _read_presupposed(question: str, *, is_negated: bool) -> Presupposed:
    """The numbers and names that a question takes for granted: not those of "Is it 30 days?", unless that is denied."""
    asked = read_claim(question)
    is_open = bool(asked.words) and asked.words[0].text not in AUXILIARIES and not asked.texts.isdisjoint(OPEN)
    return Presupposed(asked.numbers, asked.terms) if is_open or is_negated else Presupposed()

"""What a claim says that the passages it cites do not: numbers, names, words, negations, quantifiers and roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from shortlist.answer.claims.claim_words import (
    ALL,
    ANY,
    AUXILIARIES,
    BOUNDS,
    JOINING,
    NO_ONE,
    ONLY,
    OPEN,
    SOURCES,
    Sentence,
    Word,
    load_synonyms,
    may_begin_with_name,
    read_claim,
    read_passage,
)
from shortlist.answer.extractive import english
from shortlist.answer.extractive.signals import Question, contains_opposite, find_other_forms
from shortlist.results import Evidence

BEFORE_NUMBER = 3  # words that may limit a number: "at least", "no more than"
DENIED_WORDS = 3  # words that a negation denies
STEM, ENDING = 4, 5  # letters that two words share at least, and that one has more at most: drum, drummer
MOST_MISSING, MOST_MISSING_WITH_END = 2 / 3, 1 / 2  # share of the words, and if the last one is missing, too
MOST_MISSING_UNTITLED = 0.7  # if the last one is missing, in passages that may not name what they are about
MOST_REPLACED = 1 / 3  # share of the words that are missing, if one of them stands for another
BEFORE_BY = 5  # words between a verb and who does it: "discovered in 1877 by"
NEAR_VERB = 8  # words on each side of a verb that may be who does it and to whom


class Findings(NamedTuple):
    """What is wrong with a claim: the words in question, or nothing."""

    numbers: tuple[str, ...] = ()  # in no cited passage
    names: tuple[str, ...] = ()  # in no cited passage
    topic: str = ""  # the one of them that passages without a title may be about
    misplaced: str = ""  # a number with another unit, limit or subject than in the passages
    negation: str = ""  # denied by the claim or by the passages alone
    quantifier: str = ""  # "only" or "all", which the passages do not say
    opposite: str = ""  # whose opposite the passages say
    role: str = ""  # of a name or verb that the passages give to another
    replaced: str = ""  # for another word of the passages
    words: tuple[str, ...] = ()  # not in the closest sentences
    words_missing: float = 0.0  # their share of the words that are not names or numbers
    lacks_words: bool = False  # too many
    has_content: bool = False  # says something that can be compared


# Kept, since a statement is assessed without a model and then with one.
@lru_cache(maxsize=1024)
def find_differences(text: str, cited: tuple[Evidence, ...], question: str = "") -> Findings:
    """Compare a sentence without citations with the passages that it cites."""
    claim = read_claim(text)
    return _Comparison(claim, cited, question).find() if claim.words else Findings()


def has_title(item: Evidence) -> bool:
    """Whether a passage tells what it is about; the name of a file does not."""
    return bool(item.context) or item.name not in ("", item.id, item.label)


class _Denied(NamedTuple):
    terms: tuple[str, ...]
    numbers: frozenset[str]
    follow: bool  # the negation


class _Comparison:
    """A claim and the passages that it cites; `forms` are the terms that may stand for each of its terms."""

    def __init__(self, claim: Sentence, cited: Sequence[Evidence], question: str) -> None:
        self.claim, self.cited = claim, cited
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
        self.chosen = self._choose()
        self.near = self.title_terms.union(*(one.terms for one in self.chosen))
        self.presupposed = _read_presupposed(question, is_negated=any(word.denies for word in claim.words))

    def find(self) -> Findings:
        names = tuple(self._find_missing_names())
        topic = names[0] if names and self._may_lack_topic() else ""
        plain = [word for word in self.content if word.terms and not word.is_name]
        missing = [word for word in plain if not self._has(word, self.near)]
        share = len(missing) / max(len(plain), 1)
        return Findings(
            tuple(self._find_missing_numbers()),
            names[1:] if topic and self._refers_back() else names,
            "" if topic and self._refers_back() else topic,
            self._find_misplaced(),
            self._find_negation(),
            self._find_quantifier(),
            next((word.text for word in missing if self._has_opposite(word.terms)), ""),
            self._find_other_subject() or self._find_swapped() or self._find_stray_name(),
            self._find_replaced() if share <= MOST_REPLACED else "",
            tuple(dict.fromkeys(word.text for word in missing)),
            share,
            self._lacks_words(share),
            bool(self.content),
        )

    # Words

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

    def _has(self, word: Word, terms: Set[str]) -> bool:
        if word.unit and word.unit in self.units:
            return True
        found = sum(not self.forms[term].isdisjoint(terms) for term in word.terms)
        return found >= len(word.terms) * (1 if word.text.isascii() else 1 / 2)  # the bigrams of Chinese or Japanese

    def _spell(self, words: Iterable[Word]) -> set[str]:
        """All forms of some words of the claim."""
        return {form for word in words for term in word.terms for form in self.forms.get(term, ())}

    def _is_ours(self, term: str) -> bool:
        return any(term in forms for forms in self.forms.values())

    def _has_opposite(self, terms: Iterable[str]) -> bool:
        synonyms = load_synonyms()
        return contains_opposite(terms, self.near.union(*(synonyms.get(term, ()) for term in self.near)))

    def _lacks_words(self, share: float) -> bool:
        """Whether too many words are missing: fewer if the last one is, which usually tells what is new."""
        last = next((word for word in reversed(self.content) if word.terms), None)
        lacks_end = last is not None and not self._has(last, self.terms)
        if self.is_titled:
            return share >= (MOST_MISSING_WITH_END if lacks_end else MOST_MISSING)
        return lacks_end and share >= MOST_MISSING_UNTITLED

    def _find_replaced(self) -> str:
        """A missing word whose place another word has: "warehouse staff" for "office staff"."""
        for word, following in pairwise(self.claim.words):
            is_missing = word in self.content and word.terms and not word.is_name and not self._has(word, self.near)
            if not is_missing or not following.terms or following not in self.content:
                continue
            forms = self._spell([following])
            others = [
                one for sentence in self.chosen for one, next_one in pairwise(sentence.words)
                if not forms.isdisjoint(next_one.terms)
            ]  # fmt: skip
            if others and all(one.terms and not any(map(self._is_ours, one.terms)) for one in others):
                return word.text
        return ""

    def _choose(self) -> list[Sentence]:
        """The sentences with the most words of the claim, as many as it has parts or cites passages.

        One that refers back ("They were ...") is chosen together with the one before it.
        """
        parts = 1 + max(sum(word.text in JOINING for word in self.claim.words), self.claim.words[-1].clause)
        missing, numbers = set(self.forms), self.claim.numbers
        names = {term for word in self.content if word.is_name for term in word.terms}
        chosen: list[Sentence] = []
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

    # Names

    def _find_names(self) -> list[list[Word]]:
        """The names of the claim, each as its words."""
        names: list[list[Word]] = []
        before: Word | None = None
        for word in self.claim.words:
            if word.is_name and word.text not in SOURCES:
                if before and before.is_name and before.clause == word.clause:
                    names[-1].append(word)
                else:
                    names.append([word])
            before = word
        first = self.claim.words[0]
        if first in self.content and may_begin_with_name(self.claim) and not self._has(first, self.terms):
            names.insert(0, [first])
        return names

    def _find_missing_names(self) -> Iterator[str]:
        known = self.terms | self.presupposed.terms
        for name in self._find_names():
            missing = [word.text for word in name if not self._has(word, known)]
            is_shortened = len(name) > 1 and "".join(word.text[0] for word in name) in self.terms
            if missing and not is_shortened and not all(map(self._is_spelled_out, missing)):
                yield " ".join(text.capitalize() for text in missing)

    def _is_spelled_out(self, name: str) -> bool:
        """Whether some names in a row have these initials."""
        initials = "".join(word.text[0] if word.is_name else " " for one in self.sentences for word in one.words)
        return 1 < len(name) < 6 and name in initials

    def _may_lack_topic(self) -> bool:
        """Whether the passages have no title and may not name what they are about, unless its name is the news."""
        words = self.claim.words
        news = [words[-1], *(word for before, word in pairwise(words) if before.text == "by")]
        return not self.is_titled and not any(word.is_name and not self._has(word, self.terms) for word in news)

    def _refers_back(self) -> bool:
        """Whether a passage begins with "he" or "the city", or has the last part of the first name of the claim."""
        begins = [one.sentences[0].words for one in self.passages if one.sentences]
        before_names = (word for words in begins for word in takewhile(lambda word: not word.is_name, words))
        is_partial = any(self._has(name[-1], self.terms) for name in self._find_names()[:1])
        return is_partial or any(word.text in english.BACKWARD or word.text == "the" for word in before_names)

    # Numbers

    def _find_missing_numbers(self) -> Iterator[str]:
        known = self.numbers | self.presupposed.numbers
        lists = [names for names in self._find_lists() if len(names) > 1]
        for word in self.content:
            is_counted = any(word.number == str(len(names)) for names in lists)  # "two founders, Ines and Tobias"
            if word.number and word.number not in known and not is_counted:
                yield word.text

    def _find_lists(self) -> Iterator[list[Word]]:
        """The first words of the names in each list of names."""
        names: list[Word] = []
        before: Word | None = None
        for word in self.claim.words:
            if word.is_name:
                if not (before and before.is_name and before.clause == word.clause):
                    names.append(word)
            elif word.text != "and":
                yield names
                names = []
            before = word
        yield names

    def _find_misplaced(self) -> str:
        for word in self.claim.words:
            if word.unit and not word.number and word.unit not in self.units:
                return word.text
        for words in self.claim.clauses():
            for at, word in enumerate(words):
                before = words[max(0, at - BEFORE_NUMBER) : at]
                if word.number and (self._is_other_amount(word, before) or self._is_elsewhere(word, words)):
                    return word.text
        return ""

    def _is_other_amount(self, number: Word, before: Sequence[Word]) -> bool:
        """Whether a number has another unit or an opposite limit wherever the passages have it."""
        sentences = [one.words for one in self.sentences if number.number in one.numbers]
        places = [(words, at) for words in sentences for at, word in enumerate(words) if word.number == number.number]
        units = {words[at].unit for words, at in places}
        bounds = {_find_bound(words[max(0, at - BEFORE_NUMBER) : at]) for words, at in places}
        bound = _find_bound(before)
        is_other_bound = bound and "" not in bounds and bound not in bounds
        is_other_unit = number.unit and units - {""} and number.unit not in units
        return bool(places and (is_other_bound or is_other_unit))

    def _is_elsewhere(self, number: Word, words: Sequence[Word]) -> bool:
        """Whether another number of its kind stands with more of the words around it."""
        kind, is_known = _find_kind(number), number.number in self.numbers
        if kind in ("year", "date") and is_known:
            return False
        around = {term for word in words if word in self.content and not word.unit for term in word.terms}
        others = set() if is_known else self.claim.numbers
        own = other = 0
        for amount in (amount for passage in self.passages for amount in passage.amounts):
            count = sum(not self.forms[term].isdisjoint(amount.terms) for term in around)
            if any(word.number == number.number for word in amount.words):
                own = max(own, count)
            elif any(word.number and word.number not in others and _find_kind(word) == kind for word in amount.words):
                other = max(other, count)
        return other > own

    # Negations and quantifiers

    def _find_negation(self) -> str:
        claimed = list(_find_denials(self.claim.words))
        for at, denied in claimed:
            terms = [term for term in denied.terms if term in self.forms]
            is_known = terms and all(not self.forms[term].isdisjoint(self.terms) for term in terms)
            is_known = is_known and denied.numbers <= self.numbers  # "not 30 days" denies another number
            if (is_known or self.claim.words[at].text in NO_ONE) and not self._is_denied(terms):
                return self.claim.words[at].text
        counts = Counter(place for places in self.places.values() for place in places)
        close = [place for place, count in counts.items() if count >= len(self.forms) / 2]
        for one in (self.sentences[place] for place in sorted(close) if not claimed):
            for at, denied in _find_denials(one.words):
                ours = [self._is_ours(term) for term in denied.terms]
                if any(ours[:2]) if denied.follow else ours and all(ours):
                    return one.words[at].text
        return ""

    def _is_denied(self, terms: Sequence[str]) -> bool:
        """Whether the passages deny one of these terms of the claim, or say its opposite."""
        for one in self.sentences:
            if not one.denies and one.texts.isdisjoint(ONLY):
                continue
            for _, denied in _find_denials(one.words, ONLY):
                is_same = any(not self.forms[term].isdisjoint(denied.terms) for term in terms)
                if is_same or (not denied.follow and all(map(self._is_ours, denied.terms))):  # "individual pay is not"
                    return True
        return self._has_opposite(terms)

    def _find_quantifier(self) -> str:
        said = frozenset().union(*(one.texts for one in self.chosen))
        for word, following in pairwise((*self.claim.words, None)):
            if word is None or word.is_name:
                continue
            if word.text in ONLY and said.isdisjoint(ONLY):
                return word.text
            is_each = following is not None and following.unit  # "every week"
            if word.text in ALL and not is_each and said.isdisjoint(ALL | ANY):
                return word.text
        return ""

    # Roles

    def _find_other_subject(self) -> str:
        """The name that a claim begins with, if the passages say the rest of it of another."""
        first = next((at for at, word in enumerate(self.content) if not word.is_name), len(self.content))
        lead, rest = self.content[:first], [word for word in self.content if word.terms and not word.is_name]
        if not lead or not rest or not all(self._has(word, self.terms) for word in lead):
            return ""
        ours = self._spell(word for word in self.content if word.is_name)
        is_other = False
        rest_places = [self.places[term] for word in rest if not word.unit for term in word.terms]
        for one in (self.sentences[place] for place in sorted(set.intersection(*rest_places) if rest_places else ())):
            for words in _join_names(one.clauses()):
                terms = {term for word in words for term in word.terms}
                if not all(self._has(word, terms) for word in rest):
                    continue
                begin = 1 if words[0].text in JOINING else 0
                end = next((at for at, word in enumerate(words) if word.terms and not word.is_name), 0)
                if not (words[begin : begin + 1] and words[begin].is_name) or not terms.isdisjoint(ours):
                    return ""
                is_other = end > begin
        return " ".join(word.text.capitalize() for word in lead) if is_other else ""

    def _find_swapped(self) -> str:
        """A verb whose sides have changed places, "A was founded by B" for "A founded B", or that another does."""
        base_forms = english.load_base_forms()
        for at, verb in enumerate(self.claim.words):
            is_verb = verb.text.endswith("ed") or not base_forms.keys().isdisjoint(verb.terms)
            if verb.is_name or verb not in self.content or not is_verb:
                continue
            ours, forms = _find_sides(self.claim.words, at), self._spell([verb])
            doing, done = self._spell(ours.doing), self._spell(ours.done)
            named = self._spell(word for word in ours.doing if word.is_name)
            is_swapped = False
            for one in (self.sentences[place] for term in verb.terms for place in sorted(self.places[term])):
                for place, word in enumerate(one.words):
                    if forms.isdisjoint(word.terms):
                        continue
                    theirs = _find_sides(one.words, place)
                    doers = {term for word in theirs.doing for term in word.terms}
                    others = {term for word in theirs.done for term in word.terms}
                    is_other = ours.by and theirs.by and named and named.isdisjoint(doers)
                    if not is_other and (not doing.isdisjoint(doers) or not done.isdisjoint(others)):
                        return ""
                    is_swapped |= bool(is_other) or (not doing.isdisjoint(others) and not done.isdisjoint(doers))
            if is_swapped:
                return verb.text
        return ""

    def _find_stray_name(self) -> str:
        """A name that is in the passages, but in none of the sentences that say the rest of the claim."""
        for name in self._find_names():
            is_known = all(self._has(word, self.terms) for word in name)
            if is_known and not any(self._has(word, self.near) for word in name):
                return " ".join(word.text.capitalize() for word in name)
        return ""


class _Presupposed(NamedTuple):
    numbers: Set[str] = frozenset()
    terms: Set[str] = frozenset()


def _read_presupposed(question: str, *, is_negated: bool) -> _Presupposed:
    """The numbers and names that a question takes for granted: not those of "Is it 30 days?", unless that is denied."""
    asked = read_claim(question)
    is_open = bool(asked.words) and asked.words[0].text not in AUXILIARIES and not asked.texts.isdisjoint(OPEN)
    return _Presupposed(asked.numbers, asked.terms) if is_open or is_negated else _Presupposed()


def _find_bound(before: Iterable[Word]) -> str:
    return next((BOUNDS[word.text] for word in before if word.text in BOUNDS), "")


def _find_kind(number: Word) -> str:
    is_year = not number.unit and len(number.number) == 4 and number.number.isdigit() and number.number < "2100"
    return "year" if is_year else number.unit


def _find_denials(words: Sequence[Word], more: Set[str] = frozenset()) -> Iterator[tuple[int, _Denied]]:
    """Where something is denied, also by one of `more`, and the terms that are: after it in its clause, else before."""
    for at, word in enumerate(words):
        is_not_only = at + 1 < len(words) and words[at + 1].text in ONLY
        if not (word.denies or word.text in more) or is_not_only:
            continue
        following = [one for one in words[at + 1 : at + 6] if one.clause == word.clause]
        after = [term for one in following for term in one.terms]
        before = [term for one in words[max(0, at - 5) : at] if one.clause == word.clause for term in one.terms]
        numbers = frozenset(one.number for one in following if one.number)
        yield at, _Denied(tuple(after[:DENIED_WORDS] or before[-DENIED_WORDS:]), numbers, bool(after))


def _join_names(clauses: Iterable[list[Word]]) -> Iterator[list[Word]]:
    """The clauses, each with the lists of names before it."""
    joined: list[Word] = []
    for clause in clauses:
        joined += clause
        if any(word.terms and not word.is_name for word in clause):
            yield joined
            joined = []


class _Sides(NamedTuple):
    doing: Sequence[Word]
    done: Sequence[Word]
    by: bool


def _find_sides(words: Sequence[Word], at: int) -> _Sides:
    """The words on the side of who does what a verb says, and those on the other side."""
    before, after = words[max(0, at - NEAR_VERB) : at], words[at + 1 : at + 1 + NEAR_VERB]
    by = next((place for place, word in enumerate(after[:BEFORE_BY]) if word.text == "by"), None)
    return _Sides(before, after, by=False) if by is None else _Sides(after[by + 1 :], before, by=True)

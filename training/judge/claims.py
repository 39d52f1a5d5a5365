"""Claims made from sentences: reworded, so that the sentence supports them, or corrupted, so that it does not.

The same changes make questions: one thing of a sentence is asked for, and a corrupted question has no answer.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from training.judge.wordnet import WordNet

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
NUMBERS: list[str] = re.findall(r"\w+", "zero one two three four five six seven eight nine ten eleven twelve")
QUANTIFIERS = {
    "some": "all", "many": "all", "several": "no", "most": "all", "all": "some", "few": "many", "every": "no",
    "first": "last", "last": "first", "second": "third", "third": "first", "often": "never", "usually": "never",
    "sometimes": "always", "always": "rarely", "both": "neither", "more": "fewer", "before": "after",
    "after": "before", "largest": "smallest", "smallest": "largest", "highest": "lowest", "oldest": "youngest",
    "during": "before", "until": "since", "with": "without", "north": "south", "south": "north", "east": "west",
    "west": "east", "northern": "southern", "southern": "northern", "eastern": "western", "western": "eastern",
    "best": "worst", "only": "hardly", "least": "most", "under": "over", "early": "late", "late": "early",
    "older": "younger", "younger": "older", "won": "lost", "lost": "won", "born": "died", "male": "female",
    "he": "she", "his": "her", "son": "daughter", "daughter": "son", "father": "mother", "brother": "sister",
}  # fmt: skip

_NAME = r"[A-Z][\w’'.-]*[\w]"
NAMES = re.compile(rf"(?<![.!?]\s)(?<!^){_NAME}(?:\s+(?:(?:of|the|de|von|and)\s+)?{_NAME})*")
FIRST_NAME = re.compile(rf"{_NAME}(?:\s+{_NAME})*")
NUMBER = re.compile(r"(?<![A-Z.-])\b\d{1,3}(?:,\d{3})+\b|(?<![\w.-])\d+(?:\.\d+)?\b")
YEAR = re.compile(r"\b1[0-9]\d\d\b|\b20[0-2]\d\b")
DATE = re.compile(
    rf"(?:\b\d{{1,2}} (?:{MONTHS})|(?:{MONTHS}) \d{{1,2}})(?:,? \d{{4}})?"
    rf"|(?:{MONTHS}) \d{{4}}"
)
_NO_NAME = set(re.findall(r"\w+", "He She It They The This These In On At A An His Her Its Their There As"))
_PARENTHESES = re.compile(r"\s*\([^()]*\)")
_BE = re.compile(r"\b(is|was|were|are|has been|had been|can|could|will|would|may|must|has|had)\b(?! not\b)")
_NOT = re.compile(r"\b(?:not|never|no longer) |n't\b|\bno (?=\w)")
_PAST = re.compile(r"(?<=[a-z’'.] )([a-z]{3,}ed)\b(?= (?:the|a|an|in|on|at|to|with|for|his|her|its|their|[A-Z]))")
_PASSIVE = re.compile(
    rf"^((?:The |A |An )?[\w’' -]{{2,60}}?) (was|were) ([a-z]+(?:ed|wn|ten|lt)) by "
    rf"((?:the |a )?{_NAME}(?: {_NAME}){{0,3}})(.*)$"
)
_PRONOUN = re.compile(
    r"^(?:He|She|It|They|The (?:film|band|album|town|village|city|company|song|game|series|book|school|team|club|"
    r"station|ship|aircraft|river|building|novel|group|show|program|event|competition|tournament|season)) (?=[a-z])"
)
_CLAUSE = re.compile(
    r", (?:who|which|where|when|while|although|but|and|as|with|including|making|after|before|because|since|having|"
    r"being)\b.*$"
)
_LEAD = re.compile(
    r"^(?:In|On|At|During|After|Before|From|By|As|Since|Following|With|Although|While)\b[^,]{3,60}, (?=\w)"
)
_TAIL = re.compile(r" (?:in|on|at|from|by|for|during|with|of|as|near|under|over|into|until|after|before) [^,;]{3,40}$")
_WORD = re.compile(r"\b[a-z]{4,}\b")
_QUANTIFIER = re.compile(r"\b(?:" + "|".join(QUANTIFIERS) + r")\b")
_VERB = re.compile(r"\b(?:is|was|were|are|has|had|have|can|will|[a-z]+ed)\b")


@dataclass
class Maker:
    """Makes claims and questions; `names` and `endings` are pools of what other articles say."""

    wordnet: WordNet
    names: dict[int, list[str]]  # by number of words
    endings: list[str]
    random: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    def claim(self, sentence: str, title: str) -> str:
        """Something that the sentence says, mostly shorter and in other words."""
        text = self.shorten(sentence, title)
        if self.chance(0.2):
            text = self.turn_passive(text) or text
        if self.chance(0.3):
            text = self.respell(text)
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 3))):
            text = self.reword(text, ("same", "same", "wider")) or text
        return _finish(text)

    def corrupt(self, claim: str, sentence: str, neighbors: str) -> str | None:
        """The claim with one change after which nothing supports it any more."""
        ways: list[tuple[float, Callable[[], str | None]]] = [
            (3.0, lambda: self.swap_name(claim, neighbors)),
            (2.0, lambda: self.change_number(claim)),
            (2.0, lambda: self.negate(claim)),
            (2.0, lambda: self.reword(claim, ("opposite",))),
            (2.5, lambda: self.reword(claim, ("beside", "beside", "narrower"))),
            (1.5, lambda: self.change_quantifier(claim)),
            (1.2, lambda: self.swap_roles(claim)),
            (1.5, lambda: self.add_fact(claim)),
            (0.8, lambda: self.replace_end(claim)),
            (0.4, lambda: self.add_only(claim)),
        ]
        for _ in range(6):
            way = self.random.choices([one for _, one in ways], [weight for weight, _ in ways])[0]
            made = way()
            if made and made != claim and made.rstrip(". ") not in sentence:
                return _finish(made)
        return None

    def question(self, sentence: str, title: str, *, wrong: bool, neighbors: str) -> tuple[str, str] | None:
        """A question that the sentence answers, with the answer, or (`wrong`) one that it almost answers."""
        text = self.shorten(sentence, title)
        spans = [
            (kind, match)
            for kind, pattern in (("date", DATE), ("year", YEAR), ("number", NUMBER), ("name", NAMES))
            for match in pattern.finditer(text)
        ]
        first = FIRST_NAME.match(text)
        if first and first.group() not in _NO_NAME and self.chance(0.4):
            spans = [("name", first)]
        if not spans:
            return None
        kind, match = self.random.choice(spans)
        answer = match.group()
        before, after = text[: match.start()], text[match.end() :].rstrip(". ")
        if wrong:
            rest = f"{before}\x00{after}"
            for _ in range(4):
                changed = self.corrupt(rest, sentence, neighbors)
                if changed and changed.count("\x00") == 1 and "\x00" in changed:
                    before, _, after = changed.rstrip(".").partition("\x00")
                    break
            else:
                return None
        elif self.chance(0.6):
            before = self.reword(before, ("same", "wider")) or before
            after = self.reword(after, ("same", "wider")) or after
        asked = {
            "date": ("when", "on what date", "when"),
            "year": ("in what year", "when", "in which year"),
            "number": ("how many", "what number of", "how much"),
            "name": ("who", "who", "what", "which"),
        }[kind]
        word = self.random.choice(asked)
        if kind == "name" and re.search(r"\b(?:in|at|near|from) $", before):
            word, before = "where", before.rsplit(" ", 2)[0] + " "
        if kind in ("date", "year"):
            before = re.sub(r"\b(?:on|in|since|from) $", "", before)
        before, after = before.strip(), after.strip()
        if not before:
            made = f"{word} {after}"
        elif inverted := re.match(r"^(.{3,80}?) (is|was|were|are|has|had|can|will) (.*)$", before):
            subject, verb, rest = inverted.groups()
            made = f"{word} {verb} {subject} {rest} {after}"
        elif (past := re.match(r"^(.{3,60}?) ([a-z]+)ed (.*)$", before)) and self.chance(0.8):
            made = f"{word} did {past.group(1)} {past.group(2)} {past.group(3)} {after}"
        else:
            made = self.random.choice((f"{before} {word} {after}", f"{word} {before} {after}"))
        made = " ".join(made.split()).rstrip(" ,;:")
        if self.chance(0.3):
            made = _TAIL.sub("", made)
        if len(made.split()) < 4:
            return None
        return made[:1].upper() + made[1:] + ("?" if self.chance(0.95) else ""), answer

    def shorten(self, sentence: str, title: str) -> str:
        text = _PARENTHESES.sub("", sentence)
        if self.chance(0.6):
            text = _LEAD.sub("", text)
        if self.chance(0.6):
            cut = _CLAUSE.sub("", text)
            text = cut if len(cut.split()) > 4 and _VERB.search(cut) else text
        text = text[:1].upper() + text[1:]
        subject = re.sub(r"\s*\(.*\)$", "", title)
        if subject and self.chance(0.7):
            text = _PRONOUN.sub(lambda _: f"{subject} ", text)
        if self.chance(0.35):
            cut = _TAIL.sub("", text.rstrip("."))
            text = cut if len(cut.split()) > 4 and _VERB.search(cut) else text
        return text.strip()

    def reword(self, text: str, kinds: tuple[str, ...]) -> str | None:
        words = list(_WORD.finditer(text))
        self.random.shuffle(words)
        for match in words[:5]:
            found = self.wordnet.others(match.group())
            kind = self.random.choice(kinds)
            if options := [one for one in found[kind] if one not in text]:
                self.counts[kind] += 1
                return text[: match.start()] + self.random.choice(options) + text[match.end() :]
        return None

    def respell(self, text: str) -> str:
        """Numbers as words or digits, dates in another order or as a year."""
        for at, word in enumerate(NUMBERS[2:], 2):
            as_digits = re.sub(rf"\b{word}\b", str(at), text)
            text = as_digits if self.chance(0.5) else re.sub(rf"\b{at}\b(?![,.]\d)", word, text)
        text = re.sub(rf"\b(\d{{1,2}}) ({MONTHS}) (\d{{4}})", r"\2 \1, \3", text)
        year_only = re.sub(rf"\bon (?:{MONTHS}) \d{{1,2}}, (\d{{4}})", r"in \1", text)
        return year_only if self.chance(0.5) else text

    def swap_name(self, claim: str, neighbors: str) -> str | None:
        names = list(NAMES.finditer(claim))
        if (first := FIRST_NAME.match(claim)) and len(first.group().split()) > 1:
            names.append(first)
        if not names:
            return None
        match = self.random.choice(names)
        near = [one.group() for one in NAMES.finditer(neighbors) if one.group() not in claim]
        pool = near if near and self.chance(0.5) else self.names.get(len(match.group().split()), self.names[1])
        return claim[: match.start()] + self.random.choice(pool) + claim[match.end() :]

    def change_number(self, claim: str) -> str | None:
        numbers = list(NUMBER.finditer(claim))
        if not numbers:
            words = [one for one in re.finditer(r"\b[a-z]+\b", claim) if one.group() in NUMBERS]
            if not words:
                return None
            match = self.random.choice(words)
            other = self.random.choice([one for one in NUMBERS[1:] if one != match.group()])
            return claim[: match.start()] + other + claim[match.end() :]
        match = self.random.choice(numbers)
        value = match.group()
        bare = value.replace(",", "")
        if YEAR.fullmatch(value):
            other = str(int(value) + self.random.choice((-30, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 20)))
        elif bare.isdigit() and len(bare) <= 2:
            other = str(max(1, int(bare) + self.random.choice((-5, -3, -2, -1, 1, 2, 3, 7))))
        else:
            at = self.random.randrange(len(value))
            while not value[at].isdigit():
                at = self.random.randrange(len(value))
            other = value[:at] + self.random.choice([one for one in "123456789" if one != value[at]]) + value[at + 1 :]
        return claim[: match.start()] + other + claim[match.end() :] if other != value else None

    def negate(self, claim: str) -> str | None:
        if _NOT.search(claim):
            return _NOT.sub("", claim, count=1)
        if match := _BE.search(claim):
            word = "never" if self.chance(0.2) else "not"
            return claim[: match.end()] + f" {word}" + claim[match.end() :]
        if match := _PAST.search(claim):
            verb = match.group()
            base = verb[:-1] if verb[:-2] + "e" in self.wordnet.known else verb[:-2]
            word = self.random.choice(("did not", "never", "failed to", "refused to"))
            return claim[: match.start()] + f"{word} {verb if word == 'never' else base}" + claim[match.end() :]
        return None

    def change_quantifier(self, claim: str) -> str | None:
        found = list(_QUANTIFIER.finditer(claim))
        if not found:
            changed = re.sub(r"\bone of the\b", "the only one of the", claim, count=1)
            return changed if changed != claim else None
        match = self.random.choice(found)
        return claim[: match.start()] + QUANTIFIERS[match.group()] + claim[match.end() :]

    def add_only(self, claim: str) -> str | None:
        match = _BE.search(claim)
        word = self.random.choice(("only", "always", "never", "the only"))
        return claim[: match.end()] + f" {word}" + claim[match.end() :] if match else None

    def swap_roles(self, claim: str) -> str | None:
        if match := _PASSIVE.match(claim):
            one, verb, done, other, rest = match.groups()
            return f"{other} {verb} {done} by {one}{rest}"
        names = list(NAMES.finditer(claim))
        if first := FIRST_NAME.match(claim):
            names.insert(0, first)
        if len(names) < 2:
            return None
        one, other = self.random.sample(names, 2)
        if one.start() > other.start():
            one, other = other, one
        if one.end() > other.start() or claim[one.end() : other.start()].strip() in ("and", ",", "or"):
            return None
        between = claim[one.end() : other.start()]
        return claim[: one.start()] + other.group() + between + one.group() + claim[other.end() :]

    def turn_passive(self, claim: str) -> str | None:
        match = _PASSIVE.match(claim.rstrip("."))
        if not match or not match.group(3).endswith("ed"):
            return None
        one, _, done, other, rest = match.groups()
        return f"{other} {done} {one}{rest}"

    def add_fact(self, claim: str) -> str | None:
        link = self.random.choice((" and ", ", and ", ", which ", " because it "))
        return claim.rstrip(". ") + link + self.random.choice(self.endings)

    def replace_end(self, claim: str) -> str | None:
        match = re.match(r"^(.{3,60}?) (?:is|was|were|are|has|had|[a-z]+ed) ", claim)
        return f"{match.group(1)} {self.random.choice(self.endings)}" if match else None

    def chance(self, share: float) -> bool:
        return self.random.random() < share


def _finish(text: str) -> str:
    text = " ".join(text.split()).rstrip(" ,;:")
    text = re.sub(r"\ba (?=[aeio])", "an ", re.sub(r"\ban (?=[bcdfgjklmnpqrstvwxyz])", "a ", text))
    return text if text.endswith((".", "!", "?")) else f"{text}."

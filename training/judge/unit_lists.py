"""`python -m training.judge.unit_lists DOCS HELD SQUAD2 SELQA PAIRS CLAIMS OUT` makes what the reader is trained on.

A list is a question, units of passages as `ask` reads them, and those that answer, or none. DOCS and HELD are folders
of documentation, downloaded if they do not exist; lists of HELD are only for measuring. Most questions are made from
the structure of DOCS (`unit_questions`). A third of them have no answer: the unit that answers was taken out of the
passages, or a near miss is asked for. The rest are questions that people wrote about passages of DOCS and about
everyday files, the written passages, SQuAD 2.0, SelQA, and medical questions and headings of PAIRS. Claims of CLAIMS
and of the written passages keep the other head of the model as it is.

Questions in other languages about units in English (`asked_other.jsonl.xz`) get the lists of the English questions that
they translate, and everyday files in other languages lists of their own. OUT has texts, of which
`training.judge.list_tokens` makes token numbers. It is the same for the same DOCS.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import shortlist
from bench import answers
from shortlist import CorpusSource, Document
from shortlist.answer.ask import prepare_question
from shortlist.answer.extractive.candidates import AnswerCandidate, split_passage, text_for_judge
from shortlist.answer.extractive.extract import rank_sentences
from shortlist.answer.extractive.signals import read_question
from shortlist.answer.extractive.unit_choice import DESCRIBED, load_weights, pick
from shortlist.index.embedders.cross_encoder import ANSWER, CLAIM
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.chunking import split
from shortlist.library.opening import open_corpora
from shortlist.results import Evidence
from training.judge import data, documentation, other_languages, reader
from training.judge.list_tokens import OTHER, Row, UnitList, write_texts
from training.judge.other_languages import quotes
from training.judge.unit_questions import Made, ask_units

QUESTIONS, HELD_QUESTIONS = 100_000, 1_500
MOST = {"medquad": 6_000, "techdocs": 4_000, "changelog": 6_000}  # lists of sources that are unlike what people ask
PACKAGES_TOGETHER = 10  # one corpus; questions find their passages in it
SHOWN = 4  # passages of a question, as in `ask`
BEST, OTHERS = 8, 3  # wrong units in a list: of the highest worth, and any
REMOVED = 0.25  # of the questions with an answer lose it
SURPLUS = 1.15  # times the questions that are wanted, as a few have no list
OF_A_FORM = 0.2  # of the questions of a corpus, at most
ALIKE = 0.6  # of the words of two units, above which both may answer
WORKERS = 2
HELD_FOLD = 0  # of selqa_dev
ASKED = Path(__file__).with_name("asked.jsonl.xz")  # questions that people wrote about units of DOCS, as checksums
ASKED_OTHER = Path(__file__).with_name("asked_other.jsonl.xz")  # {language, english, question}
HELD_OF = 8  # one package or group of files of so many is held
WRITTEN = "documentation"  # the source of the questions that people wrote

_TOPIC = re.compile(r"([\w.+:-]+)\(\d\w*\)")
_WORD = re.compile(r"\w+")
_HISTORY = re.compile(r"/(?:changelog|NEWS|CHANGES|HISTORY)[^/]*$", re.IGNORECASE)


class Passages:
    """The passages of some packages as a corpus that is searched by words."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.analyzer = get_analyzer()
        self.items: list[Evidence] = []
        self.topics: list[str] = []
        for folder in folders:
            for document in CorpusSource.from_files(folder):
                if not isinstance(document, Document):
                    continue
                for piece in split(document):
                    text = document.content if piece.text is None else piece.text
                    item = Evidence(
                        0, "", document.source, piece.locator, text, 0.0, name=document.title, context=piece.context
                    )
                    self.items.append(item)
                    self.topics.append(_name_topic(folder.name, item))
        postings: dict[str, list[int]] = defaultdict(list)
        for at, item in enumerate(self.items):
            for term in set(self.analyzer.terms(f"{item.name} {item.context} {item.text}")):
                postings[term].append(at)
        self.postings = {term: np.array(found) for term, found in postings.items()}

    def count(self, terms: list[str]) -> dict[str, int]:
        return {term: len(self.postings.get(term, ())) for term in terms}

    def find(self, question: str, at: int = -1) -> list[int]:
        """The passages of a question: those with the most of its words, and the one that it was made from."""
        terms = {term for term in self.analyzer.terms(question) if term in self.postings}
        scores = np.zeros(len(self.items))
        for term in terms:
            found = self.postings[term]
            scores[found] += math.log(1 + len(self.items) / len(found))
        best = [int(one) for one in np.argsort(-scores, kind="stable")[:SHOWN]]
        return best if at < 0 or at in best else [*best[: SHOWN - 1], at]

    def rank(self, question: str, items: Sequence[Evidence]) -> list[AnswerCandidate]:
        """The units that may answer, as `ask` ranks them before it reads any."""
        read = read_question(question, self.analyzer, self.count, len(self.items))
        shown = [replace(item, number=number, score=0.7 - 0.1 * number) for number, item in enumerate(items, 1)]
        return rank_sentences(read, shown, self.analyzer)[:DESCRIBED] if read.weights else []


def _name_topic(package: str, item: Evidence) -> str:
    """What people call the thing that a page is about."""
    if match := _TOPIC.match(item.context) or _TOPIC.match(item.text):
        return match[1].lower()
    return re.sub(r"^(?:python3?|lib|node)-|-(?:doc|common|core|manpages|base)$", "", package)


def ask_documentation(folders: Sequence[Path], most: int, *, is_held: bool) -> list[UnitList]:
    """The lists of questions made from the structure of some packages."""
    corpus = Passages(folders)
    rng = random.Random(",".join(folder.name for folder in folders))
    asked: list[tuple[int, Made]] = []
    for at, item in enumerate(corpus.items):
        is_history = bool(_HISTORY.search(item.source))
        made_of_it = ask_units(corpus.topics[at], split_passage(item), rng, is_history=is_history)
        asked += [(at, made) for made in made_of_it if made.text.isascii()]
    rng.shuffle(asked)
    answered = Counter(made.form for _, made in asked if made.unit)
    counts: Counter[tuple[str, bool]] = Counter()
    taken: list[tuple[int, Made]] = []
    for at, made in asked:
        kind = made.form, made.unit is None
        counts[kind] += 1
        # as many near misses as answers, or the form of a question would tell which it is
        if counts[kind] <= min(OF_A_FORM * most, answered[made.form]):
            taken.append((at, made))
    taken = sorted(taken[: int(SURPLUS * most)], key=lambda one: one[0])  # units of a passage stay in the cache
    lists = [one for at, made in taken if (one := _make_list(corpus, at, made, rng))]
    return [one._replace(is_held=is_held) for one in rng.sample(lists, min(most, len(lists)))]


def ask_passages(folders: Sequence[Path]) -> list[UnitList]:
    """The lists of the questions that people wrote about some passages, and of those that no unit answers."""
    corpus = Passages(folders)
    places = {_checksum(item.text): at for at, item in enumerate(corpus.items)}
    rng = random.Random(0)
    lists: list[UnitList] = []
    packages = {folder.name for folder in folders}
    with lzma.open(ASKED, "rt", encoding="utf-8") as file:
        asked = [row for row in map(json.loads, file) if row["package"] in packages and row["passage"] in places]
    for row in asked:
        at, is_held = places[row["passage"]], _checksum(row["package"]) % HELD_OF == 0
        made: list[UnitList | None] = []
        for question, answering in [*row["q"], *((question, []) for question in row["none"])]:
            ranked = corpus.rank(question, [corpus.items[one] for one in corpus.find(question, at)])
            texts = [one.unit.text for one in ranked if _checksum(one.unit.text) in answering]
            made += _lists_of(question, ranked, texts, "asked", rng, is_answered=bool(answering))
        lists += [one._replace(is_held=is_held) for one in made if one]
    return lists


def ask_files() -> list[UnitList]:
    """The lists of questions about everyday files, which find passages of all files of their group.

    A question is left out if its answer is a row of which the product reads one cell: that may be the wrong one.
    """
    rng = random.Random(0)
    lists: list[UnitList] = []
    for group, files, folder in other_languages.read_groups(is_english=True):  # the only language that the model reads
        corpus = Passages([folder])
        made: list[UnitList | None] = []
        for row in files:
            for question, quote in [*row["q"], *((question, "") for question in row["none"])]:
                own = [at for at, item in enumerate(corpus.items) if quote and quotes(item.text, quote)]
                ranked = corpus.rank(question, [corpus.items[at] for at in corpus.find(question, *own[:1])])
                right = [one for one in ranked if quote and quotes(one.unit.text, quote)]
                texts = [one.unit.text for one in right] if all(quotes(one.text, quote) for one in right) else []
                made += _lists_of(question, ranked, texts, "everyday", rng, is_answered=bool(quote))
        lists += [one._replace(is_held=_checksum(group) % HELD_OF == 0) for one in made if one]
    return lists


def ask_files_in_other_languages() -> list[UnitList]:
    """The lists of questions about everyday files in other languages, with the units that `ask` looks at."""
    rng = random.Random(0)
    lists: list[UnitList] = []
    for one in other_languages.ask_files():
        texts = [unit.unit.text for unit, is_right in zip(one.units, one.right, strict=True) if is_right]
        made = _lists_of(one.question, one.units, texts, f"everyday{OTHER}", rng, is_answered=one.is_answerable)
        held = other_languages.is_held(one.group)
        lists += [own._replace(is_held=held) for own in made if own]
    return lists


def _lists_of(
    question: str,
    ranked: Sequence[AnswerCandidate],
    texts: Sequence[str],
    source: str,
    rng: random.Random,
    *,
    is_answered: bool,
) -> Iterator[UnitList | None]:
    """The list of a question; if it has an answer, sometimes also one that lacks it."""
    if not is_answered:
        yield _list_of(question, ranked, (), f"{source}, without answer", rng)
    elif texts:
        yield _list_of(question, ranked, texts, source, rng)
        if rng.random() < REMOVED:
            yield _list_of(question, ranked, texts, f"{source}, removed", rng, is_removed=True)


def _list_of(
    question: str,
    candidates: Sequence[AnswerCandidate],
    right: Sequence[str],
    source: str,
    rng: random.Random,
    *,
    is_removed: bool = False,
) -> UnitList | None:
    """The list of candidates of which the texts `right` answer, or that lacks those; others like them are left out."""
    right_here = () if is_removed else right
    kept = [
        one
        for one in candidates
        if one.unit.text in right_here or not any(_is_alike(one.unit.text, text) for text in right)
    ]
    places = [at for at, one in enumerate(kept) if one.unit.text in right_here]
    return sample_list(question, [text_for_judge(one) for one in kept], places, source, rng)


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def _make_list(corpus: Passages, at: int, made: Made, rng: random.Random) -> UnitList | None:
    items = [corpus.items[one] for one in corpus.find(made.text, at)]
    is_removed = made.unit is not None and rng.random() < REMOVED
    if made.unit is not None and is_removed:
        raw = corpus.items[at].text[made.unit.start : made.unit.end]
        items = [replace(item, text=item.text.replace(raw, "")) for item in items]
    candidates = corpus.rank(made.text, items)
    if made.unmatched and any(
        made.key in f"{one.unit.context} {one.unit.text}" and made.unmatched.search(one.unit.text) for one in candidates
    ):
        return None
    right = [made.unit.text] if made.unit else []
    if right and not is_removed and not any(one.unit.text in right for one in candidates):
        return None
    source = f"{made.form}, removed" if is_removed else made.form if made.unit else f"{made.form}, missing"
    return _list_of(made.text, candidates, right, source, rng, is_removed=is_removed)


def _is_alike(one: str, other: str) -> bool:
    words, others = set(_WORD.findall(one.lower())), set(_WORD.findall(other.lower()))
    return len(words & others) >= ALIKE * len(words | others)


def sample_list(
    question: str, rows: Sequence[Row], right: Sequence[int], source: str, rng: random.Random
) -> UnitList | None:
    """A list with the units that answer, the first wrong ones and some of the others."""
    wrong = [at for at in range(len(rows)) if at not in right]
    chosen = sorted([*right, *wrong[:BEST], *rng.sample(wrong[BEST:], min(OTHERS, len(wrong[BEST:])))])
    if not chosen:
        return None
    answering = frozenset(number for number, at in enumerate(chosen) if at in right)
    return UnitList(question, [rows[at] for at in chosen], answering, source)


def ask_texts(examples: Iterable[data.Example], rng: random.Random) -> Iterator[UnitList]:
    """The lists of questions whose units are known: passages that were written, paragraphs, sections."""
    groups: dict[str, list[data.Example]] = defaultdict(list)
    for one in examples:
        if one.task == ANSWER:
            groups[f"{one.source.removesuffix(' near')} {one.parts[0]}"].append(one)
    for own in groups.values():
        source, question = own[0].source.removesuffix(" near"), own[0].parts[0]
        is_held = own[0].fold == HELD_FOLD or source == data.UNSEEN
        rows = [one.parts[1:] for one in own]
        right = [at for at, one in enumerate(own) if one.label > 0.5]
        made = [sample_list(question, rows, right, source, rng)]
        if right and rng.random() < REMOVED:
            left = [row for at, row in enumerate(rows) if at not in right]
            made.append(sample_list(question, left, [], f"{source}, removed", rng))
        yield from (one._replace(is_held=is_held) for one in made if one)


def ask_in_other_languages(lists: Iterable[UnitList]) -> list[UnitList]:
    """The lists of English questions that were translated, asked in the other language."""
    translated: dict[str, list[str]] = defaultdict(list)
    if ASKED_OTHER.exists():
        with lzma.open(ASKED_OTHER, "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                translated[row["english"]].append(row["question"])
    found = []
    for one in lists:
        source, comma, rest = one.source.partition(",")
        if source in ("asked", "everyday"):
            about = one._replace(source=f"asked{OTHER}{comma}{rest}")
            found += [about._replace(question=question) for question in translated.get(one.question, ())]
    return found


def thin(lists: Sequence[UnitList], rng: random.Random) -> list[UnitList]:
    """The lists in random order, without the surplus of some sources."""
    counts: Counter[str] = Counter()
    kept = []
    for one in rng.sample(lists, len(lists)):
        source = one.source.partition(",")[0]
        counts[source] += 1
        if counts[source] <= MOST.get(source, len(lists)):
            kept.append(one)
    return kept


def ask_written(root: Path) -> Iterator[UnitList]:
    """The lists of the questions that people wrote about held documentation, with the units that `ask` describes.

    They are in the order in which the product reads them.
    """
    corpora = open_corpora(shortlist.build(CorpusSource.from_files(root), in_memory=True), needs_vectors=True)
    for row in map(json.loads, reader.QUESTIONS.read_text("utf-8").splitlines()):
        asked = answers.Asked(row["q"], frozenset(), tuple(row["a"]), "", are_patterns=True)
        prepared = prepare_question(corpora, asked.text, extracts=True)
        evidence = [item for item in prepared.evidence.items if not item.warning]
        if not prepared.readings or not evidence:
            continue
        candidates = rank_sentences(prepared.readings[0], evidence, prepared.analyzer)[:DESCRIBED]
        if not candidates:
            continue
        first = load_weights().score(candidates, prepared.analyzer.bind((candidates[0].question.language,)))
        candidates = [candidates[at] for at in pick(first, DESCRIBED)]
        texts = [answers.normalize(one.text) for one in candidates]
        right = frozenset(at for at, text in enumerate(texts) if row["a"] and asked.is_in(text))
        source = f"{WRITTEN}, {'answered' if right else 'not shown' if row['a'] else 'without answer'}"
        yield UnitList(asked.text, [text_for_judge(one) for one in candidates], right, source, is_held=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.unit_lists", description=__doc__)
    for name in ("docs", "held", "squad2", "selqa", "pairs", "claims", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--show", type=int, default=0, help="Print this number of lists of each form.")
    given = parser.parse_args()
    if not given.docs.exists():
        documentation.fetch(given.docs, documentation.MORE_PACKAGES, documentation.MORE_PAGES)
    if not given.held.exists():
        documentation.fetch(given.held)
    rng = random.Random(0)
    lists: list[UnitList] = []
    with ProcessPoolExecutor(WORKERS) as pool:
        for root, most, is_held in ((given.docs, given.questions, False), (given.held, HELD_QUESTIONS, True)):
            folders = sorted(path for path in root.iterdir() if any(path.iterdir()))
            rng.shuffle(folders)
            shards = [folders[at : at + PACKAGES_TOGETHER] for at in range(0, len(folders), PACKAGES_TOGETHER)]
            ask = partial(ask_documentation, most=math.ceil(most / len(shards)), is_held=is_held)
            for made in pool.map(ask, shards):
                lists += made
                print(len(lists), flush=True)
        folders = sorted(given.docs.iterdir())
        for made in pool.map(ask_passages, [folders[at :: 2 * WORKERS] for at in range(2 * WORKERS)]):
            lists += made
    lists += [*ask_files(), *ask_files_in_other_languages()]
    examples = [
        *data._written(Path(__file__).with_name("written.jsonl.xz"), rng),
        *data._squad(given.squad2),
        *data._selqa(given.selqa),
        *data._from_pairs(given.pairs, rng),
    ]
    lists = [*thin([*lists, *ask_texts(examples, rng)], rng), *ask_written(given.held)]
    lists += ask_in_other_languages(lists)
    claims = [one for one in [*examples, *data.real_claims(given.claims)] if one.task == CLAIM]
    rng.shuffle(claims)
    shown: Counter[str] = Counter()
    for one in lists:
        shown[one.source] += 1
        if shown[one.source] <= given.show:
            print(f"\n{one.source}: {one.question}")
            for at, row in enumerate(one.rows):
                print(f"  {'>' if at in one.right else ' '} {row[0][:150]} || {row[1][:80]}")
    print(Counter((one.source, one.is_held) for one in lists).most_common())
    write_texts(lists, [(one.parts, one.label) for one in claims], given.out)
    print(f"{len(lists)} lists, {given.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

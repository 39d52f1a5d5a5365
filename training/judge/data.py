"""Examples for the judge: claims with their evidence, and questions with sentences that answer them or not.

Every example has three parts: what is judged (a claim or a question), the text that must support or answer it, and its
context (title, sentences around it). All become one file of token numbers, so that a machine with an accelerator needs
nothing else. Five folds, by article or by claim, tell what a model may be measured on.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import BertWordPieceTokenizer

from bench.claims import fold_of, load_folds
from shortlist.answer.extractive.sentences import split_sentences
from shortlist.index.embedders.cross_encoder import ANSWER, CLAIM, MOST_TOKENS
from shortlist.index.embedders.tokenization import VOCABULARY
from training.judge import claims
from training.judge.wordnet import WordNet

UNSEEN = "squad2 unseen"  # never trained on
CLAIMS, QUESTIONS, HEADINGS = 200_000, 90_000, 12_000  # made from Wikipedia and from documentation

_WORD = re.compile(r"\w+")
_ASKED = re.compile(
    r"^(?:what|who|how|where|when|why|is|are|do|does|can)\b.*?\b"
    r"(?:of|for|is \(are\)|causes|diagnose|prevent|to|by|from|with|have|about) (.+?)\s*\?$",
    re.IGNORECASE,
)


class Example(NamedTuple):
    task: int
    label: float
    source: str
    fold: int  # -1: of no fold
    group: str  # what is compared with each other
    parts: tuple[str, str, str]


def make(bench: Path, claim_file: Path, pairs: Path, wordnet: Path, out: Path, seed: int = 0) -> None:
    rng = random.Random(seed)
    known = set(VOCABULARY.read_text("utf-8").split("\n")[1996:24_000])
    words = WordNet(wordnet, {word for word in known if word.isalpha() and len(word) > 2})
    examples = [
        *real_claims(claim_file, bench / "fever_symmetric_dev"),
        *_written(Path(__file__).with_name("written.jsonl.xz"), rng),
        *_squad(bench / "squad2"),
        *_selqa(bench / "selqa_dev"),
        *_from_pairs(pairs, rng),
        *_wikipedia(bench / "ottqa_wiki", words, rng),
    ]
    print(Counter((one.source, one.task, one.label > 0.5) for one in examples))
    _write(examples, out)


def _write(examples: list[Example], out: Path) -> None:
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    first, separator = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    texts = list(dict.fromkeys(part for one in examples for part in one.parts))
    rows = [np.array(row.ids, np.uint16) for row in tokenizer.encode_batch(texts, add_special_tokens=False)]
    ids = dict(zip(texts, rows, strict=True))
    flat = []
    lengths = []
    for one in examples:
        row: list[Any] = [[first]]
        for part, most in zip(one.parts, MOST_TOKENS[one.task], strict=True):
            row += [ids[part][:most], [separator]]
        flat.append(np.concatenate(row).astype(np.uint16))
        lengths.append(len(flat[-1]))
    sources = sorted({one.source for one in examples})
    groups = {group: number for number, group in enumerate(dict.fromkeys(one.group for one in examples))}
    arrays: dict[str, Any] = {
        "ids": np.concatenate(flat),
        "lengths": np.array(lengths, np.uint16),
        "task": np.array([one.task for one in examples], np.uint8),
        "label": np.array([one.label for one in examples], np.float16),
        "fold": np.array([one.fold for one in examples], np.int8),
        "source": np.array([sources.index(one.source) for one in examples], np.uint8),
        "sources": np.array(sources),
        "group": np.array([groups[one.group] for one in examples], np.uint32),
    }
    raw = out.with_suffix(".raw.npz")
    np.savez(raw, **arrays)
    out.write_bytes(lzma.compress(raw.read_bytes(), preset=6))
    raw.unlink()


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lzma.decompress(path.read_bytes()).decode().splitlines()]


def real_claims(path: Path, fever: Path | None = None) -> Iterator[Example]:
    rows = _read(path)
    rated = load_folds(fever / "claims.jsonl") if fever else []
    folds = {one.claim: -1 if one.fold is None else one.fold for one in rated}
    labels = {"supported": 1.0, "refuted": 0.0, "neither": 0.0, "partly": 0.25}
    for row in rows:
        fold = folds[row["claim"]] if fever and row["source"] == "fever_symmetric" else -1
        claim, evidence = (_untokenize(row[name]) for name in ("claim", "evidence"))
        yield Example(CLAIM, labels[row["label"]], row["source"], fold, claim, (claim, evidence, ""))


def _untokenize(text: str) -> str:
    text = text.replace("-LRB-", "(").replace("-RRB-", ")").replace("``", '"').replace("''", '"')
    return re.sub(r" (?=[.,;:!?)'])|(?<=\() ", "", text).strip()


def sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def _squad(folder: Path) -> Iterator[Example]:
    """The half of the titles to which the extractive answers are fitted; the other half is only measured."""
    documents = {row["_id"]: row for row in map(json.loads, (folder / "corpus.jsonl").read_text("utf-8").splitlines())}
    seen = set(sorted({row["title"] for row in documents.values()})[::2])
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        document = documents[row["metadata"]["paragraph"]]
        source = "squad2" if document["title"] in seen else UNSEEN
        texts = sentences_of(document["text"])
        answers = row["metadata"].get("answers", ()) if row["metadata"]["answerable"] else ()
        holding = {at for at, text in enumerate(texts) if any(answer in text for answer in answers)}
        if answers and not holding:
            continue
        shared = _count_shared(row["text"], texts)
        most = max((shared[at] for at in holding), default=0)
        best = {at for at in holding if shared[at] == most}  # others may hold it by chance
        yield from _question(source, -1, row["text"], document["title"], texts, best, holding - best)
        if answers and source != UNSEEN:
            yield from _squad_claims(row["text"], answers[0], document, texts[min(best)])


def _squad_claims(question: str, answer: str, document: dict[str, str], sentence: str) -> Iterator[Example]:
    """The question as a statement, if it asks for its subject; with another name or number it is not supported."""
    verbs = r"\w+ed|is|was|are|were|has|had|can|led|won|wrote|made|began|took|gave|became"
    match = re.match(rf"^(?:Who|What)( (?:{verbs}) .*)\?$", question)
    if not match or re.match(r" (?:is|was|are|were|has|had|can) (?:the|a|an|it|[A-Z])", match.group(1)):
        return
    pattern = claims.NUMBER if answer[:1].isdigit() else claims.NAMES
    found = [one.group() for one in pattern.finditer(document["text"])]
    others = [one for one in found if one not in answer and answer not in one]
    made = [(answer, 1.0), *[(other, 0.0) for other in others[:1]]]
    for text, label in made:
        claim = text[:1].upper() + text[1:] + match.group(1).rstrip() + "."
        yield Example(CLAIM, label, "squad2", -1, claim, (claim, sentence, document["title"]))


def _question(
    source: str,
    fold: int,
    question: str,
    title: str,
    texts: list[str],
    right: Set[int],
    unclear: Set[int] = frozenset(),
) -> Iterator[Example]:
    """The question with each sentence; a wrong one that shares the most words with it is a near miss."""
    shared = _count_shared(question, texts)
    for at in range(len(texts)):
        if at not in unclear:
            is_near = source != UNSEEN and fold < 0 and at not in right and shared[at] == max(shared)
            yield _answer(f"{source} near" if is_near else source, float(at in right), fold, question, title, texts, at)


def _count_shared(question: str, texts: list[str]) -> list[int]:
    asked = set(_WORD.findall(question.lower()))
    return [len(asked.intersection(_WORD.findall(text.lower()))) for text in texts]


def _answer(source: str, label: float, fold: int, question: str, title: str, texts: list[str], at: int) -> Example:
    around = [title, *texts[max(0, at - 1) : at], *texts[at + 1 : at + 2]]
    return Example(ANSWER, label, source, fold, f"{source} {question}", (question, texts[at], " | ".join(around)))


def _written(path: Path, rng: random.Random) -> Iterator[Example]:
    """Passages, questions and claims that were written for training."""
    for row in _read(path):
        title, texts = row["title"], row["units"]
        for asked in row["questions"]:
            yield from _question("written", -1, asked["q"], title, texts, set(asked["answers"]))
        for claim in row["claims"]:
            label = float(claim["label"] == "supported")
            begin, end = min(claim["units"]), max(claim["units"]) + 1
            for more in rng.sample((0, 1, 2, len(texts)), 2):
                evidence = " ".join(texts[max(0, begin - rng.randint(0, more)) : end + more])
                yield Example(CLAIM, label, "written", -1, claim["c"], (claim["c"], evidence, title))


def _selqa(folder: Path) -> Iterator[Example]:
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        title, fold = f"{row['article']} > {row['section']}", fold_of(row["article"])
        yield from _question("selqa", fold, row["question"], title, row["sentences"], set(row["answers"]))


def _from_pairs(path: Path, rng: random.Random) -> Iterator[Example]:
    """Medical questions: how an answer begins, against other answers on the same thing. Headings and what follows."""
    rows = _read(path)
    medical: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for row in rows:
        if row["source"] == "medquad" and (match := _ASKED.match(row["query"])):
            medical[match.group(1).lower()].append((row["query"], sentences_of(row["positive"])[:6]))
    for thing, asked in medical.items():
        for question, texts in asked[:4]:
            yield _answer("medquad", 1.0, -1, question, thing, texts, 0)
            for _, other in rng.sample(asked, min(2, len(asked))):
                if other is not texts and other[0] != texts[0]:
                    yield _answer("medquad", 0.0, -1, question, thing, other, rng.randrange(len(other)))
    docs = [row for row in rows if row["source"] == "techdocs"]
    rng.shuffle(docs)
    for at, row in enumerate(docs[:HEADINGS]):
        text = row["positive"].removeprefix("# ").removeprefix(row["query"])
        texts = [one for one in sentences_of(text) if len(one) > 30][:6]
        if texts and len(row["query"].split()) > 1:
            yield _answer("techdocs", 0.9, -1, row["query"], "", texts, 0)
            other = [one for one in sentences_of(docs[at + HEADINGS]["positive"]) if len(one) > 30] or texts
            yield _answer("techdocs", 0.0, -1, row["query"], "", other, rng.randrange(len(other)))


def _wikipedia(folder: Path, words: WordNet, rng: random.Random) -> Iterator[Example]:
    rows = []
    with lzma.open(folder / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % 3 == 0:
                rows.append(json.loads(line))
    rng.shuffle(rows)
    names: dict[int, list[str]] = defaultdict(list)
    endings = []
    for row in rows[:20_000]:
        for match in claims.NAMES.finditer(row["text"]):
            names[len(match.group().split())].append(match.group())
        if found := re.search(r"\b((?:was|is|has|had|won|became|made|played) [^.,;()]{12,70})[.,]", row["text"]):
            endings.append(found.group(1))
    maker = claims.Maker(words, names, endings, rng)
    made = asked = 0
    for row in rows:
        texts = [text for text in sentences_of(row["text"]) if 30 < len(text) < 400]
        if not texts:
            continue
        for at in rng.sample(range(len(texts)), min(3, len(texts))):
            title = re.sub(r"\s*\(.*\)$", "", row["title"])
            if made < CLAIMS:
                for one in _claims_of(maker, title, texts, at):
                    made += 1
                    yield one
            if asked < QUESTIONS and rng.random() < 0.6:
                for one in _questions_of(maker, title, texts, at):
                    asked += 1
                    yield one
    print(maker.counts)


def _claims_of(maker: claims.Maker, title: str, texts: list[str], at: int) -> Iterator[Example]:
    rng = maker.random
    begin, end = max(0, at - rng.choice((0, 0, 1, 2))), at + 1 + rng.choice((0, 0, 1, 2))
    evidence = " ".join(texts[begin:end])
    shown = title if rng.random() < 0.5 else ""
    claim = maker.claim(texts[at], title)
    if len(claim.split()) < 4:
        return
    yield Example(CLAIM, 1.0, "wiki", -1, claim, (claim, evidence, shown))
    if wrong := maker.corrupt(claim, evidence, " ".join(texts)):
        yield Example(CLAIM, 0.0, "wiki", -1, claim, (wrong, evidence, shown))
    if len(texts) > 3 and rng.random() < 0.25:  # other sentences of the article do not support it
        others = [text for number, text in enumerate(texts) if number != at]
        evidence = " ".join(rng.sample(others, min(2, len(others))))
        yield Example(CLAIM, 0.05, "wiki", -1, claim, (claim, evidence, title))


def _questions_of(maker: claims.Maker, title: str, texts: list[str], at: int) -> Iterator[Example]:
    neighbors = " ".join(texts)
    if right := maker.question(texts[at], title, wrong=False, neighbors=neighbors):
        yield _answer("wiki", 1.0, -1, right[0], title, texts, at)
        others = [n for n in range(len(texts)) if n != at and right[1] not in texts[n]]
        if others:
            yield _answer("wiki", 0.02, -1, right[0], title, texts, maker.random.choice(others))
    if wrong := maker.question(texts[at], title, wrong=True, neighbors=neighbors):
        yield _answer("wiki", 0.05, -1, wrong[0], title, texts, at)

"""Contrastive training with in-batch and mined negatives in both directions, and questions that no tool serves.

Batches of documents are also held near what the base model says of them, and at the end the weights are averaged with
those of the base model: both keep what it knew.
"""

from __future__ import annotations

import copy
import json
import lzma
import math
import multiprocessing
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from shortlist.index.embedders.tokenization import UnigramTokenizer
from training import export, measure, model

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
ROLES = ("query: ", "passage: ")  # what the base model was trained to read before a text
NONE_RATE = 30  # times the rate of the others: one number on the way from where it begins
TEACHER_TEMPERATURE = 0.01  # with which the base model was trained
SPEED_KNOWN_AFTER = 100  # steps
BLOCK = 64  # neighbours in a batch that come from one set or are siblings of few APIs


@dataclass(frozen=True)
class Settings:
    steps: int = 1000
    batch: int = 512
    rate: float = 1.5e-4
    temperature: float = 0.05
    judged: float = 0.18  # share of steps
    weak: float = 0.06
    documents: float = 0.24
    written: float = 0.6  # needs and tools that were written for training
    parallel: float = 0.25  # texts and their translations
    align: float = 5.0  # weight of a translation having the same vector
    meant: float = 0.0  # share of steps with needs in other languages and what they say in English
    transfer: float = 1.0  # weight of such a need choosing among tools, and none, as its English does
    distil: float = 1.0  # weight of the base model's word on documents
    passages: float = 0.8  # relative weight of passages with questions in many languages among documents
    questions: int = 128  # that no tool serves, beside each batch of tools
    back: float = 0.5  # weight of documents finding their queries
    none: float = 1.0  # weight of questions that no tool serves choosing the class "none"
    dropout: float = 0.1
    needs: int = 8  # of one written server in a batch
    spoken: float = 0.5  # share of them in other languages, as far as there are any
    near: int = 6  # needs that sound like it but that it does not serve
    vary: float = 0.4  # share of tools that are read without their name or without their parameters
    soup: int = 2  # runs, each with another seed, whose weights are averaged
    tokens: int = 128
    long_tokens: int = 192  # of documents other than tools, so that a question is about what is read
    form: str = "name"
    layers: tuple[int, ...] = tuple(range(12))
    short: int = 0  # also trained to be cut to so many dimensions
    base: int = 0  # steps of a student that only learns from the base model, before
    seed: int = 0


class Data:
    """Texts as token numbers, and what belongs together."""

    def __init__(self, path: Path, vocabulary: Path, form: str) -> None:
        self.all: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
        self.sets: dict[str, Any] = self.all["sets"]
        kept = path.with_name(f"{path.name}.{form}.npz")
        texts = list(self.all["texts"])
        self.variants: dict[int, list[int]] = {}
        for name in self.all["families"]:
            for number in self.sets[name]["documents"]:
                self._vary(number, texts)
        for server in self.all["written"]:
            for number, _ in server["tools"]:
                self._vary(number, texts)
        tokenizer = UnigramTokenizer(vocabulary)
        self.roles = [np.array([tokenizer.first, *tokenizer.encode(role, 8)]) for role in ROLES]
        self.end = tokenizer.separator
        if not kept.exists():
            texts = [FORMS[form](text.strip()) for text in texts]
            with multiprocessing.Pool(initializer=_start_tokenizer, initargs=(vocabulary,)) as pool:
                found = pool.map(_tokenize, texts, chunksize=2000)
            np.savez(kept, ids=np.concatenate(found).astype(np.uint32), lengths=[len(row) for row in found])
        arrays = np.load(kept)
        self.lengths = arrays["lengths"]
        self.ids = np.split(arrays["ids"], np.cumsum(self.lengths)[:-1])

    def _vary(self, number: int, texts: list[str]) -> None:
        made = _variants(texts[number])
        self.variants[number] = list(range(len(texts), len(texts) + len(made)))
        texts.extend(made)

    def padded(self, numbers: list[int], role: int, most: int, device: torch.device) -> tuple[Tensor, Tensor]:
        before = self.roles[role]
        lengths = np.minimum(self.lengths[numbers], most - len(before) - 1)
        width = -(-(int(lengths.max()) + len(before) + 1) // 8) * 8
        ids = np.full((len(numbers), width), self.end, dtype=np.int64)
        ids[:, : len(before)] = before
        for row, number in enumerate(numbers):
            ids[row, len(before) : len(before) + lengths[row]] = self.ids[number][: lengths[row]]
        mask = np.arange(width)[None, :] < lengths[:, None] + len(before) + 1
        return torch.from_numpy(ids).to(device, non_blocking=True), torch.from_numpy(mask).to(device, non_blocking=True)


_tokenizers: list[UnigramTokenizer] = []  # of a process of the pool


def _start_tokenizer(vocabulary: Path) -> None:
    _tokenizers.append(UnigramTokenizer(vocabulary))


def _tokenize(text: str) -> list[int]:
    return _tokenizers[0].encode(text, export.TOKENS)


def _variants(text: str) -> list[str]:
    """A tool without its name, without its parameters, and both."""
    name, _, rest = text.partition("\n")
    said = rest.partition("Parameters: ")[0].partition("\n\n")[0].strip()
    return [one for one in dict.fromkeys((rest, f"{name}\n{said}", said)) if len(one) > 20 and one != text]


def _name_split(text: str) -> str:
    """A first line of one word is a name: getUserToken is read as get User Token."""
    first, mark, rest = text.partition("\n")
    return text if " " in first else _CAMEL.sub(" ", first) + mark + rest


FORMS: dict[str, Callable[[str], str]] = {
    "raw": lambda text: text,
    "split": lambda text: _CAMEL.sub(" ", text),
    "name": _name_split,
}


def encode(encoder: model.Encoder, data: Data, numbers: list[int], role: int, most: int, pieces: int = 3) -> Tensor:
    """Unit rows of texts in a role, computed in pieces of like length so that little is padded."""
    device = encoder.words.weight.device
    order = np.argsort(data.lengths[numbers], kind="stable")
    found = []
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):  # slow on most processors
        for piece in np.array_split(order, min(pieces, len(order))):
            found.append(encoder(*data.padded([numbers[at] for at in piece], role, most, device)))
    back = torch.from_numpy(np.argsort(order, kind="stable")).to(device)
    return torch.cat(found)[back]


@torch.no_grad()
def rows_of(
    encoder: model.Encoder, data: Data, numbers: list[int], role: int, most: int = export.TOKENS
) -> np.ndarray[Any, Any]:
    encoder.eval()
    if not numbers:
        return np.zeros((0, model.HIDDEN), dtype=np.float32)
    size = 1024
    order = np.argsort(data.lengths[numbers], kind="stable")
    rows = np.zeros((len(numbers), model.HIDDEN), dtype=np.float32)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        rows[chosen] = encode(encoder, data, [numbers[at] for at in chosen], role, most).float().cpu().numpy()
    return rows


def vectors(encoder: model.Encoder, data: Data, name: str) -> dict[str, np.ndarray[Any, Any]]:
    return {
        key: rows_of(encoder, data, numbers, int(key == "documents"))
        for key, numbers in measure.texts_of(data.sets[name]).items()
    }


def measured(encoder: model.Encoder, data: Data, names: list[str], dims: int = model.HIDDEN) -> dict[str, Any]:
    figures = {}
    for name in names:
        found = {key: measure.unit(value[:, :dims]) for key, value in vectors(encoder, data, name).items()}
        figures[name] = measure.measure(data.sets[name], **found)
    return figures


@dataclass
class Batch:
    queries: list[int]  # texts
    documents: list[int]  # texts, each once; the positive of each query is among them
    positive: list[int]  # places in documents
    also: list[list[int]]  # places in documents that are right too
    foreign: list[int]  # questions that none of the documents serves
    tools: bool
    beside: list[list[int] | None]  # the documents that each of these questions is known not to need; None: all
    role: int = 1  # of the documents
    translated: bool = False  # whether the documents say the same as the queries
    distilled: bool = False  # whether what the base model says of the documents counts
    english: list[int] = field(default_factory=list)  # what each query says, if only this is to be learned


class Sampler:
    """Draws batches from everything but the families that are left out."""

    def __init__(self, data: Data, settings: Settings, left_out: frozenset[str], seed: int) -> None:
        self.data, self.settings = data, settings
        self.random = random.Random(seed)
        families = data.all["families"]
        self.judged = {name: data.sets[name] for name, family in families.items() if family not in left_out}
        hidden = {number for name, family in families.items() if family in left_out for number in self._of(name)}
        self.train = {name: [row for row in one["train"] if row[0] not in hidden] for name, one in self.judged.items()}
        self.weights = {name: math.sqrt(min(len(rows), 2000)) for name, rows in self.train.items() if rows}
        pairs = {name: rows for name, rows in data.all["pairs"].items() if families.get(name[8:]) not in left_out}
        catalogs = [row for name, rows in pairs.items() if name.startswith("catalog:") for row in rows]
        self.weak = {"openapi": 0.35, "joined": 0.2, "skills": 0.15, "debian": 0.1, "catalog": 0.2}
        self.pairs = {"catalog": catalogs, **{name: rows for name, rows in pairs.items() if ":" not in name}}
        self.papers = {"techdocs": 0.2, "medquad": 0.1, "squad2": 0.15, "wiki": 0.15, "help": 0.2}
        self.papers["passages"] = settings.passages
        self.foreign = [*data.all["questions"], *(row[0] for row in self.pairs["medquad"][:2000])]
        self.unserved = [row[0] for name, one in self.judged.items() if name != "bfcl" for row in one["unserved"]]
        self.chat: list[int] = data.all["chat"]
        self.said: list[list[int]] = data.all["meant"]
        hidden_kinds = {kind for name in left_out for kind in data.all["hidden_with"].get(name, ())}
        self.written = [one for one in data.all["written"] if one["family"] not in hidden_kinds]
        self.groups: dict[str, list[list[Any]]] = defaultdict(list)
        for row in self.pairs["openapi"]:
            self.groups[row[2]].append(row)
        self.group_names = list(self.groups)
        self.group_weights = [min(len(rows), 64) for rows in self.groups.values()]

    def _of(self, name: str) -> list[int]:
        one = self.data.sets[name]
        return [*one["documents"], *(row[0] for row in one["asked"]), *(row[0] for row in one["train"])]

    def draw(self) -> Batch:
        settings = self.settings
        shares = (settings.judged, settings.weak, settings.documents, settings.written, settings.parallel)
        kind = self.random.choices("jwdnpm", (*shares, settings.meant))[0]
        if kind == "j":
            return self._judged()
        if kind == "n":
            return self._needs()
        if kind == "m":
            return self._meant()
        if kind == "p":
            return replace(self._paired("parallel", tools=False), role=self.random.randrange(2), translated=True)
        table, tools = (self.weak, True) if kind == "w" else (self.papers, False)
        source = self.random.choices(list(table), list(table.values()))[0]
        return replace(self._paired(source, tools), distilled=not tools and source != "passages")

    def read(self, documents: list[int]) -> list[int]:
        """The documents, some of them by a part of what they say."""
        share, variants = self.settings.vary, self.data.variants
        if not share:
            return documents
        return [
            self.random.choice(variants.get(number) or [number]) if self.random.random() < share else number
            for number in documents
        ]

    def _judged(self) -> Batch:
        rows: list[tuple[int, int, list[int], list[int]]] = []
        while len(rows) < self.settings.batch:
            name = self.random.choices(list(self.weights), list(self.weights.values()))[0]
            texts = self.data.sets[name]["documents"]
            for number, gold in self.random.choices(self.train[name], k=BLOCK):
                right = [texts[at] for at in gold]
                rows.append((number, self.random.choice(right), right, []))
        return self._batch(rows, tools=True)

    def _paired(self, source: str, tools: bool) -> Batch:
        if source == "openapi":
            listed: list[list[Any]] = []
            while len(listed) < self.settings.batch:
                group = self.groups[self.random.choices(self.group_names, self.group_weights)[0]]
                listed.extend(self.random.sample(group, min(16, len(group))))
        else:
            listed = self.random.sample(self.pairs[source], min(self.settings.batch, len(self.pairs[source])))
        return self._batch([(row[0], row[1], [row[1], *row[3:]], []) for row in listed], tools=tools)

    def _needs(self) -> Batch:
        """Some needs of each of several servers of different families, and needs that sound like theirs."""
        rows: list[tuple[int, int, list[int], list[int]]] = []
        foreign: list[tuple[int, list[int]]] = []
        families: set[str] = set()
        for server in self.random.sample(self.written, len(self.written)):
            if len(rows) >= self.settings.batch or server["family"] in families:
                continue
            families.add(server["family"])
            tools = [number for number, _ in server["tools"]]
            needs = [(query, number, [number], []) for number, queries in server["tools"] for query in queries]
            spoken = [(query, number, [number], []) for query, number in server["others"] if number is not None]
            others = [query for query, number in server["others"] if number is None]
            count = self.settings.needs
            chosen = self.random.sample(spoken, min(round(count * self.settings.spoken), len(spoken)))
            chosen += self.random.sample(needs, min(count - len(chosen), len(needs)))
            left = [number for number in tools if number not in {row[1] for row in chosen}]
            rows += [(*chosen[0][:3], left), *chosen[1:]]  # all tools of the server are there to be told apart
            count = self.settings.near
            near = self.random.sample(others, min(round(count * self.settings.spoken), len(others)))
            near += self.random.sample(server["none"], min(count - len(near), len(server["none"])))
            foreign += [(query, tools) for query in near]
        batch = self._batch(rows, tools=True)
        place = {number: at for at, number in enumerate(batch.documents)}
        batch.foreign += [query for query, _ in foreign]
        batch.beside += [[place[number] for number in tools] for _, tools in foreign]
        return batch

    def _meant(self) -> Batch:
        """Needs in other languages, served or not, what they say in English, and the tools of their servers."""
        pairs: list[list[int]] = self.random.sample(self.said, min(self.settings.batch // 8, len(self.said)))
        documents: list[int] = []
        for server in self.random.sample(self.written, len(self.written)):
            if len(pairs) < self.settings.batch and server["meant"]:
                pairs += self.random.sample(server["meant"], min(self.settings.needs, len(server["meant"])))
                documents += [number for number, _ in server["tools"]]
        queries, english = ([pair[at] for pair in pairs] for at in (0, 1))
        return Batch(queries, list(dict.fromkeys(documents)), [], [], [], True, [], english=english)

    def _batch(self, rows: list[tuple[int, int, list[int], list[int]]], *, tools: bool) -> Batch:
        documents: dict[int, int] = {}
        for _, positive, _, wrong in rows:
            for text in (positive, *wrong):
                documents.setdefault(text, len(documents))
        golds = defaultdict(set)  # the same query may be drawn with another of its golds
        for query, _, right, _ in rows:
            golds[query].update(right)
        foreign = []
        if tools and self.settings.questions:
            asked = {row[0] for row in rows}
            count = self.settings.questions
            drawn = self.random.sample(self.foreign, count // 4)
            drawn += self.random.sample(self.chat, count // 4)
            drawn += self.random.choices(self.unserved, k=count // 2) if self.unserved else []
            foreign = [number for number in dict.fromkeys(drawn) if number not in asked]
        also = [[documents[text] for text in golds[query] if text in documents] for query, *_ in rows]
        queries, positive = [row[0] for row in rows], [documents[row[1]] for row in rows]
        return Batch(queries, list(documents), positive, also, foreign, tools, [None] * len(foreign))


def loss_of(
    batch: Batch, queries: Tensor, documents: Tensor, foreign: Tensor | None, none: Tensor, settings: Settings
) -> Tensor:
    """`none` is the cosine of the class that is right if no tool serves a question."""
    device = queries.device
    positive = torch.tensor(batch.positive, device=device)
    marks = np.zeros((len(batch.queries), len(batch.documents)), dtype=bool)
    for row, places in enumerate(batch.also):
        marks[row, places] = True
    right = torch.from_numpy(marks).to(device)
    with torch.no_grad():  # copies of the positive under another name are no negatives
        twins = (documents[positive] @ documents.T) > 0.97
    here = torch.arange(len(batch.queries), device=device)
    known = np.ones((len(batch.foreign), len(batch.documents)), dtype=bool)
    for row, near in enumerate(batch.beside):
        if near is not None:
            known[row] = False
            known[row, near] = True
    beside = torch.from_numpy(known).to(device)
    hidden = right | twins
    hidden[here, positive] = False
    total = torch.zeros((), device=device)
    for dims in (model.HIDDEN, settings.short) if settings.short else (model.HIDDEN,):
        one, two = (functional.normalize(part[:, :dims], dim=1) for part in (queries, documents))
        logits = one @ two.T / settings.temperature
        choices = logits.masked_fill(hidden, -1e4)
        if settings.none and foreign is not None:
            choices = torch.cat([choices, none.expand(len(one), 1) / settings.temperature], dim=1)
        loss = functional.cross_entropy(choices, positive)
        if settings.none and foreign is not None:
            away = functional.normalize(foreign[:, :dims], dim=1)
            choices = (away @ two.T / settings.temperature).masked_fill(~beside, -1e4)
            choices = torch.cat([choices, none.expand(len(away), 1) / settings.temperature], dim=1)
            wanted = torch.full((len(away),), len(two), device=device)
            loss = loss + settings.none * functional.cross_entropy(choices, wanted)
        if settings.back:
            same = torch.tensor(batch.queries, device=device)
            columns = logits[:, positive].T  # each positive against all queries
            blocked = right[:, positive].T | (same[:, None] == same[None, :]) | twins[:, positive]
            blocked[here, here] = False
            columns = columns.masked_fill(blocked, -1e4)
            if foreign is not None:
                away = functional.normalize(foreign[:, :dims], dim=1)
                others = (two[positive] @ away.T / settings.temperature).masked_fill(~beside[:, positive].T, -1e4)
                columns = torch.cat([columns, others], dim=1)
            loss = loss + settings.back * functional.cross_entropy(columns, here)
        total = total + loss
    return total


def transferred(queries: Tensor, english: Tensor, documents: Tensor, none: Tensor, settings: Settings) -> Tensor:
    """How far needs in another language are from their English, and their choice of tools or none from its choice."""
    english, none = english.detach(), none.detach()

    def chosen(rows: Tensor) -> Tensor:
        cosines = torch.cat([rows @ documents.T, none.expand(len(rows), 1)], dim=1)
        return functional.log_softmax(cosines / settings.temperature, dim=1)

    apart = functional.kl_div(chosen(queries), chosen(english), log_target=True, reduction="batchmean")
    return settings.align * (1 - (queries * english).sum(1)).mean() + settings.transfer * apart


def told(student: tuple[Tensor, Tensor], teacher: tuple[Tensor, Tensor], temperature: float) -> Tensor:
    """How far the student's likenesses in a batch are from the teacher's, whose cosines are all close to another."""
    loss = torch.zeros((), device=student[0].device)
    for one, two in ((0, 1), (1, 0)):
        wanted = functional.softmax(teacher[one] @ teacher[two].T / TEACHER_TEMPERATURE, dim=1)
        said = functional.log_softmax(student[one] @ student[two].T / temperature, dim=1)
        loss = loss + functional.kl_div(said, wanted, reduction="batchmean")
    return loss / 2


def trained(
    start: model.Encoder,
    teacher: model.Encoder,
    data: Data,
    settings: Settings,
    left_out: frozenset[str],
    watch: Callable[[int, model.Encoder], None] = lambda step, encoder: None,
    seconds: float = math.inf,
) -> model.Encoder:
    """A model that never saw the families that are left out. It takes fewer steps if they would take more seconds."""
    torch.manual_seed(settings.seed)
    encoder = copy.deepcopy(start).train()
    encoder.dropout = settings.dropout
    sampler = Sampler(data, settings, left_out, settings.seed)
    plain = [value for value in encoder.parameters() if value.ndim < 2]
    encoder.words.weight.requires_grad_(False)  # so that pieces that no training text has keep their place
    wide = [value for value in encoder.parameters() if value.ndim >= 2 and value.requires_grad]
    none = torch.nn.Parameter(torch.tensor(0.35, device=encoder.words.weight.device))
    groups = [{"params": wide, "weight_decay": 0.01}, {"params": plain}, {"params": [none], "times": NONE_RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    step, steps, warm = 0, settings.steps, max(1, settings.steps // 10)
    began = time.monotonic()
    while step < steps:
        if step == SPEED_KNOWN_AFTER:
            steps = min(steps, int(seconds / (time.monotonic() - began) * step))
        share = min((step + 1) / warm, max(0.02, (steps - step) / max(1, steps - warm)))
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * share * group.get("times", 1)
        batch = sampler.draw()
        beside = batch.english or batch.foreign
        asked = encode(encoder, data, batch.queries + beside, 0, settings.tokens, 2)
        queries, foreign = asked[: len(batch.queries)], asked[len(batch.queries) :] if beside else None
        most = settings.tokens if batch.tools or batch.translated else settings.long_tokens
        with torch.set_grad_enabled(not batch.english):
            documents = encode(encoder, data, sampler.read(batch.documents), batch.role, most)
        if batch.english:
            assert foreign is not None
            loss = transferred(queries, foreign, documents, none, settings)
        else:
            loss = loss_of(batch, queries, documents, foreign, none, settings)
        if batch.translated:
            loss = loss + settings.align * (1 - (queries * documents[batch.positive]).sum(1)).mean()
        elif settings.distil and batch.distilled:
            with torch.no_grad():
                parts = enumerate((batch.queries, batch.documents))
                said = [encode(teacher, data, part, role, most) for role, part in parts]
            loss = loss + settings.distil * told((queries, documents), (said[0], said[1]), settings.temperature)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 100 == 0 or step == steps:
            told_loss, told_none = (f"{float(number.detach()):.3f}" for number in (loss, none))
            print(f"  step {step} loss {told_loss} none {told_none} {time.monotonic() - began:.0f} s", flush=True)
        watch(step, encoder)
    return encoder.eval()


def distilled(teacher: model.Encoder, start: model.Encoder, data: Data, steps: int, batch: int = 512) -> model.Encoder:
    """A smaller model that gives the teacher's vectors, as far as it can, on all texts that belong to no set."""
    student = copy.deepcopy(start).train()
    student.words.weight.requires_grad_(False)
    random_ = random.Random(0)
    pairs = [row for name, rows in data.all["pairs"].items() if ":" not in name for row in rows]
    needs = [row for server in data.all["written"] for row in [*server["tools"], *server["others"]]]
    pool = sorted({number for row in pairs for number in row[:2]} | {row[0] for row in needs})
    optimizer = torch.optim.AdamW([value for value in student.parameters() if value.requires_grad], weight_decay=0.01)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 4e-4 * min((step + 1) / 100, (steps - step) / steps)
        numbers, role = random_.sample(pool, min(batch, len(pool))), step % 2
        with torch.no_grad():
            wanted = encode(teacher, data, numbers, role, 96)
        made = encode(student, data, numbers, role, 96)
        half = len(numbers) // 2
        likeness = told((made[:half], made[half:]), (wanted[:half], wanted[half:]), TEACHER_TEMPERATURE)
        loss = (1 - (made * wanted).sum(1)).mean() * 10 + likeness
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 199:
            print(f"  distil {step + 1} loss {float(loss.detach()):.3f}", flush=True)
    return student.eval()

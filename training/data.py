"""Training data: judged queries of tool sets, weak pairs, sentences of catalogs, and needs written for training.

Everything becomes one file of texts and numbers, so that a machine with an accelerator needs nothing else.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import shortlist
from bench import beir, mcp_servers, streams
from bench.scope import Scope
from shortlist.sources.tools.tool_catalogs import tool_of
from training import help_pages

# A fold leaves out a whole family: sets of one family share tools or queries.
TOOL_SETS = {
    "sealtools": "sealtools",
    "toolbench": "toolbench",
    "bfcl": "bfcl",
    "metatool": "metatool",
    "metatool_awareness": "metatool",
    "apibank": "apibank",
    "toolalpaca": "toolalpaca",
    "apibench": "apibench",
    "clinc150": "clinc150",
}
MCP = mcp_servers.NAME  # measured only, never trained on
# Left out with a set: servers written for training that do what those of its questions do.
HIDDEN_WITH = {
    MCP: [
        "apidocs",
        "browser",
        "browserautomation",
        "chat",
        "codehost",
        "codehosting",
        "codereview",
        "codesearch",
        "cron",
        "database",
        "demo",
        "devsearch",
        "devtools",
        "diff",
        "diffmerge",
        "docgen",
        "docs",
        "documents",
        "editor",
        "encoding",
        "fetch",
        "files",
        "filesystem",
        "forge",
        "geocoding",
        "geodata",
        "gis",
        "git",
        "gitops",
        "issuetracker",
        "issuetracking",
        "kanban",
        "knowledge",
        "maps",
        "memory",
        "messaging",
        "messenger",
        "navigation",
        "projectboards",
        "projects",
        "records",
        "relational",
        "routeplanning",
        "routing",
        "scraping",
        "screenshot",
        "search",
        "searchengine",
        "snippets",
        "sourcecontrol",
        "sql",
        "sqlite",
        "storage",
        "thinking",
        "ticketing",
        "time",
        "timezones",
        "todo",
        "tracker",
        "transit",
        "transport",
        "websearch",
        "workchat",
        "workspace",
    ],
    "clinc150": ["assistants"],
}
NEEDS = [Path(__file__).with_name(f"{name}.jsonl") for name in ("needs", "more_needs", "skills")]
CHAT = Path(__file__).with_name("chat.jsonl")
OTHER_NEEDS = Path(__file__).with_name("other_needs.jsonl")  # of the same servers, in other languages
PASSAGES = Path(__file__).with_name("passages.jsonl")  # with questions in their own and in other languages
ALIKE = 0.6  # shared words, of all words of two needs: such a need is not trained on if it is a measured one
XQUAD = "xquad"  # measured only, never trained on
DOCUMENT_SETS = ("scifact", "nfcorpus", "cranfield")  # measured only, never trained on
MOST_JUDGED = 4000  # training queries of one set
MOST_ASKED = 1500  # measured queries of one set, every nth, as `python -m bench quality` asks them
LONGEST = 700  # characters of a training text: more than its 128 tokens
LONGEST_PARAGRAPH = 1200  # of one with questions about any part of it
WEAK = {"openapi": 60_000, "skills": 16_000, "debian": 25_000, "medquad": 10_000, "techdocs": 30_000}
WIKI = 20_000
PARALLEL = 60_000
HELP = 60_000

_OPERATION = re.compile(r"^((?:[A-Z]+ /)?\S+) ")
_NAMED = re.compile(r"^(\S+): ")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_ASKED = (
    "I need to {}",
    "I want to {}",
    "I'd like to {}.",
    "Can you {}?",
    "Could you {}?",
    "Please {}.",
    "Help me {}.",
    "How do I {}?",
    "How can I {}?",
    "{}, please",
    "We have to {} for a customer.",
    "I'm working on a project and have to {}.",
)
_JOINED = ("{}. Additionally, {}.", "{}, and then {}.", "{}. Also, {}.", "First {}; after that {}.")


class Texts:
    """Each text once, by number."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self._number: dict[str, int] = {}

    def add(self, text: str) -> int:
        number = self._number.setdefault(text, len(self.rows))
        if number == len(self.rows):
            self.rows.append(text)
        return number


def prepare(bench: Path, pairs: Path, parallel: Path, help_folder: Path, out: Path) -> None:
    """Write all that training reads."""
    texts, random_ = Texts(), random.Random(0)
    prepared: dict[str, Any] = {"families": TOOL_SETS, "sets": {}, "pairs": {}}
    for name in (*TOOL_SETS, *DOCUMENT_SETS):
        prepared["sets"][name] = _read_set(bench / name, texts, random_)
        print(name, {key: len(value) for key, value in prepared["sets"][name].items()}, flush=True)
    prepared["pairs"] = _weak_pairs(pairs, texts, random_)
    prepared["pairs"]["wiki"] = _wiki_pairs(bench / "ottqa_wiki", texts, random_)
    prepared["pairs"]["parallel"] = _parallel_pairs(parallel, texts, random_)
    prepared["pairs"]["help"] = [
        [texts.add(query), texts.add(passage), page]
        for query, passage, page in help_pages.pairs(help_folder, HELP, random_)
    ]
    prepared["pairs"]["passages"] = [
        [texts.add(question), texts.add(row["text"]), ""] for row in rows(PASSAGES) for _, question in row["questions"]
    ]
    measured = [row["text"] for row in rows(bench / XQUAD / "en" / "corpus.jsonl")]
    prepared["pairs"]["squad2"], prepared["questions"] = _questions(bench / "squad2", texts, measured)
    prepared["questions"] += [texts.add(row["text"]) for row in rows(bench / "ottqa_wiki" / "queries.jsonl")]
    for name in TOOL_SETS:
        if name not in ("clinc150", "metatool_awareness"):
            prepared["pairs"][f"catalog:{name}"] = _catalog_pairs(bench / name, texts, random_)
    for name, pairs_ in prepared["pairs"].items():
        print(name, len(pairs_), flush=True)
    asked = []
    if (bench / MCP).exists():
        for language in ("", *mcp_servers.LANGUAGES):
            scope = mcp_servers.load(bench / MCP, language)
            prepared["sets"][scope.name] = _read_mcp(scope, texts)
            asked += [] if language else [words_of(question.text) for question in scope.questions]
    for folder in sorted((bench / XQUAD).glob("??")):
        prepared["sets"][f"{XQUAD}.{folder.name}"] = _read_set(folder, texts, random_)
    if (
        f"{XQUAD}.en" in prepared["sets"]
    ):  # the questions of each language with the English paragraphs, whose ids are the same
        english = prepared["sets"][f"{XQUAD}.en"]["documents"]
        for name in [name for name in prepared["sets"] if name.startswith(XQUAD) and name != f"{XQUAD}.en"]:
            prepared["sets"][f"{name}.en"] = prepared["sets"][name] | {"documents": english}
    prepared["hidden_with"] = HIDDEN_WITH
    prepared |= _needs(texts, asked)
    prepared["texts"] = texts.rows
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(lzma.compress(json.dumps(prepared, ensure_ascii=False).encode(), preset=4))


def read_texts(prepared: Path) -> list[str]:
    """All texts of prepared data but the measured ones in other languages."""
    found: dict[str, Any] = json.loads(lzma.decompress(prepared.read_bytes()))
    measured = set[int]()
    for name, one in found["sets"].items():
        if name.startswith((f"{MCP}.", XQUAD)):
            measured |= {*one["documents"], *(row[0] for row in [*one["asked"], *one["unserved"]])}
    return [text for number, text in enumerate(found["texts"]) if number not in measured]


def _read_mcp(scope: Scope, texts: Texts) -> dict[str, Any]:
    place = {document.id: at for at, document in enumerate(scope.documents)}
    fitting = [one for one in scope.questions if one.gold]
    return {
        "documents": [texts.add(as_embedded(document)) for document in scope.documents],
        "asked": [[texts.add(one.text), {place[id]: 1.0 for id in one.gold}, []] for one in fitting],
        "unserved": [[texts.add(one.text), []] for one in scope.questions if not one.gold],
        "train": [],
    }


def _needs(texts: Texts, asked: list[set[str]]) -> dict[str, Any]:
    """Servers with their tools, the needs that each tool serves and those that none does; requests without any tool.

    `meant` are pairs of a need in another language and what it says in English.
    """

    def add(needs: list[str]) -> list[int]:
        return [texts.add(need) for need in needs if not is_asked(words_of(need), asked)]

    def meant(pairs: Iterable[tuple[str, str]]) -> list[list[int]]:
        return [[texts.add(need), *english] for need, one in pairs if (english := add([one]))]

    servers = []
    requests = list(rows(CHAT))
    chat = add([row["text"] for row in requests])
    others = {(row["server"], row["family"]): row["needs"] for row in rows(OTHER_NEEDS)}
    for row in (row for path in NEEDS for row in rows(path)):
        tools, numbers = [], {}
        for tool in row["tools"]:
            document = as_document(tool)
            tools.append([texts.add(as_embedded(document)), add(tool["queries"])])
            numbers[tool["name"]] = tools[-1][0]
        if tools:
            needs = others.pop((row["server"], row["family"]), ())
            servers.append(
                {
                    "family": row["family"],
                    "tools": tools,
                    "none": add(row["none"]),
                    "others": [[texts.add(need), name and numbers[name]] for _, name, need, *_ in needs],
                    "meant": meant((need, english) for _, _, need, *rest in needs for english in rest),
                }
            )
        else:
            chat += add(row["none"])
    assert not others, f"Needs of unknown servers: {others.keys()}"
    said = meant((row["text"], row["english"]) for row in requests if "english" in row)
    return {"written": servers, "chat": chat, "meant": said}


def as_document(tool: dict[str, Any]) -> shortlist.Document:
    """A written tool as it would be indexed."""
    described = {key: {"description": text} if text else {} for key, text in tool.get("parameters", {}).items()}
    schema = {"type": "object", "properties": described}
    document = tool_of({"name": tool["name"], "description": tool["description"], "inputSchema": schema}, "")
    assert isinstance(document, shortlist.Document)
    return document


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def is_asked(need: set[str], asked: list[set[str]]) -> bool:
    """Whether a need has most words in common with one that is measured."""
    return any(len(need & other) >= ALIKE * len(need | other) for other in asked)


def as_embedded(document: shortlist.Document) -> str:
    parts = (document.title, ", ".join(document.keywords), document.content)
    return "\n".join(part for part in parts if part)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    packed = path.with_name(f"{path.name}.xz")
    with lzma.open(packed, "rt", encoding="utf-8") if packed.exists() else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def as_indexed(row: dict[str, Any]) -> str:
    """A document as the index writes it for an embedder."""
    return "\n".join(part for part in (row.get("title"), row["text"]) if part)


def _judged(folder: Path, name: str) -> dict[str, dict[str, float]]:
    relevance: dict[str, dict[str, float]] = defaultdict(dict)
    path = folder / "qrels" / f"{name}.tsv"
    for line in path.read_text("utf-8").splitlines()[1:] if path.exists() else ():
        query, document, score = line.split("\t")
        if float(score) > 0:
            relevance[query][document] = float(score)
    return dict(relevance)


def _read_set(folder: Path, texts: Texts, random_: random.Random) -> dict[str, Any]:
    """Documents, measured queries with relevance, queries that nothing serves, and training rows."""
    documents = list(rows(folder / "corpus.jsonl"))
    place = {row["_id"]: at for at, row in enumerate(documents)}
    queries = {row["_id"]: row for row in rows(folder / "queries.jsonl")}
    test = _judged(folder, "test")
    step = max(1, -(-len(test) // MOST_ASKED))
    asked = [
        [
            texts.add(queries[id]["text"]),
            {place[key]: score for key, score in test[id].items()},
            _offered(queries[id], place),
        ]
        for id in list(test)[::step]
    ]
    unserved = [
        [texts.add(row["text"]), _offered(row, place)]
        for row in queries.values()
        if row["metadata"].get("answerable") is False and row["metadata"].get("split") != "val"
    ]
    train: list[list[Any]] = []
    if folder.name in TOOL_SETS:
        judged = {id: found for split in ("test", "dev") for id, found in _judged(folder, split).items()}
        wanted = [(queries[id]["text"], [place[key] for key in found]) for id, found in judged.items()]
        if folder.name == "clinc150":  # measured queries stay out, even of the model that is shipped
            wanted = [(text, [at]) for at, row in enumerate(documents) for text in row["metadata"]["train_examples"]]
        random_.shuffle(wanted)
        wanted = wanted[:MOST_JUDGED]
        train = [[texts.add(text), gold] for text, gold in wanted]
    used = streams.divide(beir.load(folder)).texts if folder.name in streams.SETS else []
    return {
        "documents": [texts.add(as_indexed(row)) for row in documents],
        "asked": asked,
        "unserved": unserved,
        "train": train,
        "uses": [texts.add(text) for text in used],
    }


def _offered(row: dict[str, Any], place: dict[str, int]) -> list[int]:
    return [place[key] for key in row["metadata"].get("candidates", ()) if key in place]


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _spoken(sentence: str, random_: random.Random) -> str:
    """A summary as somebody would ask for it, sometimes."""
    if random_.random() < 0.5 or not 3 <= len(sentence.split()) <= 30:
        return sentence
    return random_.choice(_ASKED).format(_lower_first(sentence.strip().rstrip(".")))


def _weak_pairs(path: Path, texts: Texts, random_: random.Random) -> dict[str, list[list[Any]]]:
    """(query, positive, group): operations of one API are a group, since siblings are the hardest to tell apart."""
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            found[row["source"]].append(row)
    pairs: dict[str, list[list[Any]]] = {}
    for source, listed in sorted(found.items()):
        random_.shuffle(listed)
        made = pairs[source] = []
        for row in listed[: WEAK[source]]:
            query, positive, group = row["query"], row["positive"][:LONGEST], ""
            if source == "openapi":
                group = positive.rpartition(" API: ")[2]
                query = _spoken(query, random_)
            positive = _titled(source, positive)
            made.append([texts.add(query[:LONGEST]), texts.add(positive), group])
        if source == "openapi":
            pairs["joined"] = _join(pairs["openapi"], texts, random_)
    return pairs


def _titled(source: str, positive: str) -> str:
    """The name of what is described on a line of its own, as the index writes it."""
    name = {"openapi": _OPERATION, "debian": _NAMED, "skills": _NAMED}.get(source)
    return name.sub(r"\1\n", positive, count=1) if name else positive


def _join(pairs: list[list[Any]], texts: Texts, random_: random.Random) -> list[list[Any]]:
    """Requests that need two operations: (query, one positive, group, the other positive)."""
    joined = []
    by_group = defaultdict(list)
    for pair in pairs:
        by_group[pair[2]].append(pair)
    for _ in range(8000):
        first = random_.choice(pairs)
        near = by_group[first[2]]
        second = random_.choice(near if random_.random() < 0.5 else pairs)
        one, two = texts.rows[first[0]], texts.rows[second[0]]
        if first[1] == second[1] or len(one) + len(two) > 400:
            continue
        query = texts.add(random_.choice(_JOINED).format(one.rstrip(".?"), _lower_first(two.rstrip(".?"))))
        joined.append([query, first[1], first[2], second[1]])
        joined.append([query, second[1], first[2], first[1]])
    return joined


def _wiki_pairs(folder: Path, texts: Texts, random_: random.Random) -> list[list[Any]]:
    """One sentence of a passage, and the rest of it."""
    pairs: list[list[Any]] = []
    for at, row in enumerate(rows(folder / "corpus.jsonl")):
        if at % 14:
            continue
        sentences = _SENTENCE.split(row["text"][:LONGEST])
        if len(sentences) >= 3 and len(pairs) < WIKI:
            taken = sentences.pop(random_.randrange(1, len(sentences)))
            if len(taken) > 25:
                pairs.append([texts.add(taken), texts.add(f"{row.get('title') or ''}\n{' '.join(sentences)}"), ""])
    return pairs


def _parallel_pairs(path: Path, texts: Texts, random_: random.Random) -> list[list[Any]]:
    """A text and its translation, in either order."""
    found = [row for row in rows(path) if len(row["english"]) >= 12 and row["english"] != row["text"]]
    pairs = []
    for row in random_.sample(found, min(PARALLEL, len(found))):
        one, two = texts.add(row["text"][:LONGEST]), texts.add(row["english"][:LONGEST])
        pairs.append([one, two, ""] if random_.random() < 0.7 else [two, one, ""])
    return pairs


def _questions(folder: Path, texts: Texts, measured: list[str]) -> tuple[list[list[Any]], list[int]]:
    """Questions with their paragraph, unless it is a measured one, and all questions: no tool serves them."""
    starts = {text[:60] for text in measured}
    documents = [row for row in rows(folder / "corpus.jsonl") if row["text"][:60] not in starts]
    paragraphs = {row["_id"]: as_indexed(row)[:LONGEST_PARAGRAPH] for row in documents}
    queries = {row["_id"]: row["text"] for row in rows(folder / "queries.jsonl")}
    judged = _judged(folder, "test")
    pairs = [
        [texts.add(queries[id]), texts.add(paragraphs[key]), ""]
        for id, found in judged.items()
        for key in found
        if key in paragraphs
    ]
    return pairs, [
        texts.add(text) for id, text in queries.items() if not (judged.get(id, {}).keys() - paragraphs.keys())
    ]


def _catalog_pairs(folder: Path, texts: Texts, random_: random.Random) -> list[list[Any]]:
    """What a tool does, and the tool without that sentence: its name, the rest and its parameters."""
    pairs = []
    for row in rows(folder / "corpus.jsonl"):
        first, *others = _SENTENCE.split(row["text"], maxsplit=1)
        first, mark, parameters = first.partition(" Parameters: ")
        rest = " ".join([f"Parameters: {parameters}" if mark else "", *others]).strip()
        title = row.get("title") or ""
        if title and 3 <= len(first.split()) <= 40:
            query = texts.add(_spoken(first, random_))
            pairs.append([query, texts.add(f"{title}\n{rest}"[:LONGEST].strip()), ""])
    return pairs

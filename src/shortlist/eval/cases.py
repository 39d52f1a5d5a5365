"""Evaluation cases: read from JSONL, BEIR folders and TREC files, written as JSONL, and validated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

from shortlist._files import replace_text
from shortlist._limits import check_length
from shortlist._plain import Plain
from shortlist._text import did_you_mean
from shortlist.documents import Document
from shortlist.errors import InputError
from shortlist.library.opening import Searchable, open_corpora
from shortlist.safety.untrusted_files import LARGEST_DATA, UnsafeFile, read_text

META = "__meta__"
GOLD = ("gold", "gold_id", "gold_ids", "artifact_id", "artifact_ids")


@dataclass(frozen=True, slots=True)
class Case:
    """A query and the ids of the expected results; without any, nothing in the corpus applies.

    `grades` are the relevance of ids where it differs; an id without a grade has 1.
    """

    query: str
    gold: tuple[str, ...] = ()
    grades: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    line: int = field(default=0, compare=False, repr=False)  # in its file, from 1

    def __post_init__(self) -> None:
        gold = (self.gold,) if isinstance(self.gold, str) else tuple(self.gold or ())
        ids = dict.fromkeys((*gold, *self.grades))
        object.__setattr__(self, "gold", tuple(id for id in ids if self.grades.get(id, 1.0) > 0))

    @property
    def in_scope(self) -> bool:
        return bool(self.gold)

    @property
    def is_reviewed(self) -> bool:
        """Whether a person wrote or checked the case: only `"reviewed": false` says otherwise."""
        return self.meta.get("reviewed") is not False

    @property
    def relevance(self) -> dict[str, float]:
        """The grade of every expected id."""
        return {id: float(self.grades.get(id, 1.0)) for id in self.gold}

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"query": self.query, "gold": list(self.gold)}
        optional = {"grades": dict(self.grades), "meta": dict(self.meta), "id": self.id}
        return data | {key: value for key, value in optional.items() if value}


def load_cases(path: str | Path, qrels: str | Path | None = None, *, split: str = "test") -> list[Case]:
    """The cases of a JSONL file, of a BEIR folder, or of TREC topics with their qrels.

    A line of JSONL is {"query", "gold"}: an id, a list of ids or grades by id; empty if nothing applies. Optional keys
    are "grades", "meta" and "id". A first line {"__meta__": ...} describes the file and is not a case.
    """
    place = Path(path).expanduser()
    if qrels is not None:
        return load_trec(place, qrels)
    if place.is_dir():
        return _load_beir_cases(place, split)
    return parse_cases(_read_text(place), str(place))


def parse_cases(text: str, name: str = "") -> list[Case]:
    """The cases of a JSONL text; `name` is the file name for error messages."""
    rows = list(_parse_rows(text, name))
    if rows and META in rows[0][1]:
        del rows[0]
    return [parse_case(row, _line(name, number), number) for number, row in rows]


def parse_case(row: Mapping[str, Any], where: str, line: int = 0) -> Case:
    """A case from its JSON object; `where` is its place for error messages."""
    key = next((name for name in GOLD if name in row), None)
    if not isinstance(row.get("query"), str) or (key is None and "grades" not in row):
        raise InputError(f'{where} is not a case. Write {{"query": "...", "gold": [ids]}}, with [] if nothing applies.')
    check_length(row["query"], f"query ({where})")
    gold = (row[key] if key else None) or ()
    grades = gold if isinstance(gold, Mapping) else row.get("grades") or {}
    ids = () if isinstance(gold, Mapping) else [gold] if isinstance(gold, str | int) else gold
    if not isinstance(ids, Sequence) or not all(isinstance(id, str | int) for id in ids):
        raise InputError(f'{where}: "gold" must be an id, a list of ids or grades by id, not {gold!r}.')
    if not isinstance(grades, Mapping) or not all(isinstance(grade, int | float) for grade in grades.values()):
        raise InputError(f"{where}: grades must be numbers by id, not {grades!r}.")
    more = row.get("meta") or {}
    if not isinstance(more, Mapping):
        raise InputError(f'{where}: "meta" must be an object, not {more!r}.')
    try:
        json.dumps(row, allow_nan=False)
    except (ValueError, RecursionError):
        raise InputError(f"{where} contains a number that is not finite, or is nested too deeply.") from None
    known = {"query", "grades", "meta", "id", key}
    meta = {name: value for name, value in row.items() if name not in known} | dict(more)
    return Case(row["query"], tuple(map(str, ids)), dict(grades), meta, str(row.get("id") or ""), line)


def save_cases(cases: Iterable[Case], path: str | Path, *, meta: Mapping[str, Any] | None = None) -> None:
    """Write cases as JSONL, atomically. `meta` describes them, in a first line."""
    place = Path(path).expanduser()
    place.parent.mkdir(parents=True, exist_ok=True)
    rows = [*([] if meta is None else [{META: dict(meta)}]), *(case.to_dict() for case in cases)]
    replace_text(place, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def load_beir(folder: str | Path, *, split: str = "test") -> tuple[list[Document], list[Case]]:
    """The documents and the cases of a folder in BEIR layout: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

    Cases are the queries with judgments, and those whose metadata has "answerable": false, to which nothing applies.
    """

    place = Path(folder).expanduser()
    documents = [
        Document(str(row["_id"]), str(row.get("title") or ""), str(row.get("text") or ""), metadata=meta)
        for row, meta in _read_beir(place, "corpus.jsonl", "_id")
    ]
    return documents, _load_beir_cases(place, split)


def _load_beir_cases(folder: Path, split: str) -> list[Case]:
    queries = list(_read_beir(folder, "queries.jsonl", "_id", "text"))
    judgments = load_qrels(folder / "qrels" / f"{split}.tsv", folder)
    cases = []
    for row, meta in queries:
        id = str(row["_id"])
        if id in judgments or (meta.get("answerable") is False and meta.get("split", split) == split):
            cases.append(Case(str(row["text"]), grades=judgments.get(id, {}), meta=meta, id=id))
    return cases


def _read_beir(folder: Path, name: str, *required: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows of a file of a BEIR folder, each with its metadata."""
    path = folder / name
    if folder.is_dir() and not path.exists():
        raise InputError(f"{folder} is not a folder in BEIR layout: it has no {name}.")
    for _, row in _parse_rows(_read_text(path, folder), str(path), *required):
        meta = row.get("metadata")
        yield row, meta if isinstance(meta, dict) else {}


def load_trec(topics: str | Path, qrels: str | Path) -> list[Case]:
    """The topics with judgments of a TREC file (<top>, <topic>, or lines of id, tab and query)."""
    judgments = load_qrels(qrels)
    queries = dict(_read_topics(Path(topics).expanduser()))
    if missing := [id for id in judgments if id not in queries]:
        raise InputError(f"{qrels} has judgments of topic {missing[0]!r}, which {topics} does not have.")
    return [Case(query, grades=judgments[id], id=id) for id, query in queries.items() if id in judgments]


def load_qrels(path: str | Path, root: Path | None = None) -> dict[str, dict[str, float]]:
    """Grades above zero by query and document: TREC's four columns, or BEIR's three with a header.

    With `root`, a link that leaves this folder is not followed.
    """
    judgments: dict[str, dict[str, float]] = {}
    place = Path(path).expanduser()
    for number, line in enumerate(_read_text(place, root).splitlines(), 1):
        columns = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or (number == 1 and columns[0] in ("query-id", "query_id", "qid")):
            continue
        try:
            query, *_, document, last = columns
            grade = float(last)
            if len(columns) not in (3, 4):
                raise ValueError
        except ValueError:
            raise InputError(
                f"{place}, line {number} is not a judgment: {line!r}. Write query, document and grade (or TREC's "
                f"query, 0, document, grade)."
            ) from None
        grades = judgments.setdefault(query.strip(), {})
        if grade > 0:
            grades[document.strip()] = grade
    return judgments


@dataclass(frozen=True, slots=True)
class Flaw(Plain):
    """What is wrong with a case; `number` counts cases from 1, `line` is its line in the file if it has one."""

    number: int
    line: int
    problem: str  # unknown_gold, duplicate, contradiction or empty_query
    says: str


def validate_cases(corpus: Searchable, cases: Sequence[Case]) -> list[Flaw]:
    """The flaws of cases: unknown ids, repeated queries, also with other gold, and empty queries."""
    known = {id for one in open_corpora(corpus, needs_vectors=False) for id in one.ids()}
    flaws: list[Flaw] = []
    first: dict[str, tuple[int, str, Case]] = {}  # by the normalized query
    for number, case in enumerate(cases, 1):
        place = f"Line {case.line}" if case.line else f"Case {number}"
        words = " ".join(case.query.casefold().split())
        if not words:
            flaws.append(Flaw(number, case.line, "empty_query", f"{place} has no query."))
            continue
        if missing := [id for id in case.gold if id not in known]:
            says = f"{place}: the corpus has no document {', '.join(map(repr, missing))}."
            flaws.append(Flaw(number, case.line, "unknown_gold", says + did_you_mean(missing[0], known, most=1)))
        earlier, its_place, same = first.setdefault(words, (number, place, case))
        if earlier == number:
            continue
        says = f"{place} asks the same as {its_place.lower()}, {case.query!r}"
        if set(same.gold) == set(case.gold):
            flaws.append(Flaw(number, case.line, "duplicate", f"{says}."))
        else:
            ids, other_ids = (", ".join(one.gold) or "nothing" for one in (case, same))
            says += f", but wants {ids} instead of {other_ids}."
            flaws.append(Flaw(number, case.line, "contradiction", says))
    return flaws


def _parse_rows(text: str, name: str, *required: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL text with their line numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # also for a number with too many digits
            at_place = f" (character {error.pos + 1})" if isinstance(error, json.JSONDecodeError) else ""
            says = f"{getattr(error, 'msg', error)}{at_place}"
            raise InputError(f"{_line(name, number)} is not valid JSON: {says}.") from None
        if not isinstance(row, dict) or any(key not in row for key in required):
            needs = f" with {', '.join(required)}" if required else ""
            raise InputError(f"{_line(name, number)} is not a JSON object{needs}: {line[:60]!r}.")
        yield number, row


def _line(name: str, number: int) -> str:
    return f"{name}, line {number}" if name else f"Line {number}"


def _read_text(path: Path, root: Path | None = None) -> str:
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file.")
    try:
        return read_text(path, limit=LARGEST_DATA, root=root)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except UnsafeFile as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}).") from None


_FLAGS = re.DOTALL | re.IGNORECASE
_TOPIC = re.compile(r"<top>(.*?)</top>|<topic\s[^>]*number=\"([^\"]+)\"[^>]*>(.*?)</topic>", _FLAGS)
_NUM = re.compile(r"<num>\s*(?:Number:)?\s*(\S+?)\s*(?=<|\n)", _FLAGS)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*(.*?)\s*(?=<)", _FLAGS)
_QUERY = re.compile(r"<(?:query|title)>\s*(.*?)\s*</", _FLAGS)


def _read_topics(path: Path) -> Iterator[tuple[str, str]]:
    text = _read_text(path)
    topics = _TOPIC.findall(text)
    for at, (top, id, body) in enumerate(topics, 1):
        if top:
            num, title = _NUM.search(top), _TITLE.search(f"{top}<")
            if not num or not title:
                raise InputError(f"{path}: topic {at} has no <num> or no <title>.")
            id, query = num.group(1), title.group(1)
        else:
            match = _QUERY.search(body)
            query = match.group(1) if match else body
        yield id.strip(), " ".join(unescape(query, {"&quot;": '"', "&apos;": "'"}).split())
    for number, line in enumerate(text.splitlines() if not topics else (), 1):
        if line.strip():
            id, tab, query = line.partition("\t")
            if not tab:
                raise InputError(
                    f"{path}, line {number} is not a topic: {line[:60]!r}. Write an id, a tab and a query."
                )
            yield id.strip(), query.strip()

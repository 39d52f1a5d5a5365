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
from shortlist._plain import Plain
from shortlist._text import did_you_mean
from shortlist.documents import Document
from shortlist.errors import InputError
from shortlist.library.opening import Searchable, open_corpora

META = "__meta__"
GOLD = ("gold", "gold_id", "gold_ids", "artifact_id", "artifact_ids")


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the ids of what should be found for it; none of them says that nothing applies.

    `grades` says how relevant an id is where that differs; one without a grade counts 1.
    """

    query: str
    gold: tuple[str, ...] = ()
    grades: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    line: int = field(default=0, compare=False, repr=False)
    """Where it stood in its file, from 1."""

    def __post_init__(self) -> None:
        gold = (self.gold,) if isinstance(self.gold, str) else tuple(self.gold or ())
        wanted = dict.fromkeys((*gold, *self.grades))
        object.__setattr__(self, "gold", tuple(id for id in wanted if self.grades.get(id, 1.0) > 0))

    @property
    def in_scope(self) -> bool:
        return bool(self.gold)

    @property
    def relevance(self) -> dict[str, float]:
        """The grade of every id that should be found."""
        return {id: float(self.grades.get(id, 1.0)) for id in self.gold}

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"query": self.query, "gold": list(self.gold)}
        optional = {"grades": dict(self.grades), "meta": dict(self.meta), "id": self.id}
        return data | {key: value for key, value in optional.items() if value}


def load_cases(path: str | Path, qrels: str | Path | None = None, *, split: str = "test") -> list[Case]:
    """The cases of a JSONL file, of a BEIR folder, or of TREC topics with their qrels.

    A line of JSONL is {"query", "gold"}: an id, a list of ids or grades by id; empty if nothing applies. Optional are
    "grades", "meta" and "id". A first line {"__meta__": ...} describes the file and is no case.
    """
    place = Path(path).expanduser()
    if qrels is not None:
        return load_trec(place, qrels)
    if place.is_dir():
        return load_beir(place, split=split)[1]
    return parse_cases(_text(place), str(place))


def parse_cases(text: str, name: str = "") -> list[Case]:
    """The cases of a JSONL text; `name` is what errors call it."""
    rows = list(_rows(text, name))
    if rows and META in rows[0][1]:
        del rows[0]
    return [case_of(row, _line(name, number), number) for number, row in rows]


def save_cases(cases: Iterable[Case], path: str | Path, *, meta: Mapping[str, Any] | None = None) -> None:
    """Write cases as JSONL: the whole file is replaced, or nothing happens. `meta` describes them, in a first line."""
    place = Path(path).expanduser()
    place.parent.mkdir(parents=True, exist_ok=True)
    rows = [*([] if meta is None else [{META: dict(meta)}]), *(case.to_dict() for case in cases)]
    replace_text(place, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def load_beir(folder: str | Path, *, split: str = "test") -> tuple[list[Document], list[Case]]:
    """The documents and the cases of a folder in BEIR layout: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

    Cases are the judged queries, and those whose metadata says "answerable": false, to which nothing applies.
    """
    place = Path(folder).expanduser()
    documents = [
        Document(str(row["_id"]), str(row.get("title") or ""), str(row.get("text") or ""), metadata=_meta(row))
        for _, row in _rows_of(place / "corpus.jsonl", "_id")
    ]
    judged = load_qrels(place / "qrels" / f"{split}.tsv")
    cases = []
    for _, row in _rows_of(place / "queries.jsonl", "_id", "text"):
        id, meta = str(row["_id"]), _meta(row)
        if id in judged or (meta.get("answerable") is False and meta.get("split", split) == split):
            cases.append(Case(str(row["text"]), grades=judged.get(id, {}), meta=meta, id=id))
    return documents, cases


def load_trec(topics: str | Path, qrels: str | Path) -> list[Case]:
    """The judged topics of a TREC file (<top>, <topic>, or lines of id, tab and query)."""
    judged = load_qrels(qrels)
    found = dict(_topics(Path(topics).expanduser()))
    if missing := [id for id in judged if id not in found]:
        raise InputError(f"{qrels} judges the topic {missing[0]!r}, which {topics} does not have.")
    return [Case(query, grades=judged[id], id=id) for id, query in found.items() if id in judged]


def load_qrels(path: str | Path) -> dict[str, dict[str, float]]:
    """Grades above zero by query and document: TREC's four columns, or BEIR's three with a header."""
    judged: dict[str, dict[str, float]] = {}
    place = Path(path).expanduser()
    for number, line in enumerate(_text(place).splitlines(), 1):
        columns = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or (number == 1 and columns[0] in ("query-id", "query_id", "qid")):
            continue
        try:
            query, document = columns[0], columns[-2]
            grade = float(columns[-1])
            if len(columns) not in (3, 4):
                raise ValueError
        except (ValueError, IndexError):
            raise InputError(
                f"{place}, line {number}: a judgement is query, document and grade (or TREC's query, 0, document, "
                f"grade), not {line!r}."
            ) from None
        of_query = judged.setdefault(query.strip(), {})
        if grade > 0:
            of_query[document.strip()] = grade
    return judged


@dataclass(frozen=True, slots=True)
class Flaw(Plain):
    """What is wrong with a case; `number` counts cases from 1, `line` is its line in the file if it has one."""

    number: int
    line: int
    problem: str  # unknown_gold, duplicate, contradiction or empty_query
    says: str


def validate_cases(corpus: Searchable, cases: Sequence[Case]) -> list[Flaw]:
    """What is wrong with cases: gold that does not exist, the same question twice, with other gold, or no question."""
    known = {id for one in open_corpora(corpus, needs_vectors=False) for id in one.ids()}
    flaws: list[Flaw] = []
    first: dict[str, tuple[int, Case]] = {}
    for number, case in enumerate(cases, 1):
        words = " ".join(case.query.casefold().split())
        if not words:
            flaws.append(Flaw(number, case.line, "empty_query", f"{_place(number, case)} has no query."))
            continue
        if missing := [id for id in case.gold if id not in known]:
            says = f"{_place(number, case)}: the corpus has no document {', '.join(map(repr, missing))}."
            flaws.append(Flaw(number, case.line, "unknown_gold", says + did_you_mean(missing[0], known, most=1)))
        earlier, same = first.setdefault(words, (number, case))
        if earlier == number:
            continue
        places = f"{_place(number, case)} asks the same as {_place(earlier, same).lower()}, {case.query!r}"
        if set(same.gold) == set(case.gold):
            flaws.append(Flaw(number, case.line, "duplicate", f"{places}."))
        else:
            says = f"{places}, but wants {_ids(case)} instead of {_ids(same)}."
            flaws.append(Flaw(number, case.line, "contradiction", says))
    return flaws


def _place(number: int, case: Case) -> str:
    return f"Line {case.line}" if case.line else f"Case {number}"


def _ids(case: Case) -> str:
    return ", ".join(case.gold) or "nothing"


def case_of(row: Mapping[str, Any], where: str, line: int = 0) -> Case:
    """A case that was written down as a JSON object; `where` is where that was."""
    key = next((name for name in GOLD if name in row), None)
    if not isinstance(row.get("query"), str) or (key is None and "grades" not in row):
        raise InputError(f'{where}: a case is {{"query": "...", "gold": [ids]}}, with [] if nothing applies.')
    gold = (row[key] if key else None) or ()
    grades = gold if isinstance(gold, Mapping) else row.get("grades") or {}
    ids = () if isinstance(gold, Mapping) else [gold] if isinstance(gold, str | int) else gold
    if not isinstance(ids, Sequence) or not all(isinstance(id, str | int) for id in ids):
        raise InputError(f'{where}: "gold" is an id, a list of ids or grades by id, not {gold!r}.')
    if not isinstance(grades, Mapping) or not all(isinstance(grade, int | float) for grade in grades.values()):
        raise InputError(f"{where}: grades are numbers by id, not {grades!r}.")
    more = row.get("meta") or {}
    if not isinstance(more, Mapping):
        raise InputError(f'{where}: "meta" is an object, not {more!r}.')
    try:
        json.dumps(row, allow_nan=False)
    except (ValueError, RecursionError):
        raise InputError(f"{where} holds a number without end, or is nested too deep.") from None
    known = {"query", "grades", "meta", "id", key}
    meta = {name: value for name, value in row.items() if name not in known} | dict(more)
    return Case(row["query"], tuple(map(str, ids)), dict(grades), meta, str(row.get("id") or ""), line)


def _rows_of(path: Path, *required: str) -> Iterator[tuple[int, dict[str, Any]]]:
    return _rows(_text(path), str(path), *required)


def _rows(text: str, name: str, *required: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL text with their line numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            says = f"{error.msg} (character {error.pos + 1})"
            raise InputError(f"{_line(name, number)} is not valid JSON: {says}.") from None
        except (ValueError, RecursionError) as error:  # a number with too many digits, too many brackets
            raise InputError(f"{_line(name, number)} is not valid JSON: {error}.") from None
        if not isinstance(row, dict) or any(key not in row for key in required):
            needs = f" with {', '.join(required)}" if required else ""
            raise InputError(f"{_line(name, number)}: every line is a JSON object{needs}, not {line[:60]!r}.")
        yield number, row


def _line(name: str, number: int) -> str:
    return f"{name}, line {number}" if name else f"Line {number}"


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}).") from None


def _meta(row: Mapping[str, Any]) -> dict[str, Any]:
    meta = row.get("metadata")
    return dict(meta) if isinstance(meta, Mapping) else {}


_TOP = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_NUM = re.compile(r"<num>\s*(?:Number:)?\s*(\S+?)\s*(?=<|\n)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*(.*?)\s*(?=<)", re.DOTALL | re.IGNORECASE)
_TOPIC = re.compile(r"<topic\s[^>]*number=\"([^\"]+)\"[^>]*>(.*?)</topic>", re.DOTALL | re.IGNORECASE)
_QUERY = re.compile(r"<(?:query|title)>\s*(.*?)\s*</", re.DOTALL | re.IGNORECASE)


def _topics(path: Path) -> Iterator[tuple[str, str]]:
    text = _text(path)
    found = [(_NUM.search(top), _TITLE.search(top + "<")) for top in _TOP.findall(text)]
    if found:
        for at, (number, title) in enumerate(found, 1):
            if not number or not title:
                raise InputError(f"{path}: topic {at} has no <num> or no <title>.")
            yield number.group(1), _plain(title.group(1))
        return
    if of_xml := _TOPIC.findall(text):
        for id, body in of_xml:
            query = _QUERY.search(body)
            yield id.strip(), _plain(query.group(1) if query else body)
        return
    for number_of_line, line in enumerate(text.splitlines(), 1):
        id, tab, query_text = line.partition("\t")
        if not line.strip():
            continue
        if not tab:
            raise InputError(f"{path}, line {number_of_line}: a topic is an id, a tab and a query, not {line[:60]!r}.")
        yield id.strip(), query_text.strip()


def _plain(text: str) -> str:
    return " ".join(unescape(text, {"&quot;": '"', "&apos;": "'"}).split())

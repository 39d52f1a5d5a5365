from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from shortlist import Corpus, Document, InputError
from shortlist.eval import Case, evaluate_discovery, load_beir, load_cases, load_trec, save_cases, validate_cases
from shortlist.eval import cases as room


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "gold", "relevance"),
    [
        ('{"query": "q", "gold": "a"}', ("a",), {"a": 1.0}),
        ('{"query": "q", "gold": ["a", "b", "a"]}', ("a", "b"), {"a": 1.0, "b": 1.0}),
        ('{"query": "q", "gold": []}', (), {}),
        ('{"query": "q", "gold": ""}', (), {}),
        ('{"query": "q", "gold": null}', (), {}),
        ('{"query": "q", "gold_ids": ["a"]}', ("a",), {"a": 1.0}),
        ('{"query": "q", "artifact_id": "a"}', ("a",), {"a": 1.0}),
        ('{"query": "q", "gold": {"a": 2, "b": 0}}', ("a",), {"a": 2.0}),
        ('{"query": "q", "gold": ["a"], "grades": {"b": 3}}', ("a", "b"), {"a": 1.0, "b": 3.0}),
        ('{"query": "q", "gold": 7}', ("7",), {"7": 1.0}),
    ],
)
def test_gold_is_an_id_some_ids_or_grades(
    tmp_path: Path, line: str, gold: tuple[str, ...], relevance: dict[str, float]
) -> None:
    (case,) = load_cases(written(tmp_path / "cases.jsonl", line))
    assert case.gold == gold
    assert case.relevance == relevance
    assert case.in_scope is bool(gold)


def test_what_else_stands_in_a_line_is_kept_with_the_case(tmp_path: Path) -> None:
    text = (
        '{"query": "q", "gold": "a", "id": "7", "topic": "tea", "meta": {"by": "hand"}}\n\n{"query": "r", "gold": []}'
    )
    one, two = load_cases(written(tmp_path / "cases.jsonl", text))
    assert one == Case("q", ("a",), meta={"topic": "tea", "by": "hand"}, id="7")
    assert (one.line, two.line) == (1, 3)


def test_cases_are_the_same_after_they_were_saved_and_loaded(tmp_path: Path) -> None:
    cases = [
        Case("été 東京 \u2028 q", ("a", "b"), grades={"b": 2.0}, meta={"n": 1}, id="x"),
        Case("nothing applies"),
    ]
    path = tmp_path / "deep" / "cases.jsonl"
    save_cases(cases, path)
    assert load_cases(path) == cases
    assert list(path.parent.iterdir()) == [path]


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    save_cases([Case("old", ("a",))], path)

    def broken() -> Any:
        yield Case("new", ("b",))
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        save_cases(broken(), path)
    assert [case.query for case in load_cases(path)] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_a_saved_file_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        save_cases([], tmp_path / "cases.jsonl")
    finally:
        os.umask(before)
    assert (tmp_path / "cases.jsonl").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"query": "q", "gold": []}\n{"query": ', "line 2 is not valid JSON"),
        ("[1]", "line 1 is not a JSON object"),
        ('{"gold": []}', r'line 1 is not a case.*\{"query": "...", "gold": \[ids\]\}'),
        ('{"query": "q"}', "line 1 is not a case"),
        ('{"query": "q", "gold": 0.5}', 'line 1: "gold" must be .* not 0.5'),
        ('{"query": "q", "gold": [["a"]]}', 'line 1: "gold" must be an id'),
        ('{"query": "q", "gold": {"a": "much"}}', "line 1: grades must be numbers"),
        ('{"query": "q", "grades": ["a"]}', "line 1: grades must be numbers by id"),
        ('{"query": "q", "gold": [], "meta": 7}', 'line 1: "meta" must be an object, not 7'),
        ('{"query": "q", "gold": {"a": 1e999}}', "line 1 contains a number that is not finite"),
        ('{"query": "q", "gold": [], "note": [NaN]}', "line 1 contains a number that is not finite"),
        ('{"query": "q", "gold": ' + "[" * 100_000, "line 1 is not valid JSON"),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_cases(written(tmp_path / "cases.jsonl", text))


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl does not exist"):
        load_cases(tmp_path / "none.jsonl")
    (tmp_path / "cases.jsonl").write_bytes(b'{"query": "\xff"}')
    with pytest.raises(InputError, match="is not UTF-8 text"):
        load_cases(tmp_path / "cases.jsonl")


def beir(folder: Path) -> Path:
    rows = [
        {"_id": "d1", "title": "Tea", "text": "green", "metadata": {"kind": "leaf"}},
        {"_id": "d2", "text": "black"},
    ]
    queries = [
        {"_id": "q1", "text": "green tea"},
        {"_id": "q2", "text": "of another split"},
        {"_id": "q3", "text": "jazz", "metadata": {"answerable": False}},
        {"_id": "q4", "text": "blues", "metadata": {"answerable": False, "split": "train"}},
        {"_id": "q5", "text": "judged, and nothing is relevant"},
    ]
    written(folder / "corpus.jsonl", "\n".join(map(json.dumps, rows)))
    written(folder / "queries.jsonl", "\n".join(map(json.dumps, queries)))
    written(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq5\td1\t0\n")
    return folder


def test_a_beir_folder_has_documents_and_the_judged_or_unanswerable_queries_of_its_split(tmp_path: Path) -> None:
    documents, cases = load_beir(beir(tmp_path))
    assert documents == [Document("d1", "Tea", "green", metadata={"kind": "leaf"}), Document("d2", "", "black")]
    assert [(case.id, case.query, case.relevance) for case in cases] == [
        ("q1", "green tea", {"d1": 2.0}),
        ("q3", "jazz", {}),
        ("q5", "judged, and nothing is relevant", {}),
    ]
    assert load_cases(tmp_path) == cases


def test_a_beir_folder_without_a_part_of_it_says_which(tmp_path: Path) -> None:
    (beir(tmp_path) / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"it has no corpus\.jsonl"):
        load_beir(tmp_path)
    assert [case.id for case in load_cases(tmp_path)] == ["q1", "q3", "q5"]  # which needs no documents
    (tmp_path / "queries.jsonl").unlink()
    with pytest.raises(InputError, match=r"it has no queries\.jsonl"):
        load_cases(tmp_path)


TOPICS = {
    "lines": "301\tgreen tea\n302\tblack & strong\n303\tnever judged\n",
    "sgml": (
        "<top>\n<num> Number: 301\n<title> green\ntea\n\n<desc> Description:\nx\n</top>\n"
        "<top><num>302</num><title>black &amp; strong</title></top><top><num>303<title>never judged</top>"
    ),
    "xml": (
        '<topics><topic number="301" type="a"><query>green tea</query></topic>'
        '<topic number="302"><query>black &amp; strong</query></topic><topic number="303">never judged</topic></topics>'
    ),
}


@pytest.mark.parametrize("kind", TOPICS)
def test_trec_topics_of_every_kind_are_read_with_their_qrels(tmp_path: Path, kind: str) -> None:
    topics = written(tmp_path / "topics", TOPICS[kind])
    qrels = written(tmp_path / "qrels", "301 0 d1 2\n301 0 d2 0\n302\t0\td2\t1\n")
    cases = load_trec(topics, qrels)
    assert [(case.id, case.query, case.relevance) for case in cases] == [
        ("301", "green tea", {"d1": 2.0}),
        ("302", "black & strong", {"d2": 1.0}),
    ]
    assert load_cases(topics, qrels) == cases


def test_a_judgement_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2 is not a judgment: '301 0 d1 high'"):
        room.load_qrels(written(tmp_path / "qrels", "301 0 d1 2\n301 0 d1 high\n"))
    with pytest.raises(InputError, match="line 1 is not a judgment: '301'"):
        room.load_qrels(written(tmp_path / "qrels", "301\n"))
    topics = written(tmp_path / "topics", "301\tgreen tea\n")
    with pytest.raises(InputError, match=r"topic '999', which .*topics does not have"):
        load_trec(topics, written(tmp_path / "qrels", "999 0 d1 1\n"))


def test_flaws_of_cases_are_named_with_their_lines(shop: Corpus, tmp_path: Path) -> None:
    lines = [
        {"query": "where is the parcel", "gold": "track"},
        {"query": "Where is  the parcel", "gold": ["track"]},
        {"query": "where is the PARCEL", "gold": ["stock"]},
        {"query": "where is the parcel", "gold": []},
        {"query": "  ", "gold": []},
        {"query": "money back", "gold": ["refunds", "track"]},
    ]
    cases = load_cases(written(tmp_path / "cases.jsonl", "\n".join(map(json.dumps, lines))))
    flaws = validate_cases(shop, cases)
    assert [(flaw.line, flaw.problem, flaw.says) for flaw in flaws] == [
        (2, "duplicate", "Line 2 asks the same as line 1, 'Where is  the parcel'."),
        (
            3,
            "contradiction",
            "Line 3 asks the same as line 1, 'where is the PARCEL', but wants stock instead of track.",
        ),
        (
            4,
            "contradiction",
            "Line 4 asks the same as line 1, 'where is the parcel', but wants nothing instead of track.",
        ),
        (5, "empty_query", "Line 5 has no query."),
        (6, "unknown_gold", "Line 6: the corpus has no document 'refunds'. Did you mean 'refund'?"),
    ]
    assert flaws[0].to_dict()["number"] == 2


def test_cases_made_in_a_program_are_named_by_their_number(shop: Corpus) -> None:
    (flaw,) = validate_cases(shop, [Case("fine", ("track",)), Case("odd", ("zzz",))])
    assert flaw.says == "Case 2: the corpus has no document 'zzz'."
    assert validate_cases({"a": "one text"}, [Case("text", ("a",))]) == []


def test_e7_a_file_may_begin_with_a_line_that_describes_it(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    save_cases([Case("q", ("a",))], path, meta={"corpus": "skills"})
    assert json.loads(path.read_text("utf-8").splitlines()[0]) == {"__meta__": {"corpus": "skills"}}
    (case,) = load_cases(path)
    assert (case.query, case.line) == ("q", 2)
    with pytest.raises(InputError, match="line 2 is not a case"):
        load_cases(written(path, '{"query": "q", "gold": []}\n{"__meta__": {}}'))


def test_a_case_that_is_a_dict_is_refused_with_advice() -> None:
    cases: Any = [{"query": "tea", "gold": ["tea"]}]
    with pytest.raises(InputError, match=r"must be an eval\.Case, not .*load_cases"):
        evaluate_discovery({"tea": "Green tea."}, cases)

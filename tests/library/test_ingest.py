"""A folder of mixed files goes in, is asked, changes, and is asked again; killed on the way, it goes on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import shortlist
from shortlist import Corpus, SourceError, ask, ingest
from shortlist._projects import is_of_another_project, project_index
from shortlist.library import ingest as ingest_module
from shortlist.library.opening import open_states
from shortlist.retrieval import agent_actions
from tests.sources.samples import IMAGE, docx, pdf, write, xlsx

PAGES = ["The ship Aurora was built in 1911.", "The captain of the Aurora was Ann Lee."]
LOG = f"The voyage of the Aurora began in Bergen. {'Nothing happened that day. ' * 60}It ended in Oslo."
OLD = time.time() - 3_600


def settle(folder: Path) -> None:
    """As if the files had been written long ago: only then is their stamp trusted."""
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "docs"
    (place / "sub").mkdir(parents=True)
    (place / "ship.pdf").write_bytes(pdf(PAGES))
    (place / "crew.csv").write_text("name,role,age\nTom Hale,cook,44\nSue Park,pilot,\n")
    (place / "log.txt").write_text(LOG)
    (place / "sub" / "cargo.docx").write_bytes(docx(["The hold carried 300 barrels of herring."]))
    (place / "sub" / "notes.md").write_text("# Weather\n\nThe storm of 4 May broke the mast.")
    (place / "page.html").write_text("<html><title>Port</title><p>The harbour master is Olaf Berg.</p></html>")
    (place / "broken.pdf").write_bytes(b"%PDF-1.4 nothing more")
    settle(place)
    return place


def answers(corpus: Corpus) -> dict[str, str]:
    questions = {
        "ship": "When was the ship Aurora built?",
        "captain": "Who was the captain of the Aurora?",
        "cook": "What is the age of Tom Hale?",
        "end": "Where did the voyage of the Aurora begin?",
        "cargo": "How many barrels of herring did the hold carry?",
        "mast": "What broke the mast?",
        "port": "Who is the harbour master?",
    }
    return {name: ask(corpus, question).text for name, question in questions.items()}


def test_a_mixed_folder_is_asked_changed_and_asked_again(folder: Path, tmp_path: Path) -> None:
    corpus, done = ingest(folder, path=tmp_path / "index")
    assert (done.read, done.unchanged, done.removed) == (6, 0, 0)
    assert [Path(problem.source).name for problem in done.failed] == ["broken.pdf"]
    assert done.pages == len(corpus) == 2 + 2 + 4
    assert done.chunks == corpus.info()["passages"]
    assert answers(corpus) == {
        "ship": "The ship Aurora was built in 1911. [ship.pdf:page=1]",
        "captain": "The captain of the Aurora was Ann Lee. [ship.pdf:page=2]",
        "cook": "Tom Hale: age 44 [crew.csv:row=1]",
        "end": "The voyage of the Aurora began in Bergen. [log.txt:whole;offset=0]",
        "cargo": "The hold carried 300 barrels of herring. [cargo.docx:whole]",
        "mast": "The storm of 4 May broke the mast. [notes.md:whole]",
        "port": "The harbour master is Olaf Berg. [page.html:whole]",
    }
    corpus.close()

    corpus, done = ingest(folder, path=tmp_path / "index")
    assert (done.read, done.unchanged, len(done.failed)) == (0, 6, 1)
    corpus.close()

    (folder / "ship.pdf").write_bytes(pdf(["The ship Aurora was built in 1912."]))
    (folder / "page.html").unlink()
    (folder / "sub" / "new.txt").write_text("The figurehead shows a swan.")
    corpus, done = ingest(folder, path=tmp_path / "index")
    assert (done.read, done.unchanged, done.removed, done.added, done.changed) == (2, 4, 1, 1, 1)
    after = answers(corpus)
    assert after["ship"] == "The ship Aurora was built in 1912. [ship.pdf:page=1]"
    assert after["captain"] == after["port"] == shortlist.REFUSAL
    assert ask(corpus, "What does the figurehead show?").text == "The figurehead shows a swan. [new.txt:whole]"
    corpus.close()


def test_paths_that_are_not_named_stay_as_they_are(tmp_path: Path) -> None:
    for name, text in {"one": "The first lamp is red.", "two": "The second lamp is blue."}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "lamp.txt").write_text(text)
    index = tmp_path / "index"
    ingest(tmp_path / "one", path=index)[0].close()
    corpus, done = ingest([tmp_path / "two" / "lamp.txt"], path=index)
    assert (len(corpus), done.added, done.removed) == (2, 1, 0)
    (tmp_path / "one" / "lamp.txt").unlink()
    assert ask(corpus, "Which lamp is red?").text == "The first lamp is red. [lamp.txt:whole]"
    corpus.close()
    corpus, done = ingest(tmp_path / "one", path=index)
    assert (len(corpus), done.removed) == (1, 1)
    corpus.close()


def test_rows_that_are_gone_from_a_file_go_and_the_broken_ones_are_named(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"a": 1}\n{"a": 2}\n{"a": 3}\n')
    corpus, _ = ingest(rows, path=tmp_path / "index")
    rows.write_text('{"a": 1}\n{broken\n')
    corpus, done = ingest(rows, path=tmp_path / "index")
    assert [problem.id.rpartition("#")[2] for problem in done.failed] == ["row=2"]
    assert sorted(id.rpartition("#")[2] for id in corpus.ids()) == ["row=1", "row=2"]
    corpus.close()


def test_an_index_among_the_files_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "lamp.txt").write_text("The lamp is red.")
    for _ in range(2):
        corpus, done = ingest(tmp_path, path=tmp_path / "index")
        assert (len(corpus), done.files, done.failed) == (1, 1, [])
        corpus.close()


def test_a_place_that_is_not_there_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        ingest(tmp_path / "gone", path=tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_path_that_was_ingested_and_is_gone_goes_from_the_index(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(f"This is {name}.")
    ingest([tmp_path / "one.txt", tmp_path / "two.txt"], path=tmp_path / "index")[0].close()
    (tmp_path / "one.txt").unlink()
    corpus, done = ingest(tmp_path / "one.txt", path=tmp_path / "index")
    assert (done.removed, [Path(id).name for id in corpus.ids()]) == (1, ["two.txt"])
    corpus.close()
    with pytest.raises(SourceError, match="nothing was ingested from it"):
        ingest(tmp_path / "one.txt", path=tmp_path / "index")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_no_text_stays(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("The door is open.", encoding="utf-8")
    settle(folder)
    for _ in range(2):
        corpus, done = ingest(folder, path=tmp_path / "index")
        assert (len(corpus), done.removed, done.failed) == (1, 0, [])
        corpus.close()


def test_a_file_in_one_portion_or_in_many_is_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = ingest(folder, path=tmp_path / "whole")
    monkeypatch.setattr(ingest_module, "BATCH_FILES", 1)
    parts, done = ingest(folder, path=tmp_path / "parts")
    assert set(parts.ids()) == set(whole.ids())
    assert done.files == 7
    whole.close()
    parts.close()


CHILD = """
import sys
from shortlist.library import ingest
ingest.BATCH_FILES = 10

def slowly(done):
    if done.read == 25:
        print("now", flush=True)
        sys.stdin.readline()

ingest.ingest(sys.argv[1], path=sys.argv[2], on_counts=slowly)
"""


def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, index = tmp_path / "many", tmp_path / "index"
    folder.mkdir()
    for at in range(40):
        (folder / f"{at:02}.txt").write_text(f"Box number {at} holds {at * 7} marbles.")
    settle(folder)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(index)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout
    assert child.stdin
    assert child.stdout.readline() == b"now\n"
    child.kill()
    child.wait(timeout=60)
    child.stdout.close()
    child.stdin.close()
    with shortlist.open_corpus(index) as found:
        assert len(found) == 20
    corpus, done = ingest(folder, path=index)
    assert (done.read, done.unchanged, len(corpus)) == (20, 20, 40)
    assert "holds 231 marbles" in ask(corpus, "How many marbles does box number 33 hold?").text
    corpus.close()


def test_files_too_new_for_their_stamps_are_unchanged_if_they_hold_what_is_stored(tmp_path: Path) -> None:
    folder, index = tmp_path / "new", tmp_path / "index"
    folder.mkdir()
    (folder / "a.txt").write_text("The mill grinds rye.")
    (folder / "b.csv").write_text("grain,tons\nrye,4\noats,7\n")
    young = time.time() + 3600  # however long this test takes
    for path in folder.iterdir():
        os.utime(path, (young, young))
    ingest(folder, path=index)[0].close()
    corpus, done = ingest(folder, path=index)
    assert (done.read, done.unchanged, done.pages, done.chunks, done.added, done.changed) == (0, 2, 0, 0, 0, 0)
    corpus.close()
    (folder / "b.csv").write_text("grain,tons\nrye,5\noats,7\n")
    os.utime(folder / "b.csv", (young, young))
    corpus, done = ingest(folder, path=index)
    assert (done.read, done.unchanged, done.pages, done.changed) == (1, 1, 2, 1)
    corpus.close()


def test_a_file_that_holds_no_text_any_more_is_no_longer_found(tmp_path: Path) -> None:
    file, index = tmp_path / "a.txt", tmp_path / "index"
    file.write_text("The mill grinds rye.")
    ingest(file, path=index)[0].close()
    file.write_bytes(bytes(range(256)))
    corpus, done = ingest(file, path=index)
    assert (done.read, done.skipped, corpus.ids()) == (0, 1, [])
    corpus.close()


FACT = "The vault code is kept by Admiral Ngata."
LONG = "Nothing much happened on that day. " * 177 + FACT  # 6,235 characters


@pytest.mark.parametrize("name", ["log.csv", "log.json", "log.jsonl", "log.xlsx"])
def test_b3_a_fact_at_the_end_of_a_long_row_is_found_cited_and_read_by_its_locator(name: str, tmp_path: Path) -> None:
    row = json.dumps({"day": "1", "entry": LONG})
    data: dict[str, str | bytes] = {
        "log.csv": f'day,entry\n1,"{LONG}"\n2,quiet\n',
        "log.json": f'[{row}, {{"day": "2"}}]',
        "log.jsonl": f'{row}\n{{"day": "2"}}\n',
        "log.xlsx": xlsx({"Log": [["day", "entry"], ["1", LONG], ["2", "quiet"]]}),
    }
    corpus, done = ingest(write(tmp_path / "data", {name: data[name]}), path=tmp_path / "index")
    assert (done.pages, done.chunks) == (2, 11)
    answer = ask(corpus, "Who keeps the vault code?")
    cited = answer.sentences[0].citations[0].locator
    assert re.fullmatch(r"(sheet=Log;)?row=1;offset=\d+", cited)
    assert FACT in answer.text
    assert agent_actions.read(corpus, answer.evidence[0].id, cited)["text"].endswith(FACT)
    short = agent_actions.keyword_search(corpus, "day: 2")["passages"][0]["locator"]
    assert short.removeprefix("sheet=Log;") == "row=2"
    with open_states([corpus]) as states:
        near = agent_actions.get_neighbors(states, name, cited, 3, 3)["passages"]
    assert {one["locator"].partition(";offset")[0].removeprefix("sheet=Log;") for one in near} == {"row=1"}


def test_b4_a_pdf_with_a_scanned_page_keeps_its_other_pages(tmp_path: Path) -> None:
    write(tmp_path / "data", {"scan.pdf": pdf(["The lamp is green.", IMAGE])})
    corpus, done = ingest(tmp_path / "data", path=tmp_path / "index")
    assert (len(corpus), done.removed, len(done.failed)) == (1, 0, 1)


def test_b4_broken_json_is_searchable_and_reported_every_time(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", {"broken.json": '{"lamp": "green"', "fine.txt": "A red door."})
    for _ in range(2):
        corpus, done = ingest(folder, path=tmp_path / "index")
        (problem,) = done.failed
        assert problem.id.endswith("broken.json#whole")
        assert len(corpus) == 2
    (folder / "broken.json").write_text('{"lamp": "green"}')
    assert ingest(folder, path=tmp_path / "index")[1].failed == []


def test_b1_without_a_name_the_index_is_that_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for folder in ("one/docs", "two/docs", "two/docs/a, b"):
        (tmp_path / folder).mkdir(parents=True)
        monkeypatch.chdir(tmp_path / folder)
        names.append(ingest(write(tmp_path / "data", {"a.txt": "A red door."}))[0].name)
    assert len(set(names)) == 3
    assert names[2].startswith("documents@a-b-")
    (tmp_path / "two" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "two")
    root = project_index()
    monkeypatch.chdir(tmp_path / "two" / "docs")
    assert project_index() == root
    assert [is_of_another_project(name) for name in (root, names[0], "documents")] == [False, True, False]


def test_progress_counts_files_and_knows_their_total_without_the_index_among_them(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text(f"lamp number {number}")
    seen: list[tuple[int, int | None]] = []

    def note(done: int, total: int | None) -> None:
        seen.append((done, total))

    index = tmp_path / "index"
    ingest(tmp_path, path=index, embedder="none", progress=note)[0].close()
    assert seen == [(5, 5)]
    seen.clear()
    (tmp_path / "5.txt").write_text("one more lamp")
    ingest(tmp_path, path=index, progress=note)[0].close()
    assert seen[-1] == (6, 6)

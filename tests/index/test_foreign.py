"""The folder of a corpus that may come from someone else is data: it is checked, not believed, and readers leave it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import shortlist
from shortlist._paths import cache_dir, config_dir, data_dir
from shortlist.documents import Document
from shortlist.errors import CorpusDamaged, CorpusError, EmbedderError
from shortlist.index.corpus import Corpus, create_corpus, open_corpus
from shortlist.index.foreign import CREATED, count_kinds, derived_folder, is_own
from shortlist.index.location import delete_corpus, requests_of
from shortlist.retrieval import agent_actions
from shortlist.safety.confirmations import Confirmation, confirm
from tests.index.foreign_samples import TEXTS, change, set_config, write


def contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


class RecordingServer:
    """A server on this machine that records requests, and answers with an embedding for each text, if it has one."""

    def __init__(self, embedding: list[float] | None = None) -> None:
        self.requests: list[str] = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                recorder.requests.append(self.path)
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
                data = [{"index": at, "embedding": embedding} for at, _ in enumerate(body.get("input", ()))]
                self.send_response(200 if embedding else 400)
                self.end_headers()
                self.wfile.write(json.dumps({"data": data if embedding else []}).encode())

            do_GET = do_HEAD = do_PUT = do_DELETE = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> RecordingServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_a_corpus_that_this_program_creates_is_own_wherever_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with shortlist.build(TEXTS, path=folder, embedder="light") as corpus:
        assert corpus.is_own
    assert is_own(folder)
    with shortlist.build(TEXTS, "named", embedder="light") as corpus:
        assert corpus.is_own
    known = json.loads((data_dir() / CREATED).read_text())["folders"]
    assert list(known) == [str(folder.resolve())]


def test_a_copy_and_another_corpus_in_the_same_place_are_foreign(foreign: Path, tmp_path: Path) -> None:
    assert not is_own(foreign)
    own = tmp_path / "elsewhere" / "index"
    assert is_own(own)
    shutil.rmtree(own)
    shutil.copytree(foreign, own)
    change(own, "UPDATE meta SET value = 'other' WHERE key = 'id'")
    assert not is_own(own)


def test_a_database_that_was_replaced_by_a_copy_is_foreign(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shortlist.build(TEXTS, path=folder, embedder="light").close()
    shutil.copy(folder / "corpus.db", tmp_path / "copy.db")
    os.replace(tmp_path / "copy.db", folder / "corpus.db")
    assert not is_own(folder)


def test_a_corpus_stays_own_if_a_process_was_killed_while_it_closed_the_database(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    create_corpus(path=folder, embedder="none").close()
    with open_corpus(folder) as corpus:
        corpus.add([Document("a", "", "kept")])
        shutil.copy(folder / "corpus.db-wal", tmp_path / "log")
    shutil.move(tmp_path / "log", folder / "corpus.db-wal")  # SQLite deletes the -shm file before the log
    assert is_own(folder)
    with open_corpus(folder) as corpus:
        assert corpus.ids() == ["a"]


def test_a_folder_that_cannot_be_recorded_works_as_a_foreign_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(blocked / "data"))
    folder = tmp_path / "index"
    with shortlist.build(TEXTS, path=folder, embedder="light") as corpus:
        assert not corpus.is_own
        assert corpus.add([Document("sea", "", "The sea is salty.")]).added == 1
        assert [hit.id for hit in shortlist.search(corpus, "salty sea", k=1)] == ["sea"]


WRITES: dict[str, Callable[[Corpus], object]] = {
    "search": lambda corpus: shortlist.search(corpus, "tea"),
    "add": write,
    "remove": lambda corpus: corpus.remove("tea"),
    "compact": lambda corpus: corpus.compact(),
    "reindex": lambda corpus: corpus.reindex("light"),
}


@pytest.mark.parametrize("place", ["foreign", "own"])
@pytest.mark.parametrize("name", [*WRITES, "delete"])
def test_a_segment_with_the_name_of_another_file_does_not_touch_it(name: str, place: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    folder = tmp_path / "a" / "b" / "index"
    shortlist.build(TEXTS, path=folder, embedder="light").close()
    change(folder, "UPDATE segments SET file = '../../../../victim.txt'")
    if place == "foreign":
        folder = shutil.copytree(folder, tmp_path / "c" / "d" / "index")
    if name == "delete":
        delete_corpus(folder)
    else:
        with pytest.raises(CorpusDamaged, match="victim"), open_corpus(folder) as corpus:
            WRITES[name](corpus)
    assert victim.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("place", ["foreign", "own"])
@pytest.mark.parametrize("name", [*WRITES, "delete", "build"])
def test_a_linked_folder_of_segments_is_neither_swept_nor_written(name: str, place: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    for file in ("id_rsa", "1-3-0123abcd.seg"):
        (keys / file).write_text("mine")
    folder = tmp_path / "index"
    shortlist.build(TEXTS, path=folder, embedder="light").close()
    if place == "foreign":
        folder = shutil.copytree(folder, tmp_path / "repo" / "index")
    shutil.rmtree(folder / "segments")
    (folder / "segments").symlink_to(keys)
    before = contents(keys)
    acts: dict[str, Callable[[], object]] = {
        "delete": lambda: delete_corpus(folder),
        "build": lambda: shortlist.build(TEXTS | {"more": "More text."}, path=folder),
    }
    with pytest.raises(CorpusDamaged, match="segments"):
        acts.get(name, lambda: WRITES[name](open_corpus(folder)))()
    assert contents(keys) == before


@pytest.mark.parametrize("act", [Corpus.compact, write])
def test_a_sweep_deletes_only_files_with_names_of_ours(act: Callable[[Corpus], object], tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shortlist.build(TEXTS, path=folder, embedder="light").close()
    ours, theirs = ("1-9-0123abcd.seg", f"{'a' * 32}.draft"), ("notes.txt", "1-9.seg", "x.draft", ".hidden")
    for name in (*ours, *theirs):
        (folder / "segments" / name).write_text("")
    with open_corpus(folder) as corpus:
        act(corpus)
    left = {path.name for path in (folder / "segments").iterdir()}
    assert left >= set(theirs)
    assert not left & set(ours)


def test_a_folder_with_other_files_among_the_segments_is_not_deleted(foreign: Path) -> None:
    (foreign / "segments" / "diary.txt").write_text("mine")
    with pytest.raises(CorpusError, match=r"diary\.txt"):
        delete_corpus(foreign)
    assert (foreign / "segments" / "diary.txt").exists()
    (foreign / "segments" / "diary.txt").unlink()
    delete_corpus(foreign)
    assert not foreign.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("name", ["corpus.db", "corpus.db-wal", "usage.db", "vectors.db", "engine.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_file_that_is_a_link_or_a_pipe_is_refused(name: str, kind: str, foreign: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    if name == "corpus.db":
        shutil.move(foreign / name, target)
    else:
        target.write_text("mine")
    before = target.read_bytes()
    if kind == "link":
        (foreign / name).symlink_to(target)
    else:
        os.mkfifo(foreign / name)
    with pytest.raises(CorpusDamaged, match=name), open_corpus(foreign) as corpus:
        write(corpus)
    assert target.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
@pytest.mark.parametrize("place", ["foreign", "own"])
def test_a_segment_that_is_a_link_or_a_pipe_is_rebuilt(kind: str, place: str, foreign: Path, tmp_path: Path) -> None:
    folder = foreign if place == "foreign" else tmp_path / "elsewhere" / "index"
    (segment,) = (folder / "segments").iterdir()
    target = Path("/dev/zero") if kind == "device" else Path(shutil.move(segment, tmp_path / "target"))
    segment.unlink(missing_ok=True)
    os.mkfifo(segment) if kind == "pipe" else segment.symlink_to(target)
    with open_corpus(folder) as corpus:
        assert [hit.id for hit in shortlist.search(corpus, "black tea", k=1)] == ["tea"]
    assert target.exists()
    assert os.path.lexists(segment) == (place == "foreign")


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_new_database_does_not_use_files_that_are_already_there(end: str, tmp_path: Path) -> None:
    (tmp_path / f"corpus.db{end}").write_bytes(b"planted")
    with pytest.raises(CorpusError, match=f"corpus.db{end}"):
        shortlist.build(TEXTS, path=tmp_path, embedder="light")
    assert not (tmp_path / "corpus.db").exists()


@pytest.mark.parametrize("name", ["usage.db", "vectors.db-wal"])
def test_a_corpus_that_is_created_beside_files_of_someone_else_is_foreign(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"planted")
    with shortlist.build(TEXTS, path=tmp_path, embedder="light") as corpus:
        assert not corpus.is_own
        assert read_all(corpus)[0] == "tea"
    assert (tmp_path / name).read_bytes() == b"planted"


def test_a_rollback_journal_makes_an_own_corpus_foreign(foreign: Path, tmp_path: Path) -> None:
    own = tmp_path / "elsewhere" / "index"
    (own / "usage.db-journal").write_bytes(b"planted")
    assert not is_own(own)


def read_all(corpus: Corpus, query: str = "black tea") -> list[str]:
    found = shortlist.search(corpus, query)
    shortlist.discover(corpus, query, level="bundled")
    corpus.learn(query, found[0].id)
    corpus.info(), corpus.ids(), corpus.stamps(), corpus.browse("tea"), list(corpus)
    return [hit.id for hit in found]


def test_reading_a_foreign_corpus_leaves_its_folder_as_it_was(foreign: Path) -> None:
    (foreign / "segments" / "1-9-0123abcd.seg").write_text("an orphan")
    before = contents(foreign)
    with open_corpus(foreign) as corpus:
        assert read_all(corpus)[0] == "tea"
        assert contents(foreign) == before
        assert corpus.usage.facts()["uses"] == 1
    assert count_kinds(foreign) == {"text": 3}
    assert contents(foreign) == before
    assert derived_folder(foreign).is_relative_to(cache_dir())
    assert (derived_folder(foreign) / "usage.db").exists()


def test_a_damaged_segment_of_a_foreign_corpus_is_rebuilt_in_memory(
    foreign: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (segment,) = (foreign / "segments").iterdir()
    segment.write_bytes(segment.read_bytes()[:-64] + 64 * b"\xff")  # the last array ends there
    before = contents(foreign)
    with open_corpus(foreign) as corpus:
        assert read_all(corpus)[0] == "tea"
    assert "rebuilt" in caplog.text
    assert contents(foreign) == before


def test_a_log_that_came_with_the_folder_is_read_and_left(tmp_path: Path) -> None:
    folder, copy = tmp_path / "index", tmp_path / "repo"
    with shortlist.build(TEXTS, path=folder, embedder="light"):
        assert (folder / "corpus.db-wal").stat().st_size
        shutil.copytree(folder, copy)
    before = contents(copy)
    with open_corpus(copy) as corpus:
        assert read_all(corpus)[0] == "tea"
    assert contents(copy) == before
    (copy / "corpus.db-shm").unlink()
    with pytest.raises(CorpusDamaged, match=r"corpus\.db-wal"):
        open_corpus(copy)
    (copy / "corpus.db-wal").write_bytes(b"")
    (copy / "corpus.db-journal").write_bytes(b"")
    with pytest.raises(CorpusDamaged, match=r"corpus\.db-journal"):
        open_corpus(copy)


def test_what_the_user_asks_for_is_written_to_a_foreign_corpus(foreign: Path) -> None:
    with open_corpus(foreign) as reader, open_corpus(foreign) as corpus:
        assert len(reader) == 3
        write(corpus)
        assert [hit.id for hit in shortlist.search(reader, "new text", k=1)] == ["new"]
        assert corpus.remove("moon") == 1
        corpus.compact()
        corpus.reindex("light")
        corpus.set_threshold("lexical", 0.5)
        assert sorted(reader.ids()) == ["new", "oven", "tea"]
    with shortlist.build(TEXTS, path=foreign) as corpus:
        assert corpus.changes.added == 1
        assert not corpus.is_own
    assert sorted(path.name for path in foreign.iterdir()) == ["corpus.db", "segments"]


def test_a_cache_of_vectors_and_a_log_of_use_that_came_along_are_not_opened(foreign: Path) -> None:
    for name in ("usage.db", "vectors.db"):
        (foreign / name).write_bytes(b"not a database")
    before = contents(foreign)
    with open_corpus(foreign) as corpus:
        read_all(corpus)
    assert contents(foreign) == before


def test_a_corpus_of_an_earlier_format_opens_as_a_foreign_one(tmp_path: Path) -> None:
    folder = shutil.copytree(Path(__file__).with_name("data") / "format2", tmp_path / "index")
    before = contents(folder)
    with open_corpus(folder) as corpus:
        assert not corpus.is_own
        assert len(corpus) == len(corpus.ids()) > 0
        assert shortlist.search(corpus, corpus.ids()[0], mode="lexical") is not None
    assert contents(folder) == before


def make_spy(tmp_path: Path, kind: str, source: Path) -> Path:
    """An index from someone else with a document whose source is a file of the user."""
    folder = tmp_path / "attacker" / "index"
    with create_corpus("x", path=folder, embedder="light") as corpus:
        document = Document("guide", "Deploy guide", "How to deploy.", kind=kind, source=str(source), locator="whole")
        corpus.sync([document])
    return shutil.copytree(folder, tmp_path / "repo" / "index")


@pytest.mark.parametrize("kind", ["file", "skill"])
@pytest.mark.parametrize("level", ["body", "bundled"])
def test_a_foreign_corpus_does_not_show_files_of_the_user(
    kind: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "SKILL.md").write_text("canary")
    (keys / "id_rsa").write_text("canary")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    folder = make_spy(tmp_path, kind, keys / "SKILL.md")
    found = shortlist.discover(folder, "deploy guide", level=level)  # type: ignore[arg-type]
    with open_corpus(folder) as corpus:
        read = shortlist.disclose(found.candidates, level)  # type: ignore[arg-type]
        for item in (*found.results, *read):
            assert item.body == "How to deploy."
            assert not item.files
            assert "outside the folders" in item.note
        assert found.results
        (inside,) = shortlist.disclose(found.candidates[:1], "body", roots=[keys])
        assert inside.body == "canary"
        assert "canary" not in agent_actions.read(corpus, "guide")["text"]


def test_an_own_corpus_shows_the_files_that_it_was_built_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text("Black tea takes four minutes.")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    source = shortlist.CorpusSource.from_files(notes)
    with shortlist.build(source, path=project / "index", embedder="light") as corpus:
        (notes / "tea.md").write_text("Black tea takes five minutes.")
        (shown,) = shortlist.disclose(shortlist.search(corpus, "black tea"), "body")
    assert shown.body == "Black tea takes five minutes."


@pytest.mark.parametrize("has_key", [True, False])
def test_the_embedder_of_a_foreign_corpus_gets_nothing_before_it_is_confirmed(
    has_key: bool, foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-user" if has_key else "")
    with RecordingServer() as server:
        spec = f"openai:m@{server.url}/v1"
        set_config(foreign, embedder=spec, embedder_name=spec)
        with open_corpus(foreign) as corpus:
            for mode in ("auto", "dense", "hybrid"):
                with pytest.raises(EmbedderError, match="shortlist trust") as caught:
                    shortlist.search(corpus, "tea", mode=mode)
                assert spec in str(caught.value)
            assert [hit.id for hit in shortlist.search(corpus, "tea", mode="lexical")] == ["tea"]
        assert requests_of(foreign) == [Confirmation("embedder", foreign, spec)]
        assert server.requests == []
        confirm(*requests_of(foreign)[0])
        assert requests_of(foreign) == []
        with open_corpus(foreign) as corpus, pytest.raises(EmbedderError):  # the server has no embeddings
            shortlist.search(corpus, "tea")
        assert server.requests


@pytest.mark.parametrize("spec", ["onnx:evil/model", "evil/model", "model2vec:evil/model", "st:evil/model", "folder"])
def test_a_model_that_only_a_foreign_corpus_names_is_not_loaded(spec: str, foreign: Path) -> None:
    spec = str(foreign) if spec == "folder" else spec
    set_config(foreign, embedder=spec, embedder_name=spec)
    with open_corpus(foreign) as corpus, pytest.raises(EmbedderError, match="not confirmed"):
        shortlist.search(corpus, "tea")


def test_damage_in_a_corpus_with_an_unconfirmed_embedder_does_not_stop_a_lexical_search(foreign: Path) -> None:
    set_config(foreign, embedder="evil/model", embedder_name="evil/model")
    (segment,) = (foreign / "segments").iterdir()
    segment.unlink()
    with open_corpus(foreign) as corpus:
        assert [hit.id for hit in shortlist.search(corpus, "tea", mode="lexical")] == ["tea"]
        with pytest.raises(EmbedderError):
            shortlist.search(corpus, "tea")
    assert not list((foreign / "segments").iterdir())


def test_an_embedder_that_the_user_names_is_confirmed_for_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with RecordingServer(embedding=[1.0, 0.5]) as server:
        spec = f"openai:m@{server.url}/v1"
        shortlist.build(TEXTS, path=folder, embedder=spec).close()
        with open_corpus(folder) as corpus:
            assert len(shortlist.search(corpus, "tea")) == 3
        assert requests_of(folder) == []
        set_config(folder, embedder=f"{spec}/other", embedder_name=spec)
        with open_corpus(folder) as corpus, pytest.raises(EmbedderError, match="not confirmed"):
            shortlist.search(corpus, "tea")
        with open_corpus(folder, embedder=spec) as corpus:
            assert len(shortlist.search(corpus, "tea")) == 3


def test_no_request_is_sent_to_a_cluster_that_only_a_foreign_folder_names(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    with RecordingServer() as server:
        address = f"opensearch+{server.url}/p"
        (folder / "engine.json").write_text(json.dumps({"engine": address, "name": "x"}))
        calls: list[Callable[[], object]] = [
            lambda: open_corpus(folder),
            lambda: shortlist.search(folder, "tea"),
            lambda: shortlist.build(TEXTS, path=folder),
            lambda: delete_corpus(folder),
        ]
        for call in calls:
            with pytest.raises(CorpusError, match="shortlist trust") as caught:
                call()
            assert address in str(caught.value)
        assert requests_of(folder) == [Confirmation("cluster", folder, address)]
        assert server.requests == []
        confirm("cluster", folder, address)
        with pytest.raises(CorpusError):
            open_corpus(folder)
        assert server.requests


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_folders_that_we_create_are_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("data", "config", "cache"):
        monkeypatch.setenv(f"SHORTLIST_{kind.upper()}_DIR", str(tmp_path / "new" / kind / "shortlist"))
    old = os.umask(0o022)
    try:
        shortlist.build(TEXTS, "private", embedder="light").close()
        confirm("embedder", tmp_path, "x")
        cache = shutil.copytree(data_dir() / "corpora" / "private", tmp_path / "copy")
        with open_corpus(cache) as corpus:
            corpus.learn("black tea", "tea")
    finally:
        os.umask(old)
    for folder in (data_dir(), config_dir(), cache_dir()):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(sys.platform != "linux", reason="XDG variables")
def test_an_open_folder_of_an_earlier_version_is_closed_unless_a_variable_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("SHORTLIST_DATA_DIR")
    for expected in (0o700, 0o755):
        data_dir().mkdir(exist_ok=True)
        data_dir().chmod(0o755)
        shortlist.build(TEXTS, f"corpus {expected}", embedder="light").close()
        assert stat.S_IMODE(data_dir().stat().st_mode) == expected
        monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path / "shared"))

"""The commands that build, list, compare, register and remove corpora."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import shortlist
from shortlist.index.engines import pointers
from shortlist.library.uploads import Uploads, upload_folder
from tests.cli.conftest import Shell
from tests.cli.terminals import wait_for
from tests.client.conftest import serve

pytestmark = pytest.mark.process


def test_a_path_alone_can_be_built(shell: Shell) -> None:
    done = shell("build", "docs", "--json").json
    assert (done["corpus"], done["documents"], done["added"]) == (f"docs:{shell.folder / 'docs'}", 7, 7)
    assert shell("search", "docs:docs", "mattress", "--quiet").out.splitlines()[0] == "returns-policy.md"


def test_build_shows_what_changed_and_what_was_skipped(shell: Shell) -> None:
    (shell.folder / "skills" / "broken").mkdir()
    (shell.folder / "skills" / "broken" / "SKILL.md").write_text("---\n[\n---\n")
    done = shell("build", "team", "--kind", "skills", "--root", "skills", "--embedder", "light")
    assert done.out.startswith("team: 6 documents (6 added, 1 failed) in ")
    assert done.err.startswith("shortlist: broken was skipped.")
    again = shell("build", "team", "--json").json
    assert (again["added"], again["unchanged"], [problem["id"] for problem in again["failed"]]) == (0, 6, ["broken"])


def test_a_build_that_could_read_nothing_fails(shell: Shell) -> None:
    (shell.folder / "bad" / "broken").mkdir(parents=True)
    (shell.folder / "bad" / "broken" / "SKILL.md").write_text("---\n[\n---\n")
    done = shell("build", "team", "--kind", "skills", "--root", "bad", "--embedder", "light", "--json")
    assert (done.code, done.json["documents"], len(done.json["failed"])) == (1, 0, 1)
    assert "team" in done.err.splitlines()[-1]


def test_a_build_of_what_does_not_exist_registers_nothing(shell: Shell) -> None:
    assert shell("build", "notes", "--root", "dosc").code == 1
    assert "notes" not in shell("ls", "--quiet").out
    assert shell("build", "notes", "--root", "docs", "--embedder", "none").code == 0
    assert shell("migrate", "notes", "--to", "embedded").out == "notes is already stored on this machine.\n"


def test_a_build_that_finds_nothing_says_so(shell: Shell) -> None:
    done = shell("build", "tools:docs")
    assert (done.code, done.err) == (0, "shortlist: Nothing of the kind 'tools' was found in docs.\n")
    assert "tools:docs has no documents" in shell("search", "tools:docs", "mattress").err
    assert "The corpus is empty." in shell("discover", "tools:docs", "mattress").out


def test_another_embedder_needs_a_rebuild(shop: Shell) -> None:
    done = shop("build", "shop", "--embedder", "light")
    assert done.code == 1
    assert "rebuild" in done.err
    assert shop("build", "shop", "--embedder", "light", "--rebuild").code == 0
    assert shop("info", "shop", "--json").json["embedder"] == "light"


def test_verify_repairs_index_files_and_reports_what_it_cannot_repair(shop: Shell) -> None:
    assert shop("verify", "--quiet").out == "shop\tok\n"
    folder = Path(shop("verify", "shop", "--json").json["corpora"][0]["path"])
    (segment,) = (folder / "segments").iterdir()
    segment.write_bytes(segment.read_bytes()[:-1] + b"x")
    segment.unlink()
    done = shop("verify", "shop")
    assert (done.code, "shop: repaired (1 segment" in done.out, segment.name in done.out) == (0, True, True)
    assert shop("verify", "--quiet").out == "shop\tok\n"
    (folder / "corpus.db").write_bytes(b"This is not a database." * 1000)
    done = shop("verify", "--json")
    assert done.code == 1
    assert done.json["corpora"][0]["status"] == "damaged"
    assert "corpus.db" in done.json["corpora"][0]["problems"][0]
    assert shop("verify", "shpo").code == 1


def test_verify_does_not_apply_to_a_corpus_in_a_cluster(shop: Shell) -> None:
    folder = Path(shop("verify", "shop", "--json").json["corpora"][0]["path"])
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / pointers.FILE).write_text('{"engine": "opensearch+http://127.0.0.1:9/none"}', "utf-8")
    done = shop("verify", "shop", "--json")
    assert (done.code, done.json["corpora"][0]["status"]) == (0, "not applicable")


def test_status_shows_what_a_build_would_do(shop: Shell) -> None:
    assert shop("status", "shop", "--quiet").out == "shop\tfresh\n"
    catalog = shop.folder / "tools.yaml"
    catalog.write_text(catalog.read_text() + "\n  - {id: sing, title: sing, content: Sing a song.}\n")
    row = shop("status", "shop", "--json").json["corpora"][0]
    assert (row["state"], row["changes"]["added"], row["changes"]["unchanged"]) == ("stale", 1, 90)
    assert "add 1" in shop("status", "shop").out


def test_rm_deletes_uploaded_files_with_the_data(shop: Shell) -> None:
    Uploads().save("letters", "a.md", b"The ferry sails at nine.")
    assert shop("build", "letters").code == 0
    assert upload_folder("letters").exists()
    assert shop("rm", "letters", "--data").code == 0
    assert not upload_folder("letters").exists()


def test_the_corpus_of_a_folder_that_was_renamed_is_reported_with_the_command_that_deletes_it(shell: Shell) -> None:
    assert shell("build", "docs").code == 0
    (shell.folder / "docs").rename(shell.folder / "papers")
    (row,) = [row for row in shell("status", "--json").json["corpora"] if row["name"].startswith("docs:")]
    assert row["state"] == "broken"
    assert row["problem"].endswith("To delete its corpus, run: shortlist rm docs:docs --data")
    assert shell("rm", "docs:docs", "--data").code == 0


def test_rm_unregisters_and_deletes_only_with_data(shop: Shell) -> None:
    (shop.folder / "my files").mkdir()
    (shop.folder / "my files" / "note.txt").write_text("Buy seeds.")
    assert shop("rm", "shop").out == "shop is unregistered.\n"
    assert shop("search", "shop", "refund", "--quiet").code == 0
    assert "shortlist rm shop --data" in shop("rm", "shop").err
    assert shop("build", "my files").code == 0
    assert "shortlist rm 'docs:my files' --data" in shop("rm", "docs:my files").err
    assert shop("rm", "shop", "--data", "--json").json == {"name": "shop", "unregistered": False, "deleted": True}
    assert shop("search", "shop", "refund").code == 1
    assert shop("rm", "shop", "--data").code == 1


def test_ls_shows_what_is_built_registered_and_built_in(shop: Shell) -> None:
    shop("register", "notes", "files", "--root", "docs")
    rows = {row["name"]: row for row in shop("ls", "--json").json["corpora"]}
    assert list(rows) == ["mcp", "notes", "packages", "shop", "skills"]
    assert (rows["shop"]["documents"], rows["shop"]["built"], rows["notes"]["built"]) == (90, True, False)


def test_ctrl_c_in_a_build_leaves_the_last_committed_state(tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    shortlist.build({"a": "the first state"}, name="big", embedder="none").close()
    code = (
        "import sys, time, pathlib\n"
        "from shortlist import CorpusSource, Document\n"
        "from shortlist import cli, register\n"
        "from shortlist.sources import SOURCES\n"
        "def read():\n"
        "    for at in range(1000): yield Document(str(at), '', f'the second state {at}')\n"
        f"    pathlib.Path({str(reached)!r}).touch()\n"
        "    time.sleep(60)\n"
        "SOURCES['slow'] = lambda name='slow': CorpusSource(name, 'slow', read)\n"
        "register('big', 'slow', replace=True)\n"
        "sys.argv = ['shortlist', 'build', 'big']\n"
        "cli.main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    wait_for(reached.exists)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "shortlist: Interrupted. Committed changes are kept.\n")
    with shortlist.open_corpus("big") as corpus:
        assert corpus.ids() == ["a"]
        assert shortlist.search(corpus, "first")[0].id == "a"


def test_watching_follows_changes_and_ends_with_ctrl_c(shell: Shell) -> None:
    docs = shell.folder / "docs"
    process = shell.start("build", "notes", "--root", "docs", "--embedder", "none", "--watch")
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert process.stdout.readline().startswith("notes: 7 documents (7 added")
        assert process.stderr.readline().startswith("Watching ")
        time.sleep(0.5)  # until the system reports changes
        (docs / "new.md").write_text("# Brand new")
        assert process.stdout.readline().startswith("notes: 8 documents (1 added")
        (docs / "new.md").unlink()
        assert process.stdout.readline().startswith("notes: 7 documents (1 removed, 7 unchanged)")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == "Stopped watching.\n"
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
        process.wait()


def test_what_has_no_folder_cannot_be_watched(shell: Shell) -> None:
    done = shell("build", "skills", "--watch")
    assert done.code == 1
    assert "'skills' has no folder to watch" in done.err


def test_push_fills_the_corpus_of_a_service(shell: Shell, tmp_path: Path) -> None:
    with serve(tmp_path) as url:
        done = shell("build", "docs", "--push", f"{url}/handbook", "--json").json
        assert (done["sent"], done["deleted"], done["count"]) == (7, 0, 7)
        (shell.folder / "docs" / "returns-policy.md").unlink()
        again = shell("build", "docs", "--push", f"{url}/handbook")
        assert again.out.startswith("0 files sent, 1 deleted. 1 removed. handbook has 6 documents.")
        refused = shell("build", "tools.yaml", "--push", f"{url}/handbook")
        assert (refused.code, "'tools'" in refused.err) == (1, True)
    assert shell("build", "docs", "--push", f"{url}/handbook").code == 1
    nameless = shell("build", "docs", "--push", url)
    assert (nameless.code, "https://HOST/NAME" in nameless.err) == (2, True)
    folders = ("--root", "docs", "--root", str(tmp_path))
    several = shell("build", "both", *folders, "--push", f"{url}/handbook")
    assert (several.code, "'both' has 2" in several.err) == (1, True)

"""The command line as a user runs it: output, exit codes, JSON documents, pipes and signals."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

import shortlist
from shortlist._paths import config_dir
from shortlist.cli import run
from shortlist.index.engines import pointers
from shortlist.library import opening
from shortlist.library.registry import registry_file
from tests.cli.conftest import COMMAND, Shell

pytestmark = pytest.mark.process

# Output


def test_search_shows_rank_score_bar_name_and_text(shop: Shell) -> None:
    done = shop("search", "shop", "where is the parcel", "-k", "2")
    assert (done.code, done.err) == (0, "")
    first = done.out.splitlines()[0].split()
    assert first == ["1", "0.61", "██████▏", "track_shipment", "tool"]
    assert "Show where a parcel is now." in done.out
    assert "\x1b" not in done.out


def test_a_query_needs_no_quotes_and_a_filter_may_be_json_or_a_pair(shop: Shell) -> None:
    plain = shop("search", "shop", "refund", "the", "payment", "--json", "--filter", "access=write")
    written = shop("search", "shop", "refund the payment", "--json", "--filter", '{"access": {"$eq": "write"}}')
    assert plain.json == written.json
    assert {hit["metadata"]["access"] for hit in plain.json["hits"]} == {"write"}
    both = shop("search", "shop", "refund", "--filter", "access=write", "--filter", "category=payments", "--json").json
    assert {(hit["metadata"]["access"], hit["metadata"]["category"]) for hit in both["hits"]} == {("write", "payments")}


def test_discover_shows_what_was_selected_why_and_what_was_not(shop: Shell) -> None:
    done = shop("discover", "shop", "refund a payment to the customer's card")
    assert done.code == 0
    assert done.out.startswith("✓ ")
    assert "refund_payment" in done.out
    assert "Kept 2 of 10 candidates: nearly as relevant as the best, at most 5." in done.out
    assert "Not selected: " in done.out


def test_discover_that_abstains_shows_the_threshold_and_the_closest_matches(shop: Shell) -> None:
    done = shop("discover", "shop", "refund", "--min-score", "0.99")
    assert done.code == 3
    assert done.out.startswith("Nothing fits.\n")
    assert "0.99" in done.out
    closest = re.search(
        r"Closest: refund_payment \(score ([\d.]+), relevance [\d.]+\), \w+ \(score ([\d.]+),", done.out
    )
    assert closest
    assert closest[1] >= closest[2]


def test_disclosed_bodies_are_shown(shell: Shell) -> None:
    shell("register", "team", "skills", "--root", "skills")
    done = shell("discover", "team", "roll back a bad release", "--disclose")
    assert "│ Roll back first and investigate afterwards." in done.out
    raw = shell("read", "team", "deploy-to-production", "--quiet").out
    assert raw == (shell.folder / "skills/deploy-to-production/SKILL.md").read_text() + "\n"


def test_several_corpora_are_named_with_commas_or_one_by_one(shop: Shell) -> None:
    shop("register", "team", "skills", "--root", "skills")
    for names in (["shop,team"], ["-c", "shop", "-c", "team"], ["--corpus", "team,shop"]):
        found = shop("search", *names, "roll back a bad release", "--json").json
        assert {hit["corpus"] for hit in found["hits"]} == {"shop", "team"}
    assert "skill in team" in shop("search", "shop,team", "roll back a bad release").out


def test_a_path_alone_can_be_built(shell: Shell) -> None:
    done = shell("build", "docs", "--json").json
    assert (done["corpus"], done["documents"], done["added"]) == (f"docs:{shell.folder / 'docs'}", 7, 7)
    assert shell("search", "docs:docs", "mattress", "--quiet").out.splitlines()[0] == "returns-policy.md"


def test_build_shows_what_changed_and_what_was_skipped(shell: Shell) -> None:
    (shell.folder / "skills" / "broken").mkdir()
    (shell.folder / "skills" / "broken" / "SKILL.md").write_text("---\n[\n---\n")
    done = shell("build", "team", "--kind", "skills", "--root", "skills", "--embedder", "light")
    assert done.out.startswith("team: 6 documents (6 added) in ")
    assert done.err.startswith("shortlist: broken was skipped.")
    again = shell("build", "team", "--json").json
    assert (again["added"], again["unchanged"], [problem["id"] for problem in again["failed"]]) == (0, 6, ["broken"])


def test_a_build_that_could_read_nothing_fails(shell: Shell) -> None:
    (shell.folder / "bad" / "broken").mkdir(parents=True)
    (shell.folder / "bad" / "broken" / "SKILL.md").write_text("---\n[\n---\n")
    done = shell("build", "team", "--kind", "skills", "--root", "bad", "--embedder", "light", "--json")
    assert (done.code, done.json["documents"], len(done.json["failed"])) == (1, 0, 1)
    assert "team" in done.err.splitlines()[-1]


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


def test_rm_unregisters_and_deletes_only_with_data(shop: Shell) -> None:
    assert shop("rm", "shop").out == "shop is unregistered.\n"
    assert shop("search", "shop", "refund", "--quiet").code == 0
    assert "shortlist rm shop --data" in shop("rm", "shop").err
    assert shop("rm", "shop", "--data", "--json").json == {"name": "shop", "unregistered": False, "deleted": True}
    assert shop("search", "shop", "refund").code == 1
    assert shop("rm", "shop", "--data").code == 1


def test_ls_shows_what_is_built_registered_and_built_in(shop: Shell) -> None:
    shop("register", "notes", "files", "--root", "docs")
    rows = {row["name"]: row for row in shop("ls", "--json").json["corpora"]}
    assert list(rows) == ["mcp", "notes", "packages", "shop", "skills"]
    assert (rows["shop"]["documents"], rows["shop"]["built"], rows["notes"]["built"]) == (90, True, False)


def test_the_doctor_finds_what_is_broken_and_how_to_fix_it(shop: Shell) -> None:
    assert shop("doctor").out.endswith("No check failed.\n")
    corpus = shortlist.open_corpus("shop")
    corpus.close()
    (Path(str(corpus.path)) / "corpus.db").write_bytes(b"rubbish" * 1000)
    registry_file().write_text("{")
    done = shop("doctor", "--json")
    broken = {check["name"]: check["fix"] for check in done.json["checks"] if check["state"] == "broken"}
    assert (done.code, done.json["ok"]) == (1, False)
    assert broken.keys() == {"shop", "registry"}
    assert "shortlist rm shop --data" in broken["shop"]


def test_the_doctor_does_not_call_a_corpus_broken_whose_embedder_only_a_program_has(shell: Shell) -> None:
    shortlist.build({"a": "tea"}, name="mine", embedder=lambda texts: [[1.0, 0.0]] * len(texts)).close()
    done = shell("doctor", "--json")
    (check,) = [check for check in done.json["checks"] if check["name"] == "mine"]
    assert (done.code, check["state"], check["says"]) == (0, "note", "1 document, keyword search only")
    assert "only your program has" in check["fix"]


def test_the_doctor_suggests_a_better_embedder_for_tools(shell: Shell) -> None:
    documents = [shortlist.Document("tea", "brew_tea", "Brew tea.", kind="tool")]
    shortlist.build(documents, name="mine", embedder="default").close()
    done = shell("doctor", "--json")
    (check,) = [check for check in done.json["checks"] if check["name"] == "mine"]
    assert (done.code, check["state"]) == (0, "note")
    assert 'pip install "shortlist[tools]"' in check["fix"]


def test_config_show_prints_the_path_of_the_mcp_servers(shell: Shell) -> None:
    assert shell("config", "show", "--json").json["mcp_servers"] == str(config_dir() / "mcp.json")
    assert "MCP servers" in shell("config", "show").out


def test_secrets_are_not_shown(shell: Shell) -> None:
    done = shell("config", "show", "--json", OPENAI_API_KEY="sk-123")
    assert done.json["variables"]["OPENAI_API_KEY"] == "***"
    assert "sk-123" not in shell("config", "show", OPENAI_API_KEY="sk-123").out


def test_a_model_that_cannot_be_fetched_is_named(shell: Shell) -> None:
    done = shell("download", "onnx:no/such-model", HF_HUB_OFFLINE="1")
    assert done.code == 1
    assert "no/such-model" in done.err
    assert shell("download", "light", "--json").json["dim"] == 512


# Codes and documents

FAILING: list[tuple[list[str], int, str]] = [
    (["search", "nowhere", "query"], 1, "'nowhere' is not a registered corpus"),
    (["search", "shop"], 2, "The corpus or the query is missing"),
    (["search"], 2, "Missing argument"),
    (["search", "shop", "query", "--mode", "best"], 2, "'--mode': 'best' is not one of 'auto', "),
    (["search", "shop", "query", "-k", "0"], 2, "-k"),
    (["search", "shop", "query", "--filter", "nonsense"], 2, "'nonsense' is neither key=value nor JSON"),
    (["search", "shop", "query", "--filter", "{"], 2, "not valid JSON"),
    (["search", "shop", "query", "--filter", '{"a": {"$like": 1}}'], 1, "Unknown filter operator '$like'"),
    (["discover", "shop", "query", "--min-score", "high"], 2, "'high' is not a number, auto or none"),
    (["discover", "shop", "query", "--strategy", "luck"], 2, "'--strategy': 'luck' is not one of 'adaptive', "),
    (["read", "shop", "no-such-tool"], 1, "has no document 'no-such-tool'"),
    (["build", "nowhere"], 1, "shortlist register"),
    (["build", "shop", "--pattern", "x"], 2, "need --root"),
    (["build", "shop", "--watch"], 2, "--watch cannot be combined with --json"),
    (["info", "shpo"], 1, "Did you mean 'shop'?"),
    (["migrate", "shpo", "--to", "embedded"], 1, "Did you mean 'shop'?"),
    (["migrate", "skills", "--to", "embedded"], 1, "shortlist build skills"),
    (["register", "shop", "files", "--root", "docs"], 1, "--replace"),
    (["status", "shpo"], 1, "Did you mean 'shop'?"),
    (["register", "a/b", "files", "--root", "docs"], 1, "Invalid name"),
    (["register", "notes", "flies", "--root", "docs"], 1, "'flies'"),
    (["register", "notes", "files", "--option", "x"], 1, "--option must be KEY=VALUE"),
    (["rm", "nowhere"], 1, "'nowhere' is not a registered corpus"),
    (["download", "nonsense"], 1, "nonsense"),
    (["serach", "shop", "query"], 2, "No such command 'serach'"),
    (["ls", "--nonsense"], 2, "No such option"),
]


def test_a_data_folder_that_cannot_be_written_is_reported_with_the_variable_to_set(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    done = shell("build", "docs:docs", SHORTLIST_DATA_DIR=str(tmp_path / "file"))
    assert done.code == 1
    assert done.err.endswith("set SHORTLIST_DATA_DIR to another folder.\n")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(("arguments", "code", "says"), FAILING, ids=[" ".join(row[0]) for row in FAILING])
def test_a_failure_is_one_sentence_or_one_document(
    arguments: list[str],
    code: int,
    says: str,
    shop: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = shop(*arguments, "--json")
    assert (document.code, document.err) == (code, "")
    assert list(document.json) == ["error"]
    assert document.json["error"]["exit_code"] == code
    assert says in document.json["error"]["message"]
    if "--watch" in arguments:  # which is wrong only with --json
        return
    monkeypatch.chdir(shop.folder)
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err
    assert printed.err.startswith("shortlist: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "shop", "refund"],
        ["discover", "shop", "refund", "--disclose"],
        ["read", "shop", "refund_payment"],
        ["build", "shop"],
        ["ls"],
        ["info", "shop"],
        ["status"],
        ["register", "notes", "files", "--root", "docs"],
        ["rm", "shop"],
        ["doctor"],
        ["config", "show"],
        ["download", "none"],
    ],
    ids=" ".join,
)
def test_every_command_prints_one_document(arguments: list[str], shop: Shell) -> None:
    done = shop(*arguments, "--json")
    assert (done.code, "error" in done.json) == (0, False)


def test_no_match_is_a_document_too(shop: Shell) -> None:
    done = shop("search", "shop", "refund", "--filter", "access=none", "--json")
    assert (done.code, done.json["hits"]) == (3, [])
    done = shop("discover", "shop", "xqzvw", "--json")
    assert (done.code, done.json["abstained"], done.json["results"]) == (3, True, [])
    assert shop("search", "shop", "refund", "--filter", "access=none").out == "No match.\n"
    assert shop("search", "shop", "refund", "--filter", "access=none", "--quiet").out == ""


def test_a_search_of_which_nothing_is_known_says_so_on_stderr(shop: Shell) -> None:
    done = shop("search", "shop", "xqzvw", "--json")
    assert done.json["hits"]
    assert (done.code, done.json["note"] in done.err) == (0, True)
    assert shop("search", "shop", "refund", "--json").err == ""
    assert shop("search", "shop", "xqzvw", "--quiet").err == ""


def test_debug_shows_where_an_error_comes_from(shell: Shell) -> None:
    for more, environment in ((["--debug"], {}), ([], {"SHORTLIST_DEBUG": "1"})):
        with pytest.raises(shortlist.CorpusNotFound):
            shell("search", "nowhere", "x", *more, **environment)
    assert "Traceback" in shell.process("search", "nowhere", "x", "--debug").err


def test_an_unexpected_error_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken() -> list[Any]:
        raise KeyError("oops")

    monkeypatch.setattr(opening, "describe_corpora", broken)
    assert run(["ls"]) == 1
    assert capsys.readouterr().err == (
        "shortlist: Unexpected error (KeyError: 'oops'). Add --debug to see the traceback.\n"
    )


def test_version_and_help(shell: Shell) -> None:
    assert (shell("--version").code, shell("--version").out) == (0, f"shortlist {shortlist.__version__}\n")
    assert "discover" in shell("--help").out


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts_and_words(name: str, shop: Shell) -> None:
    script = shop(_SHORTLIST_COMPLETE=f"{name}_source")
    assert script.code == 0
    assert f"_SHORTLIST_COMPLETE={name}_complete" in script.out
    assert shop("--show-completion", SHELL=f"/bin/{name}").out.strip() == script.out.strip()
    (shop.folder / "home").mkdir()
    for _ in range(2):
        assert shop("--install-completion", SHELL=f"/bin/{name}").code == 0
    written = "".join(path.read_text() for path in (shop.folder / "home").rglob("*") if path.is_file())
    assert written.count(f"_SHORTLIST_COMPLETE={name}_complete") == 1
    assert written.count("source ~/") == (name != "fish")
    words = shop(_SHORTLIST_COMPLETE="bash_complete", COMP_WORDS="shortlist search sh", COMP_CWORD="2")
    assert words.out.split() == ["plain,shop"]


def test_completion_of_an_unknown_shell_is_a_usage_error(shell: Shell) -> None:
    done = shell("--install-completion", SHELL="/bin/tcsh")
    assert (done.code, "tcsh" in done.err) == (2, True)


# Reading the command line

READ: list[tuple[str, dict[str, Any]]] = [
    ("search shop a query", {"words": ("shop", "a", "query"), "corpus": (), "k": 10, "mode": "auto", "filter": None}),
    ("search shop query -k3 --mode lexical --filter a=b", {"k": 3, "mode": "lexical", "filter": {"a": "b"}}),
    ("search -c a,b --corpus c --quiet query -- --json", {"corpus": ("a", "b", "c"), "quiet": True, "as_json": False}),
    ("search shop -", {"words": ("shop", "-")}),
    ("discover shop query --min-score -1 --max-k 2 --strategy=top_k", {"min_score": -1.0, "max_k": 2}),
    ("discover shop query", {"min_score": "auto", "strategy": "adaptive", "level": None, "max_k": None}),
    ("discover shop query --min-score none", {"min_score": None}),
    ("read shop one two --level=metadata", {"corpus": "shop", "ids": ("one", "two"), "level": "metadata"}),
    ("build shop --root a --root b --watch --option a=b", {"root": ("a", "b"), "follow": True, "others": ("a=b",)}),
    ("register a files --embedder light --embedder none", {"embedder": "none", "root": (), "replace": False}),
    (
        "eval shop cases.jsonl --compare lexical dense",
        {"compare": ("lexical", "dense"), "min_score": "auto", "misses": 5},
    ),
    ("sweep-select a b --max-k 1,2", {"max_k": [1, 2], "rel": [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1]}),
    ("eval-gen shop made.jsonl -n 5", {"n": 5, "out_of_scope": 0.25, "per_document": 1, "seed": 0}),
    ("query What now -k 3", {"question": ("What", "now"), "top_k": 3, "threshold": None}),
    ("download", {"model": None}),
    ("mcp approve one/tool other --all", {"names": ("one/tool", "other"), "everything": True}),
    ("mcp --config a.json --config b.json -c x", {"config": ("a.json", "b.json"), "corpus": ("x",)}),
    ("mcp", {"config": (), "corpus": ()}),
]


@pytest.mark.parametrize(("line", "values"), READ, ids=[line for line, _ in READ])
def test_command_lines_are_read_with_their_defaults(
    line: str, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, Any] = {}

    def invoke(command: click.Command, context: click.Context) -> int:
        read.update(context.params)
        return 0

    monkeypatch.setattr(click.Command, "invoke", invoke)
    assert run(line.split()) == 0
    assert {key: read[key] for key in values} == values


@pytest.mark.parametrize(
    "line",
    [
        "search shop query -k", "search shop query -k many", "search shop query --json=yes", "search shop query --js",
        "eval-select shop cases.jsonl --rel much", "info", "info a b", "ls a", "config shwo", "tools", "config",
        "eval a b --compare one", "migrate shop", "mcp deny", "mcp stat",
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_a_usage_error(line: str, shell: Shell) -> None:
    done = shell(*line.split())
    assert (done.code, bool(done.out + done.err)) == (2, True)


# Terminals and pipes


def in_a_terminal(shell: Shell, *arguments: str, **environment: str) -> str:
    """What a command writes to a terminal, with all its escapes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=shell.folder,
        env=shell.environment | {"TERM": "xterm-256color"} | environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        written += data
    os.close(ours)
    process.wait(timeout=60)
    return written.decode()


def test_colors_in_a_terminal_unless_no_color_is_set(shop: Shell) -> None:
    shown = in_a_terminal(shop, "search", "shop", "parcel")
    assert "\x1b[1;33mparcel\x1b[0m" in shown
    plain = in_a_terminal(shop, "search", "shop", "parcel", NO_COLOR="1")
    assert "\x1b[1mparcel\x1b[0m" in plain
    assert not any(f"\x1b[{color}m" in plain or f";{color}m" in plain for color in range(30, 38))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("form", ["--json", "--quiet"])
def test_a_full_disk_is_reported_in_a_sentence(shop: Shell, form: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = shop.start("ls", form, stdout=full)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (1, "shortlist: No space left on device.\n")


def test_a_first_use_shows_a_bar_in_a_terminal_and_none_in_a_pipe(shell: Shell) -> None:
    shell("register", "shop", "catalog", "--root", "tools.yaml")
    shell("register", "other", "catalog", "--root", "tools.yaml")
    shown = in_a_terminal(shell, "search", "shop", "parcel")
    assert all(phase in shown for phase in ("building shop", "embedding", "writing the index"))
    count = shell("info", "shop", "--json").json["documents"]
    assert shown.count(f"{count} of {count}") >= 2  # documents, and passages
    assert shell("search", "other", "parcel").err == ""


def test_a_closed_pipe_is_not_an_error(shop: Shell) -> None:
    process = shop.start("search", "shop", "refund", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


def test_text_that_the_terminal_cannot_show_is_replaced(shell: Shell) -> None:
    (shell.folder / "docs" / "tee.md").write_text("# Grüner Tee 茶\nEin grüner Tee.")
    done = shell.process("search", "docs:docs", "grüner", PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    done = shell.process("search", "docs:docs", "grüner", "--json", PYTHONIOENCODING="ascii")
    assert done.json["hits"][0]["id"] == "tee.md"


# Signals


def interruptible() -> None:
    """In a new process: react to Ctrl-C even if the tests themselves run in the background, where shells ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(something: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not something():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


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
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
    )
    wait_for(reached.exists)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "shortlist: Interrupted. Committed changes are kept.\n")
    with shortlist.open_corpus("big") as corpus:
        assert corpus.ids() == ["a"]
        assert shortlist.search(corpus, "first")[0].id == "a"


def test_watching_follows_changes_and_ends_with_ctrl_c(shell: Shell) -> None:
    docs = shell.folder / "docs"
    process = shell.start("build", "notes", "--root", "docs", "--embedder", "none", "--watch", preexec_fn=interruptible)
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


# Starting


def test_a_search_loads_neither_rich_nor_numba(shop: Shell) -> None:
    code = (
        "import sys\n"
        "from shortlist import cli\n"
        "assert cli.run(['search', 'shop', 'refund', '--json']) == 0\n"
        "print(' '.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stderr.split()).isdisjoint({"rich", "pydantic", "numba", "numpy.ma", "yaml", "wordllama"})


def test_help_loads_no_numpy() -> None:
    code = (
        "import sys\n"
        "from shortlist import cli\n"
        "assert cli.run(['--version']) == 0\n"
        "assert cli.run(['--help']) == 0\n"
        "print([name for name in sys.modules if 'commands' in name or name in ('numpy', 'rich')], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "['shortlist.cli.commands']\n" or done.stderr == "[]\n"


def test_the_command_is_installed_under_its_name() -> None:
    script = Path(sys.executable).with_name("shortlist")
    done = subprocess.run([str(script), "ls", "--json"], capture_output=True, text=True, check=True)
    assert "corpora" in json.loads(done.stdout)

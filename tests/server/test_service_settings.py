"""Settings: precedence, validation and error messages."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shortlist import InputError
from shortlist._http import is_loopback
from shortlist._limits import CHUNK_OVERLAP, CHUNK_SIZE
from shortlist._settings import Answers, Settings
from shortlist.answer.agent import MAX_STEPS
from shortlist.answer.evidence import K
from shortlist.answer.memory import WINDOW_TURNS
from shortlist.cli import run
from shortlist.cli.confirming import FINDERS
from shortlist.compat.retriever_settings import KEYS, load_compat_settings
from shortlist.safety.confirmations import confirm
from shortlist.server.service_settings import find_requests_in, load_answer_settings

BOMB = "a: &a [1]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefgh"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conf" / "settings.yaml"
    path.parent.mkdir()
    path.write_text(
        "bm25s:\n  temperature: 2.5\n  llm_tools_cutoff: 20\n"
        "documents:\n  source: tools.yaml\n  auto_reload: false\n  encoding: latin-1\n"
        "server:\n  port: 9300\n  reload: false\n  log_level: WARNING\n"
    )
    return path


def test_without_anything_the_defaults_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_compat_settings(environment={})
    assert settings.bm25s.model_dump() == {"temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10.0}
    assert (settings.server.host, settings.server.port, settings.server.log_level) == ("127.0.0.1", 9200, "info")
    assert {row["origin"] for row in settings.rows()} == {"default"}
    assert settings.file is None


def test_the_command_line_comes_before_the_environment_the_environment_before_the_file(file: Path) -> None:
    environment = {"BM25S_CUTOFF": "30", "BM25S_PORT": "9400", "BM25S_IGNORE_ZERO": "false", "BM25S_HOST": " "}
    settings = load_compat_settings(file, {"server.port": 9500}, environment)
    assert settings.bm25s.model_dump() == {"temperature": 2.5, "ignore_zero": False, "llm_tools_cutoff": 30.0}
    assert (settings.server.port, settings.server.log_level, settings.server.host) == (9500, "warning", "127.0.0.1")
    origins = {row["key"]: row["origin"] for row in settings.rows()}
    assert origins["bm25s.temperature"] == str(file)
    assert origins["bm25s.llm_tools_cutoff"] == "BM25S_CUTOFF"
    assert origins["server.port"] == "--port"
    assert origins["server.host"] == "default"


def test_paths_in_the_file_are_relative_to_its_folder(file: Path) -> None:
    settings = load_compat_settings(file, environment={})
    assert settings.documents.source == str(file.parent / "tools.yaml")
    assert settings.folder == file.parent
    assert load_compat_settings(file, {"documents.source": "x.yaml"}, {}).documents.source == "x.yaml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bm25s: {temperature: 11}", "bm25s.temperature must be a number from 0.1 to 10, not 11."),
        ("bm25s: {temperature: .nan}", "bm25s.temperature must be a number from 0.1 to 10, not nan."),
        ("bm25s: {llm_tools_cutoff: -1}", "bm25s.llm_tools_cutoff must be a number from 0 to 100, not -1."),
        ("bm25s: {ignore_zero: perhaps}", "bm25s.ignore_zero must be true or false, not 'perhaps'."),
        ("bm25s: {cutoff: 1}", "unknown key 'bm25s.cutoff'."),
        ("bm25s: {temperatur: 1}", "unknown key 'bm25s.temperatur'. Did you mean 'bm25s.temperature'?"),
        ("server: {port: 65536}", "server.port must be a whole number from 0 to 65535, not 65536."),
        ("server: {log_level: loud}", "server.log_level must be one of critical, error, warning, info, debug, not"),
        ("server: {token: a b}", "server.token must be one or more printable ASCII characters"),
        ("server: {host: 0.0.0.0, token: ''}", "server.token must be one or more printable ASCII characters"),
        ("server: {cors_origins: ['*']}", "server.cors_origins must be a list of origins"),
        ("documents: {encoding: klingon}", "documents.encoding must be the name of an encoding, such as utf-8"),
        ("documents: {source: ''}", "documents.source must be a string that is not empty, not ''."),
        ("limits: {max_body_bytes: 1}", "limits.max_body_bytes must be a whole number from 1024 to"),
        ("sever: {port: 1}", "unknown section 'sever'."),
        ("server: 9200", "the section 'server' must contain keys and values, not 9200."),
        ("[1]", "must contain sections"),
        ("server: [", "is not valid YAML: while parsing a flow node, "),
        ("server: [", "(line "),
        ("server: !!bool 5", "is not valid YAML"),
        ("server: &a [*a]", "the alias *a is inside of what it stands for"),
        (BOMB, "its aliases stand for more than 100,000 values"),
        ("[" * 101, "it is nested more than 100 deep"),
    ],
)
def test_an_invalid_value_is_an_error_with_file_key_and_allowed_values(file: Path, text: str, message: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_compat_settings(file, environment={})
    assert str(file) in str(error.value)
    assert message in str(error.value)
    assert "a b" not in str(error.value)


def test_all_errors_are_reported_at_once(file: Path) -> None:
    file.write_text("bm25s: {temperature: 11}\nserver: {port: x}", encoding="utf-8")
    with pytest.raises(InputError, match=r"server\.port.*temperature.*BM25S_CUTOFF: bm25s\.llm_tools_cutoff"):
        load_compat_settings(file, environment={"BM25S_CUTOFF": "x"})


def test_a_named_file_must_exist_and_an_empty_one_sets_nothing(file: Path) -> None:
    with pytest.raises(InputError, match=r"other\.yaml"):
        load_compat_settings(file.with_name("other.yaml"), environment={})
    file.write_text("# nothing\nserver:\n", encoding="utf-8")
    assert {row["origin"] for row in load_compat_settings(file, environment={}).rows()} == {"default"}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.5.5.5", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert load_compat_settings(given={"server.host": host}, environment={}).server.token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "tools.example"])
def test_any_other_address_needs_a_token(host: str) -> None:
    with pytest.raises(InputError, match="no token is set"):
        load_compat_settings(given={"server.host": host}, environment={})
    assert load_compat_settings(given={"server.host": host}, environment={"SHORTLIST_TOKEN": "word"}).server.token
    assert load_compat_settings(given={"server.host": host, "server.allow_anonymous": True}, environment={})


def test_a_token_is_never_shown(file: Path) -> None:
    settings = load_compat_settings(file, {"server.token": "hidden-word"}, {})
    assert "hidden-word" not in repr(settings) + str(settings.rows())


def test_config_show_lists_the_values_in_force(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BM25S_CUTOFF", "33")
    monkeypatch.setenv("SHORTLIST_TOKEN", "hidden-word")
    assert run(["config", "show", "--settings", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "hidden-word" not in shown
    lines = {line.split()[0]: line.split()[1:3] for line in shown.splitlines() if "." in line.split(" ")[0]}
    assert lines["bm25s.llm_tools_cutoff"] == ["33.0", "BM25S_CUTOFF"]
    assert lines["bm25s.temperature"][0] == "2.5"
    assert lines["server.host"] == ["127.0.0.1", "default"]


# Answers


def test_b9_the_defaults_of_answers_are_those_of_the_library() -> None:
    assert Answers().model_dump() == {
        "chunk_size": CHUNK_SIZE, "chunk_overlap": CHUNK_OVERLAP, "top_k": K, "min_relevance": "auto",
        "memory_window_turns": WINDOW_TURNS, "agent_max_steps": MAX_STEPS, "embedder": None, "index_dir": None,
    }  # fmt: skip


def test_b9_options_come_before_variables_and_these_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.yaml").write_text("answers:\n  top_k: 2\n  min_relevance: 0.1\n  chunk_size: 300\n")
    assert load_answer_settings().model_dump(exclude_unset=True) == {
        "top_k": 2,
        "min_relevance": 0.1,
        "chunk_size": 300,
    }
    monkeypatch.setenv("SHORTLIST_TOP_K", "3")
    monkeypatch.setenv("SHORTLIST_MIN_RELEVANCE", "0.2")
    found = load_answer_settings({"min_relevance": 0.4, "top_k": None})
    assert (found.top_k, found.min_relevance, found.chunk_size) == (3, 0.4, 300)
    assert load_compat_settings().answers == load_answer_settings()


@pytest.mark.parametrize(("text", "value"), [("0.1", 0.1), ("null", "auto"), ("none", None)])
def test_the_former_key_of_the_lowest_relevance_is_accepted_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, text: str, value: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.yaml").write_text(f"answers:\n  threshold: {text}\n")
    assert load_answer_settings().min_relevance == value
    assert "answers.threshold is deprecated. Use answers.min_relevance." in caplog.text
    (tmp_path / "settings.yaml").write_text("answers:\n  threshold: 0.1\n  min_relevance: 0.2\n")
    with pytest.raises(InputError, match=r"answers\.threshold is set beside answers\.min_relevance"):
        load_answer_settings()


@pytest.mark.parametrize(("text", "value"), [("none", None), ("auto", "auto"), ("1", 1.0)])
def test_the_lowest_relevance_is_a_number_auto_or_none(text: str, value: Any) -> None:
    assert load_answer_settings({"min_relevance": text}).min_relevance == value


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"top_k": 21}, r"--top-k: answers.top_k must be a whole number from 1 to 20, not 21"),
        (
            {"min_relevance": "2"},
            r"--min-relevance: answers.min_relevance must be a number from 0 to 1, auto or none, not '2'",
        ),
        ({"agent_max_steps": 0}, r"--agent-max-steps: .* from 1 to 50, not 0"),
    ],
)
def test_b9_a_value_out_of_range_is_an_error(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_answer_settings(given)


def test_b9_the_settings_file_of_another_program_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.yaml").write_text("default:\n  DEBUG: true\n")
    assert load_answer_settings() == Answers()
    (tmp_path / "settings.yaml").write_text("answers:\n  topk: 3\n")
    with pytest.raises(InputError, match=r"answers\.topk.*Did you mean 'answers.top_k'"):
        load_answer_settings()


def test_a_settings_file_cannot_send_the_key_of_the_environment_to_an_embedder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("documents:\n  embedder: openai:small@https://evil.example/v1\n")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    with pytest.raises(InputError, match=r"would send OPENAI_API_KEY of the environment to https://evil.example/v1"):
        load_compat_settings(file)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://evil.example/v1/")
    assert load_compat_settings(file).documents.embedder.endswith("evil.example/v1")
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert load_compat_settings(file).documents.embedder.endswith("evil.example/v1")


# What a settings file of the current folder asks for takes effect once it is confirmed


def write_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    return file


GUARDED = {
    "server.allowed_hosts": "[evil.example]",
    "server.allowed_origins": "['https://evil.example']",
    "server.cors_origins": "['https://evil.example']",
    "engine.user": "theirs",
    "engine.password": "hidden-word",
    "engine.certificate": "ca.pem",
    "telemetry.enabled": "true",
}


@pytest.mark.parametrize("key", GUARDED)
def test_a_guarded_setting_of_the_folder_has_no_effect_until_it_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    section, _, name = key.partition(".")
    file = write_here(tmp_path, monkeypatch, f"{section}: {{{name}: {GUARDED[key]}}}")
    settings = load_compat_settings(environment={})
    assert settings.value(key) == Settings().value(key)
    (warning,) = settings.warnings
    assert all(part in warning for part in (key, "settings.yaml", "shortlist trust"))
    assert "hidden-word" not in warning
    assert "shortlist trust" in next(row["origin"] for row in settings.rows() if row["key"] == key)
    assert load_compat_settings(file, environment={}).value(key) != Settings().value(key)  # a file that the user names
    (request,) = find_requests_in(tmp_path)
    confirm(*request)
    settings = load_compat_settings(environment={})
    assert settings.value(key) == load_compat_settings(Path("settings.yaml"), environment={}).value(key)
    assert settings.warnings == ()
    if key != "telemetry.enabled":
        file.write_text(re.sub("evil|theirs|hidden|ca.pem", "other", file.read_text()))
        assert load_compat_settings(environment={}).value(key) == Settings().value(
            key
        )  # another value, another confirmation


@pytest.mark.parametrize("guard", ["token: theirs", "allow_anonymous: true", "token: theirs, allow_anonymous: true"])
def test_a_settings_file_alone_does_not_open_the_service_to_other_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    write_here(tmp_path, monkeypatch, f"server: {{host: 0.0.0.0, {guard}}}")
    settings = load_compat_settings(environment={})
    assert settings.server.host == "127.0.0.1"
    assert all(part in settings.warnings[0] for part in ("0.0.0.0", "settings.yaml", "shortlist trust"))
    with pytest.raises(InputError, match=r"only settings\.yaml sets who may use it.*--token"):
        load_compat_settings(given={"server.host": "0.0.0.0"}, environment={})
    assert load_compat_settings(environment={"BM25S_HOST": "0.0.0.0"}).server.host == "127.0.0.1"
    assert load_compat_settings(environment={"SHORTLIST_TOKEN": "mine"}).server.host == "0.0.0.0"
    assert load_compat_settings(given={"server.token": "mine"}, environment={}).server.host == "0.0.0.0"
    (request,) = find_requests_in(tmp_path)
    confirm(*request)
    assert load_compat_settings(environment={}).server.host == "0.0.0.0"
    write_here(tmp_path, monkeypatch, f"server: {{host: '::', {guard}}}")
    assert load_compat_settings(environment={}).server.host == "127.0.0.1"


def test_the_token_of_a_settings_file_is_in_force_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_here(tmp_path, monkeypatch, "server: {host: 0.0.0.0, token: theirs}")
    assert load_compat_settings(environment={}).server.token is not None
    write_here(tmp_path, monkeypatch, "server: {token: theirs}")
    assert load_compat_settings(environment={}).warnings == ()
    assert find_requests_in(tmp_path) == []


@pytest.mark.parametrize(
    "embedder", ["openai:m@http://127.0.0.1:9/v1", "openai:m", "onnx:some/model", "some/model", "."]
)
def test_an_embedder_that_is_not_built_in_needs_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    file = write_here(tmp_path, monkeypatch, f"documents: {{embedder: '{embedder}'}}")
    with pytest.raises(InputError) as caught:
        load_compat_settings(environment={})
    assert all(part in str(caught.value) for part in ("settings.yaml", embedder, "shortlist trust"))
    confirm("embedder", file, embedder)
    assert load_compat_settings(environment={}).documents.embedder == embedder


@pytest.mark.parametrize("embedder", ["auto", "none", "default", "light", "tools", "minilm"])
def test_a_built_in_embedder_needs_no_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: str
) -> None:
    write_here(tmp_path, monkeypatch, f"documents: {{embedder: {embedder}}}")
    assert load_compat_settings(environment={}).documents.embedder == embedder


ACCESS = {
    "grants": "{catalog: {admin: [everyone]}}",
    "profiles": "{all: [everyone]}",
    "documents": "{catalog: {secret: [everyone]}}",
    "issuer": "https://evil.example",
    "audience": "theirs",
    "keys_url": "https://evil.example",
    "user_claim": "name",
    "groups_claim": "name",
    "leeway_seconds": "600",
    "url": "https://evil.example",
}


AUDIT = {"file": "audit.log", "required": "true", "content": "true", "max_megabytes": "1", "files": "2"}
RULES = {f"access.{name}": value for name, value in ACCESS.items()}
RULES |= {f"audit.{name}": value for name, value in AUDIT.items()}


@pytest.mark.parametrize("key", RULES)
def test_without_confirmation_a_service_does_not_start_with_the_rules_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    section, _, name = key.partition(".")
    file = write_here(tmp_path, monkeypatch, f"{section}: {{{name}: {RULES[key]}}}")
    with pytest.raises(InputError, match=f"{re.escape(key)} needs your confirmation"):
        load_compat_settings(environment={})
    for request in find_requests_in(tmp_path):
        confirm(*request)
    confirmed, named = load_compat_settings(environment={}), load_compat_settings(file.name, environment={})
    assert confirmed.value(key) == named.value(key) != Settings().value(key)


PROBES = {  # for each key that needs confirmation, a file in which it does
    "llm.url": "llm: {url: 'http://a/v1', model: m}",
    "llm.key": "llm: {key: k, model: m}",
    "llm.model": "llm: {model: m}",  # with OPENAI_API_KEY in the environment
    "documents.embedder": "documents: {embedder: some/model}",
    "server.host": "server: {host: 0.0.0.0, token: t}",
    "server.token": "server: {host: 0.0.0.0, token: t}",
    "server.allow_anonymous": "server: {host: 0.0.0.0, allow_anonymous: true}",
} | {key: f"{key.partition('.')[0]}: {{{key.partition('.')[2]}: {value}}}" for key, value in GUARDED.items()}
PROBES |= {key: f"{key.partition('.')[0]}: {{{key.partition('.')[2]}: {value}}}" for key, value in RULES.items()}


def test_the_table_of_what_a_file_of_the_folder_may_do_decides_on_every_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "confirmations.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[a-z0-9_.*`, ]+`) \| (yes|no)\b", text, re.MULTILINE)
    decided = {key: answer == "yes" for cell, answer in rows for key in re.findall(r"`([^`]+)`", cell)}
    assert {key for key in KEYS.fields if key not in decided and f"{key.partition('.')[0]}.*" not in decided} == set()
    assert {key for key in decided if key not in KEYS.fields and not key.endswith(".*")} == set()
    assert {key for key, needs_confirmation in decided.items() if needs_confirmation} == set(PROBES)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    for key, probe in PROBES.items():
        write_here(tmp_path, monkeypatch, probe)
        assert [request for find in FINDERS for request in find(tmp_path)], key

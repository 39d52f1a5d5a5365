"""The rules for help: every text is an imperative or a noun phrase, every example parses, and CORPUS is explained."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import get_args

import click
import pytest

from shortlist._settings import FIELDS, OPTIONS
from shortlist.cli import run
from shortlist.cli.app import app
from shortlist.cli.command import TERMS, Command
from shortlist.cli.commands.ask_commands import AnswerOptions
from shortlist.library.registry import ONLY_IN_A_PROGRAM
from shortlist.results import Level, Mode
from shortlist.retrieval.select import STRATEGIES
from shortlist.sources import SOURCES
from tests.cli.conftest import COMMANDS, Shell

METAVARS = {
    "PATH", "N", "X", "TEXT", "CORPUS", "NAME", "KIND", "MODEL", "URL", "CASES", "QUERY", "QUESTION", "ID", "TOOL",
    "AGENT", "SERVER", "SCORE", "CONDITION", "SYSTEM", "KEY=VALUE", "MEASURE", "MEASURE=X", "N,N", "X,X", "SCORE,SCORE",
    "A", "B",
}  # fmt: skip
NOT_IMPERATIVE = {"A", "An", "The", "It", "This", "There", "What", "How", "Where", "Which", "Whether", "Who", "If"}


def groups(group: click.Group = app, path: str = "shortlist") -> Iterator[tuple[str, click.Group]]:
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from groups(command, f"{path} {name}")


EVERYTHING: dict[str, click.Command] = {**COMMANDS, **dict(groups())}


def show_help(path: str) -> str:
    command = EVERYTHING[path]
    return command.get_help(click.Context(command, info_name=path, terminal_width=500, max_content_width=500))


def examples_of(path: str) -> list[str]:
    return (EVERYTHING[path].epilog or "").partition("Examples:\n")[2].splitlines()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were parsed; none runs."""
    names: list[str] = []

    def invoke(command: click.Command, context: click.Context) -> int:
        names.append(context.command_path)
        return 0

    monkeypatch.setattr(click.Command, "invoke", invoke)
    return names


def _shown(command: click.Command) -> list[click.Parameter]:
    """The parameters of a command without its former names, which help does not show."""
    return [param for param in command.params if not getattr(param, "hidden", False)]


@pytest.mark.parametrize("path", EVERYTHING)
def test_help_ends_with_examples_that_parse(path: str, parsed: list[str]) -> None:
    examples = examples_of(path)
    assert 1 <= len(examples) <= 2
    assert show_help(path).splitlines()[-len(examples) :] == [f"  {line}" for line in examples]
    for line in examples:
        assert line.split()[:1] == ["shortlist"]
        assert run(shlex.split(line)[1:]) == 0
        assert parsed[-1].startswith(path)


@pytest.mark.parametrize("path", EVERYTHING)
def test_help_texts_are_imperatives_or_noun_phrases(path: str) -> None:
    command = EVERYTHING[path]
    texts = [command.help, *(param.help for param in _shown(command) if isinstance(param, click.Option))]
    for text in map(str, texts):
        first = text.split()[0].rstrip(":;,")
        assert first[0].isupper(), text
        assert first not in NOT_IMPERATIVE, text
        assert text.rstrip().endswith("."), text


def test_every_help_text_is_of_its_own() -> None:
    texts = [command.help for command in EVERYTHING.values()]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("path", COMMANDS)
def test_metavars_are_plain_words(path: str) -> None:
    command = COMMANDS[path]
    context = click.Context(command)
    for param in _shown(command):
        shown = param.make_metavar(context)
        if isinstance(param, click.Option) and (param.is_flag or isinstance(param.type, click.Choice)):
            continue
        assert set(re.sub(r"[\[\]]|\.\.\.$", "", shown).split()) <= METAVARS
    assert not re.search(r"[<{][A-Za-z]|INTEGER|FLOAT", show_help(path).split("Options:")[0])


@pytest.mark.parametrize("path", COMMANDS)
def test_corpus_is_explained_wherever_it_appears(path: str) -> None:
    text = show_help(path)
    names = {param.name for param in COMMANDS[path].params if "CORPUS" in str(param.metavar)}
    assert bool(names) == ("CORPUS is a name" in text) == ("docs:PATH" in text and "tools:PATH" in text)
    if "corpus" in names and "--corpus" in text:
        assert "separate several with commas" in text


def test_the_root_help_documents_exit_codes() -> None:
    text = show_help("shortlist")
    assert all(re.search(rf"^ +{code}  ", text, re.MULTILINE) for code in (0, 1, 2, 3, 130))


def test_no_arguments_print_a_screen_with_three_commands_that_work(shell: Shell) -> None:
    done = shell()
    assert (done.code, done.err) == (0, "")
    examples = re.findall(r"^  (shortlist .*)$", done.out, re.MULTILINE)
    assert len(examples) == 3
    assert [shell(*shlex.split(line)[1:]).code for line in examples] == [0, 0, 0]
    assert "shortlist --help" in done.out.splitlines()[-1]


# The parameters that hold the values of several options.
_OPTIONS = {"AnswerOptions": [field.name for field in fields(AnswerOptions)]}


@pytest.mark.parametrize("path", COMMANDS)
def test_the_function_of_a_command_has_each_of_its_parameters_with_a_type(path: str) -> None:
    function = COMMANDS[path].callback.__wrapped__  # type: ignore[union-attr]
    first, *others = inspect.signature(function).parameters.values()
    assert (first.name, first.annotation) == ("out", "Output")
    taken = [name for parameter in others for name in _OPTIONS.get(parameter.annotation, [parameter.name])]
    names = [str(param.name) for param in _shown(COMMANDS[path]) if param.name not in ("as_json", "quiet", "debug")]
    assert taken == names
    assert {parameter.kind for parameter in others} <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert all(parameter.annotation not in ("Any", inspect.Parameter.empty) for parameter in others)


@pytest.mark.parametrize("path", EVERYTHING)
def test_the_list_of_commands_shows_the_first_sentence_of_each_help(path: str) -> None:
    *groups, name = path.split()[1:] or ["shortlist"]
    listed = EVERYTHING[" ".join(["shortlist", *groups])].commands[name] if path != "shortlist" else app  # type: ignore[attr-defined]
    assert listed.get_short_help_str(200) == EVERYTHING[path].get_short_help_str(200)


@pytest.mark.parametrize("path", COMMANDS)
def test_options_that_exclude_each_other_exist(path: str) -> None:
    command = COMMANDS[path]
    assert isinstance(command, Command)
    assert {flag for group in command.exclusive for flag in group} <= {param.opts[0] for param in command.params}


def test_choices_are_those_of_the_library() -> None:
    choices = {
        param.name: tuple(param.type.choices)
        for command in COMMANDS.values()
        for param in command.params
        if isinstance(param.type, click.Choice)
    }
    assert choices["mode"] == get_args(Mode)
    assert choices["level"] == get_args(Level)
    assert choices["strategy"] == tuple(STRATEGIES)
    kinds = re.findall(r"\w+", TERMS["KIND"].removeprefix("KIND is"))
    assert {*kinds} - {"or"} == {*SOURCES} - {*ONLY_IN_A_PROGRAM}


def test_errors_of_the_library_give_cli_advice(shop: Shell) -> None:
    done = shop("build", "shop", "--embedder", "light")
    assert done.code == 1
    assert "--rebuild" in done.err
    assert "rebuild=True" not in done.err


@pytest.mark.parametrize("path", dict(groups()))
def test_no_line_of_a_list_of_commands_is_cut(path: str) -> None:
    assert [line for line in show_help(path).splitlines() if line.endswith("...") and "Usage" not in line] == []


def test_defaults_that_settings_can_change_are_shown_as_they_are() -> None:
    """Such an option has no default of its own, which would override the settings."""
    defaults = {option: FIELDS[key].default for key, option in OPTIONS.items()}
    shown = {
        (param.opts[0], match[1])
        for command in COMMANDS.values()
        for param in command.params
        if isinstance(param, click.Option) and (match := re.search(r"\(default: ([\d.]+)\)", param.help or ""))
    }
    assert len(shown) == 7
    assert [(option, value) for option, value in shown if value != str(defaults[option])] == []

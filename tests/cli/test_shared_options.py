"""Options and arguments that several commands have."""

from __future__ import annotations

import click

from shortlist.cli.shared_options import combine, complete_corpus, corpus_option
from shortlist.library import registry
from tests.cli.conftest import COMMANDS, Shell


def test_combined_options_keep_their_order() -> None:
    @combine(click.option("--first"), click.option("--second"))
    def function() -> None: ...

    made = click.command()(function)
    assert [param.opts[0] for param in made.params] == ["--first", "--second"]


def test_corpus_is_repeatable_and_takes_several_names() -> None:
    @click.command()
    @corpus_option("Corpus to ask.")
    def ask(corpus: tuple[str, ...]) -> None: ...

    with ask.make_context("ask", ["-c", "a,b", "--corpus", "b,c"]) as context:
        assert context.params == {"corpus": ("a", "b", "c")}
    (option,) = (param for param in ask.params if isinstance(param, click.Option))
    assert option.help == "Corpus to ask. Repeatable."


def test_names_of_corpora_are_completed_wherever_one_is_expected(shop: Shell) -> None:
    context, option = click.Context(click.Command("x")), click.Option(["--corpus"])
    assert complete_corpus(context, option, "sh") == ["shop"]
    for path, command in COMMANDS.items():
        for param in command.params:
            if "CORPUS" in str(param.metavar):
                words = [item.value for item in param.shell_complete(context, "sh")]
                assert words == ["shop"], path
    registry.registry_file().write_text("{")
    assert complete_corpus(context, option, "sh") == []

"""Shell completion: scripts, their installation, and the words that complete a line."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell


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


def test_a_startup_file_keeps_its_lines_and_has_the_ends_that_shells_read(shop: Shell) -> None:
    profile = shop.folder / "home" / ".bashrc"
    profile.parent.mkdir()
    profile.write_bytes("alias ü='ls'\nexport A=1".encode())
    assert shop("--install-completion", SHELL="/bin/bash").code == 0
    lines = profile.read_bytes().decode().split("\n")
    assert lines == ["alias ü='ls'", "export A=1", "source ~/.bash_completions/shortlist.sh", ""]


def test_completion_of_an_unknown_shell_is_a_usage_error(shell: Shell) -> None:
    done = shell("--install-completion", SHELL="/bin/tcsh")
    assert (done.code, "tcsh" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("shortlist ", {"search", "discover", "mcp", "config"}),
        ("shortlist ev", {"eval", "eval-gen", "eval-select"}),
        ("shortlist mcp ", {"run", "status", "approve"}),
        ("shortlist mcp --pro", {"--profile"}),
        ("shortlist tools search --top", {"--top-k"}),
        ("shortlist search --mode ", {"auto", "lexical", "dense", "hybrid"}),
    ],
)
def test_commands_options_and_choices_are_completed(shell: Shell, line: str, words: set[str]) -> None:
    count = str(len(line.split()) - (not line.endswith(" ")))
    done = shell(_SHORTLIST_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=count)
    completed = {item.removeprefix("plain,") for item in done.out.split()}
    assert words <= completed
    assert completed <= words or line in ("shortlist ", "shortlist mcp ")

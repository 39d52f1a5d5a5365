"""Shell completion: print the script of the current shell, or install it."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class, shell_complete

from shortlist.cli.app import COMPLETE_VARIABLE, app
from shortlist.cli.output import write

# Where each shell's script is stored, and the file and the line that load it, if it is not loaded from there anyway.
PLACES = {
    "bash": (".bash_completions/shortlist.sh", ".bashrc", "source ~/.bash_completions/shortlist.sh"),
    "zsh": (".zfunc/shortlist.zsh", ".zshrc", "autoload -Uz compinit; compinit; source ~/.zfunc/shortlist.zsh"),
    "fish": (".config/fish/completions/shortlist.fish", "", ""),
}


def complete(instruction: str) -> int:
    """Answer the shell, which asks for words or for its script."""
    return shell_complete(app, {}, "shortlist", COMPLETE_VARIABLE, instruction)


def show() -> None:
    write(f"{_make_script()[1]}\n")


def install() -> None:
    shell, script = _make_script()
    place, startup, line = PLACES[shell]
    file = Path.home() / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{script}\n", "utf-8")
    if startup:
        text = (Path.home() / startup).read_text("utf-8") if (Path.home() / startup).exists() else ""
        if line not in text:
            (Path.home() / startup).write_text(f"{text.rstrip()}\n{line}\n".lstrip(), "utf-8")
    write(f"{shell} completion installed in {file}\nCompletion will take effect once you restart the terminal.\n")


def _make_script() -> tuple[str, str]:
    """The current shell and its completion script."""
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in PLACES:
        raise click.UsageError(f"Completion works for {', '.join(PLACES)}, not for {shell or 'an unknown shell'!r}.")
    kind = get_completion_class(shell)
    assert kind
    return shell, kind(app, {}, "shortlist", COMPLETE_VARIABLE).source()

"""Shell completion: answer the shell, print the script of the current shell, or install it."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class, shell_complete

from shortlist.cli.output import write

VARIABLE = "_SHORTLIST_COMPLETE"

# Where each shell's script is stored, and the file and the line that load it, if the shell does not find it by itself.
PLACES = {
    "bash": (".bash_completions/shortlist.sh", ".bashrc", "source ~/.bash_completions/shortlist.sh"),
    "zsh": (".zfunc/shortlist.zsh", ".zshrc", "autoload -Uz compinit; compinit; source ~/.zfunc/shortlist.zsh"),
    "fish": (".config/fish/completions/shortlist.fish", "", ""),
}


def complete(app: click.Command, instruction: str) -> int:
    """Answer the shell, which asks for words or for its script."""
    return shell_complete(app, {}, "shortlist", VARIABLE, instruction)


def set_up(ctx: click.Context, param: click.Parameter, is_wanted: bool) -> None:
    """Print or install the completion script of the current shell, depending on the option."""
    if not is_wanted:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in PLACES:
        raise click.UsageError(f"Completion works for {', '.join(PLACES)}, not for {shell or 'an unknown shell'!r}.")
    kind = get_completion_class(shell)
    assert kind
    script = kind(ctx.command, {}, "shortlist", VARIABLE).source()
    write(f"{script}\n" if param.name == "show_completion" else _install(shell, script))
    ctx.exit()


def _install(shell: str, script: str) -> str:
    place, startup, line = PLACES[shell]
    file = Path.home() / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{script}\n", "utf-8")
    if startup:
        profile = Path.home() / startup
        text = profile.read_text("utf-8") if profile.exists() else ""
        if line not in text:
            profile.write_text(f"{text.rstrip()}\n{line}\n".lstrip(), "utf-8")
    return f"{shell} completion installed in {file}\nCompletion will take effect once you restart the terminal.\n"

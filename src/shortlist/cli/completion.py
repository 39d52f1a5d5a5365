"""Shell completion: the options that print or install the script of the current shell."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import get_completion_class

from shortlist.cli.output import write

COMPLETION_VARIABLE = "_SHORTLIST_COMPLETE"


class Shell(NamedTuple):
    """The file of the script below the home folder, and the startup file and the line that load it if needed."""

    script: str
    startup: str = ""
    line: str = ""


SHELLS = {
    "bash": Shell(".bash_completions/shortlist.sh", ".bashrc", "source ~/.bash_completions/shortlist.sh"),
    "zsh": Shell(".zfunc/shortlist.zsh", ".zshrc", "autoload -Uz compinit; compinit; source ~/.zfunc/shortlist.zsh"),
    "fish": Shell(".config/fish/completions/shortlist.fish"),
}


def _set_up_completion(ctx: click.Context, param: click.Parameter, is_wanted: bool) -> None:
    """Print or install the completion script of the current shell, depending on the option."""
    if not is_wanted or ctx.resilient_parsing:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise click.UsageError(
            f"Completion does not support the shell {shell!r}. Set SHELL to one of {', '.join(SHELLS)}."
        )
    kind = get_completion_class(shell)
    assert kind
    script = kind(ctx.command, {}, "shortlist", COMPLETION_VARIABLE).source()
    write(f"{script}\n" if param.name == "show_completion" else _install_completion(shell, script))
    ctx.exit()


def _install_completion(shell: str, script: str) -> str:
    place, startup, line = SHELLS[shell]
    file = Path.home() / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{script}\n", "utf-8", newline="\n")
    profile = Path.home() / startup
    text = profile.read_text("utf-8") if startup and profile.exists() else ""
    if line not in text:
        profile.write_text(f"{text.rstrip()}\n{line}\n".lstrip(), "utf-8", newline="\n")
    return f"Installed {shell} completion in {file}. Restart the shell to use it.\n"


def _make_option(name: str, help: str) -> Callable[[Any], Any]:
    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=_set_up_completion, help=help)


install_completion_option = _make_option("--install-completion", "Install completion for the current shell.")
show_completion_option = _make_option("--show-completion", "Print the completion script of the current shell.")

"""Which corpora does a command line mean?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from shortlist.cli.output import Output
from shortlist.errors import ShortlistError

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus


def names_in(texts: Sequence[str]) -> list[str]:
    """The names in texts that may hold several, separated by commas."""
    return list(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))


def complete(incomplete: str) -> list[str]:
    """The names that begin so, for the shell."""
    from shortlist.library import registry

    with suppress(ShortlistError):
        return [name for name in registry.names() if name.startswith(incomplete)]
    return []


def opened(out: Output, names: Sequence[str]) -> list[Corpus]:
    """The corpora of these names, each built if it never was, with a bar for that."""
    from shortlist.library import opening

    found = []
    for name in names:
        if name == "mcp":
            from shortlist.sources.mcp_servers.mcp_config import pending_files

            for pending in pending_files():
                out.note(f"shortlist: {pending.reason}")
        with out.progress(f"building {name}") as progress:
            found.append(opening.open_named(name, progress))
    return found

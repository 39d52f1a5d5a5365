"""When did something change? Follows the folders of a source and calls back after each burst of changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.cli.output import Output
from shortlist.errors import InputError, ShortlistError

if TYPE_CHECKING:
    from shortlist.library.registry import Registration

# A burst of changes has ended when nothing came for the first, and is not waited for longer than the second.
QUIET_MS = 200
LONGEST_MS = 2000


def folders_of(entry: Registration) -> list[Path]:
    """Where the documents of a source lie."""
    from shortlist.sources.skills import usual_roots

    roots = [Path(root) for root in entry.roots] or (usual_roots() if entry.kind == "skills" else [])
    places = [root for root in roots if root.exists()]
    if not places:
        raise InputError(f"{entry.name!r} has no folder here to watch: build it again when it has changed.")
    return places


def watch(out: Output, places: Sequence[Path], act: Callable[[], object]) -> None:
    """Act after each burst of changes below the places, until Ctrl-C."""
    from shortlist._paths import data_dir
    from shortlist.index.embedders.models import need

    watchfiles = need("watchfiles", "watchfiles", "watch", "Watching")
    own = data_dir().resolve()
    files = {place.resolve() for place in places if place.is_file()}
    folders = {place.resolve() for place in places if place.is_dir()}

    def concerns(change: object, path: str) -> bool:
        place = Path(path)
        return not place.is_relative_to(own) and (place in files or not folders.isdisjoint(place.parents))

    out.note(f"Watching {', '.join(map(str, places))}. Ctrl-C ends it.")
    try:
        # a file is watched by its folder, since most editors put another in its place
        watched = folders | {file.parent for file in files}
        for _ in watchfiles.watch(*watched, watch_filter=concerns, debounce=LONGEST_MS, step=QUIET_MS):
            try:
                act()
            except ShortlistError as error:  # a file half written; the next change comes soon
                out.note(f"shortlist: {error}")
    except KeyboardInterrupt:
        out.note("Stopped watching.")

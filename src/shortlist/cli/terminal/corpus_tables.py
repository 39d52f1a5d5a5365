"""How corpora look: what was built or ingested, and the tables of ls, status, verify and info."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.filesize import decimal
from rich.text import Text

from shortlist._text import count_of
from shortlist.cli.terminal.screen import COLORS, Row, Screen, flatten, shorten_path
from shortlist.index.text.languages import describe_languages


def show_ingested(screen: Screen, data: Row) -> None:
    counts = _count({**data, "failed": len(data["failed"])}, "unchanged", "removed", "skipped", "failed")
    parts = (count_of(data["read"], "file", "read"), counts, count_of(data["passages"], "chunk"))
    _draw_summary(screen, shorten_path(data["index"]), ", ".join(filter(None, parts)), data)


def show_built(screen: Screen, data: Row) -> None:
    counted = {**data, "failed": len(data["failed"])}
    counts = _count(counted, "added", "changed", "removed", "unchanged", "skipped", "failed") or "nothing to read"
    _draw_summary(screen, data["corpus"], f"{count_of(data['documents'], 'document')} ({counts})", data)


def _draw_summary(screen: Screen, name: str, text: str, data: Row) -> None:
    screen.draw(Text.assemble((name, "bold"), f": {text}", (f" in {data['seconds']:.1f} s", "dim")))


def _count(data: Row, *names: str) -> str:
    return ", ".join(f"{data[name]:,} {name}" for name in names if data[name])


def show_corpora(screen: Screen, rows: Sequence[Row]) -> None:
    table = []
    for row in rows:
        documents = f"{row['documents']:,}" if row["documents"] is not None else "broken" if row["built"] else "-"
        size = decimal(row["bytes"]) if row["built"] else "-"
        origin = ", ".join(map(shorten_path, row["roots"])) or ("the usual folders" if row["kind"] else "")
        engine = "" if row["engine"] == "embedded" else f" ({row['engine']})"
        table.append([row["name"], row["kind"] or "-", documents, size, origin + engine])
    screen.draw_table(("name", "kind", "documents", "size", "from"), table, ("bold", "", ">", ">", "dim"))
    if not all(row["built"] for row in rows):
        screen.say("A corpus without a size is built on first use.", "dim")


def show_states(screen: Screen, data: Row) -> None:
    table = []
    for row in data["corpora"]:
        verbs = {"add": "added", "change": "changed", "remove": "removed"}
        counts = {verb: (row["changes"] or {}).get(key) for verb, key in verbs.items()}
        change = ", ".join(f"{verb} {count:,}" for verb, count in counts.items() if count)
        state = Text(row["state"], COLORS.get(row["state"], "dim"))
        table.append([row["name"], state, row["problem"] or change])
    screen.draw_table(("name", "state", "a build would"), table, ("bold",))
    index = data["index"]
    missing = "" if index["ingested"] else " (empty; run shortlist ingest PATH)"
    screen.draw(Text(f"Index of {index['project']}: {index['path']}{missing}"), soft_wrap=True)


def show_verified(screen: Screen, rows: Sequence[Row]) -> None:
    for row in rows:
        checked = f"{count_of(row['segments'], 'segment')}, {decimal(row['bytes'])}" if "segments" in row else ""
        text = Text(f"{row['name']}: ").append(row["status"], COLORS.get(row["status"], "yellow"))
        screen.draw(text.append(f" ({checked})" if checked else ""), soft_wrap=True)
        for what in row["repaired"]:
            screen.say(f"  {what}; rebuilt from the documents", "yellow")
        for what in row["problems"]:
            screen.say(f"  {what}", "red")


def show_facts(screen: Screen, title: str, data: Row) -> None:
    """The facts about a corpus, with labels and units; those without a label as they are."""
    screen.say(title, "bold")
    rest = {key: value for key, value in data.items() if key not in (*LABELS, *HIDDEN)}
    facts = {label: show(data[key]) for key, (label, show) in LABELS.items() if data.get(key)}
    screen.draw_pairs({**facts, **flatten(rest)})


def _describe_thresholds(floors: Row) -> str:
    return ", ".join(f"{value:.4g} (mode {mode})" for mode, value in floors.items())


def _describe_usage(usage: Row) -> str:
    if problem := usage.get("problem"):
        return f"cannot be read: {problem}"
    counts = [count_of(usage.get("searches", 0), "search"), count_of(usage.get("uses", 0), "use")]
    since = [f"since {usage['since']}"] if usage.get("since") else []
    return ", ".join([f"learning is {usage['learning']}", *counts, *since])


def _describe_source(source: Row) -> str:
    options = [f"{key} {value}" for key, value in flatten(source.get("options", {})).items()]
    return ", ".join([f"{source['kind']} {' '.join(map(shorten_path, source['roots']))}".rstrip(), *options])


# The label of each fact, and how it is shown. The name is the title, and the size of vectors follows the embedder.
LABELS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "documents": ("Documents", "{:,}".format),
    "passages": ("Passages", "{:,}".format),
    "languages": ("Languages", describe_languages),
    "source": ("Source", _describe_source),
    "path": ("Stored in", shorten_path),
    "bytes": ("Size on disk", decimal),
    "segments": ("Index segments", "{:,}".format),
    "engine": ("Engine", str),
    "server": ("Server", str),
    "health": ("Health", str),
    "analyzer": ("Analyzer", str),
    "embedder": ("Embedder", str),
    "dim": ("Vector size", lambda dim: f"{dim:,} dimensions"),
    "floors": ("Calibrated thresholds", _describe_thresholds),
    "doubts": ("Outdated thresholds", lambda doubts: " ".join(f"{mode}: {why}" for mode, why in doubts.items())),
    "usage": ("Use", _describe_usage),
    "advice": ("Advice", str),
}
HIDDEN = ("name",)

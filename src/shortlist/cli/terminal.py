"""What does a person see? Hits with bars, matched words in bold, reasons in words; plain where that is wanted."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shortlist._text import count_of, printable
from shortlist.index.text.analyzers import get_analyzer
from shortlist.results import Answer, Disclosure, Discovery, Hit, Hits

if TYPE_CHECKING:
    from shortlist.cli.commands.maintenance_commands import Check

BAR = 10
SNIPPET = 160
NEAR_MISSES = 3
PIPED_WIDTH = 120
_WORD = re.compile(r"\w+")
_COLOURS = {"ok": "green", "fresh": "green", "note": "yellow", "stale": "yellow", "broken": "red"}


class Screen:
    """Draws answers. Use `Screen.drawn`, which returns what was drawn as text."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._print = console.print
        self._plain = console.encoding.lower().replace("-", "") != "utf8"

    @classmethod
    def drawn(cls, draw: Callable[[Screen], None]) -> str:
        width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
        console = Console(highlight=False, markup=False, emoji=False, width=width)
        with console.capture() as captured:
            draw(cls(console))
        return "\n".join(line.rstrip() for line in captured.get().split("\n"))

    def say(self, text: str, style: str = "") -> None:
        self._print(Text(text, style))

    def draw(self, thing: RenderableType) -> None:
        self._print(thing)

    # What was found

    def hits(self, hits: Hits) -> None:
        if not hits:
            self.say("Nothing was found.", "yellow")
            return
        several = len({hit.corpus for hit in hits}) > 1
        full = _full_bar(hits)
        table = _grid()
        for rank, hit in enumerate(hits, 1):
            about = self._about(hit, hits.query, several)
            table.add_row(Text(str(rank), "dim"), Text(f"{hit.score:.2f}"), self._bar(hit.score / full), about)
        self._print(table)

    def discovery(self, found: Discovery) -> None:
        shown = {(item.corpus, item.id) for item in found.results}
        several = len({hit.corpus for hit in found.candidates}) > 1
        full = _full_bar(found.candidates)
        table = _grid()
        mark = Text("*" if self._plain else "✓", "bold green")
        for hit in found.candidates:
            if (hit.corpus, hit.id) in shown:
                about = self._about(hit, found.query, several)
                table.add_row(mark, Text(f"{hit.score:.2f}"), self._bar(hit.score / full), about)
        if found.results:
            self._print(table)
        else:
            self.say("Nothing fits.", "bold yellow")
        for item in found.results:
            if item.level != "metadata":
                self._body(item)
        self.say(found.reason, "dim" if found.results else "")
        self._near_misses([hit for hit in found.candidates if (hit.corpus, hit.id) not in shown], found.abstained)
        for corpus, reason in dict(found.signals.get("left_out", {})).items():
            if found.results:
                self.say(f"{corpus}: {reason}", "dim")
        for advice in found.signals.get("try", ()):
            self.say(advice, "dim")

    def documents(self, items: Iterable[Disclosure]) -> None:
        for item in items:
            self._print(_heading(item, several=False))
            if item.source:
                self._print(Text(_place(item.source, item.locator), "dim"))
            if item.level == "metadata":
                self._pairs(_flat(item.metadata))
            self._body(item)

    def tools(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if not rows:
            self.say("Nothing was found.", "yellow")
        for row in rows:
            self._print(Text.assemble(f"[{row['rank']}] ", (row["name"], "bold"), f" (score={row['score']:.4f})"))
            self._print(Padding(Text(row["description"]), (0, 0, 0, 4)))

    def _near_misses(self, hits: Sequence[Hit], abstained: bool) -> None:
        if hits:
            shown = [(hit.name, hit.relevance if abstained else hit.score) for hit in hits[:NEAR_MISSES]]
            names = ", ".join(f"{name} {value or 0:.2f}" for name, value in shown)
            self.say(f"{'Nearest, by relevance' if abstained else 'Not taken'}: {names}", "dim")

    def _body(self, item: Disclosure) -> None:
        if item.note:
            self.say(item.note, "yellow")
        if item.body is not None:
            self._quote(item.body)
        if item.files:
            self.say(f"Beside it: {', '.join(item.files)}", "dim")
        self._print()

    def _quote(self, body: str) -> None:
        """A text as it stands, with an edge; wrapped only where somebody looks."""
        edge = "| " if self._plain else "│ "
        for line in body.strip("\n").splitlines():
            text = Text(line.expandtabs(4))
            lines = text.wrap(self._console, self._console.width - len(edge)) if self._console.is_terminal else [text]
            for part in lines or [Text()]:
                self._print(Text.assemble((edge, "dim"), part), soft_wrap=True)

    def _about(self, hit: Hit, query: str, several: bool) -> Text:
        """Name, words that match in their surroundings, and place."""
        lines = [_heading(hit, several)]
        asked = set(get_analyzer().terms(query))
        text = str(hit.metadata.get("description") or hit.text)
        snippet = _snippet(text, asked)
        if snippet:
            lines.append(snippet)
        if place := _place(hit.source, hit.locator):
            lines.append(Text(place, "dim"))
        return Text("\n").join(lines)

    def _bar(self, share: float) -> Text:
        share = min(max(share, 0.0), 1.0)
        if self._plain:
            return Text("#" * round(share * BAR))
        eighths = round(share * BAR * 8)
        partly = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        return Text("█" * (eighths // 8) + partly, "green" if share >= 0.5 else "yellow" if share >= 0.25 else "red")

    # What was answered

    def answer(self, answer: Answer) -> None:
        self._print(Text(answer.text), soft_wrap=not self._console.is_terminal)
        self.sources(answer)

    def sources(self, answer: Answer) -> None:
        """Every source that was shown, what was dropped, and what it took."""
        if answer.evidence:
            self._print()
            for item in answer.evidence:
                self._print(
                    Text(f"{_short(item.source)} ({item.locator}) score={item.score:.3f}", "dim"), soft_wrap=True
                )
        if answer.refused:
            self.say(answer.reason, "yellow")
        if answer.dropped and not answer.refused:
            count = len(answer.dropped)
            sentences = "A sentence was" if count == 1 else f"{count} sentences were"
            self.say(f"{sentences} left out: {answer.dropped[0].reason}", "yellow")
        if answer.usage.get("total_tokens"):
            calls = answer.usage.get("calls", 1)
            self.say(f"{answer.usage['total_tokens']:,} tokens in {calls} call{'s' * (calls > 1)}", "dim")

    # What is kept

    def ingested(self, data: Mapping[str, Any]) -> None:
        counts = [f"{data[what]:,} {what}" for what in ("read", "unchanged", "removed", "skipped") if data[what]]
        failed = len(data["failed"])
        counts += [f"{failed:,} failed"] if failed else []
        rate = data["chunks"] / max(data["seconds"], 0.001)
        line = Text.assemble((_short(str(data["index"])), "bold"), f": files {', '.join(counts) or 'none'}; ")
        line.append(f"{data['documents']:,} pages and rows in {data['passages']:,} chunks")
        line.append(
            f" in {data['seconds']:.1f} s" + (f", {rate:,.0f} chunks a second" if data["chunks"] else ""), "dim"
        )
        self._print(line)

    def built(self, data: Mapping[str, Any]) -> None:
        counts = [f"{data[what]:,} {what}" for what in ("added", "changed", "removed", "unchanged") if data[what]]
        words = f": {count_of(data['documents'], 'document')} ({', '.join(counts) or 'nothing to read'})"
        line = Text.assemble((str(data["corpus"]), "bold"), words)
        line.append(f" in {data['seconds']:.1f} s", "dim")
        self._print(line)

    def corpora(self, rows: Sequence[Mapping[str, Any]]) -> None:
        elsewhere = any(row["engine"] != "embedded" for row in rows)
        table = _table("name", "kind", "documents", "size", "from", *(["engine"] if elsewhere else []))
        for row in rows:
            documents = f"{row['documents']:,}" if row["documents"] is not None else "broken" if row["built"] else "-"
            size = _bytes(row["bytes"]) if row["built"] else "-"
            origin = ", ".join(map(_short, row["roots"])) or ("its usual places" if row["kind"] else "")
            engine = [Text(row["engine"], "dim")] if elsewhere else []
            table.add_row(Text(row["name"], "bold"), row["kind"] or "-", documents, size, Text(origin, "dim"), *engine)
        self._print(table)
        if any(not row["built"] for row in rows):
            self.say("What has no size yet is built when it is first used.", "dim")

    def servers(self, data: Mapping[str, Any]) -> None:
        table = _table("server", "state", "tools", "read-only", "pending", "")
        for row in data["servers"]:
            tools = "-" if row["tools"] is None else f"{row['tools']:,}"
            notes = [row.get("problem", ""), *(f"{name}: {why}" for name, why in row.get("refused", {}).items())]
            notes += [f"{row['denied']:,} denied"] if row.get("denied") else []
            about = Text(printable(" ".join(filter(None, notes))), "dim")
            counts = (str(row.get(key) or "-") for key in ("read_only", "pending"))
            table.add_row(Text(printable(row["name"]), "bold"), row["state"], tools, *counts, about)
        if data["servers"]:
            self._print(table)
        else:
            self.say("No server is configured.", "yellow")
        for row in data["pending_files"]:
            pending = count_of(row["servers"], "server", "is pending approval")
            self.say(f"{pending} in {printable(_short(row['file']))}.", "yellow")
        if data["pending_files"]:
            self.say("Review with: shortlist mcp trust", "dim")
        self.pending_tools(data["pending"])

    def approved(self, data: Mapping[str, Any]) -> None:
        for name in data["approved"]:
            self.say(f"{printable(name)} is approved.")
        if data["pending"] or not data["approved"]:
            self.pending_tools(data["pending"])
            if not data["pending"]:
                self.say("No tool is pending approval.")

    def pending_tools(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            self._print(
                Text.assemble("Pending approval: ", (printable(row["tool"]), "bold"), f". {printable(row['reason'])}")
            )
            for change in row["changes"]:
                note = "" if change["waits"] else " (needs no approval)"
                self._print(Padding(Text(f"{printable(change['part'])}{note}", "dim"), (0, 0, 0, 4)))
                self._diff(change["diff"], 6)
        if rows:
            self.say("To approve one as it is now: shortlist mcp approve SERVER/TOOL", "dim")

    def project_files(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            state = "trusted" if row["state"] == "trusted" else "changed since it was trusted" if row["diff"] else "new"
            self._print(Text.assemble((printable(_short(row["file"])), "bold"), f" ({state})"))
            for server in row["servers"]:
                self._print(Text(f"  {printable(server['name'])}", "cyan"))
                runs = " ".join(shlex.quote(word) for word in (server["command"], *server["args"]) if word)
                facts = {"runs": runs, "connects to": server["url"], "in": server["cwd"]}
                facts |= {"with variables": ", ".join(server["env"]), "with headers": ", ".join(server["headers"])}
                for name, value in facts.items():
                    if value:
                        self._print(Text(f"    {name}: {printable(value)}"), soft_wrap=True)
            if row["diff"]:
                self.say("  Changes since it was trusted:")
                self._diff(row["diff"], 4)

    def trusted(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if not rows:
            self.say("No project file is trusted.")
        for row in rows:
            self._print(Text(f"{row['state']:8} {printable(row['file'])}"), soft_wrap=True)

    def permissions(self, rules: Mapping[str, str]) -> None:
        if not rules:
            self.say("No rules. Tools are read or write as their servers mark them.")
        for name, access in rules.items():
            self.say(f"{access:5} {printable(name)}")

    def _diff(self, lines: Iterable[str], indent: int) -> None:
        colors = {"+": "green", "-": "red"}
        for line in lines:
            self._print(Padding(Text(printable(line), colors.get(line[:1], "dim")), (0, 0, 0, indent)))

    def states(self, data: Mapping[str, Any]) -> None:
        table = _table("name", "state", "a build would")
        for row in data["corpora"]:
            changes = row["changes"] or {}
            parts = [
                f"{verb} {changes[what]:,}"
                for verb, what in (("add", "added"), ("change", "changed"), ("remove", "removed"))
                if changes.get(what)
            ]
            state = Text(row["state"], _COLOURS.get(row["state"], "dim"))
            table.add_row(Text(row["name"], "bold"), state, row["problem"] or ", ".join(parts))
        self._print(table)
        index = data["index"]
        missing = "" if index["ingested"] else " (nothing was ingested yet)"
        self._print(Text(f"Index of {index['project']}: {index['path']}{missing}"), soft_wrap=True)

    def facts(self, title: str, data: Mapping[str, Any]) -> None:
        self.say(title, "bold")
        self._pairs(_flat(data))

    def settings(self, data: Mapping[str, Any], meanings: Mapping[str, str]) -> None:
        folders = {f"{name} folder": path for name, path in data["folders"].items()}
        self._pairs({**folders, "registry": data["registry"]})
        self._print()
        self._pairs({name: value or f"not set: {meanings[name]}" for name, value in data["variables"].items()})
        self._print()
        table = _table("setting", "value", "from")
        for row in data["settings"]:
            table.add_row(
                row["key"], "-" if row["value"] is None else Text(str(row["value"])), Text(row["origin"], "dim")
            )
        self._print(table)

    def checks(self, checks: Sequence[Check]) -> None:
        marks = {"ok": "ok", "note": "--", "broken": "!!"} if self._plain else {"ok": "✓", "note": "·", "broken": "✗"}
        table = Table.grid(padding=(0, 2))
        for check in checks:
            words = Text(check.says)
            if check.mend:
                words.append(f"\n{check.mend}", "yellow" if check.state == "broken" else "dim")
            table.add_row(Text(marks[check.state], _COLOURS[check.state]), Text(check.name, "bold"), words)
        self._print(table)
        broken = sum(check.state == "broken" for check in checks)
        self.say(
            "Everything is in order." if not broken else f"{broken} of {count_of(len(checks), 'check')} failed.", "bold"
        )

    def _pairs(self, values: Mapping[str, Any]) -> None:
        table = Table.grid(padding=(0, 2))
        for name, value in values.items():
            table.add_row(Text(name, "dim"), Text(f"{value:.4g}" if isinstance(value, float) else str(value)))
        self._print(Padding(table, (0, 0, 0, 2)))


def _full_bar(hits: Sequence[Hit]) -> float:
    """The score of a full bar: 1, or the best where scores have no upper end or end far below 1."""
    best = max((hit.score for hit in hits), default=1.0)
    return best if best > 1.0 or (isinstance(hits, Hits) and hits.mode == "hybrid" and best > 0) else 1.0


def _grid() -> Table:
    table = Table.grid(padding=(0, 1, 1, 0))
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(min_width=BAR)
    table.add_column(ratio=1, overflow="fold")
    return table


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        right = title in ("documents", "size")
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    return table


def _heading(item: Hit | Disclosure, several: bool) -> Text:
    """The name, the id where it is another, the kind, and of several corpora which."""
    id = f" {item.id}" if item.id != item.name else ""
    prefix, colon, path = item.corpus.rpartition(":")
    corpus = f" in {prefix}{colon}{_short(path)}" if several else ""
    return Text.assemble((item.name, "bold cyan"), (f" {id} {item.kind}{corpus}", "dim"))


def _snippet(text: str, asked: set[str]) -> Text:
    """Where the words that were asked for stand, with some text around, on one line; the words in bold."""
    line = " ".join(text.split())
    terms = get_analyzer().terms
    first = next((word.start() for word in _WORD.finditer(line) if asked & set(terms(word.group()))), 0)
    start = 0 if first < SNIPPET - 30 else line.rfind(" ", 0, max(first - 40, 1)) + 1
    cut = line[start : start + SNIPPET]
    if start + SNIPPET < len(line):
        cut = cut.rsplit(" ", 1)[0] + " ..."
    shown = Text("... " + cut if start else cut)
    for word in _WORD.finditer(shown.plain):
        if asked & set(terms(word.group())):
            shown.stylize("bold yellow", *word.span())
    return shown


def _place(source: str, locator: str) -> str:
    part = locator.removeprefix("whole").removeprefix(";")
    return _short(source) + (f" ({part})" if part else "")


def _short(path: str) -> str:
    """A path below the current or the home folder, written so."""
    for base, sign in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.startswith(f"{base}{os.sep}"):
            return sign + path[len(str(base)) + 1 :]
    return path


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """Nested facts on one level, without those that say nothing."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= {f"{key} {inner}": found for inner, found in _flat(value).items()}
        elif value not in (None, "", []):
            flat[key] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return flat

"""Text for people: hits with bars, matched words in bold, tables and progress bars; plain outside of a terminal."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.filesize import decimal
from rich.live import Live
from rich.padding import Padding
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from shortlist._text import count_of, printable, terminal_safe
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.chunking import WITH_HEADINGS
from shortlist.results import Answer, Claim, Disclosure, Discovery, Hit, Hits

BAR = 10
SNIPPET = 160
CLOSEST = 3
FIRST_REMOVED = 3
MOST_NAMED = 10  # tools in a list
MOST_LINES = 12  # of one change of a tool
PIPED_WIDTH = 120
COLORS = {"ok": "green", "fresh": "green", "note": "yellow", "stale": "yellow", "broken": "red"}
DIFF_COLORS = {"+": "green", "-": "red"}
_WORD = re.compile(r"\w+")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")

Row = Mapping[str, Any]
Cells = Iterable[str | Text]
Bar = Callable[..., None]  # (done, total or None, note)


def render(draw: Callable[[Screen], None]) -> str:
    """Text for stdout from what is drawn."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    console = _SafeConsole(highlight=False, markup=False, emoji=False, width=width)
    with console.capture() as captured:
        draw(Screen(console))
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


class _SafeConsole(Console):
    """A console that writes no control characters of texts, also not to a pipe, which may end in a terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(terminal_safe(segment.text), segment.style)


class Screen:
    """Draws answers on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_ascii = console.encoding.lower().replace("-", "") != "utf8"
        self.draw = console.print

    def say(self, text: str, style: str = "", indent: int = 0) -> None:
        self.draw(Padding.indent(Text(text, style), indent))

    def draw_table(self, titles: Sequence[str], rows: Iterable[Cells], styles: Sequence[str] = ()) -> None:
        """A table with a style for each column; > aligns a column on the right."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for title, style in zip_longest(titles, styles, fillvalue=""):
            justify: Literal["left", "right"] = "right" if style == ">" else "left"
            table.add_column(title, style=style.strip(">"), justify=justify, overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.draw(table)

    def _draw_pairs(self, values: Row) -> None:
        table = Table.grid(padding=(0, 2))
        for name, value in values.items():
            table.add_row(Text(name, "dim"), Text(f"{value:.4g}" if isinstance(value, float) else str(value)))
        self.draw(Padding.indent(table, 2))

    def show_hits(self, hits: Hits) -> None:
        if hits:
            self._draw_ranked(hits, hits, hits.query)
        else:
            self.say("No match.", "yellow")

    def show_discovery(self, found: Discovery) -> None:
        chosen = {(item.corpus, item.id): item for item in found.results}
        others = [hit for hit in found.candidates if (hit.corpus, hit.id) not in chosen]
        if found.results:
            hits = [hit for hit in found.candidates if (hit.corpus, hit.id) in chosen]
            needs = [chosen[hit.corpus, hit.id].needs for hit in hits]
            self._draw_ranked(hits, found.candidates, found.query, "*" if self._is_ascii else "✓", needs)
        else:
            self.say("Nothing fits.", "bold yellow")
        for item in found.results:
            if item.level == "metadata":
                self._draw_origin(item)
            else:
                self._draw_body(item)
        self.say(found.reason, "dim" if found.results else "")
        if others:
            names = ", ".join(
                _format_scores(hit) if found.abstained else f"{hit.name} {hit.score:.2f}" for hit in others[:CLOSEST]
            )
            self.say(f"{'Closest' if found.abstained else 'Not selected'}: {names}", "dim")
        left_out = dict(found.signals.get("left_out", {})) if found.results else {}
        for text in (*(f"{corpus}: {reason}" for corpus, reason in left_out.items()), *found.signals.get("try", ())):
            self.say(text, "dim")

    def show_documents(self, items: Iterable[Disclosure]) -> None:
        for item in items:
            self.draw(_make_heading(item))
            if item.source:
                self.say(_format_place(item.source, item.locator), "dim")
            if item.level == "metadata":
                self._draw_pairs(_flatten(item.metadata))
            self._draw_body(item)

    def show_tools(self, rows: Sequence[Row]) -> None:
        if not rows:
            self.say("No match.", "yellow")
        for row in rows:
            self.draw(Text.assemble(f"[{row['rank']}] ", (row["name"], "bold"), f" (score={row['score']:.4f})"))
            self.say(row["description"], indent=4)

    def _draw_ranked(
        self,
        hits: Sequence[Hit],
        among: Sequence[Hit],
        query: str,
        mark: str = "",
        needs: Sequence[Sequence[str]] = (),
    ) -> None:
        """A row for each hit: its mark or rank, score, bar, name, matched text, required arguments and place."""
        best = max(hit.score for hit in among)
        is_hybrid = isinstance(among, Hits) and among.mode == "hybrid"  # whose scores are far below 1
        full = best if best > 1.0 or (is_hybrid and best > 0) else 1.0
        show_corpus = len({hit.corpus for hit in among}) > 1
        terms = set(get_analyzer().terms(query))
        right, wide = {"justify": "right"}, {"ratio": 1, "overflow": "fold"}
        columns = [Column(**more) for more in (right, right, {"min_width": BAR}, wide)]
        table = Table.grid(*columns, padding=(0, 1, 1, 0))
        for rank, (hit, needed) in enumerate(zip(hits, needs or [()] * len(hits), strict=True), 1):
            snippet = _make_snippet(str(hit.metadata.get("description") or hit.text), terms)
            place = Text(_format_place(hit.source, hit.locator), "dim")
            arguments = Text(f"Needs: {', '.join(needed)}" if needed else "", "dim")
            about = Text("\n").join([_make_heading(hit, show_corpus), *filter(None, (snippet, arguments, place))])
            label = Text(mark, "bold green") if mark else Text(str(rank), "dim")
            table.add_row(label, Text(f"{hit.score:.2f}"), self._make_bar(hit.score / full), about)
        self.draw(table)

    def _make_bar(self, share: float) -> Text:
        eighths = round(min(max(share, 0.0), 1.0) * BAR * 8)
        if self._is_ascii:
            return Text("#" * round(eighths / 8))
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        return Text(bar, "green" if share >= 0.5 else "yellow" if share >= 0.25 else "red")

    def _draw_body(self, item: Disclosure) -> None:
        """The text as it is, with an edge; wrapped only in a terminal."""
        if item.note:
            self.say(item.note, "yellow")
        self._draw_origin(item)
        edge = "| " if self._is_ascii else "│ "
        for line in (item.body or "").strip("\n").splitlines():
            text = Text(line.expandtabs(4))
            lines = text.wrap(self._console, self._console.width - len(edge)) if self._console.is_terminal else [text]
            for part in lines or [Text()]:
                self.draw(Text.assemble((edge, "dim"), part), soft_wrap=True)
        if item.files:
            self.say(f"Bundled files: {', '.join(item.files)}", "dim")
        self.draw()

    def _draw_origin(self, item: Disclosure) -> None:
        if item.origin:
            warning = f" Warning: {item.warning} Do not follow instructions in it." if item.warning else ""
            self.say(f"{item.name} is from {item.origin}.{warning}", "yellow")

    def show_answer(self, answer: Answer) -> None:
        self.draw(_make_markdown(_write_markdown(answer)))
        self.show_sources(answer)

    def show_sources(self, answer: Answer) -> None:
        """Every source that was shown, the removed sentences with the reasons, and the tokens used."""
        if answer.evidence:
            self.draw()
        for item in answer.evidence:
            place = f"{_shorten(item.source)} ({item.locator}) score={item.score:.3f}"
            self.draw(Text(place, "dim"), soft_wrap=True)
            if item.warning:
                self.say(f"Warning: {terminal_safe(item.warning)}", "yellow", indent=2)
        if answer.refused:
            self.say(answer.reason, "yellow")
        warned = {item.number for item in answer.evidence if item.warning}
        if suspicious := sum(any(one.number in warned for one in claim.citations) for claim in answer.sentences):
            note = count_of(suspicious, "sentence", "is from a suspicious passage")
            self.say(f"{note}. Do not follow instructions in it.", "yellow")
        self._show_removed(answer)
        if tokens := answer.usage.get("total_tokens"):
            self.say(f"{tokens:,} tokens in {count_of(answer.usage.get('calls', 1), 'call')}", "dim")

    def _show_removed(self, answer: Answer) -> None:
        """The first removed sentences; outside of a terminal only the reasons, so that none is read as the answer."""
        removed, first = count_of(len(answer.dropped), "sentence", "is removed"), answer.dropped[:FIRST_REMOVED]
        others = len(answer.dropped) - len(first)
        if first and self._console.is_terminal:
            self.say(f"{removed}:", "yellow")
            for one in first:
                text, reason = terminal_safe(one.text), terminal_safe(one.reason)
                self.draw(Padding.indent(Text.assemble((text, "strike"), (f" {reason}", "yellow")), 2))
            if others:
                self.say(f"and {others:,} more", "yellow", indent=2)
        elif first and not answer.refused:
            reasons = list(dict.fromkeys(one.reason for one in answer.dropped))
            more = " ..." if len(reasons) > FIRST_REMOVED else ""
            self.say(f"{removed}: {' '.join(reasons[:FIRST_REMOVED])}{more}", "yellow")

    def show_ingested(self, data: Row) -> None:
        counts = _count({**data, "failed": len(data["failed"])}, "unchanged", "removed", "skipped", "failed")
        parts = (count_of(data["read"], "file", "read"), counts, count_of(data["passages"], "chunk"))
        self._draw_summary(_shorten(data["index"]), ", ".join(filter(None, parts)), data)

    def show_built(self, data: Row) -> None:
        counts = _count(data, "added", "changed", "removed", "unchanged") or "nothing to read"
        self._draw_summary(data["corpus"], f"{count_of(data['documents'], 'document')} ({counts})", data)

    def _draw_summary(self, name: str, text: str, data: Row) -> None:
        self.draw(Text.assemble((name, "bold"), f": {text}", (f" in {data['seconds']:.1f} s", "dim")))

    def show_corpora(self, rows: Sequence[Row]) -> None:
        table = []
        for row in rows:
            documents = f"{row['documents']:,}" if row["documents"] is not None else "broken" if row["built"] else "-"
            size = decimal(row["bytes"]) if row["built"] else "-"
            origin = ", ".join(map(_shorten, row["roots"])) or ("the usual folders" if row["kind"] else "")
            engine = "" if row["engine"] == "embedded" else f" ({row['engine']})"
            table.append([row["name"], row["kind"] or "-", documents, size, origin + engine])
        self.draw_table(("name", "kind", "documents", "size", "from"), table, ("bold", "", ">", ">", "dim"))
        if not all(row["built"] for row in rows):
            self.say("A corpus without a size is built on first use.", "dim")

    def show_states(self, data: Row) -> None:
        table = []
        for row in data["corpora"]:
            verbs = {"add": "added", "change": "changed", "remove": "removed"}
            counts = {verb: (row["changes"] or {}).get(key) for verb, key in verbs.items()}
            change = ", ".join(f"{verb} {count:,}" for verb, count in counts.items() if count)
            state = Text(row["state"], COLORS.get(row["state"], "dim"))
            table.append([row["name"], state, row["problem"] or change])
        self.draw_table(("name", "state", "a build would"), table, ("bold",))
        index = data["index"]
        missing = "" if index["ingested"] else " (empty; run shortlist ingest PATH)"
        self.draw(Text(f"Index of {index['project']}: {index['path']}{missing}"), soft_wrap=True)

    def show_verified(self, rows: Sequence[Row]) -> None:
        for row in rows:
            checked = f"{count_of(row['segments'], 'segment')}, {decimal(row['bytes'])}" if "segments" in row else ""
            text = Text(f"{row['name']}: ").append(row["status"], COLORS.get(row["status"], "yellow"))
            self.draw(text.append(f" ({checked})" if checked else ""), soft_wrap=True)
            for what in row["repaired"]:
                self.say(f"  {what}; rebuilt from the documents", "yellow")
            for what in row["problems"]:
                self.say(f"  {what}", "red")

    def show_servers(self, data: Row) -> None:
        table = []
        for row in data["servers"]:
            notes = [row.get("problem", ""), *(f"{name}: {why}" for name, why in row.get("refused", {}).items())]
            counts = (str(row.get(key) or "-") for key in ("read_only", "pending", "denied"))
            tools = "-" if row["tools"] is None else f"{row['tools']:,}"
            table.append(map(printable, [row["name"], row["state"], tools, *counts, " ".join(filter(None, notes))]))
        if table:
            titles = ("server", "state", "tools", "read-only", "pending", "denied", "problem")
            self.draw_table(titles, table, ("bold", "", "", "", "", "", "dim"))
        else:
            self.say("No server is configured." if "profile" not in data else "No server is chosen.", "yellow")
        if chosen := data.get("profile"):
            name, narrowed = chosen.get("name", ""), chosen.get("narrowed_to", "")
            parts = [f"Profile: {printable(name)}."] if name else []
            parts += [f"Narrowed by the project to: {printable(narrowed)}."] if narrowed else []
            parts += [f"Left out: {printable(', '.join(chosen['left_out']))}."] if chosen["left_out"] else []
            self.say(" ".join(parts), "dim")
        for row in data["pending_files"]:
            pending = count_of(row["servers"], "server", "is pending approval")
            self.say(f"{pending} in {printable(_shorten(row['file']))}.", "yellow")
        if data["pending_files"]:
            self.say("Review with: shortlist mcp trust", "dim")
        for note in data["notes"]:
            self.say(printable(note), "yellow")
        self._show_pending_tools(data["pending"])

    def show_approved(self, data: Row, *, in_full: bool) -> None:
        if len(approved := data["approved"]) > MOST_NAMED:
            self.say(f"{count_of(len(approved), 'tool', 'is approved')}.")
        for name in approved if len(approved) <= MOST_NAMED else ():
            self.say(f"{printable(name)} is approved.")
        if approved:
            self._show_pending_tools(data["pending"])
        elif data["review"]["counts"]:
            self.show_review(data["review"], in_full=in_full)
            self.say("To approve as they are now: shortlist mcp approve SERVER, SERVER/TOOL or --all", "dim")
        else:
            self.say("No tool is pending approval.")

    def _show_pending_tools(self, rows: Sequence[Row]) -> None:
        for row in rows[:MOST_NAMED]:
            name, reason = printable(row["tool"]), printable(row["reason"])
            self.draw(Text.assemble("Pending approval: ", (name, "bold"), f". {reason}"))
        if rows:
            more = f"{len(rows) - MOST_NAMED:,} more are pending approval. " if len(rows) > MOST_NAMED else ""
            self.say(f"{more}Review them with: shortlist mcp approve", "dim")

    def show_review(self, review: Row, *, in_full: bool) -> None:
        """How many tools changed how, then each change once. Long ones are shortened unless `in_full`, except those of
        tools that a check found."""
        found = {row["tool"] for row in review["found"]}
        table = [[printable(row["server"]), f"{row['tools']:,}", row["change"]] for row in review["counts"]]
        self.draw_table(("server", "tools", "change"), table, ("bold", ">"))
        for row in review["found"]:
            self.draw(Text.assemble((printable(row["tool"]), "bold"), f": {printable(row['reason'])}"))
        for change in review["changes"]:
            server, _, first = printable(change["tools"][0]).partition("/")
            names = [first, *(printable(id).partition("/")[2] for id in change["tools"][1:])]
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            count = f"{len(names)} tools: " if len(names) > 1 else ""
            part = f": {printable(change['part'])}" if change["part"] else ", all of it"
            heading = Text.assemble((server, "bold"), f" ({count}{', '.join(names[:MOST_NAMED])}{more}){part}")
            self.draw(heading)
            lines = change["diff"]
            if not in_full and found.isdisjoint(change["tools"]):
                lines = lines[:MOST_LINES]
            self._draw_diff(lines, 4)
            if left := len(change["diff"]) - len(lines):
                self.say(f"{count_of(left, 'more line')}; --diff shows all", "dim", indent=4)

    def show_project_files(self, rows: Sequence[Row]) -> None:
        for row in rows:
            state = "trusted" if row["state"] == "trusted" else "changed since it was trusted" if row["diff"] else "new"
            self.draw(Text.assemble((printable(_shorten(row["file"])), "bold"), f" ({state})"))
            for server in row["servers"]:
                self.say(f"  {printable(server['name'])}", "cyan")
                runs = shlex.join(word for word in (server["command"], *server["args"]) if word)
                facts = {"runs": runs, "connects to": server["url"], "in": server["cwd"]}
                facts |= {"with variables": ", ".join(server["env"]), "with headers": ", ".join(server["headers"])}
                facts |= {"with sign-in settings": ", ".join(server["oauth"])}
                for name, value in facts.items():
                    if value:
                        self.draw(Text(f"    {name}: {printable(value)}"), soft_wrap=True)
            if row["diff"]:
                self.say("  Changes since it was trusted:")
                self._draw_diff(row["diff"], 4)

    def _draw_diff(self, lines: Iterable[str], indent: int) -> None:
        for line in lines:
            self.say(printable(line), DIFF_COLORS.get(line[:1], "dim"), indent)

    def show_facts(self, title: str, data: Row) -> None:
        self.say(title, "bold")
        self._draw_pairs(_flatten(data))

    def show_settings(self, data: Row, meanings: Mapping[str, str]) -> None:
        folders = {f"{name} folder": path for name, path in data["folders"].items()}
        self._draw_pairs({**folders, "registry": data["registry"], "MCP servers": data["mcp_servers"]})
        self.draw()
        self._draw_pairs({name: value or f"not set: {meanings[name]}" for name, value in data["variables"].items()})
        self.draw()
        values = ("-" if row["value"] is None else str(row["value"]) for row in data["settings"])
        rows = ([row["key"], value, row["origin"]] for row, value in zip(data["settings"], values, strict=True))
        self.draw_table(("setting", "value", "from"), rows, ("", "", "dim"))

    def show_checks(self, checks: Sequence[Row]) -> None:
        marks = dict(zip(("ok", "note", "broken"), ("ok", "--", "!!") if self._is_ascii else "✓·✗", strict=True))
        table = Table.grid(padding=(0, 2))
        for check in checks:
            text = Text(check["says"])
            if check["fix"]:
                text.append(f"\n{check['fix']}", "yellow" if check["state"] == "broken" else "dim")
            table.add_row(Text(marks[check["state"]], COLORS[check["state"]]), Text(check["name"], "bold"), text)
        self.draw(table)
        broken = sum(check["state"] == "broken" for check in checks)
        failed = f"{broken} of {count_of(len(checks), 'check')} failed."
        self.say(failed if broken else "No check failed.", "bold")


@contextmanager
def show_text() -> Iterator[Callable[[str], None]]:
    """The end of a text while it is written. It disappears at the end, but stays if an error ends it."""
    console = _SafeConsole(highlight=False, markup=False, emoji=False)
    text = Text()
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def add(piece: str) -> None:
            text.append(terminal_safe(piece))
            lines = text.wrap(console, console.width)
            live.update(Text("\n").join(lines[1 - console.height :]), refresh=True)

        try:
            yield add
        except BaseException:
            live.transient = False
            raise


def _make_markdown(text: str) -> RenderableType:
    """Markdown that hides nothing: HTML, entities, images and definitions of links stay text, links show their URL."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  # slow to import, as the next one
    from rich.markdown import Markdown  # noqa: PLC0415

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    drawn = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    drawn.parsed = parser.disable(["entity", "reference", "image"]).parse(terminal_safe(text))
    return drawn


def _write_markdown(answer: Answer) -> str:
    """The text of an answer as Markdown, in which citations and quotations of other formats are escaped."""
    parts: list[str] = []
    end = 0
    for claim in answer.sentences:
        start = max(end, answer.text.find(claim.text, end))
        parts += [answer.text[end:start].replace("\n", "  \n"), *_escape_parts(claim, answer.by == "extract")]
        end = start + len(claim.text)
    return "".join([*parts, answer.text[end:]])


def _escape_parts(claim: Claim, is_quoted: bool) -> Iterator[str]:
    if is_quoted and not any(Path(one.source).suffix.lower() in WITH_HEADINGS for one in claim.citations):
        yield _PUNCTUATION.sub(r"\\\1", claim.text)
        return
    markers = "|".join(re.escape(one.marker) for one in claim.citations)
    places = sorted(place for one in claim.citations for place in one.places)
    end = 0
    for start, stop in places or [found.span() for found in re.finditer(markers, claim.text)]:
        yield claim.text[end:start]
        yield _PUNCTUATION.sub(r"\\\1", claim.text[start:stop])
        end = stop
    yield claim.text[end:]


@contextmanager
def show_progress(title: str) -> Iterator[Bars]:
    """Bars on stderr that disappear when the work is done."""
    title_column, text = TextColumn("{task.description}"), TextColumn("{task.fields[text]}", style="dim")
    columns = (title_column, BarColumn(bar_width=24), text, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield Bars(bars, title)


class Bars:
    """A bar for the work, and one for each of its phases that counts other items; a `Progress` with phases."""

    def __init__(self, bars: Progress, title: str) -> None:
        self._bars, self._title = bars, title
        self._tasks: dict[str, Task] = {}

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        self.phase(self._title, done, total, note)

    def phase(self, name: str, done: int, total: int | None, note: str = "") -> None:
        if name not in self._tasks:
            number = self._bars.add_task(name, total=None, text="")
            self._tasks[name] = next(task for task in self._bars.tasks if task.id == number)
        task = self._tasks[name]
        of = f" of {total:,}" if total else ""
        rate = f", {task.speed:,.0f} per second" if task.speed else ""
        text = f"{done:,}{of}{rate}{note}" if done or total else note
        self._bars.update(task.id, completed=done, total=total, text=text)


def _count(data: Row, *names: str) -> str:
    return ", ".join(f"{data[name]:,} {name}" for name in names if data[name])


def _format_scores(hit: Hit) -> str:
    relevance = "" if hit.relevance is None else f", relevance {hit.relevance:.2f}"
    return f"{hit.name} (score {hit.score:.2f}{relevance})"


def _make_heading(item: Hit | Disclosure, show_corpus: bool = False) -> Text:
    """The name, the id if it differs, the kind, and the corpus if there are several."""
    id = f" {item.id}" if item.id != item.name else ""
    prefix, colon, path = item.corpus.rpartition(":")
    corpus = f" in {prefix}{colon}{_shorten(path)}" if show_corpus else ""
    return Text.assemble((item.name, "bold cyan"), (f" {id} {item.kind}{corpus}", "dim"))


def _make_snippet(text: str, query_terms: set[str]) -> Text:
    """One line of text around the first query term, with all query terms in bold."""
    line = " ".join(text.split())
    analyze = get_analyzer().terms
    first = next((word.start() for word in _WORD.finditer(line) if query_terms & set(analyze(word.group()))), 0)
    start = 0 if first < SNIPPET - 30 else line.rfind(" ", 0, max(first - 40, 1)) + 1
    cut = line[start : start + SNIPPET]
    if start + SNIPPET < len(line):
        cut = cut.rsplit(" ", 1)[0] + " ..."
    shown = Text("... " + cut if start else cut)
    for word in _WORD.finditer(shown.plain):
        if query_terms & set(analyze(word.group())):
            shown.stylize("bold yellow", *word.span())
    return shown


def _format_place(source: str, locator: str) -> str:
    part = locator.removeprefix("whole").removeprefix(";")
    return _shorten(source) + (f" ({part})" if part else "")


def _shorten(path: str) -> str:
    """A path relative to the current or the home folder, if it is below one of them."""
    for base, sign in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.startswith(f"{base}{os.sep}"):
            return sign + path[len(str(base)) + 1 :]
    return path


def _flatten(data: Row) -> dict[str, Any]:
    """Nested facts on one level, without empty ones."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= {f"{key} {inner}": fact for inner, fact in _flatten(value).items()}
        elif value not in (None, "", []):
            flat[key] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return flat

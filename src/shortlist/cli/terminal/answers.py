"""How an answer looks: Markdown, its sources, the sentences that were removed, and the text while it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from shortlist._text import count_of, terminal_safe
from shortlist.cli.terminal.screen import SafeConsole, Screen, shorten_path
from shortlist.index.text.chunking import WITH_HEADINGS
from shortlist.results import Answer, Claim

FIRST_REMOVED = 3
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def show_answer(screen: Screen, answer: Answer) -> None:
    screen.draw(_make_markdown(_write_markdown(answer)))
    show_sources(screen, answer)


def show_sources(screen: Screen, answer: Answer) -> None:
    """Every source that was shown, the removed sentences with the reasons, and the tokens used."""
    if answer.evidence:
        screen.draw()
    for item in answer.evidence:
        place = f"{shorten_path(item.source)} ({item.locator}) score={item.score:.3f}"
        screen.draw(Text(place, "dim"), soft_wrap=True)
        if item.warning:
            screen.say(f"Warning: {terminal_safe(item.warning)}", "yellow", indent=2)
    if answer.refused:
        screen.say(answer.reason, "yellow")
    warned = {item.number for item in answer.evidence if item.warning}
    if suspicious := sum(any(citation.number in warned for citation in claim.citations) for claim in answer.sentences):
        note = count_of(suspicious, "sentence", "is from a suspicious passage")
        screen.say(f"{note}. Do not follow instructions in it.", "yellow")
    _show_removed(screen, answer)
    if tokens := answer.usage.get("total_tokens"):
        screen.say(f"{tokens:,} tokens in {count_of(answer.usage.get('calls', 1), 'call')}", "dim")


def _show_removed(screen: Screen, answer: Answer) -> None:
    """The first removed sentences; outside of a terminal only the reasons, so that none is read as the answer."""
    removed, first = count_of(len(answer.dropped), "sentence", "is removed"), answer.dropped[:FIRST_REMOVED]
    others = len(answer.dropped) - len(first)
    if first and screen.console.is_terminal:
        screen.say(f"{removed}:", "yellow")
        for sentence in first:
            text, reason = terminal_safe(sentence.text), terminal_safe(sentence.reason)
            screen.draw(Padding.indent(Text.assemble((text, "strike"), (f" {reason}", "yellow")), 2))
        if others:
            screen.say(f"and {others:,} more", "yellow", indent=2)
    elif first and not answer.refused:
        reasons = list(dict.fromkeys(sentence.reason for sentence in answer.dropped))
        more = " ..." if len(reasons) > FIRST_REMOVED else ""
        screen.say(f"{removed}: {' '.join(reasons[:FIRST_REMOVED])}{more}", "yellow")


@contextmanager
def show_text() -> Iterator[Callable[[str], None]]:
    """The end of a text while it is written. It disappears at the end, but stays if an error ends it."""
    console = SafeConsole(highlight=False, markup=False, emoji=False)
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
    suffixes = {Path(citation.source).suffix.lower() for citation in claim.citations}
    if is_quoted and suffixes.isdisjoint(WITH_HEADINGS):
        yield _PUNCTUATION.sub(r"\\\1", claim.text)
        return
    markers = "|".join(re.escape(citation.marker) for citation in claim.citations)
    places = sorted(place for citation in claim.citations for place in citation.places)
    end = 0
    for start, stop in places or [found.span() for found in re.finditer(markers, claim.text)]:
        yield claim.text[end:start]
        yield _PUNCTUATION.sub(r"\\\1", claim.text[start:stop])
        end = stop
    yield claim.text[end:]

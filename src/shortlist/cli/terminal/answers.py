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
from shortlist.index.text.headings import WITH_HEADINGS
from shortlist.results import Answer, Claim, Evidence

FIRST_REMOVED = 3
_EMPHASIS = re.compile(r"[*_`]")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def show_text(screen: Screen, answer: Answer) -> None:
    screen.draw(_make_markdown(_write_markdown(answer)))


def show_cited(screen: Screen, answer: Answer, *, show_others: bool = False) -> None:
    """The passages that are cited, by their numbers, and with `show_others` those that are not; then the notes."""
    by_number = {item.number: item for item in answer.evidence}
    cited = [by_number[number] for number in answer.cited if number in by_number]
    others = [item for item in answer.evidence if item not in cited]
    if cited or (show_others and others):
        screen.draw()
    for at, item in enumerate(cited, 1):
        _draw_place(screen, item, f"[{at}] ", answer.find_place(item.number))
    if show_others and others:
        screen.say(f"{'Also retrieved' if cited else 'Retrieved'}, by relevance:", "dim")
        for item in others:
            _draw_place(screen, item, f"{item.score:.2f} ", item.place)
    if not answer.refused and answer.confidence:
        screen.say(f"confidence {answer.confidence:.2f}", "dim")
    show_notes(screen, answer)
    if answer.refused and others and not show_others:
        screen.say(f"List what was retrieved ({count_of(len(others), 'passage')}) with --evidence.", "dim")


def _draw_place(screen: Screen, item: Evidence, mark: str, place: str) -> None:
    text = Text.assemble((mark, "dim"), shorten_path(item.source), (f", {place}" if place else "", "dim"))
    screen.draw(text, soft_wrap=not screen.console.is_terminal)
    _draw_warning(screen, item)


def _draw_warning(screen: Screen, item: Evidence) -> None:
    if item.warning:
        screen.say(f"Warning: {terminal_safe(item.warning)}", "yellow", indent=2)


def show_sources(screen: Screen, answer: Answer) -> None:
    """Every passage that was shown, by its locator, and the notes: the output of `query`, for scripts that read it."""
    if answer.evidence:
        screen.draw()
    for item in answer.evidence:
        place = f"{shorten_path(item.source)} ({item.locator}) score={item.score:.3f}"
        screen.draw(Text(place, "dim"), soft_wrap=True)
        _draw_warning(screen, item)
    show_notes(screen, answer)


def show_notes(screen: Screen, answer: Answer) -> None:
    """Why it is the refusal, what to know about its sentences, those that were removed, and the tokens used."""
    if answer.refused:
        screen.say(answer.reason, "yellow")
    warned = {item.number for item in answer.evidence if item.warning}
    if suspicious := sum(any(citation.number in warned for citation in claim.citations) for claim in answer.sentences):
        note = count_of(suspicious, "sentence", "is from a suspicious passage")
        screen.say(f"{note}. Do not follow instructions in it.", "yellow")
    if unchecked := [claim.reason for claim in answer.sentences if claim.support == "unchecked"]:
        note = count_of(len(unchecked), "sentence", "is unchecked")
        screen.say(f"{note}: {terminal_safe(' '.join(dict.fromkeys(unchecked)))}", "yellow")
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
def show_waiting(title: str) -> Iterator[Callable[[], None]]:
    """A spinner on stderr, which ends with the work or when the function that is yielded is called."""
    console = SafeConsole(stderr=True, highlight=False, markup=False, emoji=False)
    spinner = "line" if console.encoding.lower().replace("-", "") != "utf8" else "dots"
    with console.status(Text(title), spinner=spinner) as status:
        yield status.stop


@contextmanager
def stream_text() -> Iterator[Callable[[str], None]]:
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
    """The text of an answer as Markdown: citations and quotations of other formats are escaped, its span is strong."""
    parts: list[str] = []
    end = 0
    for claim in answer.sentences:
        start = max(end, answer.text.find(claim.text, end))
        marked = (answer.span[0] - start, answer.span[1] - start) if answer.span else (0, 0)
        parts += [answer.text[end:start].replace("\n", "  \n"), _escape_claim(claim, marked, answer.by == "extract")]
        end = start + len(claim.text)
    return "".join([*parts, answer.text[end:]])


def _escape_claim(claim: Claim, marked: tuple[int, int], is_quoted: bool) -> str:
    text = claim.text
    suffixes = {Path(citation.source).suffix.lower() for citation in claim.citations}
    markers = "|".join(re.escape(citation.marker) for citation in claim.citations)
    places = [place for citation in claim.citations for place in citation.places]
    if is_quoted and suffixes.isdisjoint(WITH_HEADINGS):
        places = [(0, len(text))]
    elif not places:
        places = [found.span() for found in re.finditer(markers, text)]
    escaped = {at for start, end in places for at in range(start, end)}
    if _EMPHASIS.search(text) and len(escaped) < len(text):
        marked = (0, 0)  # marks inside of others have no meaning
    start, end = marked if 0 <= marked[0] < marked[1] <= len(text) else (-1, -1)
    letters = (
        "**" * (at in (start, end)) + (_PUNCTUATION.sub(r"\\\1", letter) if at in escaped else letter)
        for at, letter in enumerate(text)
    )
    return "".join(letters) + "**" * (end == len(text))

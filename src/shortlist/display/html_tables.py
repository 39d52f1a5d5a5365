"""HTML for notebooks: cards, tables, bars and marked texts in inline styles that fit light and dark themes.

Nothing is loaded and no style leaks: colors are those of the surrounding page, or transparent enough for both themes.
Every text is escaped here, and only here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from shortlist._text import terminal_safe

LONGEST_TEXT = 240  # characters of a text in a table
ACCENT, GOOD, DOUBT, BAD = "#159a8c", "#159a8c", "#c98a14", "#d9534f"
_LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.25)"
_CELL = f"{_LINE};padding:.45em .9em .45em 0;vertical-align:top;background:none;white-space:normal"


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html(value: Any) -> Html:
    """A value as HTML; only what is `Html` already is not escaped."""
    return value if isinstance(value, Html) else Html(escape(terminal_safe(str(value))))


def join(parts: Iterable[Any], between: str = "") -> Html:
    return Html(between.join(map(html, parts)))


def element(tag: str, content: Any, style: str = "", title: str = "") -> Html:
    about = f' title="{html(title)}"' if title else ""
    return Html(f'<{tag} style="{style}"{about}>{html(content)}</{tag}>')


def whole(text: str) -> Html:
    """A short text that is not broken into lines."""
    return element("span", text, "white-space:nowrap")


def muted(content: Any) -> Html:
    return element("span", content, "opacity:.65")


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """The beginning of a text on one line."""
    text = " ".join(text[: 4 * most].split())
    return text if len(text) <= most else f"{text[: most - 1].rsplit(' ', 1)[0]}…"


def badge(text: str, color: str = ACCENT) -> Html:
    style = (
        f"display:inline-block;padding:0 .6em;border-radius:1em;border:1px solid {color};color:{color};font-size:.85em"
    )
    return element("span", text, style)


def bar(share: float, text: str, low: float | None = None, high: float | None = None) -> Html:
    """A bar for a value from 0 to 1 with its number, and its confidence interval if there is one."""
    filled = f"width:{_percent(share)};height:100%;border-radius:3px;background:{ACCENT}"
    parts = [element("span", "", f"display:block;{filled}")]
    if low is not None and high is not None:
        place = f"left:{_percent(low)};width:{_percent(high - low)}"
        style = f"position:absolute;top:50%;height:2px;margin-top:-1px;background:currentColor;opacity:.6;{place}"
        parts.append(element("span", "", style))
    size = "display:inline-block;position:relative;width:6em;height:.55em;border-radius:3px"
    track = f"{size};background:rgba(128,128,128,.22)"
    number = element("span", text, "margin-left:.6em;font-variant-numeric:tabular-nums")
    return element("span", join([element("span", join(parts), track), number]), "white-space:nowrap")


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.1f}%"


def table(
    titles: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[int] = (), *, width: str = "100%"
) -> Html:
    """A table; the columns in `right` are aligned on the right."""

    def align(at: int) -> str:
        return "text-align:right" if at in right else "text-align:left"

    head = join(
        element("th", muted(title), f"{_CELL};{align(at)};font-weight:normal;font-size:.85em")
        for at, title in enumerate(titles)
    )
    body = [
        element(
            "tr", join(element("td", cell, f"{_CELL};{align(at)}") for at, cell in enumerate(row)), "background:none"
        )
        for row in rows
    ]
    lines = join([element("tr", head, "background:none"), *body])
    return element("table", lines, f"border-collapse:collapse;border:0;margin:.3em 0;font-size:1em;width:{width}")


def pairs(values: Mapping[str, Any]) -> Html:
    """A line for each name and its value."""
    lines = (
        element("tr", join(element("td", each, _CELL) for each in (muted(name), value)))
        for name, value in values.items()
    )
    return element("table", join(lines), "border-collapse:collapse;border:0;margin:.3em 0;font-size:1em")


def mark(text: str, spans: Iterable[tuple[int, int]]) -> Html:
    """A text whose parts are marked: start and end of each."""
    parts, last = list[Html](), 0
    for start, end in sorted(spans):
        start, end = max(start, last), min(end, len(text))
        if start < end:
            style = "background:rgba(240,180,40,.38);color:inherit;border-radius:2px;padding:0 .1em"
            parts += [html(text[last:start]), element("mark", text[start:end], style)]
            last = end
    return join([*parts, text[last:]])


def fold(summary: Any, content: Any) -> Html:
    """Content that opens with a click on its summary."""
    head = element("summary", summary, "cursor:pointer")
    return element("details", join([head, element("div", content, "margin:.3em 0 .6em 1.1em")]), "margin:.35em 0")


def quote(content: Any) -> Html:
    """A text as its author wrote it, with its line breaks."""
    return element("div", content, "white-space:pre-wrap;overflow-wrap:anywhere;max-height:20em;overflow:auto")


def card(title: Any, facts: Iterable[Any], *content: Any) -> str:
    """What a notebook shows of a result: a title, facts beside it, and the content below."""
    head = join([element("strong", title), *filter(None, facts)], " &nbsp; ")
    style = "font:13.5px/1.5 system-ui,sans-serif;max-width:60rem;padding:.2em 0;text-align:left;overflow-wrap:anywhere"
    parts = [element("div", head, "margin-bottom:.3em"), *(element("div", each) for each in content if each)]
    return str(element("div", join(parts), style))

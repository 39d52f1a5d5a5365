"""Files of the site for programs: llms.txt, llms-full.txt, the pages as Markdown and the OpenAPI document.

MkDocs calls `on_post_build` after it has rendered the site. The format of llms.txt is that of https://llmstxt.org.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.config.defaults import MkDocsConfig

import shortlist
from shortlist.compat.retriever_service import create_app
from website.reference_pages import ROOT, ROOT_PAGES, link_pages

# What can be skipped for a short context: listed last in llms.txt, and not part of llms-full.txt.
OPTIONAL = {
    "guides/migrate.md",
    "guides/retriever.md",
    "explanation/architecture.md",
    "explanation/modules.md",
    "changelog.md",
    "contributing.md",
}
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
DIRECTIVE = re.compile(r"^::: shortlist\.([\w.]+)$", re.MULTILINE)
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
SENTENCE = re.compile(r".*?[.:](?=\s|$)")


class Entry(NamedTuple):
    """A page of the site: its section and title in the navigation, its path and its text."""

    section: str
    title: str
    path: str
    text: str


def on_post_build(config: MkDocsConfig) -> None:
    """Write the files into the site."""
    site = Path(config.site_dir)
    entries = list(read_entries(config))
    for entry in entries:
        (site / entry.path).parent.mkdir(parents=True, exist_ok=True)
        (site / entry.path).write_text(entry.text, "utf-8")
    description = config.site_description or ""
    (site / "llms.txt").write_text(write_index(entries, description, config.site_url or ""), "utf-8")
    (site / "llms-full.txt").write_text(write_all(entries, description), "utf-8")
    (site / "openapi.json").write_text(json.dumps(create_app().openapi(), indent=1) + "\n", "utf-8")


def read_entries(config: MkDocsConfig) -> Iterator[Entry]:
    """The pages in the order of the navigation, without the home page, which is layout."""
    for group in config.nav or ():
        for section, pages in group.items():
            for page in pages if isinstance(pages, list) else ():
                ((title, path),) = page.items()
                source = ROOT / ROOT_PAGES[path] if path in ROOT_PAGES else Path(config.docs_dir, path)
                text = FRONT_MATTER.sub("", link_pages(source.read_text("utf-8"), path))
                yield Entry(section, title, path, DIRECTIVE.sub(lambda found: describe_name(found[1]), text))


def write_index(entries: list[Entry], description: str, url: str) -> str:
    """llms.txt: a link to each page by section, with its first sentence."""
    sections: dict[str, list[str]] = {}
    for entry in entries:
        section = "Optional" if entry.path in OPTIONAL else entry.section
        line = f"- [{entry.title}]({url}{entry.path}): {summarize(entry.text)}"
        sections.setdefault(section, []).append(line)
    sections["Reference"].append(f"- [OpenAPI]({url}openapi.json): The HTTP API as an OpenAPI document.")
    full = f"[llms-full.txt]({url}llms-full.txt) has all of these pages in one file, without the optional ones."
    lines = ["# shortlist", "", f"> {description}", "", f"The documentation of version {shortlist.__version__}. {full}"]
    for section in sorted(sections, key=lambda name: name == "Optional"):
        lines += ["", f"## {section}", "", *sections[section]]
    return "\n".join(lines) + "\n"


def write_all(entries: list[Entry], description: str) -> str:
    """llms-full.txt: the text of all pages that are not optional, each below a line with its path."""
    parts = [f"# shortlist {shortlist.__version__}\n\n> {description}\n"]
    parts += [f"<!-- {entry.path} -->\n\n{entry.text.strip()}\n" for entry in entries if entry.path not in OPTIONAL]
    return "\n".join(parts)


def summarize(text: str) -> str:
    """The first sentence of a page, without links."""
    paragraphs = (part.strip() for part in CODE.sub("", text).split("\n\n"))
    first = next(part for part in paragraphs if part and part[0] not in "#|<!-")
    plain = LINK.sub(r"\1", " ".join(first.split()))
    found = SENTENCE.match(plain)
    return f"{(found[0] if found else plain).rstrip('.:')}."


def describe_name(name: str) -> str:
    """A public name as the reference shows it: its heading, signature and documentation, and those of its methods."""
    value: Any = shortlist
    for part in name.split("."):
        value = getattr(value, part)
    parts = [describe_value(f"shortlist.{name}", value, "###")]
    if inspect.isclass(value) and not issubclass(value, BaseException):
        methods = [(key, item) for key, item in vars(value).items() if not key.startswith("_") and is_documented(item)]
        parts += [describe_value(f"{name}.{key}", getattr(value, key), "####") for key, _ in methods]
    return "\n\n".join(parts)


def is_documented(item: Any) -> bool:
    return isinstance(item, (classmethod, staticmethod, property)) or inspect.isfunction(item)


def describe_value(title: str, value: Any, level: str) -> str:
    try:
        shown = f"```python\n{title.rpartition('.')[2]}{inspect.signature(value)}\n```"
    except (TypeError, ValueError):  # a property, a value, or a class without a signature
        shown = ""
    return "\n\n".join(part for part in (f"{level} {title}", shown, inspect.getdoc(value) or "") if part)

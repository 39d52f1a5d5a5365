"""A demo on the example data, offline: build, discover, abstain, disclose, search and ask."""

from __future__ import annotations

import sys
from pathlib import Path

import shortlist
from shortlist import Corpus, CorpusSource, Discovery

HERE = Path(__file__).parent
DATA = HERE / "data"
KEPT = HERE.parent / ".demo"  # built on the first run, updated on later ones


def main() -> None:
    heading("Build: corpora are stored on disk; later runs index only changes")
    tools = build("tools", CorpusSource.from_catalog(DATA / "tools.yaml"))
    skills = build("skills", CorpusSource.from_skills(DATA / "skills"))
    docs = build("docs", CorpusSource.from_files(DATA / "docs"))

    heading("Discover: the few tools that match, out of ninety")
    show(shortlist.discover(tools, "refund a payment to the customer's card"))
    show(shortlist.discover(tools, "where is the parcel right now", filter={"access": "read"}))

    heading("Discover: abstain if nothing fits")
    show(shortlist.discover(tools, "play some quiet jazz while I work"))
    show(shortlist.discover(tools, "xyzzy plugh"))

    heading("Disclose: the text of the selected skill and the files next to it")
    found = shortlist.discover(skills, "roll back a bad release", level="bundled")
    show(found)
    for item in found.results:
        lines = (item.body or "").splitlines()
        print("\n".join(f"    | {line[:100]}" for line in lines[:8]))
        print(f"    | ... {len(lines) - 8} more lines; other files: {', '.join(item.files)}")

    heading("Search: passages of documents with their locations")
    for hit in shortlist.search(docs, "how long do customers have to return a mattress?", k=3):
        text = " ".join(hit.text.split())
        print(f"  {hit.score:.2f}  {hit.id} ({hit.locator})\n        {text[:96]}...")

    heading("Ask: sentences of the documents with citations, or a refusal (no language model needed)")
    for question in ("Who founded the company?", "How do I delete my account?", "What is the salary of the founders?"):
        answer = shortlist.ask(docs, question)
        print(f'  "{question}"\n    {answer.text}')


def build(name: str, source: CorpusSource) -> Corpus:
    corpus = shortlist.build(source, path=KEPT / name)
    done = corpus.changes
    print(
        f"  {name:7} {len(corpus):3} documents: {done.added} added, {done.changed} changed, {done.unchanged} unchanged"
    )
    return corpus


def show(found: Discovery) -> None:
    print(f'  "{found.query}"')
    for item in found.results:
        print(f"    -> {item.score:.2f}  {item.name}")
    print(f"    {'Nothing fits. ' if found.abstained else ''}{found.reason}")


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}")


if __name__ == "__main__":
    main()

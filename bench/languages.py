"""What works in other languages: `python -m bench.languages tools|search|answers FOLDER [--languages de,es]`.

`tools`: the questions of bench/cases over the English tool lists in FOLDER, a folder mcp_servers: what `discover`
returns by default. `search`: FOLDER is xquad, a folder or archive with a folder in BEIR layout for each language: how
often the right paragraph is first, in the same language, and in English for questions in another language, by default
and with the embedder multilingual. `answers`: the same folder. An answer is right if it has at most three sentences and
one of them contains the answer text. Questions are asked of their paragraph alone, of a paragraph of another article,
which should be refused, and of all paragraphs of their language.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import shortlist
from bench import beir, decisions, mcp_servers, report
from bench.answers import Asked
from shortlist import Document

QUESTIONS = 150
COLUMNS = ("right", "wrong", "refused", "off_topic_answered", "right_in_corpus", "refused_in_corpus")


TOOL_COLUMNS = ("first", "among", "results", "lost", "refused")


def tools(folder: Path, languages: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """What `discover` returns for questions in each language."""
    figures: dict[str, dict[str, Any]] = {}
    corpus = shortlist.build(mcp_servers.load(folder).documents, in_memory=True, embedder="tools")
    for language in ("", *mcp_servers.LANGUAGES):
        if not languages or language in languages:
            scope, name = mcp_servers.load(folder, language), language or "en"
            figures[name] = decisions.measure(scope, decisions.choose_by_default(corpus))
            print(f"{name:4}" + "".join(f"{figures[name][key]:>12.3f}" for key in TOOL_COLUMNS), flush=True)
    return figures | _mean(figures, TOOL_COLUMNS)


def search(folder: Path, languages: Sequence[str] = ()) -> dict[str, dict[str, float]]:
    """How often the right paragraph is first."""
    figures: dict[str, dict[str, float]] = {}
    columns = ("lexical", "default", "multilingual", "to_english")
    with beir.unpacked(folder) as root, tempfile.TemporaryDirectory() as place:

        def index(data: beir.Set, embedder: str | None) -> Any:
            path = Path(place) / f"{data.name}-{embedder}"
            return shortlist.build(data.documents, data.name, path=path, embedder=embedder)

        english = index(beir.load(root / "en"), "multilingual")
        for path in sorted(path for path in root.iterdir() if path.is_dir()):
            if languages and path.name not in languages:
                continue
            data = beir.load(path)
            default, multilingual = index(data, None), index(data, "multilingual")
            row = {
                "lexical": _right_first(default, data, mode="lexical"),
                "default": _right_first(default, data),
                "multilingual": _right_first(multilingual, data),
                "to_english": _right_first(english, data),
            }
            figures[path.name] = row
            print(f"{path.name:4}" + "".join(f"{row[key]:>14.3f}" for key in columns), flush=True)
    return figures | _mean(figures, columns)


def _right_first(corpus: Any, data: beir.Set, **options: Any) -> float:
    found = ((shortlist.search(corpus, text, k=1, **options), data.relevance[id]) for id, text in data.queries.items())
    return fmean(bool(hits) and hits[0].id in right for hits, right in found)


def _mean(figures: dict[str, dict[str, Any]], columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    others = [row for name, row in figures.items() if name != "en"]
    return {"mean besides English": {key: fmean(row[key] for row in others) for key in columns}} if others else {}


def answers(
    folder: Path, languages: Sequence[str] = (), *, questions: int = QUESTIONS, seed: int = 7
) -> dict[str, dict[str, float]]:
    """The share of each outcome in each language."""
    figures: dict[str, dict[str, float]] = {}
    with beir.unpacked(folder) as root:
        for path in sorted(path for path in root.iterdir() if path.is_dir()):
            if not languages or path.name in languages:
                figures[path.name] = _measure(path, questions, seed)
                print(f"{path.name:4}" + "".join(f"{figures[path.name][key]:>20.3f}" for key in COLUMNS), flush=True)
    return figures | _mean(figures, COLUMNS)


def _measure(folder: Path, questions: int, seed: int) -> dict[str, float]:
    data = beir.load(folder)
    texts = {document.id: document.content for document in data.documents}
    chance = random.Random(seed)
    ids = chance.sample(sorted(data.queries), min(questions, len(data.queries)))
    corpus = shortlist.build([Document(id, "", text) for id, text in texts.items()], in_memory=True)
    counts = dict.fromkeys(COLUMNS, 0)
    for id in ids:
        (paragraph,) = data.relevance[id]
        article = paragraph.partition("-")[0]
        other = chance.choice([key for key in texts if key.partition("-")[0] != article])
        asked = Asked(data.queries[id], frozenset([paragraph]), tuple(data.about[id]["answers"]), folder.name)
        alone, whole = shortlist.ask([texts[paragraph]], asked.text), shortlist.ask(corpus, asked.text)
        counts["right"] += asked.is_right(alone)
        counts["refused"] += alone.refused
        counts["wrong"] += not alone.refused and not asked.is_right(alone)
        counts["off_topic_answered"] += not shortlist.ask([texts[other]], asked.text).refused
        counts["right_in_corpus"] += asked.is_right(whole)
        counts["refused_in_corpus"] += whole.refused
    return {key: count / len(ids) for key, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.languages")
    parser.add_argument("what", choices=["tools", "search", "answers"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="Questions per language, for answers.")
    parser.add_argument("--languages", default="", help="Language codes, separated by commas; all without.")
    options = parser.parse_args()
    languages = [code for code in options.languages.split(",") if code]
    figures: dict[str, dict[str, Any]]
    if options.what == "answers":
        print(f"{'':4}" + "".join(f"{key:>20}" for key in COLUMNS))
        figures = answers(options.folder, languages, questions=options.questions)
    else:
        figures = (tools if options.what == "tools" else search)(options.folder, languages)
    report.save(f"languages-{options.what}", figures)


if __name__ == "__main__":
    main()

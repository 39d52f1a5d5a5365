"""Checks of a catalog: descriptions that are missing, hostile or ambiguous, and documents that cannot be found."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist._plain import Plain
from shortlist._text import count_of
from shortlist.display.progress import show_progress
from shortlist.documents import Document
from shortlist.eval.reader import Reader, open_one, open_reader
from shortlist.index.text.analyzers import get_analyzer, name_words
from shortlist.index.text.languages import detect_language
from shortlist.library.opening import Searchable
from shortlist.protocols import ProgressOption, track
from shortlist.results import Hit, Hits
from shortlist.safety.prompt_injection import find_invisible, find_mixed_scripts, find_orders, reveal_text

FEW_WORDS = 4  # fewer do not distinguish a document from its neighbors
MOST_CHARACTERS = 1024  # OpenAI's limit of a description, and that of skills
DESCRIBED = ("tool", "skill")

# For the description of a document, a twin reaches this share of its lexical score and of its cosine.
SAME_WORDS = 0.85
SAME_MEANING = 0.95

QUERY_WORDS = 60  # words of a description that are searched for
K = 10

RULES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("lint_rules.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Finding(Plain):
    """A violation of a rule: the documents, what is wrong, and how to fix it."""

    _shown = "rule severity ids says advice"

    rule: str
    ids: tuple[str, ...]
    says: str

    @property
    def severity(self) -> str:
        return RULES[self.rule][0]

    @property
    def advice(self) -> str:
        return RULES[self.rule][1]


@dataclass(frozen=True, slots=True)
class LintReport(Plain):
    """The findings in a catalog, errors first."""

    corpus: str
    documents: int
    findings: Sequence[Finding]

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def counts(self) -> dict[str, int]:
        return {rule: sum(one.rule == rule for one in self.findings) for rule in RULES}

    def to_dict(self) -> dict[str, Any]:
        counts = {rule: count for rule, count in self.counts.items() if count}
        errors = len(self.errors)
        return Plain.to_dict(self) | {"errors": errors, "warnings": len(self.findings) - errors, "counts": counts}


def lint_corpus(corpus: Searchable, *, k: int = K, progress: ProgressOption = None) -> LintReport:
    """Check every document of a catalog: is it described, honest, distinct, and found by its own words?

    A document is searched for by its description and by its name, and must be in the top `k`. Two documents are twins
    if the description of each finds the other with nearly its own score, by keywords and, if the corpus has vectors, by
    meaning.
    """
    catalog = open_one(corpus, "lint_corpus", needs_vectors=True)
    documents = list(catalog)
    findings = [finding for document in documents for finding in _check_text(document)]
    findings += _check_names(documents)
    twins: set[tuple[str, str]] = set()
    with open_reader(catalog, "auto") as reader, show_progress(progress, f"checking {catalog.name}") as report:
        for document in track(documents, report):
            findings += _check_retrieval(reader, document, k, twins)
    findings += _group_twins(twins)
    rules = list(RULES)
    findings.sort(key=lambda one: (one.severity != "error", rules.index(one.rule)))
    return LintReport(catalog.name, len(documents), findings)


def _check_text(document: Document) -> Iterator[Finding]:
    ids = (document.id,)
    text = document.content.strip()
    analyzer = get_analyzer().bind((detect_language(text),))
    count = max(len(analyzer.words(text)), len(analyzer.terms(text)))  # words, or pairs of characters
    description = str(document.metadata.get("description") or text)
    if not count:
        yield Finding("empty", ids, f"{document.name} has no description.")
    elif count < FEW_WORDS:
        yield Finding("short", ids, f"The description of {document.name} has {count_of(count, 'word')}: {text!r}.")
    elif document.kind in DESCRIBED and len(description) > MOST_CHARACTERS:
        yield Finding("long", ids, f"The description of {document.name} has {len(description):,} characters.")
    everything = "\n\n".join((document.title, *document.keywords, document.content, *_find_strings(document.metadata)))
    for what, words in find_orders(everything):
        yield Finding("hostile", ids, f"{reveal_text(document.name)} {what}: {words[:160]!r}.")
    if hidden := find_invisible(f"{document.id}\n{everything}"):
        yield Finding("invisible", ids, f"{reveal_text(document.name)} contains invisible text: {', '.join(hidden)}.")
    if scripts := find_mixed_scripts(f"{document.id} {document.title}"):
        yield Finding("mixed_scripts", ids, f"The name {document.name!r} mixes {' and '.join(scripts)} letters.")


def _find_strings(value: Any) -> Iterator[str]:
    """All strings in metadata: the descriptions in a schema reach the model, too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Iterable):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _find_strings(inner)


def _check_names(documents: Sequence[Document]) -> Iterator[Finding]:
    """Names that look the same: they differ only in case, separators or invisible characters."""
    groups: dict[str, list[Document]] = {}
    for document in documents:
        name = reveal_text(document.name)
        groups.setdefault(" ".join(name_words(name)) or name.strip().casefold(), []).append(document)
    for group in groups.values():
        if len(group) > 1:
            names = ", ".join(f"{one.name!r} ({one.id})" if one.id != one.name else repr(one.name) for one in group)
            yield Finding("same_name", tuple(one.id for one in group), f"These names look the same: {names}.")


def _check_retrieval(reader: Reader, document: Document, k: int, twins: set[tuple[str, str]]) -> Iterator[Finding]:
    """Search for a document by its own words; pairs of it and a hit that scores as well are added to `twins`."""
    for rule, query in (
        ("not_found_by_description", " ".join(document.content.split()[:QUERY_WORDS])),
        ("not_found_by_name", " ".join(name_words(document.name))),
    ):
        hits = reader.retrieve(query, k).rank(k) if query else Hits()
        own = next((hit for hit in hits if hit.id == document.id), None)
        if query and own is None:
            words = "own description" if rule == "not_found_by_description" else "name"
            above = f"The top hits are {', '.join(hit.name for hit in hits[:3])}." if hits else "There are no hits."
            yield Finding(rule, (document.id,), f"{document.name} is not in the top {k} for its {words}. {above}")
        elif own and rule == "not_found_by_description":
            twins |= {(document.id, hit.id) for hit in hits if hit.id != document.id and _scores_as_well(hit, own)}


def _scores_as_well(hit: Hit, own: Hit) -> bool:
    has_same_words = hit.signals.get("lexical", 0.0) >= SAME_WORDS * own.signals.get("lexical", 0.0)
    cosine = own.signals.get("dense")
    return has_same_words and (cosine is None or hit.signals.get("dense", 0.0) >= SAME_MEANING * cosine)


def _group_twins(pairs: set[tuple[str, str]]) -> Iterator[Finding]:
    """Groups of documents that find each other as well as themselves."""
    groups: dict[str, set[str]] = {}
    for one, two in sorted(pairs):
        if (two, one) in pairs:
            merged = groups.get(one, {one}) | groups.get(two, {two})
            groups.update(dict.fromkeys(merged, merged))
    for ids in sorted({tuple(sorted(members)) for members in groups.values()}):
        yield Finding("twins", ids, f"Their descriptions find each other as well as themselves: {', '.join(ids)}.")

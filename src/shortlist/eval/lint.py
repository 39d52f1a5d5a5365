"""Checks of a catalog: documents that cannot be found or told apart, with advice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shortlist._plain import Plain
from shortlist.documents import Document
from shortlist.errors import InputError
from shortlist.eval.reader import Reader, reading
from shortlist.index.text.analyzers import get_analyzer, name_words
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import Progress, track
from shortlist.results import Hit
from shortlist.search.retrieve import merge
from shortlist.sources.tools.prompt_injection import find_invisible, find_mixed_scripts, find_orders, reveal_text

# Fewer words than this say too little to tell a thing from its neighbours.
FEW_WORDS = 4

# OpenAI takes at most so many characters of a description, and so do skills.
MOST_CHARACTERS = 1024
DESCRIBED = ("tool", "skill")

# Asked by its own description, a neighbour that reaches this share of the score by words and this cosine is a twin.
SAME_WORDS = 0.85
SAME_MEANING = 0.95

# So many words of a description are asked for.
ASKED_WORDS = 60
K = 10

# What is looked for: how bad it is, and what to do about it.
RULES = {
    "empty": ("error", "Say in one sentence what it does, with the words that people use for it."),
    "short": ("warning", "Say what it does, on what, and when to use it rather than its neighbours."),
    "long": ("warning", f"Keep the description under {MOST_CHARACTERS} characters; move the rest to the body."),
    "hostile": ("error", "Do not serve it before somebody has read it: a description says what a thing does, no more."),
    "invisible": ("error", "Remove what cannot be seen; it reaches the model all the same."),
    "same_name": ("error", "Give each a name that differs in its words, not in spelling."),
    "mixed_scripts": ("error", "Write the name in one script; letters that look alike pass for another name."),
    "twins": ("warning", "Merge them, or say in each description what the other does not do."),
    "not_found_by_description": ("error", "Say what sets it apart from what stands above it."),
    "not_found_by_name": ("error", "Put the words of its name into its title, or give it a name of its own."),
}


@dataclass(frozen=True, slots=True)
class Finding(Plain):
    """Something to mend: the rule, which documents, what is wrong, and what to do."""

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
    """What was found in a catalog, worst first."""

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


def lint_corpus(corpus: Searchable, *, k: int = K, progress: Progress | None = None) -> LintReport:
    """Look at every document of a catalog: is it described, honest, distinct, and found by its own words?

    A document is asked for by its own description and by its name; one that is not among the first `k` is not found.
    Two are twins if the description of either finds the other with nearly its own score, by words and, where the corpus
    has vectors, by meaning.
    """
    corpora = open_corpora(corpus, needs_vectors=True)
    if len(corpora) != 1:
        raise InputError(f"Look at one catalog at a time, not at {len(corpora)}.")
    (only,) = corpora
    documents = list(only)
    findings = [finding for document in documents for finding in _written(document)]
    findings += _names(documents)
    pairs: list[tuple[str, str]] = []
    with reading([only], "auto") as reader:
        for document in track(documents, progress):
            found, twins = _asked(reader, document, k)
            findings += found
            pairs += [(document.id, twin) for twin in twins]
    findings += _twins(pairs)
    order = {"error": 0, "warning": 1}
    rules = list(RULES)
    findings.sort(key=lambda one: (order[one.severity], rules.index(one.rule)))
    return LintReport(only.name, len(documents), findings)


def _written(document: Document) -> Iterator[Finding]:
    """What is wrong with the text itself."""
    ids = (document.id,)
    text = document.content.strip()
    count = max(len(get_analyzer().words(text)), len(get_analyzer().terms(text)))  # words, or pairs of signs
    description = str(document.metadata.get("description") or text)
    if not count:
        yield Finding("empty", ids, f"{document.name} has no description.")
    elif count < FEW_WORDS:
        yield Finding("short", ids, f"{document.name} is described in {count} words: {text!r}.")
    elif document.kind in DESCRIBED and len(description) > MOST_CHARACTERS:
        yield Finding("long", ids, f"The description of {document.name} has {len(description):,} characters.")
    everything = "\n\n".join((document.title, *document.keywords, document.content, *_texts(document.metadata)))
    for what, words in find_orders(everything):
        yield Finding("hostile", ids, f"{reveal_text(document.name)} {what}: {words[:160]!r}.")
    if hidden := find_invisible(f"{document.id}\n{everything}"):
        yield Finding("invisible", ids, f"{reveal_text(document.name)} holds what cannot be seen: {', '.join(hidden)}.")
    if scripts := find_mixed_scripts(f"{document.id} {document.title}"):
        yield Finding("mixed_scripts", ids, f"The name {document.name!r} mixes {' and '.join(scripts)} letters.")


def _texts(value: Any) -> Iterator[str]:
    """All texts in metadata: a schema's descriptions reach the model, too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _texts(inner)


def _names(documents: Sequence[Document]) -> Iterator[Finding]:
    """Names that are the same to a reader: they differ in case, in separators or in what cannot be seen."""
    alike: dict[str, list[Document]] = {}
    for document in documents:
        plain = reveal_text(document.name)
        key = " ".join(name_words(plain)) or plain.strip().casefold()
        alike.setdefault(key, []).append(document)
    for group in alike.values():
        if len(group) > 1:
            names = ", ".join(f"{one.name!r} ({one.id})" if one.id != one.name else repr(one.name) for one in group)
            yield Finding("same_name", tuple(one.id for one in group), f"These have one name to a reader: {names}.")


def _asked(reader: Reader, document: Document, k: int) -> tuple[list[Finding], list[str]]:
    """What goes wrong when a document is asked for by its own words, and which others answer just as well."""
    findings, twins = [], []
    text = " ".join(document.content.split()[:ASKED_WORDS])
    if text:
        hits = merge(reader.look(text, k), text, "auto", k)
        own = next((hit for hit in hits if hit.id == document.id), None)
        if own is None:
            says = f"{document.name} is not among the first {k} for its own description. {_above(hits)}"
            findings.append(Finding("not_found_by_description", (document.id,), says))
        else:
            twins = [hit.id for hit in hits if hit.id != document.id and _answers_as_well(hit, own)]
    name = " ".join(name_words(document.name))
    if name:
        hits = merge(reader.look(name, k), name, "auto", k)
        if all(hit.id != document.id for hit in hits):
            says = f"{document.name} is not among the first {k} for its name. {_above(hits)}"
            findings.append(Finding("not_found_by_name", (document.id,), says))
    return findings, twins


def _above(hits: Sequence[Hit]) -> str:
    return f"There stand {', '.join(hit.name for hit in hits[:3])}." if hits else "Nothing is found."


def _answers_as_well(hit: Hit, own: Hit) -> bool:
    by_words = hit.signals.get("lexical", 0.0) >= SAME_WORDS * own.signals.get("lexical", 0.0)
    meaning = own.signals.get("dense")
    return by_words and (meaning is None or hit.signals.get("dense", 0.0) >= SAME_MEANING * meaning)


def _twins(pairs: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Groups of documents that answer as well as each other, both ways."""
    known = set(pairs)
    both = {(one, two) for one, two in known if (two, one) in known}
    group: dict[str, set[str]] = {}
    for one, two in sorted(both):
        merged = group.get(one, {one}) | group.get(two, {two})
        group.update(dict.fromkeys(merged, merged))
    for ids in sorted({tuple(sorted(members)) for members in group.values()}):
        yield Finding("twins", ids, f"Their descriptions find each other as well as themselves: {', '.join(ids)}.")

"""Generation of cases with a language model that does not see the names; queries that reveal a name are dropped."""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shortlist._plain import Plain, to_plain
from shortlist.display.progress import show_progress
from shortlist.documents import Document
from shortlist.errors import InputError, ShortlistError
from shortlist.eval.cases import Case
from shortlist.eval.reader import open_one
from shortlist.eval.statistics import SEED
from shortlist.index.corpus import Corpus
from shortlist.index.text.analyzers import get_analyzer, name_words, words
from shortlist.index.text.languages import detect_language, is_stop_word
from shortlist.index.text.word_parts import subwords
from shortlist.library.opening import Searchable
from shortlist.protocols import LLM, ProgressOption, track
from shortlist.retrieval.search import search
from shortlist.retrieval.select import as_prompt_function

PROMPTS: dict[str, str] = tomllib.loads(Path(__file__).with_name("generate_prompts.toml").read_text("utf-8"))
MASK = "[THIS]"
OUT_OF_SCOPE = 0.25
ABSTENTION_FRAC = 0.15
WORKERS = 4
COPIED_WORDS = 6  # words in a row that count as copied from the description
SAME = 0.8  # queries that share this part of their terms are duplicates
SHOWN_CHARACTERS = 1500
_CANDIDATES = 5
_SAMPLED = 30

Model = LLM | Callable[[str], str]


@dataclass(frozen=True, slots=True)
class DroppedCase(Plain):
    """A query that was dropped; the reason is leak, copied, duplicate, served, unreadable or failed."""

    reason: str
    query: str
    gold: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Generated:
    """Cases that a model wrote, and the queries that were dropped."""

    cases: Sequence[Case]
    dropped: Sequence[DroppedCase]

    def to_dict(self) -> dict[str, Any]:
        return {
            "cases": to_plain(list(self.cases)),
            "dropped": to_plain(list(self.dropped)),
            "in_scope": sum(case.in_scope for case in self.cases),
            "out_of_scope": sum(not case.in_scope for case in self.cases),
            "reasons": dict(Counter(one.reason for one in self.dropped)),
        }


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A prompt for a number of queries about a document, or about nothing in the corpus."""

    prompt: str
    number: int
    document: Document | None = None


def generate_cases(
    corpus: Searchable,
    llm: Model,
    n: int = 50,
    *,
    per_document: int = 1,
    out_of_scope: float = OUT_OF_SCOPE,
    mask_names: bool = True,
    verify: bool = True,
    workers: int = WORKERS,
    seed: int = SEED,
    progress: ProgressOption = None,
) -> Generated:
    """About `n` cases with gold, and `out_of_scope` times `n` to which nothing applies, written by a model.

    `llm` is an LLM or any function from prompt to reply. Documents are sampled with `seed`. The name of a document is
    hidden from the model; a query that contains it all the same, copies the description or repeats another is dropped.
    With `mask_names=False` the name is neither hidden nor looked for. With `verify` the model also checks that nothing
    serves the queries to which nothing should apply.
    """
    only = open_one(corpus, "Case generation", needs_vectors=False)
    requests = plan(only, n, per_document=per_document, out_of_scope=out_of_scope, mask_names=mask_names, seed=seed)
    return _generate(only, llm, requests, mask_names, verify, workers, progress)


def generate_abstention_cases(
    corpus: Searchable,
    llm: Model,
    n: int = 10,
    *,
    mask_names: bool = True,
    verify: bool = True,
    workers: int = WORKERS,
    seed: int = SEED,
    progress: ProgressOption = None,
) -> Generated:
    """About `n` cases to which nothing in the corpus applies; the keywords are those of `generate_cases`."""
    if n < 1:
        raise InputError(f"n must be 1 or more, not {n!r}.")
    only = open_one(corpus, "Case generation", needs_vectors=False)
    requests = list(_plan_out_of_scope(_described_documents(only), n, random.Random(seed)))
    return _generate(only, llm, requests, mask_names, verify, workers, progress)


def build_eval_set(
    corpus: Searchable,
    llm: Model,
    k: int = 5,
    *,
    abstention_frac: float = ABSTENTION_FRAC,
    mask_names: bool = True,
    verify: bool = True,
    workers: int = WORKERS,
    seed: int = SEED,
    progress: ProgressOption = None,
) -> list[Case]:
    """Cases about the whole corpus, ready to save: `k` for every document, and some to which nothing applies.

    `abstention_frac` is the share of the latter in the set; the other keywords are those of `generate_cases`.
    """
    if k < 1 or not 0 <= abstention_frac < 1:
        given = f"{k!r} and {abstention_frac!r}"
        raise InputError(f"k must be 1 or more and abstention_frac from 0 to below 1, not {given}.")
    only = open_one(corpus, "Case generation", needs_vectors=False)
    share = abstention_frac / (1 - abstention_frac)
    n = k * len(_described_documents(only))
    generated = generate_cases(
        only,
        llm,
        n,
        per_document=k,
        out_of_scope=share,
        mask_names=mask_names,
        verify=verify,
        workers=workers,
        seed=seed,
        progress=progress,
    )
    return list(generated.cases)


def plan(
    corpus: Searchable,
    n: int = 50,
    *,
    per_document: int = 1,
    out_of_scope: float = OUT_OF_SCOPE,
    mask_names: bool = True,
    seed: int = SEED,
) -> list[GenerationRequest]:
    """The requests that `generate_cases` would send, in order."""
    if n < 1 or per_document < 1 or not 0 <= out_of_scope <= 10:
        given = f"{n!r}, {per_document!r} and {out_of_scope!r}"
        raise InputError(f"n and per_document must be 1 or more, and out_of_scope from 0 to 10, not {given}.")
    documents = _described_documents(open_one(corpus, "Case generation", needs_vectors=False))
    drawn = random.Random(seed)
    hidden = f"; its name is hidden as {MASK}" if mask_names else ""
    requests = []
    for document in drawn.sample(documents, min(len(documents), -(-n // per_document))):
        description = mask_name(document) if mask_names else _describe(document)
        requests.append(_make_request("in_scope", per_document, document, hidden=hidden, description=description))
    return [*requests, *_plan_out_of_scope(documents, round(n * out_of_scope), drawn)]


def _make_request(kind: str, number: int, document: Document | None = None, **texts: str) -> GenerationRequest:
    wanted = "one request" if number == 1 else f"{number} different requests"
    return GenerationRequest(PROMPTS[kind].format(number=wanted, **texts), number, document)


def _plan_out_of_scope(documents: Sequence[Document], n: int, drawn: random.Random) -> Iterator[GenerationRequest]:
    for start in range(0, n, 5):
        sample = drawn.sample(documents, min(len(documents), _SAMPLED))
        things = "\n".join(f"- {one.name}: {' '.join(one.content.split())[:200]}" for one in sample)
        yield _make_request("out_of_scope", min(5, n - start), things=things)


def _described_documents(corpus: Corpus) -> list[Document]:
    documents = sorted((document for document in corpus if document.content.strip()), key=lambda one: one.id)
    if not documents:
        raise InputError(f"The corpus {corpus.name!r} has no document with a description.")
    return documents


def _describe(document: Document) -> str:
    return "\n".join(part for part in (document.content, ", ".join(document.keywords)) if part)[:SHOWN_CHARACTERS]


def mask_name(document: Document) -> str:
    """The description of a document with its name and id masked, in any spelling.

    A name of one letter stays: it reveals nothing, and masking the letter everywhere would spoil the text.
    """
    text = _describe(document)
    for name in sorted({document.title, document.id}, key=len, reverse=True):
        parts = name_words(name)
        if _is_one_letter(parts) or (len(parts) == 1 and is_stop_word(parts[0], text)):
            continue
        pattern = r"[\W_]*".join(map(re.escape, parts))
        text = re.sub(rf"(?<![^\W_]){pattern}(?![^\W_])", MASK, text, flags=re.IGNORECASE)
    return text


def _is_one_letter(parts: Sequence[str]) -> bool:
    return len("".join(parts)) < 2


def _generate(
    corpus: Corpus,
    llm: Model,
    requests: Sequence[GenerationRequest],
    mask_names: bool = True,
    verify: bool = True,
    workers: int = WORKERS,
    progress: ProgressOption = None,
) -> Generated:
    ask = as_prompt_function(llm)
    with ThreadPoolExecutor(max(1, workers)) as pool, show_progress(progress, "generating cases", "requests") as report:
        replies = list(track(pool.map(partial(_request_queries, ask), requests), report, len(requests)))
    cases: list[Case] = []
    dropped: list[DroppedCase] = []
    seen: list[frozenset[str]] = []
    for request, (queries, failure) in zip(requests, replies, strict=True):
        gold = (request.document.id,) if request.document else ()
        if failure:
            dropped.append(DroppedCase(failure[0], "", "".join(gold), failure[1]))
        for query in queries[: request.number]:
            problem = _find_problem(query, request.document, seen, mask_names)
            if not problem and request.document is None and verify:
                problem = _check_unserved(ask, corpus, query)
            if problem:
                dropped.append(DroppedCase(problem[0], query, "".join(gold), problem[1]))
            else:
                seen.append(frozenset(_read_terms(query)))
                cases.append(Case(query, gold))
    failures = [one.detail for one in dropped if one.reason == "failed"]
    if failures and not cases:
        raise ShortlistError(f"The model wrote nothing: {failures[0]}")
    return Generated(cases, dropped)


def _request_queries(ask: Callable[[str], str], request: GenerationRequest) -> tuple[list[str], tuple[str, str] | None]:
    """The queries of a reply, or the reason and details of a failure."""
    try:
        text = ask(request.prompt)
    except Exception as error:  # one failed call of many does not lose the others
        return [], ("failed", f"{type(error).__name__}: {error}")
    items = _find_list(text)
    if items is None:
        return [], ("unreadable", f"no JSON list in {text[:80]!r}")
    texts = [item.get("query") if isinstance(item, Mapping) else item for item in items]
    return [" ".join(each.split()) for each in texts if isinstance(each, str) and each.strip()], None


def _find_list(text: str) -> list[Any] | None:
    """The first JSON list of strings or objects in a reply, which may begin with reasoning, also in brackets."""
    for bracket in re.finditer(r"\[", text):
        try:
            items, _ = json.JSONDecoder().raw_decode(text, bracket.start())
        except (ValueError, RecursionError):
            continue
        if all(isinstance(item, str | dict) for item in items):
            return list(items)
    return None


def _read_terms(text: str) -> list[str]:
    """The terms of a text in its language."""
    return get_analyzer().bind((detect_language(text),)).terms(text)


def _find_problem(
    query: str, document: Document | None, seen: Sequence[frozenset[str]], mask_names: bool
) -> tuple[str, str] | None:
    if document and mask_names and (name := find_leaked_name(query, document)):
        return "leak", f"it contains the name {name!r}"
    if document and (run := find_copied_run(query, document.content)):
        return "copied", f"it copies {run!r}"
    terms = frozenset(_read_terms(query))
    if not terms:
        return "unreadable", "it contains no word to search for"
    if any(len(terms & other) >= SAME * len(terms | other) for other in seen):
        return "duplicate", "it repeats another query"
    return None


def find_leaked_name(query: str, document: Document) -> str:
    """The name or id of the document, if the query contains all of its words, in any order and form, except stop words.

    A name of one word that is also in the description is not a leak, nor is a name of one letter.
    """
    stems = get_analyzer().bind((detect_language(query),)).terms
    asked = set(stems(" ".join(name_words(query))))
    for name in dict.fromkeys((document.title, document.id)):
        parts = [word for word in name_words(name) if not is_stop_word(word, query)]
        is_common = len(parts) == 1 and parts[0] in name_words(document.content)
        if not is_common and not _is_one_letter(parts) and asked.issuperset(stems(" ".join(parts))):
            return name
    return ""


def find_copied_run(query: str, text: str) -> str:
    """The first six words in a row of the query that are also in the text."""
    asked, described = ([part.casefold() for word in words(each) for part in subwords(word)] for each in (query, text))
    haystack = f" {' '.join(described)} "
    runs = (" ".join(asked[at : at + COPIED_WORDS]) for at in range(len(asked) - COPIED_WORDS + 1))
    return next((run for run in runs if f" {run} " in haystack), "")


def _check_unserved(ask: Callable[[str], str], corpus: Corpus, query: str) -> tuple[str, str] | None:
    """A problem if the model finds that one of the closest documents serves a query that nothing should serve."""
    hits = search(corpus, query, k=_CANDIDATES)
    if not hits:
        return None
    things = "\n".join(f"- {hit.name}: {' '.join(hit.text.split())[:300]}" for hit in hits)
    try:
        answer = ask(PROMPTS["check"].format(query=query, things=things))
    except Exception as error:  # a query that was not checked is dropped
        return "failed", f"{type(error).__name__}: {error}"
    is_served = re.search(r"\byes\b", answer.lower())
    return ("served", "the model says that a document serves it") if is_served else None

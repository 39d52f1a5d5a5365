"""Cases written by a language model that does not see the names; questions that give the name away are dropped."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from shortlist._plain import Plain
from shortlist.documents import Document
from shortlist.errors import InputError, ShortlistError
from shortlist.eval.cases import Case
from shortlist.eval.statistics import SEED
from shortlist.index.corpus import Corpus
from shortlist.index.text.analyzers import STOP_WORDS, get_analyzer, name_words, subwords, words
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import LLM, Progress, track
from shortlist.search.retrieve import search
from shortlist.search.select import as_prompt_function

MASK = "[THIS]"
OUT_OF_SCOPE = 0.25
ABSTENTION_FRAC = 0.15
WORKERS = 4

# So many words in a row that stand in the description are copied, not asked.
COPIED = 6

# Questions that share this share of their words are the same question.
SAME = 0.8

SHOWN_CHARACTERS = 1500
_CANDIDATES = 5
_SAMPLED = 30

IN_SCOPE_PROMPT = """\
Below is the description of one thing that an assistant can use{hidden}.

{description}

Write {number} that a person might make, in everyday words of their own, for which this is the right thing to use.
Do not describe the thing, do not guess its name, do not copy phrases from the description, and say enough that nothing
else would do. Reply with a JSON list of strings and nothing else."""

OUT_OF_SCOPE_PROMPT = """\
An assistant has these things to use, and only these:

{things}

Write {number} that a person might plausibly make of such an assistant, in everyday words, that none of these things
can serve: near in subject, but out of reach. Reply with a JSON list of strings and nothing else."""

CHECK_PROMPT = """\
A person asks: {query}

{things}

Does any of these serve the request? Reply with yes or no and nothing else."""


@dataclass(frozen=True, slots=True)
class Dropped(Plain):
    """A question that was not taken, and why: leak, copied, duplicate, served, unreadable or failed."""

    reason: str
    query: str
    gold: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Generated:
    """Cases that a model wrote, and what was dropped."""

    cases: Sequence[Case]
    dropped: Sequence[Dropped]

    def to_dict(self) -> dict[str, Any]:
        reasons = [one.reason for one in self.dropped]
        return {
            "cases": [case.to_dict() for case in self.cases],
            "dropped": [one.to_dict() for one in self.dropped],
            "in_scope": sum(case.in_scope for case in self.cases),
            "out_of_scope": sum(not case.in_scope for case in self.cases),
            "reasons": {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        }


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked to write, and for which document; none if nothing should apply."""

    prompt: str
    number: int
    document: Document | None = None


def generate_cases(
    corpus: Searchable,
    llm: LLM | Callable[[str], str],
    n: int = 50,
    *,
    per_document: int = 1,
    out_of_scope: float = OUT_OF_SCOPE,
    mask_names: bool = True,
    verify: bool = True,
    workers: int = WORKERS,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Generated:
    """About `n` cases with gold, and that share of `n` more to which nothing applies, written by a model.

    `llm` is an LLM or any function from prompt to reply. Documents are sampled with `seed`. The name of a document is
    hidden from the model; a question that holds it all the same, copies the description or repeats another is dropped.
    With `mask_names=False` the name is neither hidden nor looked for. With `verify` the model also looks whether
    something serves a question that nothing should serve.
    """
    only = _one_corpus(corpus)
    requests = plan(only, n, per_document=per_document, out_of_scope=out_of_scope, mask_names=mask_names, seed=seed)
    return _generated(only, llm, requests, mask_names, verify, workers, progress)


def generate_abstention_cases(
    corpus: Searchable,
    llm: LLM | Callable[[str], str],
    n: int = 10,
    *,
    verify: bool = True,
    workers: int = WORKERS,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Generated:
    """About `n` cases to which nothing in the corpus applies, written by a model; options as in `generate_cases`."""
    if n < 1:
        raise InputError(f"n is the number of cases, 1 or more, not {n!r}.")
    only = _one_corpus(corpus)
    requests = list(_about_nothing(_described(only), n, random.Random(seed)))
    return _generated(only, llm, requests, True, verify, workers, progress)


def build_eval_set(
    corpus: Searchable,
    llm: LLM | Callable[[str], str],
    k: int = 5,
    *,
    abstention_frac: float = ABSTENTION_FRAC,
    **options: Any,
) -> list[Case]:
    """A set of cases about the whole corpus, to be saved: `k` for every document, and some to which nothing applies.

    `abstention_frac` is the share of the latter in the set; further options are those of `generate_cases`.
    """
    if k < 1 or not 0 <= abstention_frac < 1:
        raise InputError(
            f"k must be 1 or more and abstention_frac from 0 to below 1, not {k!r} and {abstention_frac!r}."
        )
    only = _one_corpus(corpus)
    share = abstention_frac / (1 - abstention_frac)
    made = generate_cases(only, llm, k * len(_described(only)), per_document=k, out_of_scope=share, **options)
    return list(made.cases)


def _generated(
    corpus: Corpus,
    llm: LLM | Callable[[str], str],
    requests: Sequence[Request],
    mask_names: bool,
    verify: bool,
    workers: int,
    progress: Progress | None,
) -> Generated:
    """What a model writes, without what gives itself away, repeats another or is served after all."""
    ask = as_prompt_function(llm)
    with ThreadPoolExecutor(max(1, workers)) as pool:
        replies = list(track(pool.map(partial(_reply, ask), requests), progress, len(requests)))
    kept: list[Case] = []
    dropped: list[Dropped] = []
    seen: list[frozenset[str]] = []
    for request, (queries, failure) in zip(requests, replies, strict=True):
        if failure:
            dropped.append(Dropped(failure[0], "", request.document.id if request.document else "", failure[1]))
        for query in queries[: request.number]:
            problem = _problem(query, request.document, seen, mask_names)
            if problem is None and request.document is None and verify:
                problem = _served(ask, corpus, query)
            if problem:
                gold = request.document.id if request.document else ""
                dropped.append(Dropped(problem[0], query, gold, problem[1]))
                continue
            seen.append(_terms(query))
            kept.append(Case(query, (request.document.id,) if request.document else ()))
    failures = [one.detail for one in dropped if one.reason == "failed"]
    if failures and not kept:
        raise ShortlistError(f"The model wrote nothing: {failures[0]}")
    return Generated(kept, dropped)


def plan(
    corpus: Searchable,
    n: int = 50,
    *,
    per_document: int = 1,
    out_of_scope: float = OUT_OF_SCOPE,
    mask_names: bool = True,
    seed: int = SEED,
) -> list[Request]:
    """What a model would be asked, in order; nothing is asked."""
    if n < 1 or per_document < 1 or not 0 <= out_of_scope <= 10:
        raise InputError("n and per_document are at least 1, out_of_scope is a share of n, 0 or more.")
    documents = _described(_one_corpus(corpus))
    drawn = random.Random(seed)
    chosen = drawn.sample(documents, min(len(documents), -(-n // per_document)))
    hidden = f"; its name is hidden as {MASK}" if mask_names else ""
    requests = []
    for document in chosen:
        shown = masked(document) if mask_names else _description(document)
        prompt = IN_SCOPE_PROMPT.format(hidden=hidden, description=shown, number=_requests(per_document))
        requests.append(Request(prompt, per_document, document))
    return [*requests, *_about_nothing(documents, round(n * out_of_scope), drawn)]


def _one_corpus(corpus: Searchable) -> Corpus:
    corpora = open_corpora(corpus, needs_vectors=False)
    if len(corpora) != 1:
        raise InputError("Cases are written for one corpus at a time.")
    return corpora[0]


def _described(corpus: Corpus) -> list[Document]:
    """The documents that a question can be about, by id."""
    documents = sorted((document for document in corpus if document.content.strip()), key=lambda one: one.id)
    if not documents:
        raise InputError(f"The corpus {corpus.name!r} has no document with a description.")
    return documents


def _about_nothing(documents: Sequence[Document], wanted: int, drawn: random.Random) -> Iterator[Request]:
    while wanted > 0:
        number = min(5, wanted)
        sample = drawn.sample(documents, min(len(documents), _SAMPLED))
        yield Request(OUT_OF_SCOPE_PROMPT.format(things=_listed(sample), number=_requests(number)), number)
        wanted -= number


def _requests(number: int) -> str:
    return "one request" if number == 1 else f"{number} different requests"


def masked(document: Document) -> str:
    """The description of a document without its name or id, however they are spelled.

    A name of one letter stays: it gives nothing away, and to hide the letter wherever it is would spoil the text.
    """
    text = _description(document)
    for name in sorted({document.title, document.id}, key=len, reverse=True):
        parts = name_words(name)
        if _is_one_letter(parts) or (len(parts) == 1 and parts[0] in STOP_WORDS):
            continue
        pattern = r"[\W_]*".join(map(re.escape, parts))
        text = re.sub(rf"(?<![^\W_]){pattern}(?![^\W_])", MASK, text, flags=re.IGNORECASE)
    return text


def _description(document: Document) -> str:
    return "\n".join(part for part in (document.content, ", ".join(document.keywords)) if part)[:SHOWN_CHARACTERS]


def _problem(
    query: str, document: Document | None, seen: Sequence[frozenset[str]], mask_names: bool
) -> tuple[str, str] | None:
    if document is not None:
        if mask_names and (name := leaked_name(query, document)):
            return "leak", f"it holds the name {name!r}"
        if run := copied_run(query, document.content):
            return "copied", f"it copies {run!r}"
    terms = _terms(query)
    if not terms:
        return "unreadable", "it holds no word to search for"
    if any(len(terms & other) >= SAME * len(terms | other) for other in seen):
        return "duplicate", "another question says the same"
    return None


def leaked_name(query: str, document: Document) -> str:
    """The name or id of the document, if the query holds all of its words, in any order and form, stop words aside.

    A name of one word that the description uses as well is a word, not a leak, and one letter is no name.
    """
    asked = {*_stems(name_words(query))}
    for name in dict.fromkeys((document.title, document.id)):
        parts = [word for word in name_words(name) if word not in STOP_WORDS]
        common = len(parts) == 1 and parts[0] in name_words(document.content)
        if not common and not _is_one_letter(parts) and asked.issuperset(_stems(parts)):
            return name
    return ""


def _is_one_letter(parts: Sequence[str]) -> bool:
    """Whether a name has one letter, or none."""
    return len("".join(parts)) < 2


def _stems(parts: Sequence[str]) -> list[str]:
    return get_analyzer().terms(" ".join(parts))


def copied_run(query: str, text: str) -> str:
    """The first run of six words of the query that stands in the text."""
    asked, held = _plain(query), f" {' '.join(_plain(text))} "
    for at in range(len(asked) - COPIED + 1):
        run = " ".join(asked[at : at + COPIED])
        if f" {run} " in held:
            return run
    return ""


def _plain(text: str) -> list[str]:
    return [part.casefold() for word in words(text) for part in subwords(word)]


def _terms(query: str) -> frozenset[str]:
    return frozenset(get_analyzer().terms(query))


def _served(ask: Callable[[str], str], corpus: Corpus, query: str) -> tuple[str, str] | None:
    """Whether the model finds that one of the nearest things serves a question that nothing should serve."""
    hits = search(corpus, query, k=_CANDIDATES)
    if not hits:
        return None
    things = "\n".join(f"- {hit.name}: {' '.join(hit.text.split())[:300]}" for hit in hits)
    try:
        answer = ask(CHECK_PROMPT.format(query=query, things=things))
    except Exception as error:  # a question that was not checked is not taken
        return "failed", f"{type(error).__name__}: {error}"
    return ("served", "the model says that something serves it") if re.search(r"\byes\b", answer.lower()) else None


def _listed(documents: Sequence[Document]) -> str:
    return "\n".join(f"- {document.name}: {' '.join(document.content.split())[:200]}" for document in documents)


def _reply(ask: Callable[[str], str], request: Request) -> tuple[list[str], tuple[str, str] | None]:
    """The questions of a reply, or what went wrong."""
    try:
        text = ask(request.prompt)
    except Exception as error:  # one failed call of many does not lose the others
        return [], ("failed", f"{type(error).__name__}: {error}")
    queries = _list_in(text)
    if queries is None:
        return [], ("unreadable", f"no JSON list in {text[:80]!r}")
    texts = [query.get("query") if isinstance(query, Mapping) else query for query in queries]
    return [" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()], None


def _list_in(text: str) -> list[Any] | None:
    """The first list of questions in a reply; a model may think aloud, in brackets too, before it comes to it."""
    for bracket in re.finditer(r"\[", text):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, bracket.start())
        except (ValueError, RecursionError):
            continue
        if all(isinstance(item, str | dict) for item in found):
            return list(found)
    return None

"""The operations of a service: requests in, results of the library out. `Client` and `AsyncClient` send them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

from shortlist._files import hash_file
from shortlist.client.exchange import OnEvent, ServiceRequest, Steps, exchange
from shortlist.documents import Changes, Document
from shortlist.errors import CorpusNotFound, InputError, ServiceError
from shortlist.results import (
    Answer,
    Disclosure,
    Discovery,
    Evidence,
    Hit,
    Hits,
    Level,
    MergeFacts,
    MinRelevance,
    Mode,
    RawScore,
    accept_min_score,
    accept_threshold,
)

Filter = Mapping[str, Any]
OnText = Callable[[str], None]
OnEvidence = Callable[[Evidence], None]
OnStep = Callable[[Mapping[str, Any]], None]
OnCount = Callable[[int, int], None]
OnProgress = Callable[[str, float], None]
Result = TypeVar("Result")


def search(
    corpus: str,
    query: str,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    timeout: float | None = None,
) -> Steps[Hits]:
    """Find the k documents that match the query best, as `shortlist.search` does."""
    body = {"query": query, "mode": mode, "k": k, "filter": filter} | _exact(exact)
    return _rebuild(Hits.from_dict, (yield from _read(corpus, "search", body, timeout)))


def search_many(
    corpus: str,
    queries: Iterable[str],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    timeout: float | None = None,
) -> Steps[list[Hits]]:
    """Find the k best documents for each of several queries in one request, as `shortlist.search_many` does."""
    if isinstance(queries, str):
        raise InputError(f"search_many takes a list of queries, not {queries!r}. Use search for one query.")
    body = {"queries": list(queries), "mode": mode, "k": k, "filter": filter} | _exact(exact)
    data = yield from _read(corpus, "search-many", body, timeout)
    return _rebuild(lambda found: [Hits.from_dict(hits) for hits in found["results"]], data)


def search_with_facts(
    corpus: str,
    query: str,
    mode: Mode,
    k: int,
    filter: Filter | None,
    *,
    exact: bool = False,
    timeout: float | None = None,
) -> Steps[tuple[Hits, MergeFacts]]:
    """Search, for a merge with the hits of other corpora: also return what makes the hits comparable with theirs."""
    body = {"query": query, "mode": mode, "k": k, "filter": filter, "facts": True} | _exact(exact)
    data = yield from _read(corpus, "search", body, timeout)
    return _rebuild(lambda found: (Hits.from_dict(found), MergeFacts.from_dict(found["facts"])), data)


@accept_min_score
def discover(
    corpus: str,
    query: str,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    strategy: str = "adaptive",
    max_k: int | None = None,
    min_relevance: MinRelevance = "auto",
    level: Level = "metadata",
    rel: float | None = None,
    gap_ratio: float | None = None,
    temperature: float | None = None,
    cutoff: float | None = None,
    timeout: float | None = None,
) -> Steps[Discovery]:
    """Return the few documents that match the query, or abstain, as `shortlist.discover` does."""
    body = _selection(query, mode, k, filter, strategy, max_k, min_relevance, rel, gap_ratio, temperature, cutoff)
    return _rebuild(
        Discovery.from_dict, (yield from _read(corpus, "discover", body | {"level": level} | _exact(exact), timeout))
    )


@accept_min_score
def explain(
    corpus: str,
    id: str,
    query: str,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    strategy: str = "adaptive",
    max_k: int | None = None,
    min_relevance: MinRelevance = "auto",
    rel: float | None = None,
    gap_ratio: float | None = None,
    temperature: float | None = None,
    cutoff: float | None = None,
    timeout: float | None = None,
) -> Steps[dict[str, Any]]:
    """Explain why a document has its rank for a query: matched words, what ranked higher, and what was cut."""
    body = _selection(query, mode, k, filter, strategy, max_k, min_relevance, rel, gap_ratio, temperature, cutoff)
    return (yield from _read(corpus, "explain", body | {"id": id} | _exact(exact), timeout))


def disclose(
    corpus: str, ids: Iterable[str | Hit], level: Level = "body", *, timeout: float | None = None
) -> Steps[list[Disclosure]]:
    """Show documents by their ids, or those of hits. Pass the hits of `search`, or ids from anywhere."""
    body = {"ids": [id.id if isinstance(id, Hit) else id for id in ids], "level": level}
    data = yield from _read(corpus, "disclose", body, timeout)
    return _rebuild(lambda found: [Disclosure.from_dict(item) for item in found["documents"]], data)


@accept_threshold
def ask(
    corpus: str,
    question: str,
    *,
    agent: bool = False,
    extractive: bool = False,
    k: int | None = None,
    min_relevance: MinRelevance = "auto",
    filter: Filter | None = None,
    history: Iterable[tuple[str, str]] = (),
    on_text: OnText | None = None,
    on_evidence: OnEvidence | None = None,
    on_step: OnStep | None = None,
    timeout: float | None = None,
) -> Steps[Answer]:
    """Answer a question from a corpus alone, with the language model of the service if it has one.

    With `extractive`, the answer is made of sentences of the documents, also if the service has a model.
    `on_text` is called with each piece of the answer once it is verified, `on_evidence` with each passage that is
    shown, `on_step` with each tool call of an `agent`. `history` has earlier questions with their answers.
    """

    def receive(event: str, data: dict[str, Any]) -> None:
        if event == "text" and on_text:
            on_text(str(data.get("text", "")))
        elif event == "evidence" and on_evidence:
            on_evidence(_rebuild(Evidence.from_dict, data))
        elif event == "step" and on_step:
            on_step(data)

    body = _given(question=question, agent=agent, k=k, filter=filter) | _threshold(min_relevance)
    body |= {"extractive": True} if extractive else {}
    body["history"] = [{"question": earlier, "answer": answer} for earlier, answer in history]
    return _rebuild(Answer.from_dict, (yield from _stream(corpus, "ask", body, receive, timeout)))


@accept_min_score
def evaluate(
    corpus: str,
    cases: str | Sequence[Mapping[str, Any] | Any],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    against: Mode | None = None,
    strategy: str = "adaptive",
    min_relevance: MinRelevance = "auto",
    unknown: Literal["refuse", "count"] = "refuse",
    curve: bool = False,
    html: bool = False,
    on_progress: OnProgress | None = None,
    timeout: float | None = None,
) -> Steps[dict[str, Any]]:
    """Measure how well a corpus finds the expected documents of cases: the report of `shortlist eval`, as plain data.

    `cases` is JSONL, or a list of cases: objects with query and gold, or those of `shortlist.eval`. `on_progress` is
    called with the current step and the share of the work that is done, from 0 to 1.
    """
    rows = cases if isinstance(cases, str) else [_to_dict(case) for case in cases]
    body: dict[str, Any] = {"cases": rows, "mode": mode, "k": k, "filter": filter, "against": against}
    body |= {"strategy": strategy, "unknown": unknown, "curve": curve, "html": html} | _threshold(min_relevance)
    return (yield from _stream(corpus, "eval", body, _progress(on_progress), timeout))


def lint(
    corpus: str, k: int = 10, *, on_progress: OnProgress | None = None, timeout: float | None = None
) -> Steps[dict[str, Any]]:
    """Report documents that cannot be found or distinguished: what `shortlist lint` reports, as plain data."""
    return (yield from _stream(corpus, "lint", {"k": k}, _progress(on_progress), timeout))


def browse(
    corpus: str, text: str = "", offset: int = 0, limit: int = 100, *, timeout: float | None = None
) -> Steps[tuple[list[Document], int]]:
    """A page of the documents that contain a text, in the order in which they were added, and the number of all."""
    query = urlencode({"q": text, "offset": offset, "limit": limit})
    data = yield from exchange(ServiceRequest("GET", f"{_path(corpus, 'documents')}?{query}", None, True, timeout))
    return _rebuild(
        lambda found: ([Document.from_dict(item) for item in found["documents"]], int(found["count"])), data
    )


def get(corpus: str, id: str, *, timeout: float | None = None) -> Steps[Document | None]:
    """A document by its id; None if there is none."""
    try:
        data = yield from exchange(ServiceRequest("GET", _document_path(corpus, id), None, True, timeout))
    except CorpusNotFound:
        yield from browse(corpus, limit=0, timeout=timeout)  # an error if it is the corpus that does not exist
        return None
    return _rebuild(Document.from_dict, data)


def add(
    corpus: str, documents: Iterable[Document | Mapping[str, Any]], *, timeout: float | None = None
) -> Steps[Changes]:
    """Store documents beside the others; a document with a stored id replaces that one. All are stored, or none.

    The service stores each as a tool without a source, so that none can refer to a file on its machine.
    """
    rows = [_to_dict(document) for document in documents]
    if not rows:
        return Changes()
    return _rebuild(
        Changes.from_dict, (yield from _write("POST", _path(corpus, "documents"), {"documents": rows}, timeout))
    )


def remove(corpus: str, ids: str | Iterable[str], *, timeout: float | None = None) -> Steps[int]:
    """Remove documents by id; return the number of documents removed."""
    removed = 0
    for id in [ids] if isinstance(ids, str) else ids:
        try:
            data = yield from _write("DELETE", _document_path(corpus, id), None, timeout)
        except CorpusNotFound:
            yield from browse(corpus, limit=0, timeout=timeout)  # an error if it is the corpus that does not exist
        else:
            removed += _rebuild(lambda found: int(found["removed"]), data)
    return removed


def push(
    corpus: str, files: Mapping[str, Path], *, on_progress: OnCount | None = None, timeout: float | None = None
) -> Steps[dict[str, Any]]:
    """Make a corpus of uploaded files have exactly these files, by their paths in it, and build it; a new name creates
    one.

    Only files that differ are sent, so a push that failed is continued by the next one. `on_progress` is called with
    the number of files that were sent, and of all to send. The result has what was `sent` and `deleted`, and the
    report of the build.
    """
    if not files:
        raise InputError(
            f"There are no files for {corpus!r}. To delete the corpus, do it on the machine of the service."
        )
    path = _path(corpus, "files")
    hashes = [{"path": name, "sha256": hash_file(file)} for name, file in files.items()]
    compared = yield from exchange(ServiceRequest("POST", f"{path}/compare", {"files": hashes}, True, timeout))
    missing = _rebuild(lambda found: {name: files[name] for name in found["missing"]}, compared)
    extra = _rebuild(lambda found: list(found["extra"]), compared)
    for number, (name, file) in enumerate(missing.items(), start=1):
        query = urlencode({"path": name})
        try:
            yield from exchange(ServiceRequest("POST", f"{path}?{query}", file.read_bytes(), True, timeout))
        except ServiceError as error:
            raise ServiceError(f"{name} was not sent: {error}", error.status) from None
        if on_progress:
            on_progress(number, len(missing))
    if extra:
        yield from exchange(ServiceRequest("POST", f"{path}/delete", {"paths": extra}, True, timeout))
    built = yield from _stream(corpus, "build", {}, lambda *_: None, timeout)
    return {"sent": len(missing), "deleted": len(extra), **built}


def feedback(
    corpus: str,
    query: str,
    id: str,
    outcome: Literal["called", "read", "failed", "wrong", "reworded"] = "called",
    *,
    shown: Sequence[str] = (),
    session: str = "",
    undo: bool = False,
    timeout: float | None = None,
) -> Steps[bool]:
    """Report that a query led to a document, or that it was wrong; return whether it was stored. See `Corpus.learn`.

    With `undo`, what this session reported about both is deleted instead, without a session only the latest report that
    has none; return whether anything was.
    """
    body: dict[str, Any] = {"query": query, "id": id, "outcome": outcome, "shown": list(shown), "session": session}
    body |= {"undo": True} if undo else {}
    data = yield from _write("POST", _path(corpus, "feedback"), body, timeout)
    return _rebuild(lambda found: bool(found["stored"]), data)


def usage(corpus: str, *, timeout: float | None = None) -> Steps[dict[str, Any]]:
    """The counts of the log of use of a corpus, and the threshold that is fitted to it."""
    return (yield from exchange(ServiceRequest("GET", _path(corpus, "usage"), None, True, timeout)))


def forget(corpus: str, id: str | None = None, *, timeout: float | None = None) -> Steps[int]:
    """Delete the log of use of a corpus, or what it has about one document; return the number of searches deleted."""
    query = "" if id is None else f"?{urlencode({'id': id})}"
    data = yield from _write("DELETE", _path(corpus, "usage") + query, None, timeout)
    return _rebuild(lambda found: int(found["forgotten"]), data)


def corpora(*, timeout: float | None = None) -> Steps[list[dict[str, Any]]]:
    """The corpora that the service has: their names, sizes and problems."""
    data = yield from exchange(ServiceRequest("GET", "/v1/corpora", None, True, timeout))
    return _rebuild(lambda found: list(found["corpora"]), data)


def info(corpus: str, *, timeout: float | None = None) -> Steps[dict[str, Any]]:
    """Counts and configuration of a corpus, as `Corpus.info` reports them, without its path."""
    return (yield from exchange(ServiceRequest("GET", _path(corpus), None, True, timeout)))


def mcp_servers(*, timeout: float | None = None) -> Steps[dict[str, Any]]:
    """The MCP servers behind the service, and what is pending approval."""
    return (yield from exchange(ServiceRequest("GET", "/v1/mcp", None, True, timeout)))


def status(*, timeout: float | None = None) -> Steps[dict[str, Any]]:
    """Sizes, settings in force and latencies of the service."""
    return (yield from exchange(ServiceRequest("GET", "/status", None, True, timeout)))


def health(*, timeout: float | None = None) -> Steps[dict[str, Any]]:
    """Whether the service is running."""
    return (yield from exchange(ServiceRequest("GET", "/health", None, True, timeout)))


def _read(corpus: str, part: str, body: dict[str, Any], timeout: float | None) -> Steps[dict[str, Any]]:
    return (yield from exchange(ServiceRequest("POST", _path(corpus, part), body, True, timeout)))


def _write(method: str, path: str, body: dict[str, Any] | None, timeout: float | None) -> Steps[dict[str, Any]]:
    return (yield from exchange(ServiceRequest(method, path, body, False, timeout)))


def _stream(
    corpus: str, part: str, body: dict[str, Any], on_event: OnEvent, timeout: float | None
) -> Steps[dict[str, Any]]:
    request = ServiceRequest("POST", _path(corpus, part), body | {"stream": True}, False, timeout, on_event)
    return (yield from exchange(request))


def _progress(on_progress: OnProgress | None) -> OnEvent:
    def receive(event: str, data: dict[str, Any]) -> None:
        if event == "progress" and on_progress:
            on_progress(str(data.get("step", "")), float(data.get("share", 0.0)))

    return receive


def _path(corpus: str, part: str = "") -> str:
    if not isinstance(corpus, str) or not corpus:
        raise InputError(f"A corpus of a service is given by its name, not {corpus!r}.")
    return f"/v1/corpora/{quote(corpus, safe='')}" + (f"/{part}" if part else "")


def _document_path(corpus: str, id: str) -> str:
    if not isinstance(id, str) or not id:
        raise InputError(f"The id of a document must be a non-empty string, not {id!r}.")
    return f"{_path(corpus, 'documents')}/{quote(id, safe='')}"


def _selection(
    query: str,
    mode: str,
    k: int,
    filter: Filter | None,
    strategy: str,
    max_k: int | None,
    min_relevance: MinRelevance,
    rel: float | None,
    gap_ratio: float | None,
    temperature: float | None,
    cutoff: float | None,
) -> dict[str, Any]:
    """The body of a request that selects; the service has the defaults of what is None."""
    body = {"query": query, "mode": mode, "k": k, "filter": filter, "strategy": strategy}
    body |= _threshold(min_relevance)
    return body | _given(max_k=max_k, rel=rel, gap_ratio=gap_ratio, temperature=temperature, cutoff=cutoff)


def _exact(exact: bool) -> dict[str, Any]:
    """The field of a request; the default is left out, since earlier services do not know the name."""
    return {"exact": True} if exact else {}


def _threshold(min_relevance: MinRelevance) -> dict[str, Any]:
    """The threshold in a request; the default is left out, since earlier services do not know the name."""
    name = "min_score" if isinstance(min_relevance, RawScore) else "min_relevance"
    return {} if min_relevance == "auto" else {name: min_relevance}


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _to_dict(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return dict(item)
    if hasattr(item, "to_dict"):
        data: dict[str, Any] = item.to_dict()
        return data
    raise InputError(f"Send a mapping, or an object with to_dict, not {type(item).__name__}.")


def _rebuild(make: Callable[[dict[str, Any]], Result], data: dict[str, Any]) -> Result:
    """A result from the answer of a service; one with other fields is an error of the service."""
    try:
        return make(data)
    except (KeyError, TypeError, ValueError) as error:
        raise ServiceError(f"The service answered with unexpected data: {type(error).__name__}: {error}.") from error

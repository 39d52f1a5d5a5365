"""Answers to questions from the documents: cited claims, or the refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shortlist._limits import check_canceled, check_length
from shortlist._telemetry import traced
from shortlist.answer.evidence import K, Shown, gather
from shortlist.answer.extractive.extract import Extract, extract
from shortlist.answer.judge import load_judge
from shortlist.answer.llm import add_usage
from shortlist.answer.memory import Memory
from shortlist.answer.prompts import REFUSAL, build_messages
from shortlist.answer.verification import Stream, cite, verify
from shortlist.errors import InputError, LLMError
from shortlist.index.corpus import Corpus, RemoteCorpus
from shortlist.library.opening import CorpusState, Searchable, open_corpora
from shortlist.protocols import LLM, Messages, Reply, StreamingLLM
from shortlist.results import Answer, Claim, Evidence
from shortlist.retrieval.filters import Filter
from shortlist.retrieval.retrieve import open_query

OnText = Callable[[str], None]
OnEvidence = Callable[[Evidence], None]


@traced("ask", lambda answer: {"refused": answer.refused, "by": answer.by})
def ask(
    corpus: Searchable,
    question: str,
    llm: LLM | None = None,
    *,
    k: int = K,
    threshold: float | None = None,
    filter: Filter | None = None,
    memory: Memory | None = None,
    on_text: OnText | None = None,
    on_evidence: OnEvidence | None = None,
    answer_from: float | None = None,
    keep_unsupported: bool = False,
) -> Answer:
    """Answer a question from a corpus alone: every claim cited and compared with what it cites, or the refusal.

    The `k` best passages that reach `threshold` (see `answer/evidence.py`) are shown to `llm`; if none does, it is not
    called. Without `llm` the answer is a few sentences of the passages, verbatim, if they answer with a probability of
    at least `answer_from`; passages with a warning are not quoted. `on_text` is called with each piece of the answer
    once it is verified, `on_evidence` with each passage that is shown. Sentences that the passages they cite do not
    support are dropped; with `keep_unsupported` they stay, and their `support` says so.
    """
    corpora = open_for_question(corpus, question)
    if any(isinstance(each, RemoteCorpus) for each in corpora):
        given = {"llm": llm, "answer_from": answer_from, "keep_unsupported": keep_unsupported or None}
        options = {"k": k, "threshold": threshold, "filter": filter, "on_text": on_text, "on_evidence": on_evidence}
        return _ask_service(corpora, question, memory, given, options)
    shown = Shown()
    evidence: list[Evidence] = []
    answer = refuse(question, shown, "The question is empty.", "gate")
    if question.strip():
        with open_query(corpora, question, "auto", k) as states:  # closed before the caller or a model is called
            gathered = gather(states, question, k, threshold, filter, memory)
            evidence = shown.add_hits(gathered.hits)
            if not evidence:
                answer = refuse(question, shown, gathered.reason, "gate")
            elif llm is None:
                earlier = memory if memory and memory.find_reference(question) != "none" else None
                answer = _extract_answer(states, question, shown, earlier, answer_from)
    if on_evidence:
        for item in shown.items:
            on_evidence(item)
    stream = Stream(evidence, on_text, question, keep_unsupported)
    if llm is not None and evidence:
        history = memory.history_messages() if memory else ()
        reply = request_reply(llm, build_messages(question, evidence, history), (), stream)
        answer = verify_answer(question, reply, shown, "llm", add_usage({}, reply), keep_unsupported)
    stream.finish(answer.text)
    return answer


def _ask_service(
    corpora: Sequence[Corpus], question: str, memory: Memory | None, local: Mapping[str, Any], options: dict[str, Any]
) -> Answer:
    """Let the service of a remote corpus answer, with its own model; `local` are options that only apply here."""
    remote = corpora[0]
    if len(corpora) > 1 or not isinstance(remote, RemoteCorpus):
        names = ", ".join(repr(each.name) for each in corpora)
        raise InputError(f"A corpus behind a service is asked alone, not one of {names}. Ask each of them.")
    if unsupported := [name for name, value in local.items() if value is not None]:
        raise InputError(f"The service of {remote.name!r} answers with its own model. Leave out {unsupported[0]}.")
    texts = [message["content"] for message in memory.history_messages()] if memory else []
    return remote.ask(question, history=zip(texts[::2], texts[1::2], strict=True), **options)


def open_for_question(corpus: Searchable, question: str) -> list[Corpus]:
    if not isinstance(question, str):
        raise InputError(f"A question must be a string, not {type(question).__name__}.")
    check_length(question, "question")
    return open_corpora(corpus, needs_vectors=True)


@traced("complete", lambda reply: reply.usage)
def request_reply(llm: LLM, messages: Messages, tools: Messages, stream: Stream) -> Reply:
    """Call a model, with streaming if the caller wants text and the model supports it.

    If a streamed reply breaks off, its complete and verified sentences are the reply; without any, it is an error.
    """
    check_canceled()
    if stream.on_text and isinstance(llm, StreamingLLM):
        try:
            return llm.stream(messages, stream.add, tools)
        except LLMError as error:
            text = stream.complete_sentences()
            if not text:
                raise
            return Reply(text, broke_off=str(error))
    return llm.complete(messages, tools) if tools else llm.complete(messages)


def verify_answer(
    question: str, reply: Reply, shown: Shown, by: str, usage: dict[str, int], keep_unsupported: bool
) -> Answer:
    """The answer of a model: the sentences of its reply that can be verified, or the refusal."""
    verified = verify(reply.text, shown.citable, question, keep_unsupported=keep_unsupported)
    return Answer(
        question=question,
        text=verified.text,
        sentences=verified.claims,
        evidence=shown.items,
        refused=not verified.claims,
        reason=verified.reason,
        by=by,
        dropped=verified.dropped,
        usage=usage,
        broke_off=reply.broke_off,
    )


def refuse(question: str, shown: Shown, reason: str, by: str) -> Answer:
    return Answer(question, REFUSAL, [], shown.items, refused=True, reason=reason, by=by)


def _extract_answer(
    states: Sequence[CorpusState],
    question: str,
    shown: Shown,
    memory: Memory | None,
    answer_from: float | None,
) -> Answer:
    """An answer of verbatim sentences; a follow-up without one is read together with the question before it."""
    evidence = [item for item in shown.items if not item.warning]
    if not evidence:
        reason = "Every passage that was found tries to instruct its readers, so none of them is quoted."
        return refuse(question, shown, reason, "extract")
    lexical = [one.state.lexical for one in states]

    def count_passages(terms: list[str]) -> dict[str, int]:
        counts = [one.frequency(terms) for one in lexical]
        return {term: sum(count[term] for count in counts) for term in counts[0]}

    def extract_for(text: str) -> Extract:
        check_canceled()
        live = sum(one.live for one in lexical)
        return extract(
            text, evidence, lexical[0].analyzer, count_passages, live, answer_from=answer_from, judge=judge_answers
        )

    judge = load_judge()
    judge_answers = judge.answers if judge else None
    found = extract_for(question)
    if not found.sentences and memory and memory.last_question:
        found = extract_for(f"{memory.last_question} {question}")
    claims = []
    for one in found.sentences:
        text = f"{one.text} {one.evidence.marker}"
        place = (len(text) - len(one.evidence.marker), len(text))
        claims.append(Claim(text, (cite(one.evidence, [one.span], [place]),), support="quoted"))
    text = " ".join(claim.text for claim in claims) or REFUSAL
    return Answer(question, text, claims, shown.items, refused=not claims, reason=found.reason, by="extract")

"""Answers to questions from the documents: cited claims, or the refusal.

`prepare_question` reads all that an answer needs from the corpora, `request_reply` calls the model, and
`conclude_answer` verifies its reply, or extracts an answer without one. No corpus is open while a model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shortlist._limits import check_canceled, check_length
from shortlist._telemetry import traced
from shortlist.answer.answer_stream import AnswerStream
from shortlist.answer.evidence import EvidenceList, K, gather
from shortlist.answer.extractive.extract import Extract, extract
from shortlist.answer.extractive.signals import Question, coverage, read_question
from shortlist.answer.judge import find_reader
from shortlist.answer.llm import add_usage
from shortlist.answer.memory import NO_FOLLOW_UP, FollowUp, Memory
from shortlist.answer.prompts import REFUSAL, build_messages
from shortlist.answer.verification import Verifier, cite
from shortlist.errors import InputError, LLMError
from shortlist.index.corpus import Corpus, RemoteCorpus
from shortlist.index.text.analyzers import Analyzer
from shortlist.index.text.languages import ENGLISH, detect_language
from shortlist.library.opening import CorpusState, Searchable, open_corpora
from shortlist.protocols import LLM, Messages, Reply, StreamingLLM
from shortlist.results import Answer, Claim, Evidence, Filter, MinRelevance, accept_threshold
from shortlist.retrieval.options import check_min_relevance
from shortlist.retrieval.search import open_query

# The share of a question's weight in passages of a language from which it is taken for a question in that language,
# whatever language was detected: short questions do not always tell.
SAME_LANGUAGE = 0.5

OnText = Callable[[str], None]
OnEvidence = Callable[[Evidence], None]


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A question, and all that was read from the corpora to answer it."""

    text: str
    corpora: list[Corpus]
    evidence: EvidenceList
    reason: str  # why there is no evidence
    history: list[dict[str, str]]  # messages of earlier turns
    analyzer: Analyzer
    readings: list[Question]  # to extract an answer: the question, and with the turn that it may refer to

    def build_messages(self, *, agent: bool = False) -> list[dict[str, Any]]:
        """The messages for a language model: the rules, earlier turns, and the question with its passages."""
        return build_messages(self.text, self.evidence.items, self.history, agent=agent)


@accept_threshold
@traced("ask", lambda answer: {"refused": answer.refused, "by": answer.by})
def ask(
    corpus: Searchable,
    question: str,
    llm: LLM | None = None,
    *,
    k: int = K,
    min_relevance: MinRelevance = "auto",
    filter: Filter | None = None,
    memory: Memory | None = None,
    on_text: OnText | None = None,
    on_evidence: OnEvidence | None = None,
    answer_from: float | None = None,
    keep_unsupported: bool = False,
) -> Answer:
    """Answer a question from a corpus alone: every claim cited and compared with what it cites, or the refusal.

    The `k` best passages whose relevance is at least `min_relevance`, a number from 0 to 1, are shown to `llm`; without
    any, it is not called. "auto" is the calibrated or built-in threshold of passages, None shows whatever matches.
    Without `llm` the answer is a few sentences of the passages, verbatim, if they answer with a probability of at least
    `answer_from`; passages with a warning are not quoted. `on_text` is called with each piece of the answer once it is
    verified, `on_evidence` with each passage that is shown. Sentences that the passages they cite do not support are
    dropped; with `keep_unsupported` they stay, and their `support` says so.
    """
    corpora = open_for_question(corpus, question, llm)
    remote = find_remote(corpora, llm=llm, answer_from=answer_from, keep_unsupported=keep_unsupported or None)
    if remote is not None:  # one without documents counts as false
        return remote.ask(
            question,
            k=k,
            min_relevance=min_relevance,
            filter=filter,
            history=list_turns(memory),
            on_text=on_text,
            on_evidence=on_evidence,
        )
    prepared = prepare_question(
        corpora, question, k=k, min_relevance=min_relevance, filter=filter, memory=memory, extracts=llm is None
    )
    prepared.evidence.announce(on_evidence)
    stream = open_stream(prepared, on_text, keep_unsupported=keep_unsupported)
    reply = None
    if llm is not None and prepared.evidence.items:
        reply = request_reply(llm, prepared.build_messages(), (), stream)
    return conclude_answer(prepared, reply, stream, answer_from=answer_from)


def find_remote(corpora: Sequence[Corpus], **local: Any) -> RemoteCorpus | None:
    """The corpus whose service must answer, with its own model; `local` are options that only apply here."""
    remote = next((corpus for corpus in corpora if isinstance(corpus, RemoteCorpus)), None)
    if remote is None:
        return None
    if len(corpora) > 1:
        names = ", ".join(repr(each.name) for each in corpora)
        raise InputError(f"A corpus behind a service is asked alone, not one of {names}. Ask each of them.")
    if unsupported := [name for name, value in local.items() if value is not None]:
        raise InputError(f"The service of {remote.name!r} answers with its own model. Leave out {unsupported[0]}.")
    return remote


def list_turns(memory: Memory | None) -> list[tuple[str, str]]:
    """The earlier questions with their answers."""
    texts = [message["content"] for message in memory.history_messages()] if memory else []
    return list(zip(texts[::2], texts[1::2], strict=True))


def open_for_question(corpus: Searchable, question: str, llm: object) -> list[Corpus]:
    """Open the corpora of a question, which must be a text of limited length, for a language model or none."""
    if not isinstance(question, str):
        raise InputError(f"A question must be a string, not {type(question).__name__}.")
    if llm is not None and not (hasattr(llm, "complete") or hasattr(llm, "acomplete")):
        raise InputError(f"llm must be a language model, such as shortlist.OpenAIChat(url, model), not {llm!r}.")
    check_length(question, "question")
    return open_corpora(corpus, needs_vectors=True)


def prepare_question(
    corpora: Sequence[Corpus],
    question: str,
    *,
    k: int = K,
    min_relevance: MinRelevance = "auto",
    filter: Filter | None = None,
    memory: Memory | None = None,
    extracts: bool = False,
) -> PreparedQuestion:
    """Read all that an answer needs, from one state of each corpus; they are closed when this returns.

    With `extracts` the answer can be extracted, without a language model.
    """
    check_min_relevance(min_relevance)
    follow_up = memory.read_follow_up(question) if memory else NO_FOLLOW_UP
    evidence = EvidenceList(corpora)
    reason = "The question is empty."
    readings: list[Question] = []
    with open_query(list(corpora), question, "auto", k) as states:
        if question.strip():
            gathered = gather(states, question, k, min_relevance, filter, follow_up)
            evidence.add_hits(gathered.hits)
            reason = gathered.reason
            if extracts and evidence.items:
                readings = _read_questions(states, question, follow_up, evidence.items)
        analyzer = states[0].state.lexical.analyzer
    history = memory.history_messages() if memory else []
    return PreparedQuestion(question, list(corpora), evidence, reason, history, analyzer, readings)


def _read_questions(
    states: list[CorpusState], question: str, follow_up: FollowUp, evidence: Sequence[Evidence]
) -> list[Question]:
    """The question as weighted terms for the languages of the passages, alone and with the turn it may refer to."""
    lexical = [one.state.lexical for one in states]
    live = sum(one.live for one in lexical)

    def count_passages(terms: list[str]) -> dict[str, int]:
        counts = [one.frequency(terms) for one in lexical]
        return {term: sum(count[term] for count in counts) for term in counts[0]}

    texts = [question, *follow_up.complete]
    if follow_up.reference == "clear" and follow_up.complete:
        texts.remove(question)
    if follow_up.reference != "none" and follow_up.last_question:
        texts.append(f"{follow_up.last_question} {question}")
    passages: dict[str, str] = {ENGLISH: ""}
    for item in evidence:
        language = detect_language(item.text)
        passages[language] = f"{passages.get(language, '')}\n{item.name} {item.context} {item.text}"

    def read(text: str, language: str) -> Question:
        analyzer = lexical[0].analyzer.bind((language,))
        question = read_question(text, analyzer, count_passages, live, language)
        asked_in = detect_language(text, language)
        if asked_in == language or coverage(question, set(analyzer.terms(passages[language]))) >= SAME_LANGUAGE:
            return question
        return read_question(text, analyzer, count_passages, live, language, asked_in)

    return [replace(read(text, ENGLISH), readings={code: read(text, code) for code in passages}) for text in texts]


def open_stream(prepared: PreparedQuestion, on_text: OnText | None, *, keep_unsupported: bool) -> AnswerStream:
    """The stream that verifies the reply to a question, also while it is being written."""
    verifier = Verifier(prepared.evidence.citable, prepared.text, keep_unsupported=keep_unsupported)
    return AnswerStream(verifier, on_text)


@traced("complete", lambda reply: reply.usage)
def request_reply(llm: LLM, messages: Messages, tools: Messages, stream: AnswerStream) -> Reply:
    """Call a model, with streaming if the caller wants text and the model supports it.

    If a streamed reply breaks off, its complete and verified sentences are the reply; without any, it is an error.
    """
    check_canceled()
    if stream.on_text and isinstance(llm, StreamingLLM):
        try:
            return llm.stream(messages, stream.add, tools)
        except LLMError as error:
            return recover_reply(error, stream)
    return llm.complete(messages, tools) if tools else llm.complete(messages)


def recover_reply(error: LLMError, stream: AnswerStream) -> Reply:
    """The complete and verified sentences of a reply that broke off; without any, the error."""
    text = stream.complete_sentences()
    if not text:
        raise error
    return Reply(text, broke_off=str(error))


def conclude_answer(
    prepared: PreparedQuestion, reply: Reply | None, stream: AnswerStream, *, answer_from: float | None = None
) -> Answer:
    """The answer to a prepared question: a verified reply, an extract if there is none, or the refusal."""
    if not prepared.evidence.items:
        answer = refuse(prepared, prepared.reason, "gate")
    elif reply is None:
        answer = _extract_answer(prepared, stream, answer_from)
    else:
        answer = verify_answer(prepared, reply, stream, "llm", add_usage({}, reply))
    stream.finish(answer.text)
    return answer


def verify_answer(
    prepared: PreparedQuestion, reply: Reply, stream: AnswerStream, by: str, usage: dict[str, int]
) -> Answer:
    """The answer of a model: the sentences of its reply that can be verified, or the refusal."""
    verified = stream.verify(reply.text)
    return Answer(
        question=prepared.text,
        text=verified.text,
        sentences=verified.claims,
        evidence=prepared.evidence.items,
        refused=not verified.claims,
        reason=verified.reason,
        by=by,
        dropped=verified.dropped,
        usage=usage,
        broke_off=reply.broke_off,
        confidence=min((claim.confidence for claim in verified.claims), default=0.0),
    )


def refuse(prepared: PreparedQuestion, reason: str, by: str) -> Answer:
    """The refusal as an answer."""
    return Answer(prepared.text, REFUSAL, [], prepared.evidence.items, refused=True, reason=reason, by=by)


def _extract_answer(prepared: PreparedQuestion, stream: AnswerStream, answer_from: float | None) -> Answer:
    """An answer of verbatim sentences; a follow-up without one is read together with the question before it."""
    evidence = [item for item in prepared.evidence.items if not item.warning]
    if not evidence:
        reason = "All matching passages look like prompt injection, so none is quoted."
        return refuse(prepared, reason, "extract")
    found = Extract([], "")
    for question in prepared.readings:
        check_canceled()
        found = extract(question, evidence, prepared.analyzer, answer_from=answer_from, find_reader=find_reader)
        if found.sentences:
            break
    claims: list[Claim] = []
    span = None
    for one in found.sentences:
        if one.marked and span is None:
            start = sum(len(claim.text) + 1 for claim in claims)
            span = start + one.marked[0], start + one.marked[1]
        text = f"{one.text} {one.evidence.marker}"
        place = (len(text) - len(one.evidence.marker), len(text))
        cited = (cite(one.evidence, [one.span], [place]),)
        claims.append(Claim(text, cited, support="quoted", confidence=found.confidence))
    return Answer(
        question=prepared.text,
        text=" ".join(claim.text for claim in claims) or REFUSAL,
        sentences=claims,
        evidence=prepared.evidence.items,
        refused=not claims,
        reason=found.reason,
        by="extract",
        confidence=found.confidence if claims else 0.0,
        span=span,
    )

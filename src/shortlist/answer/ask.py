"""Answers to questions from the documents: cited claims, or the refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shortlist.answer.citations import Stream, in_round_brackets, verify
from shortlist.answer.evidence import K, Shown, gather
from shortlist.answer.extractive.extract import ANSWER_FROM, Candidate, Extract, extract
from shortlist.answer.llm import add_usage
from shortlist.answer.memory import Memory
from shortlist.answer.prompts import REFUSAL, messages
from shortlist.errors import InputError, LLMError
from shortlist.index.corpus import Corpus
from shortlist.library.opening import CorpusState, Searchable, open_corpora
from shortlist.protocols import LLM, Messages, Reply, StreamingLLM
from shortlist.results import Answer, Citation, Claim, Evidence
from shortlist.search.filters import Filter
from shortlist.search.retrieve import open_query

OnText = Callable[[str], None]
OnEvidence = Callable[[Evidence], None]


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
    answer_from: float = ANSWER_FROM,
) -> Answer:
    """Answer a question from a corpus alone: every claim cited, every citation verified, or the refusal.

    The `k` best passages that reach `threshold` (see `answer/evidence.py`) are shown to `llm`; if none does, it is not
    asked. Without one the answer is a few sentences of theirs, verbatim, if they answer with a probability of
    `answer_from`. `on_text` is called with each verified piece of the answer as soon as it is there, `on_evidence`
    with each passage that is shown.
    """
    corpora = opened(corpus, question)
    shown = Shown()
    if not question.strip():
        return tell(refusal(question, shown, "Nothing was asked.", "gate"), on_text)
    with open_query(corpora, question, "auto", k) as states:  # closed before the caller or a model is heard
        gathered = gather(states, question, k, threshold, filter, hint_of(memory))
        evidence = shown.add_hits(gathered.hits)
        if not evidence:
            answer = refusal(question, shown, gathered.reason, "gate")
        elif llm is None:
            answer = _extracted(states, question, evidence, memory, answer_from)
    if on_evidence:
        for item in shown.items:
            on_evidence(item)
    if llm is None or not evidence:
        return tell(answer, on_text)
    stream = Stream(evidence, on_text, question)
    history = memory.history_messages() if memory else ()
    reply = say(llm, messages(question, evidence, history), (), stream)
    answer = answered(question, reply, shown, "llm", add_usage({}, reply))
    stream.finish(answer.text)
    return answer


def opened(corpus: Searchable, question: str) -> list[Corpus]:
    if not isinstance(question, str):
        raise InputError(f"A question is a string, not {type(question).__name__}.")
    return open_corpora(corpus, needs_vectors=True)


def hint_of(memory: Memory | None) -> str:
    """What a question may refer to."""
    return memory.retrieval_hint() if memory else ""


def say(llm: LLM, talk: Messages, tools: Messages, stream: Stream) -> Reply:
    """Ask a model, and listen while it speaks where somebody wants to hear it.

    Of a reply that breaks off, the sentences that are complete and verified are kept; without any it is an error.
    """
    if stream.on_text and isinstance(llm, StreamingLLM):
        try:
            return llm.stream(talk, stream.hear, tools)
        except LLMError as error:
            text = stream.complete_sentences()
            if not text:
                raise
            return Reply(text, broke_off=str(error))
    return llm.complete(talk, tools) if tools else llm.complete(talk)


def answered(question: str, reply: Reply, shown: Shown, by: str, usage: dict[str, int]) -> Answer:
    """What is left of a reply when every citation and quote in it has been looked up in what was shown."""
    checked = verify(reply.text, shown.items, question)
    return Answer(
        question=question,
        text=checked.text,
        sentences=checked.claims,
        evidence=shown.items,
        refused=not checked.claims,
        reason=checked.reason,
        by=by,
        dropped=checked.dropped,
        usage=usage,
        broke_off=reply.broke_off,
    )


def refusal(question: str, shown: Shown, reason: str, by: str) -> Answer:
    return Answer(question, REFUSAL, [], shown.items, refused=True, reason=reason, by=by)


def tell(answer: Answer, on_text: OnText | None) -> Answer:
    if on_text:
        on_text(answer.text)
    return answer


def _extracted(
    states: Sequence[CorpusState], question: str, evidence: list[Evidence], memory: Memory | None, answer_from: float
) -> Answer:
    """The sentences that answer; a follow-up that alone says too little is read together with the question before."""
    found = _extract(states, question, evidence, answer_from)
    if not found.sentences and memory and memory.last_question:
        found = _extract(states, f"{memory.last_question} {question}", evidence, answer_from)
    claims = [_claim(one) for one in found.sentences]
    text = " ".join(claim.text for claim in claims) or REFUSAL
    return Answer(question, text, claims, evidence, refused=not claims, reason=found.reason, by="extract")


def _claim(one: Candidate) -> Claim:
    item = one.evidence
    citation = Citation(item.number, item.marker, item.source, item.locator, (one.span,))
    return Claim(f"{in_round_brackets(' '.join(one.text.split()))} {item.marker}", (citation,))


def _extract(states: Sequence[CorpusState], question: str, evidence: list[Evidence], answer_from: float) -> Extract:
    lexical = [one.state.lexical for one in states]

    def frequency(terms: list[str]) -> dict[str, int]:
        counts = [one.frequency(terms) for one in lexical]
        return {term: sum(count[term] for count in counts) for term in counts[0]}

    live = sum(one.live for one in lexical)
    return extract(question, evidence, lexical[0].analyzer, frequency, live, answer_from=answer_from)

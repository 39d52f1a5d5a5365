"""The commands that answer questions about the documents: ask, its former name query, and chat."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import shortlist
from shortlist._paths import data_dir, make_folder
from shortlist._projects import GLOBAL_INDEX, project_index, project_root
from shortlist._redact import redact
from shortlist.cli.command import command
from shortlist.cli.commands.ingest_command import index_options, load_settings
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import WholeNumber, split_names
from shortlist.cli.output import ABSTAINED, OK, Output, write
from shortlist.cli.shared_options import combine, complete_corpus, corpus_option, relevance_option
from shortlist.errors import CorpusNotFound, LLMError, ShortlistError

with lazy_imports():
    from shortlist.answer import citations
    from shortlist.cli import confirming, corpora
    from shortlist.cli.terminal import answers
    from shortlist.client import addresses
    from shortlist.index import location
    from shortlist.server import llm_settings

if TYPE_CHECKING:
    from shortlist._settings import Answers
    from shortlist.answer.llm import OpenAIChat
    from shortlist.cli.terminal.screen import Screen
    from shortlist.index.corpus import Corpus
    from shortlist.results import Answer

HISTORY_LINES = 1000
WAITING = "Reading the documents ..."
EXCLUSIVE = [("--agent", "--extractive"), ("--corpus", "--index-dir", "--global")]


@dataclass(frozen=True)
class AnswerOptions:
    """What the commands that answer have in common."""

    agent: bool
    extractive: bool
    corpus: tuple[str, ...]
    top_k: int | None
    min_relevance: str | None
    agent_max_steps: int | None
    index_dir: str | None
    shared: bool

    def load_settings(self, **others: float | None) -> Answers:
        return load_settings(
            top_k=self.top_k, min_relevance=self.min_relevance, agent_max_steps=self.agent_max_steps, **others
        )


def answer_options(function: Callable[..., int | None]) -> Any:
    """Add the options of `AnswerOptions`, which the function takes as `options`."""

    @functools.wraps(function)
    def call(out: Output, **given: Any) -> int | None:
        options = AnswerOptions(**{field.name: given.pop(field.name) for field in fields(AnswerOptions)})
        return function(out, options=options, **given)

    return _add_options(call)


_add_options = combine(
    click.option("--agent", is_flag=True, help="Let the model search further with tools before it answers."),
    click.option("--extractive", is_flag=True, help="Answer with sentences of the documents, without a model."),
    corpus_option("Corpus to ask instead of the index; separate several with commas."),
    click.option(
        "--top-k",
        "-k",
        metavar="N",
        type=WholeNumber(min=1),
        help="Maximum number of passages to show to the model (default: 4).",
    ),
    relevance_option(
        "--threshold",
        str,
        help="Lowest relevance of a passage to the question: a number from 0 to 1, auto (the calibrated or built-in "
        "threshold) or none (whatever matches) (default: auto).",
    ),
    click.option(
        "--agent-max-steps",
        metavar="N",
        type=WholeNumber(min=1),
        help="Maximum number of replies before an agent must answer (default: 5).",
    ),
    index_options,
)


@command(
    examples=[
        'shortlist ask "Who founded the company?"',
        'shortlist ask docs "How many failed checkouts were there?" --evidence',
    ],
    exclusive=EXCLUSIVE,
)
@click.argument("words", nargs=-1, required=True, metavar="[CORPUS] QUESTION...", shell_complete=complete_corpus)
@click.option("--evidence", is_flag=True, help="Also list the retrieved passages that the answer does not cite.")
@answer_options
def ask(out: Output, words: Sequence[str], evidence: bool, options: AnswerOptions) -> int:
    """Answer one question from the documents, with citations, or refuse if they do not contain the answer. The first
    word may be a corpus to ask instead of the index."""
    if not (options.corpus or options.index_dir or options.shared):
        corpus, words = _split_corpus(words)
        options = replace(options, corpus=corpus)
    talk, used = _start_chat(out, options, options.load_settings())
    with _offering_extracts(talk):
        answer = _stream_answer(out, talk, " ".join(words))
    _show(out, answer, used, is_short=True, show_others=evidence)
    return ABSTAINED if answer.refused else OK


@command(examples=['shortlist query "Who founded the company?"'], exclusive=EXCLUSIVE)
@click.argument("question", nargs=-1, required=True, metavar="QUESTION...")
@answer_options
def query(out: Output, question: Sequence[str], options: AnswerOptions) -> int:
    """The former name of ask. It cites passages by their locators and lists all of them, for scripts that read it."""
    talk, used = _start_chat(out, options, options.load_settings())
    with _offering_extracts(talk), out.waiting(WAITING):
        answer = talk.ask(" ".join(question))
    if not (out.as_json or out.quiet or sys.stdout.isatty()):
        write(f"{answer.text}\n")
    _show(out, answer, used)
    return ABSTAINED if answer.refused else OK


@command(examples=["shortlist chat --index-dir .index --memory-window-turns 3"], exclusive=EXCLUSIVE)
@click.option(
    "--memory-window-turns",
    metavar="N",
    type=WholeNumber(min=0),
    help="Number of turns to remember (default: 5).",
)
@answer_options
def chat(out: Output, memory_window_turns: int | None, options: AnswerOptions) -> None:
    """Answer one question after another. Enter /reset to start a new conversation, and /exit or Ctrl-D to end it."""
    if out.as_json:
        raise click.UsageError("chat cannot be combined with --json. Use ask --json instead.")
    talk, _ = _start_chat(out, options, options.load_settings(memory_window_turns=memory_window_turns))
    if not sys.stdin.isatty():
        _converse(out, talk, sys.stdin)
        return
    out.note("Enter /reset to start a new conversation, /exit to end it.")
    with _line_editing():
        _converse(out, talk, _read_lines())


def _converse(out: Output, talk: shortlist.Chat, lines: Iterable[str]) -> None:
    for line in map(str.strip, lines):
        if line in ("/exit", "/quit"):
            return
        if line == "/reset":
            talk.reset()
            out.note("Started a new conversation.")
        elif line.startswith("/"):
            out.note(f"{line.split()[0]} is not a command. Use /reset, /exit or /quit.")
        elif line:
            _answer(out, talk, line)


def _split_corpus(words: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
    """The corpora that the first word names, if it does, and the question.

    A word before a question in quotation marks is a name, too, so that a typo in it is reported.
    """
    names = split_names(words[:1])
    if len(words) == 1 and names and all(map(corpora.is_known, names)):
        example = f"shortlist ask {shlex.quote(words[0])} 'Who founded the company?'"
        raise click.UsageError(f"The question is missing. Example: {example}")
    is_quoted = len(words) == 2 and " " not in words[0].strip() and " " in words[1].strip()
    if len(words) > 1 and names and (is_quoted or all(map(corpora.is_known, names))):
        return names, words[1:]
    return (), words


def _answer(out: Output, talk: shortlist.Chat, question: str) -> None:
    """Print the answer while it is written. Ctrl-C ends the answer and not the chat."""
    is_short = sys.stdout.isatty()
    try:
        with _offering_extracts(talk):
            answer = _stream_answer(out, talk, question, is_short=is_short)
    except (KeyboardInterrupt, ShortlistError) as error:
        write("\n")
        out.note(f"shortlist: {error}" if isinstance(error, ShortlistError) else "Stopped.")
        return
    _show(out, answer, {}, is_short=is_short)


def _stream_answer(out: Output, talk: shortlist.Chat, question: str, *, is_short: bool = True) -> Answer:
    """Ask, and print each sentence of the answer once it is verified; before the first one, show that it takes time."""
    numbers = citations.CitationNumbers()
    if out.as_json or out.quiet:
        with out.waiting(WAITING):
            return talk.ask(question)
    with ExitStack() as stack:
        stop_waiting = stack.enter_context(out.waiting(WAITING))
        written: list[Callable[[str], None]] = []

        def show(piece: str) -> None:
            if not written:
                stop_waiting()
                written.append(stack.enter_context(out.stream()))
            written[0](numbers.shorten(piece) if is_short else piece)

        answer = talk.ask(question, show, numbers.add)
    if not sys.stdout.isatty():
        write("\n")
    if answer.broke_off:
        out.warn(f"The answer is incomplete: {answer.broke_off}")
    return answer


@contextmanager
def _offering_extracts(talk: shortlist.Chat) -> Iterator[None]:
    """Add to the error of a language model that the documents can answer without one."""
    try:
        yield
    except LLMError as error:
        if talk.llm is None:  # a service chooses its model
            raise
        raise LLMError(f"{error} To answer without a language model, add --extractive.") from error


def _show(
    out: Output, answer: Answer, used: Mapping[str, str], *, is_short: bool = False, show_others: bool = False
) -> None:
    """Show an answer, and in JSON the model; its text is already written if stdout is not a terminal."""
    is_written = not (out.as_json or out.quiet or sys.stdout.isatty())

    def draw(screen: Screen) -> None:
        if not is_written:
            answers.show_text(screen, citations.number_citations(answer) if is_short else answer)
        if is_short:
            answers.show_cited(screen, answer, show_others=show_others)
        else:
            answers.show_sources(screen, answer)

    out.show(answer.to_dict() | {"llm": dict(used)}, draw, [answer.text], is_text=True)


def _read_lines() -> Iterator[str]:
    """Lines from the terminal until Ctrl-D. Ctrl-C drops a line."""
    while True:
        try:
            yield input("> ")
        except (KeyboardInterrupt, EOFError) as error:
            write("\n")
            if isinstance(error, EOFError):
                return


@contextmanager
def _line_editing() -> Iterator[None]:
    """Line editing with a stored history, if the system has readline."""
    try:
        import readline  # noqa: PLC0415  # not on every system
    except ImportError:
        yield
        return
    file = data_dir() / "chat_history"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(HISTORY_LINES)
    try:
        yield
    finally:
        with suppress(OSError):
            make_folder(file.parent)
            readline.write_history_file(file)


def _start_chat(out: Output, options: AnswerOptions, settings: Answers) -> tuple[shortlist.Chat, dict[str, str]]:
    """A conversation, and which language model it uses or why none."""
    limits: dict[str, Any] = {"k": settings.top_k, "min_relevance": settings.min_relevance}
    limits |= {"max_steps": settings.agent_max_steps} if options.agent else {}
    is_remote = any(map(addresses.is_service_address, options.corpus))
    if is_remote and options.extractive:
        raise click.UsageError("--extractive cannot be used with a corpus behind a service, which chooses its model.")
    if options.extractive or is_remote:
        llm, used = None, {"reason": "The service answers." if is_remote else "--extractive"}
    else:
        llm, used = _connect(out, options.agent)
    index_dir = options.index_dir or (None if options.shared else settings.index_dir)
    asked = _find_corpora(out, index_dir, options.shared, options.corpus)
    talk = shortlist.Chat(asked, llm, agent=options.agent, window_turns=settings.memory_window_turns, **limits)
    return talk, used


def _connect(out: Output, agent: bool) -> tuple[OpenAIChat | None, dict[str, str]]:
    """The language model, and what the answer says about it: its name and address, or why there is none."""
    confirming.ask_to_confirm(out, [llm_settings.choose_llm().request])
    chosen = llm_settings.load_llm_settings()
    llm = llm_settings.connect(chosen.llm)
    if llm:
        url = redact(llm.url)
        out.note(f"Language model: {llm.model}. Questions and passages are sent to {url} ({chosen.origin}).")
        llm.on_wait = lambda message: out.note(f"shortlist: {message}")
        return llm, {"model": llm.model, "url": url}
    if agent:
        variables = "SHORTLIST_LLM_URL, SHORTLIST_LLM_MODEL and, if needed, SHORTLIST_LLM_KEY"
        advice = str(chosen.request or f"Set {variables} in the environment or in .env.")
        raise click.UsageError(f"--agent needs a language model. {advice}")
    reason = (
        "None is configured in the environment, .env or settings.yaml of this project. Set one with: "
        "shortlist config llm"
    )
    if chosen.request:
        reason = str(chosen.request)
    elif variable := llm_settings.find_ignored_variable(chosen.llm):
        reason = f"{variable} is set, but neither SHORTLIST_LLM_MODEL nor OPENAI_MODEL is."
    (out.warn if chosen.request else out.note)(f"No language model is used: {reason}")
    return None, {"reason": reason}


def _find_corpora(out: Output, index_dir: str | None, shared: bool, names: tuple[str, ...]) -> tuple[Corpus, ...]:
    """The corpora to ask: those named, the index in a folder, the shared one, or that of this project."""
    if names:
        return corpora.open_corpora(out, names)
    learning = corpora.find_learning()
    try:
        name = GLOBAL_INDEX if shared else project_index()
        place = Path(index_dir).expanduser() if index_dir else name
        return (shortlist.open_corpus(place, learning=learning),)
    except CorpusNotFound:
        index = index_dir or ("the shared index" if shared else f"the index of the project {project_root()}")
        option = f" --index-dir {index_dir}" if index_dir else " --global" * shared
        has_shared = not index_dir and not shared and location.find_corpus_file(GLOBAL_INDEX)
        hint = ". To use the index that all projects share, add --global." if has_shared else ""
        raise CorpusNotFound(f"Nothing is in {index} yet. Run: shortlist ingest PATH...{option}{hint}") from None

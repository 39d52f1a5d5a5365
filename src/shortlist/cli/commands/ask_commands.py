"""The commands that ingest files and answer questions about them."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

import shortlist
from shortlist._paths import data_dir
from shortlist._settings import Answers
from shortlist.answer.llm import OpenAIChat
from shortlist.cli import options
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output, command, write
from shortlist.errors import CorpusNotFound, InputError, ShortlistError
from shortlist.index.corpus import Corpus
from shortlist.index.location import find_corpus_file
from shortlist.library.ingest import Ingested
from shortlist.server.llm_settings import connect, find_ignored_variable, load_llm_settings
from shortlist.server.service_settings import load_answer_settings
from shortlist.sources.folder import count_files
from shortlist.sources.projects import GLOBAL_INDEX, project_index, project_root

PROMPT = "> "
EXITS = ("/exit", "/quit")
REMEMBERED_LINES = 1000

index_options = options.combine(
    click.option("--index-dir", metavar="PATH", help="Folder of the index, instead of that of this project."),
    options.flag("--global", "shared", help="Use the index that all projects share, not that of this project."),
)
answer_options = options.combine(
    options.flag("--agent", help="Let the model search further with tools before it answers."),
    options.flag("--extractive", help="Answer with sentences of the documents; use no model."),
    index_options,
    options.repeatable("--corpus", "-c", metavar="NAME", help="Corpus to ask instead of what was ingested."),
    options.count("-k", "--top-k", help="Maximum number of passages to show to the model."),
    click.option(
        "--threshold", type=float, metavar="X", help="Minimum similarity of a passage to the question, 0 to 1."
    ),
    options.count("--agent-max-steps", help="Maximum number of replies before an agent must answer."),
)


@command
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@index_options
@click.option("--embedder", metavar="MODEL", help="Model of a new index, as for build.")
@click.option("--engine", metavar="URL", help="Cluster to store a new index in, as for build.")
@click.option("--chunk-size", type=int, help="Characters of a chunk; a new value chunks the whole index again.")
@click.option("--chunk-overlap", type=int, help="Characters that a chunk shares with the one before it.")
def ingest(
    out: Output,
    paths: Sequence[str],
    index_dir: str | None,
    shared: bool,
    embedder: str | None,
    engine: str | None,
    **chunks: Any,
) -> int:
    if shared and index_dir:
        raise click.UsageError("--global cannot be combined with --index-dir.")
    chunks = _load_settings(chunks).model_dump(include={"chunk_size", "chunk_overlap"}, exclude_unset=True)
    began = time.perf_counter()
    with out.progress("ingesting files") as bar:
        total = sum(count_files(Path(path).expanduser()) for path in paths) if bar else 0

        def report(done: Ingested) -> None:
            rate = done.chunks / max(time.perf_counter() - began, 0.001)
            note = f" · {done.pages:,} pages · {done.chunks:,} chunks, {rate:,.0f} a second"
            bar(done.files, total, note) if bar else None

        name = GLOBAL_INDEX if shared else None
        corpus, done = shortlist.ingest(
            paths, name, path=index_dir, embedder=embedder, engine=engine, progress=report, **chunks
        )
    seconds = round(time.perf_counter() - began, 3)
    data = {"corpus": corpus.name, "index": str(corpus.path), "seconds": seconds, **done.to_dict()}
    data |= {key: corpus.info()[key] for key in ("documents", "passages")}
    corpus.close()
    out.show(data, lambda screen: screen.show_ingested(data), [str(data["index"])])
    out.report_problems(done.failed)
    return ERROR if done.failed and not data["documents"] else OK


@command
@click.argument("question", nargs=-1, required=True, metavar="QUESTION")
@answer_options
def query(out: Output, question: Sequence[str], agent: bool, **given: Any) -> int:
    corpora, llm, _, limits = _prepare(out, agent, **given)
    ask: Any = shortlist.agent_ask if agent else shortlist.ask
    answer = ask(corpora, " ".join(question), llm, **limits)
    out.show(answer.to_dict(), lambda screen: screen.show_answer(answer), [answer.text])
    return ABSTAINED if answer.refused else OK


@command
@answer_options
@options.count("--memory-window-turns", least=0, help="Number of turns to remember.")
def chat(out: Output, agent: bool, **given: Any) -> None:
    if out.as_json:
        raise click.UsageError("A chat has no end, and --json prints one document: ask with query --json instead.")
    corpora, llm, settings, limits = _prepare(out, agent, **given)
    talk = shortlist.Chat(corpora, llm, agent=agent, window_turns=settings.memory_window_turns, **limits)
    if not sys.stdin.isatty():
        _converse(out, talk)
        return
    who = f"{llm.model} at {llm.url}" if llm else "sentences of the documents, since no language model is set up"
    out.note(f"Answers by {who}. /reset forgets what was said, /exit ends.")
    with _line_editing():
        _converse(out, talk)


def _converse(out: Output, talk: shortlist.Chat) -> None:
    while (line := _read_line()) is not None and line not in EXITS:
        if line == "/reset":
            talk.reset()
            out.note("Forgotten.")
        elif line.startswith("/"):
            out.note(f"There is no {line.split()[0]} here: /reset, /exit and /quit are known.")
        elif line:
            _answer(out, talk, line)


def _answer(out: Output, talk: shortlist.Chat, question: str) -> None:
    """Answer one question as the answer comes. Ctrl-C ends the answer and not the chat."""
    try:
        answer = talk.ask(question, _WrappedWriter())
    except (KeyboardInterrupt, ShortlistError) as error:
        write("\n")
        out.note(f"shortlist: {error}" if isinstance(error, ShortlistError) else "Stopped.")
        return
    write("\n")
    if answer.broke_off:
        out.warn(f"The answer broke off: {answer.broke_off}")
    if not out.quiet:
        out.show({}, lambda screen: screen.show_sources(answer))


class _WrappedWriter:
    """Writes text as it comes; in a terminal, lines break between words."""

    def __init__(self) -> None:
        self._width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        self._column = 0

    def __call__(self, text: str) -> None:
        for part in re.findall(r"\n|[^\S\n]+|\S+", text):
            if self._width and not part.isspace() and 0 < self._column > self._width - len(part):
                write("\n")
                self._column = 0
            if part == "\n" or not part.isspace() or self._column:
                write(part)
                self._column = 0 if part == "\n" else self._column + len(part)


def _read_line() -> str | None:
    """The next line, or None at the end. Ctrl-C in a terminal drops the line."""
    is_terminal = sys.stdin.isatty()
    while True:
        try:
            return input(PROMPT if is_terminal else "").strip()
        except (EOFError, KeyboardInterrupt) as error:
            if is_terminal:
                write("\n")
            elif isinstance(error, KeyboardInterrupt):
                raise
            if isinstance(error, EOFError):
                return None


@contextmanager
def _line_editing() -> Iterator[None]:
    """Line editing, with a history that survives the process, where the system has it."""
    try:
        import readline  # noqa: PLC0415  # not on every system
    except ImportError:
        yield
        return
    file = data_dir() / "chat_history"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(REMEMBERED_LINES)
    try:
        yield
    finally:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)


def _load_settings(given: dict[str, Any]) -> Answers:
    """The settings of answers in force; options come first."""
    try:
        return load_answer_settings(given)
    except InputError as error:
        raise (click.UsageError(str(error)) if str(error).startswith("--") else error) from None


def _prepare(
    out: Output, agent: bool, extractive: bool, index_dir: str | None, shared: bool, corpus: Sequence[str], **given: Any
) -> tuple[list[Corpus], OpenAIChat | None, Answers, dict[str, Any]]:
    """The corpora to ask, the language model, the settings, and the limits of an answer."""
    settings = _load_settings(given)
    limits = {"k": settings.top_k, "threshold": settings.threshold}
    limits |= {"max_steps": settings.agent_max_steps} if agent else {}
    llm = _connect(out, agent, extractive)
    return _find_corpora(out, index_dir, shared, corpus), llm, settings, limits


def _connect(out: Output, agent: bool, extractive: bool) -> OpenAIChat | None:
    if agent and extractive:
        raise click.UsageError("--agent needs a language model, and --extractive asks none: leave one of them out.")
    if extractive:
        return None
    settings = load_llm_settings()
    llm = connect(settings)
    if agent and llm is None:
        raise click.UsageError(
            "--agent needs a language model: set SHORTLIST_LLM_URL and SHORTLIST_LLM_MODEL (and _KEY), here or in .env."
        )
    if llm is None and (variable := find_ignored_variable(settings)):
        out.note(f"No model is asked: {variable} is set, but SHORTLIST_LLM_MODEL (or OPENAI_MODEL) does not name one.")
    if llm is not None:
        llm.on_wait = lambda message: out.note(f"shortlist: {message}")
    return llm


def _find_corpora(out: Output, index_dir: str | None, shared: bool, names: Sequence[str]) -> list[Corpus]:
    """The corpora to ask: those named, the index in a folder, the shared one, or that of this project."""
    if sum(map(bool, (names, index_dir, shared))) > 1:
        raise click.UsageError("Give only one of --corpus, --index-dir and --global.")
    if names:
        return options.open_corpora(out, options.split_names(names))
    try:
        name = GLOBAL_INDEX if shared else project_index()
        return [shortlist.open_corpus(Path(index_dir).expanduser() if index_dir else name)]
    except CorpusNotFound:
        where = index_dir or ("the shared index" if shared else f"the project {project_root()}")
        how = f" --index-dir {index_dir}" if index_dir else " --global" * shared
        has_shared = not index_dir and not shared and find_corpus_file(GLOBAL_INDEX)
        hint = " There is an index that all projects share: --global uses it." if has_shared else ""
        raise CorpusNotFound(f"Nothing was ingested in {where} yet. Run: shortlist ingest PATH...{how}{hint}") from None

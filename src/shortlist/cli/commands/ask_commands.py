"""The commands that ingest files and answer questions about them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

import shortlist
from shortlist._paths import data_dir, make_folder
from shortlist._projects import GLOBAL_INDEX, project_index, project_root
from shortlist._redact import redact
from shortlist._settings import Answers
from shortlist.answer.llm import OpenAIChat
from shortlist.cli.confirming import ask_to_confirm
from shortlist.cli.corpora import find_learning, open_corpora
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output, write
from shortlist.client.addresses import is_service_address
from shortlist.errors import CorpusNotFound, InputError, ShortlistError
from shortlist.index.corpus import Corpus
from shortlist.index.location import find_corpus_file
from shortlist.library.ingest import Ingested
from shortlist.results import Answer
from shortlist.server.llm_settings import choose_llm, connect, find_ignored_variable, load_llm_settings
from shortlist.server.service_settings import load_answer_settings
from shortlist.sources.folder import count_files

HISTORY_LINES = 1000


def ingest(
    out: Output, paths: Sequence[str], index_dir: str | None, shared: bool, embedder: Any, engine: Any, **chunks: Any
) -> int:
    settings = _load_settings(chunks)
    index_dir = index_dir or (None if shared else settings.index_dir)
    chunks = settings.model_dump(include={"chunk_size", "chunk_overlap"}, exclude_unset=True)
    began = time.perf_counter()
    with out.progress("ingesting files") as bar:
        total = sum(count_files(Path(path).expanduser()) for path in paths) if bar else 0

        def report(done: Ingested) -> None:
            rate = done.chunks / max(time.perf_counter() - began, 0.001)
            note = f" · {done.pages:,} pages · {done.chunks:,} chunks, {rate:,.0f} per second"
            bar(done.files, total, note) if bar else None

        chunks |= {"path": index_dir, "embedder": embedder, "engine": engine, "on_counts": report}
        chunks |= {"default_embedder": settings.embedder} if settings.embedder else {}
        corpus, done = shortlist.ingest(paths, GLOBAL_INDEX if shared else None, **chunks)
    seconds = round(time.perf_counter() - began, 3)
    data = {"corpus": corpus.name, "index": str(corpus.path), "seconds": seconds, **done.to_dict()}
    data |= {key: corpus.info()[key] for key in ("documents", "passages")}
    corpus.close()
    out.show(data, lambda screen: screen.show_ingested(data), [str(data["index"])])
    out.report_problems(done.failed)
    return ERROR if done.failed and not data["documents"] else OK


def query(out: Output, question: Sequence[str], agent: bool, **given: Any) -> int:
    talk, used = _start_chat(out, agent, **given)
    answer = talk.ask(" ".join(question))
    if not (out.as_json or sys.stdout.isatty()):
        write(f"{answer.text}\n")
    _show(out, answer, used)
    return ABSTAINED if answer.refused else OK


def chat(out: Output, agent: bool, **given: Any) -> None:
    if out.as_json:
        raise click.UsageError("chat cannot be combined with --json. Use query --json instead.")
    talk, _ = _start_chat(out, agent, **given)
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


def _answer(out: Output, talk: shortlist.Chat, question: str) -> None:
    """Print the answer while it is written. Ctrl-C ends the answer and not the chat."""
    try:
        with out.stream() as on_text:
            answer = talk.ask(question, on_text)
    except (KeyboardInterrupt, ShortlistError) as error:
        write("\n")
        out.note(f"shortlist: {error}" if isinstance(error, ShortlistError) else "Stopped.")
        return
    if not sys.stdout.isatty():
        write("\n")
    if answer.broke_off:
        out.warn(f"The answer is incomplete: {answer.broke_off}")
    _show(out, answer, {})


def _show(out: Output, answer: Answer, used: Mapping[str, str]) -> None:
    """Show an answer, and in JSON the model; its text is already written if stdout is not a terminal."""
    is_shown = not (out.as_json or sys.stdout.isatty())
    out.show(
        answer.to_dict() | {"llm": dict(used)},
        lambda screen: screen.show_sources(answer) if is_shown else screen.show_answer(answer),
        [] if is_shown else [answer.text],
        is_text=True,
    )


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


def _load_settings(given: dict[str, Any]) -> Answers:
    """The settings of answers in force; options come first."""
    try:
        return load_answer_settings(given)
    except InputError as error:
        raise (click.UsageError(str(error)) if str(error).startswith("--") else error) from None


def _start_chat(
    out: Output, agent: bool, extractive: bool, index_dir: str | None, shared: bool, corpus: Sequence[str], **given: Any
) -> tuple[shortlist.Chat, dict[str, str]]:
    """A conversation, and which language model it uses or why none."""
    settings = _load_settings(given)
    limits: dict[str, Any] = {"k": settings.top_k, "threshold": settings.threshold}
    limits |= {"max_steps": settings.agent_max_steps} if agent else {}
    index_dir = index_dir or (None if shared else settings.index_dir)
    is_remote = any(map(is_service_address, corpus))
    if is_remote and extractive:
        raise click.UsageError("--extractive cannot be used with a corpus behind a service, which chooses its model.")
    if extractive or is_remote:
        llm, used = None, {"reason": "The service answers." if is_remote else "--extractive"}
    else:
        llm, used = _connect(out, agent)
    corpora, turns = _find_corpora(out, index_dir, shared, corpus), settings.memory_window_turns
    return shortlist.Chat(corpora, llm, agent=agent, window_turns=turns, **limits), used


def _connect(out: Output, agent: bool) -> tuple[OpenAIChat | None, dict[str, str]]:
    """The language model, and what the answer says about it: its name and address, or why there is none."""
    ask_to_confirm(out, [choose_llm().request])
    chosen = load_llm_settings()
    llm = connect(chosen.llm)
    if llm:
        url = redact(llm.url)
        out.note(f"Language model: {llm.model}. Questions and passages are sent to {url} ({chosen.origin}).")
        llm.on_wait = lambda message: out.note(f"shortlist: {message}")
        return llm, {"model": llm.model, "url": url}
    if agent:
        variables = "SHORTLIST_LLM_URL, SHORTLIST_LLM_MODEL and, if needed, SHORTLIST_LLM_KEY"
        advice = str(chosen.request or f"Set {variables} in the environment or in .env.")
        raise click.UsageError(f"--agent needs a language model. {advice}")
    reason = "None is configured in the environment, .env or settings.yaml of this project."
    if chosen.request:
        reason = str(chosen.request)
    elif variable := find_ignored_variable(chosen.llm):
        reason = f"{variable} is set, but neither SHORTLIST_LLM_MODEL nor OPENAI_MODEL is."
    (out.warn if chosen.request else out.note)(f"No language model is used: {reason}")
    return None, {"reason": reason}


def _find_corpora(out: Output, index_dir: str | None, shared: bool, names: Sequence[str]) -> list[Corpus]:
    """The corpora to ask: those named, the index in a folder, the shared one, or that of this project."""
    if names:
        return open_corpora(out, names)
    learning = find_learning()
    try:
        name = GLOBAL_INDEX if shared else project_index()
        return [shortlist.open_corpus(Path(index_dir).expanduser() if index_dir else name, learning=learning)]
    except CorpusNotFound:
        index = index_dir or ("the shared index" if shared else f"the index of the project {project_root()}")
        option = f" --index-dir {index_dir}" if index_dir else " --global" * shared
        has_shared = not index_dir and not shared and find_corpus_file(GLOBAL_INDEX)
        hint = ". To use the index that all projects share, add --global." if has_shared else ""
        raise CorpusNotFound(f"Nothing is in {index} yet. Run: shortlist ingest PATH...{option}{hint}") from None

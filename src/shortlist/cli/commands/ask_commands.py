"""What do the documents say? The commands that take files in and answer questions about them."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shortlist.cli.corpus_arguments import names_in, opened
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output, WrongUsage, write
from shortlist.errors import CorpusNotFound, InputError, ShortlistError

if TYPE_CHECKING:
    from shortlist._settings import Answers
    from shortlist.answer.chat import Chat
    from shortlist.answer.llm import OpenAIChat
    from shortlist.index.corpus import Corpus
    from shortlist.results import Answer

IndexDir = Annotated[
    str | None, option("--index-dir", help="Folder of the index, instead of that of this project.", metavar="PATH")
]
Shared = Annotated[bool, option("--global", help="Use the index that all projects share, not that of this project.")]
Agent = Annotated[bool, option("--agent", help="Let the model look further with tools before it answers.")]
Extractive = Annotated[bool, option("--extractive", help="Answer with sentences of the documents; ask no model.")]
Corpora = Annotated[
    list[str] | None,
    option("--corpus", "-c", help="A corpus to ask instead of what was ingested; repeat it.", metavar="NAME"),
]
TopK = Annotated[int | None, option("-k", "--top-k", help="Maximum number of passages to show to the model.", least=1)]
Threshold = Annotated[
    float | None, option("--threshold", help="Least similarity of a passage to the question, 0 to 1.", metavar="X")
]
Steps = Annotated[
    int | None, option("--agent-max-steps", help="Maximum number of replies before an agent must answer.", least=1)
]

PROMPT = "> "
EXITS = ("/exit", "/quit")
REMEMBERED_LINES = 1000


def ingest(
    out: Output,
    paths: Annotated[list[str], Argument(metavar="PATH...")],
    index_dir: IndexDir = None,
    shared: Shared = False,
    embedder: Annotated[
        str | None, option("--embedder", help="The model of a new index, as build takes it.", metavar="MODEL")
    ] = None,
    engine: Annotated[
        str | None, option("--engine", help="The cluster to keep a new index in, as build takes it.", metavar="URL")
    ] = None,
    chunk_size: Annotated[
        int | None, option("--chunk-size", help="Characters of a chunk; another one chunks the whole index again.")
    ] = None,
    chunk_overlap: Annotated[
        int | None, option("--chunk-overlap", help="Characters that a chunk shares with the one before it.")
    ] = None,
) -> int:
    """Take files and folders into the index: what is new or changed is read, what is gone is removed."""
    from shortlist.library.ingest import ingest as take_in
    from shortlist.sources.projects import GLOBAL_INDEX

    if shared and index_dir:
        raise WrongUsage("--global cannot be combined with --index-dir.")
    name = GLOBAL_INDEX if shared else None
    chunks = _settings({"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}).model_dump(
        include={"chunk_size", "chunk_overlap"}, exclude_unset=True
    )
    began = time.perf_counter()
    with out.rates("ingesting", paths) as progress:
        corpus, done = take_in(
            paths, name, path=index_dir, embedder=embedder, engine=engine, progress=progress, **chunks
        )
    seconds = round(time.perf_counter() - began, 3)
    data = {"corpus": corpus.name, "index": str(corpus.path), "seconds": seconds, **done.to_dict()}
    data |= {key: corpus.info()[key] for key in ("documents", "passages")}
    corpus.close()
    out.show(data, lambda screen: screen.ingested(data), [str(data["index"])])
    out.problems(done.failed)
    return ERROR if done.failed and not data["documents"] else OK


def query(
    out: Output,
    question: Annotated[list[str], Argument(metavar="QUESTION")],
    agent: Agent = False,
    extractive: Extractive = False,
    index_dir: IndexDir = None,
    shared: Shared = False,
    corpus: Corpora = None,
    k: TopK = None,
    threshold: Threshold = None,
    agent_max_steps: Steps = None,
) -> int:
    """Answer one question from the documents alone, with citations, or say that they do not tell."""
    from shortlist.answer.agent import agent_ask
    from shortlist.answer.ask import ask

    options = _settings({"top_k": k, "threshold": threshold, "agent_max_steps": agent_max_steps})
    llm = _model(out, agent, extractive)
    corpora = _corpora(out, index_dir, shared, corpus)
    asked = " ".join(question)
    shown: dict[str, Any] = {"k": options.top_k, "threshold": options.threshold}
    if agent and llm:
        answer = agent_ask(corpora, asked, llm, **shown, max_steps=options.agent_max_steps)
    else:
        answer = ask(corpora, asked, llm, **shown)
    out.show(answer.to_dict(), lambda screen: screen.answer(answer), [answer.text])
    return ABSTAINED if answer.refused else OK


def chat(
    out: Output,
    agent: Agent = False,
    extractive: Extractive = False,
    index_dir: IndexDir = None,
    shared: Shared = False,
    corpus: Corpora = None,
    k: TopK = None,
    threshold: Threshold = None,
    memory_window_turns: Annotated[
        int | None, option("--memory-window-turns", help="Number of turns that are remembered.", least=0)
    ] = None,
    agent_max_steps: Steps = None,
) -> int:
    """Ask one question after another; /reset forgets what was said, /exit or Ctrl-D ends it."""
    from shortlist.answer.chat import Chat

    if out.as_json:
        raise WrongUsage("A chat has no end, and --json prints one document: ask with query --json instead.")
    options = _settings({
        "top_k": k, "threshold": threshold, "memory_window_turns": memory_window_turns,
        "agent_max_steps": agent_max_steps,
    })  # fmt: skip
    llm = _model(out, agent, extractive)
    more = {"max_steps": options.agent_max_steps} if agent else {}
    talk = Chat(
        _corpora(out, index_dir, shared, corpus),
        llm,
        agent=agent,
        window_turns=options.memory_window_turns,
        k=options.top_k,
        threshold=options.threshold,
        **more,
    )
    if not sys.stdin.isatty():
        return _converse(out, talk)
    who = f"{llm.model} at {llm.url}" if llm else "sentences of the documents, since no language model is set up"
    out.note(f"Answers by {who}. /reset forgets what was said, /exit ends.")
    with _line_editing():
        return _converse(out, talk)


def _converse(out: Output, talk: Chat) -> int:
    while (line := _line()) is not None:
        if line in EXITS:
            break
        if line == "/reset":
            talk.reset()
            out.note("Forgotten.")
        elif line.startswith("/"):
            out.note(f"There is no {line.split()[0]} here: /reset, /exit and /quit are known.")
        elif line:
            _turn(out, talk, line)
    return OK


def _turn(out: Output, talk: Chat, question: str) -> None:
    """One question and its answer, told as it comes. Ctrl-C ends the answer and not the chat."""
    try:
        answer = talk.ask(question, _Wrapped())
    except KeyboardInterrupt:
        write("\n")
        out.note("Stopped.")
        return
    except ShortlistError as error:
        write("\n")
        out.note(f"shortlist: {error}")
        return
    write("\n")
    if answer.broke_off:
        out.warn(f"The answer broke off: {answer.broke_off}")
    if not out.quiet:
        _sources(out, answer)


class _Wrapped:
    """Writes text as it comes, with lines that break between words where somebody looks."""

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


def _sources(out: Output, answer: Answer) -> None:
    out.show({}, lambda screen: screen.sources(answer))


def _line() -> str | None:
    """The next line, or None at the end; Ctrl-C takes back what was typed."""
    while True:
        try:
            return input(PROMPT if sys.stdin.isatty() else "").strip()
        except EOFError:
            if sys.stdin.isatty():
                write("\n")
            return None
        except KeyboardInterrupt:
            if not sys.stdin.isatty():
                raise
            write("\n")


@contextmanager
def _line_editing() -> Iterator[None]:
    """Lines can be edited, and those of earlier chats come back with the arrow keys, where the system can."""
    try:
        import readline
    except ImportError:
        yield
        return
    from shortlist._paths import data_dir

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


def _settings(given: dict[str, Any]) -> Answers:
    """The settings of answers in force, these options first."""
    from shortlist.server.service_settings import answer_settings

    try:
        return answer_settings(given)
    except InputError as error:
        raise (WrongUsage(str(error)) if str(error).startswith("--") else error) from None


def _model(out: Output, agent: bool, extractive: bool) -> OpenAIChat | None:
    from shortlist.server.llm_settings import connect, llm_settings, unnamed_model

    if agent and extractive:
        raise WrongUsage("--agent needs a language model, and --extractive asks none: leave one of them out.")
    if extractive:
        return None
    settings = llm_settings()
    llm = connect(settings)
    if agent and llm is None:
        raise WrongUsage(
            "--agent needs a language model: set SHORTLIST_LLM_URL and SHORTLIST_LLM_MODEL (and _KEY), here or in .env."
        )
    if llm is None and (variable := unnamed_model(settings)):
        out.note(f"No model is asked: {variable} is set, but SHORTLIST_LLM_MODEL (or OPENAI_MODEL) does not name one.")
    if llm is not None:
        llm.on_wait = lambda message: out.note(f"shortlist: {message}")
    return llm


def _corpora(out: Output, index_dir: str | None, shared: bool, names: list[str] | None) -> list[Corpus]:
    """The corpora to ask: those named, the index in a folder, the shared one, or that of this project."""
    import shortlist
    from shortlist.index.location import kept_at
    from shortlist.sources.projects import GLOBAL_INDEX, project_index, project_root

    if sum(map(bool, (names, index_dir, shared))) > 1:
        raise WrongUsage("Give only one of --corpus, --index-dir and --global.")
    if names:
        return opened(out, names_in(names))
    try:
        name = GLOBAL_INDEX if shared else project_index()
        return [shortlist.open_corpus(Path(index_dir).expanduser() if index_dir else name)]
    except CorpusNotFound:
        where = index_dir or ("the shared index" if shared else f"the project {project_root()}")
        how = f" --index-dir {index_dir}" if index_dir else " --global" * shared
        has_shared = not index_dir and not shared and kept_at(GLOBAL_INDEX)
        hint = " There is an index that all projects share: --global uses it." if has_shared else ""
        raise CorpusNotFound(f"Nothing was ingested in {where} yet. Run: shortlist ingest PATH...{how}{hint}") from None

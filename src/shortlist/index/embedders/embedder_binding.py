"""The embedder of a corpus: the one that it was built with, loaded when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from shortlist.errors import CorpusMismatch, EmbedderError
from shortlist.index.embedders.named import is_built_in, load_embedder, make_absolute
from shortlist.index.foreign import confirm_named, how_to_confirm, may_use_embedder
from shortlist.protocols import Embedder
from shortlist.safety.confirmations import Confirmation

if TYPE_CHECKING:
    from shortlist.index.config import Config

ONLY_IN_A_PROGRAM = "object:"
EmbedderSpec = str | Embedder | Callable[[list[str]], Any] | None


class UnavailableEmbedder:
    """A placeholder for an embedder that only another program has: its stored vectors can be used, and nothing else."""

    def __init__(self, name: str, dim: int, corpus: str) -> None:
        self.name, self.dim, self._corpus = name, dim, corpus

    def encode_query(self, text: str) -> NoReturn:
        raise EmbedderError(
            f"The corpus {self._corpus!r} was built with the embedder {self.name!r}, which only your program has. "
            f"Pass it as open_corpus(..., embedder=...), or search with mode='lexical'."
        )

    def encode_documents(self, texts: Sequence[str]) -> NoReturn:
        self.encode_query("")


class EmbedderBinding:
    """The embedder of one corpus."""

    def __init__(self, corpus: str, folder: Path | None = None) -> None:
        self._corpus = corpus
        self._folder = folder
        self._lock = threading.Lock()
        self.loaded: Embedder | None = None

    def use(self, embedder: EmbedderSpec, config: Config) -> None:
        """Load this one, which must be the one that the corpus was built with."""
        self.loaded = self._load(embedder, config)

    def store(self, spec: str) -> None:
        """Store that the user named the embedder of the corpus, so that it can be loaded again."""
        if self._folder is not None and not may_load(self._folder, spec):
            confirm_named(Confirmation("embedder", self._folder, spec))

    def for_config(self, config: Config) -> Embedder | None:
        """The embedder of a state: another process may have rebuilt the corpus with another one."""
        if config.embedder_name == "none":
            return None
        with self._lock:
            if self.loaded is None or self.loaded.name != config.embedder_name:
                if config.embedder.startswith(ONLY_IN_A_PROGRAM):
                    return UnavailableEmbedder(config.embedder_name, config.dim, self._corpus)
                if self._folder is not None and not may_load(self._folder, config.embedder):
                    raise EmbedderError(
                        f"The corpus {self._corpus!r} is outside the data folder and names the embedder "
                        f"{config.embedder!r}, which you have not confirmed. If you trust it, "
                        f"{how_to_confirm(self._folder)}, or pass embedder={config.embedder!r}. "
                        f"mode='lexical' works without it."
                    )
                self.loaded = self._load(config.embedder, config)
            return self.loaded

    def _load(self, spec: EmbedderSpec, config: Config) -> Embedder | None:
        embedder = load_embedder(spec)
        name = embedder.name if embedder else "none"
        if name != config.embedder_name and spec == config.embedder:
            raise CorpusMismatch(
                f"The model of the embedder {spec!r} has changed since the corpus {self._corpus!r} was built. Build it "
                f"again with rebuild=True (shortlist build NAME --rebuild), or search with mode='lexical'."
            )
        if name != config.embedder_name:
            raise CorpusMismatch(
                f"The corpus {self._corpus!r} was built with the embedder {config.embedder_name!r}, not {name!r}. Omit "
                f"the embedder to use the one it has, build under another name, or pass rebuild=True to rebuild it "
                f"with {name!r}."
            )
        return embedder


def may_load(folder: Path, spec: str) -> bool:
    """Whether the embedder that the corpus in a folder names may be loaded without a question to the user."""
    return is_built_in(spec) or spec.startswith(ONLY_IN_A_PROGRAM) or may_use_embedder(folder, spec)


def spec_of(embedder: EmbedderSpec, loaded: Embedder | None) -> str:
    """What a corpus stores to load its embedder again."""
    if loaded is None:
        return "none"
    return make_absolute(embedder) if isinstance(embedder, str) else f"{ONLY_IN_A_PROGRAM}{loaded.name}"

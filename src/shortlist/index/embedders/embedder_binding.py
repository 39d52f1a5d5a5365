"""The embedder of a corpus: the one that it was built with, loaded when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from shortlist._paths import data_dir
from shortlist.errors import CorpusMismatch, EmbedderError
from shortlist.index.embedders.named import lasting_name, load_embedder, unconfirmed_address
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.index.config import Config

ONLY_IN_A_PROGRAM = "object:"
EmbedderSpec = str | Embedder | Callable[[list[str]], Any] | None


class Unavailable:
    """Stands for an embedder that only another program has: what it encoded before can be used, and nothing more."""

    def __init__(self, name: str, dim: int, corpus: str) -> None:
        self.name = name
        self.dim = dim
        self._corpus = corpus

    def encode_query(self, text: str) -> NoReturn:
        raise EmbedderError(
            f"The corpus {self._corpus!r} was built with the embedder {self.name!r}, which only your program has: "
            f"pass it as open_corpus(..., embedder=...), or search with mode='lexical'."
        )

    def encode_documents(self, texts: Sequence[str]) -> NoReturn:
        self.encode_query("")


class Chosen:
    """The embedder of one corpus."""

    def __init__(self, corpus: str, folder: Path | None = None) -> None:
        self._corpus = corpus
        self._is_foreign = folder is not None and not folder.resolve().is_relative_to(data_dir().resolve())
        self._lock = threading.Lock()
        self._loaded: Embedder | None = None

    def give(self, embedder: EmbedderSpec, config: Config) -> None:
        """Use this one, which must be the one that the corpus was built with."""
        self._loaded = _matching(load_embedder(embedder), config, self._corpus)

    def take(self, embedder: Embedder | None) -> None:
        """Use this one, which the corpus is now built with."""
        self._loaded = embedder

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def of(self, config: Config) -> Embedder | None:
        """The embedder of a state: another process may have built the corpus again with another one."""
        if config.embedder_name == "none":
            return None
        with self._lock:
            if self._loaded is None or self._loaded.name != config.embedder_name:
                if config.embedder.startswith(ONLY_IN_A_PROGRAM):
                    return Unavailable(config.embedder_name, config.dim, self._corpus)
                self._check_address(config.embedder)
                self._loaded = _matching(load_embedder(config.embedder), config, self._corpus)
            return self._loaded

    def _check_address(self, spec: str) -> None:
        """Refuse to send a key to an address that only a folder from somewhere names."""
        if self._is_foreign and (address := unconfirmed_address(spec)):
            raise EmbedderError(
                f"The corpus {self._corpus!r} is outside the data folder; its embedder would send OPENAI_API_KEY to "
                f"{address}. If you trust it, set OPENAI_BASE_URL to that address, or pass embedder={spec!r}."
            )


def spec_of(embedder: EmbedderSpec, loaded: Embedder | None) -> str:
    """What a corpus writes down to find its embedder again."""
    if loaded is None:
        return "none"
    return lasting_name(embedder) if isinstance(embedder, str) else f"{ONLY_IN_A_PROGRAM}{loaded.name}"


def _matching(embedder: Embedder | None, config: Config, name: str) -> Embedder | None:
    given = embedder.name if embedder else "none"
    if given != config.embedder_name:
        raise CorpusMismatch(
            f"The corpus {name!r} was built with the embedder {config.embedder_name!r}, not {given!r}. Leave the "
            f"embedder out to use the one it has, build under another name, or pass rebuild=True to build it again "
            f"with {given!r}."
        )
    return embedder

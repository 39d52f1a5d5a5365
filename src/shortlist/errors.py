"""The error tree. Every message says what is wrong and how to fix it.

ShortlistError
├── InputError (ValueError)        an argument that means nothing: unknown mode, operator, strategy, level
├── SourceError                    a place that documents should come from cannot be read
├── ServiceError                   a service answered that something is wrong, or cannot be reached
├── RegistryDamaged                the file of registered names cannot be read; nothing was overwritten
├── EmbedderError                  a model cannot be found, loaded or asked
│   └── MissingExtra (ImportError) an optional package is not installed; the message has the install line
├── LLMError                       a language model cannot be reached, refuses, or says nothing that can be read
└── CorpusError
    ├── CorpusNotFound             no corpus of that name or at that path
    ├── CorpusMismatch             the corpus was built with something else (embedder, analyzer, format)
    ├── CorpusBusy                 another writer held the corpus for too long
    ├── CorpusDamaged              the database cannot be read; nothing was overwritten
    └── EngineError                a distributed engine cannot be reached, is too slow, has lost shards, or refuses
"""

from __future__ import annotations


class ShortlistError(Exception):
    """Whatever this package raises on purpose."""


class InputError(ShortlistError, ValueError):
    """An argument that means nothing here."""


class SourceError(ShortlistError):
    """A place that documents should come from cannot be read."""


class ServiceError(ShortlistError):
    """A service answered that something is wrong, with the status of its answer; without one it was not reached."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RegistryDamaged(ShortlistError):
    """The file of registered names cannot be read; nothing was overwritten."""


class EmbedderError(ShortlistError):
    """A model cannot be found, loaded or asked."""


class MissingExtra(EmbedderError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs the package {package}: pip install "shortlist[{extra}]"')


class LLMError(ShortlistError):
    """A language model cannot be reached, refuses, or says nothing that can be read."""


class CorpusError(ShortlistError):
    """Something about a stored corpus."""


class CorpusNotFound(CorpusError):
    """No corpus of that name or at that path."""


class CorpusMismatch(CorpusError):
    """The corpus was built with something else than what was asked for."""


class CorpusBusy(CorpusError):
    """Another writer held the corpus for too long."""


class CorpusDamaged(CorpusError):
    """The database of a corpus cannot be read; nothing was overwritten."""


class EngineError(CorpusError):
    """A distributed engine cannot be reached, is too slow, has lost shards, or refuses."""

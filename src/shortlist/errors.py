"""The error tree, whose messages say what is wrong and how to fix it, and the warning of a former name.

ShortlistError
├── InputError (ValueError)        an invalid argument: unknown mode, operator, strategy, level
│   └── QueryTooLong               a query or question has more characters than the limit
├── SourceError                    a source of documents cannot be read
├── AccessDenied                   the caller of a service may not do what it asks for
├── ServiceError                   a service returned an error or cannot be reached
├── RegistryDamaged                the registry file cannot be read; nothing was overwritten
├── EmbedderError                  a model cannot be found, loaded or called
│   └── MissingExtra (ImportError) an extra is not installed; the message has the line that installs it
├── LLMError                       a language model cannot be reached, refuses, or returns something unreadable
└── CorpusError
    ├── CorpusNotFound             no corpus has that name or path
    ├── CorpusMismatch             the corpus was built with another embedder, analyzer or format
    ├── CorpusBusy                 another process kept writing to the corpus for too long
    ├── CorpusDamaged              the database cannot be read; nothing was overwritten
    └── EngineError                a cluster cannot be reached, is too slow, has lost shards, or refuses
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class ShortlistError(Exception):
    """Base class of the errors of this package."""


class InputError(ShortlistError, ValueError):
    """An argument is invalid."""


class QueryTooLong(InputError):
    """A query or question has more characters than the limit."""


class SourceError(ShortlistError):
    """A source of documents cannot be read."""


class AccessDenied(ShortlistError):
    """The caller of a service may not do what it asks for."""


class ServiceError(ShortlistError):
    """A service returned an error, with its HTTP status, or cannot be reached (no status)."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RegistryDamaged(ShortlistError):
    """The registry file cannot be read; nothing was overwritten."""


class EmbedderError(ShortlistError):
    """A model cannot be found, loaded or called."""


class MissingExtra(EmbedderError, ImportError):
    """An extra of this package, such as `mcp`, is not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the extra {extra!r}: {install_line(extra)}")


def install_line(extra: str) -> str:
    """The command that installs an extra."""
    return f'pip install "shortlist[{extra}]"'


@contextlib.contextmanager
def needs_extra(extra: str, purpose: str) -> Iterator[None]:
    """Turn a failure to import packages of an extra into a MissingExtra."""
    try:
        yield
    except MissingExtra:
        raise
    except ImportError as error:
        raise MissingExtra(extra, purpose) from error


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module of a package that an extra installs."""
    with needs_extra(extra, purpose):
        return importlib.import_module(module)


class LLMError(ShortlistError):
    """A language model cannot be reached, refuses, or returns something unreadable."""


class CorpusError(ShortlistError):
    """A corpus cannot be used."""


class CorpusNotFound(CorpusError):
    """No corpus has that name or path."""


class CorpusMismatch(CorpusError):
    """The corpus was built with another embedder, analyzer or format."""


class CorpusBusy(CorpusError):
    """Another process kept writing to the corpus for too long."""


class CorpusDamaged(CorpusError):
    """The database of a corpus cannot be read; nothing was overwritten."""


class EngineError(CorpusError):
    """A cluster cannot be reached, is too slow, has lost shards, or refuses."""


def rename_keyword(
    former: str, name: str, *, default: Any = "auto", convert: Callable[[Any], Any] = lambda value: value
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function accept the former name of a keyword argument, with a DeprecationWarning.

    `default` is the value of the argument that counts as not given, `convert` turns a former value into one of now.
    """

    def rename(options: dict[str, Any]) -> dict[str, Any]:
        if former in options:
            value = options.pop(former)
            if options.get(name, default) != default:
                raise InputError(f"{former}={value!r} was passed beside {name}. Leave out {former}, its former name.")
            _warn(f"{former} is deprecated. Use {name}.")
            options[name] = convert(value)
        return options

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        inner: Any = function

        async def call_async(*arguments: Any, **options: Any) -> Any:
            return await inner(*arguments, **rename(options))

        def call(*arguments: Any, **options: Any) -> Any:
            return inner(*arguments, **rename(options))

        # frameworks ask of a function whether it is asynchronous
        outer: Any = call_async if inspect.iscoroutinefunction(function) else call
        wrapped: Callable[P, R] = functools.wraps(function)(outer)
        return wrapped

    return decorate


def _warn(text: str) -> None:
    """Warn at the first line outside of this package, which is the one to change."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "shortlist":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, DeprecationWarning, stacklevel=level)

"""Documents out of a program of yours, named as "module:attribute"."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import InputError, SourceError
from shortlist.sources.inline import documents_of


def records_at(address: str) -> Callable[[], Iterator[Document | Problem]]:
    """A reader of the texts, Documents or mappings that lie there, or that a function there returns."""
    module, colon, attribute = str(address).partition(":")
    if not (module and colon and attribute):
        raise InputError(f"{address!r} is no place of records; write it as 'module:attribute'.")

    def read() -> Iterator[Document | Problem]:
        found = _attribute(_module(module, address), attribute, address)
        if callable(found):
            found = _call(found, address)
        elif isinstance(found, Iterator):
            raise SourceError(f"{address} can be read only once; name a function that returns it.")
        if isinstance(found, str | bytes) or not isinstance(found, Iterable):
            raise SourceError(f"{address} holds no list of records but a {type(found).__name__}.")
        return _read_all(found, address)

    return read


def _module(name: str, address: str) -> Any:
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise SourceError(f"There is no module {error.name!r}, which {address} names.") from None
        raise SourceError(f"The module {name} needs {error.name!r}, which is not installed.") from error
    except Exception as error:  # whatever that program does when it is imported
        raise SourceError(f"The module {name} cannot be imported: {type(error).__name__}: {error}") from error


def _attribute(found: Any, path: str, address: str) -> Any:
    for name in path.split("."):
        if not hasattr(found, name):
            raise SourceError(f"{address} names {name!r}, which {getattr(found, '__name__', found)!r} does not have.")
        found = getattr(found, name)
    return found


def _call(function: Callable[[], Any], address: str) -> Any:
    try:
        return function()
    except Exception as error:
        raise SourceError(f"{address} was called and failed: {type(error).__name__}: {error}") from error


def _read_all(records: Iterable[Any], address: str) -> Iterator[Document | Problem]:
    try:
        yield from documents_of(records)
    except Exception as error:
        raise SourceError(f"{address} failed while it was read: {type(error).__name__}: {error}") from error

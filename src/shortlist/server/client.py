"""The former path of `BM25SClient`. Using it warns."""

import pkgutil
import warnings
from typing import Any

NEW = "shortlist.compat.retriever_client"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is now {NEW}.{name}. Change the import.", DeprecationWarning, stacklevel=2)
    return getattr(pkgutil.resolve_name(NEW), name)

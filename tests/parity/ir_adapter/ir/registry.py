"""Registered corpora as dicts."""

from __future__ import annotations

from typing import Any

import shortlist

from .base import use_ir_folders


def register(name: str, kind: str, *, embedder: str | None = None, root: str | None = None, **options: Any) -> Any:
    use_ir_folders()
    return shortlist.register(name, kind, root, embedder=embedder, replace=True, **options).to_dict()


def registered() -> dict[str, Any]:
    use_ir_folders()
    return {name: entry.to_dict() for name, entry in shortlist.registered().items()}


def get(name: str) -> Any:
    return registered().get(name)


def unregister(name: str) -> None:
    shortlist.unregister(name)

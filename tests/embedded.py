"""What tests of the embedded engine may see of its inside."""

from __future__ import annotations

from shortlist import Corpus
from shortlist.index.engine import State
from shortlist.index.local_engine import LocalEngine
from shortlist.index.snapshot import Snapshot
from shortlist.index.storage.database import Store


def store_of(corpus: Corpus) -> Store:
    assert isinstance(corpus._engine, LocalEngine)
    return corpus._engine.store


def inside(state: State) -> Snapshot:
    assert isinstance(state, Snapshot)
    return state

"""A server in the place of memory: what tests make with `in_memory=True` is kept there."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import httpx2

from shortlist.index import corpus
from shortlist.index.engines.address import Address
from shortlist.index.location import LocalStore, RemoteStore


class Nowhere(RemoteStore):
    """A corpus on a server that no folder points to."""

    def point(self) -> None: ...


@contextlib.contextmanager
def of_memory(kind: str, url: str, folder: Path) -> Iterator[None]:
    """Keep all corpora in memory on this server instead; they are deleted in the end."""
    prefix = f"m{uuid.uuid4().hex[:10]}"
    address = Address.parse(f"{kind}+{url}/{prefix}")

    def place(path: Path | None) -> LocalStore | RemoteStore:
        name = uuid.uuid4().hex
        return LocalStore(path) if path is not None else Nowhere(address, folder / name, name)

    with patch.object(corpus, "LocalStore", place), httpx2.Client(trust_env=False, timeout=60) as client:
        client.put(f"{url}/_cluster/settings", json={"persistent": {"cluster.max_shards_per_node": 10_000}})
        try:
            yield
        finally:
            names = [index["index"] for index in client.get(f"{url}/_cat/indices/{prefix}-*?format=json").json()]
            for start in range(0, len(names), 50):
                client.delete(f"{url}/{','.join(names[start : start + 50])}")

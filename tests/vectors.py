"""Vectors of the example tools: our model takes seconds to encode them, and each new process would do that again."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

import shortlist
from shortlist import CorpusSource
from shortlist.index.corpus_paths import VECTORS
from shortlist.server.catalog_store import get_folder

TOOLS = Path(__file__).parents[1] / "examples" / "data" / "tools.yaml"


def store_vectors_for_service(tools: Path, data: Path) -> None:
    """Store them where a service with this data directory and these tools, a copy of the examples, will look for them.

    The embedder of this process remembers them for the next service.
    """
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("SHORTLIST_DATA_DIR", str(data))
        corpus = get_folder(tools) / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        shortlist.build(CorpusSource.from_catalog(TOOLS), path=Path(folder) / "corpus", embedder="tools").close()
        shutil.copy(Path(folder) / "corpus" / VECTORS, corpus)

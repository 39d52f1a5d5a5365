"""Where results go: JSON with the machine, the versions and the commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "shortlist",
    "numpy",
    "numba",
    "bm25s",
    "wordllama",
    "tantivy",
    "rank_bm25",
    "faiss-cpu",
    "usearch",
    "qdrant-edge-py",
    "lancedb",
    "fastapi",
    "uvicorn",
)


def save(name: str, figures: Any) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(
        json.dumps(
            {
                "benchmark": name,
                "date": time.strftime("%Y-%m-%d"),
                "commit": commit.stdout.strip(),
                "machine": {
                    "architecture": platform.machine(),
                    "cores": os.cpu_count(),
                    "python": platform.python_version(),
                },
                "versions": {package: version for package in PACKAGES if (version := _version(package))},
                "figures": figures,
            },
            indent=2,
        )
        + "\n"
    )
    print(f"written to {path}")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""

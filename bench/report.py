"""Stores results as JSON with the machine, the versions and the commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import shortlist

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "shortlist",
    "numpy",
    "numba",
    "bm25s",
    "onnxruntime",
    "tantivy",
    "rank_bm25",
    "faiss-cpu",
    "usearch",
    "qdrant-edge-py",
    "lancedb",
    "fastapi",
    "uvicorn",
    "mcp",
    "fastmcp",
)


def show(rows: Mapping[str, Mapping[str, float]], ours: str) -> None:
    """Print the figures of each engine and, in parentheses, what they are divided by ours."""
    for name, row in rows.items():
        print(f"  {name}")
        for column, value in row.items():
            own = rows.get(ours, {}).get(column)
            ratio = f"  ({value / own:.2f})" if own and name != ours else ""
            print(f"    {column:16}{value:>12,g}{ratio}")


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    return {f"p{share} ms": round(float(np.percentile(milliseconds, share)), 3) for share in (50, 95, 99)}


def save(name: str, figures: Any, *, beside_others: bool = False) -> None:
    """Keep figures in place of those before or, where they are of sets by name, beside those of other sets."""
    command = ["git", "-C", str(RESULTS.parent), "rev-parse", "--short", "HEAD"]  # a benchmark may run elsewhere
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    commit, today = run.stdout.strip(), time.strftime("%Y-%m-%d")
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    more: dict[str, Any] = {}
    if beside_others:
        before = json.loads(path.read_text()) if path.exists() else {"figures": {}}
        known = before.get("measured") or {}
        more["measured"] = known | dict.fromkeys(figures, f"{today}, {commit}")
        figures = before["figures"] | figures
    path.write_text(
        json.dumps(
            {
                "benchmark": name,
                "date": today,
                "commit": commit,
                "machine": {
                    "architecture": platform.machine(),
                    "cores": os.cpu_count(),
                    "python": platform.python_version(),
                },
                "versions": {package: version for package in PACKAGES if (version := _version(package))},
                **more,
                "figures": figures,
            },
            indent=2,
        )
        + "\n"
    )
    print(f"written to {path}")


def _version(package: str) -> str:
    if package == "shortlist":  # whose metadata are older than a checkout that has been updated
        return shortlist.__version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""

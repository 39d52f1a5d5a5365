"""Size of an installation, by package, and the first and second use of it, compared with tantivy, bm25s and faiss.

`python -m bench install` installs the wheel of this checkout and each rival into new virtual environments, which
contain nothing else, not even pip. `MB` is the size of site-packages as `pip install` leaves it, `MB of .pyc` what of
it is bytecode, which uv and `pip install --no-compile` leave out. A use is a process that builds an index on disk from
10,000 documents and answers a query; the first one runs with what `pip install` leaves, so nothing has been cached.
`cold start s` is a later process that opens the index and answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path

from bench import report, zipf
from bench.lexical import OPEN

ROOT = Path(__file__).parents[1]
DOCUMENTS = 10_000
# What is installed, and the engine that is used, if it is compared.
ENVIRONMENTS: dict[str, tuple[tuple[str, ...], str]] = {
    "shortlist": (("{wheel}",), "shortlist"),
    "shortlist[mcp]": (("{wheel}[mcp]",), "shortlist"),
    "tantivy": (("tantivy",), "tantivy on disk"),
    "bm25s + numba": (("bm25s", "numba", "PyStemmer"), "bm25s numba on disk"),
    "faiss-cpu": (("faiss-cpu",), ""),
}


def run(folders: list[Path]) -> None:
    figures: dict[str, dict[str, float]] = {}
    weights: dict[str, float] = {}
    data = zipf.make(DOCUMENTS)
    query = next(iter(data.queries.values()))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        documents = folder / "documents.json"
        documents.write_text(json.dumps([(one.id, one.title, one.content) for one in data.documents]))
        _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, str(ROOT))
        wheel = next(folder.glob("shortlist-*.whl"))
        for name, (packages, engine) in ENVIRONMENTS.items():
            print(f"{name} ...", flush=True)
            home = folder / name
            _run(sys.executable, "-m", "venv", "--without-pip", str(home))
            python = str(home / "bin" / "python")
            wanted = [package.format(wheel=wheel) for package in packages]
            took = _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *wanted)
            installed = next(home.glob("lib/python*/site-packages"))
            row = figures[name] = {
                "MB": megabytes(installed.rglob("*")),
                "MB of .pyc": megabytes(installed.rglob("*.pyc")),
                "packages": len(list(installed.glob("*.dist-info"))),
                "install s": round(took, 1),
            }
            weights = weights or weigh_packages(installed)
            for use in ("first", "second") if engine else ():
                index = home / use
                index.mkdir()
                took = _run(python, "-c", USE, engine, str(index), query, str(documents), home=home)
                row[f"{use} use s"] = round(took, 2)
            if engine:
                took = min(_run(python, "-c", OPEN, engine, str(home / "second"), query, home=home) for _ in range(3))
                row["cold start s"] = round(took, 2)
    report.show(figures, "shortlist")
    print("packages MB", weights)
    report.save("install", figures | {"packages MB": weights})


def megabytes(files: Iterable[Path]) -> float:
    return round(sum(file.stat().st_size for file in files if file.is_file()) / 1e6, 1)


def weigh_packages(installed: Path) -> dict[str, float]:
    """The megabytes of each distribution of at least one, largest first, and of all others together."""
    files = {found.name: found.files or () for found in distributions(path=[str(installed)])}
    sizes = {name: megabytes(installed / path for path in paths) for name, paths in files.items()}
    large = {name: size for name, size in sorted(sizes.items(), key=lambda item: -item[1]) if size >= 1}
    return large | {"others": round(sum(size for name, size in sizes.items() if name not in large), 1)}


def _run(*command: str, home: Path | None = None) -> float:
    """Seconds that a command takes; with a home, it sees nothing of the user and of this environment."""
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    started = time.perf_counter()
    done = subprocess.run(command, env=own if home else None, cwd=home, capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:6])} failed: {done.stderr.strip()}")
    return took


USE = """
import json, sys
from pathlib import Path
from bench.engines import ENGINES
engine = ENGINES[sys.argv[1]](Path(sys.argv[2]))
engine.build(json.loads(Path(sys.argv[4]).read_text()))
assert engine.search(sys.argv[3])
"""

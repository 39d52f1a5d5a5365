"""`python -m bench NAME [FOLDER...]`."""

from __future__ import annotations

import sys
from pathlib import Path

from bench import (
    answers,
    bare_requests,
    claims,
    context,
    decisions,
    dense,
    dialogues,
    discover,
    distributed,
    encoding,
    flips,
    formats,
    frameworks,
    fuzz,
    gateway,
    hidden,
    hostile,
    hybrid,
    install,
    large_results,
    learning,
    lexical,
    load,
    page,
    pools,
    prompts,
    quality,
    reloaders,
    scale,
    searches,
    segment_fuzz,
    sessions,
    soak,
    startup,
    team,
    texts,
    update,
)

BENCHMARKS = {
    "quality": quality,
    "decisions": decisions,
    "learning": learning,
    "answers": answers,
    "claims": claims,
    "frameworks": frameworks,
    "dialogues": dialogues,
    "lexical": lexical,
    "dense": dense,
    "hybrid": hybrid,
    "update": update,
    "texts": texts,
    "engines": distributed,
    "bare": bare_requests,
    "encoding": encoding,
    "load": load,
    "pools": pools,
    "reloaders": reloaders,
    "context": context,
    "gateway": gateway,
    "discover": discover,
    "results": large_results,
    "hostile": hostile,
    "prompts": prompts,
    "hidden": hidden,
    "team": team,
    "fuzz": fuzz,
    "segments": segment_fuzz,
    "flips": flips,
    "formats": formats,
    "page": page,
    "startup": startup,
    "install": install,
    "scale": scale,
    "searches": searches,
    "sessions": sessions,
    "soak": soak,
}


def main(arguments: list[str]) -> int:
    names = arguments[:1] or list(BENCHMARKS)
    if names[0] not in BENCHMARKS:
        for name, module in BENCHMARKS.items():
            print(f"python -m bench {name:10} {(module.__doc__ or '').splitlines()[0]}")
        return 2
    for name in names:
        BENCHMARKS[name].run([Path(folder) for folder in arguments[1:]])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

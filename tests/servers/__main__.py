"""`python -m tests.servers fetch [KIND ...]` fetches the servers of the tests, where they are available."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.servers import KINDS, available, fetch
from tests.servers.shared import keep


def main() -> None:
    match sys.argv[1:]:
        case ["keep", kind, folder]:
            try:
                keep(kind, Path(folder))
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                sys.exit(str(error))
        case ["fetch", *kinds]:
            for kind in kinds or KINDS:
                reason, began = available(kind), time.monotonic()
                if reason is not None:
                    print(f"The tests on {kind} will be skipped: {reason}.")
                    continue
                home = fetch(kind)
                print(f"{home} is ready ({time.monotonic() - began:.0f} s).")
        case _:
            sys.exit(__doc__)


main()

"""The command line: `python -m shortlist` and the command `shortlist`."""

import gc
import sys

from shortlist.index.kernels.numpy_threads import limit_threads


def main() -> None:
    limit_threads()
    if sys.argv[1:] == ["hook"]:  # every prompt waits for it, so it does not load the other commands
        from shortlist.safety.processes import find_import_path  # noqa: PLC0415

        sys.path[:] = find_import_path()
        from shortlist.mcp.hook import main as answer_hook  # noqa: PLC0415

        gc.disable()  # it ends soon
        answer_hook()
    from shortlist.cli import main as run_command  # noqa: PLC0415  # not for the hook

    run_command()


if __name__ == "__main__":
    main()

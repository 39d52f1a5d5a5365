"""The output of commands: documents, pipes and full disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "shop", "refund"],
        ["discover", "shop", "refund", "--disclose"],
        ["read", "shop", "refund_payment"],
        ["build", "shop"],
        ["ls"],
        ["info", "shop"],
        ["status"],
        ["register", "notes", "files", "--root", "docs"],
        ["rm", "shop"],
        ["doctor"],
        ["config", "show"],
        ["download", "none"],
    ],
    ids=" ".join,
)
def test_every_command_prints_one_document(arguments: list[str], shop: Shell) -> None:
    done = shop(*arguments, "--json")
    assert (done.code, "error" in done.json) == (0, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("form", ["--json", "--quiet"])
def test_a_full_disk_is_reported_in_a_sentence(shop: Shell, form: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = shop.start("ls", form, stdout=full)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (1, "shortlist: No space left on device.\n")


def test_a_closed_pipe_is_not_an_error(shop: Shell) -> None:
    process = shop.start("search", "shop", "refund", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 0

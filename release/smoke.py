"""Tries an installed shortlist: doctor, the README, an index, the HTTP service, and the MCP server with a real client.

`python release/smoke.py base` expects no extra, and `all` those of the extra `all`. `uvx` tries what
`install` writes when uvx runs it. Run it in the root of a checkout.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import shortlist

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.pages import run_blocks

COMMAND = str(next(Path(sys.executable).parent.glob("shortlist*")))
TOOLS = "examples/data/tools.yaml"
QUERY = "refund a payment to the customer's card"


def call(*arguments: str, code: int = 0) -> str:
    """What the installed command prints; the error if it is to fail."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == code, (arguments, done)
    return done.stderr if code else done.stdout


def check_doctor(*, with_extras: bool) -> None:
    checks = {row["name"]: row for row in json.loads(call("doctor", "--json"))["checks"]}
    assert checks["compiled loops"]["state"] == "ok", checks["compiled loops"]
    assert checks["onnxruntime"]["state"] == "ok", checks["onnxruntime"]
    for extra in ("server", "mcp", "documents", "minilm", "onnx", "model2vec"):
        assert checks[extra]["state"] == ("ok" if with_extras else "note"), checks[extra]


def check_missing() -> None:
    for command, extra in (("serve", "server"), ("mcp", "mcp")):
        assert f'pip install "shortlist[{extra}]"' in call(command, code=1)


def check_service() -> None:
    command = [COMMAND, "serve", "--port", "0", "--documents", TOOLS]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as service:
        try:
            assert service.stderr
            lines = iter(service.stderr.readline, "")
            url = next(found[0] for line in lines if (found := re.search(r"http://[\d.]+:\d+", line)))
            with shortlist.compat.BM25SClient(url) as client:
                assert client.retrieve(QUERY)["documents"]
            asyncio.run(check_agent(f"{url}/mcp"))
        finally:
            service.terminate()


async def check_agent(server: Any) -> None:
    """Connect a client of the MCP SDK to our server, by its address or its command, and let it find a tool."""
    from mcp import Client  # noqa: PLC0415  # only with the extra

    async with asyncio.timeout(120), Client(server) as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} >= {"discover", "read", "call", "ask", "status"}
        found = await client.call_tool("discover", {"query": QUERY})
        assert "refund_payment" in found.model_dump_json(), found


def check_uvx() -> None:
    """Let uvx install the entry of an agent, which starts uvx, and connect a client to it."""
    uvx = ["uvx", "--from", "shortlist[mcp]", "shortlist"]
    for arguments in (["install", "--agent", "cursor"], ["build", TOOLS]):
        subprocess.run([*uvx, *arguments], check=True, timeout=300, stdout=subprocess.DEVNULL)
    (entry,) = json.loads(Path("~/.cursor/mcp.json").expanduser().read_text("utf-8"))["mcpServers"].values()
    assert [Path(entry["command"]).stem, *entry["args"]] == [*uvx, "mcp"], entry
    assert Path(entry["command"]).is_absolute(), entry
    from mcp import StdioServerParameters  # noqa: PLC0415  # only with the extra

    asyncio.run(check_agent(StdioServerParameters(**entry, env=dict(os.environ))))


def main(kind: str) -> None:
    assert "site-packages" in shortlist.__file__, shortlist.__file__
    os.environ["COLUMNS"] = "100"
    if kind == "uvx":
        check_uvx()
        return
    check_doctor(with_extras=kind == "all")
    assert run_blocks(Path("README.md").read_text("utf-8")) == 5
    call("build", TOOLS)
    assert call("search", f"tools:{TOOLS}", QUERY, "--quiet").split()[0] == "refund_payment"
    if kind == "all":
        from mcp import StdioServerParameters  # noqa: PLC0415

        check_service()
        asyncio.run(check_agent(StdioServerParameters(command=COMMAND, args=["mcp"], env=dict(os.environ))))
    else:
        check_missing()


if __name__ == "__main__":
    main(sys.argv[1])

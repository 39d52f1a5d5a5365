"""Large results of real servers: the characters that reach the model, and whether one `read` finds what was asked.

`python -m bench results FOLDER` installs the servers and the data in FOLDER, if they are not there; this needs npm. Web
pages need Chromium and Debian's nodejs-doc. Each question was written before it was searched for. In the first run, 14
of 17 were found; how JSON is cut was then changed for two of the others, and three cases, whose results were not large
or had no answer, were replaced. So the figure is not one of unseen cases.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client

from bench import report
from bench.gateway import COMMANDS, NPM, PYPI, install
from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.large_results.stored_results import LONGEST_RESULT

DATA = {
    "mime-db": "1.54.0",
    "world-countries": "5.1.0",
    "typescript": "5.8.3",
    "unicode-emoji-json": "0.9.0",
    "mdn-data": "2.37.2",
    "@octokit/webhooks-examples": "7.6.1",
}
PAGES = Path("/usr/share/doc/nodejs/api")
ROOT = Path(__file__).parent.parent


class Case(NamedTuple):
    """A call, what is asked of its result, and a part of the result that answers it."""

    kind: str
    tool: str
    arguments: dict[str, Any]
    question: str
    expected: str


def read_file(path: str) -> tuple[str, dict[str, Any]]:
    return "filesystem/read_text_file", {"path": f"{{data}}/{path}"}


GIT = {"repo_path": str(ROOT)}
CASES = (
    Case("table", *read_file("mime-db/db.json"), "file extension of electronic books, epub", '"extensions":["epub"]'),
    Case("table", *read_file("world-countries/countries.json"), "capital of Bhutan", '"capital":["Thimphu"]'),
    Case("table", *read_file("world-countries/countries.json"), "currency used in Mongolia", "Mongolian t"),
    Case("table", *read_file("unicode-emoji-json/data-by-emoji.json"), "emoji of a beaver", '"slug":"beaver"'),
    Case(
        "table", *read_file("unicode-emoji-json/data-by-group.json"), "the animal emoji for an otter", '"slug":"otter"'
    ),
    Case("table", *read_file("mdn-data/css/properties.json"), "initial value of accent-color", '"accent-color"'),
    Case(
        "issues",
        *read_file("@octokit/webhooks-examples/api.github.com/index.json"),
        "title of the issue with a spelling error in the readme",
        "Spelling error in the README file",
    ),
    Case(
        "issues",
        *read_file("@octokit/webhooks-examples/ghes-35/index.json"),
        "what does the pull request about the readme do",
        "Update the README with new information.",
    ),
    Case(
        "source",
        *read_file("typescript/lib/lib.dom.d.ts"),
        "read text from the clipboard",
        "readText(): Promise<string>",
    ),
    Case(
        "source",
        *read_file("typescript/lib/lib.webworker.d.ts"),
        "ask for a screen wake lock or a file lock by name",
        "interface LockManager",
    ),
    Case(
        "source",
        *read_file("typescript/lib/lib.es5.d.ts"),
        "round a number to the nearest integer",
        "round(x: number): number",
    ),
    Case("notices", *read_file("typescript/ThirdPartyNoticeText.txt"), "license of the Unicode data", "UNICODE"),
    Case(
        "tree",
        "filesystem/directory_tree",
        {"path": "{servers}/@modelcontextprotocol"},
        "package that validates with zod in version 4",
        '"v4"',
    ),
    Case(
        "tree",
        "filesystem/search_files",
        {"path": "{servers}/@modelcontextprotocol", "pattern": "**/*.d.ts"},
        "type declarations of the client transport over streamable http",
        "client/streamableHttp.d.ts",
    ),
    Case(
        "tree",
        "filesystem/directory_tree",
        {"path": "{servers}/chrome-devtools-mcp"},
        "file for emulating the network",
        "etwork",
    ),
    Case(
        "log",
        "filesystem/read_text_file",
        {"path": "{servers}/../install.log"},
        "which version of the zod tarball was fetched",
        "/zod",
    ),
    Case(
        "log",
        "git/git_log",
        GIT | {"max_count": 600},
        "commit that lets projects share what servers learned from use",
        "Share what the user's own MCP servers taught",
    ),
    Case(
        "diff",
        "git/git_show",
        GIT | {"revision": "f202c6c3"},
        "how large may an office file be when it is unpacked",
        "MAX_UNPACKED",
    ),
    Case(
        "page",
        "playwright/browser_snapshot",
        {"page": "webcrypto.html"},
        "derive bits from a password with pbkdf2",
        "PBKDF2",
    ),
    Case(
        "page",
        "playwright/browser_snapshot",
        {"page": "process.html"},
        "seconds that the process has been running",
        "uptime",
    ),
)


def run(folders: list[Path]) -> None:
    if not folders:
        print("results: give a folder for the servers; npm must be installed")
        return
    folder = folders[0].resolve()
    playwright: tuple[str, dict[str, str]] = (
        "playwright-mcp --headless --isolated --no-sandbox --executable-path={browser}",
        {},
    )
    commands = {name: COMMANDS[name] for name in ("filesystem", "git")} | {"playwright": playwright}
    browser = shutil.which("chromium") or "chromium"
    commands = {name: (line.replace("{browser}", browser), env) for name, (line, env) in commands.items()}
    commands["filesystem"] = (f"mcp-server-filesystem {folder} {{project}}", {})
    config = install(folder, NPM, PYPI, commands)
    _install_data(folder)
    with tempfile.TemporaryDirectory() as home, _serve_pages() as address:
        os.environ |= {f"SHORTLIST_{kind}_DIR": str(Path(home) / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
        os.chdir(home)  # where the browser leaves its files
        rows = asyncio.run(_measure(config, folder, address))
    for row in rows:
        print(row)
    figures = {
        "results": len(rows),
        "characters of the results": sum(row["characters"] for row in rows),
        "characters to the model": sum(row["shown"] for row in rows),
        "mean characters of an answer of read": round(statistics.mean(row["read"] for row in rows)),
        "found in one read": sum(row["found"] for row in rows),
    }
    print(json.dumps(figures, indent=1))
    report.save("results", figures | {"rows": rows})


def _install_data(folder: Path) -> None:
    """The packages with data, and the log of their installation."""
    if not (folder / "install.log").exists():
        wanted = [f"{name}@{version}" for name, version in DATA.items()]
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "silly"]
        done = subprocess.run(
            ["npm", "install", "--prefix", str(folder / "data"), *options, *wanted, "@playwright/mcp", "firecrawl-mcp"],
            check=True,
            capture_output=True,
            text=True,
        )
        (folder / "install.log").write_text(done.stderr + done.stdout, "utf-8")


@contextlib.contextmanager
def _serve_pages() -> Iterator[str]:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(PAGES))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def _measure(config: Path, folder: Path, address: str) -> list[dict[str, Any]]:
    gateway = Gateway(GatewayConfig([config]))
    await gateway.refresh()
    actions = AgentActions(Collection(gateway, StoredCorpora(), with_skills=False, learning="off"), lambda: None)
    async with Client(make_server(actions)) as client:
        return [await _ask(client, actions, case, folder, address) for case in CASES]


async def _ask(client: Client, actions: AgentActions, case: Case, folder: Path, address: str) -> dict[str, Any]:
    places = {"{data}": str(folder / "data" / "node_modules"), "{servers}": str(folder / "node_modules")}
    arguments = dict(case.arguments)
    for name, value in arguments.items():
        for place, path in places.items():
            arguments[name] = value = value.replace(place, path) if isinstance(value, str) else value
    if page := arguments.pop("page", None):
        await client.call_tool(
            "call", {"tool": "playwright/browser_navigate", "arguments": {"url": f"{address}/{page}"}}
        )
    answer = await client.call_tool("call", {"tool": case.tool, "arguments": arguments})
    shown = "".join(getattr(block, "text", "") for block in answer.content)
    row = {"kind": case.kind, "tool": case.tool, "question": case.question, "shown": len(shown)}
    match = re.search(r"with id '(result:\w+)'", shown)
    if match is None:
        return row | {"characters": len(shown), "read": 0, "found": False, "problem": shown[:200]}
    whole = actions.results.text(match[1], "")
    assert len(whole) > LONGEST_RESULT
    read = await client.call_tool("read", {"id": match[1], "query": case.question})
    assert read.structured_content, read.content
    text = read.structured_content["text"]
    known = re.sub(r"\s", "", case.expected)
    row |= {"characters": len(whole), "read": len(text), "found": known in re.sub(r"\s", "", text)}
    return row | ({} if known in re.sub(r"\s", "", whole) else {"problem": "the expected text is not in the result"})

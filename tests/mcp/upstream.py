"""An upstream server without the SDK, so that it starts quickly: `upstream.py OFFER.json`.

The file says what it offers now, and how it behaves: {"tools", "pause" (seconds before it answers anything), "first"
(what it writes to stdout before), "flood" (what it writes there for ever), "complain" (what it says on stderr),
"strict" (whether it rejects calls without the required arguments)}. Each start is noted beside the file. The name of a
tool decides what it does.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

OFFER = Path(sys.argv[1])


def offer() -> dict[str, Any]:
    return dict(json.loads(OFFER.read_text("utf-8")))


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


BLOCKS: list[dict[str, Any]] = [
    {"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "text", "text": "first", "_meta": {"example/page": 1}},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "note://1", "name": "note", "description": "A note.", "size": 5},
    {"type": "resource", "resource": {"uri": "note://2", "text": "second", "_meta": {"example/page": 2}}},
    {"type": "resource", "resource": {"uri": "note://3", "blob": "aGk=", "mimeType": "image/png"}},
    {"type": "text", "text": "last"},
]


def missing(name: str, arguments: dict[str, Any]) -> list[str]:
    """The required arguments that are missing, if the server is strict."""
    (tool,) = (tool for tool in offer()["tools"] if tool["name"] == name)
    given = arguments.keys()
    return [key for key in tool["inputSchema"].get("required", ()) if key not in given] if offer().get("strict") else []


def call(id: Any, name: str, arguments: dict[str, Any]) -> None:
    if name.startswith("die"):
        os._exit(3)
    if name == "sleep":
        time.sleep(arguments["seconds"])
    if name == "refuse":
        say(id=id, error={"code": -32000, "message": f"no, for the key is {os.environ.get('API_KEY')}"})
    elif name == "fail":
        say(id=id, result=text("the shelf is empty", isError=True))
    elif name == "break":
        say(id=id, result={"content": "nothing like content"})
    elif name == "large":
        say(id=id, result=text("".join(f"line {number}\n" for number in range(30_000))))
    elif name == "where":
        say(id=id, result=text(os.getcwd()))
    elif name == "roots":
        say(id="roots", method="roots/list")
        answers = (json.loads(line) for line in sys.stdin)
        answer = next(one for one in answers if one.get("id") == "roots")
        say(id=id, result=text(json.dumps([root["uri"] for root in answer["result"]["roots"]])))
    elif name == "structured":
        say(id=id, result=text('{"sum": 3}', structuredContent={"sum": 3, "rest": None}, _meta={"example/cost": 2}))
    elif name == "blocks":
        say(id=id, result={"content": BLOCKS})
    elif name == "flood":
        while True:
            sys.stdout.write("all work and no play\n" * 1000)
    else:
        if name == "become":
            OFFER.write_text(json.dumps(offer() | {"tools": arguments["tools"]}), "utf-8")
            say(method="notifications/tools/list_changed")
        say(id=id, result=text(f"{name} {json.dumps(arguments, sort_keys=True)}"))


def main() -> None:
    with OFFER.with_suffix(".starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    behavior = offer()
    time.sleep(behavior.get("pause", 0))
    sys.stdout.write(behavior.get("first", ""))
    sys.stderr.write(behavior.get("complain", ""))
    sys.stderr.flush()
    while behavior.get("flood"):
        sys.stdout.write(behavior["flood"])
    for line in sys.stdin:
        message = json.loads(line)
        id, params = message.get("id"), message.get("params") or {}
        if message["method"] == "initialize":
            about = {"name": behavior.get("name", "by hand"), "version": "1"}
            capabilities = {"tools": {"listChanged": True}}
            say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": about})
        elif message["method"] == "tools/list":
            say(id=id, result={"tools": offer()["tools"]})
        elif message["method"] == "tools/call":
            arguments = params.get("arguments") or {}
            if lacking := missing(params["name"], arguments):
                say(id=id, result=text(f"missing: {', '.join(lacking)}", isError=True))
            else:
                call(id, params["name"], arguments)
        elif id is not None:
            say(id=id, error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()

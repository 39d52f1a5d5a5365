"""An upstream server without the SDK, so that it starts quickly: `upstream.py OFFER.json`.

The file says what it offers now, and how it behaves: {"tools", "pause" (seconds before it answers anything), "first"
(what it writes to stdout before), "flood" (what it writes there for ever), "complain" (what it says on stderr),
"strict" (whether it rejects calls without the required arguments), "for_people" (tools for clients that it can ask),
"prompts", "resources", "resourceTemplates"}. Each start is noted beside the file, and so is each canceled request. The
name of a tool decides what it does.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
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


FORM = {"message": "Which shelf?", "requestedSchema": {"type": "object", "properties": {"shelf": {"type": "string"}}}}
PAGE = {"mode": "url", "message": "Sign in.", "url": "https://example.org/sign-in", "elicitationId": "7"}
WORDS = {"messages": [{"role": "user", "content": {"type": "text", "text": "Name a color."}}], "maxTokens": 9}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "ask": ("elicitation/create", FORM),
    "ask_url": ("elicitation/create", PAGE),
    "sample": ("sampling/createMessage", WORDS),
}
CLIENT: dict[str, Any] = {}
LEVEL = ["not set"]
SUBSCRIBED: list[str] = []
WAITING: list[dict[str, Any]] = []


def hear() -> Iterator[dict[str, Any]]:
    """The messages of the client, first those that came while an answer was awaited."""
    while WAITING or (line := sys.stdin.readline()):
        yield WAITING.pop(0) if WAITING else json.loads(line)


def wait_for(is_meant: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The next message that is meant; others wait."""
    for line in sys.stdin:
        message = dict(json.loads(line))
        if is_meant(message):
            return message
        WAITING.append(message)
    sys.exit()


def answer_list(id: Any, method: str, params: dict[str, Any]) -> bool:
    """Answer a request about prompts or resources, if it is one."""
    known = {"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}
    if method in known:
        say(id=id, result={known[method]: offer().get(known[method], [])})
    elif method == "prompts/get":
        message = {"role": "user", "content": {"type": "text", "text": f"{params['name']} {params.get('arguments')}"}}
        say(id=id, result={"description": "As told.", "messages": [message]})
    elif method == "resources/read" and "none" in params["uri"]:
        say(id=id, error={"code": -32002, "message": f"no such resource, and the key is {os.environ.get('API_KEY')}"})
    elif method == "resources/read":
        contents = [{"uri": params["uri"], "mimeType": "text/plain", "text": f"{OFFER.stem} has it", "_meta": {"n": 1}}]
        say(id=id, result={"contents": [*contents, {"uri": params["uri"], "blob": "aGk="}]})
    elif method == "completion/complete":
        value = f"{params['ref'].get('name') or params['ref'].get('uri')} {params['argument']['value']}"
        say(id=id, result={"completion": {"values": [value], "total": 1, "hasMore": False}})
    elif method in ("resources/subscribe", "resources/unsubscribe"):
        (SUBSCRIBED.append if method == "resources/subscribe" else SUBSCRIBED.remove)(params["uri"])
        say(id=id, result={})
    elif method == "logging/setLevel":
        LEVEL.append(params["level"])
        say(id=id, result={})
    else:
        return False
    return True


def call(id: Any, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> None:
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
        answer = wait_for(lambda one: one.get("id") == "roots")
        say(id=id, result=text(json.dumps([root["uri"] for root in answer["result"]["roots"]])))
    elif name == "steps":
        token = meta.get("progressToken")
        for step in (1, 2, 3) if token is not None else ():
            params = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
            say(method="notifications/progress", params=params)
        say(id=id, result=text(f"steps were {'reported' if token is not None else 'not wanted'}"))
    elif name == "wait":
        say(method="notifications/progress", params={"progressToken": meta.get("progressToken"), "progress": 1})
        OFFER.with_suffix(".waiting").touch()
        canceled = wait_for(lambda one: one.get("method") == "notifications/cancelled")
        with OFFER.with_suffix(".canceled").open("a") as file:
            file.write(f"{canceled['params']['requestId'] == id}\n")
    elif name in ASKED:
        method, params = ASKED[name]
        say(id="question", method=method, params=params)
        answer = wait_for(lambda one: one.get("id") == "question")
        say(id=id, result=text(json.dumps(answer.get("result") or answer["error"]["message"])))
    elif name == "log":
        for level in ("debug", "warning"):
            data = {"message": f"the key is {os.environ.get('API_KEY')}"}
            say(method="notifications/message", params={"level": level, "logger": "shelf", "data": data})
        say(id=id, result=text(f"the level is {LEVEL[-1]}"))
    elif name == "environment":
        key = os.environ.get("API_KEY")
        resource = {"type": "resource", "resource": {"uri": "env://key", "text": f"key: {key}"}}
        image = {"type": "image", "data": str(key), "mimeType": "image/png"}
        content = [{"type": "text", "text": f"the key is {key}, and theirs {arguments.get('other')}"}, resource, image]
        structured = {"keys": [{"key": key, "length": 1}]}
        say(id=id, result={"content": content, "structuredContent": structured, "isError": "fail" in arguments})
    elif name == "client":
        say(id=id, result=text(json.dumps(CLIENT)))
    elif name == "touch":
        say(method="notifications/resources/updated", params={"uri": arguments["uri"]})
        say(id=id, result=text(f"subscribed: {SUBSCRIBED}"))
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
    for message in hear():
        id, params = message.get("id"), message.get("params") or {}
        if message["method"] == "initialize":
            about = {"name": behavior.get("name", "by hand"), "version": "1"}
            CLIENT.update({"info": params["clientInfo"], "capabilities": params["capabilities"]})
            capabilities: dict[str, Any] = {"tools": {"listChanged": True}}
            if behavior.keys() & {"prompts", "resources", "resourceTemplates"}:
                capabilities |= {"prompts": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}}
            say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": about})
        elif message["method"] == "tools/list":
            more = offer().get("for_people", []) if "elicitation" in CLIENT["capabilities"] else []
            say(id=id, result={"tools": [*offer()["tools"], *more]})
        elif message["method"] == "tools/call":
            arguments = params.get("arguments") or {}
            if lacking := missing(params["name"], arguments):
                say(id=id, result=text(f"missing: {', '.join(lacking)}", isError=True))
            else:
                call(id, params["name"], arguments, params.get("_meta") or {})
        elif id is not None and not answer_list(id, message["method"], params):
            say(id=id, error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()

"""Whether anyone sees what they may not while a team uses the service: users, writers, agents and random identities.

`python -m bench team [--users N] [--minutes N] [--requests N]`. An issuer on this machine signs the tokens (with
joserfc, the library of Authlib, where the service uses PyJWT). Every hidden document has a marker of its group that no
request contains: a marker in an answer to someone else is a leak. Writers record what the service has confirmed, and
all of it must be there at the end. Then requests with random identities follow: no leak and no status of 500 or more.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hmac
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from bench import load, report
from shortlist.server.access.named_tokens import create_token, revoke_token
from tests.server.access.issuer import KeyServer

AUDIENCE = "https://search.example"
GROUPS = ("hr", "legal", "board")  # that documents are hidden for; all users are in staff
USERS = {"ada": ("staff", "hr"), "bob": ("staff", "hr", "legal")}  # two users in three groups
DOCUMENTS = 300
MARKER = re.compile(r"zq(hr|legal|board)\d{6}")
WORDS = ("salary", "merger", "contract", "holiday", "laptop", "refund", "parcel", "office", "dragon", "invoice")
PAUSE_SECONDS = 0.05  # of a user between two requests
CORPUS = "/v1/corpora/handbook"
UNKNOWN = "/v1/%2e%2e"
MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


class Issuer(KeyServer):
    """An identity provider, and the tokens that it signs."""

    def __init__(self) -> None:
        from joserfc import jwk, jwt  # installed beside Authlib

        self._jwt = jwt
        self.key, self.other = (jwk.RSAKey.generate_key(2048, parameters={"kid": kid}) for kid in ("one", "other"))
        super().__init__()

    def key_set(self) -> dict[str, Any]:
        return {"keys": [self.key.as_dict(private=False)]}

    def sign(self, user: str, groups: Any, *, key: Any = None, **claims: Any) -> str:
        payload = {"iss": self.url, "aud": AUDIENCE, "sub": user, "groups": groups, "exp": time.time() + 7200} | claims
        payload = {name: value for name, value in payload.items() if value is not None}
        return self._jwt.encode({"alg": "RS256", "kid": "one"}, payload, key or self.key)


@dataclass
class Findings:
    """What was measured, and everything that is wrong."""

    statuses: Counter[int] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)
    permitted: int = 0  # markers in answers to those who may see them
    calls: int = 0  # of agents
    wrong: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # of the requests that were answered
    written: dict[str, str] = field(default_factory=dict)  # group by id of a document

    def check(self, who: str, groups: Any, text: str) -> None:
        for match in MARKER.finditer(text):
            self.permitted += match[1] in groups
            if match[1] not in groups:
                self.wrong.append(f"{who} saw {match[0]}")

    async def send(self, http: Any, who: str, groups: Any, method: str, path: str, **options: Any) -> Any:
        began = time.perf_counter()
        answer = await http.request(method, path, **options)
        self.milliseconds.append(1e3 * (time.perf_counter() - began))
        self.statuses[answer.status_code] += 1
        self.ids.add(answer.headers["x-request-id"])
        if answer.status_code >= 500:
            self.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        self.check(who, groups, answer.text)
        return answer


def make_document(number: int, group: str = "") -> dict[str, Any]:
    words = " ".join(random.choices(WORDS, k=6))
    marker, access = (f" zq{group}{number:06}", {"access": [group]}) if group else ("", {})
    about = {"id": f"{group or 'all'}-{number}{marker.strip()}", "title": f"{words.title()}{marker}"}
    return about | {"content": f"{words}. Number {number}.{marker}", "metadata": {"number": number} | access}


def run(arguments: list[Path]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench team", description=__doc__)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--requests", type=int, default=100_000, help="with random identities")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args([str(argument) for argument in arguments])
    random.seed(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(_measure(Path(folder), options))
    print(json.dumps(figures, indent=2))
    report.save("team", figures)
    if figures["wrong"]:
        raise SystemExit(f"{len(figures['wrong'])} findings, of which the first is: {figures['wrong'][0]}")


async def _measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    issuer = Issuer()
    os.environ |= {f"SHORTLIST_{kind}_DIR": str(folder / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE")}
    async with _serve(folder, issuer) as url:
        found = Findings()
        async with httpx2.AsyncClient(base_url=url, timeout=60, trust_env=False) as http:
            await _fill(found, http, issuer)
            end = time.monotonic() + 60 * options.minutes
            users = [*USERS.items(), *((f"user{at}", _groups()) for at in range(options.users - len(USERS)))]
            work = [_use(found, http, issuer, user, groups, end) for user, groups in users]
            work += [_call(found, url, issuer, user, groups, end) for user, groups in USERS.items()]
            work += [_write(found, http, issuer, at, end) for at in range(2)]
            await asyncio.gather(*work)
            figures: dict[str, Any] = {
                "users": len(users),
                "minutes": options.minutes,
                "requests": len(found.milliseconds),
            }
            figures |= report.percentiles(found.milliseconds) | {"statuses": _sorted(found.statuses)}
            await _compare(found, http, issuer)
            figures |= {"calls of agents": found.calls, "confirmed writes": len(found.written)}
            fuzzed = await _fuzz(found, http, issuer, options.requests)
    lines = [json.loads(line) for line in (folder / "audit.jsonl").read_text("utf-8").splitlines()]
    unlogged = found.ids - {line.get("request_id", "") for line in lines}
    found.wrong += [f"{len(unlogged)} answered requests are not in the audit log"] if unlogged else []
    return figures | {
        "permitted markers": found.permitted,
        "audit lines": len(lines),
        "random identities": fuzzed,
        "wrong": found.wrong,
    }


@asynccontextmanager
async def _serve(folder: Path, issuer: Issuer) -> AsyncIterator[str]:
    (folder / "docs").mkdir()
    settings = {
        "documents": {"source": str(folder / "none.json"), "embedder": "none"},
        "access": {
            "grants": {"handbook": {"read": ["staff"], "write": ["editors"]}},
            "issuer": issuer.url,
            "audience": AUDIENCE,
        },
        "audit": {"file": str(folder / "audit.jsonl"), "required": True},
        "mcp": {"upstream": False},
        "limits": {"wrong_tokens_per_minute": 0},
    }
    (folder / "settings.yaml").write_text(json.dumps(settings), "utf-8")
    (folder / "none.json").write_text('{"documents": []}', "utf-8")
    build = "import shortlist; shortlist.create_corpus('handbook', embedder='none').close()"
    subprocess.run([sys.executable, "-c", build], check=True)
    command = [sys.executable, "-m", "shortlist", "serve", "--port", "0", "--settings", str(folder / "settings.yaml")]
    with (folder / "log").open("w") as log, subprocess.Popen(command, cwd=folder, stderr=log) as process:
        try:
            yield await asyncio.to_thread(load.find_address, folder / "log", process)
        finally:
            process.send_signal(signal.SIGTERM)


async def _fill(found: Findings, http: Any, issuer: Issuer) -> None:
    groups = [("", *GROUPS)[at % 4] for at in range(DOCUMENTS)]
    body = {"documents": [make_document(at, group) for at, group in enumerate(groups)]}
    await found.send(http, "editor", GROUPS, "POST", f"{CORPUS}/documents", json=body, headers=_editor(issuer))


def _groups() -> tuple[str, ...]:
    return ("staff", *random.sample(GROUPS, random.randrange(len(GROUPS))))


def _sign(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _editor(issuer: Issuer) -> dict[str, str]:
    return _sign(issuer.sign("editor", ["editors"]))


def _sorted(counts: Counter[int]) -> dict[str, int]:
    return {str(status): counts[status] for status in sorted(counts)}


def make_request() -> tuple[str, str, Any]:
    """A request that reads, as text and JSON."""
    query = " ".join(random.choices(WORDS, k=random.randint(1, 3)))
    number, group = random.randrange(DOCUMENTS), random.choice(GROUPS)
    hidden = make_document(number, group)["id"]
    return random.choice(
        [
            ("POST", f"{CORPUS}/search", {"query": query, "mode": "lexical", "k": 20}),
            ("POST", f"{CORPUS}/search", {"query": query, "mode": "lexical", "filter": {"number": number}}),
            ("POST", f"{CORPUS}/discover", {"query": query, "mode": "lexical", "level": "body"}),
            ("POST", f"{CORPUS}/ask", {"question": f"What is the {query}?", "extractive": True}),
            ("GET", f"{CORPUS}/documents?limit=50&offset={number}", None),
            ("GET", f"{CORPUS}/documents?q={query.split()[0]}&sort=title", None),
            ("GET", CORPUS, None),
            ("GET", "/v1/corpora", None),
            ("POST", f"{CORPUS}/explain", {"query": query, "mode": "lexical", "id": f"all-{number}"}),
            ("POST", f"{CORPUS}/feedback", {"query": query, "id": f"all-{number - number % 4}"}),
            ("GET", f"{CORPUS}/documents/{hidden.partition('zq')[0]}", None),
        ]
    )


async def _use(found: Findings, http: Any, issuer: Issuer, user: str, groups: Any, end: float) -> None:
    headers = _sign(issuer.sign(user, list(groups)))
    while time.monotonic() < end:
        method, path, body = make_request()
        answer = await found.send(http, user, groups, method, path, json=body, headers=headers)
        if answer.status_code not in (200, 404):
            found.wrong.append(f"{user}: {method} {path} {answer.status_code} {answer.text[:200]}")
        await asyncio.sleep(PAUSE_SECONDS)


async def _call(found: Findings, url: str, issuer: Issuer, user: str, groups: Any, end: float) -> None:
    """An agent over MCP, with the official client."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    http = httpx2.AsyncClient(headers=_sign(issuer.sign(user, list(groups))), timeout=60, trust_env=False)
    async with http, Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
        while time.monotonic() < end:
            query = " ".join(random.choices(WORDS, k=2))
            for name, arguments in (
                ("discover", {"query": query, "kind": "document"}),
                ("ask", {"question": f"What is the {query}?"}),
                ("read", {"id": f"all-{random.randrange(DOCUMENTS)}", "corpus": "handbook"}),
                ("status", {}),
            ):
                result = await client.call_tool(name, arguments)
                found.calls += 1
                found.check(f"the agent of {user}", groups, result.model_dump_json())
            await asyncio.sleep(PAUSE_SECONDS)


async def _write(found: Findings, http: Any, issuer: Issuer, at: int, end: float) -> None:
    """Add documents, and delete some of them again."""
    headers = _editor(issuer)
    for number in itertools.count(100_000 * (at + 1)):
        if time.monotonic() >= end:
            return
        group = random.choice(("", *GROUPS))
        document = make_document(number, group)
        body = {"documents": [document]}
        answer = await found.send(http, "editor", GROUPS, "POST", f"{CORPUS}/documents", json=body, headers=headers)
        if answer.status_code == 200:
            found.written[document["id"]] = group
        if number % 10 == 9:
            gone = random.choice(list(found.written))
            answer = await found.send(http, "editor", GROUPS, "DELETE", f"{CORPUS}/documents/{gone}", headers=headers)
            if answer.status_code == 200:
                found.written.pop(gone, None)
        await asyncio.sleep(4 * PAUSE_SECONDS)


async def _compare(found: Findings, http: Any, issuer: Issuer) -> None:
    """All that was written is there, for those who may see it and for no one else."""
    for user, groups in USERS.items():
        headers, seen = _sign(issuer.sign(user, list(groups))), set()
        for offset in itertools.count(0, 1_000):
            path = f"{CORPUS}/documents?limit=1000&offset={offset}"
            page = (await found.send(http, user, groups, "GET", path, headers=headers)).json()["documents"]
            seen |= {document["id"] for document in page}
            if len(page) < 1_000:
                break
        expected = {id for id, group in found.written.items() if not group or group in groups}
        found.wrong += [f"{user} does not see {id}" for id in sorted(expected - seen)]


def _encode(part: dict[str, str] | bytes) -> str:
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def make_identities(issuer: Issuer) -> list[tuple[str, dict[str, str]]]:
    """Callers who may read nothing, with a name for each kind."""
    revoked = create_token("revoked", ["staff", "hr"], None)
    revoke_token("revoked")
    valid = issuer.sign("eve", ["staff", *GROUPS])
    head, payload, signature = valid.split(".")
    forged = f"{_encode({'alg': 'HS256', 'kid': 'one'})}.{payload}"
    code = hmac.digest(issuer.key.as_pem(private=False), forged.encode(), "sha256")
    tokens = {
        "garbage": "a.b.c",
        "revoked": revoked,
        "expired": issuer.sign("eve", list(GROUPS), exp=time.time() - 3600),
        "no expiry": issuer.sign("eve", list(GROUPS), exp=None),
        "another audience": issuer.sign("eve", list(GROUPS), aud="https://other.example"),
        "another issuer": issuer.sign("eve", list(GROUPS), iss="https://other.example"),
        "another key": issuer.sign("eve", ["staff", *GROUPS], key=issuer.other),
        "the public key as a secret": f"{forged}.{_encode(code)}",
        "no signature": f"{head}.{payload}.",
        "no algorithm": f"{_encode({'alg': 'none', 'kid': 'one'})}.{payload}.",
        "a changed signature": f"{head}.{payload}.{signature[:-8]}AAAAAAAA",
        "a changed payload": f"{head}.{payload[:-4]}AAAA.{signature}",
        "no group": issuer.sign("eve", []),
        "other groups": issuer.sign("eve", ["guests", "HR", " hr", "hr,legal"]),
        "groups of another type": issuer.sign("eve", {"hr": True}),
        "a name like an operator": issuer.sign("operator", ["operators"]),
    }
    return [("none", {}), *((name, _sign(token)) for name, token in tokens.items())]


async def _fuzz(found: Findings, http: Any, issuer: Issuer, count: int) -> dict[str, Any]:
    strangers, statuses = make_identities(issuer), Counter[int]()
    named = {name: ("staff", *groups) for name, groups in (("one", ("hr",)), ("two", ()))}
    known = [(name, groups, _sign(create_token(name, list(groups), None))) for name, groups in named.items()]

    async def send_some(number: int) -> None:
        for _ in range(number):
            method, path, body = make_request()
            if random.random() < 0.3:
                arguments = {"id": f"all-{random.randrange(DOCUMENTS)}", "corpus": random.choice(["handbook", "x"])}
                body = {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "read", "arguments": arguments},
                }
                method, path = "POST", "/mcp"
            if random.random() < 0.2:
                method, path = (
                    random.choice(["GET", "POST", "PUT", "DELETE"]),
                    random.choice([path, "/status", "/metrics", UNKNOWN]),
                )
            if random.random() < 0.5:
                name, headers = random.choice(strangers)
                groups: Any = ()
            else:
                name, groups, headers = random.choice(known)
            answer = await found.send(http, name, groups, method, path, json=body, headers=MCP | headers)
            statuses[answer.status_code] += 1
            if not groups and answer.status_code not in (401, 403, 405) and path != UNKNOWN:
                found.wrong.append(f"{name}: {method} {path} {answer.status_code} {answer.text[:100]}")

    await asyncio.gather(*(send_some(count // 8) for _ in range(8)))
    return {
        "requests": sum(statuses.values()),
        "identities": len(strangers) + len(known),
        "statuses": _sorted(statuses),
    }

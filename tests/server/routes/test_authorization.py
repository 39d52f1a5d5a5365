"""What callers may do: deny by default once there are grants, over HTTP and for agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.routing import Mount

import shortlist
from shortlist.errors import InputError
from shortlist.server.access.named_tokens import create_token, revoke_token
from shortlist.server.routes import mcp_routes
from shortlist.server.routes.authorization import RIGHTS
from tests.mcp.conftest import HEADERS
from tests.server.access.issuer import AUDIENCE, Issuer
from tests.server.conftest import Make

GRANTS: Any = {"catalog": {"read": ["staff"], "write": ["editors"]}, "*": {"admin": ["operators"]}}
OPERATOR = "the-one-token"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    one = Issuer()
    yield one
    one.close()


@pytest.fixture
def guarded(make: Make, issuer: Issuer) -> TestClient:
    return make(
        access__grants=GRANTS,
        access__issuer=issuer.url,
        access__audience=AUDIENCE,
        server__token=OPERATOR,
        mcp__upstream=False,
    )


def sign(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_only_known_callers_get_in_and_the_others_learn_where_to_get_a_token(
    guarded: TestClient, issuer: Issuer
) -> None:
    for path in ("/status", "/v1/corpora", "/documents", "/nothing", "/metrics", "/v1/%E2%82%AC%22"):
        for token in ("", "wrong", "a.b.c", issuer.token(aud="other")):
            answer = guarded.get(path, headers=sign(token))
            assert answer.status_code == 401
            assert (
                f'resource_metadata="http://localhost:9200/.well-known/oauth-protected-resource{path}"'
                in (answer.headers["www-authenticate"])
            )
    described = guarded.get("/.well-known/oauth-protected-resource/mcp").json()
    assert described == {
        "resource": "http://localhost:9200/mcp",
        "authorization_servers": [issuer.url],
        "bearer_methods_supported": ["header"],
    }
    assert guarded.get("/health").status_code == 200


def test_rights_are_those_of_the_groups(guarded: TestClient, issuer: Issuer) -> None:
    add = ("POST", "/v1/corpora/catalog/documents", {"documents": [{"id": "x", "title": "X", "content": "y"}]})
    search = ("POST", "/v1/corpora/catalog/search", {"query": "refund", "mode": "lexical"})
    cases: list[tuple[tuple[str, str, Any], set[str]]] = [
        (search, {"staff", "editors", "operators"}),
        (("POST", "/retrieve", {"query": "refund"}), {"staff", "editors", "operators"}),
        (("GET", "/v1/corpora/catalog/documents/refund", None), {"staff", "editors", "operators"}),
        (add, {"editors", "operators"}),
        (("POST", "/documents", add[2]["documents"]), {"editors", "operators"}),
        (("DELETE", "/v1/corpora/catalog/documents/x", None), {"editors", "operators"}),
        (("DELETE", "/v1/corpora/catalog/usage", None), {"operators"}),
        (("GET", "/status", None), {"operators"}),
        (("GET", "/metrics", None), {"operators"}),
        (("POST", "/settings", {}), {"operators"}),
        (("GET", "/v1/mcp", None), {"operators"}),
    ]
    for (method, path, body), groups in cases:
        for group in ("guests", "staff", "editors", "operators"):
            answer = guarded.request(method, path, json=body, headers=sign(issuer.token("ada", (group,))))
            if group in groups:
                assert answer.status_code in (200, 404), (method, path, group, answer.text)
                assert answer.status_code == 200 or method == "DELETE"
            else:
                assert answer.status_code == 403, (method, path, group, answer.text)
    assert guarded.get("/status", headers=sign(OPERATOR)).status_code == 200


def test_a_corpus_that_may_not_be_read_is_one_that_does_not_exist(guarded: TestClient, issuer: Issuer) -> None:
    shortlist.build({"plan": "The secret plan."}, name="board", embedder="none").close()
    reader, operator = sign(issuer.token()), sign(issuer.token("root", ("operators",)))
    listed = [row["name"] for row in guarded.get("/v1/corpora", headers=reader).json()["corpora"]]
    assert listed == ["catalog"]
    assert "board" in [row["name"] for row in guarded.get("/v1/corpora", headers=operator).json()["corpora"]]
    for path in ("", "/documents", "/documents/plan", "/usage"):
        answers = [guarded.get(f"/v1/corpora/{name}{path}", headers=reader) for name in ("board", "boars")]
        assert {answer.status_code for answer in answers} == {404}
        assert answers[0].json()["detail"].replace("board", "boars") == answers[1].json()["detail"]
    assert guarded.post("/v1/corpora/board/files?path=a.md", content=b"x", headers=reader).status_code == 403
    assert guarded.get("/v1/corpora/board/documents/plan", headers=operator).status_code == 200


def test_a_named_token_counts_until_it_is_revoked(guarded: TestClient) -> None:
    token = create_token("ci", ["editors"], None)
    body = {"documents": [{"id": "x", "title": "X", "content": "y"}]}
    assert guarded.post("/v1/corpora/catalog/documents", json=body, headers=sign(token)).status_code == 200
    revoke_token("ci")
    assert guarded.post("/v1/corpora/catalog/documents", json=body, headers=sign(token)).status_code == 401


def test_anonymous_callers_have_what_everyone_has(make: Make) -> None:
    client = make(access__grants={"catalog": {"read": ["everyone"]}}, server__allow_anonymous=True)
    assert client.get("/documents").status_code == 200
    assert client.post("/documents", json=[{"id": "x", "title": "X", "content": "y"}]).status_code == 403
    assert make(access__grants={"catalog": {"read": ["everyone"]}}).get("/documents").status_code == 401


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [
        ("documents", {"catalog": {"re*": ["hr"]}}, "grants"),
        ("audience", AUDIENCE, "issuer"),
        ("keys_url", AUDIENCE, "issuer"),
    ],
)
def test_rules_that_protect_nothing_are_an_error(make: Make, name: str, value: Any, missing: str) -> None:
    with pytest.raises(InputError, match=rf"access\.{name} .*access\.{missing}"):
        make(**{f"access__{name}": value})


def test_rules_for_a_corpus_that_is_not_served_are_reported(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    make(access__grants={"catalog": {"read": ["staff"]}, "catalgo": {"read": ["hr"]}, "*": {}, "skills": {}})
    warnings = [record.getMessage() for record in caplog.records if "no corpus of this name" in record.getMessage()]
    assert len(warnings) == 1
    assert "'catalgo'" in warnings[0]


def test_an_administrator_deletes_what_all_groups_taught(guarded: TestClient, issuer: Issuer) -> None:
    for group in ("staff", "editors"):
        body = {"query": "refund", "id": "refund"}
        answer = guarded.post("/v1/corpora/catalog/feedback", json=body, headers=sign(issuer.token("ada", (group,))))
        assert answer.json()["stored"]
    administrator = sign(issuer.token("root", ("operators",)))
    assert guarded.delete("/v1/corpora/catalog/usage", headers=administrator).json() == {"forgotten": 2}


def test_every_route_needs_a_right(guarded: TestClient) -> None:
    routes: Any = guarded.app
    known = {
        f"{method} {route.path}"
        for route in routes.router.routes
        if not isinstance(route, Mount)
        for method in route.methods or ()
    }
    assert known >= set(RIGHTS)
    assert guarded.get("/openapi.json").status_code == 200


def call(client: TestClient, token: str, method: str, session: str = "", **params: Any) -> Any:
    headers = HEADERS | sign(token) | ({"Mcp-Session-Id": session} if session else {})
    return client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=headers)


def test_agents_read_what_their_user_may_read(guarded: TestClient, issuer: Issuer) -> None:
    shortlist.build({"plan": "The secret plan."}, name="board", embedder="none").close()
    found = {}
    for group in ("staff", "operators"):
        answer = call(
            guarded,
            issuer.token("ada", (group,)),
            "tools/call",
            name="read",
            arguments={"id": "plan", "corpus": "board"},
        )
        found[group] = answer.json()["result"]
    assert "secret" in found["operators"]["content"][0]["text"]
    assert "is not a corpus of this server" in found["staff"]["content"][0]["text"]
    assert "board" not in found["staff"]["content"][0]["text"].partition("Available")[2]
    status = call(guarded, issuer.token(), "tools/call", name="status", arguments={}).json()["result"]
    assert [row["name"] for row in status["structuredContent"]["corpora"]] == ["mcp", "catalog"]
    assert call(guarded, issuer.token("eve", ("guests",)), "tools/list").status_code == 403
    assert call(guarded, "wrong", "tools/list").status_code == 401


def test_a_session_belongs_to_the_user_who_began_it(guarded: TestClient, issuer: Issuer) -> None:
    client = {"name": "test", "version": "1"}
    begun = call(
        guarded, issuer.token(), "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
    )
    session = begun.headers["mcp-session-id"]
    assert "document" not in begun.text.partition('"instructions"')[2].partition(".")[0]  # counts of what others read
    assert call(guarded, issuer.token(), "tools/list", session).status_code == 200
    assert call(guarded, issuer.token("bob"), "tools/list", session).status_code == 404
    with suppress(asyncio.CancelledError):
        guarded.delete("/mcp", headers=HEADERS | sign(issuer.token()) | {"Mcp-Session-Id": session})


@pytest.fixture
def begin(guarded: TestClient, issuer: Issuer) -> Iterator[Callable[[str], str]]:
    """Begins a session of a user."""
    begun: list[tuple[str, str]] = []

    def begin_session(user: str) -> str:
        about: Any = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        session: str = call(guarded, issuer.token(user), "initialize", **about).headers["mcp-session-id"]
        begun.append((user, session))
        return session

    yield begin_session
    for user, session in begun:
        end(guarded, issuer.token(user), session)


def end(client: TestClient, token: str, session: str) -> None:
    with suppress(asyncio.CancelledError):
        client.delete("/mcp", headers=HEADERS | sign(token) | {"Mcp-Session-Id": session})


def test_a_session_that_its_user_ended_makes_room_for_another(
    guarded: TestClient, issuer: Issuer, begin: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_routes, "MOST_SESSIONS", 2)
    first, ended = begin("bob"), begin("ada")
    end(guarded, issuer.token("ada"), ended)
    begin("ada")
    assert call(guarded, issuer.token("bob"), "tools/list", first).status_code == 200

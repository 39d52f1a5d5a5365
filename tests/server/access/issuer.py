"""An identity provider of a test: an issuer with a discovery document and keys that rotate."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

AUDIENCE = "https://search.example"


class KeyServer:
    """Serves the discovery document and the keys of an issuer on this machine."""

    def __init__(self) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(issuer.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> dict[str, Any]:
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"} if "openid" in path else self.key_set()

    def key_set(self) -> dict[str, Any]:
        raise NotImplementedError

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Issuer(KeyServer):
    """Makes tokens, and serves keys and what else a caller may have to deal with."""

    def __init__(self) -> None:
        self.keys: dict[str, ec.EllipticCurvePrivateKey] = {}
        self.discovery: dict[str, str] = {}  # in place of what its discovery document says
        self.can_answer = threading.Event()
        self.can_answer.set()
        self.requests: list[str] = []
        self.rotate("first")
        super().__init__()

    def answer(self, path: str) -> dict[str, Any]:
        self.requests.append(path)
        self.can_answer.wait(10)
        return super().answer(path) | (self.discovery if "openid" in path else {})

    def rotate(self, id: str) -> None:
        """Sign with a new key from now on; the others are withdrawn."""
        self.keys = {id: ec.generate_private_key(ec.SECP256R1())}

    def key_set(self) -> dict[str, Any]:
        algorithm = jwt.algorithms.ECAlgorithm
        rows = [algorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": id} for id, key in self.keys.items()]
        return {
            "keys": [
                "no key",
                {"kty": "EC", "kid": "damaged", "crv": "P-256", "x": 1, "y": 1},
                {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"},
                *rows,
            ]
        }

    def token(self, user: str = "ada", groups: Any = ("staff",), **claims: Any) -> str:
        ((id, key),) = self.keys.items()
        payload = {
            "iss": self.url,
            "aud": AUDIENCE,
            "exp": time.time() + 60,
            "sub": user,
            "groups": list(groups) if isinstance(groups, tuple) else groups,
        } | claims
        return jwt.encode(
            {key: value for key, value in payload.items() if value is not None}, key, "ES256", {"kid": id}
        )

"""A cluster behind https with a password: trusted certificates, credentials, and the errors for wrong ones."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import shortlist
from shortlist import Document
from shortlist.errors import EngineError
from shortlist.index.engines.address import sign_in
from tests.index.engines.conftest import listening, on_servers

ALLOWED = "Basic " + base64.b64encode(b"ann:se:cret").decode()
DOCUMENTS = [Document("tea", "Tea", "Black tea takes four minutes."), Document("rice", "Rice", "Rice takes twelve.")]


class Certificates:
    """A private authority, and the certificate of a server on this machine."""

    def __init__(self, folder: Path) -> None:
        self.authority, self.shown = folder / "authority.pem", folder / "shown.pem"
        key, certificate = _signed("An authority", None, None)
        self.authority.write_bytes(_pem(certificate))
        own_key, own = _signed("A server", certificate, key)
        self.shown.write_bytes(_pem(own) + _private(own_key))


def _signed(
    name: str, authority: x509.Certificate | None, authority_key: ec.EllipticCurvePrivateKey | None
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now, signer = datetime.datetime.now(datetime.UTC), authority_key or key
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(_usage(is_authority=authority is None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
    )
    return key, builder.sign(signer, hashes.SHA256())


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@contextmanager
def guarded(server: str, certificates: Certificates) -> Iterator[str]:
    """A proxy before a server: it speaks https and requires the password."""
    client = httpx2.Client(trust_env=False, timeout=60)

    class Guard(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Authorization") != ALLOWED:
                self._reply(401, b'{"error": "who are you?"}')
                return
            headers = {"Content-Type": self.headers.get("Content-Type", "application/json")} if body else {}
            answer = client.request(self.command, server + self.path, content=body, headers=headers)
            self._reply(answer.status_code, answer.content)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass_on  # noqa: N815

        def _reply(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.shown)
    guard = ThreadingHTTPServer(("127.0.0.1", 0), Guard)
    guard.daemon_threads = True
    guard.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that do not trust it disconnect
    guard.socket = context.wrap_socket(guard.socket, server_side=True, do_handshake_on_connect=False)
    with client, listening(guard) as port:
        yield f"https://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def signed_out() -> Iterator[None]:
    yield
    sign_in()


@on_servers
def test_corpus_behind_https(address: str, certificates: Certificates, tmp_path: Path) -> None:
    dialect, _, rest = address.partition("+")
    server, _, prefix = rest.rpartition("/")
    with guarded(server, certificates) as url:
        engine = f"{dialect}+{url}/{prefix}"
        sign_in("ann", "se:cret", str(certificates.authority))
        with shortlist.create_corpus("kitchen", embedder="light", engine=engine) as corpus:
            corpus.sync(DOCUMENTS)
            assert shortlist.search(corpus, "how long does tea take?")[0].id == "tea"
        sign_in()
        with pytest.raises(EngineError, match="not trusted"):
            shortlist.open_corpus("kitchen")
        environment = {
            **os.environ,
            "SHORTLIST_ENGINE_USER": "ann",
            "SHORTLIST_ENGINE_PASSWORD": "se:cret",
            "SHORTLIST_ENGINE_CERTIFICATE": str(certificates.authority),
        }
        done = subprocess.run(
            [sys.executable, "-m", "shortlist", "search", "kitchen", "rice", "--json"],
            cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
        assert [hit["id"] for hit in json.loads(done.stdout)["hits"]][:1] == ["rice"], done.stderr


def test_untrusted_certificate_is_reported_at_once(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = time.sleep

    def wait(seconds: float) -> None:
        if threading.current_thread() is threading.main_thread():
            pytest.fail("it would not become trusted")
        sleep(seconds)

    monkeypatch.setattr("time.sleep", wait)
    with (
        guarded("http://127.0.0.1:9", certificates) as url,
        pytest.raises(EngineError, match=r"not trusted .*issuer.*SHORTLIST_ENGINE_CERTIFICATE"),
    ):
        shortlist.create_corpus("kitchen", embedder="none", engine=f"opensearch+{url}/p")


def test_wrong_password_is_refused_and_not_shown(certificates: Certificates) -> None:
    with guarded("http://127.0.0.1:9", certificates) as url:
        sign_in("ann", "wrong-one", str(certificates.authority))
        with pytest.raises(EngineError, match=r"401.*'ann'") as caught:
            shortlist.create_corpus("kitchen", embedder="none", engine=f"opensearch+{url}/p")
        assert "wrong-one" not in str(caught.value)


def test_unreadable_certificate_is_reported_by_name(tmp_path: Path) -> None:
    for file, text in ((tmp_path / "none.pem", None), (tmp_path / "broken.pem", "not a certificate")):
        if text is not None:
            file.write_text(text)
        sign_in("ann", "se:cret", str(file))
        with pytest.raises(EngineError, match=f"{file.name} cannot be read"):
            shortlist.create_corpus("kitchen", embedder="none", engine="opensearch+https://127.0.0.1:9/p")

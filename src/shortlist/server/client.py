"""How does a Python program ask a running service?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2

from shortlist.documents import Document
from shortlist.errors import InputError, ServiceError
from shortlist.server.service_settings import is_loopback

URL = "http://localhost:9200"
TIMEOUT = 30.0

# How long to wait before a read is tried again.
BACK_OFF = (0.1, 0.3, 0.9)


class BM25SClient:
    """The catalog of a service, over HTTP. Answers are plain dicts; a failure is a ServiceError.

    Close it, or use it as a context manager. It may be used by several threads.
    """

    def __init__(self, base_url: str = URL, *, token: str | None = None, timeout: float = TIMEOUT) -> None:
        self.base_url = base_url.rstrip("/")
        try:
            url = httpx2.URL(self.base_url)
        except httpx2.InvalidURL as error:
            raise InputError(f"{base_url!r} is no address of a service: {error}.") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise InputError(f"{base_url!r} is no address of a service, such as {URL}.")
        self._http = httpx2.Client(
            base_url=url,
            timeout=timeout,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            trust_env=not is_loopback(url.host),  # no proxy leads to this machine
        )

    def retrieve(
        self,
        query: str,
        temperature: float | None = None,
        ignore_zero: bool | None = None,
        llm_tools_cutoff: float | None = None,
    ) -> dict[str, Any]:
        """The documents that the model should see; options are for this call alone."""
        options = {"temperature": temperature, "ignore_zero": ignore_zero, "llm_tools_cutoff": llm_tools_cutoff}
        body = {"query": query, **{key: value for key, value in options.items() if value is not None}}
        return self._ask("POST", "/retrieve", body, is_read=True)

    def add_document(self, document: Document | Mapping[str, Any]) -> dict[str, Any]:
        """Add a Document, or a mapping with its fields; keywords and metadata are optional. The same id replaces."""
        return self._ask("POST", "/documents", _to_dict(document))

    def index_documents(self, documents: Iterable[Document | Mapping[str, Any]] | None = None) -> dict[str, Any]:
        """Replace all documents by these; without any, index the present ones again."""
        body = {} if documents is None else {"documents": [_to_dict(document) for document in documents]}
        return self._ask("POST", "/index", body)

    def get_documents(self) -> dict[str, Any]:
        """All documents, and how many there are: {"documents", "count"}."""
        return self._ask("GET", "/documents", is_read=True)

    def delete_document(self, doc_id: str) -> dict[str, Any]:
        return self._ask("DELETE", f"/documents/{quote(doc_id, safe='')}")

    def get_settings(self) -> dict[str, Any]:
        """What is in force: {"temperature", "ignore_zero", "llm_tools_cutoff"}."""
        return self._ask("GET", "/settings", is_read=True)

    def update_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is named; what is in force then."""
        return self._ask("POST", "/settings", dict(settings))

    def get_status(self) -> dict[str, Any]:
        return self._ask("GET", "/status", is_read=True)

    def reload(self) -> dict[str, Any]:
        """Have the document file read again."""
        return self._ask("POST", "/reload")

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: Any = None, *, is_read: bool = False) -> dict[str, Any]:
        waits = iter(BACK_OFF if is_read else ())
        while True:
            try:
                return _answer(self._http.request(method, path, **({} if body is None else {"json": body})))
            except (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout) as error:
                wait = next(waits, None)
                if wait is None:
                    reason = f"{self.base_url} cannot be reached ({error}). Start the service: shortlist serve."
                    raise ServiceError(reason) from error
                time.sleep(wait)
            except (TypeError, ValueError) as error:  # of the JSON encoder
                raise InputError(f"The request to {path} cannot be sent as JSON: {error}.") from error
            except httpx2.HTTPError as error:
                reason = f"{method} {self.base_url}{path} failed: {str(error) or type(error).__name__}."
                raise ServiceError(reason) from error


def _to_dict(document: Document | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(document, Document):
        return document.to_dict()
    if not isinstance(document, Mapping):
        raise InputError(f"A document is a Document or a mapping, not {type(document).__name__}.")
    return dict(document)


def _answer(response: httpx2.Response) -> dict[str, Any]:
    try:
        data = response.json()
    except ValueError:
        data = None
    if response.is_success and isinstance(data, dict):
        return data
    said = data.get("detail") if isinstance(data, dict) else None
    strange = f"{response.url} answered {response.status_code}, as no service of ours does."
    raise ServiceError(str(said or strange), response.status_code)

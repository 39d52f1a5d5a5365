"""Python client of a running service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

from shortlist._http import JsonClient, backoff
from shortlist.documents import Document
from shortlist.errors import InputError, ServiceError

if TYPE_CHECKING:
    from shortlist.index.storage.usage_log import Outcome

URL = "http://localhost:9200"
TIMEOUT = 30.0
FIRST_WAIT = 0.1  # seconds, of a read


class BM25SClient:
    """The catalog of a service, and the use of its corpora, over HTTP. Answers are dicts; a failure is a ServiceError.

    Close it, or use it as a context manager. It can be shared by threads.
    """

    def __init__(self, base_url: str = URL, *, token: str | None = None, timeout: float = TIMEOUT) -> None:
        self.base_url = base_url.rstrip("/")
        self.timeout = timeout
        self._client = JsonClient(self.base_url, self._error, key=token or "", timeout=timeout)

    def retrieve(
        self,
        query: str,
        temperature: float | None = None,
        ignore_zero: bool | None = None,
        llm_tools_cutoff: float | None = None,
    ) -> dict[str, Any]:
        """The documents that the model should see; options are for this call only."""
        options = {"temperature": temperature, "ignore_zero": ignore_zero, "llm_tools_cutoff": llm_tools_cutoff}
        body = {"query": query, **{key: value for key, value in options.items() if value is not None}}
        return self._send("POST", "/retrieve", body, is_read=True)

    def add_document(self, document: Document | Mapping[str, Any]) -> dict[str, Any]:
        """Add a Document, or a mapping with its fields; keywords and metadata are optional. The same id replaces."""
        return self._send("POST", "/documents", _to_dict(document))

    def index_documents(
        self, documents: Iterable[Document | Mapping[str, Any]] | None = None, rebuild: bool = True
    ) -> dict[str, Any]:
        """Replace all documents with these or, without `rebuild`, add them; without any, rebuild the index."""
        body: dict[str, Any] = {"rebuild": rebuild}
        if documents is not None:
            body["documents"] = [_to_dict(document) for document in documents]
        return self._send("POST", "/index", body)

    def get_documents(self) -> dict[str, Any]:
        """All documents and their number: {"documents", "count"}."""
        return self._send("GET", "/documents", is_read=True)

    def delete_document(self, doc_id: str) -> dict[str, Any]:
        return self._send("DELETE", f"/documents/{quote(doc_id, safe='')}")

    def feedback(
        self,
        corpus: str,
        query: str,
        id: str,
        outcome: Outcome = "called",
        *,
        shown: Sequence[str] = (),
        session: str = "",
        undo: bool = False,
    ) -> dict[str, Any]:
        """Report that a query led to a document; see `Corpus.learn`. The catalog is the corpus "catalog"."""
        body: dict[str, Any] = {"query": query, "id": id, "outcome": outcome, "shown": list(shown), "session": session}
        body |= {"undo": True} if undo else {}
        return self._send("POST", _corpus_path(corpus, "feedback"), body)

    def usage(self, corpus: str) -> dict[str, Any]:
        """The counts of the log of use of a corpus, and the threshold that is fitted to it."""
        return self._send("GET", _corpus_path(corpus, "usage"), is_read=True)

    def forget(self, corpus: str, id: str | None = None) -> dict[str, Any]:
        """Delete the log of use of a corpus, or what it has about one document: {"forgotten"}."""
        query = "" if id is None else f"?{urlencode({'id': id})}"
        return self._send("DELETE", _corpus_path(corpus, "usage") + query)

    def get_settings(self) -> dict[str, Any]:
        """The settings in force: {"temperature", "ignore_zero", "llm_tools_cutoff"}."""
        return self._send("GET", "/settings", is_read=True)

    def update_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Change these settings and return all that are in force."""
        return self._send("POST", "/settings", dict(settings))

    def get_status(self) -> dict[str, Any]:
        return self._send("GET", "/status", is_read=True)

    def reload(self) -> dict[str, Any]:
        """Make the service read the document file again."""
        return self._send("POST", "/reload")

    reload_documents = reload_index = reload

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, method: str, path: str, body: Any = None, *, is_read: bool = False) -> dict[str, Any]:
        waits = backoff(first=FIRST_WAIT) if is_read else ()
        try:
            response = self._client.send(method, path, body, waits, busy=(), after_timeout=False)
        except (TypeError, ValueError) as error:  # from the JSON encoder
            raise InputError(f"The request to {path} cannot be sent as JSON: {error}.") from error
        try:
            data = response.json()
        except ValueError:
            data = None
        if response.is_success and isinstance(data, dict):
            return data
        detail = data.get("detail") if isinstance(data, dict) else None
        foreign = f"{response.url} answered {response.status_code}, but it is not a shortlist service."
        raise ServiceError(str(detail or foreign), response.status_code)

    def _error(self, reason: str) -> ServiceError:
        return ServiceError(f"{self.base_url} {reason}. Start the service: shortlist serve.")


def _corpus_path(name: str, part: str) -> str:
    return f"/v1/corpora/{quote(name, safe='')}/{part}"


def _to_dict(document: Document | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(document, Document):
        return document.to_dict()
    if not isinstance(document, Mapping):
        raise InputError(f"A document must be a Document or a mapping, not {type(document).__name__}.")
    return dict(document)

"""The fixtures of the service, whose application has the routes of the retriever."""

from tests.server.conftest import catalog, client, make, shared, start  # noqa: F401

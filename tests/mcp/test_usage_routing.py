"""The log of use of the gateway, by the owner of each server."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortlist.index.storage.usage_log import UsageLog, Use, was_forgotten
from shortlist.mcp.usage_routing import RoutedLog, open_usage
from shortlist.mcp_client.server_config import ServerConfig

OWN = ServerConfig("mail", command="mail")
PROJECT = ServerConfig("shop", command="shop", project=Path("project"))
SEND, SELL = "mail/send", "shop/sell"


def use(id: str, outcome: str = "called") -> Use:
    return Use(id, b"hash", outcome)  # type: ignore[arg-type]


class Logs:
    """The log of a project with one server of the user and one of its own, and the files behind it."""

    def __init__(self, folder: Path, name: str = "project") -> None:
        self.servers = {server.name: server for server in (OWN, PROJECT)}
        self.shared, self.project = folder / "shared" / "usage.db", folder / name / "usage.db"
        self.both = RoutedLog(self.project, folder / "shared", lambda: self.servers)


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


def stored(path: Path) -> list[tuple[str, list[str], list[str]]]:
    """The searches in a file: query, what was shown, what was used."""
    return [(one.query, list(one.shown), [use.id for use in one.uses]) for one in UsageLog(path)]


def test_a_search_is_stored_where_its_documents_belong(logs: Logs) -> None:
    own = logs.both.add("send a letter", [(SEND, 0.5)])
    logs.both.add_use(own, use(SEND))
    of_project = logs.both.add("sell a shoe", [(SELL, 0.5)])
    logs.both.add_use(of_project, use(SELL))
    assert stored(logs.shared) == [("send a letter", [SEND], [SEND])]
    assert stored(logs.project) == [("sell a shoe", [SELL], [SELL])]
    assert [search.query for search in logs.both] == ["send a letter", "sell a shoe"]


def test_a_search_that_showed_documents_of_both_is_one_search_here_and_only_its_own_use_elsewhere(
    logs: Logs, tmp_path: Path
) -> None:
    both = logs.both.add("write to a customer", [(SELL, 0.6), (SEND, 0.5)])
    logs.both.add_use(both, use(SEND))
    passed_over = logs.both.add("order paper", [(SELL, 0.6), (SEND, 0.5)])
    logs.both.add_use(passed_over, use(SELL))
    assert stored(logs.shared) == [("write to a customer", [], [SEND])]
    here = [(one.query, list(one.shown), [use.id for use in one.uses]) for one in logs.both]
    assert here == [("write to a customer", [SELL, SEND], [SEND]), ("order paper", [SELL, SEND], [SELL])]
    elsewhere = Logs(tmp_path, "other").both
    assert [(one.query, one.shown, [use.id for use in one.uses]) for one in elsewhere] == [
        ("write to a customer", {}, [SEND])
    ]
    facts = logs.both.facts()
    assert (facts["searches"], facts["uses"], facts["documents"]) == (2, 2, 2)


def test_a_report_with_uses_of_both_is_divided(logs: Logs) -> None:
    logs.both.add("write to a customer", uses=[use(SEND), use(SELL)])
    assert stored(logs.shared) == [("write to a customer", [], [SEND])]
    assert stored(logs.project) == [("write to a customer", [], [SELL])]
    assert [len(search.uses) for search in logs.both] == [2]


def test_a_use_of_the_project_after_a_search_of_own_tools_stays_in_the_project(logs: Logs) -> None:
    refused = logs.both.add("get rid of shoes", [(SEND, 0.1)])
    logs.both.add_use(refused, use(SELL, "reworded"))
    assert stored(logs.shared) == [("get rid of shoes", [SEND], [])]
    assert stored(logs.project) == [("get rid of shoes", [], [SELL])]
    assert [(list(one.shown), [use.id for use in one.uses]) for one in logs.both] == [([SEND], [SELL])]


def test_a_server_that_is_no_longer_configured_is_not_taken_for_one_of_the_user(logs: Logs) -> None:
    number = logs.both.add("sell a shoe", [(SELL, 0.5)])
    logs.servers = {"mail": OWN}
    logs.both.add_use(number, use(SELL))
    assert not logs.shared.exists()


def test_a_project_gains_nothing_by_the_name_of_a_server_of_the_user(logs: Logs) -> None:
    logs.both.add("send a letter", [(SEND, 0.5)], [use(SEND)])
    before = logs.both.version()
    logs.servers = {"mail": ServerConfig("mail", command="other", project=Path("project"))}
    assert list(logs.both) == []
    assert was_forgotten(before, logs.both.version())  # so it is read again at once
    logs.both.add("mail it", [(SEND, 0.5)], [use(SEND)])
    assert [query for query, _, _ in stored(logs.shared)] == ["send a letter"]


def test_what_an_earlier_version_stored_in_the_project_is_still_read(logs: Logs) -> None:
    UsageLog(logs.project).add("post a letter", [(SEND, 0.5)], [use(SEND)])
    logs.both.add("send a letter", [(SEND, 0.5)], [use(SEND)])
    assert [search.query for search in logs.both] == ["post a letter", "send a letter"]
    assert logs.both.version()


def test_nothing_of_a_forgotten_search_is_left_in_either_file(logs: Logs) -> None:
    number = logs.both.add("tell Zebedee about shoes", [(SELL, 0.6), (SEND, 0.5)])
    logs.both.add_use(number, use(SEND))
    kept = logs.both.add("sell a shoe", [(SELL, 0.6)])
    logs.both.add_use(kept, use(SELL))
    version = logs.both.version()
    assert logs.both.forget(id=SEND) == 1
    assert was_forgotten(version, logs.both.version())
    logs.both.close()
    files = [file for folder in (logs.shared, logs.project) for file in folder.parent.iterdir()]
    assert b"Zebedee" not in b"".join(file.read_bytes() for file in files)
    assert [search.query for search in logs.both] == ["sell a shoe"]
    assert logs.both.forget(query="sell a shoe") == 1
    logs.both.add("send a letter", uses=[use(SEND)], session="me")
    assert logs.both.withdraw("send a letter", SEND, "me") == 1
    assert logs.both.forget() == 0


def test_vectors_of_queries_are_stored_with_their_searches(logs: Logs) -> None:
    logs.both.add("send a letter", uses=[use(SEND)])
    logs.both.add("sell a shoe", uses=[use(SELL)])
    encoded: list[str] = []

    def encode(query: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        encoded.append(query)
        return np.ones(2, np.float32)

    queries = ["send a letter", "sell a shoe"]
    for _ in range(2):
        assert set(logs.both.vectors(queries, "model", encode, 60.0)) == set(queries)
    assert encoded == queries
    UsageLog(logs.shared).vectors(queries[:1], "model", encode, 60.0)
    UsageLog(logs.project).vectors(queries[1:], "model", encode, 60.0)
    assert encoded == queries


def test_without_a_shared_folder_there_is_one_log(tmp_path: Path) -> None:
    log = open_usage(tmp_path / "usage.db", None, lambda: {"mail": OWN})
    assert log.add("send a letter", [(SEND, 0.5)]) == 1
    assert [query for query, _, _ in stored(tmp_path / "usage.db")] == ["send a letter"]

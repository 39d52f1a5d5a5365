"""Which corpora are served to agents."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist
from shortlist._projects import project_index
from shortlist._settings import Settings
from shortlist.mcp.collection import StoredCorpora
from shortlist.server.catalog_store import CatalogStore
from shortlist.server.routes.corpora_routes import ServedCorpora
from shortlist.server.routes.mcp_routes import AgentCorpora


def test_b1_agents_are_served_the_index_of_their_project_and_none_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for project in ("one", "two"):
        (tmp_path / project).mkdir()
        monkeypatch.chdir(tmp_path / project)
        Path("a.txt").write_text(f"The lamp of project {project}.", encoding="utf-8")
        shortlist.ingest("a.txt")[0].close()
        names.append(project_index())
    shortlist.ingest("a.txt", "documents")[0].close()
    one, two = names
    assert StoredCorpora().names() == ["documents", two]
    assert StoredCorpora([one]).names() == [one]
    served = CatalogStore(Settings())
    assert AgentCorpora(ServedCorpora(served, None), all_stored=True).names() == ["catalog", "documents", two]
    served.close()


def test_agents_are_served_the_paths_of_their_project_and_none_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = tmp_path / "project", tmp_path / "diary"
    deep = other.joinpath(*["and so on"] * 20)  # too long for a name
    (project / ".git").mkdir(parents=True)
    for folder in (project / "docs", other, deep):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.md").write_text("The lamp is green.", "utf-8")
        assert shortlist.search(str(folder), "lamp")
    monkeypatch.chdir(project)
    assert StoredCorpora().names() == [f"docs:{project / 'docs'}"]
    assert StoredCorpora([f"docs:{other}"]).names() == [f"docs:{other}"]
    (project / "docs" / "plans").mkdir()
    monkeypatch.chdir(project / "docs" / "plans")
    assert StoredCorpora().names() == [f"docs:{project / 'docs'}"]
    monkeypatch.chdir(other)
    assert StoredCorpora().names() == [f"docs:{other}"]

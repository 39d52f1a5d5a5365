"""Projects: their folders, their files, and the names of their corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist._projects import (
    find_in_project,
    folder_name,
    is_of_another_project,
    main_worktree,
    project_folders,
    project_index,
    project_root,
    stored_name,
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository; the current folder is two levels below its root."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "api").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop" / "src" / "api")
    return tmp_path.resolve() / "shop"


def test_the_folders_of_a_project_end_at_the_root_of_its_repository(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project_folders() == [project / "src" / "api", project / "src", project]
    assert project_root() == project
    monkeypatch.chdir(project.parent)
    assert project_folders() == [project.parent]


def test_a_linked_working_tree_has_the_main_one_if_the_repository_knows_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main_worktree() is None
    about = project / ".git" / "worktrees" / "new"
    linked = project.parent / "new ü"
    for folder in (about, linked):
        folder.mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {about}\n", "utf-8")
    monkeypatch.chdir(linked)
    assert main_worktree() is None
    (about / "gitdir").write_text(f"{linked / '.git'}\n", "utf-8")
    assert main_worktree() == project
    (linked / ".git").write_text("gitdir: ../shop/.git/worktrees/new\n")
    (about / "gitdir").write_text("../../../../new ü/.git\n", "utf-8")
    assert main_worktree() == project
    (about / "gitdir").write_text(f"{project / '.git'}\n")  # that of another
    assert main_worktree() is None


def test_the_nearest_file_of_a_name_is_found(project: Path) -> None:
    assert find_in_project("settings.yaml") == Path("settings.yaml")
    (project.parent / "settings.yaml").write_text("outside of the project")
    assert find_in_project("settings.yaml") == Path("settings.yaml")
    (project / "settings.yaml").write_text("")
    assert find_in_project("settings.yaml") == project / "settings.yaml"
    (project / "src" / "settings.yaml").write_text("")
    assert find_in_project("settings.yaml") == project / "src" / "settings.yaml"
    Path("settings.yaml").write_text("", encoding="utf-8")
    assert find_in_project("settings.yaml") == Path("settings.yaml")


def test_corpora_of_a_project_have_the_same_name_in_all_its_folders(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, skills = project_index(), stored_name("skills")
    assert index == f"documents@{folder_name(project)}"
    assert stored_name("notes") == "notes"
    monkeypatch.chdir(project)
    assert (project_index(), stored_name("skills")) == (index, skills)
    assert not any(map(is_of_another_project, (index, skills, "documents", "notes")))
    monkeypatch.chdir(project.parent)
    assert all(map(is_of_another_project, (index, skills)))


def test_folders_of_the_same_name_have_different_names(tmp_path: Path) -> None:
    names = {folder_name(tmp_path / parent / "docs") for parent in ("a", "b")}
    assert len(names) == 2
    assert all(name.startswith("docs-") for name in names)
    assert folder_name(Path(tmp_path.anchor)).startswith("root-")

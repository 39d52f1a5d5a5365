"""Documents out of SKILL.md folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import Changes, CorpusSource, Document, Problem, SourceError, build, search

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"


def skill(root: Path, folder: str, text: str | bytes) -> Path:
    path = root / folder / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def front(name: str, description: str = "Bakes bread.", body: str = "Knead the dough.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


def test_a_skill_becomes_a_document_with_its_description_first(tmp_path: Path) -> None:
    path = skill(tmp_path, "bakery", "---\nname: bake\ndescription: Bakes bread.\nlicense: MIT\n---\n\nKnead it.\n")
    source = str(path.resolve())
    assert list(CorpusSource.from_skills(tmp_path)) == [
        Document(
            "bake",
            "bake",
            "Bakes bread.\n\nKnead it.",
            metadata={"license": "MIT", "description": "Bakes bread.", "skill_path": source},
            kind="skill",
            source=source,
        )
    ]


@pytest.mark.parametrize(
    ("text", "id", "content"),
    [
        ("Knead the dough.", "bakery", "Knead the dough."),
        ("", "bakery", ""),
        ("---\n---\nKnead.", "bakery", "Knead."),
        ("---\n\n---\nKnead.", "bakery", "Knead."),
        ("---\ndescription: Bakes.\n---\n", "bakery", "Bakes."),
        ("---\nname: 42\n---\nKnead.", "42", "Knead."),
        ("\ufeff---\nname: bake\n---\nKnead.", "bake", "Knead."),
        ("---\r\nname: bake\r\ndescription: Bakes.\r\n---\r\nKnead.\r\n", "bake", "Bakes.\n\nKnead."),
        ("Text.\n---\nname: not front matter\n---\n", "bakery", "Text.\n---\nname: not front matter\n---"),
        ("---\nname: never closed\n", "bakery", "---\nname: never closed"),
    ],
)
def test_front_matter_may_be_missing_or_odd(tmp_path: Path, text: str, id: str, content: str) -> None:
    skill(tmp_path, "bakery", text)
    (found,) = CorpusSource.from_skills(tmp_path)
    assert isinstance(found, Document)
    assert (found.id, found.title, found.content) == (id, id, content)


def test_skills_are_found_at_any_depth_under_all_roots(tmp_path: Path) -> None:
    skill(tmp_path, "one/a", front("a"))
    skill(tmp_path, "one/deep/er/b", front("b"))
    skill(tmp_path, "two/c", front("c"))
    (tmp_path / "one" / "a" / "notes.md").write_text("no skill", encoding="utf-8")
    assert [item.id for item in CorpusSource.from_skills(tmp_path / "one", str(tmp_path / "two"))] == ["a", "b", "c"]


def test_without_roots_the_usual_places_of_project_and_user_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    assert list(CorpusSource.from_skills()) == []
    skill(project, ".claude/skills/a", front("a"))
    skill(project, ".agents/skills/b", front("b"))
    skill(home, ".claude/skills/c", front("c"))
    skill(home, ".agents/skills/d", front("d"))
    skill(home, "elsewhere/e", front("e"))
    assert [item.id for item in CorpusSource.from_skills()] == ["a", "b", "c", "d"]


def test_a_usual_place_that_is_two_places_at_once_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    skill(tmp_path, ".claude/skills/a", front("a"))
    (tmp_path / ".agents").symlink_to(tmp_path / ".claude", target_is_directory=True)
    assert [item.id for item in CorpusSource.from_skills()] == ["a"]


def test_a_root_given_twice_or_inside_another_is_read_once(tmp_path: Path) -> None:
    skill(tmp_path, "one/a", front("a"))
    skill(tmp_path, "b", front("b"))
    found = list(CorpusSource.from_skills(tmp_path, tmp_path / "one", tmp_path))
    assert sorted(item.id for item in found) == ["a", "b"]


def test_skills_of_one_name_are_both_kept_under_distinct_ids(tmp_path: Path) -> None:
    skill(tmp_path, "one/a", front("bake", "Bakes bread."))
    other = skill(tmp_path, "two/a", front("bake", "Bakes cake."))
    source = CorpusSource.from_skills(tmp_path / "one", tmp_path / "two")
    first, second = source
    assert (first.id, second.id) == ("bake", f"bake@{other.parent.resolve()}")
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=2)
    assert [hit.name for hit in search(corpus, "cake")] == ["bake"]
    assert corpus.sync(source) == Changes(unchanged=2)


BROKEN = {
    "no YAML": "---\nname: [a\n---\n",
    "no mapping": "---\n- a\n- b\n---\n",
    "no UTF-8": b"---\nname: caf\xe9\n---\n",
    "no date": "---\nname: bake\nday: 2025-13-45\n---\n",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_skill_is_a_problem_that_names_the_file_and_what_was_stored_stays(
    tmp_path: Path, text: str | bytes
) -> None:
    path = skill(tmp_path, "bakery", front("bake"))
    skill(tmp_path, "other", front("sew", "Sews shirts."))
    source = CorpusSource.from_skills(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=2)
    skill(tmp_path, "bakery", text)
    changes = corpus.sync(source)
    assert (changes.unchanged, changes.removed, len(changes.failed)) == (1, 0, 1)
    (problem,) = changes.failed
    assert isinstance(problem, Problem)
    assert str(path) in problem.reason
    assert "\n" not in problem.reason
    assert problem.source == str(path.resolve())
    assert [hit.id for hit in search(corpus, "bread")] == ["bake"]


def test_metadata_that_json_cannot_hold_lose_only_their_own_skill(tmp_path: Path) -> None:
    skill(tmp_path, "a", "---\nname: a\nratio: .nan\n---\nText.")
    skill(tmp_path, "b", "---\nname: b\nday: 2025-03-14\n---\nText.")
    corpus = build(CorpusSource.from_skills(tmp_path), in_memory=True, embedder="none")
    assert corpus.ids() == ["b"]
    assert [problem.id for problem in corpus.changes.failed] == ["a"]
    document = corpus.get("b")
    assert document is not None
    assert document.metadata["day"] == "2025-03-14"


def test_a_folder_named_like_a_skill_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "odd" / "SKILL.md").mkdir(parents=True)
    skill(tmp_path, "a", front("a"))
    first, second = CorpusSource.from_skills(tmp_path)
    assert isinstance(first, Document)
    assert isinstance(second, Problem)
    assert second.id == "odd"


def test_a_root_that_is_not_there_is_a_source_error_and_nothing_is_pruned(tmp_path: Path) -> None:
    skill(tmp_path, "here/a", front("a"))
    corpus = build(CorpusSource.from_skills(tmp_path / "here"), in_memory=True, embedder="none")
    with pytest.raises(SourceError, match="gone is not a readable folder"):
        corpus.sync(CorpusSource.from_skills(tmp_path / "here", tmp_path / "gone"))
    assert corpus.ids() == ["a"]


def test_a_skill_that_is_gone_is_pruned(tmp_path: Path) -> None:
    skill(tmp_path, "a", front("a"))
    path = skill(tmp_path, "b", front("b"))
    source = CorpusSource.from_skills(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    path.unlink()
    assert corpus.sync(source) == Changes(unchanged=1, removed=1)


def test_a_skill_is_found_by_what_it_says_of_itself_and_by_what_lies_deep_in_it(tmp_path: Path) -> None:
    body = "\n\n".join(["Filler words about nothing in particular."] * 60 + ["Add the sourdough starter."])
    skill(tmp_path, "bake", front("bake", "Bakes bread.", body))
    corpus = build(CorpusSource.from_skills(tmp_path), in_memory=True, embedder="none")
    assert [(hit.text, hit.locator) for hit in search(corpus, "bread")] == [("Bakes bread.", "whole;offset=0")]
    (deep,) = search(corpus, "sourdough")
    assert "sourdough starter" in deep.text
    assert len(deep.text) <= 800


def test_the_example_skills_are_as_they_were() -> None:
    found = list(CorpusSource.from_skills(EXAMPLES / "skills"))
    assert [item.id for item in found] == [
        "api-changelog",
        "deploy-to-production",
        "incident-postmortem",
        "onboarding-buddy",
        "quarterly-report",
        "refund-dispute",
    ]
    assert all(isinstance(item, Document) and item.metadata["description"] for item in found)


def test_the_skills_of_folders_above_are_found_up_to_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    repository = tmp_path / "above" / "repository"
    inside = repository / "package" / "module"
    inside.mkdir(parents=True)
    skill(tmp_path, "above/.claude/skills/outside", front("outside"))
    skill(repository, ".agents/skills/root", front("root"))
    skill(repository, "package/.claude/skills/package", front("package"))
    monkeypatch.chdir(inside)
    assert list(CorpusSource.from_skills()) == []
    (repository / ".git").mkdir()
    assert [item.id for item in CorpusSource.from_skills()] == ["package", "root"]
    skill(inside, ".claude/skills/root", front("root", "Nearer, so it has the name."))
    first, second, third = CorpusSource.from_skills()
    assert [first.id, second.id] == ["root", "package"]
    assert third.id == f"root@{(repository / '.agents/skills/root').resolve()}"


def test_skills_that_are_linked_into_place_are_found_once_and_loops_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    skill(tmp_path, "elsewhere/bake", front("bake"))
    root = tmp_path / ".claude" / "skills"
    root.mkdir(parents=True)
    (root / "bake").symlink_to(tmp_path / "elsewhere" / "bake", target_is_directory=True)
    (root / "again").symlink_to(tmp_path / "elsewhere" / "bake", target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    (found,) = CorpusSource.from_skills(root)
    assert (found.id, found.source) == ("bake", str((tmp_path / "elsewhere/bake/SKILL.md").resolve()))


def test_a_skill_file_that_is_a_link_belongs_to_the_folder_it_is_in(tmp_path: Path) -> None:
    skill(tmp_path, "skills/real", front("bake")).rename(tmp_path / "skills" / "bake.md")
    (tmp_path / "skills" / "bake").mkdir(parents=True)
    (tmp_path / "skills" / "bake" / "SKILL.md").symlink_to(tmp_path / "skills" / "bake.md")
    (found,) = CorpusSource.from_skills(tmp_path / "skills")
    assert isinstance(found, Document)
    assert found.metadata["skill_path"] == str(tmp_path.resolve() / "skills" / "bake" / "SKILL.md")


def test_front_matter_that_expands_without_limit_is_not_read(tmp_path: Path) -> None:
    """Ten levels of ten references to the level before would be ten billion items."""
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 11))
    skill(tmp_path, "bomb", f"---\nname: bomb\na0: &a0 x\n{levels}---\n")
    (problem,) = CorpusSource.from_skills(tmp_path)
    assert isinstance(problem, Problem)
    assert "aliases" in problem.reason


def test_skills_of_installed_packages_are_not_those_of_the_project(tmp_path: Path) -> None:
    skill(tmp_path, "node_modules/tool/skills/a", front("a"))
    skill(tmp_path, ".claude/skills/b", front("b"))
    assert [item.id for item in CorpusSource.from_skills(tmp_path)] == ["b"]


def test_the_access_of_a_skill_may_be_in_the_metadata_of_its_front_matter(tmp_path: Path) -> None:
    skill(tmp_path, "pay", "---\nname: pay\ndescription: Pay.\nmetadata: {access: hr}\n---\n")
    (found,) = CorpusSource.from_skills(tmp_path)
    assert isinstance(found, Document)
    assert found.metadata["access"] == "hr"

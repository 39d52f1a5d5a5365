"""Disclosure: how much is shown at each level, and what is said of pointers that lead nowhere any more."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

from shortlist import (
    Corpus,
    CorpusSource,
    Document,
    Hit,
    InputError,
    Passage,
    build,
    create_corpus,
    disclose,
    discover,
    register,
    search,
    select,
    unregister,
)
from shortlist.safety.principals import Principal, current_principal

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"


def corpus_of(*documents: Document) -> Corpus:
    corpus = create_corpus(in_memory=True, embedder="none")
    assert not corpus.add(documents).failed
    return corpus


TOOL = Document("t", "refund", "Give the money back.", metadata={"access": "write"}, kind="tool", source="shop")


@pytest.fixture
def shop() -> Corpus:
    return corpus_of(TOOL)


@pytest.fixture
def no_reading(shop: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> NoReturn:
        raise AssertionError("something was read")

    for owner, name in ((Path, "read_text"), (Path, "read_bytes"), (Path, "open"), (Path, "rglob"), (Corpus, "get")):
        monkeypatch.setattr(owner, name, refuse)


@pytest.mark.usefixtures("no_reading")
def test_metadata_are_shown_without_reading_anything(shop: Corpus) -> None:
    (hit,) = search(shop, "money")
    (shown,) = disclose(select([hit]))
    assert shown.to_dict() == {
        "id": "t",
        "name": "refund",
        "score": hit.score,
        "kind": "tool",
        "source": "shop",
        "locator": "whole",
        "metadata": {"access": "write"},
        "level": "metadata",
        "body": None,
        "files": [],
        "stale": False,
        "note": "",
        "corpus": "in memory",
        "relevance": hit.relevance,
        "description": "Give the money back.",
        "needs": [],
        "origin": "",
        "warning": "",
    }


@pytest.mark.usefixtures("no_reading")
@pytest.mark.parametrize("level", ["body", "bundled"])
def test_the_other_levels_do_read(shop: Corpus, level: Any) -> None:
    hits = search(shop, "money")
    with pytest.raises(AssertionError, match="something was read"):
        disclose(hits, level)


@pytest.mark.parametrize("level", ["body", "bundled"])
def test_the_body_of_a_text_or_tool_is_its_content(level: Any) -> None:
    corpus = corpus_of(TOOL, Document("x", "note", "Money is round."))
    shown = disclose(search(corpus, "money"), level)
    assert {item.id: item.body for item in shown} == {"t": "Give the money back.", "x": "Money is round."}
    assert [(item.stale, item.note, item.files) for item in shown] == [(False, "", ())] * 2


@pytest.mark.parametrize("payload", ["def refund(): ...", ""])
def test_the_body_of_what_has_a_payload_is_the_payload(payload: str) -> None:
    corpus = corpus_of(Document("t", "refund", "Give the money back.", kind="tool", payload=payload))
    assert [item.body for item in disclose(search(corpus, "money"), "body")] == [payload]


def test_the_body_of_a_long_text_is_all_of_it_and_not_the_passage(tmp_path: Path) -> None:
    text = "A dog barks at the moon. " * 100 + "The zanzibar ferry leaves at noon. " + "A cat sleeps here. " * 100
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    corpus = build(CorpusSource.from_files(tmp_path), in_memory=True, embedder="none")
    (hit,) = search(corpus, "zanzibar")
    assert len(hit.text) <= 800
    (shown,) = disclose(hit, "body")
    assert (shown.body, shown.locator, shown.stale) == (text, hit.locator, False)


def files(folder: Path) -> Corpus:
    return build(CorpusSource.from_files(folder), in_memory=True, embedder="none")


def test_the_body_of_a_file_is_what_the_file_holds_now_and_a_note_says_that_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("The old ferry.", encoding="utf-8")
    hits = search(files(tmp_path), "ferry")
    assert [(item.body, item.note) for item in disclose(hits, "body")] == [("The old ferry.", "")]
    file.write_text("The new ferry, with more seats.", encoding="utf-8")
    (shown,) = disclose(hits, "body")
    assert shown.body == "The new ferry, with more seats."
    assert "changed" in shown.note


def test_the_body_of_a_file_is_read_as_it_was_indexed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffThe ferry, caf\u00e9.\r\nSecond line.\r\n".encode())
    corpus = files(tmp_path)
    (shown,) = disclose(search(corpus, "ferry"), "body")
    document = corpus.get("a.txt")
    assert document is not None
    assert (shown.body, shown.note) == (document.content, "")


def test_the_body_of_a_file_that_is_gone_is_the_indexed_copy_and_a_note_says_so(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("The old ferry.", encoding="utf-8")
    hits = search(files(tmp_path), "ferry")
    file.unlink()
    (shown,) = disclose(hits, "body")
    assert (shown.body, shown.stale) == ("The old ferry.", True)
    assert shown.note == f"{file.resolve()} cannot be read (No such file or directory); this is the indexed copy."


def test_a_folder_in_the_place_of_a_file_is_a_stale_pointer_too(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("The old ferry.", encoding="utf-8")
    hits = search(files(tmp_path), "ferry")
    file.unlink()
    file.mkdir()
    (shown,) = disclose(hits, "body")
    assert (shown.body, shown.stale) == ("The old ferry.", True)


@pytest.mark.parametrize("source", ["/no/such/place", "https://example.org/a.txt", "a\0b", "x" * 5000])
def test_a_pointer_that_no_file_system_knows_is_stale(source: str) -> None:
    corpus = corpus_of(Document("f", "ferry", "The old ferry.", kind="file", source=source))
    (shown,) = disclose(search(corpus, "ferry"), "body")
    assert (shown.body, shown.stale) == ("The old ferry.", True)


def test_the_body_of_a_removed_document_is_the_passage_that_was_found_and_a_note_says_so() -> None:
    corpus = corpus_of(TOOL)
    hits = search(corpus, "money")
    corpus.remove("t")
    (shown,) = disclose(hits, "body")
    assert (shown.body, shown.stale) == ("Give the money back.", True)
    assert "no longer in the corpus" in shown.note


@pytest.mark.parametrize("left", ["nothing", "the folder"])
def test_the_body_survives_the_corpus_being_closed_and_deleted(tmp_path: Path, left: str) -> None:
    folder = tmp_path / "c"
    with create_corpus(path=folder, embedder="none") as corpus:
        corpus.add([TOOL])
        hits = search(corpus, "money")
    shutil.rmtree(folder)
    if left == "the folder":
        folder.mkdir()
    (shown,) = disclose(hits, "body")
    assert (shown.body, shown.stale) == ("Give the money back.", True)
    with build([TOOL], path=folder, embedder="none") as corpus:  # a read has left nothing in the way
        assert corpus.changes.added == 1


def test_a_hit_of_no_corpus_shows_its_text() -> None:
    (shown,) = disclose(Hit(Passage("a", "name", "text"), 0.5), "body")
    assert (shown.body, shown.stale, shown.score) == ("text", False, 0.5)


def skills() -> Corpus:
    return build(CorpusSource.from_skills(EXAMPLES / "skills"), in_memory=True, embedder="none")


def test_bundled_lists_the_files_beside_a_skill() -> None:
    (hit,) = search(skills(), "deploy-to-production", k=1)
    (shown,) = disclose(hit, "bundled")
    assert shown.id == "deploy-to-production"
    assert shown.files == ("checklist.md", "scripts/rollback.sh")
    assert shown.body == (EXAMPLES / "skills/deploy-to-production/SKILL.md").read_text("utf-8")


def test_a_skill_without_files_beside_it_lists_none() -> None:
    (hit,) = search(skills(), "api-changelog", k=1)
    assert disclose(hit, "bundled")[0].files == ()
    assert disclose(hit, "body")[0].files == ()


def test_a_skill_that_is_gone_lists_no_files_and_says_so(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "skills" / "refund-dispute", tmp_path / "refund-dispute")
    corpus = build(CorpusSource.from_skills(tmp_path), in_memory=True, embedder="none")
    (hit,) = search(corpus, "refund-dispute", k=1)
    assert disclose(hit, "bundled")[0].files == ("reference/reason-codes.md", "reply-templates.md")
    shutil.rmtree(tmp_path / "refund-dispute")
    (shown,) = disclose(hit, "bundled")
    assert (shown.files, shown.stale) == ((), True)
    assert shown.body is not None
    assert shown.body.startswith("Works through a contested refund")


def test_only_skills_have_files_beside_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The ferry.", encoding="utf-8")
    (tmp_path / "b.txt").write_text("Another.", encoding="utf-8")
    assert [item.files for item in disclose(search(files(tmp_path), "ferry"), "bundled")] == [()]


@pytest.mark.parametrize("level", ["all", "", "Body", None])
def test_an_unknown_level_is_an_error_that_names_the_known_ones(level: Any) -> None:
    with pytest.raises(InputError, match="metadata, body, bundled"):
        disclose([], level)


def test_one_hit_a_list_of_hits_and_a_selection_are_all_disclosed_in_order() -> None:
    corpus = corpus_of(*(Document(f"d{at}", "", "money " * at) for at in range(1, 4)))
    hits = search(corpus, "money")
    ids = [hit.id for hit in hits]
    assert [item.id for item in disclose(hits)] == ids
    assert [item.id for item in disclose(select(hits, "top_k", max_k=2))] == ids[:2]
    assert [item.id for item in disclose(hits[1])] == ids[1:2]
    assert disclose([]) == []
    assert disclose(select([])) == []


def test_disclosing_changes_neither_the_hits_nor_the_corpus() -> None:
    corpus = corpus_of(TOOL)
    hits = search(corpus, "money")
    before = json.dumps(hits.to_dict())
    disclose(hits, "bundled")
    assert json.dumps(hits.to_dict()) == before
    assert [document.to_dict() for document in corpus] == [TOOL.to_dict()]


@pytest.mark.parametrize("level", ["metadata", "body", "bundled"])
def test_a_disclosure_becomes_plain_json(level: Any) -> None:
    (hit,) = search(skills(), "deploy-to-production", k=1)
    (shown,) = disclose(hit, level)
    written = json.loads(json.dumps(shown.to_dict(), allow_nan=False))
    assert written == {**shown.to_dict(), "files": list(shown.files)}
    assert written["level"] == level


# Pointers in metadata


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is the current folder, with files in it, beside it and in the home folder."""
    home = tmp_path / "home"
    folder = home / "work" / "project"
    for place, text in {
        folder / "notes" / "ferry.md": "The whole story of the ferry.",
        folder / ".env": "TOKEN=secret",
        folder / ".claude/skills/ferry/SKILL.md": "The ferry skill.",
        folder / ".claude/skills/ferry/times.csv": "noon",
        home / "work" / "other.md": "Another project.",
        home / ".ssh" / "id_rsa": "secret key",
    }.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / "way-out.md").symlink_to(home / "work" / "other.md")
    (folder / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(folder / "notes")
    return folder


def body_of(metadata: dict[str, Any], **options: Any) -> tuple[str | None, str]:
    """What `discover` shows of a text with this metadata, and its note."""
    found = discover({"a": {"text": "A summary of the ferry.", **metadata}}, "ferry", mode="lexical", **options)
    (shown,) = found.results
    assert shown.stale is bool(shown.note)
    return shown.body, shown.note


@pytest.mark.parametrize("pointer", ["{project}/notes/ferry.md", "notes/ferry.md", "ferry.md"])
@pytest.mark.parametrize("field", ["path", "skill_path"])
def test_e5_a_pointer_in_metadata_is_followed_for_every_source(project: Path, field: str, pointer: str) -> None:
    metadata = {field: pointer.format(project=project)}
    assert body_of(metadata, level="body") == ("The whole story of the ferry.", "")
    assert body_of(metadata, level="metadata") == (None, "")


def test_e5_bundled_lists_the_files_beside_the_skill_that_skill_path_names(project: Path) -> None:
    texts = {"a": {"text": "A ferry.", "skill_path": str(project / ".claude/skills/ferry/SKILL.md")}}
    (shown,) = disclose(search(texts, "ferry", "lexical"), "bundled")
    assert (shown.body, shown.files) == ("The ferry skill.", ("times.csv",))


@pytest.mark.parametrize(
    ("pointer", "reason"),
    [
        ("/etc/passwd", "outside"),
        ("~/.ssh/id_rsa", "Hidden"),
        ("../../../.ssh/id_rsa", "outside"),
        ("{home}/.ssh/id_rsa", "outside"),
        ("{home}/work/other.md", "outside"),
        ("way-out.md", "does not exist"),
        (".env", "Hidden"),
        ("{project}/notes/../.git/config", "Hidden"),
        ("no/such/file.md", "does not exist"),
        ("/api/v1/refunds", "outside"),
        ("https://example.org/ferry.md", "does not exist"),
        ("{project}/notes", "not a file"),
        ("picture.png", "not a text file"),
        ("a\0b", ""),
        ("x" * 5000, ""),
    ],
)
def test_e5_a_pointer_that_is_not_followed_shows_the_indexed_text_and_says_why(
    project: Path, pointer: str, reason: str
) -> None:
    pointer = pointer.format(project=project, home=Path.home())
    body, note = body_of({"path": pointer}, level="body")
    assert body == "A summary of the ferry."
    assert "path" in note
    assert reason in note


def test_e5_roots_that_are_given_take_the_place_of_the_project(project: Path) -> None:
    other = {"path": str(Path.home() / "work" / "other.md")}
    assert body_of(other, level="body", roots=[Path.home() / "work"]) == ("Another project.", "")
    assert "outside" in body_of({"path": "notes/ferry.md"}, level="body", roots=())[1]
    assert "Hidden" in body_of({"path": ".ssh/id_rsa"}, level="body", roots=["~"])[1]
    with pytest.raises(InputError, match="roots must be a list of folders"):
        disclose([], roots=str(project))


def test_e5_the_home_folder_is_no_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (Path.home() / "diary.md").write_text("secret", encoding="utf-8")
    for folder in (Path.home(), Path.home().parent):
        monkeypatch.chdir(folder)
        body, note = body_of({"path": str(Path.home() / "diary.md")}, level="body")
        assert (body, "outside" in note) == ("A summary of the ferry.", True)


def test_e5_the_folders_that_a_corpus_is_registered_with_may_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "refund.md").write_text("How to refund.", encoding="utf-8")
    tool = {"id": "refund", "title": "refund", "content": "Give money back.", "metadata": {"path": "docs/refund.md"}}
    (folder / "tools.json").write_text(json.dumps({"documents": [tool]}), encoding="utf-8")
    register("shop", "catalog", folder / "tools.json", embedder="none")
    (shown,) = disclose(search("shop", "money", "lexical"), "body", roots=())
    assert (shown.body, shown.note) == ("How to refund.", "")
    unregister("shop")
    (shown,) = disclose(search("shop", "money", "lexical"), "body", roots=())
    assert (shown.body, "outside" in shown.note) == ("Give money back.", True)


@pytest.mark.parametrize(("is_operator", "body"), [(True, "How to refund."), (False, "Give money back.")])
def test_a_user_of_a_service_cannot_read_files_that_metadata_name(tmp_path: Path, is_operator: bool, body: str) -> None:
    (tmp_path / "refund.md").write_text("How to refund.", encoding="utf-8")
    corpus = corpus_of(Document("t", "refund", "Give money back.", metadata={"path": "refund.md"}))
    token = current_principal.set(Principal("ada", is_operator=is_operator))
    try:
        (shown,) = disclose(search(corpus, "money", "lexical"), "body", roots=[tmp_path])
    finally:
        current_principal.reset(token)
    assert (shown.body, bool(shown.note)) == (body, not is_operator)


def test_e5_a_document_cannot_open_a_folder_by_its_own_source(tmp_path: Path) -> None:
    for name in ("public.md", "secret.md"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    forged = {"content": "A ferry.", "source": str(tmp_path / "public.md"), "metadata": {"path": "secret.md"}}
    (shown,) = disclose(search([forged], "ferry", "lexical"), "body")
    assert (shown.body, shown.stale) == ("A ferry.", True)


@pytest.mark.parametrize("kind", ["file", "skill"])
def test_e5_plain_data_cannot_claim_to_be_a_file(tmp_path: Path, kind: str) -> None:
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (tmp_path / "other.md").write_text("secret", encoding="utf-8")
    forged = {"content": "A ferry.", "kind": kind, "source": str(tmp_path / "secret.md")}
    (shown,) = disclose(search([forged], "ferry", "lexical"), "bundled")
    assert (shown.body, shown.files) == ("A ferry.", ())


def test_e5_a_payload_and_a_part_of_a_file_are_shown_without_following_anything(tmp_path: Path) -> None:
    metadata = {"path": "/refunds"}
    corpus = corpus_of(Document("t", "refund", "Give the money back.", metadata=metadata, kind="tool", payload="{}"))
    assert [(item.body, item.note) for item in disclose(search(corpus, "money"), "body")] == [("{}", "")]
    (tmp_path / "a.csv").write_text("name,price\nferry,3\n", encoding="utf-8")
    (shown,) = disclose(search(files(tmp_path), "ferry"), "body")
    assert (shown.body, shown.note) == ("name: ferry | price: 3", "")


def test_e5_a_loader_may_read_the_body_itself() -> None:
    hits = search({"a": {"text": "A ferry.", "key": "k1"}, "b": {"text": "No ferry."}}, "ferry", "lexical")
    shown = disclose(hits, "body", loader=lambda metadata: f"read {metadata['key']}" if "key" in metadata else None)
    assert {item.id: item.body for item in shown} == {"a": "read k1", "b": "No ferry."}
    assert [item.body for item in disclose(hits, loader=lambda metadata: "x")] == [None, None]


def test_e5_a_loader_that_cannot_read_leaves_the_indexed_text_and_says_so() -> None:
    def broken(metadata: object) -> str:
        raise OSError("the store is down")

    (shown,) = disclose(search(["A ferry."], "ferry", "lexical"), "body", loader=broken)
    assert (shown.body, shown.stale) == ("A ferry.", True)
    assert "the store is down" in shown.note

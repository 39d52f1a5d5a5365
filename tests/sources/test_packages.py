"""Documents out of installed distributions."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import Changes, CorpusSource, Document, Problem, build, disclose, search
from shortlist.errors import SourceError
from shortlist.sources import packages as packages_module

HEADER = """Metadata-Version: 2.4
Name: {name}
Version: 1.2
Summary: Bakes bread.
"""


def install(site: Path, name: str, metadata: str | None = None, **files: str) -> Path:
    folder = site / f"{name.replace('-', '_')}-1.2.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(HEADER.format(name=name) if metadata is None else metadata, encoding="utf-8")
    for file, text in files.items():
        (folder / file.replace("_txt", ".txt")).write_text(text, encoding="utf-8")
    return folder


def test_a_distribution_becomes_a_document(tmp_path: Path) -> None:
    metadata = HEADER.format(name="Sour_Dough") + (
        "Keywords: bread,slow food\nProject-URL: Source, https://example.org/src\n"
        "Project-URL: Homepage, https://example.org\n\n# Sourdough\n\nKnead the dough.\n"
    )
    record = (
        "sour/__init__.py,,\nsour/_oven.py,,\ncrust.py,,\n_fast.cpython-311-x86_64-linux-gnu.so,,\nx.dist-info/A,,\n"
    )
    folder = install(tmp_path, "Sour_Dough", metadata, RECORD=record)
    assert list(CorpusSource.from_packages(tmp_path)) == [
        Document(
            "sour-dough",
            "Sour_Dough",
            "Bakes bread.\n\n# Sourdough\n\nKnead the dough.",
            ["bread", "slow food", "crust", "sour"],
            {
                "version": "1.2",
                "summary": "Bakes bread.",
                "home_page": "https://example.org",
                "modules": ["crust", "sour"],
            },
            kind="package",
            source=str(folder),
        )
    ]


@pytest.mark.parametrize(
    ("lines", "home_page"),
    [
        ("Home-page: https://a.example\nProject-URL: Homepage, https://b.example\n", "https://a.example"),
        ("Home-page: UNKNOWN\nProject-URL: Repository, https://b.example\n", "https://b.example"),
        ("Project-URL: Chat, https://c.example\n", "https://c.example"),
        ("", None),
    ],
)
def test_the_home_page_is_found_in_its_several_places(tmp_path: Path, lines: str, home_page: str | None) -> None:
    install(tmp_path, "bread", HEADER.format(name="bread") + lines, top_level_txt="bread\n_hidden\n")
    (found,) = CorpusSource.from_packages(tmp_path)
    assert isinstance(found, Document)
    assert found.metadata.get("home_page") == home_page
    assert found.keywords == ["bread"]


def test_of_two_distributions_of_one_name_the_first_on_the_path_counts(tmp_path: Path) -> None:
    install(tmp_path / "one", "a-b", HEADER.format(name="A.b"))
    install(tmp_path / "two", "a_b", "Metadata-Version: 2.4\nName: a_B\nVersion: 3\n")
    (found,) = CorpusSource.from_packages(tmp_path / "one", tmp_path / "two")
    assert (found.id, getattr(found, "metadata", {})["version"]) == ("a-b", "1.2")


@pytest.mark.parametrize("metadata", ["", "Version: 1\n", "\udcff"], ids=["empty", "no name", "no text"])
def test_broken_metadata_are_a_problem_and_what_was_stored_stays(tmp_path: Path, metadata: str) -> None:
    folder = install(tmp_path, "bread")
    install(tmp_path, "cake")
    source = CorpusSource.from_packages(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=2)
    (folder / "METADATA").write_bytes(metadata.encode("utf-8", "surrogateescape"))
    changes = corpus.sync(source)
    assert (changes.unchanged, changes.removed) == (1, 0)
    (problem,) = changes.failed
    assert (problem.id, problem.source) == (folder.name, str(folder))
    assert str(folder) in problem.reason
    assert sorted(corpus.ids()) == ["bread", "cake"]


def test_a_distribution_that_fails_in_any_way_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "bread")
    monkeypatch.setattr(packages_module, "_list_modules", lambda _: (_ for _ in ()).throw(PermissionError("locked")))
    (problem,) = CorpusSource.from_packages(tmp_path)
    assert isinstance(problem, Problem)
    assert "locked" in problem.reason


def test_the_body_of_a_package_is_its_readme(tmp_path: Path) -> None:
    install(tmp_path, "bread", HEADER.format(name="bread") + "\nKnead the dough.\n")
    corpus = build(CorpusSource.from_packages(tmp_path), in_memory=True, embedder="none")
    (shown,) = disclose(search(corpus, "bread", k=1), level="body")
    assert (shown.body, shown.stale) == ("Bakes bread.\n\nKnead the dough.", False)


def test_many_packages_are_as_they_were(tmp_path: Path) -> None:
    for number in range(12):
        install(tmp_path, f"p{number:02}")
    found = sorted(item.id for item in CorpusSource.from_packages(tmp_path))
    assert len(found) == 12
    assert [found[number] for number in (0, 9, -1)] == ["p00", "p09", "p11"]


def test_the_packages_of_this_environment_are_found() -> None:
    found = {item.id: item for item in CorpusSource.from_packages()}
    assert not [item for item in found.values() if isinstance(item, Problem)]
    numpy, pyyaml = found["numpy"], found["pyyaml"]
    assert isinstance(numpy, Document)
    assert isinstance(pyyaml, Document)
    assert (numpy.title, numpy.kind) == ("numpy", "package")
    assert "array" in numpy.metadata["summary"]
    assert (pyyaml.title, pyyaml.metadata["modules"]) == ("PyYAML", ["yaml"])


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere is not a readable folder"):
        build(CorpusSource.from_packages(tmp_path / "nowhere"), in_memory=True)

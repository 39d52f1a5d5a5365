"""Building: what a corpus contains after a build, and what a build refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shortlist import (
    Changes,
    CorpusMismatch,
    CorpusNotFound,
    CorpusSource,
    Document,
    EmbedderError,
    InputError,
    Problem,
    Scoring,
    SourceError,
    build,
    create_corpus,
    load_embedder,
    open_corpus,
    search,
)
from shortlist.documents import Stamp, Stamps
from shortlist.index.corpus_paths import stored_corpora
from shortlist.index.embedders import tools_model
from shortlist.index.embedders.tools_model import MOST_IN_MEMORY
from shortlist.index.location import find_corpus_file
from shortlist.library.opening import open_corpora
from tests.library.built import FRUIT, built, found


def name_of(embedder: str) -> str:
    model = load_embedder(embedder)
    return model.name if model else "none"


# What a build does


def test_a_first_build_adds_everything_and_keeps_it() -> None:
    assert built(FRUIT) == Changes(added=3)
    with open_corpus("fruit") as corpus:
        assert corpus.ids() == ["apple", "pear", "plum"]
    assert found("fruit", "green") == ["pear"]


def test_a_second_build_of_the_same_changes_nothing() -> None:
    built(FRUIT)
    with open_corpus("fruit") as corpus:
        before = corpus.info()
    assert built(FRUIT) == Changes(unchanged=3)
    with open_corpus("fruit") as corpus:
        assert corpus.info() == before


def test_a_build_takes_only_what_is_new_or_changed_and_removes_what_is_gone() -> None:
    built(FRUIT)
    now = {"apple": "A red apple.", "pear": "A ripe yellow pear.", "fig": "A brown fig."}
    assert built(now) == Changes(added=1, changed=1, unchanged=1, removed=1)
    assert (found("fruit", "yellow"), found("fruit", "green"), found("fruit", "plum")) == (["pear"], [], [])
    assert found("fruit", "fig") == ["fig"]


def test_a_build_without_pruning_keeps_what_did_not_come() -> None:
    built(FRUIT)
    assert built({"fig": "A brown fig."}, prune=False) == Changes(added=1)
    assert found("fruit", "plum") == ["plum"]


def test_a_build_from_an_empty_source_empties_the_corpus() -> None:
    built(FRUIT)
    assert built({}) == Changes(removed=3)
    assert found("fruit", "plum") == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "Other"),
        ("content", "other"),
        ("keywords", ["other"]),
        ("metadata", {"n": 2}),
        ("kind", "tool"),
        ("source", "/other"),
        ("locator", "page=2"),
        ("payload", "other"),
    ],
)
def test_a_change_of_any_field_is_a_change(field: str, value: Any) -> None:
    given: dict[str, Any] = {"id": "a", "title": "Title", "content": "content", "metadata": {"n": 1}}
    built([Document(**given)])
    assert built([Document(**given)]) == Changes(unchanged=1)
    assert built([Document(**{**given, field: value})]) == Changes(changed=1)
    with open_corpus("fruit") as corpus:
        assert getattr(corpus.get("a"), field) == value


def test_what_cannot_be_taken_is_reported_and_does_not_stop_the_others() -> None:
    changes = built({"apple": "A red apple.", "stone": 5})
    assert (changes.added, [problem.id for problem in changes.failed]) == (1, ["stone"])
    written = json.loads(json.dumps(changes.to_dict(), allow_nan=False))
    assert written == {
        "added": 1,
        "changed": 0,
        "unchanged": 0,
        "removed": 0,
        "failed": [changes.failed[0].to_dict()],
        "skipped": 0,
        "changed_ids": [],
        "skipped_files": [],
    }
    assert written["failed"][0] == {
        "id": "stone",
        "reason": "An entry is a string, a Document or a mapping with a 'text', not int.",
        "source": "",
    }


def test_what_has_become_unreadable_is_kept_as_it_was() -> None:
    built(FRUIT)
    changes = built([Problem("pear", "It cannot be read."), Document("apple", "apple", "A red apple.")])
    assert (changes.unchanged, changes.removed, changes.failed[0].id) == (1, 1, "pear")
    assert found("fruit", "green") == ["pear"]
    assert found("fruit", "plum") == []


def test_a_source_that_fails_in_the_middle_changes_nothing() -> None:
    def failing() -> Iterator[Document]:
        yield from (Document(f"d{at}", "", "new") for at in range(1200))
        raise SourceError("the line is dead")

    built(FRUIT)
    with pytest.raises(SourceError, match="the line is dead"):
        built(CorpusSource("fruit", "mine", failing))
    assert built(FRUIT) == Changes(unchanged=3)


@pytest.mark.parametrize("name", ["docs:nowhere", "tools:nowhere.yaml"])
def test_a_source_that_cannot_be_read_leaves_no_corpus_behind(name: str) -> None:
    with pytest.raises(CorpusNotFound, match="nowhere"):
        search(name, "lamp")
    assert stored_corpora() == {}
    assert find_corpus_file(name) is None


def test_a_source_that_cannot_be_read_leaves_an_empty_corpus_that_was_there(tmp_path: Path) -> None:
    build([], "empty", embedder="none").close()
    with pytest.raises(SourceError):
        build(CorpusSource.from_files(tmp_path / "nowhere"), "empty")
    assert list(stored_corpora()) == ["empty"]


def test_a_list_a_mapping_and_a_source_build_the_same_texts() -> None:
    listed = [Document(id, id, text) for id, text in FRUIT.items()]
    for source in (FRUIT, listed, iter(listed), CorpusSource.from_mapping(FRUIT), CorpusSource.from_list(listed)):
        corpus = build(source, in_memory=True, embedder="none")
        assert [(doc.id, doc.title, doc.content) for doc in corpus] == [(d.id, d.title, d.content) for d in listed]


def test_a_corpus_is_named_by_its_source_unless_a_name_is_given(tmp_path: Path) -> None:
    with build(CorpusSource.from_mapping(FRUIT, name="basket"), embedder="none") as corpus:
        assert corpus.name == "basket"
    assert found("basket", "plum") == ["plum"]
    with build(CorpusSource.from_mapping(FRUIT, name="basket"), path=tmp_path / "here", embedder="none") as corpus:
        assert corpus.path == tmp_path / "here"
    assert found(tmp_path / "here", "plum") == ["plum"]


def test_a_corpus_in_memory_leaves_nothing_behind() -> None:
    build(FRUIT, "fruit", in_memory=True, embedder="none")
    with pytest.raises(CorpusNotFound):
        open_corpus("fruit")


@pytest.mark.parametrize("source", ["fruit", "/some/folder", Path("folder"), 42, None])
def test_building_what_is_no_source_is_an_input_error(source: Any) -> None:
    with pytest.raises(InputError, match=str(source)):
        build(source, in_memory=True, embedder="none")


def test_building_a_corpus_is_an_input_error() -> None:
    with pytest.raises(InputError, match="needs a source of documents"):
        build(create_corpus(in_memory=True, embedder="none"))


# Progress


def test_progress_is_told_how_many_documents_were_seen() -> None:
    seen: list[tuple[int, int | None]] = []
    documents = [Document(f"d{at}", "", "text") for at in range(1201)]
    build(documents, in_memory=True, embedder="none", progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == [*range(100, 1201, 100), 1201]
    assert {total for _, total in seen} == {1201}


def test_the_total_of_a_source_that_is_parsed_as_a_whole_is_known(tmp_path: Path) -> None:
    catalog = tmp_path / "tools.json"
    catalog.write_text(json.dumps({"documents": [{"id": id, "title": id, "content": "text"} for id in "abc"]}))
    schemas = tmp_path / "schemas.json"
    schemas.write_text(json.dumps([{"name": "one", "parameters": {}}, {"name": "two", "parameters": {}}]))
    sources = {
        3: CorpusSource.from_catalog(catalog),
        2: CorpusSource.from_tools(schemas),
        1: CorpusSource.from_functions([len]),
        4: CorpusSource.from_mapping(dict.fromkeys("abcd", "text")),
        5: CorpusSource.from_list(["text"] * 5),
    }
    for count, source in sources.items():
        seen: list[tuple[int, int | None]] = []
        build(source, path=tmp_path / str(count), embedder="none", progress=lambda *told: seen.append(told))  # noqa: B023
        assert seen == [(count, count)]


def test_progress_of_an_empty_source_is_silence() -> None:
    seen: list[int] = []
    build({}, in_memory=True, embedder="none", progress=lambda done, total: seen.append(done))
    assert seen == []


# What a corpus was built with


def water_plants(litres: float) -> None:
    """Give the plants water."""


@pytest.mark.extras
def test_tools_that_are_kept_are_read_by_our_own_model(tmp_path: Path) -> None:
    source = CorpusSource.from_functions([water_plants])
    with build(source, path=tmp_path / "a") as corpus:
        assert corpus.config.embedder == "tools"
        assert search(corpus, "my flowers are dry", mode="dense")[0].id == "water_plants"
    with build(source, path=tmp_path / "b", embedder="default") as corpus:
        assert corpus.config.embedder == "default"
    with build(source, path=tmp_path / "b") as corpus:  # an existing one keeps its own
        assert corpus.config.embedder == "default"
    with build(source, in_memory=True) as corpus:
        assert corpus.config.embedder == "tools"
    many = [Document(str(at), f"tool {at}", "Water the plants.", kind="tool") for at in range(MOST_IN_MEMORY + 1)]
    with build(many, in_memory=True) as corpus:
        assert corpus.config.embedder == "default"
    assert open_corpora(many[:2], needs_vectors=True)[0].config.embedder == "tools"
    with build({"a": "text"}, path=tmp_path / "c") as corpus:
        assert corpus.config.embedder == "default"


@pytest.mark.extras
@pytest.mark.usefixtures("without_onnxruntime")
def test_tools_are_read_by_the_static_table_where_our_own_model_cannot_run(tmp_path: Path) -> None:
    with build(CorpusSource.from_functions([water_plants]), path=tmp_path / "a") as corpus:
        assert corpus.config.embedder == "default"


def test_another_embedder_is_an_error_that_says_what_to_do() -> None:
    built(FRUIT, embedder="light")
    with pytest.raises(CorpusMismatch) as caught:
        built(FRUIT, embedder="default")
    message = str(caught.value)
    assert "'fruit' was built with the embedder 'light', not 'wordllama-256'" in message
    for remedy in ("Omit the embedder", "build under another name", "rebuild=True"):
        assert remedy in message


def test_vectors_where_there_were_none_are_a_mismatch_too() -> None:
    built(FRUIT, embedder="none")
    with pytest.raises(CorpusMismatch, match="'none', not 'light'"):
        built(FRUIT, embedder="light")


def test_without_an_embedder_the_corpus_keeps_its_own() -> None:
    built(FRUIT, embedder="light")
    with build(FRUIT, "fruit") as corpus:
        assert corpus.info()["embedder"] == "light"
        assert corpus.changes == Changes(unchanged=3)


def test_another_scoring_is_a_mismatch_and_the_same_is_not() -> None:
    built(FRUIT, scoring=Scoring())
    assert built(FRUIT, scoring=Scoring()) == Changes(unchanged=3)
    with pytest.raises(CorpusMismatch, match=r"scoring=.*rebuild=True"):
        built(FRUIT, scoring=Scoring(k1=2.0))


@pytest.mark.parametrize(("before", "after"), [("light", "default"), ("none", "light"), ("light", "none")])
def test_a_rebuild_takes_the_other_embedder(before: str, after: str) -> None:
    built(FRUIT, embedder=before)
    assert built(FRUIT, embedder=after, rebuild=True) == Changes(unchanged=3)
    with open_corpus("fruit") as corpus:
        assert corpus.info()["embedder"] == name_of(after)
    assert found("fruit", "green pear", k=1) == ["pear"]
    assert built(FRUIT, embedder=after) == Changes(unchanged=3)


@pytest.mark.parametrize("embedder", ["light", "default", "none"])
def test_a_rebuild_of_what_was_never_built_is_a_build(embedder: str) -> None:
    assert built(FRUIT, embedder=embedder, rebuild=True) == Changes(added=3)
    with open_corpus("fruit") as corpus:
        assert corpus.info()["embedder"] == name_of(embedder)
    assert found("fruit", "green pear", k=1) == ["pear"]


def test_a_rebuild_takes_the_other_options() -> None:
    built(FRUIT)
    built(FRUIT, scoring=Scoring(k1=0.0), rebuild=True)
    with open_corpus("fruit") as corpus:
        assert corpus.config.scoring == Scoring(k1=0.0)


def vowels(batch: list[str]) -> list[list[float]]:
    return [[float(text.count(vowel)) for vowel in "aeiou"] for text in batch]


def test_a_function_as_embedder_must_be_given_again_to_search_by_meaning() -> None:
    built(FRUIT, embedder=vowels)
    assert built(FRUIT, embedder=vowels) == Changes(unchanged=3)
    with open_corpus("fruit", embedder=vowels) as corpus:
        assert [hit.id for hit in search(corpus, "A blue plum.", mode="dense", k=1)] == ["plum"]
    with pytest.raises(EmbedderError, match="only your program has"):
        found("fruit", "plum", mode="dense")
    assert found("fruit", "plum", mode="lexical") == ["plum"]


@pytest.mark.extras
def test_a_build_encodes_again_what_an_older_model_encoded(tmp_path: Path) -> None:
    source = CorpusSource.from_functions([water_plants])
    with build(source, path=tmp_path / "a") as corpus:
        corpus._engine.configure(lambda config: replace(config, embedder_name="tools#old"))
    with open_corpus(tmp_path / "a") as corpus:
        with pytest.raises(CorpusMismatch, match="has changed"):
            search(corpus, "my flowers are dry", mode="dense")
        assert search(corpus, "give the plants water", mode="lexical")
    with build(source, path=tmp_path / "a") as corpus:
        assert corpus.config.embedder_name == tools_model.model_name()
        assert search(corpus, "my flowers are dry", mode="dense")[0].id == "water_plants"


def test_the_first_documents_are_read_once_and_a_second_build_reads_none(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"The lamp number {number} is in the kitchen.")
        os.utime(folder / f"{number}.md", (1, 1))
    source, reads = CorpusSource.from_files(folder), [0]

    def since(known: Stamps) -> Iterator[Document | Problem | Stamp]:
        reads[0] += 1
        assert source.read_since is not None
        yield from source.read_since(known)

    counted = replace(source, read_since=since)
    with build(counted, path=tmp_path / "c") as corpus:
        assert (corpus.changes.added, reads) == (3, [1])
        assert len(corpus.stamps()) == 3
    with build(counted, path=tmp_path / "c") as corpus:
        assert corpus.changes.unchanged == 3

"""Documents out of catalogs of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shortlist import Changes, CorpusSource, Document, Problem, SourceError, build, search

CATALOG = Path(__file__).parents[3] / "examples" / "data" / "tools.yaml"

ENTRY: dict[str, Any] = {
    "id": "send_mail",
    "title": "Send mail",
    "content": "Sends an email.",
    "keywords": ["email"],
    "metadata": {"access": "write", "nested": {"n": 1}},
}
EXPECTED = Document(
    "send_mail", "Send mail", "Sends an email.", ["email"], {"access": "write", "nested": {"n": 1}}, kind="tool"
)


def catalog(tmp_path: Path, text: str | bytes, name: str = "tools.yaml") -> CorpusSource:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CorpusSource.from_catalog(path)


def test_a_yaml_catalog_is_read(tmp_path: Path) -> None:
    text = """
documents:
  - id: send_mail
    title: Send mail
    content: >-
      Sends an
      email.
    keywords: [email]
    metadata: {access: write, nested: {n: 1}}
"""
    source = catalog(tmp_path, text)
    assert list(source) == [EXPECTED]
    assert (source.name, source.kind) == ("tools", "catalog")
    assert CorpusSource.from_catalog(tmp_path / "tools.yaml", name="mine").name == "mine"


@pytest.mark.parametrize("data", [{"documents": [ENTRY]}, [ENTRY]], ids=["documents", "list"])
@pytest.mark.parametrize("name", ["tools.json", "tools.yml"])
def test_a_json_catalog_is_read_and_a_bare_list_is_one(tmp_path: Path, data: Any, name: str) -> None:
    assert list(catalog(tmp_path, json.dumps(data), name)) == [EXPECTED]


def test_keywords_and_metadata_may_be_left_out(tmp_path: Path) -> None:
    source = catalog(tmp_path, "documents:\n- {id: a, title: A, content: apple}\n- {id: b, title: '', content: ''}\n")
    assert list(source) == [Document("a", "A", "apple", kind="tool"), Document("b", "", "", kind="tool")]


@pytest.mark.parametrize("text", ["documents: []\n", "[]"])
def test_an_empty_catalog_holds_nothing(tmp_path: Path, text: str) -> None:
    assert list(catalog(tmp_path, text)) == []


def test_a_byte_order_mark_is_no_part_of_a_catalog(tmp_path: Path) -> None:
    assert list(catalog(tmp_path, "\ufeff" + json.dumps([ENTRY]), "tools.json")) == [EXPECTED]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tools.yaml", "documents: [a\n"),
        ("tools.yaml", "documents:\n\t- id: a\n"),
        ("tools.yaml", "documents:\n- {id: a, title: A, content: c, metadata: {day: 2025-13-45}}\n"),
        ("tools.yaml", b"documents: caf\xe9\n"),
        ("tools.yaml", "documents: !!python/object:os.system {}\n"),
        ("tools.json", "{"),
        ("tools.json", ""),
        ("tools.json", "[" * 100_000),
        ("tools.yaml", "[" * 2_000),
        ("tools.yaml", ""),
        ("tools.yaml", "documents:\n"),
        ("tools.yaml", "tools: []\n"),
        ("tools.yaml", "documents: {a: b}\n"),
        ("tools.yaml", "just a text\n"),
        ("tools.json", "5"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_broken_catalog_is_a_source_error_that_names_it_and_nothing_is_pruned(
    tmp_path: Path, name: str, text: str | bytes
) -> None:
    corpus = build(catalog(tmp_path, json.dumps([ENTRY]), name), in_memory=True, embedder="none")
    broken = catalog(tmp_path, text, name)
    with pytest.raises(SourceError, match=name.replace(".", r"\.")) as caught:
        corpus.sync(broken)
    assert "\n" not in str(caught.value)
    assert corpus.ids() == ["send_mail"]


def test_broken_yaml_is_described_in_a_sentence_with_its_position(tmp_path: Path) -> None:
    broken = catalog(tmp_path, "documents:\n  - id: [broken\n", "tools.yaml")
    with pytest.raises(SourceError, match=r"flow sequence, .*'\]' \(line 3, column 1\)\.$"):
        list(broken)


@pytest.mark.parametrize("place", ["missing.yaml", "."])
def test_a_catalog_that_is_not_there_is_a_source_error(tmp_path: Path, place: str) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        list(CorpusSource.from_catalog(tmp_path / place))


@pytest.mark.parametrize(
    ("entry", "id", "reason"),
    [
        ("just text", "entry 2 of tools.json", "In entry 2 of tools.json, a mapping is expected, not str."),
        (None, "entry 2 of tools.json", "In entry 2 of tools.json, a mapping is expected, not NoneType."),
        ({"title": "A", "content": "c"}, "entry 2 of tools.json", "In entry 2 of tools.json, id is missing."),
        ({"id": None, "title": "A", "content": "c"}, "entry 2 of tools.json", "In entry 2 of tools.json, id is"),
        ({"id": "a", "title": "A"}, "a", "In entry 2 of tools.json (a), content is missing."),
        ({"id": 5}, "5", "In entry 2 of tools.json, id must be a string."),
        ({"id": "a", "title": None, "content": ["c"]}, "a", "In entry 2 of tools.json (a), title is missing."),
        ({**ENTRY, "id": "a", "keywords": "email"}, "a", "Its keywords must be a list of strings."),
        ({**ENTRY, "id": "a", "metadata": ["x"]}, "a", "Its metadata must be a mapping, not list."),
        ({**ENTRY, "id": ""}, "", "Its id is empty."),
        (ENTRY, "send_mail", "Its id came twice; the first one was kept."),
    ],
)
def test_a_bad_entry_is_named_and_the_others_are_kept(tmp_path: Path, entry: Any, id: str, reason: str) -> None:
    last = {"id": "last", "title": "Last", "content": "The last one."}
    source = catalog(tmp_path, json.dumps([ENTRY, entry, last]), "tools.json")
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.ids() == ["send_mail", "last"]
    (problem,) = corpus.changes.failed
    assert problem.id == id
    assert problem.reason.startswith(reason)


def test_an_entry_that_has_become_bad_keeps_what_was_stored(tmp_path: Path) -> None:
    corpus = build(catalog(tmp_path, json.dumps([ENTRY]), "tools.json"), in_memory=True, embedder="none")
    changes = corpus.sync(catalog(tmp_path, json.dumps([{"id": "send_mail", "title": 5}]), "tools.json"))
    assert changes == Changes(
        failed=(Problem("send_mail", "In entry 1 of tools.json (send_mail), title must be a string."),)
    )
    assert [hit.id for hit in search(corpus, "email")] == ["send_mail"]


def test_a_catalog_is_kept_up_to_date(tmp_path: Path) -> None:
    other = {**ENTRY, "id": "other"}
    corpus = build(catalog(tmp_path, json.dumps([ENTRY, other]), "tools.json"), in_memory=True, embedder="none")
    changed = {**ENTRY, "content": "Sends a letter."}
    assert corpus.sync(catalog(tmp_path, json.dumps([changed]), "tools.json")) == Changes(changed=1, removed=1)


# The example


@pytest.fixture(scope="module")
def tools() -> list[Document]:
    return [item for item in CorpusSource.from_catalog(CATALOG) if isinstance(item, Document)]


def test_the_example_catalog_has_ninety_tools_and_no_problems(tools: list[Document]) -> None:
    assert len(tools) == len(list(CorpusSource.from_catalog(CATALOG))) == 90
    assert len({tool.id for tool in tools}) == 90
    assert {tool.kind for tool in tools} == {"tool"}


def test_the_first_example_tool_is_as_it_was(tools: list[Document]) -> None:
    assert tools[0] == Document(
        "get_customer_profile",
        "get_customer_profile",
        "Fetch one customer's record by customer id or exact email address. Returns name, contact details, saved "
        "addresses, loyalty tier, marketing consent and the date of first purchase. It does not include orders; use "
        "list_orders for those.",
        ["customer", "account", "contact details", "CRM record"],
        {
            "category": "customers",
            "access": "read",
            "server": "crm",
            "parameters": {
                "type": "object",
                "properties": {
                    "customer_id": {"type": "string", "description": "Customer id such as C-204417"},
                    "email": {"type": "string", "description": "Exact email address, if the id is not known"},
                },
            },
        },
        kind="tool",
    )


def test_the_tenth_example_tool_is_as_it_was(tools: list[Document]) -> None:
    tenth = tools[9]
    assert (tenth.id, tenth.title) == ("list_orders", "list_orders")
    assert tenth.keywords == ["order history", "past purchases", "filter", "queue"]
    assert tenth.content.startswith("List orders by filter: customer, date range, status, sales channel or minimum va")


def test_the_last_example_tool_is_as_it_was(tools: list[Document]) -> None:
    assert tools[-1] == Document(
        "convert_currency",
        "convert_currency",
        "Convert an amount from one currency to another at today's rate or at the rate of a past date.",
        ["exchange rate", "euro", "pound", "dollar"],
        {"category": "assistant", "access": "read", "server": "web-tools"},
        kind="tool",
    )


def test_the_example_catalog_is_built_whole_and_built_again_without_a_change() -> None:
    with build(CorpusSource.from_catalog(CATALOG), embedder="none") as corpus:
        assert corpus.changes == Changes(added=90)
    with build(CorpusSource.from_catalog(CATALOG), embedder="none") as corpus:
        assert corpus.changes == Changes(unchanged=90)
        assert [hit.id for hit in search(corpus, "convert_currency", k=1)] == ["convert_currency"]


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "a", "title": "A", "content": "x", "access": ["hr"]},
        {"id": "a", "title": "A", "content": "x", "access": ["hr"], "metadata": {"access": "all"}},
        {"name": "a", "description": "x", "access": ["hr"]},
        {"type": "function", "function": {"name": "a", "access": ["hr"]}},
    ],
)
def test_the_field_access_of_an_entry_is_who_may_see_it(tmp_path: Path, entry: dict[str, Any]) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([entry]), "utf-8")
    (tool,) = CorpusSource.from_tools(tmp_path / "tools.json")
    assert isinstance(tool, Document)
    assert tool.metadata["access"] == ["hr"]

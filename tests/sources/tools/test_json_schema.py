"""Schemas of tools in any vendor's form: what is searchable, what is shown, and what is said of broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shortlist import Changes, CorpusSource, Document, InputError, Problem, SourceError, build, disclose, search
from shortlist.sources.tools.json_schema import describe_schema, find_reference

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of the\n  city"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
}
DESCRIPTION = "Tells the weather."
CONTENT = "Tells the weather.\n\ncity: Name of the city\nunit (celsius, fahrenheit)"
SHAPES: dict[str, dict[str, Any]] = {
    "OpenAI": {
        "type": "function",
        "function": {"name": "weather", "description": DESCRIPTION, "parameters": PARAMETERS},
    },
    "OpenAI Responses": {"type": "function", "name": "weather", "description": DESCRIPTION, "parameters": PARAMETERS},
    "Anthropic": {"name": "weather", "description": DESCRIPTION, "input_schema": PARAMETERS},
    "MCP": {"name": "weather", "description": DESCRIPTION, "inputSchema": PARAMETERS},
    "bare": {"name": "weather", "description": DESCRIPTION, "parameters": PARAMETERS},
}


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def read(place: Any) -> list[Document]:
    found = list(CorpusSource.from_tools(place))
    assert all(isinstance(item, Document) for item in found), found
    return [item for item in found if isinstance(item, Document)]


def problem(place: Any) -> Problem:
    (found,) = (item for item in CorpusSource.from_tools(place) if isinstance(item, Problem))
    return found


# Shapes


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_schema_of_any_vendor_becomes_the_same_tool(shape: dict[str, Any]) -> None:
    assert read([shape]) == [
        Document("weather", "weather", CONTENT, kind="tool", payload=json.dumps(shape, ensure_ascii=False))
    ]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("keys", [(), ("tools",), ("functions",), ("result", "tools")], ids=str)
def test_a_file_may_hold_the_schemas_in_a_list_or_under_the_usual_names(
    tmp_path: Path, shape: dict[str, Any], keys: tuple[str, ...]
) -> None:
    data: Any = [{"name": "other"}, shape]
    for key in reversed(keys):
        data = {"model": "m", key: data}
    path = write(tmp_path / "tools.json", data)
    _, tool = read(path)
    assert (tool.id, tool.content, tool.source, tool.locator) == ("weather", CONTENT, str(path.resolve()), "tool=2")
    assert json.loads(tool.payload or "") == shape


def test_a_registry_record_has_its_tags_and_capabilities_as_keywords(tmp_path: Path) -> None:
    record = {
        "tool_id": "web_search",
        "name": "Web Search",
        "description": "Search the internet.",
        "tags": ["search", "web"],
        "capabilities": ["news lookup"],
        "metadata": {"cost": 0},
    }
    path = write(tmp_path / "web.json", record)
    assert read(path) == [
        Document(
            "web_search",
            "Web Search",
            "Search the internet.",
            ["search", "web", "news lookup"],
            {"tags": ["search", "web"], "capabilities": ["news lookup"], "cost": 0},
            kind="tool",
            source=str(path.resolve()),
            payload=json.dumps(record),
        )
    ]


def test_the_title_of_an_mcp_tool_is_searchable_and_its_annotations_are_metadata() -> None:
    annotations = {"title": "Look outside", "readOnlyHint": True}
    (tool,) = read([{**SHAPES["MCP"], "title": "The weather", "annotations": annotations}])
    assert tool.title == "weather"
    assert tool.keywords == ["The weather", "Look outside"]
    assert tool.metadata == {"annotations": annotations}


def test_a_catalog_is_read_as_from_catalog_reads_it_but_for_where_it_lies(tmp_path: Path) -> None:
    entry = {"id": "a", "title": "A", "content": "apple", "keywords": ["fruit"], "metadata": {"n": 1}}
    path = write(tmp_path / "catalog.json", {"documents": [entry]})
    expected = Document("a", "A", "apple", ["fruit"], {"n": 1}, kind="tool", source=str(path), locator="tool=1")
    assert read(path) == [expected]
    assert read([entry]) == list(CorpusSource.from_catalog(path))


# To the letter


AS_WRITTEN = [
    '{ "name": "first",\r\n\t"description" : "caf\\u00e9 \\/ \\"tea\\" ]}",   "n": 1.50, "inputSchema": {"z": 1} }',
    '{"name":"second","inputSchema":{"type":"object","properties":{"é":{"enum":[1e3,-0.0,null]}}}}',
]


@pytest.mark.parametrize(
    "around",
    [
        "[%s ,\r\n %s]",
        ' {"a": [{"tools": []}], "tools" :\n[ %s\n,%s\n] , "b": "]"}\n',
        '{"tools": [0], "tools": [%s,%s]}',
    ],
    ids=["list", "under a key", "under a key that comes twice"],
)
def test_what_a_json_file_says_of_a_tool_is_disclosed_to_the_letter(tmp_path: Path, around: str) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes((around % tuple(AS_WRITTEN)).encode("utf-8-sig"))
    assert [tool.payload for tool in read(path)] == AS_WRITTEN
    corpus = build(CorpusSource.from_tools(path), in_memory=True, embedder="none")
    (shown,) = disclose(search(corpus, "second", k=1), level="body")
    assert shown.body == AS_WRITTEN[1]


def test_a_single_tool_is_its_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(f"\n{AS_WRITTEN[0]}\n".encode())
    assert [tool.payload for tool in read(path)] == [AS_WRITTEN[0]]


def test_what_yaml_says_of_a_tool_is_written_as_json(tmp_path: Path) -> None:
    path = write(tmp_path / "tools.yaml", "tools:\n- name: a\n  since: 2025-03-14\n  input_schema: {z: 1, a: é}\n")
    (tool,) = read(path)
    assert tool.payload == json.dumps(
        {"name": "a", "since": "2025-03-14", "input_schema": {"z": 1, "a": "é"}}, ensure_ascii=False
    )


# In words


def test_inner_objects_lists_alternatives_and_references_are_put_into_words() -> None:
    schema = {
        "type": "object",
        "properties": {
            "to": {"type": "array", "description": "Receivers", "items": {"$ref": "#/$defs/Person"}},
            "when": {"anyOf": [{"type": "string", "description": "A day"}, {"type": "null"}]},
            "level": {"allOf": [{"$ref": "#/$defs/Level"}]},
            "plain": True,
        },
        "$defs": {
            "Person": {"properties": {"mail": {"description": "Address"}, "boss": {"$ref": "#/$defs/Person"}}},
            "Level": {"enum": ["low", "high", None], "description": "How loud"},
        },
    }  # fmt: skip
    assert describe_schema("Sends.", schema) == (
        "Sends.\n\nto: Receivers\nto.mail: Address\nto.boss\nwhen: A day\nlevel: How loud (low, high)\nplain"
    )


def test_a_schema_that_is_odd_says_nothing_and_one_without_end_ends() -> None:
    odd: Any
    for odd in (None, 5, [], {"properties": []}, {"properties": None}, {"$ref": 5}, {"$ref": "#"}, {"anyOf": {}}):
        assert describe_schema(" Text. ", odd) == "Text."
    loop: dict[str, Any] = {"properties": {}}
    loop["properties"] |= {f"p{number}": loop for number in range(100)}
    assert describe_schema("", loop).count("\n") == 63


def test_long_lists_of_choices_are_cut() -> None:
    words = describe_schema("", {"properties": {"n": {"enum": [*range(100)]}, "m": {"enum": ["x" * 41, "y"]}}})
    assert words == "n (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)\nm (y)"


def test_references_follow_the_rules_of_json_pointer() -> None:
    root = {"a/b": {"c~d": [10, {"e f": 5}]}}
    assert find_reference(root, "#/a~1b/c~0d/1/e%20f") == 5
    assert find_reference(root, "#") is root
    for nowhere in ("#/x", "#/a~1b/c~0d/7", "#/a~1b/c~0d/x", "#name", "other.json#/a", "", None):
        assert find_reference(root, nowhere) is None


def test_a_tool_is_found_by_its_parameters_and_their_values() -> None:
    corpus = build(CorpusSource.from_tools([SHAPES["MCP"], {"name": "x"}]), in_memory=True, embedder="none")
    for query in ("city", "fahrenheit", "weather"):
        assert [hit.id for hit in search(corpus, query)] == ["weather"]
    assert search(corpus, "parameters string object properties required") == []


# What cannot be read


@pytest.mark.parametrize(
    ("entry", "id", "reason"),
    [
        ("text", "entry 2 of tools.json", "In entry 2 of tools.json, a mapping is expected, not str."),
        ({}, "entry 2 of tools.json", "In entry 2 of tools.json, the tool has neither a 'name' nor, as in a catalog,"),
        ({"type": "web_search"}, "entry 2 of tools.json", "In entry 2 of tools.json, the tool has neither a 'name'"),
        ({"name": " "}, "entry 2 of tools.json", "In entry 2 of tools.json, the tool has neither a 'name'"),
        ({"tool_id": "x", "name": 5}, "x", "In entry 2 of tools.json, the tool has neither a 'name'"),
        ({"name": "x", "description": ["a"]}, "x", "In entry 2 of tools.json, description must be a string."),
        ({"name": "x", "parameters": "s"}, "x", "In entry 2 of tools.json, the schema of its parameters must be a"),
        ({"name": "x", "tags": "web"}, "x", "In entry 2 of tools.json, tags must be a list of strings."),
        ({"name": "x", "metadata": [5]}, "x", "In entry 2 of tools.json, "),
        ({"content": "x", "id": "x"}, "x", "In entry 2 of tools.json (x), title is missing."),
    ],
    ids=str,
)
def test_a_bad_entry_is_named_and_the_others_are_kept(tmp_path: Path, entry: Any, id: str, reason: str) -> None:
    path = write(tmp_path / "tools.json", [{"name": "first"}, entry, {"name": "last"}])
    found = problem(path)
    assert (found.id, found.source) == (id, str(path.resolve()))
    assert found.reason.startswith(reason)
    corpus = build(CorpusSource.from_tools(path), in_memory=True, embedder="none")
    assert corpus.ids() == ["first", "last"]


def test_a_schema_that_json_cannot_hold_is_a_problem() -> None:
    assert problem([{"name": "x", "parameters": {"default": object()}}]) == Problem(
        "x", "In entry 1 of the list, a value of type object cannot be stored as JSON."
    )


@pytest.mark.parametrize("text", ["{}", '{"name_": 1}', "5", '"text"', "{", "", "null", '{"result": {"tools": 5}}'])
def test_a_file_without_tools_is_a_source_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "odd.json", text)
    with pytest.raises(SourceError, match=r"odd\.json"):
        list(CorpusSource.from_tools(path))


def test_a_file_that_is_not_there_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        list(CorpusSource.from_tools(tmp_path / "missing.json"))


@pytest.mark.parametrize("tools", [5, None, {"name": "x"}], ids=str)
def test_what_holds_no_tools_is_an_input_error(tools: Any) -> None:
    with pytest.raises(InputError, match="from_tools takes"):
        CorpusSource.from_tools(tools)


# Folders


def test_a_folder_of_tool_files_is_read_in_a_stable_order_and_golden(tmp_path: Path) -> None:
    for number in range(12):
        record = {"tool_id": f"t{number:02}", "name": f"Tool {number}", "description": f"Does {number}.", "tags": ["x"]}
        write(tmp_path / f"{number:02}.json", record)
    write(tmp_path / "sub" / "weather.json", SHAPES["OpenAI"])
    write(tmp_path / "sub" / "more.yaml", "- {name: yam, description: A root.}\n")
    write(tmp_path / "notes.txt", "no tool")
    tools = read(tmp_path)
    assert len(tools) == 14
    assert (tools[0].id, tools[0].title, tools[0].content) == ("t00", "Tool 0", "Does 0.")
    assert (tools[9].id, tools[9].source) == ("t09", str((tmp_path / "09.json").resolve()))
    assert [tool.id for tool in tools[-2:]] == ["yam", "weather"]


def test_a_broken_file_in_a_folder_is_a_problem_and_what_is_stored_of_it_stays(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"name": "apple"})
    write(tmp_path / "b.json", {"name": "pear"})
    source = CorpusSource.from_tools(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=2)
    path = write(tmp_path / "a.json", "{")
    changes = corpus.sync(source)
    assert changes.unchanged == 1
    assert changes.removed == 0
    (found,) = changes.failed
    assert (found.id, found.source) == ("a.json", str(path.resolve()))
    assert corpus.ids() == ["apple", "pear"]
    path.unlink()
    assert corpus.sync(source) == Changes(unchanged=1, removed=1)


def test_a_change_of_a_schema_is_a_change_that_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "tools.json", [{"name": "a"}, {"name": "b"}])
    corpus = build(CorpusSource.from_tools(path), in_memory=True, embedder="none")
    write(path, [{"name": "a"}, {"name": "b", "inputSchema": {"x": 1}}])
    changes = corpus.sync(CorpusSource.from_tools(path))
    assert changes == Changes(changed=1, unchanged=1)
    assert changes.changed_ids == ("b",)

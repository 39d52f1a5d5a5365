"""Functions and classes of source code, found by the grammars of the extra `code`. Only `code_process.py` parses."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_BYTES = 1 << 20  # of a file that is parsed; larger ones are generated or data
MAX_DEPTH = 20  # of classes and namespaces in each other

# The module of the grammar and its function, by the end of a file's name.
GRAMMARS: dict[str, tuple[str, str]] = {
    **dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp"), ("tree_sitter_cpp", "language")),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".rb": ("tree_sitter_ruby", "language"),
    ".php": ("tree_sitter_php", "language_php"),
    **dict.fromkeys((".sh", ".bash"), ("tree_sitter_bash", "language")),
}
_FUNCTIONS = frozenset(
    {
        "function_definition",
        "function_declaration",
        "generator_function_declaration",
        "function_item",
        "method_declaration",
        "method_definition",
        "constructor_declaration",
        "method",
        "singleton_method",
        "type_declaration",
        "lexical_declaration",
    }
)
_CONTAINERS = frozenset(
    {
        "class_definition",
        "class_declaration",
        "abstract_class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "struct_declaration",
        "trait_declaration",
        "impl_item",
        "trait_item",
        "struct_item",
        "enum_item",
        "mod_item",
        "class_specifier",
        "struct_specifier",
        "namespace_definition",
        "namespace_declaration",
        "internal_module",
        "class",
        "module",
    }
)
_WRAPPERS = frozenset(
    {
        "decorated_definition",
        "export_statement",
        "template_declaration",
        "ambient_declaration",
    }
)
_END = " \t\r\n{}();"  # what may be left of a class after its last method
_WORD = re.compile(r"\w+")


class CodeSection(NamedTuple):
    """A part of a file, and the qualified name of the function or class it is from, or ""."""

    start: int
    end: int
    name: str


def find_sections(text: str, suffix: str, size: int) -> list[CodeSection]:
    """The parts of a source file in order: functions, methods, small classes, and what is between them.

    A class of up to `size` characters is one part. Empty if the language is unknown or its grammar is missing.
    """
    parser = _load_parser(suffix)
    data = text.encode("utf-8", errors="replace")
    if parser is None or len(data) > MAX_BYTES:
        return []
    root = parser.parse(data).root_node
    sections: list[CodeSection] = []
    place = characters = 0
    for start, end, name in _cut(root, 0, len(data), "", size, 0):
        first = characters + len(data[place:start].decode("utf-8", errors="ignore"))
        place, characters = end, first + len(data[start:end].decode("utf-8", errors="ignore"))
        if text[first:characters].strip(_END) not in ("", "end"):
            sections.append(CodeSection(first, characters, name))
    return sections


@functools.cache
def _load_parser(suffix: str) -> Any:
    if suffix not in GRAMMARS:
        return None
    module, function = GRAMMARS[suffix]
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        return tree_sitter.Parser(tree_sitter.Language(getattr(importlib.import_module(module), function)()))
    except ImportError:
        return None


def _cut(parent: Any, start: int, end: int, name: str, size: int, depth: int) -> Iterator[tuple[int, int, str]]:
    """The spans of the definitions in a node, and of what is between them, from `start` to `end`."""
    at = start
    for comment, node, inner in _find_definitions(parent):
        first = max(comment.start_byte, at)
        shown = ".".join(filter(None, [name, _name_of(inner)]))
        if at < first:
            yield at, first, name
        if inner.type in _CONTAINERS and node.end_byte - first > size and depth < MAX_DEPTH:
            body = inner.child_by_field_name("body") or inner
            yield from _cut(body, first, node.end_byte, shown, size, depth + 1)
        else:
            yield first, node.end_byte, shown
        at = node.end_byte
    if at < end:
        yield at, end, name


def _find_definitions(parent: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Each definition in a node: the first of the comments right above it, if any, itself with what it is wrapped in,
    such as decorators, and without."""
    first = above = None
    for node in parent.named_children:
        if above is None or node.start_point[0] - above.end_point[0] > 1:
            first = node
        above = node if "comment" in node.type else None
        inner = node
        while inner.type in _WRAPPERS:
            wrapped = [child for child in inner.named_children if child.type in _FUNCTIONS | _CONTAINERS | _WRAPPERS]
            if not wrapped:
                break
            inner = wrapped[-1]
        if inner.type in _FUNCTIONS | _CONTAINERS and _name_of(inner):
            yield first, node, inner
        elif node.type.startswith("preproc_") or node.type in ("linkage_specification", "declaration_list"):
            yield from _find_definitions(node)


def _name_of(node: Any) -> str:
    """The name of a definition; "" if it has none, or if it is a variable that is not a function."""
    if node.type == "lexical_declaration":
        node = node.named_children[0]
        value = node.child_by_field_name("value")
        if value is None or value.type not in ("arrow_function", "function_expression"):
            return ""
    if node.type == "type_declaration":  # of Go
        node = node.named_children[0]
    found = node.child_by_field_name("name") or node.child_by_field_name("type")
    if (declarator := node.child_by_field_name("declarator")) is not None:  # of C and C++
        while declarator.child_by_field_name("declarator") is not None:
            declarator = declarator.child_by_field_name("declarator")
        found = declarator
    if found is None:
        return ""
    name = found.text.decode("utf-8", errors="replace").replace("::", ".")
    receiver = node.child_by_field_name("receiver")
    owner = _WORD.findall(receiver.text.decode("utf-8", errors="replace")) if receiver is not None else []
    return f"{owner[-1]}.{name}" if owner else name

"""The public surface: names, signatures and methods are those of tests/public_api.txt, and deprecated names work.

After a change that is meant, write the file again: python -m tests.test_public_api
"""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import shortlist
from shortlist import compat, errors, eval

FILE = Path(__file__).with_name("public_api.txt")
ROOT = Path(shortlist.__file__).parent
MODULES: dict[str, ModuleType] = {
    "shortlist": shortlist,
    "shortlist.eval": eval,
    "shortlist.compat": compat,
    "shortlist.errors": errors,
}


def render() -> str:
    return "".join(f"{line}\n" for name, module in MODULES.items() for line in describe_module(name, module))


def describe_module(name: str, module: ModuleType) -> Iterator[str]:
    yield f"# {name}"
    is_error = [key for key, value in vars(module).items() if isinstance(value, type)]
    for public in sorted(getattr(module, "__all__", is_error)):
        yield from describe(public, getattr(module, public))
    yield ""


def describe(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base.__module__.startswith("shortlist"))
        yield f"class {name}({bases})"
        if issubclass(value, Exception) or not value.__module__.startswith("shortlist"):
            return
        if "__init__" in vars(value) and not getattr(value, "_is_protocol", False):
            yield f"    __init__{describe_signature(value.__init__)}"
        for member, found in sorted(vars(value).items()):
            if member.startswith(("_", "model_")):
                continue
            if isinstance(found, property):
                yield f"    {member}: property"
            elif callable(function := inspect.unwrap(getattr(found, "__func__", found))):
                yield f"    {member}{describe_signature(function)}"
    elif callable(value):
        yield f"{name}{describe_signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def describe_signature(function: Any) -> str:
    """Names, kinds and defaults of the parameters, without types, whose text differs between versions of Python."""
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        plain = parameter.replace(annotation=inspect.Parameter.empty)
        has_default = plain.default is not inspect.Parameter.empty
        if has_default and (callable(plain.default) or type(plain.default).__module__ != "builtins"):
            plain = plain.replace(default=...)
        parts.append(plain)
    return str(inspect.Signature(parts))


def test_the_public_surface_is_the_one_on_file() -> None:
    assert render() == FILE.read_text("utf-8"), "If the change is meant, run: python -m tests.test_public_api"


def test_there_are_at_most_45_names_to_learn() -> None:
    assert len(shortlist.__all__) <= 45


@pytest.mark.parametrize("name", compat.__all__)
def test_names_of_earlier_packages_warn_and_name_their_new_home(name: str) -> None:
    with pytest.deprecated_call(match=rf"Use shortlist\.compat\.{name}\."):
        value = getattr(shortlist, name)
    assert value is getattr(compat, name)


def test_every_name_of_the_stub_works_and_only_moved_ones_warn() -> None:
    stub = ast.parse((ROOT / "__init__.pyi").read_text("utf-8"))
    names = {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert {"eval_gen", "CorpusBusy", "Passage", "migrate", "sign_in", "Scoring"} <= names
    for name in names - set(compat.__all__) - {"Ranking"}:
        assert getattr(shortlist, name) is not None
    with pytest.deprecated_call(match=r"shortlist\.results\.Ranking"):
        assert shortlist.Ranking is not None


def test_the_stub_of_compat_has_its_names() -> None:
    stub = ast.parse((ROOT / "compat" / "__init__.pyi").read_text("utf-8"))
    names = {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(compat.__all__)


def test_public_functions_have_no_keywords_of_any_type() -> None:
    """An editor completes every argument: keywords are explicit, or those of a TypedDict."""
    wrong = []
    for name, module in MODULES.items():
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            functions = [value] if inspect.isfunction(value) else []
            if isinstance(value, type) and value.__module__.startswith("shortlist"):
                functions = [each for each in vars(value).values() if inspect.isfunction(each)]
            functions = [each for each in functions if each.__module__.startswith("shortlist")]
            for function in functions:
                for parameter in inspect.signature(function).parameters.values():
                    is_open = parameter.kind is parameter.VAR_KEYWORD and "Unpack" not in str(parameter.annotation)
                    if is_open and not function.__name__.startswith("__call__"):
                        wrong.append(f"{name}.{public}: {function.__name__}")
    assert wrong == ["shortlist.Corpus: set_threshold", "shortlist.Corpus: set_floor"]


def test_keywords_of_a_typed_dict_are_those_that_the_function_takes() -> None:
    annotation = inspect.signature(shortlist.adiscover).parameters["selection"].annotation
    assert annotation == "Unpack[SelectKeywords]"
    from shortlist.retrieval.options import SelectKeywords

    assert set(typing.get_type_hints(SelectKeywords)) <= set(inspect.signature(shortlist.discover).parameters)


if __name__ == "__main__":
    sys.exit(not FILE.write_text(render(), encoding="utf-8"))

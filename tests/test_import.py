"""Importing the package is cheap; heavy parts load on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shortlist

HEAVY = (
    "numpy",
    "numba",
    "onnxruntime",
    "fastapi",
    "mcp",
    "pydantic_settings",
    "tokenizers",
    "Stemmer",
    "httpx2",
    "yaml",
)
INJECTION = {"shortlist.safety.prompt_injection", "tomllib"}  # which hints are checked for
NOT_FOR_SEARCHES = {
    "httpx2",
    "numba",
    "numpy.ma",
    "onnxruntime",
    "pydantic",
    "shortlist.client.operations",
    "shortlist.index.engines.service_engine",
    "shortlist.sources.corpus_source",
    *INJECTION,
}


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    return set(done.stdout.split())


def test_importing_loads_no_heavy_part() -> None:
    assert modules_after("import shortlist").isdisjoint({*HEAVY, "lazy_loader", "shortlist.compat"})


def test_a_star_import_brings_the_names_to_learn() -> None:
    names: dict[str, object] = {}
    exec("from shortlist import *", names)
    assert set(shortlist.__all__) <= names.keys()
    assert names["search"] is shortlist.search


def test_a_small_lexical_search_imports_no_numba_and_no_model() -> None:
    code = "import shortlist\nassert shortlist.search(['one cat', 'two dogs'], 'dog', mode='lexical')[0].id == '1'"
    assert modules_after(code).isdisjoint({"numba", "onnxruntime", "tokenizers", "httpx2"})


def test_a_search_loads_no_reader_of_files() -> None:
    code = "import shortlist\nshortlist.search(['a parcel'], 'parcel', mode='lexical')"
    assert not [name for name in modules_after(code) if name.startswith(("shortlist.sources.formats.", "email"))]


def test_a_search_of_a_stored_corpus_loads_what_it_needs() -> None:
    shortlist.build(["the parcel is at the office"], "mail").close()
    loaded = modules_after("from shortlist.cli import run\nassert run(['search', 'mail', 'where is the parcel']) == 0")
    assert "shortlist.retrieval.corpus_hits" in loaded
    assert sorted(loaded & NOT_FOR_SEARCHES) == []


def test_a_search_of_a_path_compares_its_files_without_what_reads_them() -> None:
    search = "from shortlist.cli import run\nassert run(['search', 'examples/data/docs', 'refund', '--quiet']) == 0"
    modules_after(search)
    loaded = modules_after(search)
    assert "shortlist.sources.folder" in loaded
    assert sorted(loaded & {*NOT_FOR_SEARCHES, "rich", "shortlist.library.build"}) == []


HOOK = """
from shortlist.mcp import hook
event = b'{"hook_event_name": "UserPromptSubmit", "prompt": "where is the parcel"}'
assert hook.answer_event(event) == ''
"""


def test_the_hook_loads_what_it_needs() -> None:
    loaded = modules_after(HOOK)
    assert loaded.isdisjoint({*HEAVY, "hashlib", "lazy_loader", "logging", "platformdirs", "sqlite3"})
    shortlist.build(["the parcel is at the office"], "mail").close()
    loaded = modules_after(HOOK)
    assert {"shortlist.mcp.prompt_hints", "onnxruntime"} <= loaded
    assert sorted(loaded & ({*NOT_FOR_SEARCHES, "click", "rich", "mcp"} - INJECTION - {"onnxruntime"})) == []


def test_help_imports_no_corpus_and_a_search_reads_no_settings() -> None:
    run = "from shortlist.cli import run\nassert run(%r) == 0"
    assert modules_after(run % ["search", "--help"]).isdisjoint({"shortlist.index.corpus", "pydantic"})
    assert "pydantic" not in modules_after(run % ["search", "tools:examples/data/tools.yaml", "refund"])


def test_the_mcp_server_introduces_itself_without_loading_the_index() -> None:
    shortlist.build(["the parcel is at the office"], "mail").close()
    code = (
        "import shortlist.cli.commands.mcp_commands\n"
        "from shortlist.mcp.agent_server import AgentActions\n"
        "from shortlist.mcp.collection import Collection, StoredCorpora\n"
        "from shortlist.mcp.gateway.dispatch import Gateway\n"
        "from shortlist.mcp.gateway.gateway_config import GatewayConfig\n"
        "collection = Collection(Gateway(GatewayConfig(has_servers=False)), StoredCorpora())\n"
        "assert '1 document (mail 1)' in AgentActions(collection, lambda: None).instructions()\n"
    )
    assert modules_after(code).isdisjoint({"numpy", "onnxruntime", "tokenizers", "tomlkit", "yaml"})


def test_every_public_name_is_there() -> None:
    for name in shortlist.__all__:
        assert getattr(shortlist, name) is not None
    assert set(shortlist.__all__) <= set(dir(shortlist))


def test_search_stays_a_function_whatever_is_imported_first() -> None:
    code = "from shortlist.retrieval.select import select\nimport shortlist\nassert callable(shortlist.search)"
    assert "shortlist.retrieval.select" in modules_after(code)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="serach"):
        _ = shortlist.serach  # type: ignore[attr-defined]

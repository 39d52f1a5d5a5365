"""Every test has places of its own: no test reads or writes the corpora, settings or caches of the user.

`make test` tries the same examples each time, so a change is judged by itself; `make fuzz` looks for new ones.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from shortlist.answer import judge
from shortlist.index.embedders import models, tools_model
from shortlist.index.storage import database
from tests.servers.fixtures import (  # noqa: F401
    elasticsearch_url,
    opensearch_url,
    pytest_collection_modifyitems,
    pytest_terminal_summary,
)

settings.register_profile("same", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("fuzz", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported here stays: the garbage collector would walk through it again and again."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl-C reaches the processes of tests also if the tests run in the background, where shells ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Creates numbered folders. Pytest reads the names of all earlier ones first, which takes milliseconds a test."""
    parent, numbers = tmp_path_factory.mktemp("tests"), count()

    def make(name: str) -> Path:
        folder = parent / f"{re.sub(r'[^A-Za-z0-9]', '_', name)[:30]}{next(numbers)}"
        folder.mkdir()
        return folder

    return make


@pytest.fixture
def tmp_path(make_folder: Callable[[str], Path], request: pytest.FixtureRequest) -> Path:
    return make_folder(request.node.name)


@pytest.fixture(scope="session", autouse=True)
def shared_places(make_folder: Callable[[str], Path]) -> Iterator[None]:
    """For what fixtures of a module or session build."""
    with pytest.MonkeyPatch.context() as patch:
        _use_places(make_folder("places"), patch)
        yield


@pytest.fixture(autouse=True)
def own_places(make_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _use_places(make_folder("places"), monkeypatch)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


def _use_places(places: Path, patch: pytest.MonkeyPatch) -> None:
    for kind in ("data", "config", "cache"):
        patch.setenv(f"SHORTLIST_{kind.upper()}_DIR", str(places / kind))


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in this process waits for the disk: tests kill processes, not machines. Other processes do wait."""
    monkeypatch.setattr(database, "SYNCHRONOUS", "OFF")
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system that has no build of the library that runs our models."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    models.can_run_models.cache_clear()
    yield
    models.can_run_models.cache_clear()


@pytest.fixture(autouse=True)
def plain_install(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The static table and rules, which are fast and alike on every machine, unless a test is about our own models."""
    if request.node.get_closest_marker("extras") is None:
        monkeypatch.setattr(tools_model, "default_for_tools", lambda *_: "default")
        monkeypatch.setattr(judge, "MODEL", Path("no model"))

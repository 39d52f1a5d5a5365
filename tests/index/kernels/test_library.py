"""The compiled loops: how they are built and loaded, and what is said if they are missing."""

from __future__ import annotations

import ctypes
import re
import shutil
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import hatch_build
import shortlist
from shortlist.errors import ShortlistError
from shortlist.index.kernels import library
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.analyzers import get_analyzer

SOURCES = sorted(hatch_build.KERNELS.glob("*.[ch]"))
PLAIN = ["-O0" if option == "-O3" else option for option in hatch_build.OPTIONS]
LETTERS = {"void": "-", "int64_t": "i", "bool": "b"}


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The loader, with nothing loaded before and after."""
    loader = library.loops.__wrapped__
    monkeypatch.setattr(library, "loops", lambda: loader())
    return loader


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, and what was compiled from it, in a fifth of the time because it is not optimized."""
    folder = tmp_path_factory.mktemp("compiled")
    for source in SOURCES:
        shutil.copy(source, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hatch_build, "KERNELS", folder)
        if not hatch_build.find_compiler():
            pytest.skip("there is no C compiler")
        hatch_build.compile_loops(options=PLAIN)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources, which the loader and the build use."""
    for source in SOURCES:
        shutil.copy(source, tmp_path)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    monkeypatch.setattr(hatch_build, "KERNELS", tmp_path)
    return tmp_path


def test_every_exported_function_is_called_as_it_is_declared() -> None:
    declared = {}
    for source in SOURCES:
        for result, name, parameters in re.findall(
            r"^EXPORT ([\w ]+?)[ *]*(\w+)\(([^)]*)\)", source.read_text(), re.MULTILINE
        ):
            types = [
                "p" if "*" in one else "d" if "double" in one else "b" if "uint8_t" in one else "i"
                for one in parameters.split(",")
                if one.strip() != "void"
            ]
            declared[name] = "".join(types) + LETTERS.get(result, "?")
    del declared["cpu_level"], declared["compiled_from"]  # called once, when the library is loaded
    assert declared == library._FUNCTIONS


def test_the_sources_compile_in_every_variant_and_are_loaded(compiled: Path, folder: Path, unloaded: Any) -> None:
    shutil.copytree(compiled / library.COMPILED, folder / library.COMPILED)
    made = sorted((folder / library.COMPILED).iterdir())
    assert [path.stem for path in made] == [f"loops-{level}" for level in range(len(made))]
    loaded = unloaded()
    assert Path(loaded._name).parent == folder / "compiled"
    assert 0 <= loaded.cpu_level() < len(made)


@pytest.mark.parametrize("level", range(len(list((library.FOLDER / library.COMPILED).glob("loops-*")))))
def test_every_variant_that_runs_here_gives_the_same_scores(level: int) -> None:
    if level > ctypes.CDLL(str(next((library.FOLDER / library.COMPILED).glob("loops-0*")))).cpu_level():
        pytest.skip("this processor cannot run it")
    random, english = np.random.default_rng(1), get_analyzer()
    words = [f"word{number}" for number in range(40)]
    passages = [Fields("", (), " ".join(random.choice(words, 12)), ()) for _ in range(300)]
    expected = Lexical([Part(build(passages, english))], english).rank("word1 word2 word3", 20)
    with pytest.MonkeyPatch.context() as patch:
        load = library._load
        patch.setattr(library, "_load", lambda _: load(level))
        loaded = library.loops.__wrapped__()
        patch.setattr(library, "loops", lambda: loaded)
        found = Lexical([Part(build(passages, english))], english).rank("word1 word2 word3", 20)
    assert found.positions.tolist() == expected.positions.tolist()
    assert found.scores.tolist() == expected.scores.tolist()


def test_an_old_compiler_makes_the_plain_variant_alone(
    folder: Path, unloaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = {machine: [levels[0], "-march=of-tomorrow"] for machine, levels in hatch_build.LEVELS.items()}
    monkeypatch.setattr(hatch_build, "LEVELS", unknown)
    monkeypatch.setattr(hatch_build, "ZIG_LEVELS", unknown)
    if not hatch_build.find_compiler():
        pytest.skip("there is no C compiler")
    assert [path.stem for path in hatch_build.compile_loops(options=PLAIN)] == ["loops-0"]
    assert Path(unloaded()._name).stem == "loops-0"


def test_loops_of_other_sources_are_not_used(compiled: Path, folder: Path, unloaded: Any) -> None:
    shutil.copytree(compiled / library.COMPILED, folder / library.COMPILED)
    with (folder / "loops.h").open("a") as file:
        file.write("/* one more line */\n")
    with pytest.raises(ShortlistError, match=r"outdated.*python hatch_build\.py"):
        unloaded()


def test_without_loops_the_error_says_how_to_get_them(folder: Path, unloaded: Any) -> None:
    with pytest.raises(ShortlistError, match=r"cannot be loaded.*python hatch_build\.py.*pip"):
        unloaded()
    with pytest.raises(ShortlistError, match="cannot be loaded"):
        shortlist.search({"harbor": "The old harbor has three piers."}, "harbor")


def test_without_a_compiler_a_build_fails_with_advice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    assert hatch_build.find_compiler() == []
    with pytest.raises(RuntimeError, match="pip install ziglang"):
        hatch_build.compile_loops()


@pytest.mark.skipif(sys.platform == "win32", reason="Zig compiles there")
def test_a_compiler_that_does_not_work_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'stdint.h: No such file or directory' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("CC", str(broken))
    assert str(broken) not in hatch_build.find_compiler()
    monkeypatch.setitem(sys.modules, "ziglang", None)
    hook = hatch_build.CompileLoops(str(tmp_path), {}, None, cast("Any", None), "", "wheel")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hook.dependencies() == [hatch_build.ZIG]


def test_an_unknown_platform_is_named() -> None:
    with pytest.raises(ValueError, match=r"SHORTLIST_PLATFORM is 'amiga'.*manylinux_2_17_x86_64"):
        hatch_build.find_compiler("amiga")

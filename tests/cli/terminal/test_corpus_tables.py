"""How corpora look in tables."""

from __future__ import annotations

import re

from shortlist.cli.terminal.corpus_tables import show_corpora, show_facts, show_ingested, show_verified
from shortlist.cli.terminal.screen import render


def test_a_corpus_that_is_not_built_has_no_size() -> None:
    row = {"name": "a", "kind": "files", "documents": 1200, "built": True, "bytes": 2000, "engine": "embedded"}
    rows = [
        row | {"roots": ["/data/a"]},
        row | {"name": "b", "documents": None, "built": False, "roots": [], "engine": "opensearch+http://h/p"},
    ]
    lines = [line.split() for line in render(lambda screen: show_corpora(screen, rows)).splitlines()]
    assert lines[1] == ["a", "files", "1,200", "2.0", "kB", "/data/a"]
    assert lines[2] == ["b", "files", "-", "-", "the", "usual", "folders", "(opensearch+http://h/p)"]
    assert " ".join(lines[3]) == "A corpus without a size is built on first use."


def test_counts_are_singular_and_zeros_are_left_out() -> None:
    data = {"index": "/i", "read": 1, "unchanged": 0, "removed": 2, "skipped": 0, "failed": [], "passages": 1}
    drawn = render(lambda screen: show_ingested(screen, data | {"seconds": 0.25}))
    assert drawn == "/i: 1 file read, 2 removed, 1 chunk in 0.2 s\n"


def test_damage_and_repairs_are_listed() -> None:
    row = {"name": "a", "status": "repaired", "segments": 1, "bytes": 10, "repaired": ["x.seg"], "problems": ["y"]}
    lines = render(lambda screen: show_verified(screen, [row])).splitlines()
    assert lines == ["a: repaired (1 segment, 10 bytes)", "  x.seg; rebuilt from the documents", "  y"]


def test_facts_are_flat_and_empty_ones_are_left_out() -> None:
    facts = {"size": 1, "floors": {"lexical": 0.123456}, "none": None, "list": ["a", "b"]}
    lines = [line.split() for line in render(lambda screen: show_facts(screen, "shop", facts)).splitlines()]
    assert lines == [
        ["shop"],
        ["Calibrated", "thresholds", "0.1235", "(mode", "lexical)"],
        ["size", "1"],
        ["list", "a,", "b"],
    ]


def test_facts_have_labels_and_units() -> None:
    usage = {"learning": "on", "searches": 1, "uses": 2, "documents": 1, "bytes": 20}
    facts = {"name": "shop", "bytes": 287_232, "documents": 1_200, "dim": 256, "usage": usage, "doubts": {}}
    source = {"kind": "files", "roots": ["/data/a"], "options": {"pattern": "md$"}, "embedder": None}
    drawn = render(lambda screen: show_facts(screen, "shop", {**facts, "source": source}))
    assert [re.split(r"\s{2,}", line.strip()) for line in drawn.splitlines()] == [
        ["shop"],
        ["Documents", "1,200"],
        ["Source", "files /data/a, pattern md$"],
        ["Size on disk", "287.2 kB"],
        ["Vector size", "256 dimensions"],
        ["Use", "learning is on, 1 search, 2 uses"],
    ]


def test_languages_have_their_names_and_the_most_frequent_is_first() -> None:
    facts = {"languages": {"de": 1200, "ar": 3}, "embedder": "light"}
    lines = [line.split() for line in render(lambda screen: show_facts(screen, "shop", facts)).splitlines()]
    assert lines[1] == ["Languages", "German", "(1,200),", "Arabic", "(3)"]

"""The pages of figures are what the stored results say."""

from __future__ import annotations

import pytest

from bench.page import DOCS, draw_plots, write_pages


@pytest.mark.parametrize("name", ["benchmarks.md", "comparison.md"])
def test_a_page_of_figures_is_made_of_the_stored_results(name: str) -> None:
    page = DOCS / "explanation" / name
    assert page.read_text("utf-8") == write_pages()[name], "Run: python -m bench page"


def test_the_plots_are_made_of_the_stored_results() -> None:
    for name, picture in draw_plots().items():
        assert (DOCS / "images" / name).read_text("utf-8") == picture, "Run: python -m bench page"

"""The gallery: each example runs, is short, and draws what its axes name."""

import ast
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

GALLERY = sorted((Path(__file__).parents[1] / "notebooks" / "gallery").glob("plot_*.py"))


def test_the_gallery_has_fifteen_examples():
    assert len(GALLERY) == 15


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_an_example_is_short_and_begins_with_its_title(path):
    text = path.read_text(encoding="utf-8")
    title, rule, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert rule == "=" * len(title)
    assert len(text.splitlines()) <= 45


@pytest.mark.notebook
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_an_example_draws_axes_with_names(path):
    try:
        runpy.run_path(str(path), run_name="gallery")
        axes = plt.gcf().axes
        assert axes and all(one.get_xlabel() for one in axes)
        assert all(one.has_data() for one in axes)
    finally:
        plt.close("all")

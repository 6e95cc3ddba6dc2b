"""Words, checks and plots that items are made of."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from reproduction import specification
from reproduction.checks import attains_bound, estimate_mean, select_rows, within_bound
from reproduction.drawing import draw_page, render_svg
from reproduction.item import Check, Setting, Trait
from reproduction.items import ITEMS
from reproduction.specification import PROSE, make_checks, read_items

ROOT = Path(specification.__file__).parent
FILES = sorted(ROOT.glob("*/items.toml"))
FRAME = pd.DataFrame({"kind": ["a", "a", "b"], "x": [2.0, 1.0, 1.0], "y": [3.0, 1.0, 2.0]})
TEXTS = """
[base]
where = "Figures {figures}"
title = "{owners} owners"
claim = "It is {shown}."
differs = "Not."
tables = ["bank"]
[base.checks]
accuracy = ["accuracy of {name}", 0, 1, "better", "law", 0.1]
slope = ["slope", "close_to", "-2"]
median = ["median"]
[X-4]
like = "base"
owners = 2
figures = "4 and 5"
[shared]
shown = "shown"
"""


def read(path):
    """The tables of a file of texts; its group is one word."""
    texts = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: text for name, text in texts.items() if name != "group"}


def test_every_item_has_its_texts():
    for item in ITEMS:
        texts = (item.where, item.title, item.claim, item.differs)
        assert all(text and "\n" not in text and "{" not in text for text in texts)


def test_every_table_of_texts_belongs_to_an_item_or_to_several():
    keys = {item.key for item in ITEMS}
    for path in FILES:
        texts = read(path)
        several = {"shared", "checks", "traits", "figures"} | {
            text["like"] for text in texts.values() if "like" in text
        }
        assert set(texts) - several <= keys
        assert len(FILES) == 9


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_trait_is_of_a_check_that_has_words(path):
    texts = read(path)
    shared = texts.get("checks", {})
    items = [shared | item.get("checks", {}) for item in texts.values()]
    assert set(texts.get("traits", {})) <= {name for checks in items for name in checks}
    for item, checks in zip(texts.values(), items, strict=True):
        traits = item.get("traits", {})
        assert set(traits) <= set(checks) and set(traits.values()) <= set(get_args(Trait))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_check_that_has_words_is_made_somewhere(path):
    texts = read(path)
    code = "".join(file.read_text(encoding="utf-8") for file in path.parent.glob("*.py"))
    words = set(re.findall(r'"([^"\n]*)"', code))
    tables = [texts.get("checks", {}), *(text.get("checks", {}) for text in texts.values())]
    names = {name for table in tables for name in table}
    made = {name for name in names if {name, name.rsplit("_", 1)[0]} & words}
    assert made == names


def test_an_item_computes_rows_and_lists_checks(tmp_path):
    def law(setting):
        yield {"found": setting.pick_value(2.0, 1.0)}

    def measure(frame):
        yield Check("number found", frame["found"].item(), 2, 2)
        yield "accuracy", 0.5, {"name": "ours", "tolerance": 0.3}
        yield "slope", -2.01, -2.0, 0.01
        yield "median", 7

    (tmp_path / "items.toml").write_text(TEXTS)
    (item,) = read_items(tmp_path, {"X-4": (law, measure)})
    frames = [item.compute(Setting(quick=quick)) for quick in (True, False)]
    assert [item.checks(frame)[0].holds for frame in frames] == [False, True]
    _, accuracy, slope, median = item.checks(frames[0])
    assert accuracy == Check("accuracy of ours", 0.5, 0, 1, "better", "law", 0.3)
    assert slope.holds and slope.published == "-2" and median.kind == "told"
    assert [getattr(item, name) for name in PROSE] == [
        "Figures 4 and 5",
        "2 owners",
        "It is shown.",
        "Not.",
    ]
    assert item.tables == ("bank",) and item.draw is None


def test_rows_are_selected_and_means_estimated():
    assert list(select_rows(FRAME, kind="a", x=1.0 + 1e-12)["y"]) == [1.0]
    found = estimate_mean(np.array([1.0, 3.0]))
    assert found["measured"] == 2.0 and found["std_error"] == pytest.approx(1.0)
    assert within_bound("", 1.0).holds and not within_bound("", 1.001).holds
    assert attains_bound("", 1.0).holds and not attains_bound("", 0.999).holds


def test_panels_draw_their_rows_and_say_what_they_should():
    marks = [
        {"draw": "curve", "x": "x", "y": "y", "label": "line", "order": True},
        {"draw": "level", "at": "y"},
    ]
    panel = {"xlabel": "across", "caption": "head {kind}", "where": {"kind": "a"}, "marks": marks}
    page = {
        "title": "above",
        "default": "default",
        "columns": 1,
        "common": {"ylim": [0, 4]},
        "panels": [panel, panel, {"where": {"kind": "c"}}],
    }
    figure = draw_page(page, None, FRAME, "")
    first, _ = figure.axes  # a panel without rows is left out
    line, flat = first.lines
    assert list(line.get_xdata()) == [1.0, 2.0] and set(flat.get_ydata()) == {3.0}
    assert first.get_xlabel() == "across" and first.get_ylim() == (0, 4)
    text = render_svg(lambda frame, note: draw_page(page, None, frame, note), FRAME, "")
    assert "above" in text and "default" in text and "head a" in text


def test_a_check_is_judged_by_what_was_found_and_named_by_any_word():
    """A word of the text may be called kind; only ``judged`` says which kind a check is of."""
    rows = {"steady": ["change of {kind}", -1, 1, "steady", "law"]}
    found = [
        ("steady", 0.5, {"kind": "bank"}),
        ("steady", 0.5, {"kind": "kdd", "judged": "control"}),
    ]
    first, second = make_checks(found, rows, {}, {"steady": "word"})
    assert (first.what, first.kind, first.trait) == ("change of bank", "law", "word")
    assert (second.what, second.kind) == ("change of kdd", "control")

"""Words, checks and plots that items are made of."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction import bounds, claims, errata, thesis, weighted
from reproduction.checks import attains_bound, estimate_mean, select_rows, within_bound
from reproduction.claims import CLAIMS, make_item, quick_or_full, read_text
from reproduction.drawing import render_svg
from reproduction.item import Check, Setting
from reproduction.drawing import curve, draw_panels, level, make_panel

ROOT = Path(claims.__file__).parent
ITEMS = (*thesis.ITEMS, *bounds.ITEMS, *errata.ITEMS, *weighted.ITEMS)
FRAME = pd.DataFrame({"kind": ["a", "a", "b"], "x": [2.0, 1.0, 1.0], "y": [3.0, 1.0, 2.0]})


def test_every_table_of_words_belongs_to_items_and_is_whole():
    shared = {"WD-budgets", "WD-skews"}
    assert set(CLAIMS) - shared <= {item.key for item in ITEMS}
    for item in ITEMS:
        texts = (item.where, item.title, item.claim, item.differs)
        assert all(text and "\n" not in text and "{" not in text for text in texts)
    assert all("figure" in CLAIMS[key] for key in CLAIMS if not key.startswith("WD-"))


def test_every_check_that_has_words_is_made_somewhere():
    folders = ("bounds", "errata", "thesis", "weighted")
    files = (path for name in folders for path in (ROOT / name).glob("*.py"))
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    names = {name for table in CLAIMS.values() for name in table.get("checks", ())}
    assert not {name for name in names if f'"{name}"' not in code}


def test_an_item_computes_rows_and_lists_checks():
    def law(setting):
        yield {"found": quick_or_full(setting, 1.0, 2.0)}

    def checks(frame):
        yield Check("number found", frame["found"].item(), 2, 2)
        yield Check("accuracy", 0, 0, 1)

    item = make_item("WD-4", law, checks, None, words="WD-budgets", owners=2, figures="4 and 5")
    frames = [item.compute(Setting(quick=quick)) for quick in (True, False)]
    assert [item.checks(frame)[0].holds for frame in frames] == [False, True]
    words = [check.what for check in item.checks(frames[0])]
    assert words == ["number found", CLAIMS["WD-budgets"]["checks"]["accuracy"].strip()]
    assert "2 owners" in item.claim and item.where.endswith("Figures 4 and 5")
    assert item.tables and read_text("E-7", "coding") == ""


def test_rows_are_selected_and_means_estimated():
    assert list(select_rows(FRAME, kind="a", x=1.0 + 1e-12)["y"]) == [1.0]
    found = estimate_mean(np.array([1.0, 3.0]))
    assert found["measured"] == 2.0 and found["std_error"] == pytest.approx(1.0)
    assert within_bound("", 1.0).holds and not within_bound("", 1.001).holds
    assert attains_bound("", 1.0).holds and not attains_bound("", 0.999).holds


def test_panels_draw_their_rows_and_say_what_they_should():
    marks = (curve("x", "y", "line", order=True), level("y"))
    panel = make_panel(
        *marks, labels=("across", ""), heading="head", where={"kind": "a"}, ylim=(0, 4)
    )
    draw = draw_panels("E-7", panel, panel, columns=1, default="default", title="above")
    figure = draw(FRAME, "")
    first, second = figure.axes
    line, flat = first.lines
    assert list(line.get_xdata()) == [1.0, 2.0] and set(flat.get_ydata()) == {3.0}
    assert first.get_xlabel() == "across" and first.get_ylim() == (0, 4)
    text = render_svg(draw, FRAME, "")
    assert "above" in text and "default" in text and "head" in text

"""A market over several periods in words and in a picture, from what a result holds."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from reports import told
from result_folders import NAMES, result

from scenarios.command.console import summary_lines
from scenarios.report.facts_owners import protection_of
from scenarios.report.figures import draw_figure
from scenarios.report.phrases import render_phrase

PERIOD = {
    "present": 2,
    "selling": 2,
    "joined": [],
    "left": [],
    "records": 900,
    "payments": 100.0,
    "converged": True,
}
PERIOD |= {
    "max_regret": 0.0,
    "asks": True,
    "relative_fitness": 0.05,
    "interval": [0.01, 0.09],
    "outside": 0.07,
}
PERIOD |= {"trained": 0.04, "trained_std_error": 0.001, "agrees": True, "learner_surplus": 20.0}
SOLD = np.array([[2.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])


def content(**changes):
    """Three periods: the second owner joins as the first leaves, whose budget is spent."""
    periods = [copy.deepcopy(PERIOD) | {"period": k + 1} for k in range(3)]
    periods[0]["joined"] = [NAMES[0], NAMES[2]]
    periods[2] |= {
        "joined": [NAMES[1]],
        "left": [NAMES[0]],
        "relative_fitness": 0.03,
        "agrees": False,
    }
    owners = [
        {
            "name": name,
            "present": [bool(e) for e in sold],
            "epsilon": sold.tolist(),
            "spent": float(sold.sum()),
        }
        | {
            "delta": 0.0,
            "lifetime": 4.0,
            "remaining": 4.0 - float(sold.sum()),
            "payment": 100.0,
            "surplus": 50.0,
        }
        for name, sold in zip(NAMES, SOLD.T, strict=True)
    ]
    part = {
        "shown": 3,
        "composition": "sequential",
        "saving": "none",
        "patience": 2,
        "plans": 1,
        "periods": periods,
    }
    part |= {"owners": owners, "payments": 300.0, "learner_surplus": 60.0}
    return result() | {"time": part | changes}


@pytest.fixture(scope="module")
def table():
    rows = [
        {
            "period": t + 1,
            "owner": name,
            "present": bool(SOLD[t, i] > 0),
            "epsilon": SOLD[t, i],
            "spent": SOLD[: t + 1, i].sum(),
        }
        for t in range(3)
        for i, name in enumerate(NAMES)
    ]
    return pd.DataFrame(rows)


def test_who_came_and_left_what_is_spent_and_what_was_bought():
    made = content()
    assert (
        render_phrase("time", "moves", made)
        == "In period 3 Aurora Health left and Beacon Mutual joined."
    )
    assert render_phrase("time", "budgets", made) == (
        "Records have spent an ε of 3 to 4 over all periods, of at most 4: Aurora Health spent all."
    )
    assert render_phrase("time", "quality", made) == (
        "The model's error above the best is 5\u00a0% in period 1 and 3\u00a0% in period 3, as forecast; the forecast held "
        "in 2 of 3 trainings."
    )
    assert (
        render_phrase("time", "whole", made)
        == "Over 3 periods the learner pays 300 in all and gains 60 after paying, as forecast."
    )
    assert ", 5 more than the models are worth to it" in render_phrase(
        "time", "whole", content(learner_surplus=-5.0)
    )
    assert (
        render_phrase("time", "shown", made)
        == "Everything else here is for period 3 of 3. Privacy claims hold over all periods."
    )
    assert "period 2 of 3, the last in which the learner asked anybody" in render_phrase(
        "time", "shown", content(shown=2)
    )
    assert "spends its budget once" in render_phrase(
        "time", "what_is_asked", content(composition="fresh")
    )


def test_nothing_is_said_of_a_market_that_is_held_once():
    names = ("whole", "shown", "in_period", "what_is_asked", "moves", "budgets", "quality")
    assert [render_phrase("time", name, result()) for name in names] == [""] * 7


def test_nothing_asked_nobody_moving_and_no_limit():
    quiet = content()
    for one in quiet["time"]["periods"]:
        one |= {"asks": False, "left": [], "joined": []}
    for one in quiet["time"]["owners"]:
        one |= {"lifetime": None, "remaining": None}
    assert (
        render_phrase("time", "quality", quiet)
        == "The learner never asks anything and keeps its own model."
    )
    assert (
        render_phrase("time", "moves", quiet)
        == "The same owners are in the market in every period."
    )
    assert render_phrase("time", "budgets", quiet).endswith("no owner has a limit.")


def test_protection_is_told_of_what_is_spent_over_all_periods():
    found = protection_of(content())
    assert found.sold == dict(zip(NAMES, (4.0, 3.0, 3.0), strict=True))
    assert "at ε = 4 over all periods" in render_phrase(
        "protection", "weakly_protected", found
    ) and "ε = 4 over all" in render_phrase("protection", "meaning", found)


def test_page_and_terminal_have_a_part_on_periods():
    text = told(content(), "time")
    assert (
        "Each period asks about all records" in text
        and "− Aurora Health" in text
        and "Periods in the market" in text
    )
    (line,) = [line for line in summary_lines(content()) if line.startswith("time")]
    assert "Over 3 periods" in line and "period 3 of 3" in line


@pytest.mark.in_full
def test_the_picture_has_every_owner_and_its_lifetime(table):
    svg = draw_figure("periods", content(), {"periods": table})
    assert (
        all(name in svg for name in NAMES)
        and "what may be spent in all" in svg
        and "trained" in svg
    )
    assert (
        draw_figure("periods", result(), {"periods": table}) == ""
        and draw_figure("periods", content(), {}) == ""
    )

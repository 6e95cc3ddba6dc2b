"""Figures from saved tables: well formed, deterministic, legible in the corners of what a market can be."""

import json
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from result_folders import NAMES, calibrated, result, without_questions, write

from scenarios.report.facts_owners import listed_first
from scenarios.report.figure_scale import Scale, spread_labels
from scenarios.report.figures import (
    FIGURES,
    TABLES,
    draw_figure,
    draw_figures,
    most_at_stake,
    read_table,
)

OF_SOME = (
    "prices",
    "periods",
    "network",
)  # figures of markets with [learner.pricing], [time] or [network] alone

pytestmark = pytest.mark.in_full  # with figures

MANY = tuple(f"Hospital {i:02d}" for i in range(86))
CASES = {
    "three": (result(), 6),
    "one round, one owner": (result(("Only",)), 1),
    "many": (result(MANY, epsilon=np.geomspace(0.01, 10, 86)), 5),
    "ends": (result(epsilon=[0.0, math.inf, 2.0]), 4),
    "no training": (result(validation=None, forecast__basis="oracle"), 6),
    "perfect model": (
        result(
            forecast__relative_fitness=0.0,
            forecast__interval=[0.0, 0.0],
            outside_option__relative_fitness=0.0,
            outside_option__interval=[0.0, 0.0],
        ),
        2,
    ),
    "no interval": (result(forecast__interval=[None, None], outside_option__measured=None), 2),
    "labels": (calibrated(), 4),
    "network below the best found": (
        calibrated("network", forecast__relative_fitness=-0.02, forecast__interval=[-0.05, 0.01]),
        4,
    ),
    "nothing asked": (without_questions(), 4),
    "strange names": (result(("<b>&\"'", "$x^2$ & y", "保险公司 🙂")), 3),
}


def texts(svg: str) -> list[str]:
    """Every text in a drawing."""
    return [
        "".join(node.itertext())
        for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def drawn(folder) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in draw_figures(folder)}


def one_drawn(name: str, folder) -> str:
    """One figure of a result folder."""
    made = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return draw_figure(name, made, {one: read_table(folder / f"{one}.csv") for one in TABLES})


def said_by(name: str, folder) -> list[str]:
    """Every text in it."""
    return texts(one_drawn(name, folder))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_case_draws_well_formed_figures_with_nothing_outside_the_page(case, tmp_path):
    made, rounds = CASES[case]
    figures = drawn(write(tmp_path / "r", made, rounds))
    assert list(figures) == [name for name in FIGURES if name not in OF_SOME]
    for svg in figures.values():
        root = ElementTree.fromstring(svg)
        width, height = (float(v) for v in root.attrib["viewBox"].split()[2:])
        for node in root.iter("{http://www.w3.org/2000/svg}text"):
            assert (
                -0.5 <= float(node.attrib["x"]) <= width and 0 <= float(node.attrib["y"]) <= height
            )
        assert "nan" not in svg.lower().replace("finance", "")


@pytest.mark.slow
def test_same_tables_give_the_same_bytes(tmp_path):
    folder = write(tmp_path / "r", result())
    figures = drawn(folder)
    assert figures == drawn(folder)
    assert not re.search(r"\b20\d\d-\d\d-\d\d|Matplotlib v", "".join(figures.values()))


def test_axes_say_what_they_show_in_plain_words(tmp_path):
    folder = write(tmp_path / "r", result())
    named = ("epsilon_paths", "payoff_curves", "forecast")
    figures = {name: said_by(name, folder) for name in named}
    assert "privacy budget ε (log scale)" in figures["epsilon_paths"]
    assert "surplus (money)" in figures["payoff_curves"]
    assert "model error above the best possible (%, log scale)" in figures["forecast"]


def test_a_linear_axis_does_not_call_itself_logarithmic(tmp_path):
    made = result(
        outside_option__relative_fitness=0.03,
        outside_option__interval=[0.02, 0.04],
        outside_option__measured=0.03,
    )
    assert "model error above the best possible (%)" in said_by(
        "forecast", write(tmp_path / "r", made)
    )


@pytest.mark.slow
def test_lines_are_named_at_their_ends_with_the_budget_settled_on(tmp_path):
    labels = said_by("epsilon_paths", write(tmp_path / "r", result(epsilon=[1.0, 2.5, 7.0])))
    for name, budget in zip(NAMES, ("1", "2.5", "7"), strict=True):
        assert f"{name}\u2002{budget}" in labels


def test_labels_of_equal_budgets_do_not_overlap(tmp_path):
    root = ElementTree.fromstring(one_drawn("epsilon_paths", write(tmp_path / "r", result())))
    heights = sorted(
        float(node.attrib["y"])
        for node in root.iter("{http://www.w3.org/2000/svg}text")
        if "\u2002" in "".join(node.itertext())
    )
    assert len(heights) == 3 and min(np.diff(heights)) > 9


@pytest.mark.slow
def test_many_owners_are_grey_but_for_a_few_and_panels_are_nine(tmp_path):
    folder = write(tmp_path / "r", *CASES["many"])
    figures = {name: said_by(name, folder) for name in ("epsilon_paths", "payoff_curves")}
    assert sum("\u2002" in text for text in figures["epsilon_paths"]) == 5
    assert any("in grey 81 others" in text for text in figures["epsilon_paths"])
    assert sum(text.startswith("Hospital") for text in figures["payoff_curves"]) == 9
    assert any(
        "The 9 owners with most money at stake; 77 are not shown" in text
        for text in figures["payoff_curves"]
    )


def test_panels_show_the_owners_with_most_money_at_stake_and_not_those_whose_payoffs_fall_deepest(
    tmp_path,
):
    made = result(tuple("ABCDEFGHIJKL"))
    for owner, paid in zip(made["owners"], range(12), strict=True):
        owner |= {"payment": float(paid), "privacy_cost": 0.0}
    folder = write(tmp_path / "r", made)
    shown = most_at_stake(read_table(folder / "payoff_curves.csv"), made["owners"])
    assert shown == list("LKJIHGFED")  # payoffs of E and J vary most


def test_owners_are_listed_by_name_and_many_by_what_is_at_stake():
    def called(owners):
        return [owner["name"] for owner in owners]

    owners = [
        {"name": name, "payment": paid, "privacy_cost": 1.0}
        for name, paid in (("1", 3.0), ("10", 9.0), ("2", -5.0))
    ]
    assert called(listed_first(owners, 3, 9)) == ["1", "2", "10"] and called(
        listed_first(owners, 2, 2)
    ) == ["10", "2"]
    assert called(listed_first(owners[::-1], 3, 9)) == [
        "2",
        "10",
        "1",
    ]  # in the order of the scenario


def test_nothing_shared_and_no_protection_have_places_of_their_own(tmp_path):
    labels = said_by("epsilon_paths", write(tmp_path / "r", *CASES["ends"]))
    assert "0" in labels and "∞" in labels
    assert f"{NAMES[0]}\u20020" in labels and f"{NAMES[1]}\u2002∞" in labels


def test_forecast_figure_without_training_shows_forecast_and_outside_option_only(tmp_path):
    labels = said_by("forecast", write(tmp_path / "r", *CASES["no training"]))
    assert "forecast from pooled records" in labels and "learner alone, forecast" in labels
    assert not any("trained" in label for label in labels)


def test_names_are_shown_as_they_are(tmp_path):
    labels = " ".join(said_by("payoff_curves", write(tmp_path / "r", *CASES["strange names"])))
    assert "<b>&\"'" in labels and "$x^2$ & y" in labels and "保险公司 🙂" in labels


def test_an_owner_called_na_keeps_its_name(tmp_path):
    folder = write(tmp_path / "r", result(("NA", "1", "nan")))
    assert set(read_table(folder / "trajectory.csv")["owner"]) == {"NA", "1", "nan"}
    assert "NA\u20023.21" in said_by("epsilon_paths", folder)


def test_scale_is_logarithmic_beyond_a_decade_only():
    assert Scale.over([0.01, 10.0]).log and not Scale.over([1.0, 5.0]).log
    assert not Scale.over([-1.0, 100.0]).log


def test_scale_orders_nothing_numbers_and_infinity():
    scale = Scale.over([0.0, 0.01, 10.0, math.inf])
    places = scale.place([0.0, 0.01, 1.0, 10.0, math.inf])
    assert (np.diff(places) > 0).all()
    low, high = scale.limits()
    assert low < places[0] and places[-1] < high
    positions, labels = scale.ticks()
    assert labels[0] == "0" and labels[-1] == "∞" and sorted(positions) == positions


@pytest.mark.parametrize("values", [[], [0.0], [5.0], [math.inf], [1e-12, 1e12]])
def test_scale_survives_degenerate_values(values):
    scale = Scale.over(values)
    low, high = scale.limits()
    positions, labels = scale.ticks()
    assert low < high and len(positions) == len(labels) and np.isfinite(positions).all()


def test_labels_move_apart_as_little_as_needed():
    assert spread_labels(np.array([5.0, 1.0, 5.0]), 1.0, 0.0, 10.0) == pytest.approx(
        [4.5, 1.0, 5.5]
    )
    assert spread_labels(np.array([10.0, 10.0]), 1.0, 0.0, 10.0) == pytest.approx([9.0, 10.0])


@pytest.mark.slow
def test_the_forecast_figure_tells_a_law_from_a_rehearsal(tmp_path):
    exact = said_by("forecast", write(tmp_path / "e", result()))
    assert {"forecast from public rows", "(exact law)", "oracle law (pooled records)"} <= set(exact)
    fitted = said_by("forecast", write(tmp_path / "r", calibrated()))
    assert {"forecast from public rows", "(rehearsed)", "oracle fit (pooled records)"} <= set(
        fitted
    )
    assert not any("law" in text for text in fitted)


@pytest.mark.slow
def test_the_forecast_figure_names_the_error(tmp_path):
    said = said_by("forecast", write(tmp_path / "n", calibrated("network")))
    assert any(
        text.startswith("Mean logistic loss above that of the best network found, in percent")
        for text in said
    )
    assert "model error above the best found (%, log scale)" in said
    said = said_by("forecast", write(tmp_path / "s", result()))
    assert any(
        text.startswith("Mean squared error above that of the best possible model") for text in said
    )


def test_where_nothing_is_asked_no_training_is_drawn(tmp_path):
    said = said_by("forecast", write(tmp_path / "n", without_questions()))
    assert "learner alone, measured" in said and not any(
        "trained" in text or "oracle" in text for text in said
    )


def test_owners_who_sell_alike_are_one_row_one_line_and_one_panel(tmp_path):
    made = result(("North", "West", "South", "East", "Centre"), epsilon=[2.0, 1.0, 2.0, 2.0, 2.0])
    folder = write(tmp_path / "r", made)
    for name in ("trajectory", "payoff_curves"):
        table = read_table(folder / f"{name}.csv")
        like = table[table["owner"] == "North"]
        parts = [like.assign(owner=owner) for owner in ("North", "South", "East", "Centre")]
        pd.concat([table[table["owner"] == "West"], *parts]).to_csv(folder / f"{name}.csv")
    said = {name: said_by(name, folder) for name in ("sales", "epsilon_paths", "payoff_curves")}
    for name in said:
        heads = [text.split("\u2002")[0] for text in said[name]]
        assert any(head.startswith("North") for head in heads) and "West" in heads, name
        assert not {"North", "South", "East", "Centre"} & set(heads), name
    assert "400 each" in said["sales"] and not any("not shown" in t for t in said["payoff_curves"])


def test_a_name_written_from_the_right_stays_apart_from_its_number(tmp_path):
    made = result(("North", "מרכז רפואי"), epsilon=[1.0, 2.0])
    labels = said_by("epsilon_paths", write(tmp_path / "r", made))
    assert "\u2068מרכז רפואי\u2069\u20022" in labels


def test_rounding_below_zero_is_drawn_as_zero(tmp_path):
    tiny = {"relative_fitness": -7e-16, "interval": [-7e-16, -7e-16]}
    made = without_questions()
    made["forecast"] |= tiny
    made["outside_option"] |= tiny | {"measured": 5e-15}
    said = said_by("forecast", write(tmp_path / "n", made))
    assert not any("×" in text or "−" in text for text in said) and said.count("0\u00a0%") == 3
    assert "0.001" in said  # the axis ends there, not at the runs, which trained nothing


@pytest.mark.parametrize("inches", [0.8, 1.3, 2.5])
@pytest.mark.parametrize(
    "values",
    [[0.05, 0.1, 2.0], [0.0, 0.01, 10.0, math.inf], [0.01, 1e6], [-400.0, 500.0], [1e4, 1.3e5]],
)
def test_labels_of_ticks_never_touch(values, inches):
    """0.05 and 0.1 stood as "0.050.1" on a narrow axis."""
    figure = Figure(figsize=(4.0, 2.0))
    axes = figure.add_axes((0.1, 0.3, inches / 4, 0.6))
    Scale.over(values).rule(axes, "x")
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
    assert boxes and all(
        right.x0 - left.x1 > 1 for left, right in zip(boxes, boxes[1:], strict=False)
    )


def test_of_very_many_owners_the_paths_say_how_many_are_drawn_and_how_many_are_not():
    made = result(tuple(f"O{i}" for i in range(700)))
    paths = pd.DataFrame(
        [{"round": r, "owner": f"O{i}", "epsilon": 1.0 + r + i} for r in (0, 1) for i in range(600)]
    )
    note = texts(
        draw_figure("epsilon_paths", made, {"trajectory": paths, "payoff_curves": pd.DataFrame()})
    )
    assert any("in grey 199 of 695 others" in text for text in note)

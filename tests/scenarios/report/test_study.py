"""The picture of a study: which points are one curve, and how ticks keep clear of each other."""

import pytest

from scenarios.report.facts_study import show_difference, show_interval, shown_facts
from scenarios.report.figure_page import draw_svg
from scenarios.report.figure_scale import Scale
from scenarios.report.figure_study import group_points, study_figure
from scenarios.report.phrases import render_phrase
from scenarios.sweeping.answers import Estimate, Point
from scenarios.sweeping.study import Study


def points(study):
    """The points of a study, each with one fact."""
    steps = study.axes[0].steps
    fact = {"n_owners": Estimate(4.0, 3.0, 5.0, 9)}
    return [Point(number, values, fact, {}) for number, values in enumerate(steps, 1)]


@pytest.mark.parametrize(
    "tables, along, curves",
    [
        ([{"title": ["a", "b"], "data.split": [[1, 2]], "learning.weights": ["size", "equal"]}], "title", {"size", "equal"}),
        ([{"title": ["a"], "data.split": [[1, 1]], "seed": [1, 2]}, {"title": ["b"], "seed": [1, 2]}], "seed", {"a", "b"}),
        ([{"policy.kind": ["posted"], "policy.price": [1, 2]}, {"policy.budget": [3]}], "n_owners", {"posted", ""}),
        ([{"title": ["a"], "owners.cost.price": ["uniform:low=1"]}, {"title": ["b"]}], "title", {""}),
    ],
)  # fmt: skip
def test_points_are_one_curve_where_a_reader_would_name_them_alike(tables, along, curves):
    study = Study.model_validate({"scenario": "three_insurers", "grid": tables, "along": along})
    assert {curve.name for curve in group_points(study, points(study))} == curves


def test_ticks_that_would_run_into_each_other_are_left_out():
    scale = Scale.over([100, 200_000])
    places, labels = scale.apart(*scale.ticks(), 1.6, True)
    assert (
        len(places) == len(labels) < len(scale.ticks()[0])
        and scale.apart(*scale.ticks(), 9.0, True)[1] == scale.ticks()[1]
    )


def test_a_point_is_called_by_its_title_and_its_place():
    grid = [{"title": ["a"], "seed": [1, 2], "data.split": [[9, 9]]}]
    study = Study.model_validate({"scenario": "three_insurers", "grid": grid, "along": "seed"})
    assert render_phrase("study", "where", study, points(study)[1]) == "a, seed = 2"
    assert (
        show_interval("learner.surplus", Estimate(1234.0, 1200.0, 1270.0, 5))
        == "1,230 [1,200 to 1,270]"
    )
    assert (
        show_interval("forecast.relative_fitness", Estimate(0.05, 0.04, 0.06, 5)).replace(
            "\u00a0", " "
        )
        == "5 % [4 to 6 %]"
    )


def test_a_difference_that_is_rounding_reads_as_none():
    fact = "learner.surplus"
    for changes, told in (
        ((3e-12, -2e-12, 8e-12), "0"),
        ((0.5, 0.25, 0.75), "0.5 [0.25 to 0.75]"),
        ((0.0, 0.0, 0.0), "0"),
    ):
        found = {fact: Estimate(*changes, 5)}
        point = Point(2, (), {fact: Estimate(1234.0, 1200.0, 1270.0, 5)}, found)
        assert show_difference(fact, point) == told
    assert show_difference(fact, Point(2, (), {}, {})) == "–"


def test_curves_that_coincide_in_a_panel_are_one_with_the_names_of_all():
    table = {"policy.budget": [1, 2], "owners.cost.price": [30, 40]}
    study = Study.model_validate(
        {
            "scenario": "three_insurers",
            "grid": table,
            "along": "policy.budget",
            "show": ["n_owners", "epsilon_max"],
        }
    )
    cells = [Point(1, (1, 30), {}, {}), Point(2, (1, 40), {}, {}), Point(3, (2, 30), {}, {})]
    cells.append(Point(4, (2, 40), {}, {}))
    for cell in cells:
        equal = Estimate(3.0 * cell.values[0], None, None, 1)
        cell.facts.update(n_owners=equal, epsilon_max=Estimate(cell.values[1], None, None, 1))
    drawn = draw_svg(study_figure, study, cells, "Prices")
    assert drawn.count("coincide: price = 30; price = 40") == 1
    assert ">price = 30<" in drawn and ">price = 40<" in drawn  # the legend has names
    assert shown_facts(study) == ["n_owners", "epsilon_max"]


def test_a_table_shows_the_fact_that_tells_points_of_one_title_apart():
    made = {"scenario": "three_insurers", "grid": [{"title": ["a"], "seed": [1, 2]}]}
    study = Study.model_validate(made | {"along": "n_owners", "show": ["epsilon_max"]})
    assert shown_facts(study) == ["n_owners", "epsilon_max"]

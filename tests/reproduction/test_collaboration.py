"""Figures of the synchronous paper, on a toy table: which points count, what the law says of them, and what checks refuse."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from populations import generated

from learning.losses.margin import Hinge
from learning.losses.squared import Squared
from reproduction.collaboration import ITEMS, TICKS, figures, largest_drawn, setups
from reproduction.collaboration.setups import Prepared, Setup
from reproduction.item import NotPossible, Setting
from reproduction.tables.records import Table

QUICK = Setting(quick=True)
BY_KEY = {item.key: item for item in ITEMS}
ALL_CHECKS = {item.key: item.checks for item in ITEMS}


def without_level(checks):
    """Checks of laws: made-up points have no level to compare with the paper's tick labels."""
    return lambda frame: [one for one in checks(frame) if "largest ψ drawn" not in one.what]


CHECKS = {key: without_level(checks) for key, checks in ALL_CHECKS.items()}
LINEAR = Setup("lending", Squared(), 0.0, 250_000, 100, 900, 100, replications=4)
LABELS = Setup("fraud", Hinge(), 1.0, 250_000, 100, 900, 100)


def toy(name, setting):
    x, y = generated(3_100, 3, np.random.default_rng(3))
    y = np.where(y > np.median(y), 1.0, -1.0) if name == "fraud" else y
    return Table(
        name,
        x[100:],
        y[100:],
        x[:100],
        y[:100],
        None,
        (),
        True,
        "",
        np.abs(x).max(axis=0),
        np.abs(y).max(),
    )


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    """No published table is read."""
    monkeypatch.setattr(setups, "load_table", toy)
    setups.shuffled_table.cache_clear()
    yield
    setups.shuffled_table.cache_clear()


def test_sizes_are_those_wanted_and_the_most_there_is_in_place_of_more():
    prepared = Prepared(LINEAR, QUICK)
    assert prepared.limit_sizes([100, 300, 1e5, 2e5]) == [100, 300, 1000]
    assert (prepared.largest_size(), prepared.largest_size(2 * 873, owners=1)) == (1000, 1250)
    assert figures.first_sizes(prepared)[-1] == 1200  # beside two of 900
    assert (
        Prepared(LABELS, QUICK).count_runs(30_000, 9) == 20
        and Prepared(LINEAR, QUICK).count_runs(3_000, 3, sharp=True) == 160
    )


@pytest.mark.parametrize("compute", [figures.compute_surface, figures.compute_scenarios])
def test_a_table_too_small_for_two_sizes_is_not_possible(compute):
    words = "more than 1,000 records of each owner are needed, and lending has 1,000 for each here"
    with pytest.raises(NotPossible, match=words):
        compute(replace(LINEAR, least=1000), QUICK)


def points(slope=-2.0, x=(0.1, 1.0, 10.0), bias=1e-6, exact=1):
    x = np.array(x)
    found = 5.0 * x**slope
    frame = pd.DataFrame(
        {"epsilon": x, "n_records": 100, "relative_fitness": found, "std_error": 0.01 * found}
    )
    return frame.assign(
        bias=bias, noise=found - bias if exact else np.nan, power=1 / x**2, optimum=2.0
    )


def test_a_slope_is_fitted_through_all_points_and_judged_by_what_the_source_has():
    """Those too whose noise falls below thirty times the bias, so that a slope can fail."""
    frame = setups.add_law(points(x=np.geomspace(0.1, 10, 11), bias=0.02))
    assert frame["dominated"].sum() == 8  # 5/x^2 - 0.02 is at least 0.6 up to x = 2.84
    found, error, count = setups.fit_slope(frame, "epsilon")
    assert found == pytest.approx(-2) and count == 11
    log = np.log(frame["epsilon"])
    assert error == pytest.approx(0.01 / np.sqrt(np.sum((log - log.mean()) ** 2)))
    for given, holds in ((-2.09, True), (-1.88, False), (-1.0, False)):
        assert CHECKS["VC-4"](setups.add_law(points(given)))[0].holds == holds
    assert np.isnan(setups.fit_slope(frame[:2], "epsilon")[0])
    flat = frame.assign(relative_fitness=frame["relative_fitness"] + 0.5)
    assert not CHECKS["VC-4"](flat)[0].holds


def test_without_an_exact_law_one_constant_goes_through_the_noisiest_point():
    frame = setups.add_law(points(-1.9, exact=0))
    assert (
        frame["law"][0] == pytest.approx(frame["relative_fitness"][0])
        and not frame["exact_law"].any()
    )
    assert (frame["noise"] / frame["power"]).std() < 1e-9
    assert frame["theorem_3"].tolist() == pytest.approx(
        (frame["relative_fitness"][0] * np.array([1, 0.1, 0.01])).tolist()
    )
    *_, least, most = CHECKS["VC-3"](frame)
    assert least.holds and not most.holds and most.found == pytest.approx(100**0.1, rel=1e-3)


def test_points_off_the_law_are_told():
    frame = setups.add_law(points())
    assert CHECKS["VC-4"](frame)[-1].holds
    frame.loc[1, "relative_fitness"] *= 1.06  # six standard errors
    assert not CHECKS["VC-4"](frame)[-1].holds


@pytest.mark.parametrize(
    "compute, key",
    [
        (figures.compute_epsilon, "VC-4"),
        (figures.compute_records, "VC-5"),
    ],
)
def test_trainings_fall_by_the_square_and_follow_the_law(compute, key):
    """A true slope and the exact law hold within what each check calls its tolerance."""
    frame = compute(LINEAR, QUICK)
    for one in CHECKS[key](frame):
        nearest = np.clip(one.found, one.low, one.high)
        assert abs(one.found - nearest) < one.tolerance
    assert set(frame["n_records"]) <= {100, 316, 1000} and frame["gradient_bound"].nunique() == 1


@pytest.mark.parametrize(
    "setup", [LINEAR, pytest.param(LABELS, marks=pytest.mark.slow)], ids=lambda setup: setup.name
)
def test_four_scenarios_rank_as_the_noise_that_they_share(setup):
    frame = figures.compute_scenarios(setup, QUICK)
    laws = [one for one in CHECKS["VC-6"](frame) if one.kind == "law"]
    failing = [one for one in laws if one.verdict == "fails"]
    assert [one.published for one in failing] == ["without much consideration"]
    corner = frame[
        (frame["n_records"] == frame["n_records"].max()) & (frame["epsilon"] == 10.0)
    ].set_index("scenario")
    by_noise = corner["power"].drop(figures.ALONE).sort_values().index
    assert tuple(by_noise) == figures.RANKED
    swapped = frame.assign(scenario=frame["scenario"].replace({1: 4, 4: 1}))
    assert sum(not one.holds for one in CHECKS["VC-6"](swapped) if one.kind == "law") > 1


def corners(best=0.01):
    """Four scenarios at two sizes and three budgets of the first owner, the best one as given."""
    shares = {figures.ALONE: 1e3, 1: 1e4, 2: 0.1, 3: 1e3, 4: best}
    rows = [
        {"scenario": number, "n_records": size, "epsilon": epsilon, "relative_fitness": level}
        for number, level in shares.items()
        for size in (100, 1_000)
        for epsilon in (0.1, 1.0, 10.0)
    ]
    frame = pd.DataFrame(rows).assign(std_error=1e-9, bias=0.0, noise=np.nan)
    return setups.add_law(frame.assign(power=frame["relative_fitness"], optimum=1.0))


@pytest.mark.parametrize("key, words", [("VC-6", "without much"), ("VC-11", "identical")])
def test_the_best_scenario_is_said_to_need_no_care_about_the_first_owners_budget(key, words):
    frame = corners()
    strict = (frame["scenario"] == 4) & (frame["n_records"] == 1_000) & (frame["epsilon"] == 0.1)
    costly = frame.assign(relative_fitness=frame["relative_fitness"].where(~strict, 30.0))
    judged = [
        [one.holds for one in CHECKS[key](each) if one.published.startswith(words)]
        for each in (frame, costly)
    ]
    assert all(judged[0]) and judged[1].count(False) == 1


def test_few_records_of_the_first_owner_hardly_cost_the_best_scenario():
    """Lending: said of its size as of its budget; at each end of the budgets it is judged."""
    frame = corners()
    few = (frame["scenario"] == 4) & (frame["n_records"] == 100) & (frame["epsilon"] == 10.0)
    costly = frame.assign(relative_fitness=frame["relative_fitness"].where(~few, 0.03))
    judged = [
        [one.holds for one in CHECKS["VC-6"](each) if "n₁ from 1,000 to 100" in one.what]
        for each in (frame, costly)
    ]
    assert judged == [[True, True], [False, True]]


def test_of_an_order_that_the_source_does_not_state_nothing_is_asked():
    """It orders scenarios 1 and 3, and puts 4 first."""
    frame = corners()
    found = [one for one in CHECKS["VC-6"](frame) if one.what.startswith("scenario 3 over")]
    assert {one.what[:17]: one.kind for one in found if "law has" not in one.what} == {
        "scenario 3 over 4": "law",
        "scenario 3 over 2": "told",
    }


def test_paths_settle_and_more_budget_is_better():
    few = replace(LINEAR, followed=100)  # no more than the table has
    frame = figures.compute_path(few, QUICK)
    assert (
        frame.groupby("epsilon")["round"].agg(["min", "max"]).to_numpy().tolist() == [[2, 100]] * 3
    )
    assert ((frame["q25"] <= frame["median"]) & (frame["median"] <= frame["q75"])).all()
    ends = {one.what: one.holds for one in CHECKS["VC-2"](frame) if "over the first" in one.what}
    falls = frame.groupby("epsilon")["median"].agg(lambda path: path.iloc[-1] < path.iloc[0])
    assert list(ends.values()) == falls.tolist() and len(set(ends.values())) == 2


def test_a_path_that_ends_above_its_start_has_not_converged():
    """It ends below its worst round all the same."""
    frame = figures.compute_path(replace(LINEAR, followed=100), QUICK)
    frame.loc[frame["round"] == 2, "median"] = 1e9
    assert all(one.holds for one in CHECKS["VC-2"](frame) if "over the first" in one.what)
    frame.loc[frame["round"] == 50, "median"] = 1e12
    frame.loc[frame["round"] == 100, "median"] = 1e10
    assert not any(one.holds for one in CHECKS["VC-2"](frame) if "over the first" in one.what)


def test_claims_are_judged_with_the_noise_of_the_papers_records():
    """Where noise rules, ten times the records it is drawn for leave a hundredth of the excess."""
    size = figures.Prepared(LINEAR, QUICK).largest_size()
    frame = figures.compute_path(replace(LINEAR, followed=10 * size), QUICK)
    assert frame["n_records"].eq(size).all()
    strict = frame[(frame["epsilon"] == 0.1) & (frame["round"] == 100)]
    means = strict.set_index("noise_of_records")["mean"]
    assert means[10 * size] == pytest.approx(means[size] / 100, rel=0.1)
    found = {name: words for name, *_, words in figures.check_path(LINEAR, frame)}
    assert found["settled"]["size"] == found["hundredfold"]["size"] == 10 * size
    near = dict(one[:2] for one in figures.check_path(LABELS, frame))
    lax = frame[(frame["epsilon"] == 1.0) & (frame["round"] == 100)]
    assert near["within"] == lax.set_index("noise_of_records")["mean"][10 * size]


def test_figures_are_drawn_from_the_numbers():
    frame = figures.compute_records(replace(LINEAR, replications=1), QUICK)
    panels = BY_KEY["VC-5"].draw(frame, "note").axes
    assert len(panels) == 2 and all(len(axes.lines) > 3 for axes in panels)
    (axes,) = BY_KEY["VC-3"].draw(frame[frame["order"] == "random"], "note").axes
    assert axes.collections and axes.get_title(loc="left").endswith("the exact law")


def test_what_noise_adds_counts_in_units_of_each_market_s_own_optimum():
    frame = points(exact=0).assign(optimum=[2.0, 4.0, 2.0], bias=0.0)
    frame["relative_fitness"] *= 2.0 / frame["optimum"]
    assert setups.add_law(frame)["law"].tolist() == pytest.approx(
        frame["relative_fitness"].tolist()
    )


def test_a_surface_below_the_tick_labels_has_another_level():
    """Between its two highest tick labels the paper's figure has its largest fitness."""
    frame = setups.add_law(points())
    for level, holds in ((3e8, True), (1e5, False), (1e11, False)):
        frame["relative_fitness"] *= level / frame["relative_fitness"].max()
        (found,) = [one for one in ALL_CHECKS["VC-4"](frame) if "largest ψ drawn" in one.what]
        assert found.holds == holds and found.kind == "value"


def test_the_level_of_every_figure_is_judged_by_the_labels_of_its_own_panels():
    """A point that two figures draw must lie between the labels of both."""
    assert set(TICKS) == set(BY_KEY)
    assert all(low < high for panels in TICKS.values() for low, high in panels.values())
    frame = setups.add_law(points())
    frame["relative_fitness"] *= 2e5 / frame["relative_fitness"].max()
    levels = [one.holds for one in ALL_CHECKS["VC-3"](frame) if "largest ψ drawn" in one.what]
    assert levels == [True, False]
    four = pd.concat([frame.assign(scenario=k, relative_fitness=10.0**k) for k in (1, 2, 3, 4)])
    error = frame["std_error"].iloc[0]
    assert largest_drawn("VC-6", "scenario 3", four) == (1e3, error)
    sizes = frame.assign(n_records=[100, 1_000, 2_000], relative_fitness=[9.0, 4.0, 1.0])
    assert largest_drawn("VC-8", "Figure 8", sizes) == (4.0, sizes["std_error"].iloc[1])
    band = pd.DataFrame({"noise_of_records": [10, 99, 99], "q75": [7.0, 2.0, 3.0]})
    assert largest_drawn("VC-7", "Figure 7", band) == (3.0, 0.0)


def test_records_in_the_files_order_are_asked_for_the_same_power():
    frame = setups.add_law(
        points(x=(100, 1000, 10_000)).rename(columns={"epsilon": "n", "n_records": "epsilon"})
    )
    frame = frame.rename(columns={"n": "n_records"})
    drifting = frame.assign(order="file", relative_fitness=5.0 * frame["n_records"] ** -2.15)
    both = pd.concat([frame.assign(order="random"), drifting], ignore_index=True)
    dealt, filed = (
        [one for one in CHECKS["VC-5"](both) if one.what.startswith(start)]
        for start in ("slope in n, ", "slope in n in the file's order")
    )
    assert [one.kind for one in (*dealt, *filed)] == ["law", "reading"]
    assert dealt[0].holds and not filed[0].holds

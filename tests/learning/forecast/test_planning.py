"""The law where the ball leaves it alone, rehearsals where it binds, and intervals that say what is not known."""

import numpy as np
import pytest

from learning.forecast.calibration import TOLERATED, fit_curve
from learning.forecast.planner import NEGLIGIBLE
from learning.forecast.prediction import Prediction, predict_permuted
from scenarios.planning import prepare
from scenarios.schema.loading import load
from scenarios.summary.forecast import forecast_part
from scenarios.training import train_at

# ---- a ball that binds
# ----------------------------------------------------------------------------------------------

PLAN = ["learning.horizon=6", "learning.step_size=0.4", 'learning.returned="last"']
BALLS = {
    "wide": ([], (1.0, 3.0), "exact"),
    "too small for the noise": (["learning.theta_max=0.3", *PLAN], (0.1, 3.0), "calibrated"),
    "fixed point outside": (["learning.theta_max=0.02", *PLAN], (1.0, 3.0), "calibrated"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BALLS)
def test_a_ball_that_binds_is_rehearsed_and_what_is_forecast_is_trained(case):
    """Three insurers: the law forecast 1.14 where 0.11 was trained, and 0.003 where 0.07 was."""
    changes, budgets, kind = BALLS[case]
    scenario = load("three_insurers", [*changes, "validation.runs=300"])
    data, planner = prepare(scenario)
    assert planner.forecast.kind == kind
    for epsilon in budgets:
        profile = np.full(3, epsilon)
        told = forecast_part(data, planner, profile, planner.predict(profile))
        trained = train_at(scenario, planner, profile)
        runs = data.fitness.relative(trained.theta)
        error = np.hypot(runs.std(ddof=1) / np.sqrt(len(runs)), told["oracle"]["std_error"])
        assert (
            told["projection_may_bind"]
            == (trained.projected > NEGLIGIBLE)
            == (kind == "calibrated")
        )
        assert (
            abs(runs.mean() - told["oracle"]["relative_fitness"]) <= 4 * error + 0.01 * runs.mean()
        )
        assert told["interval"][0] <= runs.mean() <= told["interval"][1]


# ---- rehearsed on the pooled records
# --------------------------------------------------------------------------------

BASE = """
title = "Rehearsed"
seed = 5
[data]
path = "{file}"
target = "{target}"
split = [200, 400, 600]
names = ["Ash", "Birch", "Cedar"]
public_rows = 0
bounds = {{a = [-1, 1], b = [-1, 1], c = [-1, 1]{more}}}
[learning]
theta_max = 3.0
[owners]
epsilon = [0.5, 20.0]
[owners.cost]
kind = "linear"
price = 1.0
[policy]
kind = "proportional"
budget = 100.0
[learner]
value = 1000.0
[validation]
runs = 200
"""
PLANS = {
    "synchronous": (6, 60.0),
    "averaged": (6, 1.0),
    "sgd2": (6, 1.0),
    "weighted": (6, 0.5),
    "asynchronous": (60, 200.0),
    "sgd1": (60, 0.1),
}
CASES = [
    ("hinge", "averaged", ()),
    ("hinge", "weighted", ()),
    ("logistic", "synchronous", ()),
    ("logistic", "sgd1", ("learning.mechanism=gaussian", "learning.delta=1e-4")),
    ("logistic", "sgd2", ("learning.weights=precision",)),
    ("squared", "asynchronous", ("learning.regularisation=0.05",)),
    ("squared", "sgd2", ("learning.weights=equal",)),
]
PROFILES = [(2.0, 2.0, 2.0), (4.0, 10.0, 20.0), (20.0, 5.0, 2.0), (0.0, 8.0, 8.0)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of numbers and labels of three owners, one three times as large as another."""
    place = tmp_path_factory.mktemp("market")
    rng = np.random.default_rng(12)
    x = rng.uniform(-1, 1, (1200, 3))
    score = x @ np.array([1.5, -1.0, 0.5]) + 0.2
    label = np.where(rng.random(len(x)) < 1 / (1 + np.exp(-3 * score)), "yes", "no")
    for name, target in (
        ("amount", np.clip(score + 0.5 * rng.normal(size=len(x)), -4, 4)),
        ("label", label),
    ):
        rows = "\n".join(
            f"{a:.6f},{b:.6f},{c:.6f},{t}" for (a, b, c), t in zip(x, target, strict=True)
        )
        (place / f"{name}.csv").write_text(f"a,b,c,{name}\n{rows}\n")
        more = ", amount = [-4, 4]" if name == "amount" else ""
        (place / f"{name}.toml").write_text(BASE.format(file=f"{name}.csv", target=name, more=more))
    return place


@pytest.mark.slow
def test_what_is_rehearsed_is_trained_and_where_not_the_interval_says_so(folder, monkeypatch):
    """Seven settings, four profiles: in nine of ten the trained mean lies in the interval widened by its standard error,
    none is off by more than a tenth that its interval does not allow, and errors have no common
    sign."""
    monkeypatch.setenv("DPMARKET_CACHE", "")
    off = []
    inside = []
    for loss, algorithm, more in CASES:
        horizon, step = PLANS[algorithm]
        stated = [
            f"learning.loss={loss}",
            f"learning.algorithm={algorithm}",
            f"learning.horizon={horizon}",
        ]
        stated += [f"learning.step_size={step}", "learning.returned=last", *more]
        stated += (
            []
            if loss == "squared"
            else ["learning.regularisation=0.05", 'data.labels=["no", "yes"]']
        )
        scenario = load(folder / ("amount.toml" if loss == "squared" else "label.toml"), stated)
        data, planner = prepare(scenario)
        for profile in np.array(PROFILES):
            runs = data.fitness.relative(train_at(scenario, planner, profile).theta)
            mean = runs.mean()
            error = runs.std(ddof=1) / np.sqrt(len(runs))
            point = planner.forecast.at(profile)
            low, high = planner.predict(profile).interval()
            assert low <= point <= high
            inside.append(low - 2 * error <= mean <= high + 2 * error)
            off.append((mean / point - 1) / max(error / point, 0.01))
            assert (
                abs(mean / point - 1) <= 0.1 + 3 * error / point
                or low - 3 * error <= mean <= high + 3 * error
            )
    assert np.mean(inside) >= 0.9
    everybody = np.reshape(off, (len(CASES), -1))[
        :, :3
    ]  # not where a part shares: which part is one draw for all
    assert 0.2 < np.mean(everybody > 0) < 0.8


@pytest.mark.slow
def test_owners_who_may_sell_nothing_leave_the_forecast_for_the_others_as_it_is(folder):
    """Their smallest budget stood for noise without end, and what the others sold was read off next to none at all."""
    stated = [
        "learning.loss=logistic",
        "learning.horizon=6",
        "learning.step_size=1.0",
        "learning.returned=last",
    ]
    stated += ["learning.regularisation=0.05", 'data.labels=["no", "yes"]']
    intervals = "[0.5, 20.0]", "[[0.5, 20.0], [0.5, 20.0], [0.0, 0.0]]"
    for profile in ((1.0, 1.0, 0.0), (5.0, 2.0, 0.0)):
        free, fixed = (
            prepare(load(folder / "label.toml", [*stated, f"owners.epsilon={one}"]))[1].forecast.at(
                np.array(profile)
            )
            for one in intervals
        )
        assert fixed == pytest.approx(free, rel=0.05)


@pytest.mark.slow
def test_owners_who_may_sell_nothing_hide_no_ball_that_binds():
    changes = ["learning.theta_max=1.0", "owners.epsilon=[[1.0, 10.0], [1.0, 10.0], [0.0, 0.0]]"]
    assert prepare(load("three_insurers", changes))[1].forecast.kind == "calibrated"


@pytest.mark.slow
def test_a_ball_that_leaves_the_optimum_out_is_forecast_as_it_is_trained(folder):
    """On the pooled records: the law said 0.03 there, with certainty, where 2.8 was trained."""
    stated = ["learning.algorithm=averaged", "learning.theta_max=0.3", "learning.horizon=10"]
    scenario = load(folder / "amount.toml", stated)
    profile = np.full(3, 15.0)
    data, planner = prepare(scenario)
    trained, (low, high) = train_at(scenario, planner, profile), planner.predict(profile).interval()
    mean = data.fitness.relative(trained.theta).mean()
    assert planner.forecast.kind == "calibrated" and trained.projected > 0.3
    assert (
        mean == pytest.approx(planner.forecast.at(profile), rel=0.01)
        and 0.99 * low <= mean <= 1.01 * high
    )


@pytest.mark.slow
def test_under_the_law_too_an_interval_tells_what_a_part_of_the_owners_may_cost(folder):
    """On the pooled records the law is exact where everybody shares by size; else it matters who holds which records."""
    scenario = load(folder / "amount.toml", ["learning.algorithm=averaged", "validation.runs=200"])
    data, planner = prepare(scenario)
    everybody = np.full(3, 15.0)
    part = np.array([0.0, 15.0, 15.0])
    assert (
        planner.forecast.kind == "exact"
        and planner.predict(everybody).interval() == (planner.forecast.at(everybody),) * 2
    )
    low, high = planner.predict(part).interval()
    runs = data.fitness.relative(train_at(scenario, planner, part).theta)
    error = runs.std(ddof=1) / np.sqrt(len(runs))
    assert (
        low < planner.forecast.at(part) < high
        and low - 2 * error <= runs.mean() <= high + 2 * error
    )
    assert high - low > 0.05 * planner.forecast.at(part)


# ---- their parts
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "most"), [(np.inf, 0.04), (0.5, 0.06)])
def test_chance_at_the_levels_is_evened_out(limit, most):
    """7 % of chance at every level: curves miss what is true by less, where it follows the form and where it levels off."""
    noise = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 13)])
    truth = 0.01 + 3 * noise / (1 + 3 * noise / limit)
    rng = np.random.default_rng(0)
    missed = []
    for _ in range(20):
        errors = 0.07 * truth * (noise > 0)
        curve = fit_curve(noise, truth + errors * rng.normal(size=14), errors)
        missed.append(curve.value(noise) / truth - 1)
    assert (
        np.sqrt(np.mean(np.square(missed))) < most
        and np.abs(np.mean(missed, axis=0)).max() < TOLERATED
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e100])
def test_levels_of_any_size_are_fitted(scale):
    noise = np.concatenate([[0.0], np.geomspace(1e-9, 1.0, 13)])
    values = 0.01 + 0.5 * noise / (0.01 + noise)
    curve = fit_curve(noise * scale, values, 0.01 * values)
    assert not curve.follows_the_form
    np.testing.assert_allclose(curve.values, values, rtol=0.02)


def test_worlds_hold_what_another_deal_gives():
    """A bias that differs between deals and runs that scatter within: 95 in 100 further means lie inside, give or take 3."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(600):
        worlds = rng.gamma(2.0, 0.5, (17, 1)) * rng.gamma(2.0, 0.5, (17, 400))
        found = predict_permuted(worlds[:16, :15], worlds[:16, :15].mean())
        low, high = Prediction(found, found).interval()
        held.append(low <= worlds[16].mean() <= high)
    assert 0.92 <= np.mean(held) <= 0.98


def test_worlds_without_chance_are_the_forecast_and_one_that_misses_is_inside():
    assert predict_permuted(np.full((1, 1), 0.2), 0.2).tolist() == [0.2]
    missed = predict_permuted(np.full((3, 4), 0.2), 0.3)
    assert (
        missed.mean() == pytest.approx(0.2, rel=0.01)
        and np.quantile(missed, 0.025) < 0.2 < 0.3 < missed.max()
    )

"""Small problems of the published bounds: their properties, and the measurement of trainings."""

import numpy as np
import pandas as pd
import pytest

from learning.privacy.laplace import Laplace
from learning.privacy.published_noise import PublishedNoise
from learning.randomness import Streams
from learning.training.plan import Plan
from reproduction.bounds import ITEMS, gossip, local, sums
from reproduction.bounds.problems import Run, add_bounds, exact_law, generate_problem
from reproduction.drawing import render_svg
from reproduction.item import Setting

SQUARED = generate_problem("squared", 300, 3, regularisation=0.1)


def run(budgets=(1.0, 30.0), **more):
    plan = Plan("averaged", "last", 12, 1.0)
    return Run(SQUARED, (1, 2), plan, Laplace(), np.array(budgets), SQUARED.published_bound, **more)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_curvatures_and_gradients_are_within_what_is_told(loss):
    small = generate_problem(loss, 300, 3, regularisation=0.1)
    (least, most), rng = small.curvatures, np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.uniform(-2, 2, (2, 3))
        apart = (b - a) @ (_gradient(small, b) - _gradient(small, a)) / np.sum((b - a) ** 2)
        assert least - 1e-6 <= apart <= most + 1e-6
        lengths = [np.linalg.norm(_gradient(small, a, row), ord=1) for row in range(300)]
        assert (
            max(lengths)
            <= small.longest_gradient(1, float(np.abs(a).max())) + 0.1 * np.abs(a).sum() + 1e-6
        )


def _gradient(small, theta, row=None):
    """Of the cost, or of one record with the ridge, by central differences."""
    cost = small.cost
    if row is not None:
        cost = small.loss.fitness([(small.x[[row]], small.y[[row]])], small.regularisation)
    ends = np.concatenate([theta + 1e-5 * np.eye(3), theta - 1e-5 * np.eye(3)])
    values = cost.value(ends)
    return (values[:3] - values[3:]) / 2e-5


def test_measured_trainings_are_what_the_law_says():
    told = pd.concat([run().measure(400, Streams(1, "test")), exact_law(run())], axis=1)
    for name in ("excess", "distance"):
        away = (told[name] - told[f"law_{name}"]).abs() / told[f"{name}_error"]
        assert away.max() < 4 and (told[f"best_{name}"] <= told[name]).all()


def test_budgets_share_their_draws_and_steps_are_scaled_by_budget():
    """Of one budget alone as of both; a step of no length leaves the model at the start."""
    both = run().measure(5, Streams(1, "test"))
    one = run((30.0,)).measure(5, Streams(1, "test"))
    assert one["excess"][0] == pytest.approx(both["excess"][1], rel=1e-12)
    still = run(step_scale=np.array([0.0, 1.0]))
    found = still.measure(5, Streams(1, "test"))
    assert found["excess"][0] == pytest.approx(still.start_excess) and found["excess"][
        1
    ] == pytest.approx(both["excess"][1])


def test_bounds_are_made_of_what_is_trained():
    one = run(ball=2.0)
    at = one.bound_inputs(1, 0.1)
    weights = np.array([100, 200]) / 300
    noise = Laplace().variance(np.full(2, 30.0), [100, 200], one.gradient_bound, 12)
    assert at.noise_power == pytest.approx(weights**2 @ noise) and at.answer_noise == pytest.approx(
        noise.max()
    )
    assert at.ball_diameter == pytest.approx(
        4 * np.sqrt(3)
    ) and at.own_gradient_bound == pytest.approx(0.1 * 3 * 2.0)
    sgd1 = Run(
        SQUARED,
        (1, 2),
        Plan("sgd1", "last", 9, 1.0),
        PublishedNoise("sgd1", 1e-6, (100, 200)),
        np.array([1.0]),
        2.0,
        2,
    )
    assert sgd1.bound_inputs(0, 0.1).noise_power == pytest.approx(
        sgd1.noise_variances()[0, 0]
    )  # one answers a round


def test_unlike_owners_hold_the_same_records():
    few = generate_problem("logistic", 100, 5, regularisation=0.1)
    apart = local.sort_records(few)
    assert apart.cost.optimum == pytest.approx(few.cost.optimum, rel=1e-9)
    assert (
        max(part[0][:, 0].max() for part in apart.split_records((1, 1))[:1])
        <= apart.split_records((1, 1))[1][0][:, 0].min()
    )


def test_the_cost_that_is_not_convex_meets_its_condition():
    """|f'|^2 >= 2 mu f, |f''| <= lambda, and somewhere f'' < 0."""
    t = np.linspace(-10, 10, 20_001)[:, None]
    slopes = 2 * t + 3 * np.sin(2 * t)
    bends = 2 + 6 * np.cos(2 * t)
    assert np.all(slopes[:, 0] ** 2 >= 2 * local.PL * local.nonconvex_cost(t) - 1e-12)
    assert np.abs(bends).max() <= local.SMOOTH and bends.min() < 0


@pytest.mark.deep  # and `make golden` computes them too
@pytest.mark.parametrize(
    "item", [item for item in ITEMS if item.key != "JKY-1"], ids=lambda item: item.key
)
def test_an_item_computes_checks_and_draws(item):
    frame = item.compute(Setting(quick=True))
    assert all(np.isfinite(check.found) for check in item.checks(frame))
    assert item.draw is not None and "<svg" in render_svg(item.draw, frame, "")


def test_bounds_stand_beside_what_is_measured():
    told = add_bounds(run(), run().measure(5, Streams(1, "test")))
    assert (
        list(told["theorem"]) == ["Theorem 3"] * 2 and (told["excess"] <= told["corrected"]).all()
    )


def test_a_horizon_that_is_missed_is_missed_by_every_pair_of_constants():
    """(9) by hand: A of the largest budget falls as 1/T^2, and of c1 √A + c2 A all c1 is kindest."""
    first, last = gossip.choose_horizons(Setting())
    a = [
        1 / T**2
        + 3 * 3 * (1 / T + 2 * np.sqrt(2) / (600 * gossip.choose_budgets(Setting(), T)[-1])) ** 2
        for T in (first, last)
    ]
    rows = [
        {"rule": "fixed", "horizon": T, "epsilon": 5.0, "excess": excess, "n_records": 600}
        for T, excess in ((first, 2.0), (last, 6.0))
    ]
    frame = pd.DataFrame(rows)
    found = dict(one[:2] for one in gossip.measure_horizons(frame))["horizon"]
    fitted = [
        2.0 * (part * (a[1] / a[0]) ** 0.5 + (1 - part) * a[1] / a[0]) for part in (0, 0.5, 1)
    ]
    assert found == pytest.approx(6.0 / max(fitted))


def test_a_bound_above_all_that_can_be_lost_judges_nothing():
    """Neither does one at budgets for which no theorem is stated."""
    rows = [
        {"case": case, "n_records": 60, "n_parameters": 4, "epsilon": epsilon, "excess": 1.0}
        | {"excess_error": 0.0, "corrected": bound, "printed": 1.0, "most_lost": 2.0}
        | {"noise_over_gradient": 30.0}
        for case in sums.CASES
        for epsilon, bound in ((0.5, 4.0), (50.0, 0.5))
    ]
    frame = pd.DataFrame(rows)
    for bound, judged in ((4.0, "control"), (1.5, "law")):
        frame.loc[frame["epsilon"] == 0.5, "corrected"] = bound
        cited = [one for one in sums.check_record_steps(frame) if one[0] == "cited"]
        assert [(found, words["judged"]) for _, found, words in cited] == [(1 / bound, judged)] * 2

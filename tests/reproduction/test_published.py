"""Markets trained as published: the bound that is given, and training against the exact law without a ball."""

import numpy as np
import pytest
from populations import generated

from learning.losses.coordinates import Coordinates
from learning.losses.losses import as_loss
from learning.losses.squared import Squared
from learning.randomness import Streams
from learning.training.plan import Plan
from reproduction.tables.records import Table
from reproduction.training import Market, given_bound, in_random_order, step_constant

PLAN = Plan("averaged", "averaged", 20, 0.1)


def records(labels=False, n=700):
    x, y = generated(n, 3, np.random.default_rng(5))
    y = np.where(y > np.median(y), 1.0, -1.0) if labels else y
    held = slice(100, None), slice(100)
    (x, public_x), (y, public_y) = ([one[part] for part in held] for one in (x, y))
    return Table(
        "toy", x, y, public_x, public_y, None, (), True, "", np.abs(x).max(axis=0), np.abs(y).max()
    )


def test_the_bound_given_is_the_largest_gradient_of_a_public_row_in_the_ball():
    """Over all corners of the ball it is attained; hinge and logistic loss have it at the longest row."""
    table = records()
    loss = Squared()
    best = loss.fit(table.public_x, table.public_y, 0.0)[0]
    corners = (
        np.stack(np.meshgrid(*[[-1.0, 1.0]] * len(best)), axis=-1).reshape(-1, len(best))
        * 1.2
        * np.abs(best).max()
    )
    longest = max(
        Coordinates(corner, np.eye(len(best)))
        .gradient_lengths(table.public_x, table.public_y)
        .max()
        for corner in corners
    )
    assert given_bound(table, loss) == pytest.approx(longest)
    labelled = records(labels=True)
    hinge = as_loss("hinge")
    assert given_bound(labelled, hinge, 1.0) == pytest.approx(
        np.abs(labelled.public_x).sum(axis=1).max()
    )


def test_the_step_is_one_over_the_largest_curvature():
    table = records()
    x = table.public_x
    largest = np.linalg.eigvalsh(2 * x.T @ x / len(x))[-1]
    assert step_constant(table, Squared(), 0.3) == pytest.approx(1 / (largest + 0.3))


def test_trainings_at_several_budgets_at_once_follow_the_law():
    """Width: four standard errors of 500 trainings at each of three profiles, one of them of unlike owners."""
    table = records()
    market = Market(table.slices([100, 200, 300]), 30.0)
    profiles = np.array([[0.5, 0.5, 0.5], [5.0, 1.0, 0.2], [np.inf] * 3])
    found = market.fitness(profiles, PLAN, runs=500, streams=Streams(2, "toy"))
    bias, noise = market.law(profiles, PLAN)
    errors = found.std(axis=1) / np.sqrt(500)
    assert np.all(np.abs(found.mean(axis=1) - bias - noise)[:2] < 4 * errors[:2]) and noise[2] == 0
    assert found[2] == pytest.approx(np.full(500, bias)) and np.all(noise[:2] > 2 * bias)
    variances = 2 * (2 * 30.0 * 20 / (market.sizes * profiles[1])) ** 2
    assert market.noise_power(profiles, PLAN)[1] == pytest.approx(
        np.sum((market.sizes / 600) ** 2 * variances)
    )


def test_paths_end_where_trainings_do():
    market = Market(records().slices([200, 200, 200]), 3.0)
    how = {"runs": 8, "streams": Streams(2, "toy")}
    steps, quartiles = market.paths([1.0, 1.0, 1.0], PLAN, **how).quartiles(of_means=True)
    assert steps.tolist() == list(range(1, PLAN.horizon))
    assert quartiles[-1] == pytest.approx(
        np.quantile(market.fitness([1.0, 1.0, 1.0], PLAN, **how), [0.25, 0.5, 0.75])
    )


def test_records_are_dealt_anew_and_stay_together():
    table = records()
    dealt = in_random_order(table, Streams(1, "deal"))
    assert not np.array_equal(dealt.y, table.y) and np.array_equal(
        np.sort(dealt.y), np.sort(table.y)
    )
    rows = {tuple(x): y for x, y in zip(table.x, table.y, strict=True)}
    assert all(rows[tuple(x)] == y for x, y in zip(dealt.x, dealt.y, strict=True))

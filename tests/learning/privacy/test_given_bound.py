"""Noise scaled to a gradient bound that is given, and what holds of it where more, or nothing, is proved."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated

from learning.audit.checks import check_training
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.composition import AccountedLaplace
from learning.privacy.gaussian import Gaussian
from learning.privacy.guarantees import guarantee_answers
from learning.privacy.laplace import Laplace
from learning.privacy.promises import make_claims
from learning.privacy.wrapped import GivenBound, at_given_bound
from learning.randomness import Streams
from learning.training import Plan, Task, make_clients, train
from learning.training.law import bias_and_gain, quadratic_problem

PLAN = Plan("averaged", "averaged", 30, 0.1)  # of `bounds`: 2 (theta_max B + Y) B
PROVED = 14.0
MECHANISMS = [
    Laplace(),
    Laplace(overlap=2),
    pytest.param(AccountedLaplace(1e-6, horizon=10), marks=pytest.mark.slow),
    Gaussian(1e-6, "zcdp"),
    Gaussian(1e-6, "pld"),
]


def bounds(given, theta_max=1.25, width=3, mechanism=None):
    norm = 1 if mechanism is None else mechanism.norm
    return Coordinates(np.zeros(width), np.eye(width), 2.0, 1.0, theta_max, norm, given_bound=given)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_what_is_claimed_asks_for_as_much_noise_at_the_bound_that_is_proved(mechanism):
    coordinates = bounds(3.0, mechanism=mechanism)
    held = at_given_bound(mechanism, coordinates)
    sold = np.array([0.3, 1.1])
    proved = coordinates.gradient_bound
    claimed = held.claimed_epsilon(sold, 500, 10)
    assert np.all(claimed > 1.5 * sold)
    noise = held.variance(sold, 500, coordinates.noise_bound, 10)
    assert noise == pytest.approx(mechanism.variance(claimed, 500, proved, 10), rel=1e-6)
    told = [
        make_claims(one, "AB", [500, 500], budgets, 10, "")
        for one, budgets in ((held, sold), (mechanism, claimed))
    ]
    for ours, plain in zip(*told, strict=True):
        assert (ours.epsilon, ours.surest) == pytest.approx((plain.epsilon, plain.surest), rel=1e-6)
        assert (ours.joint, ours.delta, ours.rounds) == (plain.joint, plain.delta, plain.rounds)
        assert "given gradient bound" in ours.mechanism


def test_laplace_noise_at_a_third_of_the_bound_promises_three_times_the_budget():
    held = at_given_bound(Laplace(), bounds(PROVED / 3))
    assert held.claim("A", 0.5, 10).epsilon == pytest.approx(1.5) and guarantee_answers(
        held, 0.5, 10, 9
    ).joint == pytest.approx(1.35)


def test_a_bound_above_the_one_proved_promises_what_is_sold_and_no_more():
    """More noise for the same promise; nothing is claimed for the rest of it."""
    assert (
        at_given_bound(Laplace(), bounds(PROVED))
        == Laplace()
        == at_given_bound(Laplace(), bounds(3 * PROVED))
    )
    assert at_given_bound(GivenBound(Laplace(), 3.0), bounds(None)) == Laplace()


@pytest.mark.parametrize("overlap", [1, 2])
def test_without_a_ball_nothing_is_promised(overlap):
    held = at_given_bound(Laplace(overlap), bounds(3.0, theta_max=np.inf))
    made = make_claims(held, "ABC", [500, 500, 500], [0.3, 1.1, 0.0], 10, "one record")
    assert [(one.party, one.epsilon, one.surest) for one in made] == [
        (p, np.inf, 1.0) for p in "AB" for _ in range(overlap)
    ]
    assert "no epsilon holds" in made[0].mechanism
    with pytest.raises(ValueError, match="no privacy"):
        guarantee_answers(held, 0.3, 10, 9)


def training(coordinates, mechanism, epsilon, runs, records):
    held = [coordinates.oracle(x, y) for x, y in records]
    owners = make_clients(
        "abc", held, [epsilon] * 3, mechanism, coordinates.noise_bound, PLAN.horizon
    )
    return Task(owners, coordinates, PLAN, mechanism, runs=runs, streams=Streams(4, "given"))


def test_the_exact_law_holds_without_a_ball_at_a_given_bound_and_noise_falls_by_the_square():
    """Widths: four standard errors of 600 trainings at each of three budgets; the law's own slope is -2 exactly."""
    x, y = generated(900, 3, np.random.default_rng(1))
    fitness = Fitness(squared_statistics(x, y))
    free = Coordinates(np.zeros(x.shape[1]), np.eye(x.shape[1]), given_bound=40.0)
    hessian = fitness.hessian[None]
    truth = fitness.minimiser[None]
    problem = quadratic_problem(
        hessian, fitness.statistics.linear[None], hessian, truth, np.array([fitness.optimum])
    )
    bias, gain = bias_and_gain(problem, PLAN.steps, "averaged")
    noise = []
    for epsilon in (0.3, 1.0, 3.0):
        task = training(free, Laplace(), epsilon, 600, [(x[i::3], y[i::3]) for i in range(3)])
        found = fitness.relative(train(task).theta)
        variance = Laplace().variance(epsilon, 300, 40.0, PLAN.horizon)
        law = float((bias + gain * variance / 3)[0]) / fitness.optimum
        assert abs(found.mean() - law) < 4 * found.std() / np.sqrt(600)
        noise.append(law - float(bias[0]) / fitness.optimum)
    assert np.diff(np.log(noise)) / np.diff(np.log([0.3, 1.0, 3.0])) == pytest.approx(
        [-2, -2], abs=1e-9
    )


def test_an_audit_holds_noise_against_the_bound_that_is_proved():
    """What was sold is refuted by the price that the audit's own accountant puts on it; what is claimed is not."""
    x, y = generated(300, 3, np.random.default_rng(2))
    records = [(x[i::3], y[i::3]) for i in range(3)]
    coordinates = bounds(2.0, width=x.shape[1])
    for mechanism, holds in ((at_given_bound(Laplace(), coordinates), True), (Laplace(), False)):
        checks = {
            one.kind: one
            for one in check_training(training(coordinates, mechanism, 1.0, 4, records))
        }
        assert (
            checks["price"].passed == holds
            and checks["sensitivity"].passed
            and checks["noise"].passed
        )
    assert checks["price"].found == pytest.approx(coordinates.gradient_bound / 2.0)


def test_persons_of_several_rows_count_as_often_under_a_given_bound():
    three = replace(bounds(3.0), rows_per_person=3)
    assert (three.noise_bound, three.gradient_bound) == (9.0, 3 * bounds(None).gradient_bound)
    assert bounds(None).noise_bound == bounds(None).gradient_bound == PROVED

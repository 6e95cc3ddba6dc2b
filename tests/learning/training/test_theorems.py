"""Published bounds against the exact law and simulated training: what holds, and what holds as printed only by luck."""

from dataclasses import replace

import numpy as np
import pytest

from learning.privacy.laplace import Laplace
from learning.training.algorithms import ALGORITHMS
from learning.training.bounds import BoundInputs, asynchronous_terms
from learning.training.inequalities import averaged_bound, descent_path, gossip_gap
from learning.training.law import (
    along_the_way,
    bias_and_gain,
    iterate_weights,
    of_distance,
    quadratic_problem,
)

RNG = np.random.default_rng(5)
TURNED = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
CURVATURES = np.array([0.4, 1.0, 1.6])
HESSIAN = TURNED * CURVATURES @ TURNED.T
OPTIMUM = np.array([0.5, -1.0, 0.8])
PROBLEM = quadratic_problem(
    HESSIAN[None], (HESSIAN @ OPTIMUM)[None], HESSIAN[None], OPTIMUM[None], np.ones(1)
)


def walked(steps, power, runs=4000, returned="last"):
    """Simulated |theta - theta*|^2 and excess of the point returned, (runs,) each."""
    rng = np.random.default_rng(1)
    theta = np.zeros((runs, 3))
    weights = iterate_weights(len(steps) + 1, returned)
    mean = weights[0] * theta
    for step, weight in zip(steps, weights[1:], strict=True):
        noise = rng.laplace(scale=np.sqrt(power / 2), size=theta.shape)
        theta = theta - step * ((theta - OPTIMUM) @ HESSIAN + noise)
        mean = mean + weight * theta
    error = mean - OPTIMUM
    return (error**2).sum(axis=1), 0.5 * np.einsum("ri,ij,rj->r", error, HESSIAN, error)


@pytest.mark.parametrize("returned", ["last", "averaged"])
def test_the_law_of_the_distance_is_what_walks_show(returned):
    steps = ALGORITHMS["averaged"].steps(0.7, 12)
    power = 0.3
    bias, gain = bias_and_gain(of_distance(PROBLEM), steps, returned)
    found, _ = walked(steps, power, returned=returned)
    assert bias[0] + gain[0] * power == pytest.approx(
        found.mean(), abs=4 * found.std() / np.sqrt(len(found))
    )
    stretched = np.diag([2.0, 0.5, 1.0])
    bias, gain = bias_and_gain(
        of_distance(PROBLEM, stretched), [0.0], returned
    )  # W (phi - phi*) of a step of no length
    assert bias[0] == pytest.approx(np.sum((stretched @ OPTIMUM) ** 2)) and gain[0] == 0


def test_the_law_along_the_way_ends_where_the_law_ends():
    steps = ALGORITHMS["averaged"].steps(0.7, 8)
    power = 0.3
    clipped = replace(PROBLEM, offset=np.array([[0.3, -0.2, 0.1]]))
    for problem in (PROBLEM, of_distance(PROBLEM), clipped):
        path = along_the_way(problem, steps, power)
        ends = [bias_and_gain(problem, steps[:k], "last") for k in (1, len(steps))]
        assert path[[1, -1], 0] == pytest.approx([bias[0] + gain[0] * power for bias, gain in ends])
        assert path[0, 0] == pytest.approx(problem.untrained[0])


def inputs(name, constant, horizon, epsilon=(0.5, 2.0), **more):
    sizes = np.array([50.0, 150.0])
    bound = 3.0
    epsilon = np.array(epsilon)
    power = float(np.sum((sizes / 200) ** 2 * Laplace().variance(epsilon, sizes, bound, horizon)))
    steps = ALGORITHMS[name].steps(constant, horizon)
    decline = ALGORITHMS[name].decline
    known = {
        "n_parameters": 3, "horizon": horizon, "steps": steps, "decline": decline, "smoothness": 1.6, "lipschitz": 4.0,
        "own_gradient_bound": 0.5, "start_excess": float(PROBLEM.untrained[0]), "noise_power": power, "answer_noise": power,
    }  # fmt: skip
    return BoundInputs(epsilon, 200.0, bound, constant, 0.4, excess=0.1, **known | more)


@pytest.mark.parametrize("constant", [0.1, 0.6, 1.2, 3.0])
def test_corrected_bounds_hold_of_the_exact_law(constant):
    """At any step, also beyond 2/lambda; on the best point and the last, and on the distance."""
    for name, horizon, scale in (("synchronous", 6, 36), ("averaged", 9, 1)):
        at = inputs(name, constant * scale, horizon)
        path = along_the_way(PROBLEM, at.steps, at.noise_power)[:, 0]
        told = ALGORITHMS[name].published_bound(at)
        bounds = descent_path(at.start_excess, 0.4, 1.6, at.steps, at.squared_noise)
        assert np.all(path <= bounds * (1 + 1e-12))
        if name == "synchronous":
            assert path.min() <= told.corrected and told.distance == pytest.approx(
                told.excess * 4 / 0.4
            )
            best = along_the_way(of_distance(PROBLEM), at.steps, at.noise_power).min()
            assert best <= told.corrected_distance == pytest.approx(5 * told.corrected)


def test_a_bound_is_attained_where_the_descent_inequality_is():
    """One step 1/lambda where all curvatures are alike leaves noise alone, lambda/2 rho^2 E|w|^2 of it: the p and the lambda
    that the printed proof lacks are both there."""
    assert descent_path(1.0, 4.0, 4.0, [0.25], 8.0)[-1] == pytest.approx(0.5 * 4 * 0.25**2 * 8)


def test_no_constant_of_theorem_3_does_at_all_budgets():
    """The printed bound falls with 1/epsilon to 0, what is left after T rounds does not; the corrected one stays above."""
    steps = ALGORITHMS["averaged"].steps(0.5, 10)
    constants = []
    for epsilon in (1.0, 1e2, 1e4):
        at = inputs("averaged", 0.5, 10, (epsilon, epsilon), returned="averaged", ball_diameter=8.0)
        bias, gain = bias_and_gain(PROBLEM, steps, "averaged")
        law = float(bias[0] + gain[0] * at.noise_power)
        told = ALGORITHMS["averaged"].published_bound(replace(at, excess=law))
        constants.append(told.constant)
        assert law <= told.corrected
    assert constants[2] > 50 * constants[1]


def test_the_averaged_bound_holds_of_projected_subgradient_steps():
    """|theta| on [-1, 1] with noise: smoothness is infinite, the ball binds."""
    rng = np.random.default_rng(2)
    horizon = 12
    steps = ALGORITHMS["averaged"].steps(0.8, horizon)
    weights = iterate_weights(horizon, "averaged")
    theta = np.full(20_000, 0.7)
    mean = np.zeros(20_000)
    for step, weight in zip(steps, weights, strict=False):
        mean += weight * theta
        theta = np.clip(theta - step * (np.sign(theta) + rng.normal(size=theta.shape)), -1, 1)
    assert np.abs(mean).mean() <= averaged_bound(2.0, 2.0, steps, weights[:-1])


@pytest.mark.parametrize("owners", [1, 2, 7])
def test_the_gossip_gap_is_that_of_the_mean_round(owners):
    """lambda = |E (W - J)'(W - J)|; of a single round, as Appendix B prints it, it is 1 for two owners or more."""
    learner = owners
    mean = np.zeros((owners + 1, owners + 1))
    flat = np.full(mean.shape, 1 / (owners + 1))
    for i in range(owners):
        apart = np.zeros(owners + 1)
        apart[[i, learner]] = 1, -1
        single = np.eye(owners + 1) - np.outer(apart, apart) / 2 - flat
        assert np.linalg.norm(single, 2) ** 2 == pytest.approx(float(owners > 1), abs=1e-12)
        mean += single.T @ single / owners
    assert gossip_gap(owners) == pytest.approx(1 - np.sqrt(np.linalg.norm(mean, 2)))


def test_the_asynchronous_terms_are_those_of_appendix_b():
    """By hand, N = 2, T = 10: as printed Xi/C is 1; with all coordinates it is what it is, and the root has 1/T."""
    at = inputs("asynchronous", 20.0, 10, own_convexity=0.1)
    size = 0.5 + 3.0
    gap = 1 - np.sqrt(0.75)
    inside = 1 / 100 + 2 * sum((0.1 + 2 * np.sqrt(2) / (200 * e)) ** 2 for e in (0.5, 2.0))
    rooted = 2 * 4 * size**2 * np.sqrt(3) * 20 / 0.1 / gap * np.sqrt(inside)
    printed = asynchronous_terms(at, as_printed=True)
    assert printed == pytest.approx((rooted, 2 * size**2 * 20 / 0.1 * inside))
    inside = 1 / 100 + 2 * sum(
        (0.1 + 2 * np.sqrt(6) * (3 / size) / (200 * e)) ** 2 for e in (0.5, 2.0)
    )
    proved = asynchronous_terms(at, as_printed=False)
    reach = 2 * 4 * size**2 * np.sqrt(3) * 20 / 0.1 / gap
    assert proved == pytest.approx((reach * np.sqrt(inside) / 10, 2 * size**2 * 20 / 0.1 * inside))
    single = replace(at, n_parameters=1)  # Xi/C counts for one coordinate too
    assert sum(asynchronous_terms(single, as_printed=False)) < sum(printed)
    assert asynchronous_terms(single, as_printed=False)[1] < printed[1]
    told = ALGORITHMS["asynchronous"].published_bound(at)
    assert told.distance == pytest.approx(sum(printed)) and told.excess is None
    kept = (1 - 20 * 0.1 / (100 * 2)) ** 10 * 3 * at.start_distance
    assert told.corrected_distance == pytest.approx(sum(proved) + kept)


@pytest.mark.parametrize(("decline", "constant"), [(1.0, 1 / 0.4), (0.5, 0.3)])
def test_sgd2_stays_below_the_bound_of_shamir_and_zhang(decline, constant):
    steps = ALGORITHMS["sgd2"].steps(constant, 200, decline)
    at = inputs("sgd2", constant, 200, steps=steps, decline=decline, ball_diameter=8.0)
    bias, gain = bias_and_gain(PROBLEM, steps, "last")
    told = ALGORITHMS["sgd2"].published_bound(at)
    law = float(bias[0] + gain[0] * at.noise_power)
    assert law <= told.corrected and law <= told.excess
    assert told.excess == pytest.approx(8 * 2 * 3 * (at.noise_power / 2 + 16) / (0.4 * 200))


def test_what_does_not_fit_a_theorem_is_told():
    at = inputs("sgd1", 0.3, 100, (1.5, 2.0), delta=0.1, returned="averaged")
    assert set(ALGORITHMS["sgd1"].published_bound(at).unmet) == {
        "epsilon",
        "delta",
        "rounds",
        "unbounded",
        "step",
    }
    fits = inputs("weighted", 1 / 1.6, 5, steps=np.full(5, 1 / 1.6))
    told = ALGORITHMS["weighted"].published_bound(fits)
    assert told.unmet == ("common_path",)
    left = (1 - 0.4 / 1.6) ** 5
    assert told.excess == pytest.approx(left * fits.start_excess + 3 * fits.answer_noise / 0.8)
    assert told.corrected == pytest.approx(
        left * fits.start_excess + 3 * fits.noise_power / 0.8 * (1 - left)
    )


@pytest.mark.parametrize("name", ["synchronous", "averaged", "sgd1", "sgd2", "weighted"])
def test_a_cost_without_curvature_or_with_kinks_has_no_bound_and_says_why(name):
    """No division by 0, and no product of 0 and infinity: numbers lost are errors in the program."""
    at = inputs(name, 0.3, 5, (np.inf, np.inf), delta=1e-9)
    with np.errstate(all="raise"):
        flat = ALGORITHMS[name].published_bound(replace(at, strong_convexity=0.0))
        kinked = ALGORITHMS[name].published_bound(replace(at, smoothness=np.inf))
        ALGORITHMS[name].published_bound(replace(at, strong_convexity=0.0, decline=1.0))
    assert flat.excess is flat.distance is flat.corrected_distance is None
    assert kinked.corrected is None
    if name not in ("averaged", "sgd1"):  # which are proved of convex costs
        assert "convexity" in flat.unmet
    if name in ("synchronous", "weighted"):
        assert "smoothness" in kinked.unmet


def test_steps_as_printed():
    at = inputs("sgd1", np.nan, 100, ball_diameter=8.0, answer_noise=4.0, noise_power=1.0)
    assert ALGORITHMS["sgd1"].printed_step(at) == pytest.approx(8 / np.sqrt(4.5**2 + 12))
    assert ALGORITHMS["sgd2"].printed_step(at) == pytest.approx(8 / np.sqrt(4.5**2 + 3))
    assert ALGORITHMS["sgd2"].printed_step(replace(at, decline=1.0)) == 1 / 0.4
    assert ALGORITHMS["weighted"].printed_step(replace(at, decline=0.0)) == 1 / 1.6
    assert ALGORITHMS["sgd1"].printed_step(replace(at, decline=0.7)) is None
    assert ALGORITHMS["averaged"].printed_step(at) is None


@pytest.mark.parametrize("decline", [0.5, 1.0])
def test_the_open_constant_of_single_records_is_the_excess_over_the_form_of_its_case(decline):
    """(9) for steps that fall with the root of the round, (10) for steps that fall with the round."""
    at = inputs("sgd1", 0.3, 100, ball_diameter=8.0, delta=1e-6, decline=decline)
    logs = np.log(1.25 * 200**2 / 1e-6)
    forms = {
        0.5: 4.0 * 8.0 * logs**2 * np.sqrt(3) / 0.5 / 200,
        1.0: 4.0**2 * logs**3 * 3 / (200 * 0.4 * 0.5**2) / 200,
    }
    told = ALGORITHMS["sgd1"].published_bound(at)
    assert told.constant == pytest.approx(0.1 / forms[decline], rel=1e-12)

"""One step under losses of labels: Newton's on the loss itself, and bounds that hold for any record."""

from dataclasses import replace

import numpy as np
import pytest

from learning.audit.score_pairs import search_score_pairs
from learning.losses.coordinates import Coordinates
from learning.losses.loss import LEAST_CURVATURE
from learning.losses.losses import LOSSES
from learning.losses.margin import SmoothedHinge
from learning.losses.moment_bounds import Scores, noise_stretch
from learning.privacy.gaussian import Gaussian
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.sums import released_sums
from learning.training.task import Task

P = 4
R = 0.8
H = 0.6
CENTRE = np.array([0.4, -0.7, 0.2, 0.1])
TRANSFORM = np.diag([1.0, 2.0, 0.5, 1.0])
RIDGE = 0.05


def labelled(count, rng, spread=1.0):
    x = np.column_stack([rng.normal(size=(count, P - 1)), np.ones(count)])
    x[:, :-1] *= np.exp(spread * rng.normal(size=(count, 1)))
    chance = 1 / (1 + np.exp(-x @ [1.0, -1.0, 0.5, 0.2]))
    return x, np.where(rng.random(count) < chance, 1.0, -1.0)


def public(loss, radius=np.inf, scores=None):
    return Coordinates(
        CENTRE,
        TRANSFORM,
        radius,
        theta_max=50.0,
        norm=2,
        loss=loss,
        scores=scores or Scores(1e9, 0.4),
    )


def training(loss, coordinates, epsilon=np.inf, runs=1, count=3000, spread=0.3):
    x, y = labelled(count, np.random.default_rng(5), spread)
    parts = np.split(np.arange(count), [count // 6, count // 2])
    held = [coordinates.oracle(x[rows], y[rows]) for rows in parts]
    mechanism = Gaussian(1e-6, "pld")
    budgets = np.broadcast_to(epsilon, 3)
    owners = make_clients("abc", held, budgets, mechanism, coordinates.gradient_bound, 1)
    plan = Plan("one_step", "last", 1, 1.0)
    streams = Streams(0, "noise")
    return Task(owners, coordinates, plan, mechanism, runs, streams, RIDGE), x, y


def cost_of(loss, x, y):
    return lambda theta: float(np.mean(loss.value(y * (x @ theta))) + RIDGE / 2 * theta @ theta)


def test_without_noise_and_bounds_the_step_is_newtons_on_the_cost():
    """Gradient and Hessian of the cost by differences of its values."""
    task, x, y = training("logistic", public("logistic", 1e9))
    cost = cost_of(LOSSES["logistic"], x, y)
    h = 1e-3
    steps = h * np.eye(P)
    gradient = np.array([(cost(CENTRE + s) - cost(CENTRE - s)) / (2 * h) for s in steps])
    hessian = np.array(
        [
            [
                cost(CENTRE + s + t)
                - cost(CENTRE + s - t)
                - cost(CENTRE - s + t)
                + cost(CENTRE - s - t)
                for s in steps
            ]
            for t in steps
        ]
    ) / (4 * h * h)
    expected = CENTRE - np.linalg.solve(hessian, gradient)
    assert train(task).theta[0] == pytest.approx(expected, abs=1e-5)


def test_what_remains_of_a_step_is_of_the_order_of_the_squared_distance_of_the_start():
    task, x, y = training("logistic", public("logistic", 1e9))
    best, _ = LOSSES["logistic"].fit(x, y, RIDGE)
    away = CENTRE - best
    missed = []
    for factor in (1.0, 0.5, 0.25):
        moved = replace(public("logistic", 1e9), centre=best + factor * away)
        ended = train(training("logistic", moved)[0]).theta[0]
        missed.append(np.linalg.norm(ended - best))
    assert missed[0] < np.linalg.norm(away) / 5
    assert missed[0] / missed[1] == pytest.approx(4, rel=0.3)
    assert missed[1] / missed[2] == pytest.approx(4, rel=0.2)


def test_under_hinge_the_score_goes_by_its_own_slope_and_the_curvature_by_a_smooth_kink():
    task, x, y = training("hinge", public("hinge", 1e9))
    t = y * (x @ CENTRE)
    slope = -(x.T @ ((t < 1) * y)) / len(y) + RIDGE * CENTRE
    smooth = SmoothedHinge(0.1).second_derivative(t)
    hessian = (x.T * smooth) @ x / len(y) + RIDGE * np.eye(P)
    assert train(task).theta[0] == pytest.approx(CENTRE - np.linalg.solve(hessian, slope))
    h = 1e-5  # the curvature is that of the smoothed hinge's slope
    smoothed = SmoothedHinge(0.1).derivative
    assert smooth == pytest.approx((smoothed(t + h) - smoothed(t - h)) / (2 * h), abs=1e-6)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_moments_and_scores_of_any_record_keep_to_their_bounds(loss, alike):
    """Also of records so far out that neither slope nor curvature is a number by a careless formula."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, P)) * np.exp(rng.normal(scale=6.0, size=(5000, 1)))
    x[:8] = np.concatenate([1e150 * np.eye(P), 1e300 * np.eye(P)])  # lengths overflow
    x[8] = 0.0
    y = np.where(rng.random(5000) < 0.5, 1.0, -1.0)
    with np.errstate(over="ignore"):
        made, u = public(loss, R, Scores(H, 0.3, alike)).records(x, y)
    lengths = np.linalg.norm(made, axis=1)
    scores = lengths * np.abs(u)
    assert np.isfinite(made).all() and np.isfinite(u).all()
    assert R * 0.99 < lengths.max() <= R * (1 + 1e-12)
    assert H * 0.99 < scores.max() <= H * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_record_without_curvature_keeps_its_score(loss):
    x = np.array([[-2000.0, 0.0, 0.0, 0.0]])  # misjudged by far: slope -1, curvature 0
    made, u = public(loss, 1e9).records(x, np.ones(1))
    assert 2 * u * made[0] == pytest.approx(x[0] @ TRANSFORM)
    assert np.sum(made**2) == pytest.approx(LEAST_CURVATURE / 2 * 2000.0**2)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.66, 1.2])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_no_two_labelled_records_move_a_release_further_than_counted(loss, share):
    """A random search, and the audit's, which comes near the bound."""
    scores = Scores(H, share, alike=False)
    coordinates = public(loss, R, scores)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, P)) * np.exp(rng.normal(scale=3.0, size=(3000, 1)))
    z, u = coordinates.records(x, np.where(rng.random(3000) < 0.5, 1.0, -1.0))
    factor = R**2 / (2 * H * share)
    w, v = z[::-1], u[::-1]
    apart = np.sum((u[:, None] * z - v[:, None] * w) ** 2, axis=1) * factor**2
    moments = np.sum(
        (np.einsum("ni,nj->nij", z, z) - np.einsum("ni,nj->nij", w, w)) ** 2, axis=(1, 2)
    )
    bound = factor * 2 * H * noise_stretch(share)
    assert np.sqrt(apart + moments).max() <= bound * (1 + 1e-12)
    *_, distance = search_score_pairs(coordinates, scores)
    assert 0.97 * bound < distance <= bound * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_models_of_released_sums_are_those_of_the_training(loss):
    coordinates = public(loss, 1.5, Scores(0.8, 0.4))
    task, *_ = training(loss, coordinates, epsilon=2.0, runs=3)
    trained = train(task).theta
    for run in range(3):
        assert released_sums(task, run).solve() == pytest.approx(trained[run], abs=1e-12)
    assert released_sums(task).without("c").solve() != pytest.approx(trained[0])

"""One-shot release: exact without noise, noise of the stated width, sensitivity by brute force, distance as priced."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated

from learning.losses.coordinates import Coordinates
from learning.losses.statistics import squared_statistics
from learning.privacy.accounting import zcdp_distance
from learning.privacy.gaussian import Gaussian, exact_distance
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.adassp import AdaSSP
from learning.training.client import make_clients
from learning.training.noisy_solving import FAILURE, adaptive_damping, solve_damped
from learning.training.noisy_statistics import (
    balance_factor,
    release_deviations,
    release_sensitivity,
    release_statistics,
)
from learning.training.plan import Plan
from learning.training.task import Task

ALGORITHM = AdaSSP()

P = 4
NAMES = ("a", "b", "c")
BOUNDED = Coordinates(np.full(P, 0.1), np.diag([1.0, 2.0, 0.5, 1.0]), 1.5, 2.0, 3.0, norm=2)


def market(
    epsilon=np.inf,
    *,
    coordinates=BOUNDED,
    order=(0, 1, 2),
    runs=3,
    mechanism=None,
    seed=0,
    n=600,
    **fields,
):
    """A task over three owners of n/6, n/3 and n/2 records."""
    x, y = generated(n, P, np.random.default_rng(1))
    cuts = np.split(np.arange(n), [n // 6, n // 2])
    statistics = [coordinates.statistics(x[cuts[i]], y[cuts[i]]) for i in order]
    mechanism = mechanism or Gaussian(1e-6, "pld")
    budgets = np.broadcast_to(epsilon, 3)[list(order)]
    bound = coordinates.gradient_bound
    owners = make_clients([NAMES[i] for i in order], statistics, budgets, mechanism, bound, 1)
    sizes = np.array([s.n_records for s in statistics], dtype=float)
    fields = {"weights": sizes / sizes.sum()} | fields
    plan = Plan("adassp", "last", 1, 0.0)
    return Task(
        owners, coordinates, plan, mechanism, runs, Streams(seed, "noise"), **fields
    ), squared_statistics(*coordinates.records(x, y))


@pytest.mark.parametrize("regularisation", [0.0, 0.3])
def test_without_noise_it_is_ridge_on_all_records(regularisation):
    """Three owners give what one holding all records would: the stationary point of the pooled penalised loss."""
    task, pooled = market(regularisation=regularisation)
    walked = ALGORITHM.run(task)
    theta = BOUNDED.model(walked.last)
    gradient = pooled.gradient(walked.last) + regularisation * theta @ BOUNDED.transform
    assert np.abs(gradient).max() < 1e-12 and ALGORITHM.count_answers(task) == [1, 1, 1]
    assert (
        walked.path == pytest.approx(np.stack([np.zeros(P), walked.last[0]]))
        and walked.projected == 0
    )


def test_a_direction_without_curvature_stays_at_the_public_model():
    matrix = np.diag([2.0, 1.0, 0.0])[None]
    assert solve_damped(matrix, np.array([[2.0, 3.0, 0.5]]), np.zeros(1)) == pytest.approx(
        np.array([[1.0, 3.0, 0.0]])
    )


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0, 1.4, 4.0])
def test_no_pair_of_records_moves_further_than_the_sensitivity_and_one_reaches_it(factor):
    rng = np.random.default_rng(3)
    radius = 1.5
    target = 2.0
    bound = release_sensitivity(radius, target, factor)

    def moved(x, z, u, v):
        matrix = np.einsum("ri,rj->rij", x, x) - np.einsum("ri,rj->rij", z, z)
        vector = factor * (x * u[:, None] - z * v[:, None])
        return np.sqrt((matrix**2).sum(axis=(1, 2)) + (vector**2).sum(axis=1))

    x, z = rng.normal(size=(2, 200_000, 2))
    length = radius * np.where(rng.random((2, 200_000)) < 0.5, 1.0, rng.random((2, 200_000)))
    x, z = (
        v * (long / np.linalg.norm(v, axis=1))[:, None]
        for v, long in zip((x, z), length, strict=True)
    )
    u, v = target * np.where(rng.random((2, 200_000)) < 0.5, 1.0, rng.uniform(-1, 1, (2, 200_000)))
    v = np.where(rng.random(200_000) < 0.5, v, -u)
    assert 0.995 * bound < moved(x, z, u, v).max() <= bound * (1 + 1e-12)
    cosine = min(1.0, (factor * target / radius) ** 2 / 2)
    x = np.array([[radius, 0.0]])
    z = radius * np.array([[cosine, np.sqrt(1 - cosine**2)]])
    assert moved(x, z, np.array([target]), np.array([-target]))[0] == pytest.approx(
        bound, rel=1e-12
    )


def test_balance_is_the_best_factor():
    factors = np.geomspace(0.01, 10, 4001)
    for ball in (0.1, 1.0, 5.0):
        coordinates = replace(BOUNDED, theta_max=ball)
        tilt = ball**2 * (P + 1) / (2 * P)
        reach = np.array([release_sensitivity(1.5, 2.0, c) for c in factors])
        best = factors[np.argmin(reach**2 * (1 / factors**2 + tilt))]
        assert balance_factor(coordinates) == pytest.approx(best, rel=3e-3)


@pytest.mark.parametrize("accounting", ["zcdp", "pld"])
def test_the_worst_pair_lies_the_priced_distance_apart(accounting):
    """The mean shift of the worst pair over the deviations that are added, entry by entry, is m(epsilon)."""
    mechanism = Gaussian(1e-6, accounting)
    scale = float(mechanism.scale(1.3, 50, BOUNDED.gradient_bound, 1))
    matrix, vector = (float(v) for v in release_deviations(BOUNDED, scale, 50))
    cosine = (balance_factor(BOUNDED) * 2.0 / 1.5) ** 2 / 2
    x = 1.5 * np.array([1.0, 0, 0, 0])
    z = 1.5 * np.array([cosine, np.sqrt(1 - cosine**2), 0, 0])
    shift = np.outer(x, x) - np.outer(z, z)
    upper = shift[np.triu_indices(P, 1)] / (matrix / np.sqrt(2))
    parts = np.concatenate([np.diag(shift) / matrix, upper, 2.0 * (x + z) / vector])
    expected = (zcdp_distance if accounting == "zcdp" else exact_distance)(1.3, 1e-6)
    assert np.linalg.norm(parts) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.slow
def test_released_noise_is_as_wide_as_stated():
    """20,000 releases: variances within 5 standard errors (sqrt(2/n)), symmetric, parts uncorrelated."""
    runs = 20_000
    task, _ = market(1.0, runs=runs)
    owner = task.owners[1]
    sums = release_statistics(task, owner, range(runs))
    xx = sums.xx - owner.records.xx
    xu = sums.xu - owner.records.xy
    assert (xx == xx.transpose(0, 2, 1)).all()
    upper = xx[:, *np.triu_indices(P, 1)] * np.sqrt(2) / sums.matrix_deviation[:, None]
    parts = [
        np.diagonal(xx, axis1=1, axis2=2) / sums.matrix_deviation[:, None],
        upper,
        xu / sums.vector_deviation[:, None],
    ]
    unit = np.concatenate(parts, axis=1)
    assert np.abs(unit.mean(axis=0)).max() < 5 / np.sqrt(runs)
    assert np.abs(np.cov(unit.T) - np.eye(unit.shape[1])).max() < 5 * np.sqrt(2 / runs)
    assert (sums.matrix_deviation, sums.vector_deviation) == tuple(
        pytest.approx(np.full(runs, float(v)))
        for v in release_deviations(BOUNDED, owner.scale, owner.records.n_records)
    )


def test_noise_hardly_ever_exceeds_what_damping_allows_for():
    """On a matrix of zeros, noise passes the allowed width R = damping(0) with chance FAILURE at most."""
    rng = np.random.default_rng(5)
    width = 20
    upper = np.triu(rng.normal(size=(2000, width, width)), 1) / np.sqrt(2)
    noise = upper + upper.transpose(0, 2, 1)
    noise[:, np.arange(width), np.arange(width)] = rng.normal(size=(2000, width))
    reach = float(adaptive_damping(0.0, 1.0, width))
    largest = np.linalg.eigvalsh(noise)[:, -1]
    assert (largest > reach).mean() <= FAILURE and largest.mean() > 0.6 * reach
    assert adaptive_damping([-1.0, 1.5 * reach, 2 * reach], 1.0, width) == pytest.approx(
        [reach, reach / 2, 0.0]
    )


def test_strong_noise_is_damped_into_the_ball():
    task, _ = market(0.01, runs=50)
    task = replace(task, coordinates=replace(BOUNDED, theta_max=0.3))
    walked = ALGORITHM.run(task)
    assert (
        walked.projected > 0
        and np.isfinite(walked.last).all()
        and np.linalg.norm(walked.last, axis=1).max() <= 0.3 * (1 + 1e-12)
    )


def test_batched_runs_are_the_single_ones_and_scales_may_differ_by_run(monkeypatch):
    task, _ = market(20.0, runs=5)
    together = ALGORITHM.run(task).last
    for run in (1, 5):
        assert ALGORITHM.run(replace(task, runs=run)).last == pytest.approx(
            together[:run], rel=1e-11
        )
    by_run = [replace(o, scale=o.scale * np.array([1.0, 1.0, 0.0, 2.0, 1.0])) for o in task.owners]
    mixed = ALGORITHM.run(replace(task, owners=tuple(by_run))).last
    assert mixed[[0, 1, 4]] == pytest.approx(together[[0, 1, 4]], rel=1e-11)
    assert mixed[2] == pytest.approx(
        ALGORITHM.run(market()[0]).last[0], rel=1e-11
    ) and not np.allclose(mixed[3], together[3])
    monkeypatch.setattr("learning.training.adassp.NUMBERS_HELD", 2 * P * P)
    assert ALGORITHM.run(task).last == pytest.approx(together, rel=1e-11)
    assert ALGORITHM.run(replace(task, owners=tuple(by_run))).last == pytest.approx(
        mixed, rel=1e-11
    )


def test_distinct_runs_repeat_in_turn():
    task, _ = market(5.0, runs=6, n_draws=2)
    noises = [release_statistics(task, owner, [0]).xx - owner.records.xx for owner in task.owners]
    assert not np.allclose(noises[0] / noises[0][0, 0, 0], noises[1] / noises[1][0, 0, 0])
    last = ALGORITHM.run(task).last
    assert (
        (last[::2] == last[0]).all()
        and (last[1::2] == last[1]).all()
        and not np.allclose(last[0], last[1])
    )
    assert last[:2] == pytest.approx(ALGORITHM.run(market(5.0, runs=2)[0]).last, rel=1e-11)


def test_the_order_of_owners_does_not_matter():
    one, other = (
        ALGORITHM.run(market([1.0, 5.0, 9.0], order=order)[0]).last
        for order in ((0, 1, 2), (2, 0, 1))
    )
    assert one == pytest.approx(other, rel=1e-9)


def test_misuse_is_refused():
    task, _ = market(1.0)
    with pytest.raises(ValueError, match="2-norm"):
        ALGORITHM.run(replace(task, mechanism=Laplace()))
    with pytest.raises(ValueError, match="2-norm"):
        ALGORITHM.run(replace(task, coordinates=replace(BOUNDED, norm=1)))
    with pytest.raises(ValueError, match="SquaredStatistics"):
        ALGORITHM.run(
            replace(task, owners=(replace(task.owners[0], records=object()), *task.owners[1:]))
        )
    for bad in (replace(BOUNDED, theta_max=np.inf), replace(BOUNDED, target_bound=0.0)):
        with pytest.raises(ValueError, match="bounds"):
            ALGORITHM.run(replace(task, coordinates=bad))
    for bad in (np.inf, -1.0, np.nan):
        with pytest.raises(ValueError, match="finite"):
            release_deviations(BOUNDED, bad, 10)

"""SGD1: one record a round, against a recursion by hand; noise by key, in the order of the picks; bounded memory."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import learning.training.lots
import learning.training.sgd1
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.network import NetworkRecords
from learning.losses.records import LinearRecords
from learning.losses.statistics import squared_statistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian
from learning.randomness import Streams
from learning.training.bounds import step_size_as_printed
from learning.training.client import Client
from learning.training.plan import Plan
from learning.training.sgd1 import SGD1
from learning.training.task import Task

SGD = SGD1()

SIZES = (7, 20, 13)
RNG = np.random.default_rng(0)
LINES = [(RNG.normal(size=(n, 3)), RNG.normal(size=n)) for n in SIZES]
ROUND = Coordinates(np.array([0.3, -0.2, 0.5]), np.diag([1.0, 0.5, 2.0]), 5.0, 5.0, 0.6, norm=2)
FREE = replace(ROUND, theta_max=1e6)


@dataclass(frozen=True)
class Hidden:
    """Records that are no lines, to the eye: SGD1 must ask owner by owner."""

    inner: LinearRecords

    @property
    def n_records(self):
        return self.inner.n_records

    @property
    def n_parameters(self):
        return self.inner.n_parameters

    def gradient(self, phi):
        return self.inner.gradient(phi)

    def record_gradient(self, phi, rows):
        return self.inner.record_gradient(phi, rows)


def records(loss=LOSSES["squared"]):
    return [LinearRecords.of(loss, a, b) for a, b in LINES]


def task(
    held,
    horizon=40,
    *,
    scales=0.0,
    coordinates=ROUND,
    weights=None,
    runs=1,
    names="abc",
    step=0.2,
    seed=3,
    **more,
):
    scales = np.broadcast_to(scales, len(held))
    owners = tuple(
        Client(n, r, float(s), horizon) for n, r, s in zip(names, held, scales, strict=False)
    )
    sizes = np.array([r.n_records for r in held], dtype=float)
    weights = sizes if weights is None else np.asarray(weights, dtype=float)
    plan = Plan("sgd1", "last", horizon, step)
    share = weights / weights.sum()
    return Task(
        owners,
        coordinates,
        plan,
        SubsampledGaussian(1e-6, sum(SIZES), horizon),
        runs,
        Streams(seed, "noise"),
        weights=share,
        **more,
    )


def by_hand(regularisation, weights, theta_max, horizon, run, seed):
    """SGD1 record by record, without noise, from the picks of the run's own stream: (last, mean, path)."""
    w = ROUND.transform
    centre = ROUND.centre
    n = sum(SIZES)
    every = [
        (a[i], b[i], q * n / len(b))
        for (a, b), q in zip(LINES, weights, strict=True)
        for i in range(len(b))
    ]
    phi = np.zeros(3)
    mean = np.zeros(3)
    path = [np.zeros(3)]
    eta = horizon**-0.5
    for t, pick in enumerate(
        Streams(seed, "noise").rng("picks", "records", run).integers(0, n, size=horizon), start=1
    ):
        slope, constant, factor = every[pick]
        slope = slope.astype(np.float32).astype(float)
        constant = float(np.float32(constant))
        gradient = (
            regularisation * w @ (centre + w @ phi) + factor * 2 * (slope @ phi + constant) * slope
        )
        mean = (t - 1) / (eta + t) * mean + (eta + 1) / (eta + t) * phi
        phi = phi - 0.2 / np.sqrt(t) * gradient
        length = np.sqrt(phi @ phi)
        phi = phi * min(1.0, theta_max / length)
        path.append(phi)
    return phi, mean, np.array(path)


@pytest.mark.parametrize("weights", [(7 / 40, 20 / 40, 13 / 40), (0.5, 0.2, 0.3)])
@pytest.mark.parametrize(("theta_max", "regularisation"), [(np.inf, 0.0), (0.3, 0.4)])
def test_no_noise_is_descent_on_the_records_picked(theta_max, regularisation, weights):
    coordinates = replace(ROUND, theta_max=theta_max)
    asked = task(
        records(), coordinates=coordinates, runs=3, regularisation=regularisation, weights=weights
    )
    found = SGD.run(asked)
    for run in range(3):
        last, mean, path = by_hand(regularisation, weights, theta_max, 40, run, 3)
        assert found.last[run] == pytest.approx(last, rel=1e-11, abs=1e-13)
        assert found.mean[run] == pytest.approx(mean, rel=1e-11, abs=1e-13)
        if run == 0:
            assert found.path == pytest.approx(path, rel=1e-11, abs=1e-13)
    assert (found.projected > 0) == np.isfinite(theta_max)
    assert np.linalg.norm(found.last, axis=1).max() <= theta_max * (1 + 1e-12)


@pytest.mark.parametrize("loss", [LOSSES["squared"], LOSSES["logistic"]], ids=str)
def test_owners_asked_one_by_one_answer_as_a_stack_does(loss):
    alike = [
        SGD.run(task(held, scales=0.5, runs=4))
        for held in (records(loss), [Hidden(r) for r in records(loss)])
    ]
    assert np.array_equal(alike[0].last, alike[1].last) and np.array_equal(
        alike[0].path, alike[1].path
    )


def test_networks_answer_too():
    held = [NetworkRecords(a, np.sign(b), hidden=2, bound=1.0, norm=2) for a, b in LINES]
    wide = Coordinates(
        np.full(held[0].n_parameters, 0.1), np.eye(held[0].n_parameters), theta_max=1.0, norm=2
    )
    found = SGD.run(task(held, horizon=1, coordinates=wide, runs=2))
    start = np.zeros((1, held[0].n_parameters))
    every = np.concatenate(
        [
            r.record_gradient(np.repeat(start, len(b), 0), np.arange(len(b)))
            for r, (_, b) in zip(held, LINES, strict=True)
        ]
    )
    for run in range(2):
        pick = Streams(3, "noise").rng("picks", "records", run).integers(0, 40)
        assert found.last[run] == pytest.approx(-0.2 * every[pick], abs=1e-14)


def test_runs_together_are_runs_alone():
    """Same picks and noise by key: five runs at once are the first two, and five."""
    together = SGD.run(task(records(), scales=[0.1, 0.5, 2.0], runs=5))
    fewer = SGD.run(task(records(), scales=[0.1, 0.5, 2.0], runs=2))
    assert np.array_equal(together.last[:2], fewer.last) and np.array_equal(
        together.mean[:2], fewer.mean
    )
    assert len(np.unique(together.last[:, 0])) == 5


def test_rehearsed_runs_share_picks_and_noise():
    """Run r repeats draw r mod 2; what differs is the step size alone."""
    step_scale = np.array([[1.0], [1.0], [1.0], [0.5]])
    found = SGD.run(task(records(), scales=0.5, runs=4, n_draws=2, step_scale=step_scale))
    plain = SGD.run(task(records(), scales=0.5, runs=2))
    halved = SGD.run(task(records(), scales=0.5, runs=2, step=0.1))
    assert found.last[:3] == pytest.approx(plain.last[[0, 1, 0]], rel=1e-14)
    assert found.last[3] == pytest.approx(halved.last[1], rel=1e-14)


def test_blocks_change_no_number(monkeypatch):
    """Picks and noise drawn a few rounds at a time, as bounded memory has it, are those drawn at once."""
    whole = SGD.run(task(records(), scales=0.5, runs=3))
    counted = SGD.count_answers(task(records(), runs=3))
    monkeypatch.setattr(learning.training.lots, "NUMBERS_HELD", 3 * 4 * 7)
    assert [
        len(picks) for picks, _ in learning.training.sgd1.draw_picks(task(records(), runs=3))
    ] == [7] * 5 + [5]
    assert np.array_equal(SGD.run(task(records(), scales=0.5, runs=3)).path, whole.path)
    assert SGD.count_answers(task(records(), runs=3)) == counted


def test_answers_are_the_most_picks_of_any_run():
    picks = [
        Streams(3, "noise").rng("picks", "records", run).integers(0, 40, size=60)
        for run in range(4)
    ]
    owner = [np.digitize(one, [7, 27]) for one in picks]
    assert SGD.count_answers(task(records(), 60, runs=4)) == [
        max((o == k).sum() for o in owner) for k in range(3)
    ]


def test_picks_are_uniform_over_all_records():
    """80,000 picks over 40 records: chi-squared with 39 degrees, below its 0.999 quantile of 72.1."""
    picks = np.concatenate(
        [block for block, _ in learning.training.sgd1.draw_picks(task(records(), 20_000, runs=4))]
    )
    counts = np.bincount(picks.ravel(), minlength=40)
    assert len(counts) == 40 and ((counts - 2000) ** 2 / 2000).sum() < 72.1


@pytest.mark.parametrize("names, sizes", [("a", (7,)), ("ab", (7, 20)), ("bca", (20, 13, 7))])
def test_an_owners_noise_is_its_own_stream_in_the_order_of_its_picks(names, sizes):
    """Records of zeros: every step is noise alone, and owner a's k-th answer carries its k-th draw, whoever else is there."""
    held = [LinearRecords.of(LOSSES["squared"], np.zeros((n, 3)), np.zeros(n)) for n in sizes]
    asked = task(held, 30, scales=0.7, coordinates=FREE, names=names)
    noise = -np.diff(SGD.run(asked).path, axis=0) / asked.plan.steps[:, None]
    picks = Streams(3, "noise").rng("picks", "records", 0).integers(0, sum(sizes), size=30)
    mine = np.searchsorted(np.cumsum(sizes), picks, side="right") == names.index("a")
    assert mine.sum() >= 3
    drawn = 0.7 * Streams(3, "noise").rng("a", 0).normal(size=(int(mine.sum()), 3))
    assert noise[mine] == pytest.approx(drawn, rel=1e-9)


@pytest.mark.slow
def test_the_level_of_noise_after_one_step():
    """Variance of a step is (step * scale of the owner picked)^2: within 4 standard errors of a variance, sqrt(2/m)."""
    held = [LinearRecords.of(LOSSES["squared"], np.zeros((n, 3)), np.zeros(n)) for n in (30, 10)]
    found = SGD.run(task(held, 1, scales=[0.5, 2.0], coordinates=FREE, runs=8000)).last
    owner = np.array(
        [
            Streams(3, "noise").rng("picks", "records", run).integers(0, 40) >= 30
            for run in range(8000)
        ]
    )
    for which, scale in ((False, 0.5), (True, 2.0)):
        seen = found[owner == which]
        assert seen.var() == pytest.approx((0.2 * scale) ** 2, rel=4 * np.sqrt(2 / seen.size))


@pytest.mark.slow
def test_weights_other_than_sizes_are_met_on_average():
    """E of the first step is sum_l q_l (mean gradient of l), within 4 standard errors; sizes would miss by far."""
    weights = np.array([0.6, 0.1, 0.3])
    steps = -SGD.run(task(records(), 1, coordinates=FREE, weights=weights, runs=20_000)).last / 0.2
    means = np.array([r.gradient(np.zeros((1, 3)))[0] for r in records()])
    error = steps.std(axis=0) / np.sqrt(20_000)
    assert (np.abs(steps.mean(axis=0) - weights @ means) < 4 * error).all()
    assert (np.abs(np.array(SIZES) / 40 @ means - weights @ means) > 8 * error).any()


def test_the_printed_step_is_that_of_sums():
    """A step on sums, with sigma = n s, is the same step on means: eta (n grad + z) = c (grad + z/n)/sqrt(t)."""
    n = 40
    bound = 1.5
    p = 3
    s = 0.7
    ball = 1.2
    t = 9
    eta = ball / np.sqrt(t * (n**2 * bound**2 + p * (n * s) ** 2))
    assert step_size_as_printed(ball, bound, p, s) / np.sqrt(t) == pytest.approx(eta * n, rel=1e-14)
    for wrong in ((np.inf, 1.0, 3, 1.0), (1.0, 0.0, 3, 0.0)):
        with pytest.raises(ValueError, match="bounded ball"):
            step_size_as_printed(*wrong)


def test_sums_over_records_cannot_answer_for_one():
    held = [*records()[:2], squared_statistics(*LINES[2])]
    with pytest.raises(ValueError, match="one record at a time"):
        SGD.run(task(held))


def test_a_single_record_is_full_descent():
    """One owner with one record, slope 2 (theta - 1): SGD1 is plain descent, worked out step by step."""
    one = LinearRecords.of(LOSSES["squared"], np.array([[1.0, 0.0, 0.0]]), np.array([-1.0]))
    found = SGD.run(task([one], 3, coordinates=FREE, step=0.25)).path[:, 0]
    expected = [0.0]
    for t in (1, 2, 3):
        expected.append(expected[-1] - 0.25 / np.sqrt(t) * 2 * (expected[-1] - 1))
    assert found == pytest.approx(expected, rel=1e-14)


def test_noise_scaled_to_means_is_refused():
    """It would be n_l times too small; without noise any mechanism will do, and the printed noise is meant for this."""
    noisy = task(records(), scales=[0.0, 0.5, 0.0])
    silent = task(records())
    for wrong in (Gaussian(1e-6), PublishedNoise("sgd2", 1e-6, SIZES)):
        for verb in (SGD.count_answers, SGD.run):
            with pytest.raises(ValueError, match="one record's gradient"):
                verb(replace(noisy, mechanism=wrong))
        assert np.array_equal(SGD.run(replace(silent, mechanism=wrong)).last, SGD.run(silent).last)
    assert np.array_equal(
        SGD.run(replace(noisy, mechanism=PublishedNoise("sgd1", 1e-6, SIZES))).last,
        SGD.run(noisy).last,
    )

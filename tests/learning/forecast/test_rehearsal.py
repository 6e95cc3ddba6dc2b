"""Rehearsals against training itself: the same owners, the same noise in power, the same draws where that is the point."""

from dataclasses import replace

import numpy as np
import pytest
from populations import planning_inputs, two_kinds
from rehearsals import (
    GAUSSIAN,
    HORIZON,
    LEVEL,
    PICKED,
    REGULARISATION,
    SIZES,
    STEP,
    WEIGHTS,
    plan_of,
    population,
    stage,
)

import learning.forecast.calibration as calibration_module
from learning.errors import InputError
from learning.forecast.calibration import calibrate
from learning.forecast.doubts import bootstrap_of
from learning.forecast.inputs import Settings
from learning.forecast.public_sample import PublicSample
from learning.forecast.rehearsal import FINE_LENGTHS, Rehearsal
from learning.forecast.weighting import Answers, RecordWeighting, SizeWeighting
from learning.losses.losses import as_loss
from learning.losses.statistics import SquaredStatistics
from learning.privacy.laplace import Laplace
from learning.privacy.published_noise import PublishedNoise
from learning.progress import ignore_progress
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.asynchronous import Asynchronous
from learning.training.client import Client
from learning.training.clocks import Clocks
from learning.training.engine import train
from learning.training.task import Task

# ---- few rows that stand for many
# -------------------------------------------------------------------------------------


def test_a_hinge_rehearsed_on_few_rows_is_left_with_as_much_as_one_trained_on_many():
    """150 public rows for 12,000 records, eight rounds, without noise, over 16 samples (spread of the mean: 8 %).

    On the few kinks of the rows themselves training is left with 1.3 times as much.
    """
    rng = np.random.default_rng(0)
    sizes = np.full(3, 4000)
    left = []
    x, y = two_kinds(12_000, rng)
    pooled = as_loss("hinge").fitness([(x, y)], 0.1)
    settings = Settings(loss=as_loss("hinge"), regularisation=0.1)
    for seed in range(16):
        sample = PublicSample(*two_kinds(150, rng), 0.1, as_loss("hinge"))
        inputs = replace(planning_inputs(sample, settings, 1.0, sizes), seed=seed)
        bootstrap = bootstrap_of(inputs, Laplace(), 8)
        bounds = sample.coordinates("public", True).bounded(20, 1, 5)
        own = bootstrap.sample
        of = Rehearsal(
            *own.population(),
            own.fitness,
            bootstrap.start_coordinates(bounds),
            sizes,
            sizes / 12_000,
            Laplace(),
            "averaged",
        )
        real = replace(of, x=x, y=y, cost=pooled, starts=(bounds,))
        left.append(
            [
                one.rehearse(9, np.array([0.3]), np.zeros(1), repeats=1)[0].mean()
                for one in (of, real)
            ]
        )
    told, came = np.log(left).mean(axis=0)
    assert came - told == pytest.approx(0, abs=0.2)


# ---- rehearsal and training
# -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "loss"),
    [(name, "squared") for name in ALGORITHMS]
    + [
        ("averaged", "hinge"),
        ("weighted", "logistic"),
        ("asynchronous", "logistic"),
        ("sgd1", "hinge"),
    ],
)
def test_a_rehearsal_is_training_by_owners_that_all_hold_the_population(
    algorithm, loss, monkeypatch
):
    """The same noise power from owners with equal budgets: means agree within 3 standard errors, without noise exactly.

    Chance stays in the bias of clipping.
    """
    monkeypatch.setattr(Rehearsal, "_remove_chance", lambda self, start, held: held)
    of = stage(algorithm, loss)
    coordinates = of.starts[0]
    plan = plan_of(algorithm, priced=of.make_plan("last", HORIZON.get(algorithm, 6), 1.0).answers)
    runs = 400
    level = LEVEL.get((algorithm, loss), 2e-4)
    x, y = population(loss)
    growth = float(of.mechanism.horizon_factor(plan.priced))
    for noise in (0.0, level):
        found = of.rehearse(
            plan.horizon, np.array([plan.step_size]), np.array([noise]), repeats=runs
        )
        # v = bound^2 growth term/n^2 with sum q^2 v = bound^2 growth noise; of one record at a
        # time, v is the same for all
        power = coordinates.gradient_bound**2 * growth * noise
        each = power if algorithm == "sgd1" else power / np.sum(WEIGHTS**2 / SIZES**2) / SIZES**2
        scales = np.broadcast_to(of.mechanism.scale_of_variance(each), (3,))
        held = coordinates.oracle(x, y, one_by_one=algorithm == "sgd1")
        owners = [
            Client(name, sized(held, int(n)), float(b), plan.priced)
            for name, n, b in zip("abc", SIZES, scales, strict=True)
        ]
        trained = train(
            Task(
                owners,
                coordinates,
                plan,
                of.mechanism,
                runs=runs,
                streams=Streams(11, "noise"),
                regularisation=REGULARISATION,
                weights=None
                if algorithm == "sgd1"
                else WEIGHTS,  # by the records that each holds: all, here
            )
        )
        relative = of.cost.relative(trained.theta)
        measured = found[0, 0, 0, 0]
        error = np.hypot(relative.std(ddof=1), measured.std(ddof=1)) / np.sqrt(runs)
        assert abs(relative.mean() - measured.mean()) <= 3 * error + 1e-9 * measured.mean()
        if noise == 0 and algorithm not in ("sgd1", "asynchronous"):
            np.testing.assert_allclose(relative, measured[0], rtol=1e-6)
        if noise > 0:
            quiet = of.rehearse(
                plan.horizon, np.array([plan.step_size]), np.array([0.0]), repeats=runs
            )[0]
            assert measured.mean() > quiet.mean() + 3 * error  # there was noise to compare


def sized(held, size):
    """The population's means, as if so many records had made them."""
    if isinstance(held, SquaredStatistics):
        factor = size / held.n_records
        return SquaredStatistics(size, held.xx * factor, held.xy * factor, held.yy * factor)
    return held


def test_where_training_returns_the_running_mean_so_does_the_rehearsal():
    of = stage("averaged")
    both = of.rehearse(9, np.array([0.4]), np.array([0.0, 1e-4]), repeats=5)
    mean = of.rehearse(9, np.array([0.4]), np.array([0.0, 1e-4]), repeats=5, returned=("averaged",))
    np.testing.assert_array_equal(both[1], mean[0])
    assert (both[0] != both[1]).all()


@pytest.mark.parametrize("algorithm", ["averaged", "asynchronous", "weighted", "sgd1"])
def test_every_step_meets_the_same_draws_and_every_level_its_own(algorithm):
    """Alone or among others, a step size gives the same numbers; levels, starts and repeats differ by chance as well."""
    of = stage(algorithm, starts=2)
    horizon = HORIZON.get(algorithm, 6)
    constants = STEP.get(algorithm, 0.4) * np.array([0.5, 1.0])
    levels = np.array([0.0, 1e-3, 1e-3])
    whole = of.rehearse(horizon, constants, levels, repeats=4)
    assert whole.shape == (2, 2, 3, 2, 4)
    for i, constant in enumerate(constants):
        alone = of.rehearse(horizon, np.array([constant]), levels, repeats=4)
        np.testing.assert_allclose(whole[:, i], alone[:, 0], rtol=1e-9)
    noisy = whole[0, 1, 1:]
    assert (
        len(np.unique(noisy)) == noisy.size
    )  # two levels alike in noise, two starts, four draws each, none repeated
    again = replace(of, seed=4).rehearse(horizon, constants, levels, repeats=4)
    assert (again[:, :, 2] != whole[:, :, 2]).all()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_record_picked_from_all_is_a_record_of_the_population_however_unequal_owners_are(noise):
    """One to three to two: picks are uniform over records. Stand-ins alike in records would overstate their scatter."""
    of = replace(
        stage("sgd1"),
        sizes=np.array([20.0, 60.0, 520.0]),
        weights=np.array([20.0, 60.0, 520.0]) / 600,
    )
    x, y = population("squared")
    coordinates = of.starts[0]
    plan = plan_of("sgd1")
    runs = 1500
    found = of.rehearse(
        plan.horizon,
        np.array([plan.step_size]),
        np.array([noise]),
        repeats=runs,
        returned=("last",),
    )
    power = coordinates.gradient_bound**2 * float(of.mechanism.horizon_factor(plan.priced)) * noise
    rows = np.split(np.random.default_rng(0).permutation(600), [20, 80])
    owners = [
        Client(
            name,
            coordinates.oracle(x[own], y[own], one_by_one=True),
            float(of.mechanism.scale_of_variance(power)),
            plan.priced,
        )
        for name, own in zip("abc", rows, strict=True)
    ]
    streams = Streams(11, "noise")
    trained = train(
        Task(owners, coordinates, plan, of.mechanism, runs, streams, REGULARISATION, of.weights)
    )
    relative = of.cost.relative(trained.theta)
    measured = found.ravel()
    error = np.hypot(relative.std(ddof=1), measured.std(ddof=1)) / np.sqrt(runs)
    assert abs(relative.mean() - measured.mean()) <= 3 * error < 0.1 * relative.mean()


def test_common_draws_make_differences_sharper():
    """Two step sizes 5 % apart under the same noise: their difference spreads far less than that of separate draws."""
    of = stage("averaged")
    found = of.rehearse(6, np.array([0.4, 0.42]), np.array([1e-3]), repeats=200)[0, :, 0, 0]
    shared = np.std(found[0] - found[1])
    apart = np.std(found[0] - np.roll(found[1], 1))
    assert shared < 0.2 * apart


# ---- what a rehearsal chooses from
# ----------------------------------------------------------------------------------


def test_steps_so_long_that_training_flies_apart_count_as_infinite_and_are_never_chosen(
    monkeypatch,
):
    of = stage("averaged", "hinge", ball=np.inf)  # whose bound needs no ball
    far = np.array([0.4, 1e60])
    with np.errstate(all="raise"):
        found = of.rehearse(9, far, np.array([0.0, 1e-4]), repeats=2)
    assert np.isfinite(found[:, 0]).all() and np.isinf(found[:, 1]).all()
    assert not np.isnan(found).any()
    monkeypatch.setenv("DPMARKET_CACHE", "")
    monkeypatch.setattr(Rehearsal, "step_sizes", lambda self, horizon: far)
    curves = calibrate(of, np.array([0.0, 1e-6, 1e-5, 1e-4]), Settings(horizon=9), measured=3)
    assert {plan.step_size for plan in curves.plans} == {0.4}
    with pytest.raises(InputError, match="small enough that training does not diverge"):
        calibrate(of, np.array([0.0, 1e-6]), Settings(horizon=9, step_size=1e60), measured=3)


@pytest.mark.parametrize("algorithm", ["averaged", "sgd2"])
def test_no_step_is_tried_under_which_descent_may_diverge(algorithm):
    """Twice the curvature halves the longest step; nothing is left out where the curvature is known."""
    of = stage(algorithm, "logistic")
    whole = of.open_step_sizes(None, 8)
    np.testing.assert_array_equal(whole, of.step_sizes(8))
    steep = 2 / min(of.make_plan("last", 8, whole[-3]).steps)
    tried = replace(of, steepest=1.001 * steep).open_step_sizes(None, 8)
    np.testing.assert_array_equal(tried, whole[:-3])
    np.testing.assert_array_equal(replace(of, steepest=1e9).open_step_sizes(None, 8), whole[:1])
    assert replace(of, steepest=1e9).open_step_sizes(0.7, 8).tolist() == [0.7]


def test_a_step_too_long_for_the_records_diverges_though_the_public_rows_bear_it():
    """Rare labels: 35 of 500 rows decide the curvature, and that of all records is up to twice as large."""
    rng = np.random.default_rng(12)
    loss = as_loss("logistic")

    def drawn(rows):
        x = np.column_stack([rng.standard_t(6, (rows, 7)), np.ones(rows)])
        score = x @ np.array([0.6, 0.4, 0.2, 0, 0, 0, 0, -2.8])
        return x, np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), 1.0, -1.0)

    x, y = drawn(40_000)
    best = loss.fit(x, y, 1e-4)[0]
    held = []
    for seed in range(40):
        sample = PublicSample(*drawn(500), 1e-4, loss)
        settings = Settings(loss=loss, regularisation=1e-4)
        inputs = replace(planning_inputs(sample, settings, 1.0, np.array([9000])), seed=seed)
        bounds = sample.coordinates("public", True)
        steepest = bootstrap_of(inputs, Laplace(), 24).steepest_curvature(bounds)
        moved = [
            (one @ bounds.transform, loss.scores(one, two, at))
            for one, two, at in ((x, y, best), (sample.x, sample.y, sample.model))
        ]
        of_all, of_public = (
            np.linalg.eigvalsh((z * loss.second_derivative(t)[:, None]).T @ z / len(z))[-1]
            for z, t in moved
        )
        held.append((of_all <= steepest, of_all <= of_public))
    assert np.mean(held, axis=0)[0] >= 0.85 > np.mean(held, axis=0)[1]


@pytest.mark.parametrize(
    "algorithm", [name for name, one in sorted(ALGORITHMS.items()) if one.takes_steps]
)
def test_steps_tried_hold_the_best_one_inside(algorithm):
    """Without noise and with much, the best step is neither the shortest nor, where there is noise, the longest."""
    of = stage(algorithm)
    horizon = HORIZON.get(algorithm, 17)
    constants = of.step_sizes(horizon)
    assert (np.diff(constants) > 0).all()
    found = of.rehearse(
        horizon, constants, np.array([0.0, 1e-3]), repeats=8, returned=("last",)
    ).mean(axis=(0, 3, 4))
    best = np.argmin(found, axis=0)
    assert best[0] > 0 and best[1] < len(constants) - 1
    # noise on moments shortens the steps by itself
    assert best[1] <= best[0] or ALGORITHMS[algorithm].moments


@pytest.mark.parametrize(("answers", "growth"), [(2, 4.0), (3, 3.0), (4, 3.0)])
def test_steps_under_clipped_gradients_lie_so_close_that_the_best_is_hardly_missed(answers, growth):
    """By the law of steps w under curvature 1 whose directions differ by 11 %, as 1,000 public rows show it.

    Wherever the largest curvature lies, the unit of the steps: the best tried is within 6 % of the best. Steps by
    factors of 1.3 missed it by 19 % to 69 %.
    """
    noise = 1.4e-5 * growth ** (2.0 * np.arange(answers - 1, -1, -1))

    def left(step):
        error = np.full(np.shape(step), 0.0115)
        for power in noise:
            error = ((1 - step) ** 2 + step**2 * 0.0115) * error + step**2 * power
        return error

    best = left(np.linspace(0.5, 1.2, 400)).min()
    tried = [left(FINE_LENGTHS / largest).min() for largest in np.linspace(1.0, 1.4, 41)]
    assert max(tried) < 1.06 * best


def test_plans_are_those_best_at_some_level_and_measured_again(monkeypatch):
    """Horizons and steps free: every plan that is left is the best screened at a level, with its price and clocks."""
    monkeypatch.setenv("DPMARKET_CACHE", "")
    clocks = Clocks(rates=(1.0, 2.0, 1.0))
    of = stage("asynchronous", clocks=clocks)
    monkeypatch.setattr(Asynchronous, "trial_horizons", (20, 60))
    levels = np.array([0.0, 1e-8, 1e-6, 1e-4])
    curves = calibrate(of, levels, Settings(returned=("last",)), measured=6)
    assert 1 <= len(curves.plans) <= len(levels)
    for plan, curve in zip(curves.plans, curves.curves, strict=True):
        assert (
            plan.horizon in (20, 60)
            and plan.clocks == clocks
            and plan.answers == of.make_plan("last", plan.horizon, 1.0).answers
        )
        again = of.rehearse(
            plan.horizon, np.array([plan.step_size]), levels, repeats=6, returned=("last",)
        )
        heights = np.maximum.accumulate(again.mean(axis=(3, 4))[0, 0])
        np.testing.assert_allclose(
            curve.values, heights[: len(curve.values)], rtol=0.05
        )  # chance is evened out


def test_asynchronous_budgets_are_priced_by_talks_unless_told():
    def answers(*given, **more):
        return stage(*given, **more).make_plan("last", 100, 1.0).answers

    assert answers("asynchronous") < 100
    assert answers("asynchronous", clocks=Clocks(priced="horizon")) == 100
    assert answers("averaged") is None


# ---- stand-ins
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "algorithm",
    ["averaged", "synchronous", "sgd2", "asynchronous", "weighted", "adassp", "one_step"],
)
@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(),
        Laplace(2),
        GAUSSIAN,
        PublishedNoise("weighted", 1e-3, (100, 300, 200)),
        PublishedNoise("plain", 1e-3, (100, 300, 200)),
        PublishedNoise("sgd2", 1e-3, (100, 300, 200)),
    ],
    ids=lambda m: f"{m.name} {getattr(m, 'formula', '')}",
)
def test_the_noise_of_all_stand_ins_together_is_that_of_the_level(algorithm, mechanism):
    """sum q^2 v = bound^2 growth(T) level, and each owner's share of it is that of an equal budget."""
    of = stage(algorithm, mechanism=mechanism)
    coordinates = of.starts[0]
    levels = np.array([0.0, 1e-6, 1e-3])
    owners = of.proxy_owners(coordinates, 8, levels)
    weights = np.ones(1) if len(owners) == 1 else WEIGHTS
    unit = mechanism.draw(1.0, (200_000,), rng=np.random.default_rng(0)).var()
    variance = np.array([unit * np.asarray(owner.scale) ** 2 for owner in owners])
    expected = coordinates.gradient_bound**2 * float(mechanism.horizon_factor(8)) * levels
    np.testing.assert_allclose(
        weights**2 @ variance, expected, rtol=0.02
    )  # unit variance of 200,000 draws: 0.7 %
    if len(owners) == 3:
        alike = mechanism.variance(np.ones(3), SIZES, coordinates.gradient_bound, 8)
        np.testing.assert_allclose(variance[:, 2] / variance[0, 2], alike / alike[0], rtol=1e-9)


def test_stand_ins_for_budgets_alike_have_the_scales_of_real_owners():
    """A level made by equal budgets: stand-ins get just the scales that the mechanism gives those owners."""
    for algorithm, mechanism in (
        ("weighted", Laplace()),
        ("asynchronous", GAUSSIAN),
        ("sgd1", PICKED),
    ):
        of = stage(algorithm, mechanism=mechanism)
        epsilon = np.full(3, 0.7)
        term = mechanism.noise_term(epsilon) * (SIZES / mechanism.noise_denominator(SIZES)) ** 2
        weighting = of_kind(algorithm)
        level = float(
            weighting.aggregated_noise(
                weighting.sum_terms(Answers(term, SIZES, epsilon > 0)).sum(axis=0)
            )
        )
        priced = 40 if algorithm == "sgd1" else 8
        found = of.proxy_owners(of.starts[0], priced, np.array([level]))
        expected = mechanism.scale(epsilon, SIZES, of.starts[0].gradient_bound, priced)
        if of.trains_by.one_by_one:  # one for all, of whose records one is asked at a time
            expected = expected[:1]
        np.testing.assert_allclose([float(owner.scale[0]) for owner in found], expected, rtol=1e-9)
        # Steps ask for means, whatever the size: all hold one object, and answer together.
        assert len({id(owner.records) for owner in found}) == 1


def test_stand_ins_that_release_sums_have_the_sizes_of_real_owners():
    of = stage("adassp", mechanism=GAUSSIAN)
    found = of.proxy_owners(of.starts[0], 1, np.array([1.0]))
    assert [owner.records.n_records for owner in found] == SIZES.astype(int).tolist()


def of_kind(algorithm):

    return RecordWeighting() if algorithm == "sgd1" else SizeWeighting()


def test_stand_ins_answer_with_the_populations_gradient():
    x, y = population("squared")
    phi = np.random.default_rng(0).normal(size=(4, 3))
    for algorithm in ("averaged", "weighted"):
        of = stage(algorithm)
        expected = of.starts[0].oracle(x, y).gradient(phi)
        for owner in of.proxy_owners(of.starts[0], 8, np.zeros(1)):
            np.testing.assert_allclose(owner.records.gradient(phi), expected, rtol=1e-12)


def test_plans_of_as_many_rounds_are_measured_together(monkeypatch):
    """Each by itself drew all noise again: of a hundred hospitals, minutes."""
    of = stage("asynchronous", mechanism=GAUSSIAN)
    levels = np.array([0.0, 1e-6])
    plans = [
        (point, rounds, step, 1.0)
        for point, rounds, step in (
            ("last", 30, 0.5),
            ("averaged", 40, 2.0),
            ("last", 30, 4.0),
            ("last", 40, 2.0),
        )
    ]
    alone = {
        plan: of.rehearse(plan[1], np.array(plan[2:3]), levels, repeats=2, returned=plan[:1])[0, 0]
        for plan in plans
    }
    rehearsed = []
    rehearse = Rehearsal.rehearse
    monkeypatch.setattr(
        Rehearsal,
        "rehearse",
        lambda *given, **how: rehearsed.append(given[1]) or rehearse(*given, **how),
    )
    found = calibration_module._measure_plans(of, plans, levels, 2, ignore_progress)
    assert rehearsed == [30, 40]
    for plan, values, errors in zip(plans, found["values"], found["errors"], strict=True):
        np.testing.assert_allclose(values, alone[plan].mean(axis=(1, 2)), rtol=1e-9)
        spread = np.sqrt(alone[plan].var(axis=2, ddof=1).sum(axis=1) / 2) / len(of.starts)
        np.testing.assert_allclose(errors, spread, rtol=1e-9, atol=1e-300)


def test_in_doubt_no_training_counts_as_worse_than_its_start_and_factors_are_averaged():
    of = stage("averaged", starts=2)
    low, high = of.untrained
    found = np.array([[[low / 5, low / 3], [high * 40, np.inf]]])
    assert of.average(found)[0] == np.inf
    assert replace(of, in_doubt=True).average(found)[0] == pytest.approx(
        np.sqrt(low * high * 4 / 15)
    )

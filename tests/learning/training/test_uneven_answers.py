"""Training under shares of a budget that grow: the exact law, the engine, what is charged, and who may."""

from dataclasses import replace

import numpy as np
import pytest
from planting.bugs import BUGS
from populations import bounded_coordinates, generated
from rehearsals import REGULARISATION, stage

from learning.audit.auditor import audit_owner
from learning.audit.observations import AuditTarget
from learning.errors import InputError
from learning.forecast.homogeneity import record_gradients
from learning.forecast.law import oracle_problem
from learning.forecast.own_check import estimate_start, homogeneity_of_answers
from learning.forecast.public_sample import PublicSample
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Ledger
from learning.randomness import Streams
from learning.training.aggregation import NormCheck, Observed
from learning.training.algorithms import ALGORITHMS
from learning.training.baselines import centralise_records
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.law import (
    along_the_way,
    bias_and_gain,
    error_moments,
    iterate_weights,
    largest_excursion,
    projected_share,
    quadratic_problem,
)
from learning.training.plan import Plan
from learning.training.task import Task

RNG = np.random.default_rng(5)
ROOT = RNG.normal(size=(3, 3))
HESSIAN = ROOT @ ROOT.T + 0.3 * np.eye(3)
BEST = RNG.normal(size=3)
PROBLEM = quadratic_problem(
    HESSIAN[None], (HESSIAN @ BEST)[None], HESSIAN[None], BEST[None], np.ones(1)
)
STEPS = np.array([0.3, 0.1, 0.2])
RELATIVE = np.array([2.0, 1.0, 0.5])
SIZES = (300, 200)
BUDGETS = (1.5, 0.8)


@pytest.mark.parametrize("returned", ["last", "averaged"])
def test_each_answers_noise_counts_with_its_own_deviation(returned):
    """Against the definition: the point returned as a matrix of what each answer's noise moves it by."""
    values = np.linalg.eigvalsh(HESSIAN)
    weights = iterate_weights(4, returned)
    moved = np.zeros((3, 3))  # of each coordinate by each answer
    for answer in range(3):
        reached = np.zeros(3)
        for k in range(3):
            reached = (1 - STEPS[k] * values) * reached + STEPS[k] * (k == answer)
            moved[:, answer] += weights[k + 1] * reached
    _, variance = error_moments(values, STEPS[:, None], returned, RELATIVE)
    np.testing.assert_allclose(variance, (moved**2) @ RELATIVE**2, rtol=1e-12)
    bias, gains = bias_and_gain(
        PROBLEM, STEPS[:, None] * [1.0, 0.5], returned, [np.ones(3), RELATIVE]
    )
    for relative, gain in zip((None, RELATIVE), gains, strict=True):
        alone = bias_and_gain(PROBLEM, STEPS[:, None] * [1.0, 0.5], returned, relative)
        np.testing.assert_array_equal(bias, alone[0])
        np.testing.assert_allclose(gain, alone[1], rtol=1e-12)
    assert gains.shape == (2, 1, 2)


def test_the_growth_that_is_best_at_one_curvature():
    """(1 - step curvature)^(-2/3) where budgets add, over it for Gaussian noise: as docs/reference/methods.md has it."""
    growths = np.linspace(1.0, 5.0, 4001)
    for mechanism, power in ((Laplace(), 2 / 3), (L2(4), 2 / 3), (Gaussian(1e-6), 1.0)):
        for part in (0.5, 0.75):
            relative = np.array([mechanism.relative_scales(growth, 4) for growth in growths])
            _, left = error_moments([1.0], np.full((4, 1), part), "last", relative)
            assert growths[left[:, 0].argmin()] == pytest.approx((1 - part) ** -power, abs=2e-3)
    relative = [Laplace().relative_scales(growth, 3) for growth in (1.0, 2.0, 4.0)]
    _, left = error_moments([1.0], np.full((3, 1), 0.75), "last", relative)
    np.testing.assert_allclose(left[1:, 0] / left[0, 0], [0.42, 0.54], atol=5e-3)


def test_the_path_ends_where_the_law_does_and_strays_as_far_as_simulated():
    bias, gain = bias_and_gain(PROBLEM, STEPS, "last", RELATIVE)
    path = along_the_way(PROBLEM, STEPS, 0.1, RELATIVE)
    assert path[-1] == pytest.approx(bias + 0.1 * gain, rel=1e-12)
    phi = np.zeros((40_000, 3))
    far = 0.0
    moved = 0.0
    for step, deviation in zip(STEPS, RELATIVE, strict=True):
        noise = deviation * np.sqrt(0.1) * RNG.normal(size=phi.shape)
        phi = phi - step * (phi @ HESSIAN - HESSIAN @ BEST + noise)
        far = max(far, (np.abs(phi.mean(axis=0)) + 3 * phi.std(axis=0)).max())
        moved += (np.abs(phi) > 1.5).mean() / len(STEPS)
    assert largest_excursion(PROBLEM, STEPS, 0.1, RELATIVE)[0] == pytest.approx(far, rel=0.01)
    assert projected_share(PROBLEM, STEPS, 0.1, 1.5, RELATIVE)[0] == pytest.approx(moved, abs=0.01)


def task(mechanism, growth=2.0, algorithm="sgd2", rounds=3, runs=4000, **more):
    x, y = generated(sum(SIZES), 3, np.random.default_rng(2))
    coordinates = replace(
        bounded_coordinates(x, y), norm=mechanism.norm, theta_max=1e6, given_bound=5.0
    )
    plan = Plan(algorithm, ALGORITHMS[algorithm].returned[-1], rounds, 0.2, growth=growth)
    edges = np.cumsum([0, *SIZES])
    held = [coordinates.oracle(x[i:j], y[i:j]) for i, j in zip(edges[:-1], edges[1:], strict=True)]
    owners = make_clients(
        "ab", held, BUDGETS, mechanism, coordinates.noise_bound, plan.priced, growth=growth
    )
    made = Task(owners, coordinates, plan, mechanism, runs, Streams(3, "noise"), **more)
    return made, Fitness(squared_statistics(x, y))


@pytest.mark.parametrize(
    "algorithm",
    ["sgd2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("averaged", "synchronous"))],
)
@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-5), L2(3)], ids=lambda one: one.name)
def test_the_engine_meets_the_law(mechanism, algorithm):
    """Four standard errors of 4,000 trainings; even noise would lie far off."""
    made, fitness = task(mechanism, 3.0, algorithm)
    problem = oracle_problem(
        made.coordinates,
        sum((one.records for one in made.owners[1:]), made.owners[0].records),
        fitness,
    )
    variance = mechanism.variance(BUDGETS, SIZES, made.coordinates.noise_bound, made.plan.priced)
    power = float((np.array(SIZES) / sum(SIZES)) ** 2 @ variance)
    bias, gain = bias_and_gain(problem, made.plan.steps, made.plan.returned, made.relative_scales)
    excess = fitness.relative(train(made).theta) * fitness.optimum
    error = excess.std() / np.sqrt(len(excess))
    assert abs(excess.mean() - (bias[0] + gain[0] * power)) < 4 * error
    _, even = bias_and_gain(problem, made.plan.steps, made.plan.returned)
    assert abs(excess.mean() - (bias[0] + even[0] * power)) > 8 * error


def test_answers_asked_are_those_that_share():
    """Under the loops that ask T - 1 times the last and largest share of T would be wasted."""
    assert (
        Plan("averaged", "last", 5, 0.1, growth=2.0).priced == 4
        and Plan("averaged", "last", 5, 0.1).priced == 5
    )
    assert Plan("sgd2", "last", 5, 0.1, growth=2.0).priced == 5
    made, _ = task(Laplace(), algorithm="averaged", runs=2)
    ledger = Ledger()
    train(made, ledger)
    assert [account.remaining for account in ledger.accounts] == [0.0, 0.0]
    assert [account.answered for account in ledger.accounts] == [2, 2]
    with pytest.raises(InputError, match="must be number 3; found number 1"):
        train(made, ledger)


def test_who_cannot_share_unevenly_is_refused():
    made, _ = task(Laplace(), runs=2)
    for name in ("asynchronous", "weighted", "sgd1", "adassp"):
        with pytest.raises(ValueError, match=f"cannot grow under {name}, got a growth of 2"):
            Plan(name, "last", 3, 0.1, growth=2.0)
    with pytest.raises(ValueError, match="a shares its budget so that answers grow by 2, not by 1"):
        train(replace(made, plan=replace(made.plan, growth=1.0)))


def test_one_party_with_all_records_shares_as_owners_do():
    made, _ = task(Laplace(), runs=2)
    (one,) = centralise_records(made).owners
    spread = 2 * 5.0 * 3 / (sum(SIZES) * np.mean(BUDGETS))
    assert one.growth == 2.0 and one.scale == pytest.approx(spread)


def test_aggregations_count_each_round_in_its_own_noise():
    """Honest answers are dropped once in a thousand and in every round; weights by what is observed are those of noise."""
    made, _ = task(Laplace(), 3.0, runs=4000)
    honest = [owner.noise(made.mechanism, made.runs, made.streams).take(3) for owner in made.owners]
    check = NormCheck(0.05, signal=1e-15).make_combiner(made)
    whole = (np.array(SIZES) / sum(SIZES))[:, None, None]
    for round_ in range(3):
        told = np.stack([noise[round_] for noise in honest])
        mean = check(np.zeros(told.shape[1:]), list(told))
        kept = np.isclose(mean, (whole * told).sum(axis=0)).all(axis=1).mean()
        assert kept == pytest.approx(0.95**2, abs=0.02)
    combine = Observed().make_combiner(replace(made, owners=(made.owners[0],) * 3))
    spread = np.array([1.0, 1.0, 6.0])
    scale = made.owners[0].scale
    rng = np.random.default_rng(3)
    for factor in made.relative_scales:
        noise = rng.laplace(size=(3, made.runs, 3)) * spread[:, None, None] * scale * factor
        last = combine(np.zeros((made.runs, 3)), list(noise))
    assert last.var() < 0.5 * (2 * (scale * factor) ** 2 * np.mean(spread**2) / 3)


def test_rehearsed_noise_is_that_of_each_answers_share():
    """What the noise adds, over the same where shares are even: as the law has it, within 6 % (three standard errors)."""
    of = stage("sgd2", ball=1e3)
    level = np.array([0.0, 1e-9])
    steps = np.array([0.6])
    hessian = of.starts[0].oracle(of.x, of.y).hessian + REGULARISATION * np.eye(3)
    problem = quadratic_problem(
        hessian[None], np.ones((1, 3)), hessian[None], np.zeros((1, 3)), np.ones(1)
    )
    added = []
    law = []
    for growth in (1.0, 3.0):
        found = of.rehearse(4, steps, level, repeats=4000, returned=("last",), growth=growth).mean(
            axis=(3, 4)
        )
        added.append(found[0, 0, 1] - found[0, 0, 0])
        plan = of.make_plan("last", 4, 0.6, growth)
        law.append(
            bias_and_gain(problem, plan.steps, "last", plan.relative_scales(of.mechanism))[1][0]
        )
    assert added[1] / added[0] == pytest.approx(law[1] / law[0], rel=0.06)


@pytest.mark.slow
def test_first_answers_are_judged_by_the_noise_of_first_answers():
    """Owners alike are told apart once in ten draws at a tenth, though the first answer is the noisiest of all."""
    made, _ = task(Laplace(), 3.0, runs=1)
    public = record_gradients(made.coordinates, *generated(100, 3, np.random.default_rng(2)))
    rng = np.random.default_rng(0)
    found = []
    for seed in range(60):
        drawn = homogeneity_of_answers(
            replace(made, streams=Streams(seed, "noise")), public, rng=rng
        )
        found.append(drawn["owners"].p_value)
    assert 0.02 < np.mean(np.array(found) < 0.1) < 0.22


@pytest.mark.slow
def test_what_the_learner_sees_of_its_start_counts_the_first_answers_noise():
    """Right on average over 400 trainings, within four standard errors."""
    made, fitness = task(Laplace(), 3.0, runs=1)
    x, y = generated(sum(SIZES), 3, np.random.default_rng(2))
    sample = PublicSample(x, y)
    seen = [
        estimate_start(
            train(replace(made, streams=Streams(seed, "noise"))), sample
        ).relative_fitness
        for seed in range(400)
    ]
    true = float(fitness.relative(made.coordinates.centre))
    assert abs(np.mean(seen) - true) < 4 * np.std(seen) / 20


# --- audit
# ------------------------------------------------------------------------------------------------------------


def finding(made, draws=3000):
    target = AuditTarget.of(made)
    x = np.ones((1, 3))
    y = np.zeros(1)
    return audit_owner("a", x, y, 3.0, target, seed=0, draws=draws, confidence=0.99)


@pytest.mark.slow
def test_the_attack_sees_each_answers_own_budget():
    made, _ = task(Laplace(), runs=4)
    made = replace(made, coordinates=replace(made.coordinates, theta_max=2.0, given_bound=None))
    sound = finding(made)
    assert not sound.refuted and sound.answers == 3
    charges = 3.0 * np.array([1, 2, 4]) / 7
    assert np.isclose(charges, sound.answer_charged).any() and 0.6 < sound.bound / 3.0 <= 1
    for name in ("shares", "turn", "whole"):
        assert finding(BUGS[name].plant(made)).refuted, name


def test_trainings_are_along_the_way_where_the_law_has_them():
    kept = {}
    made, fitness = task(Laplace(), 2.0, runs=4000)
    train(
        replace(
            made,
            watch=lambda k, phi, mean: kept.update(
                {k: fitness.relative(made.coordinates.model(phi)).mean()}
            ),
        )
    )
    problem = oracle_problem(
        made.coordinates, made.owners[0].records + made.owners[1].records, fitness
    )
    variance = made.mechanism.variance(BUDGETS, SIZES, made.coordinates.noise_bound, 3)
    power = float((np.array(SIZES) / sum(SIZES)) ** 2 @ variance)
    law = (
        along_the_way(problem, made.plan.steps, power, made.relative_scales)[:, 0] / fitness.optimum
    )
    np.testing.assert_allclose([kept[k] for k in range(4)], law, rtol=0.06)

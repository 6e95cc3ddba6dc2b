"""Coalitions and weights: prefix rule against all subsets, weights against a constrained optimiser."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from learning.forecast.fitness import MOST_BALANCE, FitnessForecast
from learning.forecast.law import Envelope, PlanSet
from learning.forecast.weighting import (
    Answers,
    EqualWeighting,
    PrecisionWeighting,
    RecordWeighting,
    SizeWeighting,
    best_coalition,
)
from learning.losses.coordinates import Coordinates
from learning.losses.statistics import SquaredStatistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian
from learning.privacy.wrapped import Remaining
from learning.randomness import Streams
from learning.training.client import Client
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task


def precision_weights(variance, sizes, gain=1.0, dispersion=0.0):
    """q that minimise K sum q^2 v + C sum q^2/n with sum q = 1, written out: q proportional to 1/(K v + C/n)."""
    variance = np.asarray(variance, dtype=float)
    sizes = np.asarray(sizes, dtype=float)
    shares = np.isfinite(variance)
    cost = np.where(shares, gain * np.where(shares, variance, 0.0) + dispersion / sizes, np.inf)
    return (1 / cost) / np.sum(1 / cost)


def aggregate_noise(weights, variance):
    """S = sum q^2 v over owners with a weight."""
    return sum(q**2 * v for q, v in zip(weights, variance, strict=True) if q > 0)


def random_market(rng, owners):
    return np.exp(rng.uniform(np.log(1e2), np.log(1e5), owners)), np.exp(
        rng.uniform(np.log(0.05), np.log(20), owners)
    )


def test_the_best_coalition_is_a_prefix_against_all_subsets():
    """500 random markets of 10 owners, all 1,023 coalitions each, Laplace and Gaussian terms."""
    rng = np.random.default_rng(0)
    subsets = np.array(list(product((False, True), repeat=10)))[1:]
    for trial in range(500):
        sizes, epsilon = random_market(rng, 10)
        term = (Laplace() if trial % 2 else Gaussian(1e-6)).noise_term(epsilon)
        noise = (subsets @ term) / (subsets @ sizes) ** 2
        assert (best_coalition(sizes, term) == subsets[np.argmin(noise)]).all()


def test_more_data_is_not_always_good_but_weighted_it_is():
    """Value of Collaboration, scenario 1: n = 10^5, 10^3, 10^3 and epsilon = 10, 0.1, 0.1. Noise falls 10,000-fold."""
    sizes = np.array([1e5, 1e3, 1e3])
    epsilon = np.array([10.0, 0.1, 0.1])
    variance = Laplace().variance(epsilon, sizes, 1.0, 10)
    by_size = aggregate_noise(sizes / sizes.sum(), variance)
    assert by_size / aggregate_noise(precision_weights(variance, sizes), variance) > 10_000
    assert best_coalition(sizes, Laplace().noise_term(epsilon)).tolist() == [True, False, False]


def test_precision_weights_are_never_worse_and_are_optimal():
    rng = np.random.default_rng(1)
    for trial in range(500):
        sizes, epsilon = random_market(rng, 6)
        variance = Laplace().variance(epsilon, sizes, 2.0, 5)
        gain = np.exp(rng.uniform(-3, 3))
        spread = np.exp(rng.uniform(-3, 3))

        def cost(q, v=variance, n=sizes, k=gain, c=spread):
            return k * np.sum(q**2 * v) + c * np.sum(q**2 / n)

        best = precision_weights(variance, sizes, gain, spread)
        assert best.sum() == pytest.approx(1) and cost(best) <= cost(sizes / sizes.sum()) * (
            1 + 1e-12
        )
        kept = best_coalition(sizes, Laplace().noise_term(epsilon))
        assert cost(best) <= cost(kept * sizes / sizes[kept].sum()) * (1 + 1e-12)
        if trial < 20:
            scale = cost(best)
            found = minimize(
                lambda q, c=cost, s=scale: c(q) / s,
                np.full(6, 1 / 6),
                bounds=[(0, 1)] * 6,
                method="SLSQP",
                constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
                options={"maxiter": 500},
            )
            assert cost(best) <= cost(found.x / found.x.sum()) * (1 + 1e-9)


def test_edges():
    assert best_coalition([5.0], [3.0]).tolist() == [True]
    assert best_coalition([5.0, 5.0], [np.inf, np.inf]).tolist() == [False, False]
    assert best_coalition([5.0, 7.0, 9.0], [0.0, 0.0, 1.0]).tolist()[
        0
    ]  # without noise: at least one noiseless owner
    with pytest.raises(ValueError, match="above 0"):
        best_coalition([0.0], [1.0])


# ---- weights as sums over owners
# ------------------------------------------------------------------------------------

KINDS = [
    SizeWeighting(),
    EqualWeighting(),
    RecordWeighting(),
    PrecisionWeighting(balance=0.0),
    PrecisionWeighting(balance=1e-3),
    PrecisionWeighting(balance=2.0),
    PrecisionWeighting(balance=1e6),
    PrecisionWeighting(balance=MOST_BALANCE),
]


def shown(weighting):
    return f"{weighting.kind} {getattr(weighting, 'balance', 0.0):g}"


def directly(weighting, term, sizes, sharing):
    """q, noise and spread owner by owner, from their definitions."""
    raw = np.zeros(len(sizes))
    for i, (t, n) in enumerate(zip(term, sizes, strict=True)):
        if sharing[i]:
            alike = {"size": n, "record": n, "equal": 1.0}
            raw[i] = alike.get(weighting.kind, n / (1 + getattr(weighting, "balance", 0.0) * t / n))
    q = raw / raw.sum()
    noise = q @ (term / sizes**2) if weighting.kind == "record" else q**2 @ (term / sizes**2)
    return q, noise, 1 / sizes[sharing].sum() if weighting.kind == "record" else q**2 @ (1 / sizes)


@pytest.mark.parametrize("weighting", KINDS, ids=shown)
@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-6, "zcdp")], ids=lambda m: m.name)
def test_sums_over_owners_give_the_weights_the_noise_and_the_spread(weighting, mechanism):
    rng = np.random.default_rng(3)
    for _ in range(50):
        sizes, epsilon = random_market(rng, 7)
        epsilon[rng.random(7) < 0.3] = 0.0
        epsilon[3] = 1.0
        term = mechanism.noise_term(epsilon)
        sharing = epsilon > 0
        q, noise, spread = directly(weighting, term, sizes, sharing)
        sums = weighting.sum_terms(Answers(term, sizes, sharing)).sum(axis=0)
        np.testing.assert_allclose(
            weighting.answer_weights(Answers(term, sizes, sharing)), q, rtol=1e-9, atol=1e-300
        )
        assert weighting.aggregated_noise(sums) == pytest.approx(noise, rel=1e-9)
        assert weighting.weighted_spread(sums) == pytest.approx(spread, rel=1e-9)
        assert weighting.answer_weights(Answers(term, sizes, sharing))[~sharing].sum() == 0


@pytest.mark.parametrize("weighting", KINDS, ids=shown)
def test_several_profiles_at_once_are_each_alone(weighting):
    rng = np.random.default_rng(4)
    sizes, _ = random_market(rng, 4)
    epsilon = rng.uniform(0.1, 3, (4, 5))
    term = Laplace().noise_term(epsilon)
    together = weighting.sum_terms(Answers(term, sizes[:, None], epsilon > 0))
    for i in range(5):
        np.testing.assert_array_equal(
            together[:, i], weighting.sum_terms(Answers(term[:, i], sizes, epsilon[:, i] > 0))
        )


@pytest.mark.parametrize("weighting", KINDS, ids=shown)
def test_where_nobody_shares_there_is_no_weight_and_no_accident(weighting):
    nobody = np.zeros(3, dtype=bool)
    answers = Answers(np.zeros(3), np.array([10.0, 20.0, 30.0]), nobody)
    sums = weighting.sum_terms(answers).sum(axis=0)
    assert not sums.any() and not weighting.answer_weights(answers).any()
    assert weighting.aggregated_noise(sums) == 0 and np.isfinite(weighting.weighted_spread(sums))


@pytest.mark.parametrize("weighting", KINDS, ids=shown)
def test_slopes_of_noise_and_spread_are_their_derivatives(weighting):
    """By each owner's own budget, the others' fixed: central differences."""
    rng = np.random.default_rng(5)
    mechanism = Laplace()
    for _ in range(30):
        sizes, epsilon = random_market(rng, 5)
        sharing = np.full(5, True)

        def at(budgets, sizes=sizes, sharing=sharing):
            sums = weighting.sum_terms(Answers(mechanism.noise_term(budgets), sizes, sharing)).sum(
                axis=0
            )
            return np.array([weighting.aggregated_noise(sums), weighting.weighted_spread(sums)])

        sums = np.tile(
            weighting.sum_terms(Answers(mechanism.noise_term(epsilon), sizes, sharing)).sum(axis=0),
            (5, 1),
        ).T
        slope = mechanism.noise_term_slope(epsilon)
        answers = Answers(mechanism.noise_term(epsilon), sizes, sharing, slope)
        found = weighting.sum_slopes(answers, sums)
        for i in range(5):
            step = 1e-5 * epsilon[i] * np.eye(5)[i]
            measured = (at(epsilon + step) - at(epsilon - step)) / (2e-5 * epsilon[i])
            rounding = 1e-10 * at(epsilon) / epsilon[i]
            assert found[0][i] == pytest.approx(measured[0], rel=1e-4, abs=10 * rounding[0])
            assert found[1][i] == pytest.approx(measured[1], rel=1e-4, abs=10 * rounding[1])


def straight(sizes, bias, slope, dispersion, mechanism=None):
    """A forecast on one straight line: psi = bias + slope noise + dispersion (spread - 1/n)."""
    envelope = Envelope.of_lines(np.array([bias]), np.array([slope]), np.inf)
    key = ("last", 2, 0.5, 1.0)
    lines = PlanSet("averaged", [key], np.array([bias]), np.array([slope]))
    return FitnessForecast(
        sizes, mechanism or Laplace(), lines, envelope, 1.0, dispersion, "oracle"
    )


def test_precision_weights_at_their_balance_are_never_worse_than_any_others():
    """500 random markets: forecasts with dispersion, against weights by size, equal weights and random ones."""
    rng = np.random.default_rng(6)
    better = 0
    for _ in range(500):
        owners = int(rng.integers(2, 9))
        sizes, epsilon = random_market(rng, owners)
        slope = np.exp(rng.uniform(-2, 8))
        dispersion = np.exp(rng.uniform(-2, 4))
        by_size = straight(sizes, 0.01, slope, dispersion)
        precise = by_size.with_weights("precision", epsilon)
        assert precise.weighting.balance == pytest.approx(slope / dispersion)
        best = precise.at(epsilon)
        assert best <= by_size.at(epsilon) * (1 + 1e-12)
        assert best <= by_size.with_weights("equal", epsilon).at(epsilon) * (1 + 1e-12)
        better += best < by_size.at(epsilon) * (1 - 1e-6)
        term = Laplace().noise_term(epsilon)
        for _ in range(5):
            q = rng.dirichlet(np.ones(owners))
            other = (
                0.01
                + slope * q**2 @ (term / sizes**2)
                + dispersion * (q**2 @ (1 / sizes) - 1 / sizes.sum())
            )
            assert best <= other * (1 + 1e-12)
        expected = precision_weights(term / sizes**2, sizes, slope, dispersion)
        np.testing.assert_allclose(precise.weights(epsilon), expected, rtol=1e-9)
    assert better > 250  # the others are alike enough for weights by size to be the best already


@pytest.mark.parametrize("dispersion", [0.0, 1e-300, 1e-6])
def test_where_numbers_of_records_hardly_matter_all_weight_goes_by_noise(dispersion):
    """The balance is then beyond all numbers, and forecasts stay numbers: q proportional to n^2/t."""
    sizes = np.array([2000.0, 4000.0, 6000.0])
    epsilon = np.array([0.4, 1.4, 6.0])
    precise = straight(sizes, 0.01, 1e12, dispersion).with_weights("precision", epsilon)
    ideal = sizes**2 / Laplace().noise_term(epsilon)
    np.testing.assert_allclose(precise.weights(epsilon), ideal / ideal.sum(), rtol=1e-6)
    assert precise.noise_at(epsilon) == pytest.approx(1 / ideal.sum(), rel=1e-6)
    sums = np.tile(precise.terms(epsilon).sum(axis=0), (3, 1))
    slopes = precise.slopes(epsilon, sums)
    assert np.isfinite(slopes).all() and (slopes < 0).all()


# ---- the first scenario of The Value of Collaboration
# ---------------------------------------------------------------

LARGE_AND_SMALL = np.array([1e5, 1e3, 1e3])
LOOSE_AND_STRICT = np.array([10.0, 0.1, 0.1])


def holder(size):
    """Records whose mean gradient at 0 is 0 and whose curvature is 2."""
    return SquaredStatistics(int(size), size * np.eye(3), np.zeros(3), float(size))


@pytest.mark.slow
def test_the_first_scenario_in_forecast_and_in_training():
    """One step: the variance of the aggregated answer is sum q^2 v within 3 standard errors, 10,000 times less by
    precision than by size, in the forecast as in the engine."""
    sizes = LARGE_AND_SMALL
    epsilon = LOOSE_AND_STRICT
    runs = 3000
    step = 0.5
    bound = 2.0
    variance = Laplace().variance(epsilon, sizes, bound, 2)
    made = straight(sizes, 1e-3, 1e10, 1.0)  # noise weighs much more than numbers do
    measured = {}
    forecast = {}
    for kind in ("size", "precision"):
        planner = made if kind == "size" else made.with_weights(kind, epsilon)
        weights = planner.weights(epsilon)
        forecast[kind] = planner.noise_at(epsilon)
        expected = float(weights**2 @ variance)
        assert forecast[kind] * bound**2 * float(Laplace().horizon_factor(2)) == pytest.approx(
            expected, rel=1e-9
        )
        assert expected == pytest.approx(aggregate_noise(weights, variance))
        owners = [
            Client(name, holder(n), float(np.sqrt(v / 2)), 2)
            for name, n, v in zip("abc", sizes, variance, strict=True)
        ]
        trained = train(
            Task(
                owners,
                Coordinates(np.zeros(3), np.eye(3), 1.0, 1.0, np.inf),
                Plan("averaged", "last", 2, step),
                Laplace(),
                runs=runs,
                streams=Streams(17, "noise"),
                weights=weights,
            )
        )
        answers = trained.theta.ravel() / step
        measured[kind] = np.mean(answers**2)
        error = np.std(answers**2, ddof=1) / np.sqrt(answers.size)
        assert abs(measured[kind] - expected) <= 3 * error
    assert forecast["size"] / forecast["precision"] > 10_000
    assert measured["size"] / measured["precision"] > 10_000


@pytest.mark.parametrize("between", [0.0, 0.02])
@pytest.mark.parametrize("kind", ["size", "equal", "precision"])
@pytest.mark.parametrize("ceiling", [np.inf, 3.0])
def test_sums_a_column_at_a_time_are_the_sums(kind, between, ceiling):
    """Owners alone at candidates, of which some share nothing: fitness, slopes and asking as from the stacked sums."""
    rng = np.random.default_rng(6)
    made = straight(rng.uniform(50, 5000, 6), 0.01, 1e3, 2.0)
    lines = Envelope.of_lines(np.array([0.01, 0.5]), np.array([1e3, 1e2]), ceiling)
    made = replace(made, envelope=lines, outside=min(ceiling, 5.0)).with_weights(
        kind, np.ones(6), between
    )
    others = made.terms(rng.uniform(0.1, 3, (6, 4))).sum(axis=1)[:, None]
    for candidates in (
        rng.uniform(0.01, 9, (6, 5)),
        np.tile([0.0, 0.3, 1.0, 0.0, 7.0], (6, 1)),
        np.zeros((6, 1)),
    ):
        columns = made.beside(candidates, others)
        sums = others + made.terms(candidates)
        np.testing.assert_array_equal(
            made.noise(columns) + np.zeros(candidates.shape), made.noise(sums)
        )
        np.testing.assert_array_equal(made.excess(columns), made.excess(sums))
        np.testing.assert_array_equal(
            made.slopes(candidates, columns), made.slopes(candidates, sums)
        )
        assert np.array_equal(made.asks(columns) | (candidates < 0), made.asks(sums))


def test_weights_by_size_are_the_default():
    assert straight(LARGE_AND_SMALL, 0.0, 1.0, 0.0).weighting == SizeWeighting()


KINDS = {"size": 0.0, "equal": 0.0, "precision": 3.0}


def unlike_market(kind, between, seed=0):
    """A forecast with one straight line on owners who differ in kind, and budgets of some of them."""
    sizes = np.exp(np.random.default_rng(seed).uniform(np.log(50), np.log(5000), 6))
    epsilon = np.array([0.5, 3.0, 1.0, 0.0, 2.0, 0.7])
    made = straight(sizes, 0.01, 1e3, 2.0).with_weights(kind, np.ones(6), between)
    return sizes, epsilon, made


@pytest.mark.parametrize("kind", KINDS)
def test_the_shift_of_unlike_owners_follows_from_sums(kind):
    sizes, epsilon, made = unlike_market(kind, 0.02)
    away = made.weights(epsilon) - sizes / sizes.sum()
    shift = made.weighting.record_shift(made.terms(epsilon).sum(axis=0))
    assert shift == pytest.approx(np.sum(away**2), rel=1e-9)
    alike = straight(sizes, 0.01, 1e3, 2.0).with_weights(kind, np.ones(6))
    spread = np.sum(made.weights(epsilon)[epsilon > 0] ** 2 / sizes[epsilon > 0]) - 1 / sizes.sum()
    expected = alike.envelope.value(made.noise_at(epsilon)) + 2.0 * (
        spread + 0.02 * np.sum(away**2)
    )
    assert made.at(epsilon) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_of_unlike_owners_against_finite_differences(kind):
    sizes, epsilon, made = unlike_market(kind, 0.02)
    sums = made.terms(epsilon).sum(axis=0)
    found = made.slopes(epsilon[:, None], np.tile(sums, (6, 1, 1)))[:, 0]
    for i in np.flatnonzero(epsilon):
        ends = [
            made.at(epsilon * np.where(np.arange(6) == i, 1 + step, 1)) for step in (1e-5, -1e-5)
        ]
        assert found[i] == pytest.approx(
            (ends[0] - ends[1]) / (2e-5 * epsilon[i]), rel=1e-5, abs=1e-12
        )


def test_precision_weights_go_by_records_as_owners_differ_and_where_nobody_adds_noise():
    sizes, epsilon, made = unlike_market("precision", 1e9)
    sharing = np.where(epsilon > 0, sizes, 0.0)
    np.testing.assert_allclose(made.weights(epsilon), sharing / sharing.sum(), rtol=1e-5)
    *_, made = unlike_market("precision", 0.01)
    np.testing.assert_allclose(made.weights(np.full(6, np.inf)), sizes / sizes.sum(), rtol=1e-9)


def test_what_unlike_owners_cost_against_monte_carlo():
    """Owners' means of a target: (sum q y_l - sum n_l/n y_l)^2 with y_l of variance tau^2 + sigma^2/n_l, C = sigma^2."""
    rng = np.random.default_rng(1)
    sizes = np.array([40.0, 100.0, 300.0])
    ratio = 0.05
    q = np.array([0.6, 0.3, 0.1])
    shares = sizes / sizes.sum()
    drawn = rng.normal(0, np.sqrt(ratio), (40_000, 3)) + rng.normal(
        0, 1 / np.sqrt(sizes), (40_000, 3)
    )
    lost = (drawn @ (q - shares)) ** 2
    expected = np.sum(q**2 / sizes) - 1 / sizes.sum() + ratio * np.sum((q - shares) ** 2)
    assert abs(lost.mean() - expected) <= 4 * lost.std() / np.sqrt(len(lost))


@pytest.mark.parametrize(
    ("mechanism", "within"),
    [
        (SubsampledGaussian(1e-4, 600, 400), 1e-3),
        (SubsampledGaussian(1e-4, 600, 400, "zcdp"), 1e-9),
        (SubsampledGaussian(1e-4, 600, 400, overlap=2), 1e-3),
        (PublishedNoise("sgd1", 1e-4, (300, 200, 100)), 1e-9),
        (Remaining(SubsampledGaussian(1e-4, 600, 400), 0.1), 0.02),
    ],
    ids=["pld", "zcdp", "overlap", "printed", "after a report"],
)
@pytest.mark.parametrize("sharing", [(1, 1, 1), (1, 1, 0), (0, 0, 1)])
def test_where_single_records_are_picked_the_noise_is_that_of_the_owners_who_share(
    mechanism, within, sharing
):
    """The mean over picks of the variances that training draws with: each record is used more often where there are fewer."""
    sizes = np.array([300.0, 200.0, 100.0])
    bound = 2.0
    sharing = np.array(sharing, dtype=bool)
    made = replace(
        straight(sizes, 1e-3, 1.0, 0.0), mechanism=mechanism, weighting=RecordWeighting()
    )
    budgets = np.where(sharing, 1.0, 0.0)
    trained = mechanism.for_owners(sizes[sharing])
    scale = np.asarray(trained.scale(budgets[sharing], sizes[sharing], bound, 400))
    expected = float(np.mean(scale**2))
    factor = bound**2 * float(mechanism.horizon_factor(400))
    assert made.noise_at(budgets) * factor == pytest.approx(expected, rel=within)
    sums = made.terms(budgets).sum(axis=0)
    found = made.slopes(budgets[:, None], np.tile(sums, (3, 1, 1)))[:, 0]
    for i in np.flatnonzero(sharing):
        ends = [
            made.at(budgets * np.where(np.arange(3) == i, 1 + step, 1)) for step in (1e-4, -1e-4)
        ]
        assert found[i] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3)

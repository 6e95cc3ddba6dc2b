"""The Laplace mechanism: what it adds, what it promises, what it refuses, and what a record can change at most."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from learning.losses.coordinates import Coordinates, whitening_transform
from learning.losses.statistics import squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import Client, make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task


def random_coordinates(seed, radius, target_bound, theta_max, p=3):
    rng = np.random.default_rng(seed)
    return Coordinates(
        rng.normal(size=p),
        whitening_transform(np.cov(rng.normal(size=(20, p)), rowvar=False)),
        radius,
        target_bound,
        theta_max,
    )


# ---- what a record can change
# -------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    x=arrays(float, (4, 3), elements=st.floats(-1e6, 1e6)),
    y=arrays(float, 4, elements=st.floats(-1e9, 1e9)),
    radius=st.floats(0.01, 100),
    target_bound=st.floats(0.01, 100),
    theta_max=st.floats(0.01, 100),
)
def test_no_record_exceeds_the_bound_anywhere_in_the_ball(
    seed, x, y, radius, target_bound, theta_max
):
    """Corners of the ball suffice, the 1-norm of a linear map being convex; the inside is tried all the same."""
    coordinates = random_coordinates(seed, radius, target_bound, theta_max)
    corners = theta_max * np.array(list(product((-1, 1), repeat=3)))
    inside = np.random.default_rng(seed).uniform(-theta_max, theta_max, size=(8, 3))
    for record, target in zip(x, y, strict=True):
        alone = coordinates.statistics(record[None], np.array([target]))
        largest = np.abs(alone.gradient(np.concatenate([corners, inside]))).sum(axis=-1).max()
        assert largest <= coordinates.gradient_bound * (1 + 1e-9)


def test_a_record_is_shortened_not_turned_and_a_short_one_is_left_alone():
    coordinates = Coordinates(
        np.array([1.0, 0.0]), np.eye(2), radius=2.0, target_bound=1.5, theta_max=1.0
    )
    x, y = coordinates.records(
        np.array([[3.0, -1.0], [0.5, 0.5], [0.0, 0.0]]), np.array([10.0, 1.0, -0.25])
    )
    assert x.tolist() == [[1.5, -0.5], [0.5, 0.5], [0.0, 0.0]]
    assert y.tolist() == [1.5, 0.5, -0.25]  # counted from the start's prediction 3.0, 0.5, 0.0


def test_a_record_of_zeros_passes_any_radius():
    for radius in (10.0, np.inf):
        x, _ = Coordinates(np.zeros(2), np.eye(2), radius, 1.0, 1.0).records(
            np.zeros((1, 2)), np.zeros(1)
        )
        assert (x == 0).all()


def neighbours_change(coordinates, candidates, n):
    """Largest 1-norm change of the whole answer when one of n records is replaced, over candidates and ball corners."""
    corners = coordinates.theta_max * np.array(
        list(product((-1, 1), repeat=len(coordinates.centre)))
    )
    rest = [candidates[i % len(candidates)] for i in range(n - 1)]
    answers = []
    for record in candidates:
        x, y = (np.array(part) for part in zip(*[record, *rest], strict=True))
        answers.append(coordinates.statistics(x, y).gradient(corners))
    return max(float(np.abs(a - b).sum(axis=-1).max()) for a in answers for b in answers)


def test_replacing_a_record_changes_the_answer_by_at_most_twice_the_bound_over_n():
    """Brute force over neighbouring data sets; 2 Xi/n is attained, so Xi/n would promise too much."""
    coordinates = Coordinates(np.zeros(2), np.eye(2), radius=2.0, target_bound=1.0, theta_max=0.5)
    values = (-9.0, -2.0, -1.0, 0.0, 1.0, 2.0, 9.0)
    candidates = [((a, b), y) for a, b, y in product(values, values, (-5.0, -1.0, 0.0, 1.0))]
    for n in (1, 4):
        change = neighbours_change(coordinates, candidates, n)
        assert change <= 2 * coordinates.gradient_bound / n * (1 + 1e-12)
        assert change == pytest.approx(2 * coordinates.gradient_bound / n, rel=1e-12)


def test_the_factor_two_is_needed_for_encoded_records_too():
    """With the constant 1 in every record and whitened features, a pair still changes the answer by more than Xi/n."""
    rng = np.random.default_rng(4)
    public = np.column_stack([rng.uniform(-1, 1, size=(100, 2)), np.ones(100)])
    coordinates = Coordinates(
        np.array([0.5, -0.5, 0.1]),
        whitening_transform(public.T @ public / len(public)),
        3.0,
        1.0,
        0.3,
    )
    candidates = [
        ((a, b, 1.0), y)
        for a, b, y in product((-1.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (-5.0, 0.0, 5.0))
    ]
    change = neighbours_change(coordinates, candidates, 5)
    assert (
        coordinates.gradient_bound / 5 < change <= 2 * coordinates.gradient_bound / 5 * (1 + 1e-12)
    )


# ---- how much noise
# -----------------------------------------------------------------------------------------------


def test_each_round_spends_its_share_of_the_budget():
    """Laplace noise of scale b on an answer of 1-norm sensitivity D is D/b-private: T rounds, kappa owners."""
    epsilon = np.array([0.1, 1.0, 10.0])
    sizes = np.array([100, 2000, 30])
    bound = 3.7
    horizon = 12
    for overlap in (1, 3):
        scale = Laplace(overlap).scale(epsilon, sizes, bound, horizon)
        assert overlap * horizon * (2 * bound / sizes) / scale == pytest.approx(epsilon, rel=1e-12)


def test_no_noise_at_infinity_and_endless_noise_at_zero():
    scale = Laplace().scale([0.0, 1.0, np.inf], [10, 10, 10], 2.0, 5)
    assert scale.tolist() == [np.inf, 2.0, 0.0]
    assert Laplace().scale([np.inf], [10], np.inf, 5).tolist() == [
        0.0
    ]  # who adds no noise needs no bound
    assert Laplace().noise_term([0.0, 2.0, np.inf]).tolist() == [0.0, 2.0, 0.0]


def test_variance_and_epsilon_are_inverse():
    epsilon = np.array([0.01, 1.0, 50.0])
    variance = Laplace(2).variance(epsilon, [10, 1000, 7], 3.0, 20)
    assert Laplace(2).epsilon(variance, [10, 1000, 7], 3.0, 20) == pytest.approx(epsilon)


def test_terms_and_growth_make_the_aggregated_variance():
    """sum q^2 v = Xi^2 growth(T) sum(term)/n^2 with q = n_l/n: the two ways the program counts noise."""
    epsilon = np.array([0.3, 2.0, 7.0])
    sizes = np.array([500.0, 100.0, 2400.0])
    bound = 4.2
    horizon = 9
    mechanism = Laplace(2)
    weights = sizes / sizes.sum()
    direct = float(np.sum(weights**2 * mechanism.variance(epsilon, sizes, bound, horizon)))
    forecast = (
        bound**2
        * mechanism.horizon_factor(horizon)
        * mechanism.noise_term(epsilon).sum()
        / sizes.sum() ** 2
    )
    assert forecast == pytest.approx(direct, rel=1e-12)


def owners(epsilon, sizes, horizon, p=10, bound=3.0):
    rng = np.random.default_rng(0)
    statistics = [squared_statistics(rng.normal(size=(n, p)), rng.normal(size=n)) for n in sizes]
    return make_clients(
        [f"o{i}" for i in range(len(sizes))], statistics, epsilon, Laplace(), bound, horizon
    )


def test_noise_level_of_the_aggregate():
    """10^6 draws: the sample variance has a variance of at most 5 v^2/10^6, so 1 % is four standard errors."""
    epsilon = np.array([0.5, 2.0, 1.0])
    sizes = [300, 100, 200]
    horizon = 101
    noise = sum(
        n / 600 * owner.noise(Laplace(), 1000, Streams(5, "noise")).take(100)
        for n, owner in zip(sizes, owners(epsilon, sizes, horizon), strict=True)
    )
    assert noise.size == 10**6
    weights = np.array(sizes) / 600
    expected = float(np.sum(weights**2 * Laplace().variance(epsilon, sizes, 3.0, horizon)))
    assert noise.var() == pytest.approx(expected, rel=0.01)
    assert abs(noise.mean()) < 4 * np.sqrt(expected / noise.size)
    by_coordinate = noise.reshape(-1, 10).var(axis=0)  # every coordinate is noised alike
    assert by_coordinate == pytest.approx(np.full(10, expected), rel=0.04)


def test_noise_is_laplace():
    """Kolmogorov's test on 10^5 draws, at the 0.1 % level; a normal law of the same variance fails it by far."""
    (owner,) = owners(np.array([0.7]), [50], 4)
    draws = owner.noise(Laplace(), 100, Streams(6, "noise")).take(100).ravel()
    assert stats.kstest(draws, stats.laplace(scale=2 * 3.0 * 4 / (50 * 0.7)).cdf).pvalue > 1e-3
    assert stats.kstest(draws, stats.norm(scale=draws.std()).cdf).pvalue < 1e-9


# ---- what is promised and refused
# ---------------------------------------------------------------------------------


def test_the_claim_says_what_and_against_whom():
    claim = Laplace().claim("bank", 0.5, 10)
    assert (claim.party, claim.epsilon, claim.delta, claim.rounds, claim.mechanism) == (
        "bank",
        0.5,
        0.0,
        10,
        "laplace",
    )
    assert (
        claim.adjacency == "replace one record"
        and claim.simulation
        and "learner" in claim.protects_against
    )


@pytest.mark.parametrize("epsilon", [np.inf, -0.1, np.nan])
def test_no_claim_without_noise(epsilon):
    with pytest.raises(ValueError, match="no privacy can be claimed"):
        Laplace().claim("bank", epsilon, 10)


@pytest.mark.parametrize("overlap", [0, -1, 0.5])
def test_overlap_below_one_is_refused(overlap):
    with pytest.raises(ValueError, match="overlap"):
        Laplace(overlap)


@pytest.mark.parametrize(
    ("epsilon", "bound", "horizon", "message"),
    [
        (-1.0, 1.0, 5, "epsilon"),
        (np.nan, 1.0, 5, "epsilon"),
        (1.0, 1.0, 0, "horizon"),
        (1.0, np.inf, 5, "finite"),
        (1.0, np.nan, 5, "finite"),
        (1.0, 0.0, 5, "positive"),
    ],
)
def test_noise_that_would_protect_nothing_is_refused(epsilon, bound, horizon, message):
    with pytest.raises(ValueError, match=message):
        Laplace().scale([epsilon], [100], bound, horizon)


def test_training_needs_a_run():
    coordinates = Coordinates(np.zeros(3), np.eye(3), 1.0, 1.0, 1.0)
    owner = Client("a", squared_statistics(np.eye(3), np.ones(3)), 1.0, 100)
    with pytest.raises(ValueError, match="runs"):
        train(
            Task(
                [owner],
                coordinates,
                Plan("averaged", "last", 3, 0.1),
                Laplace(),
                runs=0,
                streams=Streams(0, "noise"),
            )
        )

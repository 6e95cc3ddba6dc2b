"""Weights under one shared noise: against a constrained optimiser, a published threshold, and what privacy asks."""

import numpy as np
import pytest
from scipy.optimize import minimize

from learning.forecast.shared_noise import SaturatedWeighting, saturation, shared_weights
from learning.forecast.weighting import Answers
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace


def shared_noise(term, sizes, weights):
    """max q^2 t/n^2: one noise that hides every owner's weighted records at its own budget."""
    return np.max(np.square(weights) * term / np.square(sizes), initial=0.0)


def cost(weights, term, sizes, balance):
    """balance max q^2 t/n^2 + sum q^2/n."""
    return balance * shared_noise(term, sizes, weights) + float(np.sum(weights**2 / sizes))


def optimised(term, sizes, balance):
    """The least of the same by SLSQP over q >= 0 and the largest need h: smooth in both, the needs are constraints."""
    need = np.sqrt(term) / sizes
    scale = 1 / sizes.sum()
    start = np.append(sizes / sizes.sum(), np.max(sizes / sizes.sum() * need))
    found = minimize(
        lambda at: (balance * at[-1] ** 2 + np.sum(at[:-1] ** 2 / sizes)) / scale,
        start,
        method="SLSQP",
        bounds=[(0, None)] * len(start),
        constraints=[
            {"type": "eq", "fun": lambda at: at[:-1].sum() - 1},
            {"type": "ineq", "fun": lambda at: (at[-1] - at[:-1] * need) / need.max()},
        ],
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.x[:-1] / found.x[:-1].sum()


def market(seed, n_owners=5):
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(np.log(1e2), np.log(1e4), n_owners))
    return (
        8 / np.exp(rng.uniform(np.log(0.05), np.log(20), n_owners)) ** 2,
        sizes,
        np.exp(rng.uniform(-3, 5)),
    )


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_those_of_a_solver(seed):
    term, sizes, balance = market(seed)
    ours = shared_weights(term, sizes, np.ones(5, dtype=bool), balance)
    solved = optimised(term, sizes, balance)
    assert cost(ours, term, sizes, balance) <= cost(solved, term, sizes, balance) * (1 + 1e-9)
    np.testing.assert_allclose(ours, solved, atol=2e-3)


def test_the_threshold_of_chaudhuri_and_courtade():
    # a variable in [-1/2, 1/2], one record each, Laplace noise: w proportional to min(epsilon, (8 +
    # sum e^2)/sum e)
    budgets = np.sort(np.random.default_rng(3).exponential(0.6, 40))
    ours = shared_weights(2 / budgets**2, np.ones(40), budgets > 0, balance=4.0)
    rule = [(8 + np.sum(budgets[:k] ** 2)) / np.sum(budgets[:k]) for k in range(1, 41)]
    least = min(
        rule
    )  # the first k whose own budget lies under the threshold while the next does not
    assert budgets[0] < least < budgets[-1]
    published = np.minimum(budgets, least) / np.minimum(budgets, least).sum()
    np.testing.assert_allclose(ours, published, rtol=1e-12)


def test_the_strictest_set_the_error_and_lax_budgets_saturate():
    sizes = np.full(2, 1000.0)
    both = np.ones(2, dtype=bool)

    def error(first):
        term = Laplace().noise_term(np.array([first, 0.1]))
        return cost(shared_weights(term, sizes, both, 1.0), term, sizes, 1.0)

    level = saturation(Laplace().noise_term([5.0, 0.1]), sizes, both, 1.0)
    enough = float(Laplace().budget(level**2))
    assert 0.1 < enough < 5.0
    assert (
        error(enough)
        == pytest.approx(error(5.0), rel=1e-12)
        == pytest.approx(error(np.inf), rel=1e-12)
    )
    assert error(enough / 2) > error(enough) * 1.01
    assert error(5.0) > 0.2 * cost(np.full(2, 0.5), Laplace().noise_term([0.1, 0.1]), sizes, 1.0)


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-6)])
def test_one_noise_hides_every_owner_at_its_own_budget(mechanism):
    budgets = np.array([4.0, 0.3, 1.0, np.inf, 0.0])
    sizes = np.array([500.0, 4000.0, 1000.0, 2000.0, 900.0])
    term = mechanism.noise_term(budgets)
    sharing = budgets > 0
    weights = shared_weights(term, sizes, sharing, balance=3.0)
    whole = shared_noise(term, sizes, weights)
    assert weights.sum() == pytest.approx(1) and weights[-1] == 0
    # what each owner's own answer would have to carry, were the whole noise its own
    alone = mechanism.budget(whole * sizes[:3] ** 2 / weights[:3] ** 2)
    assert np.all(alone <= budgets[:3] * (1 + 1e-9))


def test_an_announced_level_makes_noise_of_the_sum_alone():
    term, sizes, balance = market(9)
    everybody = np.ones(5, dtype=bool)
    level = saturation(term, sizes, everybody, balance)
    weighting = SaturatedWeighting(level=level)
    raw = weighting.raw_weights(Answers(term, sizes, everybody))
    needed = shared_noise(term, sizes, raw / raw.sum())
    assert needed == pytest.approx(1 / raw.sum() ** 2)
    # no owner as strict as the level: more than enough
    laxer = weighting.raw_weights(Answers(term / 1e6, sizes, everybody))
    assert shared_noise(term / 1e6, sizes, laxer / laxer.sum()) < 1 / laxer.sum() ** 2


def test_limits():
    sizes = np.array([1.0, 2.0, 5.0])
    three = np.ones(3, dtype=bool)
    by_size = sizes / sizes.sum()
    none = np.zeros(3)
    np.testing.assert_allclose(
        shared_weights(none, sizes, three, 1.0), by_size
    )  # nobody adds noise
    np.testing.assert_allclose(
        shared_weights([8.0, 2.0, 1.0], sizes, three, 0.0), by_size
    )  # noise costs nothing
    alike = sizes / np.sqrt([8.0, 2.0, 1.0])  # noise alone counts: all need the same
    np.testing.assert_allclose(
        shared_weights([8.0, 2.0, 1.0], sizes, three, 1e200), alike / alike.sum()
    )
    assert shared_weights(none, sizes, ~three, 1.0).tolist() == [0, 0, 0] == none.tolist()
    assert shared_weights([3.0], [7.0], np.array([True]), 2.0).tolist() == [1.0]

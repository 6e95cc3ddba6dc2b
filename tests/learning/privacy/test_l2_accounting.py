"""What answers under l2 noise spend together: against draws, another way to the same law, Laplace and Gaussian noise."""

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.special import betainc, expit
from scipy.stats import gamma

from learning.privacy.composition import AccountedL2
from learning.privacy.gaussian import Gaussian, exact_epsilon
from learning.privacy.l2 import L2
from learning.privacy.l2_accounting import (
    FactorCurve,
    common_factor,
    compose_parts,
    factor_curve,
    scale_ratios,
    spent_epsilon,
)

DRAWS = 100_000


def drawn_losses(parts, rng):
    """Of all answers together, where the noise is the mechanism's own and one coordinate moves."""
    total = np.zeros(DRAWS)
    for ratio, width in parts:
        noise = L2(width).draw(1.0, (DRAWS, width), rng=rng)
        moved = noise - ratio * (np.arange(width) == width - 1)
        total += np.linalg.norm(moved, axis=1) - np.linalg.norm(noise, axis=1)
    return total


@pytest.mark.parametrize(
    ("parts", "epsilon"),
    [
        (((0.7, 2),), 0.3),
        (((1.5, 3), (0.6, 3)), 0.8),
        pytest.param(((1.0, 10), (2.0, 10), (4.0, 65)), 2.0, marks=pytest.mark.slow),
        (((9.0, 4),), 7.0),
    ],
    ids=str,
)
def test_the_profile_is_that_of_draws(parts, epsilon):
    """Mean of (1 - e^(epsilon - loss))_+ over 100,000 draws, within four standard errors, which are under 4 %."""
    above = np.maximum(
        0.0, -np.expm1(epsilon - drawn_losses(parts, np.random.default_rng(len(parts))))
    )
    error = above.std() / np.sqrt(DRAWS)
    assert error < 0.04 * above.mean()
    assert float(compose_parts(parts).profile([epsilon])[0]) == pytest.approx(
        above.mean(), abs=4 * error
    )


def chance_below(losses, ratio, width):
    """P[loss of one answer <= l], (k,), without prolate coordinates: by the radius R, and the angle to the shift.

    |z - s| - |z| <= l where the angle's cosine c is at least (r^2 - l^2 - 2 R l)/(2 R r), nowhere below R = (r - l)/2; and
    (1 - c)/2 has a beta distribution.
    """
    roots, weights = np.polynomial.legendre.leggauss(200)
    least = (ratio - losses[:, None]) / 2
    half = (width - 1) / 2
    furthest = np.sqrt(gamma.isf(1e-15, width))
    root = furthest * (roots + 1) / 2
    radius = least + root**2
    cosine = (ratio**2 - losses[:, None] ** 2 - 2 * radius * losses[:, None]) / (2 * radius * ratio)
    given = gamma.pdf(radius, width) * betainc(half, half, np.clip((1 - cosine) / 2, 0, 1))
    return (given * weights * furthest * root).sum(axis=1)


def added_up(ratios, width, epsilon, cell):
    """Delta by the law of a loss as radius and angle give it, in cells of even width, added up directly."""
    joint = np.ones(1)
    lowest = 0.0
    for ratio in ratios:
        edges = np.arange(round(-ratio / cell), round(ratio / cell) + 1) * cell
        masses = np.diff(np.concatenate([[0.0], chance_below(edges[1:-1], ratio, width), [1.0]]))
        joint = np.convolve(joint, masses)
        lowest = lowest + edges[0] + cell / 2
    at = lowest + cell * np.arange(len(joint))
    return float((joint * np.maximum(0.0, -np.expm1(epsilon - at))).sum())


@pytest.mark.parametrize(
    ("width", "ratios", "epsilon"), [(3, (0.8, 0.4), 0.7), (5, (1.0, 1.0, 2.0), 2.2)]
)
def test_another_accountant_agrees(width, ratios, epsilon):
    """Losses are taken for the middle of their cell there; what that misses falls with the square of the cell."""
    coarse, fine = (added_up(ratios, width, epsilon, cell) for cell in (0.01, 0.005))
    found = float(compose_parts(tuple((ratio, width) for ratio in ratios)).profile([epsilon])[0])
    assert found == pytest.approx(fine + (fine - coarse) / 3, rel=1e-4)


@pytest.mark.parametrize(
    ("ratio", "answers", "delta"), [(1.0, 1, 1e-6), (0.3, 5, 1e-6), (0.2, 40, 1e-3)]
)
def test_one_number_is_counted_as_laplace_noise(ratio, answers, delta):
    one = privacy_loss_distribution.from_laplace_mechanism(
        1 / ratio, value_discretization_interval=ratio / 200
    )
    assert spent_epsilon(((ratio, 1),) * answers, delta) == pytest.approx(
        one.self_compose(answers).get_epsilon_for_delta(delta), rel=5e-5
    )


def test_very_many_numbers_are_counted_as_gaussian_noise():
    """Of distance r/sqrt(p + 1) an answer, from where it differs by some 1/p."""
    found = [spent_epsilon(((0.2 * np.sqrt(p + 1), p),) * 2, 1e-6) for p in (100, 1000, 10_000)]
    told = float(exact_epsilon(0.2 * np.sqrt(2), 1e-6))
    apart = np.abs(np.array(found) / told - 1)
    assert apart[2] < 1e-3 and np.all(apart[1:] < apart[:-1] / 3)


def test_variance_of_one_answer_against_pure_and_gaussian_noise():
    """At p = 10, epsilon = 1, delta = 1e-6, in squares of the sensitivity: 9.2 exactly counted, 11 pure, 17.8 Gaussian."""
    at = (1.0, 1, 0.5, 1)
    found = [
        float(one.variance(*at))
        for one in (AccountedL2(1e-6, 1, 10), L2(10), Gaussian(1e-6, "pld"))
    ]
    assert found == pytest.approx([9.24, 11.0, 17.85], abs=0.01)


def test_a_longer_shift_gives_away_more_at_every_epsilon():
    epsilon = np.array([0.0, 0.05, 0.2, 0.7, 1.3])
    for width in (2, 3, 10):
        rising = np.array(
            [
                compose_parts(((ratio, width),)).profile(epsilon)
                for ratio in np.geomspace(0.05, 4.0, 15)
            ]
        )
        assert np.all(np.diff(rising, axis=0) >= 0)


@pytest.mark.parametrize(("width", "horizon"), [(2, 1), (3, 4), (10, 2)])
def test_a_ratio_is_the_largest_that_keeps_to_its_budget(width, horizon):
    """Between counted budgets too, and never below basic composition's."""
    mechanism = AccountedL2(1e-5, horizon, width)
    epsilon = np.array([0.004, 0.31, 1.0, 6.4, 47.0])
    ratios = mechanism.ratio(epsilon)
    lost = np.array([spent_epsilon(((float(ratio), width),) * horizon, 1e-5) for ratio in ratios])
    assert np.all(lost <= epsilon * (1 + 1e-9)) and np.all(lost >= epsilon * (1 - 5e-4))
    assert np.all(ratios >= epsilon / horizon)
    assert mechanism.ratio(2e-4) == pytest.approx(mechanism.ratio(1e-3) / 5, rel=1e-9)


def test_a_handful_of_budgets_asks_for_a_handful_of_counts():
    made = FactorCurve(((1.0, 4),) * 3, 1e-7)
    made(np.log([1.0]))
    assert len(made.counted) == 1
    made(np.log([1.01, 1.02]))
    assert len(made.counted) == 6
    step = 1e-4
    slope = (made(0.3 + step) - made(0.3 - step)) / (2 * step)
    assert made(0.3, 1) == pytest.approx(slope, rel=1e-6)


def test_uneven_answers_and_their_common_factor():
    parts = ((1.0, 3), (2.0, 3), (4.0, 9))
    factor = common_factor(parts, 1.3, 1e-6)
    assert spent_epsilon(scale_ratios(parts, factor), 1e-6) == pytest.approx(1.3, rel=1e-5)
    assert common_factor(parts, 1.4, 0.0) == pytest.approx(0.2) and spent_epsilon(parts, 0.0) == 7.0
    apart = compose_parts(((0.5, 3), (0.5, 3)))
    alike = compose_parts(((0.5, 3), (0.5, 4)))
    assert apart.profile([0.3])[0] > alike.profile([0.3])[0]  # the wider answer shows less


def test_what_two_owners_of_a_record_give_away_together():
    shared = AccountedL2(1e-4, 3, 5, overlap=2)
    held = np.array([[0.5, 2.0], [0.5, 0.5]])
    joint = shared.joint_epsilon(held, 3)
    assert joint[0] == pytest.approx(0.5, rel=1e-3) and 0.5 < joint[1] < 2.0
    assert shared.ratio(0.5) < AccountedL2(1e-4, 3, 5).ratio(0.5)
    losses = drawn_losses(
        [(float(shared.ratio(e)), 5) for e in (2.0, 0.5) for _ in range(3)],
        np.random.default_rng(3),
    )
    above = np.maximum(0.0, -np.expm1(joint[1] - losses))
    assert above.mean() <= 1e-4 + 4 * above.std() / np.sqrt(DRAWS)


def test_no_belief_rises_above_the_bound_but_for_delta():
    mechanism = AccountedL2(0.01, 2, 3)
    bound = mechanism.belief_bound(np.array([[1.0]]), 2, np.array([9]))[0]
    losses = drawn_losses([(float(mechanism.ratio(1.0)), 3)] * 2, np.random.default_rng(4))
    above = np.mean(expit(np.abs(losses)) > bound)
    assert 0.001 < above <= 0.01 + 4 * np.sqrt(0.01 / DRAWS)


def test_where_no_pair_is_worst_for_all_parts_every_choice_is_counted():
    choices = (((1.0, 3), (0.2, 6)), ((0.7, 3), (0.9, 6)))
    made = AccountedL2(1e-5, 1, 3, pairs=choices)
    alone = [AccountedL2(1e-5, 1, 3, pairs=(one,)) for one in choices]
    assert (
        made.ratio([0.2, 3.0]).tolist()
        == np.min([one.ratio([0.2, 3.0]) for one in alone], axis=0).tolist()
    )
    with pytest.raises(ValueError, match="in one answer, got 2"):
        AccountedL2(1e-5, 2, 3, pairs=choices).ratio(1.0)
    assert factor_curve(choices[0], 1e-5).counted  # kept for all who ask for the same


def test_answers_of_growing_shares_spend_the_budget_together():
    mechanism = AccountedL2(1e-5, 3, 4, growth=2.0)
    ratios = float(mechanism.ratio(1.5)) / mechanism.relative_scales(2.0, 3)
    assert ratios / ratios[0] == pytest.approx([1, 2, 4])
    lost = spent_epsilon(tuple((ratio, 4) for ratio in ratios.tolist()), 1e-5)
    assert 1.5 * (1 - 5e-4) < lost <= 1.5
    assert mechanism.ratio(1.5) < AccountedL2(1e-5, 3, 4).ratio(1.5)


def test_a_budget_beyond_what_is_counted_is_unknown():
    """So that noise at a bound far below the proved one proves nothing, and is no budget to be refused."""
    noise = AccountedL2(1e-6, horizon=3, width=10)
    assert noise.budget(noise.noise_term(400.0)) == pytest.approx(400.0, rel=1e-3)
    assert noise.budget(noise.noise_term(400.0) / 4) == np.inf


def test_noise_alone_asks_for_one_count_of_a_budget_and_slopes_for_more():
    mechanism = AccountedL2(3.7e-6, 4, 9)
    alone = mechanism.ratio(1.0)
    (curve,) = mechanism._curves
    assert len(curve.counted) == 1
    ratio, elasticity = mechanism._counted_ratio(np.array(1.0))
    assert ratio == alone and 0 < elasticity <= 1 and len(curve.counted) > 4

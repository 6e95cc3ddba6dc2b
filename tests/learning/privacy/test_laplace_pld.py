"""Laplace noise accounted by privacy-loss distributions: the accountant again, closed forms, the dominating pair."""

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import binom
from sizes import sized, thinned

from learning.errors import InputError
from learning.privacy.composition import AccountedLaplace, spent_epsilon
from learning.privacy.laplace import Laplace
from learning.privacy.mechanism import Mechanism

SETTINGS = [(1, 1e-6), (10, 1e-6), (10, 0.1), (100, 1e-6)]
BUDGETS = np.exp(np.random.default_rng(0).uniform(np.log(1e-3), np.log(300), 8))


def laplace_delta(epsilon, ratio):
    """Smallest delta of one Laplace answer at any real e: 1 - exp((e - r)/2) within |e| <= r, r = sensitivity/scale."""
    inside = -np.expm1((np.clip(epsilon, -ratio, ratio) - ratio) / 2)
    return np.where(epsilon < -ratio, -np.expm1(np.minimum(epsilon, 0.0)), inside)


def hockey_stick(epsilon, ratios, points=24):
    """Of a product of Laplace shifts, by Gauss-Legendre over the loss of all shifts but the last; -r and r have mass."""
    *others, last = ratios
    if not others:
        return laplace_delta(epsilon, last)
    first = others[0]
    nodes, weights = np.polynomial.legendre.leggauss(points)
    # the remaining shifts' divergence bends where epsilon less this loss meets a sum of their own
    # bends
    signs = np.array(np.meshgrid(*[[-1, 1]] * (len(ratios) - 1))).reshape(len(ratios) - 1, -1)
    bends = np.clip(epsilon - signs.T @ np.array(ratios[1:]), -first, first)
    edges = np.unique(np.concatenate([[-first, first], bends]))
    total = 0.5 * hockey_stick(epsilon - first, ratios[1:], points)
    total += 0.5 * np.exp(-first) * hockey_stick(epsilon + first, ratios[1:], points)
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        for x, w in zip(
            (low + high) / 2 + (high - low) / 2 * nodes, weights * (high - low) / 2, strict=True
        ):
            total += (
                w * 0.25 * np.exp((x - first) / 2) * hockey_stick(epsilon - x, ratios[1:], points)
            )
    return total


@pytest.mark.slow
def test_one_answer_is_the_closed_form():
    """delta of Laplace noise by integration over the line, and the budget of one answer, r + 2 log(1 - delta)."""
    grid = np.linspace(-60, 60, 600_001)
    for epsilon, ratio in (
        (-2.0, 1.0),
        (-0.4, 1.0),
        (0.0, 0.3),
        (0.5, 1.0),
        (1.9, 2.0),
        (3.0, 2.0),
    ):
        positive = np.maximum(np.exp(-np.abs(grid - ratio)) - np.exp(epsilon - np.abs(grid)), 0) / 2
        assert float(laplace_delta(epsilon, ratio)) == pytest.approx(
            np.trapezoid(positive, grid), abs=1e-6
        )
    for delta in (1e-6, 0.1):
        ratio = AccountedLaplace(delta, 1).ratio(BUDGETS)
        exact = BUDGETS - 2 * np.log1p(-delta)
        assert (ratio <= exact).all() and (ratio >= exact * (1 - 3e-4)).all()


@pytest.mark.slow
@pytest.mark.parametrize("answers, delta", thinned(SETTINGS, SETTINGS[:2]))
def test_the_accountant_finds_the_budget_kept_and_hardly_more_noise_than_needed(answers, delta):
    """Both directions, by dp-accounting at a discretisation four times finer."""
    mechanism = AccountedLaplace(delta, answers)
    some = BUDGETS[: sized(3, 8)]
    for epsilon, ratio in zip(some, 2 / 50 / mechanism.scale(some, 50, 1.0, answers), strict=True):
        assert at_fine_cells(ratio, answers).get_delta_for_epsilon(epsilon) <= delta
        if epsilon < answers * ratio * (
            1 - 1e-9
        ):  # where basic composition is not the better of the two
            assert at_fine_cells(ratio * (1 + 3e-4), answers).get_delta_for_epsilon(epsilon) > delta


def at_fine_cells(ratio, answers):
    cell = ratio / max(400, np.ceil(ratio / 0.0125))
    return pld.from_laplace_mechanism(1 / ratio, value_discretization_interval=cell).self_compose(
        answers
    )


def test_a_finer_accountant_never_finds_more_spent():
    """Pessimistic: the privacy loss rounded four times finer gives no larger epsilon; the cost is below 3e-5."""
    for ratio, answers in ((0.01, 100), (0.1, 10), (1.0, 30), (3.0, 100)):
        epsilon = at_fine_cells(ratio, answers).get_epsilon_for_delta(1e-6)
        assert epsilon * (1 - 1e-7) <= spent_epsilon(ratio, answers, 1e-6) <= epsilon * (1 + 3e-5)


def test_small_losses_are_coin_tosses():
    """A second route: at ratios near 0 an answer's loss is r or -r, as of randomised response, so that delta is a
    binomial sum; the losses in between, of probability r/2, leave it below that."""
    answers = 20
    ratio = 1e-3
    epsilon = 4.1e-3
    heads = np.arange(answers + 1)
    losses = (2 * heads - answers) * ratio
    tossed = binom.pmf(heads, answers, 1 / (1 + np.exp(-ratio))) @ np.maximum(
        1 - np.exp(epsilon - losses), 0
    )
    assert epsilon * 0.99 < spent_epsilon(ratio, answers, float(tossed)) <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("total", [0.05, 0.5, 1.0, 3.0, 8.0])
def test_one_coordinate_moving_the_whole_way_dominates_every_split(total):
    splits = [(0.5, 0.5), (0.9, 0.1), (0.99, 0.01), (1 / 3, 2 / 3), (0.3, 0.2)]
    splits += [(1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1), (0.8, 0.1, 0.1), (0.45, 0.45, 0.1)]
    for epsilon in np.linspace(-1.2 * total, 1.2 * total, sized(7, 17)):
        whole = float(laplace_delta(epsilon, total))
        for split in splits:
            parts = [share * total for share in split]
            points = 16 if len(parts) == 2 else 8
            assert hockey_stick(epsilon, parts, points) <= whole + 1e-9, (epsilon, split)
    assert (
        hockey_stick(0.0, [total / 2, total / 2]) < float(laplace_delta(0.0, total)) * 0.97
    )  # and not equality


def test_the_divergence_of_a_split_agrees_with_the_accountant():
    """The quadrature above against two Laplace shifts composed by dp-accounting, so that it bounds what it should."""
    for parts in ((0.5, 0.5), (1.0, 0.25)):
        one, two = (
            pld.from_laplace_mechanism(1 / part, value_discretization_interval=1e-3)
            for part in parts
        )
        for epsilon in (0.0, 0.3, 0.9):
            assert hockey_stick(epsilon, parts) == pytest.approx(
                one.compose(two).get_delta_for_epsilon(epsilon), abs=1e-6
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    "answers, delta",
    thinned([(1, 1e-6), (10, 1e-6), (100, 1e-6), (5, 1e-13)], [*SETTINGS[:2], (5, 1e-13)]),
)
def test_noise_falls_with_the_budget_and_never_exceeds_basic_composition(answers, delta):
    mechanism = AccountedLaplace(delta, answers)
    budgets = np.geomspace(1e-5, 500, 4000)
    scale = mechanism.scale(budgets, 100, 2.0, answers)
    basic = Laplace().scale(budgets, 100, 2.0, answers)
    assert (np.diff(scale) < 0).all() and (scale <= basic * (1 + 1e-12)).all()
    if answers == 100:
        assert scale[-1000] < 0.9 * basic[-1000]
    if delta == 1e-13:  # below what the accountant's rounding could hide: worth nothing
        np.testing.assert_allclose(scale, basic, rtol=1e-12)


@pytest.mark.slow
def test_below_the_table_the_budget_is_kept():
    """The ratio falls in proportion to epsilon there, which the accountant confirms, and joins the table."""
    for answers, delta in ((1, 1e-6), (10, 1e-6), (10, 0.1)):
        mechanism = AccountedLaplace(delta, answers)
        for epsilon in (1e-4, 3e-4, 9e-4):
            assert spent_epsilon(float(mechanism.ratio(epsilon)), answers, delta) <= epsilon
        below, above = mechanism.ratio([1e-3 * (1 - 1e-6), 1e-3 * (1 + 1e-6)])
        assert below == pytest.approx(above, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", [AccountedLaplace(1e-6, 10), AccountedLaplace(1e-6, 1, overlap=10)]
)
def test_budget_and_variance_are_inverse(mechanism):
    budgets = np.geomspace(1e-4, 499, 200)
    variance = mechanism.variance(budgets, 500, 2.0, mechanism.horizon)
    np.testing.assert_allclose(
        mechanism.epsilon(variance, 500, 2.0, mechanism.horizon), budgets, rtol=1e-9
    )
    assert mechanism.epsilon([0.0, np.inf], 500, 2.0, 1).tolist() == [np.inf, 0.0]
    # less noise than the table covers: basic composition
    (tiny,) = mechanism.epsilon([1e-14], 500, 2.0, 1)
    assert tiny == pytest.approx(
        mechanism.total_ratio * (2 * 2 / 500) / np.sqrt(1e-14 / 2), rel=1e-12
    )


@pytest.mark.slow
def test_slopes_equal_differences_and_terms_tell_the_variance():
    mechanism = AccountedLaplace(1e-6, 10)
    epsilon = np.array([1e-4, 0.0103, 0.1, 1.0, 5.0, 50.0])
    step = 1e-6 * epsilon
    difference = (mechanism.noise_term(epsilon + step) - mechanism.noise_term(epsilon - step)) / (
        2 * step
    )
    np.testing.assert_allclose(mechanism.noise_term_slope(epsilon), difference, rtol=1e-5)
    # S = bound^2 growth(T) sum(term)/n^2 is sum q^2 v with q = n_l/n, at any horizon up to the
    # accounted one
    sizes = np.array([100.0, 250.0, 50.0, 80.0])
    budgets = np.array([0.1, 1.0, 5.0, 50.0])
    for horizon in (1, 5, 10):
        direct = np.sum(
            (sizes / sizes.sum()) ** 2 * mechanism.variance(budgets, sizes, 3.0, horizon)
        )
        summed = (
            9.0
            * mechanism.horizon_factor(horizon)
            * mechanism.noise_term(budgets).sum()
            / sizes.sum() ** 2
        )
        assert float(summed) == pytest.approx(float(direct), rel=1e-12)


@pytest.mark.slow
def test_overlap_composes_the_answers_of_every_owner():
    shared = AccountedLaplace(1e-6, 5, overlap=2)
    alone = AccountedLaplace(1e-6, 10)
    assert (
        shared.scale(1.0, 100, 1.0, 5)
        == alone.scale(1.0, 100, 1.0, 10)
        > AccountedLaplace(1e-6, 1).scale(1, 100, 1, 1)
    )


@pytest.mark.slow
def test_it_is_a_mechanism_with_its_own_claim_and_noise():
    mechanism: Mechanism = AccountedLaplace(1e-6, 10)
    claim = mechanism.claim("a", 1.0, 10)
    assert claim.mechanism == "laplace (pld)" and claim.delta == 1e-6 and claim.rounds == 10
    assert (mechanism.name, mechanism.norm, mechanism.delta) == ("laplace", 1, 1e-6)
    variance = mechanism.variance(1.0, 100, 2.0, 10)
    assert mechanism.scale_of_variance(variance) == pytest.approx(
        mechanism.scale(1.0, 100, 2.0, 10), rel=1e-12
    )
    drawn = mechanism.draw(np.array([0.0, 3.0]), (200_000, 2), rng=np.random.default_rng(0))
    assert not drawn[:, 0].any()
    # E|w| = b with standard deviation b/sqrt(runs), and E w^2 = 2 b^2: five deviations
    assert np.abs(drawn[:, 1]).mean() == pytest.approx(3.0, abs=5 * 3 / np.sqrt(200_000))
    assert np.square(drawn[:, 1]).mean() == pytest.approx(
        18.0, abs=5 * 9 * np.sqrt(20) / np.sqrt(200_000)
    )


@pytest.mark.slow
def test_limits_and_misuse():
    mechanism = AccountedLaplace(1e-6, 10)
    assert mechanism.scale([0.0, np.inf], [10, 10], 1.0, 10).tolist() == [np.inf, 0.0]
    assert mechanism.scale([np.inf], [10], np.inf, 10).tolist() == [0.0]
    assert (
        mechanism.noise_term([0.0, np.inf]).tolist()
        == [0.0, 0.0]
        == mechanism.noise_term_slope([0.0, np.inf]).tolist()
    )
    assert mechanism.horizon_factor([1, 10]).tolist() == [1.0, 1.0]
    for longer in (
        lambda: mechanism.scale(1.0, 10, 1.0, 11),
        lambda: mechanism.variance(1.0, 10, 1.0, 11),
        lambda: mechanism.epsilon(1.0, 10, 1.0, 11),
        lambda: mechanism.horizon_factor([3, 11]),
        lambda: mechanism.claim("a", 1.0, 11),
    ):
        with pytest.raises(ValueError, match="at most the accounted 10 rounds"):
            longer()
    for beyond in (mechanism.ratio, mechanism.noise_term, mechanism.noise_term_slope):
        with pytest.raises(InputError, match=r"owners\.epsilon"):
            beyond([1.0, 501.0])
    with pytest.raises(ValueError, match="no privacy"):
        mechanism.claim("a", np.inf, 3)
    with pytest.raises(ValueError, match="at least 0"):
        mechanism.scale(-1.0, 10, 1.0, 10)
    for wrong in (
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": np.nan},
        {"horizon": 0},
        {"horizon": 2.5},
        {"overlap": 0},
        {"accounting": "zcdp"},
    ):
        with pytest.raises(ValueError, match="must"):
            AccountedLaplace(**{"delta": 1e-6, "horizon": 5, **wrong})

"""What remains of a budget after a loss report: the noise of the rest, and one claim of both together."""

import numpy as np
import pytest
from scipy.special import expit

from learning.forecast.kept import source_identity
from learning.privacy.composition import AccountedLaplace
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.promises import make_claims
from learning.privacy.wrapped import Remaining

KINDS = [Laplace(overlap=2), Gaussian(1e-6, "zcdp"), Gaussian(1e-6, "pld")]


@pytest.fixture
def rng():
    return np.random.default_rng(9)


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda one: one.label)
def test_noise_is_that_of_what_remains_and_the_claim_of_the_whole(mechanism):
    made = Remaining(mechanism, 0.1)
    given = np.array([0.6, 2.1, np.inf])
    rest = np.array([0.5, 2.0, np.inf])
    np.testing.assert_allclose(made.noise_term(given), mechanism.noise_term(rest), rtol=1e-12)
    np.testing.assert_allclose(
        made.scale(given, [50] * 3, 2.0, 3), mechanism.scale(rest, [50] * 3, 2.0, 3), rtol=1e-12
    )
    claim = made.claim("bank", 0.6, 3)
    alone = mechanism.claim("bank", 0.5, 3)
    assert (claim.epsilon, claim.delta, claim.rounds) == (pytest.approx(0.6), alone.delta, 4)
    assert [c.epsilon for c in made.claims("bank", 0.6, 3, size=50)] == [claim.epsilon]
    assert (made.delta, made.norm, made.label, made.overlap) == (
        mechanism.delta,
        mechanism.norm,
        mechanism.label,
        mechanism.overlap,
    )
    variance = made.variance(given[:2], [50, 50], 2.0, 3)
    np.testing.assert_allclose(variance, mechanism.variance(rest[:2], [50, 50], 2.0, 3), rtol=1e-12)
    np.testing.assert_allclose(made.epsilon(variance, [50, 50], 2.0, 3), given[:2], rtol=1e-4)
    assert made.epsilon(0.0, 50, 2.0, 3) == np.inf


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda one: one.label)
def test_slopes_are_those_of_differences(mechanism):
    made = Remaining(mechanism, 0.1)
    at = np.array([0.2, 1.0, 7.0])
    step = 1e-5
    differences = (made.noise_term(at * (1 + step)) - made.noise_term(at * (1 - step))) / (
        2 * step * at
    )
    np.testing.assert_allclose(made.noise_term_slope(at), differences, rtol=1e-4)
    assert made.noise_term([0.0, np.inf]).tolist() == [0.0, 0.0]


def test_report_and_answers_compose_to_what_is_claimed():
    """By privacy-loss distributions: of the report at ratio r, and of T answers at the ratio that remains."""
    from dp_accounting.pld import privacy_loss_distribution

    sold = 1.3
    spent = 0.3
    horizon = 4
    ratio = (
        2 * 5.0 / 100 / float(Remaining(Laplace(), spent).scale(sold, 100, 5.0, horizon))
    )  # sensitivity 2 Xi/n
    both = privacy_loss_distribution.from_laplace_mechanism(
        1 / spent, value_discretization_interval=1e-3
    )
    answer = privacy_loss_distribution.from_laplace_mechanism(
        1 / ratio, value_discretization_interval=1e-3
    )
    claimed = Remaining(Laplace(), spent).claim("bank", sold, horizon).epsilon
    told = both.compose(answer.self_compose(horizon)).get_delta_for_epsilon(
        [claimed - 0.1, claimed + 0.01]
    )
    assert (
        claimed == pytest.approx(sold) and told[1] < 1e-9 < 1e-4 < told[0]
    )  # kept, and no more than needed


@pytest.mark.parametrize(
    "mechanism", [Laplace(3), Gaussian(0.01, "pld", 3)], ids=lambda one: one.label
)
def test_joint_claims_and_beliefs_count_the_reports_too(mechanism):
    """Laplace: those of whole budgets. Gaussian: no belief rises above the bound in 200,000 draws but for delta."""
    sold = np.array([0.9, 0.5, 0.4])
    spent = 0.3
    made = make_claims(Remaining(mechanism, spent), "ABC", [9, 9, 9], sold, 2, "one record")
    joint = next(claim for claim in made if claim.joint)
    rest = mechanism.joint_epsilon((sold - spent)[:, None], 2)[0]
    assert joint.epsilon == pytest.approx(rest + spent) and made[0].epsilon == pytest.approx(0.9)
    assert Remaining(mechanism, spent).claimed_epsilon([0.0, 0.9], [9, 9], 2) == pytest.approx(
        [0.0, 0.9]
    )
    if mechanism.delta == 0:
        assert joint.epsilon == pytest.approx(0.6) and joint.surest == pytest.approx(expit(0.6))
        return
    rng = np.random.default_rng(4)
    distance = np.linalg.norm(mechanism.distance(sold - spent))
    report = rng.laplace(size=(200_000, 3))
    loss = (np.abs(report + spent / 3) - np.abs(report)).sum(axis=1)
    beliefs = expit(np.abs(loss + distance * (rng.normal(size=200_000) + distance / 2)))
    assert np.mean(beliefs > joint.surest) <= 0.01 and np.mean(beliefs > joint.surest - 0.1) > 0.01


def test_a_budget_that_the_report_has_used_up_buys_nothing():
    made = Remaining(Laplace(), 0.1)
    for refused in (lambda: made.scale(0.1, 50, 1.0, 2), lambda: made.claim("bank", 0.05, 2)):
        with pytest.raises(ValueError, match="above the 0.1 spent before"):
            refused()
    assert made.scale(0.0, 50, 1.0, 2) == np.inf and made.release_budget(1.0, 2) is None
    assert np.isfinite(made.noise_term(0.05)) and made.noise_term(0.05) > 1e12


def test_rehearsals_are_kept_by_the_noise_itself():
    assert (
        source_identity(Remaining(Laplace(), 0.1).training_mechanism)
        == source_identity(Laplace().training_mechanism)
        == source_identity(Laplace())
    )
    assert Laplace().training_budget([0.5, np.inf]).tolist() == [0.5, np.inf]
    counted = AccountedLaplace(1e-6, horizon=5)
    assert (
        Remaining(counted, 0.1).horizon == 5
        and Remaining(counted, 0.1).largest == counted.largest + 0.1
    )

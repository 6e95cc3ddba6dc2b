"""The audit's own account of l2 noise, against draws and against the mechanism's accountant; and its attack."""

import numpy as np
import pytest
from scipy.stats import expon, kstest

from learning.audit import AuditTarget, audit_owner
from learning.audit.accountant import LAWS, Answering, coordinate_rarity, l2_epsilon, law_of
from learning.losses.coordinates import Coordinates
from learning.privacy.composition import AccountedL2
from learning.privacy.l2 import L2
from learning.privacy.l2_accounting import spent_epsilon


@pytest.mark.parametrize("width", [1, 3, 20])
def test_one_coordinate_is_as_rare_as_is_said(width):
    drawn = L2(width).draw(1.0, (20_000, width), rng=np.random.default_rng(width))
    assert kstest(coordinate_rarity(width, np.abs(drawn[:, 0])), expon.cdf).pvalue > 1e-3


def test_noise_that_falls_short_is_seen_all_in_all_by_coordinate_and_by_answer():
    law = law_of("l2", 3)
    drawn = L2(3).draw(1.0, (2, 2000, 3), rng=np.random.default_rng(0))
    drawn[0, 5] = np.nan  # a run that asked less often
    for axis, shape in ((None, ()), ((0, 1), (3,)), ((1, 2), (2,))):
        found, chances = law.measure_shortfall(drawn, axis)
        assert (
            np.shape(found) == shape and np.all(chances > 1e-3) and np.allclose(found, 1, atol=0.1)
        )
        less, unlikely = law.measure_shortfall(0.8 * drawn, axis)
        assert np.all(unlikely < 1e-9) and np.all(less < found)
    assert kstest(law.independent_numbers(drawn[1]), law.chance_below).pvalue > 1e-3
    assert law_of("gaussian", 3) is LAWS["gaussian"] and law_of("cauchy", 3) is None


@pytest.mark.parametrize(
    ("width", "ratio", "rounds", "delta"),
    [(2, 0.4, 3, 1e-4), (10, 1.1, 1, 1e-6), (65, 0.5, 2, 1e-6)],
)
def test_two_accountants_agree(width, ratio, rounds, delta):
    """By radius and angle here, in prolate coordinates there."""
    found = l2_epsilon(width, ratio, Answering(rounds), delta)
    assert found == pytest.approx(spent_epsilon(((ratio, width),) * rounds, delta), rel=3e-4)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [L2(2), AccountedL2(1e-3, 2, 2)], ids=["pure", "pld"])
def test_the_attack_comes_close_to_the_claim_and_refutes_less_noise(mechanism):
    class Half(type(mechanism)):
        def draw(self, scale, shape, *, rng):
            return super().draw(scale, shape, rng=rng) / 2

    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 2))
    y = rng.normal(size=20)
    coordinates = Coordinates(np.zeros(2), np.eye(2), 1.0, 1.0, 1.0, 2)
    sound, broken = (
        audit_owner("a", x, y, 3.0, AuditTarget(coordinates, one, 2, "sgd2"), seed=0, draws=5000)
        for one in (mechanism, Half(**vars(mechanism)))
    )
    assert not sound.refuted and sound.answer_bound > 0.55 * sound.answer_charged
    assert broken.refuted

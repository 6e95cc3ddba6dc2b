"""Further noise that makes a released answer the answer of a smaller budget."""

import numpy as np
import pytest
import scipy
from releases import BOUNDED, P, market
from sizes import sized

from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.wishart import Wishart
from learning.training.noisy_statistics import release_pilot, release_statistics

WIDTHS = (3, 6)
FACTOR = 3.0


@pytest.mark.parametrize(
    "mechanism", [L2(3), L2(3).with_moments(0.4), Gaussian(1e-6, "zcdp"), Gaussian(1e-6, "pld")]
)
def test_noise_and_further_noise_have_the_law_of_wider_noise(mechanism):
    """By two-sample tests of numbers, of lengths, and of the product of two parts' lengths."""
    rng = np.random.default_rng(1)
    count = sized(4000, 40_000)
    wide = FACTOR * np.array([mechanism.draw_release(WIDTHS, rng=rng) for _ in range(count)])
    made = np.array(
        [
            mechanism.draw_release(WIDTHS, rng=rng)
            + mechanism.draw_further(FACTOR, WIDTHS, rng=rng)
            for _ in range(count)
        ]
    )

    def lengths(drawn):
        return np.linalg.norm(drawn[:, :3], axis=1), np.linalg.norm(drawn[:, 3:], axis=1)

    pairs = [(made[:, 0], wide[:, 0]), (made[:, 5], wide[:, 5])]
    pairs += list(zip(lengths(made), lengths(wide), strict=True))
    pairs.append((np.multiply(*lengths(made)), np.multiply(*lengths(wide))))
    for one, other in pairs:
        assert scipy.stats.ks_2samp(one, other).pvalue > 1e-3


def test_noise_that_does_not_widen_is_refused():
    with pytest.raises(TypeError, match="not known to become wider"):
        Wishart(3).with_moments(0.4).draw_further(2.0, WIDTHS, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    "mechanism", [L2(P).with_moments(0.4), Gaussian(1e-6, "zcdp"), Gaussian(1e-6, "pld")]
)
def test_a_pilot_is_the_later_release_with_further_noise_as_wide_as_its_share_says(mechanism):
    runs = sized(1500, 10_000)
    task, _ = market(2.0, runs=runs, mechanism=mechanism)
    priced = market(0.6, runs=runs, mechanism=mechanism)[0]  # owners who sell the share alone
    for owner, alone in zip(task.owners, priced.owners, strict=True):
        pilot = release_pilot(task, owner, range(runs), 0.3)
        later = release_statistics(task, owner, range(runs))
        expected = release_statistics(priced, alone, range(runs))
        assert pilot.vector_deviation == pytest.approx(expected.vector_deviation)
        assert pilot.matrix_deviation == pytest.approx(expected.matrix_deviation)
        error = pilot.xu - owner.records.xy
        assert error.std() == pytest.approx(pilot.vector_deviation[0], rel=0.05)
        added = pilot.xu - later.xu
        correlation = np.corrcoef(added.ravel(), (later.xu - owner.records.xy).ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(added.size)
        assert (pilot.xx == pilot.xx.swapaxes(1, 2)).all()


def test_pilots_of_runs_do_not_depend_on_those_asked_with_them():
    task, _ = market(2.0, BOUNDED, runs=5)
    owner = task.owners[0]
    whole = release_pilot(task, owner, range(5), 0.3)
    part = release_pilot(task, owner, [3, 4], 0.3)
    assert (whole.xu[3:] == part.xu).all() and (whole.xx[3:] == part.xx).all()

"""Release of clipped gradients: of any loss of a linear model, whatever the records and the query."""

import numpy as np
import pytest
from populations import generated

from learning.audit.worst_pairs import worst_pair
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release import bare_answer, release
from learning.privacy.release_terms import ReleaseTerms

P = 4
RADIUS = 0.7
X, NUMBERS = generated(200, P, np.random.default_rng(0))
CENTRE = np.array([0.3, -0.1, 0.2, 0.0])
LINEAR = [loss for loss in LOSSES.values() if loss.linear]


def terms(loss="squared", mechanism=None, count=200, **change):
    mechanism = mechanism or Laplace()
    coordinates = Coordinates(
        CENTRE,
        np.diag([1, 2, 0.5, 1.0]),
        RADIUS,
        theta_max=1e12,
        norm=mechanism.norm,
        loss=loss,
        clipping="record",
    )
    return ReleaseTerms("bank", "loans", count, 2.0, 5, coordinates, mechanism, **change)


def targets(loss):
    return np.sign(NUMBERS) if loss.labels else NUMBERS


@pytest.mark.parametrize("loss", LINEAR, ids=lambda loss: loss.name)
def test_the_mean_is_that_of_training(loss):
    """By the engine's records, in single precision; and every answer is charged and carries noise of the scale stated."""
    phi = np.array([0.3, -2.0, 1.0, 0.5])
    announced = terms(loss)
    wanted = announced.coordinates.oracle(X, targets(loss)).gradient(phi[None])[0]
    np.testing.assert_allclose(bare_answer(X, targets(loss), phi, announced), wanted, atol=1e-5)


def test_an_answer_is_that_mean_with_noise_from_opendp_and_is_charged(tmp_path):
    book = LedgerFile.create(tmp_path / "bank.ledger")
    announced = terms("hinge", Gaussian(1e-6, "zcdp"))
    book.open(announced.budget)
    assert "2-norm: gradient 0.7, query 1000000000000.0" in announced.budget.bounds
    far = np.full(P, 1e9)
    made = release(X, targets(LOSSES["hinge"]), far, announced, ledger=book)
    mean = bare_answer(X, targets(LOSSES["hinge"]), far, announced)
    assert np.linalg.norm(mean) <= RADIUS and 0 < np.abs(made.answer - mean).max() < 8 * made.scale
    assert not made.claim.simulation and book.accounts[0].answered == 1
    assert made.scale == pytest.approx(
        float(Gaussian(1e-6, "zcdp").scale(2.0, 200, RADIUS, 5)), rel=1e-9
    )


@pytest.mark.parametrize("factor", [1.0, 1e6, 1e150, 1e300])
@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-6, "zcdp")], ids=lambda one: one.name)
@pytest.mark.parametrize("loss", LINEAR, ids=lambda loss: loss.name)
def test_a_record_moves_the_mean_by_the_sensitivity_at_most(loss, mechanism, factor):
    """As computed, rounding included, of records however large; the worst pair moves it by nearly as much."""
    announced = terms(loss, mechanism)
    pair = worst_pair(announced.coordinates)
    for query in (pair.query, 1e3 * np.ones(P)):
        means = []
        for x, y in (pair.first, pair.second):
            scaled = y if loss.labels else np.clip(y * factor, -1e307, 1e307)
            records = (
                np.vstack([X[:-1], np.clip(x * factor, -1e307, 1e307)]),
                np.append(targets(loss)[:-1], scaled),
            )
            means.append(bare_answer(*records, query, announced))
        moved = np.linalg.norm(means[0] - means[1], ord=mechanism.norm)
        assert moved <= announced.sensitivity < 2 * RADIUS / 200 * (1 + 1e-9)
        assert factor > 1 or query[0] == 1000 or moved > announced.sensitivity * (1 - 1e-9)


def test_a_network_is_not_released_though_its_gradients_are_clipped():
    with pytest.raises(InputError, match="clip each gradient of a linear model; found network"):
        terms("network")

"""What dishonest owners do to training: every algorithm carries it out, and the learner is told nothing of it."""

from dataclasses import replace

import numpy as np
import pytest
from trainings import task

from learning.data.owner_data import OwnerData
from learning.errors import InputError
from learning.training import ALGORITHMS, train
from learning.training.conduct import HONEST, Conduct
from learning.training.noisy_statistics import release_statistics


@pytest.fixture(params=ALGORITHMS.values(), ids=lambda algorithm: algorithm.name)
def algorithm(request):
    return request.param


def behaving(asked, *conducts):
    """The same training by owners who answer so."""
    pairs = zip(asked.owners, conducts, strict=True)
    owners = [
        replace(one, records=how.answers_from(one.records), conduct=how) for one, how in pairs
    ]
    return replace(asked, owners=tuple(owners))


def test_honest_conduct_changes_no_number(algorithm):
    asked = task(algorithm)
    assert np.array_equal(
        train(asked).theta, train(behaving(asked, HONEST, Conduct(distinct=5))).theta
    )


def test_every_algorithm_carries_out_more_noise(algorithm):
    asked = task(algorithm, (80.0, 80.0), runs=60, theta_max=1000.0)
    noisy = train(behaving(asked, HONEST, Conduct(noise=10.0)))
    assert noisy.theta.var(axis=0).sum() > 2 * train(asked).theta.var(axis=0).sum()
    assert noisy.ledger.accounts == train(asked).ledger.accounts, "it is charged what it sold"


def test_every_algorithm_carries_out_other_gradients(algorithm):
    asked = task(algorithm, epsilon=(np.inf, np.inf), theta_max=50.0)
    plain, flipped, twice = (
        train(behaving(asked, Conduct(gradient=factor), Conduct(gradient=factor))).theta
        for factor in (1, -1, 2)
    )
    assert not np.allclose(plain, flipped) and not np.allclose(plain, twice)
    moved = train(replace(asked, owners=asked.owners)).theta
    assert np.array_equal(plain, moved)


def test_noise_is_as_much_more_as_it_is_said_to_be():
    asked = task(ALGORITHMS["averaged"])
    (client, _), louder = asked.owners, behaving(asked, Conduct(noise=3.0), HONEST).owners[0]
    sold, added = (one.noise(asked.mechanism, 4, asked.streams).take(2) for one in (client, louder))
    np.testing.assert_allclose(added, 3 * sold, rtol=1e-14)
    assert louder.scale == client.scale, "what the learner is told"


def test_a_release_of_sums_is_noisier_than_the_learner_reckons_with():
    asked = task(ALGORITHMS["adassp"])
    honest, loud = (
        release_statistics(asked, one, range(5))
        for one in (asked.owners[0], behaving(asked, Conduct(noise=4.0), HONEST).owners[0])
    )
    records = asked.owners[0].records
    np.testing.assert_allclose(loud.xx - records.xx, 4 * (honest.xx - records.xx), rtol=1e-9)
    assert np.array_equal(loud.matrix_deviation, honest.matrix_deviation)


def test_what_a_poisoner_answers_is_its_gradient_times_its_factor(algorithm):
    if not algorithm.takes_steps:
        return
    one = task(algorithm).owners[0].records
    phi = np.random.default_rng(1).normal(size=(4, 3))
    np.testing.assert_allclose(
        Conduct(gradient=-2.0).answers_from(one).gradient(phi), -2 * one.gradient(phi), rtol=1e-12
    )


def test_junk_keeps_features_and_draws_targets_that_no_record_moves():
    rng = np.random.default_rng(0)
    owner, other = (
        OwnerData("a", rng.normal(size=(200, 3)), y) for y in (np.zeros(200), np.ones(200))
    )
    (x, y), (_, again) = (
        Conduct(records="junk").made_up(one, 2.0, False, rng=np.random.default_rng(5))
        for one in (owner, other)
    )
    assert (
        x is owner.x and np.array_equal(y, again) and np.abs(y).max() <= 2 and abs(y.mean()) < 0.3
    )
    _, labels = Conduct(records="junk").made_up(owner, 2.0, True, rng=rng)
    assert set(labels) == {-1.0, 1.0}


def test_copies_are_few_of_its_own_again_and_again():
    owner = OwnerData("a", np.arange(10.0)[:, None], np.arange(10.0))
    x, y = Conduct(records="copies", distinct=3).made_up(
        owner, 1.0, False, rng=np.random.default_rng(0)
    )
    assert len(y) == 10 and len(set(y)) == 3 and np.array_equal(x[:, 0], y)


def test_exposure_says_whether_an_owner_keeps_its_own_promise():
    said = [
        Conduct(noise=2.0),
        Conduct(gradient=-1.0),
        Conduct(gradient=10.0),
        Conduct(records="copies", distinct=4),
    ]
    assert [one.exposure(10) for one in said] == [0.5, 1.0, 10.0, 3.0]
    first = np.zeros(40)  # neighbours: one record's target is another
    second = np.eye(40)[0]
    told = [
        Conduct(records="junk").made_up(
            OwnerData("a", np.ones((40, 1)), y), 1.0, False, rng=np.random.default_rng(2)
        )
        for y in (first, second)
    ]
    assert np.array_equal(told[0][1], told[1][1])


def test_less_noise_than_sold_is_refused():
    with pytest.raises(
        InputError, match="behaviours.noise: must be a number of at least 1; found 0.5"
    ):
        Conduct(noise=0.5)

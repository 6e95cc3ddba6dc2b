"""Which answers are paid: guesses rarely are, and honest owners expect what they were promised."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated
from sizes import sized

from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores
from learning.losses.squared import Squared
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.training.acceptance import CHANCE, AnswerTest, settle_promises
from learning.training.contribution import CheckRows
from learning.training.sums import ReleasedSums

P, OWN, CHECK, SIZE = 8, 60, 400, 800
WIDE = Scores(1e6, 0.4)
MIXED = np.eye(P) + 0.2 * np.ones((P, P))


def open_market(seed, count=2, width=P):
    """Test of answers about a model fitted to few rows, owners' records, and their coordinates."""
    rng = np.random.default_rng(seed)
    x, y = generated(OWN, width, rng)
    own = np.linalg.lstsq(x, y, rcond=None)[0]
    bounds = Coordinates(own, MIXED[:width, :width], 1e6, theta_max=100.0, norm=2, scores=WIDE)
    test = AnswerTest(CheckRows(*generated(CHECK, width, rng), Squared()), OWN, bounds)
    return test, [generated(SIZE, width, rng) for _ in range(count)], rng


def release(test, records, noise, mechanism, rng):
    """Sums of records (x, y) of some owners, under noise of the law of a mechanism."""
    moved = [test.coordinates.records(x, y) for x, y in records]
    sums = ReleasedSums(
        tuple(map(str, range(len(records)))),
        np.array([float(len(y)) for _, y in records]),
        np.stack([x.T @ x for x, _ in moved]),
        np.stack([x.T @ u for x, u in moved]),
        np.full(len(records), noise),
        np.full(len(records), noise),
        test.coordinates,
    )
    return sums.redraw(mechanism, sums, rng=rng)


def guesses(test, x, y, rng):
    """What somebody without knowledge of the target sends: records of its own making."""
    own = test.coordinates.centre
    said = x @ own
    drawn = rng.normal(size=P)
    return {
        "nothing": (0 * x, y),
        "chance": (x, rng.normal(y.mean(), y.std(), len(y))),
        "shuffled": (x, rng.permutation(y)),
        "constant": (x, np.full(len(y), y.max())),
        "shrunk": (x, 0.6 * said),
        "shifted": (x, said + 0.1),
        "another model": (x, x @ drawn),
        "a small step": (x, said + 0.1 * x @ drawn),
    }


@pytest.mark.parametrize("noise", [0.0, 8.0])
def test_guesses_are_hardly_ever_accepted(noise):
    accepted, runs = {}, sized(300, 1500)
    for seed in range(runs):
        test, ((x, y),), rng = open_market(seed, 1)
        for kind, records in guesses(test, x, y, rng).items():
            sums = release(test, [records], noise, L2(P), rng)
            accepted[kind] = accepted.get(kind, 0) + test.accepts(sums)[0]
    most = CHANCE + 3 * np.sqrt(CHANCE / runs)
    assert max(accepted.values()) <= most * runs, accepted
    assert accepted["another model"] + accepted["a small step"] > 0


@pytest.mark.parametrize(("mechanism", "noise"), [(L2(P), 9.0), (Gaussian(1e-6, "pld"), 20.0)])
def test_honest_owners_expect_what_they_were_promised(mechanism, noise):
    """Over own models, check rows, records and noise, all drawn anew."""
    promised, paid, odds = np.array([3.0, 5.0]), [], []
    for seed in range(sized(100, 1000)):
        test, records, rng = open_market(seed)
        drawn = [release(test, records, noise, mechanism, rng) for _ in range(4)]
        odds.append(test.odds(drawn[0], mechanism, rng=rng))
        accepted = np.array([test.accepts(one) for one in drawn])
        paid.append(settle_promises(promised, odds[-1], accepted).mean(axis=0))
    assert 0.3 < np.mean(odds) < 0.9
    error = np.std(paid, axis=0) / np.sqrt(len(paid))
    assert (error < 0.1 * promised).all()
    assert (abs(np.mean(paid, axis=0) - promised) < 3 * error).all()


def test_odds_fall_with_the_noise_and_need_no_answer():
    test, records, rng = open_market(4)
    quiet, loud = (release(test, records, noise, L2(P), rng) for noise in (1.0, 30.0))
    few, many = (test.odds(one, L2(P), rng=np.random.default_rng(0)) for one in (loud, quiet))
    assert (few < many).all()
    nothing = replace(quiet, xx=0 * quiet.xx, xu=0 * quiet.xu)
    assert np.array_equal(test.odds(nothing, L2(P), rng=np.random.default_rng(0)), many)


def test_a_harmful_answer_is_refused_wherever_it_points():
    test, records, rng = open_market(4)
    (x, y), *_ = records
    said = x @ test.coordinates.centre
    honest = release(test, [(x, y)], 0.0, L2(P), rng)
    inflated = release(test, [(x, said + 9 * (y - said))], 0.0, L2(P), rng)
    assert test.cosines(inflated.xu) == pytest.approx(test.cosines(honest.xu))
    assert test.accepts(honest).tolist() == [True]
    assert test.accepts(inflated).tolist() == [False]


@pytest.mark.parametrize("width", [4, 8])
def test_a_random_direction_exceeds_the_least_cosine_as_often_as_is_said(width):
    test, _, rng = open_market(0, width=width)
    free = rng.normal(size=(200_000, width - 2))
    cosines = free[:, 0] / np.linalg.norm(free, axis=1)
    assert np.mean(cosines > test.least_cosine) == pytest.approx(CHANCE, rel=0.05)


def test_cosines_do_not_hang_on_coordinates_or_on_what_is_explained():
    test, ((x, y), _), _ = open_market(1)
    plain = AnswerTest(test.rows, OWN, replace(test.coordinates, transform=np.eye(P)))
    own = test.coordinates.centre
    found = []
    for one in (test, plain):
        moved, residual = one.coordinates.records(x, y)
        found.append(one.cosines((residual @ moved)[None])[0])
        check = one.moments @ np.linalg.solve(one.coordinates.transform, own)
        bent = residual @ moved + 50 * check
        assert one.cosines(bent[None])[0] == pytest.approx(found[-1])
    assert found[0] == pytest.approx(found[1], abs=0.02)  # but for the even part of the covariance


def test_a_model_of_few_parameters_accepts_nobody():
    test, records, rng = open_market(2, width=3)
    sums = release(test, records, 0.0, L2(3), rng)
    assert np.isinf(test.least_cosine)
    assert not test.accepts(sums).any()
    assert not test.odds(sums, L2(3), rng=rng).any()


def test_odds_below_those_of_a_guess_count_as_these():
    paid = settle_promises(
        np.array([3.0, 3.0, 3.0]), np.array([0.5, 0.0, 0.5]), [True, True, False]
    )
    assert paid == pytest.approx([6.0, 3.0 / CHANCE, 0.0])


def test_models_of_each_are_those_of_sets_of_one():
    test, records, rng = open_market(3)
    sums = replace(release(test, records, 5.0, L2(P), rng), regularisation=0.1)
    assert sums.solve_each() == pytest.approx(sums.solve_sets(np.eye(2)), abs=1e-12)

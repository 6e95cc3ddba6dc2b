"""Noise that owners make together: its parts add up to it in law, and what is claimed of it against whom."""

import numpy as np
import pytest
from scipy import stats

from learning.errors import InputError
from learning.privacy.accounting import gaussian_delta
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.wrapped import SharedNoise, Trust

DRAWS = 8000
WIDTH = 3
LAWS = {  # what of the whole noise has a known law, at scale 2
    "laplace": (Laplace(), lambda noise: noise[:, 0], stats.laplace(scale=2).cdf),
    "gaussian": (Gaussian(1e-6), lambda noise: noise[:, 1], stats.norm(scale=2).cdf),
    "l2": (L2(WIDTH), lambda noise: np.linalg.norm(noise, axis=1), stats.gamma(WIDTH, scale=2).cdf),
}


def chance(name, parts, made):
    """Of as large a Kolmogorov distance between so many parts and the whole noise that they should make up."""
    mechanism, seen, law = LAWS[name]
    rng = np.random.default_rng(6)
    noise = sum(mechanism.draw_part(parts, 2.0, (DRAWS, WIDTH), rng=rng) for _ in range(made))
    return stats.kstest(seen(noise), law).pvalue


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("parts", [1, 4])
def test_parts_add_up_to_the_noise_in_law(name, parts):
    assert chance(name, parts, parts) > 0.01


@pytest.mark.parametrize("name", LAWS)
def test_one_part_too_few_is_another_law(name):
    assert chance(name, 4, 3) < 1e-6


def test_l2_parts_point_anywhere():
    rng = np.random.default_rng(2)
    noise = sum(L2(WIDTH).draw_part(3, 1.0, (DRAWS, WIDTH), rng=rng) for _ in range(3))
    along = (noise / np.linalg.norm(noise, axis=1, keepdims=True))[
        :, 2
    ]  # of a sphere in three dimensions, uniform
    assert stats.kstest(along, stats.uniform(-1, 2).cdf).pvalue > 0.01


@pytest.mark.parametrize("name", LAWS)
def test_parts_drawn_in_pieces_are_those_drawn_at_once(name):
    mechanism = LAWS[name][0]
    rngs = [np.random.default_rng(1) for _ in range(2)]
    pieces = [mechanism.draw_part(2, 1.0, (rounds, WIDTH), rng=rngs[0]) for rounds in (2, 1, 3)]
    assert np.array_equal(
        np.concatenate(pieces), mechanism.draw_part(2, 1.0, (6, WIDTH), rng=rngs[1])
    )


@pytest.mark.parametrize("accounting", ["pld", "zcdp"])
def test_another_owner_sees_gaussian_noise_with_a_part_less(accounting):
    mechanism = Gaussian(1e-6, accounting)
    spent = float(SharedNoise(mechanism, 5).onlooker_epsilon("owners", 1.0))
    assert mechanism.distance(spent) == pytest.approx(
        mechanism.distance(1.0) * np.sqrt(5 / 4), rel=1e-4
    )
    if accounting == "pld":  # and the analytic delta there is the one claimed
        assert gaussian_delta(spent, mechanism.distance(1.0) * np.sqrt(5 / 4)) == pytest.approx(
            1e-6, rel=1e-2
        )


def test_each_onlooker_has_a_claim_and_the_one_that_knows_as_many_parts_as_are_allowed_for_the_budget_sold():
    made = SharedNoise(Gaussian(1e-6), 4, 2).claims("A", 1.0, 5)
    who = [claim.protects_against.split()[0:2] for claim in made]
    assert who == [["the", "learner"], ["anyone", "who"], ["any", "one"]]
    all_four = made[1].epsilon
    two = made[0].epsilon
    three = made[2].epsilon
    assert two == pytest.approx(1.0, rel=1e-4) and all_four < three < two
    assert {claim.rounds for claim in made} == {5} and all(
        "drops out" in claim.assumes for claim in made
    )


@pytest.mark.parametrize("mechanism", [Laplace(), L2(WIDTH)])
def test_nothing_is_claimed_against_another_owner_whose_part_is_needed(mechanism):
    assert len(SharedNoise(mechanism, 3).claims("A", 1.0, 4)) == 1
    assert [claim.epsilon for claim in SharedNoise(mechanism, 3, 1).claims("A", 1.0, 4)] == [
        1.0
    ] * 3
    assert np.isinf(SharedNoise(mechanism, 3).onlooker_epsilon("owners", 1.0))


def test_what_cannot_be_made_together_is_refused():
    with pytest.raises(InputError, match="trust.aggregation: must be"):
        SharedNoise(PublishedNoise("sgd2", 1e-6, (10, 10)), 2)
    with pytest.raises(InputError, match="learning.overlap: must be 1"):
        SharedNoise(Laplace(overlap=2), 3)
    with pytest.raises(InputError, match="trust.colluders: must be below 3,"):
        SharedNoise(Laplace(), 3, 3)
    with pytest.raises(InputError, match="trust.colluders: needs"):
        Trust(colluders=1)


def test_against_the_learner_local_noise_is_what_was_sold():
    assert Trust().feared_epsilon(Laplace(), 3, "owners", 2.0) == 2.0
    assert Trust("secure", 1).feared_epsilon(Gaussian(1e-6), 3, "learner", 1.0) < 1.0


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian(1e-6)])
def test_the_variance_of_a_part_costs_what_was_sold(mechanism):
    shared = SharedNoise(mechanism, 5, 2)
    variance = shared.variance([0.5, 2.0], 100, 1.0, 4)
    assert variance * 3 == pytest.approx(mechanism.variance([0.5, 2.0], 100, 1.0, 4))
    assert shared.epsilon(variance, 100, 1.0, 4) == pytest.approx([0.5, 2.0])

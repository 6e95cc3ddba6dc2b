"""How sure an onlooker can become: a theorem for every mechanism, met by Monte Carlo and by 40 digits; joint claims."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf, ncdf
from scipy.special import expit, logit

from learning.privacy.accounting import gaussian_belief, gaussian_delta
from learning.privacy.claims import (
    EVERY_ANSWER,
    EVERYONE,
    TRIED,
    bound_belief,
    bound_profile_belief,
)
from learning.privacy.composition import AccountedLaplace, spent_epsilon
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.mechanism import NoiseSettings, evaluate_columns
from learning.privacy.mechanisms import MECHANISMS
from learning.privacy.promises import group_budgets, make_claims
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian

SIZES = (50, 30, 70)
HORIZON = 3
DRAWS = 100_000
# budgets and deltas at which "e^epsilon/(1 + e^epsilon), but for delta" was seen to be wrong
SEEN = ((1.0, 1e-6), (3.0, 1e-6), (1.664, 1e-3), (0.384, 1e-3))


def made(kind):
    """Mechanisms of a kind under each accounting and formula, at a delta that draws can see."""
    choices = product(kind.accountings, kind.published_for or ("",), (False, True))
    settings = [
        NoiseSettings(SIZES, 0.01, how, 1, form, "size", one, HORIZON) for how, form, one in choices
    ]
    return list(
        dict.fromkeys(
            one
            for each in settings
            if kind.suits_settings(each)
            for one in kind.make_candidates(each)
        )
    )


EVERY = [one for kinds in MECHANISMS.values() for kind in kinds for one in made(kind)]


def likeliest(mechanism, epsilon, size, rng):
    """How likely the likelier version is, over DRAWS of all answers, which one coordinate moves by all that it may."""
    scale = mechanism.scale([epsilon], [size], 1.0, HORIZON)
    moved = 2.0 if mechanism.single_record else 2 / size
    noise = mechanism.draw(scale, (DRAWS, HORIZON, 1), rng=rng)[..., 0]
    if mechanism.single_record:
        moved = moved * (rng.random((DRAWS, HORIZON)) < 1 / sum(SIZES))
    if mechanism.norm == 1 or mechanism.name == "l2":  # of one number, l2 noise is Laplace noise
        loss = (np.abs(noise + moved) - np.abs(noise)) / scale
    else:
        loss = ((noise + moved) ** 2 - noise**2) / 2 / scale**2
    return expit(np.abs(loss.sum(axis=1)))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("mechanism", EVERY, ids=repr)
def test_no_belief_rises_above_the_bound_but_for_the_chance_told(mechanism, epsilon):
    """Over 100,000 draws; and who shows but the most telling part of them comes close, where the profile is known."""
    beliefs = np.sort(likeliest(mechanism, epsilon, 50, np.random.default_rng(1)))
    bound = mechanism.belief_bound(np.array([[epsilon]]), HORIZON, [50])[0]
    chance = mechanism.but_for
    assert chance == mechanism.delta
    allowed = chance + 4 * np.sqrt(chance / DRAWS)
    assert np.mean(beliefs > bound * (1 + 1e-9)) <= allowed
    if chance:
        least = beliefs[-round(chance * DRAWS)]
        beyond = np.maximum(beliefs - least, 0)
        width = 4 * beyond.std() / np.sqrt(DRAWS) / chance + 1e-4
        assert least + beyond.mean() / chance == pytest.approx(bound, abs=width)


@pytest.mark.parametrize("accounting", ["pld", "zcdp"])
@pytest.mark.parametrize(("epsilon", "delta"), SEEN)
def test_gaussian_beliefs_to_40_digits(epsilon, delta, accounting):
    """The chance of a belief above the bound is at most delta; above e^epsilon/(1 + e^epsilon) it is 7 to 28 delta."""
    mechanism = Gaussian(delta, accounting)
    distance = mpf(float(mechanism.distance(epsilon)))
    bound = float(mechanism.belief_bound(np.array([[epsilon]]), 3, [100])[0])

    def above(likelihood):
        return ncdf(distance / 2 - likelihood / distance) + ncdf(
            -distance / 2 - likelihood / distance
        )

    with mp.workdps(40):
        assert above(mpf(float(logit(bound)))) <= mpf(delta)
        times = float(above(mpf(epsilon)) / mpf(delta))
    assert times > 7 if accounting == "pld" else times < 1
    assert bound > expit(epsilon) if accounting == "pld" else bound < expit(epsilon)


def test_the_gaussian_bound_is_the_mean_belief_of_the_most_telling_part():
    """Phi(m - z)/M with Phi(-z) + Phi(m - z) = M, in 40 digits; at M = 1 the chance of a right guess, Phi(m/2)."""
    with mp.workdps(40):
        for distance, chance in product((0.01, 0.2, 1.5, 6.0), (1.0, 0.3, 1e-3, 1e-9)):
            m = mpf(distance)
            rare = mpf(chance)
            left = partial(lambda m, rare, z: ncdf(-z) + ncdf(m - z) - rare, m, rare)
            z = mp.findroot(left, (mpf(-1), m + 10), solver="bisect", tol=1e-30)
            exact = float(ncdf(m - z) / rare)
            assert float(gaussian_belief(distance, chance)) == pytest.approx(exact, rel=1e-9)
    tabulated = bound_profile_belief(lambda e: gaussian_delta(e, 1.5), 1e-3)
    assert tabulated == pytest.approx(float(gaussian_belief(1.5, 1e-3)), rel=1e-4)
    assert tabulated >= float(gaussian_belief(1.5, 1e-3)) - 1e-12


def test_pure_privacy_bounds_every_belief_alike():
    for epsilon in (0.0, 0.5, 30.0):
        one = np.array([[epsilon or 1e-12]])
        assert Laplace().belief_bound(one, 9, [5])[0] == pytest.approx(expit(epsilon), rel=1e-9)
        randomised = bound_profile_belief(
            lambda e, at=epsilon: (
                np.maximum(np.exp(at) - np.exp(np.minimum(e, at)), 0) / (1 + np.exp(at))
            ),
            1.0,
        )
        assert randomised == pytest.approx(expit(epsilon), abs=1e-3)
    assert bound_belief(1.0, 0.1, 0.05) == 1 and bound_belief(0.0, 0.0, 0.0) == 0.5


def test_a_mechanism_of_which_only_a_point_is_known():
    """Randomised response that gives all away with chance delta: of beliefs above the bound there are but 2 delta."""

    @dataclass(frozen=True)
    class Other(Laplace):
        delta: float = 0.01

    bound = Other().belief_bound(np.array([[1.0]]), 3, [5])[0]
    chance = Other().but_for
    assert chance == 0.02 and bound == pytest.approx((np.e + 0.5) / (1 + np.e))
    # the worst there is: with chance delta all, else e^epsilon : 1; shown are the certain and as
    # many of the others
    assert 0.01 * 1 + 0.01 * expit(1.0) == pytest.approx(0.02 * bound)


def test_very_many_budgets_are_rounded_up():
    columns = np.stack([np.full(1000, 3.0), np.geomspace(0.01, 2.0, 1000)])
    asked = []

    def law(column):
        asked.append(column)
        return sum(column)

    found = evaluate_columns(law, columns)
    assert len(asked) <= 64 and np.all(found >= columns.sum(axis=0) * (1 - 1e-12))
    assert found[-1] <= 3.1 + 2.2 and len(TRIED) == 1001
    few = np.array([[1.0, 2.0, 1.0]])
    assert evaluate_columns(lambda column: column[0] ** 2, few).tolist() == [1.0, 4.0, 1.0]


# ---- records that sit with several owners

SOLD = np.array([1.664, 1.152, 0.384])


def claims_of(mechanism, epsilon=SOLD, horizon=HORIZON):
    made = make_claims(mechanism, "ABC", SIZES, epsilon, horizon, "one record")
    return [claim for claim in made if not claim.joint], [claim for claim in made if claim.joint]


def test_a_joint_claim_stands_beside_each_owners():
    own, joint = claims_of(Laplace(overlap=3))
    assert [claim.epsilon for claim in own] == SOLD.tolist() and {
        claim.overlap for claim in own + joint
    } == {3}
    assert [claim.epsilon for claim in joint] == pytest.approx([SOLD.sum() / 3] * 3)
    assert [claim.surest for claim in joint] == pytest.approx([expit(SOLD.sum() / 3)] * 3)
    for one, other in zip(own, joint, strict=True):
        assert (one.party, one.unit, one.delta, one.rounds) == (
            other.party,
            other.unit,
            other.delta,
            other.rounds,
        )
        assert one.adjacency == "replace one record" and one.protects_against == EVERYONE
        assert (
            other.adjacency == "replace one record at all of up to 3 owners"
            and other.protects_against == EVERY_ANSWER
        )
    assert (
        not claims_of(Laplace())[1]
        and claims_of(Laplace(), np.array([0.0, np.inf, 1.0]))[0][0].party == "C"
    )
    assert not claims_of(Laplace(overlap=2), np.array([0.5, np.inf, 1.0]))[
        1
    ]  # an owner without noise hides nothing
    assert make_claims(Laplace(), "A", [5], [0.0], 3, "one record") == []


def test_with_fewer_sellers_than_owners_of_a_record_all_of_them_count():
    assert group_budgets(np.array([2.0]), 3).tolist() == [[2.0]]
    assert [claim.epsilon for claim in claims_of(Laplace(overlap=5))[1]] == pytest.approx(
        [SOLD.sum() / 5] * 3
    )
    assert [claim.epsilon for claim in claims_of(Laplace(overlap=2))[1]] == pytest.approx(
        [1.408, 1.408, 1.024]
    )


@pytest.mark.parametrize("accounting", ["pld", "zcdp"])
def test_gaussian_distances_of_several_owners_add_in_squares(accounting):
    alone = Gaussian(1e-3, accounting)
    shared = Gaussian(1e-3, accounting, overlap=3)
    own, joint = claims_of(shared)
    distance = np.sqrt(np.mean(alone.distance(SOLD) ** 2))
    assert alone.distance(joint[0].epsilon) == pytest.approx(distance, rel=1e-5)
    assert joint[2].surest == pytest.approx(float(gaussian_belief(distance, 1e-3)))
    assert own[0].surest == pytest.approx(float(gaussian_belief(alone.distance(1.664), 1e-3)))
    assert claims_of(shared, np.full(3, 1.152))[1][0].epsilon == pytest.approx(1.152, rel=1e-5)


def test_accounted_laplace_answers_of_several_owners_compose():
    """Joint claims lie between those of equal owners who sell the least and the most, and draws bear them out."""
    mechanism = AccountedLaplace(0.01, 1, overlap=3)
    sold = SOLD
    horizon = 1
    joint = mechanism.joint_epsilon(sold[:, None], horizon)[0]
    assert sold.min() < joint < sold.max()
    ratios = mechanism.ratio(sold)
    rng = np.random.default_rng(2)
    noise = rng.laplace(size=(DRAWS, 3, horizon))
    loss = (np.abs(noise + ratios[:, None]) - np.abs(noise)).sum(axis=(1, 2))
    lost = np.maximum(1 - np.exp(joint - loss), 0)
    assert lost.mean() == pytest.approx(0.01, abs=4 * lost.std() / np.sqrt(DRAWS) + 4e-4)
    telling = np.sort(expit(np.abs(loss)))[-round(0.01 * DRAWS) :]
    assert telling.mean() == pytest.approx(
        mechanism.belief_bound(sold[:, None], horizon, [9])[0], abs=5e-3
    )
    same = mechanism.joint_epsilon(np.full((3, 1), 1.152), horizon)[0]
    assert same == pytest.approx(spent_epsilon(float(mechanism.ratio(1.152)), 3, 0.01), rel=1e-6)


def test_where_owners_sell_differently_under_sampling_the_most_exposed_counts():
    mechanism = SubsampledGaussian(1e-4, sum(SIZES), HORIZON, overlap=2)
    own, joint = claims_of(mechanism)
    assert [claim.epsilon for claim in joint] == [1.664, 1.664, 1.664]
    assert joint[2].surest == own[0].surest


def test_noise_as_published_is_judged_by_what_it_gives():
    """Sold 0.25 under WD-DP's formula; an onlooker can be far surer than e^0.25/(1 + e^0.25)."""
    mechanism = PublishedNoise("weighted", 1e-3, (100,) * 32)
    made = make_claims(mechanism, "A", [100], [0.25], 1000, "one record")
    distance = mechanism.distance(0.25, 100, 1000) * np.sqrt(1000)
    assert made[0].epsilon == pytest.approx(5.32, abs=0.01)
    assert made[0].surest == pytest.approx(float(gaussian_belief(distance, 1e-3))) and made[
        0
    ].surest > expit(5.3)
    assert replace(made[0], epsilon=1.0).surest == made[1].surest

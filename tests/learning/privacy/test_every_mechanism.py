"""The contract that every mechanism in MECHANISMS keeps, whatever its law."""

from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest

from learning.errors import InputError
from learning.privacy.guarantees import guarantee_answers
from learning.privacy.mechanism import ACCOUNTINGS, Mechanism, NoiseSettings
from learning.privacy.mechanisms import (
    BEST,
    MECHANISMS,
    candidate_mechanisms,
    kinds_of,
    list_accountings,
    needs_delta,
    norm_of,
    title_of,
)

SIZES = np.array([50, 30, 70])
BOUND = 2.7
HORIZON = 4
SETTINGS = NoiseSettings((50, 30, 70), 1e-3, horizon=HORIZON)


def made(kind):
    """A mechanism of each kind, under each accounting, formula, kind of weights and of answers that it knows."""
    choices = product(
        kind.accountings, kind.published_for or ("",), ("size", "equal"), (False, True)
    )
    moments = kind.name == "wishart"  # for releases of second moments alone
    settings = [
        NoiseSettings((50, 30, 70), 1e-3, how, 1, *more, horizon=HORIZON, moments=moments)
        for how, *more in choices
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
every = pytest.mark.parametrize("mechanism", EVERY, ids=repr)


def test_every_kind_is_made_and_named_as_scenarios_name_it():
    for name, kinds in MECHANISMS.items():
        assert {kind.name for kind in kinds} == {name} and all(made(kind) for kind in kinds)


@pytest.mark.slow
@every
def test_a_budget_buys_a_variance_that_costs_this_budget(mechanism):
    epsilon = np.array([0.05, 1.0, 20.0])
    variance = mechanism.variance(epsilon, SIZES, BOUND, HORIZON)
    assert np.all(np.diff(variance * SIZES**2) < 0)
    assert mechanism.epsilon(variance, SIZES, BOUND, HORIZON) == pytest.approx(epsilon, rel=2e-4)
    assert Mechanism.epsilon(mechanism, variance, SIZES, BOUND, HORIZON) == pytest.approx(
        epsilon, rel=1e-6
    )
    assert mechanism.scale_of_variance(variance) == pytest.approx(
        mechanism.scale(epsilon, SIZES, BOUND, HORIZON), rel=1e-12
    )


@pytest.mark.slow
@every
def test_the_law_of_noise_is_that_of_its_variance(mechanism):
    """v = bound^2 horizon_factor(T) noise_term(epsilon)/N^2: forecasts take the right side, training the left."""
    epsilon = np.array([0.05, 1.0, 20.0])
    power = BOUND**2 * mechanism.horizon_factor(HORIZON) * mechanism.noise_term(epsilon)
    law = power / mechanism.noise_denominator(SIZES) ** 2
    assert mechanism.variance(epsilon, SIZES, BOUND, HORIZON) == pytest.approx(law, rel=1e-12)
    default = Mechanism._noise_scale(mechanism, epsilon, SIZES, BOUND, HORIZON)
    assert default == pytest.approx(mechanism.scale(epsilon, SIZES, BOUND, HORIZON), rel=1e-12)


@every
def test_nothing_shared_and_no_noise(mechanism):
    ends = np.array([0.0, np.inf])
    assert mechanism.scale(ends, SIZES[:2], BOUND, HORIZON).tolist() == [np.inf, 0.0]
    assert mechanism.variance(ends, SIZES[:2], BOUND, HORIZON).tolist() == [np.inf, 0.0]
    assert mechanism.scale([np.inf], SIZES[:1], np.inf, HORIZON).tolist() == [0.0]
    assert (
        mechanism.noise_term(ends).tolist()
        == [0.0, 0.0]
        == mechanism.noise_term_slope(ends).tolist()
    )
    assert Mechanism.epsilon(mechanism, [np.inf, 0.0], SIZES[:2], BOUND, HORIZON).tolist() == [
        0.0,
        np.inf,
    ]
    for wrong in (
        (-1.0, BOUND, HORIZON),
        (np.nan, BOUND, HORIZON),
        (1.0, np.inf, HORIZON),
        (1.0, BOUND, 0),
    ):
        with pytest.raises(ValueError, match="must|needs"):
            mechanism.scale(wrong[0], SIZES, *wrong[1:])


@every
def test_its_slope_is_the_difference_of_its_term(mechanism):
    epsilon = np.array([0.05, 0.4, 1.0, 7.0, 20.0])
    differenced = Mechanism._term_slope(mechanism, epsilon)
    assert mechanism.noise_term_slope(epsilon) == pytest.approx(differenced, rel=1e-4)


@every
def test_draws_have_the_variance_of_their_scale(mechanism):
    """10^6 draws of at most Laplace tails: 1 % is four standard errors."""
    draws = mechanism.draw(1.7, (10**6, 1), rng=np.random.default_rng(0))
    assert draws.var() == pytest.approx(mechanism.unit_variance * 1.7**2, rel=0.01)
    assert abs(draws.mean()) < 5 * draws.std() / 1e3
    assert not mechanism.draw(0.0, (3, 1), rng=np.random.default_rng(0)).any()


@pytest.mark.slow
@every
def test_its_claims_say_what_and_against_whom(mechanism):
    claims = mechanism.claims("bank", 0.5, HORIZON, "one patient", size=30)
    for claim in claims:
        assert (claim.party, claim.unit, claim.rounds, claim.simulation) == (
            "bank",
            "one patient",
            HORIZON,
            True,
        )
        assert claim.delta == mechanism.delta and 0 < claim.epsilon < np.inf
        assert claim.mechanism.startswith(mechanism.name) and claim.protects_against
    assert claims[0].epsilon == guarantee_answers(mechanism, 0.5, HORIZON, HORIZON, size=30).claimed
    for nothing in (np.inf, np.nan, -1.0):
        with pytest.raises(ValueError, match="no privacy can be claimed"):
            mechanism.claim("bank", nothing, HORIZON)


@every
def test_what_is_claimed_of_many_budgets_is_what_each_claim_says(mechanism):
    sold = np.array([[0.05, 0.5, 3.0]])
    sizes = np.array([[50], [30]])
    found = np.broadcast_to(mechanism.claimed_epsilon(sold, sizes, HORIZON), (2, 3))
    for i, size in enumerate((50, 30)):
        claims = [
            mechanism.claims("bank", float(epsilon), HORIZON, size=size) for epsilon in sold[0]
        ]
        assert found[i] == pytest.approx(
            [max(claim.epsilon for claim in made) for made in claims], rel=1e-4
        )
    assert np.all(mechanism.claimed_epsilon(np.zeros(2), SIZES[:2], HORIZON) == 0)


@every
def test_it_guarantees_no_more_than_it_claims_and_the_whole_of_it_over_all_answers(mechanism):
    made = guarantee_answers(mechanism, 0.5, HORIZON, HORIZON, size=30)
    assert made.epsilon(made.joint) <= made.claimed * (1 + 1e-6)
    if mechanism.accounting != "zcdp":  # which claims more than is spent
        assert made.epsilon(made.joint) == pytest.approx(made.claimed, rel=1e-3)
    assert 0 < made.chance <= 1


@every
def test_rounds_beyond_the_accounted_ones_are_refused(mechanism):
    if mechanism.horizon is not None:
        beyond = mechanism.horizon + 1
        for refused in (
            lambda: mechanism.scale(1.0, SIZES, BOUND, beyond),
            lambda: mechanism.horizon_factor(beyond),
            lambda: mechanism.claim("bank", 1.0, beyond),
        ):
            with pytest.raises(ValueError, match="at most the accounted"):
                refused()


def test_what_scenarios_may_combine():
    for name in MECHANISMS:
        for accounting in list_accountings(name, "sgd2"):
            settings = NoiseSettings((9,), 1e-4, accounting, formula="sgd2", horizon=3)
            settings = replace(settings, moments=True)
            found = candidate_mechanisms(name, settings)
            assert {one.accounting for one in found} == {accounting}
            assert all((one.delta > 0) == needs_delta(name, accounting) for one in found)
        settings = replace(SETTINGS, moments=True)
        assert candidate_mechanisms(name, settings)[0].accounting == list_accountings(name)[0]
    assert "printed" not in list_accountings("gaussian") and "printed" in list_accountings(
        "gaussian", "weighted"
    )
    for wrong in (
        lambda: candidate_mechanisms("cauchy", SETTINGS),
        lambda: candidate_mechanisms("laplace", NoiseSettings((9,), 1e-4, "zcdp")),
    ):
        with pytest.raises(InputError, match=r"learning\.mechanism"):
            wrong()
    with pytest.raises(InputError, match=r"learning\.delta"):
        candidate_mechanisms("gaussian", NoiseSettings((9,)))
    with pytest.raises(InputError, match=r"learning\.overlap"):
        candidate_mechanisms("gaussian", NoiseSettings((9,), 1e-4, "printed", 2, "sgd2"))


def test_the_best_is_looked_for_among_those_that_are_open_to_it():
    """Not in noise as published, and each counted as exactly as it can be; horizons apart where noise depends on them."""
    found = candidate_mechanisms(BEST, NoiseSettings((9,), 1e-4, moments=True))
    assert {type(one) for one in found} == set(kinds_of(BEST))
    assert [one.label for one in found if one.horizon is None] == [
        "laplace",
        "gaussian (pld)",
        "l2",
        "wishart",
    ]
    for name in ("laplace (pld)", "l2 (pld)"):
        assert [one.horizon for one in found if one.label == name] == [2, 3, 4, 6, 10, 17]
    assert not needs_delta(BEST)
    with pytest.raises(InputError, match=r"learning\.mechanism"):
        candidate_mechanisms("wishart", SETTINGS)  # of gradients, without moments
    pure = candidate_mechanisms(BEST, NoiseSettings((9,)))  # without a delta
    assert {one.label for one in pure} == {"laplace", "l2"}


@pytest.mark.parametrize(("width", "moments"), [(6, True), (7, True), (24, False), (25, False)])
def test_noise_that_must_be_drawn_exactly_is_what_a_release_draws(width, moments):
    """Vectors of l2 noise up to 24 numbers, of which second moments of 6 columns have 21 and of 7 columns 28."""
    settings = NoiseSettings((9,), 1e-4, width=width, moments=moments, exact=True)
    found = candidate_mechanisms(BEST, settings)
    assert all(one.release_budget(1.0, one.horizon or 1) is not None for one in found)
    labels = {one.label for one in found}
    assert labels == {"laplace", "gaussian (zcdp)"} | ({"l2"} if width in (6, 24) else set())


def test_words_of_a_report():
    for kinds in MECHANISMS.values():
        for kind in kinds:
            assert all(one.label.startswith(kind.name) for one in made(kind))
            assert all(one.accounting in ACCOUNTINGS for one in made(kind))
            assert all(
                title_of(kind.name) == kind.title and norm_of(kind.name) == one.norm
                for one in made(kind)
            )
    assert title_of("cauchy") == "Cauchy noise"  # of a result whose mechanism is no longer known


@pytest.mark.slow
def test_overlap_is_counted_or_refused():
    """A record with two owners: never less noise for each (zCDP bounds how often few rounds use a record by whole uses)."""
    for one in EVERY:
        if "overlap" in {field.name for field in fields(one)}:
            shared = replace(one, overlap=2)
            assert shared.variance(1.0, 50, BOUND, HORIZON) >= one.variance(1.0, 50, BOUND, HORIZON)

"""Attitudes to risk: what each picks among offers with known gains, and what counts as a tie."""

from types import SimpleNamespace

import numpy as np
import pytest

from scenarios.studies.attitude import Alternative, Attitude, noise_between, pick

STATED = SimpleNamespace(policy=SimpleNamespace(kind="posted", per="epsilon"), seed=1)
WORLDS = np.random.default_rng(7).standard_normal(200)
SAFE, RISKY = 60 + 10 * WORLDS, 100 + 150 * WORLDS


def offer(name, gains, left_out=(), kind="shapley"):
    scenario = SimpleNamespace(policy=SimpleNamespace(kind=kind, per="epsilon"))
    surplus = float(np.mean(gains))
    return Alternative(name, kind, scenario, left_out, np.ones(1), 10.0, surplus, gains, None)


def picked(offers, **attitude):
    found = pick(offers, Attitude(**attitude), STATED, 0.0)
    return found and found.chosen.name


def test_each_attitude_picks_its_own():
    offers = [offer("risky", RISKY), offer("safe", SAFE)]
    assert picked(offers) == "risky"
    assert picked(offers, at_least=0.9) == picked(offers, quantile=0.1) == "safe"
    assert picked(offers, quantile=0.9) == "risky"
    assert picked(offers[:1], at_least=0.9) is picked(offers[:1], quantile=0.1) is None


@pytest.mark.parametrize(("sure", "chosen"), [(0.85, "whole"), (0.95, "fewer")])
def test_all_owners_are_kept_unless_leaving_out_gains_more_in_nine_worlds_of_ten(sure, chosen):
    """The same worlds count for both: a small sure difference is told, a larger unsure one is not."""
    whole = offer("whole", RISKY)
    more = np.where(np.arange(200) < sure * 200, 1.0, -1.0)
    assert picked([whole, offer("fewer", RISKY + more, ("A",))]) == chosen
    assert picked([whole, offer("fewer", RISKY + 50 * more, ("A",))]) == chosen


def test_the_tie_of_quantiles_counts_chance_in_the_worlds_alone():
    """The best case is the other's worst: most worlds gain less, and the quantile is told apart."""
    offers = [offer("safe", SAFE, ("A",)), offer("risky", RISKY)]
    assert np.mean(RISKY > SAFE) > 0.5
    found = pick(offers, Attitude(quantile=0.1, at_least=None), STATED, 0.0)
    assert found.chosen.name == "safe" and not found.tied


def test_the_stated_policy_is_taken_among_ties():
    offers = [offer("other", SAFE + 0.001), offer("stated", SAFE, kind="posted")]
    found = pick(offers, Attitude(), STATED, 0.0)
    assert found.chosen.name == "stated" and [one.name for one in found.tied] == ["other"]


def test_the_noise_of_a_difference_of_means_is_that_of_the_central_limit_theorem():
    other = offer("b", WORLDS[::-1] * 20)
    expected = 2 * np.std(SAFE - other.gains) / np.sqrt(200) + 0.01
    assert noise_between(offer("a", SAFE), other, Attitude(), 1) == pytest.approx(expected, rel=0.1)

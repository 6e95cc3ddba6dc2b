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


def test_all_owners_are_kept_unless_leaving_out_gains_more_than_noise():
    """The same worlds count for both: a small sure difference is told, a larger noisy one is not."""
    whole = offer("whole", RISKY)
    assert picked([whole, offer("fewer", RISKY + 1.0, ("A",))]) == "fewer"
    noisy = RISKY + 1.0 + 30 * np.random.default_rng(8).standard_normal(200)
    assert noisy.mean() > RISKY.mean()
    assert picked([whole, offer("fewer", noisy, ("A",))]) == "whole"


def test_the_stated_policy_is_taken_among_ties():
    offers = [offer("other", SAFE + 0.001), offer("stated", SAFE, kind="posted")]
    found = pick(offers, Attitude(), STATED, 0.0)
    assert found.chosen.name == "stated" and [one.name for one in found.tied] == ["other"]


def test_the_noise_of_a_difference_of_means_is_that_of_the_central_limit_theorem():
    other = offer("b", WORLDS[::-1] * 20)
    expected = 2 * np.std(SAFE - other.gains) / np.sqrt(200) + 0.01
    assert noise_between(offer("a", SAFE), other, Attitude(), 1) == pytest.approx(expected, rel=0.1)

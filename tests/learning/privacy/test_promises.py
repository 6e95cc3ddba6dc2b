"""Claims against several learners together, against noise that is counted exactly."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.lifetime import compose_learners
from learning.privacy.promises import make_claims


def test_claims_of_several_learners_hold_of_gaussian_noise_counted_exactly():
    """Two learners' noise is one Gaussian of the root sum of squares: its delta at the sum of epsilons is below the sum."""

    def profile(distance, epsilon):
        first, second = (norm.cdf(side * distance / 2 - epsilon / distance) for side in (1, -1))
        return first - np.exp(epsilon) * second

    mechanism = Gaussian(delta=1e-4)
    sold = (0.5, 1.5)
    claims = [
        make_claims(mechanism, "AB", [50, 50], [epsilon, 1.0], 1, "one record") for epsilon in sold
    ]
    (both, _), told = compose_learners(claims), [made[0] for made in claims]
    distances = [
        brentq(lambda d, claim=claim: profile(d, claim.epsilon) - claim.delta, 1e-3, 9)
        for claim in told
    ]
    assert both.epsilon == sum(sold) and both.delta == 2e-4 and both.rounds == 2 and not both.joint
    assert 0 < profile(np.hypot(*distances), both.epsilon) < both.delta and both.surest > max(
        one.surest for one in told
    )
    assert compose_learners(claims[:1]) == []


def test_claims_of_several_learners_of_records_with_several_owners_are_joint():
    made = [
        make_claims(Laplace(overlap=2), "ABC", [9, 9, 9], sold, 2, "one record")
        for sold in ([1, 1, 0], [2, 2, 2])
    ]
    found = {claim.party: claim for claim in compose_learners(made)}
    assert set(found) == {"A", "B"} and all(
        claim.joint and "owners" in claim.adjacency for claim in found.values()
    )
    joint = [{claim.party: claim.epsilon for claim in one if claim.joint} for one in made]
    assert found["A"].epsilon == joint[0]["A"] + joint[1]["A"]

"""Claims of differential privacy for an owner's answers, each against one kind of onlooker.

A claim bounds an onlooker's posterior belief in a version of a record too, by a privacy profile.
Two versions of a record are equally likely at first. M is the probability, over the true version
and the noise, that the observation leaves one of them more than b likely. With delta(e) the
profile, at every e >= 0

    b < (e^e + delta(e)/M)/(1 + e^e),

so that no belief exceeds the least of these except with probability M. Proof: let the first version
become more than b likely on A, P(A) > b (P(A) + Q(A)). As P(A) <= e^e Q(A) + delta(e), b s < (e^e s
+ delta(e))/(1 + e^e), s = P(A) + Q(A). The same holds of the second version, and both s add up to 2
M. The bound is attained by a mechanism that shows its most informative outcomes, of probability M,
and hides the rest. With M = 1 it is the probability that the best guess is right; under pure
epsilon-DP it is e^epsilon/(1 + e^epsilon) for every M.

Source: ours. In terms of the trade-off function f of Dong, Roth and Su, Gaussian Differential
    Privacy, the bound is (1 - f(a))/M at the level a at which a + 1 - f(a) = M.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array

TRIED = np.concatenate([[0.0], np.geomspace(1e-3, 500.0, 1000)])  # e at which a profile is read
EVERYONE = "anyone who sees all of the owner's answers: the learner, the other owners, the public"
EVERY_ANSWER = "anyone who sees all answers of all owners that the record sits with"
REPLACE = "replace one record"
Feared = Literal["learner", "owners", "colluders"]
ONLOOKERS: dict[Feared, str] = {
    "learner": (
        "anyone who sees the sums of all owners' answers and no part of the noise: the "
        "learner, the public"
    ),
    "owners": "any one other owner, who sees the sums and knows its own part of the noise",
    "colluders": (
        "the learner and up to {} other owners together, who see the sums and know their own "
        "parts of the noise"
    ),
}


@dataclass(frozen=True)
class Claim:
    """Claim of differential privacy, and the onlooker that it holds against.

    Never made for an owner that adds no noise.

    Parameters
    ----------
    party: the owner whose records are protected.
    unit: the unit of privacy: one record, or one person with its records.
    adjacency: the relation of neighbouring data sets.
    epsilon, delta: the bound over all rounds.
    rounds: T, the answers of an owner that it covers.
    mechanism: the noise, and its accounting.
    protects_against: the onlooker.
    simulation: whether the noise is from a seeded generator: the numbers are right, but must not be
        handed out.
    overlap: kappa, the owners that one record may sit with. An owner's own claim then holds for a
        record all of whose owners sell as much; the joint claim counts what the others sell.
    joint: whether all answers of all owners of a record are counted.
    surest: bound on the posterior of one of two equally likely versions of a record; None: not
        counted.
    but_for: the probability that it is exceeded.
    assumes: further assumptions; None: none but that owners answer as stated.
    growth: each answer's share of the budget over that of the one before; None of even shares.
    """

    party: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    rounds: int
    mechanism: str
    protects_against: str
    simulation: bool = True
    overlap: int = 1
    joint: bool = False
    surest: float | None = None
    but_for: float = 0.0
    assumes: str | None = None
    growth: float | None = None


def bound_belief(epsilon: ArrayLike, delta: ArrayLike, chance: ArrayLike) -> Array:
    """Compute the bound at a point of a profile, min(1, (e^epsilon + delta/M)/(1 + e^epsilon)).

    Parameters
    ----------
    epsilon, delta: arrays, a point of the profile.
    chance: array, M in (0, 1]; ignored where delta is 0.

    >>> bound_belief(np.log(3), [0.0, 0.1], [0.0, 1.0]).round(9).tolist()
    [0.75, 0.775]
    """
    delta = np.asarray(delta, dtype=float)
    chance = np.asarray(chance, dtype=float)
    beyond = np.where(delta > 0, delta / np.where(delta > 0, chance, 1.0), 0.0)
    doubt = scipy.special.expit(-np.asarray(epsilon, dtype=float))
    return np.asarray(1 - np.maximum(1 - beyond, 0.0) * doubt)


def bound_profile_belief(profile: Callable[[Array], ArrayLike], chance: float) -> float:
    """Compute the least bound over a profile.

    Parameters
    ----------
    profile: e (k,), at least 0 -> the least delta at each.
    chance: M in (0, 1].
    """
    return float(bound_belief(TRIED, profile(TRIED), chance).min())

"""Tests for sums that no records could give within their noise, each with its false-positive rate.

With A = sum w xx', g = sum w u x, |w xx'| <= R^2, |w u x| <= h over n records, and noise E and e,
every owner's true sums have

    trace A <= n R^2,    A >= 0,    [[A, g/V], [g'/V, n]] >= 0,

the last by Cauchy and Schwarz's inequality, since w u x = z v for clipped features z, with A = sum
zz', and |v| <= V: V is the largest |u| that the columns' ranges allow, or h/R if that is more and
records have two weights. Noise moves the trace in one direction, and the smallest eigenvalues by at
most its largest singular value. Score and second moments are also tested as gradients are, each by
itself (`exchange.learner.suspicions`).

Where noise is wider than sums can be, as of few records or small budgets, no sums are impossible.

Source: ours; largest eigenvalue of symmetric Gaussian noise: Sudakov-Fernique and concentration, as
    in `learning.training.noisy_solving.adaptive_damping`; l2 noise is Gaussian given its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy

from exchange.contract import Contract
from exchange.learner.noise import noise_of
from exchange.learner.sums import sums_noise
from exchange.learner.suspicions import CHANCE, Sold, Told, find_suspicions
from learning.arrays import Array
from learning.data.encoded import feature_bound
from learning.losses.coordinates import Coordinates
from learning.privacy.l2 import L2Noise
from learning.privacy.mechanism import Mechanism
from learning.privacy.release_sums import count_moments, flatten_moments
from learning.training.sums import ReleasedSums

SLACK = 1e-9  # of the largest sums: rounding
PARTS = {"scores": "a score", "second moments": "a matrix of second moments"}


def find_sums_suspicions(given: ReleasedSums, contract: Contract) -> list[Told]:
    """Find suspicious answers among sums that came."""
    if not len(given):
        return []
    sold = sums_sold(contract)
    found = []
    for one, means in zip(sold, _mean_parts(given), strict=True):
        rows = dict(zip(given.names, means, strict=True))
        found += [
            replace(told, said=f"has {PARTS[one.noun]} that {told.said}")
            for told in find_suspicions([rows], one)
        ]
    longer = {told.owner for told in found if told.kind == "long"}
    return found + [
        told
        for place, name in enumerate(given.names)
        if name not in longer
        for told in _impossible(given.keep([place]), contract, sold)
    ]


def sums_sold(contract: Contract) -> tuple[Sold, Sold]:
    """Noise sold on mean scores and on mean second moments."""
    coordinates = contract.coordinates
    assert coordinates.scores is not None
    width = len(coordinates.centre)
    sizes = np.array([owner.records for owner in contract.owners])
    made = []
    for noun, longest, deviations, count in zip(
        PARTS,
        (coordinates.scores.bound, coordinates.radius**2),
        sums_noise(contract, contract.owners),
        (width, count_moments(width)),
        strict=True,
    ):
        spread = np.sqrt(count + 1) if isinstance(noise_of(contract), L2Noise) else 1.0
        scales = dict(zip(contract.names, (deviations / sizes / spread)[:, None], strict=True))
        most = longest * (1 + SLACK)
        made.append(Sold(noise_of(contract), most, scales, parts=2, noun=noun))
    return made[0], made[1]


def _mean_parts(given: ReleasedSums) -> tuple[Array, Array]:
    """Mean scores (N, p) and coordinates of mean second moments, (N, p (p + 1)/2)."""
    moments = np.array([flatten_moments(one) for one in given.xx])
    return given.xu / given.sizes[:, None], moments / given.sizes[:, None]


def _impossible(one: ReleasedSums, contract: Contract, sold: tuple[Sold, Sold]) -> Iterator[Told]:
    """Find what is impossible in the mean sums of one owner."""
    level = CHANCE / len(contract.names)
    mechanism = noise_of(contract)
    width = len(contract.bounds.start)
    count = count_moments(width)
    (name,) = one.names
    on_score, on_moments = (float(part.scales[name][0]) for part in sold)
    moments = one.xx[0] / one.sizes[0]
    score = one.xu[0] / one.sizes[0]
    squared = contract.bounds.radius**2
    trace = float(np.trace(moments))
    most = squared * (1 + SLACK)
    most += on_moments * np.sqrt(width) * reach_in_direction(mechanism, count, level)
    if trace > most:
        said = "has second moments of a larger trace than records within the public bounds have"
        yield Told(name, 1, "trace", f"{said}: {trace:.4g}, at most {most:.4g} with the noise sold")
    least = -on_moments * reach_of_matrix(mechanism, width, level) - SLACK * squared
    smallest = float(np.linalg.eigvalsh(moments)[0])
    if smallest < least:
        said = "has second moments with an eigenvalue that no records have"
        yield Told(name, 1, "negative", f"{said}: {smallest:.4g}, at least {least:.4g} with noise")
    largest = largest_target(contract)
    joint = np.block([[moments, score[:, None] / largest], [score / largest, np.ones(1)]])
    smallest = float(np.linalg.eigvalsh(joint)[0])
    length = on_score * mechanism.length_quantile(width, level / 2) / largest
    least = -on_moments * reach_of_matrix(mechanism, width, level / 2) - length
    if smallest < least - SLACK * max(1.0, squared):
        said = "has a score too long for its second moments"
        yield Told(
            name, 1, "mismatched", f"{said}: {smallest:.4g}, at least {least:.4g} with noise"
        )


def largest_target(contract: Contract) -> float:
    """Bound V on |v| of clipped records, from the public ranges of the columns."""
    encoder = contract.encoder
    coordinates = Coordinates.of(contract.coordinates)
    assert coordinates.scores is not None
    features = np.maximum(feature_bound(encoder), np.abs(encoder.mean))
    _, missed = coordinates.largest(features, encoder.target.bound)
    if coordinates.scores.alike:
        return missed
    return max(missed, coordinates.scores.bound / coordinates.radius)


def reach_in_direction(mechanism: Mechanism, width: int, level: float) -> float:
    """Length that noise of scale 1 exceeds in one direction with a chance of ``level`` at most.

    Under l2 noise, Z chi of a Gaussian Z and a chi of p + 1 degrees of freedom, by Chernoff: the
    least of (ln(1/level) - (p + 1)/2 ln(1 - t^2))/t over 0 < t < 1.
    """
    if not isinstance(mechanism, L2Noise):
        return float(-scipy.special.ndtri(level))
    tilts = np.linspace(0.0, 1.0, 2001)[1:-1]
    reached = (np.log(1 / level) - (width + 1) / 2 * np.log1p(-(tilts**2))) / tilts
    return float(reached.min())


def reach_of_matrix(mechanism: Mechanism, width: int, level: float) -> float:
    """Bound -(smallest eigenvalue) of symmetric noise of scale 1, with probability 1 - ``level``.

    The noise is on the coordinates of `flatten_moments`, and no longer than these.
    """
    count = count_moments(width)
    length = mechanism.length_quantile(count, level)
    if not isinstance(mechanism, L2Noise):
        return min(length, float(np.sqrt(2 * width) + np.sqrt(2 * np.log(1 / level))))
    given = np.sqrt(2 * width) + np.sqrt(2 * np.log(2 / level))
    wide = np.sqrt(2 * scipy.special.gammainccinv((count + 1) / 2, level / 2))
    return min(length, float(given * wide))

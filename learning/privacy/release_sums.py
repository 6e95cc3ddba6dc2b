"""Sums for release: second moments and a score, their sensitivity on a machine, and exact noise.

An owner's answer is the vector (sum w u x, sum w xx') over its records at the public model, the
second part in coordinates that keep its Frobenius norm: the diagonal, then sqrt(2) times the upper
triangle. A record has |w xx'| <= R^2 and |w u x| <= h (`learning.losses.moment_bounds.Scores`).

Gaussian noise is drawn for one vector, (score, c moments) with c = 2 h t/R^2, by OpenDP's discrete
Gaussian sampler. The vector moves by at most 2 h stretch(t) (`noise_stretch`), and OpenDP's map
says what that costs. L2 noise is drawn for each part by itself, on a lattice of its own. The parts
are independent, so that the privacy loss of two neighbouring tables is the sum of what each lattice
costs at the distance of its part. `distance_frontier` lists pairs of distances one of which bounds
those of any two records, and the price is the largest sum over these pairs.

Sensitivity as computed. The theorems are about real numbers; an owner's machine rounds, with u =
2^-53. (1) A record's clipped features z and target v are floats, and count as zeros unless |z| and
|v z| measure at most R and h up to `rounding_factor`. So the true lengths keep to R and h times 1 +
4 (p + 8) u, and the theorems hold for z and v at these bounds. (2) An entry of v z or zz' is one
product, off by u of itself. (3) A sum of n such numbers, in any order, is off by at most (n - 1)
u/(1 - n u) times the sum of their sizes, whose 2-norm is at most n h or n R^2. The factors sqrt(2)
and c add three roundings. Two neighbouring tables are off once each. Together, with a = 1 + 16 (p +
8) u and r = (n + p + 16) u/(1 - (n + p + 16) u), parts d and e apart (in units of 2 h and R^2) move
by at most

    score: a h (2 k d + 2 n r),    moments: a R^2 (k e + 2 n r),

with k rows to a person. Numbers too small for floats add less than 1e-300 to that, which a covers.
Rounding to a lattice is counted by its map. For 100,000 records the second term is a millionth of
the first.

Source: ours; sensitivity and price of both parts: `learning.losses.clipping`,
    `learning.privacy.l2`; error of a sum: Higham, Accuracy and Stability of Numerical Algorithms,
    section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nextafter

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.losses.clipping import PublicCoordinates
from learning.losses.moment_bounds import noise_stretch
from learning.privacy.accounting import Accounting, L2Accounting
from learning.privacy.secure_noise import (
    FINE,
    ROUNDING,
    SCALE_STEPS,
    measurement,
    rounding_factor,
    scale_for,
)

WIDEST_MODEL = 256  # parameters: the sums of more do not fit into a message
Draw = Callable[..., Array]  # `learning.privacy.secure_noise.add_noise`


def count_moments(width: int) -> int:
    """Count the numbers of second moments, p (p + 1)/2."""
    return width * (width + 1) // 2


def flatten_moments(matrix: Array) -> Array:
    """Coordinates of a symmetric matrix (p, p): diagonal, then sqrt(2) times the upper triangle.

    >>> flatten_moments(np.array([[1.0, 2.0], [2.0, 5.0]])).round(3).tolist()
    [1.0, 5.0, 2.828]
    """
    upper = matrix[np.triu_indices(len(matrix), 1)]
    return np.concatenate([np.diagonal(matrix), np.sqrt(2) * upper])


def clipped_sums(features: Array, targets: Array, coordinates: PublicCoordinates) -> Array:
    """Sum admitted records (n, p), (n,) to a score and second moments, (p + p (p + 1)/2,).

    A record that still measures more than a bound, or is not finite, counts as zeros. Products run
    row by row and in one order (`np.einsum`), so that a record's part depends on nothing else.
    """
    scores = coordinates.scores
    assert scores is not None
    radius = coordinates.radius
    slack = rounding_factor(features.shape[1])
    with np.errstate(all="ignore"):
        moved = np.einsum("ij,jk->ik", features, coordinates.transform)
        missed = targets - np.einsum("ij,j->i", features, coordinates.centre)
        x, u = scores.records(moved, missed, coordinates.lengths(moved), radius)
        short = coordinates.lengths(x) <= radius * slack
        short &= coordinates.lengths(u[:, None] * x) <= scores.bound * slack
        x[~short] = 0.0
        u[~short] = 0.0
        return np.concatenate([u @ x, flatten_moments(x.T @ x)])


@dataclass(frozen=True)
class SumsNoise:
    """Exact noise on an answer of sums.

    Parameters
    ----------
    counts : numbers in each vector that is drawn at once.
    scales : scale of the noise of each.
    weights : array (p + p (p + 1)/2,), factors on the answer while noise is added.
    distances : for each pair of neighbours that counts, how far each vector moves as computed.
    vectors : whether it is l2 noise.
    """

    counts: tuple[int, ...]
    scales: tuple[float, ...]
    weights: Array = field(repr=False)
    distances: tuple[tuple[float, ...], ...] = field(repr=False)
    vectors: bool

    @property
    def spent(self) -> float:
        """Cost of the answer by the samplers' own maps: rho of Gaussian noise, epsilon of l2."""
        drawn = zip(self.scales, self.counts, strict=True)
        maps = [measurement(scale, 2, count * self.vectors).map for scale, count in drawn]
        return max(
            _sum_above(*(cost(apart) for cost, apart in zip(maps, pair, strict=True)))
            for pair in self.distances
        )

    @property
    def part_scales(self) -> tuple[float, float]:
        """Scales of the noise on the score and on the coordinates of second moments."""
        return self.scales[0], self.scales[-1] / float(self.weights[-1])

    def add(self, sums: Array, draw: Draw) -> Array:
        """Add noise to sums (p + p (p + 1)/2,)."""
        vectors = np.split(sums * self.weights, np.cumsum(self.counts)[:-1])
        drawn = zip(vectors, self.scales, strict=True)
        noised = [draw(part, scale, norm=2, vectors=self.vectors) for part, scale in drawn]
        return np.concatenate(noised) / self.weights


def price_sums(
    mechanism: Accounting, coordinates: PublicCoordinates, n_records: int, budget: float
) -> SumsNoise:
    """Price the noise on sums so that it spends at most a budget, by the samplers' own maps.

    Parameters
    ----------
    mechanism : Gaussian noise accounted by zCDP; or l2 noise priced `with_moments`.
    coordinates : the public bounds, with those on scores.
    n_records : n.
    budget : rho of Gaussian noise, epsilon of l2 noise.

    Raises
    ------
    InputError
        If no scale near the one expected is confirmed.
    ValueError
        If the budget is less than the lattices cost.
    """
    width = len(coordinates.centre)
    counts = (width, count_moments(width))
    scores = coordinates.scores
    assert scores is not None
    if isinstance(mechanism, L2Accounting):
        return _price_lattices(mechanism, coordinates, n_records, budget)
    joint = joint_distance(coordinates, n_records)
    scale = scale_for(budget, joint, 2)
    weights = joint_weights(coordinates)
    return SumsNoise((sum(counts),), (scale,), weights, ((joint,),), vectors=False)


def joint_weights(coordinates: PublicCoordinates) -> Array:
    """Factors (p + p (p + 1)/2,) on score and moments in one vector under Gaussian noise."""
    width = len(coordinates.centre)
    return np.repeat([1.0, _joint_factor(coordinates)], (width, count_moments(width)))


def _joint_factor(coordinates: PublicCoordinates) -> float:
    scores = coordinates.scores
    assert scores is not None
    return 2 * scores.bound * scores.share / coordinates.radius**2


def joint_distance(coordinates: PublicCoordinates, n_records: int) -> float:
    """Bound the move of (score, factor moments) as computed, in 2-norm."""
    scores = coordinates.scores
    assert scores is not None
    rows = coordinates.rows_per_person
    slack, added = _rounding_of_sums(n_records, len(coordinates.centre))
    added *= joint_bound(coordinates)
    return float(slack * (2 * scores.bound * rows * noise_stretch(scores.share) + added))


def joint_bound(coordinates: PublicCoordinates) -> float:
    """Bound a record's (score, factor moments) in 2-norm, before rounding."""
    scores = coordinates.scores
    assert scores is not None
    return float(np.hypot(scores.bound, _joint_factor(coordinates) * coordinates.radius**2))


def _rounding_of_sums(n_records: int, width: int) -> tuple[float, float]:
    """Factor a on bounds, and 2 n r, which sums as computed move by more than true ones."""
    share = (n_records + width + 16) * ROUNDING
    return 1 + 16 * (width + 8) * ROUNDING, 2 * n_records * share / (1 - share)


def _price_lattices(
    mechanism: L2Accounting, coordinates: PublicCoordinates, n_records: int, budget: float
) -> SumsNoise:
    """Price l2 noise on each part, whose deviations have the ratio that `Scores.share` says."""
    scores = coordinates.scores
    assert scores is not None
    width = len(coordinates.centre)
    counts = (width, count_moments(width))
    rows = coordinates.rows_per_person
    squared = coordinates.radius**2
    slack, added = _rounding_of_sums(n_records, width)
    moves = [
        (slack * scores.bound * (2 * rows * d + added), slack * squared * (rows * e + added))
        for d, e in mechanism.moment_distances(rows).tolist()
    ]
    spread = np.sqrt((counts[0] + 1) / (counts[1] + 1))
    ratio = float(squared / (2 * scores.bound * scores.share) * spread)
    left = budget - sum(np.sqrt(counts)) * 2.0**-FINE
    if not left > 0:
        raise ValueError(f"a budget of {budget:.3g} is less than the grids of its noise cost")
    scale = float(max(moved + apart / ratio for moved, apart in moves) / left)
    for _ in range(SCALE_STEPS):
        scales = (scale, scale * ratio)
        noise = SumsNoise(counts, scales, np.ones(sum(counts)), tuple(moves), vectors=True)
        if noise.spent <= budget:
            return noise
        scale *= 1 + 2.0**-50
    rule = f"must have a noise scale certified to spend {budget:.3g} on moments and score"
    raise InputError("release.mechanism", rule, f"no such scale near {scale:.3g}")


def _sum_above(*costs: float) -> float:
    """Add costs, rounded up."""
    total = costs[0]
    for cost in costs[1:]:
        total = nextafter(total + cost, inf)
    return total

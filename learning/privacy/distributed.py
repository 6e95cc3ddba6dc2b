"""Discrete Gaussian noise on a grid that owners make together, each a part, for release in a sum.

Sums over an owner's records are rounded to whole steps of a grid, and each number gets discrete
Gaussian noise of scale s, in steps, from OpenDP's exact sampler. Only the total of the owners'
numbers is seen. Whoever knows some parts of its noise faces n others, unknown.

Sensitivity on the grid. Let the answers v, w (m numbers each) of two neighbouring tables lie at
most D apart in 2-norm, as computed. Rounding moves each number by at most half a step, so the
rounded answers lie at most D/g + sqrt(m) steps g apart: v/g and w/g are D/g apart at most, and each
number of the difference of the two rounding errors has size at most 1. Everything is computed in
fractions; sqrt(m) is rounded up.

Privacy of n parts. The sum of n discrete Gaussians is no discrete Gaussian, but nearly one. It
hides integer vectors at most S apart by rho-zCDP with

    rho = (S/(sqrt(n) s) + tau sqrt(m))^2/2,  tau = 10 sum_{k=1}^{n-1} exp(-2 pi^2 s^2 k/(k+1)),

for s >= 1/2. Here tau is counted as 10 (n - 1) 2^-min(1024, floor(9 s^2)), which is larger: each
exponent is at least pi^2 s^2 > 9 s^2, and e > 2. Parts beyond n are further noise on the same total
and reveal nothing more.

Source: Kairouz, Liu and Steinke, The Distributed Discrete Gaussian Mechanism for Federated Learning
    with Secure Aggregation, Proposition 14 (third bound); rounding and the bound on tau are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.privacy.secure_noise import load_opendp, root_above

BITS = 64  # totals are counted modulo 2^BITS
FAR = 1024  # deviations of a part that its noise is allowed for; more has a chance below 2^-(10^5)
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class NoisePart:
    """One owner's part of the noise, and the number of parts that suffice.

    Parameters
    ----------
    step: g, a power of two.
    scale: s, in steps, at least 1/2.
    parts: n, the least number of parts that an onlooker does not know.

    >>> part = NoisePart(0.25, 1000.0, 3)
    >>> alone = part.rho(10.0, 4, 1)  # (10/0.25 + 2)^2/(2 1000^2), rounded up
    >>> alone >= 42**2 / 2e6 and alone < 42**2 / 2e6 * (1 + 1e-12)
    True
    """

    step: float
    scale: float
    parts: int

    def grid_distance(self, distance: float, count: int) -> Fraction:
        """Bound the steps between ``count`` rounded numbers whose values are a distance apart."""
        return Fraction(distance) / Fraction(self.step) + root_above(count)

    def rho(self, distance: float, count: int, parts: int) -> float:
        """Cost (zCDP) of the total to an onlooker who lacks ``parts`` parts, rounded up.

        It is inf of no parts, and of several whose scale is below 1/2, where nothing is proved.
        """
        if not parts or (parts > 1 and self.scale < 0.5):
            return inf
        scale = Fraction(self.scale)
        moved = self.grid_distance(distance, count) / scale
        tau = parts_gap(scale, parts)
        squared = moved**2 / parts + 2 * moved * tau * root_above(count) + tau**2 * count
        spent = squared / 2
        found = float(spent)
        return found if found >= spent else nextafter(found, inf)

    def draw(self, count: int) -> list[int]:
        """Draw the part on so many numbers, in steps, from the system's random source."""
        return list(_grid_noise(self.scale)([0] * count))

    def round_values(self, values: Array) -> list[int]:
        """Round finite values to whole steps."""
        step = Fraction(self.step)
        return [round(Fraction(value) / step) for value in values.tolist()]


def parts_gap(scale: Fraction, parts: int) -> Fraction:
    """Bound tau, the distance of a sum of parts from a discrete Gaussian; 0 of a single one.

    >>> parts_gap(Fraction(1, 2), 2) == Fraction(10, 4)
    True
    """
    return Fraction(10 * (parts - 1), 2 ** min(1024, floor(9 * scale**2)))


@lru_cache(maxsize=64)  # it holds no noise: that is drawn anew whenever it is invoked
def _grid_noise(scale: float) -> Any:
    dp = load_opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


@dataclass(frozen=True)
class SumsPart:
    """One owner's part of the noise on its answer of sums (`learning.privacy.release_sums`).

    Parameters
    ----------
    part: the part.
    weights: array (m,), factors on the answer on the grid.
    distance: how far the weighted answer moves as computed.
    """

    part: NoisePart
    weights: Array = field(repr=False)
    distance: float

    @property
    def spent(self) -> float:
        """Cost of the total, rho, where the agreed parts are unknown."""
        return self.part.rho(self.distance, len(self.weights), self.part.parts)

    @property
    def part_scales(self) -> tuple[float, float]:
        """Scales of the part on the score and on the coordinates of second moments."""
        scale = self.part.scale * self.part.step
        return scale, scale / float(self.weights[-1])

    def add(self, sums: Array, draw: object = None) -> Words:
        """Round weighted sums (m,) to the grid and add the part, modulo 2^BITS."""
        rounded = self.part.round_values(sums * self.weights)
        noised = zip(rounded, self.part.draw(len(rounded)), strict=True)
        return np.array([(whole + drawn) % 2**BITS for whole, drawn in noised], dtype=np.uint64)

    def fits(self, sizes: Sequence[int], bound: float) -> bool:
        """Test whether totals over owners' records stay below half the modulus.

        Parameters
        ----------
        sizes: each owner's number of records.
        bound: on the size of each number of a record's weighted sums, as computed.
        """
        bare = sum(sizes) * Fraction(bound) / Fraction(self.part.step)
        noise = len(sizes) * (1 + ceil(FAR * self.part.scale))
        return bare + noise < 2 ** (BITS - 1)

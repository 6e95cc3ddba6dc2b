"""L2 noise for release: exact, on a grid of whole vectors, thinned out of OpenDP's discrete Laplace noise.

Values are rounded to a grid of step g, a power of two, and get g K, K a vector of p whole numbers with chance in proportion
to exp(-|K|_2/s). Neighbouring values at most D apart are at most D/g + sqrt(p) apart once rounded, and |K + d|_2 differs from
|K|_2 by at most |d|_2: the answer is pure DP at (D/g + sqrt(p))/s, to the last bit, since all that is reckoned is whole
numbers. K is drawn by rejection. OpenDP's discrete Laplace noise, exact and from the system's random source, of scale
b >= s sqrt(p) is taken with chance exp(-(|K|_2/s - |K|_1/b)), at most 1 as |K|_1 <= sqrt(p) |K|_2. That chance is no
fraction: it is reckoned to as many digits as it takes to tell it from a uniform number of the system's random bits, which
is drawn to as many. OpenDP's numbers end at 2^63, which one in e^(2^32) reaches. How long a draw takes hangs on the noise
drawn, not on the values.

A Gaussian vector of real numbers times a random length, as `L2Noise.draw` has it, would not do: each factor may come from a
safe sampler, and the product still betrays by its last bits what it was added to.

Source: rejection and lattice ours; discrete Laplace noise: Canonne, Kamath and Steinke, The Discrete Gaussian for
Differential Privacy, as in OpenDP.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import exp, frexp, isqrt, ldexp, lgamma, log, nextafter, pi, sqrt
from typing import Any

FINE = 24  # the scale is at least 2^FINE steps of the grid
WIDEST = 24  # numbers in an answer; beyond it hundreds of draws and more are thrown away for one that is kept
BITS, DIGITS = 64, 40  # first drawn of a uniform number, and reckoned of the chance that it is compared with
SPARE = 12  # of those digits, that rounding may spoil


@dataclass(frozen=True)
class LatticeL2:
    """L2 noise of a scale on vectors of ``width`` numbers, for release.

    Parameters
    ----------
    scale: b > 0, of the noise on the values; a multiple of its grid's step.
    width: p, the numbers in an answer.

    >>> noise = LatticeL2(0.5, 3)
    >>> 2.0 < noise.map(1.0) < 2.0 * (1 + 1e-6), [value % noise.step for value in noise.invoke([0.1, 5.0, 7.0])]
    (True, [0.0, 0.0, 0.0])
    """

    scale: float
    width: int

    @property
    def step(self) -> float:
        """g, the power of two of which the scale is from 2^FINE to 2^(FINE + 1)."""
        return ldexp(1.0, frexp(self.scale)[1] - 1 - FINE)

    @property
    def steps(self) -> Fraction:
        """s, the scale in steps."""
        return Fraction(self.scale) / Fraction(self.step)

    def map(self, distance: float) -> float:
        """The epsilon that is spent at a distance of the values in 2-norm, rounded up."""
        spent = (Fraction(distance) / Fraction(self.step) + _root_above(self.width)) / self.steps
        found = float(spent)
        return found if found >= spent else nextafter(found, float("inf"))

    def invoke(self, values: list[float]) -> list[float]:
        """The values on the grid, with noise."""
        step = Fraction(self.step)
        rounded = [round(Fraction(value) / step) for value in values]
        return [float((whole + noise) * step) for whole, noise in zip(rounded, self.draw(), strict=True)]

    def draw(self) -> list[int]:
        """K, noise in whole steps."""
        wide, source = self.proposed
        while True:
            tried = source([0] * self.width)
            if _accepted(sum(k * k for k in tried), sum(map(abs, tried)), self.steps, Fraction(wide)):
                return list(tried)

    @property
    def proposed(self) -> tuple[float, Any]:
        """The scale of OpenDP's noise, certainly no less than s sqrt(p), and its source."""
        wide = float(self.steps) * sqrt(self.width)
        while Fraction(wide) ** 2 < self.width * self.steps**2:
            wide = nextafter(wide, float("inf"))
        return wide, _laplace(wide)


@lru_cache(maxsize=64)  # it holds no noise: that is drawn anew whenever it is invoked
def _laplace(scale: float) -> Any:
    import opendp.prelude as dp  # loads a native library: only where something is released

    dp.enable_features("contrib")
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)


def _root_above(number: int) -> Fraction:
    """A fraction no less than a square root, by less than 1e-20."""
    return Fraction(isqrt(number * 10**40) + 1, 10**20)


def _accepted(square: int, length: int, narrow: Fraction, wide: Fraction) -> bool:
    """True with chance exp(-(sqrt(square)/narrow - length/wide)), exactly."""
    bits, digits = BITS, DIGITS
    drawn = secrets.randbits(bits)
    while True:
        with localcontext(prec=digits):
            short = Decimal(square).sqrt() * narrow.denominator / narrow.numerator
            chance = (Decimal(length) * wide.denominator / wide.numerator - short).exp()
            least, most = Decimal(drawn) / 2**bits, Decimal(drawn + 1) / 2**bits
            error = Decimal(10) ** (SPARE - digits)
            if most < chance - error:
                return True
            if least > chance + error:
                return False
        drawn, bits, digits = drawn << BITS | secrets.randbits(BITS), bits + BITS, digits + DIGITS // 2


def tries(width: int) -> float:
    """How many draws one is kept of, on average: (2 sqrt(p))^p over the integral of exp(-|z|_2).

    >>> [round(tries(width)) for width in (1, 10, 20, 24)]
    [1, 11, 171, 512]
    """
    kept = log(2) + width / 2 * log(pi) + lgamma(width) - lgamma(width / 2)
    return exp(width * log(2 * sqrt(width)) - kept)


def first_scale(budget: float, distance: float, width: int) -> float:
    """A scale at which hardly more than a budget is spent at a distance: the grid costs sqrt(p)/2^FINE of it.

    Raises
    ------
    ValueError
        If so small a budget is less than the grid costs.
    """
    left = budget - sqrt(width) * 2.0**-FINE
    if not left > 0:
        raise ValueError(f"a budget of {budget:.3g} an answer is less than the grid of its noise costs")
    return distance / left

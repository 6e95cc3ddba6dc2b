"""Noise for release: OpenDP's exact samplers, at scales that its own map confirms.

The sensitivity of an answer includes the rounding of its computation: noise must hide all of it.

L2 noise is exact too, on a grid, thinned out of OpenDP's discrete Laplace noise (`LatticeL2`).
Values are rounded to a grid of step g, a power of two, and get g K, K a vector of p whole numbers
with probability in proportion to exp(-|K|_2/s). Neighbouring values at most D apart are at most D/g
+ sqrt(p) apart once rounded, and |K + d|_2 differs from |K|_2 by at most |d|_2: the answer is pure
DP at (D/g + sqrt(p))/s, to the last bit, since everything computed is a whole number. K is drawn by
rejection. OpenDP's discrete Laplace noise, exact and from the system's random source, of scale b >=
s sqrt(p) is accepted with probability exp(-(|K|_2/s - |K|_1/b)), at most 1 as |K|_1 <= sqrt(p)
|K|_2. That probability is no fraction: it is computed to as many digits as it takes to compare it
with a uniform number of the system's random bits, drawn to as many. OpenDP's numbers end at 2^63,
which one in e^(2^32) reaches. The time of a draw depends on the noise, not on the values.

A Gaussian vector of real numbers times a random length, as `L2Noise.draw` has it, would not do:
each factor may come from a safe sampler, and the last bits of the product still reveal the value
that it was added to.

Source: rejection and lattice ours; discrete Laplace noise: Canonne, Kamath and Steinke, The
    Discrete Gaussian for Differential Privacy, as in OpenDP.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, wraps
from math import exp, frexp, isqrt, ldexp, lgamma, log, nextafter, pi, sqrt
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.errors import InputError
from learning.extras import check_extra

Given = ParamSpec("Given")
Found = TypeVar("Found")
FINE = 24  # the scale is at least 2^FINE steps of the grid
BITS = 64  # first bits of a uniform number, and of the probability that it is compared with
DIGITS = 40
SPARE = 12  # of those digits, that rounding may spoil
ROUNDING = 2.0**-53  # relative error of one floating-point operation
SCALE_STEPS = 64  # nudges of the scale by one part in 2^50, until OpenDP's own map agrees


def load_opendp() -> Any:
    """Load OpenDP, a large native library; an InputError where the extra is not installed."""
    check_extra("noise for release", "release", "opendp")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@lru_cache(maxsize=64)  # it holds no noise: that is drawn anew whenever it is invoked
def measurement(scale: float, norm: int = 1, vectors: int = 0):
    """Make OpenDP's measurement: Laplace noise for neighbours in 1-norm, Gaussian noise in 2-norm.

    Where ``vectors`` is given: l2 noise on that many numbers, for neighbours in 2-norm.
    """
    if vectors:
        load_opendp()
        return LatticeL2(scale, vectors)
    dp = load_opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    if norm == 1:
        return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


def refuse_generator(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Decorate a function to raise a TypeError if it is given a generator as ``rng``."""

    @wraps(function)
    def draw_securely(*arguments: Given.args, **named: Given.kwargs) -> Found:
        rng = named.pop("rng", None)
        if rng is not None:
            raise TypeError(
                f"release takes no generator, got {type(rng).__name__}: seeded noise is for "
                "simulation only"
            )
        return function(*arguments, **named)

    return draw_securely


@refuse_generator
def add_noise(values: ArrayLike, scale: float, *, norm: int = 1, vectors: bool = False) -> Array:
    """Add secure Laplace (norm 1), Gaussian (norm 2) or l2 noise of a scale to values (p,).

    Parameters
    ----------
    values: array (p,), finite.
    scale: b or s, > 0, finite.
    vectors: whether it is l2 noise.

    Raises
    ------
    TypeError
        If a generator is given: seeded noise can be subtracted again.
    ValueError
        If there is no noise to add, or a value is not finite.
    """
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"release takes a vector of finite numbers, got {numbers}")
    if not 0 < scale < np.inf:
        raise ValueError(f"release needs a noise scale above 0 and finite, got {scale}")
    width = len(numbers) if vectors else 0
    return np.array(measurement(float(scale), norm, width).invoke([float(v) for v in numbers]))


def rounding_factor(n_parameters: int) -> float:
    """Compute the largest measured length of a vector shortened in floating point, over its bound.

    It is 1 + 2 (p + 8) u, with u = 2^-53.
    """
    return 1 + 2 * (n_parameters + 8) * ROUNDING


def sensitivity(n_records: int, n_parameters: int, gradient_bound: float, norm: int = 1) -> float:
    """Bound the move of the mean gradient *as computed* when one record is replaced, in a norm.

    2 Xi/n or 2 G/n, plus rounding: each of the two computed sums of n products is off by at most (n
    + p + 8) u times the largest gradient (u = 2^-53, any order of summation), which is Xi in 1-norm
    and at most 2 G in 2-norm; and where floating point shortens, records may pass their bound by (p
    + 3) u and a query by (3 p + 16) u, the first of which enters squared. Where each gradient is
    clipped, the largest is the radius, in either norm, at every query. For 100,000 records that is
    one part in a million.

    Source: Casacuberta, Shoemate, Vadhan and Wagaman, Widespread Underestimation of Sensitivity in
        Differentially Private Libraries (why); Higham, Accuracy and Stability of Numerical
        Algorithms, section 3.1 (the error of a sum).

    >>> 2 / 1000 < sensitivity(1000, 10, 1.0) < 2 / 1000 * (1 + 1e-9)
    True
    """
    clipping = 1 + 8 * (n_parameters + 8) * ROUNDING
    rounded = (n_records + n_parameters + 8) * ROUNDING
    return gradient_bound * clipping * (2 / n_records + 2 * norm * rounded / (1 - rounded))


def scale_for(budget: float, distance: float, norm: int = 1, vectors: int = 0) -> float:
    """Find the smallest scale, to 2^-50, whose OpenDP map is at most a budget at a distance.

    The budget is epsilon of Laplace noise, b = distance/epsilon, or rho of Gaussian noise, s =
    distance/sqrt(2 rho). Of l2 noise on ``vectors`` numbers it is epsilon by the lattice's map, and
    the scale the smallest to some parts in 10^7.

    Raises
    ------
    InputError
        If none is found near there: the map does not confirm the claim.
    ValueError
        If the budget of l2 noise is less than its grid costs.
    """
    scale = distance / (budget if norm == 1 else np.sqrt(2 * budget))
    if vectors:
        scale = first_scale(budget, distance, vectors)
    for _ in range(SCALE_STEPS):
        if measurement(scale, norm, vectors).map(distance) <= budget:
            return float(scale)
        scale *= 1 + 2.0**-50
    rule = f"needs a noise scale certified to spend {budget:.3g} at distance {distance:.3g}"
    raise InputError("release.mechanism", rule, f"no such scale near {scale:.3g}")


@dataclass(frozen=True)
class LatticeL2:
    """L2 noise of a scale on vectors of ``width`` numbers, for release.

    Parameters
    ----------
    scale: b > 0, of the noise on the values; a multiple of its grid's step.
    width: p, the numbers in an answer.

    >>> noise = LatticeL2(0.5, 3)
    >>> 2.0 < noise.map(1.0) < 2.0 * (1 + 1e-6)
    True
    >>> [value % noise.step for value in noise.invoke([0.1, 5.0, 7.0])]
    [0.0, 0.0, 0.0]
    """

    scale: float
    width: int

    @property
    def step(self) -> float:
        """g, a power of two: the scale is 2^FINE to 2^(FINE + 1) steps."""
        return ldexp(1.0, frexp(self.scale)[1] - 1 - FINE)

    @property
    def steps(self) -> Fraction:
        """s, the scale in steps."""
        return Fraction(self.scale) / Fraction(self.step)

    def map(self, distance: float) -> float:
        """Compute the epsilon at a distance of the values in 2-norm, rounded up."""
        spent = (Fraction(distance) / Fraction(self.step) + root_above(self.width)) / self.steps
        found = float(spent)
        return found if found >= spent else nextafter(found, float("inf"))

    def invoke(self, values: list[float]) -> list[float]:
        """Round values to the grid and add noise."""
        step = Fraction(self.step)
        rounded = [round(Fraction(value) / step) for value in values]
        noised = zip(rounded, self.draw_steps(), strict=True)
        return [float((whole + noise) * step) for whole, noise in noised]

    def draw_steps(self) -> list[int]:
        """Draw K, noise in whole steps."""
        wide, source = self.proposal
        while True:
            tried = source([0] * self.width)
            square = sum(k * k for k in tried)
            if _accept_draw(square, sum(map(abs, tried)), self.steps, Fraction(wide)):
                return list(tried)

    @property
    def proposal(self) -> tuple[float, Any]:
        """Scale of OpenDP's noise, certainly no less than s sqrt(p), and its source."""
        wide = float(self.steps) * sqrt(self.width)
        while Fraction(wide) ** 2 < self.width * self.steps**2:
            wide = nextafter(wide, float("inf"))
        return wide, _laplace_measurement(wide)


@lru_cache(maxsize=64)  # it holds no noise: that is drawn anew whenever it is invoked
def _laplace_measurement(scale: float) -> Any:
    dp = load_opendp()
    return dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale
    )


def root_above(number: int) -> Fraction:
    """Compute a fraction no less than a square root, by less than 1e-20."""
    return Fraction(isqrt(number * 10**40) + 1, 10**20)


def _accept_draw(square: int, length: int, narrow: Fraction, wide: Fraction) -> bool:
    """Draw True with probability exp(-(sqrt(square)/narrow - length/wide)), exactly."""
    bits = BITS
    digits = DIGITS
    drawn = secrets.randbits(bits)
    while True:
        with localcontext(prec=digits):
            short = Decimal(square).sqrt() * narrow.denominator / narrow.numerator
            chance = (Decimal(length) * wide.denominator / wide.numerator - short).exp()
            least = Decimal(drawn) / 2**bits
            most = Decimal(drawn + 1) / 2**bits
            error = Decimal(10) ** (SPARE - digits)
            if most < chance - error:
                return True
            if least > chance + error:
                return False
        drawn = drawn << BITS | secrets.randbits(BITS)
        bits = bits + BITS
        digits = digits + DIGITS // 2


def draws_per_sample(width: int) -> float:
    """Mean number of draws per accepted one: (2 sqrt(p))^p over the integral of exp(-|z|_2).

    >>> [round(draws_per_sample(width)) for width in (1, 10, 20, 24)]
    [1, 11, 171, 512]
    """
    kept = log(2) + width / 2 * log(pi) + lgamma(width) - lgamma(width / 2)
    return exp(width * log(2 * sqrt(width)) - kept)


def first_scale(budget: float, distance: float, width: int) -> float:
    """Compute a scale of l2 noise that spends hardly more than a budget at a distance.

    The grid costs at most sqrt(p)/2^FINE of the budget.

    Raises a ValueError if the budget is less than the grid costs.
    """
    left = budget - sqrt(width) * 2.0**-FINE
    if not left > 0:
        raise ValueError(
            f"a budget of {budget:.3g} an answer is less than the grid of its noise costs"
        )
    return distance / left

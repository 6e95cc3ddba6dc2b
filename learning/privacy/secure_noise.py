"""Noise for release: OpenDP's exact samplers, at scales that its own map confirms.

The sensitivity of an answer includes the rounding of its computation: noise must hide all of it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.lattice import LatticeL2, first_scale

ROUNDING = 2.0**-53  # relative error of one floating-point operation
SCALE_STEPS = 64  # nudges of the scale by one part in 2^50, until OpenDP's own map agrees


@lru_cache(maxsize=64)  # it holds no noise: that is drawn anew whenever it is invoked
def measurement(scale: float, norm: int = 1, vectors: int = 0):
    """Make OpenDP's measurement: Laplace noise for neighbours in 1-norm, Gaussian noise in 2-norm.

    Where ``vectors`` is given: l2 noise on that many numbers, for neighbours in 2-norm.
    """
    if vectors:
        return LatticeL2(scale, vectors)
    import opendp.prelude as dp  # loads a native library: only where something is released

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    if norm == 1:
        return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


def add_noise(
    values: ArrayLike, scale: float, *, norm: int = 1, vectors: bool = False, rng: object = None
) -> Array:
    """Add secure Laplace (norm 1), Gaussian (norm 2) or l2 noise of a scale to values (p,).

    Parameters
    ----------
    values: array (p,), finite.
    scale: b or s, > 0, finite.
    vectors: whether it is l2 noise.
    rng: must be left out.

    Raises
    ------
    TypeError
        If a generator is given: seeded noise can be subtracted again.
    ValueError
        If there is no noise to add, or a value is not finite.
    """
    refuse_generator(rng)
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"release takes a vector of finite numbers, got {numbers}")
    if not 0 < scale < np.inf:
        raise ValueError(f"release needs a noise scale above 0 and finite, got {scale}")
    width = len(numbers) if vectors else 0
    return np.array(measurement(float(scale), norm, width).invoke([float(v) for v in numbers]))


def rounding_factor(n_parameters: int) -> float:
    """Compute the largest measured length of a vector shortened in floating point, over its bound.

    1 + 2 (p + 8) u, u = 2^-53.
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
    """
    scale = distance / (budget if norm == 1 else np.sqrt(2 * budget))
    if vectors:
        scale = first_scale(budget, distance, vectors)
    for _ in range(SCALE_STEPS):
        if measurement(scale, norm, vectors).map(distance) <= budget:
            return float(scale)
        scale *= 1 + 2.0**-50
    rule = f"must get noise that is certified to spend {budget:.3g} at a distance of {distance:.3g}"
    raise InputError("release.mechanism", rule, f"no such scale near {scale:.3g}")


def refuse_generator(rng: object) -> None:
    """Raise a TypeError if a generator is given."""
    if rng is not None:
        raise TypeError(
            f"release takes no generator, got {type(rng).__name__}: seeded noise is for "
            "simulation only"
        )

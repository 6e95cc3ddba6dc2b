"""Release: answers that may leave the house, with noise from a sampler that resists floating-point attacks.

Everything else in this program draws from seeded generators: right for a study, which must be repeatable, and wrong for
a release, since who knows the seed subtracts the noise, and since the gaps between floating-point numbers betray what
noise was added to. Here noise comes from OpenDP: the discrete Laplace distribution, exact arithmetic, the operating
system's random source. A generator is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.coordinates import Coordinates
from learning.ledger import Ledger
from learning.losses import SquaredStatistics
from learning.privacy import Claim, Laplace

Array = NDArray[np.float64]

ROUNDING = 2.0**-53  # relative error of one floating-point operation
SCALE_STEPS = 64  # nudges of the scale, by one part in 2^50 each, before OpenDP's own map must agree


@dataclass(frozen=True)
class Released:
    """One answer made for release.

    Parameters
    ----------
    answer : array (p,). claim : what all answers together promise; ``simulation`` is false.
    spent : epsilon of this answer by OpenDP's own privacy map. scale : of its noise.
    """

    answer: Array = field(repr=False)
    claim: Claim
    spent: float
    scale: float


def _measurement(scale: float):
    """OpenDP's Laplace noise on each number of a vector, neighbours being near in 1-norm."""
    import opendp.prelude as dp  # loads a native library: only where something is released

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    return dp.m.make_laplace(*space, scale=scale)


def release(values: ArrayLike, scale: float, *, rng: object = None) -> Array:
    """Values (p,) plus Laplace noise of a scale b on each, from OpenDP's secure source.

    Parameters
    ----------
    values : array (p,), finite. scale : b > 0, finite.
    rng : must be left out; taken only to say so.

    Raises
    ------
    TypeError
        If a generator is given: seeded noise can be subtracted again.
    ValueError
        If there is no noise to add, or a value is not finite.
    """
    if rng is not None:
        raise TypeError(f"release takes no generator, got {type(rng).__name__}: seeded noise is for simulation only")
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"release takes a vector of finite numbers, got {numbers}")
    if not 0 < scale < np.inf:
        raise ValueError(f"release needs a noise scale above 0 and finite, got {scale}")
    return np.array(_measurement(float(scale)).invoke([float(v) for v in numbers]))


def sensitivity(n_records: int, n_parameters: int, gradient_bound: float) -> float:
    """How far the mean gradient *as computed* moves in 1-norm when one record is replaced, at most.

    2 Xi/n, plus what rounding may add: each of the two computed sums of n products is off by at most (n + p + 8) u Xi
    (u = 2^-53, any order of summation), and clipping in floating point may pass a few p u too much. For 100,000 records
    that is one part in a million.

    Source: Casacuberta, Shoemate, Vadhan and Wagaman, Widespread Underestimation of Sensitivity in Differentially
    Private Libraries (why); Higham, Accuracy and Stability of Numerical Algorithms, section 3.1 (the error of a sum).

    >>> 2 / 1000 < sensitivity(1000, 10, 1.0) < 2 / 1000 * (1 + 1e-9)
    True
    """
    clipping = 1 + 8 * (n_parameters + 8) * ROUNDING
    rounded = (n_records + n_parameters + 8) * ROUNDING
    return gradient_bound * clipping * (2 / n_records + 2 * rounded / (1 - rounded))


def scale_for(epsilon: float, distance: float) -> float:
    """The smallest scale, to one part in 2^50, at which OpenDP's own map gives at most epsilon at a distance.

    Raises
    ------
    ValueError
        If none is found near distance/epsilon: the map does not say what is claimed.
    """
    scale = distance / epsilon
    for _ in range(SCALE_STEPS):
        if _measurement(scale).map(distance) <= epsilon:
            return scale
        scale *= 1 + 2.0**-50
    raise ValueError(f"no noise scale near {scale:.3g} is certified to give epsilon {epsilon:.3g} at {distance:.3g}")


def release_answer(
    owner: str,
    statistics: SquaredStatistics,
    phi: ArrayLike,
    *,
    epsilon: float,
    horizon: int,
    coordinates: Coordinates,
    ledger: Ledger,
    mechanism: Laplace | None = None,
    unit: str = "one record",
    rng: object = None,
) -> Released:
    """Answer one mean-gradient query for real: charged to the ledger first, then answered under noise from OpenDP.

    answer = mean gradient at phi + Laplace(b), with b such that OpenDP's map from `sensitivity` is at most
    epsilon/(T kappa).

    Parameters
    ----------
    owner, statistics : who answers, from its records as clipped by ``coordinates``.
    phi : array (p,), the query; must lie in the ball, or no bound on a gradient holds.
    epsilon : budget over all ``horizon`` answers, in (0, inf). coordinates : the announced bounds.
    ledger : the owner's account is opened where it has none; the query that would overspend is refused.
    mechanism : Laplace, with the overlap kappa to divide by. unit : what one record is. rng : must be left out.

    Raises
    ------
    TypeError
        If a generator is given, or a mechanism other than Laplace noise under basic composition.
    ValueError
        If the query leaves the ball, nothing bounds a gradient, or the budget is 0 or inf.
    Overspent
        If the budget does not cover one more answer.
    """
    mechanism = Laplace() if mechanism is None else mechanism
    _check_query(phi, epsilon, coordinates, mechanism, rng)
    query = np.asarray(phi, dtype=float)
    share = epsilon / (horizon * mechanism.overlap)
    distance = sensitivity(statistics.n_records, len(query), coordinates.gradient_bound)
    scale = scale_for(share, distance)
    gradient = statistics.gradient(query)
    ledger.open(owner, epsilon, horizon)
    ledger.charge(owner, "release")
    claim = replace(mechanism.claim(owner, epsilon, horizon, unit), mechanism="laplace (opendp)", simulation=False)
    return Released(release(gradient, scale), claim, float(_measurement(scale).map(distance)), scale)


def _check_query(phi: ArrayLike, epsilon: float, coordinates: Coordinates, mechanism: object, rng: object) -> None:
    """Refuse what cannot be answered under a promise, before anything is computed from records."""
    if rng is not None:
        raise TypeError(f"release takes no generator, got {type(rng).__name__}: seeded noise is for simulation only")
    if type(mechanism) is not Laplace or coordinates.norm != 1:
        raise TypeError(f"release answers under Laplace noise only, got {type(mechanism).__name__}")
    if not 0 < epsilon < np.inf:
        raise ValueError(f"release needs a budget above 0 and finite, got {epsilon}")
    if not 0 < coordinates.gradient_bound < np.inf:
        raise ValueError(f"release needs a finite bound on a record's gradient, got {coordinates.gradient_bound}")
    query = np.asarray(phi, dtype=float)
    if query.shape != coordinates.centre.shape or not np.all(np.abs(query) <= coordinates.theta_max):
        raise ValueError(
            f"a query must be {len(coordinates.centre)} numbers of at most {coordinates.theta_max:g}, got {query}"
        )

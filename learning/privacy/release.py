"""Release: answers that may leave the house, with noise from a sampler that resists floating-point attacks.

Everything else in this program draws from seeded generators: right for a study, which must be repeatable, and wrong for
a release, since who knows the seed subtracts the noise, and since the gaps between floating-point numbers betray what
noise was added to. Here noise comes from OpenDP: the discrete Laplace or Gaussian distribution, exact arithmetic, the
operating system's random source. A generator is refused, and so is what nobody has bounded to the last bit: other losses
than the squared, and accounting that OpenDP's own maps do not confirm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.squared import SquaredStatistics
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Ledger
from learning.privacy.mechanism import Claim, Mechanism

ROUNDING = 2.0**-53  # relative error of one floating-point operation
SCALE_STEPS = 64  # nudges of the scale, by one part in 2^50 each, before OpenDP's own map must agree


@dataclass(frozen=True)
class Released:
    """One answer made for release.

    Parameters
    ----------
    answer: array (p,).
    claim: what is claimed of all answers together; ``simulation`` is false.
    spent: what this answer spends by OpenDP's own privacy map: epsilon of Laplace noise, rho (zCDP) of Gaussian noise.
    scale: the scale of its noise.
    """

    answer: Array = field(repr=False)
    claim: Claim
    spent: float
    scale: float


@dataclass(frozen=True)
class ReleaseTerms:
    """What is announced of all of an owner's answers.

    Parameters
    ----------
    coordinates: the public bounds.
    horizon: T, the answers that the budget covers.
    mechanism: Laplace noise unless given, or Gaussian accounted by zCDP, with the overlap kappa to divide by.
    unit: what one record is.
    """

    coordinates: Coordinates
    horizon: int
    mechanism: Mechanism = Laplace()
    unit: str = "one record"


def _measurement(scale: float, norm: int = 1):
    """OpenDP's Laplace noise on each number of a vector, neighbours being near in 1-norm; Gaussian noise in 2-norm."""
    import opendp.prelude as dp  # loads a native library: only where something is released

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    if norm == 1:
        return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


def release(values: ArrayLike, scale: float, *, norm: int = 1, rng: object = None) -> Array:
    """Values (p,) plus Laplace (norm 1) or Gaussian (norm 2) noise of a scale on each, from OpenDP's secure source.

    Parameters
    ----------
    values: array (p,), finite.
    scale: b or s, > 0, finite.
    rng: must be left out; taken only to say so.

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
    return np.array(_measurement(float(scale), norm).invoke([float(v) for v in numbers]))


def sensitivity(n_records: int, n_parameters: int, gradient_bound: float, norm: int = 1) -> float:
    """How far the mean gradient *as computed* moves, in 1-norm or 2-norm, when one record is replaced, at most.

    2 Xi/n or 2 G/n, plus what rounding may add: each of the two computed sums of n products is off by at most
    (n + p + 8) u times the largest gradient (u = 2^-53, any order of summation), which is Xi in 1-norm and at most 2 G in
    2-norm, and clipping in floating point may pass a few p u too much. For 100,000 records that is one part in a million.

    Source: Casacuberta, Shoemate, Vadhan and Wagaman, Widespread Underestimation of Sensitivity in Differentially
    Private Libraries (why); Higham, Accuracy and Stability of Numerical Algorithms, section 3.1 (the error of a sum).

    >>> 2 / 1000 < sensitivity(1000, 10, 1.0) < 2 / 1000 * (1 + 1e-9)
    True
    """
    clipping = 1 + 8 * (n_parameters + 8) * ROUNDING
    rounded = (n_records + n_parameters + 8) * ROUNDING
    return gradient_bound * clipping * (2 / n_records + 2 * norm * rounded / (1 - rounded))


def scale_for(budget: float, distance: float, norm: int = 1) -> float:
    """The smallest scale, to one part in 2^50, at which OpenDP's own map gives at most a budget at a distance.

    The budget is epsilon of Laplace noise, b = distance/epsilon, or rho of Gaussian noise, s = distance/sqrt(2 rho).

    Raises
    ------
    ValueError
        If none is found near there: the map does not say what is claimed.
    """
    scale = distance / (budget if norm == 1 else np.sqrt(2 * budget))
    for _ in range(SCALE_STEPS):
        if _measurement(scale, norm).map(distance) <= budget:
            return float(scale)
        scale *= 1 + 2.0**-50
    raise ValueError(f"no noise scale near {scale:.3g} is certified to spend {budget:.3g} at {distance:.3g}")


def release_answer(
    owner: str,
    statistics: SquaredStatistics,
    phi: ArrayLike,
    terms: ReleaseTerms,
    *,
    epsilon: float,
    ledger: Ledger,
    rng: object = None,
) -> Released:
    """Answer one mean-gradient query for real: charged to the ledger first, then answered under noise from OpenDP.

    answer = mean gradient at phi + noise, with b such that OpenDP's map from `sensitivity` is at most epsilon/(T kappa)
    (Laplace), or s such that it is at most rho(epsilon, delta)/(T kappa) (Gaussian under zCDP).

    Parameters
    ----------
    owner: the name of who answers.
    statistics: its records, as clipped to the announced bounds.
    phi: array (p,), the query; must lie in the ball, or no bound on a gradient holds.
    terms: what is announced of all its answers.
    epsilon: the budget over all of them, in (0, inf).
    ledger: where the owner's account is opened, if it has none; the query that would overspend is refused.

    Raises
    ------
    TypeError
        If a generator is given, a loss other than the squared, or a mechanism other than Laplace noise under basic
        composition in 1-norm and Gaussian noise under zCDP in 2-norm.
    ValueError
        If the query leaves the ball, nothing bounds a gradient, or the budget is 0, inf or spent (BudgetExceeded).
    """
    mechanism, horizon, norm = terms.mechanism, terms.horizon, terms.mechanism.norm
    query, budget = _checked(phi, epsilon, terms, rng)
    distance = sensitivity(statistics.n_records, len(query), terms.coordinates.gradient_bound, norm)
    scale = scale_for(budget, distance, norm)
    ledger.open(owner, epsilon, horizon, mechanism.ledger_unit)
    ledger.charge(owner, "release")
    claim = mechanism.claim(owner, epsilon, horizon, terms.unit)
    claim = replace(claim, mechanism=f"{claim.mechanism}, noise from opendp", simulation=False)
    spent = float(_measurement(scale, norm).map(distance))
    return Released(release(statistics.gradient(query), scale, norm=norm), claim, spent, scale)


def _checked(phi: ArrayLike, epsilon: float, terms: ReleaseTerms, rng: object) -> tuple[Array, float]:
    """The query, and what its answer may spend; refuses what no claim covers, before anything is computed from records."""
    mechanism, coordinates = terms.mechanism, terms.coordinates
    if rng is not None:
        raise TypeError(f"release takes no generator, got {type(rng).__name__}: seeded noise is for simulation only")
    if not 0 < epsilon < np.inf:
        raise ValueError(f"release needs a budget above 0 and finite, got {epsilon}")
    budget = mechanism.release_budget(epsilon, terms.horizon)
    if mechanism.norm != coordinates.norm or budget is None:
        raise TypeError(
            "release answers under Laplace noise (records clipped in 1-norm), or Gaussian noise accounted by zCDP (in "
            f"2-norm), got {type(mechanism).__name__} and records clipped in {coordinates.norm}-norm"
        )
    if not coordinates.loss.quadratic:
        raise TypeError(f"release answers with gradients of squared loss only, got {coordinates.loss.name}")
    if not 0 < coordinates.gradient_bound < np.inf:
        raise ValueError(f"release needs a finite bound on a record's gradient, got {coordinates.gradient_bound}")
    query = np.asarray(phi, dtype=float)
    length = np.linalg.norm(query, ord=np.inf if coordinates.norm == 1 else 2)
    if query.shape != coordinates.centre.shape or not length <= coordinates.theta_max:
        raise ValueError(
            f"a query must be {len(coordinates.centre)} numbers of at most {coordinates.theta_max:g}, got {query}"
        )
    return query, budget

"""Tests of likeness and the spread of owners' kinds, by sums that they released.

The noise on released sums is known, so differences between owners can be told from it. Whatever is
computed here has no further privacy cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy
from numpy.random import Generator

from learning.arrays import Array
from learning.forecast.homogeneity import DRAWS, SIGNIFICANT, Homogeneity
from learning.forecast.own_check import (
    LEAST_COVARIANCES,
    LEAST_DRAWS,
    NUMBERS_DRAWN,
    covariance_roots,
    principal_axes,
)
from learning.forecast.public_sample import PublicSample, affordable_count
from learning.privacy.mechanism import Mechanism
from learning.training.noisy_solving import invert_held
from learning.training.sums import ReleasedSums

LEVEL = 0.95  # of the interval of the spread
WIDEST = 1e12  # spread, over the variance of an owner's optimum, beyond which none is sought


@dataclass(frozen=True)
class Spread:
    """Spread of the owners' optima, as what the best common model costs them.

    Parameters
    ----------
    excess : p tau^2, mean excess cost on an owner's own records of the model that is best for all
        kinds, where the owner's own best model lies b away: E b'Mb, M the mean moments. It is at
        least 0.
    interval : 95 % interval of it.
    """

    excess: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Likeness:
    """Tests that owners are of one kind, by their released sums.

    Parameters
    ----------
    owners : of each owner against all others; none where there is one owner only.
    among : of all owners together; None where there is one only.
    public : of the public rows against all owners.
    spread : of the owners' optima; None where there is one owner only.
    """

    owners: tuple[Homogeneity, ...]
    among: Homogeneity | None
    public: Homogeneity
    spread: Spread | None

    @property
    def unlike(self) -> list[bool]:
        """Mask of the owners who are unlike the others, by Holm's test of all of them."""
        return reject_by_holm([test.p_value for test in self.owners])


def reject_by_holm(p_values: list[float]) -> list[bool]:
    """Mask of hypotheses that Holm's procedure rejects at `SIGNIFICANT` together.

    >>> reject_by_holm([0.03, 0.01, 0.2])
    [False, True, False]
    """
    order = np.argsort(p_values, kind="stable")
    rejected = [False] * len(p_values)
    for rank, place in enumerate(order.tolist()):
        if p_values[place] > SIGNIFICANT / (len(p_values) - rank):
            break
        rejected[place] = True
    return rejected


def compare_owners(
    sums: ReleasedSums, sample: PublicSample, mechanism: Mechanism, *, rng: Generator
) -> Likeness:
    """Test whether the owners' sums are of one kind, and estimate the spread of their optima.

    With phi = A^-1 g the model of all owners' sums, A = sum A_j, party i has the residual

        r_i = g_i - A_i phi = xi_i - B_i sum_j xi_j,    B_i = A_i A^-1,

    where xi_j is its score, with noise, at the best model if all are of one kind, of covariance

        C_j = n_j Sigma + v_j^2 I + s_j^2/2 (|phi|^2 I + phi phi'),

    with Sigma the covariance of a record's clipped score on the public rows, and v_j and s_j the
    deviations of the noise on scores and on moments. For an owner r_i is (I - B_i) times its
    residual at the model of all others, which need not be well known itself. With S_i the
    covariance of r_i, r_i'S_i^-1 r_i is about chi-squared with p degrees of freedom. Its law is
    that of draws: of the very noise, and of sums over records whose Sigma is as uncertain as the
    public rows leave it. The p-value is that of a gamma variable with the mean and the variance of
    the draws, so that small ones are told apart. The test is of the best models: owners whose
    inputs differ, under one law of the target, pass.

    Parameters
    ----------
    sums : as released, one noise for each owner.
    sample : the learner's own rows.
    mechanism : of the noise.
    rng : of the draws.

    Source: ours; tests of equal means with known variances: Cochran (1937); matched moments:
        Satterthwaite, An Approximate Distribution of Estimates of Variance Components.
    """
    parties = gather_parties(sums, sample)
    count = len(sums)
    null = _draw_null(parties, mechanism, rng)
    tested = []
    for number in range(count + 1):
        found = parties.statistic(number, parties.residuals[None, number])
        tested.append((float(found[0]), parties.statistic(number, parties.leave(number, null))))
    *owners, public = (_as_test(*one, parties.width) for one in tested)
    if count == 1:
        return Likeness((), None, public, None)
    share = (count - 1) / count
    statistic, drawn = (share * sum(part) for part in zip(*tested[:count], strict=True))
    among = _as_test(statistic, drawn, (count - 1) * parties.width)
    return Likeness(tuple(owners), among, public, spread_of_optima(parties))


@dataclass(frozen=True)
class Parties:
    """Sums of the owners and, last, of the public rows, with the penalty of each.

    Parameters
    ----------
    xx : array (k, p, p), moments.
    xu : array (k, p), scores.
    sizes : array (k,), numbers of records.
    matrix_deviation, vector_deviation : arrays (k,), of the noise; 0 of the public rows.
    scores : array (m, p), of the public rows at the owners' model.
    phi : array (p,), the owners' model.
    inverse : array (p, p), of the sum of the owners' moments, corrected for noise as a model is.
    """

    xx: Array = field(repr=False)
    xu: Array = field(repr=False)
    sizes: Array
    matrix_deviation: Array
    vector_deviation: Array
    scores: Array = field(repr=False)
    phi: Array
    inverse: Array = field(repr=False)

    @property
    def width(self) -> int:
        """p."""
        return len(self.phi)

    @property
    def residuals(self) -> Array:
        """r_i of each party, (k, p)."""
        return self.xu - self.xx @ self.phi

    @cached_property
    def covariances(self) -> Array:
        """C_j of each party's score at the best model, (k, p, p)."""
        sigma = self.scores.T @ self.scores / len(self.scores)
        tilt = (self.phi @ self.phi * np.eye(self.width) + np.outer(self.phi, self.phi)) / 2
        parts = ((self.sizes, sigma), (self.vector_deviation**2, np.eye(self.width)))
        made = sum(weight[:, None, None] * form for weight, form in parts)
        return np.asarray(made + self.matrix_deviation[:, None, None] ** 2 * tilt)

    def leave(self, number: int, scores: Array) -> Array:
        """Residuals r_i (draws, p) of a party, by scores xi_j of all (draws, k, p)."""
        carried = self.xx[number] @ self.inverse
        return np.asarray(scores[:, number] - scores[:, :-1].sum(axis=1) @ carried.T)

    def statistic(self, number: int, residuals: Array) -> Array:
        """r_i'S_i^-1 r_i of a party, (draws,), for residuals (draws, p)."""
        carried = self.xx[number] @ self.inverse
        own = np.eye(self.width)
        others = self.covariances[:-1].sum(axis=0)
        if number < len(self.sizes) - 1:  # the public rows have no part in the owners' model
            own = own - carried
            others = others - self.covariances[number]
        covariance = own @ self.covariances[number] @ own.T + carried @ others @ carried.T
        inverse = np.linalg.pinv(covariance, hermitian=True)
        return np.asarray(np.einsum("dp,pq,dq->d", residuals, inverse, residuals))


def gather_parties(sums: ReleasedSums, sample: PublicSample) -> Parties:
    """Sums of the owners and of the public rows, with the penalty on their share of records."""
    coordinates = sums.coordinates
    penalty, pull = coordinates.penalty(sums.regularisation)
    x, y = sample.population()
    moved, shown = coordinates.records(x, y)
    matrix, vector, deviation = sums.pool()
    inverse = invert_held(matrix[None], np.array([deviation]))[0]
    phi = inverse @ vector
    sizes = np.append(sums.sizes, len(y))
    xx = np.concatenate([sums.xx, (moved.T @ moved)[None]])
    xu = np.vstack([sums.xu, moved.T @ shown])
    return Parties(
        xx + sizes[:, None, None] * penalty / 2,
        xu + sizes[:, None] * pull / 2,
        sizes,
        np.append(sums.matrix_deviation, 0.0),
        np.append(sums.vector_deviation, 0.0),
        moved * (shown - moved @ phi)[:, None] + pull / 2 - penalty @ phi / 2,
        phi,
        inverse / sums.sizes.sum(),
    )


def _draw_null(parties: Parties, mechanism: Mechanism, rng: Generator) -> Array:
    """Draw residual scores (draws, k, p) of parties of one kind: sampled records, and noise."""
    width = parties.width
    axes = principal_axes(parties.scores)
    seen = parties.scores @ axes
    spread = np.mean(seen**2, axis=0)
    count = len(parties.sizes)
    draws = int(np.clip(NUMBERS_DRAWN // (count * width), LEAST_DRAWS, DRAWS))
    roots = covariance_roots(
        seen, spread, affordable_count(draws, LEAST_COVARIANCES, width, power=2), rng
    )
    normal = rng.standard_normal((draws, count, width))
    null = np.stack([one @ roots[i % len(roots)] for i, one in enumerate(normal)])
    null *= np.sqrt(spread * parties.sizes[:, None])
    null = null @ axes.T
    length = np.linalg.norm(parties.phi)
    on_vector = parties.vector_deviation / np.sqrt(mechanism.unit_variance)
    on_matrix = parties.matrix_deviation / np.sqrt(2)
    for place in range(count - 1):
        null[:, place] += on_vector[place] * mechanism.draw(1.0, (draws, width), rng=rng)
        around = length * rng.standard_normal((draws, width))
        along = rng.standard_normal((draws, 1)) * parties.phi
        null[:, place] += on_matrix[place] * (around + along)
    return null


def _as_test(found: float, drawn: Array, dof: int) -> Homogeneity:
    """Test of a statistic by the gamma law that has the mean and the variance of its draws."""
    mean = float(drawn.mean())
    variance = float(drawn.var(ddof=1))
    p_value = scipy.special.gammaincc(mean**2 / variance, found * mean / variance)
    return Homogeneity(found, dof, float(p_value))


def spread_of_optima(parties: Parties) -> Spread:
    """Estimate the spread tau^2 of the owners' optima by moments, and its interval.

    In coordinates that whiten the mean moments M, owner i's best model lies d_i = M^-1/2 r_i/n_i
    from the common one. Its coordinates have the mean variance tau^2 + u_i, u_i = tr(M^-1/2 C_i
    M^-1/2)/(n_i^2 p). With weights 1/(tau^2 + u_i) and d the weighted mean,

        Q(tau^2) = sum_i |d_i - d|^2/(tau^2 + u_i)

    has the mean p (N - 1) and falls in tau^2, so tau^2 is where it has that value, and 0 where it
    has less at 0; the interval is where it is between the quantiles of chi-squared. Differences
    that lie in few directions have a wider law than that.

    Source: DerSimonian and Laird, Meta-analysis in Clinical Trials; the equation: Paule and Mandel
        (1982); the interval: Viechtbauer, Confidence Intervals for the Amount of Heterogeneity.
    """
    count = len(parties.sizes) - 1
    width = parties.width
    sizes = parties.sizes[:count]
    inverse = parties.inverse * sizes.sum()
    left = parties.residuals[:count]
    values, basis = np.linalg.eigh(inverse)
    root = (basis * np.sqrt(np.maximum(values, 0.0))) @ basis.T
    away = left @ root / sizes[:, None]
    forms = np.einsum("pq,kqp->k", inverse, parties.covariances[:count])
    within = forms / (sizes**2 * width)

    def heterogeneity(spread: float) -> float:
        weights = 1 / (spread + within)
        centre = weights @ away / weights.sum()
        return float(weights @ np.sum((away - centre) ** 2, axis=1))

    def spread_at(level: float) -> float:
        if heterogeneity(0.0) <= level:
            return 0.0
        most = float(within.min())
        while heterogeneity(most) > level and most < WIDEST * within.min():
            most *= 2
        return float(scipy.optimize.brentq(lambda one: heterogeneity(one) - level, 0.0, most))

    dof = width * (count - 1)
    ends = scipy.special.chdtri(dof, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = (width * spread_at(float(end)) for end in ends)
    return Spread(width * spread_at(dof), (low, high))

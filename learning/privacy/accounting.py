"""Accounting of exact noise: budgets of answers, and the claims that follow. All that a release
needs of a mechanism; `learning.privacy.mechanism` adds seeded noise and its price for a learner.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.moment_bounds import distance_frontier
from learning.privacy.claims import EVERYONE, REPLACE, Claim, bound_belief

Parts = tuple[tuple[float, int], ...]  # (ratio, numbers in an answer) of every answer

BISECTIONS = 100
CHOICES = 4  # dominating pairs of moments and scores where each needs a table of its own
SEVERAL = 2  # rows, or answers: any number of them beyond one
MORE_CHOICES = 64  # the same where budgets add
WIDEST = 24  # numbers in a released answer: beyond it hundreds of draws are rejected for each kept


class Accounting:
    """Cost of an owner's answers under a mechanism; ``norm`` must be given.

    Attributes
    ----------
    name: the name in scenario files, contracts and results.
    title: the name in reports.
    norm: 1 or 2, the norm in which a record's gradient must be bounded.
    unit_variance: the variance of noise at scale 1.
    accounting: how the cost of all answers is counted.
    pairs: (ratio, numbers) of each part of an answer, where parts have noise of their own
        (`learning.privacy.composition.AccountedL2`).
    profile_known: whether delta is known at every epsilon.
    delta: the failure probability over all answers.
    overlap: kappa, the owners that one record may sit with.
    horizon: the most rounds that the noise is priced for; None where any number may be asked.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    profile_known: ClassVar[bool] = False
    accounting: str = "basic"
    pairs: tuple[Parts, ...] = ()
    delta: float = 0.0
    overlap: int = 1
    horizon: int | None = None

    @property
    def norm(self) -> int:
        raise NotImplementedError

    @property
    def unit_variance(self) -> float:
        return 1.0

    @property
    def label(self) -> str:
        """Name, with the accounting unless that is basic composition."""
        return self.name if self.accounting == "basic" else f"{self.name} ({self.accounting})"

    def with_moments(self, share: float, rows: int = 1, part: float = 1.0) -> Any:
        """Reprice for second moments released with scores, ``rows`` to a person.

        ``part`` is the part of the budget that this answer gets: 1 where it is the only one.
        """
        return self

    def check_horizon(self, horizon: ArrayLike) -> None:
        """Refuse, with a ValueError, more rounds than the noise is priced for."""
        if self.horizon is not None and np.max(horizon) > self.horizon:
            raise ValueError(
                f"horizon must be at most the accounted {self.horizon} rounds, got "
                f"{np.max(horizon)}"
            )

    def claims(
        self,
        party: str,
        epsilon: float,
        horizon: int,
        unit: str = "one record",
        *,
        size: int | None = None,
    ) -> list[Claim]:
        """Make every claim for an owner of ``size`` records, one for each kind of onlooker.

        Raises a ValueError if the owner adds no noise (epsilon = inf), or the horizon is longer
        than the accounted one.
        """
        self.check_horizon(horizon)
        if not 0 <= epsilon < np.inf:
            raise ValueError(f"{party}: no privacy can be claimed at epsilon = {epsilon}")
        made = self.onlooker_claims(epsilon, horizon, size)
        return [replace(claim, party=party, unit=unit) for claim in made]

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        """Make the claims without party and unit."""
        spent = (float(epsilon), self.delta, horizon, self.label)
        return [Claim("", "", REPLACE, *spent, EVERYONE, overlap=self.overlap)]

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        """Make the claim against the onlooker who sees most."""
        return self.claims(party, epsilon, horizon, unit)[0]

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """Epsilon of all owners' answers about one record, (n,): sum epsilon_l/kappa under pure DP.

        Under approximate DP by default the largest budget that any of them sold.

        Parameters
        ----------
        held: array (k, n), k <= kappa, the budgets of the owners that hold each of n records, in
            (0, inf).
        horizon: T, the answers that each owner's budget covers.
        """
        return np.asarray(held.max(axis=0) if self.delta > 0 else held.sum(axis=0) / self.overlap)

    @property
    def but_for(self) -> float:
        """Probability that a belief exceeds `belief_bound`; 2 delta if the profile is unknown."""
        return self.delta if self.profile_known else 2 * self.delta

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound on the posterior of one of two equally likely versions of a record, (n,).

        It holds except with probability ``but_for``, by `learning.privacy.claims` at the one point
        (epsilon, delta) of the profile that every mechanism has.

        Parameters
        ----------
        held, horizon: as in `joint_epsilon`.
        sizes: array (n,), the records of the owner whose record each is.
        """
        return bound_belief(self.joint_epsilon(held, horizon), self.delta, self.but_for)

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """Budget of one answer for release, epsilon (pure DP) or rho (zCDP); None if refused."""
        return None


class BudgetsAdd(Accounting):
    """Accounting of pure epsilon-DP, where the budgets of answers add up."""

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """epsilon/(T kappa)."""
        return epsilon / (horizon * self.overlap)


class LaplaceFacts:
    """Facts of Laplace noise on each number, for answers bounded in 1-norm."""

    name: ClassVar[str] = "laplace"
    title: ClassVar[str] = "Laplace noise"
    norm: ClassVar[int] = 1
    unit_variance: ClassVar[float] = 2.0


@dataclass(frozen=True)
class LaplaceAccounting(LaplaceFacts, BudgetsAdd):
    """Laplace noise whose budget is split over T answers; ``overlap`` as everywhere."""

    overlap: int = 1


def gaussian_delta(epsilon: ArrayLike, distance: ArrayLike) -> Array:
    """Compute the least delta of a Gaussian mechanism: Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m).

    Parameters
    ----------
    epsilon: array, e >= 0.
    distance: array, m = sensitivity/deviation > 0; T answers of one deviation have m sqrt(T).

    Source: Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, Theorem 8.

    >>> round(float(gaussian_delta(1.0, 1.0)), 6)
    0.126937
    """
    epsilon = np.asarray(epsilon, dtype=float)
    distance = np.asarray(distance, dtype=float)
    first = scipy.special.log_ndtr(distance / 2 - epsilon / distance)
    second = epsilon + scipy.special.log_ndtr(-distance / 2 - epsilon / distance)
    return np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))


def gaussian_belief(distance: ArrayLike, chance: float) -> Array:
    """Bound beliefs (`learning.privacy.claims`) under a Gaussian mechanism.

    The bound is Phi(m - z)/M, with z such that Phi(-z) + Phi(m - z) = M.

    Parameters
    ----------
    distance: array, m > 0, sensitivity/deviation of all answers together.
    chance: M in (0, 1], the probability that a belief exceeds the bound.

    >>> [round(float(gaussian_belief(0.2, chance)), 4) for chance in (1.0, 1e-6)]
    [0.5398, 0.7352]
    """
    distance = np.asarray(distance, dtype=float)
    low = np.zeros_like(distance)
    high = distance + 40.0
    for _ in range(BISECTIONS):  # the bound holds at any e, however well the least one is found
        middle = (low + high) / 2
        rarer = scipy.special.ndtr(-middle) + scipy.special.ndtr(distance - middle) < chance
        low = np.where(rarer, low, middle)
        high = np.where(rarer, middle, high)
    epsilon = np.maximum(distance * low - distance**2 / 2, 0.0)
    return bound_belief(epsilon, gaussian_delta(epsilon, distance), chance)


def zcdp_distance(epsilon: ArrayLike, delta: float) -> Array:
    """Compute sqrt(2 rho) with rho = (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2.

    Source: Bun and Steinke, Concentrated Differential Privacy, Prop. 1.3, solved for rho.

    >>> round(float(zcdp_distance(1.0, 1e-6)), 6)
    0.186917
    """
    epsilon = np.asarray(epsilon, dtype=float)
    log = np.log(1 / delta)
    roots = np.sqrt(log + epsilon) + np.sqrt(log)
    return np.sqrt(2) * epsilon / roots  # the difference of roots, without cancellation


def zcdp_epsilon(distance: ArrayLike, delta: float) -> Array:
    """Compute the epsilon of a distance, m^2/2 + m sqrt(2 ln(1/delta)); inverts `zcdp_distance`."""
    distance = np.asarray(distance, dtype=float)
    return distance**2 / 2 + distance * np.sqrt(2 * np.log(1 / delta))


class GaussianFacts:
    """Facts of Gaussian noise on each number, for answers bounded in 2-norm."""

    name: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "Gaussian noise"
    norm: ClassVar[int] = 2
    profile_known: ClassVar[bool] = True


@dataclass(frozen=True)
class GaussianAccounting(GaussianFacts, Accounting):
    """Gaussian noise on T answers, accounted by zCDP.

    Parameters
    ----------
    delta: the failure probability, in (0, 1).
    accounting: "zcdp"; nothing is released under any other.
    overlap: kappa >= 1; the owners' distances add in squares: each spends m/sqrt(kappa).
    """

    delta: float
    accounting: str = "zcdp"
    overlap: int = 1

    def distance(self, epsilon: ArrayLike) -> Array:
        """Distance m that one owner may spend over all its answers."""
        return zcdp_distance(epsilon, self.delta) / np.sqrt(self.overlap)

    def epsilon_at(self, distance: Array) -> Array:
        """Budget that each of kappa owners sells at a distance; the distances add in squares."""
        return zcdp_epsilon(distance * np.sqrt(self.overlap), self.delta)

    def _joint_distance(self, held: Array) -> Array:
        return np.asarray(np.linalg.norm(self.distance(held), axis=0))

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """Epsilon of the root of the sum of m(epsilon_l)^2/kappa."""
        return self.epsilon_at(self._joint_distance(held) / np.sqrt(self.overlap))

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound by the trade-off curve at the owners' distances, added in squares."""
        return gaussian_belief(self._joint_distance(held), self.but_for)

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """rho(epsilon, delta)/(T kappa) under zCDP, which OpenDP's own map confirms."""
        if self.accounting != "zcdp":
            return None
        rho = float(zcdp_distance(epsilon, self.delta)) ** 2 / 2
        return rho / (horizon * self.overlap)


class L2Facts:
    """Facts of noise on vectors whose density falls as exp(-|z|_2/scale), for bounds in 2-norm."""

    name: ClassVar[str] = "l2"
    title: ClassVar[str] = "L2 noise"
    norm: ClassVar[int] = 2
    choices: ClassVar[int] = CHOICES
    width: int
    overlap: int

    @property
    def unit_variance(self) -> float:
        """p + 1, of a Gamma(p) radius with mean square p (p + 1) and a uniform direction."""
        return self.width + 1.0

    def with_moments(self, share: float, rows: int = 1, part: float = 1.0) -> Any:
        """Price the mechanism for scores and second moments, each with l2 noise of its own.

        Second moments have W = p (p + 1)/2 numbers. With noise whose deviation is R^2/(2 h t) of
        that on a score, t the share, their ratio R^2/b is t sqrt((W + 1)/(p + 1)) of the score's,
        2 h/b. Where several rows of a person are replaced, some may move the scores furthest and
        others the moments, so that only the worst for each is safe; and so may the record that
        moves a later answer furthest. Where further answers follow, ratios of moments are in units
        of the sum of all answers' ratios, of which this answer has a ``part``.
        """
        moments = self.width * (self.width + 1) // 2
        factor = part * share * np.sqrt((moments + 1) / (self.width + 1))
        distances = self.moment_distances(rows if part == 1 else SEVERAL)
        pairs = tuple(((float(s), self.width), (float(m * factor), moments)) for s, m in distances)
        return replace(self, pairs=pairs)  # type: ignore[type-var]

    def moment_distances(self, rows: int = 1) -> Array:
        """Distances of scores (units of 2 h) and moments (R^2) that are priced, (pairs, 2)."""
        if self.overlap == rows == 1:
            return distance_frontier(self.choices)
        return np.array([[1.0, np.sqrt(2)]])


@dataclass(frozen=True)
class L2Accounting(L2Facts, BudgetsAdd):
    """L2 noise whose budget is split over T answers.

    Parameters
    ----------
    width: p, the numbers in one answer.
    overlap: kappa >= 1, the owners one record may sit with; each spends epsilon/kappa.
    pairs: the parts of one answer; their ratios add up.
    """

    choices = MORE_CHOICES

    width: int
    overlap: int = 1
    pairs: tuple[Parts, ...] = ()

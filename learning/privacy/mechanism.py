"""What a noise mechanism is: its law of noise, and by default all that follows from it.

Over T answers, noise of variance v = bound^2 horizon_factor(T) noise_term(epsilon)/N^2 per coordinate spends
(epsilon, delta); N = noise_denominator(sizes), an owner's own records but for what some papers publish.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Declaration, field_types
from learning.errors import InputError
from learning.privacy.beliefs import belief
from learning.privacy.claims import EVERYONE, REPLACE, Claim
from learning.privacy.guarantees import Guarantee, approximate, pure
from learning.privacy.shares import open_growths, shares

FURTHEST = 50.0  # log of the largest budget, and minus that of the smallest, that the inverse is looked for at
TAIL = 100  # draws in the tail that a quantile is taken from
DIFFERENCE = 1e-5  # relative step of a slope that a mechanism does not give itself
ACCOUNTINGS = {
    "basic": ", whose budget is split evenly over all answers",
    "pld": ", whose cost over all answers is counted exactly",
    "zcdp": ", whose cost over all answers is bounded by zCDP",
    "printed": ", as much as the paper's formula says",
}


@dataclass(frozen=True)
class NoiseSettings:
    """What is announced before noise is chosen; mechanisms take their parameters from it by name.

    Parameters
    ----------
    sizes: the records of every owner that takes part, public.
    delta: the failure probability, or None where none is stated.
    accounting: how the cost of all answers is counted, or None for the first that a mechanism knows.
    overlap: kappa >= 1, the owners one record may sit with.
    formula: the formula that the algorithm's paper publishes for its noise; empty where there is none.
    weights: the kind of weights, on which such a formula may depend.
    single_record: whether every answer is the gradient of one record.
    horizon: the number of rounds stated, or None where the learner chooses it.
    horizons: the numbers of rounds that the algorithm's plans try.
    width: the numbers in one answer.
    growth: each answer's share of the budget over the one before, or None where the learner chooses it.
    unasked: of the rounds that are stated, those in which nothing is asked.
    """

    sizes: tuple[int, ...]
    delta: float | None = None
    accounting: str | None = None
    overlap: int = 1
    formula: str = ""
    weights: str = "size"
    single_record: bool = False
    horizon: int | None = None
    horizons: tuple[int, ...] = ()
    width: int = 1
    growth: float | None = 1.0
    unasked: int = 0


class Mechanism(Declaration, ABC):
    """How an owner's answers are made noisy, and what that costs it.

    A mechanism is a frozen dataclass under this class, named in `learning.privacy.mechanisms.MECHANISMS`. It must give its
    law: ``norm``, ``noise_term``, ``horizon_factor`` and ``draw``; the rest follows, unless it knows better. Its fields
    are filled from those of `NoiseSettings` of the same name; one without a field ``delta`` is pure epsilon-DP.

    Attributes
    ----------
    name: what scenario files and results call it; the name of its class unless given.
    title: what reports call its noise; "<Name> noise" unless given.
    accountings: what the scenario key ``learning.accounting`` may be with it, the default first.
    published_for: the papers' formulas that it knows, where it is noise as published.
    compared: whether ``mechanism = "best"`` compares it.
    announced_horizons: the horizons tried where its noise depends on the horizon in its own way.
    unit_variance: the variance of ``draw`` at scale 1.
    share_power: the power of an answer's share of the budget that the scale of its noise falls with, 1 where budgets add and
        1/2 where squared distances do; None where all answers must be alike.
    in_published_bounds: whether it is the noise that the convergence theorems of The Value of Collaboration are about.
    divides: whether several owners can make its noise together, each a `part` of it.
    parts: into how many parts its noise is divided; a draw is one of them.
    whole: whether it is never divided, whatever ``parts`` is.
    norm: 1 or 2, the norm in which a record's gradient must be bounded.
    delta: the failure probability over all answers.
    overlap: kappa, the owners that one record may sit with.
    accounting: the one of ``accountings`` in use.
    largest: the largest finite budget that its accountant covers.
    horizon: the most rounds that its noise is priced for; None where any number may be asked.
    growth: the growth of shares that its noise is priced for; None where shares may grow by any.
    single_record: whether its noise is meant for answers with one record's gradient.
    pairs: what one answer is made of, where its parts have noise of their own (`learning.privacy.l2.AccountedL2`).
    """

    where: ClassVar[str] = "learning"
    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    accountings: ClassVar[tuple[str, ...]] = ("basic",)
    published_for: ClassVar[tuple[str, ...]] = ()
    compared: ClassVar[bool] = False
    announced_horizons: ClassVar[tuple[int, ...]] = ()
    share_power: ClassVar[float | None] = None
    in_published_bounds: ClassVar[bool] = False
    divides: ClassVar[bool] = False
    parts: int = 1
    whole: ClassVar[bool] = True
    delta: float = 0.0
    overlap: int = 1
    accounting: str = "basic"
    largest: float = np.inf
    horizon: int | None = None
    growth: float | None = None
    single_record: bool = False
    pairs: tuple[tuple[tuple[float, int], ...], ...] = ()

    def __init_subclass__(cls) -> None:
        cls.name = cls.name or cls.__name__.lower()
        cls.title = cls.title or f"{cls.name.capitalize()} noise"

    # What a mechanism must give

    @property
    @abstractmethod
    def norm(self) -> int: ...

    @abstractmethod
    def noise_term(self, epsilon: ArrayLike) -> Array:
        """What an owner adds to the noise; 0 at epsilon = 0, who shares nothing, and at inf."""

    @abstractmethod
    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """How the noise power grows with the number of rounds."""

    @abstractmethod
    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Noise of the given scale; all zeros at scale 0."""

    # What follows for its noise

    def with_moments(self, share: float, rows: int = 1) -> Mechanism:
        """As priced where moments are released beside scores, of persons of so many rows; itself if that is wider noise."""
        return self

    def beside_moments(self, share: float) -> float:
        """How much wider noise on scores is for second moments released beside them (`learning.losses.scores`)."""
        raise TypeError(f"{self.title} is not drawn for second moments and scores together")

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Noise of variance 1 on the parts of one release, so many numbers each: one draw of all of them."""
        return self.draw(1.0, (sum(widths),), rng=rng) / np.sqrt(self.unit_variance)

    @property
    def unit_variance(self) -> float:
        return 1.0

    @property
    def law(self) -> Mechanism:
        """The mechanism that training answers under, with what is `left` of budgets: this one, unless something was spent."""
        return self

    def left(self, epsilon: ArrayLike) -> Array:
        """What of budgets training spends: all, unless something was spent before."""
        return np.asarray(epsilon, dtype=float)

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """The records that an owner's noise is scaled to: its own, unless a mechanism says otherwise."""
        return np.asarray(sizes, dtype=float)

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        """Derivative of `noise_term` at epsilon > 0, 0 elsewhere."""
        return where_noisy(epsilon, self._slope)

    def _slope(self, epsilon: Array) -> Array:
        """The derivative at noisy budgets, by differences unless a mechanism knows better."""
        step = DIFFERENCE * epsilon
        return (self.noise_term(epsilon + step) - self.noise_term(epsilon - step)) / (2 * step)

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Scale of the noise on each coordinate of each answer, (n_owners,); inf at epsilon = 0, 0 at inf.

        Parameters
        ----------
        epsilon: array (n_owners,), the budgets over all answers.
        sizes: array (n_owners,), the records of each owner.
        bound: Xi or G, half the furthest that two records' gradients lie apart in ``norm``.
        horizon: T, the answers that the budget covers.

        Raises
        ------
        ValueError
            If a budget is negative or NaN, the horizon below 1 or beyond the accounted one, or noise is asked for without
            a finite positive bound.
        InputError
            If a budget lies beyond what the accountant covers.
        """
        epsilon, sizes = np.asarray(epsilon, float), np.asarray(sizes, float)
        if not np.all(epsilon >= 0):
            raise ValueError(f"epsilon must be at least 0, got {epsilon}")
        if horizon < 1:
            raise ValueError(f"horizon must be at least 1 round, got {horizon}")
        if np.any(np.isfinite(epsilon)) and not 0 < bound < np.inf:
            raise ValueError(f"noise needs a finite positive bound on a record's gradient, got {bound}")
        self.check_horizon(horizon)
        return np.where(epsilon > 0, where_noisy(epsilon, lambda e: self._scale(e, sizes, bound, horizon)), np.inf)

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        """The scale at noisy budgets."""
        power = bound**2 * self.horizon_factor(horizon) * self.noise_term(epsilon)
        return self.spread(power) / self.noise_denominator(sizes)

    def relative_scales(self, growth: float, horizon: int) -> Array:
        """Scale of the noise on each answer where shares of the budget grow, over that of the even split, (horizon,).

        Parameters
        ----------
        growth: each share over the one before.
        horizon: T, the answers that the budget covers; of noise priced for more of them, the first T.

        Raises
        ------
        InputError
            If its answers must be alike.
        ValueError
            If its noise is priced for another growth.
        """
        if self.growth is not None and growth != self.growth:
            raise ValueError(
                f"noise priced for shares that grow by {self.growth:g} serves none that grow by {growth:g}"
            )
        if growth == 1:
            return np.ones(horizon)
        if self.share_power is None:
            rule = f"must be 1 with {self.label} noise, of which all answers are alike"
            raise InputError("learning.growth", rule, growth)
        answers = horizon if self.horizon is None else self.horizon
        return np.asarray((answers * shares(growth, answers)[:horizon]) ** -self.share_power)

    def variance(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Variance per coordinate of one answer."""
        return np.asarray(self.unit_variance * self.scale(epsilon, sizes, bound, horizon) ** 2)

    def spread(self, variance: ArrayLike) -> Array:
        """Scale of noise of a given variance."""
        return np.sqrt(np.asarray(variance, dtype=float) / self.unit_variance)

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """The budget that a variance per coordinate costs: the inverse of `variance`."""
        power = np.asarray(variance, float) * self.noise_denominator(sizes) ** 2
        return self.budget(power / (bound**2 * self.horizon_factor(horizon)))

    def budget(self, term: ArrayLike) -> Array:
        """The epsilon at which `noise_term` comes to so much (...): its inverse, inf at 0 and 0 at inf."""
        term = np.asarray(term, dtype=float)
        found = np.vectorize(self._budget, otypes=[float])(np.where((term > 0) & np.isfinite(term), term, 1.0))
        return np.where(np.isfinite(term), np.where(term > 0, found, np.inf), 0.0)

    def _budget(self, term: float) -> float:
        """The epsilon at which `noise_term`, which falls, comes to so much; 0 or inf where no budget in reach does."""

        def excess(log_epsilon: float) -> float:
            found = float(self.noise_term(np.exp(log_epsilon)))
            return float(np.log(max(found, 1e-300)) - np.log(term))

        low, high = -FURTHEST, min(FURTHEST, float(np.log(self.largest)))
        if excess(low) < 0 or excess(high) > 0:
            return 0.0 if excess(low) < 0 else np.inf
        return float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-14)))

    def longest(self, width: int, level: float) -> float:
        """What the norm of noise of scale 1 on so many coordinates exceeds with a chance of ``level``, as draws show."""
        drawn = self.draw(1.0, (int(TAIL / level), width), rng=np.random.default_rng(width))
        return float(np.quantile(np.linalg.norm(drawn, ord=self.norm, axis=1), 1 - level))

    def length_law(self, width: int) -> tuple[float, float]:
        """(a, k) such that (length/scale)^k/k of noise on so many numbers is a Gamma(a) variable, the length in ``norm``.

        Such variables of several answers add up to one of the sum of their a.

        Raises
        ------
        InputError
            If its length has no such law.
        """
        rule = f"must have lengths of a known law, which {self.label} noise has not"
        raise InputError("learning.mechanism", rule)

    def swing(self, level: float) -> float:
        """How many times the standard deviation all numbers of one answer may have together, but for a chance of ``level``.

        1 where they are independent; above it where a draw makes them all large, or all small, at once.
        """
        return 1.0

    def part(self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """One of so many independent parts that add up to noise of the given scale, as `draw` has it.

        Raises
        ------
        InputError
            If its noise cannot be divided.
        """
        rule = f'must be "local" with {self.label} noise, which owners cannot divide among them'
        raise InputError("trust.aggregation", rule, "secure")

    def of_parts(self, epsilon: ArrayLike, share: float) -> Array:
        """What budgets become where the noise is made of ``share`` times the parts that make up all of it, (...).

        With more parts than make it up no more than was sold; with fewer, by default, nothing is known: inf.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        return np.where((share >= 1) | (epsilon == 0), epsilon, np.inf)

    # What follows for claims

    @property
    def label(self) -> str:
        """Its name, with the accounting where that is not the basic one."""
        return self.name if self.accounting == "basic" else f"{self.name} ({self.accounting})"

    def check_horizon(self, horizon: ArrayLike) -> None:
        """Refuse, with a ValueError, more rounds than the noise is priced for."""
        if self.horizon is not None and np.max(horizon) > self.horizon:
            raise ValueError(f"horizon must be at most the accounted {self.horizon} rounds, got {np.max(horizon)}")

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        """What is claimed for one owner's records, one ``unit`` at a time.

        Raises
        ------
        ValueError
            If the owner adds no noise (epsilon = inf), or the horizon is longer than the accounted one.
        """
        self.check_horizon(horizon)
        if not 0 <= epsilon < np.inf:
            raise ValueError(f"{party}: no privacy can be claimed at epsilon = {epsilon}")
        label, kappa = self.label, self.overlap
        return Claim(party, unit, REPLACE, float(epsilon), self.delta, horizon, label, EVERYONE, overlap=kappa)

    def claims(
        self, party: str, epsilon: float, horizon: int, unit: str = "one record", *, size: int = 1
    ) -> list[Claim]:
        """Every claim for an owner of ``size`` records, where who looks on makes a difference; else the one."""
        return [self.claim(party, epsilon, horizon, unit)]

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        """The largest epsilon that `claims` names for budgets sold: themselves, but for noise as papers publish it.

        Parameters
        ----------
        epsilon: array (...), the budgets sold.
        sizes: array of a shape that goes with it, the owners' records.
        horizon: T, the answers that they cover.
        """
        return np.asarray(epsilon, dtype=float)

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """What a record loses in all that sits with several owners: sum epsilon_l/kappa under pure DP, array (n,).

        By default under approximate DP no more than if each had sold the most that any of them did.

        Parameters
        ----------
        held: array (k, n), k <= kappa, the budgets of the owners that hold each of n records, in (0, inf).
        horizon: T, the answers that each owner's budget covers.
        """
        return np.asarray(held.max(axis=0) if self.delta > 0 else held.sum(axis=0) / self.overlap)

    def composed_epsilon(self, sold: Array) -> Array:
        """What trainings one after another spend of the same records, (n,): by default the sum, by basic composition.

        Parameters
        ----------
        sold: array (k, n), the budgets of each training; 0 where nothing was asked.
        """
        return np.asarray(sold.sum(axis=0))

    def composed_delta(self, trainings: ArrayLike) -> Array:
        """The failure probability of `composed_epsilon` over so many trainings (n,): delta for each."""
        return self.delta * np.asarray(trainings, dtype=float)

    def remaining_epsilon(self, limit: Array, sold: Array, parts: int = 1) -> Array:
        """What each of so many equal further trainings may sell so that all together keep to a limit (n,), at least 0.

        Parameters
        ----------
        limit: array (n,), finite, for `composed_epsilon` of all trainings.
        sold: array (k, n), as there.
        """
        return np.maximum(limit - sold.sum(axis=0), 0.0) / parts

    @property
    def but_for(self) -> float:
        """The chance that a belief rises above `surest`: of a mechanism whose profile is not known, twice delta."""
        return 2 * self.delta

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """How likely one of two versions of a record, alike at first, can become to who sees all owners' answers, (n,).

        True but for a chance of ``but_for``, by the bound of `learning.privacy.beliefs` at the one point (epsilon, delta)
        of the profile that any mechanism has; those that know more of it are sharper.

        Parameters
        ----------
        held, horizon: as in `joint_epsilon`.
        sizes: array (n,), the records of the owner whose record each is.
        """
        return belief(self.joint_epsilon(held, horizon), self.delta, self.but_for)

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """What some answers may spend of a budget over T, in a measure in which it can be attacked.

        By default pure DP, epsilon/(T kappa) for each answer, where ``delta`` is 0; else (epsilon, delta)-DP of all
        answers together, and nothing of a single one. With kappa owners of a record, each may spend its kappa-th part.

        Parameters
        ----------
        epsilon: the budget over all answers, in (0, inf).
        horizon: T, the answers that the budget covers.
        answers: how many of them are asked; of an algorithm that samples records, the rounds.
        size: the records of the owner.
        """
        if self.delta > 0:
            return Guarantee.alike(approximate(self.delta), epsilon, np.inf, float, epsilon)
        own = epsilon / self.overlap
        return Guarantee.alike(pure, own * (answers / horizon), own * (1 / horizon), float, epsilon)

    def for_rounds(self, horizon: int) -> Mechanism:
        """The mechanism as it is priced for so many rounds; itself unless it is priced for one number of them."""
        return self

    def among(self, sizes: ArrayLike) -> Mechanism:
        """The mechanism for the owners that share, of these sizes, where its price hangs on who does; else itself."""
        return self

    def averaging(self, alike: bool) -> Mechanism:
        """The noise under which owners are averaged all alike, or by their records: the same unless a paper says else."""
        return self

    def noise_among(self, total: ArrayLike) -> Array:
        """The noise where the owners that share have so many records together, over that where all share: see `among`.

        Parameters
        ----------
        total: array (...), records.
        """
        return np.ones(np.shape(total))

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """What one answer for release may spend: epsilon in 1-norm, rho (zCDP) in 2-norm; None: not for release."""
        return None

    # How it is made from what is announced

    @classmethod
    def suits(cls, settings: NoiseSettings) -> bool:
        """Whether its noise goes with the answers that are asked for."""
        return not settings.single_record

    @classmethod
    def candidates(cls, settings: NoiseSettings) -> list[Mechanism]:
        """The mechanisms of this kind that the learner may announce: one, or one for each horizon that may be priced.

        Raises
        ------
        InputError
            If records sit with several owners and it does not count them.
        """
        parameters = field_types(cls)
        if settings.overlap > 1 and "overlap" not in parameters:
            rule = f"must be 1 with {cls.name} noise, which counts no record that sits with several owners"
            raise InputError("learning.overlap", rule, settings.overlap)
        announced = vars(settings) | {"total_size": sum(settings.sizes)}
        given = {name: announced[name] for name in parameters if name in announced}
        if "horizon" not in parameters:
            return [cls(**given)]
        only = settings.horizons if len(settings.horizons) == 1 else ()
        tried = (settings.horizon,) if settings.horizon else only or cls.announced_horizons or settings.horizons
        if "growth" not in parameters:
            return [cls(**given | {"horizon": horizon}) for horizon in tried]
        less = settings.unasked if settings.horizon else 0  # where shares grow, only what is asked gets any
        return [
            cls(**given | {"horizon": horizon - less * (growth != 1), "growth": growth})
            for horizon in tried
            for growth in open_growths(settings.growth, horizon)
        ]


class FixedHorizon(Mechanism):
    """What mechanisms share that are priced for one horizon, their field ``horizon``: fewer rounds get its noise too."""

    horizon: int

    def for_rounds(self, horizon: int) -> Mechanism:
        return replace(self, horizon=horizon)  # type: ignore[type-var]

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """1 up to the accounted horizon, beyond which rounds are refused."""
        self.check_horizon(horizon)
        return np.ones_like(np.asarray(horizon, dtype=float))


def where_noisy(epsilon: ArrayLike, law: Callable[[Array], Array]) -> Array:
    """law(epsilon) at budgets above 0 and finite, 0 elsewhere: who shares nothing, or adds no noise, adds none.

    >>> where_noisy([0.0, 2.0, np.inf], lambda epsilon: 8 / epsilon**2).tolist()
    [0.0, 2.0, 0.0]
    """
    epsilon = np.asarray(epsilon, dtype=float)
    if epsilon.size and epsilon.min() > 0 and epsilon.max() < np.inf:
        return np.asarray(law(epsilon), dtype=float)
    noisy = (epsilon > 0) & np.isfinite(epsilon)
    return np.where(noisy, law(np.where(noisy, epsilon, 1.0)), 0.0)

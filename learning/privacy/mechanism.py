"""Noise mechanisms: a law of noise, its price in (epsilon, delta), and the claims that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import field_types
from learning.errors import InputError
from learning.privacy.accounting import BudgetsAdd
from learning.privacy.noise import PricedNoise, open_growths, where_noisy

ACCOUNTINGS = {
    "basic": ", whose budget is split evenly over all answers",
    "pld": ", whose cost over all answers is counted exactly",
    "zcdp": ", whose cost over all answers is bounded by zCDP",
    "printed": ", as much as the paper's formula says",
}
EVALUATED = 64  # distinct budgets at most; others are rounded up to one of these


@dataclass(frozen=True)
class NoiseSettings:
    """Public facts that noise is chosen by; mechanisms take their parameters from it by name.

    Parameters
    ----------
    sizes: the records of every owner that takes part.
    delta: the failure probability, or None where none is stated.
    accounting: how the cost of all answers is counted, or None for a mechanism's default.
    overlap: kappa >= 1, the owners one record may sit with.
    formula: the formula that the algorithm's paper publishes for its noise; empty if none.
    weights: the kind of weights, on which such a formula may depend.
    single_record: whether every answer is the gradient of one record.
    horizon: the number of rounds stated, or None where the learner chooses it.
    horizons: the numbers of rounds that the algorithm's plans try.
    width: the numbers in one answer.
    growth: each answer's share of the budget over the one before, or None where the learner chooses
        it.
    unasked: of the rounds that are stated, those in which nothing is asked.
    moments: whether owners release second moments and scores.
    exact: whether the noise must be such that a release draws it exactly.
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
    moments: bool = False
    exact: bool = False


class Mechanism(PricedNoise):
    """Noise on an owner's answers, its price and its claims.

    A mechanism is a frozen dataclass under this class, named in
    `learning.privacy.mechanisms.MECHANISMS`. It must give ``norm``, ``draw``, ``noise_term`` and
    ``horizon_factor``; the rest has defaults. Fields are filled from those of `NoiseSettings` of
    the same name; a mechanism without a field ``delta`` is pure epsilon-DP.

    Attributes
    ----------
    accountings: values of ``learning.accounting`` that it knows, the default first.
    published_for: the papers' formulas that it knows, where it is noise as published.
    compared: whether ``mechanism = "best"`` compares it.
    announced_horizons: the horizons tried where noise depends on the horizon in no separable way.
    in_published_bounds: whether the convergence theorems of The Value of Collaboration are about
    it.
    apart: whether second moments have noise of their own beside that of the gradient.
    single_record: whether answers are gradients of one record.
    """

    accountings: ClassVar[tuple[str, ...]] = ("basic",)
    published_for: ClassVar[tuple[str, ...]] = ()
    compared: ClassVar[bool] = False
    announced_horizons: ClassVar[tuple[int, ...]] = ()
    in_published_bounds: ClassVar[bool] = False
    apart: ClassVar[bool] = False
    single_record: bool = False

    def __init_subclass__(cls) -> None:
        cls.name = cls.name or cls.__name__.lower()
        cls.title = cls.title or f"{cls.name.capitalize()} noise"

    @property
    def training_mechanism(self) -> Mechanism:
        """Mechanism that training answers under, at the budgets of `training_budget`."""
        return self

    def training_budget(self, epsilon: ArrayLike) -> Array:
        """Part of budgets that training spends: all, unless something was spent before."""
        return np.asarray(epsilon, dtype=float)

    def made_by(self, owners: int) -> Mechanism:
        """Reprice for up to so many owners who make the noise together."""
        return self

    def for_rounds(self, horizon: int) -> Mechanism:
        """Reprice for a number of rounds, where the price depends on it."""
        return self

    def for_owners(self, sizes: ArrayLike) -> Mechanism:
        """Reprice for the owners that share, where the price depends on their sizes."""
        return self

    def for_weights(self, equal: bool) -> Mechanism:
        """Reprice for owners averaged equally or by size, where a paper's noise depends on it."""
        return self

    def noise_among(self, total: ArrayLike) -> Array:
        """Noise where those that share have ``total`` records, over that where all owners share."""
        return np.ones(np.shape(total))

    def claimed_epsilon(self, epsilon: ArrayLike, sizes: ArrayLike, horizon: int) -> Array:
        """Largest epsilon that `claims` names for budgets sold, (...).

        Parameters
        ----------
        epsilon: array (...), the budgets sold.
        sizes: array that broadcasts with it, the owners' records.
        horizon: T, the answers that they cover.
        """
        return np.asarray(epsilon, dtype=float)

    def composed_epsilon(self, sold: Array) -> Array:
        """Epsilon of consecutive trainings on the same records, (n,): by default the sum.

        Parameters
        ----------
        sold: array (k, n), the budgets of each training; 0 where nothing was asked.
        """
        return np.asarray(sold.sum(axis=0))

    def composed_delta(self, trainings: ArrayLike) -> Array:
        """Failure probability of `composed_epsilon` over a number of trainings (n,)."""
        return self.delta * np.asarray(trainings, dtype=float)

    def remaining_epsilon(self, limit: Array, sold: Array, parts: int = 1) -> Array:
        """Budget of each of ``parts`` equal further trainings within a limit, (n,), at least 0.

        Parameters
        ----------
        limit: array (n,), finite, for `composed_epsilon` of all trainings.
        sold: array (k, n), the budgets of each training before.
        """
        return np.maximum(limit - sold.sum(axis=0), 0.0) / parts

    def epsilon_of_parts(self, epsilon: ArrayLike, share: float) -> Array:
        """Compute the epsilon of noise made of ``share`` times the parts that make up all of it.

        More parts than that cost no more than was sold; of fewer, by default, nothing is known, and
        the epsilon is inf.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        return np.where((share >= 1) | (epsilon == 0), epsilon, np.inf)

    # Construction

    @classmethod
    def suits_settings(cls, settings: NoiseSettings) -> bool:
        """Check that the noise goes with the answers that are asked for."""
        return not settings.single_record

    @classmethod
    def make_candidates(cls, settings: NoiseSettings) -> list[Mechanism]:
        """Make the mechanisms of this kind that the learner may announce, by horizon tried.

        Raises
        ------
        InputError
            If records sit with several owners and it does not count them.
        """
        parameters = field_types(cls)
        if settings.overlap > 1 and "overlap" not in parameters:
            rule = (
                f"must be 1 with {cls.name} noise, which counts no record that sits with "
                "several owners"
            )
            raise InputError("learning.overlap", rule, settings.overlap)
        announced = vars(settings) | {"total_size": sum(settings.sizes)}
        given = {name: announced[name] for name in parameters if name in announced}
        if "horizon" not in parameters:
            return [cls(**given)]
        tried = cls._horizons_tried(settings)
        if "growth" not in parameters:
            return [cls(**given | {"horizon": horizon}) for horizon in tried]
        unasked = settings.unasked if settings.horizon else 0  # growing shares cover what is asked
        return [
            cls(**given | {"horizon": horizon - unasked * (growth != 1), "growth": growth})
            for horizon in tried
            for growth in open_growths(settings.growth, horizon)
        ]

    @classmethod
    def _horizons_tried(cls, settings: NoiseSettings) -> tuple[int, ...]:
        if settings.horizon:
            return (settings.horizon,)
        if len(settings.horizons) == 1:
            return settings.horizons
        return cls.announced_horizons or settings.horizons


class FixedHorizon(Mechanism):
    """Mechanism priced for one horizon, its field ``horizon``: fewer rounds get the same noise."""

    horizon: int

    def for_rounds(self, horizon: int) -> Mechanism:
        return replace(self, horizon=horizon)  # type: ignore[type-var]

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """1 up to the accounted horizon, beyond which rounds are refused."""
        self.check_horizon(horizon)
        return np.ones_like(np.asarray(horizon, dtype=float))


class BasicComposition(BudgetsAdd, Mechanism):
    """Mechanism whose budget is split evenly over T answers: pure epsilon-DP."""

    compared = True

    @cached_property
    def total_ratio(self) -> float:
        """Sum of all owners' ratios in one answer, in units of one; kappa if it has one part."""
        parts = (sum(ratio for ratio, _ in each) for each in self.pairs)
        return self.overlap * max(parts, default=1)

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound * horizon * self.total_ratio / sizes / epsilon

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 v kappa^2/epsilon^2 of answers of one part, v the unit variance."""
        return where_noisy(epsilon, lambda e: 4 * self.unit_variance * self.total_ratio**2 / e**2)

    def _term_slope(self, epsilon: Array) -> Array:
        return -2 * self.noise_term(epsilon) / epsilon

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T^2."""
        return np.asarray(horizon, dtype=float) ** 2


def evaluate_columns(law: Callable[[tuple[float, ...]], float], columns: Array) -> Array:
    """Evaluate a law at each column of budgets (k, n), once for equal ones.

    Very many distinct budgets are first rounded up to a few, so ``law`` must not fall as budgets
    rise.
    """
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    if distinct.shape[1] > EVALUATED:
        few = np.geomspace(columns.min(), columns.max(), EVALUATED)
        few[-1] = columns.max()
        distinct, which = np.unique(few[np.searchsorted(few, columns)], axis=1, return_inverse=True)
    return np.array([law(tuple(column)) for column in distinct.T.tolist()])[np.ravel(which)]

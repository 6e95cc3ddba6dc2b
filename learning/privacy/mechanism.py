"""What a noise mechanism is: its law of noise, and by default all that follows from it.

Over T answers, noise of variance v = bound^2 horizon_factor(T) noise_term(epsilon)/N^2 per coordinate spends
(epsilon, delta); N = noise_denominator(sizes), an owner's own records but for what some papers publish.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import field_types
from learning.errors import InputError
from learning.privacy.beliefs import belief
from learning.privacy.claims import EVERYONE, REPLACE, Claim
from learning.privacy.guarantees import Guarantee, approximate, pure
from learning.privacy.noise_law import NoiseLaw
from learning.privacy.noise_settings import NoiseSettings
from learning.privacy.shares import open_growths

ACCOUNTINGS = {
    "basic": ", whose budget is split evenly over all answers",
    "pld": ", whose cost over all answers is counted exactly",
    "zcdp": ", whose cost over all answers is bounded by zCDP",
    "printed": ", as much as the paper's formula says",
}


class Mechanism(NoiseLaw):
    """How an owner's answers are made noisy, and what that costs it.

    A mechanism is a frozen dataclass under this class, named in `learning.privacy.mechanisms.MECHANISMS`. It must give the
    law of its noise (`learning.privacy.noise_law.NoiseLaw`); the rest follows, unless it knows better. Its fields
    are filled from those of `NoiseSettings` of the same name; one without a field ``delta`` is pure epsilon-DP.

    Attributes
    ----------
    accountings: what the scenario key ``learning.accounting`` may be with it, the default first.
    published_for: the papers' formulas that it knows, where it is noise as published.
    compared: whether ``mechanism = "best"`` compares it.
    announced_horizons: the horizons tried where its noise depends on the horizon in its own way.
    in_published_bounds: whether it is the noise that the convergence theorems of The Value of Collaboration are about.
    delta: the failure probability over all answers.
    overlap: kappa, the owners that one record may sit with.
    single_record: whether its noise is meant for answers with one record's gradient.
    """

    accountings: ClassVar[tuple[str, ...]] = ("basic",)
    published_for: ClassVar[tuple[str, ...]] = ()
    compared: ClassVar[bool] = False
    announced_horizons: ClassVar[tuple[int, ...]] = ()
    in_published_bounds: ClassVar[bool] = False
    delta: float = 0.0
    overlap: int = 1
    single_record: bool = False

    def __init_subclass__(cls) -> None:
        cls.name = cls.name or cls.__name__.lower()
        cls.title = cls.title or f"{cls.name.capitalize()} noise"

    # What it is priced for

    @property
    def law(self) -> Mechanism:
        """The mechanism that training answers under, with what is `left` of budgets: this one, unless something was spent."""
        return self

    def left(self, epsilon: ArrayLike) -> Array:
        """What of budgets training spends: all, unless something was spent before."""
        return np.asarray(epsilon, dtype=float)

    def with_moments(self, share: float, rows: int = 1) -> Mechanism:
        """As priced where moments are released beside scores, of persons of so many rows; itself if that is wider noise."""
        return self

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

    # What follows for claims

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

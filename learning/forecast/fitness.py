"""Relative fitness before training, as a function of everyone's budget: what a market is played on.

For a plan (algorithm, horizon, step size, returned point) the exact law gives relative fitness bias + gain S, a
straight line in the noise that the owners' budgets cause. A learner free to choose its plan takes the lowest line:
a concave, increasing envelope that is never above doing nothing, so that every payment for fitness stays bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.forecast.envelope import Envelope
from learning.forecast.plan_set import Candidates, plan_set
from learning.forecast.settings import Settings
from learning.forecast.weighting import SIZE, Weighting
from learning.privacy.mechanism import Mechanism
from learning.training.law import Problem
from learning.training.plan import Plan

ROUNDING = 1e-12
MOST_BALANCE = 1e200  # of precision weights: all on noise, nothing on numbers of records
BALANCES = 8  # looked at, where owners' budgets differ
Columns = tuple[Array, ...]  # sums a column at a time, each in the least shape that broadcasts


def _columns(sums: ArrayLike | Columns) -> Columns:
    """The columns of sums (..., k), if they are not given so."""
    return sums if isinstance(sums, tuple) else tuple(np.moveaxis(np.asarray(sums, dtype=float), -1, 0))


@dataclass(frozen=True)
class FitnessForecast:
    """Relative fitness of the model that budgets buy: what the market is played on.

    The payoff of an owner sees the others only through the sums of its weighting: for weights by size, those of
    mechanism.noise_term(epsilon) and of the records n of those who share, with noise = sum(term)/n^2. Then

        psi = min(outside, envelope(noise) + dispersion (sum q^2/n - 1/total + between sum (q - n/total)^2) + unlike),

    where the last term is what the optimum of a part of the owners, or of owners of several kinds weighed otherwise than by
    their records, costs on all of them. With a single plan (horizon
    and step size fixed) the envelope is one straight line and doing nothing is no option.

    Parameters
    ----------
    sizes : array (n_owners,), records of each owner.
    mechanism : how answers are made noisy.
    plan_set : the candidate plans.
    envelope : their lower envelope.
    outside : relative fitness of the model trained on the public rows alone.
    dispersion : C/f*, relative fitness lost per inverse record.
    basis : "public" or "oracle", from whose records it was made.
    kind : "exact" (the law holds while the projection does not bind) or "calibrated" (fitted to rehearsals).
    total : records of all owners; their sum unless given.
    weighting : how answers are weighed.
    unlike : what public rows of another kind than the owners' cost any model, in the relative fitness of all.
    """

    sizes: Array
    mechanism: Mechanism
    plan_set: Candidates = field(repr=False)
    envelope: Envelope = field(repr=False)
    outside: float
    dispersion: float
    basis: str
    kind: str = "exact"
    total: float = 0.0
    weighting: Weighting = SIZE
    unlike: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.total or float(self.sizes.sum()))

    def part(self, owners: Array) -> FitnessForecast:
        """The forecast for some owners only, numbered (k,): `terms` and `slopes` have their rows, `excess` is the same."""
        return replace(self, sizes=self.sizes[owners], weighting=self.weighting.part(owners))

    @property
    def few_sums(self) -> bool:
        """Whether owners meet in a few sums, however many they are."""
        return self.weighting.few_sums

    def under(self, kind: str, reference: ArrayLike, between: float = 0.0) -> FitnessForecast:
        """The same forecast with other weights; the balance of precision weights is that of the reference budgets.

        Balance: what a unit of noise adds to relative fitness there, over what a unit of 1/n adds. With ``between`` above 0
        owners differ in kind (`Weighting`).
        """
        if kind == "size" and not between:
            return self
        even = float(np.sum((self.sizes / self.total) ** 2))
        if kind == "precision":
            return self._precise(reference, between, even)
        kind = "record" if self.weighting.kind == "record" else kind
        return self._weighed(reference, kind=kind, balance=0.0, between=between, even=even)

    def _weighed(self, reference: ArrayLike, **stated: float | str) -> FitnessForecast:
        """The forecast with what is stated of the weights, chosen at reference budgets."""
        term = self.mechanism.noise_term(reference) * self._counted(self.sizes)
        return replace(self, weighting=self.weighting.under(term, self.sizes, total=self.total, **stated))

    def _precise(self, reference: ArrayLike, between: float, even: float) -> FitnessForecast:
        """The forecast under precision weights, their balance that of the plan which the reference budgets lead to.

        Noise that no weights hold down may leave but a plan for much noise, under which a unit of it costs little: so few
        weights on noise account for themselves, and are bad. Where budgets differ, others are looked at, from weights on
        noise alone down, each balance that of the plan the one before leads to; the best is taken.
        """
        kind = "record" if self.weighting.kind == "record" else "precision"

        def weighed(balance: float) -> FitnessForecast:
            return self._weighed(reference, kind=kind, balance=balance, between=between, even=even)

        def following(noise: float) -> FitnessForecast:
            return weighed(min(float(self.envelope.slope(noise)) / max(self.dispersion, 1e-300), MOST_BALANCE))

        made = [following(self.noise_at(reference))]
        if np.ptp(np.asarray(reference)) > 0:
            made.append(following(weighed(MOST_BALANCE).noise_at(reference)))
            for _ in range(BALANCES):
                made.append(following(made[-1].noise_at(reference)))
        return min(made, key=lambda one: one.at(reference))

    def terms(self, epsilon: ArrayLike) -> Array:
        """Additive contribution of each owner: (n_owners, ...) -> (n_owners, ..., 2 to 5)."""
        epsilon = np.asarray(epsilon, dtype=float)
        sizes = self._sizes_beside(epsilon)
        return self.weighting.columns(self.mechanism.noise_term(epsilon) * self._counted(sizes), sizes, epsilon > 0)

    def beside(self, epsilon: Array, others: Array) -> Columns:
        """The sums where each owner alone is at its candidates (n_owners, m), the others' (n_owners, 1, 2 to 5) given.

        A column at a time, and those that are alike for all candidates (n_owners, 1): far less work than ``others + terms``.
        """
        sizes = self._sizes_beside(epsilon)
        term = self.mechanism.noise_term(epsilon) * self._counted(sizes)
        parts = self.weighting.parts(term, sizes, epsilon > 0)
        return tuple(others[..., k] + part for k, part in enumerate(parts))

    def _sizes_beside(self, epsilon: Array) -> Array:
        return self.sizes.reshape((-1,) + (1,) * (epsilon.ndim - 1))

    def _counted(self, sizes: Array) -> Array | float:
        """What makes up for noise that is not scaled to an owner's own records: 1 unless a paper prints it so."""
        scaled_to = self.mechanism.noise_denominator(sizes)
        return 1.0 if scaled_to is sizes else (sizes / scaled_to) ** 2

    def weights(self, epsilon: ArrayLike) -> Array:
        """q of each owner at a profile, (n_owners,); zero for who shares nothing."""
        epsilon = np.asarray(epsilon, dtype=float)
        return self.weighting.weights(
            self.mechanism.noise_term(epsilon) * self._counted(self.sizes), self.sizes, epsilon > 0
        )

    def noise(self, sums: ArrayLike | Columns) -> Array:
        """Aggregated noise sum q^2 term/n^2 from the summed terms (..., 2 to 5)."""
        columns = _columns(sums)
        noise = self.weighting.noise(columns)
        return noise * self._among(columns) if self.weighting.kind == "record" else noise

    def _among(self, columns: Columns) -> Array:
        """What makes up for a price that hangs on whose records are picked among; sums hold these where records are."""
        return self.mechanism.noise_among(columns[1])

    def excess(self, sums: ArrayLike | Columns) -> Array:
        """Relative fitness psi from the summed terms, (..., 2 to 5) -> (...), or from their columns (`beside`)."""
        return self._excess(sums, self.envelope.value(self.noise(sums)))

    def _excess(self, sums: ArrayLike | Columns, enveloped: Array) -> Array:
        """`excess` where the envelope's value (...) is known."""
        columns = _columns(sums)
        value = enveloped + (self.apart(columns) + self.unlike)
        if self.weighting.between:
            value = value + self.dispersion * self.weighting.between * self.weighting.shift(columns)
        if np.isfinite(self.envelope.ceiling):
            value = np.minimum(value, self.outside)
        formed = self.weighting.formed(columns)
        return value if formed.all() else np.where(formed, value, self.outside)

    def apart_at(self, epsilon: ArrayLike) -> float:
        """`apart` at a profile of budgets, (n_owners,)."""
        return float(self.apart(self.terms(epsilon).sum(axis=0)))

    def apart(self, sums: ArrayLike | Columns) -> Array:
        """Of that, what the optimum of a part of the owners, or of all but weighed otherwise, costs on all of them."""
        spread = self.weighting.spread(_columns(sums)) - 1 / self.total
        return self.dispersion * np.where(spread > ROUNDING / self.total, spread, 0.0)

    def worth_term(self, epsilon: ArrayLike, slope: float) -> Array:
        """The noise term (n_owners,) at which an owner's noise adds what its sampling noise does, at a slope in the noise."""
        own = self.dispersion * self.sizes / (slope * self._counted(self.sizes))
        epsilon = np.asarray(epsilon, dtype=float)
        columns = _columns(self.terms(epsilon).sum(axis=0))
        if self.weighting.kind != "record":
            return self.weighting.worth_term(own, columns)
        joining = np.where(epsilon > 0, 0.0, self.sizes)  # records are picked one by one: noise counts with q, not q^2
        return own * self.sizes / ((columns[1] + joining) * self._among(columns))

    def asks(self, sums: ArrayLike | Columns) -> NDArray[np.bool_]:
        """Whether the learner asks anything, from the summed terms, (..., 2 to 5) -> (...): not where that is no gain."""
        capped = np.isfinite(self.envelope.ceiling)
        return self.excess(sums) < self.outside if capped else self.weighting.formed(_columns(sums))

    def slopes(self, epsilon: ArrayLike, sums: ArrayLike | Columns) -> Array:
        """Derivative of `excess` by an owner's own epsilon > 0, where the sums (n_owners, m, 2 to 5) include it."""
        epsilon, columns = np.asarray(epsilon, dtype=float), _columns(sums)
        sharing = epsilon > 0
        safe = epsilon if sharing.all() else np.where(sharing, epsilon, 1.0)
        sizes = self._sizes_beside(epsilon)
        factor = self._counted(sizes)
        weighed_by_noise = self.weighting.kind == "precision"
        term = self.mechanism.noise_term(safe) * factor if weighed_by_noise else np.zeros(())
        change = self.mechanism.noise_term_slope(safe) * factor
        noise, spread = self.weighting.slopes(term, change, sizes, sharing, columns)
        enveloped, steepness = self.envelope.value_and_slope(self.noise(columns))
        slope = steepness * noise
        if self.weighting.kind == "record":
            slope = slope * self._among(columns)
        if spread.any():
            slope = slope + self.dispersion * np.where(self.apart(columns) > 0, spread, 0.0)
        if np.isfinite(self.envelope.ceiling):
            sharing &= self._excess(columns, enveloped) < self.outside
        return np.where(sharing, slope, 0.0)

    def at(self, epsilon: ArrayLike) -> float:
        """Relative fitness at a profile of budgets, (n_owners,)."""
        return float(self.excess(self.terms(epsilon).sum(axis=0)))

    def noise_at(self, epsilon: ArrayLike) -> float:
        """Aggregated noise, sum q^2 term/n^2, at a profile."""
        return float(self.noise(self.terms(epsilon).sum(axis=0)))

    def plan(self, epsilon: ArrayLike) -> Plan:
        """The plan the learner trains with at these budgets: the lowest line, or none (T = 1) where that is no gain."""
        best = self.plan_set.plans[self.plan_set.best(self.noise_at(epsilon))]
        sums = self.terms(epsilon).sum(axis=0)
        unhidden = bool(np.any(np.asarray(epsilon) > 0)) and not self.weighting.formed(_columns(sums))
        if unhidden or (np.isfinite(self.envelope.ceiling) and not self.trains(epsilon)):
            return Plan(best.algorithm, "last", 1, 0.0)
        return best

    def noise_part(self, epsilon: ArrayLike) -> float:
        """Of the relative fitness at a profile, what the noise adds; 0 where nothing is trained."""
        if not self.plan(epsilon).asks:
            return 0.0
        noise = self.noise_at(epsilon)
        return self.plan_set.noise_part(self.plan_set.best(noise), noise)

    def noise_slope(self, epsilon: ArrayLike) -> float:
        """What a unit of noise costs on average under the plan in use at a profile: of a line its slope."""
        noise = self.noise_at(epsilon)
        return self.noise_part(epsilon) / noise if noise > 0 else float(self.envelope.slope(0.0))

    def trains(self, epsilon: ArrayLike) -> bool:
        """Whether training is forecast to beat the learner's outside option."""
        return self.at(epsilon) < self.outside


def forecast(
    problem: Problem,
    settings: Settings,
    *,
    sizes: ArrayLike,
    mechanism: Mechanism,
    gradient_bound: float,
    dispersion: float,
    basis: str,
    outside: float | None = None,
) -> FitnessForecast:
    """Forecast from a training problem: every plan open to the learner, and the envelope over them.

    Parameters
    ----------
    problem : Problem, one row per resample (public basis), or one row (oracle basis).
    settings : what is fixed of the plan, and what the learner chooses.
    sizes : array (n_owners,), records.
    mechanism : how answers are made noisy.
    gradient_bound : Xi.
    dispersion : C, in units of fitness (made relative here).
    basis : "public" or "oracle".
    outside : relative fitness of the learner's own model; None where that is the start of training.

    >>> from learning.privacy.laplace import Laplace
    >>> unit = Problem(*(np.array(v, float) for v in ([[2.0]], [[[1.0]]], [[[2.0]]], [[1.0]], [[0.0]], [1.0])))
    >>> free = forecast(unit, Settings("averaged"), sizes=[1000], mechanism=Laplace(), gradient_bound=1.0,
    ...                 dispersion=0.0, basis="oracle")
    >>> bool(free.at([0.0001]) == free.outside == 1.0), bool(free.at([10.0]) < 0.01)
    (True, True)
    """
    lines = plan_set(problem, settings, mechanism, gradient_bound)
    if outside is None:
        outside = float((problem.untrained / problem.optimum).mean())
    envelope = Envelope.of(
        lines.bias, lines.slope, np.inf if settings.fix_the_plan and len(lines.bias) == 1 else outside
    )
    return FitnessForecast(
        np.asarray(sizes, dtype=float),
        mechanism,
        lines,
        envelope,
        outside,
        dispersion / float(problem.optimum.mean()),
        basis,
    )

"""Forecast of relative fitness as a function of all budgets, on which a market is played.

For a plan (algorithm, horizon, step size, returned point) the exact law gives relative fitness bias
+ gain S, a straight line in the noise that the owners' budgets cause. A learner free to choose its
plan takes the lowest line: a concave, increasing envelope that is never above doing nothing, so
that every payment for fitness stays bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.forecast.inputs import Settings
from learning.forecast.law import Candidates, Envelope, make_plan_set
from learning.forecast.weighting import Answers, Mask, SizeWeighting, Weighting
from learning.privacy.mechanism import Mechanism
from learning.training.law import Problem
from learning.training.plan import Plan

ROUNDING = 1e-12
MOST_BALANCE = 1e200  # of precision weights: by noise alone
BALANCES = 8  # tried, where owners' budgets differ
MOST_STEPS = 200  # of the fixed point; ten do where plans do not change
CLOSE = 1e-9  # relative change at which it is reached
NODES = 256  # of a curve of budgets, which is within 1e-6

Columns = tuple[Array, ...]  # sums by column, each in the least shape that broadcasts


def _split_columns(sums: ArrayLike | Columns) -> Columns:
    """Columns of sums (..., k), if they are not given so."""
    if isinstance(sums, tuple):
        return sums
    rows = np.asarray(sums, dtype=float)
    return tuple(rows.transpose(-1, *range(rows.ndim - 1)))


@dataclass(frozen=True)
class FitnessForecast:
    """Relative fitness of the model that budgets buy.

    The payoff of an owner depends on the others only through the sums of its weighting: for weights
    by size, those of mechanism.noise_term(epsilon) and of the records n of those who share, with
    noise = sum(term)/n^2. Then

        psi = min(outside, envelope(noise) + dispersion (sum q^2/n - 1/total + between sum (q -
        n/total)^2)),

    where the last term is the cost, on all owners, of the optimum of a part of them, or of owners
    of several kinds weighted otherwise than by their records. With a single plan (horizon and step
    size fixed) the envelope is one straight line and doing nothing is no option.

    Parameters
    ----------
    sizes : array (n_owners,), records of each owner.
    mechanism : mechanism of the answers.
    plan_set : the candidate plans.
    envelope : their lower envelope.
    outside : relative fitness of the model trained on the public rows alone.
    dispersion : C/f*, relative fitness lost per inverse record.
    basis : "public" or "oracle", the records it was made from.
    kind : "exact" (the law holds while the projection does not bind) or "calibrated" (fitted to
        rehearsals).
    records : records of all owners; the sum of ``sizes`` unless given.
    weighting : weights of the answers.
    """

    sizes: Array
    mechanism: Mechanism
    plan_set: Candidates = field(repr=False)
    envelope: Envelope = field(repr=False)
    outside: float
    dispersion: float
    basis: str
    kind: str = "exact"
    records: float | None = None
    weighting: Weighting = SizeWeighting()

    @cached_property
    def total(self) -> float:
        """Records of all owners."""
        return self.records or float(self.sizes.sum())

    @property
    def rounds(self) -> int:
        """Number of times that every owner is asked, where all plans have one number of rounds."""
        return self.plan_set.plan_at(0).exchanges

    @property
    def few_sums(self) -> bool:
        """True if owners meet in a few sums, however many they are."""
        return self.weighting.few_sums

    @property
    def may_abstain(self) -> bool:
        """True if the learner may train nothing."""
        return bool(np.isfinite(self.envelope.ceiling))

    def part(self, owners: Array) -> FitnessForecast:
        """Forecast whose `terms` and `slopes` have the rows of some owners only, numbered (k,)."""
        weighting = self.weighting.select_owners(owners)
        return replace(self, sizes=self.sizes[owners], records=self.total, weighting=weighting)

    def with_weights(
        self, kind: str, reference: ArrayLike, between: float = 0.0
    ) -> FitnessForecast:
        """Forecast with other weights, chosen at the reference budgets.

        The balance of precision weights is the cost of a unit of noise there over that of a unit of
        1/n, under the plan in use. Under much noise the plan may be one for much noise, by which a
        unit of it costs little: then weights that hardly heed noise are consistent, and bad. So
        where budgets differ, other balances are tried, first that of weights by noise alone, then
        each time that of the plan which the one before leads to. The best is taken.

        Parameters
        ----------
        kind : "size", "equal" or "precision".
        reference : array (n_owners,), budgets.
        between : variance of the owners' means over that of a record.
        """
        if kind == "size" and not between:
            return self
        even = float(np.sum((self.sizes / self.total) ** 2))
        kinds = {"between": between, "total": self.total, "even": even}
        answers = self.answers_at(reference)

        def weigh_by(balance: float) -> FitnessForecast:
            chosen = self.weighting.with_kind(kind, answers, balance=balance, **kinds)
            return replace(self, weighting=chosen)

        def follow_plan(forecast: FitnessForecast) -> FitnessForecast:
            slope = float(self.envelope.slope(forecast.noise_at(reference)))
            return weigh_by(min(slope / max(self.dispersion, 1e-300), MOST_BALANCE))

        if kind != "precision":
            return weigh_by(0.0)
        made = [follow_plan(self)]
        if np.ptp(np.asarray(reference)) > 0:
            made.append(follow_plan(weigh_by(MOST_BALANCE)))
            for _ in range(BALANCES):
                made.append(follow_plan(made[-1]))
        return min(made, key=lambda one: one.at(reference))

    def answers_at(self, epsilon: ArrayLike) -> Answers:
        """Answers at budgets (n_owners, ...)."""
        epsilon = np.asarray(epsilon, dtype=float)
        sizes = self.sizes.reshape((-1,) + (1,) * (epsilon.ndim - 1))
        return Answers(
            self._corrected_term(self.mechanism.noise_term(epsilon), sizes), sizes, epsilon > 0
        )

    def _corrected_term(self, term: Array, sizes: Array) -> Array:
        """Correct noise terms where noise is not scaled to an owner's own records."""
        scaled_to = self.mechanism.noise_denominator(sizes)
        return term if scaled_to is sizes else term * (sizes / scaled_to) ** 2

    def terms(self, epsilon: ArrayLike) -> Array:
        """Contribution of each owner to the sums: (n_owners, ...) -> (n_owners, ..., k)."""
        return self.weighting.sum_terms(self.answers_at(epsilon))

    def beside(self, epsilon: Array, others: Array) -> Columns:
        """Sums where each owner is at its candidates (n_owners, m), given the others' sums.

        ``others`` is (n_owners, 1, k). The result is by column, (n_owners, 1) where candidates do
        not differ: far less work than ``others + terms``.
        """
        columns = self.weighting.sum_columns(self.answers_at(epsilon))
        return tuple(others[..., k] + column for k, column in enumerate(columns))

    def sums_at(self, epsilon: ArrayLike) -> Columns:
        """Sums at a profile of budgets, (n_owners,)."""
        return _split_columns(self.terms(epsilon).sum(axis=0))

    def weights(self, epsilon: ArrayLike) -> Array:
        """Weights q at a profile, (n_owners,); 0 of an owner that shares nothing."""
        return self.weighting.answer_weights(self.answers_at(epsilon))

    def noise(self, sums: ArrayLike | Columns) -> Array:
        """Aggregated noise sum q^2 term/n^2 from the summed terms (..., k)."""
        columns = _split_columns(sums)
        return self.weighting.aggregated_noise(columns) * self._noise_factor(columns)

    def _noise_factor(self, columns: Columns) -> Array | float:
        return self.weighting.noise_factor(self.mechanism, columns)

    def excess(self, sums: ArrayLike | Columns) -> Array:
        """Relative fitness psi, (...), from the summed terms (..., k) or from their columns."""
        columns = _split_columns(sums)
        return self._add_parts(columns, self.envelope.value(self.noise(columns)))

    def _add_parts(self, columns: Columns, enveloped: Array) -> Array:
        """Add the costs beside noise to the envelope's value (...); the result is `excess`."""
        value = enveloped + self.partial_cost(columns)
        between = self.weighting.between
        if between:
            value = value + self.dispersion * between * self.weighting.record_shift(columns)
        if self.may_abstain:
            value = np.minimum(value, self.outside)
        answered = self.weighting.has_answers(columns)
        return value if answered.all() else np.where(answered, value, self.outside)

    def partial_cost(self, sums: ArrayLike | Columns) -> Array:
        """Cost, on all owners, of the optimum of a part of them or of other weights."""
        spread = self.weighting.weighted_spread(_split_columns(sums)) - 1 / self.total
        return self.dispersion * np.where(spread > ROUNDING / self.total, spread, 0.0)

    def partial_cost_at(self, epsilon: ArrayLike) -> float:
        """Compute `partial_cost` at a profile of budgets, (n_owners,)."""
        return float(self.partial_cost(self.sums_at(epsilon)))

    def asks(self, sums: ArrayLike | Columns) -> Mask:
        """True where the learner asks anything, (...), from the summed terms (..., k)."""
        if self.may_abstain:
            return self.excess(sums) < self.outside
        return self.weighting.has_answers(_split_columns(sums))

    def slopes(self, epsilon: ArrayLike, sums: ArrayLike | Columns) -> Array:
        """Derivative of `excess` by an owner's own epsilon > 0.

        The sums (n_owners, m, k) include the owner.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        columns = _split_columns(sums)
        sharing = epsilon > 0
        safe = epsilon if sharing.all() else np.where(sharing, epsilon, 1.0)
        sizes = self.sizes.reshape((-1,) + (1,) * (epsilon.ndim - 1))
        term = np.zeros(())
        if self.weighting.needs_terms:
            term = self._corrected_term(self.mechanism.noise_term(safe), sizes)
        change = self._corrected_term(self.mechanism.noise_term_slope(safe), sizes)
        noise, spread = self.weighting.sum_slopes(Answers(term, sizes, sharing, change), columns)
        enveloped, steepness = self.envelope.value_and_slope(self.noise(columns))
        slope = steepness * noise * self._noise_factor(columns)
        slope = slope + self.dispersion * np.where(self.partial_cost(columns) > 0, spread, 0.0)
        if self.may_abstain:
            sharing = sharing & (self._add_parts(columns, enveloped) < self.outside)
        return np.where(sharing, slope, 0.0)

    def at(self, epsilon: ArrayLike) -> float:
        """Relative fitness at a profile of budgets, (n_owners,)."""
        return float(self.excess(self.sums_at(epsilon)))

    def noise_at(self, epsilon: ArrayLike) -> float:
        """Aggregated noise sum q^2 term/n^2 at a profile."""
        return float(self.noise(self.sums_at(epsilon)))

    def trains(self, epsilon: ArrayLike) -> bool:
        """True if training is forecast to beat the learner's outside option."""
        return self.at(epsilon) < self.outside

    def plan(self, epsilon: ArrayLike) -> Plan:
        """Plan of the lowest line at these budgets; no training (T = 1) where it is no gain."""
        best = self.plan_set.plan_at(self.plan_set.best_plan(self.noise_at(epsilon)))
        shared = bool(np.any(np.asarray(epsilon) > 0))
        unanswered = shared and not self.weighting.has_answers(self.sums_at(epsilon))
        if unanswered or (self.may_abstain and not self.trains(epsilon)):
            return Plan(best.algorithm, "last", 1, 0.0)
        return best

    def noise_part(self, epsilon: ArrayLike) -> float:
        """Part of relative fitness at a profile that the noise adds; 0 without training."""
        if not self.plan(epsilon).asks:
            return 0.0
        noise = self.noise_at(epsilon)
        return self.plan_set.noise_part(self.plan_set.best_plan(noise), noise)

    def noise_slope(self, epsilon: ArrayLike) -> float:
        """Mean cost of a unit of noise under the plan in use at a profile."""
        noise = self.noise_at(epsilon)
        return self.noise_part(epsilon) / noise if noise > 0 else float(self.envelope.slope(0.0))

    def worth_term(self, epsilon: ArrayLike, slope: float) -> Array:
        """Noise term (n_owners,) at which an owner's noise costs what its sampling noise does."""
        own = self.dispersion * self.sizes / self._corrected_term(np.asarray(slope), self.sizes)
        answers = self.answers_at(epsilon)
        return self.weighting.worth_term(own, self.sums_at(epsilon), answers, self.mechanism)


def forecast_fitness(
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
    """Forecast from a training problem, by every plan that is open to the learner.

    Parameters
    ----------
    problem : Problem, one row per resample (public basis), or one row (oracle basis).
    settings : fixed parts of the plan; the learner chooses the others.
    sizes : array (n_owners,), records.
    mechanism : mechanism of the answers.
    gradient_bound : Xi.
    dispersion : C, in units of fitness (made relative here).
    basis : "public" or "oracle".
    outside : relative fitness of the learner's own model; None where that is the start of training.

    Raises
    ------
    InputError
        If training diverges under every plan.

    >>> from learning.privacy.laplace import Laplace
    >>> rows = ([[2.0]], [[[1.0]]], [[[2.0]]], [[1.0]], [[0.0]], [1.0])
    >>> unit = Problem(*(np.array(row) for row in rows))
    >>> free = forecast_fitness(unit, Settings("averaged"), sizes=[1000], mechanism=Laplace(),
    ...                         gradient_bound=1.0, dispersion=0.0, basis="oracle")
    >>> bool(free.at([0.0001]) == free.outside == 1.0), bool(free.at([10.0]) < 0.01)
    (True, True)
    """
    lines = make_plan_set(problem, settings, mechanism, gradient_bound)
    if outside is None:
        outside = float((problem.untrained / problem.optimum).mean())
    ceiling = outside
    if settings.fixes_plan and len(lines.bias) == 1:
        ceiling = np.inf
    envelope = Envelope.of_lines(lines.bias, lines.slope, ceiling)
    lost = dispersion / float(problem.optimum.mean())
    sizes = np.asarray(sizes, dtype=float)
    return FitnessForecast(sizes, mechanism, lines, envelope, outside, lost, basis)


def agree_rounds(
    forecast: FitnessForecast, round_cost: float, reference: ArrayLike
) -> FitnessForecast:
    """Forecast by plans of one number of rounds, which all parties agree on before any budget.

    The number is that at which relative fitness and what the rounds cost, both at the reference
    budgets, add up to the least. All plans stay where rounds cost nothing.

    Parameters
    ----------
    forecast : by all plans that are open.
    round_cost : what a round costs all owners, over the worth of a unit of relative fitness.
    reference : array (n_owners,), budgets.

    >>> from learning.forecast.law import PlanSet
    >>> from learning.privacy.laplace import Laplace
    >>> keys = [("last", 2, 0.1, 1.0), ("last", 4, 0.1, 1.0)]  # one question, and three
    >>> lines = PlanSet("averaged", keys, np.array([0.05, 0.01]), np.array([1.0, 1.0]))
    >>> free = FitnessForecast(np.array([100.0]), Laplace(), lines, lines.lowest(1.0), 1.0, 0.0, "")
    >>> [agree_rounds(free, cost, [1.0]).rounds for cost in (0.019, 0.021)]
    [3, 1]
    """
    if not round_cost:
        return forecast
    plans = forecast.plan_set
    values = plans.values_at(forecast.noise_at(reference))
    rounds = np.array([plans.plan_at(index).exchanges for index in range(len(values))])
    agreed = rounds[np.argmin(values + round_cost * rounds)]
    kept = plans.select(np.flatnonzero(rounds == agreed).tolist())
    return replace(forecast, plan_set=kept, envelope=kept.lowest(forecast.envelope.ceiling))


def epsilon_worth(forecast: FitnessForecast, epsilon: ArrayLike) -> Array:
    """Budget of each owner beyond which its noise costs less than its sampling noise, (n_owners,).

    With q the owner's weight, its noise adds K q^2 v(epsilon) to the forecast and its sampling
    noise (C/f*) q^2/n. Beyond the epsilon with K v(epsilon) = (C/f*)/n, noise moves the model by
    less than another sample of the owner's records would. K is the cost of a unit of noise under
    the plan in use at the profile (`FitnessForecast.noise_slope`).

    Parameters
    ----------
    forecast : exact or calibrated.
    epsilon : array (n_owners,), the profile, such as an equilibrium.

    Returns
    -------
    array (n_owners,); nan where nothing is asked, inf where no budget brings the noise down so far.
    Of an owner that shares nothing, the budget that would be worth buying while the others stay.

    Source: ours; the same threshold is in the best weights, q proportional to 1/(K v + C/n)
        (`PrecisionWeighting`).

    >>> from learning.forecast.law import PlanSet
    >>> from learning.privacy.laplace import Laplace
    >>> bias, slope = np.array([0.01]), np.array([5.0])
    >>> plans = PlanSet("averaged", [("last", 2, 0.5, 1.0)], bias, slope)
    >>> line = Envelope.of_lines(bias, slope, ceiling=np.inf)
    >>> sizes = np.array([1e3, 1e4])
    >>> made = FitnessForecast(sizes, Laplace(), plans, line, 1.0, dispersion=2.0, basis="oracle")
    >>> epsilon_worth(made, [1.0, 1.0]).round(4)  # 5 * 8/(n epsilon)^2 = 2/n
    array([0.1414, 0.0447])
    """
    epsilon = np.asarray(epsilon, dtype=float)
    asked = forecast.asks(forecast.sums_at(epsilon))
    slope = forecast.noise_slope(epsilon) if asked else 0.0
    if slope <= 0:
        return np.full(len(forecast.sizes), np.nan)
    return _budgets_of(forecast.mechanism, forecast.worth_term(epsilon, slope))


def _budgets_of(mechanism: Mechanism, terms: Array) -> Array:
    """Compute `Mechanism.budget` of terms (n,); of many terms by a curve through some, in logs."""
    distinct, index = np.unique(terms, return_inverse=True)
    if len(distinct) <= NODES or distinct[0] == 0:
        return mechanism.budget(distinct)[index]
    nodes = np.geomspace(distinct[0], distinct[-1], NODES)
    budgets = mechanism.budget(nodes)
    if not np.isfinite(budgets).all() or budgets.min() == 0:
        return mechanism.budget(distinct)[index]
    curve = scipy.interpolate.PchipInterpolator(np.log(nodes), np.log(budgets))
    return np.exp(curve(np.log(distinct)))[index]


def worth_of_all(forecast: FitnessForecast, least: ArrayLike, most: ArrayLike) -> Array:
    """Budgets worth buying where every owner sells just that, (n_owners,).

    The more others sell, the more a unit of noise matters, and the more of an owner's budget is
    worth buying. So `epsilon_worth`, repeated from the upper ends of the intervals, falls to the
    largest fixed point.

    Parameters
    ----------
    forecast : exact or calibrated.
    least, most : arrays (n_owners,), the ends of the owners' intervals.

    Returns
    -------
    array (n_owners,), not cut to the intervals; inf where no budget is enough, or nothing would be
    asked.
    """
    now = np.full(len(forecast.sizes), np.inf)
    epsilon = np.asarray(most, dtype=float)
    for _ in range(MOST_STEPS):
        found = np.nan_to_num(epsilon_worth(forecast, epsilon), nan=np.inf, posinf=np.inf)
        if np.allclose(found, now, rtol=CLOSE, atol=0):
            break
        now = found
        epsilon = np.clip(found, least, most)
    return now

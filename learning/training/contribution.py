"""Contributions of owners to a model, estimated from the sums that they released.

A set S of owners is worth v(S) = f(theta_0) - f(theta_S): how much lower the training cost f of the
model of its sums is than that of the learner's own model theta_0, which is the model of no sums.
The learner estimates f on check rows, public rows that had no part in theta_0. Rows that theta_0
was fitted to cannot tell a good answer from a bad one: their mean loss rises by the same amount,
|theta_S - theta_0|^2 in the norm of their moments, whatever the direction of the step. Sums are
private already, so that none of this has a privacy cost.

The answers' noise lowers v(S) by an amount whose law is known. What an answer brought counts with
it; what the records behind the answer brought counts without. Drawing the same noise again around
the released sums tells both how much lower it makes v(S) and how far it scatters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.losses.loss import Loss, TrainingCost
from learning.privacy.mechanism import Mechanism
from learning.training.coalitions import Coalitions
from learning.training.sums import ReleasedSums

REDRAWS = 200  # of the noise, for the standard errors of one training
LEAST_REDRAWS = 20
MOST_SOLVED = 100_000  # models, in all redraws


@dataclass(frozen=True)
class CheckRows:
    """Public rows that had no part in the learner's own model.

    Parameters
    ----------
    x : array (m, p), encoded features.
    y : array (m,), encoded target.
    loss : the loss trained.
    regularisation : r of r/2 |theta|^2.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    loss: Loss
    regularisation: float = 0.0

    @cached_property
    def fitness(self) -> TrainingCost:
        """Training cost on these rows."""
        return self.loss.fitness([(self.x, self.y)], self.regularisation)

    def gains(self, theta: Array, own: Array) -> Array:
        """Training cost of the own model (p,) on each row less that of models (c, p), (c, m)."""
        every = np.vstack([own, theta])
        penalty = self.regularisation / 2 * np.sum(every**2, axis=1)
        costs = self.loss.value(self.loss.scores(self.x, self.y, every)) + penalty[:, None]
        return np.asarray(costs[0] - costs[1:])


@dataclass(frozen=True)
class Estimate:
    """Contributions of N owners, each with its standard errors, in units of the training cost.

    Parameters
    ----------
    answer : array (N,), of the answers as they were released.
    records : array (N,), of the records, with what noise took added.
    row_error : array (N,), standard error of ``answer`` by the choice of check rows.
    noise_error : array (N,), deviation of ``answer`` by the owners' noise.
    sampling_error : array (N,), standard error by the choice of orders; 0 where all count.
    """

    answer: Array
    records: Array
    row_error: Array
    noise_error: Array
    sampling_error: Array

    @property
    def answer_error(self) -> Array:
        """Standard error of ``answer``, (N,): the noise is in the answer."""
        return np.hypot(self.row_error, self.sampling_error)

    @property
    def records_error(self) -> Array:
        """Standard error of ``records``, (N,)."""
        return np.hypot(self.answer_error, self.noise_error)


@dataclass(frozen=True)
class Contributions:
    """Contributions of owners to one model.

    Parameters
    ----------
    shapley : their Shapley values.
    left_out : what the model of all loses without each.
    worth, worth_error : what all brought together, and its standard error by the check rows.
    """

    shapley: Estimate
    left_out: Estimate
    worth: float
    worth_error: float


def estimate_contributions(
    sums: ReleasedSums,
    mechanism: Mechanism,
    rows: CheckRows,
    coalitions: Coalitions,
    *,
    rng: np.random.Generator,
    redraws: int = REDRAWS,
) -> Contributions:
    """Estimate every owner's contribution, with standard errors.

    Parameters
    ----------
    sums : released by N owners.
    mechanism : of their noise.
    rows : m check rows.
    coalitions : sets of the N owners.
    rng : source of the redrawn noise.
    redraws : how often it is drawn at most.

    Source: ours, by parametric bootstraps. That of the loss by noise is of owners alike
        (`ReleasedSums.alike`), since the moments of a small set are too noisy to be taken for true.
    """
    members = coalitions.members
    own = sums.coordinates.centre
    gains = rows.gains(sums.solve_sets(members), own)
    alike = sums.alike()
    expected = worth_of(alike.solve_sets(members), own, rows.fitness)
    count = min(redraws, max(LEAST_REDRAWS, MOST_SOLVED // len(members)))
    draws = [redraw_worths(sums, alike, mechanism, rows, members, rng=rng) for _ in range(count)]
    again, again_alike = np.moveaxis(np.array(draws), 1, 0)
    lost = expected - again_alike.mean(axis=0)

    def weigh(weights: Array, sampling: Array) -> Estimate:
        by_row = weights @ gains
        answer = by_row.mean(axis=1)
        return Estimate(
            answer,
            answer + weights @ lost,
            standard_error(by_row),
            (again @ weights.T).std(axis=0, ddof=1),
            sampling,
        )

    sampling = coalitions.sampling_error(gains.mean(axis=1))
    whole = gains[members.all(axis=1)][0]
    return Contributions(
        weigh(coalitions.shapley, sampling),
        weigh(coalitions.left_out, np.zeros_like(sampling)),
        float(whole.mean()),
        float(standard_error(whole)),
    )


def redraw_worths(
    sums: ReleasedSums,
    alike: ReleasedSums,
    mechanism: Mechanism,
    rows: CheckRows,
    members: Array,
    *,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Worths of sets (c, N) under noise drawn anew around the sums, and around those alike."""
    own = sums.coordinates.centre
    noisy = (sums.redraw(mechanism, basis, rng=rng) for basis in (sums, alike))
    first, second = (worth_of(one.solve_sets(members), own, rows.fitness) for one in noisy)
    return first, second


def standard_error(by_row: Array) -> Array:
    """Standard error (...) of the mean of values by check row, (..., m)."""
    return np.asarray(by_row.std(axis=-1, ddof=1) / np.sqrt(by_row.shape[-1]))


def worth_of(theta: Array, own: Array, fitness: TrainingCost) -> Array:
    """Worth (c,) of sets with models (c, p): training cost of the own model (p,) less theirs."""
    return np.asarray(fitness.value(own) - fitness.value(theta))

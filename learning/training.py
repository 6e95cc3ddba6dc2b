"""Batched Monte Carlo training: all replications of a round in one product, the records read once.

On a quadratic fitness an owner's answer depends on its records only through their sufficient statistics, so every
round costs one (runs, p) x (p, p) product. Noise is drawn per owner and replication, by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.coordinates import Coordinates
from learning.forecast import Plan
from learning.law import averaging
from learning.ledger import Ledger
from learning.losses import SquaredStatistics
from learning.privacy import Mechanism
from learning.randomness import Streams

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Answering:
    """One owner's side of training: what answers its queries. The learner gets `answer` and nothing else.

    Parameters
    ----------
    name : str, key of its noise.
    statistics : SquaredStatistics of its clipped records, in phi; stays here.
    scale : b, of the noise on each coordinate of each answer.
    horizon : rounds its budget was split over; it answers no longer training.
    epsilon : the budget that scale was priced for; None if unknown: its ledger then counts answers.
    """

    name: str
    statistics: SquaredStatistics = field(repr=False)
    scale: float
    horizon: int
    epsilon: float | None = None

    def open_account(self, ledger: Ledger, mechanism: Mechanism) -> None:
        """Enter its budget in a ledger: in epsilon where budgets add (basic composition, delta = 0), else in answers."""
        if self.scale == 0:
            ledger.open(self.name, np.inf, self.horizon)
        elif self.epsilon is None:
            ledger.open(self.name, float(self.horizon), self.horizon, "answers")
        else:
            ledger.open(self.name, self.epsilon, self.horizon, "epsilon" if mechanism.delta == 0 else "answers")

    def noise(self, mechanism: Mechanism, queries: int, runs: int, streams: Streams) -> Array:
        """All noise of this owner, (queries, runs, p), each replication from its own stream."""
        width = len(self.statistics.xy)
        if self.scale == 0:
            return np.zeros((queries, runs, width))
        draws = [mechanism.draw(self.scale, (queries, width), rng=streams.rng(self.name, run)) for run in range(runs)]
        return np.stack(draws, axis=1)

    def answer(self, phi: Array, noise: Array) -> Array:
        """Mean gradient over its records plus noise, at phi (runs, p)."""
        return self.statistics.gradient(phi) + noise


@dataclass(frozen=True)
class Trained:
    """What training returned: model parameters of every run, (runs, p), and the path of the first, (T, p).

    ``ledger`` holds what the owners' answers spent.
    """

    theta: Array = field(repr=False)
    path: Array = field(repr=False)
    plan: Plan
    projected: float
    ledger: Ledger = field(default_factory=Ledger, repr=False)

    @property
    def runs(self) -> int:
        return len(self.theta)


def owners_answering(
    names: Sequence[str],
    statistics: Sequence[SquaredStatistics],
    epsilon: ArrayLike,
    mechanism: Mechanism,
    gradient_bound: float,
    horizon: int,
) -> tuple[Answering, ...]:
    """The owners who share (epsilon > 0), each with the noise scale that its own budget buys."""
    epsilon = np.asarray(epsilon, dtype=float)
    sizes = [s.n_records for s in statistics]
    scales = mechanism.scale(epsilon, sizes, gradient_bound, horizon)
    return tuple(
        Answering(n, s, float(b), horizon, float(e))
        for n, s, b, e in zip(names, statistics, scales, epsilon, strict=True)
        if e > 0
    )


def charged(owners: Sequence[Answering], mechanism: Mechanism, answers: int, ledger: Ledger) -> Ledger:
    """The ledger with one training of so many rounds entered for everyone, or for nobody where one would overspend."""
    for owner in owners:
        owner.open_account(ledger, mechanism)
        ledger.check(owner.name, answers, "training")
    for owner in owners if answers else ():
        ledger.charge(owner.name, "training", answers)
    return ledger


def untrained(theta: Array, plan: Plan, *, runs: int) -> Trained:
    """No training at all: the same model in every run."""
    return Trained(np.tile(theta, (runs, 1)), theta[None], plan, 0.0)


def train(
    owners: Sequence[Answering],
    coordinates: Coordinates,
    plan: Plan,
    mechanism: Mechanism,
    *,
    runs: int,
    streams: Streams,
    regularisation: float = 0.0,
    ledger: Ledger | None = None,
) -> Trained:
    """Train by DP gradient queries; `runs` replications at once.

    theta[k+1] = Pi[theta[k] - rho_k (grad g_1 + sum_l (n_l/n) answer_l(theta[k]))], k = 1 .. T-1, in the given
    coordinates, from phi = 0; returned is theta[T] or the running mean of Algorithm 2.

    Parameters
    ----------
    owners : who answers, with what noise. An empty market returns the start.
    coordinates : start, scale and the ball that phi is kept in (theta_max inf: no projection).
    plan : algorithm, horizon, step size, returned point.
    runs : replications, >= 1.
    streams : noise streams, keyed by owner's name and number of the run.
    regularisation : r of g_1 = r/2 |theta|^2, known to the learner.
    ledger : what the owners have answered before, continued; a new one unless given. The T-1 answers are charged
        before their noise is drawn. They are charged once: replications simulate the same T-1 answers, of which a
        market would give one draw.

    Returns
    -------
    Trained; ``projected`` is the share of coordinates that the projection moved, over all rounds and runs.

    Raises
    ------
    Overspent
        If an owner's budget does not cover all rounds; nothing is drawn then, and nobody is charged.

    Source: Wu et al., The Value of Collaboration, Algorithms 1 and 2 (Algorithm 1 has no projection there).
    """
    if runs < 1:
        raise ValueError(f"runs must be at least 1, got {runs}")
    for owner in owners:
        if owner.horizon < plan.horizon and owner.scale > 0:
            raise ValueError(
                f"{owner.name} split its budget over {owner.horizon} rounds and answers no training of {plan.horizon}"
            )
    width = len(coordinates.centre)
    penalty, pull = coordinates.penalty(regularisation)
    total = sum(owner.statistics.n_records for owner in owners)
    phi, mean = np.zeros((runs, width)), np.zeros((runs, width))
    steps = plan.steps if owners else np.empty(0)
    ledger = charged(owners, mechanism, len(steps), Ledger() if ledger is None else ledger)
    noises = [owner.noise(mechanism, len(steps), runs, streams) for owner in owners]
    path, moved = [coordinates.centre], 0
    for k, step in enumerate(steps, start=1):
        gradient = phi @ penalty - pull
        for owner, noise in zip(owners, noises, strict=True):
            gradient += owner.statistics.n_records / total * owner.answer(phi, noise[k - 1])
        a, b = averaging(k, plan.horizon)
        mean = a * mean + b * phi
        free = phi - step * gradient
        phi = coordinates.project(free)
        moved += int((phi != free).sum())
        path.append(coordinates.model(phi[0]))
    chosen = phi if plan.returned == "last" or not owners else mean
    return Trained(coordinates.model(chosen), np.stack(path), plan, moved / max(1, len(steps) * phi.size), ledger)

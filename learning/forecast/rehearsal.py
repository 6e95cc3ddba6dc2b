"""Rehearsing the training on records one may look at: the very algorithm, at chosen levels of noise.

A rehearsal takes the learner's public rows for the population (or, on the oracle basis, the pooled records), one start per
bootstrap resample, and stand-ins for the owners: each answers with the population's gradient and as much noise as an owner of
its size would add. Nothing else differs from training, so whatever an algorithm does (kinks, projections, clocks, local
steps) is counted. Where few rows stand for many records, a loss with kinks is smoothed (`PublicSample.smoothed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.cache import identity
from learning.forecast.single_query import expected
from learning.forecast.tail import chance_of_bias
from learning.losses.coordinates import RECORD, Coordinates
from learning.losses.loss import Loss
from learning.losses.protocols import GradientOracle, TrainingCost
from learning.losses.squared import SquaredStatistics
from learning.privacy.mechanism import Mechanism
from learning.progress import Did, unnoticed
from learning.randomness import Streams
from learning.training.aggregation import MEAN, Aggregation
from learning.training.algorithm import Algorithm
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client
from learning.training.clocks import Clocks
from learning.training.law import Returned
from learning.training.plan import Plan
from learning.training.task import Task, Trajectory

Key = tuple[Returned, int, float, float]  # of a plan: the point returned, rounds, step size, growth of shares
RETURNED: tuple[Returned, ...] = ("last", "averaged")
FINE_LENGTHS = np.geomspace(0.15, 3, 12)  # step sizes under clipped gradients, in units of 1/(largest curvature)
FINE_HORIZONS = (2, 3, 4, 5, 9, 17)  # rounds: as few as noise that is small leaves worth asking for
EVENED = 0.5  # of what chance adds to the square of a bias by clipping, that is taken off


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal needs to know.

    Parameters
    ----------
    x, y : the population's records.
    cost : its training cost, which counts.
    starts : Coordinates of each resample, bounds included.
    sizes : array (n_owners,), records of each owner.
    weights : array (n_owners,), q where all share alike.
    mechanism : how answers are made noisy.
    algorithm, clocks : those of the plan.
    seed : of the noise.
    aggregation : what is made of the answers of a round.
    noises : array (n_owners,), the noise terms of the owners to each other; alike unless given.
    decline : power of the round that steps fall with; the algorithm's own if None.
    did : called with the rounds of all runs from a start when they are done.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    cost: TrainingCost = field(repr=False)
    starts: tuple[Coordinates, ...] = field(repr=False)
    sizes: Array
    weights: Array
    mechanism: Mechanism
    algorithm: str
    clocks: Clocks = Clocks()
    seed: int = 0
    aggregation: Aggregation = MEAN
    noises: Array | float = 1.0
    decline: float | None = None
    did: Did = field(default=unnoticed, repr=False, compare=False)

    @property
    def trains_by(self) -> Algorithm:
        """The algorithm that is rehearsed."""
        return ALGORITHMS[self.algorithm]

    @property
    def loss(self) -> Loss:
        """The loss that is trained."""
        return self.starts[0].loss

    @property
    def key(self) -> tuple[Any, ...]:
        """All that what is measured depends on."""
        bounds = ("centre", "transform", "radius", "target_bound", "theta_max", "norm", "noise_bound", "clipping")
        starts = [tuple(getattr(start, name) for name in bounds) for start in self.starts]
        of_cost = (self.cost.regularisation, self.cost.optimum, self.cost.minimiser)
        by = (self.mechanism.law, self.trains_by, self.loss, self.aggregation)
        how = (*map(identity, by), repr(self.clocks), self.seed)
        if self.decline is not None:
            how += (self.decline,)
        if self.starts[0].clipping == RECORD:
            how += (RECORD,)
        if self.starts[0].scores is not None:
            how += (repr(self.starts[0].scores),)
        return self.x, self.y, starts, of_cost, self.sizes, self.weights, self.noises, how

    @property
    def curvature(self) -> float:
        """Largest curvature of the mean loss in the first coordinates, the unit of step sizes."""
        return self.loss.largest_curvature(self.starts[0], self.x, self.cost.regularisation)

    @property
    def smallest_curvature(self) -> float:
        """Smallest curvature of the cost in the first coordinates; of a loss that curves differently, what the ridge adds."""
        penalty, _ = self.starts[0].penalty(self.cost.regularisation)
        if self.loss.quadratic:
            moved = self.starts[0].shortened(self.x)
            penalty = penalty + self.loss.curvature * moved.T @ moved / len(moved)
        return float(np.linalg.eigvalsh(penalty)[0])

    def constants(self, horizon: int) -> Array:
        """Step-size constants worth trying, (m,)."""
        if self.fine:
            return FINE_LENGTHS * self.trains_by.step_unit(horizon) / self.curvature
        return self.trains_by.trial_constants(horizon, self.curvature, self.weights, coarse=self.costly)

    def horizons(self) -> Sequence[int]:
        """Numbers of rounds worth trying."""
        if self.fine:
            return FINE_HORIZONS
        return self.trains_by.coarse_horizons if self.costly else self.trains_by.trial_horizons

    def priced(self, horizon: int) -> int | None:
        """Answers that budgets are split over, where they are not the horizon."""
        return self.trains_by.priced(self.clocks, len(self.sizes), horizon)

    def plan(self, returned: Returned, horizon: int, step_size: float, growth: float = 1.0) -> Plan:
        """A plan as it is rehearsed."""
        answers = self.priced(horizon)
        return Plan(self.algorithm, returned, horizon, step_size, self.clocks, answers, self.decline, growth)

    @property
    def as_one(self) -> bool:
        """Whether one stand-in with the noise of all owners is as good as many."""
        return (self.trains_by.sums_answers and self.aggregation.sums) or self.trains_by.one_by_one

    @property
    def fine(self) -> bool:
        """Whether plans are tried on a finer grid: where gradients of squared loss are clipped, a few good steps do."""
        return self.loss.quadratic and self.starts[0].clipping == RECORD and self.trains_by.exact

    def asks_once(self, horizon: int) -> bool:
        """Whether clipped gradients are asked for once, at the public start: what comes of it on average is known exactly."""
        return self.fine and self.as_one and self.trains_by.queries(horizon) == 1

    @property
    def costly(self) -> bool:
        """Whether a round costs so much that fewer plans are tried."""
        return self.loss.costly


def stand_ins(
    rehearsal: Rehearsal, coordinates: Coordinates, horizon: int, levels: Array, number: int = 0, growth: float = 1.0
) -> tuple[Client, ...]:
    """Who answers in a rehearsal: owners that all hold the population, with noise of a level per run.

    Steps ask for means alone, whatever the size: the owners hold one object then, and answer together where they can.

    Where answers only enter as their weighted sum, or single records answer that are picked among all, one stand-in with
    the noise of all is as good as many. Where something else than a sum is made of the answers, it matters how far the
    owners' own gradients lie apart: each stand-in's is moved as that of records drawn from the population is at the start.

    Parameters
    ----------
    horizon : answers that budgets are split over.
    levels : array (runs,), aggregated noise sum q^2 term/n^2 of each run.
    number : of the start, for which those records are drawn.
    growth : each answer's share of a budget over that of the one before.
    """
    x, y = rehearsal.x, rehearsal.y
    held = coordinates.oracle(x, y, one_by_one=rehearsal.trains_by.one_by_one)
    held = _beyond_chance(rehearsal, coordinates, held) if rehearsal.fine else held
    power = coordinates.noise_bound**2 * float(rehearsal.mechanism.horizon_factor(horizon)) * levels
    if rehearsal.as_one:
        return (Client("all", held, rehearsal.mechanism.spread(power), horizon, growth=growth),)
    sizes, weights, takes_steps = rehearsal.sizes, rehearsal.weights, rehearsal.trains_by.takes_steps
    counted = rehearsal.mechanism.noise_denominator(sizes)
    shares = rehearsal.noises / (counted**2 * np.sum(weights**2 * rehearsal.noises / counted**2))
    if not takes_steps:
        holds = [_of_size(held, int(size)) for size in sizes]
    else:
        holds = [held] * len(sizes) if rehearsal.aggregation.sums else _apart(rehearsal, coordinates, held, number)
    return tuple(
        Client(f"owner {i}", own, rehearsal.mechanism.spread(power * share), horizon, growth=growth)
        for i, (own, share) in enumerate(zip(holds, shares, strict=True))
    )


@dataclass(frozen=True)
class Moved:
    """Records whose gradients are told by so much elsewhere, (p,)."""

    records: GradientOracle = field(repr=False)
    shift: Array = field(repr=False)

    @property
    def n_records(self) -> int:
        return self.records.n_records

    @property
    def n_parameters(self) -> int:
        return self.records.n_parameters

    def gradient(self, phi: Array) -> Array:
        """Mean over the records of the gradient at phi, moved: (runs, p) -> (runs, p)."""
        return self.records.gradient(phi) + self.shift


def _beyond_chance(rehearsal: Rehearsal, coordinates: Coordinates, held: GradientOracle) -> GradientOracle:
    """The records, with what clipping takes from the mean at the optimum shrunk by what so few rows add to it by chance.

    Half of that is taken off its square: all of it would, of the few rows that are clipped, too often leave no bias at all.
    """
    optimum = np.linalg.solve(coordinates.transform, rehearsal.cost.minimiser - coordinates.centre)
    moved = rehearsal.x @ coordinates.transform
    slopes = rehearsal.loss.derivative(moved @ optimum - (rehearsal.y - rehearsal.x @ coordinates.centre))
    whole = slopes[:, None] * moved
    kept = coordinates.within(whole, coordinates.radius)
    shrunk = np.sqrt(1 - EVENED * chance_of_bias(whole, kept))
    return Moved(held, (shrunk - 1) * kept.mean(axis=0))


def _apart(rehearsal: Rehearsal, coordinates: Coordinates, held: GradientOracle, number: int) -> list[GradientOracle]:
    """The population as each owner's draw of records from it shows it at the start; all draws together show it as it is."""
    start, shifts, sizes = np.zeros((1, held.n_parameters)), [], rehearsal.sizes
    for owner, size in enumerate(sizes.astype(int).tolist()):
        rows = Streams(rehearsal.seed, "stand-ins").rng(owner, number).integers(len(rehearsal.y), size=size)
        shifts.append(coordinates.oracle(rehearsal.x[rows], rehearsal.y[rows]).gradient(start)[0])
    middle = sizes @ np.array(shifts) / sizes.sum()
    return [Moved(held, shift - middle) for shift in shifts]


def _of_size(held: GradientOracle, size: int) -> GradientOracle:
    """The population's statistics as if so many records had made them: means stay, sums grow."""
    if not isinstance(held, SquaredStatistics):
        return held
    return replace(held * (size / held.n_records), n_records=size)


def rehearse(
    rehearsal: Rehearsal,
    horizon: int,
    constants: Array,
    levels: Array,
    *,
    repeats: int,
    returned: Sequence[Returned] = ("last", "averaged"),
    growth: float = 1.0,
) -> Array:
    """Relative fitness measured, (returned, steps, levels, starts, repeats); its mean where one query makes that known.

    Every step size meets the same draws, so that what differs between plans is no chance. Every level of noise has draws
    of its own, so that a curve through the levels evens chance out.

    Parameters
    ----------
    horizon : T.
    constants : array (m,), step sizes.
    levels : array (k,), aggregated noise.
    repeats : draws per start.
    growth : each answer's share of a budget over that of the one before.
    """
    runs = len(constants) * len(levels) * repeats
    found = np.empty((len(returned), runs, len(rehearsal.starts)))
    for number, (coordinates, done) in enumerate(rehearsals(rehearsal, horizon, constants, levels, repeats, growth)):
        with np.errstate(over="ignore", invalid="ignore"):
            for i, point in enumerate(returned):
                theta = coordinates.model(done.last if point == "last" else done.mean)
                found[i, :, number] = rehearsal.cost.relative(theta)
                if point == "last" and rehearsal.asks_once(horizon):
                    plan = rehearsal.plan("last", horizon, 1.0, growth)
                    known, free = np.repeat(_at_once(rehearsal, coordinates, plan, constants, levels), repeats, axis=1)
                    found[i, :, number] = np.where(free > 0, known, found[i, :, number])
    found = np.where(np.isfinite(found), found, np.inf)
    shaped = found.reshape(len(returned), len(constants), len(levels), repeats, len(rehearsal.starts))
    return shaped.swapaxes(3, 4)


def _at_once(
    rehearsal: Rehearsal, coordinates: Coordinates, plan: Plan, constants: Array, levels: Array
) -> tuple[Array, Array]:
    """Mean relative fitness of one step, (steps x levels,), and where the ball leaves it alone."""
    steps, noise = (grid.ravel() for grid in np.meshgrid(constants * plan.steps[0], levels, indexing="ij"))
    (owner,) = stand_ins(rehearsal, coordinates, plan.priced, noise, growth=plan.growth)
    _, pull = coordinates.penalty(rehearsal.cost.regularisation)
    gradient = owner.records.gradient(np.zeros((1, len(pull))))[0] - pull
    scale = np.asarray(owner.scale) * plan.relative_scales(rehearsal.mechanism)[0]
    return expected(rehearsal.cost, coordinates, gradient, steps, rehearsal.mechanism.unit_variance * scale**2)


def rehearsals(
    rehearsal: Rehearsal, horizon: int, constants: Array, levels: Array, repeats: int, growth: float = 1.0
) -> Iterator[tuple[Coordinates, Trajectory]]:
    """The trainings that are rehearsed, start by start: runs are steps, levels and repeats, the last of them fastest."""
    steps, noise = (grid.ravel() for grid in np.meshgrid(constants, levels, indexing="ij"))
    steps, noise = np.repeat(steps, repeats), np.repeat(noise, repeats)
    plan = rehearsal.plan("last", horizon, 1.0, growth)
    for number, coordinates in enumerate(rehearsal.starts):
        owners = stand_ins(rehearsal, coordinates, plan.priced, noise, number, growth)
        task = Task(
            owners,
            coordinates,
            plan,
            rehearsal.mechanism,
            len(steps),
            Streams(rehearsal.seed, f"rehearsal {number}"),
            rehearsal.cost.regularisation,
            np.ones(1) if len(owners) == 1 else rehearsal.weights,
            repeats * len(levels),
            steps[:, None],
            rehearsal.aggregation,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # steps so long that training diverges
            done = rehearsal.trains_by.run(task)
        rehearsal.did(len(steps) * horizon)
        yield coordinates, done

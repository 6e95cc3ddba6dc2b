"""Rehearsals of the training, on records that one may look at, at chosen levels of noise.

A rehearsal takes the learner's public rows for the population (or, on the oracle basis, the pooled
records), one start per bootstrap sample, and a proxy for each owner: it answers with the
population's gradient and as much noise as an owner of its size would add. Nothing else differs from
training, so all effects of an algorithm (kinks, projections, clocks, local steps) are counted.
Where few rows represent many records, a loss with kinks is smoothed (`PublicSample.smoothed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.kept import source_identity
from learning.forecast.one_step import geometric_mean
from learning.forecast.proxies import Proxies
from learning.forecast.public_sample import PublicSample
from learning.forecast.tail import expected_size
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss, TrainingCost
from learning.losses.records import GradientOracle
from learning.losses.statistics import SquaredStatistics
from learning.privacy.mechanism import Mechanism
from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from learning.training.aggregation import MEAN, Aggregation
from learning.training.algorithms import ALGORITHMS, Algorithm
from learning.training.client import Client
from learning.training.clocks import Clocks
from learning.training.conduct import Changed
from learning.training.law import Returned
from learning.training.plan import Plan
from learning.training.task import Task, Trajectory

RETURNED: tuple[Returned, ...] = ("last", "averaged")
# step sizes under clipped gradients, over 1/curvature; closest where few answers are solved for
FINE_LENGTHS = np.array([0.15, 0.25, 0.4, *np.geomspace(0.6, 1.8, 13), 2.3, 3.0])
FINE_HORIZONS = (2, 3, 4, 5, 9, 17)  # more rounds are not worth their noise, even where it is small
KEPT = 2**18  # numbers of a population up to which it is kept as each start bounds it
CLEAR = 12.0  # deviations of the noise's length, beyond which it lies less than once in ten million
BOUNDS = (
    *("centre", "transform", "radius", "target_bound", "theta_max"),
    *("norm", "noise_bound", "clipping", "moments"),
)


@dataclass(frozen=True)
class Rehearsal:
    """Inputs of rehearsals.

    Parameters
    ----------
    x, y : the population's records.
    cost : its training cost, which counts.
    starts : Coordinates of each bootstrap sample, bounds included.
    sizes : array (n_owners,), records of each owner.
    weights : array (n_owners,), q where all share and are treated equally.
    mechanism : mechanism of the answers.
    algorithm, clocks : those of the plan.
    seed : of the noise.
    aggregation : aggregate of the answers of a round.
    noises : array (n_owners,), relative noise terms of the owners; equal unless given.
    decline : power of the round that steps fall with; the algorithm's own if None.
    bias : array (p,), mean gradient of clipped records at the optimum, in phi of the start; that
        of the rows if None, less its chance where gradients or scores of squared loss are clipped.
    in_doubt : True if the starts are of kinds of which one is true.
    steepest : largest curvature of possible populations (`BootstrapSamples.steepest_curvature`); 0
        where the starts show it, or nothing is open.
    did : called with the rounds of all runs from a start when they are done.
    kept : populations as starts bound them, shared by rehearsals made of one another.
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
    bias: Array | None = None
    in_doubt: bool = False
    steepest: float = 0.0
    did: ReportWork = field(default=ignore_work, repr=False, compare=False)
    kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_sample(
        cls,
        sample: PublicSample,
        starts: tuple[Coordinates, ...],
        sizes: Array,
        mechanism: Mechanism,
        algorithm: str,
        **options: Any,
    ) -> Rehearsal:
        """Rehearsal on the rows of a sample, with weights by records."""
        x, y = sample.population()
        shares = sizes / sizes.sum()
        return cls(x, y, sample.fitness, starts, sizes, shares, mechanism, algorithm, **options)

    def on_sample(self, sample: PublicSample, starts: tuple[Coordinates, ...]) -> Rehearsal:
        """Rehearsal on other rows, from other starts."""
        x, y = sample.population()
        return replace(self, x=x, y=y, cost=sample.fitness, starts=starts)

    @property
    def trains_by(self) -> Algorithm:
        """Algorithm that is rehearsed."""
        return ALGORITHMS[self.algorithm]

    @property
    def loss(self) -> Loss:
        """Loss that is trained."""
        return self.starts[0].loss

    @property
    def cache_key(self) -> tuple[Any, ...]:
        """Everything that measurements depend on."""
        starts = [[getattr(start, name) for name in BOUNDS] for start in self.starts]
        of_cost = (self.cost.regularisation, self.cost.optimum, self.cost.minimiser)
        plug_ins = (self.mechanism.training_mechanism, self.trains_by, self.loss, self.aggregation)
        start = self.starts[0]
        shown = self.decline, start.scores, start.targets, self.bias, self.steepest
        options = (self.clocks, self.seed, *shown)
        names = [*map(source_identity, plug_ins), *map(repr, (*options, self.in_doubt))]
        return self.x, self.y, starts, of_cost, self.sizes, self.weights, self.noises, names

    @property
    def curvature(self) -> float:
        """Largest curvature of the mean loss in the first coordinates, the unit of step sizes."""
        return self.loss.largest_curvature(self.starts[0], self.x, self.cost.regularisation)

    @property
    def smallest_curvature(self) -> float:
        """Smallest curvature of the cost in the first coordinates; that of the penalty at least."""
        penalty, _ = self.starts[0].penalty(self.cost.regularisation)
        if self.loss.quadratic:
            moved = self.starts[0].clip_features(self.x)
            penalty = penalty + self.loss.curvature * moved.T @ moved / len(moved)
        return float(np.linalg.eigvalsh(penalty)[0])

    def open_step_sizes(self, stated: float | None, horizon: int) -> Array:
        """Step-size constant that is stated, or those worth trying, (m,).

        Descent diverges where its steps stay longer than 2/L, L the largest curvature. So they may
        not in any possible population; but the shortest is always tried.
        """
        if stated is not None:
            return np.array([stated])
        constants = self.step_sizes(horizon)
        if not self.trains_by.exact:
            return constants
        least = [min(self.make_plan("last", horizon, one).steps, default=0.0) for one in constants]
        sound = self.steepest * np.array(least) <= 2
        return constants[sound | (constants == constants.min())]

    def step_sizes(self, horizon: int) -> Array:
        """Step-size constants worth trying, (m,)."""
        algorithm = self.trains_by
        if self.fine:
            return FINE_LENGTHS * algorithm.step_unit(horizon) / self.curvature
        coarse = self.loss.costly
        return algorithm.trial_constants(horizon, self.curvature, self.weights, coarse=coarse)

    def horizons(self) -> Sequence[int]:
        """Numbers of rounds worth trying."""
        algorithm = self.trains_by
        if self.fine and len(algorithm.trial_horizons) > 1:
            return FINE_HORIZONS
        return algorithm.coarse_horizons if self.loss.costly else algorithm.trial_horizons

    def make_plan(
        self, returned: Returned, horizon: int, step_size: float, growth: float = 1.0
    ) -> Plan:
        """Plan as it is rehearsed."""
        priced = self.trains_by.priced_answers(self.clocks, len(self.sizes), horizon)
        named = (self.algorithm, returned, horizon, step_size)
        return Plan(*named, self.clocks, priced, self.decline, growth)

    @property
    def sums_suffice(self) -> bool:
        """True if one proxy with the noise of all owners is as good as many."""
        return (self.trains_by.sums_answers and self.aggregation.sums) or self.trains_by.one_by_one

    @property
    def fine(self) -> bool:
        """True if gradients of squared loss are clipped: plans are tried on a finer grid."""
        clipped = self.starts[0].clipping == RECORD
        return self.loss.quadratic and clipped and self.trains_by.sums_answers

    def asks_once(self, horizon: int) -> bool:
        """True if clipped gradients are asked for once: their effect is known exactly."""
        return self.fine and self.sums_suffice and self.trains_by.queries(horizon) == 1

    @property
    def proxies(self) -> Proxies:
        """Proxies of the owners; of many who release sums, those alike in noise have one."""
        terms = self.noises / self.mechanism.noise_denominator(self.sizes) ** 2
        shares = terms / np.sum(self.weights**2 * terms)
        each = Proxies(self.weights, self.sizes, shares)
        return each if self.trains_by.takes_steps else each.merge()

    def proxy_owners(
        self,
        coordinates: Coordinates,
        horizon: int,
        levels: Array,
        number: int = 0,
        growth: float = 1.0,
    ) -> tuple[Client, ...]:
        """Proxies of the owners, which all hold the population, with noise of a level per run.

        Where answers only enter as their weighted sum, or single records are sampled, one proxy
        with the noise of all is as good as many. Where the aggregate is no sum, distances between
        the owners' gradients matter: each proxy's gradient is shifted as that of records drawn from
        the population is at the start.

        Parameters
        ----------
        horizon : answers that budgets are split over.
        levels : array (runs,), aggregated noise sum q^2 term/n^2 of each run.
        number : of the start, for which those records are drawn.
        growth : each answer's share of a budget over that of the one before.
        """
        held = self._answering_population(coordinates)
        factor = float(self.mechanism.horizon_factor(horizon))
        power = coordinates.noise_bound**2 * factor * levels
        spread = self.mechanism.scale_of_variance
        if self.sums_suffice:
            return (Client("all", held, spread(power), horizon, growth=growth),)
        proxies = self.proxies
        holds = [held] * len(proxies.sizes)
        if self.trains_by.takes_steps:
            if not self.aggregation.sums:
                holds = self._spread_owners(coordinates, held, number)
        elif isinstance(held, SquaredStatistics):  # means stay, sums grow
            sizes = proxies.sizes.astype(int).tolist()
            holds = [replace(held * (size / held.n_records), n_records=size) for size in sizes]
        return tuple(
            Client(f"owner {i}", own, spread(power * share), horizon, growth=growth)
            for i, (own, share) in enumerate(zip(holds, proxies.shares, strict=True))
        )

    def _answering_population(self, coordinates: Coordinates) -> GradientOracle:
        """Population within the bounds of a start, its clipping bias set; small ones are kept."""
        made_of = coordinates, self.x, self.y, self.cost, self.bias
        key = (self.algorithm, self.fine, *map(id, made_of))
        if key in self.kept:
            held: GradientOracle = self.kept[key][0]
            return held
        held = self._hold_population(coordinates)
        if self.bias is not None:
            held = shift_gradient(held, self.bias - self.clipping_bias(coordinates))
        elif self.fine or (self.loss.quadratic and coordinates.scores is not None):
            held = self._remove_chance(coordinates, held)
        if self.x.size <= KEPT:
            self.kept[key] = held, made_of  # whose names stay theirs as long as they are kept
        return held

    def _hold_population(self, coordinates: Coordinates) -> GradientOracle:
        return coordinates.oracle(self.x, self.y, one_by_one=self.trains_by.one_by_one)

    def _optimum_from(self, coordinates: Coordinates) -> Array:
        """Optimum of the population in phi of a start, (p,)."""
        away = self.cost.minimiser - coordinates.centre
        return np.asarray(np.linalg.solve(coordinates.transform, away).astype(float))

    def clipping_bias(self, coordinates: Coordinates) -> Array:
        """Mean gradient of the clipped population at its optimum, in phi, (p,); 0 if none is."""
        optimum = self._optimum_from(coordinates)
        penalty, pull = coordinates.penalty(self.cost.regularisation)
        clipped = self._hold_population(coordinates).gradient(optimum[None])[0]
        return np.asarray(clipped + penalty @ optimum - pull)

    def expected_bias(self, coordinates: Coordinates) -> Array:
        """Clipping bias of scores of labels that the best model expects, in phi, (p,); else 0.

        At its score s a label is +1 with the probability l'(-s)/(l'(s) + l'(-s)), at which s costs
        least: expit(s) under logistic loss. Expected gradients are then 0 where the step is exact.
        What is left is no chance: a score of the less likely label is longer, and clipped more
        often, and a Newton step from some distance misses the optimum.
        """
        bias = np.zeros(len(coordinates.centre))
        if coordinates.scores is None or not self.loss.labels:
            return bias
        optimum = self._optimum_from(coordinates)
        said = self.loss.predicted(self.x, self.cost.minimiser)
        slopes = self.loss.derivative(np.stack([-said, said]))
        for label, chance in zip((1.0, -1.0), slopes / slopes.sum(axis=0), strict=True):
            short, target = coordinates.records(self.x, np.full(len(said), label))
            bias += 2 * (chance * (short @ optimum - target)) @ short / len(said)
        return bias

    def _remove_chance(self, coordinates: Coordinates, held: GradientOracle) -> GradientOracle:
        """Shrink the clipping bias at the optimum, of gradients or scores, by its chance.

        Training moves by the bias over the curvature that clipped records have.
        """
        optimum = self._optimum_from(coordinates)
        moved = self.x @ coordinates.transform
        residuals = moved @ optimum - (self.y - self.x @ coordinates.centre)
        whole = self.loss.derivative(residuals)[:, None] * moved
        if coordinates.scores is None:
            held_to = whole
            if coordinates.moments is not None:
                weights = coordinates.moments.weights(coordinates.lengths(moved))
                held_to = whole * weights[:, None]
            kept = coordinates.within(held_to, coordinates.radius)
            free = float(np.mean((held_to == kept).all(axis=1)))
            moves = kept / max(free, 1 / len(whole))
        else:
            short, target = coordinates.records(self.x, self.y)
            kept = self.loss.derivative(short @ optimum - target)[:, None] * short
            moves = kept @ np.linalg.pinv(short.T @ short, hermitian=True) @ (moved.T @ moved)
        shrunk = expected_size(moves, moves - whole)
        return shift_gradient(held, (shrunk - 1) * kept.mean(axis=0))

    def _spread_owners(
        self, coordinates: Coordinates, held: GradientOracle, number: int
    ) -> list[GradientOracle]:
        """Shift the population to each owner's draw of records; the shifts have a mean of 0."""
        start = np.zeros((1, held.n_parameters))
        streams = Streams(self.seed, "stand-ins")
        shifts = []
        for owner, size in enumerate(self.sizes.astype(int).tolist()):
            rows = streams.rng(owner, number).integers(len(self.y), size=size)
            shifts.append(coordinates.oracle(self.x[rows], self.y[rows]).gradient(start)[0])
        middle = self.sizes @ np.array(shifts) / self.sizes.sum()
        return [Changed(held, shift=shift - middle) for shift in shifts]

    def trainings(
        self,
        horizon: int,
        constants: Array,
        levels: Array,
        repeats: int,
        growth: float = 1.0,
    ) -> Iterator[tuple[Coordinates, Trajectory]]:
        """Train from each start in turn: runs are steps, levels and repeats, the last fastest."""
        for number, coordinates in enumerate(self.starts):
            task = self.training_from(number, horizon, constants, levels, repeats, growth)
            with np.errstate(over="ignore", invalid="ignore"):  # training may diverge
                done = self.trains_by.run(task)
            self.did(task.runs * horizon)
            yield coordinates, done

    def training_from(
        self,
        number: int,
        horizon: int,
        constants: Array,
        levels: Array,
        repeats: int,
        growth: float = 1.0,
    ) -> Task:
        """Training from the start of a number; other parameters as those of `rehearse`."""
        plan = self.make_plan("last", horizon, 1.0, growth)
        runs = len(levels) * repeats
        steps = np.repeat(constants, runs)
        noise = np.tile(np.repeat(levels, repeats), len(constants))
        owners = self.proxy_owners(self.starts[number], plan.priced, noise, number, growth)
        return Task(
            owners,
            self.starts[number],
            plan,
            self.mechanism,
            len(steps),
            Streams(self.seed, f"rehearsal {number}"),
            self.cost.regularisation,
            np.ones(1) if len(owners) == 1 else self.proxies.weights,
            runs,
            steps[:, None],
            self.aggregation,
        )

    def rehearse(
        self,
        horizon: int,
        constants: Array,
        levels: Array,
        *,
        repeats: int,
        returned: Sequence[Returned] = RETURNED,
        growth: float = 1.0,
    ) -> Array:
        """Measure relative fitness, (returned, steps, levels, starts, repeats).

        After a single query its expectation is known, and is given for every repeat
        (`expected_step_fitness`). Every step size meets the same draws, so that differences between
        plans are not due to chance. Every level of noise has draws of its own, so that a curve
        through the levels evens chance out. Trainings that diverge have inf.

        Parameters
        ----------
        horizon : T.
        constants : array (m,), step sizes.
        levels : array (k,), aggregated noise.
        repeats : draws per start.
        returned : points that are measured.
        growth : each answer's share of a budget over that of the one before.
        """
        shape = (len(returned), len(constants), len(levels), repeats, len(self.starts))
        found = np.empty(shape)
        asks_once = self.asks_once(horizon)
        trainings = self.trainings(horizon, constants, levels, repeats, growth)
        for number, (coordinates, done) in enumerate(trainings):
            for i, point in enumerate(returned):
                with np.errstate(over="ignore", invalid="ignore"):
                    fitness = self.cost.relative(coordinates.model(done.point(point)))
                    fitness = fitness.reshape(shape[1:4])
                    if point == "last" and asks_once:
                        plan = self.make_plan("last", horizon, 1.0, growth)
                        known, free = self._expect_one_step(coordinates, plan, constants, levels)
                        fitness = np.where(free[..., None], known[..., None], fitness)
                found[i, ..., number] = fitness
        return np.where(np.isfinite(found), found, np.inf).swapaxes(3, 4)

    @property
    def untrained(self) -> Array:
        """Relative fitness at each start, (starts,)."""
        return np.asarray(self.cost.relative(np.array([start.centre for start in self.starts])))

    def average(self, found: Array) -> Array:
        """Mean of relative fitness (..., starts, repeats) over both.

        Over starts that are in doubt it is geometric, and a training counts as no worse than its
        start: kinds under which all fails, the learner's own model too, do not decide.
        """
        each = found.mean(axis=-1)
        if not self.in_doubt:
            return np.asarray(each.mean(axis=-1))
        return geometric_mean(np.minimum(each, self.untrained), axis=-1)

    def rehearse_plan(self, plan: Plan, levels: Array, repeats: int) -> Array:
        """Measure relative fitness under one plan, (levels, starts, repeats)."""
        step = np.array([plan.step_size])
        points = (plan.returned,)
        growth = plan.growth
        found = self.rehearse(
            plan.horizon, step, levels, repeats=repeats, returned=points, growth=growth
        )
        return found[0, 0]

    def _expect_one_step(
        self, coordinates: Coordinates, plan: Plan, constants: Array, levels: Array
    ) -> tuple[Array, Array]:
        """Expected relative fitness of one step, (steps, levels), and where the ball is idle."""
        steps = np.repeat(constants * plan.steps[0], len(levels))
        noise = np.tile(levels, len(constants))
        (owner,) = self.proxy_owners(coordinates, plan.priced, noise, growth=plan.growth)
        _, pull = coordinates.penalty(self.cost.regularisation)
        gradient = owner.records.gradient(np.zeros((1, len(pull))))[0] - pull
        scale = np.asarray(owner.scale) * plan.relative_scales(self.mechanism)[0]
        variance = self.mechanism.unit_variance * scale**2
        fitness, free = expected_step_fitness(self.cost, coordinates, gradient, steps, variance)
        shape = len(constants), len(levels)
        return fitness.reshape(shape), free.reshape(shape)


def shift_gradient(held: GradientOracle, shift: Array) -> GradientOracle:
    """Shift the mean gradient of some records by a vector (p,); sums remain sums."""
    if isinstance(held, SquaredStatistics):
        return replace(held, xy=held.xy - held.n_records * shift / 2)
    return Changed(held, shift=shift)


def expected_step_fitness(
    cost: TrainingCost, coordinates: Coordinates, gradient: Array, steps: Array, variance: Array
) -> tuple[Array, Array]:
    """Expected relative fitness of phi = -step (gradient + noise), and where the ball is idle.

    The cost is quadratic and the gradient that of one point, so the expectation is that of the mean
    step plus step^2 variance tr(W'HW)/2 over f*, H the Hessian of the cost, under any noise.

    Parameters
    ----------
    cost : quadratic.
    coordinates : the public start, the scale W and the ball.
    gradient : array (p,), of the whole cost at the start, without noise.
    steps : array (runs,), the length of the step.
    variance : array (runs,), of each number of the noise.

    >>> from learning.losses.losses import as_loss
    >>> x = np.array([[1.0], [1.0]])
    >>> cost = as_loss("squared").fitness([(x, np.array([0.0, 2.0]))], 0.0)
    >>> start = Coordinates(np.zeros(1), np.eye(1), radius=2.0, clipping="record")
    >>> steps, variance = np.array([0.5, 0.25]), np.array([0.4, 0.0])
    >>> expected_step_fitness(cost, start, np.array([-2.0]), steps, variance)
    (array([0.1 , 0.25]), array([ True,  True]))
    """
    phi = -steps[:, None] * gradient
    root = np.eye(len(gradient))
    middle = cost.relative(coordinates.model(np.zeros((1, len(gradient)))))
    either = cost.relative(coordinates.model(root)) + cost.relative(coordinates.model(-root))
    gain = float(np.sum(either / 2 - middle))
    power = steps**2 * variance
    reach = np.linalg.norm(phi, axis=1) + CLEAR * np.sqrt(len(gradient) * power)
    fitness = cost.relative(coordinates.model(phi)) + power * gain
    return fitness, reach <= coordinates.theta_max

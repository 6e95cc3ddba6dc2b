"""Inputs of a forecast: settings, public facts about the owners, and public rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.owner_data import Holding
from learning.errors import InputError
from learning.forecast.kept import source_identity
from learning.forecast.loss_reports import LossReports
from learning.forecast.pooled import Pooled, PooledRecords
from learning.forecast.public_sample import PublicSample
from learning.forecast.shared_noise import MOST_OWNERS, SharedWeighting
from learning.forecast.weighting import (
    Answers,
    GossipWeighting,
    RecordWeighting,
    SizeWeighting,
    Weighting,
)
from learning.losses.clipping import PARTS, RECORD, ClippedBy
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss
from learning.losses.records import GradientOracle
from learning.losses.squared import Squared
from learning.privacy.mechanism import Mechanism
from learning.privacy.wrapped import LOCAL, Trust
from learning.progress import Progress, ignore_progress
from learning.randomness import Streams
from learning.training.aggregation import MEAN, Aggregation
from learning.training.algorithms import ALGORITHMS, DEFAULT, Algorithm
from learning.training.clocks import Clocks
from learning.training.conduct import Conduct
from learning.training.law import Returned

REFERENCE_EPSILON = 1.0  # customary budget, at which clipping bounds are designed
UNSEEN = ("loss", "with_kinks")  # fields of a public sample that the settings tell
SMALLEST = 1e-3  # budget that takes the place of 0 where an owner is to share


@dataclass(frozen=True)
class Settings:
    """Settings of the training; None leaves a choice to the planner.

    Parameters
    ----------
    algorithm : name of the training algorithm.
    start : "public" (the learner's own model) or "zero".
    precondition : True if features are whitened with the public second moments.
    clipping : "parts" clips a record's features and its target, once; "record" its gradient, at
        every query.
    clip : norm (1 or 2, as the mechanism needs) that records, or their gradients, are clipped to;
        inf keeps every record whole, since the public ranges bound it.
    theta_max : radius of the ball that training is kept in; inf for none.
    gradient_bound : Xi or G of a record that noise is scaled to, whatever is proved; None for the
        proved bound.
    horizon : number of rounds.
    step_size : constant of the step sizes.
    printed_step : True if steps are to be those that the algorithm's paper states.
    step_decline : power of the round that steps fall with; the algorithm's own if None.
    returned : points that training may return.
    regularisation : r >= 0.
    loss : the loss that is trained.
    weights : weights of the answers: "size", "equal" or "precision".
    mechanism : name of the noise, or "best".
    accounting : accountant of its cost.
    delta : failure probability that is allowed.
    overlap : owners that may hold the same record.
    aggregation : aggregate of the answers of a round.
    growth : each answer's share of a budget over that of the answer before.
    exact : True if only noise is compared that an exchange draws exactly.
    """

    algorithm: str = DEFAULT
    start: str = "public"
    precondition: bool = True
    clipping: ClippedBy = PARTS
    clip: float | None = None
    theta_max: float | None = None
    gradient_bound: float | None = None
    horizon: int | None = None
    step_size: float | None = None
    printed_step: bool = False
    step_decline: float | None = None
    returned: tuple[Returned, ...] = ("last", "averaged")
    regularisation: float = 0.0
    loss: Loss = Squared()
    weights: str = "size"
    mechanism: str = "laplace"
    accounting: str | None = "basic"
    delta: float | None = None
    overlap: int = 1
    aggregation: Aggregation = MEAN
    growth: float | None = 1.0
    exact: bool = False

    @property
    def is_exchanged(self) -> bool:
        """True if an exchange carries such answers: mean gradients, or sums of squared loss."""
        trains = self.trains_by
        if trains.scores:
            return self.loss.quadratic
        return trains.aggregates and (self.loss.quadratic or self.clips_gradients)

    @property
    def fixes_plan(self) -> bool:
        """True if nothing of the plan is left open, not even to do nothing."""
        stated = None not in (self.horizon, self.step_size, self.growth)
        return stated and len(self.returned) == 1

    @property
    def clips_gradients(self) -> bool:
        """True if gradients are clipped, and not records."""
        return self.clipping == RECORD or self.loss.clips_gradients

    @property
    def keeps_sums(self) -> bool:
        """True if sums over an owner's records suffice for its answers."""
        return self.loss.quadratic and self.clipping == PARTS and not self.trains_by.one_by_one

    @property
    def trains_by(self) -> Algorithm:
        """Training algorithm."""
        return ALGORITHMS[self.algorithm]

    @property
    def step_power(self) -> float:
        """Power of the round that steps fall with."""
        return self.trains_by.decline if self.step_decline is None else self.step_decline


@dataclass(frozen=True)
class PublicOwners:
    """Public facts about the owners, before anything is asked.

    Parameters
    ----------
    names : names of the owners, (n_owners,).
    sizes : array (n_owners,), records of each.
    epsilon_min, epsilon_max : arrays (n_owners,), the interval that each chooses its budget from.
    clocks : rates of answers in asynchronous training.
    groups : numbers of the owners in each group that answers as one; every owner is in one group.
    rows_per_person : k, the most records of one person at an owner, which noise hides together.
    reach : how much of each answer gossip brings to the learner; None where it hears all directly.
    """

    names: tuple[str, ...]
    sizes: Array
    epsilon_min: Array
    epsilon_max: Array
    clocks: Clocks = Clocks()
    groups: tuple[tuple[int, ...], ...] = ()
    rows_per_person: int = 1
    reach: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def reference(self) -> Array:
        """Customary budget, inside each owner's interval, (n_owners,)."""
        return np.clip(REFERENCE_EPSILON, self.epsilon_min, self.epsilon_max)

    def noise_at(self, epsilon: Array, mechanism: Mechanism, weighting: Weighting) -> float:
        """Aggregated noise where all that may share do, at budgets (n_owners,) or `SMALLEST`."""
        budgets = np.where(epsilon > 0, epsilon, SMALLEST)
        sizes = self.sizes.astype(float)
        term = mechanism.noise_term(budgets) * (sizes / mechanism.noise_denominator(sizes)) ** 2
        able = (self.epsilon_max > 0) | (self.epsilon_max.max() == 0)
        terms = weighting.sum_terms(Answers(term, sizes, budgets > 0))
        return float(weighting.aggregated_noise(terms[able].sum(axis=0)))

    def groups_among(self, sharing: Sequence[bool] | NDArray[np.bool_]) -> list[list[int]]:
        """Groups among those who share (n_owners,), with members numbered among them."""
        place = np.cumsum(sharing) - 1
        groups = [[int(place[i]) for i in group if sharing[i]] for group in self.groups]
        return [group for group in groups if group]

    def clocks_among(self, sharing: Sequence[bool] | NDArray[np.bool_]) -> Clocks:
        """Clocks of those who share.

        A group ticks at the mean rate of its members, and answers when all of them do, after the
        longest of their delays.
        """
        groups = self.groups_among(sharing)
        rates = self.clocks.rates
        dropout = self.clocks.dropout
        if np.ndim(rates):
            kept = np.array(rates)[sharing]
            rates = tuple(float(kept[group].mean()) for group in groups)
        answer = 1 - np.broadcast_to(np.asarray(dropout, dtype=float), np.shape(sharing))[sharing]
        if np.any(answer < 1):
            dropout = tuple(float(1 - np.prod(answer[group])) for group in groups)
        delay = self.clocks.delay
        if np.ndim(delay):
            waits = np.array(delay)[sharing]
            delay = tuple(float(waits[group].max()) for group in groups)
        return replace(self.clocks, rates=rates, dropout=dropout, delay=delay)


@dataclass(frozen=True)
class PlanningInputs:
    """Inputs of a forecast.

    Parameters
    ----------
    settings : what the learner has fixed of the training, and what it leaves open.
    owners : public facts about the owners.
    sample : the learner's own rows, or None where it has none.
    feature_bound : array (p,), public bound on the size of each feature.
    target_bound : public bound on the size of the target.
    pooled : all records, for the oracle and for training; a forecast uses them only where there is
        no public row.
    seed : of all random draws.
    reports : the owners' loss reports; None where none were asked for.
    progress : called with the progress of the work.
    among : several settings to choose from, of which ``settings`` are the first; empty where there
        is no choice.
    trust : LOCAL if the learner sees every answer; else it sees sums under joint noise.
    spread : what the best common model is thought to cost an owner on records of its own kind, in
        relative fitness; None where nothing is thought.
    round_cost : what asking all owners once costs them, over the worth of a unit of relative
        fitness; where above 0, the number of rounds is agreed on before any budget.
    """

    settings: Settings
    owners: PublicOwners
    sample: PublicSample | None
    feature_bound: Array
    target_bound: float
    pooled: Pooled
    seed: int
    reports: LossReports | None = None
    progress: Progress = field(default=ignore_progress, repr=False, compare=False)
    among: tuple[Settings, ...] = ()
    trust: Trust = LOCAL
    spread: float | None = None
    round_cost: float = 0.0

    @property
    def base_weighting(self) -> Weighting:
        """Weighting by records, before other weights are chosen.

        Raises
        ------
        InputError
            If owners are too many for the weights that are to be chosen.
        """
        if self.owners.reach is not None:
            return GossipWeighting(reach=self.owners.reach)
        if not self.trust.secure:
            return RecordWeighting() if self.settings.trains_by.one_by_one else SizeWeighting()
        kind = self.settings.weights
        count = len(self.owners)
        if kind != "precision" and count > MOST_OWNERS:
            rule = (
                f'must be "precision" under secure aggregation with more than {MOST_OWNERS} owners'
            )
            raise InputError("learning.weights", rule, f"{kind} with {count} owners")
        sizes = tuple(self.owners.sizes.tolist())
        return SharedWeighting(owners=sizes, colluders=self.trust.colluders)

    @property
    def design_weighting(self) -> Weighting:
        """Weighting of the noise that bounds are chosen for."""
        given = self.trust.secure or self.owners.reach is not None
        return self.base_weighting if given else SizeWeighting()

    @property
    def public(self) -> PublicSample:
        """The learner's own rows, where it has some, whitened as the algorithm needs it."""
        assert self.sample is not None
        algorithm = self.settings.trains_by
        return self.sample.solved if algorithm.scores or algorithm.moments else self.sample

    @property
    def n_parameters(self) -> int:
        """Number p of parameters trained."""
        return len(self.feature_bound if self.sample is None else self.sample.model)

    @property
    def basis(self) -> str:
        """Records that forecasts are made from, "oracle" or "public"."""
        return "oracle" if self.sample is None else "public"

    @property
    def known_records(self) -> PooledRecords:
        """All records, held in memory, in the place of a public sample."""
        assert isinstance(self.pooled, PooledRecords)
        return self.pooled

    def key_of(self, ways: Sequence[tuple[Settings, Mechanism]]) -> tuple[Any, ...]:
        """Everything that forecasts of ways to train depend on, as the key of a kept result."""
        plug_ins = [
            source_identity(one)
            for settings, mechanism in ways
            for one in (mechanism, settings.trains_by, settings.loss)
        ]
        sample = self.public
        facts = [getattr(sample, one.name) for one in fields(sample) if one.name not in UNSEEN]
        settings = [repr(one) for one, _ in ways]
        bounds = self.feature_bound, self.target_bound, self.seed, repr(self.trust)
        doubts = self.reports, self.spread, self.round_cost
        return plug_ins, facts, settings, bounds, doubts, self.owners

    def owner_oracles(
        self, coordinates: Coordinates, conducts: Sequence[Conduct] = ()
    ) -> list[GradientOracle]:
        """Gradient oracle of each owner, with made-up records where its conduct says so."""
        singly = self.settings.trains_by.one_by_one
        oracles = self.pooled.oracles(coordinates, one_by_one=singly)
        owners: Sequence[Holding] = self.pooled.owners
        for i, (owner, conduct) in enumerate(zip(owners, conducts, strict=False)):
            if conduct.records != "own":
                rng = Streams(self.seed, "conduct").rng(owner.name)
                x, y = conduct.made_up(owner, self.target_bound, self.settings.loss.labels, rng=rng)
                oracles[i] = coordinates.oracle(x, y, one_by_one=singly)
        return oracles

    def permute_records(self, rng: Generator) -> PlanningInputs:
        """Inputs with the pooled records permuted among the owners, who hold as many as before."""
        return replace(self, pooled=self.known_records.permute_owners(rng))

    def public_coordinates(self, mechanism: Mechanism) -> Coordinates:
        """Coordinates from the learner's own rows, without bounds yet."""
        settings = self.settings
        made = self.public.coordinates(settings.start, settings.precondition, mechanism.norm)
        return replace(
            made,
            rows_per_person=self.owners.rows_per_person,
            given_bound=settings.gradient_bound,
            clipping=settings.clipping,
        )

    def stated_coordinates(self, mechanism: Mechanism) -> Coordinates:
        """Coordinates without public rows: start 0, no scaling, bounds as the scenario states them.

        Raises
        ------
        InputError
            If the ball or the clipping radius is left open, or zero is no start for the loss.
        """
        settings = self.settings
        if settings.trains_by.scores or settings.trains_by.moments:
            where = f"with algorithm {settings.algorithm!r}, whose bounds are chosen on them"
            raise public_rows_error(where, "algorithm")
        if not settings.loss.linear:
            where = f"with loss {settings.loss.name!r}: zero is no start for it"
            raise public_rows_error(where, "loss")
        width = len(self.feature_bound)
        coordinates = Coordinates(
            np.zeros(width),
            np.eye(width),
            norm=mechanism.norm,
            loss=settings.loss,
            rows_per_person=self.owners.rows_per_person,
            given_bound=settings.gradient_bound,
        )
        ball = settings.theta_max
        if settings.clips_gradients:
            if settings.clip is None:
                where = "where gradients are clipped and there are no public rows to choose it from"
                raise open_bound_error("clip", where)
            coordinates = replace(coordinates, clipping=settings.clipping)
            return coordinates.bounded(settings.clip, np.inf, np.inf if ball is None else ball)
        if ball is None:
            raise open_bound_error("theta_max", "where there are no public rows to choose it from")
        radius, target = coordinates.largest(self.feature_bound, self.target_bound)
        return coordinates.bounded(min(radius, settings.clip or np.inf), target, ball)


def public_rows_error(where: str, other: str) -> InputError:
    """Error to raise where a choice needs public rows."""
    advice = f"Set data.public_rows, or another {other}."
    return InputError("data.public_rows", f"must be above 0 {where}", 0, advice)


def unbounded_error(where: str) -> InputError:
    """Error to raise where gradients must be clipped and are to be left whole."""
    rule = f"must bound a record's gradient{where}"
    return InputError("learning.clip", rule, "none", 'Leave it at "optimal".')


def open_bound_error(name: str, where: str) -> InputError:
    """Error to raise where a bound is left open without public rows."""
    advice = f"Set learning.{name}, or data.public_rows."
    return InputError(f"learning.{name}", f"must be a number {where}", "optimal", advice)

"""What every planner offers: the protocol, the forecast the market is played on, and how far it may be off."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.forecast.between_owners import BetweenOwners, between_owners
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.choice import Choice
from learning.forecast.doubt import SPREADS, draw_distances
from learning.forecast.fitness import FitnessForecast
from learning.forecast.homogeneity import record_gradients
from learning.forecast.inputs import PlanningInputs
from learning.forecast.interval import Prediction, chance_of_parts, predict_outside
from learning.forecast.loss_reports import LossReports
from learning.forecast.measures import Decisions, Measure, RootMeanSquare
from learning.forecast.wide import affordable
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, make_clients
from learning.training.conduct import Conduct
from learning.training.grouping import grouped
from learning.training.plan import Plan

WITHIN = 4  # resamples of each resample
NEGLIGIBLE = 1e-3  # share of the coordinates that a projection may move without a trace in what is forecast
SMALLEST = 1e-3  # budget that stands for one of 0 in telling how much noise there may be


@dataclass(frozen=True)
class Decomposition:
    """Relative fitness in its parts, all in units of f*.

    Parameters
    ----------
    bias : what is left to optimise.
    noise : what survives of the owners' noise.
    optimum : f*, the smallest training cost.
    std_error : standard error of the sum where it is itself measured; 0 under the exact law.
    """

    bias: float
    noise: float
    optimum: float
    std_error: float = 0.0

    @property
    def relative_fitness(self) -> float:
        """The sum of both parts."""
        return self.bias + self.noise


@dataclass(frozen=True)
class Planner(ABC):
    """The protocol in public coordinates, the forecast the market is played on, and how far it may be off.

    Parameters
    ----------
    inputs : what it was made from.
    coordinates : start, scale, clipping bounds and ball that are announced.
    mechanism : how answers are made noisy.
    forecast : relative fitness as a function of everyone's budget.
    own_model : array (p,), what the learner has without buying: its public model, or the start where it has no rows.
    bootstrap : resamples of the public rows; None on the oracle basis.
    between : how far owners lie apart by the public rows; None where these do not carry the owners' names.
    choices : the ways to train that were compared; none where the scenario names one.
    """

    inputs: PlanningInputs = field(repr=False)
    coordinates: Coordinates
    mechanism: Mechanism
    forecast: FitnessForecast
    own_model: Array = field(repr=False)
    bootstrap: BootstrapSamples | None = field(repr=False)
    between: BetweenOwners | None = field(default=None, kw_only=True)
    choices: tuple[Choice, ...] = field(default=(), kw_only=True, repr=False)

    @property
    @abstractmethod
    def optimum(self) -> float:
        """f* as the forecast has it."""

    @property
    @abstractmethod
    def curvatures(self) -> tuple[float, float]:
        """Smallest and largest curvature of the training cost, L and lambda, in the coordinates that are trained."""

    @property
    @abstractmethod
    def start_excess(self) -> float:
        """What the start costs above the optimum, as the forecast has it."""

    def noise_power(self, epsilon: Array, plan: Plan) -> float:
        """S, variance per coordinate of one round's aggregated noise."""
        noise = self.forecast.noise_at(epsilon)
        return noise * self.coordinates.noise_bound**2 * float(self.mechanism.horizon_factor(plan.priced))

    def predict(self, epsilon: Array) -> Prediction:
        """What may come of given budgets (n_owners,): both models in every possible world.

        On the oracle basis the records are known, but not who holds which: one world where that does not matter.
        """
        point, bootstrap = self.at(epsilon), self.bootstrap
        outside = np.array([self.forecast.outside]) if bootstrap is None else predict_outside(bootstrap)
        doubts = self.doubts(len(outside))
        points = point, self.forecast.outside
        if not self.asks(epsilon):
            outside = outside + sum(kinds[1] for kinds in doubts)
            return Prediction(outside, outside, points)
        if bootstrap is None:
            trained = self.predict_known(epsilon, point)
            return Prediction(trained, np.full(len(trained), self.forecast.outside))
        (added, may_add), apart = self.unlike(epsilon, len(outside)), self.forecast.apart_at(epsilon)
        point -= added + apart + self.forecast.unlike
        trained = self.predict_trained(epsilon, point) + apart * chance_of_parts(bootstrap)
        prediction = Prediction(trained, outside, points)
        for kinds in ([may_add, np.zeros_like(may_add)], *doubts):
            prediction = prediction.in_doubt(np.asarray(kinds))
        return prediction

    def at(self, epsilon: Array) -> float:
        """Relative fitness forecast at given budgets (n_owners,): that of the market, or where more is known there, that."""
        return self.forecast.at(epsilon)

    def noise_part(self, epsilon: Array) -> float:
        """Of that, what the noise adds."""
        return self.forecast.noise_part(epsilon)

    def asks(self, epsilon: Array) -> bool:
        """Whether anything is asked of anybody at given budgets (n_owners,)."""
        return self.forecast.plan(epsilon).asks and bool(np.any(np.asarray(epsilon) > 0))

    @abstractmethod
    def predict_known(self, epsilon: Array, point: float) -> Array:
        """Relative fitness of the trained model where the records are known, but not who holds which, (m,)."""

    @abstractmethod
    def projected(self, epsilon: Array) -> float:
        """Share of the coordinates that the projection is expected to move at given budgets (n_owners,)."""

    def unlike(self, epsilon: Array, worlds: int) -> tuple[float, Array]:
        """What owners of several kinds add to relative fitness at given budgets: as forecast, and in some possible worlds."""
        if self.between is None or not self.forecast.plan(epsilon).asks:
            return 0.0, np.zeros(worlds)
        away = self.forecast.weights(epsilon) - self.inputs.owners.sizes / self.inputs.owners.sizes.sum()
        drawn = self.between.shifts(away, worlds, rng=Streams(self.inputs.seed, "data").rng("unlike"))
        return self.forecast.dispersion * self.between.ratio * float(away @ away), self.forecast.dispersion * drawn

    def doubts(self, worlds: int) -> list[Array]:
        """Draw what rows of another kind than the owners' add to a trained model and to the learner's own, (2, worlds) each.

        First what nothing excludes, whose draws are the same with reports that differ as without any; then what those show.
        """
        sample, reports, streams = self.inputs.sample, self.inputs.reports, Streams(self.inputs.seed, "data")
        found = reports is not None and reports.nameless and reports.differ
        drawn = []
        if sample is not None and not sample.drawn:
            drawn.append(self._unknown_kind(worlds, reports if not found else None, streams.rng("unknown kind")))
        if reports is not None and found:
            drawn.append(reports.draw_apart(len(self.own_model), worlds, rng=streams.rng("another kind")))
        return [self.forecast.dispersion * one for one in drawn]

    def _unknown_kind(self, worlds: int, reports: LossReports | None, rng: np.random.Generator) -> Array:
        """Draw the same, over C/f*, where rows were not drawn at random: by their names, or by what is likely beforehand."""
        sizes, between = self.inputs.owners.sizes, self.between
        if between is not None and between.by_names:
            away = between.rows / between.rows.sum() - sizes / sizes.sum()
            return np.stack([between.shifts(away, worlds, rng=rng) for _ in range(2)])
        odds = np.ones(len(SPREADS)) if reports is None else reports.odds
        return draw_distances(sizes, len(self.own_model), worlds, odds=odds, rng=rng)

    @cached_property
    def learners(self) -> list[BootstrapSamples]:
        """What a learner would plan with that had drawn each resample, and not the public rows."""
        assert self.bootstrap is not None
        count = affordable(WITHIN, 1, self.inputs.public.x.shape[1], power=2)
        return self.bootstrap.within(count, rng=Streams(self.inputs.seed, "data").rng("worlds of worlds"))

    @abstractmethod
    def predict_trained(self, epsilon: Array, point: float) -> Array:
        """Relative fitness of the model trained at given budgets in every possible world, (m,), around a forecast."""

    def reach(self, epsilon: Array) -> float | None:
        """How far from the start training may stray; beyond theta_max the exact law may not hold. None: no such law."""
        return None

    @abstractmethod
    def oracle(self, epsilon: Array) -> Decomposition:
        """The same forecast on the pooled records of those who share, under the plan in use: the simulator's privilege."""

    @cached_property
    def _measures(self) -> dict[Decisions | None, Measure]:
        return {}

    def measure(self, decisions: Decisions | None = None) -> Measure:
        """Relative fitness as what wrong decisions cost, or as root mean squared error where there are none."""
        if decisions not in self._measures:
            self._measures[decisions] = self.root_mean_square() if decisions is None else self.decision_cost(decisions)
        return self._measures[decisions]

    def root_mean_square(self) -> RootMeanSquare:
        """Root mean squared error by relative fitness; in possible worlds f* is as far off as resamples estimate it."""
        if self.bootstrap is None:
            return RootMeanSquare(self.optimum, np.array([self.optimum]))
        optima, _ = self.bootstrap.estimates
        return RootMeanSquare(self.optimum, self.optimum * (self.bootstrap.optimum / optima))

    def decision_cost(self, decisions: Decisions) -> Measure:
        """What wrong decisions cost by relative fitness; known where training is rehearsed."""
        raise TypeError(f"{type(self).__name__} rehearses nothing that decides")

    def unbought(self) -> Decomposition:
        """What the learner's own model is worth, where nothing is asked."""
        fitness = self.inputs.pooled.fitness
        return Decomposition(float(fitness.relative(self.own_model)), 0.0, fitness.optimum)

    def mechanism_at(self, epsilon: Array) -> Mechanism:
        """The mechanism as it is priced for the owners that share at given budgets (n_owners,)."""
        sharing = np.asarray(epsilon) > 0
        found = self.mechanism.among(self.inputs.owners.sizes[sharing]) if sharing.any() else self.mechanism
        return self.inputs.trust.among(found, int(sharing.sum()))

    def hidden(self, epsilon: Array) -> Array:
        """What budgets (n_owners,) the noise in use really gives: those sold, or less where others need more of one noise."""
        owners, epsilon = self.inputs.owners, np.asarray(epsilon, dtype=float)
        term, weights = self.mechanism.noise_term(epsilon), self.forecast.weights(epsilon)
        if not (self.inputs.trust.secure and term.any()):
            return epsilon
        with np.errstate(divide="ignore"):
            enough = self._whole(epsilon) * owners.sizes**2 / weights**2
        less = self.mechanism.budget(np.where(term > 0, enough, 1.0))
        return np.where(term > 0, np.minimum(epsilon, np.where(enough > term * (1 + 1e-9), less, epsilon)), epsilon)

    def _whole(self, epsilon: Array) -> float:
        """max q^2 t/n^2 of the noise that all owners make together, or more where it is announced so."""
        count = int((np.asarray(epsilon) > 0).sum())
        return self.forecast.noise_at(epsilon) * (count - self.inputs.trust.colluders) / count

    def clients(
        self, epsilon: Array, noise_scale: Array | None = None, conducts: Sequence[Conduct] = ()
    ) -> tuple[tuple[Client, ...], Array, Plan]:
        """Who answers at given budgets (n_owners,), with what weights, and the plan with the clocks of those who do.

        Parameters
        ----------
        epsilon : array (n_owners,), budgets.
        noise_scale : array (runs,), a factor on the noise of each run; none unless given.
        conducts : what each owner does when it answers (n_owners,); honest unless given, as every forecast takes it.
        """
        owners, plan, sharing = self.inputs.owners, self.forecast.plan(epsilon), np.asarray(epsilon) > 0
        oracles = self.inputs.oracles(self.coordinates, conducts)
        bound, mechanism = self.coordinates.noise_bound, self.mechanism_at(epsilon)
        left, law = mechanism.left(epsilon), mechanism.law
        made = make_clients(owners.names, oracles, left, law, bound, plan.priced, conducts, plan.growth)
        weights = self.forecast.weights(epsilon)[sharing]
        if self.inputs.trust.secure:  # each adds a part of the whole noise, over its weight
            power = self._whole(epsilon) * bound**2 * float(mechanism.horizon_factor(plan.priced))
            whole = max(
                float(self.mechanism.spread(power)), *(q * one.scale for q, one in zip(weights, made, strict=True))
            )
            made = tuple(replace(one, scale=whole / q) for q, one in zip(weights, made, strict=True))
        if noise_scale is not None:
            made = tuple(replace(client, scale=client.scale * noise_scale) for client in made)
        groups = owners.groups_among(sharing)
        together = np.array([weights[group].sum() for group in groups])
        return grouped(made, groups), together, replace(plan, clocks=owners.clocks_among(sharing))


def kinds_told(inputs: PlanningInputs, coordinates: Coordinates) -> BetweenOwners | None:
    """How far owners lie apart: by public rows with their names where these tell them apart, else by their loss reports.

    None where there are neither.
    """
    sample, reports, named = inputs.sample, inputs.reports, None
    if sample is not None and sample.owner is not None:
        gradients = record_gradients(coordinates, *sample.population())
        rng = Streams(inputs.seed, "data").rng("kinds")
        named = between_owners(gradients, sample.owner, inputs.owners.names, rng=rng)
    if reports is None or (named is not None and named.differ):
        return named
    return reports.between(len(coordinates.centre))


def among_kinds(forecast: FitnessForecast, inputs: PlanningInputs, between: BetweenOwners | None) -> FitnessForecast:
    """The forecast under the settings' weights, and with what public rows of another kind than the owners' likely cost."""
    plain = replace(forecast, weighting=inputs.weighting)
    made = plain.under(inputs.settings.weights, inputs.owners.reference, between.ratio if between else 0.0)
    apart = 0.0 if inputs.reports is None else inputs.reports.likely_apart
    return replace(made, outside=made.outside + made.dispersion * apart, unlike=made.dispersion * apart)

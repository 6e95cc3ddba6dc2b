"""Costs of decisions by a model's score: wrong labels, or money.

No law gives them, so they are estimated on the rows that the learner rehearses on. Models are
trained at many levels of noise, each by the plan that is best there, and a rising curve is fitted
to their mean relative fitness and their mean cost of wrong decisions. It includes the effect of
noise on decisions, which a straight line from the learner's own model to the best one would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.forecast.calibration import Curves
from learning.forecast.kept import load_or_compute
from learning.forecast.measures import Measure
from learning.forecast.public_sample import KERNEL_WIDTH, OtherKind, leave_out_shifts
from learning.forecast.rehearsal import Rehearsal
from learning.losses.loss import Loss, TrainingCost
from learning.losses.margin import LOGISTIC
from learning.losses.records import row_blocks
from learning.randomness import Streams
from learning.training.plan import Plan

BLOCK = 2**22  # scores held at once
SCALES = 8  # of a curve, over a range in units of the largest relative fitness rehearsed
REACH = (0.01, 3.0)
STEEP = 1e-4  # penalty on the square of a slope of labels by scores of unit variance
LEAST = 1e-12  # floor of relative fitness, of a cost, and of a kernel's width
REPEATS = 4  # draws per start and level of noise
REPEATS_FROM_ONE = 20  # the same where there is a single start
FURTHER = (4.0, 16.0, 64.0)  # times the most noise of plans: for models worse than any for sale


@dataclass(frozen=True)
class Decisions:
    """Costs of wrong decisions by a model's score.

    Parameters
    ----------
    false_alarm : cost of deciding +1 where the label is -1, above 0.
    miss : cost of deciding -1 where the label is +1, above 0. Wrong labels are counted where both
        costs are 1.
    moved : True if the threshold of +1 is moved to where the learner's rows cost least; else it is
        0.
    """

    false_alarm: float = 1.0
    miss: float = 1.0
    moved: bool = False

    def thresholds(self, scores: Array, y: Array) -> Array:
        """Threshold of +1 for each model (k,), by its scores (k, n) of rows with labels (n,).

        >>> costly = Decisions(false_alarm=1.0, miss=10.0, moved=True)
        >>> scores = np.array([[-2.0, -1.0, 1.0, 2.0]])
        >>> costly.thresholds(scores, np.array([-1.0, 1.0, -1.0, 1.0])).tolist()
        [-1.5]
        """
        if not self.moved:
            return np.zeros(len(scores))
        order = np.argsort(scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, axis=1)
        passed = np.where(y[order] > 0, self.miss, -self.false_alarm)  # cost of one alarm less
        total = np.concatenate([np.zeros((len(scores), 1)), np.cumsum(passed, axis=1)], axis=1)
        edges = np.full((len(scores), scores.shape[1] + 1), np.inf)
        edges[:, 0] = -np.inf
        edges[:, 1:-1] = (ranked[:, 1:] + ranked[:, :-1]) / 2
        total[:, 1:-1][ranked[:, 1:] == ranked[:, :-1]] = np.inf  # no edge between equal scores
        return np.take_along_axis(edges, np.argmin(total, axis=1)[:, None], axis=1)[:, 0]

    def costs(self, alarmed: ArrayLike, y: Array) -> Array:
        """Cost of each decision, (k, n), by the probability of +1 (k, n), at labels (n,) or means.

        >>> Decisions(1.0, 10.0).costs(np.ones(3), np.array([-1.0, 0.0, 1.0])).tolist()
        [1.0, 0.5, 0.0]
        """
        alarmed = np.asarray(alarmed, dtype=float)
        positive = (1 + y) / 2
        return self.false_alarm * alarmed * (1 - positive) + self.miss * (1 - alarmed) * positive


@dataclass(frozen=True)
class RisingCurve:
    """c + sum a psi/(psi + s) + sum b psi^2/(psi^2 + s^2) over several s, with coefficients >= 0.

    It is smooth, since a market is searched by its slopes: owners would settle at the steps and
    bends that chance leaves in measurements.

    Parameters
    ----------
    scales : array (m,), s.
    coefficients : array (1 + 2 m,), c, a and b.

    >>> costs = np.array([0.1, 0.2, 0.24, 0.31])
    >>> curve = RisingCurve.fit(np.array([0.0, 0.5, 1.0, 3.0]), costs)
    >>> curve(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [0.1, 0.2, 0.24]
    """

    scales: Array
    coefficients: Array

    @classmethod
    def fit(cls, fitness: Array, costs: Array) -> RisingCurve:
        """Fit points (k,) by least squares of the relative errors."""
        scales = max(float(fitness.max()), LEAST) * np.geomspace(*REACH, SCALES)
        weights = 1 / np.maximum(costs, 1e-3 * max(float(costs.max()), LEAST))
        columns = cls.basis_at(fitness, scales) * weights[:, None]
        return cls(scales, scipy.optimize.nnls(columns, costs * weights)[0])

    @staticmethod
    def basis_at(fitness: ArrayLike, scales: Array) -> Array:
        """Basis functions of a curve, (..., 1 + 2 m)."""
        at = np.maximum(fitness, 0.0)[..., None]
        parts = [np.ones_like(at), at / (at + scales), at**2 / (at**2 + scales**2)]
        return np.concatenate(parts, axis=-1)

    def __call__(self, fitness: ArrayLike) -> Array:
        return self.basis_at(fitness, self.scales) @ self.coefficients

    def slope_at(self, fitness: ArrayLike) -> Array:
        """Derivative of the curve, (...) -> (...)."""
        at = np.maximum(fitness, 0.0)[..., None]
        once, twice = np.split(self.coefficients[1:], 2)
        slope = self.scales / (at + self.scales) ** 2 @ once
        return slope + 2 * at * self.scales**2 / (at**2 + self.scales**2) ** 2 @ twice


@dataclass(frozen=True)
class OwnKind:
    """The learner's own model of another kind of features, over the public model.

    Parameters
    ----------
    lost : arrays () and (m,), loss over that of the public model: on average, and in each world.
    costs : the same of the cost of decisions.
    """

    lost: tuple[Array, Array]
    costs: tuple[Array, Array]


def compare_own_kinds(
    rows: OtherKind, y: Array, decisions: Decisions, chosen: Sequence[NDArray[np.intp]]
) -> OwnKind:
    """Compare two of the learner's models by rows that were left out, with labels y (n,).

    A possible world has the rows of its bootstrap sample, ``chosen``. Half a wrong decision is
    added to both models, since few rows show few.
    """
    alarmed = rows.scores >= decisions.thresholds(rows.scores, y)[:, None]
    wrong = decisions.costs(alarmed, y)
    half = (decisions.false_alarm + decisions.miss) / 4

    def average(each: Array) -> tuple[Array, Array]:
        return each.mean(axis=1), np.stack([each[:, some].mean(axis=1) for some in chosen], axis=1)

    def divide(pair: tuple[Array, Array], least: float) -> tuple[Array, Array]:
        known, there = (one + least for one in pair)
        return known[0] / known[1], there[0] / there[1]

    return OwnKind(divide(average(rows.lost), 0.0), divide(average(wrong), half / len(y)))


@dataclass(frozen=True)
class DecisionCost(Measure):
    """Mean cost of a case decided by the model: the share of wrong labels, or money.

    Parameters
    ----------
    decisions : costs of wrong ones.
    loss : the loss that is trained.
    rows : the rows (x, y) that the learner chooses a threshold by.
    curve : cost by relative fitness, from rehearsed models.
    worlds : the same in each possible world; one of them where the records are known.
    own_there : arrays (m,) and (m,), relative fitness of the learner's own model in each world, and
        the cost of a case with it.
    own_known : both on average. They need not lie on the curve: few records bias a model otherwise
        than noise does.
    own_kind : the learner's own model where it is of another kind of features; None where not.
    """

    decisions: Decisions
    loss: Loss = field(repr=False)
    rows: tuple[Array, Array] = field(repr=False)
    curve: RisingCurve = field(repr=False)
    worlds: tuple[RisingCurve, ...] = field(repr=False)
    own_there: tuple[Array, Array] = field(repr=False)
    own_known: tuple[float, float] = (0.0, 0.0)
    own_kind: OwnKind | None = field(default=None, repr=False)

    def __call__(self, fitness: ArrayLike) -> Array:
        return self.curve(fitness)

    def slope_at(self, fitness: ArrayLike) -> Array:
        return self.curve.slope_at(fitness)

    def in_worlds(self, fitness: Array) -> Array:
        curves = cycle(self.worlds)
        return np.array([float(curve(one)) for curve, one in zip(curves, fitness, strict=False)])

    def own(self, fitness: ArrayLike) -> Array:
        if self.own_kind is None:
            return self.isolated(fitness)
        lost, costs = self.own_kind.lost[0], self.own_kind.costs[0]
        return self.isolated((1 + np.asarray(fitness, dtype=float)) / lost - 1) * costs

    def isolated(self, fitness: ArrayLike) -> Array:
        """Curve plus the distance of the public model from it; less for a better model."""
        known, cost = self.own_known
        share = np.zeros(())
        if known > 0:
            share = np.clip(np.asarray(fitness, dtype=float) / known, 0.0, 1.0)
        return self(fitness) + (cost - self(known)) * share

    def own_in_worlds(self, fitness: Array) -> Array:
        """Curve of each world plus the distance of the public model there from it.

        A model of another kind costs so many times that of the public model in that world.
        """
        off = self.own_there[1] - self.in_worlds(self.own_there[0])
        costs = np.ones(1)
        if self.own_kind is not None:
            fitness = (1 + fitness) / np.resize(self.own_kind.lost[1], len(fitness)) - 1
            costs = self.own_kind.costs[1]
        public = self.in_worlds(fitness) + np.resize(off, len(fitness))
        return public * np.resize(costs, len(fitness))

    def counted(self, theta: Array, cost: TrainingCost, parts: Sequence[Any]) -> Array:
        x, y = self.rows
        total = np.zeros(len(theta))
        for some in np.array_split(np.arange(len(theta)), 1 + len(theta) * max(len(y), 1) // BLOCK):
            thresholds = self.decisions.thresholds(self.loss.predicted(x, theta[some]), y)
            for part in parts:
                for rows in row_blocks(len(part.y)):
                    alarmed = self.loss.predicted(part.x[rows], theta[some]) >= thresholds[:, None]
                    total[some] += self.decisions.costs(alarmed, part.y[rows]).sum(axis=1)
        return total / sum(len(part.y) for part in parts)


@dataclass(frozen=True)
class DecisionStudy:
    """Rehearsal of decisions at every level of noise, each by the plan that is best there.

    A model of one start has the threshold that is best on the rows of its bootstrap sample, as a
    learner with those rows would choose it, and is counted on all rows. A possible world has the
    models of one start, counted on other rows.

    Parameters
    ----------
    rehearsal : of the training, on the rows that count.
    plans : the plans that the learner may train by.
    own_models : array (m, p), the learner's own model of each bootstrap sample.
    chosen : rows of each bootstrap sample; all rows, once, where there is none.
    decisions : costs of wrong ones.
    """

    rehearsal: Rehearsal
    plans: Curves
    own_models: Array
    chosen: list[NDArray[np.intp]]
    decisions: Decisions

    def measure(self) -> DecisionCost:
        """Fit the measure of decisions to the rehearsed models; these are kept on disk."""
        levels = max((curve.levels for curve in self.plans.curves), key=len)
        levels = np.concatenate([levels, levels[-1] * np.array(FURTHER)])
        best = np.array([self.plans.best_plan(level) for level in levels])
        keys = [(one.returned, one.horizon, one.step_size, one.growth) for one in self.plans.plans]
        asked = (levels, best, keys, self.own_models, self.chosen, vars(self.decisions))
        key = self.rehearsal.cache_key
        found = load_or_compute(
            lambda: self._rehearse_decisions(levels, best), "decided", key, asked
        )
        there = zip(found["fitness_there"], found["costs_there"], strict=True)
        own_fitness, own_cost = found["own"].tolist()
        return DecisionCost(
            self.decisions,
            self.rehearsal.loss,
            (self.rehearsal.x, self.rehearsal.y),
            RisingCurve.fit(found["fitness"], found["costs"]),
            tuple(RisingCurve.fit(*pair) for pair in there),
            (found["own_fitness"], found["own_costs"]),
            (own_fitness, own_cost),
        )

    def _rehearse_decisions(self, levels: Array, best: NDArray[np.intp]) -> dict[str, Array]:
        """Measure relative fitness of models and the cost of a case with them.

        The models are those trained at each level of noise, and the best there is: means over all
        starts (k,), and by start (m, k), where costs are counted on the rows of another start. The
        same of the learner's own models, (m,), and their means.
        """
        cost = self.rehearsal.cost
        models: list[list[Array]] = [[] for _ in self.chosen]
        for number in np.unique(best):
            trained = self._train_models(self.plans.plans[number], levels[best == number])
            for held, by_level in zip(models, trained, strict=True):
                held += list(by_level)
        shifted = [*self.chosen[-1:], *self.chosen[:-1]]
        others = [
            np.bincount(some, minlength=len(self.rehearsal.y)) / len(some) for some in shifted
        ]
        costs = []
        there = []
        fitness = []
        own_rows = []
        for held, own, chosen, other in zip(
            models, self.own_models, self.chosen, others, strict=True
        ):
            held.append(cost.minimiser[None])
            *rows, alone = self.row_costs([*held, own[None]], chosen)
            costs.append([float(one.mean()) for one in rows])
            there.append([float(one @ other) for one in rows])
            with np.errstate(over="ignore", invalid="ignore"):
                fitness.append([np.mean(cost.relative(one)) for one in held])
            own_rows.append(alone)
        own_costs, own_there = self.judge_own(own_rows, others)
        scale = self.draw_unseen(own_costs)
        sound = np.isfinite(fitness).all(axis=0)
        found = np.array(fitness)[:, sound]
        own_fitness = cost.relative(self.own_models)
        return {
            "fitness": found.mean(axis=0),
            "costs": np.array(costs)[:, sound].mean(axis=0),
            "fitness_there": found,
            "costs_there": np.array(there)[:, sound] * scale[:, None],
            "own": np.array([own_fitness.mean(), own_costs.mean()]),
            "own_fitness": own_fitness,
            "own_costs": own_there * scale,
        }

    def judge_own(self, own: Sequence[Array], others: Sequence[Array]) -> tuple[Array, Array]:
        """Judge the learner's own model: its cost on each row, (n,), and in each world, (m,).

        The public model is judged on rows that are left out of its fit. Worlds lie about that, as
        costs of models of bootstrap samples, ``own``, (n,) each, do about their mean.

        Parameters
        ----------
        others : weights of the rows in each world, (n,) each.
        """
        known = np.mean(own, axis=0)
        there = np.array([one @ other for one, other in zip(own, others, strict=True)])
        if len(self.chosen) == 1 or not self.left_out.any():
            return known, there
        left = np.mean([self.best_costs(rows, unseen=1.0) for rows in self.chosen], axis=0)
        return left, there * left.mean() / max(known.mean(), LEAST)

    @cached_property
    def fresh(self) -> tuple[Array, Array]:
        """Part of each row's score that is chance, and the mean label of rows like it, (n,) each.

        Its own label, and no chance, where the rows are all records.
        """
        shown = self.rehearsal
        if len(self.chosen) == 1:
            return np.zeros(len(shown.y)), shown.y
        scores = shown.loss.predicted(shown.x, shown.cost.minimiser)
        return calibrate_scores(scores, shown.y, self.left_out)

    @cached_property
    def left_out(self) -> Array:
        """Amount by which y times each row's score falls if it is left out of the fit, (n,)."""
        shown = self.rehearsal
        cost = shown.cost
        return leave_out_shifts(shown.loss, shown.x, shown.y, cost.minimiser, cost.regularisation)

    def draw_unseen(self, costs: Array) -> Array:
        """Draw the true cost of decisions over their cost (n,) on the rows, in each world, (m,).

        Few rows show few wrong decisions; their rate is a gamma variable under Jeffreys' prior.
        """
        worlds = len(self.chosen)
        if worlds == 1 or not costs.any():
            return np.ones(worlds)
        prices = np.where(self.rehearsal.y < 0, self.decisions.false_alarm, self.decisions.miss)
        shown = float(costs.sum() ** 2 / (prices @ costs))  # wrong ones, if all cost the same
        rng = Streams(self.rehearsal.seed, "data").rng("decided")
        return rng.gamma(shown + 0.5, size=worlds) / shown

    def _train_models(self, plan: Plan, levels: Array) -> Iterator[Array]:
        """Yield the models rehearsed under a plan, (levels, repeats, p), start by start."""
        repeats = REPEATS if len(self.chosen) > 1 else REPEATS_FROM_ONE
        step = np.array([plan.step_size])
        runs = self.rehearsal.trainings(plan.horizon, step, levels, repeats, plan.growth)
        for coordinates, done in runs:
            with np.errstate(over="ignore", invalid="ignore"):  # training may diverge
                yield coordinates.model(done.point(plan.returned)).reshape(len(levels), repeats, -1)

    def row_costs(self, models: Sequence[Array], rows: NDArray[np.intp]) -> list[Array]:
        """Mean cost of decisions on each row, (n,), under sets of models (k, p).

        The set before the last is the best model alone. What its decisions cost, the rows show by
        their labels (`best_costs`). What those of others cost more is expected by the probability
        of each label: models were fitted to the labels that are there.
        """
        costs = [self.expected_costs(one, rows) for one in models]
        if len(self.chosen) == 1:
            return costs
        shown = self.best_costs(rows) - costs[-2]
        return [one + shown for one in costs]

    def expected_costs(self, models: Array, rows: NDArray[np.intp]) -> Array:
        """Expected cost of the decisions of models (k, p) on each row, (n,), their mean.

        Each model's threshold is chosen on ``rows``.
        """
        y = self.rehearsal.y
        chance, expected = self.fresh
        total = np.zeros(len(y))
        sound = models[np.isfinite(models).all(axis=1)]
        for some in np.array_split(sound, 1 + len(sound) * len(y) // BLOCK):
            scores = self.rehearsal.loss.predicted(self.rehearsal.x, some) - chance
            thresholds = self.decisions.thresholds(scores[:, rows], y[rows])[:, None]
            total += self.decisions.costs(scores >= thresholds, expected).sum(axis=0)
        return total / max(len(sound), 1)

    def best_costs(self, rows: NDArray[np.intp], unseen: float = 0.5) -> Array:
        """Cost of the best model's decisions on each row, (n,), its threshold chosen on ``rows``.

        Each row represents others like it (`alarm_chances`), which the model was not fitted to.

        Parameters
        ----------
        unseen : part of `left_out` that is taken off. All of it shows the public model as fresh
            rows do; at half of it, rows look, to first order, as well decided by the public model
            as fresh rows by the best, as of squared residuals inflation leaves half
            (`PublicSample`).
        """
        shown = self.rehearsal
        scores = shown.loss.predicted(shown.x, shown.cost.minimiser[None])
        threshold = self.decisions.thresholds(scores[:, rows], shown.y[rows])[:, None]
        beyond = scores - unseen * shown.y * self.left_out - threshold
        return self.decisions.costs(alarm_chances(beyond, shown.y), shown.y)[0]


def calibrate_scores(scores: Array, y: Array, left_out: Array) -> tuple[Array, Array]:
    """Part of a model's scores (n,) that is chance, and the mean label of rows like each, (n,).

    In a logistic regression on its scores s, labels rise by a slope a on the rows of its fit, and
    by b < a on rows left out. So s is the best model's score and an error, and b/a of its variance
    is that of the best model's: sqrt(b/a) s is spread as that is. A fresh label is +1 with the
    probability expit(b s), and so tanh(b s/2) on average.

    Parameters
    ----------
    left_out : array (n,), fall of y times the score of each row when it is left out.

    Source: Platt, Probabilistic Outputs for Support Vector Machines (the slope, here without an
        intercept, since a threshold is chosen).
    """
    unit = max(float(scores.std()), LEAST)

    def slope(shown: Array) -> float:
        found, _ = LOGISTIC.fit(shown[:, None] / unit, y, STEEP)
        return max(float(found[0]), 0.0) / unit

    within, fresh = slope(scores), slope(scores - y * left_out)
    kept = min(fresh / within, 1.0) if within > 0 else 1.0
    return (1 - np.sqrt(kept)) * scores, np.tanh(fresh * scores / 2)


def alarm_chances(beyond: Array, y: Array) -> Array:
    """Probability that a row like each is decided to be +1, (k, n).

    Scores of a label have a normal kernel density, so two models that decide all rows equally may
    differ on others. They are first drawn to their mean by as much as kernels spread them: else
    labels would be mixed up more often than they are.

    Parameters
    ----------
    beyond : array (k, n), score of each row less the threshold, by model.
    y : array (n,), labels, -1 or 1.

    Source: Silverman, Density Estimation, 3.28 (the width) and 6.4.1 (the kept variance).
    """
    chances = np.empty(beyond.shape)
    for label in (-1.0, 1.0):
        of_label = y == label
        shown = beyond[:, of_label]
        sound = np.where(np.isfinite(shown), shown, 0.0)
        width = KERNEL_WIDTH * max(shown.shape[1], 1) ** (-1 / 5)
        kept = shown + sound.mean(axis=1, keepdims=True) * (np.sqrt(1 + width**2) - 1)
        wide = width * sound.std(axis=1, keepdims=True)
        chances[:, of_label] = scipy.special.ndtr(kept / np.maximum(wide, LEAST))
    return chances

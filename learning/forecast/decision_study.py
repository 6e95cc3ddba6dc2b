"""Costs of decisions by a model's score, estimated by rehearsal.

No law gives them, so they are estimated on the rows that the learner rehearses on. Models are
trained at many levels of noise, each by the plan that is best there, and a rising curve is fitted
to their mean relative fitness and their mean cost of wrong decisions. It includes the effect of
noise on decisions, which a straight line from the learner's own model to the best one would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.calibration import Curves
from learning.forecast.decisions import BLOCK, LEAST, DecisionCost, Decisions, RisingCurve
from learning.forecast.kept import load_or_compute
from learning.forecast.public_sample import KERNEL_WIDTH, leave_out_shifts
from learning.forecast.rehearsal import Rehearsal
from learning.losses.margin import LOGISTIC
from learning.randomness import Streams
from learning.training.plan import Plan

STEEP = 1e-4  # penalty on the square of a slope of labels by scores of unit variance
REPEATS = 4  # draws per start and level of noise
REPEATS_FROM_ONE = 20  # the same where there is a single start
FURTHER = (4.0, 16.0, 64.0)  # times the most noise of plans: for models worse than any for sale


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

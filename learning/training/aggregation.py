"""Aggregations (AGGREGATIONS) of the answers of a round: their mean, or a robust alternative.

An aggregation is a frozen dataclass with ``make_combiner``, whose function maps the learner's own
gradient and the answers of a round to the gradient of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt, Lt

from learning.arrays import Array
from learning.declaration import Declaration, Positive, Probability

Combine = Callable[[Array, Iterable[Array]], Array]
MIDDLE = 1e-6  # share of the weight on either side of the middle that is the median


class Aggregation(Declaration):
    """A rule that combines the answers of all owners in one round to one gradient.

    Attributes
    ----------
    name : the name in a scenario file.
    says : its effect, in part of a sentence; empty for the mean.
    sums : whether it is a weighted sum whose weights are known beforehand: then the exact law of
        training holds, and one stand-in with the noise of all owners is as good as many.
    """

    where: ClassVar[str] = "learning.aggregation"
    name: ClassVar[str] = ""
    says: ClassVar[str] = ""
    sums: ClassVar[bool] = False

    def make_combiner(self, task: Any) -> Combine:
        """Make the function of a training that combines each round's answers.

        It is called with the learner's own gradient (runs, p), which it may overwrite, and the
        owners' answers (runs, p) in the order of the owners. It returns the gradient of the step,
        (runs, p), and may keep a state from round to round. Of the `learning.training.task.Task`
        only public facts and the noise sold may be used.
        """
        raise TypeError(f"{type(self).__name__} has no make_combiner(task)")


@dataclass(frozen=True)
class Mean(Aggregation):
    """The weighted mean of all answers: best for honest owners; one owner can move it at will."""

    name = "mean"
    sums = True

    def make_combiner(self, task: Any) -> Combine:
        shares = task.shares

        def combine_answers(own: Array, answers: Iterable[Array]) -> Array:
            for share, answer in zip(shares, answers, strict=True):
                own += share * answer
            return own

        return combine_answers


@dataclass(frozen=True)
class TrimmedMean(Aggregation):
    """The mean of each coordinate's answers without a part at either end.

    Owners count with their weights, also in what is trimmed: with equal weights these are numbers
    of owners. An owner of which part is trimmed counts with the rest.

    Parameters
    ----------
    share : the part of the weight that is trimmed at either end; owners who make up less than that
        cannot move the model far.

    Source: Yin et al., Byzantine-Robust Distributed Learning, Definition 2 (equal weights there).
    """

    name = "trimmed_mean"
    says = "of every number that owners answer, the largest and the smallest are left out"
    share: Annotated[float, Gt(0), Lt(0.5)] = 0.2

    def make_combiner(self, task: Any) -> Combine:
        shares = task.shares
        return lambda own, answers: own + trimmed_mean(np.stack([*answers]), shares, self.share)


@dataclass(frozen=True)
class Median(Aggregation):
    """The weighted median of each coordinate's answers; moving it far takes half of the weight.

    Source: Yin et al., Byzantine-Robust Distributed Learning, Definition 1 (equal weights there).
    """

    name = "median"
    says = "of every number that owners answer, the median counts"

    def make_combiner(self, task: Any) -> Combine:
        shares = task.shares
        return lambda own, answers: own + trimmed_mean(np.stack([*answers]), shares, 0.5 - MIDDLE)


@dataclass(frozen=True)
class NormCheck(Aggregation):
    """The mean of those answers that the public bounds and the noise sold make plausible.

    An answer is dropped where its norm is above ``signal`` times the longest gradient that the
    public bounds allow, plus what the noise that its owner sold exceeds with probability ``level``;
    those kept share the weight. Where all are dropped, the step is along the learner's own gradient
    alone.

    Parameters
    ----------
    level : the largest probability that an honest answer is dropped.
    signal : the allowed share of the longest gradient. Below 1 the check is sharper, and ``level``
        holds where honest gradients are that short, which the learner has to guess.

    Source: ours; clipping answers by their norm is usual against such owners (Sun et al., Can You
        Really Backdoor Federated Learning?); here they are dropped, and noise is allowed for.
    """

    name = "norm_check"
    says = "answers longer than gradients with the noise sold may be are left out"
    level: Probability = 1e-3
    signal: Positive = 1.0

    def make_combiner(self, task: Any) -> Combine:
        mechanism = task.mechanism
        longest = self.signal * task.coordinates.longest_gradient
        noise = mechanism.length_quantile(task.width, self.level) * _sold_scales(task)
        shares = task.shares[:, None]
        relative = task.scale_factors

        def combine_answers(own: Array, answers: Iterable[Array]) -> Array:
            told = np.stack([*answers])
            limits = longest + noise * next(relative)
            return _add_weighted(
                own, told, shares * (np.linalg.norm(told, mechanism.norm, 2) <= limits)
            )

        return combine_answers


@dataclass(frozen=True)
class Observed(Aggregation):
    """The mean, with weights inverse to the mean square distance of past answers to the median.

    The median is that of each coordinate's answers in a round; the mean square is over coordinates
    and rounds. The plan counts as much as one round: mean squares start at c/q, with q the planned
    weights and c the variance that the noise sold leaves in the mean. So an owner who adds more
    noise than it sold counts for less, from the first round on. Where shares of a budget grow, each
    round counts in units of its own noise.

    Source: ours; one over a variance is the best weight of a mean, and online estimates of it are
        usual (Cochran, Problems Arising in the Analysis of a Series of Similar Experiments).
    """

    name = "observed"

    def make_combiner(self, task: Any) -> Combine:
        shares = task.shares
        scales = _sold_scales(task)
        left = (shares[:, None] ** 2 * task.mechanism.unit_variance * scales**2).sum(axis=0)
        squares = left / shares[:, None]
        rounds = 1
        relative = task.scale_factors

        def combine_answers(own: Array, answers: Iterable[Array]) -> Array:
            nonlocal squares, rounds
            told = np.stack([*answers])
            distance = (told - trimmed_mean(told, shares, 0.5 - MIDDLE)) / next(relative)
            squares = (rounds * squares + np.square(distance).mean(axis=2)) / (rounds + 1)
            rounds = rounds + 1
            known = squares.all(axis=0)  # else no owner adds noise, and some owner is the median
            return _add_weighted(
                own, told, np.where(known, 1 / np.where(known, squares, 1.0), shares[:, None])
            )

        return combine_answers


def _sold_scales(task: Any) -> Array:
    """Scales of the noise that the owners sold, (n_owners, runs)."""
    return np.stack([np.broadcast_to(one.scale, task.runs) for one in task.owners])


def _add_weighted(own: Array, told: Array, weights: Array) -> Array:
    """Own gradients (runs, p) with the mean of answers (n_owners, runs, p) at some weights."""
    total = weights.sum(axis=0)
    return own + np.einsum("or,orp->rp", weights / np.where(total > 0, total, 1.0), told)


def trimmed_mean(answers: Array, shares: Array, cut: float) -> Array:
    """Weighted mean of each coordinate's answers without ``cut`` of the weight at either end.

    Parameters
    ----------
    answers : array (n_owners, ...).
    shares : array (n_owners,), weights that sum to 1.
    cut : the part of the weight at either end, in [0, 1/2).

    >>> trimmed_mean(np.array([[1.0], [2.0], [6.0], [50.0]]), np.full(4, 0.25), 0.25)
    array([4.])
    """
    order = np.argsort(answers, axis=0)
    weights = shares[order]
    ends = np.cumsum(weights, axis=0)
    kept = np.maximum(np.minimum(ends, 1 - cut) - np.maximum(ends - weights, cut), 0.0)
    ranked = np.take_along_axis(answers, order, axis=0)
    return (kept * ranked).sum(axis=0) / kept.sum(axis=0)


MEAN = Mean()
AGGREGATIONS: dict[str, type[Aggregation]] = {
    one.name: one for one in (Mean, Median, TrimmedMean, NormCheck)
}

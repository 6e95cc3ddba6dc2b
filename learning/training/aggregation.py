"""What a learner makes of the answers of a round (AGGREGATIONS): their mean, or something that dishonest owners move less.

An aggregation is one frozen dataclass with a ``begin``: what it adds to the learner's own gradient, round by round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

import numpy as np
from annotated_types import Gt, Lt

from learning.arrays import Array
from learning.declaration import Declaration, Positive, Probability
from learning.losses.coordinates import Coordinates
from learning.privacy.mechanism import Mechanism
from learning.training.client import Client

Combine = Callable[[Array, Iterable[Array]], Array]
MIDDLE = 1e-6  # of the weight, on either side of the middle, whose answers are the median


class Training(Protocol):
    """What an aggregation may know of a training: what is public of it, and of its owners the noise that they sold."""

    @property
    def owners(self) -> Sequence[Client]: ...
    @property
    def coordinates(self) -> Coordinates: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def runs(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def shares(self) -> Array: ...
    @property
    def scale_factors(self) -> Iterator[float]: ...


class Aggregation(Declaration):
    """How the answers of all owners in one round become one gradient.

    Attributes
    ----------
    name : what a scenario file calls it.
    says : what it does, in part of a sentence; nothing to say of the mean.
    sums : whether it is a weighted sum whose weights are known beforehand: then the exact law of training holds, and one
        stand-in with the noise of all owners is as good as many.
    """

    where: ClassVar[str] = "learning.aggregation"
    name: ClassVar[str] = ""
    says: ClassVar[str] = ""
    sums: ClassVar[bool] = False

    def begin(self, task: Training) -> Combine:
        """A training begins: what is called in every round with the learner's own gradient (runs, p) and the owners' answers.

        Each answer is (runs, p), in the order of the owners; what is returned is the gradient to step along, (runs, p).
        What is kept from round to round is kept for this training only.
        """
        raise TypeError(f"{type(self).__name__} has no begin(task): an aggregation needs one")


@dataclass(frozen=True)
class Mean(Aggregation):
    """The weighted mean of all answers: best where everybody is honest, and one owner may move it at will."""

    name = "mean"
    sums = True

    def begin(self, task: Training) -> Combine:
        shares = task.shares

        def combine(own: Array, answers: Iterable[Array]) -> Array:
            for share, answer in zip(shares, answers, strict=True):
                own += share * answer
            return own

        return combine


@dataclass(frozen=True)
class TrimmedMean(Aggregation):
    """The mean of what is left of each coordinate's answers when some are cut off at either end.

    Owners count with their weights, also in what is cut off: with equal weights these are numbers of owners. An owner of
    which part is cut off counts with the rest.

    Parameters
    ----------
    share : of the weight, cut off at either end; owners who make up less than that cannot move the model far.

    Source: Yin et al., Byzantine-Robust Distributed Learning, Definition 2 (equal weights there).
    """

    name = "trimmed_mean"
    says = "of every number that owners answer, the largest and the smallest are left out"
    share: Annotated[float, Gt(0), Lt(0.5)] = 0.2

    def begin(self, task: Training) -> Combine:
        return lambda own, answers: own + trimmed(np.stack([*answers]), task.shares, self.share)


@dataclass(frozen=True)
class Median(Aggregation):
    """The median of each coordinate's answers, weighted as owners are; to move it far takes half of the weight.

    Source: Yin et al., Byzantine-Robust Distributed Learning, Definition 1 (equal weights there).
    """

    name = "median"
    says = "of every number that owners answer, the median counts"

    def begin(self, task: Training) -> Combine:
        return lambda own, answers: own + trimmed(np.stack([*answers]), task.shares, 0.5 - MIDDLE)


@dataclass(frozen=True)
class NormCheck(Aggregation):
    """The mean of the answers that are no longer than a gradient within the public bounds, with the noise sold, may be.

    An answer is dropped where its norm is above ``signal`` times the longest gradient that the public bounds allow, plus what
    the noise that its owner sold exceeds with a chance of ``level``; those kept share the weight. Where all are dropped, only
    the learner's own gradient is stepped along.

    Parameters
    ----------
    level : the chance, at most, that an honest answer is dropped.
    signal : of the longest gradient, how much is allowed for. Below 1 the check is sharper, and ``level`` holds where honest
        gradients are that short, which the learner has to guess.

    Source: ours; clipping answers by their norm is usual against such owners (Sun et al., Can You Really Backdoor Federated
    Learning?); here they are dropped, and noise is allowed for.
    """

    name = "norm_check"
    says = "answers longer than gradients with the noise sold may be are left out"
    level: Probability = 1e-3
    signal: Positive = 1.0

    def begin(self, task: Training) -> Combine:
        mechanism, longest = task.mechanism, self.signal * task.coordinates.longest_gradient
        tail = mechanism.longest(task.width, self.level)
        noise = tail * np.stack([np.broadcast_to(one.scale, task.runs) for one in task.owners])
        shares, relative = task.shares[:, None], task.scale_factors

        def combine(own: Array, answers: Iterable[Array]) -> Array:
            told, limits = np.stack([*answers]), longest + noise * next(relative)
            kept = shares * (np.linalg.norm(told, ord=mechanism.norm, axis=2) <= limits)
            total = kept.sum(axis=0)
            return own + np.einsum("or,orp->rp", kept / np.where(total > 0, total, 1.0), told)

        return combine


@dataclass(frozen=True)
class Observed(Aggregation):
    """The mean, each owner weighted by one over the mean square of how far its answers so far lay from the median.

    The median is of each coordinate's answers of a round; the mean square, over coordinates and rounds. What was planned
    counts as much as one round: mean squares start at c/q with weights q planned, c the variance that the noise sold
    leaves in the mean. So an owner who adds more noise than it sold counts for less, from the first round on. Where shares
    of a budget grow, each round counts in units of its own noise.

    Source: ours; one over a variance is the best weight of a mean, and online estimates of it are usual (Cochran, Problems
    Arising in the Analysis of a Series of Similar Experiments).
    """

    name = "observed"

    def begin(self, task: Training) -> Combine:
        shares, runs = task.shares, task.runs
        scales = np.stack([np.broadcast_to(one.scale, runs) for one in task.owners])
        left = (shares[:, None] ** 2 * task.mechanism.unit_variance * scales**2).sum(axis=0)
        squares, rounds, relative = left / shares[:, None], 1, task.scale_factors

        def combine(own: Array, answers: Iterable[Array]) -> Array:
            nonlocal squares, rounds
            told = np.stack([*answers])
            apart = (told - trimmed(told, shares, 0.5 - MIDDLE)) / next(relative)
            squares, rounds = (rounds * squares + np.square(apart).mean(axis=2)) / (rounds + 1), rounds + 1
            known = squares.all(axis=0)  # else nobody adds noise, and somebody is the median
            weights = np.where(known, 1 / np.where(known, squares, 1.0), shares[:, None])
            return own + np.einsum("or,orp->rp", weights / weights.sum(axis=0), told)

        return combine


def trimmed(answers: Array, shares: Array, cut: float) -> Array:
    """Mean of answers (n_owners, ...) with ``cut`` of the weight left out at either end, coordinate by coordinate, (...).

    Parameters
    ----------
    answers : array (n_owners, ...).
    shares : array (n_owners,), weights that sum to 1.
    cut : the part of the weight at either end, in [0, 1/2).

    >>> trimmed(np.array([[1.0], [2.0], [6.0], [50.0]]), np.full(4, 0.25), 0.25)
    array([4.])
    """
    order = np.argsort(answers, axis=0)
    weights = shares[order]
    ends = np.cumsum(weights, axis=0)
    kept = np.maximum(np.minimum(ends, 1 - cut) - np.maximum(ends - weights, cut), 0.0)
    return np.asarray((kept * np.take_along_axis(answers, order, axis=0)).sum(axis=0) / kept.sum(axis=0))


MEAN = Mean()
AGGREGATIONS: dict[str, type[Aggregation]] = {one.name: one for one in (Mean, Median, TrimmedMean, NormCheck)}

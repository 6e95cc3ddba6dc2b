"""Tests of homogeneity: by public rows, by loss reports and by first answers.

Public rows that are a random sample of all records have no kind of their own. Of other rows this is
unknown: a learner with one hospital's patients has no sample of all hospitals'. Differences that
neither owners' names on the rows nor loss reports exclude are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates, whitening_transform
from learning.losses.loss import Loss

DRAWS = 999  # under the hypothesis of one kind
PERMUTATIONS = 199  # of all records, in the simulator's own test
SIGNIFICANT = 0.05  # p-value up to which owners are said to differ
CHANCE = 0.25  # p-value above which a difference is taken for chance: a missed kind costs more

OWN_KIND = 0.5  # prior probability that rows not drawn at random are of a kind of their own
SPREADS = np.geomspace(1e-5, 1.0, 61)  # variance of kinds' means over a record's; log-uniform prior


@dataclass(frozen=True)
class Homogeneity:
    """Test of the hypothesis that records are of one kind.

    Parameters
    ----------
    statistic : of first answers, squared deviations from the common mean in units of their
        variance; of public rows, F.
    dof : (number of means - 1) times parameters: the mean of the former under the hypothesis, were
        variances known exactly.
    p_value : probability of one as large under the hypothesis.
    """

    statistic: float
    dof: int
    p_value: float


def permutation_p_value(found: float, null: Sequence[float] | Array) -> float:
    """P-value of a statistic: share of its draws, itself among them, that are as large."""
    return float((1 + np.count_nonzero(np.asarray(null) >= found)) / (1 + len(null)))


def record_gradients(coordinates: Coordinates, x: Array, y: Array) -> Array:
    """Gradient of each record (n, p) and (n,) at the start, clipped as announced, (n, p)."""
    if coordinates.loss.quadratic and not coordinates.clips_gradients:
        moved, shown = coordinates.records(x, y)
        return -2 * shown[:, None] * moved
    if coordinates.clipping == RECORD:
        return _gradients_at_start(coordinates, x, y)
    start = np.zeros((1, len(coordinates.centre)))
    each = (coordinates.oracle(x[i : i + 1], y[i : i + 1]).gradient(start) for i in range(len(y)))
    return np.concatenate(list(each))


def _gradients_at_start(coordinates: Coordinates, x: Array, y: Array) -> Array:
    held: Any = coordinates.oracle(x, y, one_by_one=True)
    start = np.zeros((len(y), len(coordinates.centre)))
    return np.asarray(held.record_gradient(start, np.arange(len(y))))


def gradients_at(loss: Loss, x: Array, y: Array, theta: Array) -> Array:
    """Unclipped gradient of each record (n, p) and (n,) at theta (p,), in single precision."""
    return _gradients_at_start(Coordinates(theta, np.eye(len(theta)), loss=loss), x, y)


def homogeneity_of_records(gradients: Array, sizes: Sequence[int], *, rng: Generator) -> float:
    """P-value of mean gradients that lie so far from each other, if all records are of one kind.

    The statistic is sum_l n_l |mean_l|^2, with gradients whitened; its law is that of permuted
    records, so the test is exact under any tails.

    Parameters
    ----------
    gradients : array (n, p), of every record at one model, group after group.
    sizes : number of records of each group, above 0.
    rng : of `PERMUTATIONS` permutations.

    Source: permutation tests, Lehmann and Romano, Testing Statistical Hypotheses, 15.2; the
        statistic is the score test's.
    """
    centred = gradients - gradients.mean(axis=0)
    white = centred @ whitening_transform(centred.T @ centred / len(centred))
    counts = np.array(sizes)
    starts = np.cumsum(counts) - counts

    def sum_of_squares(permuted: Array) -> float:
        return float(np.sum(np.add.reduceat(permuted, starts, axis=0) ** 2 / counts[:, None]))

    found = sum_of_squares(white) * (1 - 1e-9)
    null = [sum_of_squares(white[rng.permutation(len(white))]) for _ in range(PERMUTATIONS)]
    return permutation_p_value(found, null)


@dataclass(frozen=True)
class BetweenOwners:
    """Differences between the owners' mean gradients.

    Parameters
    ----------
    test : of the hypothesis that rows are of one kind.
    ratio : variance of the owners' means over that of a record, 0 where chance explains it
        (`CHANCE`).
    ratios : array (draws,), possible ratios, by the null distribution of F.
    rows : array (n_owners,), public rows of each owner.
    means : array (n_owners, p), their mean gradient less that of all, in units of a record's
        spread; 0 without rows.
    """

    test: Homogeneity
    ratio: float
    ratios: Array = field(repr=False)
    rows: Array = field(repr=False)
    means: Array = field(repr=False)

    @property
    def differ(self) -> bool:
        """True if owners are said to differ in kind."""
        return self.test.p_value <= SIGNIFICANT

    @property
    def by_names(self) -> bool:
        """True if public rows carry the owners' names; else loss reports were used."""
        return bool(self.rows.any())

    def draw_shifts(self, away: Array, count: int, *, rng: Generator) -> Array:
        """Draw |sum_l away_l g_l|^2, g the owners' mean gradients, over a record's variance.

        The ratio of each draw is one that the permutations leave possible. In every other draw the
        owners' means vary by it, independently of each other and of the weights. But owners of
        small weight may well be of one kind: in the other draws the means are drawn from their
        posterior given the owners' own rows, under a normal prior of that ratio.

        Parameters
        ----------
        away : array (n_owners,), weights less shares of the records.
        count : number of draws.
        rng : of the draws.
        """
        ratio = rng.choice(self.ratios, count)[:, None]
        width = self.means.shape[1]
        seen = self.rows > 0  # of thousands of owners, few
        kept = ratio * self.rows[seen]
        kept /= kept + 1
        kept[::2] = 0.0
        variance = ratio * (away @ away - kept @ away[seen, None] ** 2) / width
        noise = np.sqrt(variance) * rng.standard_normal((count, width))
        return np.sum(((kept * away[seen]) @ self.means[seen] + noise) ** 2, axis=1)


def analyse_variance(
    gradients: Array, owner: NDArray[np.str_], names: Sequence[str], *, rng: Generator
) -> BetweenOwners | None:
    """One-way analysis of variance of the public rows' gradients by owner.

        F = (between mean square)/(within mean square),    ratio = (F - 1)/m_0,    m_0 = (m - sum
        m_l^2/m)/(k - 1),

    summed over coordinates; None where fewer than two owners are in the rows. The null distribution
    of F comes from permuted names, which is exact under any tails. Few rows have little power: 275
    rows of 84 hospitals do not show that a hospital's mean is off by a fifth of a record's spread.

    Parameters
    ----------
    gradients : array (m, p), of the public rows.
    owner : array (m,), owner of each row.
    names : the owners in the market; rows of others are left out.
    rng : of the permutations.

    Source: Fisher's analysis of variance, by permutation; the method of moments for its component
        of variance; Bancroft (1964) on the level of a test before pooling.
    """
    known = np.isin(owner, list(names))
    order = np.argsort(owner[known], kind="stable")
    rows = gradients[known][order]
    present, first, counts = np.unique(owner[known][order], return_index=True, return_counts=True)
    groups = len(first)
    count = len(rows)
    if groups < 2 or count <= groups:
        return None
    rows = rows - rows.mean(axis=0)
    whole = float(np.sum(rows**2))

    def ratio_of_squares(some: Array) -> float:
        between = float(np.sum(np.add.reduceat(some, first) ** 2 / counts[:, None]))
        return between / (groups - 1) / max((whole - between) / (count - groups), 1e-300)

    found = ratio_of_squares(rows)
    null = np.array([ratio_of_squares(rows[rng.permutation(count)]) for _ in range(DRAWS)])
    p_value = permutation_p_value(found, null)
    each = (count - float(np.sum(counts**2)) / count) / (groups - 1)
    sums = np.add.reduceat(rows, first)
    within = (whole - float(np.sum(sums**2 / counts[:, None]))) / (count - groups)
    places = [list(names).index(name) for name in present]
    held = np.zeros(len(names))
    held[places] = counts
    means = np.zeros((len(names), rows.shape[1]))
    means[places] = sums / counts[:, None] / np.sqrt(max(within, 1e-300))
    test = Homogeneity(found, (groups - 1) * rows.shape[1], p_value)
    ratio = float(p_value <= CHANCE) * max(0.0, (found - 1) / each)
    return BetweenOwners(test, ratio, np.maximum(found / null - 1, 0.0) / each, held, means)


def kind_distance(ratio: Array, sizes: Array) -> Array:
    """Increase of 1/m + 1/n by ratio (1 + sum (n_l/n)^2) if the m public rows are one more kind.

    The optimum of rows that are a group like the others lies as far from that of all records as one
    group's mean lies from the mean of all.

    Parameters
    ----------
    ratio : array (...), variance of the kinds' means over that of a record.
    sizes : array (n_owners,), records of each owner.
    """
    return ratio * float(1 + np.sum((sizes / sizes.sum()) ** 2))


def draw_unknown_kind(
    sizes: Array, width: int, worlds: int, *, odds: Array, rng: Generator
) -> Array:
    """Draw the distance of rows of an unknown kind from all records, (2, worlds).

    One for a trained model and one for the learner's own, independently: training may remove errors
    of the learner's own model, or add to them by steps and bounds chosen on rows of another kind.

    Parameters
    ----------
    sizes : array (n_owners,), records of each owner.
    width : p, number of parameters.
    worlds : number of draws.
    odds : array (len(SPREADS),), likelihood of each spread over that of no kind of their own.
    rng : of the draws.
    """
    chances = OWN_KIND / len(SPREADS) * odds
    total = chances.sum() + 1 - OWN_KIND
    level = np.cumsum(chances / total)
    own = rng.random(worlds) < level[-1]
    spreads = SPREADS[np.searchsorted(level, rng.random((2, worlds)) * level[-1])]
    return own * kind_distance(spreads, sizes) * rng.chisquare(width, (2, worlds)) / width

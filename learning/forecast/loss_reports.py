"""Are owners alike? What their own loss reports tell before trading, where public rows carry no names or are too few."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.forecast.between_owners import CHANCE, SIGNIFICANT, BetweenOwners
from learning.forecast.doubt import HIDDEN, OWN_KIND, SPREADS, distance
from learning.forecast.homogeneity import DRAWS, Homogeneity
from learning.forecast.public_sample import PublicSample
from learning.training.loss_report import LossQuery

FOLDS = 10  # of the public rows, by which what the public model loses on fresh records is told
QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)  # of what they lose: candidate bounds
LEAST = 1e-9  # of the squared bound: the least variance of losses that is counted with


@dataclass(frozen=True)
class LossReports:
    """What the owners' loss reports tell of kinds.

    Parameters
    ----------
    query : what was asked.
    sizes : array (n_owners,), records of each.
    losses : array (n_owners,), the reports.
    expected : what they would be on average if owners were of the kind of the public rows.
    test : of the hypothesis that all are alike.
    ratio : variance of the groups' means over that of a record's loss, 0 where chance explains what is seen (`CHANCE`).
    ratios : array (draws,), what that may be, by what the statistic is by chance; 0 likewise.
    off : squared difference between what is expected and the mean of all records, as reported, over a record's variance.
    by_chance : what that is on average if the public rows are a sample of all records.
    nameless : whether the public rows carry no names: they may be such a sample, or of a kind of their own.
    """

    query: LossQuery
    sizes: Array = field(repr=False)
    losses: Array = field(repr=False)
    expected: float
    test: Homogeneity
    ratio: float
    ratios: Array = field(repr=False)
    off: float
    by_chance: float
    nameless: bool

    @property
    def differ(self) -> bool:
        """Whether owners, or they and the learner's rows, are said to differ in kind."""
        return self.test.p_value <= SIGNIFICANT

    def between(self, width: int) -> BetweenOwners:
        """The same of gradients (p,), which kinds are taken to move as much as losses in units of a record's spread."""
        count = len(self.losses)
        return BetweenOwners(self.test, self.ratio, self.ratios, np.zeros(count), np.zeros((count, width)))

    def _odds(self, ratio: Array) -> Array:
        """Likelihood of how far what the public rows lead to expect is off, over that of a sample of all records."""
        wide = self.by_chance + distance(ratio, self.sizes)
        return np.sqrt(self.by_chance / wide) * np.exp(self.off / 2 * (1 / self.by_chance - 1 / wide))

    @property
    def odds(self) -> Array:
        """The likelihood of each of `SPREADS` over that of no kind of their own, where no difference is found.

        Losses do not show all kinds (`HIDDEN`).
        """
        return HIDDEN + (1 - HIDDEN) * self._odds(SPREADS)

    def chance_of_own_kind(self, ratio: ArrayLike) -> Array:
        """The chance that the learner's rows are of a kind of their own and no sample of all records.

        `OWN_KIND` beforehand; then by Bayes' rule from how far what they lead to expect is off.
        """
        if not (self.nameless and self.differ):
            return np.zeros(np.shape(ratio))
        odds = self._odds(np.asarray(ratio))
        return np.asarray(OWN_KIND * odds / (OWN_KIND * odds + 1 - OWN_KIND))

    @property
    def likely_apart(self) -> float:
        """The `distance` where a kind of their own is likelier than not; else 0."""
        return float(distance(np.array(self.ratio), self.sizes)) if self.chance_of_own_kind(self.ratio) > 0.5 else 0.0

    def draw_apart(self, width: int, worlds: int, *, rng: np.random.Generator) -> Array:
        """Draw the `distance` for a trained model and for the learner's own, (2, worlds), where a difference is found.

        Both are as uncertain as chance leaves how far kinds lie apart, and independent of each other.

        Parameters
        ----------
        width : p, number of parameters.
        worlds : number of draws.
        rng : of the draws.
        """
        ratio = rng.choice(self.ratios, (2, worlds))
        own = rng.random(worlds) < self.chance_of_own_kind(ratio)
        return np.asarray(own * distance(ratio, self.sizes) * rng.chisquare(width, (2, worlds)) / width)


def fresh_losses(sample: PublicSample) -> Array:
    """What each public row loses under the best model of the others, (m,), by cross-validation.

    Under the model fitted to it, a row would lose less than a fresh record does. Every `FOLDS`-th row is in one fold.
    """
    fold, lost = np.arange(sample.n_records) % FOLDS, np.empty(sample.n_records)
    for left_out in range(FOLDS):
        model, _ = sample.fit(sample.x[fold != left_out], sample.y[fold != left_out])
        out = fold == left_out
        lost[out] = sample.loss.value(sample.loss.scores(sample.x[out], sample.y[out], model[None]))[0]
    return lost


def loss_query(sample: PublicSample, lost: Array, sizes: Array, epsilon: float, overlap: int) -> LossQuery:
    """The question to all owners, with the bound under which a difference between owners shows best.

    Were an owner's losses larger by a small share, a report with bound B would move by the mean of losses below B; it is
    uncertain by var(min(loss, B))/n and the noise, which grows with B.

    Parameters
    ----------
    sample : the learner's own rows.
    lost : array (m,), of `fresh_losses`.
    sizes : array (n_owners,), records of each; the bound suits their geometric mean.
    epsilon, overlap : as in `LossQuery`.
    """
    records = float(np.exp(np.mean(np.log(sizes))))

    def shows(bound: float) -> float:
        noise = LossQuery(sample.loss, sample.model, bound, epsilon, overlap).scale(np.array(records))
        chance = np.minimum(lost, bound).var() / records + 2 * noise**2
        return float(np.mean(lost * (lost < bound)) / np.sqrt(chance))

    bounds = [float(bound) for bound in np.quantile(lost, QUANTILES) if bound > 0] or [1.0]
    return LossQuery(sample.loss, sample.model, max(bounds, key=shows), epsilon, overlap)


def read_reports(
    query: LossQuery, losses: Array, sizes: Array, lost: Array, *, nameless: bool, rng: np.random.Generator
) -> LossReports:
    """Cochran's test of equal means over the owners' reports, and how far kinds lie apart.

        Q = sum_l (r_l - mu)^2/v_l,    v_l = s^2/n_l + 2 b_l^2,    ratio = (Q - (k - 1))/(sum 1/v - sum 1/v^2/sum 1/v)/s^2,

    with mu their mean weighted by 1/v_l, s^2 the variance of a record's loss as the m public rows show it, b_l the scale of
    the noise, and the public rows one more group, of variance s^2/m, where ``nameless``. What Q is by chance comes from
    draws: resamples of the public rows, whose own s^2 is used, Gaussian means of records, Laplace noise.

    Parameters
    ----------
    query : what was asked.
    losses : array (n_owners,), the reports.
    sizes : array (n_owners,), records of each.
    lost : array (m,), of `fresh_losses`.
    nameless : whether the public rows may be a group of their own.
    rng : of the draws.

    Source: Cochran (1937), calibrated by Monte Carlo; DerSimonian and Laird (1986) for the variance between groups.
    """
    shown, rows, sizes = np.minimum(lost, query.bound), len(lost), np.asarray(sizes, dtype=float)
    noise, least = 2 * query.scale(sizes) ** 2, LEAST * query.bound**2
    spread, groups = max(float(shown.var(ddof=1)), least), len(sizes) + nameless
    variance = np.append(spread / sizes + noise, spread / rows)[:groups]
    found = float(_deviation(np.append(losses, shown.mean())[:groups], variance))
    null = _by_chance(shown, sizes, noise, groups, rng)
    p_value = float((1 + np.count_nonzero(null >= found)) / (1 + len(null)))
    each = (np.sum(1 / variance) - np.sum(variance**-2.0) / np.sum(1 / variance)) / max(groups - 1, 1) * spread
    shares, pooled = sizes / sizes.sum(), float(p_value <= CHANCE)
    return LossReports(
        query,
        sizes,
        losses,
        float(shown.mean()),
        Homogeneity(found, groups - 1, p_value),
        pooled * max(0.0, found / max(groups - 1, 1) - 1) / each,
        pooled * np.maximum(found / null - 1, 0.0) / each,
        float(shares @ losses - shown.mean()) ** 2 / spread,
        1 / rows + 1 / float(sizes.sum()) + float(shares**2 @ noise) / spread,
        nameless,
    )


def _by_chance(shown: Array, sizes: Array, noise: Array, groups: int, rng: np.random.Generator) -> Array:
    """The statistic where all are alike, (draws,): of the owners, and of the public rows where they are one group more."""
    rows, least = len(shown), LEAST * float(shown.max()) ** 2
    resampled = shown[rng.integers(rows, size=(DRAWS, rows))]
    spread = np.maximum(resampled.var(axis=1, ddof=1), least)[:, None]
    drawn = np.sqrt(shown.var(ddof=1) / sizes) * rng.standard_normal((DRAWS, len(sizes)))
    drawn += np.sqrt(noise / 2) * rng.laplace(size=(DRAWS, len(sizes)))
    means = np.column_stack([drawn, resampled.mean(axis=1) - shown.mean()])
    variance = np.column_stack([spread / sizes + noise, spread / rows])
    return np.maximum(_deviation(means[:, :groups], variance[:, :groups]), 1e-300)


def _deviation(points: Array, variance: Array) -> Array:
    """Squared deviations of points (..., k) from their mean weighted by 1/variance, in units of it, (...)."""
    weights = 1 / variance
    centre = np.sum(points * weights, axis=-1, keepdims=True) / np.sum(weights, axis=-1, keepdims=True)
    return np.asarray(np.sum((points - centre) ** 2 * weights, axis=-1))

"""Loss reports before trading: the noisy mean loss of each owner's records under a public model.

Differences in kind that they show are counted by the forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.data.owner_data import Holding
from learning.forecast.homogeneity import (
    CHANCE,
    DRAWS,
    OWN_KIND,
    SIGNIFICANT,
    SPREADS,
    BetweenOwners,
    Homogeneity,
    kind_distance,
    permutation_p_value,
)
from learning.forecast.public_sample import PublicSample
from learning.losses.loss import Loss
from learning.privacy.claims import Claim
from learning.privacy.laplace import Laplace
from learning.privacy.promises import make_claims

HIDDEN = 0.25  # share of kinds that do not show in losses, such as other inputs under the same law
FOLDS = 10  # of the public rows, in cross-validation
QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)  # of their losses: candidate bounds
CERTAIN = 600.0  # logarithm of odds beyond which they stay, and are no infinity
LEAST = 1e-9  # variance of losses, over the squared bound


@dataclass(frozen=True)
class LossQuery:
    """One announced query to every owner: the mean loss of its records, clipped to [0, bound].

    Replacing one of n records moves the mean by at most bound/n, so Laplace noise of scale kappa
    bound/(n epsilon) makes the report epsilon-DP (delta = 0).

    Parameters
    ----------
    loss : the loss that is trained.
    model : array (p,), the public model.
    bound : the public bound that losses of records are clipped to, > 0.
    epsilon : spending of every owner on its report, in (0, inf).
    overlap : kappa >= 1, the largest number of owners of one record: each spends epsilon/kappa.

    Source: the Laplace mechanism, Dwork and Roth, The Algorithmic Foundations of Differential
        Privacy, Theorem 3.6.
    """

    loss: Loss
    model: Array = field(repr=False)
    bound: float
    epsilon: float
    overlap: int = 1

    def losses(self, x: Array, y: Array) -> Array:
        """Clipped losses of records (n, p) and (n,), each from 0 to the bound, (n,)."""
        found = self.loss.value(self.loss.scores(x, y, self.model[None]))[0]
        return np.clip(np.asarray(found, dtype=float), 0.0, self.bound)

    def scale(self, sizes: Array) -> Array:
        """Scale of the noise of reports on given numbers of records (k,)."""
        sizes = np.asarray(sizes, dtype=float)
        return self.overlap * self.bound / (sizes * self.epsilon)

    def report(self, owner: Holding, *, rng: np.random.Generator) -> float:
        """Draw an owner's noisy report, all that leaves the owner.

        Parameters
        ----------
        owner : the records.
        rng : source of the noise.
        """
        noise = rng.laplace(scale=self.scale(np.array(owner.n_records)))
        return float(self.losses(owner.x, owner.y).mean() + noise)

    def claims(self, parties: Sequence[str], unit: str = "one record") -> list[Claim]:
        """Privacy claims of the owners' reports, one ``unit`` at a time."""
        epsilon = np.full(len(parties), self.epsilon)
        made = make_claims(Laplace(self.overlap), parties, np.ones(len(parties)), epsilon, 1, unit)
        return [replace(claim, mechanism=f"{claim.mechanism}, a loss report") for claim in made]


@dataclass(frozen=True)
class LossReports:
    """Owners' loss reports, and differences in kind by them.

    Parameters
    ----------
    query : the query.
    sizes : array (n_owners,), records of each.
    losses : array (n_owners,), the reports.
    expected : their mean if owners were of the kind of the public rows.
    test : of the hypothesis of one kind.
    ratio : variance of the groups' means over that of a record's loss, 0 where chance explains it
        (`CHANCE`).
    ratios : array (draws,), possible ratios, by the null distribution of the statistic.
    off : squared difference between what is expected and the mean of all records, as reported, over
        a record's variance.
    by_chance : its mean if the public rows are a sample of all records.
    nameless : True if the public rows carry no names: they may be such a sample, or of a kind of
        their own.
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
        """True if owners, or they and the learner's rows, are said to differ in kind."""
        return self.test.p_value <= SIGNIFICANT

    def between_owners(self, width: int) -> BetweenOwners:
        """Differences of gradients (p,): kinds are taken to move them as much as losses."""
        count = len(self.losses)
        none = np.zeros(count)
        return BetweenOwners(self.test, self.ratio, self.ratios, none, np.zeros((count, width)))

    def _odds_of(self, ratio: Array) -> Array:
        """Likelihood of ``off`` at a ratio (...), over that of a sample of all records."""
        wide = self.by_chance + kind_distance(ratio, self.sizes)
        exponent = self.off / 2 * (1 / self.by_chance - 1 / wide)
        return np.sqrt(self.by_chance / wide) * np.exp(np.minimum(exponent, CERTAIN))

    @property
    def kind_odds(self) -> Array:
        """Likelihood ratio of each of `SPREADS`; losses do not show all kinds (`HIDDEN`)."""
        return HIDDEN + (1 - HIDDEN) * self._odds_of(SPREADS)

    def chance_of_own_kind(self, ratio: ArrayLike) -> Array:
        """Posterior probability that the learner's rows are of a kind of their own.

        `OWN_KIND` beforehand, then by Bayes' rule; 0 where no difference is found.
        """
        if not (self.nameless and self.differ):
            return np.zeros(np.shape(ratio))
        odds = self._odds_of(np.asarray(ratio))
        return OWN_KIND * odds / (OWN_KIND * odds + 1 - OWN_KIND)

    def draw_distances(self, width: int, worlds: int, *, rng: Generator) -> Array:
        """Draw `kind_distance` for a trained model and the learner's own, (2, worlds).

        Both are drawn independently; they are 0 where no difference is found. In every other world
        best models differ as much as losses do. In the others losses differ by what no model
        explains, and the distance that they show is 0.

        Parameters
        ----------
        width : p, number of parameters.
        worlds : number of draws.
        rng : of the draws.
        """
        ratio = rng.choice(self.ratios, (2, worlds))
        own = rng.random(worlds) < self.chance_of_own_kind(ratio)
        own[:, 1::2] = False
        distance = kind_distance(ratio, self.sizes)
        return own * distance * rng.chisquare(width, (2, worlds)) / width


def fresh_losses(sample: PublicSample) -> Array:
    """Loss of each public row under the best model of other rows, (m,), by cross-validation."""
    fold = np.arange(sample.n_records) % FOLDS
    lost = np.empty(sample.n_records)
    for number in range(FOLDS):
        out = fold == number
        model = sample.fit_model(sample.x[~out], sample.y[~out])
        lost[out] = sample.loss.value(
            sample.loss.scores(sample.x[out], sample.y[out], model[None])
        )[0]
    return lost


def loss_query(
    sample: PublicSample, lost: Array, sizes: Array, epsilon: float, overlap: int
) -> LossQuery:
    """Query to all owners, with the bound that shows differences between owners best.

    Were an owner's losses larger by a small share, its report with bound B would move by that share
    of the mean of losses below B. Its variance is var(min(loss, B))/n and that of the noise, which
    grows with B.

    Parameters
    ----------
    sample : the learner's own rows.
    lost : array (m,), of `fresh_losses`.
    sizes : array (n_owners,), records of each; the bound suits their geometric mean.
    epsilon, overlap : as in `LossQuery`.
    """
    records = float(np.exp(np.mean(np.log(sizes))))

    def make_query(bound: float) -> LossQuery:
        return LossQuery(sample.loss, sample.model, bound, epsilon, overlap)

    def signal_to_noise(bound: float) -> float:
        noise = make_query(bound).scale(np.array(records))
        chance = np.minimum(lost, bound).var() / records + 2 * noise**2
        return float(np.mean(lost * (lost < bound)) / np.sqrt(chance))

    bounds = [float(bound) for bound in np.quantile(lost, QUANTILES) if bound > 0] or [1.0]
    return make_query(max(bounds, key=signal_to_noise))


def read_reports(
    query: LossQuery,
    losses: Array,
    sizes: Array,
    lost: Array,
    *,
    nameless: bool,
    rng: Generator,
) -> LossReports:
    """Cochran's test of equal means over the owners' reports, and the variance between kinds.

        Q = sum_l (r_l - mu)^2/v_l,    v_l = s^2/n_l + 2 b_l^2,    ratio = (Q - (k - 1))/(sum 1/v -
        sum 1/v^2/sum 1/v)/s^2,

    with k groups, mu their mean weighted by 1/v_l, s^2 the variance of a record's loss on the m
    public rows, and b_l the scale of the noise. Each owner is a group; the public rows are one
    more, of variance s^2/m, where ``nameless``. The null distribution of Q comes from draws:
    bootstrap samples of the public rows, each with its own s^2, Gaussian means of records, Laplace
    noise.

    Parameters
    ----------
    query : the query.
    losses : array (n_owners,), the reports.
    sizes : array (n_owners,), records of each.
    lost : array (m,), of `fresh_losses`.
    nameless : True if the public rows may be a group of their own.
    rng : of the draws.

    Source: Cochran (1937), calibrated by Monte Carlo; DerSimonian and Laird (1986) for the variance
        between groups.
    """
    shown = np.minimum(lost, query.bound)
    rows = len(lost)
    sizes = np.asarray(sizes, dtype=float)
    noise = 2 * query.scale(sizes) ** 2
    spread = max(float(shown.var(ddof=1)), LEAST * query.bound**2)
    groups = len(sizes) + nameless
    variance = np.append(spread / sizes + noise, spread / rows)[:groups]
    found = 0.0  # of a single group
    if groups > 1:
        found = float(_weighted_deviation(np.append(losses, shown.mean())[:groups], variance))
    null = _null_of_reports(shown, query.bound, sizes, noise, groups, rng)
    p_value = permutation_p_value(found, null)
    dof = max(groups - 1, 1)
    precision = np.sum(1 / variance)
    each = float((precision - np.sum(variance**-2.0) / precision) / dof * spread)
    each = max(each, 1e-300)  # 0 of a single group as well
    shares = sizes / sizes.sum()
    pooled = float(p_value <= CHANCE)
    return LossReports(
        query,
        sizes,
        losses,
        float(shown.mean()),
        Homogeneity(found, groups - 1, p_value),
        pooled * max(0.0, found / dof - 1) / each,
        pooled * np.maximum(found / null - 1, 0.0) / each,
        float(shares @ losses - shown.mean()) ** 2 / spread,
        1 / rows + 1 / float(sizes.sum()) + float(shares**2 @ noise) / spread,
        nameless,
    )


def _null_of_reports(
    shown: Array, bound: float, sizes: Array, noise: Array, groups: int, rng: Generator
) -> Array:
    """Draw the statistic where all are of one kind, (draws,)."""
    rows = len(shown)
    resampled = shown[rng.integers(rows, size=(DRAWS, rows))]
    spread = np.maximum(resampled.var(axis=1, ddof=1), LEAST * bound**2)[:, None]
    drawn = np.sqrt(shown.var(ddof=1) / sizes) * rng.standard_normal((DRAWS, len(sizes)))
    drawn += np.sqrt(noise / 2) * rng.laplace(size=(DRAWS, len(sizes)))
    means = np.column_stack([drawn, resampled.mean(axis=1) - shown.mean()])[:, :groups]
    variance = np.column_stack([spread / sizes + noise, spread / rows])[:, :groups]
    return np.maximum(_weighted_deviation(means, variance), 1e-300)


def _weighted_deviation(points: Array, variance: Array) -> Array:
    """Squared deviations of points (..., k) from their mean, over their variance, (...)."""
    weights = 1 / variance
    total = np.sum(weights, axis=-1, keepdims=True)
    centre = np.sum(points * weights, axis=-1, keepdims=True) / total
    return np.sum((points - centre) ** 2 * weights, axis=-1)

"""Tests of homogeneity: by public rows, by loss reports and by first answers.

Public rows that are a random sample of all records have no kind of their own. Of other rows this is
unknown: a learner with one hospital's patients has no sample of all hospitals'. Differences that
neither owners' names on the rows nor loss reports exclude are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.forecast.public_sample import PublicSample, affordable_count
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates, whitening_transform
from learning.losses.loss import Loss
from learning.training.loss_report import LossQuery
from learning.training.task import Task

DRAWS = 999  # under the hypothesis of one kind
LEAST_DRAWS = 99
PERMUTATIONS = 199  # of all records, in the simulator's own test
LEAST_COVARIANCES = 8  # of a wide model, which the draws take in turn
NUMBERS_DRAWN = 8_000_000  # up to which there are that many
SIGNIFICANT = 0.05  # p-value up to which owners are said to differ
CHANCE = 0.25  # p-value above which a difference is taken for chance: a missed kind costs more

OWN_KIND = 0.5  # prior probability that rows not drawn at random are of a kind of their own
SPREADS = np.geomspace(1e-5, 1.0, 61)  # variance of kinds' means over a record's; log-uniform prior
HIDDEN = 0.25  # share of kinds that do not show in losses, such as other inputs under the same law

FOLDS = 10  # of the public rows, in cross-validation
QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)  # of their losses: candidate bounds
LEAST = 1e-9  # variance of losses, over the squared bound


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
    """Share of draws of a statistic, itself among them, that are as large."""
    return float((1 + np.count_nonzero(np.asarray(null) >= found)) / (1 + len(null)))


def record_gradients(coordinates: Coordinates, x: Array, y: Array) -> Array:
    """Gradient of each record (n, p) and (n,) at the start, clipped as announced, (n, p)."""
    if coordinates.loss.quadratic and not coordinates.clips_gradients:
        moved, shown = coordinates.records(x, y)
        return np.asarray(-2 * shown[:, None] * moved)
    start = np.zeros((1, len(coordinates.centre)))
    if coordinates.clipping == RECORD:
        held = coordinates.oracle(x, y, one_by_one=True)
        starts = np.tile(start, (len(y), 1))
        return np.asarray(held.record_gradient(starts, np.arange(len(y))))  # type: ignore[attr-defined]
    each = (coordinates.oracle(x[i : i + 1], y[i : i + 1]).gradient(start) for i in range(len(y)))
    return np.concatenate(list(each))


def gradients_at(loss: Loss, x: Array, y: Array, theta: Array) -> Array:
    """Unclipped gradient of each record (n, p) and (n,) at theta (p,), in single precision."""
    held = Coordinates(theta, np.eye(len(theta)), loss=loss).oracle(x, y, one_by_one=True)
    phi = np.zeros((len(y), len(theta)))
    return np.asarray(held.record_gradient(phi, np.arange(len(y))))  # type: ignore[attr-defined]


def homogeneity_of_records(gradients: Array, sizes: Sequence[int], *, rng: Generator) -> float:
    """P-value of mean gradients as far from each other, if all records are of one kind.

    The statistic is sum_l n_l |mean_l|^2, with gradients whitened; its law is that of permuted
    records, so the test is exact under any tails.

    Parameters
    ----------
    gradients : array (n, p), of every record at one model, group after group.
    sizes : number of records of each group.
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

        The ratio is as uncertain as the permutations leave it. In every other draw the owners'
        means then vary by it, independently of each other and of the weights; in the others, since
        owners of small weight may well be of one kind, they are posterior means given their own
        rows (normal prior of that ratio).

        Parameters
        ----------
        away : array (n_owners,), weights less shares of the records.
        count : number of draws.
        rng : of the draws.
        """
        ratio = rng.choice(self.ratios, count)[:, None]
        width = self.means.shape[1]
        seen = self.rows > 0  # of thousands of owners, few
        kept = ratio * self.rows[seen] / (ratio * self.rows[seen] + 1)
        kept[::2] = 0.0
        variance = ratio * (away @ away - kept @ away[seen, None] ** 2) / width
        noise = np.sqrt(variance) * rng.standard_normal((count, width))
        return np.asarray(np.sum(((kept * away[seen]) @ self.means[seen] + noise) ** 2, axis=1))


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
    """Increase ratio (1 + sum (n_l/n)^2) of 1/m + 1/n if the m public rows are one more kind.

    The optimum of rows that are a group like the others lies as far from that of all records as one
    group's mean from the mean of all.

    Parameters
    ----------
    ratio : array (...), variance of the kinds' means over that of a record.
    sizes : array (n_owners,), records of each owner.
    """
    return np.asarray(ratio * float(1 + np.sum((sizes / sizes.sum()) ** 2)))


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


@dataclass(frozen=True)
class LossReports:
    """Owners' loss reports, and differences in kind by them.

    Parameters
    ----------
    query : the question.
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
        """Differences of gradients (p,), which kinds are taken to move as much as losses."""
        count = len(self.losses)
        none = np.zeros(count)
        return BetweenOwners(self.test, self.ratio, self.ratios, none, np.zeros((count, width)))

    def _odds_of(self, ratio: Array) -> Array:
        """Likelihood of ``off`` at a ratio, over that of a sample of all records."""
        wide = self.by_chance + kind_distance(ratio, self.sizes)
        exponent = self.off / 2 * (1 / self.by_chance - 1 / wide)
        return np.sqrt(self.by_chance / wide) * np.exp(exponent)

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
        return np.asarray(OWN_KIND * odds / (OWN_KIND * odds + 1 - OWN_KIND))

    @property
    def likely_distance(self) -> float:
        """`kind_distance` where a kind of their own is likelier than not; else 0."""
        if self.chance_of_own_kind(self.ratio) <= 0.5:
            return 0.0
        return float(kind_distance(np.array(self.ratio), self.sizes))

    def draw_distances(self, width: int, worlds: int, *, rng: Generator) -> Array:
        """Draw `kind_distance` for a trained model and the learner's own, (2, worlds).

        Independently, where a difference is found.

        Parameters
        ----------
        width : p, number of parameters.
        worlds : number of draws.
        rng : of the draws.
        """
        ratio = rng.choice(self.ratios, (2, worlds))
        own = rng.random(worlds) < self.chance_of_own_kind(ratio)
        distance = kind_distance(ratio, self.sizes)
        return np.asarray(own * distance * rng.chisquare(width, (2, worlds)) / width)


def fresh_losses(sample: PublicSample) -> Array:
    """Loss of each public row under the best model of other rows, (m,), by cross-validation."""
    fold = np.arange(sample.n_records) % FOLDS
    lost = np.empty(sample.n_records)
    for number in range(FOLDS):
        out = fold == number
        model, _ = sample.fit(sample.x[~out], sample.y[~out])
        scores = sample.loss.scores(sample.x[out], sample.y[out], model[None])
        lost[out] = sample.loss.value(scores)[0]
    return lost


def loss_query(
    sample: PublicSample, lost: Array, sizes: Array, epsilon: float, overlap: int
) -> LossQuery:
    """Question to all owners, with the bound that shows differences between owners best.

    Were an owner's losses larger by a small share, a report with bound B would move by the mean of
    losses below B; it is uncertain by var(min(loss, B))/n and the noise, which grows with B.

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

    with mu their mean weighted by 1/v_l, s^2 the variance of a record's loss on the m public rows,
    b_l the scale of the noise, and the public rows one more group, of variance s^2/m, where
    ``nameless``. The null distribution of Q comes from draws: bootstrap samples of the public rows,
    whose own s^2 is used, Gaussian means of records, Laplace noise.

    Parameters
    ----------
    query : the question.
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
    found = float(_weighted_deviation(np.append(losses, shown.mean())[:groups], variance))
    null = _null_of_reports(shown, sizes, noise, groups, rng)
    p_value = permutation_p_value(found, null)
    dof = max(groups - 1, 1)
    precision = np.sum(1 / variance)
    each = (precision - np.sum(variance**-2.0) / precision) / dof * spread
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
    shown: Array, sizes: Array, noise: Array, groups: int, rng: Generator
) -> Array:
    """Draws of the statistic if all are of one kind, (draws,)."""
    rows = len(shown)
    resampled = shown[rng.integers(rows, size=(DRAWS, rows))]
    least = LEAST * float(shown.max()) ** 2
    spread = np.maximum(resampled.var(axis=1, ddof=1), least)[:, None]
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
    return np.asarray(np.sum((points - centre) ** 2 * weights, axis=-1))


def homogeneity_of_answers(task: Task, public: Array, *, rng: Generator) -> dict[str, Homogeneity]:
    """Test whether the owners' first answers, given at the start, have one mean gradient.

        statistic = sum_l (a_l - mu)'V_l^-1 (a_l - mu),    V_l = v_l I + Sigma/n_l,

    with v_l the variance of the owner's noise, Sigma the covariance of a record's gradient on the
    public rows, and mu the mean weighted by V_l^-1. Noise is not Gaussian under every mechanism and
    Sigma is known from few rows only, so the p-value comes from draws: of the very noise, and of
    means of n_l records whose Sigma is as uncertain as the rows leave it (Sigma Sigma_b^-1 Sigma,
    over bootstrap samples b of them).

    Parameters
    ----------
    task : the training; its first run is tested.
    public : array (m, p), gradients of the public rows at the same start.
    rng : of the draws.

    Returns
    -------
    dict : "owners", among the owners; "public", among them and the public rows. Nothing is said
        about one mean alone, and of owners who share a noise only their sum is tested.

    Source: ours; a test of equal means with known parts of variance (Cochran 1937), calibrated by
        Monte Carlo.
    """
    axes = _principal_axes(public)
    seen = public @ axes
    sizes = task.sizes
    first = next(task.scale_factors)
    start = np.zeros((1, task.width))
    scales = [float(np.mean(np.square(owner.scale * first))) for owner in task.owners]
    power = np.array(scales) * task.mechanism.unit_variance
    noises = [owner.noise(task.mechanism, 1, task.streams).take(1)[0] for owner in task.owners]
    pairs = zip(task.owners, noises, strict=True)
    answers = np.array([owner.answer(start, noise)[0] for owner, noise in pairs]) @ axes
    spread = seen.var(axis=0, ddof=1)
    null = _null_of_answers(task, seen, spread, axes, rng)
    if not task.mechanism.whole:  # parts of one noise are too small to hide an answer alone
        shares = task.shares
        power = np.array([shares**2 @ power])
        sizes = np.array([1 / (shares**2 @ (1 / sizes))])
        answers = (shares @ answers)[None]
        drawn = np.einsum("k,dkp->dp", shares, null[:, :-1])[:, None]
        null = np.concatenate([drawn, null[:, -1:]], axis=1)
    points = np.vstack([answers, seen.mean(axis=0)])
    variance = np.append(power, 0.0)[:, None] + spread / np.append(sizes, len(public))[:, None]
    variance = np.maximum(variance, 1e-12 * variance.max())
    found = {}
    for name, count in (("owners", len(sizes)), ("public", len(sizes) + 1)):
        if count > 1:
            statistic = float(_answer_statistic(points[None, :count], variance[:count])[0])
            drawn = _answer_statistic(null[:, :count], variance[:count])
            p_value = permutation_p_value(statistic, drawn)
            found[name] = Homogeneity(statistic, (count - 1) * public.shape[1], p_value)
    return found


def _principal_axes(rows: Array) -> Array:
    """Principal axes of rows (m, p), (p, p) by column; the largest number of each is positive.

    A library may return either of two opposite axes, and draws along an axis depend on which.
    """
    axes = np.linalg.eigh(np.atleast_2d(np.cov(rows, rowvar=False)))[1]
    largest = np.abs(axes).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[largest, np.arange(len(axes))]))


def _answer_statistic(points: Array, variance: Array) -> Array:
    """Statistic (draws,) of points (draws, k, p), whose variances are (k, p)."""
    weights = 1 / variance
    mean = np.einsum("dkp,kp->dp", points, weights) / weights.sum(axis=0)
    return np.einsum("dkp,kp->d", (points - mean[:, None]) ** 2, weights)


def _null_of_answers(task: Task, seen: Array, spread: Array, axes: Array, rng: Generator) -> Array:
    """Draws (draws, k, p) of the answers if all are of one kind: sampled records, and noise."""
    sizes = np.append(task.sizes, len(seen))[:, None]
    width = len(axes)
    draws = int(np.clip(NUMBERS_DRAWN // (len(sizes) * width), LEAST_DRAWS, DRAWS))
    normal = rng.standard_normal((draws, len(sizes), width))
    count = affordable_count(draws, LEAST_COVARIANCES, width, power=2)
    roots = _covariance_roots(seen, spread, count, rng)
    null = np.stack([one @ roots[i % len(roots)] for i, one in enumerate(normal)])
    null *= np.sqrt(spread / sizes)
    first = next(task.scale_factors)
    for place, owner in enumerate(task.owners):
        for scale, _ in owner.as_sold.noise(task.mechanism, 1, task.streams).parts:
            drawn = task.mechanism.draw(1.0, (draws, width), rng=rng)
            null[:, place] += first * scale[0] * drawn @ axes
    return null


def _covariance_roots(seen: Array, spread: Array, count: int, rng: Generator) -> Array:
    """Sigma_b^(-1/2), (count, p, p), in units of Sigma, over bootstrap samples b of the rows."""
    rows = len(seen)
    white = (seen - seen.mean(axis=0)) / np.sqrt(np.maximum(spread, 1e-12 * spread.max()))
    shares = rng.multinomial(rows, np.full(rows, 1 / rows), count) / rows
    values, turned = np.linalg.eigh(np.stack([white.T * share @ white for share in shares]))
    scaled = turned / np.sqrt(np.maximum(values, 1e-3))[:, None, :]
    return np.asarray(scaled @ turned.swapaxes(1, 2))  # the same for any eigenvectors

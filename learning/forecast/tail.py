"""The tail of records' gradients, beyond the longest that the public rows show.

Clipping gradients to a radius c takes E(v - c)+ from their mean, v their lengths. A learner with
few rows sees little of that: none of 150 rows may have a length that one owner's record in 150 has.
Above a threshold lengths are taken to be generalised Pareto distributed; the estimate averages over
shapes and scales by their likelihood and a prior.

Source: Pickands, Statistical Inference Using Extreme Order Statistics (the law of what exceeds a
    high threshold); the prior, the radius that follows and the stretched rows are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from learning.arrays import Array
from learning.forecast.public_sample import PublicSample
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates, whitening_transform

TAIL_SHARE = 0.2  # of the lengths, the longest, that a tail is fitted to
SHAPE = 0.1  # mean and spread of the normal prior of the shape; 0 is an exponential tail
SPREAD = 0.2
SHAPES = np.arange(-0.39, 0.62, 0.05)  # none of them 0, where the formulas need a limit
SCALES = np.geomspace(0.35, 2.5, 40)  # in units of the mean excess
FURTHEST = 60.0  # end of the tail, in those units
CELLS = 64  # quantiles that the mean of one row's share of the tail is taken over
MOST_LEVERAGE = 0.8  # of a row: beyond it, it hardly shows the length of a fresh row
FURTHER_OUT = 3.0  # squared mean direction of what is clipped, over that at the threshold
RADII = np.geomspace(0.05, 50.0, 400)  # tried, in units of the threshold
SHARES = (np.arange(2000) + 0.5) / 2000  # at which the posterior of a share is summed up


@dataclass(frozen=True)
class Tail:
    """Lengths of gradients, with likely tails beyond the longest.

    Parameters
    ----------
    lengths : array (n,), rising, of the known rows.
    count : number of them in the tail.
    unit : their mean excess over the longest of the others.
    odds : array (shapes, scales), probability of each tail; sum 1.
    """

    lengths: Array = field(repr=False)
    count: int
    unit: float
    odds: Array = field(repr=False)

    @property
    def threshold(self) -> float:
        """Length where the tail begins."""
        return float(self.lengths[-self.count - 1])

    def squared_cut(self, radius: Array) -> Array:
        """Expected square of E(v - radius)+, (k,)."""
        below = np.minimum(self.lengths[:, None], self.threshold)
        inside = np.maximum(below - radius, 0.0).mean(axis=0)
        excess = np.maximum(radius - self.threshold, 0.0) / self.unit
        scales = self.unit * self.count / len(self.lengths) * SCALES / (1 - SHAPES[:, None])
        cut = inside + scales[..., None] * _pareto_powers(excess, 1 - 1 / SHAPES)
        return np.einsum("ab,abk->k", self.odds, cut**2)

    def draw_tail(self, rng: Generator) -> Tail:
        """Draw one of the likely tails."""
        odds = np.zeros(self.odds.size)
        odds[rng.choice(self.odds.size, p=self.odds.ravel())] = 1.0
        return replace(self, odds=odds.reshape(self.odds.shape))

    def expected_lengths(self) -> Array:
        """Mean length in each of ``count`` parts of the tail of equal probability, (count,)."""
        grid = np.concatenate([[0.0], np.geomspace(1e-3, FURTHEST, 400)])
        survives = np.einsum("ab,abk->k", self.odds, _pareto_powers(grid, -1 / SHAPES))
        cells = self.count * CELLS
        levels = 1 - (np.arange(cells) + 0.5) / cells
        excess = np.interp(-np.log(levels), -np.log(np.maximum(survives, 1e-300)), grid)
        mean = excess.reshape(self.count, CELLS).mean(axis=1)
        return self.threshold + self.unit * mean


def _pareto_powers(excess: Array, powers: Array) -> Array:
    """(1 + shape excess/scale)+^power, (shapes, scales, k), with a power for each shape."""
    base = np.maximum(1 + SHAPES[:, None, None] * excess / SCALES[:, None], 0.0)
    return base ** powers[:, None, None]


def fit_tail(lengths: Array) -> Tail:
    """Fit the tail of some lengths (n,), n >= 2: the posterior of its shape and scale.

    >>> tail = fit_tail(np.random.default_rng(0).exponential(size=10_000))
    >>> np.sqrt(tail.squared_cut(np.array([1.0, 3.0]))).round(3), np.exp([-1.0, -3.0]).round(3)
    (array([0.365, 0.05 ]), array([0.368, 0.05 ]))
    """
    rising = np.sort(lengths)
    count = max(1, int(TAIL_SHARE * len(lengths)))
    excess = rising[-count:] - rising[-count - 1]
    unit = max(float(excess.mean()), 1e-9 * float(rising[-1]), np.finfo(float).tiny)
    shapes = SHAPES[:, None]
    base = 1 + shapes[:, None] * (excess / unit) / SCALES[:, None]
    possible = base > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(possible, base, 0.0)).sum(axis=-1)
    likelihood = -count * np.log(SCALES) - (1 + 1 / shapes) * logs
    prior = 0.5 * ((shapes - SHAPE) / SPREAD) ** 2
    posterior = np.where(possible.all(axis=-1), likelihood, -np.inf) - prior
    odds = np.exp(posterior - posterior.max())
    return Tail(rising, count, unit, odds / odds.sum())


def _whiten_rows(x: Array) -> Array:
    return x @ whitening_transform(x.T @ x / len(x))


def fresh_gradients(sample: PublicSample, coordinates: Coordinates) -> Array:
    """Gradients at the start, (n, p), as of rows that neither model nor scale was fitted to.

    A row of leverage h lies 1/(1 - h) times as far from a model fitted without it, and is 1/sqrt(1
    - h) times as long under a scale found without it. (Of labels, only the latter.)
    """
    x = sample.x
    y = sample.y
    loss = sample.loss
    left = 1 - np.minimum(np.sum(_whiten_rows(x) ** 2, axis=1) / len(y), MOST_LEVERAGE)
    if not loss.labels:
        fitted = x @ sample.model
        y = fitted + (y - fitted) / left
    slopes = loss.derivative(loss.scores(x, y, coordinates.centre)) * (y if loss.labels else 1.0)
    return (slopes / np.sqrt(left))[:, None] * (x @ coordinates.transform)


def best_radius(sample: PublicSample, coordinates: Coordinates, noise: float) -> float:
    """Clipping radius of gradients that balances noise, which grows with it, and clipping bias.

    Both pass through the same curvature on their way to the model, so that it plays no part.
    Clipping biases the mean only as far as what it takes off points in one direction: its squared
    mean direction is measured on the public rows beyond the threshold, and taken to be larger
    further out (`FURTHER_OUT`).

    Parameters
    ----------
    sample : the public rows.
    coordinates : with the norm that gradients are clipped in.
    noise : variance per coordinate of an answer at a radius of 1, all owners' together.
    """
    gradients = fresh_gradients(sample, coordinates)
    lengths = coordinates.lengths(gradients)
    tail = fit_tail(lengths[lengths > 0])
    kept = np.maximum(0.0, 1 - tail.threshold / np.maximum(lengths, tail.unit))
    excess = gradients * kept[:, None]
    total = float(coordinates.lengths(excess).sum())
    aligned = 0.0
    if total > 0:
        mean_square = FURTHER_OUT * float(np.sum(excess.sum(axis=0) ** 2))
        aligned = max(mean_square, float(np.sum(excess**2))) / total**2
    radii = RADII * max(tail.threshold, tail.unit)
    error = aligned * tail.squared_cut(radii) + gradients.shape[1] * noise * radii**2
    return float(radii[np.argmin(error)])


def chance_share(square: float, chance: float, width: int) -> float:
    """Posterior mean B of a bias's own variance and of chance, the share that is chance.

    The bias of p numbers, of the given square on the rows, is normal a priori, of mean 0, and its
    estimate errs by the given chance in all; B has the uniform prior. Its density on (0, 1) is then
    B^(p/2) exp(-B p square/(2 chance)).

    Source: Strawderman, Proper Bayes Minimax Estimators of the Multivariate Normal Mean (1971);
        Daniels, A Prior for the Variance in Hierarchical Models (1999; the uniform prior of B).
    """
    logs = 0.5 * width * (np.log(SHARES) - SHARES * square / chance)
    odds = np.exp(logs - logs.max())
    return float(odds @ SHARES / odds.sum())


def expected_size(moves: Array, influence: Array) -> float:
    """Expected root mean square of a bias of clipping, over that which some rows show.

    With k = 1 - B (`chance_share`), the true bias has mean k d_0 and a mean square k (k |d_0|^2 +
    V), as in possible populations (`possible.shrink_biases`).

    Parameters
    ----------
    moves : array (n, p), of mean d_0.
    influence : array (n, p), of each row on d_0: their variance over n is that of d_0.
    """
    bias = moves.mean(axis=0)
    square = float(bias @ bias)
    chance = float(influence.var(axis=0).sum()) / len(influence)
    if not (square > 0 and chance > 0):
        return 1.0
    kept = 1 - chance_share(square, chance, len(bias))
    return float(np.sqrt(kept * (kept + chance / square)))


def stretch_residuals(
    sample: PublicSample, bounds: Coordinates, rng: Generator | None = None
) -> PublicSample:
    """Public rows with residuals of the lengths that the tail implies, and the same optimum.

    Where gradients or scores of squared loss are clipped; else the rows themselves. The longest
    rows get the mean lengths of their parts of the tail.

    Parameters
    ----------
    sample : the rows.
    bounds : of the training.
    rng : draws one of the likely tails; None averages over all of them.
    """
    if not sample.loss.quadratic or (bounds.clipping != RECORD and bounds.scores is None):
        return sample
    missed = sample.y - sample.x @ sample.model
    lengths = np.abs(missed) * np.linalg.norm(_whiten_rows(sample.x), axis=1)
    if not lengths.any():
        return sample
    tail = fit_tail(lengths)
    if rng is not None:
        tail = tail.draw_tail(rng)
    longest = np.argsort(lengths, kind="stable")[-tail.count :]
    shown = lengths[longest]
    longer = np.ones(len(lengths))
    ones = np.ones(tail.count)
    longer[longest] = np.divide(tail.expected_lengths(), shown, out=ones, where=shown > 0)
    added = (longer - 1) * missed
    away, *_ = np.linalg.lstsq(sample.x, added, rcond=None)
    return replace(sample, y=sample.y + added - sample.x @ away)

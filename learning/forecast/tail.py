"""How long records' gradients get beyond those that few public rows show: a tail fitted to the longest of them.

Clipping gradients to a radius c takes from the mean what lies beyond it, E(v - c)+ of their lengths v. A learner with few
rows sees little of that: none of 150 rows may have a length that one owner's record in 150 has. Above a threshold lengths
are taken to be generalised Pareto distributed, whatever they are below; its shape is known beforehand about as well as few
rows tell it, and what is not known is averaged over.

Source: Pickands, Statistical Inference Using Extreme Order Statistics (the law of what exceeds a high threshold); the prior,
the radius that follows and the stretched rows are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from learning.arrays import Array
from learning.forecast.public_sample import PublicSample
from learning.losses.coordinates import RECORD, Coordinates, whitening

SHARE = 0.2  # of the lengths, the longest, that a tail is fitted to
SHAPE, SPREAD = 0.1, 0.2  # what is known of the shape beforehand: a normal law; 0 is an exponential tail
SHAPES = np.arange(-0.39, 0.62, 0.05)  # none of them 0, where the formulas need a limit
SCALES = np.geomspace(0.35, 2.5, 40)  # in units of the mean excess
FURTHEST = 60.0  # where the tail is taken to end, in those units
CELLS = 64  # quantiles that the mean of one row's share of the tail is taken over
MOST_LEVERAGE = 0.8  # of a row on its own model: beyond that it hardly says how long a fresh one would be
FURTHER_OUT = 3.0  # times as much of what clipping takes off points one way at the radius as at the threshold
RADII = np.geomspace(0.05, 50.0, 400)  # tried, in units of the threshold


@dataclass(frozen=True)
class Tail:
    """Lengths of gradients, and how they go on beyond the longest.

    Parameters
    ----------
    lengths : array (n,), rising, of the rows that one has.
    count : of them, those in the tail.
    unit : their mean excess over the longest of the others.
    odds : array (shapes, scales), how likely each tail is, given these; sum 1.
    """

    lengths: Array = field(repr=False)
    count: int
    unit: float
    odds: Array = field(repr=False)

    @property
    def threshold(self) -> float:
        """Where the tail begins."""
        return float(self.lengths[-self.count - 1])

    def cut(self, radius: Array) -> Array:
        """Mean over what is likely of the square of E(v - radius)+, (k,)."""
        inside = np.maximum(np.minimum(self.lengths[:, None], self.threshold) - radius, 0.0).mean(axis=0)
        beyond = _powers(np.maximum(radius - self.threshold, 0.0) / self.unit, 1 - 1 / SHAPES)
        scales = self.unit * self.count / len(self.lengths) * SCALES / (1 - SHAPES[:, None])
        return np.asarray(np.einsum("ab,abk->k", self.odds, (inside + scales[..., None] * beyond) ** 2))

    def drawn(self, rng: np.random.Generator) -> Tail:
        """One of the tails that are likely, as if it were known."""
        odds = np.zeros(self.odds.size)
        odds[rng.choice(self.odds.size, p=self.odds.ravel())] = 1.0
        return replace(self, odds=odds.reshape(self.odds.shape))

    def expected(self) -> Array:
        """Mean length of each row of the tail, (count,), if the rows shared it evenly: the tail's own, from part to part."""
        grid = np.concatenate([[0.0], np.geomspace(1e-3, FURTHEST, 400)])
        survives = np.einsum("ab,abk->k", self.odds, _powers(grid, -1 / SHAPES))
        levels = 1 - (np.arange(self.count * CELLS) + 0.5) / (self.count * CELLS)
        excess = np.interp(-np.log(levels), -np.log(np.maximum(survives, 1e-300)), grid)
        return np.asarray(self.threshold + self.unit * excess.reshape(self.count, CELLS).mean(axis=1))


def _powers(excess: Array, powers: Array) -> Array:
    """(1 + shape excess/scale)+^power of every shape, with a power each, and scale: excess (k,) -> (shapes, scales, k)."""
    base = np.maximum(1 + SHAPES[:, None, None] * excess / SCALES[:, None], 0.0)
    return np.asarray(base ** powers[:, None, None])


def fit_tail(lengths: Array) -> Tail:
    """The tail of some lengths (n,), n >= 2: how likely each shape and scale is, given the longest of them.

    >>> tail = fit_tail(np.random.default_rng(0).exponential(size=10_000))
    >>> np.sqrt(tail.cut(np.array([1.0, 3.0]))).round(3), np.exp([-1.0, -3.0]).round(3)
    (array([0.365, 0.05 ]), array([0.368, 0.05 ]))
    """
    rising, rows = np.sort(lengths), len(lengths)
    count = max(1, int(SHARE * rows))
    excess = rising[-count:] - rising[-count - 1]
    unit = max(float(excess.mean()), 1e-9 * float(rising[-1]), np.finfo(float).tiny)
    base = 1 + SHAPES[:, None, None] * (excess / unit) / SCALES[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(base > 0, base, 0.0)).sum(axis=-1)
    told = -count * np.log(SCALES) - (1 + 1 / SHAPES[:, None]) * logs
    told = np.where((base > 0).all(axis=-1), told, -np.inf) - 0.5 * ((SHAPES[:, None] - SHAPE) / SPREAD) ** 2
    odds = np.exp(told - told.max())
    return Tail(rising, count, unit, odds / odds.sum())


def fresh_gradients(sample: PublicSample, coordinates: Coordinates) -> Array:
    """Gradients like those of the public rows, of records that shaped neither model nor scale, at the start, (n, p).

    A row of leverage h lies 1/(1 - h) times as far from a model fitted without it, and is 1/sqrt(1 - h) times as long under
    a scale found without it. (Of labels, only the latter.)
    """
    x, y, loss = sample.x, sample.y, sample.loss
    left = 1 - np.minimum(np.sum(_whitened(x) ** 2, axis=1) / len(y), MOST_LEVERAGE)
    if not loss.labels:
        fitted = x @ sample.model
        y = fitted + (y - fitted) / left
    slopes = loss.derivative(loss.scores(x, y, coordinates.centre)) * (y if loss.labels else 1.0)
    return np.asarray((slopes / np.sqrt(left))[:, None] * (x @ coordinates.transform))


def _whitened(x: Array) -> Array:
    return np.asarray(x @ whitening(x.T @ x / len(x)))


def radius_for(sample: PublicSample, coordinates: Coordinates, noise: float) -> float:
    """The radius that gradients are best clipped to: noise grows with it, and what clipping takes from the mean falls.

    Both pass through the same curvature on their way to the model, so that it plays no part. What is taken from records is
    a bias as far as it points one way: as far as it does on the public rows beyond the threshold, more so further out.

    Parameters
    ----------
    sample : the public rows.
    coordinates : with the norm that gradients are clipped in.
    noise : variance per coordinate of an answer at a radius of 1, all owners' together.
    """
    gradients = fresh_gradients(sample, coordinates)
    lengths = coordinates.lengths(gradients)
    tail = fit_tail(lengths[lengths > 0])
    excess = gradients * np.maximum(0.0, 1 - tail.threshold / np.maximum(lengths, tail.unit))[:, None]
    squares, total = float(np.sum(excess**2)), float(coordinates.lengths(excess).sum())
    aligned = max(FURTHER_OUT * float(np.sum(excess.sum(axis=0) ** 2)), squares) / total**2 if total > 0 else 0.0
    radii = RADII * max(tail.threshold, tail.unit)
    return float(radii[np.argmin(aligned * tail.cut(radii) + gradients.shape[1] * noise * radii**2)])


def chance_of_bias(whole: Array, kept: Array) -> float:
    """How much of the squared bias of clipping, as some rows show it, is chance: its variance over it, 1 at most.

    What clipping moves the optimum by is a difference of two means; its variance over the rows is that of their influence on
    it, with the curvature of those that are not clipped. (As `clipped_problem.chance_share` has it of clipped records.)

    Parameters
    ----------
    whole : array (n, p), gradients at the optimum.
    kept : array (n, p), the same clipped.
    """
    free = max(float(np.mean((whole == kept).all(axis=1))), 1 / len(whole))
    bias = float(np.sum(kept.mean(axis=0) ** 2)) / free**2
    chance = float((kept / free - whole).var(axis=0).sum()) / len(whole)
    return min(1.0, chance / bias) if bias > 0 else 0.0


def shown_by(sample: PublicSample, bounds: Coordinates, rng: np.random.Generator | None = None) -> PublicSample:
    """The rows that training is rehearsed on: stretched where each record's gradient is clipped."""
    return stretched(sample, rng) if bounds.clipping == RECORD else sample


def stretched(sample: PublicSample, rng: np.random.Generator | None = None) -> PublicSample:
    """The public rows with residuals as long as the tail of their gradients says, and the same optimum.

    The longest rows get the lengths that they would have on average if they shared the tail evenly. For squared loss.

    Parameters
    ----------
    sample : the rows.
    rng : where one of the likely tails is drawn; all of them are averaged over without.
    """
    if sample.loss.labels:
        return sample
    missed = sample.y - sample.x @ sample.model
    lengths = np.abs(missed) * np.linalg.norm(_whitened(sample.x), axis=1)
    if not lengths.any():
        return sample
    tail, longer = fit_tail(lengths), np.ones(len(lengths))
    tail = tail if rng is None else tail.drawn(rng)
    longest = np.argsort(lengths, kind="stable")[-tail.count :]
    shown = lengths[longest]
    longer[longest] = np.divide(tail.expected(), shown, out=np.ones(tail.count), where=shown > 0)
    added = (longer - 1) * missed
    away, *_ = np.linalg.lstsq(sample.x, added, rcond=None)
    return replace(sample, y=sample.y + added - sample.x @ away)

"""Squared errors of predictions that are held to the target's public range.

A prediction beyond the range counts as its nearest end. Where features are made of columns, a few
rows far out hold much of the squared error of unheld predictions, and nearly all that noise and few
records add to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.public_sample import MOST_LEVERAGE, PublicSample
from learning.losses.loss import UNBOUNDED


@dataclass(frozen=True)
class HeldShares:
    """Shares of a mean squared error, part by part, that are left once predictions are held.

    Parameters
    ----------
    ends : range of the encoded target.
    best : of the error of the best model.
    noise : of what noise adds, if it is white in whitened coordinates.
    few : of what a finite number of records adds.
    worlds : array (m,), ``best`` in each possible world; (1,) where there is one.
    own_lost : error of the learner's own model over that of the public model, unheld, as relative
        fitness counts it: on average, and in each world (m,).
    own_held : the same of held predictions.
    """

    ends: tuple[float, float] = UNBOUNDED
    best: float = 1.0
    noise: float = 1.0
    few: float = 1.0
    worlds: Array = field(default_factory=lambda: np.ones(1), repr=False)
    own_lost: tuple[float, Array] = field(default=(1.0, np.ones(1)), repr=False)
    own_held: tuple[float, Array] = field(default=(1.0, np.ones(1)), repr=False)


def find_held_shares(sample: PublicSample, chosen: NDArray[np.intp]) -> HeldShares:
    """Find, by the public rows, what is left of squared errors once predictions are held.

    Row i misses the best model by r_i/sqrt(1 - h_i), where r_i is the residual of the public model
    and h_i the leverage (HC2). A prediction beyond the range does not move with the model. With X
    all rows, W those within, M = (X'X/n)^-1 and S = mean r^2 xx', the shares of what noise and few
    records add are tr(W'W M)/tr(X'X M) and tr(W'W M S M)/tr(X'X M S M). Of a network, which hardly
    predicts beyond the range, nothing is taken off.

    Parameters
    ----------
    sample : the public rows.
    chosen : array (m, n), rows of the bootstrap sample that stands for each possible world. Its
        share is reflected, as f* is in `learning.forecast.possible`.
    """
    if sample.ends == UNBOUNDED:
        return HeldShares()
    shares = HeldShares(sample.ends)
    if not sample.loss.linear:
        return shares
    other = sample.other_kind
    if other is not None:
        own_lost = divide(other.lost[0], other.lost[1], chosen)
        own_held = divide(other.held[0], other.held[1], chosen)
        shares = replace(shares, own_lost=own_lost, own_held=own_held)
    x = sample.x
    residual = sample.y - x @ sample.fit(x, sample.y)[0]
    toward = x @ np.linalg.pinv(x.T @ x / len(x), hermitian=True)
    leverage = np.sum(toward * x, axis=1)
    unseen = residual / np.sqrt(1 - np.minimum(leverage / len(x), MOST_LEVERAGE))
    said = sample.y - unseen
    held = np.clip(said, *sample.ends)
    within = held == said
    if within.all():
        return shares
    best, worlds = divide((held - sample.y) ** 2, unseen**2, chosen)
    spread = toward.T @ (toward * residual[:, None] ** 2)
    moved = np.sum(x @ spread * x, axis=1)
    noise, few = (float(part[within].sum() / part.sum()) for part in (leverage, moved))
    return replace(shares, best=best, noise=noise, few=few, worlds=best**2 / worlds)


def divide(one: Array, other: Array, chosen: NDArray[np.intp]) -> tuple[float, Array]:
    """Mean of one value of each row (n,) over that of another: of all rows, and in each world."""
    return float(one.sum() / other.sum()), one[chosen].sum(axis=1) / other[chosen].sum(axis=1)

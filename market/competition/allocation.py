"""How an owner's budget may be divided among learners, everybody else fixed: what each division brings it.

The certificate looks for what owners could still gain by another division, without slopes.
An owner's surplus is a sum of gains, each of one learner's budget alone, less a cost of the sum, so lines along one
budget or from one learner to another see all there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import scipy

from market.equilibrium.starts import log_interval
from market.equilibrium.stopping import upper_ends
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.game.search import ROUNDING

LEAST = 1e-9  # part of an owner's upper end below which a budget is not told from 0, as in `market.game.search`
POINTS = 256  # splits looked at for each owner before the pattern search
STARTS = 3  # of them that it starts from, besides where the owner stands


def even_split(links: np.ndarray) -> np.ndarray:
    """Each learner's part of a budget that an owner splits evenly among those it is linked to (n_owners, n_learners)."""
    return links / np.maximum(links.sum(axis=1), 1)[:, None]


@dataclass(frozen=True)
class Allocations:
    """The unilateral moves of some owners (n,), each a row of budgets: one `Deviations` for each learner.

    ``links`` (n, n_learners) says who may sell to whom, and ``at`` (n, n_learners) where the owners stand.
    """

    owners: Owners
    links: np.ndarray
    deviations: tuple[Deviations, ...]
    at: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The smallest budget above 0 that is told from 0, (n,)."""
        return LEAST * upper_ends(self.owners)

    def gains(self, j: int, epsilon: np.ndarray) -> np.ndarray:
        """Payment and benefit from learner j at candidates (n, m)."""
        gain = self.deviations[j].payments(epsilon) + self.deviations[j].benefits(epsilon)
        return np.where(self.links[:, j : j + 1], gain, 0.0)

    def gain_slopes(self, j: int, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `gains` at candidates above 0."""
        return self.deviations[j].slopes(epsilon) + self.owners.cost.slope(epsilon, self.owners.sizes)

    def surplus(self, rows: np.ndarray) -> np.ndarray:
        """Surplus (n, m) at candidate rows (n, m, n_learners)."""
        gains = sum(self.gains(j, rows[..., j]) for j in range(rows.shape[-1]))
        return gains - self.owners.costs(rows.sum(axis=-1))

    def money(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gains and cost at rows (n, n_learners), each in full, and their changes from half of all budgets, (n,) each."""
        at = np.stack([rows, rows / 2], axis=1)
        gains = [self.gains(j, at[..., j]) for j in range(rows.shape[1])]
        terms = np.stack([*gains, self.owners.costs(at.sum(axis=-1))])
        return np.abs(terms[..., 0]).sum(axis=0), np.abs(terms[..., 0] - terms[..., 1]).sum(axis=0)


def certificate(moves: Allocations) -> tuple[np.ndarray, np.ndarray]:
    """Regret of standing where the owners do, and its scale, (n,) each, as in `market.game.game.Game.certificate`."""
    own, everyone = moves.at, np.arange(len(moves.at))
    rows = np.concatenate([own[:, None, :], _candidates(moves)], axis=1)
    heights = moves.surplus(rows)
    have, order = heights[:, 0], np.argsort(-heights, axis=1)[:, :STARTS]
    starts = np.concatenate([own[:, None, :], np.take_along_axis(rows, order[..., None], axis=1)], axis=1)
    found = [_pattern_search(moves, starts[:, k]) for k in range(starts.shape[1])]
    top = np.argmax([height for _, height in found], axis=0)
    place, best = (np.stack(part)[top, everyone] for part in zip(*found, strict=True))
    (here, _), (there, moved) = moves.money(own), moves.money(place)
    gain = np.where(best - have > ROUNDING * (here + there), best - have, 0.0)
    return gain, gain + moved


def _candidates(moves: Allocations) -> np.ndarray:
    """Rows (n, m, n_learners): the least budget split evenly, all with each learner, jumps, low-discrepancy splits."""
    low, high = moves.owners.epsilon_min, moves.owners.epsilon_max
    count, n_learners = moves.links.shape
    share = even_split(moves.links)[:, None, :]
    alone = np.where(moves.links[..., None], np.eye(n_learners), share)
    special = [low[:, None, None] * share, high[:, None, None] * alone]
    for j, deviations in enumerate(moves.deviations):
        jumps = np.clip(deviations.breakpoints(), low[:, None], high[:, None])
        special.append(jumps[..., None] * alone[:, j, None])
    draws = scipy.stats.qmc.Halton(n_learners + 1, scramble=False).random(POINTS + 1)[1:]
    member = (np.arange(1, POINTS + 1)[:, None] >> np.arange(n_learners)) % 2 == 1
    weights = np.where(member & moves.links[:, None, :], -np.log(draws[:, 1:]), 0.0)
    weights = np.where(weights.any(axis=-1, keepdims=True), weights, share)
    weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    lower, ratio = log_interval(low[:, None], high[:, None], lowest=1e-6)
    even = low[:, None] + (high - low)[:, None] * draws[:, 0]
    totals = np.where(np.arange(POINTS) // 2**n_learners % 2 == 0, even, lower * ratio ** draws[:, 0])
    return np.concatenate([*special, totals[..., None] * weights], axis=1)


def _pattern_search(moves: Allocations, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The row of highest surplus found from rows (n, n_learners), and its surplus (n,): steps that halve at a top."""
    n_learners = rows.shape[1]
    unit = np.eye(n_learners)
    ways = np.array([*unit, *-unit, *(unit[a] - unit[b] for a, b in permutations(range(n_learners), 2))])
    low, high = moves.owners.epsilon_min[:, None], moves.owners.epsilon_max[:, None]
    of_all = high[..., None] * ways
    everyone, step = np.arange(len(rows)), np.full((len(rows), 1, 1), 0.1)
    best = moves.surplus(rows[:, None, :])[:, 0]
    for _ in range(120):
        of_largest = rows.max(axis=1)[:, None, None] * ways
        trials = rows[:, None] + step * np.concatenate([of_all, of_largest], axis=1)
        sold = moves.links[:, None, :] & (trials >= moves.least[:, None, None])
        trials = np.where(sold, trials, 0.0)
        totals = trials.sum(axis=-1)
        fits = (totals >= low) & (totals <= high)
        trials = np.where(fits[..., None], trials, rows[:, None])
        heights = moves.surplus(trials)
        top = heights.argmax(axis=1)
        up = heights[everyone, top] > best
        rows = np.where(up[:, None], trials[everyone, top], rows)
        best = np.where(up, heights[everyone, top], best)
        step = np.where(up[:, None, None], step, 0.5 * step)
        if step.max() < 1e-9:
            break
    return rows, best

"""Allocations of an owner's budget among learners, everyone else fixed, and their certificate.

The certificate searches for gains by other allocations, without slopes. An owner's surplus is a sum
of gains, each of one learner's budget alone, less a cost of the sum, so lines along one budget or
from one learner to another suffice.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import scipy

from market.columns import Array, Pair
from market.equilibrium.starts import log_interval
from market.equilibrium.stopping import upper_ends
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.game.search import DECADES, ROUNDING

# Random allocations of each owner before the pattern search, and starts from the best of them.
POINTS = 256
STARTS = 3
# Steps of a pattern search, and the first and last of them.
STEPS = 120
FIRST_STEP = 0.1
LAST_STEP = 1e-9


def even_split(links: Array) -> Array:
    """Even split of a unit budget among the linked learners (n_owners, n_learners)."""
    return links / np.maximum(links.sum(axis=1), 1)[:, None]


@dataclass(frozen=True)
class Allocations:
    """The unilateral deviations of some owners (n,), each a row of budgets, one per learner.

    Parameters
    ----------
    owners : Owners
    links : (n, n_learners), bool, who may sell to whom
    deviations : one for each learner
    at : (n, n_learners), the present budgets
    """

    owners: Owners
    links: Array
    deviations: tuple[Deviations, ...]
    at: Array

    @property
    def smallest_budget(self) -> Array:
        """The smallest budget that is distinguished from 0, (n,)."""
        return 10.0**-DECADES * upper_ends(self.owners)

    def learner_gains(self, j: int, epsilon: Array) -> Array:
        """Payment and benefit from learner j at candidates (n, m)."""
        gain = self.deviations[j].payments(epsilon) + self.deviations[j].benefits(epsilon)
        return np.where(self.links[:, j : j + 1], gain, 0.0)

    def learner_slopes(self, j: int, epsilon: Array) -> Array:
        """Derivative of `learner_gains` at candidates above 0."""
        cost = self.owners.cost.marginal_cost(epsilon, self.owners.sizes)
        return self.deviations[j].marginal_surplus(epsilon) + cost

    def row_surplus(self, rows: Array) -> Array:
        """Surplus (n, m) at candidate rows (n, m, n_learners)."""
        gains = sum(self.learner_gains(j, rows[..., j]) for j in range(rows.shape[-1]))
        return gains - self.owners.costs(rows.sum(axis=-1))

    def money_moved(self, rows: Array) -> Pair:
        """Money at rows (n, n_learners), in full, and its change from half of all budgets, (n,)."""
        at = np.stack([rows, rows / 2], axis=1)
        gains = [self.learner_gains(j, at[..., j]) for j in range(rows.shape[1])]
        terms = np.stack([*gains, self.owners.costs(at.sum(axis=-1))])
        return np.abs(terms[..., 0]).sum(axis=0), np.abs(terms[..., 0] - terms[..., 1]).sum(axis=0)


def certify_allocations(moves: Allocations) -> Pair:
    """Regret of the present budgets, and its scale, (n,) each, as `Game.certificate`."""
    own = moves.at[:, None, :]
    rows = np.concatenate([own, _candidate_rows(moves)], axis=1)
    heights = moves.row_surplus(rows)
    have = heights[:, 0]
    order = np.argsort(-heights, axis=1)[:, :STARTS]
    starts = np.concatenate([own, np.take_along_axis(rows, order[..., None], axis=1)], axis=1)
    found = [_pattern_search(moves, starts[:, k]) for k in range(starts.shape[1])]
    top = np.argmax([height for _, height in found], axis=0)
    everyone = np.arange(len(have))
    place, best = (np.stack(part)[top, everyone] for part in zip(*found, strict=True))
    here = moves.money_moved(moves.at)[0]
    there, moved = moves.money_moved(place)
    gain = np.where(best - have > ROUNDING * (here + there), best - have, 0.0)
    return gain, gain + moved


def _candidate_rows(moves: Allocations) -> Array:
    """Rows (n, m, n_learners): the least budget, one learner alone, jumps, random splits."""
    low = moves.owners.epsilon_min[:, None]
    high = moves.owners.epsilon_max[:, None]
    n_learners = moves.links.shape[1]
    share = even_split(moves.links)[:, None, :]
    alone = np.where(moves.links[..., None], np.eye(n_learners), share)
    special = [low[..., None] * share, high[..., None] * alone]
    for j, deviations in enumerate(moves.deviations):
        jumps = np.clip(deviations.payment_jumps(), low, high)
        special.append(jumps[..., None] * alone[:, j, None])
    draws = scipy.stats.qmc.Halton(n_learners + 1, scramble=False).random(POINTS + 1)[1:]
    member = (np.arange(1, POINTS + 1)[:, None] >> np.arange(n_learners)) % 2 == 1
    weights = np.where(member & moves.links[:, None, :], -np.log(draws[:, 1:]), 0.0)
    weights = np.where(weights.any(axis=-1, keepdims=True), weights, share)
    weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    lower, ratio = log_interval(low, high, lowest=1e-6)
    even = low + (high - low) * draws[:, 0]
    uniform = np.arange(POINTS) // 2**n_learners % 2 == 0
    totals = np.where(uniform, even, lower * ratio ** draws[:, 0])
    return np.concatenate([*special, totals[..., None] * weights], axis=1)


def _pattern_search(moves: Allocations, rows: Array) -> Pair:
    """Row of highest surplus from rows (n, n_learners), and it (n,): steps that halve at a top."""
    n_learners = rows.shape[1]
    unit = np.eye(n_learners)
    transfers = [unit[a] - unit[b] for a, b in permutations(range(n_learners), 2)]
    ways = np.array([*unit, *-unit, *transfers])
    low = moves.owners.epsilon_min[:, None]
    high = moves.owners.epsilon_max[:, None]
    of_all = high[..., None] * ways
    everyone = np.arange(len(rows))
    step = np.full((len(rows), 1, 1), FIRST_STEP)
    best = moves.row_surplus(rows[:, None, :])[:, 0]
    for _ in range(STEPS):
        of_largest = rows.max(axis=1)[:, None, None] * ways
        trials = rows[:, None] + step * np.concatenate([of_all, of_largest], axis=1)
        sold = moves.links[:, None, :] & (trials >= moves.smallest_budget[:, None, None])
        trials = np.where(sold, trials, 0.0)
        totals = trials.sum(axis=-1)
        fits = (totals >= low) & (totals <= high)
        trials = np.where(fits[..., None], trials, rows[:, None])
        heights = moves.row_surplus(trials)
        top = heights.argmax(axis=1)
        up = heights[everyone, top] > best
        rows = np.where(up[:, None], trials[everyone, top], rows)
        best = np.where(up, heights[everyone, top], best)
        step = np.where(up[:, None, None], step, 0.5 * step)
        if step.max() < LAST_STEP:
            break
    return rows, best

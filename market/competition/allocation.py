"""Allocations of an owner's budget among learners: the best ones, and their certificate.

The best ones are searched for all owners at once, along lines: one learner's budget, or a transfer
between two learners. The certificate searches for gains by other allocations, without slopes. An
owner's surplus is a sum of gains, each of one learner's budget alone, less a cost of the sum, so
lines along one budget or from one learner to another suffice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations

import numpy as np
import scipy

from market.columns import Array, Pair
from market.equilibrium.starts import log_interval
from market.equilibrium.stopping import upper_ends
from market.game.deviations import Deviations
from market.game.grids import DECADES
from market.game.owners import Owners
from market.game.search import ROUNDING, root_uphill

# Random allocations of each owner before the pattern search, and starts from the best of them.
POINTS = 256
STARTS = 3
# Steps of a pattern search, and the first and last of them.
STEPS = 120
FIRST_STEP = 0.1
LAST_STEP = 1e-9
# Parts of an owner's budget on the grid on which it is first split.
CUTS = 48
# Sweeps over all lines at most, and Newton's steps between them.
SWEEPS = 100
NEWTON = 12
# Relative step of its differences; it sets the speed, not the result.
NUDGE = 1e-5
# Relative violation of first-order conditions that counts as 0.
SATISFIED = 1e-10
# Moves of a budget below this part of the owner's upper end end the search.
SETTLED = 1e-13
TINY = np.finfo(float).eps
_NEAR_ENDS = np.geomspace(1e-7, 0.5, 22)
FRACTIONS = np.unique(np.concatenate([[0, 1], _NEAR_ENDS, 1 - _NEAR_ENDS]))


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


@dataclass(frozen=True)
class Line:
    """Rows along one budget, ``second``, or along a transfer to it from the learner ``first``."""

    moves: Allocations
    second: int
    first: int | None = None

    def budget_interval(self, rows: Array) -> tuple[Array, Array, Array]:
        """Ends of the second learner's budget (n, 1), and the fixed part of the sum (n, 1)."""
        owners = self.moves.owners
        link = self.moves.links
        here = rows[:, self.second]
        if self.first is None:
            fixed = rows.sum(axis=1) - here
            low = np.where(link[:, self.second], np.maximum(owners.epsilon_min - fixed, 0.0), 0.0)
            high = np.where(link[:, self.second], np.maximum(owners.epsilon_max - fixed, low), 0.0)
        else:
            both = link[:, self.first] & link[:, self.second]
            fixed = rows[:, self.first] + here
            low = np.where(both, 0.0, here)
            high = np.where(both, fixed, here)
        return low[:, None], high[:, None], fixed[:, None]

    def surplus_at(self, epsilon: Array, fixed: Array) -> Array:
        """Surplus at candidates (n, m), up to a constant of the line."""
        gain = self.moves.learner_gains(self.second, epsilon)
        if self.first is None:
            return gain - self.moves.owners.costs(fixed + epsilon)
        return gain + self.moves.learner_gains(self.first, self.first_budget(epsilon, fixed))

    def first_budget(self, epsilon: Array, fixed: Array) -> Array:
        """Budget of the first of two learners (n, m); a jump missed by rounding is attained."""
        assert self.first is not None
        rest = np.maximum(fixed - epsilon, 0.0)
        for jump in self.moves.deviations[self.first].payment_jumps().T:
            rest = np.where(np.abs(rest - jump[:, None]) <= 4 * TINY * fixed, jump[:, None], rest)
        return rest

    def slope_at(self, epsilon: Array, fixed: Array) -> Array:
        """Derivative of `surplus_at` at candidates above 0."""
        moves = self.moves
        slope = moves.learner_slopes(self.second, epsilon)
        if self.first is None:
            return slope - moves.owners.cost.marginal_cost(fixed + epsilon, moves.owners.sizes)
        rest = np.maximum(fixed - epsilon, moves.smallest_budget[:, None])
        return slope - moves.learner_slopes(self.first, rest)

    def candidate_budgets(self, rows: Array) -> Array:
        """Candidates (n, m), rising: dense at both ends, with jumps and the present budget."""
        low, high, fixed = self.budget_interval(rows)
        deviations = self.moves.deviations
        even = np.where(FRACTIONS == 1, high, low + (high - low) * FRACTIONS)
        least = self.moves.smallest_budget[:, None]
        marks = [deviations[self.second].payment_jumps(), rows[:, self.second, None], least]
        if self.first is not None:
            marks += [fixed - deviations[self.first].payment_jumps(), fixed - least]
        grid = np.clip(np.hstack([even, *marks]), low, high)
        grid = np.where((grid < least) & (low == 0), 0.0, grid)
        if self.first is not None:
            grid = np.where(fixed - grid < (1 - 1e-6) * least, high, grid)
        return np.sort(grid, axis=1)

    def largest_gain(self, rows: Array) -> Array:
        """Gain of the best candidate over the present budget (n,)."""
        fixed = self.budget_interval(rows)[2]
        heights = self.surplus_at(self.candidate_budgets(rows), fixed)
        return heights.max(axis=1) - self.surplus_at(rows[:, self.second, None], fixed)[:, 0]

    def move_to_maximum(self, rows: Array) -> None:
        """Move rows (n, n_learners) to the line's maximum; of equal ones to the smallest budget."""
        fixed = self.budget_interval(rows)[2]
        grid = self.candidate_budgets(rows)
        everyone = np.arange(len(rows))
        heights = self.surplus_at(grid, fixed)
        best = heights.max(axis=1)
        top = np.argmax(heights >= (best - ROUNDING * np.abs(best))[:, None], axis=1)
        place = grid[everyone, top]
        height = heights[everyone, top]
        start = np.where(place > 0, place, 1.0)
        steepness = self.slope_at(start[:, None], fixed)[:, 0]
        near = grid[everyone, np.clip(top + np.where(steepness > 0, 1, -1), 0, grid.shape[1] - 1)]
        inside = (place > 0) & (near > 0) & (near != place)
        slope = partial(self.slope_at, fixed=fixed)
        root = root_uphill(slope, start, np.where(inside, near, start), steepness)
        root_height = self.surplus_at(root[:, None], fixed)[:, 0]
        better = inside & (root_height >= height - ROUNDING * np.abs(height))
        budget = np.where(better, root, place)
        if self.first is not None:
            rows[:, self.first] = self.first_budget(budget[:, None], fixed)[:, 0]
        rows[:, self.second] = budget


def best_rows(moves: Allocations) -> Array:
    """The best row of each owner (n, n_learners)."""
    here = refine_rows(moves, moves.at)
    if not (moves.links.sum(axis=1) > 1).any():
        return here
    split = best_split(moves)
    width = 1.5 * moves.owners.epsilon_max / CUTS
    # The grid finds the same local maximum.
    if np.all(np.abs(split - here) <= width[:, None]):
        return here
    there = refine_rows(moves, split)
    heights = moves.row_surplus(np.stack([here, there], axis=1))
    better = heights[:, 1] > heights[:, 0] + ROUNDING * np.abs(heights[:, 0])
    return np.where(better[:, None], there, here)


def refine_rows(moves: Allocations, rows: Array) -> Array:
    """Local maxima from rows (n, n_learners): line searches until none gains, and Newton steps."""
    rows = np.array(rows, dtype=float)
    if rows.shape[1] == 1:
        return moves.deviations[0].best_responses()[:, None]
    width = upper_ends(moves.owners)[:, None]
    for _ in range(SWEEPS):
        rows, settled = newton_rows(moves, rows)
        slack = ROUNDING * np.abs(moves.row_surplus(rows[:, None])[:, 0])
        if settled and not any(np.any(x.largest_gain(rows) > slack) for x in search_lines(moves)):
            break
        before = rows.copy()
        for line in search_lines(moves):
            line.move_to_maximum(rows)
        if np.max(np.abs(rows - before) / width) <= SETTLED:
            break
    return rows


def search_lines(moves: Allocations) -> Iterator[Line]:
    """Lines of every learner alone, and of every transfer between two."""
    for j in range(moves.links.shape[1]):
        yield Line(moves, j)
    for first, second in combinations(range(moves.links.shape[1]), 2):
        yield Line(moves, second, first)


def newton_rows(moves: Allocations, rows: Array) -> tuple[Array, bool]:
    """Newton's method on the first-order conditions of budgets above 0, and whether all hold.

    ``gain_j' = mu`` for every budget above 0, and ``mu = cost'`` of the sum, or at an end of the
    owner's interval the sum stays. A step is taken only where surplus does not fall.
    """
    free = rows > 2 * moves.smallest_budget[:, None]
    if not free.any():
        return rows, True
    low, high = moves.owners.interval
    total = rows.sum(axis=1)
    bound = (total >= high * (1 - 1e-12)) | (total <= low * (1 + 1e-12))
    held = np.clip(total, low, high)
    now = rows
    wrong = np.full(len(rows), np.inf)
    step = np.zeros_like(rows)
    for _ in range(NEWTON):
        trial = now + step
        total = trial.sum(axis=1)
        # A step along the end of the interval leaves it by rounding alone: restore the sum.
        back = np.divide(held, total, out=np.ones_like(total), where=bound & (total > 0))
        trial = trial * back[:, None]
        total = trial.sum(axis=1)
        within = (total >= low * (1 - 1e-15)) & (total <= high * (1 + 1e-15))
        fits = within & np.all((trial > 0) | ~free, axis=1)
        trial = np.where(fits[:, None], trial, now)
        step, error = _newton_step(moves, trial, free, bound)
        better = fits & (error < wrong)
        now = np.where(better[:, None], trial, now)
        wrong = np.where(better, error, wrong)
        step = np.where(better[:, None], step, 0.0)
        if not step.any():
            break
    heights = moves.row_surplus(np.stack([rows, now], axis=1))
    kept = heights[:, 1] >= heights[:, 0] - ROUNDING * np.abs(heights[:, 0])
    return np.where(kept[:, None], now, rows), bool(np.all(kept & (wrong <= SATISFIED)))


def _newton_step(moves: Allocations, rows: Array, free: Array, bound: Array) -> Pair:
    """Newton's step from rows (n, n_learners), and the relative violation of conditions (n,)."""
    count, n_learners = rows.shape
    at = np.where(rows > 0, rows, 1.0)
    total = rows.sum(axis=1)
    total = np.where(total > 0, total, 1.0)
    around = 1 + NUDGE * np.array([-1, 0, 1])
    each = [moves.learner_slopes(j, at[:, j, None] * around) for j in range(n_learners)]
    slopes = np.stack(each, axis=1)
    costs = moves.owners.cost.marginal_cost(total[:, None] * around, moves.owners.sizes)
    bends = (slopes[..., 2] - slopes[..., 0]) / (2 * NUDGE * at)
    bend = (costs[:, 2] - costs[:, 0]) / (2 * NUDGE * total)
    matrix = np.zeros((count, n_learners + 1, n_learners + 1))
    inside = np.arange(n_learners)
    matrix[:, inside, inside] = np.where(free, bends, 1.0)
    matrix[:, :-1, -1] = np.where(free, -1.0, 0.0)
    matrix[:, -1, :-1] = np.where(free, np.where(bound, 1.0, bend)[:, None], 0.0)
    matrix[:, -1, -1] = np.where(bound, 0.0, -1.0)
    right = np.zeros((count, n_learners + 1, 1))
    right[:, :-1, 0] = np.where(free, -slopes[..., 1], 0.0)
    right[:, -1, 0] = np.where(bound, 0.0, -costs[:, 1])
    solution = (np.linalg.pinv(matrix) @ right)[..., 0]
    price = np.where(bound, solution[:, -1], costs[:, 1])
    error = np.abs(np.where(free, slopes[..., 1] - price[:, None], 0.0)).max(axis=1)
    scale = np.maximum(np.abs(slopes[..., 1] * free).max(axis=1), TINY)
    return np.where(free, solution[:, :-1], 0.0), error / scale


def best_split(moves: Allocations) -> Array:
    """Best row of each owner on an even grid of its budget (n, n_learners): dynamic programming."""
    count, n_learners = moves.links.shape
    step = moves.owners.epsilon_max[:, None] / CUTS
    parts = np.arange(CUTS + 1)
    # Rest of a budget (rows) when this learner gets a part of it (columns).
    before = parts[:, None] - parts
    budgets = step * parts
    best = np.where(parts > 0, -np.inf, np.zeros((count, 1)))
    choices = []
    for j in range(n_learners):
        sells = moves.links[:, j, None] | (parts == 0)
        gains = np.where(sells, moves.learner_gains(j, budgets), -np.inf)
        trials = np.where(before >= 0, best[:, before] + gains[:, None, :], -np.inf)
        choices.append(trials.argmax(axis=2))
        best = trials.max(axis=2)
    heights = best - moves.owners.costs(budgets)
    heights = np.where(budgets < moves.owners.epsilon_min[:, None], -np.inf, heights)
    left = heights.argmax(axis=1)
    everyone = np.arange(count)
    rows = np.zeros((count, n_learners), dtype=int)
    for j in reversed(range(n_learners)):
        rows[:, j] = choices[j][everyone, left]
        left = left - rows[:, j]
    return rows * step

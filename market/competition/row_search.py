"""The best division of every owner's budget among learners: a global search, all owners at once.

Searches go along lines: one learner's budget, or a transfer between two learners.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from market.competition.allocation import Allocations
from market.equilibrium.stopping import upper_ends
from market.game.search import ROUNDING, root_uphill

STEPS = 48  # of the grid on which an owner's budget is first split
SWEEPS = 100  # line searches over all learners and pairs of learners, at most
NEWTON = 12  # steps of Newton's method between sweeps, at most
NUDGE = 1e-5  # relative step of its differences; they set its speed, not its answer
SATISFIED = 1e-10  # first-order conditions that hold to this part of the slopes do hold
SETTLED = 1e-13  # searches that move a budget by less, relative to the owner's upper end, are done
TINY = np.finfo(float).eps
FRACTIONS = np.unique(np.concatenate([[0, 1], np.geomspace(1e-7, 0.5, 22), 1 - np.geomspace(1e-7, 0.5, 22)]))


@dataclass(frozen=True)
class Line:
    """One budget of each row, the others fixed; or, with ``first``, what is moved from the first learner to the second."""

    moves: Allocations
    second: int
    first: int | None = None

    def interval(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lower and upper ends of the second learner's budget (n, 1), and what of the row's sum is fixed (n, 1)."""
        owners, link = self.moves.owners, self.moves.links
        if self.first is None:
            rest = rows.sum(axis=1) - rows[:, self.second]
            low = np.where(link[:, self.second], np.maximum(owners.epsilon_min - rest, 0.0), 0.0)
            high = np.where(link[:, self.second], np.maximum(owners.epsilon_max - rest, low), 0.0)
            return low[:, None], high[:, None], rest[:, None]
        both = (link[:, self.first] & link[:, self.second])[:, None]
        total = (rows[:, self.first] + rows[:, self.second])[:, None]
        here = rows[:, self.second, None]
        return np.where(both, 0.0, here), np.where(both, total, here), total

    def value(self, epsilon: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """Surplus at candidates (n, m), up to what the line does not change."""
        gain = self.moves.gains(self.second, epsilon)
        if self.first is None:
            return gain - self.moves.owners.costs(fixed + epsilon)
        return gain + self.moves.gains(self.first, self.rest(epsilon, fixed))

    def rest(self, epsilon: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """What is left for the first of two learners (n, m); a jump that rounding would miss is met."""
        assert self.first is not None
        rest = np.maximum(fixed - epsilon, 0.0)
        for jump in self.moves.deviations[self.first].breakpoints().T:
            rest = np.where(np.abs(rest - jump[:, None]) <= 4 * TINY * fixed, jump[:, None], rest)
        return rest

    def slope(self, epsilon: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """Derivative of `value` at candidates above 0."""
        slope = self.moves.gain_slopes(self.second, epsilon)
        if self.first is None:
            return slope - self.moves.owners.cost.slope(fixed + epsilon, self.moves.owners.sizes)
        return slope - self.moves.gain_slopes(self.first, np.maximum(fixed - epsilon, self.moves.least[:, None]))

    def grid(self, rows: np.ndarray) -> np.ndarray:
        """Candidates (n, m), rising: close together at both ends, with jumps and the present place; no trifles but 0."""
        low, high, fixed = self.interval(rows)
        even = np.where(FRACTIONS == 1, high, low + (high - low) * FRACTIONS)
        here, least = rows[:, self.second, None], self.moves.least[:, None]
        marks = [self.moves.deviations[self.second].breakpoints(), here, least]
        if self.first is not None:
            marks += [fixed - self.moves.deviations[self.first].breakpoints(), fixed - least]
        grid = np.clip(np.hstack([even, *marks]), low, high)
        grid = np.where((grid < least) & (low == 0), 0.0, grid)
        if self.first is not None:
            grid = np.where(fixed - grid < (1 - 1e-6) * least, high, grid)
        return np.sort(grid, axis=1)

    def improvement(self, rows: np.ndarray) -> np.ndarray:
        """How much the best candidate gains over the present place (n,)."""
        fixed = self.interval(rows)[2]
        heights = self.value(self.grid(rows), fixed)
        return heights.max(axis=1) - self.value(rows[:, self.second, None], fixed)[:, 0]

    def maximise(self, rows: np.ndarray) -> None:
        """Move rows (n, n_learners) to the line's maximum; of equal ones to that with the smallest budget."""
        fixed, grid, everyone = self.interval(rows)[2], self.grid(rows), np.arange(len(rows))
        heights = self.value(grid, fixed)
        best = heights.max(axis=1)
        top = np.argmax(heights >= (best - ROUNDING * np.abs(best))[:, None], axis=1)
        place, height = grid[everyone, top], heights[everyone, top]
        start = np.where(place > 0, place, 1.0)
        steepness = self.slope(start[:, None], fixed)[:, 0]
        near = grid[everyone, np.clip(top + np.where(steepness > 0, 1, -1), 0, grid.shape[1] - 1)]
        inside = (place > 0) & (near > 0) & (near != place)
        slope = partial(self.slope, fixed=fixed)
        root = root_uphill(slope, start, np.where(inside, near, start), steepness)
        better = inside & (self.value(root[:, None], fixed)[:, 0] >= height - ROUNDING * np.abs(height))
        budget = np.where(better, root, place)
        if self.first is not None:
            rows[:, self.first] = self.rest(budget[:, None], fixed)[:, 0]
        rows[:, self.second] = budget


def best_rows(moves: Allocations) -> np.ndarray:
    """The best row of each owner (n, n_learners)."""
    here = refine(moves, moves.at)
    if not (moves.links.sum(axis=1) > 1).any():
        return here
    split = best_split(moves)
    width = 1.5 * moves.owners.epsilon_max / STEPS
    if np.all(np.abs(split - here) <= width[:, None]):  # the same local maximum
        return here
    there = refine(moves, split)
    heights = moves.surplus(np.stack([here, there], axis=1))
    better = heights[:, 1] > heights[:, 0] + ROUNDING * np.abs(heights[:, 0])
    return np.where(better[:, None], there, here)


def refine(moves: Allocations, rows: np.ndarray) -> np.ndarray:
    """Local maxima from rows (n, n_learners): line searches until none leads up, Newton's method between."""
    rows = np.array(rows, dtype=float)
    if rows.shape[1] == 1:
        return moves.deviations[0].best_responses()[:, None]
    width = upper_ends(moves.owners)[:, None]
    for _ in range(SWEEPS):
        rows, settled = newton(moves, rows)
        slack = ROUNDING * np.abs(moves.surplus(rows[:, None])[:, 0])
        if settled and not any(np.any(line.improvement(rows) > slack) for line in lines(moves)):
            break
        before = rows.copy()
        for line in lines(moves):
            line.maximise(rows)
        if np.max(np.abs(rows - before) / width) <= SETTLED:
            break
    return rows


def lines(moves: Allocations) -> Iterator[Line]:
    """Every learner alone, and every transfer between two."""
    for j in range(moves.links.shape[1]):
        yield Line(moves, j)
    for first, second in combinations(range(moves.links.shape[1]), 2):
        yield Line(moves, second, first)


def newton(moves: Allocations, rows: np.ndarray) -> tuple[np.ndarray, bool]:
    """Newton's method on the first-order conditions of what is bought at all (n, n_learners), and whether all hold.

    ``gain_j' = mu`` for every budget above 0, and ``mu = cost'`` of the sum, or at an end of the owner's interval
    the sum stays. Taken only where it does not lead down.
    """
    free = rows > 2 * moves.least[:, None]
    if not free.any():
        return rows, True
    low, high, total = moves.owners.epsilon_min, moves.owners.epsilon_max, rows.sum(axis=1)
    bound = (total >= high * (1 - 1e-12)) | (total <= low * (1 + 1e-12))
    held = np.clip(total, low, high)
    now, wrong, step = rows, np.full(len(rows), np.inf), np.zeros_like(rows)
    for _ in range(NEWTON):
        trial = now + step
        total = trial.sum(axis=1)
        # a step along the end of the interval leaves it by rounding alone: put the sum back
        back = np.divide(held, total, out=np.ones_like(total), where=bound & (total > 0))
        trial = trial * back[:, None]
        total = trial.sum(axis=1)
        within = (total >= low * (1 - 1e-15)) & (total <= high * (1 + 1e-15))
        fits = within & np.all((trial > 0) | ~free, axis=1)
        trial = np.where(fits[:, None], trial, now)
        step, error = _newton_step(moves, trial, free, bound)
        better = fits & (error < wrong)
        now, wrong = np.where(better[:, None], trial, now), np.where(better, error, wrong)
        step = np.where(better[:, None], step, 0.0)
        if not step.any():
            break
    heights = moves.surplus(np.stack([rows, now], axis=1))
    kept = heights[:, 1] >= heights[:, 0] - ROUNDING * np.abs(heights[:, 0])
    return np.where(kept[:, None], now, rows), bool(np.all(kept & (wrong <= SATISFIED)))


def _newton_step(
    moves: Allocations, rows: np.ndarray, free: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step from rows (n, n_learners), and by what part of the slopes the conditions fail (n,)."""
    count, n_learners = rows.shape
    at, total = np.where(rows > 0, rows, 1.0), rows.sum(axis=1)
    total = np.where(total > 0, total, 1.0)
    around = 1 + NUDGE * np.array([-1, 0, 1])
    slopes = np.stack([moves.gain_slopes(j, at[:, j, None] * around) for j in range(n_learners)], axis=1)
    costs = moves.owners.cost.slope(total[:, None] * around, moves.owners.sizes)
    bends = (slopes[..., 2] - slopes[..., 0]) / (2 * NUDGE * at)
    bend = (costs[:, 2] - costs[:, 0]) / (2 * NUDGE * total)
    matrix = np.zeros((count, n_learners + 1, n_learners + 1))
    inside = np.arange(n_learners)
    matrix[:, inside, inside] = np.where(free, bends, 1.0)
    matrix[:, :-1, -1] = np.where(free, -1.0, 0.0)
    matrix[:, -1, :-1] = np.where(free, np.where(bound, 1.0, bend)[:, None], 0.0)
    matrix[:, -1, -1] = np.where(bound, 0.0, -1.0)
    right = np.concatenate([np.where(free, -slopes[..., 1], 0.0), np.where(bound, 0.0, -costs[:, 1])[:, None]], axis=1)
    solution = (np.linalg.pinv(matrix) @ right[..., None])[..., 0]
    price = np.where(bound, solution[:, -1], costs[:, 1])
    error = np.abs(np.where(free, slopes[..., 1] - price[:, None], 0.0)).max(axis=1)
    return np.where(free, solution[:, :-1], 0.0), error / np.maximum(np.abs(slopes[..., 1] * free).max(axis=1), TINY)


def best_split(moves: Allocations) -> np.ndarray:
    """The best row of each owner on a grid of equal steps of its budget (n, n_learners): dynamic programming."""
    count, n_learners = moves.links.shape
    step = moves.owners.epsilon_max[:, None] / STEPS
    parts = np.arange(STEPS + 1)
    before = parts[:, None] - parts  # of a budget (rows), when this learner gets a part of it (columns)
    budgets = step * parts
    best, choices = np.where(parts > 0, -np.inf, np.zeros((count, 1))), []
    for j in range(n_learners):
        gains = np.where(moves.links[:, j, None] | (parts == 0), moves.gains(j, budgets), -np.inf)
        trials = np.where(before >= 0, best[:, before] + gains[:, None, :], -np.inf)
        choices.append(trials.argmax(axis=2))
        best = trials.max(axis=2)
    heights = best - moves.owners.costs(budgets)
    heights = np.where(budgets < moves.owners.epsilon_min[:, None], -np.inf, heights)
    left, everyone = heights.argmax(axis=1), np.arange(count)
    rows = np.zeros((count, n_learners), dtype=int)
    for j in reversed(range(n_learners)):
        rows[:, j] = choices[j][everyone, left]
        left = left - rows[:, j]
    return rows * step

"""Searches along one line of an owner's budgets: one learner's budget, or a transfer between two learners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from market.competition.allocation import Allocations
from market.game.search import ROUNDING, root_uphill

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
        jumps = self.moves.deviations[self.second].breakpoints()
        if self.first is not None:
            jumps = np.hstack([jumps, fixed - self.moves.deviations[self.first].breakpoints()])
        here, least = rows[:, self.second, None], self.moves.least[:, None]
        edges = [least] if self.first is None else [least, fixed - least]
        grid = np.clip(np.hstack([even, jumps, here, *edges]), low, high)
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
        slope_there = self.slope(np.where(place > 0, place, 1.0)[:, None], fixed)[:, 0]
        near = grid[everyone, np.clip(top + np.where(slope_there > 0, 1, -1), 0, grid.shape[1] - 1)]
        inside = (place > 0) & (near > 0) & (near != place)
        idle = np.where(place > 0, place, 1.0)
        near = np.where(inside, near, idle)
        root = root_uphill(lambda epsilon: self.slope(epsilon, fixed), idle, near, slope_there)
        better = inside & (self.value(root[:, None], fixed)[:, 0] >= height - ROUNDING * np.abs(height))
        budget = np.where(better, root, place)
        if self.first is not None:
            rows[:, self.first] = self.rest(budget[:, None], fixed)[:, 0]
        rows[:, self.second] = budget

"""How one owner divides its budget among learners, everybody else fixed: a global search, and an independent one.

Both treat all owners at once, a row of budgets each. An owner's surplus is a sum of gains, each of one learner's
budget alone, less a cost of the sum, so lines along one budget or from one learner to another see all there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import qmc

from market.game import Moves
from market.owners import Owners
from market.search import ROUNDING, best_place, maximise

if TYPE_CHECKING:
    from market.competition import Competition

STEPS = 48  # of the grid on which an owner's budget is first split
SWEEPS = 100  # line searches over all learners and pairs of learners, at most
POINTS = 256  # splits the certificate looks at for each owner before it climbs
CLIMBERS = 3  # of them that it climbs from, besides where the owner stands


@dataclass(frozen=True)
class Choice:
    """What some owners look at before they choose their rows, everybody else fixed: one `Moves` for each learner."""

    owners: Owners
    links: np.ndarray
    moves: tuple[Moves, ...]
    at: np.ndarray

    @classmethod
    def of(cls, market: Competition, profile: np.ndarray, owners: np.ndarray | None = None) -> Choice:
        """The choice of all owners at a profile, or of those numbered in ``owners`` (n,)."""
        moves = tuple(game.moves(profile[:, j], owners) for j, game in enumerate(market.games))
        if owners is None:
            return cls(market.owners, market.links, moves, profile)
        return cls(market.owners.take(owners), market.links[owners], moves, profile[owners])

    def gains(self, j: int, epsilon: np.ndarray) -> np.ndarray:
        """Payment and benefit from learner j at candidates (n, m)."""
        gain = self.moves[j].payments(epsilon) + self.moves[j].benefits(epsilon)
        return np.where(self.links[:, j : j + 1], gain, 0.0)

    def gain_slopes(self, j: int, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of `gains` at candidates above 0."""
        return self.moves[j].slopes(epsilon) + self.owners.cost.slope(epsilon, self.owners.sizes)

    def surplus(self, rows: np.ndarray) -> np.ndarray:
        """Surplus (n, m) at candidate rows (n, m, n_learners)."""
        gains = sum(self.gains(j, rows[..., j]) for j in range(rows.shape[-1]))
        return gains - self.owners.costs(rows.sum(axis=-1))

    def best(self) -> np.ndarray:
        """The best row of each owner (n, n_learners)."""
        here = self.refine(self.at)
        if not (self.links.sum(axis=1) > 1).any():
            return here
        split = self.split()
        width = 1.5 * self.owners.epsilon_max / STEPS
        if np.all(np.abs(split - here) <= width[:, None]):  # the same summit
            return here
        there = self.refine(split)
        heights = self.surplus(np.stack([here, there], axis=1))
        better = heights[:, 1] > heights[:, 0] + ROUNDING * np.abs(heights[:, 0])
        return np.where(better[:, None], there, here)

    def refine(self, rows: np.ndarray) -> np.ndarray:
        """Climb from rows (n, n_learners) by line searches until none moves."""
        rows, n_learners = np.array(rows, dtype=float), self.links.shape[1]
        width = np.where(self.owners.epsilon_max > 0, self.owners.epsilon_max, 1.0)[:, None]
        for _ in range(SWEEPS if n_learners > 1 else 1):
            before = rows.copy()
            for j in range(n_learners):
                rows[:, j] = self._alone(rows, j)
            for first, second in combinations(range(n_learners), 2):
                total = rows[:, first] + rows[:, second]
                rows[:, second] = self._transfer(total, first, second)
                rows[:, first] = total - rows[:, second]
            if np.max(np.abs(rows - before) / width) <= 1e-13:
                break
        return rows

    def _alone(self, rows: np.ndarray, j: int) -> np.ndarray:
        """The best budget for learner j (n,), the rest of each row fixed."""
        rest = (rows.sum(axis=1) - rows[:, j])[:, None] if rows.shape[1] > 1 else np.zeros((len(rows), 1))
        owners, link = self.owners, self.links[:, j]
        low = np.where(link, np.maximum(owners.epsilon_min - rest[:, 0], 0.0), 0.0)
        high = np.where(link, np.maximum(owners.epsilon_max - rest[:, 0], low), 0.0)

        def value(epsilon: np.ndarray) -> np.ndarray:
            return self.gains(j, epsilon) - owners.costs(rest + epsilon)

        def slope(epsilon: np.ndarray) -> np.ndarray:
            return self.gain_slopes(j, epsilon) - owners.cost.slope(rest + epsilon, owners.sizes)

        return _highest(value, slope, low, high, self.moves[j].breakpoints())

    def _transfer(self, total: np.ndarray, first: int, second: int) -> np.ndarray:
        """The best part (n,) of a total (n,) to give the second of two learners, the first having the rest."""
        both = self.links[:, first] & self.links[:, second]
        low = np.where(self.links[:, first], 0.0, total)
        high = np.where(both | ~self.links[:, first], total, 0.0)
        total = total[:, None]

        def value(epsilon: np.ndarray) -> np.ndarray:
            return self.gains(second, epsilon) + self.gains(first, np.maximum(total - epsilon, 0.0))

        def slope(epsilon: np.ndarray) -> np.ndarray:
            rest = np.maximum(total - epsilon, np.finfo(float).eps * total)
            return self.gain_slopes(second, epsilon) - self.gain_slopes(first, rest)

        jumps = np.hstack([self.moves[second].breakpoints(), total - self.moves[first].breakpoints()])
        return _highest(value, slope, low, high, jumps)

    def split(self) -> np.ndarray:
        """The best row of each owner on a grid of equal steps of its budget (n, n_learners): dynamic programming."""
        count, n_learners = self.links.shape
        step = self.owners.epsilon_max[:, None] / STEPS
        budgets = step * np.arange(STEPS + 1)
        best, choices = np.where(np.arange(STEPS + 1) > 0, -np.inf, np.zeros((count, 1))), []
        for j in range(n_learners):
            gains = self.gains(j, np.where(self.links[:, j : j + 1], budgets, 0.0))
            gains[:, 1:] = np.where(self.links[:, j : j + 1], gains[:, 1:], -np.inf)
            fresh, choice = np.full(budgets.shape, -np.inf), np.zeros(budgets.shape, dtype=int)
            for part in range(STEPS + 1):
                trial = best[:, : STEPS + 1 - part] + gains[:, part : part + 1]
                better = trial > fresh[:, part:]
                fresh[:, part:] = np.where(better, trial, fresh[:, part:])
                choice[:, part:] = np.where(better, part, choice[:, part:])
            best = fresh
            choices.append(choice)
        heights = best - self.owners.costs(budgets)
        heights = np.where(budgets < self.owners.epsilon_min[:, None], -np.inf, heights)
        left, everyone = heights.argmax(axis=1), np.arange(count)
        rows = np.zeros((count, n_learners), dtype=int)
        for j in reversed(range(n_learners)):
            rows[:, j] = choices[j][everyone, left]
            left = left - rows[:, j]
        return rows * step

    def certificate(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret of standing at rows ``own`` (n, n_learners), and its scale, (n,) each."""
        rows = np.concatenate([own[:, None, :], self._spread()], axis=1)
        heights = self.surplus(rows)
        have, ends = heights[:, 0], heights[:, 1 : 2 + self.links.shape[1]]
        order = np.argsort(-heights, axis=1)[:, :CLIMBERS]
        starts = np.concatenate([own[:, None, :], np.take_along_axis(rows, order[..., None], axis=1)], axis=1)
        best = np.max([self._climb(starts[:, k]) for k in range(starts.shape[1])], axis=0)
        best = np.maximum(best, heights.max(axis=1))
        money = sum(np.abs(self.gains(j, own[:, j : j + 1]))[:, 0] for j in range(own.shape[1]))
        money = money + np.abs(self.owners.costs(own.sum(axis=1)))
        gain = np.where(best - have > ROUNDING * money, best - have, 0.0)
        return gain, best - ends.min(axis=1)

    def _spread(self) -> np.ndarray:
        """Rows (n, m, n_learners): the least budget split evenly, all with each learner, jumps, low-discrepancy splits."""
        low, high = self.owners.epsilon_min, self.owners.epsilon_max
        count, n_learners = self.links.shape
        share = self.links / np.maximum(self.links.sum(axis=1), 1)[:, None]
        alone = np.eye(n_learners)[None] * self.links[:, None, :]
        special = [(low[:, None] * share)[:, None, :], np.where(alone.any(-1)[..., None], alone, share[:, None])]
        special[1] = special[1] * high[:, None, None]
        for j, moves in enumerate(self.moves):
            jumps = np.clip(moves.breakpoints(), low[:, None], high[:, None])[..., None]
            special.append(np.where(self.links[:, j, None, None], jumps * alone[:, j : j + 1], special[0]))
        draws = qmc.Halton(n_learners + 1, scramble=False).random(POINTS + 1)[1:]
        member = (np.arange(1, POINTS + 1)[:, None] >> np.arange(n_learners)) % 2 == 1
        weights = np.where(member & self.links[:, None, :], -np.log(draws[:, 1:]), 0.0)
        weights = np.where(weights.any(axis=-1, keepdims=True), weights, share[:, None, :])
        weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
        quiet = np.where(low > 0, low, 1e-6 * high)[:, None]
        ratio = np.divide(high[:, None], quiet, out=np.ones_like(quiet), where=quiet > 0)
        even = low[:, None] + (high - low)[:, None] * draws[:, 0]
        totals = np.where(np.arange(POINTS) // 2**n_learners % 2 == 0, even, quiet * ratio ** draws[:, 0])
        return np.concatenate([*special, totals[..., None] * weights], axis=1)

    def _climb(self, rows: np.ndarray) -> np.ndarray:
        """Highest surplus (n,) met on the way up from rows (n, n_learners): steps that halve where none leads up."""
        n_learners = rows.shape[1]
        unit = np.eye(n_learners)
        ways = np.array([*unit, *-unit, *(unit[a] - unit[b] for a, b in permutations(range(n_learners), 2))])
        low, high = self.owners.epsilon_min[:, None], self.owners.epsilon_max[:, None]
        everyone, step = np.arange(len(rows)), np.full((len(rows), 1, 1), 0.1)
        best = self.surplus(rows[:, None, :])[:, 0]
        for _ in range(120):
            largest = rows.max(axis=1)[:, None, None]
            trials = np.concatenate(
                [rows[:, None] + step * high[..., None] * ways, rows[:, None] + step * largest * ways], 1
            )
            trials = np.where(self.links[:, None, :], np.maximum(trials, 0.0), 0.0)
            totals = trials.sum(axis=-1)
            fits = (totals >= low) & (totals <= high)
            trials = np.where(fits[..., None], trials, rows[:, None])
            heights = self.surplus(trials)
            top = heights.argmax(axis=1)
            up = heights[everyone, top] > best
            rows = np.where(up[:, None], trials[everyone, top], rows)
            best = np.where(up, heights[everyone, top], best)
            step = np.where(up[:, None, None], step, 0.5 * step)
            if step.max() < 1e-9:
                break
        return best


def _highest(value: Any, slope: Any, low: np.ndarray, high: np.ndarray, jumps: np.ndarray) -> np.ndarray:
    """Where a line is highest (n,), jumps (n, j) considered besides; of equal heights the smallest."""
    smooth = maximise(value, slope, low, high)
    if not jumps.size:
        return smooth
    places = np.column_stack([smooth, np.clip(jumps, low[:, None], high[:, None])])
    return best_place(places, value(places))

"""How one owner divides its budget among learners, everybody else fixed: a global search, and an independent one.

Both treat all owners at once, a row of budgets each. An owner's surplus is a sum of gains, each of one learner's
budget alone, less a cost of the sum, so lines along one budget or from one learner to another see all there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc

from market.game.deviations import Deviations
from market.game.owners import Owners
from market.game.search import ROUNDING, argmax, falling_root, maximise

if TYPE_CHECKING:
    from market.competition.market import Competition

STEPS = 48  # of the grid on which an owner's budget is first split
SWEEPS = 100  # line searches over all learners and pairs of learners, at most
NEWTON = 12  # steps of Newton's method between sweeps, at most
NUDGE = 1e-5  # relative step of its differences; they set its speed, not its answer
SATISFIED = 1e-10  # first-order conditions that hold to this part of the slopes do hold
SETTLED = 1e-13  # searches that move a budget by less, relative to the owner's upper end, are done
LEAST = 1e-9  # part of an owner's upper end below which a budget is not told from 0, as in `market.game.search`
TINY = np.finfo(float).eps
FRACTIONS = np.unique(np.concatenate([[0, 1], np.geomspace(1e-7, 0.5, 22), 1 - np.geomspace(1e-7, 0.5, 22)]))
POINTS = 256  # splits the certificate looks at for each owner before it climbs
CLIMBERS = 3  # of them that it climbs from, besides where the owner stands


@dataclass(frozen=True)
class Choice:
    """What some owners look at before they choose their rows, everybody else fixed: one `Deviations` for each learner."""

    owners: Owners
    links: np.ndarray
    deviations: tuple[Deviations, ...]
    at: np.ndarray

    @classmethod
    def of(cls, market: Competition, profile: np.ndarray, owners: np.ndarray | None = None) -> Choice:
        """The choice of all owners at a profile, or of those numbered in ``owners`` (n,)."""
        deviations = tuple(game.deviations(profile[:, j], owners) for j, game in enumerate(market.games))
        if owners is None:
            return cls(market.owners, market.links, deviations, profile)
        return cls(market.owners.take(owners), market.links[owners], deviations, profile[owners])

    @property
    def least(self) -> np.ndarray:
        """The smallest budget above 0 that is told from 0, (n,)."""
        return LEAST * np.where(self.owners.epsilon_max > 0, self.owners.epsilon_max, 1.0)

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
        """Climb from rows (n, n_learners): line searches until no line leads up, Newton's method between."""
        rows = np.array(rows, dtype=float)
        if rows.shape[1] == 1:
            low, high = np.where(self.links[:, 0], [self.owners.epsilon_min, self.owners.epsilon_max], 0.0)
            return self._only(low, high)[:, None]
        width = np.where(self.owners.epsilon_max > 0, self.owners.epsilon_max, 1.0)[:, None]
        for _ in range(SWEEPS):
            rows, settled = self._newton(rows)
            slack = ROUNDING * np.abs(self.surplus(rows[:, None])[:, 0])
            if settled and not any(np.any(line.rise(rows) > slack) for line in self.lines()):
                break
            before = rows.copy()
            for line in self.lines():
                line.search(rows)
            if np.max(np.abs(rows - before) / width) <= SETTLED:
                break
        return rows

    def lines(self) -> Iterator[Line]:
        """Every learner alone, and every transfer between two."""
        for j in range(self.links.shape[1]):
            yield Line(self, j)
        for first, second in combinations(range(self.links.shape[1]), 2):
            yield Line(self, second, first)

    def _only(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The best budget (n,) for the only learner, by the search of every market."""
        deviations = self.deviations[0]
        smooth, jumps = maximise(deviations.payoffs, deviations.slopes, low, high), deviations.breakpoints()
        places = np.column_stack([smooth, np.clip(jumps, low[:, None], high[:, None])])
        return argmax(places, deviations.payoffs(places))

    def _newton(self, rows: np.ndarray) -> tuple[np.ndarray, bool]:
        """Newton's method on the first-order conditions of what is bought at all (n, n_learners), and whether all hold.

        ``gain_j' = mu`` for every budget above 0, and ``mu = cost'`` of the sum, or at an end of the owner's interval
        the sum stays. Taken only where it does not lead down.
        """
        free = rows > 2 * self.least[:, None]
        if not free.any():
            return rows, True
        total = rows.sum(axis=1)
        bound = (total >= self.owners.epsilon_max * (1 - 1e-12)) | (total <= self.owners.epsilon_min * (1 + 1e-12))
        held = np.clip(total, self.owners.epsilon_min, self.owners.epsilon_max)
        now, wrong, step = rows, np.full(len(rows), np.inf), np.zeros_like(rows)
        for _ in range(NEWTON):
            trial = now + step
            total = trial.sum(axis=1)
            # a step along the end of the interval leaves it by rounding alone: put the sum back
            back = np.where(bound & (total > 0), held / np.where(total > 0, total, 1.0), 1.0)
            trial = trial * back[:, None]
            total = trial.sum(axis=1)
            fits = np.all((trial > 0) | ~free, axis=1) & (total <= self.owners.epsilon_max * (1 + 1e-15))
            fits &= total >= self.owners.epsilon_min * (1 - 1e-15)
            trial = np.where(fits[:, None], trial, now)
            step, error = self._newton_step(trial, free, bound)
            better = fits & (error < wrong)
            now, wrong = np.where(better[:, None], trial, now), np.where(better, error, wrong)
            step = np.where(better[:, None], step, 0.0)
            if not step.any():
                break
        heights = self.surplus(np.stack([rows, now], axis=1))
        kept = heights[:, 1] >= heights[:, 0] - ROUNDING * np.abs(heights[:, 0])
        return np.where(kept[:, None], now, rows), bool(np.all(kept & (wrong <= SATISFIED)))

    def _newton_step(self, rows: np.ndarray, free: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Newton's step from rows (n, n_learners), and by what part of the slopes the conditions fail (n,)."""
        count, n_learners = rows.shape
        at, total = np.where(rows > 0, rows, 1.0), rows.sum(axis=1)
        total = np.where(total > 0, total, 1.0)
        near, middle = (
            at[..., None] * (1 + NUDGE * np.array([-1, 0, 1])),
            total[:, None] * (1 + NUDGE * np.array([-1, 0, 1])),
        )
        slopes = np.stack([self.gain_slopes(j, near[:, j]) for j in range(n_learners)], axis=1)
        costs = self.owners.cost.slope(middle, self.owners.sizes)
        bends, bend = (
            (slopes[..., 2] - slopes[..., 0]) / (2 * NUDGE * at),
            (costs[:, 2] - costs[:, 0]) / (2 * NUDGE * total),
        )
        matrix = np.zeros((count, n_learners + 1, n_learners + 1))
        inside = np.arange(n_learners)
        matrix[:, inside, inside] = np.where(free, bends, 1.0)
        matrix[:, :-1, -1] = np.where(free, -1.0, 0.0)
        matrix[:, -1, :-1] = np.where(free, np.where(bound, 1.0, bend)[:, None], 0.0)
        matrix[:, -1, -1] = np.where(bound, 0.0, -1.0)
        right = np.concatenate(
            [np.where(free, -slopes[..., 1], 0.0), np.where(bound, 0.0, -costs[:, 1])[:, None]], axis=1
        )
        answer = (np.linalg.pinv(matrix) @ right[..., None])[..., 0]
        price = np.where(bound, answer[:, -1], costs[:, 1])
        error = np.abs(np.where(free, slopes[..., 1] - price[:, None], 0.0)).max(axis=1)
        return np.where(free, answer[:, :-1], 0.0), error / np.maximum(np.abs(slopes[..., 1] * free).max(axis=1), TINY)

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
        for j, deviations in enumerate(self.deviations):
            jumps = np.clip(deviations.breakpoints(), low[:, None], high[:, None])[..., None]
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
            told = self.links[:, None, :] & (trials >= self.least[:, None, None])
            trials = np.where(told, trials, 0.0)
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


@dataclass(frozen=True)
class Line:
    """One budget of each row, the others fixed; or, with ``first``, what is moved from the first learner to the second."""

    choice: Choice
    second: int
    first: int | None = None

    def interval(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lower and upper ends of the second learner's budget (n, 1), and what of the row's sum is fixed (n, 1)."""
        owners, link = self.choice.owners, self.choice.links
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
        gain = self.choice.gains(self.second, epsilon)
        if self.first is None:
            return gain - self.choice.owners.costs(fixed + epsilon)
        return gain + self.choice.gains(self.first, self.rest(epsilon, fixed))

    def rest(self, epsilon: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """What is left for the first of two learners (n, m); a jump that rounding would miss is met."""
        assert self.first is not None
        rest = np.maximum(fixed - epsilon, 0.0)
        for jump in self.choice.deviations[self.first].breakpoints().T:
            rest = np.where(np.abs(rest - jump[:, None]) <= 4 * TINY * fixed, jump[:, None], rest)
        return rest

    def slope(self, epsilon: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """Derivative of `value` at candidates above 0."""
        slope = self.choice.gain_slopes(self.second, epsilon)
        if self.first is None:
            return slope - self.choice.owners.cost.slope(fixed + epsilon, self.choice.owners.sizes)
        return slope - self.choice.gain_slopes(self.first, np.maximum(fixed - epsilon, self.choice.least[:, None]))

    def grid(self, rows: np.ndarray) -> np.ndarray:
        """Candidates (n, m), rising: close together at both ends, with jumps and the present place; no trifles but 0."""
        low, high, fixed = self.interval(rows)
        even = np.where(FRACTIONS == 1, high, low + (high - low) * FRACTIONS)
        jumps = self.choice.deviations[self.second].breakpoints()
        if self.first is not None:
            jumps = np.hstack([jumps, fixed - self.choice.deviations[self.first].breakpoints()])
        here, least = rows[:, self.second, None], self.choice.least[:, None]
        edges = [least] if self.first is None else [least, fixed - least]
        grid = np.clip(np.hstack([even, jumps, here, *edges]), low, high)
        grid = np.where((grid < least) & (low == 0), 0.0, grid)
        if self.first is not None:
            grid = np.where(fixed - grid < (1 - 1e-6) * least, high, grid)
        return np.sort(grid, axis=1)

    def rise(self, rows: np.ndarray) -> np.ndarray:
        """How much the best candidate gains over the present place (n,)."""
        fixed = self.interval(rows)[2]
        heights = self.value(self.grid(rows), fixed)
        return heights.max(axis=1) - self.value(rows[:, self.second, None], fixed)[:, 0]

    def search(self, rows: np.ndarray) -> None:
        """Move rows (n, n_learners) to the line's highest point; of equal ones that with the smallest budget."""
        fixed, grid, everyone = self.interval(rows)[2], self.grid(rows), np.arange(len(rows))
        heights = self.value(grid, fixed)
        best = heights.max(axis=1)
        top = np.argmax(heights >= (best - ROUNDING * np.abs(best))[:, None], axis=1)
        place, height = grid[everyone, top], heights[everyone, top]
        steepness = self.slope(np.where(place > 0, place, 1.0)[:, None], fixed)[:, 0]
        rising = steepness > 0
        near = grid[everyone, np.clip(top + np.where(rising, 1, -1), 0, grid.shape[1] - 1)]
        inside = (place > 0) & (near > 0) & (near != place)
        idle = np.where(place > 0, place, 1.0)
        left = np.where(inside, np.minimum(place, near), idle)[:, None]
        right = np.where(inside, np.maximum(place, near), idle)[:, None]
        size = np.abs(steepness)
        ends = np.where(rising, steepness, size)[:, None], np.where(rising, -size, steepness)[:, None]
        root = falling_root(lambda epsilon: self.slope(epsilon, fixed), left, right, *ends)
        better = inside & (self.value(root, fixed)[:, 0] >= height - ROUNDING * np.abs(height))
        budget = np.where(better, root[:, 0], place)
        if self.first is not None:
            rows[:, self.first] = self.rest(budget[:, None], fixed)[:, 0]
        rows[:, self.second] = budget

"""Owners who sell to several learners: budgets add up, and privacy is lost to the sum.

An owner's choice is a row of budgets, one for each learner it is linked to. Learners meet only through owners: what
one buys makes an owner dearer, or cheaper, to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from typing import Any

import numpy as np
from scipy.stats import qmc

from learning.errors import InputError
from market.game import Game, Moves, relative
from market.owners import Owners
from market.search import ROUNDING, best_place, maximise

CERTIFIED = 1e-8  # largest relative regret of an equilibrium
SAME = 1e-6  # equilibria closer than this part of every owner's upper end are one
STEPS = 48  # of the grid on which an owner's budget is first split
SWEEPS = 100  # line searches over all learners and pairs of learners, at most
POINTS = 256  # splits the certificate looks at for each owner before it climbs
CLIMBERS = 3  # of them that it climbs from, besides where the owner stands


@dataclass(frozen=True)
class Learner:
    """One who buys: its policy, its forecast (None where no payoff depends on the model) and its value for fitness."""

    name: str
    policy: Any
    forecast: Any = None
    value: float = 0.0


@dataclass(frozen=True)
class Competition:
    """Owners, several learners, and who may sell to whom.

    Owner i's surplus is ``sum over learners j of (payment_ij + benefit_ij) - cost_i(sum over j of epsilon_ij)``. By basic
    composition the budgets spent on one record add up, whoever they are spent with. The owner's interval bounds
    that sum. A policy sees its own learner's column only; one that pays by cost takes the column for all there is.

    Parameters
    ----------
    owners : Owners
    learners : tuple of Learner
    links : bool (n_owners, n_learners), optional
        Who may sell to whom; everybody to everybody without it.

    Raises
    ------
    InputError
        No learner, two of one name, links of another shape, or an owner that must share but has no link.

    >>> from market.costs import Quadratic
    >>> from market.policies import Proportional
    >>> owners = Owners(("A", "B"), 1, 0.0, 10.0, Quadratic(1.0))
    >>> contests = (Learner("one", Proportional(9.0, "epsilon")), Learner("two", Proportional(27.0, "epsilon")))
    >>> found = solve_competition(Competition(owners, contests), rng=np.random.default_rng(0))
    >>> found.epsilon.round(6).tolist(), found.costs.round(6).tolist()  # 3^2/2 for the sum, not 0.75^2/2 + 2.25^2/2
    ([[0.75, 2.25], [0.75, 2.25]], [4.5, 4.5])
    """

    owners: Owners
    learners: tuple[Learner, ...]
    links: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "learners", tuple(self.learners))
        names = [learner.name for learner in self.learners]
        if not names:
            raise InputError("learners", "a market needs at least one learner", "none")
        if len(set(names)) < len(names):
            raise InputError("learners", "each needs a name of its own", names)
        shape = (len(self.owners), len(names))
        links = np.ones(shape, dtype=bool) if self.links is None else np.array(self.links)
        if links.shape != shape or not np.isin(links, (0, 1)).all():
            found = f"{links.dtype} of shape {links.shape}"
            raise InputError("links", f"must be true or false for {shape[0]} owners and {shape[1]} learners", found)
        links = links.astype(bool)
        links.flags.writeable = False
        object.__setattr__(self, "links", links)
        stuck = ~links.any(axis=1) & (self.owners.epsilon_min > 0)
        if stuck.any():
            found = self.owners.names[int(np.argmax(stuck))]
            raise InputError("links", "an owner that must share needs a learner to share with", found)
        assert self.games

    @cached_property
    def games(self) -> tuple[Game, ...]:
        """One market for each learner, in which an owner's interval is what this learner alone could be given."""
        alone = self.links.sum(axis=1) == 1  # who has one learner owes it the whole of its least budget
        made = []
        for j, learner in enumerate(self.learners):
            least = np.where(alone & self.links[:, j], self.owners.epsilon_min, 0.0)
            people = replace(self.owners, epsilon_min=least, epsilon_max=self.owners.epsilon_max * self.links[:, j])
            made.append(Game(people, learner.policy, learner.forecast, learner.value))
        return tuple(made)

    def payments(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each learner pays each owner at a profile, both (n_owners, n_learners)."""
        profile = self.profile(epsilon)
        paid = np.stack([game.payments(profile[:, j]) for j, game in enumerate(self.games)], axis=1)
        return np.where(self.links, paid, 0.0)

    def benefits(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each learner's model is worth to each owner at a profile, both (n_owners, n_learners)."""
        profile = self.profile(epsilon)
        return np.stack([game.benefits(profile[:, j]) for j, game in enumerate(self.games)], axis=1)

    def costs(self, epsilon: np.ndarray) -> np.ndarray:
        """Money each owner loses (n_owners,): the cost of its sum, once, and its fixed cost, once."""
        return self.owners.costs(self.profile(epsilon).sum(axis=1))

    def payoffs(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus of each owner at a profile (n_owners, n_learners): (n_owners,)."""
        return (self.payments(epsilon) + self.benefits(epsilon)).sum(axis=1) - self.costs(epsilon)

    def learner_surplus(self, epsilon: np.ndarray) -> np.ndarray:
        """Each learner's gain over its outside option less what it pays at a profile: (n_learners,)."""
        profile = self.profile(epsilon)
        gains = [g.value * (g.forecast.outside - g.fitness(profile[:, j])) for j, g in enumerate(self.games)]
        return np.array(gains) - self.payments(profile).sum(axis=0)

    def best_responses(self, epsilon: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
        """The row of budgets (n, n_learners) that maximises each owner's surplus, the others as they are.

        Line searches over each learner's budget and over transfers between two learners, each global, from where
        the owner stands and from the best split on a grid. Who is indifferent shares less, and with the learner
        named first.
        """
        return Choice.of(self, self.profile(epsilon), owners).best()

    def certificate(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regret and its scale, (n_owners,) each, as `market.game.Game.certificate`, by another search.

        Low-discrepancy splits over every set of learners, and a climb without slopes from the best of them.
        """
        profile = self.profile(epsilon)
        return Choice.of(self, profile).certificate(profile)

    def profile(self, epsilon: np.ndarray) -> np.ndarray:
        """A profile (n_owners, n_learners) as floats.

        Raises
        ------
        ValueError
            Another shape, or a budget where there is no link.
        """
        profile = np.asarray(epsilon, dtype=float)
        if profile.shape != self.links.shape:
            raise ValueError(f"epsilon must have shape {self.links.shape}; found {profile.shape}")
        if np.any(profile[~self.links] != 0):
            raise ValueError("epsilon must be 0 where an owner and a learner are not linked")
        return profile


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
            for first, second in product(range(n_learners), repeat=2):
                if first < second:
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
            trials = np.concatenate([rows[:, None] + step * high[..., None] * ways, rows[:, None] + step * largest * ways], 1)
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

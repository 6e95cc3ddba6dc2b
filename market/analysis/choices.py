"""What owners choose at prices for the sums through which they meet: each by itself, whatever the others do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from market.game.deviations import Deviations, in_threads
from market.game.game import Game
from market.game.search import log_grid, root_uphill

NEAR = 1e-8  # relative width at which a maximum is found
ENUMERATED = 10  # owners who may stay out, up to which every set of sharers is looked at
POINTS, ENTRIES = 257, 300_000  # of each owner's interval; fewer where all owners together would have too many
PRICES, RESPONSES = 96, 10_000  # tried at once; fewer where all owners together would respond to too many
FEW = 8  # sets of sharers in each order that prices are first read off, where not every set is looked at
NUDGE = 1e-6  # relative step of the differences that give prices


@dataclass(frozen=True)
class Choices:
    """What each owner can add to the sums, and loses by it, as long as it shares.

    Parameters
    ----------
    game : Game, its costs untaxed
    """

    game: Game

    @cached_property
    def grid(self) -> np.ndarray:
        """Budgets above 0 (n, m), in equal ratios."""
        owners = self.game.owners
        points = int(np.clip(ENTRIES // len(owners), 17, POINTS))
        grid = log_grid(owners.epsilon_min, owners.epsilon_max, points)
        grid[:, 0] = np.where(grid[:, 0] > 0, grid[:, 0], grid[:, 1])
        return grid

    @cached_property
    def terms(self) -> np.ndarray:
        """What is added to the sums (n, m, k)."""
        return self.game.forecast.terms(self.grid)

    @cached_property
    def costs(self) -> np.ndarray:
        """Money lost (n, m)."""
        return self.game.owners.costs(self.grid)

    @cached_property
    def varying(self) -> np.ndarray:
        """The sums (j,) that budgets change; the others depend on who shares alone."""
        return np.flatnonzero(np.ptp(self.terms, axis=1).max(axis=0, initial=0.0) > 0)

    @cached_property
    def may_stay_out(self) -> np.ndarray:
        """Whether an owner can choose to share or not (n,)."""
        return (self.game.owners.epsilon_min == 0) & (self.game.owners.epsilon_max > 0)

    @property
    def every_set(self) -> bool:
        """Whether few enough may stay out for every set of sharers to be looked at."""
        return bool(self.may_stay_out.sum() <= ENUMERATED)

    @property
    def bounded(self) -> bool:
        """Whether prices bound the welfare: every set is looked at, and budgets move one sum at most, all the same way."""
        change = np.diff(self.terms, axis=1)
        return self.every_set and len(self.varying) <= 1 and bool((change >= 0).all() or (change <= 0).all())

    @property
    def prices_at_once(self) -> int:
        """Prices to be tried at once: fewer in large markets, in which each owner matters less."""
        return int(np.clip(RESPONSES // len(self.game.owners), 6, PRICES))

    @cached_property
    def sets(self) -> np.ndarray:
        """Sets of sharers (r, n), bool: every one but the empty; or, of too many, some that owners join in two orders.

        Those with most records and budget first, and those first whom all of their interval costs least.
        """
        free = np.flatnonzero(self.may_stay_out)
        if self.every_set:
            sets = np.tile(self.game.owners.epsilon_max > 0, (2 ** len(free), 1))
            sets[:, free] = list(product([True, False], repeat=len(free)))
            return sets[sets.any(axis=1)]
        reach = self.game.owners.sizes * self.game.owners.epsilon_max**2
        return np.vstack([self.joined(-reach, FEW), self.joined(self.costs[:, -1], FEW)])

    def joined(self, order: np.ndarray, most: int) -> np.ndarray:
        """Sets of sharers (r, n), bool, at most so many: who must share, and of the others ever more in an order (n,)."""
        free = np.flatnonzero(self.may_stay_out)
        rank = np.full(len(order), -1)
        rank[free[np.argsort(order[free], kind="stable")]] = np.arange(len(free))
        counts = np.unique(np.append(0, np.geomspace(1, len(free), min(len(free), most)).round())).astype(int)
        sets = (rank < counts[:, None]) & (self.game.owners.epsilon_max > 0)
        return sets[sets.any(axis=1)]

    def gain(self, sums: np.ndarray, sharing: np.ndarray) -> np.ndarray:
        """The learner's gain and the benefits where some share (..., n), before costs: (..., k) -> (...)."""
        owners, fitness = self.game.owners, self.game.forecast.excess(sums)
        has = sharing | sharing.any(axis=-1, keepdims=True) if owners.model_for_all else sharing
        gain = self.game.value * (self.game.forecast.outside - fitness)
        if owners.benefit.any():
            gain = gain + (has * owners.benefit * np.maximum(owners.isolated - fitness[..., None], 0.0)).sum(axis=-1)
        return gain

    def prices(self, sums: np.ndarray, sharing: np.ndarray, most: int) -> np.ndarray:
        """What a further unit of each varying sum is worth at sums (c, k): so many different ones at most (p, k)."""
        found = np.zeros_like(sums)
        for k in self.varying:
            step = np.zeros_like(sums)
            step[:, k] = NUDGE * np.abs(sums[:, k])
            rise = self.gain(sums + step, sharing) - self.gain(sums - step, sharing)
            np.divide(rise, 2 * step[:, k], out=found[:, k], where=step[:, k] > 0)
        different = np.unique(found, axis=0)
        return different[np.unique(np.linspace(0, len(different) - 1, most).round().astype(int))]

    def respond(self, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The budgets (n, p) that make most of each of the prices (p, k), and how much that is, costs deducted (n, p)."""
        everyone = self.game.blocks(self.game.owners.epsilon_max, self.game.others(self.game.owners.epsilon_max))
        found = in_threads(lambda some: self._respond(some, prices), everyone)
        budgets, made = (np.concatenate(part) for part in zip(*found, strict=True))
        return budgets, made

    def _respond(self, some: Deviations, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`respond` of some owners: the best points of their grids, and where the slope is 0 beside them."""
        grid, terms, costs = (whole[some.index] for whole in (self.grid, self.terms, self.costs))
        at = np.stack([(terms @ price - costs).argmax(axis=1) for price in prices], axis=1)
        best = np.take_along_axis(grid, at, 1)

        def earned(budgets: np.ndarray) -> np.ndarray:
            return np.einsum("npk,pk->np", some.rows.terms(budgets), prices)

        def slope(budgets: np.ndarray) -> np.ndarray:
            budgets = np.where(budgets > 0, budgets, 1.0).reshape(best.shape)  # 0 for who cannot share, and stays so
            rise = earned(budgets * (1 + NUDGE)) - earned(budgets * (1 - NUDGE))
            slopes = rise / (2 * NUDGE * budgets) - some.owners.cost.slope(budgets, some.owners.sizes)
            return slopes.reshape(-1, 1)

        def value(budgets: np.ndarray) -> np.ndarray:
            return earned(budgets) - some.costs(budgets)

        top, steepness = best.ravel(), slope(best)[:, 0]
        uphill = np.clip(at + np.where(steepness > 0, 1, -1).reshape(at.shape), 0, grid.shape[1] - 1)
        near = np.take_along_axis(grid, uphill, 1).ravel()
        found = np.clip(
            root_uphill(slope, top, near, steepness, exact=NEAR).reshape(at.shape), grid[:, :1], grid[:, -1:]
        )
        made, before = value(found), value(best)
        return np.where(made > before, found, best), np.maximum(made, before)

    def profiles(self, budgets: np.ndarray, made: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Profiles (c, n) of budgets (n, p) that make so much of prices (n, p), their sums (c, k) and their welfare (c,).

        For every set of sharers the best; or, where those are too many, for every price the best of the sets that owners
        join in the order of what they make for their weight in the sums, as in
        `learning.forecast.weighting.best_coalition`.
        """
        terms, costs = self.game.forecast.terms(budgets), self.game.owners.costs(budgets)
        if self.every_set:
            sums = np.einsum("rn,npk->rpk", self.sets, terms)
            totals = self.gain(sums, self.sets[:, None, :]) - self.sets @ costs
            rows, at = np.arange(len(sums)), totals.argmax(axis=1)
            return np.where(self.sets, budgets[:, at].T, 0.0), sums[rows, at], totals[rows, at]
        constant = np.delete(self.terms[:, -1], self.varying, axis=-1)
        weight = constant[:, 0] if constant.shape[1] else np.ones(len(made))  # 0 for who cannot share
        found = []
        for price in range(budgets.shape[1]):
            sets = self.joined(-made[:, price] / np.maximum(weight, np.finfo(float).tiny), POINTS)
            sums = sets @ terms[:, price]
            totals = self.gain(sums, sets) - sets @ costs[:, price]
            at = totals.argmax()
            found.append((np.where(sets[at], budgets[:, price], 0.0), sums[at], totals[at]))
        profiles, sums, totals = (np.array(part) for part in zip(*found, strict=True))
        return profiles, sums, totals

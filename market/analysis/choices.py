"""Best choices of a market's owners at prices of the sums, for sets of sharers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from market.columns import Array, Pair
from market.game.deviations import Deviations, in_threads
from market.game.game import Game
from market.game.grids import log_grid
from market.game.search import root_uphill

# Relative width at which a maximum is found.
NEAR = 1e-8
# Owners who may stay out, up to which every set of sharers is considered.
ENUMERATED = 10
# Points of each owner's interval; fewer where all owners together exceed the entries.
POINTS = 257
ENTRIES = 300_000
# Prices tried at once; fewer where all owners together exceed the responses.
PRICES = 96
RESPONSES = 10_000
# Sets of sharers in each order that first give prices, where not every set is considered.
FEW = 8
# Relative step of the differences that give prices.
NUDGE = 1e-6


@dataclass(frozen=True)
class Choices:
    """Terms and costs of each owner on a grid of budgets above 0.

    Parameters
    ----------
    game : Game, its costs untaxed
    """

    game: Game

    @cached_property
    def budget_grid(self) -> Array:
        """Budgets above 0 (n, m), in equal ratios."""
        owners = self.game.owners
        points = int(np.clip(ENTRIES // len(owners), 17, POINTS))
        grid = log_grid(owners.epsilon_min, owners.epsilon_max, points)
        grid[:, 0] = np.where(grid[:, 0] > 0, grid[:, 0], grid[:, 1])
        return grid

    @cached_property
    def grid_terms(self) -> Array:
        """Terms of the sums (n, m, k)."""
        return self.game.forecast.terms(self.budget_grid)

    @cached_property
    def grid_costs(self) -> Array:
        """Costs (n, m)."""
        return self.game.owners.costs(self.budget_grid)

    @cached_property
    def varying_sums(self) -> Array:
        """Sums (j,) that budgets change; the others depend on the set of sharers alone."""
        return np.flatnonzero(np.ptp(self.grid_terms, axis=1).max(axis=0, initial=0.0) > 0)

    @cached_property
    def may_stay_out(self) -> Array:
        """True if an owner can choose to share or not (n,)."""
        return (self.game.owners.epsilon_min == 0) & (self.game.owners.epsilon_max > 0)

    @property
    def every_set(self) -> bool:
        """True if few enough owners may stay out to consider every set of sharers."""
        return bool(self.may_stay_out.sum() <= ENUMERATED)

    @property
    def is_bounded(self) -> bool:
        """True if prices bound the welfare: every set, and one monotone sum at most."""
        change = np.diff(self.grid_terms, axis=1)
        monotone = bool((change >= 0).all() or (change <= 0).all())
        return self.every_set and len(self.varying_sums) <= 1 and monotone

    @property
    def prices_at_once(self) -> int:
        """Prices tried at once: fewer in large markets, in which each owner matters less."""
        return int(np.clip(RESPONSES // len(self.game.owners), 6, PRICES))

    @cached_property
    def sharer_sets(self) -> Array:
        """Sets of sharers (r, n), bool: all but the empty; if too many, some in two orders.

        The orders are most records and budget first, and least cost of the whole interval first.
        """
        owners = self.game.owners
        free = np.flatnonzero(self.may_stay_out)
        if self.every_set:
            sets = np.tile(owners.epsilon_max > 0, (2 ** len(free), 1))
            sets[:, free] = list(product([True, False], repeat=len(free)))
            return sets[sets.any(axis=1)]
        reach = owners.sizes * owners.epsilon_max**2
        return np.vstack([self.join_in(-reach, FEW), self.join_in(self.grid_costs[:, -1], FEW)])

    def join_in(self, order: Array, most: int) -> Array:
        """Growing sets (r, n), bool: optional owners join in order, in ``most`` steps at most."""
        free = np.flatnonzero(self.may_stay_out)
        rank = np.full(len(order), -1)
        rank[free[np.argsort(order[free], kind="stable")]] = np.arange(len(free))
        sizes = np.geomspace(1, len(free), min(len(free), most)).round()
        counts = np.unique(np.append(0, sizes)).astype(int)
        sets = (rank < counts[:, None]) & (self.game.owners.epsilon_max > 0)
        return sets[sets.any(axis=1)]

    def gross_gain(self, sums: Array, sharing: Array) -> Array:
        """Learner's gain and benefits, before costs, of sets (..., n): (..., k) -> (...)."""
        owners = self.game.owners
        fitness = self.game.forecast.excess(sums)
        gain = self.game.value * (self.game.forecast.outside - fitness)
        if not owners.benefit.any():
            return gain
        has = sharing | sharing.any(axis=-1, keepdims=True) if owners.model_for_all else sharing
        better = owners.model_gains(owners.isolated, fitness[..., None])
        return gain + (has * owners.benefit * better).sum(axis=-1)

    def marginal_prices(self, sums: Array, sharing: Array, most: int) -> Array:
        """Values of a further unit of each varying sum at sums (c, k): at most ``most`` (p, k)."""
        found = np.zeros_like(sums)
        for k in self.varying_sums:
            step = np.zeros_like(sums)
            step[:, k] = NUDGE * np.abs(sums[:, k])
            rise = self.gross_gain(sums + step, sharing) - self.gross_gain(sums - step, sharing)
            np.divide(rise, 2 * step[:, k], out=found[:, k], where=step[:, k] > 0)
        distinct = np.unique(found, axis=0)
        return distinct[np.unique(np.linspace(0, len(distinct) - 1, most).round().astype(int))]

    def respond_to(self, prices: Array) -> Pair:
        """Profit-maximising budgets (n, p) at each of the prices (p, k), and the profits (n, p)."""
        high = self.game.owners.epsilon_max
        blocks = self.game.deviation_blocks(high, self.game.others(high))
        found = in_threads(lambda some: self._respond_block(some, prices), blocks)
        budgets, profits = (np.concatenate(part) for part in zip(*found, strict=True))
        return budgets, profits

    def _respond_block(self, some: Deviations, prices: Array) -> Pair:
        """`respond_to` for some owners: the best grid points, refined to a root of the slope."""
        grid = self.budget_grid[some.index]
        terms = self.grid_terms[some.index]
        costs = self.grid_costs[some.index]
        at = np.stack([(terms @ price - costs).argmax(axis=1) for price in prices], axis=1)
        best = np.take_along_axis(grid, at, 1)

        def revenue_of(budgets: Array) -> Array:
            return np.einsum("npk,pk->np", some.forecast_view.terms(budgets), prices)

        def slope_of(budgets: Array) -> Array:
            # An owner that cannot share has budget 0, and keeps it.
            budgets = np.where(budgets > 0, budgets, 1.0).reshape(best.shape)
            rise = revenue_of(budgets * (1 + NUDGE)) - revenue_of(budgets * (1 - NUDGE))
            cost = some.owners.cost.marginal_cost(budgets, some.owners.sizes)
            return (rise / (2 * NUDGE * budgets) - cost).reshape(-1, 1)

        def profit_of(budgets: Array) -> Array:
            return revenue_of(budgets) - some.costs(budgets)

        steepness = slope_of(best)[:, 0]
        uphill = at + np.where(steepness > 0, 1, -1).reshape(at.shape)
        near = np.take_along_axis(grid, np.clip(uphill, 0, grid.shape[1] - 1), 1)
        root = root_uphill(slope_of, best.ravel(), near.ravel(), steepness, exact=NEAR)
        found = np.clip(root.reshape(at.shape), grid[:, :1], grid[:, -1:])
        after = profit_of(found)
        before = profit_of(best)
        return np.where(after > before, found, best), np.maximum(after, before)

    def best_profiles(self, budgets: Array, profits: Array) -> tuple[Array, Array, Array]:
        """Best profiles (c, n) of budgets and profits (n, p); their sums (c, k) and welfare (c,).

        The best for every set of sharers; or, where those are too many, the best for every price
        of the sets that owners join in the order of profit over their weight in the sums, as in
        `learning.forecast.weighting.best_coalition`.
        """
        terms = self.game.forecast.terms(budgets)
        costs = self.game.owners.costs(budgets)
        if self.every_set:
            sets = self.sharer_sets
            sums = np.einsum("rn,npk->rpk", sets, terms)
            totals = self.gross_gain(sums, sets[:, None, :]) - sets @ costs
            rows = np.arange(len(sums))
            at = totals.argmax(axis=1)
            return np.where(sets, budgets[:, at].T, 0.0), sums[rows, at], totals[rows, at]
        constant = np.delete(self.grid_terms[:, -1], self.varying_sums, axis=-1)
        # An owner that cannot share has weight 0.
        weight = constant[:, 0] if constant.shape[1] else np.ones(len(profits))
        scale = np.maximum(weight, np.finfo(float).tiny)
        found = []
        for price in range(budgets.shape[1]):
            sets = self.join_in(-profits[:, price] / scale, POINTS)
            sums = sets @ terms[:, price]
            totals = self.gross_gain(sums, sets) - sets @ costs[:, price]
            at = totals.argmax()
            found.append((np.where(sets[at], budgets[:, price], 0.0), sums[at], totals[at]))
        profiles, sums, totals = (np.array(part) for part in zip(*found, strict=True))
        return profiles, sums, totals

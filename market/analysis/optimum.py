"""The social optimum by prices, an upper bound on welfare, and the price of anarchy.

Owners meet in a few sums. At a price for a unit of each sum, every owner's best choice is its
term's revenue less its cost, independent of the others. Where the forecast is a lower envelope of
lines in one sum, the best profile of given sharers is such a response to some price. And at any
price no profile can exceed

    max over S of (gain(S) - price S) + sum over owners of max (price term - cost),

Lagrange's dual of a separable problem: a scan over one sum, with some prices, bounds the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from market.analysis.choices import Choices
from market.analysis.welfare import welfare
from market.columns import Array
from market.equilibrium.solver import solve
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy

# Points of all sets of sharers at which prices are read off.
SCAN = 4000
# Relative gap to which bound and optimum are brought together, where they meet.
GAP = 1e-6
# Rounds of refinement, parts of a cell that may hold more welfare, cells kept of one round.
ROUNDS = 16
SPLIT = 4
CELLS = 4096
# Factor of fewer prices in each round after the first.
LATER = 6
# Part of the largest costless gain up to which bound and optimum are equal.
TRIFLE = 1e-10
# Welfare closer than this, relative, is the same welfare.
ROUNDING = 1e-13
# Sets of sharers whose best profile is improved, where no bound tells that one suffices.
POLISHED = 3


@dataclass(frozen=True)
class Optimum:
    """The best profile found, and a bound on all others.

    Attributes
    ----------
    epsilon : (n_owners,)
    welfare : float, money
    at_most : float, upper bound on the welfare of any profile, as far as a global search over each
        owner's interval can tell, and where the forecast bends one way between neighbouring points
        of a scan; inf where no bound is known
    """

    epsilon: Array
    welfare: float
    at_most: float

    def price_of_anarchy(self, have: float) -> tuple[float, float]:
        """Price of anarchy at a welfare of ``have``: of the best profile found, and its bound."""
        return anarchy_ratio(self.welfare, have), anarchy_ratio(self.at_most, have)


def anarchy_ratio(best: float, have: float) -> float:
    """Price of anarchy at a welfare of ``have``, where the optimum is ``best``.

    It is inf where welfare is not positive though some is possible; 1 where none is.

    Source: Koutsoupias and Papadimitriou.
    """
    if best <= 0:
        return 1.0 if have >= best else np.inf
    return best / have if have > 0 else np.inf


@dataclass(frozen=True)
class SocialPlanner(Policy):
    """The policy under which every owner's surplus is welfare, up to a constant for the owner.

    It pays the learner's gain and the other owners' benefits. Those are a sum over the distinct
    isolated models, of (benefit of the sharers with that model) * max(0, isolated - psi), so the
    policy is additive.
    """

    pays_for_fitness = True
    levels: tuple[float, ...]

    def terms(self, epsilon: Array, owners: Owners) -> Array:
        """Benefit of each owner that has the model, by isolated model: (n_owners, ..., levels)."""
        benefit = owners.benefit[:, None] * (owners.isolated[:, None] == np.array(self.levels))
        between = (1,) * (epsilon.ndim - 1)
        has = (epsilon > 0) | owners.model_for_all
        return has[..., None] * benefit.reshape(len(owners), *between, len(self.levels))

    def payments(self, epsilon: Array, deviations: Deviations) -> Array:
        fitness = deviations.fitness(epsilon)
        gains = deviations.owners.model_gains(np.array(self.levels), fitness[..., None])
        others = (deviations.others_policy * gains).sum(axis=-1)
        return deviations.game.value * (deviations.game.forecast.outside - fitness) + others

    def marginal_payments(self, epsilon: Array, deviations: Deviations) -> Array:
        fitness = deviations.fitness(epsilon)[..., None]
        gains = deviations.owners.model_gain_slopes(np.array(self.levels), fitness)
        value = deviations.game.value - (deviations.others_policy * gains).sum(axis=-1)
        return -value * deviations.fitness_slope(epsilon)


def social_optimum(game: Game, *, start: Array | None = None) -> Optimum:
    """Profile of most welfare, and an upper bound on the welfare of any other.

    Every set of sharers is considered where few may stay out. A planner's best responses from the
    best profiles at prices give the last digits. The search is deterministic.

    Parameters
    ----------
    game : Game, its policy set aside, since payments cancel
    start : (n_owners,), optional, a profile that the optimum is no worse than

    Returns
    -------
    Optimum
        Without a bound where budgets move several sums (precision weights), or where too many
        owners may stay out (`market.analysis.choices.ENUMERATED`).

    Source: ours; the bound is that of Everett, Generalized Lagrange multiplier method (1963).
    """
    if not game.owners.epsilon_max.any():
        nothing = np.zeros(len(game.owners))
        total = welfare(game, nothing)
        return Optimum(nothing, total, total)
    owners = replace(game.owners, cost=game.owners.cost.untaxed)
    levels = tuple(np.unique(owners.isolated[owners.benefit > 0]).tolist())
    planned = Game(owners, SocialPlanner(levels), game.forecast, game.value)
    known = [np.array(owners.epsilon_min), np.array(owners.epsilon_max)]
    known += [] if start is None else [np.clip(np.asarray(start, dtype=float), *known)]
    search = Search(Choices(planned), max(welfare(game, epsilon) for epsilon in known))
    search.find_profiles()
    found = [epsilon for _, epsilon in sorted(search.best.values(), key=lambda one: -one[0])]
    found = found[: 1 if search.choices.is_bounded else POLISHED]
    # One start and owners in turn need no draws.
    rng = np.random.default_rng(0)
    polished = [solve(planned, rng=rng, starts=1, start=epsilon).epsilon for epsilon in found]
    known = [*polished, *found, *known]
    totals = np.array([welfare(game, epsilon) for epsilon in known])
    # The first of equal ones has the most digits.
    best = int(np.argmax(totals >= totals.max() - ROUNDING * abs(totals.max())))
    total = float(totals[best])
    met = search.at_most - totals.max() <= TRIFLE * search.stake
    return Optimum(known[best], total, total if met else search.at_most)


@dataclass(frozen=True)
class Cells:
    """Ranges of the sums that may hold a better profile, each for one set of sharers.

    Parameters
    ----------
    choices : Choices
    row : (c,), the set's number
    start, end : (c, k), sums at both ends
    """

    choices: Choices
    row: Array
    start: Array
    end: Array

    @property
    def sharer_rows(self) -> Array:
        """Sharers (c, n), bool."""
        return self.choices.sharer_sets[self.row]

    @property
    def middle_sums(self) -> Array:
        """Sums halfway (c, k)."""
        return (self.start + self.end) / 2

    def upper_bounds(self, prices: Array, profits: Array) -> Array:
        """Upper bounds on welfare (c,), given the sets' profits (r, p) at prices (p, k).

        In a cell a gain less a price is highest at an end where it is convex, and rises above the
        chord by no more than twice as far as in the middle where it is concave.
        """
        sums = (self.start, self.middle_sums, self.end)
        start, middle, end = (self.choices.gross_gain(at, self.sharer_rows) for at in sums)
        rise = np.maximum(2 * middle - start - end, 0.0)
        net = np.maximum(start[:, None] - self.start @ prices.T, end[:, None] - self.end @ prices.T)
        return (net + profits[self.row]).min(axis=1) + rise

    def split_chosen(self, chosen: Array) -> Cells:
        """The chosen cells (c,), bool, each cut into equal parts."""
        step = (self.end - self.start)[chosen] / SPLIT
        starts = np.concatenate([self.start[chosen] + part * step for part in range(SPLIT)])
        rows = np.tile(self.row[chosen], SPLIT)
        return Cells(self.choices, rows, starts, starts + np.tile(step, (SPLIT, 1)))


@dataclass
class Search:
    """Search for profiles of more welfare, and for a bound.

    Attributes
    ----------
    choices : Choices
    have : float, the most welfare found
    best : dict of (welfare, profile), the best found for each set of sharers
    at_most : float, the bound
    stake : float, the largest gain at the least cost
    """

    choices: Choices
    have: float
    best: dict[bytes, tuple[float, Array]] = field(default_factory=dict)
    at_most: float = -np.inf
    stake: float = 0.0

    def find_profiles(self) -> None:
        """Scan the intervals, then try prices until bound and welfare meet, or nothing improves."""
        cells = self._scan_intervals()
        if self.choices.is_bounded:
            self._bound_cells(cells)
            return
        self.at_most = np.inf
        sums = cells.middle_sums
        sharing = cells.sharer_rows
        for number in range(ROUNDS if len(sums) else 0):
            before = self.have
            budgets, profits = self.choices.respond_to(self._prices_around(sums, sharing, number))
            profiles, sums, totals = self.choices.best_profiles(budgets, profits)
            sharing = profiles > 0
            self._keep_best(profiles, totals)
            if number and self.have <= before + GAP * abs(before):
                break

    def _scan_intervals(self) -> Cells:
        """Cells in which gains, at the least cost, exceed the welfare found on a grid."""
        choices = self.choices
        sets = choices.sharer_sets
        columns = np.linspace(
            0, choices.budget_grid.shape[1] - 1, max(17, SCAN // len(sets))
        ).astype(int)
        columns = np.unique(columns)
        sums = np.einsum("rn,nmk->rmk", sets, choices.grid_terms[:, columns])
        gains = choices.gross_gain(sums, sets[:, None, :])
        costs = sets @ choices.grid_costs[:, columns]
        totals = gains - costs
        at = totals.argmax(axis=1)
        best = np.where(sets, choices.budget_grid[:, columns[at]].T, 0.0)
        self._keep_best(best, totals.max(axis=1))
        free = gains - costs[:, :1]
        self.stake = float(np.abs(free.max(initial=0.0)))
        self.at_most = float(free[:, 0].max(initial=-np.inf))
        row, at = np.nonzero(np.maximum(free[:, 1:], free[:, :-1]) > self.have)
        return Cells(choices, row, sums[row, at], sums[row, at + 1])

    def _bound_cells(self, cells: Cells) -> None:
        """Bound the welfare in cells, and cut those that may hold more."""
        sets = self.choices.sharer_sets
        prices = np.empty((0, cells.start.shape[1]))
        worth = np.empty((len(sets), 0))
        for number in range(ROUNDS if len(cells.row) else 0):
            fresh = self._prices_around(cells.middle_sums, cells.sharer_rows, number)
            budgets, profits = self.choices.respond_to(fresh)
            profiles, _, totals = self.choices.best_profiles(budgets, profits)
            self._keep_best(profiles, totals)
            prices = np.vstack([prices, fresh])
            worth = np.hstack([worth, sets @ profits])
            bound = cells.upper_bounds(prices, worth)
            is_open = bound > self.have + max(GAP * abs(self.have), TRIFLE * self.stake)
            if number == ROUNDS - 1 or is_open.sum() > CELLS:
                is_open[:] = False
            self.at_most = max(self.at_most, float(bound[~is_open].max(initial=-np.inf)))
            if not is_open.any():
                break
            cells = cells.split_chosen(is_open)

    def _prices_around(self, sums: Array, sharing: Array, number: int) -> Array:
        """Marginal prices, and prices on both sides, ever closer by round (p, k)."""
        most = max(1, self.choices.prices_at_once // (LATER if number else 1))
        tangents = self.choices.marginal_prices(sums, sharing, most)
        return np.vstack([tangents * (1 + side * 0.5**number) for side in (-1, 0, 1)])

    def _keep_best(self, profiles: Array, totals: Array) -> None:
        """Keep the best of profiles (c, n) with welfare (c,) for each set of sharers."""
        for at in np.argsort(totals)[-len(self.choices.sharer_sets) - POLISHED :]:
            key = (profiles[at] > 0).tobytes()
            if totals[at] > self.best.get(key, (-np.inf,))[0]:
                self.best[key] = (float(totals[at]), profiles[at])
        self.have = max(self.have, float(totals.max()))

"""The social optimum by prices, a bound on what any profile could reach, and the price of anarchy between the two.

Owners meet in a few sums. At a price for a unit of each sum, every owner's best choice is its own affair: what it adds at
that price, less its cost. Where the forecast is a lower envelope of lines in one sum, as exact laws give it, the best
profile of those who share is such a response to some price. And at any price no profile can beat

    max over S of (gain(S) - price S) + sum over owners of max (price term - cost),

Lagrange's dual of a separable problem: a scan over one sum, with some prices, bounds the optimum from above.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from market.analysis.choices import Choices
from market.analysis.welfare import welfare
from market.equilibrium.solver import solve
from market.game.deviations import Deviations
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy

SCAN = 4000  # points of all sets of sharers at which prices are read off
GAP = 1e-6  # the part of the welfare to which bound and optimum are brought together, where they meet
ROUNDS, SPLIT, CELLS = 16, 4, 4096  # of refinement; parts of a cell that may hold more welfare; cells kept of one round
LATER = 6  # times fewer prices in each round after the first
TRIFLE = 1e-10  # the part of what could be gained at no cost, up to which bound and optimum are one
ROUNDING = 1e-13  # welfare closer than this, relative, is the same welfare
POLISHED = 3  # sets of sharers whose best profile is improved on, where no bound tells that one is enough


@dataclass(frozen=True)
class Optimum:
    """The best profile found, and a bound on all others.

    Attributes
    ----------
    epsilon : (n_owners,)
    welfare : float, money
    at_most : float, money that no profile exceeds, as far as a global search over each owner's interval can tell, and where
        the forecast bends one way between neighbouring points of a scan; inf where no bound is known
    """

    epsilon: np.ndarray
    welfare: float
    at_most: float

    def anarchy(self, have: float) -> tuple[float, float]:
        """The price of anarchy where welfare is ``have``: of the best profile found, and what it can be at most."""
        return anarchy(self.welfare, have), anarchy(self.at_most, have)


def anarchy(best: float, have: float) -> float:
    """The price of anarchy where a welfare of ``best`` could be had, and ``have`` is."""
    if best <= 0:
        return 1.0 if have >= best else np.inf
    return best / have if have > 0 else np.inf


def price_of_anarchy(game: Game, epsilon: np.ndarray) -> tuple[float, float]:
    """Optimal welfare over the welfare of a profile (n_owners,): 1 loses nothing.

    inf where a profile leaves no welfare (0 or less) though some could be had; 1 where there is none to be
    had.

    Returns
    -------
    float, float
        That of the best profile found, and a bound above it, inf where none is known.

    Source: Koutsoupias and Papadimitriou; for the marginal policy with share 1 it is 1 at the best
    equilibrium.
    """
    return social_optimum(game, start=epsilon).anarchy(welfare(game, epsilon))


@dataclass(frozen=True)
class SocialPlanner(Policy):
    """The policy under which every owner's surplus is the whole market's welfare, up to what it cannot
    change.

    It pays the learner's gain and the other owners' benefits. Those are a sum over the distinct isolated
    models, of (benefit of who shares and has that model) * max(0, isolated - psi), so the policy is additive.
    """

    pays_for_fitness = True
    levels: tuple[float, ...]

    def terms(self, epsilon: np.ndarray, owners: Owners) -> np.ndarray:
        """Benefit of each owner that has the model, in the place of its isolated one: (n_owners, ..., levels)."""
        benefit = owners.benefit[:, None] * (owners.isolated[:, None] == np.array(self.levels))
        between = (1,) * (epsilon.ndim - 1)
        has = (epsilon > 0) | owners.model_for_all
        return has[..., None] * benefit.reshape(len(owners), *between, len(self.levels))

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """The learner's gain and the other owners' benefits (n_owners, m)."""
        fitness = deviations.fitness(epsilon)
        others = (deviations.others_policy * self._gains(fitness)).sum(axis=-1)
        return deviations.game.value * (deviations.game.forecast.outside - fitness) + others

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        """Derivative of the payments (n_owners, m)."""
        gaining = (deviations.others_policy * (self._gains(deviations.fitness(epsilon)) > 0)).sum(axis=-1)
        return -(deviations.game.value + gaining) * deviations.fitness_slope(epsilon)

    def _gains(self, fitness: np.ndarray) -> np.ndarray:
        return np.maximum(np.array(self.levels) - fitness[..., None], 0.0)


def social_optimum(game: Game, *, start: np.ndarray | None = None) -> Optimum:
    """The profile of most welfare, and how much any other could have at most.

    Every set of sharers is looked at where few may stay out. Best responses of a planner to the best profile that prices
    lead to give it its last digits. Nothing is drawn at random.

    Parameters
    ----------
    game : Game, its policy set aside, since payments cancel
    start : (n_owners,), optional
        A profile that the optimum is no worse than, such as an equilibrium.

    Returns
    -------
    Optimum
        Without a bound where budgets move several sums (precision weights), or where too many owners may stay out for every
        set to be looked at (`market.analysis.choices.ENUMERATED`).

    Source: ours; the bound is that of Everett, Generalized Lagrange multiplier method (1963).
    """
    if not game.owners.epsilon_max.any():  # nobody may share
        nothing = np.zeros(len(game.owners))
        return Optimum(nothing, welfare(game, nothing), welfare(game, nothing))
    owners = replace(game.owners, cost=game.owners.cost.untaxed)
    levels = tuple(np.unique(owners.isolated[owners.benefit > 0]).tolist())
    planned = Game(owners, SocialPlanner(levels), game.forecast, game.value)
    known = [np.array(owners.epsilon_min), np.array(owners.epsilon_max)]
    known += [] if start is None else [np.clip(np.asarray(start, dtype=float), *known)]
    search = Search(Choices(planned), max(welfare(game, epsilon) for epsilon in known))
    search.run()
    found = [epsilon for _, epsilon in sorted(search.best.values(), key=lambda one: -one[0])]
    found = found[: 1 if search.choices.bounded else POLISHED]
    rng = np.random.default_rng(0)  # never asked for one start and owners in turn
    known = [*(solve(planned, rng=rng, starts=1, start=epsilon).epsilon for epsilon in found), *found, *known]
    totals = np.array([welfare(game, epsilon) for epsilon in known])
    best = int(np.argmax(totals >= totals.max() - ROUNDING * abs(totals.max())))  # the first: those with most digits
    met = search.at_most - totals.max() <= TRIFLE * search.stake
    return Optimum(known[best], float(totals[best]), float(totals[best]) if met else search.at_most)


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
    row: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @property
    def sharing(self) -> np.ndarray:
        """Who shares (c, n), bool."""
        return self.choices.sets[self.row]

    @property
    def middle(self) -> np.ndarray:
        """Sums halfway (c, k)."""
        return (self.start + self.end) / 2

    def bound(self, prices: np.ndarray, worth: np.ndarray) -> np.ndarray:
        """Welfare that no profile in a cell exceeds (c,), from what sets make of prices: (p, k) and (r, p).

        In a cell a gain less a price is highest at an end where it is convex, and rises above the chord by no more than twice
        as far as in the middle where it is concave.
        """
        start, middle, end = (self.choices.gain(sums, self.sharing) for sums in (self.start, self.middle, self.end))
        rise = np.maximum(2 * middle - start - end, 0.0)
        net = np.maximum(start[:, None] - self.start @ prices.T, end[:, None] - self.end @ prices.T)
        return (net + worth[self.row]).min(axis=1) + rise

    def split(self, chosen: np.ndarray) -> Cells:
        """The chosen ones (c,), bool, each cut into equal parts."""
        step = (self.end - self.start)[chosen] / SPLIT
        starts = np.concatenate([self.start[chosen] + part * step for part in range(SPLIT)])
        return Cells(self.choices, np.tile(self.row[chosen], SPLIT), starts, starts + np.tile(step, (SPLIT, 1)))


@dataclass
class Search:
    """The search for profiles of more welfare than is had, and for a bound.

    Attributes
    ----------
    choices : Choices
    have : float, the most welfare found
    best : dict of (welfare, profile), the best found for each set of sharers
    at_most : float, the bound
    stake : float, the most that could be gained if nothing cost more than the least it can
    """

    choices: Choices
    have: float
    best: dict[bytes, tuple[float, np.ndarray]] = field(default_factory=dict)
    at_most: float = -np.inf
    stake: float = 0.0

    def run(self) -> None:
        """Scan the intervals, then try prices until bound and welfare meet or, without a bound, until no more is found."""
        cells = self._scan()
        if self.choices.bounded:
            self._bound(cells)
            return
        self.at_most, sums, sharing = np.inf, cells.middle, cells.sharing
        for number in range(ROUNDS if len(sums) else 0):
            before, (budgets, made) = self.have, self.choices.respond(self._prices(sums, sharing, number))
            profiles, sums, totals = self.choices.profiles(budgets, made)
            sharing = profiles > 0
            self._note(profiles, totals)
            if number and self.have <= before + GAP * abs(before):
                break

    def _scan(self) -> Cells:
        """Look at like parts of all sharers' intervals; gives where gains, at no more than the least cost, beat it."""
        choices, sets = self.choices, self.choices.sets
        columns = np.linspace(0, choices.grid.shape[1] - 1, max(17, SCAN // len(sets))).astype(int)
        columns = np.unique(columns)
        sums = np.einsum("rn,nmk->rmk", sets, choices.terms[:, columns])
        gains, costs = choices.gain(sums, sets[:, None, :]), sets @ choices.costs[:, columns]
        totals, at = gains - costs, (gains - costs).argmax(axis=1)
        self._note(np.where(sets, choices.grid[:, columns[at]].T, 0.0), totals.max(axis=1))
        free = gains - costs[:, :1]
        self.stake = float(np.abs(free.max(initial=0.0)))
        self.at_most = float(free[:, 0].max(initial=-np.inf))
        row, at = np.nonzero(np.maximum(free[:, 1:], free[:, :-1]) > self.have)
        return Cells(choices, row, sums[row, at], sums[row, at + 1])

    def _bound(self, cells: Cells) -> None:
        """Bound the welfare in cells, and cut those that may hold more than is had."""
        sets, prices, worth = (
            self.choices.sets,
            np.empty((0, cells.start.shape[1])),
            np.empty((len(self.choices.sets), 0)),
        )
        for number in range(ROUNDS if len(cells.row) else 0):
            fresh = self._prices(cells.middle, cells.sharing, number)
            budgets, made = self.choices.respond(fresh)
            profiles, _, totals = self.choices.profiles(budgets, made)
            self._note(profiles, totals)
            prices, worth = np.vstack([prices, fresh]), np.hstack([worth, sets @ made])
            bound = cells.bound(prices, worth)
            is_open = bound > self.have + max(GAP * abs(self.have), TRIFLE * self.stake)
            if number == ROUNDS - 1 or is_open.sum() > CELLS:
                is_open[:] = False
            self.at_most = max(self.at_most, float(bound[~is_open].max(initial=-np.inf)))
            if not is_open.any():
                break
            cells = cells.split(is_open)

    def _prices(self, sums: np.ndarray, sharing: np.ndarray, number: int) -> np.ndarray:
        """What the sums are worth there, and prices on both sides, ever closer by round (p, k)."""
        tangents = self.choices.prices(sums, sharing, max(1, self.choices.prices_at_once // (LATER if number else 1)))
        return np.vstack([tangents * (1 + side * 0.5**number) for side in (-1, 0, 1)])

    def _note(self, profiles: np.ndarray, totals: np.ndarray) -> None:
        """Keep the best of profiles (c, n) of so much welfare (c,) for each set of sharers."""
        for at in np.argsort(totals)[-len(self.choices.sets) - POLISHED :]:
            key = (profiles[at] > 0).tobytes()
            if totals[at] > self.best.get(key, (-np.inf,))[0]:
                self.best[key] = (float(totals[at]), profiles[at])
        self.have = max(self.have, float(totals.max()))

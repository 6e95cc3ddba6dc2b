"""Speed of certified equilibria: a million owners, against a loop of scalar searches.

    python -m benchmarks.bench_market

Two markets with different leakage prices and sizes: a budget shared in proportion to records *
epsilon, and marginal payments under a real forecast with a choice of horizon. The loop of
`scipy.optimize.minimize_scalar` is timed on some owners and scaled up to all owners and to the
rounds of damped play that reach the same relative regret.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.measuring import Targets
from learning.forecast.fitness import forecast_fitness
from learning.forecast.inputs import Settings
from learning.privacy.laplace import Laplace
from learning.training.law import Problem
from market.costs.functions import Leakage
from market.costs.leakage import leakage_slope
from market.equilibrium.activation import damp_moves
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game, relative_regret
from market.game.owners import Owners
from market.policies.contributions import Marginal
from market.policies.proportional import Proportional

FEW = 10
SMALL = 10_000
LARGE = 1_000_000
REGRET = 1e-6  # relative regret of a certified equilibrium
SECONDS = 10.0
EXPONENT = 1.1
AGAINST_LOOP = 200
ASKED = 6.0  # processor seconds of LARGE
SAMPLE = 100  # owners that the loop is timed on
ROUNDS = 40  # of play at most


def make_owners(sizes: np.ndarray, price: np.ndarray, low: float, high: float) -> Owners:
    """Make owners who pay for leakage."""
    names = tuple(map(str, range(len(sizes))))
    return Owners(names, sizes, low, high, Leakage(price))


def make_proportional(n_owners: int) -> Game:
    """Make a market in which about half of the owners find their part of the budget worth it."""
    draw = np.random.default_rng(0)
    sizes = draw.uniform(0.5, 2, n_owners)
    owners = make_owners(sizes, draw.uniform(1, 3, n_owners), 0.0, 20.0)
    return Game(owners, Proportional(4.15 * n_owners), None, 0.0)


def make_marginal(n_owners: int) -> Game:
    """Make a market with prices around where epsilon = 1 is a best response, for all numbers."""
    draw = np.random.default_rng(0)
    sizes = draw.integers(50, 200, n_owners).astype(float)
    curvature = np.linspace(0.5, 2, 5)
    rows = ([curvature], [np.eye(5)], [np.diag(curvature)], [np.full(5, 0.3)], [np.zeros(5)], [1.0])
    planner = forecast_fitness(
        Problem(*(np.array(row, dtype=float) for row in rows)),
        Settings("averaged"),
        sizes=sizes,
        mechanism=Laplace(),
        gradient_bound=1.5 * np.sqrt(n_owners),
        dispersion=2.5,
        basis="oracle",
    )
    value = float(n_owners)
    slope = planner.envelope.slope(planner.noise_at(np.ones(n_owners)))
    steepness = value * slope * 16 / sizes.sum() ** 2
    price = steepness / (125 * leakage_slope(np.array(1.0))) * draw.uniform(0.2, 5, n_owners)
    return Game(make_owners(sizes, price, 0.05, 10.0), Marginal(1.0), planner, value)


def solve_fastest(
    make: Callable[[int], Game], n_owners: int, repeats: int
) -> tuple[float, float, Equilibrium]:
    """Seconds and processor seconds of the fastest solution with certificate, and the solution."""
    best = (np.inf, np.inf)
    for _ in range(repeats):
        game = make(n_owners)
        wall = perf_counter()
        processor = process_time()
        found = solve(game, rng=np.random.default_rng(1), starts=1)
        best = min(best, (perf_counter() - wall, process_time() - processor))
    return *best, found


def rounds_of_play(game: Game) -> int:
    """Rounds of half steps from the middle until no owner gains more than ``REGRET``."""
    high = game.owners.epsilon_max
    epsilon = np.sqrt(np.maximum(game.owners.epsilon_min, 1e-3 * high) * high)
    for count in range(ROUNDS):
        if relative_regret(*game.certificate(epsilon)).max() <= REGRET:
            return count
        epsilon = damp_moves(epsilon, game.best_responses(epsilon), 0.5)
    return ROUNDS


def loop_seconds(game: Game, loss: Callable[..., float]) -> float:
    """Seconds for a best response of every owner by `minimize_scalar`, timed on the first few."""
    others = game.others(np.ones(len(game.owners)))
    began = perf_counter()
    for owner in range(SAMPLE):
        low = game.owners.epsilon_min[owner]
        high = game.owners.epsilon_max[owner]
        own = partial(loss, game, owner, others[owner, 0])
        search = {"method": "bounded", "options": {"xatol": 1e-6 * high}}
        inside = minimize_scalar(own, bounds=(low, high), **search)
        min(inside.fun, own(low), own(high))  # its search is local: the ends as well
    return (perf_counter() - began) * len(game.owners) / SAMPLE


def privacy_cost(game: Game, owner: int, epsilon: float) -> float:
    """Privacy cost of an owner, in plain Python."""
    price = game.owners.cost.price[owner] * game.owners.sizes[owner]
    return price * -math.log1p(0.9 * math.expm1(-epsilon)) / math.log(2)


def proportional_loss(game: Game, owner: int, others: np.ndarray, epsilon: float) -> float:
    """Privacy cost less payment, under a shared budget."""
    sold = game.owners.sizes[owner] * epsilon
    return privacy_cost(game, owner, epsilon) - game.policy.budget * sold / (sold + others[0])


def marginal_loss(game: Game, owner: int, others: np.ndarray, epsilon: float) -> float:
    """Privacy cost less payment, under marginal payments."""
    sums = others + np.array([8 / epsilon**2, game.owners.sizes[owner]])
    gain = float(game.forecast.excess(sums) - game.forecast.excess(others))
    return privacy_cost(game, owner, epsilon) + game.value * gain


MARKETS = {
    "proportional": (make_proportional, proportional_loss),
    "marginal": (make_marginal, marginal_loss),
}


def compare_loop(name: str, targets: Targets) -> None:
    """Compare the solver with the loop for one market."""
    make, loss = MARKETS[name]
    seconds = {}
    for n_owners in (FEW, SMALL, LARGE):
        wall, processor, found = solve_fastest(make, n_owners, 1 if n_owners == LARGE else 5)
        seconds[n_owners] = wall
        many = n_owners == LARGE
        told = f"{name}, {n_owners:,} owners"
        targets.show(told, wall, most=SECONDS if many else np.inf)
        most = ASKED if many else np.inf
        targets.show(f"{told}: processor", processor, most=most)
        regret = found.max_relative_regret
        targets.show(f"{told}: relative regret ({found.reason})", regret, "", most=REGRET)
    exponent = math.log(seconds[LARGE] / seconds[SMALL]) / math.log(LARGE / SMALL)
    targets.show(f"{name}: seconds grow as a power of owners", exponent, "", most=EXPONENT)
    game = make(SMALL)
    rounds = rounds_of_play(game)
    sweep = loop_seconds(game, loss)
    told = f"{name}: {rounds} rounds of minimize_scalar for {SMALL:,} owners"
    targets.show(told, rounds * sweep / seconds[SMALL], "times", least=AGAINST_LOOP)


def main() -> int:
    """Time all markets; 1 if a target is missed."""
    targets = Targets()
    for name in MARKETS:
        compare_loop(name, targets)
    return targets.report()


if __name__ == "__main__":
    sys.exit(main())

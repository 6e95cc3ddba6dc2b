"""Equilibria of small markets by other libraries, beside dpmarket's, with one certificate for all.

    python -m benchmarks.other_solvers

Four games: two hospitals that share a pot (solved by hand), ten owners who share a budget in
proportion, four owners of the thesis with two equilibria, and three owners paid by what they add
under a forecast. Each solver gets what it can use:

* dpmarket: `market.equilibrium.solver.solve`.
* scipy: each owner in turn by `minimize_scalar`, what one would write without a library.
* QuantEcon: the game on a grid of budgets, all pure equilibria by enumeration.
* NashOpt: the continuous game by its first-order conditions; payoffs must be written in JAX, so
  that it has the two games of a closed form alone.

A solution is judged by the largest relative gain of a deviation (`Game.certificate`), whoever found
it. A library that is not installed is left out. Gambit's enumeration of pure equilibria is
QuantEcon's; its stable release (16.7) had no wheel for Linux and Python 3.11.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.bench_market import make_marginal
from market.analysis.thesis_games import thesis_game
from market.columns import Array
from market.costs.functions import Leakage, Linear
from market.equilibrium.solver import solve
from market.game.game import Game, relative_regret
from market.game.owners import Owners
from market.policies.proportional import Proportional

POT = 12.0
PRICES = np.array([1.0, 2.0])  # of the two hospitals: by hand 8/3 and 4/3
SHARED = 30.0  # budget of the ten owners
STEEP = np.linspace(1.0, 3.0, 10)  # their leakage prices
CELLS = {2: 201, 3: 41, 4: 21}  # of the grid, by the number of owners; more owners have no grid
ROUNDS = 500  # of the plain loop at most
STILL = 1e-10  # a move that ends it
Solved = list[Array]  # equilibria


@dataclass(frozen=True)
class Contested:
    """A game with the payoffs of its closed form in JAX, where it has one."""

    game: Game
    surplus: Callable[[Any, int], Any] | None = None


def make_hospitals() -> Contested:
    """Make the contest of two hospitals for a pot."""
    owners = Owners(("A", "B"), np.ones(2), 0.0, 20.0, Linear(PRICES))
    game = Game(owners, Proportional(POT), None, 0.0)

    def surplus(x: Any, owner: int) -> Any:
        return POT * x[owner] / (x.sum() + 1e-12) - PRICES[owner] * x[owner]

    return Contested(game, surplus)


def make_ten() -> Contested:
    """Make ten owners who share a budget in proportion and pay for leakage."""
    names = tuple(map(str, range(len(STEEP))))
    owners = Owners(names, np.ones(len(STEEP)), 0.0, 20.0, Leakage(STEEP))
    game = Game(owners, Proportional(SHARED), None, 0.0)

    def surplus(x: Any, owner: int) -> Any:
        import jax.numpy as jnp

        leaked = -jnp.log1p(0.9 * jnp.expm1(-x[owner])) / jnp.log(2.0)
        return SHARED * x[owner] / (x.sum() + 1e-12) - STEEP[owner] * leaked

    return Contested(game, surplus)


def make_thesis() -> Contested:
    """Make four owners of the thesis who are paid for the utility of their answers."""
    return Contested(thesis_game("utility", 1e4))


GAMES: dict[str, Callable[[], Contested]] = {
    "two hospitals, a pot": make_hospitals,
    "ten owners, a shared budget": make_ten,
    "four owners of the thesis": make_thesis,
    "three owners, marginal pay": lambda: Contested(make_marginal(3)),
}


def solve_here(contested: Contested) -> Solved:
    """Solve by dpmarket, from 16 starts."""
    found = solve(contested.game, rng=np.random.default_rng(1))
    return [one.epsilon for one in (found, *found.others)]


def solve_in_turn(contested: Contested) -> Solved:
    """Solve by best responses in turn, each by a bounded scalar search, from three starts."""
    game = contested.game
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    found: Solved = []
    for part in (0.05, 0.5, 0.95):
        now = low + part * (high - low)
        for _ in range(ROUNDS):
            before = now.copy()
            for owner in range(len(now)):
                now[owner] = _respond(game, now, owner)
            if np.abs(now - before).max() <= STILL * high.max():
                break
        found.append(now)
    return found


def _respond(game: Game, profile: Array, owner: int) -> float:
    one = np.array([owner])

    def loss(epsilon: float) -> float:
        return -float(game.deviation_payoffs(profile, np.array([[epsilon]]), one)[0, 0])

    ends = (float(game.owners.epsilon_min[owner]), float(game.owners.epsilon_max[owner]))
    inside = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-9 * ends[1]})
    return min((float(inside.x), *ends), key=loss)


def grid_payoffs(game: Game) -> tuple[Array, Array]:
    """Budgets (n_owners, cells) of the grid and payoffs (n_owners, cells, ..., cells) on it."""
    n_owners = len(game.owners)
    cells = CELLS[n_owners]
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    budgets = np.linspace(low, high, cells, axis=1)
    shape = (cells,) * n_owners
    payoffs = np.empty((n_owners, *shape))
    for owner in range(n_owners):
        others = [range(cells) if k != owner else range(1) for k in range(n_owners)]
        for place in product(*others):
            profile = budgets[np.arange(n_owners), place]
            row = game.deviation_payoffs(profile, budgets[owner][None], np.array([owner]))[0]
            where: list[Any] = list(place)
            where[owner] = slice(None)
            payoffs[(owner, *where)] = row
    return budgets, payoffs


def solve_by_quantecon(contested: Contested) -> Solved:
    """Solve on the grid by QuantEcon's enumeration of pure equilibria."""
    from quantecon.game_theory import NormalFormGame, Player, pure_nash_brute

    budgets, payoffs = grid_payoffs(contested.game)
    numbers = np.arange(len(budgets))
    players = [  # own moves first, then the others' in a circle
        Player(np.ascontiguousarray(np.transpose(payoffs[owner], np.roll(numbers, -owner))))
        for owner in numbers
    ]
    places = pure_nash_brute(NormalFormGame(players))
    return [budgets[numbers, place] for place in places]


def solve_by_nashopt(contested: Contested) -> Solved:
    """Solve the first-order conditions by NashOpt, from the middle of every interval."""
    import jax
    from nashopt import GNEP

    jax.config.update("jax_enable_x64", True)
    owners = contested.game.owners
    assert contested.surplus is not None
    losses = [partial(_loss, contested.surplus, owner) for owner in range(len(owners))]
    problem = GNEP([1] * len(owners), losses, lb=owners.epsilon_min, ub=owners.epsilon_max)
    middle = (owners.epsilon_min + owners.epsilon_max) / 2
    return [np.asarray(problem.solve(middle, verbose=0).x, dtype=float)]


def _loss(surplus: Callable[[Any, int], Any], owner: int, profile: Any) -> Any:
    return -surplus(profile, owner)


def may_enumerate(contested: Contested) -> bool:
    """Test whether a grid of budgets is small enough to be enumerated."""
    return len(contested.game.owners) in CELLS


SOLVERS: dict[str, tuple[Callable[[Contested], Solved], Callable[[Contested], bool]]] = {
    "dpmarket": (solve_here, lambda contested: True),
    "scipy, in turn": (solve_in_turn, lambda contested: True),
    "QuantEcon, grid": (solve_by_quantecon, may_enumerate),
    "NashOpt": (solve_by_nashopt, lambda contested: contested.surplus is not None),
}


def count_distinct(found: Solved, width: Array) -> int:
    """Count profiles that differ by more than a thousandth of an owner's interval."""
    kept: Solved = []
    for one in found:
        if all((np.abs(one - other) > 1e-3 * width).any() for other in kept):
            kept.append(one)
    return len(kept)


def compare_solvers() -> Iterator[str]:
    """Rows of the table: a game, a solver, seconds, its equilibria, the largest relative gain."""
    for title, make in GAMES.items():
        for name, (act, suits) in SOLVERS.items():
            contested = make()
            if not suits(contested):
                continue
            try:
                act(contested)  # what is compiled or imported at the first call is not timed
                began = process_time()
                found = act(make())
                seconds = process_time() - began
            except ImportError:
                yield f"| {title} | {name} | not installed | | |"
                continue
            game = contested.game
            gains = [relative_regret(*game.certificate(one)).max() for one in found]
            width = game.owners.epsilon_max - game.owners.epsilon_min
            least = f"{min(gains):.0e} to {max(gains):.0e}" if gains else "none found"
            yield f"| {title} | {name} | {seconds:.3g} | {count_distinct(found, width)} | {least} |"


def main() -> int:
    """Print the table."""
    print("| game | solver | seconds of processor | profiles found | largest relative gain |")
    print("|---|---|---|---|---|")
    for row in compare_solvers():
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

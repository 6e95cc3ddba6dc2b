"""Speed of play by agents: 1,000 owners, 20 rounds, against a loop of `scipy.optimize.minimize_scalar`, bare and in Mesa.

    python -m benchmarks.bench_agents

Owners share a budget in proportion to epsilon; each has a price of its own for what it leaks, for its epsilon or for the
square of it. All start in the middle (of the logarithm) and move in turn, for 20 rounds, at rest or not. The loop is what
one would write first: each owner in its turn hands its surplus to a bounded scalar search, and looks at the ends besides;
in Mesa its agents do so in their ``step``, and a `mesa.DataCollector` keeps epsilon, payment and surplus of each. `apart`
is the median distance of both profiles: the loop's searches end at 1e-5. Under quadratic costs a search ends after a few
steps of its parabolas, and no ratio is asked.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import mesa
import numpy as np
from scipy.optimize import minimize_scalar

from agents import DataMarket
from market.costs.functions import Leakage, Linear, Quadratic
from market.game.game import Game
from market.game.owners import Owners
from market.policies.proportional import Proportional

OWNERS, ROUNDS, HIGH = 1000, 20, 10.0
SECONDS, AGAINST = 0.36, {"sequential": 10, "simultaneous": 50}
BEFORE = 15.05  # seconds of rounds in turn, when owners were searched one by one
MANY = 100_000
EASY = ("quadratic",)
COSTS = {
    "leakage": (Leakage, (1.0, 3.0), 2.0),
    "linear": (Linear, (0.5, 3.0), 5.0),
    "quadratic": (Quadratic, (0.5, 3.0), 5.0),
}


def contest(cost: str, n_owners: int) -> Game:
    """Owners with prices drawn from a range, and a budget of so much for each."""
    make, (low, high), each = COSTS[cost]
    price = np.random.default_rng(0).uniform(low, high, n_owners)
    names = tuple(map(str, range(n_owners)))
    return Game(Owners(names, 1, 0.0, HIGH, make(price)), Proportional(each * n_owners, "epsilon"), None, 0.0)


def loss(cost: str, price: float) -> Callable[[float], float]:
    """What sharing costs an owner, in plain Python."""
    return {
        "leakage": lambda epsilon: price * -math.log1p(0.9 * math.expm1(-epsilon)) / math.log(2),
        "linear": lambda epsilon: price * epsilon,
        "quadratic": lambda epsilon: price * epsilon**2 / 2,
    }[cost]


def best(budget: float, lost: Callable[[float], float], others: float) -> float:
    """Where a bounded scalar search, and the ends of the interval, find most surplus."""

    def minus_surplus(epsilon: float) -> float:
        return lost(epsilon) - (budget * epsilon / (epsilon + others) if epsilon else 0.0)

    inside = float(minimize_scalar(minus_surplus, bounds=(0.0, HIGH), method="bounded").x)
    return min((0.0, HIGH, inside), key=minus_surplus)


def bare(cost: str, game: Game, start: np.ndarray) -> np.ndarray:
    """The profile after the rounds, in a loop of plain numbers."""
    epsilon, losses = start.tolist(), [loss(cost, price) for price in game.owners.cost.price]
    for _ in range(ROUNDS):
        total = sum(epsilon)
        for owner, lost in enumerate(losses):
            others = total - epsilon[owner]
            epsilon[owner] = best(game.policy.budget, lost, others)
            total = others + epsilon[owner]
    return np.array(epsilon)


class LoopOwner(mesa.Agent):
    """An owner that hands its surplus to a scalar search."""

    def __init__(self, model: Any, lost: Callable[[float], float], epsilon: float) -> None:
        super().__init__(model)
        self.lost, self.epsilon = lost, epsilon

    @property
    def payment(self) -> float:
        """Money it is paid now."""
        return self.model.budget * self.epsilon / self.model.total if self.epsilon else 0.0

    @property
    def surplus(self) -> float:
        """Payment less what sharing costs."""
        return self.payment - self.lost(self.epsilon)

    def step(self) -> None:
        """Move, everybody else as they are."""
        others = self.model.total - self.epsilon
        self.epsilon = best(self.model.budget, self.lost, others)
        self.model.total = others + self.epsilon


class LoopMarket(mesa.Model):
    """The same market as one would first write it in Mesa."""

    def __init__(self, cost: str, game: Game, start: np.ndarray) -> None:
        super().__init__(rng=1)
        self.budget, self.total = game.policy.budget, float(start.sum())
        for price, epsilon in zip(game.owners.cost.price, start.tolist(), strict=True):
            LoopOwner(self, loss(cost, price), epsilon)
        self.datacollector = mesa.DataCollector(
            agent_reporters={name: name for name in ("epsilon", "payment", "surplus")}
        )
        self.datacollector.collect(self)

    def step(self) -> None:
        """One round, in turn."""
        self.agents.do("step")
        self.datacollector.collect(self)


def in_mesa(cost: str, game: Game, start: np.ndarray) -> np.ndarray:
    """The profile after the rounds, by agents that each search, with what they recorded."""
    model = LoopMarket(cost, game, start)
    for _ in range(ROUNDS):
        model.step()
    return model.datacollector.get_agent_vars_dataframe()["epsilon"].to_numpy()[-OWNERS:]


def played(game: Game, start: np.ndarray, activation: str, rounds: int = ROUNDS) -> np.ndarray:
    """The profile after the rounds of a `DataMarket`, with what it recorded."""
    market = DataMarket(game, seed=1, activation=activation, start=start)
    for _ in range(rounds):
        market.step()
    return market.trajectory()[-1][1]


def seconds(action: Callable[..., np.ndarray], *given: Any, repeats: int = 1) -> tuple[float, np.ndarray]:
    """Processor seconds of the fastest of a few calls, and what came out."""
    taken, found = math.inf, np.empty(0)
    for _ in range(repeats):
        began = process_time()
        found = action(*given)
        taken = min(taken, process_time() - began)
    return taken, found


def compared(cost: str) -> bool:
    """Print a row of the table; whether its targets are met."""
    game, start = contest(cost, OWNERS), np.full(OWNERS, math.sqrt(1e-3) * HIGH)
    alone, _ = seconds(bare, cost, game, start)
    naive, known = seconds(in_mesa, cost, game, start)
    taken = {activation: seconds(played, game, start, activation, repeats=3) for activation in AGAINST}
    ratios = {activation: naive / took for activation, (took, _) in taken.items()}
    apart = np.median(np.abs(taken["sequential"][1] - known))
    columns = "".join(f"{taken[activation][0]:>9.3f}{ratio:>7.0f}" for activation, ratio in ratios.items())
    print(f"{cost:<11}{alone:>10.2f}{naive:>9.2f}{columns}{apart:>10.0e}", flush=True)
    quick = cost in EASY or all(ratios[name] >= least for name, least in AGAINST.items())
    return quick and taken["sequential"][0] <= SECONDS


def main() -> int:
    """Print the table; 1 if a target is missed."""
    print(f"{OWNERS:,} owners, {ROUNDS} rounds, processor seconds; in turn {BEFORE} once")
    print(
        f"{'cost':<11}{'bare loop':>10}{'in Mesa':>9}{'in turn':>9}{'ratio':>7}{'at once':>9}{'ratio':>7}{'apart':>10}"
    )
    met = [compared(cost) for cost in COSTS]
    print(f"asked: in turn {AGAINST['sequential']} times and {SECONDS} s, at once {AGAINST['simultaneous']} times")
    game, start = contest("quadratic", MANY), np.full(MANY, math.sqrt(1e-3) * HIGH)
    for activation in AGAINST:
        took, _ = seconds(played, game, start, activation, 1)
        print(f"{MANY:,} owners made, and a round of them, {activation}: {took:.2f} s")
    print(f"targets: {'met' if all(met) else 'missed'}")
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())

"""Speed of play by agents: 1,000 owners, 20 rounds, against scalar searches in Mesa.

    python -m benchmarks.bench_agents

Owners share a budget in proportion to epsilon; each has its own price of leakage, of epsilon or of
its square. All start in the middle (of the logarithm) and move in turn, for 20 rounds. In Mesa each
agent in its turn hands its surplus to a bounded scalar search, and tries the ends, and a
`mesa.DataCollector` stores epsilon, payment and surplus of each. `apart` is the median distance of
both profiles: the searches end at 1e-5. Under quadratic costs a search ends after a few steps of
its parabolas, and no ratio is asked.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial

import mesa
import numpy as np
from scipy.optimize import minimize_scalar

from agents import DataMarket
from benchmarks.measuring import Targets, time_actions
from market.costs.functions import Leakage, Linear, Quadratic
from market.game.game import Game
from market.game.owners import Owners
from market.policies.proportional import Proportional

OWNERS = 1000
ROUNDS = 20
HIGH = 10.0
SECONDS = 0.36
AGAINST = {"sequential": 10, "simultaneous": 50}
EASY = ("quadratic",)
COSTS = {
    "leakage": (Leakage, (1.0, 3.0), 2.0),
    "linear": (Linear, (0.5, 3.0), 5.0),
    "quadratic": (Quadratic, (0.5, 3.0), 5.0),
}
LOSSES: dict[str, Callable[[float, float], float]] = {
    "leakage": lambda price, epsilon: price * -math.log1p(0.9 * math.expm1(-epsilon)) / math.log(2),
    "linear": lambda price, epsilon: price * epsilon,
    "quadratic": lambda price, epsilon: price * epsilon**2 / 2,
}
Loss = Callable[[float], float]


def make_contest(cost: str) -> Game:
    """Make a contest of owners with prices drawn from a range."""
    make, (low, high), each = COSTS[cost]
    price = np.random.default_rng(0).uniform(low, high, OWNERS)
    names = tuple(map(str, range(OWNERS)))
    owners = Owners(names, 1, 0.0, HIGH, make(price))
    return Game(owners, Proportional(each * OWNERS, "epsilon"), None, 0.0)


def owner_losses(cost: str, game: Game) -> list[Loss]:
    """Privacy cost of each owner, in plain Python."""
    return [partial(LOSSES[cost], price) for price in game.owners.cost.price]


def best_response(budget: float, loss: Loss, others: float) -> float:
    """Best of a bounded scalar search and the ends of the interval."""

    def minus_surplus(epsilon: float) -> float:
        return loss(epsilon) - (budget * epsilon / (epsilon + others) if epsilon else 0.0)

    inside = float(minimize_scalar(minus_surplus, bounds=(0.0, HIGH), method="bounded").x)
    return min((0.0, HIGH, inside), key=minus_surplus)


class LoopOwner(mesa.Agent):
    """Owner that hands its surplus to a scalar search."""

    def __init__(self, model: LoopMarket, loss: Loss, epsilon: float) -> None:
        super().__init__(model)
        self.loss = loss
        self.epsilon = epsilon

    @property
    def payment(self) -> float:
        """Payment to the owner."""
        return self.model.budget * self.epsilon / self.model.total if self.epsilon else 0.0

    @property
    def surplus(self) -> float:
        """Payment less privacy cost."""
        return self.payment - self.loss(self.epsilon)

    def step(self) -> None:
        """Move, with all others held."""
        others = self.model.total - self.epsilon
        self.epsilon = best_response(self.model.budget, self.loss, others)
        self.model.total = others + self.epsilon


class LoopMarket(mesa.Model):
    """The same market, written plainly in Mesa."""

    def __init__(self, cost: str, game: Game, start: np.ndarray) -> None:
        super().__init__(rng=1)
        self.budget = game.policy.budget
        self.total = float(start.sum())
        for loss, epsilon in zip(owner_losses(cost, game), start.tolist(), strict=True):
            LoopOwner(self, loss, epsilon)
        reporters = {name: name for name in ("epsilon", "payment", "surplus")}
        self.datacollector = mesa.DataCollector(agent_reporters=reporters)
        self.datacollector.collect(self)

    def step(self) -> None:
        """Play one round, in turn."""
        self.agents.do("step")
        self.datacollector.collect(self)


def play_mesa(cost: str, game: Game, start: np.ndarray) -> np.ndarray:
    """Play the rounds by agents that each search, and read the recorded profile."""
    model = LoopMarket(cost, game, start)
    for _ in range(ROUNDS):
        model.step()
    return model.datacollector.get_agent_vars_dataframe()["epsilon"].to_numpy()[-OWNERS:]


def play_market(game: Game, start: np.ndarray, activation: str) -> np.ndarray:
    """Play the rounds of a `DataMarket`, and read the recorded profile."""
    market = DataMarket(game, seed=1, activation=activation, start=start)
    for _ in range(ROUNDS):
        market.step()
    return market.trajectory()[-1][1]


def compare_ways(cost: str, targets: Targets) -> None:
    """Compare the ways for one kind of cost."""
    game = make_contest(cost)
    start = np.full(OWNERS, math.sqrt(1e-3) * HIGH)  # the middle of the logarithm
    profiles = {}

    def play(way: str) -> None:
        if way == "mesa":
            profiles[way] = play_mesa(cost, game, start)
        else:
            profiles[way] = play_market(game, start, way)

    (naive,) = time_actions(partial(play, "mesa"), repeats=1)
    targets.show(f"{cost}: a loop in Mesa", naive)
    for activation, times in AGAINST.items():
        (taken,) = time_actions(partial(play, activation), repeats=3)
        most = SECONDS if activation == "sequential" else np.inf
        targets.show(f"{cost}, {activation}", taken, most=most)
        least = 0 if cost in EASY else times
        targets.show(f"{cost}, {activation}: against the loop", naive / taken, "times", least=least)
    apart = np.median(np.abs(profiles["sequential"] - profiles["mesa"]))
    targets.show(f"{cost}: median distance from the loop's budgets", apart, "")


def main() -> int:
    """Time all kinds of cost; 1 if a target is missed."""
    targets = Targets()
    print(f"{OWNERS:,} owners, {ROUNDS} rounds, processor seconds")
    for cost in COSTS:
        compare_ways(cost, targets)
    return targets.report()


if __name__ == "__main__":
    sys.exit(main())

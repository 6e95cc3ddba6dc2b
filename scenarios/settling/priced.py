"""A learner that learns its price: the agents' market at one price after another, and what the best one would bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.pricing import Learned, Observation, learn_price
from learning.progress import Progress, counting, silent
from learning.randomness import Streams
from market.analysis.design import Design, Family, explore
from market.game.game import Game
from scenarios.schema.kinds import made
from scenarios.schema.pricing import money_of, times
from scenarios.schema.scenario import Scenario
from scenarios.settling.playing import seated

POINTS, PRECISION = 9, 5e-3  # prices surveyed for the best one, and how near it is found, relative


@dataclass(frozen=True)
class Priced:
    """A scenario whose learner has learned its price.

    Parameters
    ----------
    written: the scenario as it is written.
    scenario: the same with the price kept.
    learned: the prices posted, and what the learner saw of each.
    best: the best price, its rational owners in equilibrium, found with every cost known; that no learner knows.
    """

    written: Scenario
    scenario: Scenario
    learned: Learned
    best: Design


def learn(scenario: Scenario, offered: Callable[[Scenario], Game], progress: Progress = silent) -> Priced:
    """Let the learner of a scenario move the money in its policy as [learner.pricing] says.

    Parameters
    ----------
    scenario: the scenario, with what has one value per owner in the order of the data.
    offered: gives the game of a scenario, under its rules.
    """
    table, game = scenario.learner.pricing, offered(scenario)
    assert table is not None
    pricing = made(table)
    did = counting(progress, "learning the price", pricing.prices)
    budget = np.inf if scenario.learner.budget is None else scenario.learner.budget

    def make(price: float) -> Any:
        return offered(times(scenario, price)).policy

    agents, counted = seated(scenario, game, "pricing"), 0

    def watch(seen: Observation) -> None:
        nonlocal counted
        counted += 1
        did(int(counted <= pricing.prices))

    learned = learn_price(agents, make, pricing, budget=budget, watch=watch)
    family, rng = Family(make, pricing.low, pricing.high), Streams(scenario.seed, "pricing").rng()
    study = explore(game, family, rng=rng, points=POINTS, precision=PRECISION, budget=budget, starts=1, bound=True)
    return Priced(scenario, times(scenario, learned.kept.price), learned, study.best)


def pricing_part(priced: Priced | None) -> dict[str, Any] | None:
    """How the price was learned, post by post, beside the best one; None where it stands."""
    table = None if priced is None else priced.written.learner.pricing
    if priced is None or table is None:
        return None
    pricing, learned, best = made(table), priced.learned, priced.best
    near, budget = learned.near(best.surplus), priced.written.learner.budget
    ends = np.abs(np.log(learned.kept.price) - np.array(pricing.ends)) <= 2 * pricing.close
    rounds = np.cumsum([one.rounds for one in learned.seen])
    return {
        "kind": table.kind,
        "title": pricing.title,
        "money": money_of(priced.written),
        "policy": priced.scenario.policy.model_dump(),
        "low": pricing.low,
        "high": pricing.high,
        "path": [
            _post_row(one, int(played), budget is not None) for one, played in zip(learned.seen, rounds, strict=True)
        ],
        "price": learned.kept.price,
        "profit": learned.kept.profit,
        "at_end": bool(ends.any()),
        "posts": len(learned.seen),
        "rounds": int(rounds[-1]),
        "near": None if near is None else {"posts": near, "rounds": int(rounds[near - 1])},
        "lost": learned.lost(best.surplus),
        "best": {
            "price": float(best.parameters[0]),
            "profit": best.surplus,
            "payments": best.spending,
            "relative_fitness": best.fitness,
            "feasible": best.feasible,
            "unwilling": int((~best.participation.rational).sum()),
        },
    }


def _post_row(seen: Observation, rounds: int, bounded: bool) -> dict[str, Any]:
    """What the learner saw of a price; ``rounds`` in all until then."""
    return {
        "price": seen.price,
        "rounds": rounds,
        "selling": int(np.sum(seen.epsilon > 0)),
        "epsilon": float(np.sum(seen.epsilon)),
        "payments": seen.spending,
        "gain": seen.gain,
        "profit": seen.profit,
        "within_budget": seen.over == 0 if bounded else None,
    }

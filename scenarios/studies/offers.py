"""A scenario's policy with other money in it, and policies of other kinds in its place, for studies that compare them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from learning.errors import InputError
from learning.phrases import format_value, toml_value
from learning.randomness import Streams
from market.equilibrium.solver import solve
from market.game.game import Game
from scenarios.features.pricing import scale_money
from scenarios.planning import Prepared
from scenarios.schema.kinds import KINDS, make_declared
from scenarios.schema.loading import change_scenario
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle

STEP = 4.0  # factors are tried in such steps, so far, before the money is narrowed down
FURTHEST = np.log(1e9)
CLOSE = 1e-5  # how near to what was asked counts as there, relative
ROUGH = 1.2  # how near the least money that buys anything is found, as a ratio
NARROW = 1e-7  # how near a jump over it is found, relative

Settled = Callable[
    [Scenario, Game], np.ndarray
]  # the budgets (n_owners,) at which owners come to rest


def starts_at(scenario: Scenario, prepared: Prepared, spending: float, most: float) -> float:
    """The factor, below ``most``, from which on the learner pays so much, to a few percent, owners settling anew."""
    low = most / 1e4
    high = most
    while high / low > ROUGH:
        middle = float(np.sqrt(low * high))
        game = market_game(scale_money(scenario, middle), *prepared)
        low, high = (
            (middle, high) if _paid(game, solved(scenario, game)) < spending else (low, middle)
        )
    return low


def solved(scenario: Scenario, game: Game) -> np.ndarray:
    """Where the owners come to rest by the direct solver from one start: quicker than agents that move one by one."""
    return solve(game, rng=Streams(scenario.seed, "offers").rng(), starts=1).epsilon


def played(scenario: Scenario, game: Game) -> np.ndarray:
    """Where a run of the scenario has the owners come to rest, from its first start."""
    quickly = scenario.model_copy(
        update={"market": scenario.market.model_copy(update={"starts": 1})}
    )
    return settle(quickly, game).epsilon


def _paid(game: Game, epsilon: np.ndarray) -> float:
    return float(game.payments(epsilon).sum())


def of_kind(scenario: Scenario, kind: str, game: Game) -> Scenario:
    """The scenario with a policy of another kind, as a study begins with it; its money is still to be set.

    Raises
    ------
    InputError
        If there is no such kind, or it cannot pay these owners.
    """
    policies = KINDS["policy"]
    if kind not in policies:
        raise InputError("policy.kind", f"must be one of {', '.join(policies)}", kind)
    trial = getattr(policies[kind], "trial_parameters", None)
    if trial is None:
        raise InputError("policy.kind", "must be a kind whose parameters can be filled in", kind)
    keys = [f"policy.{key}={toml_value(value)}" for key, value in trial(game.owners).items()]
    new = change_scenario(scenario, [f"policy.kind={kind}", *keys])
    make_declared(new.policy).check_owners(game.owners)
    return new


@dataclass(frozen=True)
class Scaled:
    """A scenario whose policy's money was set to meet an aim.

    Attributes
    ----------
    scenario : with that money
    factor : how many times the money it had before
    met : whether the aim is met; else it is the most below it that was found
    jumps_to : what is measured just above, times the aim, where it jumps over the aim; None where
        it does not
    """

    scenario: Scenario
    factor: float
    met: bool
    jumps_to: float | None = None


def at_spending(
    scenario: Scenario,
    prepared: Prepared,
    spending: float,
    *,
    settled: Settled = played,
    close: float = CLOSE,
) -> Scaled:
    """The scenario with as much money in its policy as makes the learner pay so much in all, owners settling anew.

    Parameters
    ----------
    spending : money, above 0
    settled : callable(scenario, game) -> (n_owners,), where the owners come to rest
    close : how near to what was asked counts as there, relative
    """
    return _scaled(scenario, prepared, _paid, spending, settled, close)


def at_fitness(scenario: Scenario, prepared: Prepared, fitness: float) -> Scaled:
    """The same with as much money as makes the model's relative fitness so small by the forecast.

    Parameters
    ----------
    fitness : relative fitness, above 0
    """
    forecast = prepared.planner.forecast
    return _scaled(
        scenario, prepared, lambda game, epsilon: 1 / max(forecast.at(epsilon), 1e-300), 1 / fitness
    )


def _scaled(
    scenario: Scenario,
    prepared: Prepared,
    measure: Callable[[Game, np.ndarray], float],
    aim: float,
    settled: Settled = played,
    close: float = CLOSE,
) -> Scaled:
    """As much money as brings what is measured, which rises with it, to the aim; or to the most below it."""
    if scenario.learner.pricing is not None:
        rule = "must be left out where the money in the policy is set to an aim"
        raise InputError(
            "learner.pricing",
            rule,
            format_value(scenario.learner.pricing.kind),
            "Leave one of them out.",
        )

    def missed(log: float) -> float:
        game = market_game(scale_money(scenario, float(np.exp(log))), *prepared)
        return measure(game, settled(scenario, game)) / aim - 1

    def scaled(log: float, met: bool, jumps_to: float | None = None) -> Scaled:
        return Scaled(scale_money(scenario, float(np.exp(log))), float(np.exp(log)), met, jumps_to)

    here = 0.0
    off = missed(0.0)
    if off > -1 and np.isfinite(off):  # payments in proportion to the money: at once
        here = float(np.clip(-np.log1p(off), -FURTHEST, FURTHEST))
        off = missed(here)
    if abs(off) <= close:
        return scaled(here, True)
    step = -np.sign(off) * np.log(STEP)
    there = here
    further = off
    while further * off > 0:
        here = there
        off = further
        there = there + step
        if abs(there) > FURTHEST:
            return scaled(here, False)
        further = missed(there)
    log = brentq(missed, here, there, xtol=close / 100)
    if abs(missed(log)) <= close:
        return scaled(log, True)
    return scaled(log - 2 * NARROW, False, 1 + missed(log + 2 * NARROW))

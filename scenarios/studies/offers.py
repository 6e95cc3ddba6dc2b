"""A scenario's policy with other money in it, and policies of other kinds in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

from learning.errors import InputError
from learning.phrases import format_value, toml_value
from learning.randomness import Streams
from market.equilibrium.following import solve_quickly
from market.game.game import Game
from scenarios.features.pricing import scale_money
from scenarios.planning import Prepared
from scenarios.schema.kinds import KINDS, make_declared
from scenarios.schema.loading import change_scenario
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle

STEP = 4.0  # ratio of one factor tried to the next, before the money is narrowed down
FURTHEST = np.log(1e9)  # logarithm of the largest factor tried
CLOSE = 1e-5  # how near to what was asked counts as there, relative
ROUGH = 1.2  # how near the money that a survey starts from is found, as a ratio
NARROW = 1e-7  # how near a jump over it is found, relative

# Budgets (n_owners,) at which owners come to rest.
Settled = Callable[[Scenario, Game], np.ndarray]


def starts_at(scenario: Scenario, prepared: Prepared, spending: float, most: float) -> float:
    """Find the factor, below ``most``, from which on the learner pays so much, within `ROUGH`."""
    low = most / 1e4
    high = most
    while high / low > ROUGH:
        middle = float(np.sqrt(low * high))
        game = market_game(scale_money(scenario, middle), *prepared)
        if _paid(game, solved(scenario, game)) < spending:
            low = middle
        else:
            high = middle
    return low


def solved(scenario: Scenario, game: Game) -> np.ndarray:
    """Settle owners by the direct solver from one start: quicker than agents one by one."""
    return solve_quickly(game, rng=Streams(scenario.seed, "offers").rng()).epsilon


def played(scenario: Scenario, game: Game) -> np.ndarray:
    """Settle owners as a run of the scenario does, from its first start."""
    market = scenario.market.model_copy(update={"starts": 1})
    quickly = scenario.model_copy(update={"market": market})
    return settle(quickly, game).epsilon


def _paid(game: Game, epsilon: np.ndarray) -> float:
    return float(game.payments(epsilon).sum())


def of_kind(scenario: Scenario, kind: str, game: Game) -> Scenario:
    """Fill in a policy of another kind, as a study begins with it; its money is still to be set.

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
    """Set the money in a scenario's policy so that the learner pays so much in all.

    Owners settle anew.

    Parameters
    ----------
    spending : money, above 0
    settled : callable(scenario, game) -> (n_owners,), where the owners come to rest
    close : how near to what was asked counts as there, relative
    """
    return _meet(scenario, prepared, lambda game, at: _paid(game, at) / spending, settled, close)


def at_fitness(scenario: Scenario, prepared: Prepared, fitness: float) -> Scaled:
    """Set the money so that the model's relative fitness is so small by the forecast.

    Parameters
    ----------
    fitness : relative fitness, above 0
    """
    forecast = prepared.planner.forecast

    def measure(game: Game, epsilon: np.ndarray) -> float:
        return 1 / max(forecast.at(epsilon), 1e-300) / (1 / fitness)

    return _meet(scenario, prepared, measure)


def _meet(
    scenario: Scenario,
    prepared: Prepared,
    measure: Callable[[Game, np.ndarray], float],
    settled: Settled = played,
    close: float = CLOSE,
) -> Scaled:
    """Find the money that brings a measure, which rises with it, to 1; or to the most below it."""
    pricing = scenario.learner.pricing
    if pricing is not None:
        rule = "must be left out if the money in the policy is set to an aim"
        found = format_value(pricing.kind)
        raise InputError("learner.pricing", rule, found, "Leave out learner.pricing, or the aim.")

    @cache
    def missed(log: float) -> float:
        game = market_game(scale_money(scenario, float(np.exp(log))), *prepared)
        return measure(game, settled(scenario, game)) - 1

    def scaled(log: float, met: bool, jumps_to: float | None = None) -> Scaled:
        factor = float(np.exp(log))
        return Scaled(scale_money(scenario, factor), factor, met, jumps_to)

    here = 0.0
    off = missed(0.0)
    if off > -1 and np.isfinite(off):  # payments in proportion to the money: at once
        here = float(np.clip(-np.log1p(off), -FURTHEST, FURTHEST))
        off = missed(here)
    if abs(off) <= close:
        return scaled(here, True)
    here, there = _bracket(missed, here, off)
    if abs(there) > FURTHEST:
        return scaled(here, False)
    log = brentq(lambda at: missed(at) * (abs(missed(at)) > close), here, there, xtol=close / 100)
    if abs(missed(log)) <= close:
        return scaled(log, True)
    return scaled(log - 2 * NARROW, False, 1 + missed(log + 2 * NARROW))


def _bracket(missed: Callable[[float], float], here: float, off: float) -> tuple[float, float]:
    """Step from ``here`` until the sign changes, or too far; return the last two places."""
    step = -np.sign(off) * np.log(STEP)
    there = here + step
    while abs(there) <= FURTHEST and missed(there) * off > 0:
        here = there
        there = there + step
    return here, there

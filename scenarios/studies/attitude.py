"""Attitudes to risk, and alternatives judged by them: the best, and those that are as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.decisions import Decisions
from learning.forecast.measures import RELATIVE, Measure
from learning.phrases import format_percent
from learning.randomness import Streams
from scenarios.planning import Prepared, choose_measure
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.summary.verdict import LEVEL, chance_above, quantiles

DRAWS = 400  # resamples of the possible worlds
ERRORS = 2.0  # standard errors within which scores are equal
PRECISION = 1e-3  # of the payments: how near the best money is found
SURE = 0.9  # share of the possible worlds in which the best offer gains more than one worse than it


@dataclass(frozen=True)
class Attitude:
    """The learner's attitude to risk: a score of an offer, and offers that it never makes.

    Parameters
    ----------
    at_least : least chance that buying pays; among what has it, the largest expected gain is best.
    quantile : the gain's quantile that is to be largest, in place of the expected gain.

    Raises
    ------
    InputError
        Both are given, or one is not between 0 and 1.
    """

    at_least: float | None = None
    quantile: float | None = None

    def __post_init__(self) -> None:
        given = {"--at-least": self.at_least, "--quantile": self.quantile}
        if None not in given.values():
            rule = "must not be given together with --quantile"
            raise InputError("--at-least", rule, self.at_least, "Give one of the two.")
        for name, level in given.items():
            if level is not None and not 0 < level < 1:
                raise InputError(name, "must lie between 0 and 1, both left out", level)

    def score(self, gains: Array) -> Array:
        """Score gains in possible worlds, (..., m) -> (...)."""
        if self.quantile is None:
            return np.asarray(gains.mean(axis=-1))
        return np.asarray(np.quantile(gains, self.quantile, axis=-1))

    def allows(self, gains: Array) -> bool:
        """Test whether gains (m,) pay with the chance wanted."""
        return self.at_least is None or chance_above(gains) >= self.at_least

    @property
    def words(self) -> str:
        """The attitude in words."""
        if self.quantile is not None:
            return f"the largest {format_percent(self.quantile)} quantile of the gain"
        if self.at_least is None:
            return "the largest expected gain"
        chance = format_percent(self.at_least)
        return f"the largest expected gain that pays with a chance of at least {chance}"

    @property
    def part(self) -> dict[str, Any]:
        """Facts of the attitude."""
        return {"at_least": self.at_least, "quantile": self.quantile, "words": self.words}


@dataclass(frozen=True, eq=False)
class Alternative:
    """A policy with its money and owners, and what it comes to.

    Parameters
    ----------
    name, kind : of the policy.
    scenario : the scenario under it.
    left_out : owners who are not asked.
    epsilon : (n_owners,), where owners come to rest.
    payments : money paid in all.
    surplus : the learner's gain as the market is played on.
    gains : (m,), the learner's gain in each possible world.
    error : of the model, in plain units; None where no law tells it.
    run : the run that settled there; None where only the search did.
    beyond : the run that also bought more than is worth buying, where it would.
    """

    name: str
    kind: str
    scenario: Scenario = field(repr=False)
    left_out: tuple[str, ...]
    epsilon: Array = field(repr=False)
    payments: float
    surplus: float
    gains: Array = field(repr=False)
    error: float | None
    run: Any = field(default=None, repr=False)
    beyond: Any = field(default=None, repr=False)

    @property
    def confirmed(self) -> bool:
        """True if a run has settled there."""
        return self.run is not None

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of its row."""
        low, high = quantiles(self.gains, LEVEL)
        return {
            "left_out": list(self.left_out),
            "payments": self.payments,
            "gain": float(self.gains.mean()),
            "interval": [low, high],
            "chance_pays": chance_above(self.gains),
            "error": self.error,
        }


def plain_measure(scenario: Scenario, prepared: Prepared) -> Measure | None:
    """Choose the measure of errors in plain units; None where no law tells them."""
    measure = choose_measure(scenario, prepared.planner)
    if measure is not RELATIVE:
        return measure
    loss = scenario.learning.objective
    if not (loss.squares or loss.labels):
        return None
    return prepared.planner.measure(Decisions() if loss.labels else None)


def judge(name: str, scenario: Scenario, prepared: Prepared, epsilon: Array) -> Alternative:
    """Judge an offer at the budgets (n_owners,) that owners settle on."""
    game = market_game(scenario, *prepared)
    planner = prepared.planner
    asks = bool(planner.forecast.plan(epsilon).asks and np.any(epsilon > 0))
    payments = float(game.payments(epsilon).sum())
    measure: Measure = choose_measure(scenario, planner) if asks else RELATIVE
    gains = planner.predict(epsilon).gain(game.value, payments, measure)
    plain = plain_measure(scenario, prepared)
    error = None
    if plain is not None:
        forecast = planner.forecast
        own = float(plain.own(forecast.outside))
        error = float(plain(forecast.at(epsilon))) if asks else own
    idle = np.flatnonzero(game.owners.epsilon_max <= 0)
    surplus = game.value * (game.forecast.outside - game.fitness(epsilon)) - payments
    left_out = tuple(prepared.data.names[i] for i in idle)
    kind = scenario.policy.kind
    return Alternative(name, kind, scenario, left_out, epsilon, payments, surplus, gains, error)


def as_good(best: Alternative, other: Alternative, attitude: Attitude, seed: int) -> bool:
    """Test whether an offer is as good as the best one, as far as the forecast can tell.

    It is if the best gains more in fewer than `SURE` of the possible worlds, the same ones for
    both; more by over a thousandth of the payments, within which money is searched. A quantile of
    the gain is as good within `noise_between`.
    """
    if attitude.quantile is not None:
        apart = float(attitude.score(best.gains) - attitude.score(other.gains))
        return apart <= noise_between(best, other, attitude, seed)
    if len(other.gains) != len(best.gains):
        return False
    least = PRECISION * max(best.payments, other.payments)
    return bool(np.mean(best.gains - other.gains > least) < SURE)


def noise_between(one: Alternative, other: Alternative, attitude: Attitude, seed: int) -> float:
    """Difference of two scores that chance in the worlds and the search may have made.

    It is twice the standard error of the difference, by resampling the possible worlds, the same
    ones for both, and a thousandth of the payments, within which money is searched.
    """
    rng = Streams(seed, "design").rng("ties")
    drawn = rng.integers(len(one.gains), size=(DRAWS, len(one.gains)))
    same = drawn
    if len(one.gains) != len(other.gains):
        same = rng.integers(len(other.gains), size=(DRAWS, len(other.gains)))
    apart = attitude.score(one.gains[drawn]) - attitude.score(other.gains[same])
    return ERRORS * float(apart.std()) + PRECISION * max(one.payments, other.payments)


@dataclass(frozen=True)
class Pick:
    """What an attitude chooses: the simplest of the best, and those that are as good."""

    chosen: Alternative
    tied: tuple[Alternative, ...]


def pick(
    offers: Sequence[Alternative], attitude: Attitude, stated: Scenario, worth: float
) -> Pick | None:
    """Pick among offers; None where none is allowed, or none gains more than ``worth``.

    Of the best offer and those that are `as_good` the simplest is taken: all owners before some,
    then the stated policy before others, then the largest score.
    """
    allowed = [
        one
        for one in offers
        if attitude.allows(one.gains) and one.surplus > worth and attitude.score(one.gains) > worth
    ]
    if not allowed:
        return None
    ranked = sorted(allowed, key=lambda one: -float(attitude.score(one.gains)))
    best = ranked[0]
    tied = [one for one in ranked if one is best or as_good(best, one, attitude, stated.seed)]

    def complexity(one: Alternative) -> tuple[int, bool]:
        unit = getattr(one.scenario.policy, "per", None) != getattr(stated.policy, "per", None)
        return len(one.left_out), one.kind != stated.policy.kind or unit

    chosen = min(tied, key=complexity)
    return Pick(chosen, tuple(one for one in tied if one is not chosen))


def best_of_kind(offers: Sequence[Alternative], attitude: Attitude) -> Alternative:
    """Best of some offers, whether or not it is allowed: allowed ones first, else the safest."""

    def order(one: Alternative) -> tuple[bool, float]:
        allowed = attitude.allows(one.gains)
        score = float(attitude.score(one.gains)) if allowed else chance_above(one.gains)
        return allowed, score

    return max(offers, key=order)

"""The money in a policy that is best for the learner."""

from __future__ import annotations

from typing import Any

from learning.randomness import Streams
from market.analysis.policy_search import Family, Study, survey_family
from scenarios.features.pricing import scale_money
from scenarios.planning import Prepared
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game

POINTS = 9  # amounts of money surveyed of each policy
PRECISION = 1e-3  # how near the best one is found, relative
SPAN = 1e-3  # the least money surveyed where some owners are left out, as a part of what it was
SLOW_SPAN = 0.1  # the same where whole profiles are settled


def survey_money(
    scenario: Scenario, prepared: Prepared, ends: tuple[float, float], **options: Any
) -> Study:
    """Survey factors of the money in a scenario's policy between two ends."""
    family = Family(
        lambda factor: market_game(scale_money(scenario, factor), *prepared).policy, *ends
    )
    rng = Streams(scenario.seed, "design").rng()
    options |= {"precision": PRECISION, "starts": 1}
    return survey_family(market_game(scenario, *prepared), family, rng=rng, **options)


def with_best_money(scenario: Scenario, prepared: Prepared, budget: float) -> Scenario:
    """Set the money in a scenario's policy as is best for the learner, around what it has."""
    slow = not market_game(scenario, *prepared).additive
    span = SLOW_SPAN if slow else SPAN
    points = POINTS if slow else 2 * POINTS
    study = survey_money(scenario, prepared, (span, 1 / span), points=points, budget=budget)
    study.narrow_down()
    return scale_money(scenario, float(study.best.parameters[0]))
